use crate::Time;
use std::time::Instant;

/// The machine's clock, for whatever leads out of the process.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

impl Clock {
    /// A clock that begins to count now.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// The time since then.
    pub fn now(&self) -> Time {
        Time::ZERO + self.0.elapsed()
    }
}
