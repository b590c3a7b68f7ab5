//! A fabric that stands in for hardware: for tests in process, and for OpenSM and other programs that find it behind sockets.
//!
//! A [`World`] is built from any [`heddle_fabric::Fabric`] and has any number of clients. Its devices answer management datagrams (MADs), and
//! it forwards by the tables that were really programmed, so that a wrong table is a lost packet. [`Event`]s cut cables, remove nodes and let
//! nodes misbehave; [`parse_script`] reads them from text, and [`control`] does what a line asks for. An [`Emulator`] is a world with one
//! client that lives in virtual time, and a [`heddle_mad::transport::Transport`].
//!
//! [`traffic`] sends data packets through what is programmed. [`kernel`] does for programs what Linux does for those that have an adapter, and
//! [`serve`] gives all of it to them: the only part that knows sockets and the machine's clock.
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
#![forbid(unsafe_code)]

mod adaptive;
mod agents;
mod clients;
mod cold;
mod congestion;
mod control;
mod emulator;
mod events;
mod faults;
pub mod kernel;
mod models;
mod network;
mod packet;
mod partitions;
mod places;
mod pma;
mod random;
mod script;
pub mod serve;
mod sma;
mod tally;
mod timing;
pub mod traffic;
mod training;
mod traps;
mod travel;
mod vendor;
mod world;

pub use adaptive::{Choice, Transport};
pub use clients::{ClientId, Delivered, Interest, Losses};
pub use control::control;
pub use emulator::Emulator;
pub use events::{CableFault, ErrorCounter, Event, Fault, Place, Subject};
pub use packet::Packet;
pub use places::PlaceError;
pub use script::{QUERIES, ScriptError, Site, VERBS, Verb, parse_script};
pub use tally::{Lanes, Tally};
pub use timing::Timing;
pub use traps::LinkTrouble;
pub use travel::{Lost, LostWhy};
pub use world::{Counters, EmulatorError, World};
