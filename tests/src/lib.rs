//! Suites that cross crates, and what they share: real tools started by the tests, each found by its Debian package.
#![forbid(unsafe_code)]

mod conversation;
mod ibsim;

pub use conversation::{READY, converse};
pub use ibsim::Ibsim;
