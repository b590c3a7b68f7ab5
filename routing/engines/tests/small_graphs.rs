//! Every engine on every connected graph of up to five switches, with hosts anywhere: what it gives, the verifier and an oracle that follows every
//! packet judge alike; and every single entry changed. Then the other extreme: the largest switches, and the longest ways.

mod support;

use heddle_engines::{Engine, Options, route};
use heddle_fabric::{Fabric, NodeKind, NodeSpec, SwitchIndex, Tables, generate};
use heddle_verify::{Deadlock, check_certificate, quality, verify};
use support::oracle::opinion;
use support::*;

type Edges = Vec<(usize, usize)>;

/// All connected graphs of so many nodes, each with its nodes in any order.
fn labelled(nodes: usize) -> Vec<Edges> {
    let all: Edges = (0..nodes).flat_map(|a| (a + 1..nodes).map(move |b| (a, b))).collect();
    let some = |bits: usize| all.iter().enumerate().filter(|(edge, _)| bits >> edge & 1 == 1).map(|(_, &edge)| edge).collect::<Edges>();
    (0..1 << all.len()).map(some).filter(|edges| is_connected(nodes, edges)).collect()
}

fn is_connected(nodes: usize, edges: &Edges) -> bool {
    let graph = petgraph::graph::UnGraph::<(), ()>::from_edges(edges.iter().map(|&(a, b)| (a as u32, b as u32)));
    nodes == 1 || graph.node_count() == nodes && petgraph::algo::connected_components(&graph) == 1
}

/// One of each kind: no two are the same with the nodes in another order.
fn different(nodes: usize) -> Vec<Edges> {
    let orders = orders(nodes);
    let renamed = |edges: &Edges, order: &[usize]| {
        let mut edges: Edges = edges.iter().map(|&(a, b)| (order[a].min(order[b]), order[a].max(order[b]))).collect();
        edges.sort_unstable();
        edges
    };
    labelled(nodes).into_iter().filter(|edges| orders.iter().all(|order| *edges <= renamed(edges, order))).collect()
}

/// All orders of so many things.
fn orders(count: usize) -> Vec<Vec<usize>> {
    let Some(last) = count.checked_sub(1) else { return vec![Vec::new()] };
    let with = |order: Vec<usize>| (0..count).map(move |at| [&order[..at], &[last], &order[at..]].concat());
    orders(last).into_iter().flat_map(with).collect()
}

/// Each edge as so many cables; a host at each switch whose bit is set.
fn fabric(nodes: usize, edges: &Edges, cables: usize, hosts: usize) -> Fabric {
    let mut site = Site::new();
    let switches: Vec<_> = (0..nodes as u64)
        .map(|guid| site.add(NodeSpec::new(NodeKind::Switch, heddle_fabric::Guid(0x10 + guid), 10, format!("s{guid}"))))
        .collect();
    for (number, &switch) in switches.iter().enumerate().filter(|(number, _)| hosts >> number & 1 == 1) {
        let host = site.add(NodeSpec::new(NodeKind::Ca, heddle_fabric::Guid(0x100 + number as u64), 1, format!("h{number}")));
        site.cable(host, switch);
    }
    for &(a, b) in edges {
        (0..cables).for_each(|_| site.cable(switches[a], switches[b]));
    }
    site.build()
}

/// The verifier and the oracle say the same.
fn judged(fabric: &Fabric, tables: &Tables) -> bool {
    let (report, opinion) = (verify(fabric, tables), opinion(fabric, tables));
    let context = || format!("{}: {report}\n{:?}", tables.engine(), Netlist(fabric.clone()));
    assert_eq!(report.connected() && report.loop_free(), opinion.arrives, "{}", context());
    assert_eq!(report.deadlock_free(), opinion.deadlock_free, "{}", context());
    if opinion.arrives {
        assert_eq!(quality(fabric, tables).hops, opinion.hops, "{}", context());
    }
    if let Deadlock::Free(certificate) = &report.deadlock {
        assert_eq!(check_certificate(fabric, tables, certificate), Ok(()), "{}", context());
    }
    report.is_good()
}

/// Tables that are what the engine promises, or a refusal that says why. The tables.
fn check(engine: Engine, fabric: &Fabric, options: &Options) -> Option<Tables> {
    let context = || format!("{engine} with {} VLs: {:?}", options.max_vls, Netlist(fabric.clone()));
    let tables = match route(engine, fabric, options) {
        Ok(tables) => tables,
        Err(refusal) => {
            let needs_lanes = matches!(engine, Engine::Lash | Engine::Dfsssp) && options.max_vls == 1;
            assert!(!ANY_SHAPE.contains(&engine) || needs_lanes, "{}", context());
            assert!(!refusal.reason.is_empty() && !refusal.remedy.is_empty(), "{}", context());
            assert!(refusal.display(fabric).to_string().contains(&refusal.remedy), "{}", context());
            return None;
        }
    };
    let good = judged(fabric, &tables);
    let report = verify(fabric, &tables);
    assert!(report.connected() && report.loop_free() && report.vls() <= options.max_vls, "{}: {report}", context());
    // Torus says so of grids that lost a switch, which it takes the wheel of five switches (8 edges) for; of these graphs no other.
    let arcs: usize = (0..fabric.switch_count() as u32).map(|switch| fabric.arcs(SwitchIndex(switch)).len()).sum();
    let wheel = engine == Engine::Torus && fabric.switch_count() == 5 && [16, 32].contains(&arcs);
    let may_deadlock = wheel || matches!(engine, Engine::MinHop | Engine::Sssp | Engine::Dor);
    assert!(good || may_deadlock, "{}: {report}", context());
    if matches!(engine, Engine::MinHop | Engine::Lash | Engine::Sssp | Engine::Dfsssp) {
        let verdict = judge(fabric, &tables);
        for switch in 0..fabric.switch_count() {
            let shortest = shortest(fabric, SwitchIndex(switch as u32));
            let expected: Vec<u32> = fabric.end_ports().iter().map(|end| shortest[end.switch.index()]).collect();
            assert_eq!(verdict.hops[switch], expected, "{}", context());
        }
    }
    Some(tables)
}

fn all_options() -> [Options; 2] {
    [Options::default(), Options { max_vls: 1, ..Options::default() }]
}

/// The numbers of connected graphs are known: OEIS A001187 (labelled) and A001349.
#[test]
fn there_are_as_many_graphs_as_there_should_be() {
    assert_eq!([1, 2, 3, 4, 5].map(|nodes| labelled(nodes).len()), [1, 1, 4, 38, 728]);
    assert_eq!([1, 2, 3, 4, 5].map(|nodes| different(nodes).len()), [1, 1, 2, 6, 21]);
}

#[test]
fn every_graph_with_hosts_on_any_switches() {
    for nodes in 1..=5 {
        for edges in different(nodes) {
            for (cables, hosts) in [1, 2].into_iter().flat_map(|cables| (0..1 << nodes).map(move |hosts| (cables, hosts))) {
                let fabric = fabric(nodes, &edges, cables, hosts);
                for options in all_options() {
                    Engine::ALL.into_iter().for_each(|engine| _ = check(engine, &fabric, &options));
                }
            }
        }
    }
}

/// The order of the GUIDs decides ties: here it is any.
#[test]
fn every_graph_in_any_order() {
    for nodes in 2..=5 {
        for edges in labelled(nodes) {
            let fabric = fabric(nodes, &edges, 1, (1 << nodes) - 1);
            Engine::ALL.into_iter().for_each(|engine| _ = check(engine, &fabric, &Options::default()));
        }
    }
}

/// All graphs of two switches, also without a cable: two parts.
#[test]
fn two_parts() {
    for hosts in 0..16 {
        let fabric = fabric(4, &vec![(0, 1), (2, 3)], 1, hosts);
        for engine in Engine::ALL {
            if let Ok(tables) = route(engine, &fabric, &Options::default()) {
                assert!(judged(&fabric, &tables), "{engine}: {}", verify(&fabric, &tables));
            }
        }
    }
}

/// Every entry in turn gets every other port: what that breaks, is found, and nothing else.
#[test]
fn every_mutation_is_judged_alike() {
    let (mut good, mut bad) = (0, 0);
    for nodes in 2..=4 {
        for edges in different(nodes) {
            let fabric = fabric(nodes, &edges, 1, 0b1011 & ((1 << nodes) - 1));
            for tables in Engine::ALL.into_iter().filter_map(|engine| route(engine, &fabric, &Options::default()).ok()) {
                for switch in (0..nodes as u32).map(SwitchIndex) {
                    for lid in fabric.end_ports().iter().map(|end| end.lid) {
                        for port in (0..=5).chain([200, 255]).filter(|&port| port != tables.port(switch, lid)) {
                            let mut changed = tables.clone();
                            changed.row_mut(switch)[lid.index()] = port;
                            *if judged(&fabric, &changed) { &mut good } else { &mut bad } += 1;
                        }
                    }
                }
            }
        }
    }
    assert!(good > 50 && bad > 1000, "{good} are as good as before, {bad} are not");
}

/// On several VLs too: the ring of five needs two for its shortest routes.
#[test]
fn every_mutation_on_two_lanes_is_judged_alike() {
    let ring: Edges = (0..5).map(|node| (node, (node + 1) % 5)).collect();
    let fabric = fabric(5, &ring, 1, 0b11111);
    let tables = route(Engine::Dfsssp, &fabric, &Options::default()).unwrap();
    assert!(verify(&fabric, &tables).vls() == 2 && judged(&fabric, &tables));
    for switch in (0..5).map(SwitchIndex) {
        for lid in fabric.end_ports().iter().map(|end| end.lid) {
            for port in (0..=4).chain([255]) {
                let mut changed = tables.clone();
                changed.row_mut(switch)[lid.index()] = port;
                judged(&fabric, &changed);
            }
        }
    }
}

fn generated(spec: &str) -> Fabric {
    let mut builder = generate(spec).unwrap();
    builder.assign_lids().unwrap();
    builder.build()
}

/// All 254 ports of switches are in use: two hosts each, and 126 parallel cables to each neighbour.
#[test]
fn switches_of_254_ports() {
    for spec in ["mesh:3,hosts=2,links=126", "ring:3,hosts=2,links=126"] {
        let fabric = generated(spec);
        assert_eq!(fabric.switch(SwitchIndex(1)).num_ports, 254);
        Engine::ALL.into_iter().for_each(|engine| _ = check(engine, &fabric, &Options::default()));
    }
}

/// A line of 66 switches and a ring of 130: some routes have 65 hops, more than directed-route packets go.
///
/// On the ring, lash refuses: the same port leads the same way round at each switch, so that the routes there and back between two switches
/// across go all the way round. Any two of these 65 pairs close a circle; they would take 65 layers.
#[test]
fn ways_of_more_than_64_hops() {
    for spec in ["mesh:66,hosts=1", "ring:130,hosts=1"] {
        let fabric = generated(spec);
        for engine in Engine::ALL {
            if engine == Engine::Lash && spec.starts_with("ring") {
                assert!(!route(engine, &fabric, &Options { max_vls: 15, ..Options::default() }).unwrap_err().culprits.is_empty());
                continue;
            }
            if let Some(tables) = check(engine, &fabric, &Options { max_vls: 15, ..Options::default() }) {
                assert!(quality(&fabric, &tables).max_hops >= 65, "{engine}");
            }
        }
    }
}

/// Shrinking ends with the smallest fabric that fails, and what is printed of it can be read as a netlist.
#[test]
fn a_failing_property_prints_a_netlist() {
    use proptest::test_runner::{Config, TestError, TestRunner};
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::default() });
    let found = runner.run(&random_fabric(), |fabric| {
        proptest::prop_assert!(fabric.switch_count() < 3);
        Ok(())
    });
    let Err(TestError::Fail(_, fabric)) = found else { panic!("{found:?}") };
    assert_eq!(fabric.switch_count(), 3);
    let printed = format!("{fabric:?}");
    let (_, netlist) = printed.split_once('\n').unwrap();
    let read = heddle_formats::read(netlist.as_bytes(), "printed", None).unwrap().builder.build();
    assert_eq!((read.switch_count(), read.nodes().len()), (3, fabric.nodes().len()));
}
