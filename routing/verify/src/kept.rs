//! The dependencies of proven tables, kept so that a change can be proven without looking at everything again.

use crate::dependencies::Set;
use crate::net::{NOWHERE, Net};
use heddle_fabric::{Fabric, SwitchIndex};
use std::collections::VecDeque;

/// For each channel the ports of exit of the switch at its end by which packets go on, and ranks that go up with each such step.
///
/// Dependencies that entries no longer make can still be here: where more than all of them have ranks, all have.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    /// The words of a channel's row of bits.
    words: usize,
    rows: Vec<u64>,
    /// By channel: the switch where its row is about the ports.
    at: Vec<u32>,
    pub(crate) ranks: Vec<u32>,
}

impl Kept {
    pub(crate) fn new(net: &Net<'_>, set: &Set, ranks: Vec<u32>) -> Self {
        let hops = || (0..net.channels()).map(|channel| net.hop(channel));
        let words = hops().map(|hop| hop.words as usize).max().unwrap_or(0).max(1);
        let mut rows = vec![0; net.channels() * words];
        for (row, hop) in rows.chunks_exact_mut(words).zip(hops()) {
            row[..hop.words as usize].copy_from_slice(&set.words[hop.set as usize..][..hop.words as usize]);
        }
        Self { words, rows, at: hops().map(|hop| hop.peer).collect(), ranks }
    }

    /// Whether a channel's row has room for the ports of every switch.
    pub(crate) fn has_room(&self, fabric: &Fabric) -> bool {
        fabric.switches().iter().all(|&node| usize::from(fabric.node(node).num_ports) <= self.words * 64)
    }

    /// Takes note of the switch to which a channel leads now. Without one, what is known stays, for when it comes back.
    pub(crate) fn leads_to(&mut self, channel: usize, switch: Option<SwitchIndex>) {
        if let Some(switch) = switch.filter(|switch| self.at[channel] != switch.0) {
            self.at[channel] = switch.0;
            self.rows[channel * self.words..][..self.words].fill(0);
        }
    }

    /// Whether the ranks say already that packets of the channel `from` may go on by `to`.
    pub(crate) fn rises(&self, from: usize, to: usize) -> bool {
        self.ranks[from] < self.ranks[to]
    }

    /// Notes that packets of the channel `from` go on by `port`, which is the channel `to`. Gives ranks to it and to what depends on it if they
    /// have to rise, at most `budget` times; fewer than none are left if that was not enough, as it never is where there is a cycle.
    pub(crate) fn insert(&mut self, fabric: &Fabric, from: usize, port: u8, to: usize, budget: &mut Option<usize>) {
        let bit = usize::from(port) - 1;
        self.rows[from * self.words + bit / 64] |= 1 << (bit % 64);
        let mut rising = VecDeque::new();
        self.lift(from, to, budget, &mut rising);
        while let Some(channel) = rising.pop_front().filter(|_| budget.is_some()) {
            if self.at[channel] == NOWHERE {
                continue;
            }
            let first = fabric.channel(SwitchIndex(self.at[channel]), 1);
            for word in 0..self.words {
                let mut bits = self.rows[channel * self.words + word];
                while bits != 0 {
                    self.lift(channel, first + word * 64 + bits.trailing_zeros() as usize, budget, &mut rising);
                    bits &= bits - 1;
                }
            }
        }
    }

    fn lift(&mut self, from: usize, to: usize, budget: &mut Option<usize>, rising: &mut VecDeque<usize>) {
        if !self.rises(from, to) {
            self.ranks[to] = self.ranks[from].saturating_add(1);
            rising.push_back(to);
            *budget = budget.and_then(|left| left.checked_sub(1));
        }
    }
}
