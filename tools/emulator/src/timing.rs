//! How long things take.

use crate::random::Random;
use heddle_fabric::NodeIndex;
use std::time::Duration;

/// How long packets travel, and how long agents take to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// No time at all: an answer is there when its request was sent.
    Instant,
    /// As hardware: 0.2 µs a hop; an agent takes 20 to 230 µs for each request, always the same for a node, one request after another.
    Hardware {
        /// The same seed gives a node the same speed.
        seed: u64,
    },
}

/// Time that a link takes to come up again after a manager took it down.
pub(crate) const TRAINING: Duration = Duration::from_millis(10);
/// Time that a packet takes over a cable and through the switch behind it.
const HOP: Duration = Duration::from_nanos(200);
/// Times that agents of switches and adapters take for a request, in microseconds.
const SERVICE: std::ops::RangeInclusive<u64> = 20..=230;

impl Timing {
    /// The time for so many hops.
    pub(crate) fn travel(self, hops: u32) -> Duration {
        match self {
            Self::Instant => Duration::ZERO,
            Self::Hardware { .. } => HOP * hops,
        }
    }

    /// The time that the node's agents take for a request.
    pub(crate) fn service(self, node: NodeIndex) -> Duration {
        match self {
            Self::Instant => Duration::ZERO,
            Self::Hardware { seed } => {
                let random = Random(seed ^ u64::from(node.0) << 32).next();
                Duration::from_micros(SERVICE.start() + random % (SERVICE.end() - SERVICE.start() + 1))
            }
        }
    }
}
