//! The switches of one part of a fabric and which of them are neighbours, with parallel cables as one edge.

use crate::{Fabric, NodeIndex, SwitchIndex};
use std::collections::BTreeMap;
use std::ops::Range;

/// A compact sparse row graph. Switches are numbered within the part; an *edge* is one direction between two neighbours.
pub(super) struct Neighbours<'a> {
    fabric: &'a Fabric,
    /// The switches of the part, by GUID, so that the order of the nodes in the fabric decides nothing.
    switches: Vec<SwitchIndex>,
    base: Vec<usize>,
    from: Vec<u32>,
    peer: Vec<u32>,
    /// By edge: the same in the other direction.
    back: Vec<u32>,
    /// By edge: how many cables it has.
    cables: Vec<u32>,
}

impl<'a> Neighbours<'a> {
    /// Of a part: switches that no cable leads out of.
    pub(super) fn new(fabric: &'a Fabric, mut switches: Vec<SwitchIndex>) -> Self {
        switches.sort_unstable_by_key(|&switch| fabric.switch(switch).guid);
        let number: BTreeMap<SwitchIndex, u32> = switches.iter().copied().zip(0..).collect();
        let mut graph =
            Self { fabric, base: vec![0], from: Vec::new(), peer: Vec::new(), back: Vec::new(), cables: Vec::new(), switches: Vec::new() };
        for &switch in &switches {
            let mut peers: Vec<u32> = fabric.arcs(switch).iter().filter_map(|arc| number.get(&arc.peer).copied()).collect();
            peers.sort_unstable();
            for cables in peers.chunk_by(|a, b| a == b) {
                graph.from.push(number[&switch]);
                graph.peer.push(cables[0]);
                graph.cables.push(cables.len() as u32);
            }
            graph.base.push(graph.peer.len());
        }
        graph.switches = switches;
        graph.back = (0..graph.edge_count()).map(|edge| graph.edge(graph.peer(edge), graph.from(edge)).map_or(0, |e| e as u32)).collect();
        graph
    }

    pub(super) fn len(&self) -> usize {
        self.switches.len()
    }

    pub(super) fn edge_count(&self) -> usize {
        self.peer.len()
    }

    pub(super) fn edges(&self, switch: usize) -> Range<usize> {
        self.base[switch]..self.base[switch + 1]
    }

    pub(super) fn from(&self, edge: usize) -> usize {
        self.from[edge] as usize
    }

    pub(super) fn peer(&self, edge: usize) -> usize {
        self.peer[edge] as usize
    }

    pub(super) fn back(&self, edge: usize) -> usize {
        self.back[edge] as usize
    }

    pub(super) fn cables(&self, edge: usize) -> usize {
        self.cables[edge] as usize
    }

    /// The neighbours of a switch, ascending.
    pub(super) fn peers(&self, switch: usize) -> impl Iterator<Item = usize> {
        self.peer[self.edges(switch)].iter().map(|&peer| peer as usize)
    }

    /// Each pair of neighbours once, as one of its edges.
    pub(super) fn pairs(&self) -> impl Iterator<Item = usize> {
        (0..self.edge_count()).filter(|&edge| self.from[edge] < self.peer[edge])
    }

    /// The edge between two switches. `O(log neighbours)`.
    pub(super) fn edge(&self, from: usize, to: usize) -> Option<usize> {
        let edges = self.edges(from);
        self.peer[edges.clone()].binary_search(&(to as u32)).ok().map(|at| edges.start + at)
    }

    pub(super) fn index(&self, switch: usize) -> SwitchIndex {
        self.switches[switch]
    }

    pub(super) fn node(&self, switch: usize) -> NodeIndex {
        self.fabric.switches()[self.switches[switch].index()]
    }

    pub(super) fn nodes(&self) -> Vec<NodeIndex> {
        (0..self.len()).map(|switch| self.node(switch)).collect()
    }

    /// The lowest port that leads over an edge.
    pub(super) fn port(&self, edge: usize) -> u8 {
        let to = self.switches[self.peer(edge)];
        let arcs = self.fabric.arcs(self.switches[self.from(edge)]);
        arcs.iter().find(|arc| arc.peer == to).map_or(0, |arc| arc.port)
    }

    /// The most frequent number of parallel cables, the larger of two.
    pub(super) fn usual_cables(&self) -> usize {
        usual(self.pairs().map(|edge| self.cables(edge)))
    }

    /// How many hops each switch is from the nearest of `sources`.
    pub(super) fn hops(&self, sources: impl IntoIterator<Item = usize>) -> Vec<u32> {
        let mut queue: Vec<usize> = sources.into_iter().collect();
        let mut hops = vec![u32::MAX; self.len()];
        queue.iter().for_each(|&source| hops[source] = 0);
        let mut head = 0;
        while let Some(&switch) = queue.get(head) {
            head += 1;
            for peer in self.peers(switch) {
                if hops[peer] == u32::MAX {
                    hops[peer] = hops[switch] + 1;
                    queue.push(peer);
                }
            }
        }
        hops
    }
}

/// The most frequent of some numbers, the larger of two; 0 of none.
pub(super) fn usual(numbers: impl IntoIterator<Item = usize>) -> usize {
    let mut counts = BTreeMap::<usize, usize>::new();
    numbers.into_iter().for_each(|number| *counts.entry(number).or_default() += 1);
    counts.into_iter().max_by_key(|&(number, count)| (count, number)).map_or(0, |(number, _)| number)
}

/// Disjoint sets.
pub(super) struct Pieces(Vec<usize>);

impl Pieces {
    pub(super) fn new(count: usize) -> Self {
        Self((0..count).collect())
    }

    pub(super) fn first(&mut self, mut member: usize) -> usize {
        while self.0[member] != member {
            self.0[member] = self.0[self.0[member]];
            member = self.0[member];
        }
        member
    }

    /// Whether they were in two sets until now.
    pub(super) fn join(&mut self, a: usize, b: usize) -> bool {
        let (a, b) = (self.first(a), self.first(b));
        self.0[a.max(b)] = a.min(b);
        a != b
    }
}
