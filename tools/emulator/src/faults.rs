use crate::random::Random;
use heddle_mad::wire::{Mad, Method};
use std::time::Duration;

/// What a node does wrong when it answers. It goes on forwarding packets of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It answers nothing.
    Mute,
    /// It answers with bytes that are random, or that contradict each other.
    Garbage {
        /// The same seed gives the same answers.
        seed: u64,
    },
    /// It answers everything twice.
    Duplicate,
    /// Its answers come so much later.
    Late(Duration),
    /// It ignores some of the requests.
    Drop {
        /// How many of a hundred, 0 to 100.
        percent: u8,
        /// The same seed ignores the same requests.
        seed: u64,
    },
}

/// All that a node does wrong at present.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults {
    pub(crate) mute: bool,
    pub(crate) duplicate: bool,
    pub(crate) late: Duration,
    garbage: Option<Random>,
    drop: Option<(u8, Random)>,
}

impl Faults {
    pub(crate) fn add(&mut self, fault: Fault) {
        match fault {
            Fault::Mute => self.mute = true,
            Fault::Duplicate => self.duplicate = true,
            Fault::Late(late) => self.late = late,
            Fault::Garbage { seed } => self.garbage = Some(Random(seed)),
            Fault::Drop { percent, seed } => self.drop = Some((percent, Random(seed))),
        }
    }

    /// Whether the next request is ignored.
    pub(crate) fn ignores(&mut self) -> bool {
        self.mute || self.drop.as_mut().is_some_and(|(percent, random)| random.next() % 100 < u64::from(*percent))
    }

    /// Spoils an answer, if this node does that. What carries it back stays: class, method, transaction, and the directed route.
    pub(crate) fn spoil(&mut self, answer: &mut Mad) {
        let Some(random) = &mut self.garbage else { return };
        match random.next() % 4 {
            // Random data under a right header.
            0 => random.fill(&mut answer.0[64..128]),
            // Another attribute, another modifier, or a status that nobody knows.
            1 => random.fill(&mut answer.0[16..24]),
            2 => answer.0[5] = random.next() as u8,
            // A few wrong bits in data that make sense otherwise.
            _ => {
                for _ in 0..3 {
                    let bit = random.next() as usize % 512;
                    answer.0[64 + bit / 8] ^= 1 << (bit % 8);
                }
            }
        }
        answer.set_method(Method::GET_RESP);
    }
}
