//! Fabrics in several parts.

use crate::common::*;
use heddle_fabric::{
    Fabric, FabricBuilder, Guid, Lanes, Levels, Link, NodeIndex, NodeKind, NodeSpec, PortRef, SwitchIndex, Tables, generate,
};
use heddle_verify::{Reason, prove, verify};
use std::sync::Arc;

const S0: SwitchIndex = SwitchIndex(0);
const S1: SwitchIndex = SwitchIndex(1);
const S2: SwitchIndex = SwitchIndex(2);

/// Switches 0 and 1 in a line, and switch 2 apart, each with a host at port 1; in the line, port 2 leads on and port 3 back.
fn line_and_one() -> Fabric {
    let mut builder = generate("mesh:3,hosts=1").unwrap();
    builder.disconnect(PortRef::new(NodeIndex(1), 2));
    built(builder)
}

#[test]
fn pairs_without_a_way_are_no_fault_and_are_counted() {
    let fabric = Arc::new(line_and_one());
    let tables = nearest(&fabric, |_| true);
    let report = verify(&fabric, &tables);
    assert!(report.is_good() && report.connected(), "{report}");
    let sizes: Vec<_> = report.parts.iter().map(|part| (part.switches, part.host_ports, part.lids)).collect();
    assert_eq!(sizes, [(2, 2, 4), (1, 1, 2)]);
    // 2 switches miss 2 LIDs, and one misses 4; each switch has one host.
    assert_eq!((report.parts.apart_from_switches(), report.parts.apart_from_hosts()), (8, 8));
    let text = report.to_string();
    for part in [
        "2 parts without a cable between them: that of \"switch-0\" (0x0200000100000000; switches: 2, ports of hosts: 2), \
         that of \"switch-2\" (0x0200000100000020; switches: 1, ports of hosts: 1)",
        "8 pairs of host and LID, 8 pairs of switch and LID are in different ones",
        "every LID is reached from every switch and host of its part, without loops",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    assert!(prove(fabric, tables).is_ok());
    assert!(!verify(&generated("mesh:3,hosts=1"), &Tables::new(&line_and_one(), "nobody")).to_string().contains("parts"));
}

/// By the entries of switches 0 and 1 for the host of switch 2.
#[test]
fn packets_to_another_part_must_be_dropped() {
    let fabric = line_and_one();
    let good = nearest(&fabric, |_| true);
    let lid = fabric.end_ports().iter().find(|end| end.is_host() && end.switch == S2).unwrap().lid;
    let faults = |ports: [u8; 2]| {
        let mut tables = good.clone();
        [S0, S1].into_iter().zip(ports).for_each(|(switch, port)| tables.row_mut(switch)[lid.index()] = port);
        let report = verify(&fabric, &tables);
        assert_eq!(report.is_good(), report.unreachable_from_switches == 0);
        (report.unreachable_from_switches, report.unreachable.first().map(|pair| pair.reason.clone()))
    };
    assert_eq!(faults([255, 255]), (0, None));
    // To the neighbour, which drops them; to where the cable was; to a port that is not there.
    assert_eq!(faults([2, 255]), (0, None));
    assert_eq!(faults([2, 2]), (0, None));
    assert_eq!(faults([200, 255]), (0, None));
    assert!(matches!(faults([2, 3]), (2, Some(Reason::Loop { .. }))));
    assert!(matches!(faults([1, 255]), (1, Some(Reason::WrongPort { leads_to: Some(_), .. }))));
    assert!(matches!(faults([2, 0]), (2, Some(Reason::WrongPort { leads_to: Some(_), .. }))));
}

/// Within a part, all must arrive.
#[test]
fn each_part_must_be_whole() {
    let fabric = line_and_one();
    for end in fabric.end_ports() {
        let mut tables = nearest(&fabric, |_| true);
        tables.row_mut(end.switch)[end.lid.index()] = 255;
        let report = verify(&fabric, &tables);
        assert_eq!(report.unreachable_from_switches, if end.switch == S2 { 1 } else { 2 });
    }
}

#[test]
fn pairs_without_a_way_need_no_sl() {
    let fabric = line_and_one();
    let mut tables = nearest(&fabric, |_| true);
    let row = tables.row_len();
    let mut levels = vec![255; 3 * row];
    for (number, switch) in switches(&fabric).enumerate() {
        for end in fabric.end_ports().iter().filter(|end| (end.switch == S2) == (switch == S2)) {
            levels[number * row + end.lid.index()] = 0;
        }
    }
    tables.set_lanes(Some(Lanes::uniform(Levels::ByPair(levels.clone()), Lanes::IDENTITY)));
    assert!(verify(&fabric, &tables).is_good());
    let host = fabric.end_ports().iter().find(|end| end.is_host() && end.switch == S1).unwrap();
    levels[host.lid.index()] = 255;
    tables.set_lanes(Some(Lanes::uniform(Levels::ByPair(levels), Lanes::IDENTITY)));
    assert_eq!(verify(&fabric, &tables).dropped_by_sl, 1);
}

/// No packets with an SL take part in it, so the VLs are free of circles; but it is one.
#[test]
fn loops_of_packets_without_an_sl_are_found() {
    let mut builder = generate("mesh:3,hosts=0").unwrap();
    let host = builder.add_node(NodeSpec::new(NodeKind::Ca, Guid(0x900), 1, "host")).unwrap();
    builder.connect(PortRef::new(host, 1), PortRef::new(NodeIndex(0), 2), Link::default()).unwrap();
    let fabric = built(builder);
    let mut tables = nearest(&fabric, |_| true);
    let lid = fabric.end_ports().iter().find(|end| end.is_host()).unwrap().lid;
    let on = fabric.arcs(S1).iter().find(|arc| arc.peer == S2).unwrap().port;
    tables.row_mut(S1)[lid.index()] = on;
    let row = tables.row_len();
    let mut levels = vec![255; 3 * row];
    levels[..row].fill(0);
    tables.set_lanes(Some(Lanes::uniform(Levels::ByPair(levels), Lanes::IDENTITY)));
    let report = verify(&fabric, &tables);
    assert_eq!((report.looping, report.is_good()), (2, false), "{report}");
}

fn pair_of_hosts(builder: &mut FabricBuilder, guid: u64) {
    let [a, b] = [guid, guid + 1].map(|guid| {
        let spec = NodeSpec::new(NodeKind::Ca, Guid(guid), 1, format!("alone-{guid}"));
        PortRef::new(builder.add_node(spec).unwrap(), 1)
    });
    builder.connect(a, b, Link::default()).unwrap();
}

#[test]
fn hosts_cabled_to_each_other_are_a_part() {
    // By themselves, two hosts have all they need.
    let mut builder = FabricBuilder::new();
    pair_of_hosts(&mut builder, 1);
    let counts = |builder: &FabricBuilder| {
        let fabric = built(builder.clone());
        let report = verify(&fabric, &nearest(&fabric, |_| true));
        assert!(report.is_good());
        (report.parts.len(), report.parts.apart_from_switches(), report.parts.apart_from_hosts())
    };
    assert_eq!(counts(&builder), (1, 0, 0));
    // Of two such pairs, each port misses the two of the other pair.
    pair_of_hosts(&mut builder, 3);
    assert_eq!(counts(&builder), (2, 0, 8));
    // Beside 2 switches with a host each: the switches miss 2 LIDs each, the 2 hosts too, and the pair misses the other 4 LIDs each.
    let mut builder = generate("mesh:2,hosts=1").unwrap();
    pair_of_hosts(&mut builder, 1);
    assert_eq!(counts(&builder), (2, 4, 12));
    let fabric = built(builder);
    let text = verify(&fabric, &nearest(&fabric, |_| true)).to_string();
    assert!(text.contains("that of \"alone-1\" (0x0000000000000001; switches: 0, ports of hosts: 2)"), "{text}");
}

/// A host forwards nothing: with a port in each of two parts, it is reached in both and joins neither.
#[test]
fn a_host_does_not_join_parts() {
    let mut builder = generate("mesh:2,hosts=1").unwrap();
    builder.disconnect(PortRef::new(NodeIndex(0), 2));
    let host = builder.add_node(NodeSpec::new(NodeKind::Ca, Guid(0x900), 2, "two ports")).unwrap();
    for (port, switch) in [(1, 0), (2, 1)] {
        builder.connect(PortRef::new(host, port), PortRef::new(NodeIndex(switch), 3), Link::default()).unwrap();
    }
    let fabric = built(builder);
    let report = verify(&fabric, &nearest(&fabric, |_| true));
    assert!(report.is_good(), "{report}");
    // Each part: a switch, a host and a port of the host of both.
    assert_eq!((report.parts.len(), report.parts.apart_from_switches(), report.parts.apart_from_hosts()), (2, 6, 12));
}

/// Many parts: the text stays short.
#[test]
fn forty_lone_switches() {
    let mut builder = FabricBuilder::new();
    for guid in (1..=40).rev() {
        builder.add_node(NodeSpec::new(NodeKind::Switch, Guid(guid), 2, format!("s{guid}"))).unwrap();
    }
    let fabric = built(builder);
    let report = verify(&fabric, &nearest(&fabric, |_| true));
    assert_eq!((report.parts.len(), report.parts.apart_from_switches()), (40, 40 * 39));
    let text = report.to_string();
    assert!(text.contains("40 parts") && text.contains("\"s8\"") && !text.contains("\"s9\"") && text.contains("and 32 more"), "{text}");
}
