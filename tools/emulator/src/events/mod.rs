//! What can happen to a fabric.

mod happen;

use crate::traps::LinkTrouble;
use heddle_fabric::{Guid, LinkSpeed, LinkWidth, NodeIndex, PortRef};
use heddle_mad::wire::{AttributeId, Class, Status};
use std::time::Duration;

/// Something that happens to the fabric. As text it is a statement of [`crate::parse_script`], which says more about each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Cables break: the ports at both their ends go down.
    Cut(Place),
    /// Cables are as good as new: whole, at their full width and speed, and they carry every packet.
    Restore(Place),
    /// Cables begin to do something wrong, beside what they do wrong already.
    Cable(Place, CableFault),
    /// The end of a cable that is in `from` is put into `to`, which is free.
    Move {
        /// Where the cable is.
        from: PortRef,
        /// Where it will be.
        to: PortRef,
    },
    /// The cables in two ports change places.
    Swap(PortRef, PortRef),
    /// All cables between these nodes and the others break. A host whose cables all lead to these nodes is one of them.
    Split(Vec<NodeIndex>),
    /// The cables that [`Event::Split`] breaks are whole again.
    Merge(Vec<NodeIndex>),
    /// The node loses its power.
    RemoveNode(NodeIndex),
    /// The node gets its power back. It has forgotten everything: LID, tables, states.
    ReturnNode(NodeIndex),
    /// The node loses its power for so long.
    Reboot(NodeIndex, Duration),
    /// The node begins to do something wrong, beside what it does wrong already.
    Fault(NodeIndex, Fault),
    /// The node does everything right again.
    Heal(NodeIndex),
    /// The NodeDescription changes.
    Rename(NodeIndex, String),
    /// Somebody sets the M_Key of the node's end ports.
    MKey {
        /// The node.
        node: NodeIndex,
        /// The key; 0 is none.
        key: u64,
        /// M_KeyProtectBits, 0 to 3.
        protect: u8,
    },
    /// An entry of the port's P_Key table changes.
    PKey {
        /// The port; 0 of a switch is its own.
        at: PortRef,
        /// The entry.
        index: u16,
        /// The P_Key.
        p_key: u16,
    },
    /// An error counter of the port rises.
    Errors {
        /// The port.
        at: PortRef,
        /// Which counter.
        counter: ErrorCounter,
        /// By how much.
        count: u32,
    },
    /// [`crate::World::set_group_cap`]: the size of the group table of a switch with adaptive routing changes.
    Groups {
        /// The switch.
        node: NodeIndex,
        /// GroupCap while groups have one sub-group, 1 to 4095.
        groups: u16,
    },
    /// What is random from now on comes from this seed.
    Seed(u64),
}

/// Where something happens to cables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// All cables.
    Everywhere,
    /// All cables of the node.
    Node(NodeIndex),
    /// The cable in the port.
    Port(PortRef),
}

impl From<PortRef> for Place {
    fn from(at: PortRef) -> Self {
        Self::Port(at)
    }
}

impl From<NodeIndex> for Place {
    fn from(node: NodeIndex) -> Self {
        Self::Node(node)
    }
}

/// What a cable does wrong. Shares are percent of the packets that cross it, 0 to 100, in each direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CableFault {
    /// It trains with no more lanes than these; it trains again at once.
    Width(LinkWidth),
    /// It trains no faster than this; it trains again at once.
    Speed(LinkSpeed),
    /// It loses packets, and nobody notices.
    Loss(u8),
    /// It inverts bits: the port behind it drops the packets for their wrong CRC and counts errors.
    Corrupt(u8),
    /// Packets take so much longer.
    Delay(Duration),
    /// Packets take up to a millisecond longer, so that later ones overtake them.
    Reorder(u8),
    /// Packets arrive twice.
    Repeat(u8),
}

/// What a node does wrong. It goes on forwarding packets of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It answers nothing.
    Mute,
    /// It answers with bytes that are random, or that contradict each other.
    Garbage {
        /// The same seed gives the same answers.
        seed: u64,
    },
    /// It answers everything twice.
    Duplicate,
    /// Its answers come so much later. Those to later requests come in time.
    Late(Duration),
    /// It takes so long for each request; further requests wait.
    Slow(Duration),
    /// It ignores some of the requests.
    Drop {
        /// How many of a hundred, 0 to 100.
        percent: u8,
        /// The same seed ignores the same requests.
        seed: u64,
    },
    /// No more requests than these wait for it on VL15; others are dropped, which the port counts.
    Queue(u16),
    /// It never answers a request for the attribute.
    Ignore(Subject),
    /// It answers requests for the attribute with this status, and does nothing.
    Refuse(Subject, Status),
    /// It answers a Set of the attribute as if it had done it, and does nothing.
    Forget(Subject),
    /// It sends a trap again and again, whether it is repressed or not.
    Babble {
        /// The port that the trap speaks of.
        port: u8,
        /// What it says.
        trouble: LinkTrouble,
        /// The time from one trap to the next.
        every: Duration,
    },
    /// It says that it has this GUID. GUIDs of its ports that are counted from the node's change along.
    Guid(Guid),
}

/// An attribute of a management class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subject {
    /// The class; [`Class::SUBN_LID`] stands for both classes of subnet management.
    pub class: Class,
    /// The attribute.
    pub attribute: AttributeId,
}

/// A counter of PortCounters that counts errors (IBA 16.1.3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ErrorCounter {
    /// SymbolErrorCounter.
    Symbol,
    /// LinkErrorRecoveryCounter.
    Recovery,
    /// LinkDownedCounter.
    Downed,
    /// PortRcvErrors.
    Receive,
    /// PortRcvRemotePhysicalErrors.
    RemotePhysical,
    /// PortRcvSwitchRelayErrors.
    Relay,
    /// PortXmitDiscards.
    Discard,
    /// PortXmitConstraintErrors.
    TransmitConstraint,
    /// PortRcvConstraintErrors.
    ReceiveConstraint,
    /// LocalLinkIntegrityErrors.
    Integrity,
    /// ExcessiveBufferOverrunErrors.
    Overrun,
    /// VL15Dropped.
    Vl15,
}
