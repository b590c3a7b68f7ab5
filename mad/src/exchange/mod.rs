//! Asks and answers: who waits for what, how much may be under way, and what to do about silence. No I/O, no clock.
//!
//! The caller queues requests with [`Exchange::ask`] and gives in what the transport delivers and what time it is. After each such
//! call it drains [`Exchange::poll_transmit`] into the transport and [`Exchange::poll_event`] into itself; at
//! [`Exchange::poll_timeout`] it calls [`Exchange::handle_timeout`]. Every request ends in exactly one event.
//!
//! ```
//! use heddle_mad::Time;
//! use heddle_mad::exchange::{Event, Exchange, Limits};
//! use heddle_mad::transport::{Address, Delivery, Envelope};
//! use heddle_mad::wire::{Attribute, Mad, Method, NodeInfo, Path};
//!
//! let mut exchange = Exchange::new(Limits::default());
//! let mad = Mad::directed(&Path::local(), Method::GET, NodeInfo::ID, 0);
//! let id = exchange.ask(1, Envelope { address: Address::Directed, mad });
//!
//! let mut answer = exchange.poll_transmit(Time::ZERO).unwrap(); // what goes to the transport,
//! answer.mad.set_method(Method::GET_RESP); // and what comes back from it
//! exchange.handle(Time(50_000), Delivery::Received(answer.clone()));
//! assert_eq!(exchange.poll_event(), Some(Event::Answer { id, mad: answer.mad }));
//! ```

mod limits;
#[cfg(test)]
mod tests;

pub use limits::Limits;

use crate::Time;
use crate::transport::{Delivery, Envelope};
use crate::wire::{Mad, Method, Status};
use limits::Window;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Names one request for as long as it is outstanding. Ascends with each request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(u32);

/// What became of a request, or what someone else wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The answer to a request. Its status may still say that the node refused.
    Answer {
        /// The request.
        id: RequestId,
        /// The response; its class, attribute and modifier are those of the request.
        mad: Mad,
    },
    /// No answer came, in any attempt.
    Failed {
        /// The request.
        id: RequestId,
        /// What happened to the last attempt.
        why: Failure,
        /// What was sent.
        request: Envelope,
    },
    /// A request or a notice of someone else. If it wants an answer, that goes to [`Exchange::tell`].
    Unsolicited(Envelope),
}

/// Why a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Nothing came back in time.
    #[error("no answer within the time allowed, in {attempts} attempts")]
    TimedOut {
        /// How often it was sent.
        attempts: u32,
    },
    /// It was not sent: the node had let another request run out, and answered nothing meanwhile.
    #[error("not sent, since the node does not answer")]
    Silent,
    /// The node said each time that it was busy.
    #[error("the node was busy, in {attempts} attempts")]
    Busy {
        /// How often it was sent.
        attempts: u32,
    },
    /// The transport knew that nothing would come back.
    #[error("undeliverable, in {attempts} attempts")]
    Undeliverable {
        /// How often it was sent.
        attempts: u32,
    },
}

/// What was sent and received, since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Datagrams sent, repetitions included.
    pub sent: u64,
    /// Requests answered.
    pub answered: u64,
    /// Requests sent again.
    pub retried: u64,
    /// Attempts that got no answer in time.
    pub timed_out: u64,
    /// Attempts that the transport reported as undeliverable.
    pub undeliverable: u64,
    /// Attempts that the node answered with "busy".
    pub busy: u64,
    /// Requests that failed in all attempts.
    pub failed: u64,
    /// Answers to requests that had been answered before.
    pub duplicates: u64,
    /// Answers to requests that had been given up before.
    pub late: u64,
    /// Responses to nothing that was asked, or with another class, method, attribute or modifier than asked for.
    pub mismatched: u64,
    /// Requests and notices of others.
    pub unsolicited: u64,
}

/// The requests of one management agent.
///
/// Requests of one node go out in the order asked, those of different nodes in turns, so that a node that is slow or gone does not
/// hold up the others. A repeated request keeps its transaction id: an answer to the first attempt that comes during the second is
/// as good.
///
/// Each call takes logarithmic time in what is outstanding. Memory is that of the outstanding requests; how many requests to queue is
/// the caller's to bound.
pub struct Exchange {
    limits: Limits,
    window: Window,
    /// Nodes with something outstanding.
    nodes: BTreeMap<u64, Node>,
    /// Nodes that may send, in turns.
    turns: VecDeque<u64>,
    /// Requests that were sent at least once and have not ended, by transaction id.
    sent: BTreeMap<u32, Request>,
    /// The deadline of each request on the wire, and the end of each pause.
    timers: BTreeSet<(Time, u32)>,
    on_wire: usize,
    queued: usize,
    last_id: u32,
    /// Of the requests that ended without an answer, the newest [`GIVEN_UP_MAX`].
    given_up: BTreeSet<u32>,
    tells: VecDeque<Envelope>,
    events: VecDeque<Event>,
    counters: Counters,
}

/// How many requests that failed are remembered, to tell late answers from repeated ones.
const GIVEN_UP_MAX: usize = 4096;

struct Node {
    /// Boxed, as in [`Request`], so that a long queue and the map of requests move pointers only.
    queue: VecDeque<(u32, Box<Envelope>)>,
    /// Sent before, to be sent again; before anything new, so no more than the window allows are ever begun.
    repeats: VecDeque<u32>,
    window: Window,
    /// Requests on the wire or pausing.
    busy: usize,
    has_turn: bool,
    answers: u64,
}

struct Request {
    node: u64,
    envelope: Box<Envelope>,
    attempts: u32,
    state: State,
    /// How many answers of the node there had been when it was sent first.
    answers_before: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Sent; an answer may come until this time.
    OnWire(Time),
    /// Reported undeliverable, or the node is busy; to be sent again at this time, which is when silence would have ended the attempt.
    Pausing(Time),
    /// In its node's `repeats`.
    Repeat,
}

impl Exchange {
    /// An exchange with nothing outstanding. Limits of zero count as one.
    pub fn new(limits: Limits) -> Self {
        Self {
            window: Window::new(limits.window, limits.window_max),
            limits,
            nodes: BTreeMap::new(),
            turns: VecDeque::new(),
            sent: BTreeMap::new(),
            timers: BTreeSet::new(),
            on_wire: 0,
            queued: 0,
            last_id: 0,
            given_up: BTreeSet::new(),
            tells: VecDeque::new(),
            events: VecDeque::new(),
            counters: Counters::default(),
        }
    }

    /// Queues a request. `node` is the caller's name for who is to answer: each node has a window of its own. The transaction id is
    /// set here.
    pub fn ask(&mut self, node: u64, mut envelope: Envelope) -> RequestId {
        // Notices have transaction ids of their own choice, often 0; ours are never 0. After 2^32 requests the ids begin anew: no
        // request is outstanding for so long, because all nodes have their turn and every attempt ends.
        self.last_id = self.last_id.wrapping_add(1).max(1);
        let id = self.last_id;
        envelope.mad.set_transaction(u64::from(id));
        let entry = self.nodes.entry(node).or_insert_with(|| Node {
            queue: VecDeque::new(),
            repeats: VecDeque::new(),
            window: Window::new(self.limits.per_node, self.limits.per_node),
            busy: 0,
            has_turn: false,
            answers: 0,
        });
        entry.queue.push_back((id, Box::new(envelope)));
        self.queued += 1;
        self.give_turn(node);
        RequestId(id)
    }

    /// Queues a datagram that gets no answer: a response, or the TrapRepress that ends a notice. It goes out before any request, as it
    /// is, and does not count into a window.
    pub fn tell(&mut self, envelope: Envelope) {
        self.tells.push_back(envelope);
    }

    /// Takes in what the transport delivered.
    pub fn handle(&mut self, now: Time, delivery: Delivery) {
        match delivery {
            Delivery::Received(envelope) if envelope.mad.method().is_response() => self.handle_response(now, envelope.mad),
            Delivery::Received(envelope) => {
                self.counters.unsolicited += 1;
                self.events.push_back(Event::Unsolicited(envelope));
            }
            Delivery::Undeliverable(envelope) => self.handle_undeliverable(now, &envelope.mad),
        }
    }

    /// Ends the attempts and pauses whose time has come. A call too early does nothing.
    pub fn handle_timeout(&mut self, now: Time) {
        while let Some(&(at, id)) = self.timers.first() {
            if at > now {
                return;
            }
            self.timers.pop_first();
            let Some(request) = self.sent.get(&id) else { continue };
            match request.state {
                State::OnWire(_) => {
                    self.counters.timed_out += 1;
                    self.attempt_failed(now, id);
                    if !self.end_if_exhausted(id, |attempts| Failure::TimedOut { attempts }) {
                        self.queue_repeat(id);
                    }
                }
                State::Pausing(_) => self.queue_repeat(id),
                State::Repeat => {}
            }
        }
    }

    /// The next datagram to send, if there is one and the windows allow it. Its time starts now.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Envelope> {
        if let Some(envelope) = self.tells.pop_front() {
            self.counters.sent += 1;
            return Some(envelope);
        }
        while self.on_wire < self.window.size() {
            let key = self.turns.pop_front()?;
            let Some(node) = self.nodes.get_mut(&key) else { continue };
            node.has_turn = false;
            if !node.may_send() {
                continue;
            }
            let deadline = now + self.limits.timeout;
            let (id, envelope) = if let Some(id) = node.repeats.pop_front() {
                let Some(request) = self.sent.get_mut(&id) else { continue };
                request.attempts += 1;
                request.state = State::OnWire(deadline);
                self.counters.retried += 1;
                (id, Envelope::clone(&request.envelope))
            } else {
                let Some((id, envelope)) = node.queue.pop_front() else { continue };
                let state = State::OnWire(deadline);
                let copy = Envelope::clone(&envelope);
                self.sent.insert(id, Request { node: key, envelope, attempts: 1, state, answers_before: node.answers });
                self.queued -= 1;
                (id, copy)
            };
            node.busy += 1;
            self.on_wire += 1;
            self.counters.sent += 1;
            self.timers.insert((deadline, id));
            self.give_turn(key);
            return Some(envelope);
        }
        None
    }

    /// What happened, oldest first.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When [`Exchange::handle_timeout`] is due. May change with every other call.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.timers.first().map(|&(at, _)| at)
    }

    /// Requests that have not ended: queued, on the wire, or to be repeated.
    pub fn outstanding(&self) -> usize {
        self.queued + self.sent.len()
    }

    /// Requests on the wire now; never more than the greatest window.
    pub fn on_wire(&self) -> usize {
        self.on_wire
    }

    /// What was counted since the start.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    fn handle_response(&mut self, now: Time, mad: Mad) {
        // The kernel and ibsim keep the upper 32 bits of the transaction id for themselves.
        let id = mad.transaction() as u32;
        let Some(request) = self.sent.get(&id) else {
            let was_issued = id != 0 && id <= self.last_id;
            match (self.given_up.contains(&id), was_issued) {
                (true, _) => self.counters.late += 1,
                (false, true) => self.counters.duplicates += 1,
                (false, false) => self.counters.mismatched += 1,
            }
            return;
        };
        let asked = &request.envelope.mad;
        if mad.method() != response_to(asked.method()) || !same_subject(asked, &mad) {
            self.counters.mismatched += 1;
            return;
        }
        // Busy is not an answer but one more reason to ask again (IBA 13.4.7).
        if mad.status().0 & Status::BUSY.0 != 0 {
            if let State::OnWire(deadline) = request.state {
                self.counters.busy += 1;
                if let Some(node) = self.nodes.get_mut(&request.node) {
                    node.answers += 1;
                }
                self.end_attempt_early(now, id, deadline, |attempts| Failure::Busy { attempts });
            }
            return;
        }
        let Some(request) = self.end(id) else { return };
        self.window.answered();
        if let Some(node) = self.nodes.get_mut(&request.node) {
            node.window.answered();
            node.answers += 1;
        }
        self.settle(request.node);
        self.counters.answered += 1;
        self.events.push_back(Event::Answer { id: RequestId(id), mad });
    }

    fn handle_undeliverable(&mut self, now: Time, mad: &Mad) {
        let id = mad.transaction() as u32;
        let Some(request) = self.sent.get(&id) else { return };
        let asked = &request.envelope.mad;
        let State::OnWire(deadline) = request.state else { return };
        // ibsim reports the answer instead of the request where it finds no way back.
        let is_ours = mad.method() == asked.method() || mad.method() == response_to(asked.method());
        if !is_ours || !same_subject(asked, mad) {
            return;
        }
        self.counters.undeliverable += 1;
        self.end_attempt_early(now, id, deadline, |attempts| Failure::Undeliverable { attempts });
    }

    fn end_attempt_early(&mut self, now: Time, id: u32, deadline: Time, why: impl Fn(u32) -> Failure) {
        self.attempt_failed(now, id);
        if self.end_if_exhausted(id, why) {
            return;
        }
        // The report may come at once. The pause lasts until silence would have ended the attempt, and keeps the node's place.
        let Some(request) = self.sent.get_mut(&id) else { return };
        request.state = State::Pausing(deadline);
        self.on_wire -= 1;
    }

    /// Narrows the windows.
    fn attempt_failed(&mut self, now: Time, id: u32) {
        let until = now + self.limits.timeout;
        self.window.failed(now, until);
        let Some(request) = self.sent.get(&id) else { return };
        if let Some(node) = self.nodes.get_mut(&request.node) {
            node.window.failed(now, until);
        }
    }

    /// Ends a request that has had all its attempts.
    fn end_if_exhausted(&mut self, id: u32, why: impl Fn(u32) -> Failure) -> bool {
        let Some(request) = self.sent.get(&id) else { return true };
        if request.attempts <= self.limits.retries {
            return false;
        }
        let Some(request) = self.end(id) else { return true };
        self.remember_given_up(id);
        self.counters.failed += 1;
        let why = why(request.attempts);
        self.events.push_back(Event::Failed { id: RequestId(id), why, request: *request.envelope });
        self.end_queue_of_silent(request.node, request.answers_before);
        self.settle(request.node);
        true
    }

    /// What is queued for a node that answered nothing while a request ran out fails too: to find out for each, one after another,
    /// would take the sweep of a broken fabric hours.
    fn end_queue_of_silent(&mut self, key: u64, answers_before: u64) {
        let Some(node) = self.nodes.get_mut(&key).filter(|node| node.answers == answers_before) else { return };
        for (id, request) in std::mem::take(&mut node.queue) {
            self.queued -= 1;
            self.counters.failed += 1;
            self.events.push_back(Event::Failed { id: RequestId(id), why: Failure::Silent, request: *request });
        }
    }

    /// From the wire or a pause into the queue of repetitions.
    fn queue_repeat(&mut self, id: u32) {
        let Some(request) = self.sent.get_mut(&id) else { return };
        let key = request.node;
        if matches!(request.state, State::OnWire(_)) {
            self.on_wire -= 1;
        }
        request.state = State::Repeat;
        if let Some(node) = self.nodes.get_mut(&key) {
            node.busy -= 1;
            node.repeats.push_back(id);
        }
        self.give_turn(key);
    }

    /// Takes a request out of all books.
    fn end(&mut self, id: u32) -> Option<Request> {
        let request = self.sent.remove(&id)?;
        let node = self.nodes.get_mut(&request.node);
        match request.state {
            State::OnWire(at) | State::Pausing(at) => {
                self.timers.remove(&(at, id));
                self.on_wire -= usize::from(matches!(request.state, State::OnWire(_)));
                if let Some(node) = node {
                    node.busy -= 1;
                }
            }
            State::Repeat => {
                if let Some(node) = node {
                    node.repeats.retain(|&other| other != id);
                }
            }
        }
        Some(request)
    }

    /// After a request of this node ended: the next one's turn, or nothing is left of it.
    fn settle(&mut self, key: u64) {
        let Some(node) = self.nodes.get(&key) else { return };
        if node.busy == 0 && node.queue.is_empty() && node.repeats.is_empty() {
            self.nodes.remove(&key);
        } else {
            self.give_turn(key);
        }
    }

    fn give_turn(&mut self, key: u64) {
        let Some(node) = self.nodes.get_mut(&key) else { return };
        if !node.has_turn && node.may_send() {
            node.has_turn = true;
            self.turns.push_back(key);
        }
    }

    fn remember_given_up(&mut self, id: u32) {
        self.given_up.insert(id);
        if self.given_up.len() > GIVEN_UP_MAX {
            self.given_up.pop_first();
        }
    }
}

impl Node {
    fn may_send(&self) -> bool {
        self.busy < self.window.size() && !(self.queue.is_empty() && self.repeats.is_empty())
    }
}

/// The method that answers (IBA 13.4.5): Set has no response of its own.
fn response_to(method: Method) -> Method {
    match method {
        Method::SET => Method::GET_RESP,
        Method(other) => Method(other | 0x80),
    }
}

/// A response repeats these of the request (IBA 13.4.7 table of the common header's fields).
fn same_subject(asked: &Mad, answer: &Mad) -> bool {
    asked.class() == answer.class() && asked.attribute_id() == answer.attribute_id() && asked.modifier() == answer.modifier()
}
