//! Fabrics to route, and a judge of tables that shares no code with the engines.
#![allow(dead_code, unreachable_pub, reason = "a module of several test crates, none of which uses all of it")]

mod netlist;
pub mod oracle;

pub use netlist::Netlist;

use heddle_engines::Engine;
use heddle_fabric::{
    EndPort, Fabric, FabricBuilder, Guid, Lid, Link, NO_PORT, NodeIndex, NodeKind, NodeSpec, PortRef, SwitchIndex, Tables,
};
use heddle_verify::{Deadlock, check_certificate, verify};
use petgraph::algo::toposort;
use petgraph::graph::{DiGraph, NodeIndex as Vertex};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// The engines that route any connected fabric, given VLs enough.
pub const ANY_SHAPE: [Engine; 7] =
    [Engine::MinHop, Engine::UpDown, Engine::DownUp, Engine::Lash, Engine::Sssp, Engine::Dfsssp, Engine::Nue];

/// Those of them in which the LIDs of a switch take several ways where there are. With lash there is one for each pair of switches.
pub const SEVERAL_WAYS: [Engine; 6] = [Engine::MinHop, Engine::UpDown, Engine::DownUp, Engine::Sssp, Engine::Dfsssp, Engine::Nue];

/// Builds a fabric by hanging cables on the next free ports.
pub struct Site {
    pub builder: FabricBuilder,
    used: Vec<u8>,
    guid: u64,
}

impl Site {
    pub fn new() -> Self {
        Self { builder: FabricBuilder::new(), used: Vec::new(), guid: 0 }
    }

    /// A switch with a GUID above those of the nodes before it.
    pub fn switch(&mut self) -> NodeIndex {
        let guid = self.guid + 1;
        self.switch_with_guid(guid)
    }

    pub fn switch_with_guid(&mut self, guid: u64) -> NodeIndex {
        self.guid = self.guid.max(guid);
        self.add(NodeSpec::new(NodeKind::Switch, Guid(guid), 254, format!("switch {guid}")))
    }

    pub fn add(&mut self, spec: NodeSpec) -> NodeIndex {
        self.used.push(0);
        self.builder.add_node(spec).unwrap()
    }

    pub fn host(&mut self, switch: NodeIndex) -> PortRef {
        self.guid += 1;
        let host = self.add(NodeSpec::new(NodeKind::Ca, Guid(self.guid), 1, format!("host {}", self.guid)));
        self.cable(host, switch);
        PortRef::new(host, 1)
    }

    pub fn hosts(&mut self, switch: NodeIndex, count: usize) {
        for _ in 0..count {
            self.host(switch);
        }
    }

    pub fn cable(&mut self, a: NodeIndex, b: NodeIndex) {
        let ends = [a, b].map(|node| {
            self.used[node.index()] += 1;
            PortRef::new(node, self.used[node.index()])
        });
        self.builder.connect(ends[0], ends[1], Link::default()).unwrap();
    }

    /// Pulls a cable between two nodes.
    pub fn cut(&mut self, a: NodeIndex, b: NodeIndex) {
        let mut ports = (1..=self.used[a.index()]).map(|port| PortRef::new(a, port));
        let at = ports.find(|&at| self.builder.peer(at).is_some_and(|(peer, _)| peer.node == b)).unwrap();
        self.builder.disconnect(at);
    }

    pub fn build(mut self) -> Fabric {
        self.builder.assign_lids().unwrap();
        self.builder.build()
    }
}

/// A 2-level tree. Leaves first, then spines.
pub fn clos2(leaves: usize, spines: usize, hosts: usize, cables: usize) -> Site {
    let mut site = Site::new();
    let leaf: Vec<_> = (0..leaves).map(|_| site.switch()).collect();
    let spine: Vec<_> = (0..spines).map(|_| site.switch()).collect();
    for &leaf in &leaf {
        site.hosts(leaf, hosts);
        for &spine in &spine {
            (0..cables).for_each(|_| site.cable(leaf, spine));
        }
    }
    site
}

/// The 3-level tree of `k`-port switches cut to `pods` pods: in each pod k/2 leaves with k/2 hosts each and k/2 switches above them,
/// of which number a goes to the cores a*k/2 to a*k/2 + k/2 - 1. `guid` gives the GUID of the n-th switch (leaves and the switches
/// above them by pod, then cores); those of the hosts are above 2^32.
pub fn clos3(k: usize, pods: usize, guid: impl Fn(usize) -> u64) -> Site {
    let half = k / 2;
    let mut site = Site::new();
    let switch: Vec<_> = (0..pods * k + half * half).map(|number| site.switch_with_guid(guid(number))).collect();
    site.guid = 1 << 32;
    for pod in 0..pods {
        for leaf in 0..half {
            site.hosts(switch[pod * k + leaf], half);
            (0..half).for_each(|a| site.cable(switch[pod * k + leaf], switch[pod * k + half + a]));
        }
        for a in 0..half {
            (0..half).for_each(|core| site.cable(switch[pod * k + half + a], switch[pods * k + a * half + core]));
        }
    }
    site
}

/// A torus (a ring if only one side is longer than 1) with parallel cables.
pub fn torus(sides: [usize; 3], hosts: usize, cables: usize) -> Site {
    let mut site = Site::new();
    let [x, y, z] = sides;
    let switch: Vec<_> = (0..x * y * z).map(|_| site.switch()).collect();
    for (number, &from) in switch.iter().enumerate() {
        site.hosts(from, hosts);
        for (side, step) in [(x, 1), (y, x), (z, x * y)] {
            let along = number / step % side;
            let to = switch[number - along * step + (along + 1) % side * step];
            if side > 2 || side == 2 && along == 0 {
                (0..cables).for_each(|_| site.cable(from, to));
            }
        }
    }
    site
}

/// Numbers below a bound, from a seed; xorshift64.
pub fn random(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed * 2 + 1;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    }
}

/// Pulls a share of the cables between switches, at random, those without which the fabric falls apart left in.
pub fn degrade(fabric: &Fabric, per_mille: usize, seed: u64) -> Fabric {
    let mut random = random(seed);
    let mut cables: Vec<PortRef> = Vec::new();
    for switch in 0..fabric.switch_count() as u32 {
        let arcs = fabric.arcs(SwitchIndex(switch)).iter().filter(|arc| arc.peer.0 > switch);
        cables.extend(arcs.map(|arc| PortRef::new(fabric.switches()[switch as usize], arc.port)));
    }
    let mut builder = fabric.to_builder();
    for _ in 0..cables.len() * per_mille / 1000 {
        let cable = cables.swap_remove(random(cables.len()));
        let mut without = builder.clone();
        without.disconnect(cable);
        if connected(&without.clone().build()) {
            builder = without;
        }
    }
    builder.build()
}

fn connected(fabric: &Fabric) -> bool {
    petgraph::algo::dijkstra(fabric.graph(), SwitchIndex(0), None, |_| 1).len() == fabric.switch_count()
}

/// What the judge found in valid tables.
pub struct Verdict {
    /// By switch, then end port: the hops between switches to the port's base LID.
    pub hops: Vec<Vec<u32>>,
}

/// Walks from every switch to every LID, range included. Panics unless each walk ends at the owner, over cables that exist.
pub fn judge(fabric: &Fabric, tables: &Tables) -> Verdict {
    let mut hops = vec![vec![0; fabric.end_ports().len()]; fabric.switch_count()];
    for (number, end) in fabric.end_ports().iter().enumerate() {
        for lid in end.lids() {
            for (start, hops) in hops.iter_mut().enumerate() {
                let mut at = SwitchIndex(start as u32);
                let mut count = 0;
                loop {
                    let port = tables.port(at, lid);
                    assert_ne!(port, NO_PORT, "switch {} drops LID {lid}", at.0);
                    if at == end.switch {
                        assert_eq!(port, end.switch_port, "switch {} delivers LID {lid} to a wrong port", at.0);
                        break;
                    }
                    let arc = fabric.arcs(at).iter().find(|arc| arc.port == port);
                    at = arc.unwrap_or_else(|| panic!("switch {} sends LID {lid} to port {port}, which leads to no switch", at.0)).peer;
                    count += 1;
                    assert!(count as usize <= fabric.switch_count(), "LID {lid} loops from switch {start}");
                }
                if lid == end.lid {
                    hops[number] = count;
                }
            }
        }
    }
    Verdict { hops }
}

/// Which traffic a dependency graph is of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Traffic {
    /// From every switch and host to every LID.
    All,
    /// Of the routes with a host at one end at least.
    Hosts,
}

/// Whether the channel dependencies of the traffic form no cycle, on one virtual lane.
pub fn acyclic(fabric: &Fabric, tables: &Tables, traffic: Traffic) -> bool {
    let carries_hosts: BTreeSet<u32> = fabric.end_ports().iter().filter(|end| end.is_host()).map(|end| end.switch.0).collect();
    // By channel, the next ports.
    let mut next = vec![[0u64; 4]; fabric.channel_count()];
    for end in fabric.end_ports() {
        for lid in end.lids() {
            let mut live = vec![false; fabric.switch_count()];
            for start in 0..fabric.switch_count() as u32 {
                let starts = traffic == Traffic::All || end.is_host() || carries_hosts.contains(&start);
                let mut at = SwitchIndex(start);
                while starts && at != end.switch && !std::mem::replace(&mut live[at.index()], true) {
                    let channel = fabric.channel(at, tables.port(at, lid));
                    at = fabric.channel_peer(channel).unwrap().0;
                    let port = tables.port(at, lid);
                    next[channel][usize::from(port / 64)] |= 1 << (port % 64);
                }
            }
        }
    }
    let mut graph = DiGraph::<(), ()>::new();
    (0..fabric.channel_count()).for_each(|_| _ = graph.add_node(()));
    for (channel, ports) in next.iter().enumerate() {
        let Some((peer, _)) = fabric.channel_peer(channel) else { continue };
        for port in (0..=255u8).filter(|&port| ports[usize::from(port / 64)] >> (port % 64) & 1 == 1) {
            graph.add_edge(Vertex::new(channel), Vertex::new(fabric.channel(peer, port)), ());
        }
    }
    toposort(&graph, None).is_ok()
}

/// How many host-to-host routes go over each channel between switches; routes between hosts of one switch are over none.
pub fn loads(fabric: &Fabric, tables: &Tables) -> Vec<(usize, u64)> {
    let mut load = vec![0u64; fabric.channel_count()];
    let hosts: Vec<&EndPort> = fabric.end_ports().iter().filter(|end| end.is_host()).collect();
    let mut on = vec![0; fabric.switch_count()];
    hosts.iter().for_each(|end| on[end.switch.index()] += 1);
    for end in &hosts {
        for (start, &count) in on.iter().enumerate() {
            let mut at = SwitchIndex(start as u32);
            while count > 0 && at != end.switch {
                let channel = fabric.channel(at, tables.port(at, end.lid));
                load[channel] += count;
                at = fabric.channel_peer(channel).unwrap().0;
            }
        }
    }
    (0..load.len()).filter(|&channel| fabric.channel_peer(channel).is_some()).map(|channel| (channel, load[channel])).collect()
}

/// The largest load over the mean one.
pub fn imbalance(fabric: &Fabric, tables: &Tables) -> f64 {
    let loads = loads(fabric, tables);
    let sum: u64 = loads.iter().map(|&(_, load)| load).sum();
    let max = loads.iter().map(|&(_, load)| load).max().unwrap_or(0);
    max as f64 * loads.len() as f64 / sum as f64
}

/// The hops of a shortest way from a switch to each other, by petgraph.
pub fn shortest(fabric: &Fabric, from: SwitchIndex) -> Vec<u32> {
    let found = petgraph::algo::dijkstra(fabric.graph(), from, None, |_| 1u32);
    (0..fabric.switch_count() as u32).map(|switch| found[&SwitchIndex(switch)]).collect()
}

/// A connected fabric of up to 24 switches: a random tree, and random cables beside (parallel ones and cables from a switch to itself
/// too), and up to 3 hosts a switch, some with a range of LIDs.
pub fn random_fabric() -> impl Strategy<Value = Netlist> {
    (1usize..24, any::<u64>(), 0usize..40, prop::collection::vec((0usize..4, 0u8..4), 24)).prop_map(|(switches, seed, more, hosts)| {
        let mut random = random(seed >> 1);
        let mut site = Site::new();
        let guids = (0..switches).map(|number| (number as u64 * 7919 + seed % 1000) % 10007 + 1);
        let nodes: Vec<_> = guids.map(|guid| site.switch_with_guid(guid)).collect();
        for number in 1..switches {
            site.cable(nodes[random(number)], nodes[number]);
        }
        for _ in 0..more {
            site.cable(nodes[random(switches)], nodes[random(switches)]);
        }
        for (&switch, (count, lmc)) in nodes.iter().zip(hosts) {
            for _ in 0..count {
                let host = site.host(switch);
                site.builder.port_mut(host).unwrap().lmc = lmc;
            }
        }
        Netlist(site.build())
    })
}

/// A torus, mesh or ring of up to 40 switches with two hosts each, with single or double cables, of which so many are lost.
pub fn degraded_grid(per_mille: usize) -> impl Strategy<Value = Netlist> {
    (1usize..6, 1usize..5, 1usize..3, 1usize..3, any::<u32>())
        .prop_map(move |(x, y, z, cables, seed)| Netlist(degrade(&torus([x, y, z], 2, cables).build(), per_mille, seed.into())))
}

/// The same fabric with its nodes in another order, and the place of each node there.
pub fn shuffled(fabric: &Fabric, seed: u64) -> (Fabric, Vec<NodeIndex>) {
    let mut random = random(seed);
    let mut left: Vec<NodeIndex> = (0..fabric.nodes().len() as u32).map(NodeIndex).collect();
    let mut moved = vec![NodeIndex(0); left.len()];
    let mut builder = FabricBuilder::new();
    while !left.is_empty() {
        let node = left.swap_remove(random(left.len()));
        moved[node.index()] = builder.add_node(fabric.node(node).clone()).unwrap();
    }
    for node in (0..moved.len() as u32).map(NodeIndex) {
        for (number, port) in fabric.node_ports(node).iter().enumerate() {
            let at = PortRef::new(moved[node.index()], number as u8);
            let spec = builder.port_mut(at).unwrap();
            (spec.lid, spec.lmc) = (port.lid, port.lmc);
            if let Some(peer) = port.peer {
                builder.connect(at, PortRef::new(moved[peer.node.index()], peer.port), port.link).unwrap();
            }
        }
    }
    (builder.build(), moved)
}

/// The channels of a route, each with its VL.
fn way(fabric: &Fabric, tables: &Tables, from: (SwitchIndex, u8), lid: Lid, sl: usize) -> Vec<(usize, u8)> {
    let mut way = Vec::new();
    let mut at = from;
    loop {
        let port = tables.port(at.0, lid);
        if port > fabric.switch(at.0).num_ports {
            return way; // dropped: there is no cable to the LID's part
        }
        let channel = fabric.channel(at.0, port);
        let vl = tables.lanes().map_or(0, |lanes| lanes.row(at.0, at.1, port)[sl]);
        let Some(next) = fabric.channel_peer(channel) else { return way };
        way.push((channel, vl));
        at = next;
    }
}

/// What packets to unicast LIDs wait for that a host sends or is sent: every pair is followed.
pub fn dependencies(fabric: &Fabric, tables: &Tables) -> BTreeSet<((usize, u8), (usize, u8))> {
    let mut edges = BTreeSet::new();
    let hosts = fabric.end_ports().iter().filter(|end| end.is_host()).map(|end| (end.switch, end.switch_port));
    let own = (0..fabric.switch_count() as u32).map(|switch| (SwitchIndex(switch), 0));
    for from in hosts.chain(own) {
        for end in fabric.end_ports().iter().filter(|end| end.is_host() || from.1 != 0) {
            for lid in end.lids() {
                let levels = tables.lanes().map_or(1, |lanes| lanes.levels_of(tables.row_len(), from.0, lid));
                for sl in (0..16).filter(|sl| levels >> sl & 1 == 1) {
                    edges.extend(way(fabric, tables, from, lid, sl).windows(2).map(|pair| (pair[0], pair[1])));
                }
            }
        }
    }
    edges
}

/// Whether no packets that hosts send can wait for each other in a circle: petgraph is asked.
pub fn is_acyclic(fabric: &Fabric, tables: &Tables) -> bool {
    let edges = dependencies(fabric, tables);
    let mut graph = DiGraph::<(), ()>::new();
    let mut vertices = BTreeMap::new();
    for (a, b) in edges {
        let [a, b] = [a, b].map(|node| *vertices.entry(node).or_insert_with(|| graph.add_node(())));
        graph.add_edge(a, b, ());
    }
    toposort(&graph, None).is_ok()
}

/// Checks that all is reached and nothing can wait in a circle; the VLs that it takes.
pub fn assert_free(fabric: &Fabric, tables: &Tables) -> u8 {
    judge(fabric, tables);
    let report = verify(fabric, tables);
    assert!(report.is_good(), "{report}");
    assert!(is_acyclic(fabric, tables));
    let Deadlock::Free(certificate) = &report.deadlock else { unreachable!() };
    assert_eq!(check_certificate(fabric, tables, certificate), Ok(()));
    report.vls()
}

/// A made-up fabric with LIDs.
pub fn generated(spec: &str) -> Fabric {
    let mut builder = heddle_fabric::generate(spec).unwrap();
    builder.assign_lids().unwrap();
    builder.build()
}
