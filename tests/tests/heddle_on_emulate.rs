//! `heddle sm` on `heddle emulate`, by the protocol of ibsim and as umad under `heddle run`: it writes what it writes with `--emulate`,
//! where the same emulator is part of its own process, and stock tools see the fabric that it says.
#![forbid(unsafe_code)]

use heddle_fabric::generate;
use heddle_tests::{Dump, Emulate, Graph, Preload, Stock, Way, assert_agreement, heddle, netlist};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

#[test]
fn tree() {
    check("clos3:8");
}

#[test]
fn tree_with_gaps() {
    check("clos3:8,fail-links=9,fail-switches=3,seed=4");
}

#[test]
fn torus() {
    check("torus:4x4x3,hosts=2");
}

#[test]
fn dragonfly() {
    check("dragonfly:a=4,p=2,h=2");
}

#[test]
fn random_shape() {
    check("random:switches=20,degree=4,hosts=2,seed=5");
}

fn check(shape: &str) {
    let fabric = &generate(shape).unwrap().build();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("netlist");
    fs::write(&file, netlist(fabric)).unwrap();
    let graph = Graph::of(fabric);
    let (host, _) = graph.first_host();
    let within = folder.path().join("within");
    let mut command = Command::new(heddle());
    command.args(["sm", "--emulate"]).arg(&file).args(["--node", &host.replace("H-", "0x"), "--engine", "up-down"]);
    up(&mut command, &within);

    for way in [Way::Ibsim, Way::Umad] {
        let emulate = Emulate::start(fabric);
        let seat = emulate.seat(&host, Preload::Heddle);
        let there = folder.path().join(format!("{way:?}"));
        up(&mut way.manager(&seat), &there);
        for name in ["opensm-subnet.lst", "opensm.fdbs", "opensm-lfts.dump", "opensm.mcfdbs"] {
            let [here, there] = [&within, &there].map(|folder| fs::read_to_string(folder.join(name)).unwrap());
            assert!(here == there, "{name} by {way:?}");
        }
        for preload in [Preload::Ibsim, Preload::Heddle] {
            assert_agreement(&Stock::new(emulate.seat(&host, preload)), &graph, &Dump::read(&there));
        }
    }
}

/// Brings the fabric up once.
fn up(command: &mut Command, folder: &Path) {
    let Output { status, stdout, stderr } = command.args(["--once", "--dump"]).arg(folder).output().expect("heddle starts");
    let (said, errors) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success() && said.contains("SUBNET UP"), "{command:?}: {status}\n{said}\n{errors}");
}
