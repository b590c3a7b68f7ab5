//! The fabric as an immutable graph, and the forwarding tables that engines make for it.
//!
//! A [`FabricBuilder`] takes nodes and cables as a dump or a sweep finds them; [`FabricBuilder::build`] freezes them into a [`Fabric`]
//! with dense indices. Engines, verifier, formats and subnet manager all speak of these types, and nothing here knows what a MAD is.
//!
//! ```
//! use heddle_fabric::{FabricBuilder, Guid, Link, NodeKind, NodeSpec, PortRef};
//!
//! let mut builder = FabricBuilder::new();
//! let switch = builder.add_node(NodeSpec::new(NodeKind::Switch, Guid(0x10), 36, "leaf")).unwrap();
//! for host in 0..2 {
//!     let ca = builder.add_node(NodeSpec::new(NodeKind::Ca, Guid(0x20 + host), 1, format!("host{host}"))).unwrap();
//!     builder.connect(PortRef::new(ca, 1), PortRef::new(switch, host as u8 + 1), Link::default()).unwrap();
//! }
//! builder.assign_lids().unwrap();
//! let fabric = builder.build();
//! assert_eq!(fabric.switch_count(), 1);
//! assert_eq!(fabric.end_ports().len(), 3); // two hosts and the switch's own port 0
//! ```
#![forbid(unsafe_code)]

mod builder;
mod classify;
mod fabric;
mod generate;
mod graph;
mod ids;
mod lanes;
mod lids;
mod link;
mod multicast;
mod patch;
mod tables;

pub use builder::{BuildError, FabricBuilder, NodeSpec, PortSpec};
pub use classify::{Class, Dimension, Finding, Grid, Groups, NoGrid, Part, Row, Shape, classify};
pub use fabric::{Arc, EndPort, Fabric, Node, Port};
pub use generate::{SHAPES, SpecError, generate};
pub use graph::SwitchGraph;
pub use ids::{Guid, Lid, NodeIndex, NodeKind, PortRef, SwitchIndex};
pub use lanes::{DROP_VL, Lanes, Levels};
pub use lids::{LidReport, LidsExhausted};
pub use link::{Link, LinkSpeed, LinkWidth};
pub use multicast::{Group, Mlid, MulticastTables};
pub use patch::{Change, Entry, Patch};
pub use tables::{NO_PORT, Tables};
