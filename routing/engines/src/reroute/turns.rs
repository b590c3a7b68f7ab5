//! Which turns routes take, and an order of the channels in which every turn goes up.

use crate::graph::bits;
use heddle_fabric::{Change, Fabric, SwitchIndex};
use std::collections::BTreeSet;

/// The turns: from a channel on to a port of the switch at its end. Turns that no route takes any more stay until the channel leads to
/// another switch. This costs freedom, and makes sure that routes can come back to what they were.
pub(crate) struct Turns {
    /// The words of a channel, with a bit for each port.
    words: usize,
    bits: Vec<u64>,
    /// By channel: the channel of port 0 of the switch that its turns are at.
    first: Vec<u32>,
    /// By channel; every turn goes up. Free of deadlock is what has such ranks (Dally and Seitz).
    ranks: Vec<u32>,
    /// Turns that are known to close a circle, since the last change of the fabric.
    circles: BTreeSet<(usize, usize)>,
    /// By channel: whether any turn leads to it.
    entered: Vec<bool>,
    /// By channel: the last search that came by.
    seen: Vec<u32>,
    search: u32,
    stack: Vec<u32>,
    /// Channels whose rank is going up, by their old rank.
    rising: Vec<Vec<u32>>,
}

impl Turns {
    pub(crate) fn new(fabric: &Fabric) -> Self {
        let most = fabric.switches().iter().map(|&node| usize::from(fabric.node(node).num_ports)).max().unwrap_or(0);
        let words = most / 64 + 1;
        let first: Vec<u32> = (0..fabric.channel_count()).map(|channel| first_after(fabric, channel).unwrap_or(0)).collect();
        let channels = first.len();
        Self {
            words,
            bits: vec![0; channels * words],
            first,
            ranks: Vec::new(),
            circles: BTreeSet::new(),
            entered: vec![false; channels],
            seen: vec![0; channels],
            search: 0,
            stack: Vec::new(),
            rising: Vec::new(),
        }
    }

    /// Notes a turn, whatever its ranks.
    pub(crate) fn note(&mut self, channel: usize, port: u8) {
        self.bits[channel * self.words + usize::from(port / 64)] |= 1 << (port % 64);
    }

    pub(crate) fn join(&mut self, other: &Self) {
        self.bits.iter_mut().zip(&other.bits).for_each(|(own, other)| *own |= other);
    }

    /// Gives each channel a rank. Whether there are such ranks. `O(channels + turns)`.
    pub(crate) fn rank(&mut self) -> bool {
        let channels = self.first.len();
        let mut waits = vec![0u32; channels];
        for channel in 0..channels {
            self.successors(channel).for_each(|next| waits[next] += 1);
        }
        self.entered = waits.iter().map(|&count| count > 0).collect();
        let mut ranks = vec![0u32; channels];
        let mut ready: Vec<usize> = (0..channels).filter(|&channel| waits[channel] == 0).collect();
        let mut head = 0;
        while let Some(&channel) = ready.get(head) {
            head += 1;
            for next in self.successors(channel) {
                ranks[next] = ranks[next].max(ranks[channel] + 1);
                waits[next] -= 1;
                if waits[next] == 0 {
                    ready.push(next);
                }
            }
        }
        self.ranks = ranks;
        ready.len() == channels
    }

    /// The same turns in a changed fabric, without those from channels that lead elsewhere.
    pub(crate) fn carry(&mut self, old: &Fabric, new: &Fabric, change: &Change) {
        if !change.same_rows {
            let mut carried = Self::new(new);
            carried.ranks = vec![0; new.channel_count()];
            let words = self.words.min(carried.words);
            // What a channel had that leads nowhere now was about the old numbers.
            for (from, to) in kept_channels(old, new, change).into_iter().filter(|&(_, to)| new.channel_peer(to).is_some()) {
                carried.ranks[to] = self.ranks[from];
                carried.bits[to * carried.words..][..words].copy_from_slice(&self.bits[from * self.words..][..words]);
            }
            for channel in 0..carried.first.len() {
                let next: Vec<usize> = carried.successors(channel).collect();
                next.into_iter().for_each(|next| carried.entered[next] = true);
            }
            *self = carried;
        }
        self.circles.clear();
        for channel in change.channels.iter().map(|&channel| channel as usize) {
            let first = first_after(new, channel);
            if first.is_some_and(|first| first != self.first[channel]) || !change.same_rows {
                self.first[channel] = first.unwrap_or(0);
                self.bits[channel * self.words..][..self.words].fill(0);
            }
        }
    }

    /// Whether a turn needs no new ranks: from a channel to the port of a switch that is channel `to`.
    pub(crate) fn is_easy(&self, from: usize, to: usize) -> bool {
        self.ranks[from] < self.ranks[to]
    }

    /// Whether any turn leads to a channel.
    pub(crate) fn is_entered(&self, channel: usize) -> bool {
        self.entered[channel]
    }

    /// Adds a turn, if that closes no circle; ranks go up where they must. `O(turns between channels whose ranks are in the way)`.
    pub(crate) fn insert(&mut self, from: usize, to: usize, port: u8) -> bool {
        if !self.is_easy(from, to) {
            if self.circles.contains(&(from, to)) || self.leads_to(to, from) {
                self.circles.insert((from, to));
                return false;
            }
            self.raise(to, self.ranks[from] + 1);
        }
        self.entered[to] = true;
        self.note(from, port);
        true
    }

    /// Whether turns lead from a channel to one that has no lower rank. Circles are found soon, depth first.
    fn leads_to(&mut self, start: usize, end: usize) -> bool {
        self.search += 1;
        self.seen[start] = self.search;
        self.stack.clear();
        self.stack.push(start as u32);
        while let Some(channel) = self.stack.pop() {
            let (channel, first) = (channel as usize, self.first[channel as usize] as usize);
            for word in 0..self.words {
                for bit in bits(self.bits[channel * self.words + word]) {
                    let next = first + word * 64 + bit;
                    if next == end {
                        return true;
                    }
                    if self.ranks[next] < self.ranks[end] && self.seen[next] != self.search {
                        self.seen[next] = self.search;
                        self.stack.push(next as u32);
                    }
                }
            }
        }
        start == end
    }

    /// Gives a channel a rank, and what comes after it higher ones: in the order of the old ranks, so that each is visited once (compare the
    /// dynamic topological sort of D. J. Pearce and P. H. J. Kelly, JEA 11, 2006).
    fn raise(&mut self, channel: usize, rank: u32) {
        self.search += 1;
        let mut at = self.ranks[channel] as usize;
        self.lift(channel, rank);
        while let Some(rising) = self.rising.get_mut(at) {
            let Some(channel) = rising.pop() else {
                at += 1;
                continue;
            };
            let (rank, first) = (self.ranks[channel as usize], self.first[channel as usize] as usize);
            for word in 0..self.words {
                for bit in bits(self.bits[channel as usize * self.words + word]) {
                    self.lift(first + word * 64 + bit, rank + 1);
                }
            }
        }
    }

    /// Gives a channel this rank if it has a lower one.
    fn lift(&mut self, channel: usize, rank: u32) {
        let old = self.ranks[channel];
        if old >= rank {
            return;
        }
        self.ranks[channel] = rank;
        if std::mem::replace(&mut self.seen[channel], self.search) != self.search {
            self.rising.resize_with(self.rising.len().max(old as usize + 1), Vec::new);
            self.rising[old as usize].push(channel as u32);
        }
    }

    fn successors(&self, channel: usize) -> impl Iterator<Item = usize> + '_ {
        let first = self.first[channel] as usize;
        let words = &self.bits[channel * self.words..][..self.words];
        words.iter().zip((first..).step_by(64)).flat_map(|(&word, first)| bits(word).map(move |bit| first + bit))
    }
}

/// The channel of port 0 of the switch at the end of one.
fn first_after(fabric: &Fabric, channel: usize) -> Option<u32> {
    fabric.channel_peer(channel).map(|(peer, _)| fabric.channel(peer, 0) as u32)
}

/// The channels of switches that both fabrics have, in the old and in the new one.
pub(crate) fn kept_channels(old: &Fabric, new: &Fabric, change: &Change) -> Vec<(usize, usize)> {
    let mut channels = Vec::new();
    for (now, before) in (0..).map(SwitchIndex).zip(&change.before) {
        let Some(before) = *before else { continue };
        let ports = old.switch(before).num_ports.min(new.switch(now).num_ports);
        channels.extend((0..=ports).map(|port| (old.channel(before, port), new.channel(now, port))));
    }
    channels
}
