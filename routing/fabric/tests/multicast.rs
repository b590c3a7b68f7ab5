//! Multicast tables against a plain set of ports, and in the form in which switches are programmed.

use heddle_fabric::{
    Fabric, FabricBuilder, Guid, Link, Mlid, MulticastTables, NodeIndex, NodeKind, NodeSpec, PortRef, SwitchIndex, generate,
};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn mlid(mlid: u16) -> Mlid {
    Mlid::new(mlid).unwrap()
}

/// Switches with these numbers of ports, without cables.
fn switches(ports: &[u8]) -> Fabric {
    let mut builder = FabricBuilder::new();
    for (number, &ports) in ports.iter().enumerate() {
        builder.add_node(NodeSpec::new(NodeKind::Switch, Guid(number as u64 + 1), ports, "")).unwrap();
    }
    builder.build()
}

#[test]
fn multicast_lids_only() {
    // IBA 4.1.3: 0xc000 to 0xfffe are multicast, 0xffff is permissive.
    for (number, valid) in [(0, false), (1, false), (0xbfff, false), (0xc000, true), (0xfffe, true), (0xffff, false)] {
        assert_eq!(Mlid::new(number).is_some(), valid, "{number:#x}");
    }
    assert_eq!((mlid(0xc000).index(), mlid(0xfffe).index()), (0, 16_382));
    assert_eq!((mlid(0xc001).to_string(), format!("{:?}", mlid(0xfffe))), ("0xc001".to_owned(), "MLID 0xfffe".to_owned()));
}

/// IBA 14.2.5.12: block b has the MLIDs from 0xc000 + 32 b on, position p the ports from 16 p on, the lowest port in the lowest bit.
#[test]
fn blocks_are_those_of_the_mads() {
    let fabric = switches(&[254, 36]);
    let mut tables = MulticastTables::new(&fabric);
    assert_eq!(tables.positions(), 16);
    for (switch, number, port) in [(0, 0xc000, 0), (0, 0xc000, 15), (0, 0xc000, 16), (0, 0xc021, 254), (1, 0xfffe, 36)] {
        assert!(tables.insert(mlid(number), SwitchIndex(switch), port));
    }
    let of = |at: usize, mask: u16| std::array::from_fn(|offset| if offset == at { mask } else { 0 });
    assert_eq!(tables.block(SwitchIndex(0), 0, 0), of(0, 0x8001));
    assert_eq!(tables.block(SwitchIndex(0), 0, 1), of(0, 0x0001));
    assert_eq!(tables.block(SwitchIndex(0), 1, 15), of(1, 0x4000));
    assert_eq!(tables.block(SwitchIndex(1), 511, 2), of(30, 0x0010));
    for (switch, block, position) in [(0, 0, 2), (0, 2, 0), (1, 0, 0), (2, 0, 0), (0, 0, 16), (0, 512, 0), (0, usize::MAX, usize::MAX)] {
        assert_eq!(tables.block(SwitchIndex(switch), block, position), [0; 32], "{switch} {block} {position}");
    }
}

#[test]
fn tables_are_equal_however_they_came_about() {
    let fabric = switches(&[36, 36]);
    let mut tables = MulticastTables::new(&fabric);
    assert!(tables.insert(mlid(0xc001), SwitchIndex(1), 3));
    assert!(!tables.insert(mlid(0xc001), SwitchIndex(1), 3));
    assert!(tables.insert(mlid(0xc000), SwitchIndex(0), 36));
    assert!(!tables.remove(mlid(0xc001), SwitchIndex(0), 3));
    assert!(!tables.remove(mlid(0xc002), SwitchIndex(1), 3));
    assert!(tables.remove(mlid(0xc001), SwitchIndex(1), 3));
    assert_eq!(tables.mlids().collect::<Vec<_>>(), [mlid(0xc000)]);
    tables.clear(mlid(0xc000));
    assert!(tables == MulticastTables::new(&fabric), "{tables:?}");
    assert_eq!(tables.block(SwitchIndex(0), 0, 2), [0; 32]);
}

#[test]
#[should_panic(expected = "port 48 of switch 0 is not one of the fabric's")]
fn a_port_beyond_all_switches_is_refused() {
    MulticastTables::new(&switches(&[36])).insert(mlid(0xc000), SwitchIndex(0), 48);
}

#[test]
fn hosts_and_switches_themselves_are_attached() {
    let mut builder = FabricBuilder::new();
    let [a, b] = [1, 2].map(|guid| builder.add_node(NodeSpec::new(NodeKind::Switch, Guid(guid), 4, "")).unwrap());
    let [host, other] = [3, 4].map(|guid| builder.add_node(NodeSpec::new(NodeKind::Ca, Guid(guid), 3, "")).unwrap());
    builder.connect(PortRef::new(a, 1), PortRef::new(b, 1), Link::default()).unwrap();
    builder.connect(PortRef::new(host, 2), PortRef::new(b, 4), Link::default()).unwrap();
    builder.connect(PortRef::new(host, 3), PortRef::new(other, 1), Link::default()).unwrap();
    let fabric = builder.build();
    let at = |node: NodeIndex, port| fabric.attachment(PortRef::new(node, port));
    assert_eq!(at(host, 2), Some((SwitchIndex(1), 4)));
    assert_eq!(at(b, 0), Some((SwitchIndex(1), 0)));
    for (node, port) in [(host, 0), (host, 1), (host, 3), (host, 4), (a, 1), (a, 2), (a, 5)] {
        assert_eq!(at(node, port), None, "{node:?} {port}");
    }
    // What has a LID is attached where its end port says.
    let mut builder = generate("clos2:8").unwrap();
    builder.assign_lids().unwrap();
    let fabric = builder.build();
    assert!(fabric.end_ports().iter().all(|end| fabric.attachment(end.at) == Some((end.switch, end.switch_port))));
}

proptest! {
    #[test]
    fn tables_are_sets_of_ports(changes in prop::collection::vec((any::<bool>(), 0xc000u16..0xc046, 0u32..5, 0u8..=254), 0..400)) {
        let fabric = switches(&[254, 1, 20, 36, 254]);
        let mut tables = MulticastTables::new(&fabric);
        let mut expected = BTreeSet::new();
        for (insert, number, switch, port) in changes {
            let (entry, port) = ((mlid(number), SwitchIndex(switch)), port % 40);
            if insert {
                prop_assert_eq!(tables.insert(entry.0, entry.1, port), expected.insert((entry, port)));
            } else {
                prop_assert_eq!(tables.remove(entry.0, entry.1, port), expected.remove(&(entry, port)));
            }
        }
        let mut found = BTreeSet::new();
        for mlid in tables.mlids() {
            prop_assert!(!tables.switches(mlid).is_empty());
            for &switch in tables.switches(mlid) {
                found.extend(tables.ports(mlid, switch).map(|port| ((mlid, switch), port)));
            }
        }
        prop_assert_eq!(&found, &expected);
        for switch in (0..5).map(SwitchIndex) {
            for (block, position) in (0..3).flat_map(|block| (0..3).map(move |position| (block, position))) {
                for (offset, mask) in tables.block(switch, block, position).into_iter().enumerate() {
                    let number = mlid(0xc000 + (32 * block + offset) as u16);
                    for bit in 0..16 {
                        let port = (16 * position + bit) as u8;
                        prop_assert_eq!(mask >> bit & 1 == 1, expected.contains(&((number, switch), port)));
                        prop_assert_eq!(tables.contains(number, switch, port), mask >> bit & 1 == 1);
                    }
                }
            }
        }
    }
}
