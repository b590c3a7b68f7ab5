//! The socket of commands.

use crate::support::*;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};

fn connect(server: &Running) -> UnixStream {
    let stream = UnixStream::connect_addr(&SocketAddr::from_abstract_name(format!("{}:heddle", server.name)).unwrap()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

const STATUS: &[u8] = b"{\"command\": \"status\"}\n";

fn next(lines: &mut impl BufRead) -> Value {
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap()
}

#[test]
fn a_line_asks_and_a_line_answers() {
    let server = Running::start();
    let _client = server.client("host-0-0");
    let mut stream = connect(&server);
    let mut lines = BufReader::new(stream.try_clone().unwrap());
    // In pieces, as a stream may bring it.
    for byte in STATUS {
        stream.write_all(&[*byte]).unwrap();
    }
    let status = next(&mut lines);
    assert_eq!((&status["ok"]["switches"], &status["ok"]["hosts"]), (&12.into(), &32.into()), "{status}");
    assert_eq!(status["ok"]["clients"], 1, "{status}");

    // Several at once; one of them wrong; and nothing more is said.
    stream.write_all(&[STATUS, b"nonsense\n\xff\n", STATUS].concat()).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert!(next(&mut lines)["ok"].is_object());
    assert!(next(&mut lines)["error"].is_string());
    assert!(next(&mut lines)["error"].is_string());
    assert!(next(&mut lines)["ok"].is_object());
    let mut rest = String::new();
    assert_eq!(lines.read_to_string(&mut rest).unwrap(), 0, "{rest}");
}

#[test]
fn who_does_not_listen_or_does_not_end_disturbs_nobody() {
    let server = Running::start();
    // Answers that nobody reads: at some time nothing more is taken from it, and it blocks itself.
    let mut deaf = connect(&server);
    deaf.set_nonblocking(true).unwrap();
    let nodes = b"{\"command\": \"nodes\"}\n".repeat(100);
    while deaf.write(&nodes).is_ok() {}
    // A line without an end for long: that is said once, nothing of it is kept, and behind its end the next one counts.
    let mut endless = connect(&server);
    (0..1000).for_each(|_| endless.write_all(&[b'x'; 4096]).unwrap());
    let mut lines = BufReader::new(endless.try_clone().unwrap());
    assert!(next(&mut lines)["error"].as_str().unwrap().contains("65536 bytes"));
    endless.write_all(&[b"\n", STATUS].concat()).unwrap();
    assert!(next(&mut lines)["ok"].is_object());

    let mut stream = connect(&server);
    stream.write_all(STATUS).unwrap();
    assert!(next(&mut BufReader::new(stream))["ok"].is_object());
    assert_served(&mut server.client("host-0-0"));
}
