//! Random fabrics go through every format and come back; random bytes never do harm.

use heddle_fabric::{Fabric, FabricBuilder, Guid, Lid, Link, LinkSpeed, LinkWidth, NodeIndex, NodeKind, NodeSpec, PortRef, PortSpec};
use heddle_formats::{Format, read, read_lfts, write_ibnetdiscover, write_json, write_netlist};
use proptest::prelude::*;

/// A node: kind, ports, description, vendor, device, system image GUID; and how its ports' GUIDs, LIDs and LMC are drawn.
type NodeSeed = (u8, u8, String, u32, u16, u64, u16);

fn fabrics() -> impl Strategy<Value = Fabric> {
    let node = (0..3u8, 1..9u8, "[ -~äß]{0,20}", 0..0x100_0000u32, any::<u16>(), 0..5u64, any::<u16>());
    let cable = (any::<u16>(), any::<u8>(), any::<u16>(), any::<u8>(), 0..6usize, 0..10usize);
    (prop::collection::vec(node, 1..12), prop::collection::vec(cable, 0..40)).prop_map(|(nodes, cables)| {
        let mut builder = FabricBuilder::new();
        for (index, node) in nodes.iter().enumerate() {
            builder.add_node(spec(index, node)).unwrap();
        }
        let count = nodes.len();
        for (a, a_port, b, b_port, width, speed) in cables {
            let end = |node: u16, port: u8| {
                let node = usize::from(node) % count;
                PortRef::new(NodeIndex(node as u32), port % nodes[node].1 + 1)
            };
            let link = Link { width: LinkWidth::ALL.get(width).copied(), speed: LinkSpeed::ALL.get(speed).copied() };
            let _ = builder.connect(end(a, a_port), end(b, b_port), link);
        }
        // What these formats can hold: GUIDs and LIDs of switches and of ports with a cable.
        for (index, node) in nodes.iter().enumerate() {
            for port in 0..=node.1 {
                let at = PortRef::new(NodeIndex(index as u32), port);
                let is_switch = node.0 == 0;
                if is_switch != (port == 0) || (!is_switch && builder.peer(at).is_none()) {
                    continue;
                }
                let draw = node.6.wrapping_mul(u16::from(port) + 7);
                let guid = Guid(if draw % 3 == 0 { 0 } else { 0x5000 + u64::from(draw) });
                *builder.port_mut(at).unwrap() = PortSpec { guid, lid: Lid::new(draw), lmc: (draw % 8) as u8 };
            }
        }
        builder.build()
    })
}

fn spec(index: usize, node: &NodeSeed) -> NodeSpec {
    let kind = [NodeKind::Switch, NodeKind::Ca, NodeKind::Router][usize::from(node.0)];
    NodeSpec {
        system_image_guid: Guid(node.5),
        vendor_id: node.3,
        device_id: node.4,
        ..NodeSpec::new(kind, Guid(0x100 + index as u64), node.1, node.2.clone())
    }
}

fn check_equal(a: &Fabric, b: &Fabric) {
    assert_eq!(a.nodes(), b.nodes());
    for index in 0..a.nodes().len() {
        let index = NodeIndex(index as u32);
        assert_eq!(a.node_ports(index), b.node_ports(index), "{:?}", a.node(index));
    }
}

fn text(write: impl FnOnce(&mut dyn std::io::Write) -> std::io::Result<()>) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    out
}

const FRAGMENTS: [&str; 26] = [
    "Switch",
    "Ca",
    "Hca",
    "\t",
    " ",
    "36",
    "255",
    "\"S-0000000000000010\"",
    "\"H-0000000000000020\"",
    "\"x\"",
    "# ",
    "\"",
    "[1]",
    "[",
    "]",
    "(20)",
    " lid ",
    "65535",
    " lmc 1",
    " 4xHDR",
    "\n",
    "\r",
    "caguid=0x20",
    "CA 1 1 0x10 4x EDR - SW 2 2 0x20 ( 'a' - 'b' )",
    "Unicast lids [0-5] of switch Lid 3 guid 0x0000000000000100",
    "0x0001 001 ",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn ibnetdiscover_comes_back(fabric in fabrics()) {
        let text = text(|out| write_ibnetdiscover(out, &fabric, None));
        let loaded = read(&text, "written", None).unwrap();
        prop_assert_eq!(loaded.format, Format::Ibnetdiscover);
        check_equal(&fabric, &loaded.builder.build());
    }

    #[test]
    fn netlist_comes_back(fabric in fabrics()) {
        let text = text(|out| write_netlist(out, &fabric));
        prop_assert!(text.split(|&byte| byte == b'\n').all(|line| line.len() < 255), "ibsim's limit");
        let loaded = read(&text, "written", Some(Format::IbsimNetlist)).unwrap();
        check_equal(&fabric, &loaded.builder.build());
    }

    #[test]
    fn json_has_it_all(fabric in fabrics()) {
        let text = text(|out| write_json(out, &fabric));
        let json: serde_json::Value = serde_json::from_slice(&text).unwrap();
        let nodes = json["nodes"].as_array().unwrap();
        prop_assert_eq!(nodes.len(), fabric.nodes().len());
        for (found, node) in nodes.iter().zip(fabric.nodes()) {
            prop_assert_eq!(found["guid"].as_str().unwrap(), format!("{:#018x}", node.guid.0));
            prop_assert_eq!(found["description"].as_str().unwrap(), &node.description);
            for port in found["ports"].as_array().unwrap() {
                let at = PortRef::new(fabric.node_by_guid(node.guid).unwrap(), port["port"].as_u64().unwrap() as u8);
                let known = fabric.port(at).unwrap();
                prop_assert_eq!(port["lid"].as_u64(), known.lid.map(|lid| u64::from(lid.get())));
                prop_assert_eq!(port["lmc"].as_u64(), Some(u64::from(known.lmc)));
            }
        }
        let ends: usize = (0..fabric.nodes().len()).map(|index| {
            fabric.node_ports(NodeIndex(index as u32)).iter().filter(|port| port.peer.is_some()).count()
        }).sum();
        prop_assert_eq!(json["links"].as_array().unwrap().len() * 2, ends);
    }

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300), fabric in fabrics()) {
        for format in [None, Some(Format::Ibnetdiscover), Some(Format::IbnetdiscoverPorts)] {
            let _ = read(&bytes, "noise", format);
        }
        let _ = read_lfts(&bytes, "noise", &fabric);
    }

    #[test]
    fn any_fragments(picks in prop::collection::vec(0..FRAGMENTS.len(), 0..60), fabric in fabrics()) {
        let text: String = picks.into_iter().map(|pick| FRAGMENTS[pick]).collect();
        for format in [None, Some(Format::Ibnetdiscover), Some(Format::IbnetdiscoverPorts)] {
            let _ = read(text.as_bytes(), "fragments", format).map(|loaded| loaded.builder.build());
        }
        let _ = read_lfts(text.as_bytes(), "fragments", &fabric);
    }

    #[test]
    fn damaged_dumps(fabric in fabrics(), damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..10)) {
        let mut text = text(|out| write_ibnetdiscover(out, &fabric, None));
        for (at, byte) in damage {
            let at = at.index(text.len());
            text[at] = byte;
        }
        let _ = read(&text, "damaged", None).map(|loaded| loaded.builder.build());
    }
}
