//! Programs under `heddle run`, beside a server in this process: the calls of umad one by one, by a program that makes them itself; stock
//! tools with OpenSM; and what is left afterwards.
#![forbid(unsafe_code)]

use heddle_emulator::World;
use heddle_emulator::serve::Server;
use heddle_fabric::{Fabric, FabricBuilder, Guid, Link, NodeIndex, NodeKind, NodeSpec, PortRef};
use heddle_tests::{Running, heddle, umad_client, wait_until};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;

/// A server in a thread of this process, with a name of its own.
struct Emulator {
    name: String,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    /// Where programs make their temporary folders: empty when all is well.
    folder: tempfile::TempDir,
}

impl Emulator {
    fn start(fabric: Fabric) -> Self {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let name = format!("heddle-umad-{}-{}", std::process::id(), STARTED.fetch_add(1, Ordering::Relaxed));
        let stop = Arc::new(AtomicBool::new(false));
        let (of_thread, stopped) = (name.clone(), Arc::clone(&stop));
        let (opened, is_open) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let mut server = Server::open(World::new(&fabric), &of_thread, |line| eprintln!("{line}")).unwrap();
            opened.send(()).unwrap();
            server.run(&stopped).unwrap();
        });
        is_open.recv().unwrap();
        Self { name, stop, thread: Some(thread), folder: tempfile::tempdir().unwrap() }
    }

    fn command(&self, nodes: &[&str], program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(heddle());
        command.args(["run", "--on", &self.name]).env("TMPDIR", self.folder.path()).current_dir(self.folder.path());
        for node in nodes {
            command.args(["--node", node]);
        }
        command.arg("--").arg(program);
        command.stdin(Stdio::null());
        command
    }

    /// Runs a program to its end; what it said if that was a good one.
    fn run(&self, nodes: &[&str], program: impl AsRef<std::ffi::OsStr>, arguments: &[&str]) -> String {
        let output = self.command(nodes, program.as_ref()).args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{:?} {arguments:?}: {}\n{said}{}", program.as_ref(), output.status, text(&output));
        said
    }

    fn scenario(&self, nodes: &[&str], name: &str) {
        assert_eq!(self.run(nodes, umad_client(), &[name]), "done\n");
    }

    /// The folders that programs left.
    fn left(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.folder.path()).unwrap();
        entries.map(|entry| entry.unwrap().path()).filter(|path| path.to_string_lossy().contains("heddle-run-")).collect()
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Two hosts at a switch: `H1 1 -- 1 S1 2 -- 1 H2`.
fn small() -> Fabric {
    let mut builder = FabricBuilder::new();
    for (kind, guid, ports, name) in [(NodeKind::Ca, 0xb1, 1, "H1"), (NodeKind::Switch, 0xa1, 8, "S1"), (NodeKind::Ca, 0xb2, 1, "H2")] {
        builder.add_node(NodeSpec::new(kind, Guid(guid), ports, name)).unwrap();
    }
    for (one, other) in [((0, 1), (1, 1)), ((1, 2), (2, 1))] {
        let at = |(node, port)| PortRef::new(NodeIndex(node), port);
        builder.connect(at(one), at(other), Link::default()).unwrap();
    }
    builder.build()
}

#[test]
fn each_error_number() {
    Emulator::start(small()).scenario(&["H1"], "errors");
}

#[test]
fn parents_and_children() {
    Emulator::start(small()).scenario(&["H1"], "forks");
}

#[test]
fn several_descriptors_at_once() {
    Emulator::start(small()).scenario(&["H1"], "polls");
}

#[test]
fn reads_that_wait() {
    Emulator::start(small()).scenario(&["H1"], "blocks");
}

#[test]
fn copies_of_descriptors() {
    Emulator::start(small()).scenario(&["H1"], "duplicates");
}

#[test]
fn one_subnet_manager_a_port() {
    Emulator::start(small()).scenario(&["H1"], "issm");
}

#[test]
fn files_and_folders() {
    Emulator::start(small()).scenario(&["0xb2:1"], "sysfs");
}

/// With more files than a message can name, and of these only what was asked for.
#[test]
fn a_host_of_many_ports() {
    let mut builder = FabricBuilder::new();
    builder.add_node(NodeSpec::new(NodeKind::Ca, Guid(0xb1), 40, "H1")).unwrap();
    let emulator = Emulator::start(builder.build());
    let folder = "/sys/class/infiniband/mlx5_0/ports";
    assert_eq!(emulator.run(&["H1"], "cat", &[&format!("{folder}/40/counters/VL15_dropped")]), "0\n");
    assert_eq!(emulator.run(&["H1"], "sh", &["-c", &format!("ls {folder} | wc -l")]).trim(), "40");
    assert_eq!(emulator.run(&["H1:39"], "ls", &[folder]), "39\n");
}

/// Two devices; and a subnet manager that makes the way for messages of 5 MB between them.
#[test]
fn two_devices_and_long_messages() {
    let emulator = Emulator::start(small());
    emulator.scenario(&["H1", "H2"], "devices");
    let said = emulator.run(&["H1"], heddle(), &["sm", "--umad", "--once"]);
    assert!(said.contains("SUBNET UP"), "{said}");
    emulator.scenario(&["H1", "H2"], "long-messages");
}

/// A subnet of 100 nodes by OpenSM, seen through saquery: more than one MAD holds.
#[test]
fn opensm_answers_saquery() {
    let fabric = heddle_fabric::generate("clos2:12").unwrap().build();
    let nodes = fabric.nodes().len();
    let emulator = Emulator::start(fabric);
    let log = emulator.folder.path().join("opensm.log");
    let mut opensm = emulator.command(&["host-0-0"], "opensm");
    opensm.env("OSM_CACHE_DIR", emulator.folder.path()).env("OSM_TMP_DIR", emulator.folder.path());
    opensm.arg("-f").arg(&log).args(["-d", "2"]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut opensm = Running::start(&mut opensm);
    let said = || std::fs::read_to_string(&log).unwrap_or_default();
    wait_until(said, || {
        assert!(opensm.ended().is_none(), "{}", said());
        said().contains("SUBNET UP")
    });
    let count = |text: &str, word: &str| text.lines().filter(|line| line.trim_start().starts_with(word)).count();
    assert_eq!(count(&emulator.run(&["host-3-1"], "saquery", &[]), "NodeRecord dump"), nodes);
    // The same port as OpenSM's.
    // A path from each end port to each; at the same port as OpenSM.
    assert_eq!(count(&emulator.run(&["host-0-0"], "saquery", &["-p"]), "PathRecord dump"), nodes * nodes);
    assert!(emulator.run(&["host-3-1"], "sminfo", &[]).contains("SMINFO_MASTER"));
    let state = emulator.run(&["host-3-1"], "cat", &["/sys/class/infiniband/mlx5_0/ports/1/state"]);
    assert_eq!(state, "4: ACTIVE\n");
}

#[test]
fn the_exit_status_is_the_programs_and_nothing_is_left() {
    let emulator = Emulator::start(small());
    let status = |script: &str| emulator.command(&["H1"], "sh").args(["-c", script]).status().unwrap();
    assert_eq!(status("exit 7").code(), Some(7));
    use std::os::unix::process::ExitStatusExt;
    assert_eq!(status("kill -TERM $$").signal(), Some(15), "as if the program had been started without heddle run");
    assert_eq!(status("test \"$(cat /sys/class/infiniband_mad/umad0/ibdev)\" = mlx5_0").code(), Some(0));
    wait_until(|| format!("the folders are removed: {:?}", emulator.left()), || emulator.left().is_empty());
}

#[test]
fn a_killed_program_leaves_nothing() {
    let emulator = Emulator::start(small());
    let mut command = emulator.command(&["H1"], umad_client());
    let mut child = command.arg("waits").stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    assert_eq!(emulator.left().len(), 1);
    let mask = || emulator.run(&["H1"], "cat", &["/sys/class/infiniband/mlx5_0/ports/1/cap_mask"]);
    let is_sm = || u32::from_str_radix(mask().trim().trim_start_matches("0x"), 16).unwrap() & 2 != 0;
    assert!(is_sm());
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until(|| "IsSM is taken back".to_owned(), || !is_sm());
    wait_until(|| format!("the folders are removed: {:?}", emulator.left()), || emulator.left().is_empty());
}

#[test]
fn errors_say_what_there_is() {
    let emulator = Emulator::start(small());
    let error = |arguments: &[&str]| {
        let output = Command::new(heddle()).arg("run").args(arguments).args(["--", "true"]).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        text(&output)
    };
    let nobody = error(&["--on", "nobody-is-called-so"]);
    assert!(nobody.contains("nobody-is-called-so") && nobody.contains(&emulator.name), "{nobody}");
    let no_node = error(&["--on", &emulator.name, "--node", "H9"]);
    assert!(no_node.contains("H9"), "{no_node}");
    let no_port = error(&["--on", &emulator.name, "--node", "H1:2"]);
    assert!(no_port.contains("H1:2") && no_port.contains("1 to 1"), "{no_port}");
    let output = emulator.command(&["H1"], "/no/such/program").output().unwrap();
    assert!(output.status.code() == Some(2) && text(&output).contains("/no/such/program"), "{}", text(&output));
    wait_until(|| format!("the folders are removed: {:?}", emulator.left()), || emulator.left().is_empty());
}

/// What is not of the protocol disturbs nobody.
#[test]
fn garbage_is_refused() {
    use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, UnixAddr, connect, recv, send, socket};
    use std::os::fd::AsRawFd;
    let emulator = Emulator::start(small());
    let stranger = || {
        let socket = socket(AddressFamily::Unix, SockType::SeqPacket, SockFlag::SOCK_CLOEXEC, None).unwrap();
        connect(socket.as_raw_fd(), &UnixAddr::new_abstract(format!("{}:umad", emulator.name).as_bytes()).unwrap()).unwrap();
        socket
    };
    for message in
        [&[1][..], &[0; 4], &[0xff; 4], &[3, 0, 0, 0], &[1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0], &[5, 0, 0, 0, 0, 0, 0, 0, 0xff]]
    {
        let socket = stranger();
        send(socket.as_raw_fd(), message, MsgFlags::empty()).unwrap();
        let mut answer = [0; 64];
        let length = recv(socket.as_raw_fd(), &mut answer, MsgFlags::empty()).unwrap();
        assert!(length >= 4 && answer[..4] != [0; 4], "{message:?}: {:?}", &answer[..length]);
    }
    // One that never reads.
    let silent = stranger();
    while send(silent.as_raw_fd(), &[8, 0, 0, 0, 0, 0, 0, 0], MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL).is_ok() {}
    emulator.scenario(&["H1"], "polls");
}
