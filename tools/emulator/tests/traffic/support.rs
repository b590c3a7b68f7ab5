//! Fabrics with tables made by hand.

use heddle_emulator::traffic::{Group, Programmed};
use heddle_engines::{Engine, route};
use heddle_fabric::{Fabric, FabricBuilder, Guid, Link, NodeIndex, NodeKind, NodeSpec, PortRef, SwitchIndex, Tables};

pub(crate) fn generated(spec: &str) -> Fabric {
    let mut builder = heddle_fabric::generate(spec).unwrap();
    builder.assign_lids().unwrap();
    builder.build()
}

pub(crate) fn routed(fabric: &Fabric, engine: Engine) -> Programmed {
    Programmed::of_tables(fabric, &route(engine, fabric, &heddle_engines::Options::default()).unwrap())
}

pub(crate) fn node(fabric: &Fabric, description: &str) -> NodeIndex {
    let place = fabric.nodes().iter().position(|node| node.description == description);
    NodeIndex(place.unwrap_or_else(|| panic!("no \"{description}\"")) as u32)
}

/// Port 1 of a host.
pub(crate) fn host(fabric: &Fabric, description: &str) -> PortRef {
    PortRef::new(node(fabric, description), 1)
}

/// The LID of port 1 of a host.
pub(crate) fn lid(fabric: &Fabric, description: &str) -> u16 {
    fabric.port(host(fabric, description)).unwrap().lid.unwrap().get()
}

/// The first port of a switch that leads to another.
pub(crate) fn port_to(fabric: &Fabric, from: &str, to: &str) -> u8 {
    let [from, to] = [from, to].map(|name| fabric.switch_index(node(fabric, name)).unwrap());
    fabric.arcs(from).iter().find(|arc| arc.peer == to).unwrap().port
}

/// A ring whose neighbours have two cables, with two hosts at each switch. Names are as in `gen:ring`; ports 1 and 2 of a switch lead to its
/// hosts, 3 and 4 to the next switch, 5 and 6 to the last.
pub(crate) fn double_ring(count: u32) -> Fabric {
    let mut builder = FabricBuilder::new();
    for number in 0..count {
        builder.add_node(NodeSpec::new(NodeKind::Switch, Guid(0x100 + u64::from(number)), 6, format!("switch-{number}"))).unwrap();
    }
    for number in 0..count {
        let (switch, next) = (NodeIndex(number), NodeIndex((number + 1) % count));
        for cable in 0..2 {
            builder.connect(PortRef::new(switch, 3 + cable), PortRef::new(next, 5 + cable), Link::default()).unwrap();
            let guid = Guid(0x200 + u64::from(2 * number + u32::from(cable)));
            let host = builder.add_node(NodeSpec::new(NodeKind::Ca, guid, 1, format!("host-{number}-{cable}"))).unwrap();
            builder.connect(PortRef::new(host, 1), PortRef::new(switch, 1 + cable), Link::default()).unwrap();
        }
    }
    builder.assign_lids().unwrap();
    builder.build()
}

/// Tables that send all packets around the ring one way, by the first of both cables.
pub(crate) fn one_way(fabric: &Fabric) -> Programmed {
    let mut tables = Tables::new(fabric, "one way");
    for switch in (0..fabric.switch_count() as u32).map(SwitchIndex) {
        for end in fabric.end_ports() {
            tables.row_mut(switch)[end.lid.index()] = if end.switch == switch { end.switch_port } else { 3 };
        }
    }
    Programmed::of_tables(fabric, &tables)
}

/// A choice among these ports, for all SLs.
pub(crate) fn group(ports: &[u8]) -> Group {
    Group { primary: ports.iter().copied().collect(), sls: u16::MAX, ..Group::default() }
}
