//! `heddle emulate` and its clients by ibsim's protocol and by commands: many, greedy, dead, stopped and wrong ones, and stock tools under
//! Debian's own preload library.
#![forbid(unsafe_code)]

use heddle_fabric::{Fabric, NodeKind, generate};
use heddle_mad::transport::ibsim::protocol::{Connect, Control, Datagram, Kind, address};
use heddle_mad::transport::{Address, Delivery, Envelope, Ibsim, Transport};
use heddle_mad::wire::{Attribute, CapabilityMask, Mad, Method, NodeInfo, Path, PortInfo, Status};
use heddle_tests::{Emulate, OpenSm, Preload, Stock, dual_ported_tree, heddle, wait_until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixStream};
use std::process::{Command, Output};
use std::time::Duration;

#[test]
fn sixty_four_clients_at_once_get_their_own_answers() {
    let fabric = generate("clos2:8").unwrap().build();
    let emulate = Emulate::start(&fabric);
    let hosts: Vec<_> = fabric.nodes().iter().filter(|node| node.kind == NodeKind::Ca).collect();
    let mut clients: Vec<_> = (0..64)
        .map(|client| {
            let host = hosts[client % hosts.len()];
            (host.guid.0, Ibsim::connect(emulate.name(), Some(&host.description)).unwrap())
        })
        .collect();
    for transaction in 0..50 {
        for (_, client) in &mut clients {
            ask(client, &Path::local(), NodeInfo::ID, transaction);
        }
    }
    for (guid, client) in &mut clients {
        for transaction in 0..50 {
            let answer = received(client);
            assert_eq!((answer.transaction() as u32, answer.attribute::<NodeInfo>().node_guid()), (transaction, *guid));
        }
        let now = client.now();
        assert_eq!(client.receive(Some(now)).unwrap(), None, "nobody else's");
    }
    assert_eq!(status(&emulate)["clients"], 64);
    drop(clients);
    wait_until(|| "all clients are gone".into(), || status(&emulate)["clients"] == 0);
}

/// ibsim stops for ever at about 330 requests (its sockets hold 167 datagrams in each direction).
#[test]
fn two_thousand_requests_before_the_first_answer_is_read() {
    let emulate = Emulate::start(&small());
    let client = Raw::connect(&emulate, "host-0-0");
    for transaction in 0..2_000 {
        client.send(&request(transaction));
    }
    for transaction in 0..2_000 {
        assert_eq!(client.receive().mad.transaction() as u32, transaction);
    }
}

#[test]
fn a_client_that_never_reads_loses_what_exceeds_its_queue_and_disturbs_nobody() {
    let emulate = Emulate::start(&small());
    let greedy = Raw::connect(&emulate, "host-0-0");
    for transaction in 0..20_000 {
        greedy.send(&request(transaction));
    }
    let mut other = Ibsim::connect(emulate.name(), Some("host-1-0")).unwrap();
    ask(&mut other, &Path::local(), NodeInfo::ID, 1);
    assert_eq!(received(&mut other).status(), Status::OK);
    wait_until(|| emulate.log(), || emulate.log().contains("leaves 16384 datagrams unread"));

    // The oldest are kept. Some more than the queue holds are in the socket; the rest is lost.
    let mut read = 0;
    while read < 16_384 {
        assert_eq!(greedy.receive().mad.transaction() as u32, read);
        read += 1;
    }
    drop(greedy);
    wait_until(|| emulate.log(), || emulate.log().contains("datagrams that it did not read"));
}

#[test]
fn garbage_is_refused_or_ignored_and_told() {
    let emulate = Emulate::start(&small());
    let client = Raw::connect(&emulate, "host-0-0");
    let good = Control::new(client.slot, Kind::GET_GUID, &[]).to_bytes();
    for bad in [&good[..79], &[&good[..], &[0]].concat(), &[0; 80], &[], &[7; 4000]] {
        assert_eq!(client.ask(bad).kind, Kind::ERROR, "{} bytes", bad.len());
    }
    assert_eq!(client.ask(&Control::new(client.slot, Kind(99), &[]).to_bytes()).kind, Kind::ERROR);
    assert_eq!(client.ask(&Control::new(client.slot + 1, Kind::GET_GUID, &[]).to_bytes()).kind, Kind::ERROR, "another's place");
    assert_eq!(client.ask(&good).kind, Kind::GET_GUID);

    let good = request(5).to_bytes();
    for bad in [&good[..10], &good[..287], &[&good[..], &[0]].concat(), &[9; 4096], &[]] {
        client.data.send(bad).unwrap();
    }
    client.data.send(&good).unwrap();
    assert_eq!(client.receive().mad.transaction() as u32, 5);
    let log = emulate.log();
    assert!(log.contains("sends datagrams of 10 bytes instead of 288") && log.contains("control messages"), "{log}");
}

#[test]
fn who_is_refused_is_told_and_so_is_the_server() {
    let emulate = Emulate::start(&small());
    let error = Ibsim::connect(emulate.name(), Some("host-9-9")).unwrap_err().to_string();
    assert!(error.contains("\"host-9-9\""), "{error}");
    let stock = Stock::new(emulate.seat("nobody", Preload::Ibsim)).end("ibstat", &[]);
    assert_ne!(stock.status, Some(0), "{}", stock.said);
    let log = emulate.log();
    for name in ["host-9-9", "nobody"] {
        assert!(log.contains(&format!("the fabric has no node with the description or GUID \"{name}\"")), "{log}");
    }
    assert_eq!(status(&emulate)["clients"], 0);
}

/// Names and GUIDs are those that `dual_ported_tree` gives. ibsim knows the first port only.
#[test]
fn both_ports_of_a_host_by_name_and_by_guid() {
    let emulate = Emulate::start(&dual_ported_tree());
    for (node, port) in [("host-3", 1), ("host-3:1", 1), ("host-3:2", 2), ("0x1030", 1), ("0x1030:2", 2), ("leaf-0", 0)] {
        let mut client = Ibsim::connect(emulate.name(), Some(node)).unwrap();
        ask(&mut client, &Path::local(), PortInfo::ID, 0);
        assert_eq!(received(&mut client).attribute::<PortInfo>().local_port_num(), port, "{node}");
    }
    let said = Stock::new(emulate.seat("host-3:2", Preload::Ibsim)).run("smpquery", &["-D", "nodeinfo", "0"]);
    assert!(said.contains("LocalPort:.......................2"), "{said}");
}

#[test]
fn a_killed_manager_is_one_no_more() {
    let emulate = Emulate::start(&small());
    let mut observer = Ibsim::connect(emulate.name(), Some("host-0-0")).unwrap();
    let mut opensm = OpenSm::start(&emulate.seat("host-0-0", Preload::Ibsim), &[]);
    opensm.wait_until_up(0);
    assert!(is_sm(&mut observer));
    assert_eq!(status(&emulate)["clients"], 2);
    opensm.kill();
    wait_until(|| emulate.log(), || !is_sm(&mut observer));
    assert_eq!(status(&emulate)["clients"], 1);
}

#[test]
fn a_stopped_manager_holds_up_nobody_and_goes_on() {
    let emulate = Emulate::start(&small());
    let mut opensm = OpenSm::start(&emulate.seat("host-0-0", Preload::Ibsim), &[]);
    opensm.wait_until_up(0);
    let stock = Stock::new(emulate.seat("host-1-0", Preload::Ibsim));
    let process = Pid::from_raw(opensm.id() as i32);
    kill(process, Signal::SIGSTOP).unwrap();
    // Longer than it takes to notice that a client died.
    let stopped_at = time(&emulate);
    wait_until(|| "time goes on".into(), || time(&emulate) > stopped_at + 2.5);
    assert!(stock.run("smpquery", &["-D", "nodeinfo", "0"]).contains("NodeType"));
    kill(process, Signal::SIGCONT).unwrap();
    assert!(stock.run("sminfo", &[]).contains("SMINFO_MASTER"));
}

#[test]
fn stock_tools_under_ibsims_library() {
    let fabric = small();
    let emulate = Emulate::start(&fabric);
    let seat = emulate.seat("host-0-0", Preload::Ibsim);
    let (opensm, ended) = OpenSm::once(&seat, &[]);
    assert!(ended.success() && opensm.ups() > 0, "{}", opensm.log());
    let stock = Stock::new(seat);
    let found = stock.fabric();
    assert_eq!((found.nodes().len(), found.switches().len()), (fabric.nodes().len(), fabric.switches().len()));
    assert!(stock.run("ibstat", &[]).contains("State: Active"));
    assert!(stock.run("smpquery", &["-D", "nodedesc", "0"]).contains("host-0-0"));
    let lid = stock.port_info(1, 0)["Lid"].clone();
    assert!(stock.run("perfquery", &[&lid, "1"]).contains("PortXmitPkts"));
}

#[test]
fn a_name_is_had_once_and_nothing_is_left_after_sigterm() {
    let mut emulate = Emulate::start(&small());
    let second = run(&["emulate", "gen:ring:4", "--name", emulate.name()]);
    assert_eq!(second.status.code(), Some(2));
    let errors = String::from_utf8_lossy(&second.stderr);
    assert!(errors.contains(&format!("the name \"{}\" is taken", emulate.name())), "{errors}");

    let client = Raw::connect(&emulate, "host-0-0");
    let ours = || {
        let all = std::fs::read_to_string("/proc/net/unix").unwrap();
        let name = format!("@{}:", emulate.name());
        all.lines().filter(|line| line.contains(&name)).count()
    };
    assert!(ours() > 3);
    drop(client);
    let process = Pid::from_raw(emulate.program().id() as i32);
    kill(process, Signal::SIGTERM).unwrap();
    let ended = emulate.program().wait(|| "heddle emulate ends".into());
    assert_eq!(ended.code(), Some(0));
    let name = format!("@{}:", emulate.name());
    let left = std::fs::read_to_string("/proc/net/unix").unwrap();
    assert!(!left.contains(&name), "{left}");
    let mut files: Vec<_> = std::fs::read_dir(emulate.directory()).unwrap().map(|file| file.unwrap().file_name()).collect();
    files.sort();
    assert_eq!(files, ["emulate.log", "netlist"]);
}

#[test]
fn commands_and_their_exit_status() {
    let emulate = Emulate::start(&generate("clos2:8").unwrap().build());
    let name = emulate.name();
    let fine = run(&["fabric", name, "cut", "leaf-0:5"]);
    assert_eq!((fine.status.code(), String::from_utf8_lossy(&fine.stdout).trim_end()), (Some(0), "now: cut leaf-0:5"));
    let wrong = run(&["fabric", name, "cut", "leef-0:5"]);
    let errors = String::from_utf8_lossy(&wrong.stderr);
    assert_eq!((wrong.status.code(), wrong.stdout.len()), (Some(2), 0), "{errors}");
    assert!(errors.contains("leef-0") && errors.contains("similar names: leaf-0"), "{errors}");
    let json = run(&["fabric", name, "--json", "status"]);
    assert_eq!(serde_json::from_slice::<Value>(&json.stdout).unwrap()["ok"]["wrong"], serde_json::json!(["cut leaf-0:5"]));
    let json = run(&["fabric", name, "--json", "cut", "leef-0:5"]);
    assert_eq!(json.status.code(), Some(2));
    assert!(serde_json::from_slice::<Value>(&json.stdout).unwrap()["error"].is_string());
    let nobody = run(&["fabric", "heddle-nobody", "status"]);
    assert_eq!(nobody.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&nobody.stderr).contains("no emulator \"heddle-nobody\" runs"));
}

#[test]
fn lines_of_commands_that_are_wrong_are_answered_and_greedy_speakers_wait() {
    let emulate = Emulate::start(&small());
    // One who keeps the connection open and says half a line.
    let mut half = speaker(&emulate);
    half.write_all(b"{\"command\": \"cut leaf-0").unwrap();
    let mut open = speaker(&emulate);
    let mut answers = BufReader::new(open.try_clone().unwrap());
    let mut ask = |line: &[u8]| {
        open.write_all(line).unwrap();
        let mut answer = String::new();
        answers.read_line(&mut answer).unwrap();
        serde_json::from_str::<Value>(&answer).unwrap()
    };
    assert!(ask(b"no JSON\n")["error"].as_str().unwrap().contains("{\"command\": \"status\"}"));
    assert!(ask(b"{\"command\": 7}\n")["error"].is_string());
    assert!(ask(b"\xff\xfe\n")["error"].is_string());
    assert!(ask(&[b'x'; 70_000])["error"].as_str().unwrap().contains("65536 bytes"));
    assert!(ask(b"the rest of it\n{\"command\": \"status\"}\n")["ok"].is_object(), "what is too long ends with its line");

    let mut end = String::new();
    half.shutdown(Shutdown::Write).unwrap();
    half.read_to_string(&mut end).unwrap();
    assert!(end.contains("the command has no end"), "{end}");
    assert_eq!(status(&emulate)["wrong"], serde_json::json!([]), "half a command is none");

    // One who does not read is not read from either, and then gets all that he asked for.
    let mut greedy = speaker(&emulate);
    let writer = greedy.try_clone().unwrap();
    let asking = std::thread::spawn(move || {
        let mut writer = writer;
        (0..2_000).for_each(|_| writer.write_all(b"{\"command\": \"nodes\"}\n").unwrap());
        writer.shutdown(Shutdown::Write).unwrap();
    });
    assert!(status(&emulate).is_object());
    let mut all = String::new();
    greedy.read_to_string(&mut all).unwrap();
    asking.join().unwrap();
    assert_eq!(all.lines().filter(|line| line.starts_with("{\"ok\":")).count(), 2_000);
}

#[test]
fn fabrics_that_contradict_themselves_are_refused_with_the_line() {
    let hosts = "Hca 1 \"H1\"\nHca 1 \"H2\"\n";
    let cases = [
        ("Switch 4 \"S1\"\n[1] \"H1\"[1]\n[1] \"H2\"[1]\n", ":3: ", "port 1"),
        ("Switch 4 \"S1\"\n[1] \"H9\"[1]\n", ":2: ", "H9"),
        ("Switch 4 \"S1\"\n[5] \"H1\"[1]\n", ":2: ", "port 5"),
        ("Switch 300 \"S1\"\n[1] \"H1\"[1]\n", ":1:", "300"),
    ];
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("net");
    for (switch, line, what) in cases {
        std::fs::write(&file, format!("{switch}{hosts}")).unwrap();
        let output = run(&["emulate", file.to_str().unwrap(), "--name", &format!("heddle-wrong-{}", std::process::id())]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{errors}");
        assert!(errors.lines().last().is_some_and(|last| last.contains(line) && last.contains(what)), "{errors}");
    }
}

fn small() -> Fabric {
    generate("ring:4,hosts=1").unwrap().build()
}

fn run(arguments: &[&str]) -> Output {
    Command::new(heddle()).args(arguments).output().unwrap()
}

fn status(emulate: &Emulate) -> Value {
    let output = run(&["fabric", emulate.name(), "--json", "status"]);
    serde_json::from_slice::<Value>(&output.stdout).unwrap()["ok"].take()
}

fn time(emulate: &Emulate) -> f64 {
    status(emulate)["time"].as_f64().unwrap()
}

fn speaker(emulate: &Emulate) -> UnixStream {
    let stream = UnixStream::connect_addr(&SocketAddr::from_abstract_name(format!("{}:heddle", emulate.name())).unwrap()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

const PATIENCE: Duration = Duration::from_secs(60);

fn ask(client: &mut Ibsim, path: &Path, attribute: heddle_mad::wire::AttributeId, transaction: u64) {
    let mut mad = Mad::directed(path, Method::GET, attribute, 0);
    mad.set_transaction(transaction);
    client.send(&Envelope { address: Address::Directed, mad }).unwrap();
}

fn received(client: &mut Ibsim) -> Mad {
    let deadline = client.now() + PATIENCE;
    match client.receive(Some(deadline)).unwrap() {
        Some(Delivery::Received(envelope)) => envelope.mad,
        other => panic!("no answer: {other:?}"),
    }
}

fn is_sm(client: &mut Ibsim) -> bool {
    ask(client, &Path::local(), PortInfo::ID, 0);
    received(client).attribute::<PortInfo>().capabilities().contains(CapabilityMask::SM)
}

fn request(transaction: u64) -> Datagram {
    let mut mad = Mad::directed(&Path::local(), Method::GET, NodeInfo::ID, 0);
    mad.set_transaction(transaction);
    Datagram { dlid: 0xffff, slid: 0xffff, dst_qp: 0, src_qp: 0, status: 0, mad }
}

/// A client that says and hears nothing that it is not told to. Leaves without a word.
struct Raw {
    control: UnixDatagram,
    data: UnixDatagram,
    slot: u32,
}

impl Raw {
    /// There is one of these at a time at each server.
    fn connect(emulate: &Emulate, node: &str) -> Self {
        // No process has this number.
        let id = u32::MAX;
        let at = |part: &str| address(emulate.name(), part).unwrap();
        let control = UnixDatagram::bind_addr(&at(&format!("ctl{id}"))).unwrap();
        let data = UnixDatagram::bind_addr(&at(&format!("in{id}"))).unwrap();
        control.connect_addr(&at("ctl")).unwrap();
        for socket in [&control, &data] {
            socket.set_read_timeout(Some(PATIENCE)).unwrap();
            socket.set_write_timeout(Some(PATIENCE)).unwrap();
        }
        let mut client = Self { control, data, slot: 0 };
        let connect = Connect { id, is_sm: false, node: node.into() };
        let answer = client.ask(&Control::new(0, Kind::CONNECT, &connect.to_data()).to_bytes());
        assert_eq!(answer.kind, Kind::CONNECT, "{}", emulate.log());
        client.slot = Connect::from_data(&answer.data).id;
        client.data.connect_addr(&at(&format!("out{}", client.slot))).unwrap();
        client
    }

    fn ask(&self, message: &[u8]) -> Control {
        self.control.send(message).unwrap();
        let mut answer = [0; Control::SIZE];
        self.control.recv(&mut answer).unwrap();
        Control::from_bytes(&answer).unwrap()
    }

    /// Waits until there is room.
    fn send(&self, datagram: &Datagram) {
        self.data.send(&datagram.to_bytes()).unwrap();
    }

    fn receive(&self) -> Datagram {
        let mut bytes = [0; Datagram::SIZE];
        let read = self.data.recv(&mut bytes).unwrap();
        Datagram::from_bytes(&bytes[..read]).unwrap()
    }
}
