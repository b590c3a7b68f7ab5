//! Dependencies between channels that close no circle.
//!
//! An order of all channels is kept in which each dependency goes up. A new dependency that does not go up moves the channels between its
//! ends, unless these are connected the other way round already: then it would close a circle (D. J. Pearce and P. H. J. Kelly, "A dynamic
//! topological sort algorithm for directed acyclic graphs", ACM JEA 11, 2007).

use heddle_fabric::Fabric;

/// No channel.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// The ports of exit of all switches, or several virtual lanes of each.
pub(crate) struct Channels {
    /// By channel: where its dependencies begin, as bits for the ports of the switch at its end.
    begin: Vec<u32>,
    /// By channel: the first channel of the switch at its end; [`NOWHERE`] if there is none.
    next: Vec<u32>,
    words: usize,
}

impl Channels {
    pub(crate) fn new(fabric: &Fabric) -> Self {
        Self::with_lanes(fabric, 1)
    }

    /// Each virtual lane of a channel counts as a channel: that of `channel` and `vl` has the number `channel * vls + vl`.
    pub(crate) fn with_lanes(fabric: &Fabric, vls: u32) -> Self {
        let mut channels = Self { begin: Vec::new(), next: Vec::new(), words: 0 };
        for channel in 0..fabric.channel_count() {
            let peer = fabric.channel_peer(channel).map(|(peer, _)| peer);
            for _ in 0..vls {
                channels.begin.push(channels.words as u32);
                channels.next.push(peer.map_or(NOWHERE, |peer| fabric.channel(peer, 0) as u32 * vls));
                channels.words += peer.map_or(0, |peer| ((usize::from(fabric.switch(peer).num_ports) + 1) * vls as usize).div_ceil(64));
            }
        }
        channels
    }

    /// The first channel of the switch at the end of a channel; [`NOWHERE`] if there is none.
    pub(crate) fn next(&self, channel: usize) -> u32 {
        self.next[channel]
    }

    /// The word and bit of a dependency.
    fn place(&self, from: u32, to: u32) -> (usize, u64) {
        let port = to - self.next[from as usize];
        ((self.begin[from as usize] + port / 64) as usize, 1 << (port % 64))
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
    /// Room for searches.
    seen: Vec<bool>,
}

impl Acyclic {
    /// Without dependencies.
    pub(crate) fn new(channels: &Channels) -> Self {
        let count = channels.begin.len();
        Self {
            bits: vec![0; channels.words],
            place: (0..count as u32).collect(),
            channel_at: (0..count as u32).collect(),
            forbidden: vec![0; channels.words],
            seen: vec![false; count],
        }
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

    /// Makes `from` come before `to`; false if `to` leads to `from`.
    fn order(&mut self, channels: &Channels, from: u32, to: u32) -> bool {
        let (low, high) = (self.place[to as usize], self.place[from as usize]);
        if high < low {
            return true;
        }
        if from == to {
            return false;
        }
        // What `to` leads to, as far as it is not beyond `from`.
        let mut after = vec![to];
        self.seen[to as usize] = true;
        let mut head = 0;
        let mut circle = false;
        while let Some(&channel) = after.get(head) {
            head += 1;
            let first = channels.next[channel as usize];
            if first == NOWHERE {
                continue;
            }
            let begin = channels.begin[channel as usize] as usize;
            let end = channels.begin.get(channel as usize + 1).map_or(channels.words, |&end| end as usize);
            for (number, &word) in self.bits[begin..end].iter().enumerate() {
                for bit in crate::graph::bits(word) {
                    let next = first + number as u32 * 64 + bit as u32;
                    circle |= next == from;
                    if self.place[next as usize] < high && !self.seen[next as usize] {
                        self.seen[next as usize] = true;
                        after.push(next);
                    }
                }
            }
            if circle {
                break;
            }
        }
        if circle {
            after.iter().for_each(|&channel| self.seen[channel as usize] = false);
            return false;
        }
        // All of these move behind `from`; what was between keeps its order before them.
        let between = low as usize..high as usize + 1;
        let (moved, kept): (Vec<u32>, Vec<u32>) =
            self.channel_at[between.clone()].iter().partition(|&&channel| self.seen[channel as usize]);
        for (place, channel) in between.zip(kept.into_iter().chain(moved)) {
            self.channel_at[place] = channel;
            self.place[channel as usize] = place as u32;
        }
        after.iter().for_each(|&channel| self.seen[channel as usize] = false);
        true
    }
}
