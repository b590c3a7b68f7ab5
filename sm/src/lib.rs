//! The subnet manager, as one state machine without clock, thread or I/O.
//!
//! [`SubnetManager`] takes datagrams and the time, and gives datagrams, [`Event`]s and the next deadline; [`drive`] runs one on a
//! [`Transport`](heddle_mad::transport::Transport). It sweeps the fabric from the local port outward, gives LIDs, has an engine
//! compute tables, has them proven, and only then writes them: what writes takes a [`Proven`](heddle_verify::Proven), which nobody
//! but the verifier can make.
//!
//! ```
//! use heddle_emulator::Emulator;
//! use heddle_fabric::{NodeIndex, NodeKind, PortRef};
//! use heddle_mad::transport::Transport;
//! use heddle_sm::{Config, Event, SubnetManager, drive};
//!
//! let fabric = heddle_fabric::generate("clos2:8").unwrap().build();
//! let host = fabric.nodes().iter().position(|node| node.kind == NodeKind::Ca).unwrap();
//! let mut emulator = Emulator::new(&fabric, PortRef::new(NodeIndex(host as u32), 1)).unwrap();
//! let mut sm = SubnetManager::new(Config::default(), emulator.now());
//! let mut up = false;
//! drive(&mut sm, &mut emulator, |event| {
//!     up = matches!(event, Event::Up { .. });
//!     !up // stop when the subnet is up
//! })
//! .unwrap();
//! assert!(up);
//! ```
#![forbid(unsafe_code)]

mod config;
mod drive;
mod event;
mod links;
mod manager;
mod notices;
mod program;
mod snapshot;
mod survey;

pub use config::Config;
pub use drive::drive;
pub use event::{Event, Finding, Found, Place, Problem, Why, Written};
pub use manager::SubnetManager;
