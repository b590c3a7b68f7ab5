//! The tools that look at the whole fabric, and those that follow its tables.

use crate::bench::Bench;
use heddle_fabric::NodeKind;
use heddle_tests::{assert_agreement, assert_same, lfts};
use std::collections::BTreeMap;

/// `ibnetdiscover`, `iblinkinfo` and `dump_fts`.
#[test]
fn whole_fabric() {
    let bench = Bench::new();
    assert_agreement(&bench.stock, &bench.graph, &bench.dump);
    assert_same("tables by dump_lfts", &lfts(&bench.stock.run("dump_lfts", &["-a", "-n"])), &bench.dump.lfts);
}

/// `ibhosts`, `ibswitches`, `ibrouters`, `ibnodes` and `ibidsverify`.
#[test]
fn nodes() {
    let bench = Bench::new();
    let nodes = |tool: &str| {
        let said = bench.stock.run(tool, &[]);
        let node = |line: &str| {
            let (guid, rest) = line.split_once(": 0x")?.1.split_once(" ports ")?;
            let (ports, rest) = rest.split_once(" \"")?;
            Some((u64::from_str_radix(guid, 16).ok()?, (ports.parse::<u8>().ok()?, rest.split_once('"')?.0.to_owned())))
        };
        said.lines().map(|line| node(line).unwrap_or_else(|| panic!("{tool}: {line}"))).collect::<BTreeMap<_, _>>()
    };
    let expected = |kind: Option<NodeKind>| {
        let nodes = bench.graph.nodes.iter().filter(|(_, node)| kind.is_none_or(|kind| node.0 == kind));
        nodes.map(|(guid, (_, ports, name))| (*guid, (*ports, name.clone()))).collect::<BTreeMap<_, _>>()
    };
    assert_same("ibhosts", &nodes("ibhosts"), &expected(Some(NodeKind::Ca)));
    assert_same("ibswitches", &nodes("ibswitches"), &expected(Some(NodeKind::Switch)));
    assert_same("ibrouters", &nodes("ibrouters"), &expected(Some(NodeKind::Router)));
    assert_same("ibnodes", &nodes("ibnodes"), &expected(None));
    assert_eq!(bench.stock.run("ibidsverify", &[]), "");
}

/// `ibtracert` between all pairs of four hosts' ports and two switches.
#[test]
fn ways() {
    let bench = Bench::new();
    let mut ends: Vec<u64> = bench.graph.host_ports.values().copied().step_by(6).collect();
    ends.extend(["leaf-1", "spine-2"].map(|name| bench.graph.node(name)));
    for &from in &ends {
        for &to in ends.iter().filter(|&&to| to != from) {
            let [from_lid, to_lid] = [from, to].map(|guid| bench.dump.lids[&guid]);
            let way = bench.graph.walk(&bench.dump.lfts, from, to, to_lid).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(bench.stock.trace(from_lid, to_lid), way, "from LID {from_lid} to LID {to_lid}");
        }
    }
}

#[test]
fn ibroute() {
    let bench = Bench::new();
    for name in ["leaf-0", "spine-1"] {
        let guid = bench.graph.node(name);
        let found = lfts(&bench.stock.run("ibroute", &["-a", &bench.lid(guid)]));
        assert_eq!(found[&guid], bench.dump.lfts[&guid], "{name}");
    }
}
