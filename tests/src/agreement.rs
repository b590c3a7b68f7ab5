//! Whether stock tools see what was built, and what Heddle says that it made of it.

use crate::{Dump, Graph, Stock, ibdmchk, lids};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::path::Path;

/// Has stock tools look at the whole fabric: the nodes and cables are those `expected`, all ports with a cable are Active and LinkUp
/// and the others are not, every port has a LID of its own that is the one in Heddle's dump, and the tables in the switches are those in
/// Heddle's dump, entry by entry.
///
/// # Panics
/// When a tool does not agree: with the first differences.
pub fn assert_agreement(stock: &Stock, expected: &Graph, dump: &Dump) {
    let found = stock.fabric();
    let seen = Graph::of(&found);
    assert_same("nodes by ibnetdiscover", &seen.nodes, &expected.nodes);
    assert_same("cables by ibnetdiscover", &seen.cables, &expected.cables);
    assert_same("ports of hosts by ibnetdiscover", &seen.host_ports, &expected.host_ports);
    assert_same("cables in the dump", &dump.cables, &expected.cables);

    let found_lids = lids(&found);
    assert_same("LIDs by ibnetdiscover", &found_lids, &dump.lids);
    let end_ports: BTreeSet<u64> = expected.end_ports().into_iter().collect();
    assert!(found_lids.keys().eq(&end_ports), "ports without a LID: {:x?}", end_ports.iter().find(|guid| !found_lids.contains_key(guid)));
    let distinct: BTreeSet<u16> = found_lids.values().copied().collect();
    assert!(distinct.len() == found_lids.len() && !distinct.contains(&0), "a LID is 0 or given twice");

    assert_links(stock, expected, dump);
    assert_same("tables by dump_fts", &stock.lfts(), &dump.lfts);
}

fn assert_links(stock: &Stock, expected: &Graph, dump: &Dump) {
    let links = stock.links();
    let mut ports = BTreeSet::new();
    for (&guid, (_, count, _)) in &expected.nodes {
        for number in 1..=*count {
            let peer = expected.cables.get(&(guid, number));
            if peer.is_none() && !expected.is_switch(guid) {
                continue;
            }
            let at = (expected.port_guid((guid, number)), number);
            let link = links.get(&at).unwrap_or_else(|| panic!("iblinkinfo does not know port {number} of {:#x}", at.0));
            let state = if peer.is_some() { ("Active", "LinkUp") } else { ("Down", "Polling") };
            assert_eq!((link.state.as_str(), link.physical.as_str()), state, "{}", link.line);
            assert_eq!(link.peer, peer.map(|peer| (expected.port_guid(*peer), peer.1)), "{}", link.line);
            assert_eq!(Some(&link.lid), dump.lids.get(&at.0), "{}", link.line);
            ports.insert(at);
        }
    }
    let more = links.keys().find(|at| !ports.contains(at));
    assert!(more.is_none(), "iblinkinfo knows a port more: {}", links[more.expect("some")].line);
}

/// Has ibdmchk judge the routes in a dump folder: those of every pair of hosts' ports, none left out.
///
/// # Panics
/// When they are not clean, or are not all.
pub fn assert_clean_routes(folder: &Path, host_ports: u64) {
    let pairs = ibdmchk(folder).unwrap_or_else(|why| panic!("ibdmchk finds no clean routes in {}:\n{why}", folder.display()));
    assert_eq!(pairs, host_ports * host_ports.saturating_sub(1), "pairs of hosts' ports that ibdmchk followed");
}

/// Compares two maps.
///
/// # Panics
/// When they differ: with the first differences.
pub fn assert_same<K: Ord + Debug, V: PartialEq + Debug>(what: &str, found: &BTreeMap<K, V>, expected: &BTreeMap<K, V>) {
    if found == expected {
        return;
    }
    let keys: BTreeSet<&K> = found.keys().chain(expected.keys()).collect();
    let differences = keys.into_iter().filter(|key| found.get(key) != expected.get(key));
    let shown: Vec<String> = differences
        .take(5)
        .map(|key| format!("  {key:x?}: found {}, expected {}", shortened(found.get(key)), shortened(expected.get(key))))
        .collect();
    panic!("{what} are not as expected; the first differences:\n{}", shown.join("\n"));
}

fn shortened(value: Option<&impl Debug>) -> String {
    let Some(value) = value else { return "nothing".into() };
    format!("{value:x?}").chars().take(2_000).collect()
}
