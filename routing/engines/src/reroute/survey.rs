//! One pass over tables: the load of each channel, and the turns that routes take.

use super::turns::Turns;
use heddle_fabric::{EndPort, Fabric, Lid, SwitchIndex, Tables};
use rayon::prelude::*;

pub(crate) struct Survey {
    /// By channel: how many routes from a host to a host's LID go over it.
    pub(crate) loads: Vec<u64>,
    /// The turns of routes with a host at one end; others are subnet management, on a VL without credits (IBA chapter 7).
    pub(crate) turns: Turns,
    /// Where packets do not arrive. What comes from there is in no loads and turns.
    pub(crate) astray: Vec<(Lid, SwitchIndex)>,
}

/// How many hosts each switch has.
pub(crate) fn hosts(fabric: &Fabric) -> Vec<u32> {
    let mut hosts = vec![0; fabric.switch_count()];
    fabric.end_ports().iter().filter(|end| end.is_host()).for_each(|end| hosts[end.switch.index()] += 1);
    hosts
}

/// Follows all routes; `None` if their turns have a circle. `O(switches * LIDs)`.
pub(crate) fn survey(fabric: &Fabric, tables: &Tables) -> Option<Survey> {
    let hosts = hosts(fabric);
    let mut columns: Vec<(Lid, &EndPort)> = fabric.end_ports().iter().flat_map(|end| end.lids().map(move |lid| (lid, end))).collect();
    columns.sort_unstable_by_key(|(lid, _)| *lid);
    let blocks: Vec<_> = columns.chunk_by(|a, b| a.0.index() / Tables::BLOCK == b.0.index() / Tables::BLOCK).collect();
    let parts = blocks.len().div_ceil(rayon::current_num_threads() * 2).max(1);
    let found = blocks.par_chunks(parts).map(|blocks| {
        let mut pass = Pass::new(fabric, &hosts);
        blocks.iter().for_each(|columns| pass.take(fabric, tables, columns));
        pass.found
    });
    let mut found = found.reduce_with(Survey::joined).unwrap_or_else(|| Survey::new(fabric));
    found.turns.rank().then_some(found)
}

impl Survey {
    fn new(fabric: &Fabric) -> Self {
        Self { loads: vec![0; fabric.channel_count()], turns: Turns::new(fabric), astray: Vec::new() }
    }

    fn joined(mut self, other: Self) -> Self {
        self.loads.iter_mut().zip(other.loads).for_each(|(own, other)| *own += other);
        self.turns.join(&other.turns);
        self.astray.extend(other.astray);
        self
    }
}

struct Pass<'a> {
    found: Survey,
    hosts: &'a [u32],
    /// The block's entries, by switch: copied together so that they stay in the cache.
    block: Vec<[u8; Tables::BLOCK]>,
    /// By switch: the next one, if there is.
    next: Vec<Option<SwitchIndex>>,
    /// By switch: how many send by it and are not done.
    waits: Vec<u32>,
    /// By switch: the hosts whose packets come by.
    count: Vec<u32>,
    order: Vec<usize>,
    /// By switch: whether its packets arrive.
    arrives: Vec<bool>,
}

impl<'a> Pass<'a> {
    fn new(fabric: &Fabric, hosts: &'a [u32]) -> Self {
        let found = Survey::new(fabric);
        Self {
            found,
            hosts,
            block: Vec::new(),
            next: Vec::new(),
            waits: Vec::new(),
            count: Vec::new(),
            order: Vec::new(),
            arrives: Vec::new(),
        }
    }

    /// Takes the LIDs of one block.
    fn take(&mut self, fabric: &Fabric, tables: &Tables, columns: &[(Lid, &EndPort)]) {
        let switches = || (0..fabric.switch_count() as u32).map(SwitchIndex);
        let Some(block) = columns.first().map(|(lid, _)| lid.index() / Tables::BLOCK) else { return };
        self.block.clear();
        self.block.extend(switches().map(|switch| *tables.block(switch, block).unwrap_or(&[heddle_fabric::NO_PORT; Tables::BLOCK])));
        for &(lid, end) in columns {
            let at = lid.index() % Tables::BLOCK;
            self.next.clear();
            self.next.extend(switches().zip(&self.block).map(|(switch, row)| fabric.next(switch, row[at]).map(|(peer, _)| peer)));
            self.waits.clear();
            self.waits.resize(fabric.switch_count(), 0);
            self.next.iter().flatten().for_each(|next| self.waits[next.index()] += 1);
            self.count.clear();
            self.count.extend_from_slice(self.hosts);
            self.order.clear();
            self.order.extend((0..fabric.switch_count()).filter(|&switch| self.waits[switch] == 0));
            let mut head = 0;
            while let Some(&switch) = self.order.get(head) {
                head += 1;
                let Some(next) = self.next[switch].map(SwitchIndex::index) else { continue };
                self.waits[next] -= 1;
                if self.waits[next] == 0 {
                    self.order.push(next);
                }
            }
            // From the end of the ways: those that go in circles are not in the order.
            self.arrives.clear();
            self.arrives.resize(fabric.switch_count(), false);
            for &switch in self.order.iter().rev() {
                self.arrives[switch] = match self.next[switch] {
                    Some(next) => self.arrives[next.index()],
                    None => switch == end.switch.index() && self.block[switch][at] == end.switch_port,
                };
            }
            for &switch in self.order.iter().filter(|&&switch| self.arrives[switch]) {
                let Some(next) = self.next[switch].map(SwitchIndex::index) else { continue };
                let channel = fabric.channel(SwitchIndex(switch as u32), self.block[switch][at]);
                if end.is_host() {
                    self.found.loads[channel] += u64::from(self.count[switch]);
                }
                if self.next[next].is_some() && (end.is_host() || self.count[switch] > 0) {
                    self.found.turns.note(channel, self.block[next][at]);
                }
                self.count[next] += self.count[switch];
            }
            let astray = switches().filter(|switch| !self.arrives[switch.index()]).map(|switch| (lid, switch));
            self.found.astray.extend(astray);
        }
    }
}
