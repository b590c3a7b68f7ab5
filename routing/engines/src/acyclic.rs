//! Dependencies between channels that close no circle.
//!
//! An order of all channels is kept in which each dependency goes up. A new dependency that does not go up moves channels between its
//! ends, unless these are connected the other way round already: then it would close a circle (D. J. Pearce and P. H. J. Kelly, "A dynamic
//! topological sort algorithm for directed acyclic graphs", ACM JEA 11, 2007). What is to move is looked for from both ends in turn, and
//! the end with less of it moves.

use heddle_fabric::{Fabric, SwitchIndex};

/// No channel, or no switch.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// The channels out of all switches: ports of exit, several virtual lanes of each, or edges.
pub(crate) struct Channels {
    /// By switch: its first channel; one more entry at the end.
    base: Vec<u32>,
    /// By channel: the switch that it leaves, and the one to which it leads or [`NOWHERE`].
    tail: Vec<u32>,
    head: Vec<u32>,
    /// By channel: where its dependencies begin, as bits for the channels of the switch at its end; one more entry at the end.
    begin: Vec<u32>,
    /// The channels that lead to each switch, and where they begin by switch; one more entry at the end.
    into: Vec<u32>,
    into_base: Vec<u32>,
}

impl Channels {
    /// Each virtual lane of a port of exit counts as a channel: that of `channel` and `vl` has the number `channel * vls + vl`.
    pub(crate) fn with_lanes(fabric: &Fabric, vls: u32) -> Self {
        let first = (0..fabric.switch_count() as u32).map(|switch| fabric.channel(SwitchIndex(switch), 0));
        let base = first.chain([fabric.channel_count()]).map(|channel| channel as u32 * vls).collect();
        let head = |channel: usize| fabric.channel_peer(channel).map_or(NOWHERE, |(peer, _)| peer.0);
        Self::new(base, (0..fabric.channel_count()).flat_map(|channel| std::iter::repeat_n(head(channel), vls as usize)).collect())
    }

    /// `base` is by switch its first channel, with one more entry at the end; `head` by channel the switch to which it leads, or
    /// [`NOWHERE`].
    pub(crate) fn new(base: Vec<u32>, head: Vec<u32>) -> Self {
        let switches = base.len() - 1;
        let mut tail = Vec::with_capacity(head.len());
        (0..switches).for_each(|switch| tail.resize(base[switch + 1] as usize, switch as u32));
        let mut begin = vec![0];
        let mut into_base = vec![0; switches + 1];
        let mut words = 0;
        for &head in &head {
            if head != NOWHERE {
                words += (base[head as usize + 1] - base[head as usize]).div_ceil(64);
                into_base[head as usize + 1] += 1;
            }
            begin.push(words);
        }
        (0..switches).for_each(|switch| into_base[switch + 1] += into_base[switch]);
        let mut at = into_base.clone();
        let mut into = vec![0; into_base[switches] as usize];
        for (channel, &head) in head.iter().enumerate().filter(|(_, head)| **head != NOWHERE) {
            into[at[head as usize] as usize] = channel as u32;
            at[head as usize] += 1;
        }
        Self { base, tail, head, begin, into, into_base }
    }

    /// The first channel of the switch at the end of a channel; [`NOWHERE`] if there is none.
    pub(crate) fn next(&self, channel: usize) -> u32 {
        self.base.get(self.head[channel] as usize).copied().unwrap_or(NOWHERE)
    }

    fn words(&self) -> usize {
        self.begin[self.head.len()] as usize
    }

    /// The word and bit of a dependency.
    fn place(&self, from: u32, to: u32) -> (usize, u64) {
        let number = to - self.base[self.head[from as usize] as usize];
        ((self.begin[from as usize] + number / 64) as usize, 1 << (number % 64))
    }

    /// The channels that lead to the switch that a channel leaves.
    fn before(&self, channel: u32) -> &[u32] {
        let switch = self.tail[channel as usize] as usize;
        &self.into[self.into_base[switch] as usize..self.into_base[switch + 1] as usize]
    }
}

/// A set of dependencies without a circle.
#[derive(Clone)]
pub(crate) struct Acyclic {
    bits: Vec<u64>,
    /// By channel: its place in the order; and the reverse.
    place: Vec<u32>,
    channel_at: Vec<u32>,
    /// Dependencies that would close a circle, as far as is known; like `bits`.
    forbidden: Vec<u64>,
    /// Room for searches: the channels found after and before the new dependency, and by channel which of them it is.
    after: Vec<u32>,
    before: Vec<u32>,
    mark: Vec<Mark>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    None,
    After,
    Before,
}

impl Acyclic {
    /// Without dependencies.
    pub(crate) fn new(channels: &Channels) -> Self {
        Self::with_order(channels, (0..channels.head.len() as u32).collect())
    }

    /// Without dependencies. `order` are all channels, in the order to begin with.
    pub(crate) fn with_order(channels: &Channels, order: Vec<u32>) -> Self {
        let mut place = vec![0; order.len()];
        order.iter().zip(0..).for_each(|(&channel, at)| place[channel as usize] = at);
        Self {
            bits: vec![0; channels.words()],
            place,
            forbidden: vec![0; channels.words()],
            after: Vec::new(),
            before: Vec::new(),
            mark: vec![Mark::None; order.len()],
            channel_at: order,
        }
    }

    /// By channel: its place in the order. Each dependency leads to a higher place.
    pub(crate) fn places(&self) -> &[u32] {
        &self.place
    }

    pub(crate) fn contains(&self, channels: &Channels, from: u32, to: u32) -> bool {
        let (word, bit) = channels.place(from, to);
        self.bits[word] & bit != 0
    }

    /// Adds a dependency if that closes no circle; returns whether it is there.
    pub(crate) fn add(&mut self, channels: &Channels, from: u32, to: u32) -> bool {
        let (word, bit) = channels.place(from, to);
        if self.bits[word] & bit != 0 {
            return true;
        }
        if self.forbidden[word] & bit != 0 {
            return false;
        }
        if !self.order(channels, from, to) {
            self.forbidden[word] |= bit;
            return false;
        }
        self.bits[word] |= bit;
        true
    }

    /// Adds all of these dependencies, or none if together they close a circle; returns whether they are there.
    pub(crate) fn add_all(&mut self, channels: &Channels, dependencies: &[(u32, u32)]) -> bool {
        let mut added = Vec::new();
        for &(from, to) in dependencies {
            let (word, bit) = channels.place(from, to);
            if self.bits[word] & bit != 0 {
                continue;
            }
            if self.forbidden[word] & bit != 0 || !self.order(channels, from, to) {
                added.into_iter().for_each(|(word, bit): (usize, u64)| self.bits[word] &= !bit);
                return false;
            }
            self.bits[word] |= bit;
            added.push((word, bit));
        }
        true
    }

    /// Takes a dependency back. What it kept from being added stays out.
    pub(crate) fn remove(&mut self, channels: &Channels, from: u32, to: u32) {
        let (word, bit) = channels.place(from, to);
        self.bits[word] &= !bit;
    }

    /// Makes `from` come before `to`; false if `to` leads to `from`.
    fn order(&mut self, channels: &Channels, from: u32, to: u32) -> bool {
        if self.place[from as usize] < self.place[to as usize] {
            return true;
        }
        if from == to {
            return false;
        }
        self.after.push(to);
        self.before.push(from);
        self.mark[to as usize] = Mark::After;
        self.mark[from as usize] = Mark::Before;
        let fits = self.search(channels, from, to);
        self.after.drain(..).chain(self.before.drain(..)).for_each(|channel| self.mark[channel as usize] = Mark::None);
        fits
    }

    /// Looks for what `to` leads to up to the place of `from`, and for what leads to `from` from the place of `to` on, one channel at a
    /// time; moves what is complete first.
    fn search(&mut self, channels: &Channels, from: u32, to: u32) -> bool {
        let (low, high) = (self.place[to as usize], self.place[from as usize]);
        let (mut after, mut before) = (0, 0);
        loop {
            if after == self.after.len() {
                self.move_behind(low as usize, high as usize);
                return true;
            }
            if before == self.before.len() {
                self.move_ahead(low as usize, high as usize);
                return true;
            }
            if self.after.len() <= self.before.len() {
                let channel = self.after[after];
                after += 1;
                let first = channels.next(channel as usize);
                let words = channels.begin[channel as usize] as usize..channels.begin[channel as usize + 1] as usize;
                for (number, &word) in self.bits[words].iter().enumerate() {
                    for bit in crate::graph::bits(word) {
                        let next = first + number as u32 * 64 + bit as u32;
                        match self.mark[next as usize] {
                            Mark::Before => return false,
                            Mark::None if self.place[next as usize] < high => {
                                self.mark[next as usize] = Mark::After;
                                self.after.push(next);
                            }
                            _ => {}
                        }
                    }
                }
            } else {
                let channel = self.before[before];
                before += 1;
                // Each has a bit for this channel in the same place of its row.
                let number = (channel - channels.base[channels.tail[channel as usize] as usize]) as usize;
                for &last in channels.before(channel) {
                    let word = self.bits[channels.begin[last as usize] as usize + number / 64];
                    if word >> (number % 64) & 1 == 0 || self.place[last as usize] < low {
                        continue;
                    }
                    match self.mark[last as usize] {
                        Mark::After => return false,
                        Mark::None => {
                            self.mark[last as usize] = Mark::Before;
                            self.before.push(last);
                        }
                        Mark::Before => {}
                    }
                }
            }
        }
    }

    /// The channels found after move behind the others in these places, in the order that they have.
    fn move_behind(&mut self, low: usize, high: usize) {
        self.after.clear();
        let mut free = low;
        for at in low..=high {
            let channel = self.channel_at[at];
            if self.mark[channel as usize] == Mark::After {
                self.after.push(channel);
            } else {
                self.put(free, channel);
                free += 1;
            }
        }
        for number in 0..self.after.len() {
            self.put(free + number, self.after[number]);
        }
    }

    /// The channels found before move ahead of the others in these places, in the order that they have.
    fn move_ahead(&mut self, low: usize, high: usize) {
        self.before.clear();
        let mut end = high + 1;
        for at in (low..=high).rev() {
            let channel = self.channel_at[at];
            if self.mark[channel as usize] == Mark::Before {
                self.before.push(channel);
            } else {
                end -= 1;
                self.put(end, channel);
            }
        }
        for number in 0..self.before.len() {
            self.put(end - 1 - number, self.before[number]);
        }
    }

    fn put(&mut self, at: usize, channel: u32) {
        self.channel_at[at] = channel;
        self.place[channel as usize] = at as u32;
    }
}
