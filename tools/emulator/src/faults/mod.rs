//! What cables and nodes do wrong.

mod cable;
mod hardware;
mod node;

pub(crate) use cable::{CableFaults, Passage};
pub(crate) use node::{Faults, Reaction};
