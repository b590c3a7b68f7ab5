//! The reliable multi-packet protocol (RMPP, IBA 13.6): messages longer than one MAD, in segments that are acknowledged.
//!
//! A [`Sender`] and a [`Receiver`] are one transfer each, without I/O and without a clock. Both are driven alike: give them the segments
//! that belong to their transaction and the time, and drain `poll_transmit` after every call. They behave as the Linux kernel does
//! (`drivers/infiniband/core/mad_rmpp.c`), since that is who is at the other end: the first segment goes alone, then windows of 64,
//! a lost segment is noticed by the sender after [`ACK_TIMEOUT`], and all segments since the last acknowledgement are sent again.
//!
//! ```
//! use heddle_mad::Time;
//! use heddle_mad::rmpp::{Receiver, Sender, WINDOW};
//! use heddle_mad::wire::{AttributeId, Class, Mad, Method};
//!
//! // 5,000 bytes after the header of subnet administration.
//! let mut message = Mad::request(Class::SUBN_ADM, 2, Method(0x92), AttributeId(0x11), 0).0[..56].to_vec();
//! message.resize(56 + 5000, 0xa5);
//! let mut sender = Sender::new(Time::ZERO, &message, None, 3);
//! let first = sender.poll_transmit(Time::ZERO).unwrap();
//! let mut receiver = Receiver::new(Time::ZERO, &first, WINDOW, 1 << 20);
//! while sender.result().is_none() {
//!     while let Some(mad) = receiver.poll_transmit() {
//!         sender.handle(Time::ZERO, &mad);
//!     }
//!     while let Some(mad) = sender.poll_transmit(Time::ZERO) {
//!         receiver.handle(Time::ZERO, &mad);
//!     }
//! }
//! // The headers of a message are those of its first segment; the RMPP header in it is the protocol's.
//! assert_eq!(receiver.take_message().unwrap()[56..], message[56..]);
//! ```

mod header;
mod receiver;
mod sender;

pub use header::{Header, Kind, Stopped};
pub use receiver::Receiver;
pub use sender::Sender;

use crate::wire::Class;
use std::time::Duration;

/// How long a sender waits for an acknowledgement before it sends again, unless a shorter time is wanted.
pub const ACK_TIMEOUT: Duration = Duration::from_secs(2);
/// How many segments a receiver lets come before it acknowledges: an eighth of the kernel's receive queue.
pub const WINDOW: u32 = 64;
/// How long a receiver waits for the rest of a message.
pub const TRANSFER_TIMEOUT: Duration = Duration::from_secs(40);
/// How long a receiver that has the whole message goes on acknowledging repeated segments.
pub const LINGER: Duration = Duration::from_secs(10);

/// The end of the RMPP header, and so the least that a message has.
pub const HEADER_END: usize = 36;

/// Whether messages of the class may be sent by RMPP (IBA 13.6.1): subnet administration, device management and administration, BIS, and
/// the vendor classes with an OUI.
pub fn is_rmpp_class(class: Class) -> bool {
    matches!(class.0, 0x03 | 0x06 | 0x10 | 0x12 | 0x30..=0x4f)
}

/// Where the data of a MAD begins, behind the headers of its class. These are repeated in each segment.
pub fn data_offset(class: Class) -> usize {
    match class.0 {
        0x03 => 56,
        0x06 | 0x10 | 0x12 => 64,
        0x30..=0x4f => 40,
        _ => 24,
    }
}
