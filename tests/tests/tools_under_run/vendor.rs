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
