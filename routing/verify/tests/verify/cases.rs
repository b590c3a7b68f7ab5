//! Tables by hand, with the verdict known beforehand.

use crate::common::*;
use heddle_fabric::{Fabric, FabricBuilder, Guid, Lid, Link, NodeIndex, NodeKind, NodeSpec, PortRef, SwitchIndex, Tables};
use heddle_verify::{Deadlock, Quality, Reason, check_certificate, prove, quality, verify};
use std::sync::Arc;

const S0: SwitchIndex = SwitchIndex(0);
const S1: SwitchIndex = SwitchIndex(1);

fn lid_of(fabric: &Fabric, name: &str) -> Lid {
    fabric.end_ports().iter().find(|end| fabric.node(end.at.node).description == name).unwrap().lid
}

/// In the generator's ring, port 2 leads to the next switch and port 3 to the one before.
fn around(fabric: &Fabric, way: impl Fn(usize, usize) -> u8) -> Tables {
    let mut tables = Tables::new(fabric, "by hand");
    for switch in switches(fabric) {
        for end in fabric.end_ports() {
            let port = if end.switch == switch { end.switch_port } else { way(switch.index(), end.switch.index()) };
            tables.row_mut(switch)[end.lid.index()] = port;
        }
    }
    tables
}

#[test]
fn ring_in_one_direction_is_a_circle() {
    let fabric = generated("ring:6");
    let tables = around(&fabric, |_, _| 2);
    let report = verify(&fabric, &tables);
    assert!(report.connected() && report.loop_free() && !report.deadlock_free() && !report.is_good());
    let Deadlock::Cyclic(witness) = &report.deadlock else { panic!("{report}") };
    let names: Vec<_> = witness.steps.iter().map(|step| (step.channel.description.as_str(), step.channel.port)).collect();
    assert_eq!(names, [("switch-0", 2), ("switch-1", 2), ("switch-2", 2), ("switch-3", 2), ("switch-4", 2), ("switch-5", 2)]);
    let text = witness.to_string();
    assert!(text.contains("port 2 of \"switch-5\" (0x0200000100000050) waits for port 2 of \"switch-0\" (0x0200000100000000)"), "{text}");
    assert!(text.contains("\"host-"), "{text}");
    assert!(prove(Arc::new(fabric), tables).is_err());
}

#[test]
fn ring_by_the_shorter_way_is_a_circle() {
    let fabric = generated("ring:6");
    let report = verify(&fabric, &around(&fabric, |from, to| if (to + 6 - from) % 6 <= 3 { 2 } else { 3 }));
    assert!(report.connected() && !report.deadlock_free(), "{report}");
}

/// Three hops to the next but one are needed for a circle; in a ring of 3, nobody goes on beyond the neighbour.
#[test]
fn ring_of_three_by_the_shorter_way_is_free() {
    let fabric = generated("ring:3");
    let report = verify(&fabric, &around(&fabric, |from, to| if (to + 3 - from) % 3 == 1 { 2 } else { 3 }));
    assert!(report.is_good(), "{report}");
}

#[test]
fn ring_that_never_closes_is_free() {
    let fabric = Arc::new(generated("ring:6"));
    let tables = around(&fabric, |from, to| if to > from { 2 } else { 3 });
    let proven = prove(fabric.clone(), tables).unwrap();
    assert!(proven.certificate().covers_switch_to_switch);
    assert_eq!(check_certificate(&fabric, proven.tables(), proven.certificate()), Ok(()));
    assert!(proven.report().to_string().ends_with("free of deadlock on one VL, for all traffic"));
    // Sum of |i - j| over all pairs of 6 in a line is 70, over 30 pairs; the middle cable carries 3 * 3 routes each way.
    let hops = vec![0, 10, 8, 6, 4, 2];
    let expected = Quality { hops, max_hops: 5, mean_hops: 70.0 / 30.0, max_link_load: 9, mean_link_load: 70.0 / 12.0 };
    assert_eq!(quality(&fabric, proven.tables()), expected);
}

#[test]
fn spine_to_spine_does_not_count() {
    let (fabric, tables) = turning(small_tree(), 1);
    let report = verify(&fabric, &tables);
    let Deadlock::Free(certificate) = &report.deadlock else { panic!("{report}") };
    assert!(!certificate.covers_switch_to_switch);
    assert!(report.to_string().ends_with("for all traffic that has a host at one end"));
    // Up and down are two steps: a channel up has rank 0, one down 1.
    assert_eq!(certificate.ranks.iter().max(), Some(&1));

    let (fabric, tables) = turning(small_tree(), 0);
    assert!(prove(Arc::new(fabric), tables).unwrap().certificate().covers_switch_to_switch);
}

/// A host on a spine sends to the other spine, and that makes the turn count.
#[test]
fn spine_to_spine_counts_if_a_host_is_there() {
    let mut builder = small_tree();
    for (spine, host) in [(3, 0x900), (4, 0x901)] {
        let host = builder.add_node(NodeSpec::new(NodeKind::Ca, Guid(host), 1, "on a spine")).unwrap();
        builder.connect(PortRef::new(host, 1), PortRef::new(NodeIndex(spine), 4), Link::default()).unwrap();
    }
    let (fabric, tables) = turning(builder.clone(), 0);
    assert!(verify(&fabric, &tables).deadlock_free());
    let (fabric, tables) = turning(builder, 1);
    let report = verify(&fabric, &tables);
    let Deadlock::Cyclic(witness) = &report.deadlock else { panic!("{report}") };
    let names: Vec<_> = witness.steps.iter().map(|step| (step.channel.description.as_str(), step.channel.port)).collect();
    assert_eq!(names, [("leaf-0", 4), ("spine-1", 2), ("leaf-1", 3), ("spine-0", 1)]);
}

#[test]
fn faults_have_reasons() {
    let fabric = generated("mesh:2,hosts=2");
    let good = nearest(&fabric, |_| true);
    let lid = lid_of(&fabric, "host-1-0");
    let check = |ports: [u8; 2], from_switches: u64, from_hosts: u64, text: &str| {
        let mut tables = good.clone();
        [S0, S1].into_iter().zip(ports).for_each(|(switch, port)| tables.row_mut(switch)[lid.index()] = port);
        let report = verify(&fabric, &tables);
        assert_eq!((report.unreachable_from_switches, report.unreachable_from_hosts), (from_switches, from_hosts), "{report}");
        assert!(report.unreachable[0].to_string().contains(text), "{report}");
        assert!(!report.is_good());
        report
    };
    // Ports 1 and 2 are hosts, 3 leads on, 4 is free. Hosts of switch 0: 2; of switch 1: 1 beside the owner.
    let report = check([255, 1], 1, 2, "are dropped by \"switch-0\" (0x0200000100000000): its table has no port for this LID");
    assert!(matches!(report.unreachable[0].reason, Reason::Dropped { .. }));
    check([3, 255], 2, 3, "are dropped by \"switch-1\"");
    check([3, 2], 2, 3, "leave by port 2 of \"switch-1\" (0x0200000100000010), which leads to port 1 of \"host-1-1\"");
    check([3, 0], 2, 3, "leave by port 0 of \"switch-1\" (0x0200000100000010), which leads to port 0 of \"switch-1\"");
    check([4, 1], 1, 2, "leave by port 4 of \"switch-0\" (0x0200000100000000), which leads to nothing");
    check([200, 1], 1, 2, "leave by port 200 of \"switch-0\" (0x0200000100000000), which leads to nothing");
    let report = check([3, 4], 2, 3, "go in circles: port 3 of \"switch-0\" (0x0200000100000000), port 4 of \"switch-1\"");
    assert_eq!((report.looping, report.loop_free(), report.connected(), report.deadlock_free()), (2, false, false, false));
}

#[test]
fn lmc_needs_all_lids() {
    let mut builder = heddle_fabric::generate("ring:2").unwrap();
    builder.port_mut(PortRef::new(NodeIndex(2), 1)).unwrap().lmc = 2;
    let fabric = built(builder);
    let good = nearest(&fabric, |_| true);
    let report = verify(&fabric, &good);
    assert!(report.is_good(), "{report}");
    assert_eq!((report.end_ports, report.lids), (4, 3 + 4));
    let mut tables = good;
    let last = lid_of(&fabric, "host-0-0").index() + 3;
    tables.row_mut(S1)[last] = 255;
    let report = verify(&fabric, &tables);
    assert_eq!((report.unreachable_from_switches, report.unreachable[0].lid.index()), (1, last));
}

#[test]
fn cable_from_a_switch_to_itself_leads_nowhere() {
    let mut builder = heddle_fabric::generate("ring:3").unwrap();
    builder.disconnect(PortRef::new(NodeIndex(0), 2));
    builder.disconnect(PortRef::new(NodeIndex(0), 3));
    builder.connect(PortRef::new(NodeIndex(0), 2), PortRef::new(NodeIndex(0), 3), Link::default()).unwrap();
    let fabric = built(builder);
    let report = verify(&fabric, &around(&fabric, |_, _| 2));
    let text = report.to_string();
    assert!(text.contains("leave by port 2 of \"switch-0\" (0x0200000100000000), which leads to port 3 of \"switch-0\""), "{text}");
}

#[test]
fn entries_for_nobody_are_a_warning() {
    let fabric = generated("ring:3");
    let mut tables = nearest(&fabric, |_| true);
    tables.row_mut(S0)[20] = 1;
    tables.row_mut(S0)[0] = 1;
    tables.row_mut(S1)[63] = 0;
    let report = verify(&fabric, &tables);
    assert!(report.is_good());
    assert_eq!(report.unowned_entries, 2, "and LID 0 is no LID");
    assert!(report.to_string().contains("warning: 2 entries are for LIDs that nobody has"));
}

#[test]
fn tables_of_another_fabric_are_refused_and_nothing_panics() {
    let small = generated("ring:2");
    let large = generated("clos2:16");
    for (fabric, other) in [(&small, &large), (&large, &small)] {
        let tables = nearest(other, |_| true);
        assert!(!verify(fabric, &tables).is_good());
        quality(fabric, &tables);
    }
    let nothing = FabricBuilder::new().build();
    let report = verify(&nothing, &Tables::new(&nothing, "nobody"));
    assert!(report.is_good(), "there is nothing to reach");
    assert_eq!(quality(&nothing, &Tables::new(&nothing, "nobody")), Quality::default());
}

/// All ports of the largest switches, so that the last bits of the sets are used: two switches, 254 parallel cables but for the hosts'.
#[test]
fn switches_with_254_ports() {
    let fabric = generated("mesh:3,hosts=2,links=126");
    let mut tables = nearest(&fabric, |_| true);
    assert!(verify(&fabric, &tables).is_good());
    // Ports 129 to 254 of switch 1 lead back to switch 0; by the last one, packets to switch 2's host go back and forth.
    let lid = lid_of(&fabric, "host-2-0").index();
    tables.row_mut(S1)[lid] = 254;
    let report = verify(&fabric, &tables);
    let Deadlock::Cyclic(witness) = &report.deadlock else { panic!("{report}") };
    assert_eq!(witness.steps.iter().map(|step| step.channel.port).collect::<Vec<_>>(), [3, 254]);
    assert_eq!(report.looping, 2);
}
