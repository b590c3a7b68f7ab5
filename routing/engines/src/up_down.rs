//! Ways that climb and then descend. What the engine promises, and why, is told at [`crate::Engine::UpDown`].

use crate::graph::Graph;
use crate::order::Order;

/// The edges of each switch, split by direction.
pub(crate) struct Directions<'a> {
    up: Rows,
    down: Rows,
    order: &'a Order,
    /// The switches, lowest first.
    from_below: Vec<u32>,
}

/// Edges by the switch that they leave, those to the highest neighbours first.
struct Rows {
    base: Vec<u32>,
    edges: Vec<DirectedEdge>,
}

#[derive(Clone, Copy)]
struct DirectedEdge {
    edge: u32,
    peer: u32,
}

impl<'a> Directions<'a> {
    pub(crate) fn new(graph: &Graph, order: &'a Order) -> Self {
        let rows = |up: bool| {
            let mut rows = Rows { base: vec![0], edges: Vec::with_capacity(graph.edge_count() / 2) };
            for switch in 0..graph.len() {
                let edges = graph.edges(switch).map(|edge| DirectedEdge { edge: edge as u32, peer: graph.peer(edge) as u32 });
                let first = rows.edges.len();
                rows.edges.extend(edges.filter(|edge| (order.place[edge.peer as usize] < order.place[switch]) == up));
                rows.edges[first..].sort_unstable_by_key(|edge| order.place[edge.peer as usize]);
                rows.base.push(rows.edges.len() as u32);
            }
            rows
        };
        let mut from_below: Vec<u32> = (0..graph.len() as u32).collect();
        from_below.sort_unstable_by_key(|&switch| std::cmp::Reverse(order.place[switch as usize]));
        Self { up: rows(true), down: rows(false), order, from_below }
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
///
/// A switch may climb only if no switch above descends to the destination through it. Whether one does depends on its own ways; so at
/// first all that could are held to do so, and the ways are then found again with those that do. With fewer switches bound to descend
/// no way gets longer, and no other switch begins to descend: the new ways are again sound, and the old ones if we stop.
pub(crate) fn ways(directions: &Directions, targets: &[u32], ways: &mut [u64]) {
    let mut descents = Descents::new(directions, targets, ways);
    let mut ascents = Ascents::new(directions, &descents, targets, ways);
    for _ in 0..RELEASES {
        if !descents.release(directions, &ascents, ways) {
            break;
        }
        directions.up.edges.iter().for_each(|edge| ways[edge.edge as usize] = 0);
        ascents = Ascents::new(directions, &descents, targets, ways);
    }
    for (switch, descends) in ascents.descends.into_iter().enumerate() {
        for edge in directions.down.of(switch) {
            ways[edge.edge as usize] &= descends;
        }
    }
}

/// How often the ways are found again. Nothing is left to release after two times in a healthy tree of three levels; in other fabrics
/// what is left has little weight.
const RELEASES: usize = 3;

/// The shortest ways that climb before they descend, given the descents. By switch, as bits:
struct Ascents {
    /// The destinations to which it may descend at once.
    descends: Vec<u64>,
    /// The destinations to which it may climb first. Where both are possible, both are equally long.
    climbs: Vec<u64>,
}

impl Ascents {
    /// Also notes the ways up.
    fn new(directions: &Directions, descents: &Descents, targets: &[u32], ways: &mut [u64]) -> Self {
        let count = directions.len();
        let all = u64::MAX >> (64 - targets.len());
        let mut found = Self { descends: vec![0; count], climbs: vec![0; count] };
        // The destinations whose length of way is known; those that have the last length and this.
        let mut done = vec![0u64; count];
        let mut front = vec![0u64; count];
        let mut next = vec![0u64; count];
        for length in 0.. {
            next.fill(0);
            let descending = descents.of_length(length);
            for &(switch, bits) in descending {
                let switch = switch as usize;
                next[switch] = bits & !done[switch] & !descents.waived[switch];
                found.descends[switch] |= next[switch];
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
                    found.climbs[switch] |= climbing;
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
        found
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
    /// By switch, the destinations to which it climbs although a descent is as long.
    waived: Vec<u64>,
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
                return Self { found, lengths, pressed, waived: vec![0; count] };
            }
            lengths.push(found.len());
            std::mem::swap(&mut front, &mut next);
        }
    }

    /// Takes back the pressure of switches that do not descend. Returns whether there were any.
    ///
    /// A switch through which no hosts send to a destination presses as little as possible: it climbs if nobody presses it and that is as
    /// short, and otherwise descends by one way, since only few packets of switches go there. In a tree with a failed cable such a
    /// spine would else keep leaves below it from climbing to the other spines.
    fn release(&mut self, directions: &Directions, ascents: &Ascents, ways: &mut [u64]) -> bool {
        let busy = self.busy(directions, ascents, ways);
        let mut pressed = vec![0; directions.len()];
        for (switch, busy) in busy.into_iter().enumerate() {
            self.waived[switch] |= !(busy | self.pressed[switch]) & ascents.descends[switch] & ascents.climbs[switch];
            let descends = ascents.descends[switch] & !self.waived[switch];
            let mut has_way = 0;
            for edge in directions.down.of(switch) {
                let way = &mut ways[edge.edge as usize];
                *way &= busy | !has_way;
                has_way |= *way;
                pressed[edge.peer as usize] |= *way & descends;
            }
        }
        let changed = pressed != self.pressed;
        self.pressed = pressed;
        changed
    }

    /// By switch, the destinations to which hosts send through it.
    fn busy(&self, directions: &Directions, ascents: &Ascents, ways: &[u64]) -> Vec<u64> {
        let carries = |switch: usize| directions.order.hosts[switch] > 0;
        let mut busy: Vec<u64> = (0..directions.len()).map(|switch| if carries(switch) { u64::MAX } else { 0 }).collect();
        for &switch in &directions.from_below {
            for edge in directions.up.of(switch as usize) {
                busy[edge.peer as usize] |= ways[edge.edge as usize] & busy[switch as usize];
            }
        }
        for switch in directions.from_below.iter().rev().map(|&switch| switch as usize) {
            let descends = busy[switch] & ascents.descends[switch] & !self.waived[switch];
            for edge in directions.down.of(switch) {
                busy[edge.peer as usize] |= ways[edge.edge as usize] & descends;
            }
        }
        busy
    }

    /// Empty beyond the longest.
    fn of_length(&self, length: usize) -> &[(u32, u64)] {
        self.lengths.get(length + 1).map_or(&[], |&end| &self.found[self.lengths[length]..end])
    }
}
