use super::header::{Header, Kind, Stopped, reply};
use super::{HEADER_END, LINGER, TRANSFER_TIMEOUT, data_offset};
use crate::Time;
use crate::wire::Mad;
use std::collections::{BTreeMap, VecDeque};

/// Receives one message.
#[derive(Clone, Debug)]
pub struct Receiver {
    offset: usize,
    first: Mad,
    /// The headers of the first segment, then the data so far.
    message: Vec<u8>,
    /// Segments that came before one that is missing; at most a window of them.
    ahead: BTreeMap<u32, Box<Mad>>,
    /// The last segment that arrived without a gap before it.
    received: u32,
    acknowledged: u32,
    window: u32,
    window_end: u32,
    max_length: usize,
    deadline: Time,
    replies: VecDeque<Mad>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Active,
    Whole,
    Stopped(Stopped),
    /// Nothing more is to be expected.
    Over,
}

impl Receiver {
    /// Begins with a segment of data of a transaction that has no receiver yet; any but the first is refused. `window` (at least 1) is how
    /// many segments may come before an acknowledgement, `max_length` how long in bytes the message may be at most.
    ///
    /// Memory is taken for what arrives, never for what the first segment promises, and for one window beyond a gap.
    pub fn new(now: Time, mad: &Mad, window: u32, max_length: usize) -> Self {
        let mut receiver = Self {
            offset: data_offset(mad.class()).max(HEADER_END),
            first: *mad,
            message: Vec::new(),
            ahead: BTreeMap::new(),
            received: 0,
            acknowledged: 0,
            window: window.max(1),
            window_end: 1,
            max_length,
            deadline: now + TRANSFER_TIMEOUT,
            replies: VecDeque::new(),
            state: State::Active,
        };
        receiver.message.extend_from_slice(&mad.0[..receiver.offset]);
        receiver.handle(now, mad);
        receiver
    }

    /// Takes a MAD of the message's sender: the same transaction, class and method. Afterwards [`Self::poll_transmit`], [`Self::take_message`]
    /// and [`Self::stopped`] may have something new.
    pub fn handle(&mut self, now: Time, mad: &Mad) {
        let header = Header::of(mad);
        if !header.active || matches!(self.state, State::Stopped(_) | State::Over) {
            return;
        }
        if header.version != Header::VERSION {
            return self.stop(now, mad, Kind::Abort, Stopped::BAD_VERSION);
        }
        match header.kind {
            kind if kind == Kind::Data as u8 => self.data(now, mad, header),
            kind if kind == Kind::Ack as u8 => {} // Of the other direction.
            kind if kind == Kind::Stop as u8 || kind == Kind::Abort as u8 => {
                // The sender gives up. What is whole stays whole.
                if self.state == State::Active {
                    self.state = State::Stopped(Stopped(header.status));
                    self.deadline = now;
                }
            }
            _ => self.stop(now, mad, Kind::Abort, Stopped::BAD_KIND),
        }
    }

    /// To be called when the time of [`Self::poll_timeout`] has come.
    pub fn handle_timeout(&mut self, now: Time) {
        if now < self.deadline {
            return;
        }
        if self.state == State::Active {
            let first = self.first;
            self.stop(now, &first, Kind::Abort, Stopped::TOO_LONG);
        } else {
            self.state = State::Over;
        }
    }

    /// The next MAD to send back. May have something new after every other call.
    pub fn poll_transmit(&mut self) -> Option<Mad> {
        self.replies.pop_front()
    }

    /// When to call [`Self::handle_timeout`]; `None` when the receiver may be forgotten.
    pub fn poll_timeout(&self) -> Option<Time> {
        (self.state != State::Over).then_some(self.deadline)
    }

    /// The whole message once it is there, the headers of its first segment in front. `None` before, and when it was taken.
    pub fn take_message(&mut self) -> Option<Vec<u8>> {
        (self.state == State::Whole && !self.message.is_empty()).then(|| std::mem::take(&mut self.message))
    }

    /// Whether the transfer has ended, and all that is left to do is to acknowledge segments that are repeated.
    pub fn is_over(&self) -> bool {
        self.state != State::Active
    }

    /// Why the transfer ended without the message, once it has.
    pub fn stopped(&self) -> Option<Stopped> {
        match self.state {
            State::Stopped(why) => Some(why),
            _ => None,
        }
    }

    fn data(&mut self, now: Time, mad: &Mad, header: Header) {
        if header.status != 0 {
            return self.stop(now, mad, Kind::Abort, Stopped::BAD_STATUS);
        }
        if header.first != (header.segment == 1) || header.segment == 0 || (self.received == 0 && !header.first) {
            return self.stop(now, mad, Kind::Abort, Stopped::BAD_SEGMENT);
        }
        if header.segment > self.window_end {
            return; // More than was asked for.
        }
        if header.segment <= self.acknowledged || self.state == State::Whole {
            // It did not hear of the acknowledgement.
            return self.acknowledge(mad);
        }
        if header.segment != self.received + 1 {
            if header.segment > self.received {
                self.ahead.entry(header.segment).or_insert_with(|| Box::new(*mad));
            }
            return;
        }
        let mut next = *mad;
        loop {
            let header = Header::of(&next);
            self.received = header.segment;
            let room = 256 - self.offset;
            let length = match header.last {
                // The length of the last segment counts the headers behind the RMPP header; one that cannot be is taken as full, as the
                // kernel does.
                true => match (header.length_or_window as usize).saturating_sub(self.offset - HEADER_END) {
                    length if length <= room => length,
                    _ => room,
                },
                false => room,
            };
            if self.message.len() + length > self.max_length {
                return self.stop(now, mad, Kind::Stop, Stopped::NO_RESOURCES);
            }
            self.message.extend_from_slice(&next.0[self.offset..self.offset + length]);
            if header.last {
                self.state = State::Whole;
                self.ahead.clear();
                self.deadline = now + LINGER;
                return self.acknowledge(mad);
            }
            if self.received == self.window_end {
                self.window_end = self.window_end.saturating_add(self.window);
                self.acknowledge(mad);
            }
            match self.ahead.remove(&(self.received + 1)) {
                Some(ahead) => next = *ahead,
                None => return,
            }
        }
    }

    fn acknowledge(&mut self, mad: &Mad) {
        self.acknowledged = self.received;
        self.replies.push_back(reply(mad, self.offset, Kind::Ack, 0, self.received, self.window_end));
    }

    fn stop(&mut self, now: Time, mad: &Mad, kind: Kind, why: Stopped) {
        self.replies.push_back(reply(mad, self.offset, kind, why.0, 0, 0));
        if self.state == State::Active {
            self.state = State::Stopped(why);
            self.message = Vec::new();
            self.ahead.clear();
            self.deadline = now;
        }
    }
}
