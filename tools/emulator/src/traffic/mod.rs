//! The data plane: packets with credits and finite buffers for each VL, which go where the fabric is programmed to send them, in virtual time.
//!
//! [`Programmed`] is the fabric as it is programmed at one moment: forwarding and multicast tables, SL-to-VL mapping, VL arbitration, P_Keys,
//! adaptive groups, links. [`Programmed::run`] sends [`Flow`]s through it and says what became of them. Packets that can never move again are
//! found exactly, also while others go on, and shown as a picture of who waits for whom ([`Stop`]). [`Programmed::attack`] looks for traffic
//! that stops, so that the data plane can judge a verifier, in both directions.
//!
//! ```
//! use heddle_emulator::traffic::{Attack, Options, Programmed};
//! use heddle_engines::{Engine, route};
//!
//! let mut builder = heddle_fabric::generate("ring:6,hosts=2")?;
//! builder.assign_lids()?;
//! let fabric = builder.build();
//! let route = |engine| route(engine, &fabric, &heddle_engines::Options::default()).unwrap();
//! let shortest = Programmed::of_tables(&fabric, &route(Engine::MinHop));
//! let Attack::Stopped { outcome, .. } = shortest.attack(&Options::default()) else { panic!("six switches in a ring") };
//! assert_eq!(outcome.stopped().unwrap().circle.len(), 6);
//!
//! let up_and_down = Programmed::of_tables(&fabric, &route(Engine::UpDown));
//! assert!(matches!(up_and_down.attack(&Options::default()), Attack::Free));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **What it leaves out.** Packets are whole: there are no flits, and a buffer holds a number of packets whatever their length. Receivers are
//! never slow. Nothing is lost by bit errors, and nobody retransmits. Congestion control marks nothing. Subnet management on VL 15 is no part
//! of it. What is programmed does not change during a run.

mod adversary;
mod arbiter;
mod deadlock;
mod dependencies;
mod flows;
mod forward;
mod job;
mod outcome;
mod plane;
mod programmed;
mod snapshot;

pub use adversary::Attack;
pub use deadlock::{Stop, Wait};
pub use flows::{Flow, Pattern};
pub(crate) use job::{Job, What};
pub use outcome::{Discard, End, Latency, Outcome};
pub use plane::Options;
pub use programmed::{Arbitration, DEFAULT_P_KEY, Group, PortSettings, Programmed, SwitchSettings};
