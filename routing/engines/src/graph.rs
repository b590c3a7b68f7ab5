//! The switches and which of them are neighbours, with parallel cables as one edge.

use heddle_fabric::{Fabric, SwitchIndex};
use std::ops::Range;

/// A compact sparse row graph. An *edge* is one direction between two neighbours; its number is its place in the rows.
pub(crate) struct Graph {
    base: Vec<u32>,
    peer: Vec<u32>,
    port_base: Vec<u32>,
    ports: Vec<u8>,
}

impl Graph {
    pub(crate) fn new(fabric: &Fabric) -> Self {
        let mut graph = Self { base: vec![0], peer: Vec::new(), port_base: vec![0], ports: Vec::new() };
        let mut arcs = Vec::new();
        for switch in 0..fabric.switch_count() {
            arcs.clear();
            arcs.extend(fabric.arcs(SwitchIndex(switch as u32)).iter().map(|arc| (arc.peer.0, arc.port)));
            arcs.sort_unstable();
            for cables in arcs.chunk_by(|a, b| a.0 == b.0) {
                graph.peer.push(cables[0].0);
                graph.ports.extend(cables.iter().map(|&(_, port)| port));
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

    /// The neighbours of a switch, in the order of its edges.
    pub(crate) fn peers(&self, switch: usize) -> &[u32] {
        &self.peer[self.edges(switch)]
    }

    /// The ports of an edge's cables, ascending.
    pub(crate) fn ports(&self, edge: usize) -> &[u8] {
        &self.ports[self.port_base[edge] as usize..self.port_base[edge + 1] as usize]
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
