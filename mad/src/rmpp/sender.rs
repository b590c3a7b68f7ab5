use super::header::{Header, Kind, Stopped, reply};
use super::{ACK_TIMEOUT, HEADER_END, data_offset};
use crate::Time;
use crate::wire::Mad;
use std::collections::VecDeque;
use std::time::Duration;

/// Sends one message.
#[derive(Clone, Debug)]
pub struct Sender {
    /// What every segment begins with.
    headers: Mad,
    offset: usize,
    data: Vec<u8>,
    segments: u32,
    /// The last segment sent.
    sent: u32,
    acknowledged: u32,
    /// The last segment that may be sent.
    window_end: u32,
    timeout: Duration,
    retries: u32,
    retries_left: u32,
    deadline: Option<Time>,
    /// Aborts that answer what the receiver should not have sent.
    replies: VecDeque<Mad>,
    result: Option<Result<(), Stopped>>,
}

impl Sender {
    /// Begins to send a message: the headers of its class as in one MAD (of the RMPP header, only RRespTime counts), then the data, of any
    /// length. `timeout` is how long to wait for an acknowledgement (at most [`ACK_TIMEOUT`]), `retries` how often in a row to send again
    /// without one.
    pub fn new(now: Time, message: &[u8], timeout: Option<Duration>, retries: u32) -> Self {
        let mut headers = Mad([0; 256]);
        let start = message.len().min(256);
        headers.0[..start].copy_from_slice(&message[..start]);
        // Of a class without RMPP the header is still there.
        let offset = data_offset(headers.class()).max(HEADER_END);
        headers.0[offset..].fill(0);
        let data = message.get(offset..).unwrap_or_default().to_vec();
        let segments = u32::try_from(data.len().div_ceil(256 - offset)).unwrap_or(u32::MAX).max(1);
        let timeout = timeout.filter(|timeout| !timeout.is_zero()).map_or(ACK_TIMEOUT, |timeout| timeout.min(ACK_TIMEOUT));
        Self {
            headers,
            offset,
            data,
            segments,
            sent: 0,
            acknowledged: 0,
            window_end: 1,
            timeout,
            retries,
            retries_left: retries,
            deadline: Some(now + timeout),
            replies: VecDeque::new(),
            result: None,
        }
    }

    /// Takes a MAD that the receiver of the message sent: the same transaction and class, the method turned. Afterwards
    /// [`Self::poll_transmit`] and [`Self::result`] may have something new.
    pub fn handle(&mut self, now: Time, mad: &Mad) {
        let header = Header::of(mad);
        if !header.active || self.result.is_some() {
            return;
        }
        if header.version != Header::VERSION {
            return self.abort(mad, Stopped::BAD_VERSION);
        }
        match header.kind {
            kind if kind == Kind::Ack as u8 => self.acknowledge(now, mad, header),
            kind if kind == Kind::Stop as u8 => match Stopped(header.status) {
                Stopped::NO_RESOURCES => self.end(Err(Stopped::NO_RESOURCES)),
                _ => self.abort(mad, Stopped::BAD_STATUS),
            },
            kind if kind == Kind::Abort as u8 => match header.status {
                118..=127 => self.end(Err(Stopped(header.status))),
                _ => self.abort(mad, Stopped::BAD_STATUS),
            },
            kind if kind == Kind::Data as u8 => {} // Of the other direction.
            _ => self.abort(mad, Stopped::BAD_KIND),
        }
    }

    /// To be called when the time of [`Self::poll_timeout`] has come.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.result.is_some() || self.deadline.is_none_or(|deadline| now < deadline) {
            return;
        }
        if self.retries_left == 0 {
            return self.end(Err(Stopped::TOO_MANY_RETRIES));
        }
        self.retries_left -= 1;
        self.sent = self.acknowledged;
        self.deadline = Some(now + self.timeout);
    }

    /// The next MAD to send. May have something new after every other call.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Mad> {
        if let Some(reply) = self.replies.pop_front() {
            return Some(reply);
        }
        if self.result.is_some() || self.sent >= self.window_end.min(self.segments) {
            return None;
        }
        self.sent += 1;
        self.deadline = Some(now + self.timeout);
        Some(self.segment(self.sent))
    }

    /// When to call [`Self::handle_timeout`]; `None` when the transfer has ended.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.deadline
    }

    /// How the transfer ended: all was acknowledged, or why not. `None` before.
    pub fn result(&self) -> Option<Result<(), Stopped>> {
        self.result
    }

    fn segment(&self, number: u32) -> Mad {
        let mut mad = self.headers;
        let room = 256 - self.offset;
        let begin = (number as usize - 1) * room;
        let piece = &self.data[begin.min(self.data.len())..(begin + room).min(self.data.len())];
        mad.0[self.offset..self.offset + piece.len()].copy_from_slice(piece);
        // Each segment counts with the headers behind the RMPP header (IBA 13.6.2).
        let class_header = self.offset - HEADER_END;
        let first = number == 1;
        let last = number == self.segments;
        let length = match (first, last) {
            (_, true) => class_header + piece.len(),
            (true, false) => class_header * self.segments as usize + self.data.len(),
            (false, false) => 0,
        };
        let header = Header {
            version: Header::VERSION,
            kind: Kind::Data as u8,
            response_time: Header::of(&self.headers).response_time,
            active: true,
            first,
            last,
            status: 0,
            segment: number,
            length_or_window: u32::try_from(length).unwrap_or(u32::MAX),
        };
        header.write(&mut mad);
        mad
    }

    fn acknowledge(&mut self, now: Time, mad: &Mad, header: Header) {
        let (segment, window) = (header.segment, header.length_or_window);
        if header.status != 0 {
            self.abort(mad, Stopped::BAD_STATUS);
        } else if window < segment {
            self.abort(mad, Stopped::WINDOW_TOO_SMALL);
        } else if segment > self.segments || segment > self.window_end {
            self.abort(mad, Stopped::SEGMENT_TOO_BIG);
        } else if window >= self.window_end && segment >= self.acknowledged {
            if segment > self.acknowledged {
                self.acknowledged = segment;
                self.retries_left = self.retries;
                self.deadline = Some(now + self.timeout);
                // Since a timeout these might have been about to be sent again.
                self.sent = self.sent.max(segment);
            }
            self.window_end = window;
            if self.acknowledged == self.segments {
                self.end(Ok(()));
            }
        }
        // Else an old one that was overtaken.
    }

    fn abort(&mut self, mad: &Mad, why: Stopped) {
        self.replies.push_back(reply(mad, self.offset, Kind::Abort, why.0, 0, 0));
        self.end(Err(why));
    }

    fn end(&mut self, result: Result<(), Stopped>) {
        self.result = Some(result);
        self.deadline = None;
    }
}
