//! `ibping`: programs that answer each other. `vendstat`: what only some devices answer.

use crate::bench::Bench;
use heddle_tests::{Running, wait_until};
use std::process::Stdio;

#[test]
fn ibping() {
    let bench = Bench::new();
    let lid = bench.lid(bench.graph.host_ports[&(bench.graph.node("host-8"), 1)]);
    let ping = |count: &str| bench.stock.end("ibping", &["-c", count, &lid]).said;
    let silence = ping("1");
    assert!(silence.contains("1 packets transmitted, 0 received, 100% packet loss"), "{silence}");

    let _server = Running::start(bench.seat("host-8").command("ibping").arg("-S").stdout(Stdio::null()));
    wait_until(|| "the server answers".into(), || ping("1").contains(" 1 received"));
    let said = ping("3");
    assert!(said.contains("3 packets transmitted, 3 received, 0% packet loss"), "{said}");
    assert_eq!(said.lines().filter(|line| line.starts_with("Pong from ")).count(), 3, "{said}");
}

/// Mellanox's devices say what they are; the counters of its older switches, Quantum and the tool do not know.
#[test]
fn vendstat() {
    let bench = Bench::new();
    let sm_lid = bench.lid(bench.sm_port);
    for (lid, device) in [(bench.switch_lid("leaf-0"), "0xd2f0"), (sm_lid, "0x101b")] {
        let said = bench.stock.run("vendstat", &["-N", &lid]);
        let id = said.lines().find_map(|line| line.strip_prefix("hw_dev_id:"));
        assert_eq!(id.map(str::trim), Some(device), "{said}");
    }
    let ended = bench.stock.end("vendstat", &["-w", &bench.switch_lid("leaf-0")]);
    assert!(ended.status == Some(255) && ended.said.contains("Unsupported device ID 0xd2f0"), "{ended:?}");
}
