use crate::{Certificate, Place};
use heddle_fabric::{Lid, Mlid};
use serde::Serialize;
use std::fmt;

/// What the verifier found in multicast tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MulticastReport {
    /// How many groups there are.
    pub groups: usize,
    /// The first faults of trees, by group.
    pub faults: Vec<MulticastFault>,
    /// How many there are.
    pub fault_count: u64,
    /// MLIDs with entries, but without a group. A warning; of these it is only checked that packets to them neither go in circles nor close
    /// one of waiting.
    pub unowned_mlids: u64,
    /// Whether packets of groups and unicast packets can wait for each other in a circle. The certificate ranks the channels for both.
    pub deadlock: Result<Certificate, MulticastWitness>,
}

/// What is wrong with a group's tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MulticastFault {
    /// A member is not sent another's packets.
    Missed {
        /// The group.
        mlid: Mlid,
        /// The switch and port by which they come in.
        from: Place,
        /// The switch and port that lead to the member.
        to: Place,
    },
    /// Packets come to a switch a second time: in a circle, or by two ways.
    Twice {
        /// The group.
        mlid: Mlid,
        /// Where they come in.
        from: Place,
        /// The switch, and the port by which they come again.
        at: Place,
    },
    /// A switch copies packets to a port behind which there is no member, or by which none come.
    Stray {
        /// The group.
        mlid: Mlid,
        /// The switch and the port.
        at: Place,
        /// What is at the other end.
        leads_to: Option<Place>,
    },
    /// A switch maps the group's SL to no VL.
    DroppedBySl {
        /// The group.
        mlid: Mlid,
        /// Where the packets come in.
        from: Place,
        /// The switch and its port of exit.
        at: Place,
    },
}

/// A circle of channels, each of which can be full of packets that wait for the next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MulticastWitness {
    /// The channels; the last waits for the first.
    pub steps: Vec<MulticastStep>,
}

/// A channel of a [`MulticastWitness`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MulticastStep {
    /// The switch and its port of exit.
    pub channel: Place,
    /// The VL, where the tables say which VLs their routes use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vl: Option<u8>,
    /// Which packets leave by this channel and then by the next.
    pub packets: Packets,
}

/// Packets that wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Packets {
    /// Those to a LID.
    Unicast {
        /// The LID.
        lid: Lid,
        /// Whose it is.
        owner: Place,
    },
    /// Those of a group.
    Multicast {
        /// Its address.
        mlid: Mlid,
    },
}

impl MulticastReport {
    /// How many faults are kept.
    pub(crate) const KEPT: usize = 20;

    /// Whether every group has its tree, and nothing can wait in a circle.
    pub const fn is_good(&self) -> bool {
        self.fault_count == 0 && self.deadlock.is_ok()
    }
}

impl fmt::Display for MulticastFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missed { mlid, from, to } => {
                write!(f, "MLID {mlid}: packets that come in by {from} do not leave by {to}, where a member is")
            }
            Self::Twice { mlid, from, at } => write!(f, "MLID {mlid}: packets that come in by {from} come by {at} a second time"),
            Self::Stray { mlid, at, leads_to: Some(end) } => {
                write!(f, "MLID {mlid}: {at}, which leads to {end}, is of no use to any member")
            }
            Self::Stray { mlid, at, leads_to: None } => write!(f, "MLID {mlid}: {at} is of no use to any member"),
            Self::DroppedBySl { mlid, from, at } => {
                write!(f, "MLID {mlid}: packets that come in by {from} have an SL that is dropped at {at}")
            }
        }
    }
}

impl fmt::Display for Packets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unicast { lid, owner } => write!(f, "packets to LID {lid} ({owner})"),
            Self::Multicast { mlid } => write!(f, "packets of MLID {mlid}"),
        }
    }
}

impl fmt::Display for MulticastWitness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} channels can wait for each other in a circle", self.steps.len())?;
        let vl = |step: &MulticastStep| step.vl.map_or(String::new(), |vl| format!("VL {vl} of "));
        for (step, next) in self.steps.iter().zip(self.steps.iter().cycle().skip(1)) {
            write!(f, "\n  {}{} waits for {}{} with {}", vl(step), step.channel, vl(next), next.channel, step.packets)?;
        }
        Ok(())
    }
}

/// Several lines.
impl fmt::Display for MulticastReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.fault_count {
            0 => writeln!(f, "each of {} multicast groups has a tree that reaches its members, and only them, once", self.groups)?,
            count => writeln!(f, "{count} faults in the trees of {} multicast groups", self.groups)?,
        }
        self.faults.iter().try_for_each(|fault| writeln!(f, "  {fault}"))?;
        if self.fault_count > self.faults.len() as u64 {
            writeln!(f, "  and so on")?;
        }
        if self.unowned_mlids > 0 {
            writeln!(f, "warning: {} MLIDs have entries, but no group", self.unowned_mlids)?;
        }
        match &self.deadlock {
            Ok(certificate) if certificate.vls == 1 => write!(f, "multicast and unicast together are free of deadlock on one VL"),
            Ok(certificate) => write!(f, "multicast and unicast together are free of deadlock on {} VLs", certificate.vls),
            Err(witness) => write!(f, "multicast and unicast together are not free of deadlock: {witness}"),
        }
    }
}
