use crate::Time;
use std::time::Instant;

/// The machine's clock, for the transports that lead out of the process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(Instant);

impl Clock {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn now(&self) -> Time {
        Time::ZERO + self.0.elapsed()
    }
}
