//! The cables between switches, and the shortest ways over them to a switch.

use crate::graph::Graph;
use crate::links;
use heddle_fabric::{Fabric, SwitchIndex};
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// No cable.
pub(crate) const NONE: u32 = u32::MAX;

/// The cables out of each switch, by port or in the user's order. A *turn* is a cable and one of those out of the switch at its end; turns are numbered too.
pub(crate) struct Cables {
    /// By switch, where its cables begin; one more entry at the end.
    pub(crate) base: Vec<u32>,
    pub(crate) port: Vec<u8>,
    /// Its number among the channels of the fabric.
    pub(crate) channel: Vec<u32>,
    pub(crate) peer: Vec<u32>,
    /// By cable: what a route on it costs; empty where that is 1 for all.
    pub(crate) price: Vec<u64>,
    /// By cable: how long it is, [`NONE`] for those that may not be used; empty where that is 1 hop for all.
    weight: Vec<u32>,
    /// By cable: where its turns begin; one more entry at the end.
    turns: Vec<u32>,
    /// By channel of the fabric; [`NONE`] if it leads to no switch.
    by_channel: Vec<u32>,
}

impl Cables {
    pub(crate) fn new(fabric: &Fabric, graph: &Graph) -> Self {
        let mut cables = Self {
            base: vec![0],
            port: Vec::new(),
            channel: Vec::new(),
            peer: Vec::new(),
            price: Vec::new(),
            weight: Vec::new(),
            turns: Vec::new(),
            by_channel: vec![NONE; fabric.channel_count()],
        };
        for switch in (0..fabric.switch_count() as u32).map(SwitchIndex) {
            let mut arcs = fabric.arcs(switch).to_vec();
            arcs.sort_by_key(|arc| (graph.port_place(switch.index(), arc.port), arc.port));
            for arc in arcs {
                let channel = fabric.channel(switch, arc.port);
                cables.by_channel[channel] = cables.port.len() as u32;
                cables.channel.push(channel as u32);
                cables.port.push(arc.port);
                cables.peer.push(arc.peer.0);
            }
            cables.base.push(cables.port.len() as u32);
        }
        let mut turns = 0;
        for &peer in &cables.peer {
            cables.turns.push(turns);
            turns += cables.of(peer).len() as u32;
        }
        cables.turns.push(turns);
        cables.weigh(fabric, graph);
        cables
    }

    fn weigh(&mut self, fabric: &Fabric, graph: &Graph) {
        if graph.has_shares() {
            self.price.resize(self.len(), 0);
        }
        if graph.weights().is_some() {
            self.weight.resize(self.len(), NONE);
        }
        for switch in 0..graph.len() {
            for edge in graph.edges(switch) {
                for (number, &port) in graph.ports(edge).iter().enumerate() {
                    let cable = self.by_channel[fabric.channel(SwitchIndex(switch as u32), port)] as usize;
                    if let Some(shares) = graph.shares(edge) {
                        self.price[cable] = links::price(shares[number]);
                    }
                    if let Some(weights) = graph.weights() {
                        self.weight[cable] = weights[edge].into();
                    }
                }
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.port.len()
    }

    pub(crate) fn turn_count(&self) -> usize {
        self.turns[self.len()] as usize
    }

    /// The cables out of a switch.
    pub(crate) fn of(&self, switch: u32) -> Range<u32> {
        self.base[switch as usize]..self.base[switch as usize + 1]
    }

    /// The cable in a channel of the fabric; [`NONE`] if it leads to no switch.
    pub(crate) fn by_channel(&self, channel: usize) -> u32 {
        self.by_channel[channel]
    }

    /// The turn from a cable to one out of the switch at its end.
    pub(crate) fn turn(&self, cable: u32, next: u32) -> usize {
        (self.turns[cable as usize] + next - self.base[self.peer[cable as usize] as usize]) as usize
    }

    /// The turns from a cable, and the cables that they lead to.
    pub(crate) fn turns_of(&self, cable: u32) -> impl Iterator<Item = (usize, u32)> + use<> {
        let next = self.of(self.peer[cable as usize]);
        (self.turns[cable as usize] as usize..).zip(next)
    }
}

/// The shortest ways to one switch.
#[derive(Default)]
pub(crate) struct Ways {
    /// All switches, the nearest first; so that of destination is the first.
    pub(crate) order: Vec<u32>,
    /// By place in `order`: where the cables that lead nearer begin; one more entry at the end.
    begin: Vec<u32>,
    cables: Vec<u32>,
    /// By switch: how far it is, by the user's weights if there are any.
    hops: Vec<u32>,
    /// Those that are to come next, where there are weights.
    next: BinaryHeap<Reverse<(u32, u32)>>,
}

impl Ways {
    /// Finds the ways to a switch, in the room of earlier ones.
    fn find(&mut self, graph: &Graph, cables: &Cables, target: u32) {
        self.hops.clear();
        self.hops.resize(graph.len(), u32::MAX);
        self.hops[target as usize] = 0;
        self.order.clear();
        self.order.push(target);
        self.begin.clear();
        self.begin.push(0);
        self.cables.clear();
        if let Some(weights) = graph.weights() {
            return self.find_by_weights(graph, cables, weights);
        }
        let mut head = 0;
        while let Some(&switch) = self.order.get(head) {
            head += 1;
            let nearer = self.hops[switch as usize];
            self.cables.extend(cables.of(switch).filter(|&cable| self.hops[cables.peer[cable as usize] as usize] < nearer));
            self.begin.push(self.cables.len() as u32);
            for &peer in graph.peers(switch as usize) {
                if self.hops[peer as usize] == u32::MAX {
                    self.hops[peer as usize] = nearer + 1;
                    self.order.push(peer);
                }
            }
        }
    }

    /// By Dijkstra's algorithm, from the switch of destination back.
    fn find_by_weights(&mut self, graph: &Graph, cables: &Cables, weights: &[u8]) {
        let target = self.order.pop().expect("the first is that of destination");
        self.next.push(Reverse((0, target)));
        while let Some(Reverse((hops, switch))) = self.next.pop() {
            if hops > self.hops[switch as usize] {
                continue;
            }
            self.order.push(switch);
            let is_nearer = |cable: u32| {
                let peer = cables.peer[cable as usize];
                self.hops[peer as usize].saturating_add(cables.weight[cable as usize]) == hops
            };
            self.cables.extend(cables.of(switch).filter(|&cable| is_nearer(cable)));
            self.begin.push(self.cables.len() as u32);
            for &peer in graph.peers(switch as usize) {
                let back = graph.edge(peer as usize, switch).expect("a cable has two directions");
                let farther = hops + u32::from(weights[back]);
                if farther < self.hops[peer as usize] {
                    self.hops[peer as usize] = farther;
                    self.next.push(Reverse((farther, peer)));
                }
            }
        }
    }

    pub(crate) fn target(&self) -> u32 {
        self.order[0]
    }

    /// The switches but that of destination, the nearest first, each with the cables that lead nearer.
    pub(crate) fn steps(&self) -> impl DoubleEndedIterator<Item = (u32, &[u32])> {
        (1..self.order.len()).map(|at| (self.order[at], &self.cables[self.begin[at] as usize..self.begin[at + 1] as usize]))
    }
}

/// The ways to as many switches as memory should hold.
#[derive(Default)]
pub(crate) struct Held {
    targets: Vec<u32>,
    ways: Vec<Ways>,
    /// By switch.
    place: Vec<u32>,
}

/// How many cables there may be in the ways that are held at once; half of them lead nearer.
const HELD: usize = 1 << 23;

impl Held {
    /// Splits what has a target each into runs of as many targets as are held at once.
    pub(crate) fn runs<T>(items: &[T], switches: usize, cables: &Cables, target: impl Fn(&T) -> u32) -> Vec<Range<usize>> {
        let most = (HELD / cables.len().max(1)).max(1);
        let mut runs = Vec::new();
        let mut seen = vec![usize::MAX; switches];
        let (mut start, mut count) = (0, 0);
        for (at, item) in items.iter().enumerate() {
            let seen = &mut seen[target(item) as usize];
            if *seen == usize::MAX || *seen < start {
                if count == most {
                    runs.push(start..at);
                    (start, count) = (at, 0);
                }
                *seen = at;
                count += 1;
            }
        }
        runs.push(start..items.len());
        runs
    }

    /// Finds the ways to these switches, unless they are those that it has.
    pub(crate) fn hold(&mut self, graph: &Graph, cables: &Cables, targets: impl Iterator<Item = u32>) {
        let mut targets: Vec<u32> = targets.collect();
        targets.sort_unstable();
        targets.dedup();
        if targets == self.targets {
            return;
        }
        self.ways.resize_with(targets.len().max(self.ways.len()), Ways::default);
        self.ways.par_iter_mut().zip(&targets).for_each(|(ways, &target)| ways.find(graph, cables, target));
        self.place.resize(graph.len(), NONE);
        targets.iter().zip(0..).for_each(|(&target, place)| self.place[target as usize] = place);
        self.targets = targets;
    }

    /// The ways to a switch that are held.
    pub(crate) fn to(&self, target: u32) -> &Ways {
        &self.ways[self.place[target as usize] as usize]
    }
}
