//! Options of all kinds, sensible or not, on fabrics of any shape: valid tables, or a refusal with a reason.

mod support;

use heddle_engines::{Engine, Options, Throttled, route};
use heddle_fabric::{Fabric, Guid, Link, LinkSpeed, LinkWidth, PortRef, SwitchIndex, generate};
use proptest::prelude::*;
use std::collections::BTreeMap;
use support::*;

/// A fabric of a usual shape whose cables have random widths and speeds, some not known, and whose hosts have several LIDs.
fn fabric() -> impl Strategy<Value = Fabric> {
    let shapes = [
        "clos2:6",
        "clos2:6,fail-links=4",
        "clos3:4",
        "clos3:4,fail-links=4,fail-switches=1",
        "mesh:3x3,hosts=2,links=2",
        "torus:5x5,hosts=1,fail-links=1",
        "hypercube:3,hosts=2",
        "hyperx:3x3",
        "dragonfly:a=3,p=1,h=1",
        "random:switches=9,degree=4,hosts=2",
        "ring:1,hosts=2",
        "ring:7,hosts=0",
    ];
    (prop::sample::select(shapes.to_vec()), 0u8..4, any::<u32>()).prop_map(|(shape, lmc, seed)| {
        let mut builder = generate(shape).unwrap();
        builder.set_lmc(lmc);
        builder.assign_lids().unwrap();
        let mut random = random(u64::from(seed));
        for node in (0..builder.nodes().len() as u32).map(heddle_fabric::NodeIndex) {
            for port in 1..=builder.nodes()[node.index()].num_ports {
                let at = PortRef::new(node, port);
                let Some((peer, _)) = builder.peer(at) else { continue };
                let width = [None, Some(LinkWidth::X1), Some(LinkWidth::X12)].get(random(12)).copied().unwrap_or(Some(LinkWidth::X4));
                let speed = LinkSpeed::ALL.get(random(40)).copied().or(Some(LinkSpeed::Hdr));
                builder.connect(at, peer, Link { width, speed }).unwrap();
            }
        }
        builder.build()
    })
}

/// Some of everything, ports and GUIDs that are not there included.
fn options(fabric: &Fabric, seed: u64) -> Options {
    let mut random = random(seed);
    let guids: Vec<Guid> = fabric.nodes().iter().map(|node| node.guid).chain([Guid(1), Guid(u64::MAX)]).collect();
    let mut some = |most: usize| (0..random(most + 1)).map(|_| (guids[random(guids.len())], random(256) as u8)).collect::<Vec<_>>();
    let ports = |some: Vec<(Guid, u8)>| some.into_iter().map(|(guid, port)| (guid, port % 9));
    let hop_weights = ports(some(20)).map(|key| (key, (key.0.0 as u8).wrapping_mul(key.1))).collect();
    let port_order = some(6).into_iter().map(|(guid, port)| (guid, vec![port % 9, port / 9, port, port % 9])).collect();
    let routing_order = some(9).into_iter().map(|(guid, _)| guid).collect();
    let ignored_links = ports(some(2)).collect();
    let ids = some(5).into_iter().map(|(guid, port)| (guid, u64::from(port))).collect::<BTreeMap<_, _>>();
    let throttled = [Throttled::Use, Throttled::Weigh, Throttled::Avoid][random(3)];
    let seed = random(4) as u64;
    Options { hop_weights, port_order, routing_order, ignored_links, ids, throttled, seed, ..Options::default() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn options_give_valid_tables_or_a_reason(fabric in fabric(), seed in any::<u32>()) {
        let options = options(&fabric, seed.into());
        for engine in Engine::ALL {
            match route(engine, &fabric, &options) {
                Ok(tables) => {
                    judge(&fabric, &tables);
                    if engine == Engine::UpDown {
                        prop_assert!(acyclic(&fabric, &tables, Traffic::All));
                    }
                    if [Engine::Dfsssp, Engine::Nue].contains(&engine) {
                        prop_assert!(heddle_verify::verify(&fabric, &tables).deadlock_free(), "{}", engine);
                    }
                }
                Err(refusal) => prop_assert!(!refusal.reason.is_empty() && !refusal.remedy.is_empty()),
            }
        }
    }

    /// By Dijkstra's algorithm of petgraph.
    #[test]
    fn routes_are_shortest_by_weights(fabric in fabric(), seed in any::<u32>()) {
        let Options { hop_weights, .. } = options(&fabric, seed.into());
        let weight = |from: SwitchIndex, port: u8| {
            u32::from(hop_weights.get(&(fabric.switch(from).guid, port)).map_or(1, |&weight| weight.max(1)))
        };
        let mut graph = petgraph::graph::DiGraph::<(), u32>::new();
        let nodes: Vec<_> = (0..fabric.switch_count()).map(|_| graph.add_node(())).collect();
        for from in (0..fabric.switch_count() as u32).map(SwitchIndex) {
            for arc in fabric.arcs(from) {
                // From the destination back.
                graph.add_edge(nodes[arc.peer.index()], nodes[from.index()], weight(from, arc.port));
            }
        }
        let by_weights = Options { hop_weights: hop_weights.clone(), max_vls: 15, ..Options::default() };
        let tables = [Engine::MinHop, Engine::Sssp, Engine::Dfsssp].map(|engine| route(engine, &fabric, &by_weights).unwrap());
        for (tables, end) in tables.iter().flat_map(|tables| fabric.end_ports().iter().map(move |end| (tables, end))) {
            let lengths = petgraph::algo::dijkstra(&graph, nodes[end.switch.index()], None, |edge| *edge.weight());
            for start in (0..fabric.switch_count() as u32).map(SwitchIndex) {
                for lid in end.lids() {
                    let (mut at, mut length) = (start, 0);
                    while at != end.switch {
                        let port = tables.port(at, lid);
                        length += weight(at, port);
                        at = fabric.channel_peer(fabric.channel(at, port)).unwrap().0;
                    }
                    prop_assert_eq!(length, lengths[&nodes[start.index()]]);
                }
            }
        }
    }
}
