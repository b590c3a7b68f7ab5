use heddle_engines::Engine;
use heddle_fabric::{Fabric, Guid};
use heddle_mad::wire::{AttributeId, Path, Status};
use heddle_verify::Proven;
use std::fmt;
use std::sync::Arc;

/// Why a sweep of the whole fabric begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// The subnet manager has just started.
    Start,
    /// Trap 128 (a link of this switch changed) or 144 (something on this port changed) came in.
    Trap {
        /// The trap's number.
        number: u16,
        /// The LID of the port that it speaks of.
        lid: u16,
    },
    /// The change bit of a switch is set.
    ChangeBit(Place),
    /// A node that answered before does not.
    Silent(Place),
    /// Something answers where nothing did.
    Appeared(Place),
    /// The local port's state, LID or subnet manager is not what was set.
    LocalPort,
    /// The sweep before this one could not do everything.
    Incomplete,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start => f.write_str("start"),
            Self::Trap { number: 128, lid } => write!(f, "trap 128 (the state of a link changed) from LID {lid}"),
            Self::Trap { number: 144, lid } => write!(f, "trap 144 (capabilities or a name changed) from LID {lid}"),
            Self::Trap { number, lid } => write!(f, "trap {number} from LID {lid}"),
            Self::ChangeBit(place) => write!(f, "a port of {place} changed its state"),
            Self::Silent(place) => write!(f, "{place} no longer answers"),
            Self::Appeared(place) => write!(f, "something answers behind {place}"),
            Self::LocalPort => f.write_str("the local port changed"),
            Self::Incomplete => f.write_str("the last sweep left something out"),
        }
    }
}

/// A node, or a port of one, as an operator knows it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The node's description; empty where it is not known.
    pub description: String,
    /// The node's GUID.
    pub guid: Guid,
    /// The port, where one is meant.
    pub port: Option<u8>,
    /// The directed route by which it was asked.
    pub path: String,
}

impl Place {
    pub(crate) fn new(description: impl Into<String>, guid: u64, port: Option<u8>, path: &Path) -> Self {
        Self { description: description.into(), guid: Guid(guid), port, path: path.to_string() }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(port) = self.port {
            write!(f, "port {port} of ")?;
        }
        write!(f, "\"{}\" ({}, path {})", self.description, self.guid, self.path)
    }
}

/// Something about the fabric that an operator should know, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Where.
    pub place: Place,
    /// What.
    pub problem: Problem,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.problem)
    }
}

/// What is wrong at a [`Place`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Problem {
    /// The link is up, but nobody answers behind it.
    NobodyBehind,
    /// The port that the subnet manager speaks from has no link: nothing but its own node is found.
    LocalLinkDown,
    /// The node does not answer a question; it is left out.
    NoAnswer(AttributeId),
    /// The node refuses a question.
    Refused(AttributeId, Status),
    /// The answer makes no sense; the node is left out.
    Nonsense(AttributeId, String),
    /// Two nodes have one GUID; the later one found is left out.
    DuplicateGuid(String),
    /// A cable leads from a port to itself; it is left out.
    SelfLink,
    /// More than 63 hops away: no directed route reaches it.
    TooFar,
    /// Another subnet manager is master here.
    OtherMaster(u8),
    /// The port did not keep the LID that it was given; nothing is routed to it.
    LidRefused(u16),
    /// The forwarding table reads back different from what was written.
    TableDiffers(u32),
    /// The port did not reach this state.
    StateRefused(&'static str),
    /// The only ways to it lead over nodes and ports that are left out.
    CutOff,
    /// The switch did not take the top of its forwarding table; it has this one.
    TopRefused(u16),
    /// The switch cannot hold a forwarding table as long as the LIDs in use need.
    TableTooSmall(u16),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LocalLinkDown => f.write_str("has no link, so nothing else is found from here. Is the cable in another port?"),
            Self::NobodyBehind => f.write_str("the link is up but nobody answers behind it; left out, asked again at each light sweep"),
            Self::NoAnswer(attribute) => write!(f, "does not answer {attribute:?}; left out, asked again later"),
            Self::Refused(attribute, status) => write!(f, "refuses {attribute:?}: {status}"),
            Self::Nonsense(attribute, why) => write!(f, "the answer to {attribute:?} makes no sense: {why}; left out"),
            Self::DuplicateGuid(other) => {
                write!(f, "has the GUID that {other} has too; left out. Give one of the two another GUID")
            }
            Self::SelfLink => f.write_str("the cable leads back into the same port; left out"),
            Self::TooFar => f.write_str("what is behind it is more than 63 hops away; left out"),
            Self::OtherMaster(priority) => {
                write!(f, "another subnet manager is master (priority {priority}); nothing is written while it is. Stop one of the two")
            }
            Self::LidRefused(lid) => write!(f, "did not take LID {lid}; nothing is routed to it"),
            Self::TableDiffers(block) => write!(f, "block {block} of the forwarding table reads back different; written again later"),
            Self::StateRefused(state) => write!(f, "did not become {state}; tried again later"),
            Self::CutOff => f.write_str("the only ways to it lead over what is left out; left out too"),
            Self::TopRefused(top) => write!(f, "has {top} as the top of its forwarding table, not what was set; written again later"),
            Self::TableTooSmall(cap) => write!(f, "holds forwarding tables of {cap} LIDs only; fewer than this fabric needs; left out"),
        }
    }
}

/// What a sweep found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The snapshot; each port with the LID that it is to have, or, with `read_only`, the one that it has.
    pub fabric: Arc<Fabric>,
    /// What was left out and why, and what else is odd; ordered.
    pub findings: Vec<Finding>,
    /// Ports that got a LID, or another one.
    pub new_lids: usize,
    /// The local port.
    pub local: heddle_fabric::PortRef,
}

/// What was written to the fabric after a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Forwarding-table blocks of 64 LIDs.
    pub lft_blocks: usize,
    /// Switches that got at least one block.
    pub switches: usize,
    /// Sets of PortInfo.
    pub ports: usize,
    /// Ports that became ACTIVE.
    pub activated: usize,
}

/// What the subnet manager tells.
#[derive(Clone, Debug)]
pub enum Event {
    /// A sweep of the whole fabric begins.
    SweepBegan(Why),
    /// It ended; with `read_only` this is the last event.
    Found(Found),
    /// What the engine auto of the chain chose, and why.
    Chosen(String),
    /// An engine of the chain was passed over.
    Refused {
        /// The engine.
        engine: Engine,
        /// Its refusal, or what the verifier found wrong with its tables.
        why: String,
    },
    /// Tables were computed and proven; they are going to be written.
    Routed(Arc<Proven>),
    /// No tables could be made, or none could be proven, and why. Nothing was written: the old tables stay.
    NotRouted(String),
    /// Something could not be done while writing.
    Finding(Finding),
    /// Everything is written.
    Up {
        /// The tables that the switches have now.
        proven: Arc<Proven>,
        /// What had to be written for it.
        written: Written,
        /// What could not be done.
        findings: Vec<Finding>,
    },
    /// Another subnet manager is master: nothing is written.
    Standby(Finding),
    /// The local node does not answer: there is no fabric to manage. Tried again later.
    NoFabric,
}
