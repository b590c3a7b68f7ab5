use super::programmed::{DEFAULT_P_KEY, Programmed};
use crate::random::Random;
use heddle_fabric::PortRef;
use std::time::Duration;

/// Packets from an end port to a LID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// A port of a host, or port 0 of a switch.
    pub from: PortRef,
    /// Where to; unicast or multicast.
    pub dlid: u16,
    /// The service level.
    pub sl: u8,
    /// The partition.
    pub p_key: u16,
    /// How many packets.
    pub packets: u32,
    /// Their payload in bytes, at most 4096 (IBA 7.7.8).
    pub payload: u16,
    /// When the first one may leave, from the start of the run.
    pub start: Duration,
}

impl Flow {
    /// One packet of 2048 bytes, at once, in the default partition on SL 0.
    pub fn new(from: PortRef, dlid: u16) -> Self {
        Self { from, dlid, sl: 0, p_key: DEFAULT_P_KEY, packets: 1, payload: 2048, start: Duration::ZERO }
    }
}

/// Who sends to whom, among the hosts. Each pair's SL is the one of [`Programmed::path_sl`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Everyone to everyone else; each begins with the next host by LID.
    AllToAll,
    /// Each to one other, and each from one other, by chance.
    Permutation {
        /// The same seed makes the same pairs.
        seed: u64,
    },
    /// Each to the host so many places further by LID, in circles.
    Shift {
        /// How many.
        by: usize,
    },
    /// All to one.
    Incast {
        /// Which host, by LID, in circles.
        to: usize,
    },
}

impl Pattern {
    /// The flows, each of so many packets. `O(flows)`: the square of the hosts for [`Pattern::AllToAll`].
    pub fn flows(self, programmed: &Programmed, packets: u32) -> Vec<Flow> {
        let hosts = programmed.hosts();
        let count = hosts.len();
        let flow = |from: usize, to: usize| {
            let (sl, dlid) = (programmed.known_sl(hosts[from].1, hosts[to].1).unwrap_or(0), hosts[to].1);
            Flow { sl, packets, ..Flow::new(hosts[from].0, dlid) }
        };
        match self {
            Self::AllToAll => {
                let pairs = (1..count).flat_map(|step| (0..count).map(move |from| (from, (from + step) % count)));
                pairs.map(|(from, to)| flow(from, to)).collect()
            }
            Self::Permutation { seed } => {
                // Random circles: whoever is next in the order is the partner, so that nobody sends to himself.
                let order = permutation(count, &mut Random(seed));
                let partners = (0..count).map(|place| (order[place], order[(place + 1) % count]));
                partners.filter(|(from, to)| from != to).map(|(from, to)| flow(from, to)).collect()
            }
            Self::Shift { by } => {
                (0..count).map(|from| (from, (from + by) % count)).filter(|(a, b)| a != b).map(|(a, b)| flow(a, b)).collect()
            }
            Self::Incast { to } => (0..count).filter(|&from| from != to % count).map(|from| flow(from, to % count)).collect(),
        }
    }
}

fn permutation(count: usize, random: &mut Random) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        order.swap(last, random.below(last as u64 + 1) as usize);
    }
    order
}
