//! Builder, LIDs and the graph, against hand calculation and petgraph.

use heddle_fabric::{
    BuildError, Fabric, FabricBuilder, Guid, Lid, Link, LinkSpeed, NodeIndex, NodeKind, NodeSpec, PortRef, SwitchIndex, Tables, generate,
};
use petgraph::graph::DiGraph;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn switch(builder: &mut FabricBuilder, guid: u64, ports: u8) -> NodeIndex {
    builder.add_node(NodeSpec::new(NodeKind::Switch, Guid(guid), ports, format!("s{guid}"))).unwrap()
}

fn host(builder: &mut FabricBuilder, guid: u64, to: PortRef) -> PortRef {
    let node = builder.add_node(NodeSpec::new(NodeKind::Ca, Guid(guid), 2, format!("h{guid}"))).unwrap();
    builder.connect(PortRef::new(node, 1), to, Link::default()).unwrap();
    PortRef::new(node, 1)
}

fn lid(lid: u16) -> Lid {
    Lid::new(lid).unwrap()
}

#[test]
fn unicast_lids_only() {
    // IBA 4.1.3: 0 is reserved, 0xc000 to 0xfffe are multicast, 0xffff is permissive.
    for (number, valid) in [(0, false), (1, true), (0xbfff, true), (0xc000, false), (0xfffe, false), (0xffff, false)] {
        assert_eq!(Lid::new(number).is_some(), valid, "{number:#x}");
    }
}

#[test]
fn builder_errors_name_what_is_wrong() {
    let mut builder = FabricBuilder::new();
    let [a, b] = [1, 2].map(|guid| switch(&mut builder, guid, 4));
    let port = PortRef::new;
    builder.connect(port(a, 1), port(b, 1), Link::default()).unwrap();

    let again = builder.add_node(NodeSpec::new(NodeKind::Ca, Guid(2), 1, "again")).unwrap_err();
    assert_eq!(again.to_string(), "node GUID 0x0000000000000002 of \"again\" is also the GUID of \"s2\"");
    for ports in [0, 255] {
        let error = builder.add_node(NodeSpec::new(NodeKind::Switch, Guid(9), ports, "odd")).unwrap_err();
        assert_eq!(error.to_string(), format!("\"odd\" (0x0000000000000009) has {ports} ports; 1 to 254 are possible"));
    }
    assert_eq!(builder.nodes().len(), 2, "a node that is refused is not there");
    for wrong in [0, 5, 255] {
        let error = builder.connect(port(a, 2), port(b, wrong), Link::default()).unwrap_err();
        assert_eq!(error.to_string(), format!("\"s2\" (0x0000000000000002) has ports 1 to 4, but not port {wrong}"));
    }
    let error = builder.connect(port(a, 2), port(b, 1), Link::default()).unwrap_err();
    assert_eq!(error.to_string(), "port 1 of \"s2\" (0x0000000000000002) has a cable to port 1 of \"s1\" already");
    assert_eq!(builder.peer(port(a, 2)), None, "a cable that is refused has no end");
    assert!(matches!(builder.connect(port(a, 3), port(a, 3), Link::default()), Err(BuildError::SelfLink { port: 3, .. })));

    // The same cable again, from the other side and with more known of it.
    let fast = Link { speed: Some(LinkSpeed::Ndr), width: None };
    builder.connect(port(b, 1), port(a, 1), fast).unwrap();
    assert_eq!(builder.peer(port(a, 1)), Some((port(b, 1), fast)));
    builder.disconnect(port(b, 1));
    builder.disconnect(port(b, 1));
    assert_eq!((builder.peer(port(a, 1)), builder.peer(port(b, 1))), (None, None));
    assert_eq!(builder.peer(port(NodeIndex(77), 1)), None);
    assert!(builder.port_mut(port(a, 0)).is_ok() && builder.port_mut(port(a, 5)).is_err());
}

#[test]
fn lids_go_by_switch() {
    let mut builder = FabricBuilder::new();
    let [a, b] = [1, 2].map(|guid| switch(&mut builder, guid, 4));
    let second = host(&mut builder, 10, PortRef::new(a, 2));
    let other = host(&mut builder, 11, PortRef::new(b, 1));
    let first = host(&mut builder, 12, PortRef::new(a, 1));
    let report = builder.assign_lids().unwrap();
    let order = [first, second, PortRef::new(a, 0), other, PortRef::new(b, 0)];
    assert_eq!(report.assigned, order, "ports of hosts without a cable get none");
    assert!(report.replaced.is_empty());
    let lids = order.map(|at| builder.port(at).unwrap().lid.unwrap().get());
    assert_eq!(lids, [1, 2, 3, 4, 5]);
    assert_eq!(builder.assign_lids().unwrap(), Default::default(), "nothing is left to do");
}

#[test]
fn lids_are_kept_unless_two_claim_them() {
    let mut builder = FabricBuilder::new();
    let a = switch(&mut builder, 1, 8);
    let hosts = [1, 2, 3, 4].map(|port| host(&mut builder, 10 + u64::from(port), PortRef::new(a, port)));
    for (at, claim, lmc) in [(hosts[0], 8, 2), (hosts[1], 11, 0), (hosts[2], 21, 1), (hosts[3], 0xbfff, 0)] {
        let port = builder.port_mut(at).unwrap();
        (port.lid, port.lmc) = (Some(lid(claim)), lmc);
    }
    let report = builder.assign_lids().unwrap();
    // 11 is one of 8 to 11; a range of two does not begin at 21.
    assert_eq!(report.replaced, [(hosts[1], lid(11)), (hosts[2], lid(21))]);
    assert_eq!(report.assigned, [PortRef::new(a, 0)]);
    let lids = [hosts[0], hosts[1], hosts[2], hosts[3], PortRef::new(a, 0)].map(|at| builder.port(at).unwrap().lid.unwrap().get());
    assert_eq!(lids, [8, 1, 2, 0xbfff, 4]);
}

#[test]
fn ranges_end_with_the_unicast_lids() {
    let mut builder = FabricBuilder::new();
    let [a, b] = [1, 2].map(|guid| switch(&mut builder, guid, 254));
    for number in 0..400u16 {
        let at = PortRef::new(if number < 200 { a } else { b }, (number % 200 + 1) as u8);
        let host = host(&mut builder, 100 + u64::from(number), at);
        builder.port_mut(host).unwrap().lmc = 7;
    }
    // 0xc000 / 128 is 384, and the first range holds LID 0: 383 are there.
    let exhausted = builder.assign_lids().unwrap_err();
    assert_eq!(exhausted.0, PortRef::new(NodeIndex(2 + 383), 1));
    assert_eq!(exhausted.to_string(), "no unicast LID is left for port 1 of node 385: 49151 LIDs are all there are");
    let fabric = builder.build();
    let hosts: Vec<_> = fabric.end_ports().iter().filter(|end| end.is_host()).collect();
    assert_eq!(hosts.len(), 383);
    assert!(hosts.iter().all(|end| end.lid.get() % 128 == 0 && end.lids().count() == 128));
    assert_eq!(fabric.top_lid(), Some(Lid::MAX));
    assert_eq!(Tables::new(&fabric, "").row_len(), 0xc000);
}

#[test]
fn nonsense_of_a_port_does_no_harm() {
    let mut builder = FabricBuilder::new();
    let a = switch(&mut builder, 1, 4);
    let hosts = [1, 2].map(|port| host(&mut builder, 10 + u64::from(port), PortRef::new(a, port)));
    builder.port_mut(hosts[0]).unwrap().lmc = 255;
    builder.port_mut(hosts[1]).unwrap().lid = Some(Lid::MAX);
    builder.port_mut(hosts[1]).unwrap().lmc = 1;
    let unassigned = builder.clone().build();
    assert_eq!(unassigned.end_ports().len(), 1, "only one has a LID");
    assert_eq!(unassigned.end_ports()[0].lids().collect::<Vec<_>>(), [Lid::MAX], "the other is no unicast LID");
    builder.assign_lids().unwrap();
    let fabric = builder.build();
    let end = fabric.end_ports().iter().find(|end| end.at == hosts[0]).unwrap();
    assert_eq!((end.lid.get(), end.lids().count()), (128, 128));
}

#[test]
fn snapshot_keeps_the_first_of_two_claims() {
    let mut builder = FabricBuilder::new();
    let a = switch(&mut builder, 1, 4);
    let hosts = [1, 2].map(|port| host(&mut builder, 10 + u64::from(port), PortRef::new(a, port)));
    for (at, claim, lmc) in [(hosts[0], 4, 2), (hosts[1], 6, 0)] {
        let port = builder.port_mut(at).unwrap();
        (port.lid, port.lmc) = (Some(lid(claim)), lmc);
    }
    let fabric = builder.build();
    assert_eq!(fabric.end_ports().iter().map(|end| end.at).collect::<Vec<_>>(), [hosts[0]]);
    for number in 1..=10 {
        assert_eq!(fabric.lid_owner(lid(number)).is_some(), (4..8).contains(&number));
    }
}

#[test]
fn two_halves_are_two_components() {
    let mut builder = generate("mesh:6").unwrap();
    builder.disconnect(PortRef::new(NodeIndex(2), 2));
    let fabric = builder.build();
    let halves = petgraph::algo::tarjan_scc(fabric.graph());
    let halves: BTreeSet<BTreeSet<u32>> = halves.into_iter().map(|half| half.into_iter().map(|switch| switch.0).collect()).collect();
    assert_eq!(halves, BTreeSet::from([BTreeSet::from([0, 1, 2]), BTreeSet::from([3, 4, 5])]));
}

#[test]
fn no_switch_and_no_node() {
    for builder in [FabricBuilder::new(), {
        let mut builder = FabricBuilder::new();
        let [a, b] = [1, 2].map(|guid| builder.add_node(NodeSpec::new(NodeKind::Ca, Guid(guid), 1, "alone")).unwrap());
        builder.connect(PortRef::new(a, 1), PortRef::new(b, 1), Link::default()).unwrap();
        builder.assign_lids().unwrap();
        builder
    }] {
        let fabric = builder.build();
        assert_eq!((fabric.switch_count(), fabric.channel_count(), fabric.end_ports().len()), (0, 0, 0));
        assert_eq!((fabric.top_lid(), Tables::new(&fabric, "").row_len()), (None, 0));
        assert_eq!(Tables::new(&fabric, "").port(SwitchIndex(0), lid(1)), heddle_fabric::NO_PORT);
    }
}

#[test]
fn tables_have_whole_blocks() {
    let mut builder = generate("ring:3,hosts=20").unwrap();
    builder.assign_lids().unwrap();
    let fabric = builder.build();
    let mut tables = Tables::new(&fabric, "test"); // LIDs 1 to 63
    assert_eq!((tables.row_len(), tables.engine()), (64, "test"));
    tables.row_mut(SwitchIndex(2))[63] = 7;
    assert_eq!(tables.block(SwitchIndex(2), 0).unwrap()[63], 7);
    assert_eq!((tables.port(SwitchIndex(2), lid(63)), tables.port(SwitchIndex(1), lid(63))), (7, 255));
    assert_eq!(tables.port(SwitchIndex(2), lid(64)), 255);
    assert_eq!(
        (tables.block(SwitchIndex(2), 1), tables.block(SwitchIndex(3), 0), tables.block(SwitchIndex(0), usize::MAX)),
        (None, None, None)
    );
}

/// Any number of switches and any cables: parallel ones, and some from a switch to itself.
fn shapes() -> impl Strategy<Value = (u32, Vec<(u32, u32)>)> {
    (2u32..12).prop_flat_map(|count| (Just(count), proptest::collection::vec((0..count, 0..count), 0..60)))
}

fn shaped((count, cables): (u32, Vec<(u32, u32)>)) -> FabricBuilder {
    let mut builder = FabricBuilder::new();
    let mut next = vec![1u8; count as usize];
    for guid in 0..u64::from(count) {
        switch(&mut builder, 1000 - guid, 254);
    }
    for (a, b) in cables {
        let [a, b] = [a, b].map(|node| {
            next[node as usize] += 2;
            PortRef::new(NodeIndex(node), next[node as usize])
        });
        builder.connect(a, b, Link::default()).unwrap();
    }
    builder
}

/// The graph as petgraph's own, made from nothing but the ports.
fn copy(fabric: &Fabric) -> DiGraph<(), u8> {
    let mut graph = DiGraph::new();
    let nodes: Vec<_> = fabric.nodes().iter().map(|_| graph.add_node(())).collect();
    for (index, &node) in nodes.iter().enumerate() {
        for (number, port) in (0..=254).zip(fabric.node_ports(NodeIndex(index as u32))) {
            if let Some(peer) = port.peer.filter(|peer| peer.node.index() != index) {
                graph.add_edge(node, nodes[peer.node.index()], number);
            }
        }
    }
    graph
}

proptest! {
    #[test]
    fn graph_is_as_petgraph_sees_it(shape in shapes()) {
        let fabric = shaped(shape).build();
        let graph = copy(&fabric);
        let arcs: usize = (0..fabric.switch_count() as u32).map(|switch| fabric.arcs(SwitchIndex(switch)).len()).sum();
        prop_assert_eq!(arcs, graph.edge_count());
        prop_assert_eq!(petgraph::algo::tarjan_scc(fabric.graph()).len(), petgraph::algo::tarjan_scc(&graph).len());
        for node in graph.node_indices() {
            let weight = |port: u8| u32::from(port) * 7 % 11 + 1;
            let from = SwitchIndex(node.index() as u32);
            let ours = petgraph::algo::dijkstra(fabric.graph(), from, None, |edge| weight(petgraph::visit::EdgeRef::weight(&edge).port));
            let theirs = petgraph::algo::dijkstra(&graph, node, None, |edge| weight(*edge.weight()));
            prop_assert_eq!(ours.len(), theirs.len());
            for (to, distance) in theirs {
                prop_assert_eq!(ours.get(&SwitchIndex(to.index() as u32)), Some(&distance));
            }
        }
    }

    #[test]
    fn channels_and_arcs_say_the_same(shape in shapes()) {
        let fabric = shaped(shape).build();
        prop_assert_eq!(fabric.channel_count(), 255 * fabric.switch_count());
        let mut cabled = 0;
        for channel in 0..fabric.channel_count() {
            let (switch, port) = fabric.channel_at(channel);
            prop_assert_eq!(fabric.channel(switch, port), channel);
            let arc = fabric.arcs(switch).iter().find(|arc| arc.port == port);
            prop_assert_eq!(fabric.channel_peer(channel), arc.map(|arc| (arc.peer, arc.peer_port)));
            if let Some((peer, peer_port)) = fabric.channel_peer(channel) {
                prop_assert_eq!(fabric.channel_peer(fabric.channel(peer, peer_port)), Some((switch, port)));
                prop_assert!(peer != switch, "a cable from a switch to itself is no arc");
                cabled += 1;
            }
        }
        let arcs: usize = (0..fabric.switch_count() as u32).map(|switch| fabric.arcs(SwitchIndex(switch)).len()).sum();
        prop_assert_eq!(cabled, arcs);
    }

    #[test]
    fn taken_apart_and_built_again(shape in shapes()) {
        let mut builder = shaped(shape);
        builder.assign_lids().unwrap();
        let fabric = builder.build();
        prop_assert_eq!(format!("{fabric:?}"), format!("{:?}", fabric.to_builder().build()));
    }

    /// Whatever ports claim: afterwards each has an aligned range of its own.
    #[test]
    fn lids_are_distinct_and_aligned(claims in proptest::collection::vec((proptest::option::of(1u16..64), 0u8..10), 1..40)) {
        let mut builder = FabricBuilder::new();
        let a = switch(&mut builder, 1, 254);
        for (number, (claim, lmc)) in (1..).zip(&claims) {
            let at = host(&mut builder, 100 + u64::from(number), PortRef::new(a, number));
            let port = builder.port_mut(at).unwrap();
            (port.lid, port.lmc) = (claim.and_then(Lid::new), *lmc);
        }
        let mut twin = builder.clone();
        let report = builder.assign_lids().unwrap();
        prop_assert_eq!(&report, &twin.assign_lids().unwrap());
        let fabric = builder.build();
        prop_assert_eq!(fabric.end_ports().len(), claims.len() + 1);
        let mut seen = BTreeSet::new();
        for end in fabric.end_ports() {
            prop_assert_eq!(end.lid.get() % (1 << end.lmc), 0);
            prop_assert_eq!(end.lids().count(), 1 << end.lmc);
            for lid in end.lids() {
                prop_assert!(seen.insert(lid));
                prop_assert_eq!(fabric.lid_owner(lid).map(|owner| owner.at), Some(end.at));
            }
        }
    }
}
