//! From the ways to each destination switch to a port for each LID.
//!
//! Where several ports lead to a destination equally well, its number decides, as in D-mod-K routing for fat trees (Zahavi): hosts are
//! numbered in leaf order, and each level of a tree takes another digit of the number. The lowest level takes the number modulo its
//! ways up, the next level what is left of the division, and so on; the routes to one host then meet in one core, and each cable that
//! descends carries the routes of as few hosts as possible. On the way down, the choice among parallel cables, or among the switches of
//! a pod, takes the digit that makes this choice on the way up.

use crate::graph::{Graph, bits};
use crate::order::{Order, is_real_host};
use heddle_fabric::{EndPort, Fabric, Tables};
use rayon::prelude::*;

/// Groups of 64 destination switches whose ways are held at once: this bounds the memory.
const GROUPS: usize = 16;

/// Fills the tables. `ways` is given up to 64 destination switches, and a zeroed word for each edge in which it sets the bits of the
/// destinations that have a way over the edge.
pub(crate) fn fill(tables: &mut Tables, fabric: &Fabric, graph: &Graph, order: &Order, ways: impl Fn(&[u32], &mut [u64]) + Sync) {
    let row_len = tables.row_len();
    let targets = Targets::new(fabric, order);
    let digits = Digits::new(graph, order);
    for (number, switches) in targets.switches.chunks(64 * GROUPS).enumerate() {
        let base = number * 64 * GROUPS;
        let mut held = vec![0u64; graph.edge_count() * switches.len().div_ceil(64)];
        if graph.edge_count() > 0 {
            held.par_chunks_mut(graph.edge_count()).zip(switches.par_chunks(64)).for_each(|(words, group)| ways(group, words));
        }
        tables.rows_mut().par_chunks_mut(row_len).enumerate().for_each(|(switch, row)| {
            let mut filler = RowFiller::new(graph, order, &digits, switch);
            for group in 0..switches.len().div_ceil(64) {
                filler.fill(row, &targets, base + 64 * group, &held[group * graph.edge_count()..][..graph.edge_count()]);
            }
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
    /// Hosts are numbered by leaf and port. What comes with a switch is numbered by the switch, so that it does not disturb the
    /// numbers of the hosts. The further LIDs of a range have the further numbers.
    fn new(fabric: &Fabric, order: &Order) -> Self {
        let mut ends: Vec<&EndPort> = fabric.end_ports().iter().collect();
        ends.sort_by_key(|end| (order.rank[end.switch.index()], end.switch_port));
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

/// The divisors that give a digit of a number.
struct Digits {
    /// By level: for the choice among the cables up.
    level: Vec<u32>,
    /// By switch: how many neighbours it has on the next level.
    up_peers: Vec<u32>,
}

impl Digits {
    /// A level's radix is the number of cables up that its switches have, in the median, since some have lost a few.
    fn new(graph: &Graph, order: &Order) -> Self {
        let top = order.level.iter().copied().max().unwrap_or(0) as usize;
        let mut cables = vec![Vec::new(); top + 1];
        let mut up_peers = Vec::with_capacity(graph.len());
        for switch in 0..graph.len() {
            let up = graph.edges(switch).filter(|&edge| order.level[graph.peer(edge)] > order.level[switch]);
            let up: Vec<usize> = up.map(|edge| graph.ports(edge).len()).collect();
            up_peers.push(up.len() as u32);
            cables[order.level[switch] as usize].push(up.iter().sum());
        }
        let mut level = vec![1];
        for (below, cables) in cables.into_iter().enumerate() {
            level.push(median(cables).saturating_mul(level[below]));
        }
        Self { level, up_peers }
    }

    /// The divisor for a choice that `switch` makes among the cables to `peers`.
    fn divisor(&self, order: &Order, switch: usize, peers: impl ExactSizeIterator<Item = usize> + Clone) -> u32 {
        let level = order.level[switch] as usize;
        match peers.clone().next() {
            Some(peer) if order.level[peer] as usize >= level => self.level[level],
            // The parallel cables from `peer` are taken in turn after all its neighbours above.
            Some(peer) if peers.len() == 1 => self.level[level - 1].saturating_mul(self.up_peers[peer]),
            // The switches below chose among `peers` by the digit of their own level.
            _ => self.level[level.saturating_sub(2)],
        }
    }
}

/// The median, at least 1.
fn median(mut values: Vec<usize>) -> u32 {
    values.sort_unstable();
    values.get(values.len() / 2).map_or(1, |&value| value.max(1) as u32)
}

/// What is needed to fill one switch's row.
struct RowFiller<'a> {
    graph: &'a Graph,
    order: &'a Order,
    switch: usize,
    /// The switch's edges, by the rank of the neighbour.
    edges: Vec<usize>,
    digits: &'a Digits,
    words: Vec<u64>,
    used: Vec<usize>,
    ports: Vec<u8>,
}

impl<'a> RowFiller<'a> {
    fn new(graph: &'a Graph, order: &'a Order, digits: &'a Digits, switch: usize) -> Self {
        let mut edges: Vec<usize> = graph.edges(switch).collect();
        edges.sort_unstable_by_key(|&edge| order.rank[graph.peer(edge)]);
        Self { graph, order, switch, edges, digits, words: Vec::new(), used: Vec::new(), ports: Vec::new() }
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
            self.list_ports();
            if let [port] = self.ports[..] {
                targets.fill(row, base, alike, port);
                continue;
            }
            let divisor = self.digits.divisor(self.order, self.switch, self.used.iter().map(|&edge| self.graph.peer(edge)));
            for target in bits(alike) {
                for run in targets.runs(base + target) {
                    run.fill(row, &self.ports, divisor);
                }
            }
        }
    }

    /// The ports of the edges in use: the first cable to each neighbour, then the second, and so on.
    fn list_ports(&mut self) {
        self.ports.clear();
        for cable in 0.. {
            let before = self.ports.len();
            self.ports.extend(self.used.iter().filter_map(|&edge| self.graph.ports(edge).get(cable)));
            if self.ports.len() == before {
                return;
            }
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
