//! A fabric that answers subnet management packets (SMPs) in process: for tests, and for people without hardware.
//!
//! An [`Emulator`] is built from any [`heddle_fabric::Fabric`] and is a [`heddle_mad::transport::Transport`]. It forwards by the tables
//! that were really programmed, so that a wrong table is a lost packet, and lives in virtual time. [`Event`]s cut cables, remove nodes
//! and let nodes misbehave; [`parse_script`] reads them from text.
//!
//! ```
//! use heddle_emulator::Emulator;
//! use heddle_fabric::{NodeIndex, PortRef};
//! use heddle_mad::transport::{Address, Delivery, Envelope, Transport};
//! use heddle_mad::wire::{Attribute, Mad, Method, NodeInfo, NodeType, Path};
//!
//! let fabric = heddle_fabric::generate("ring:4,hosts=1")?.build();
//! let host = (0..).map(NodeIndex).find(|&node| fabric.switch_index(node).is_none()).unwrap();
//! let mut emulator = Emulator::new(&fabric, PortRef::new(host, 1))?;
//!
//! // Ask the node behind our port who it is.
//! let path = Path::local().then(1).unwrap();
//! let mad = Mad::directed(&path, Method::GET, NodeInfo::ID, 0);
//! emulator.send(&Envelope { address: Address::Directed, mad })?;
//! let Some(Delivery::Received(answer)) = emulator.receive(None)? else { panic!("the switch answers") };
//! assert_eq!(answer.mad.attribute::<NodeInfo>().kind(), Some(NodeType::Switch));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What it does not do: data packets do not move a port from ARMED to ACTIVE, partitions are not enforced, and there are no performance
//! counters.
#![forbid(unsafe_code)]

mod cold;
mod emulator;
mod faults;
mod models;
mod network;
mod script;
mod sma;
pub mod traffic;
mod training;
mod traps;
mod travel;

pub use emulator::{Counters, Emulator, EmulatorError, Event};
pub use faults::Fault;
pub use script::{ScriptError, parse_script};
pub use traps::LinkTrouble;
pub use travel::{Lost, LostWhy};
