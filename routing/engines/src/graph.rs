//! The switches and which of them are neighbours, with parallel cables as one edge.

use crate::Options;
use crate::links;
use crate::options::Throttled;
use heddle_fabric::{Fabric, SwitchIndex};
use std::collections::BTreeMap;
use std::ops::Range;

/// A compact sparse row graph. An *edge* is one direction between two neighbours; its number is its place in the rows.
pub(crate) struct Graph {
    base: Vec<u32>,
    peer: Vec<u32>,
    port_base: Vec<u32>,
    ports: Vec<u8>,
    /// By place in `ports`; empty where all have 1.
    shares: Vec<u8>,
    /// By edge; empty where all are 1.
    weight: Vec<u8>,
    /// By switch whose ports have an order: the place of each port in it.
    port_order: BTreeMap<usize, [u8; 256]>,
    /// By switch.
    tie: Vec<u64>,
}

impl Graph {
    pub(crate) fn new(fabric: &Fabric) -> Self {
        Self::heeding(fabric, &Options::default())
    }

    /// With what `options` say about weights, shares, and the order of ports and of equals. Of parallel cables with different weights the
    /// lightest are in the graph.
    pub(crate) fn heeding(fabric: &Fabric, options: &Options) -> Self {
        let mut graph = Self {
            base: vec![0],
            peer: Vec::new(),
            port_base: vec![0],
            ports: Vec::new(),
            shares: Vec::new(),
            weight: Vec::new(),
            port_order: BTreeMap::new(),
            tie: Vec::new(),
        };
        let shares = if options.throttled == Throttled::Weigh { links::shares(fabric) } else { Vec::new() };
        let mut arcs = Vec::new();
        for switch in 0..fabric.switch_count() {
            let index = SwitchIndex(switch as u32);
            let guid = fabric.switch(index).guid;
            graph.tie.push(mixed(guid.0, options.seed));
            if let Some(ports) = options.port_order.get(&guid) {
                let mut places = [UNLISTED; 256];
                ports.iter().zip(0..UNLISTED).rev().for_each(|(&port, place)| places[usize::from(port)] = place);
                graph.port_order.insert(switch, places);
            }
            arcs.clear();
            arcs.extend(fabric.arcs(index).iter().enumerate().map(|(number, arc)| {
                let share = shares.get(switch).map_or(1, |shares| shares[number]);
                let weight = options.hop_weights.get(&(guid, arc.port)).map_or(1, |&weight| weight.max(1));
                let tie = if options.seed == 0 { 0 } else { mixed(graph.tie[switch] ^ u64::from(arc.port), options.seed) };
                (arc.peer.0, weight, (graph.port_place(switch, arc.port), tie, arc.port), share)
            }));
            arcs.sort_unstable();
            for cables in arcs.chunk_by(|a, b| a.0 == b.0) {
                let (peer, weight, ..) = cables[0];
                graph.peer.push(peer);
                let lightest = cables.iter().filter(|cable| cable.1 == weight);
                graph.ports.extend(lightest.clone().map(|&(.., (.., port), _)| port));
                if !options.hop_weights.is_empty() {
                    graph.weight.push(weight);
                }
                if !shares.is_empty() {
                    graph.shares.extend(lightest.map(|&(.., share)| share));
                }
                graph.port_base.push(graph.ports.len() as u32);
            }
            graph.base.push(graph.peer.len() as u32);
        }
        graph
    }

    pub(crate) fn len(&self) -> usize {
        self.base.len() - 1
    }

    pub(crate) fn edge_count(&self) -> usize {
        self.peer.len()
    }

    /// The edges out of a switch.
    pub(crate) fn edges(&self, switch: usize) -> Range<usize> {
        self.base[switch] as usize..self.base[switch + 1] as usize
    }

    pub(crate) fn peer(&self, edge: usize) -> usize {
        self.peer[edge] as usize
    }

    /// The edge from one switch to another, if they are neighbours.
    pub(crate) fn edge(&self, from: usize, to: u32) -> Option<usize> {
        Some(self.base[from] as usize + self.peers(from).binary_search(&to).ok()?)
    }

    /// The neighbours of a switch, ascending, in the order of its edges.
    pub(crate) fn peers(&self, switch: usize) -> &[u32] {
        &self.peer[self.edges(switch)]
    }

    /// The ports of an edge's cables, ascending unless the user gave another order.
    pub(crate) fn ports(&self, edge: usize) -> &[u8] {
        &self.ports[self.port_base[edge] as usize..self.port_base[edge + 1] as usize]
    }

    /// How many shares of the routes the cables of an edge should have, one after the other as in [`Graph::ports`]; `None` if all have 1.
    pub(crate) fn shares(&self, edge: usize) -> Option<&[u8]> {
        self.shares.get(self.port_base[edge] as usize..self.port_base[edge + 1] as usize)
    }

    /// Whether cables have different shares of the routes.
    pub(crate) fn has_shares(&self) -> bool {
        !self.shares.is_empty()
    }

    /// How long the way over an edge is, by the user's weights; `None` if it is 1 hop for all.
    pub(crate) fn weights(&self) -> Option<&[u8]> {
        Some(&self.weight[..]).filter(|weight| !weight.is_empty())
    }

    /// The place of a port in the order that the user gave for a switch, the same for all that are not in it.
    pub(crate) fn port_place(&self, switch: usize, port: u8) -> u8 {
        self.port_order.get(&switch).map_or(0, |places| places[usize::from(port)])
    }

    /// What decides between switches that are equal; different for each.
    pub(crate) fn tie(&self, switch: usize) -> u64 {
        self.tie[switch]
    }

    /// The ports of some edges as they are to be taken in turn: the first cable to each neighbour, then the second, and so on. Then the same
    /// again for those that have a second share, and so on.
    pub(crate) fn turns(&self, edges: &[usize], turns: &mut Vec<u8>) {
        turns.clear();
        for share in 1.. {
            let first = turns.len();
            for cable in 0.. {
                let mut any = false;
                for &edge in edges {
                    let Some(&port) = self.ports(edge).get(cable) else { continue };
                    any = true;
                    if self.shares(edge).is_none_or(|shares| shares[cable] >= share) {
                        turns.push(port);
                    }
                }
                if !any {
                    break;
                }
            }
            if turns.len() == first || self.shares.is_empty() {
                return;
            }
        }
    }

    /// How many hops each switch is from the nearest of `sources`; `u32::MAX` if it cannot be reached.
    pub(crate) fn hops(&self, sources: impl IntoIterator<Item = usize>) -> Vec<u32> {
        let mut hops = vec![u32::MAX; self.len()];
        let mut queue: Vec<usize> = sources.into_iter().collect();
        for &source in &queue {
            hops[source] = 0;
        }
        let mut head = 0;
        while let Some(&switch) = queue.get(head) {
            head += 1;
            for &peer in self.peers(switch) {
                if hops[peer as usize] == u32::MAX {
                    hops[peer as usize] = hops[switch] + 1;
                    queue.push(peer as usize);
                }
            }
        }
        hops
    }

    /// Breadth-first search from up to 64 switches at once. `visit` is told the distance, a switch, the sources (as bits, by their
    /// place in `sources`) that have it at this distance, and by switch the sources that have *that* at one hop less.
    pub(crate) fn search(&self, sources: &[u32], mut visit: impl FnMut(u32, usize, u64, &[u64])) {
        let all = u64::MAX >> (64 - sources.len());
        let mut found = vec![0u64; self.len()];
        let mut front = vec![0u64; self.len()];
        let mut next = vec![0u64; self.len()];
        for (bit, &source) in sources.iter().enumerate() {
            found[source as usize] |= 1 << bit;
            front[source as usize] |= 1 << bit;
        }
        for distance in 1.. {
            let mut any = 0;
            for switch in 0..self.len() {
                let mut new = 0;
                if found[switch] != all {
                    new = self.peers(switch).iter().fold(0, |bits, &peer| bits | front[peer as usize]) & !found[switch];
                    if new != 0 {
                        visit(distance, switch, new, &front);
                    }
                }
                next[switch] = new;
                found[switch] |= new;
                any |= new;
            }
            if any == 0 {
                return;
            }
            std::mem::swap(&mut front, &mut next);
        }
    }
}

/// The place of ports that are not in an order.
const UNLISTED: u8 = u8::MAX;

/// A number in another order for each seed, the same for none but itself; 0 leaves it. The mixer of splitmix64, which maps one to one
/// (G. L. Steele, D. Lea and C. H. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
fn mixed(number: u64, seed: u64) -> u64 {
    if seed == 0 {
        return number;
    }
    let mut state = number ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    state = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state = (state ^ state >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ state >> 31
}

/// The places of the ones in a word.
pub(crate) fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros() as usize;
        (word != 0).then(|| {
            word &= word - 1;
            bit
        })
    })
}
