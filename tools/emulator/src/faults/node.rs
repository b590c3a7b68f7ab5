use crate::events::{Fault, Subject};
use crate::random::Random;
use crate::sma::Reply;
use crate::traps::LinkTrouble;
use heddle_fabric::Guid;
use heddle_mad::Time;
use heddle_mad::wire::{Class, Mad, Method, Status};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// All that a node does wrong at present.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults {
    pub(crate) mute: bool,
    pub(crate) duplicate: bool,
    pub(crate) late: Duration,
    /// The time for each request, where it is not the usual one.
    pub(crate) slow: Option<Duration>,
    /// The GUID that the node has when it is healed, if it pretends to have another.
    pub(crate) own_guid: Option<Guid>,
    guid: Option<Guid>,
    /// What is babbled: about which port, at which distance, and a number of its own, since when.
    pub(crate) babble: Vec<(u8, LinkTrouble, Duration, u64)>,
    garbage: Option<(u64, Random)>,
    drop: Option<(u8, u64, Random)>,
    /// How many requests may wait, and when those that do will be done.
    queue: Option<(u16, VecDeque<Time>)>,
    reactions: BTreeMap<Subject, Reaction>,
}

/// What a node does with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reaction {
    /// What it should.
    Serve,
    /// Nothing.
    Ignore,
    /// It answers with a status, and does nothing.
    Refuse(Status),
    /// It answers with what it was asked to set, and does nothing.
    Forget,
}

impl Reaction {
    /// Turns a request that is not served into the answer that says so.
    pub(crate) fn pretend(self, request: &mut Mad) -> Reply {
        request.set_status(if let Self::Refuse(status) = self { status } else { Status::OK });
        request.set_method(Method::GET_RESP);
        Reply { answered: true, effect: None }
    }
}

impl Faults {
    /// `number` tells it apart from the same fault that was added before.
    pub(crate) fn add(&mut self, fault: Fault, number: u64) {
        match fault {
            Fault::Mute => self.mute = true,
            Fault::Duplicate => self.duplicate = true,
            Fault::Late(late) => self.late = late,
            Fault::Slow(slow) => self.slow = Some(slow),
            Fault::Garbage { seed } => self.garbage = Some((seed, Random(seed))),
            Fault::Drop { percent, seed } => self.drop = Some((percent, seed, Random(seed))),
            Fault::Queue(bound) => self.queue = Some((bound, VecDeque::new())),
            Fault::Ignore(subject) => self.react(subject, Reaction::Ignore),
            Fault::Refuse(subject, status) => self.react(subject, Reaction::Refuse(status)),
            Fault::Forget(subject) => self.react(subject, Reaction::Forget),
            Fault::Babble { port, trouble, every } => {
                self.babble.retain(|&(other, another, ..)| (other, another) != (port, trouble));
                self.babble.push((port, trouble, every, number));
            }
            Fault::Guid(guid) => self.guid = Some(guid),
        }
    }

    fn react(&mut self, subject: Subject, reaction: Reaction) {
        self.reactions.insert(subject, reaction);
    }

    /// What was added, as it would be added again.
    pub(crate) fn list(&self) -> Vec<Fault> {
        let mut all = Vec::new();
        all.extend(self.mute.then_some(Fault::Mute));
        all.extend(self.garbage.as_ref().map(|&(seed, _)| Fault::Garbage { seed }));
        all.extend(self.duplicate.then_some(Fault::Duplicate));
        all.extend((!self.late.is_zero()).then_some(Fault::Late(self.late)));
        all.extend(self.slow.map(Fault::Slow));
        all.extend(self.drop.as_ref().map(|&(percent, seed, _)| Fault::Drop { percent, seed }));
        all.extend(self.queue.as_ref().map(|&(bound, _)| Fault::Queue(bound)));
        all.extend(self.reactions.iter().filter_map(|(&subject, reaction)| match reaction {
            Reaction::Serve => None,
            Reaction::Ignore => Some(Fault::Ignore(subject)),
            Reaction::Refuse(status) => Some(Fault::Refuse(subject, *status)),
            Reaction::Forget => Some(Fault::Forget(subject)),
        }));
        all.extend(self.babble.iter().map(|&(port, trouble, every, _)| Fault::Babble { port, trouble, every }));
        all.extend(self.guid.map(Fault::Guid));
        all
    }

    /// What becomes of the next request.
    pub(crate) fn reaction(&mut self, request: &Mad) -> Reaction {
        if self.mute || self.drop.as_mut().is_some_and(|(percent, _, random)| random.percent(*percent)) {
            return Reaction::Ignore;
        }
        let class = if request.class() == Class::SUBN_DIRECTED { Class::SUBN_LID } else { request.class() };
        match self.reactions.get(&Subject { class, attribute: request.attribute_id() }) {
            Some(Reaction::Forget) if request.method() != Method::SET => Reaction::Serve,
            Some(reaction) => *reaction,
            None => Reaction::Serve,
        }
    }

    /// Whether one more subnet management packet has room to wait.
    pub(crate) fn has_room(&mut self, now: Time) -> bool {
        let Some((bound, waiting)) = &mut self.queue else { return true };
        while waiting.front().is_some_and(|&done| done <= now) {
            waiting.pop_front();
        }
        waiting.len() < usize::from(*bound)
    }

    /// A subnet management packet waits until then.
    pub(crate) fn waits(&mut self, done: Time) {
        if let Some((_, waiting)) = &mut self.queue {
            waiting.push_back(done);
        }
    }

    /// Nothing waits any longer.
    pub(crate) fn forget_requests(&mut self) {
        if let Some((_, waiting)) = &mut self.queue {
            waiting.clear();
        }
    }

    /// Spoils an answer, if this node does that. What carries it back stays: class, method, transaction, and the directed route.
    pub(crate) fn spoil(&mut self, answer: &mut Mad) {
        let Some((_, random)) = &mut self.garbage else { return };
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
