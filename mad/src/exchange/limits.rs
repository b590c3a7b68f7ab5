use crate::Time;
use std::time::Duration;

/// How much may be under way, and how long to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Requests on the wire at the start. The window then follows what the fabric bears: one more for each window of answers, half of
    /// it when an attempt fails.
    pub window: usize,
    /// The greatest window.
    pub window_max: usize,
    /// The greatest number of requests on the wire to one node; adapts likewise, from this downwards.
    pub per_node: usize,
    /// How long an attempt waits for its answer.
    pub timeout: Duration,
    /// Attempts after the first one.
    pub retries: u32,
}

impl Limits {
    /// OpenSM starts, and stays, at 4 (`max_wire_smps`). A few times that is far below the receive queue of any switch port on the
    /// way, and the first lost datagrams halve it.
    pub const WINDOW: usize = 16;
    /// Linux keeps at most 128 SMPs of an agent on the wire and queues the others, unseen by us; ibsim and its preload library block
    /// each other at about 330. Below both, no request waits in a queue that is not ours.
    pub const WINDOW_MAX: usize = 96;
    /// The management processor of a switch answers one SMP after another: a few keep it busy, more only fill its input queue.
    pub const PER_NODE: usize = 4;
    /// OpenSM waits 200 ms (`transaction_timeout`), and so does the kernel for us ([`crate::transport::Umad::TIMEOUT`]). Ours ends a little later,
    /// so that the kernel has forgotten the first attempt before the second has the same transaction id.
    pub const TIMEOUT: Duration = Duration::from_millis(250);
    /// OpenSM's number (`transaction_retries`).
    pub const RETRIES: u32 = 3;
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            window: Self::WINDOW,
            window_max: Self::WINDOW_MAX,
            per_node: Self::PER_NODE,
            timeout: Self::TIMEOUT,
            retries: Self::RETRIES,
        }
    }
}

/// A number of requests that may be under way: additive increase, multiplicative decrease.
pub(super) struct Window {
    size: usize,
    max: usize,
    /// Answers since the size last changed.
    answers: usize,
    /// Whether anything was answered since the last cut.
    heard: bool,
    /// Failures before this time belong to the load of before the last cut.
    blind_until: Time,
}

impl Window {
    pub(super) fn new(size: usize, max: usize) -> Self {
        let max = max.max(1);
        Self { size: size.clamp(1, max), max, answers: 0, heard: false, blind_until: Time::ZERO }
    }

    pub(super) fn size(&self) -> usize {
        self.size
    }

    pub(super) fn answered(&mut self) {
        self.answers += 1;
        self.heard = true;
        if self.answers >= self.size {
            self.answers = 0;
            self.size = (self.size + 1).min(self.max);
        }
    }

    /// Halves the window, once for all that was under way together. Where nobody answers at all, that is not congestion: a narrower
    /// window would only make it take longer to find out about each.
    pub(super) fn failed(&mut self, now: Time, blind_until: Time) {
        if now < self.blind_until || !self.heard {
            return;
        }
        self.heard = false;
        self.blind_until = blind_until;
        self.answers = 0;
        self.size = (self.size / 2).max(1);
    }
}
