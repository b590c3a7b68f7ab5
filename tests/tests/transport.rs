//! The transports against Debian's ibsim: natively, and as umad under its preload library.
#![forbid(unsafe_code)]

use heddle_mad::transport::{Address, Delivery, Envelope, Ibsim as Connection, Transport};
use heddle_mad::wire::{Attribute, Mad, Method, NodeInfo, Path, SmInfo};
use heddle_tests::{Ibsim, READY, converse};
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::mpsc::channel;
use std::time::Duration;

/// Two switches in a row with a host at each end; port 4 of the first switch has no cable.
const NETLIST: &str = r#"
switchguid=0xa1
Switch	4 "S1"
[1]	"H1"[1]
[2]	"S2"[1]

switchguid=0xa2
Switch	4 "S2"
[1]	"S1"[2]
[2]	"H2"[1]

caguid=0xb1
Hca	1 "H1"
[1]	"S1"[1]

caguid=0xb2
Hca	1 "H2"
[1]	"S2"[2]
"#;

/// What follows from the netlist and the requests of the conversation.
const EXPECTED: &[&str] = &[
    "0: ChannelAdapter 0xb1 entered by port 1",
    "0,1: Switch 0xa1 entered by port 1",
    "0,1,2: Switch 0xa2 entered by port 1",
    "0,1,2,2: ChannelAdapter 0xb2 entered by port 1",
    "0,1,4: undeliverable, in 2 attempts",
    "own LID 1",
    "LFT [255, 1, 0, 255]",
    "LID 2: undeliverable, in 2 attempts", // Its link is not active yet.
    "LID 2 is 0xa1",
    "IsSM 1",
    "answered 5400, sent 5400, retried 0",
    "Trap 144 local change at LID 1 from Lid { lid: 1, qp: 0 }", // Of IsSM.
    READY,
    "Trap 128 link state at LID 2 from Lid { lid: 2, qp: 0 }",
    "0,1,2: undeliverable, in 2 attempts",
    "IsSM 0",
];

#[test]
fn ibsim_natively() {
    let mut ibsim = Ibsim::start(NETLIST);
    let mut connection = Connection::connect(ibsim.name(), Some("H1")).unwrap();
    let mut lines = Vec::new();
    converse(&mut connection, &mut |line| {
        if line == READY {
            ibsim.console(r#"Unlink "S1"[2]"#);
        }
        lines.push(line.to_owned());
    });
    assert_eq!(lines, EXPECTED);
}

#[test]
fn umad_under_the_preload_library() {
    let mut ibsim = Ibsim::start(NETLIST);
    let mut probe = ibsim
        .seat("H1")
        .command(env!("CARGO_BIN_EXE_umad-probe"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the probe starts");
    let (sender, lines) = channel();
    let stdout = BufReader::new(probe.stdout.take().expect("stdout is a pipe"));
    let reader = std::thread::spawn(move || stdout.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
    let mut heard = Vec::new();
    // A line comes, or the output ends, or the probe hangs.
    let hangs = loop {
        match lines.recv_timeout(Duration::from_secs(60)) {
            Ok(line) => {
                if line == READY {
                    ibsim.console(r#"Unlink "S1"[2]"#);
                }
                heard.push(line);
            }
            Err(error) => break error == std::sync::mpsc::RecvTimeoutError::Timeout,
        }
    };
    if hangs {
        let _ = probe.kill();
    }
    let output = probe.wait_with_output().expect("the probe ends");
    let _ = reader.join();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !hangs, "{:?} (hangs: {hangs}) after {heard:#?}\n{errors}", output.status);
    assert_eq!(heard, EXPECTED, "{errors}");
}

#[test]
fn umad_names_the_ports_there_are() {
    let ibsim = Ibsim::start(NETLIST);
    let output = ibsim.seat("H1").command(env!("CARGO_BIN_EXE_umad-probe")).arg("mlx5_7:1").output().expect("the probe starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("no port mlx5_7:1") && errors.contains("ibsim0:1 (GUID 0x"), "{errors}");
}

/// A request of another subnet manager arrives, and our answer finds its way back.
#[test]
fn two_managers_talk_over_ibsim() {
    let ibsim = Ibsim::start(NETLIST);
    let mut master = Connection::connect(ibsim.name(), Some("H1")).unwrap();
    let mut other = Connection::connect(ibsim.name(), Some("H2")).unwrap();
    master.set_is_sm(true).unwrap();

    let path = Path::from_ports(&[1, 1, 1]).unwrap();
    let mut question = Mad::directed(&path, Method::GET, SmInfo::ID, 0);
    question.set_transaction(0x77);
    other.send(&Envelope { address: Address::Directed, mad: question }).unwrap();
    let Delivery::Received(Envelope { address, mut mad }) = next(&mut master) else { panic!("the question is undeliverable") };
    assert_eq!((address, mad.method(), mad.attribute_id()), (Address::Directed, Method::GET, SmInfo::ID));

    let mut info = SmInfo::default();
    info.set_guid(0xb1);
    mad.set_method(Method::GET_RESP);
    mad.set_returning(true);
    mad.set_smp_data(info.bytes());
    master.send(&Envelope { address, mad }).unwrap();
    let Delivery::Received(answer) = next(&mut other) else { panic!("the answer is undeliverable") };
    assert_eq!((answer.mad.method(), answer.mad.transaction() as u32), (Method::GET_RESP, 0x77));
    assert_eq!(answer.mad.attribute::<SmInfo>().guid(), 0xb1);
}

/// More requests than the sockets hold, before the first answer is read: sending reads, so that neither side waits for the other.
#[test]
fn sending_does_not_deadlock() {
    let ibsim = Ibsim::start(NETLIST);
    let mut connection = Connection::connect(ibsim.name(), Some("H1")).unwrap();
    let count = 2_000;
    for transaction in 1..=count {
        let mut mad = Mad::directed(&Path::local(), Method::GET, NodeInfo::ID, 0);
        mad.set_transaction(transaction);
        connection.send(&Envelope { address: Address::Directed, mad }).unwrap();
    }
    for transaction in 1..=count {
        let Delivery::Received(answer) = next(&mut connection) else { panic!("{transaction} is undeliverable") };
        assert_eq!(u64::from(answer.mad.transaction() as u32), transaction, "in order, none lost");
    }
}

#[test]
fn connections_leave_their_place_and_errors_say_what_is_wrong() {
    let ibsim = Ibsim::start(NETLIST);
    // ibsim has ten places.
    for _ in 0..25 {
        Connection::connect(ibsim.name(), None).unwrap();
    }
    let error = Connection::connect(ibsim.name(), Some("H9")).unwrap_err().to_string();
    assert!(error.contains(ibsim.name()) && error.contains("\"H9\""), "{error}");
    let error = Connection::connect(ibsim.name(), Some(&"x".repeat(32))).unwrap_err().to_string();
    assert!(error.contains("31 characters"), "{error}");

    let mut connection = Connection::connect(ibsim.name(), Some("H1")).unwrap();
    assert_eq!(connection.receive(Some(connection.now())).unwrap(), None, "a deadline in the past only looks");
    drop(ibsim);
    let mad = Mad::directed(&Path::local(), Method::GET, NodeInfo::ID, 0);
    let error = connection.send(&Envelope { address: Address::Directed, mad }).unwrap_err().to_string();
    assert!(error.contains("is gone"), "{error}");
}

fn next(connection: &mut Connection) -> Delivery {
    let deadline = connection.now() + Duration::from_secs(20);
    connection.receive(Some(deadline)).expect("the connection is open").expect("something comes within 20 s")
}
