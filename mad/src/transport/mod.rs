//! Who carries datagrams: a trait, and its implementations.
//!
//! - [`Umad`]: a port of this machine, through the Linux kernel's user-space management datagrams.
//! - [`Ibsim`]: the simulator ibsim, by its own socket protocol; stands in for a fabric in tests and trials.

mod clock;
pub mod ibsim;
mod umad;

pub use clock::Clock;
pub use ibsim::Ibsim;
pub use umad::Umad;

use crate::Time;
use crate::wire::Mad;

/// Where a datagram goes to, or came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    /// A directed-route SMP: the way is in the datagram itself.
    Directed,
    /// By forwarding tables to (or from) a LID, and the queue pair there (0 or 1).
    Lid {
        /// The destination (of a received datagram: the source).
        lid: u16,
        /// Queue pair: 0 for subnet management, 1 for general services.
        qp: u32,
    },
}

/// A datagram and its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// Destination when sending, source when received.
    pub address: Address,
    /// The 256 bytes.
    pub mad: Mad,
}

/// What a transport delivers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// A datagram from the fabric: an answer, a request or a notice.
    Received(Envelope),
    /// A datagram of ours that the transport knows will get no answer; only the 32 low bits of its transaction id count.
    Undeliverable(Envelope),
}

/// Why a transport cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// The device or simulator is gone, or refused.
    #[error("{what}: {source}")]
    Io {
        /// What was tried, on which device.
        what: String,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A condition that the system has no error number for.
    #[error("{0}")]
    Other(String),
}

/// Carries datagrams between the subnet manager and a fabric, and owns the clock that both live by.
///
/// The kernel, ibsim and the emulator differ in two ways only: how bytes travel, and what "waiting" means. The emulator's clock is
/// virtual and jumps; the others' is the machine's.
pub trait Transport {
    /// The present time by this transport's clock.
    fn now(&self) -> Time;

    /// Sends one datagram; never blocks for an answer.
    ///
    /// # Errors
    /// Only conditions that end the transport. A datagram that gets lost is not an error.
    fn send(&mut self, envelope: &Envelope) -> Result<(), TransportError>;

    /// The next datagram that arrived, waiting for one until `deadline` (for ever with `None`). `None` when the deadline passed
    /// first. A deadline in the past only looks.
    ///
    /// # Errors
    /// Only conditions that end the transport.
    fn receive(&mut self, deadline: Option<Time>) -> Result<Option<Delivery>, TransportError>;

    /// Tells the fabric whether a subnet manager runs on this port (IsSM in its PortInfo CapabilityMask).
    ///
    /// # Errors
    /// When the device refuses.
    fn set_is_sm(&mut self, is_sm: bool) -> Result<(), TransportError>;
}
