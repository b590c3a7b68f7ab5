//! From the ways to each destination switch to a port for each LID.
//!
//! Where several ports lead to a destination equally well, its number decides, as in D-mod-K routing for fat trees (Zahavi): hosts are
//! numbered in leaf order, and each level of a tree takes another digit of the number. The lowest level takes the number modulo its
//! ways up, the next level what is left of the division, and so on; the routes to one host then meet in one core, and each cable that
//! descends carries the routes of as few hosts as possible. On the way down, the choice among parallel cables, or among the switches of
//! a pod, takes the digit that makes this choice on the way up.
//!
//! Lost cables leave gaps and move no other route: see [`Slots`] for the places of the cables, [`detours`] for the routes that would take
//! the lost ones.

use crate::detours::{self, Gaps};
use crate::graph::{Graph, bits};
use crate::numbers::{Number, Numbers};
use crate::order::Order;
use crate::slots::Slots;
use heddle_fabric::{Fabric, NO_PORT, Tables};
use rayon::prelude::*;

/// Groups of 64 destination switches whose ways are held at once: this bounds the memory.
const GROUPS: usize = 16;

/// Fills the tables. `ways` is given up to 64 destination switches, and a zeroed word for each edge in which it sets the bits of the
/// destinations that have a way over the edge. `numbers` are those of the end ports.
pub(crate) fn fill(
    tables: &mut Tables,
    fabric: &Fabric,
    graph: &Graph,
    order: &Order,
    numbers: &Numbers,
    ways: impl Fn(&[u32], &mut [u64]) + Sync,
) {
    let row_len = tables.row_len();
    let targets = Targets::new(fabric, &numbers.of);
    let slots = Slots::new(graph, order);
    let narrow = narrow(fabric, graph, order, &slots, numbers, row_len);
    let plan = Plan { graph, order, slots: &slots, narrow: &narrow };
    let mut gaps: Vec<Gaps> = (0..graph.len()).map(|_| Gaps::default()).collect();
    for (number, switches) in targets.switches.chunks(64 * GROUPS).enumerate() {
        let base = number * 64 * GROUPS;
        let mut held = vec![0u64; graph.edge_count() * switches.len().div_ceil(64)];
        if graph.edge_count() > 0 {
            held.par_chunks_mut(graph.edge_count()).zip(switches.par_chunks(64)).for_each(|(words, group)| ways(group, words));
        }
        tables.rows_mut().par_chunks_mut(row_len).zip(&mut gaps).enumerate().for_each(|(switch, (row, gaps))| {
            let mut filler = RowFiller::new(&plan, switch, gaps);
            for group in 0..switches.len().div_ceil(64) {
                filler.fill(row, &targets, base + 64 * group, &held[group * graph.edge_count()..][..graph.edge_count()]);
            }
        });
    }
    for end in fabric.end_ports() {
        let row = tables.row_mut(end.switch);
        end.lids().for_each(|lid| row[lid.index()] = end.switch_port);
    }
    detours::fill(tables, fabric, &plan, numbers, gaps);
}

/// The switches that carry LIDs, and these LIDs with their numbers.
struct Targets {
    /// By their lowest LID.
    switches: Vec<u32>,
    /// By place in `switches`: the lowest LID, and the highest plus one if all between are the switch's.
    spans: Vec<(u32, Option<u32>)>,
    /// Where the runs begin in `runs`, by place in `switches`; one more entry at the end.
    base: Vec<u32>,
    runs: Vec<Run>,
}

/// LIDs that follow one another, as do their numbers.
#[derive(Clone, Copy)]
struct Run {
    lid: u32,
    len: u32,
    number: Number,
}

impl Targets {
    /// The further LIDs of a range have the further numbers.
    fn new(fabric: &Fabric, numbers: &[Number]) -> Self {
        let mut runs_of = vec![Vec::<Run>::new(); fabric.switch_count()];
        for (end, &number) in fabric.end_ports().iter().zip(numbers) {
            runs_of[end.switch.index()].push(Run { lid: u32::from(end.lid.get()), len: end.lids().count() as u32, number });
        }
        for runs in &mut runs_of {
            runs.sort_unstable_by_key(|run| run.lid);
            runs.dedup_by(|run, before| {
                let follows = run.len == 1 && (before.lid + before.len, before.number.plus(before.len)) == (run.lid, run.number);
                before.len += u32::from(follows);
                follows
            });
        }
        let mut switches: Vec<u32> = (0..fabric.switch_count() as u32).filter(|&switch| !runs_of[switch as usize].is_empty()).collect();
        switches.sort_unstable_by_key(|&switch| runs_of[switch as usize][0].lid);
        let mut targets = Self { switches, spans: Vec::new(), base: vec![0], runs: Vec::new() };
        for &switch in &targets.switches {
            let runs = &runs_of[switch as usize];
            let end = runs.iter().try_fold(runs[0].lid, |end, run| (run.lid == end).then_some(end + run.len));
            targets.spans.push((runs[0].lid, end));
            targets.runs.extend(runs);
            targets.base.push(targets.runs.len() as u32);
        }
        targets
    }

    fn runs(&self, target: usize) -> &[Run] {
        &self.runs[self.base[target] as usize..self.base[target + 1] as usize]
    }

    /// Gives all LIDs of some destinations, `base` plus the bits of `members`, to one port. Neighbouring spans are filled at once.
    fn fill(&self, row: &mut [u8], base: usize, members: u64, port: u8) {
        let mut span = 0..0;
        for target in bits(members) {
            match self.spans[base + target] {
                (start, Some(end)) if start as usize == span.end => span.end = end as usize,
                (start, Some(end)) => {
                    row[span].fill(port);
                    span = start as usize..end as usize;
                }
                (_, None) => {
                    for run in self.runs(base + target) {
                        row[run.lid as usize..][..run.len as usize].fill(port);
                    }
                }
            }
        }
        row[span].fill(port);
    }
}

/// What all rows are filled by.
#[derive(Clone, Copy)]
pub(crate) struct Plan<'a> {
    pub(crate) graph: &'a Graph,
    pub(crate) order: &'a Order,
    pub(crate) slots: &'a Slots,
    /// By LID the level on which the place that its number says is beyond the shares of a cable near the destination, [`WIDE`] without such
    /// a level; empty where all cables have the same shares.
    narrow: &'a [u32],
}

const WIDE: u32 = u32::MAX;

/// See [`Plan::narrow`]. A cable that is missing there is no way for anybody; one with fewer shares is, so that it takes this to spare it.
fn narrow(fabric: &Fabric, graph: &Graph, order: &Order, slots: &Slots, numbers: &Numbers, row_len: usize) -> Vec<u32> {
    if !graph.has_shares() {
        return Vec::new();
    }
    let mut narrow = vec![WIDE; row_len];
    for (end, &number) in fabric.end_ports().iter().zip(&numbers.of) {
        let level = order.level[end.switch.index()];
        let places = slots.of(end.switch.index());
        for (offset, lid) in end.lids().enumerate().filter(|_| !places.is_empty()) {
            let place = slots.place(level, number.plus(offset as u32), places.len());
            if places[place] == NO_PORT {
                narrow[lid.index()] = level;
            }
        }
    }
    narrow
}

/// What is needed to fill one switch's row.
struct RowFiller<'a> {
    graph: &'a Graph,
    order: &'a Order,
    switch: usize,
    level: u32,
    /// The switch's edges, by the user's order of their ports, then by the rank of the neighbour.
    edges: Vec<usize>,
    slots: &'a Slots,
    narrow: &'a [u32],
    gaps: &'a mut Gaps,
    words: Vec<u64>,
    used: Vec<usize>,
    ports: Vec<u8>,
}

impl<'a> RowFiller<'a> {
    fn new(plan: &Plan<'a>, switch: usize, gaps: &'a mut Gaps) -> Self {
        let Plan { graph, order, slots, narrow } = *plan;
        let mut edges: Vec<usize> = graph.edges(switch).collect();
        let place = |edge: usize| graph.port_place(switch, graph.ports(edge)[0]);
        edges.sort_unstable_by_key(|&edge| (place(edge), order.plane[graph.peer(edge)], order.rank[graph.peer(edge)]));
        Self {
            graph,
            order,
            switch,
            level: order.level[switch],
            edges,
            slots,
            narrow,
            gaps,
            words: Vec::new(),
            used: Vec::new(),
            ports: Vec::new(),
        }
    }

    /// Fills in up to 64 destinations from `base` on, those with the same set of ways together.
    fn fill(&mut self, row: &mut [u8], targets: &Targets, base: usize, ways: &[u64]) {
        self.words.clear();
        self.words.extend(self.edges.iter().map(|&edge| ways[edge]));
        let mut left = self.words.iter().fold(0, |all, word| all | word);
        while left != 0 {
            let bit = left.trailing_zeros();
            let mut alike = left;
            self.used.clear();
            for (&word, &edge) in self.words.iter().zip(&self.edges) {
                if word >> bit & 1 == 1 {
                    alike &= word;
                    self.used.push(edge);
                } else {
                    alike &= !word;
                }
            }
            left &= !alike;
            self.graph.turns(&self.used, &mut self.ports);
            if let [port] = self.ports[..] {
                targets.fill(row, base, alike, port);
                continue;
            }
            if self.used.iter().all(|&edge| self.order.level[self.graph.peer(edge)] > self.level) {
                self.climb(row, targets, base, alike);
                continue;
            }
            let (level, more) = self.digit();
            for run in bits(alike).flat_map(|target| targets.runs(base + target)) {
                run.fill(row, &self.ports, self.slots.divisor(level, run.number).saturating_mul(more));
            }
        }
    }

    /// Fills in destinations that are reached by cables up, `alike` those open to all of them.
    fn climb(&mut self, row: &mut [u8], targets: &Targets, base: usize, alike: u64) {
        let places = self.slots.of(self.switch);
        let runs = bits(alike).flat_map(|target| targets.runs(base + target));
        if self.ports.len() == places.len() && self.narrow.is_empty() {
            runs.for_each(|run| run.fill(row, places, self.slots.divisor(self.level, run.number)));
            return;
        }
        let mut is_open = [false; 256];
        self.ports.iter().for_each(|&port| is_open[usize::from(port)] = true);
        self.gaps.begin(places, &is_open);
        for (lid, number) in runs.flat_map(|run| run.lids()) {
            let place = self.slots.place(self.level, number, places.len());
            let is_narrow = self.narrow.get(lid as usize).is_some_and(|&level| level == self.level);
            if is_open[usize::from(places[place])] && !is_narrow {
                row[lid as usize] = places[place];
            } else {
                self.gaps.push(lid, number, place, places.len());
            }
        }
    }

    /// The level whose digit chooses among cables that do not all lead up, and by what the digit is to be divided besides.
    fn digit(&self) -> (u32, u32) {
        let level = self.level;
        match self.used[..] {
            [edge, ..] if self.order.level[self.graph.peer(edge)] >= level => (level, 1),
            // The parallel cables from above are taken in turn after all the planes above.
            [edge] => {
                let peer = self.graph.peer(edge);
                let above = self.graph.peers(peer).iter().filter(|&&above| self.order.level[above as usize] > self.order.level[peer]);
                (level - 1, above.count().max(1) as u32)
            }
            // The switches below chose among these by the digit of their own level.
            _ => (level.saturating_sub(2), 1),
        }
    }
}

impl Run {
    /// The LIDs, each with its number.
    fn lids(self) -> impl Iterator<Item = (u32, Number)> {
        (0..self.len).map(move |offset| (self.lid + offset, self.number.plus(offset)))
    }

    /// Gives each LID the port at its digit.
    fn fill(self, row: &mut [u8], ports: &[u8], divisor: u32) {
        let mut entries = &mut row[self.lid as usize..][..self.len as usize];
        let mut at = (self.number.index / divisor) as usize % ports.len();
        if divisor == 1 {
            while !entries.is_empty() {
                let (now, later) = entries.split_at_mut((ports.len() - at).min(entries.len()));
                now.copy_from_slice(&ports[at..][..now.len()]);
                entries = later;
                at = 0;
            }
            return;
        }
        let mut same = (divisor - self.number.index % divisor) as usize;
        while !entries.is_empty() {
            let (now, later) = entries.split_at_mut(same.min(entries.len()));
            now.fill(ports[at]);
            entries = later;
            at = if at + 1 == ports.len() { 0 } else { at + 1 };
            same = divisor as usize;
        }
    }
}
