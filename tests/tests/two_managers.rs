//! Two OpenSM on `heddle emulate`: the one with the higher priority takes over, and the other one again when the first is gone.
#![forbid(unsafe_code)]

use heddle_tests::{Emulate, Graph, OpenSm, Preload, Stock, assert_same, dual_ported_tree, lids};
use std::collections::BTreeMap;

#[test]
fn under_the_library_of_ibsim() {
    hand_over_and_fail_over(Preload::Ibsim);
}

#[test]
fn under_the_library_of_heddle() {
    hand_over_and_fail_over(Preload::Heddle);
}

fn hand_over_and_fail_over(preload: Preload) {
    let fabric = dual_ported_tree();
    let emulate = Emulate::start(&fabric);
    let graph = Graph::of(&fabric);
    let at = |name: &str| emulate.seat(format!("H-{:016x}", graph.node(name)), preload);
    let port_guid = |name: &str| graph.host_ports[&(graph.node(name), 1)];
    let folder = tempfile::tempdir().unwrap();
    // By default a standby asks every ten seconds whether the master lives, and takes over after the fourth silence.
    let options = folder.path().join("opensm.conf");
    std::fs::write(&options, "sminfo_polling_timeout 200\npolling_retry_number 2\n").unwrap();
    let options = options.to_str().unwrap();
    let stock = Stock::new(at("host-5"));
    let found_lids = || lids(&stock.fabric());
    let assert_master = |name: &str, priority: u8, lids: &BTreeMap<u64, u16>| {
        let said = stock.run("sminfo", &[]);
        assert!(said.contains(&format!("sm guid {:#x}, ", port_guid(name))), "{name}: {said}");
        assert!(said.contains(&format!("priority {priority} state 3 SMINFO_MASTER")), "{name}: {said}");
        assert_same("LIDs", &found_lids(), lids);
        let tables = stock.lfts();
        for from in graph.end_ports() {
            for (&to, &lid) in lids {
                graph.walk(&tables, from, to, lid).unwrap_or_else(|error| panic!("from {from:#x}: {error}"));
            }
        }
    };

    let mut first = OpenSm::start(&at("host-0"), &["--config", options, "--priority", "3"]);
    first.wait_until_up(0);
    let lids = found_lids();
    assert_eq!(lids.len(), graph.end_ports().len());
    assert_master("host-0", 3, &lids);

    let mut second = OpenSm::start(&at("host-11"), &["--config", options, "--priority", "9"]);
    second.wait_for("Entering MASTER state", 1);
    second.wait_until_up(0);
    first.wait_for("Entering STANDBY state", 1);
    assert_master("host-11", 9, &lids);

    let ups = first.ups();
    second.kill();
    first.wait_for("Entering MASTER state", 2);
    first.wait_until_up(ups);
    assert_master("host-0", 3, &lids);
}
