//! `ibportstate`: a port, and the one at the other end of its cable.

use crate::bench::Bench;
use heddle_tests::{fields, wait_until};
use std::collections::BTreeMap;

/// What the tool prints of the port, and of its peer.
fn query(bench: &Bench, arguments: &[&str]) -> (String, String) {
    let said = bench.stock.run("ibportstate", arguments);
    let (own, peer) = said.split_once("Peer PortInfo:").unwrap_or_else(|| panic!("no peer: {said}"));
    (own.to_owned(), peer.to_owned())
}

#[test]
fn query_with_peer() {
    let bench = Bench::new();
    for (name, port) in [("leaf-0", 1), ("leaf-2", 4), ("spine-0", 6)] {
        let node = bench.graph.node(name);
        let (peer, into) = bench.graph.cables[&(node, port)];
        let lid = bench.lid(node);
        let (own, other) = query(&bench, &[&lid, &port.to_string()]);
        assert!(own.contains(&format!("Lid {lid} port {port}\n")), "{own}");
        assert!(other.contains(&format!("; 0,{port} port {into}\n")), "{other}");
        let (own, other) = (fields(&own), fields(&other));
        for found in [&own, &other] {
            assert_eq!((found["LinkState"].as_str(), found["PhysLinkState"].as_str()), ("Active", "LinkUp"), "{found:#?}");
            assert_eq!(found["LinkWidthActive"], "4X", "{found:#?}");
        }
        if !bench.graph.is_switch(peer) {
            assert_eq!(other["Lid"], bench.lid(bench.graph.port_guid((peer, into))), "{other:#?}");
        }
    }
}

/// A port of the tools' own host, which needs no cable to be asked.
#[test]
fn own_port() {
    let bench = Bench::new();
    let found = fields(&bench.stock.run("ibportstate", &["-D", "0", "1"]));
    assert_eq!(found["LinkState"], "Active");
    assert_eq!(found["Lid"], bench.own_ports()[0].1.to_string());
}

/// The link goes down at both ends, OpenSM routes around it, and uses it again when it is enabled.
#[test]
fn disable_and_enable() {
    let mut bench = Bench::new();
    let (leaf, port) = bench.unused_uplink("leaf-0");
    let (spine, into) = bench.graph.cables[&(leaf, port)];
    let [lid, spine_lid] = [leaf, spine].map(|guid| bench.dump.lids[&guid]);
    let ports = |bench: &Bench| {
        let state = |found: BTreeMap<String, String>| format!("{} {}", found["LinkState"], found["PhysLinkState"]);
        [bench.stock.port_info(lid, port), bench.stock.port_info(spine_lid, into)].map(state)
    };
    assert_eq!(ports(&bench), ["Active LinkUp"; 2]);

    let ups = bench.opensm.ups();
    bench.stock.run("ibportstate", &[&lid.to_string(), &port.to_string(), "disable"]);
    assert_eq!(ports(&bench), ["Down Disabled", "Down Polling"]);
    bench.opensm.wait_until_up(ups);
    let mut cut = bench.graph.clone();
    cut.cut((leaf, port));
    bench.assert_all_reached(&cut);

    let ups = bench.opensm.ups();
    bench.stock.run("ibportstate", &[&lid.to_string(), &port.to_string(), "enable"]);
    bench.opensm.wait_until_up(ups);
    wait_until(|| format!("the link is active again: {:?}", ports(&bench)), || ports(&bench) == ["Active LinkUp"; 2]);
    bench.assert_all_reached(&bench.graph);
}

/// A speed less is what the link then runs at, once it has trained again.
#[test]
fn speed() {
    let mut bench = Bench::new();
    let (leaf, port) = bench.unused_uplink("leaf-0");
    let lid = bench.dump.lids[&leaf];
    let arguments = [lid.to_string(), port.to_string()];
    let set = |what: &[&str]| bench.stock.run("ibportstate", &[&[&*arguments[0], &*arguments[1]], what].concat());
    // LinkSpeedExtEnabled: 1 is FDR, 3 is FDR and EDR (IBA 14.2.5.6).
    set(&["espeed", "3"]);
    assert_eq!(bench.stock.port_info(lid, port)["LinkSpeedExtEnabled"], "14.0625 Gbps or 25.78125 Gbps");
    set(&["reset"]);
    let active = || bench.stock.port_info(lid, port)["LinkSpeedExtActive"].clone();
    wait_until(|| format!("the link is slower: {}", active()), || active() == "25.78125 Gbps");
    let ups = bench.opensm.ups();
    bench.opensm.wait_until_up(ups.saturating_sub(1));
}
