//! Ways that climb and then descend. What the engine promises, and why, is told at [`crate::Engine::UpDown`].

use crate::graph::Graph;
use crate::order::Order;

/// The edges of each switch, split by direction.
pub(crate) struct Directions {
    up: Rows,
    down: Rows,
}

/// Edges by the switch that they leave.
struct Rows {
    base: Vec<u32>,
    edges: Vec<DirectedEdge>,
}

#[derive(Clone, Copy)]
struct DirectedEdge {
    edge: u32,
    peer: u32,
}

impl Directions {
    pub(crate) fn new(graph: &Graph, order: &Order) -> Self {
        let rows = |up: bool| {
            let mut rows = Rows { base: vec![0], edges: Vec::with_capacity(graph.edge_count() / 2) };
            for switch in 0..graph.len() {
                let edges = graph.edges(switch).map(|edge| DirectedEdge { edge: edge as u32, peer: graph.peer(edge) as u32 });
                rows.edges.extend(edges.filter(|edge| (order.place[edge.peer as usize] < order.place[switch]) == up));
                rows.base.push(rows.edges.len() as u32);
            }
            rows
        };
        Self { up: rows(true), down: rows(false) }
    }

    fn len(&self) -> usize {
        self.up.base.len() - 1
    }
}

impl Rows {
    fn of(&self, switch: usize) -> &[DirectedEdge] {
        &self.edges[self.base[switch] as usize..self.base[switch + 1] as usize]
    }

    /// The union of `front` over the neighbours.
    fn union(&self, switch: usize, front: &[u64]) -> u64 {
        self.of(switch).iter().fold(0, |bits, edge| bits | front[edge.peer as usize])
    }
}

/// For up to 64 destination switches: for each edge, which of them (as bits) have a way over it that is to be used.
pub(crate) fn ways(directions: &Directions, targets: &[u32], ways: &mut [u64]) {
    let descents = Descents::new(directions, targets, ways);
    let count = directions.len();
    let all = u64::MAX >> (64 - targets.len());
    // By switch, the destinations whose length of way is known; those for which it descends; those at the last and at this length.
    let mut done = vec![0u64; count];
    let mut descends = vec![0u64; count];
    let mut front = vec![0u64; count];
    let mut next = vec![0u64; count];
    for length in 0.. {
        next.fill(0);
        let descending = descents.of_length(length);
        for &(switch, bits) in descending {
            next[switch as usize] = bits & !done[switch as usize];
            descends[switch as usize] |= next[switch as usize];
        }
        let mut any = 0;
        for switch in 0..count {
            if done[switch] != all {
                let free = !done[switch] & !descents.pressed[switch];
                let climbing = free & directions.up.union(switch, &front);
                if climbing != 0 {
                    for edge in directions.up.of(switch) {
                        ways[edge.edge as usize] |= climbing & front[edge.peer as usize];
                    }
                }
                next[switch] |= climbing;
                done[switch] |= next[switch];
                any |= next[switch];
            }
        }
        if any == 0 && descending.is_empty() {
            break;
        }
        std::mem::swap(&mut front, &mut next);
    }
    for (switch, descends) in descends.into_iter().enumerate() {
        for edge in directions.down.of(switch) {
            ways[edge.edge as usize] &= descends;
        }
    }
}

/// The shortest ways to the destinations that only descend.
struct Descents {
    /// Switches and the destinations (as bits) that they have at a length, by length.
    found: Vec<(u32, u64)>,
    /// Where the lengths begin in `found`; one more entry at the end.
    lengths: Vec<usize>,
    /// By switch, the destinations for which a switch above has a shortest descent through it: it must not send them up again.
    pressed: Vec<u64>,
}

impl Descents {
    /// Also notes the ways themselves.
    fn new(directions: &Directions, targets: &[u32], ways: &mut [u64]) -> Self {
        let count = directions.len();
        let mut found = Vec::new();
        let mut pressed = vec![0u64; count];
        let mut done = vec![0u64; count];
        let mut front = vec![0u64; count];
        let mut next = vec![0u64; count];
        for (bit, &target) in targets.iter().enumerate() {
            found.push((target, 1 << bit));
            done[target as usize] |= 1 << bit;
            front[target as usize] |= 1 << bit;
        }
        let mut lengths = vec![0, found.len()];
        loop {
            for switch in 0..count {
                let new = directions.down.union(switch, &front) & !done[switch];
                if new != 0 {
                    for edge in directions.down.of(switch) {
                        let way = new & front[edge.peer as usize];
                        ways[edge.edge as usize] |= way;
                        pressed[edge.peer as usize] |= way;
                    }
                    found.push((switch as u32, new));
                    done[switch] |= new;
                }
                next[switch] = new;
            }
            if lengths.last() == Some(&found.len()) {
                return Self { found, lengths, pressed };
            }
            lengths.push(found.len());
            std::mem::swap(&mut front, &mut next);
        }
    }

    /// Empty beyond the longest.
    fn of_length(&self, length: usize) -> &[(u32, u64)] {
        self.lengths.get(length + 1).map_or(&[], |&end| &self.found[self.lengths[length]..end])
    }
}
