//! One pass over the tables: which channel depends on which.

use crate::net::{Block, Column, Hop, NOWHERE, Net};
use heddle_fabric::Tables;
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// The successors of each channel, or of each VL of each channel (number: channel * VLs + VL): for each, a row of bits for each VL, with a
/// bit for each port of exit of the switch at its end, port 1 first ([`crate::net::Hop`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Set {
    pub(crate) vls: usize,
    /// Packets keep their VL: each VL of a channel has a single row.
    straight: bool,
    pub(crate) words: Vec<u64>,
}

#[derive(Debug)]
pub(crate) struct Found {
    /// The dependencies of the traffic that counts.
    pub(crate) counted: Set,
    /// Those of all traffic.
    pub(crate) all: Set,
    /// Entries that send packets to LIDs that nobody has.
    pub(crate) unowned_entries: u64,
    /// For LIDs that count from everywhere: each entry leads to another switch or to the owner. For the others: they are reached.
    pub(crate) sound: bool,
}

/// `O(switches * LIDs)`. Threads share the sets: nearly all bits are set early on, so that nearly all accesses are reads.
pub(crate) fn collect(net: &Net<'_>, tables: &Tables) -> Found {
    let counted = SharedSet::new(net, 1, true);
    let other = SharedSet::new(net, 1, true);
    let sound = AtomicBool::new(true);
    let unowned_entries = AtomicU64::new(0);
    let scratch = || (Block::default(), Vec::new(), Vec::new());
    (0..net.blocks()).into_par_iter().for_each_init(scratch, |(block, live, fates), number| {
        block.load(net, tables, number);
        let columns = net.columns_of(number);
        unowned_entries.fetch_add(unowned(net, block, number), Relaxed);

        let (everywhere, some): (Vec<Column>, Vec<Column>) = columns.iter().partition(|column| column.counts_from_everywhere);
        if !take_all(net, block, &everywhere, &counted) {
            sound.store(false, Relaxed);
        }
        for column in &some {
            mark_live(net, block, column, live);
            for switch in 0..net.switches() as u32 {
                if let Some(hop) = net.hops_of(switch).get(usize::from(block.port(switch, column))).filter(|hop| hop.peer != NOWHERE) {
                    let set = if live[switch as usize] { &counted } else { &other };
                    set.insert(*hop, block.port(hop.peer, column));
                }
            }
            if !crate::reach::all_reach(net, block, column, fates) {
                sound.store(false, Relaxed);
            }
        }
    });
    let counted = counted.finish(net);
    let mut all = other.finish(net);
    all.words.iter_mut().zip(&counted.words).for_each(|(all, counted)| *all |= counted);
    Found { counted, all, unowned_entries: unowned_entries.into_inner(), sound: sound.into_inner() }
}

/// The dependencies of all packets to these LIDs, and whether each entry leads to another switch or to the owner. The hot loop.
fn take_all(net: &Net<'_>, block: &Block, columns: &[Column], set: &SharedSet) -> bool {
    let mut sound = true;
    for switch in 0..net.switches() as u32 {
        let (hops, row) = (net.hops_of(switch), block.row(switch));
        for column in columns {
            let port = row[usize::from(column.at) % Tables::BLOCK];
            match hops.get(usize::from(port)) {
                Some(hop) if hop.peer != NOWHERE => set.insert(*hop, block.port(hop.peer, column)),
                _ => sound &= column.owner == (switch, port),
            }
        }
    }
    sound
}

/// Marks the switches that carry packets to this LID from switches with hosts.
pub(crate) fn mark_live(net: &Net<'_>, block: &Block, column: &Column, live: &mut Vec<bool>) {
    live.clear();
    live.resize(net.switches(), false);
    for &(source, _) in &net.host_switches {
        let mut at = Some(source.0);
        while let Some(switch) = at.filter(|&switch| !std::mem::replace(&mut live[switch as usize], true)) {
            at = net.next(switch, block.port(switch, column));
        }
    }
}

fn unowned(net: &Net<'_>, block: &Block, number: usize) -> u64 {
    let mut free = [true; Tables::BLOCK];
    net.columns_of(number).iter().for_each(|column| free[usize::from(column.at)] = false);
    free[0] &= number > 0; // 0 is no LID
    let used = |row: &[u8; Tables::BLOCK]| row.iter().zip(free).filter(|&(&port, free)| free && port != heddle_fabric::NO_PORT).count();
    if free.contains(&true) { (0..net.switches() as u32).map(|switch| used(block.row(switch)) as u64).sum() } else { 0 }
}

pub(crate) struct SharedSet {
    vls: usize,
    straight: bool,
    words: Vec<AtomicU64>,
}

impl SharedSet {
    /// `straight`: packets keep their VL.
    pub(crate) fn new(net: &Net<'_>, vls: usize, straight: bool) -> Self {
        let rows = if straight { vls } else { vls * vls };
        Self { vls, straight, words: (0..net.set_words * rows).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Notes that packets that came by `hop` leave by `port`, if the switch there has that port; for sets of one VL.
    #[inline]
    pub(crate) fn insert(&self, hop: Hop, port: u8) {
        let bit = u32::from(port.wrapping_sub(1));
        if bit / 64 < hop.words {
            self.mark((hop.set + bit / 64) as usize, bit);
        }
    }

    /// Notes that packets that came by `hop` on a VL leave by `port` on another, if the switch there has that port.
    pub(crate) fn insert_lane(&self, hop: Hop, vl: usize, port: u8, to: usize) {
        let bit = u32::from(port.wrapping_sub(1));
        if bit / 64 < hop.words {
            self.mark(row(hop, self.vls, self.straight, vl, to) + bit as usize / 64, bit);
        }
    }

    #[inline]
    fn mark(&self, word: usize, bit: u32) {
        let (word, bit) = (&self.words[word], 1 << (bit % 64));
        if word.load(Relaxed) & bit == 0 {
            word.fetch_or(bit, Relaxed);
        }
    }

    /// Without what leads to no other switch.
    pub(crate) fn finish(self, net: &Net<'_>) -> Set {
        let mut set = Set { vls: self.vls, straight: self.straight, words: self.words.into_iter().map(AtomicU64::into_inner).collect() };
        let between: Vec<[u64; 4]> = (0..net.switches() as u32)
            .map(|switch| {
                let mut mask = [0; 4];
                let cabled = net.hops_of(switch).iter().enumerate().filter(|(_, hop)| hop.peer != NOWHERE);
                cabled.for_each(|(port, _)| mask[(port - 1) / 64] |= 1 << ((port - 1) % 64));
                mask
            })
            .collect();
        for hop in (0..net.channels()).map(|channel| net.hop(channel)).filter(|hop| hop.peer != NOWHERE) {
            for (vl, to) in (0..self.vls).flat_map(|vl| onto(self.vls, self.straight, vl).map(move |to| (vl, to))) {
                let words = &mut set.words[row(hop, self.vls, self.straight, vl, to)..][..hop.words as usize];
                words.iter_mut().zip(between[hop.peer as usize]).for_each(|(word, mask)| *word &= mask);
            }
        }
        set
    }
}

impl Set {
    /// Adds that packets which came by `hop` on a VL leave by `port`, which leads to another switch, on another.
    pub(crate) fn insert(&mut self, hop: Hop, vl: usize, port: u8, to: usize) {
        let bit = usize::from(port) - 1;
        self.words[row(hop, self.vls, self.straight, vl, to) + bit / 64] |= 1 << (bit % 64);
    }

    pub(crate) fn nodes(&self, net: &Net<'_>) -> usize {
        net.channels() * self.vls
    }

    /// The ports of exit, and their VLs, on which packets of a channel's VL go on.
    pub(crate) fn successors<'a>(&'a self, net: &'a Net<'_>, node: usize) -> impl Iterator<Item = usize> + 'a {
        let (channel, vl) = (node / self.vls, node % self.vls);
        let hop = net.hop(channel);
        let first = if hop.peer == NOWHERE { 0 } else { net.first_channel(hop.peer) + 1 };
        onto(self.vls, self.straight, vl).flat_map(move |to| {
            let words = &self.words[row(hop, self.vls, self.straight, vl, to)..][..hop.words as usize];
            let channels = words.iter().zip((first..).step_by(64)).flat_map(|(&word, first)| ones(word).map(move |bit| first + bit));
            channels.map(move |channel| channel * self.vls + to)
        })
    }
}

/// The VLs on which packets of a VL can go on.
fn onto(vls: usize, straight: bool, vl: usize) -> std::ops::Range<usize> {
    if straight { vl..vl + 1 } else { 0..vls }
}

/// Where the row of bits begins for packets that came by `hop` on `vl` and leave on `to`.
#[inline]
fn row(hop: Hop, vls: usize, straight: bool, vl: usize, to: usize) -> usize {
    let (rows, row) = if straight { (vls, vl) } else { (vls * vls, vl * vls + to) };
    hop.set as usize * rows + row * hop.words as usize
}

pub(crate) fn ones(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros() as usize;
        word &= word.checked_sub(1)?;
        Some(bit)
    })
}
