//! A router and a judge that are too simple to be wrong: they follow every pair hop by hop and ask petgraph about cycles.

use heddle_fabric::{Fabric, FabricBuilder, Lid, PortRef, SwitchIndex, Tables, generate};
use heddle_verify::Quality;
use petgraph::graph::DiGraph;
use std::collections::{BTreeMap, BTreeSet};

pub(crate) type Channel = (SwitchIndex, u8);

pub(crate) fn generated(spec: &str) -> Fabric {
    built(generate(spec).unwrap())
}

pub(crate) fn built(mut builder: FabricBuilder) -> Fabric {
    builder.assign_lids().unwrap();
    builder.build()
}

pub(crate) fn switches(fabric: &Fabric) -> impl Iterator<Item = SwitchIndex> + use<> {
    (0..fabric.switch_count() as u32).map(SwitchIndex)
}

pub(crate) fn lids(fabric: &Fabric) -> Vec<Lid> {
    (1..=Lid::MAX.get()).filter_map(Lid::new).filter(|&lid| fabric.lid_owner(lid).is_some()).collect()
}

/// Each switch sends by the first port that is one hop nearer; `may_use` leaves channels out.
pub(crate) fn nearest(fabric: &Fabric, may_use: impl Fn(Channel) -> bool) -> Tables {
    let mut tables = Tables::new(fabric, "nearest");
    for end in fabric.end_ports() {
        let mut distance = BTreeMap::from([(end.switch, 0)]);
        for round in 0..fabric.switch_count() {
            for switch in switches(fabric).filter(|switch| !distance.contains_key(switch)).collect::<Vec<_>>() {
                let near = |arc: &&heddle_fabric::Arc| may_use((switch, arc.port)) && distance.get(&arc.peer) == Some(&round);
                if let Some(arc) = fabric.arcs(switch).iter().find(near) {
                    end.lids().for_each(|lid| tables.row_mut(switch)[lid.index()] = arc.port);
                    distance.insert(switch, round + 1);
                }
            }
        }
        end.lids().for_each(|lid| tables.row_mut(end.switch)[lid.index()] = end.switch_port);
    }
    tables
}

/// A tree of three leaves (switches 0 to 2) and two spines (3 and 4), and tables for it. Leaf 0 sends to leaf 1 by spine 4, all others by
/// spine 3. What is sent from spine to spine turns at leaf 0 on the way to spine 4 and at leaf `turn` on the way back: with leaf 1, that
/// closes a circle.
pub(crate) fn turning(builder: FabricBuilder, turn: u8) -> (Fabric, Tables) {
    let fabric = built(builder);
    let mut tables = nearest(&fabric, |_| true);
    for end in fabric.end_ports() {
        let (switch, port) = match end.switch.index() {
            1 => (SwitchIndex(0), 4),
            3 => (SwitchIndex(4), 1 + turn),
            4 => (SwitchIndex(3), 1),
            _ => continue,
        };
        tables.row_mut(switch)[end.lid.index()] = port;
    }
    (fabric, tables)
}

pub(crate) fn small_tree() -> FabricBuilder {
    generate("clos2:4,leaves=3").unwrap()
}

/// Where a port of a switch leads, if that is another switch.
pub(crate) fn across(fabric: &Fabric, (switch, port): Channel) -> Option<SwitchIndex> {
    fabric.arcs(switch).iter().find(|arc| arc.port == port).map(|arc| arc.peer)
}

/// Where the cable in a port of a switch leads, if there is one.
fn cable_at(fabric: &Fabric, (switch, port): Channel) -> Option<PortRef> {
    fabric.port(PortRef::new(fabric.switches()[switch.index()], port))?.peer
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Delivered,
    /// Not sent, or sent to where nothing is.
    Dropped,
    Astray,
    Loops,
}

/// The channels that packets use on their way, the circle once more if they go in one; and how that ends.
pub(crate) fn walk(fabric: &Fabric, tables: &Tables, from: SwitchIndex, lid: Lid) -> (Vec<Channel>, End) {
    let owner = fabric.lid_owner(lid).unwrap();
    let mut route = Vec::new();
    let mut at = from;
    while route.len() < 2 * fabric.switch_count() + 2 {
        let port = tables.port(at, lid);
        match across(fabric, (at, port)) {
            Some(next) => {
                route.push((at, port));
                at = next;
            }
            None if (owner.switch, owner.switch_port) == (at, port) => return (route, End::Delivered),
            None if port != 0 && cable_at(fabric, (at, port)).is_none() => return (route, End::Dropped),
            None => return (route, End::Astray),
        }
    }
    (route, End::Loops)
}

/// Every dependency, and a LID for it.
pub(crate) type Dependencies = BTreeMap<(Channel, Channel), BTreeSet<Lid>>;

#[derive(Debug, Default)]
pub(crate) struct Judgement {
    pub(crate) from_switches: u64,
    pub(crate) from_hosts: u64,
    pub(crate) looping: u64,
    /// Of the traffic with a host at one end.
    pub(crate) counted: Dependencies,
    pub(crate) all: Dependencies,
}

pub(crate) fn judge(fabric: &Fabric, tables: &Tables) -> Judgement {
    let mut judgement = Judgement::default();
    for lid in lids(fabric) {
        let owner = fabric.lid_owner(lid).unwrap();
        for source in switches(fabric) {
            let (route, end) = walk(fabric, tables, source, lid);
            let hosts: Vec<_> = fabric.end_ports().iter().filter(|host| host.is_host() && host.switch == source).collect();
            let right = match end {
                End::Delivered => true,
                End::Dropped => !petgraph::algo::has_path_connecting(fabric.graph(), source, owner.switch, None),
                End::Astray | End::Loops => false,
            };
            if !right {
                judgement.from_switches += 1;
                judgement.from_hosts += hosts.iter().filter(|host| host.at != owner.at).count() as u64;
                judgement.looping += u64::from(end == End::Loops);
            }
            for pair in route.windows(2) {
                let dependency = (pair[0], pair[1]);
                judgement.all.entry(dependency).or_default().insert(lid);
                if owner.is_host() || !hosts.is_empty() {
                    judgement.counted.entry(dependency).or_default().insert(lid);
                }
            }
        }
    }
    judgement
}

pub(crate) fn has_cycle<Node: Copy + Ord, Lids>(dependencies: &BTreeMap<(Node, Node), Lids>) -> bool {
    let mut graph = DiGraph::<Node, ()>::new();
    let mut nodes = BTreeMap::new();
    for (from, to) in dependencies.keys() {
        let [from, to] = [from, to].map(|&channel| *nodes.entry(channel).or_insert_with(|| graph.add_node(channel)));
        graph.add_edge(from, to, ());
    }
    petgraph::algo::is_cyclic_directed(&graph)
}

/// The definition of quality, pair by pair.
pub(crate) fn judge_quality(fabric: &Fabric, tables: &Tables) -> Quality {
    let mut load: BTreeMap<Channel, u64> =
        switches(fabric).flat_map(|switch| fabric.arcs(switch).iter().map(move |arc| ((switch, arc.port), 0))).collect();
    let mut hops = Vec::new();
    for from in fabric.end_ports().iter().filter(|end| end.is_host()) {
        for to in fabric.end_ports().iter().filter(|end| end.is_host() && end.at != from.at) {
            for lid in to.lids() {
                let (route, end) = walk(fabric, tables, from.switch, lid);
                if end == End::Delivered {
                    hops.push(route.len() as u32);
                    route.iter().for_each(|channel| *load.get_mut(channel).unwrap() += 1);
                }
            }
        }
    }
    let mean = |sum: u64, count: usize| if count == 0 { 0.0 } else { sum as f64 / count as f64 };
    let most = hops.iter().copied().max();
    Quality {
        hops: (0..most.map_or(0, |most| most + 1)).map(|count| hops.iter().filter(|&&hops| hops == count).count() as u64).collect(),
        max_hops: hops.iter().copied().max().unwrap_or(0),
        mean_hops: mean(hops.iter().map(|&hops| u64::from(hops)).sum(), hops.len()),
        max_link_load: load.values().copied().max().unwrap_or(0),
        mean_link_load: mean(load.values().sum(), load.len()),
    }
}
