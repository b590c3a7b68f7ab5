//! Management datagrams (MADs) of InfiniBand: the bytes on the wire, the asking and answering, and who carries them.
//!
//! - [`wire`]: one declarative table for each attribute. Views over received bytes never panic and keep values they do not know.
//! - [`exchange`]: asks and answers: transaction ids, windows, repetitions. No I/O and no clock.
//! - [`rmpp`]: messages longer than one MAD, in segments. No I/O and no clock either.
//! - [`transport`]: carries datagrams to a fabric and back, and owns the clock.
//!
//! ```
//! use heddle_mad::wire::{Attribute, Mad, Method, NodeInfo, Path};
//!
//! // Ask the node behind port 1 of ours who it is.
//! let path = Path::local().then(1).unwrap();
//! let mad = Mad::directed(&path, Method::GET, NodeInfo::ID, 0);
//! assert_eq!(mad.attribute_id(), NodeInfo::ID);
//! assert_eq!(mad.initial_path(), Some(path));
//! ```
#![deny(unsafe_code)]

pub mod exchange;
pub mod rmpp;
mod time;
#[allow(clippy::disallowed_methods, reason = "transports own the clock and the threads that the rest of the crate must not have")]
pub mod transport;
pub mod wire;

pub use time::Time;
