//! Random small fabrics.

use crate::random::Random;
use heddle_fabric::{Fabric, FabricBuilder, Guid, Link, NodeIndex, NodeKind, NodeSpec, PortRef, generate};

/// A fabric, where the subnet manager is, and how to say it.
pub(crate) struct Site {
    pub(crate) fabric: Fabric,
    pub(crate) attach: PortRef,
    pub(crate) spec: String,
}

impl Site {
    pub(crate) fn random(random: &mut Random) -> Self {
        let shape = shape(random);
        let fails = format!("{shape},fail-links={},fail-switches={},seed={}", random.within(0..=2), random.within(0..=1), random.next());
        let whole = if random.once_in(2) { generate(&fails) } else { generate(&shape) };
        let spec = if whole.is_ok() { fails } else { shape.clone() };
        // A small fabric may not be able to lose as much: then it loses nothing.
        let plain = whole.or_else(|_| generate(&shape)).unwrap_or_else(|error| panic!("{error}")).build();
        let mut builder = roomier(&plain, random);
        for number in 0..random.within(0..=4) {
            add_something(&mut builder, number, random);
        }
        if random.once_in(16) {
            builder = without_switches(random);
        }
        let fabric = builder.build();
        let attach = attach(&fabric, random);
        Self { fabric, attach, spec }
    }
}

fn shape(random: &mut Random) -> String {
    let mut some = |from, to| random.within(from..=to);
    match some(0, 23) {
        0 => format!("clos2:4,leaves={}", some(1, 4)),
        1 => format!("clos2:6,leaves={}", some(1, 6)),
        2 => format!("clos3:4,pods={}", some(1, 3)),
        3 => format!("torus:{}x{},hosts={},links={}", some(2, 4), some(2, 4), some(0, 1), some(1, 2)),
        4 => format!("torus:2x{}x2,hosts=1", some(2, 3)),
        5 => format!("mesh:{}x{},hosts={}", some(1, 4), some(1, 4), some(0, 2)),
        6 => format!("hypercube:{},hosts={}", some(1, 4), some(0, 1)),
        7 | 8 => format!("ring:{},hosts={},links={}", some(2, 8), some(0, 2), some(1, 2)),
        9 => format!("hyperx:{}x{},hosts=1", some(2, 3), some(2, 4)),
        10 | 11 => format!("dragonfly:a={},p=1,h=1", some(2, 4)),
        12 => format!("dragonfly-plus:leaves=2,spines={},p=1,h=1", some(1, 3)),
        13 | 14 => format!("rail:pods={},servers={},rails={},spines={}", some(1, 2), some(1, 3), some(1, 3), some(1, 2)),
        15 => format!("ring:1,hosts={}", some(0, 6)),
        16 => format!("mesh:{},hosts=1", some(1, 12)),
        17 => "clos2:12,leaves=9".to_owned(), // more than one block of LIDs
        _ => format!("random:switches={},degree={},hosts={},seed={}", some(2, 10), some(2, 4), some(0, 2), some(0, 999)),
    }
}

/// The same fabric, with some ports of the switches free.
fn roomier(fabric: &Fabric, random: &mut Random) -> FabricBuilder {
    let mut builder = FabricBuilder::new();
    for node in fabric.nodes() {
        let mut node = node.clone();
        if node.kind == NodeKind::Switch {
            node.num_ports += random.within(0..=3) as u8;
        }
        builder.add_node(node).unwrap();
    }
    for at in ports(fabric) {
        let port = fabric.port(at).unwrap();
        if let Some(peer) = port.peer.filter(|&peer| peer > at) {
            builder.connect(at, peer, port.link).unwrap();
        }
    }
    builder
}

fn add_something(builder: &mut FabricBuilder, number: u64, random: &mut Random) {
    let free = |builder: &FabricBuilder, random: &mut Random| {
        let switches = builder.nodes().iter().enumerate().filter(|(_, node)| node.kind == NodeKind::Switch);
        let ports = switches.flat_map(|(index, node)| (1..=node.num_ports).map(move |port| PortRef::new(NodeIndex(index as u32), port)));
        let free: Vec<_> = ports.filter(|&at| builder.peer(at).is_none()).collect();
        random.one_of(&free)
    };
    let Some(one) = free(builder, random) else { return };
    if random.once_in(2) {
        // A parallel cable, a shortcut, or a cable from a switch to itself.
        let other = free(builder, random).filter(|&other| other != one);
        if let Some(other) = other {
            builder.connect(one, other, Link::default()).unwrap();
        }
        return;
    }
    let num_ports = random.within(1..=3) as u8;
    let spec = NodeSpec::new(NodeKind::Ca, Guid(0x0200_0003_0000_0000 + 0x10 * number), num_ports, format!("extra-{number}"));
    let host = builder.add_node(spec).unwrap();
    builder.connect(PortRef::new(host, 1), one, Link::default()).unwrap();
    for port in 2..=num_ports {
        if let Some(other) = free(builder, random) {
            builder.connect(PortRef::new(host, port), other, Link::default()).unwrap();
        }
    }
}

/// One host, or two back to back.
fn without_switches(random: &mut Random) -> FabricBuilder {
    let mut builder = FabricBuilder::new();
    let mut host = |guid, ports| builder.add_node(NodeSpec::new(NodeKind::Ca, Guid(guid), ports, format!("host-{guid}"))).unwrap();
    let (one, other) = (host(1, random.within(1..=2) as u8), host(2, 1));
    if !random.once_in(4) {
        builder.connect(PortRef::new(one, 1), PortRef::new(other, 1), Link::default()).unwrap();
    }
    builder
}

fn attach(fabric: &Fabric, random: &mut Random) -> PortRef {
    let ports = ports(fabric);
    let is_host = |at: &PortRef| fabric.node(at.node).kind != NodeKind::Switch;
    let hosts: Vec<_> = ports.into_iter().filter(is_host).collect();
    let switches: Vec<_> = fabric.switches().iter().map(|&node| PortRef::new(node, 0)).collect();
    let on_switch = random.once_in(5);
    let some = if on_switch { random.one_of(&switches) } else { random.one_of(&hosts) };
    some.or(hosts.first().copied()).or(switches.first().copied()).expect("a fabric has a node")
}

/// All ports that can have a cable.
pub(crate) fn ports(fabric: &Fabric) -> Vec<PortRef> {
    let nodes = fabric.nodes().iter().zip(0..);
    nodes.flat_map(|(node, index)| (1..=node.num_ports).map(move |port| PortRef::new(NodeIndex(index), port))).collect()
}
