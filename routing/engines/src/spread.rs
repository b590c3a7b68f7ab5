//! From the ways to each destination switch to a port for each LID.
//!
//! Where several ports lead to a destination equally well, its number decides, as in D-mod-K routing for fat trees (Zahavi): hosts are
//! numbered in leaf order, and each level of a tree takes another digit of the number. The lowest level takes the number modulo its
//! ways up, the next level what is left of the division, and so on; the routes to one host then meet in one core, and each cable that
//! descends carries the routes of as few hosts as possible. On the way down, the choice among parallel cables, or among the switches of
//! a pod, takes the digit that makes this choice on the way up.
//!
//! Lost cables leave gaps and move no other route: see [`Slots`] for the places of the cables, [`Digits`] for what is lost near the
//! destination, [`Gaps`] for what is lost near the source.

use crate::Options;
use crate::digits::{Destination, Digits};
use crate::gaps::Gaps;
use crate::graph::{Graph, bits};
use crate::order::{Order, is_real_host};
use crate::precedence::Precedence;
use crate::slots::Slots;
use heddle_fabric::{EndPort, Fabric, Tables};
use rayon::prelude::*;

/// Groups of 64 destination switches whose ways are held at once: this bounds the memory.
const GROUPS: usize = 16;

/// Fills the tables. `ways` is given up to 64 destination switches, and a zeroed word for each edge in which it sets the bits of the
/// destinations that have a way over the edge.
pub(crate) fn fill(
    tables: &mut Tables,
    fabric: &Fabric,
    graph: &Graph,
    order: &Order,
    options: &Options,
    ways: impl Fn(&[u32], &mut [u64]) + Sync,
) {
    let row_len = tables.row_len();
    let targets = Targets::new(fabric, order, &Precedence::new(fabric, &options.routing_order));
    let slots = Slots::new(graph, order);
    let digits = Digits::new(&slots, order, &targets.destinations(), row_len);
    let plan = Plan { graph, order, slots, digits };
    for (number, switches) in targets.switches.chunks(64 * GROUPS).enumerate() {
        let base = number * 64 * GROUPS;
        let mut held = vec![0u64; graph.edge_count() * switches.len().div_ceil(64)];
        if graph.edge_count() > 0 {
            held.par_chunks_mut(graph.edge_count()).zip(switches.par_chunks(64)).for_each(|(words, group)| ways(group, words));
        }
        tables.rows_mut().par_chunks_mut(row_len).enumerate().for_each(|(switch, row)| {
            let mut filler = RowFiller::new(&plan, switch);
            for group in 0..switches.len().div_ceil(64) {
                filler.fill(row, &targets, base + 64 * group, &held[group * graph.edge_count()..][..graph.edge_count()]);
            }
            filler.finish(row);
        });
    }
    for end in fabric.end_ports() {
        let row = tables.row_mut(end.switch);
        end.lids().for_each(|lid| row[lid.index()] = end.switch_port);
    }
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
    number: u32,
}

impl Targets {
    /// Hosts are numbered in the user's order, then by leaf and port. What comes with a switch is numbered by the switch, so that it does not disturb the
    /// numbers of the hosts. The further LIDs of a range have the further numbers.
    fn new(fabric: &Fabric, order: &Order, precedence: &Precedence<'_>) -> Self {
        let mut ends: Vec<&EndPort> = fabric.end_ports().iter().collect();
        ends.sort_by_cached_key(|end| (precedence.of(end), order.rank[end.switch.index()], end.switch_port));
        let mut runs_of = vec![Vec::<Run>::new(); fabric.switch_count()];
        let mut hosts = 0;
        for end in ends {
            let number = if is_real_host(fabric, end) { hosts } else { order.rank[end.switch.index()] };
            hosts += u32::from(is_real_host(fabric, end));
            runs_of[end.switch.index()].push(Run { lid: u32::from(end.lid.get()), len: end.lids().count() as u32, number });
        }
        for runs in &mut runs_of {
            runs.sort_unstable_by_key(|run| run.lid);
            runs.dedup_by(|run, before| {
                let follows = run.len == 1 && (before.lid + before.len, before.number + before.len) == (run.lid, run.number);
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

    /// The hosts and whatever else has a LID, by number.
    fn destinations(&self) -> Vec<Destination> {
        let mut all = Vec::new();
        for (target, &switch) in self.switches.iter().enumerate() {
            for run in self.runs(target) {
                all.extend((run.lid..run.lid + run.len).zip(run.number..).map(|(lid, number)| Destination { lid, number, switch }));
            }
        }
        all.sort_unstable_by_key(|destination| (destination.number, destination.lid));
        all
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
struct Plan<'a> {
    graph: &'a Graph,
    order: &'a Order,
    slots: Slots,
    digits: Digits,
}

/// What is needed to fill one switch's row.
struct RowFiller<'a> {
    plan: &'a Plan<'a>,
    graph: &'a Graph,
    order: &'a Order,
    switch: usize,
    level: u32,
    /// The switch's edges, by the user's order of their ports, then by the rank of the neighbour.
    edges: Vec<usize>,
    slots: &'a Slots,
    gaps: Gaps,
    words: Vec<u64>,
    used: Vec<usize>,
    ports: Vec<u8>,
}

impl<'a> RowFiller<'a> {
    fn new(plan: &'a Plan<'a>, switch: usize) -> Self {
        let Plan { graph, order, slots, .. } = plan;
        let mut edges: Vec<usize> = graph.edges(switch).collect();
        let place = |edge: usize| graph.port_place(switch, graph.ports(edge)[0]);
        edges.sort_unstable_by_key(|&edge| (place(edge), order.plane[graph.peer(edge)], order.rank[graph.peer(edge)]));
        Self {
            plan,
            graph,
            order,
            switch,
            level: order.level[switch],
            edges,
            slots,
            gaps: Gaps::default(),
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
            let divisor = self.divisor();
            for target in bits(alike) {
                for run in targets.runs(base + target) {
                    run.fill(row, &self.ports, divisor);
                }
            }
        }
    }

    /// Fills in what could not be told before all destinations were known.
    fn finish(mut self, row: &mut [u8]) {
        self.gaps.fill(row, self.slots.of(self.switch), self.slots.turn(self.switch), self.slots.divisor(self.level + 1));
    }

    /// Fills in destinations that are reached by cables up, `alike` those open to all of them.
    fn climb(&mut self, row: &mut [u8], targets: &Targets, base: usize, alike: u64) {
        let places = self.slots.of(self.switch);
        let runs = bits(alike).flat_map(|target| targets.runs(base + target));
        if self.ports.len() == places.len() && !self.plan.digits.has_bent(self.level) {
            let divisor = self.slots.divisor(self.level);
            runs.for_each(|run| run.fill(row, places, divisor));
            return;
        }
        let mut is_open = [false; 256];
        self.ports.iter().for_each(|&port| is_open[usize::from(port)] = true);
        self.gaps.begin(places, &is_open);
        let plane = self.order.plane[self.switch];
        for run in runs {
            for (lid, number) in (run.lid..run.lid + run.len).zip(run.number..) {
                let bent = self.plan.digits.bent(self.level, plane, lid);
                let place = bent.unwrap_or_else(|| self.slots.place(self.level, number, places.len()));
                let port = places[place];
                if !is_open[usize::from(port)] {
                    self.gaps.push(lid, number, place, places.len());
                    continue;
                }
                row[lid as usize] = port;
                if bent.is_some() {
                    self.gaps.guest(number, place);
                }
            }
        }
    }

    /// The divisor for a choice among cables that do not all lead up.
    fn divisor(&self) -> u32 {
        let level = self.level;
        match self.used[..] {
            [edge, ..] if self.order.level[self.graph.peer(edge)] >= level => self.slots.divisor(level),
            // The parallel cables from above are taken in turn after all the planes above.
            [edge] => {
                let peer = self.graph.peer(edge);
                let above = self.graph.peers(peer).iter().filter(|&&above| self.order.level[above as usize] > self.order.level[peer]);
                self.slots.divisor(level - 1).saturating_mul(above.count().max(1) as u32)
            }
            // The switches below chose among these by the digit of their own level.
            _ => self.slots.divisor(level.saturating_sub(2)),
        }
    }
}

impl Run {
    /// Gives each LID the port at its digit.
    fn fill(self, row: &mut [u8], ports: &[u8], divisor: u32) {
        let mut entries = &mut row[self.lid as usize..][..self.len as usize];
        let mut at = (self.number / divisor) as usize % ports.len();
        if divisor == 1 {
            while !entries.is_empty() {
                let (now, later) = entries.split_at_mut((ports.len() - at).min(entries.len()));
                now.copy_from_slice(&ports[at..][..now.len()]);
                entries = later;
                at = 0;
            }
            return;
        }
        let mut same = (divisor - self.number % divisor) as usize;
        while !entries.is_empty() {
            let (now, later) = entries.split_at_mut(same.min(entries.len()));
            now.fill(ports[at]);
            entries = later;
            at = if at + 1 == ports.len() { 0 } else { at + 1 };
            same = divisor as usize;
        }
    }
}
