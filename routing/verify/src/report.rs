use crate::{Certificate, Parts, Witness};
use heddle_fabric::{Fabric, Guid, Lid, NO_PORT, PortRef, SwitchIndex};
use serde::Serialize;
use std::fmt;

/// What the verifier found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Who made the tables.
    pub engine: String,
    /// The switches of the fabric.
    pub switches: usize,
    /// The ports that have LIDs.
    pub end_ports: usize,
    /// Their LIDs.
    pub lids: usize,
    /// The parts of the fabric. Pairs in different parts are no fault.
    pub parts: Parts,
    /// The first 20 pairs of a switch and an end port's LID that do not reach each other, by LID, then switch.
    pub unreachable: Vec<Unreachable>,
    /// How many pairs of a host's port and another port's LID do not reach each other, though they are in the same part; or are not, and the
    /// packets are not dropped.
    pub unreachable_from_hosts: u64,
    /// How many such pairs of a switch and a LID there are.
    pub unreachable_from_switches: u64,
    /// How many of the pairs of a switch and a LID are such because the packets go in circles.
    pub looping: u64,
    /// Entries that send packets to LIDs that nobody has. A warning: nobody sends such packets, and nothing else is checked of them.
    pub unowned_entries: u64,
    /// Pairs of a switch with hosts and a LID, some of whose packets are dropped, because a switch maps their SL to no VL or because the
    /// tables know no SL for them. 0 for tables without SLs.
    pub dropped_by_sl: u64,
    /// Whether packets can wait for each other in a circle.
    pub deadlock: Deadlock,
}

impl Report {
    /// The virtual lanes that the tables need to be free of deadlock, if they are.
    pub const fn vls(&self) -> u8 {
        match &self.deadlock {
            Deadlock::Free(certificate) => certificate.vls,
            Deadlock::Cyclic(_) => 1,
        }
    }

    /// Whether all packets arrive that are for the same part of the fabric.
    pub const fn connected(&self) -> bool {
        self.unreachable_from_switches == 0 && self.dropped_by_sl == 0
    }

    /// Whether no packets go in circles.
    pub const fn loop_free(&self) -> bool {
        self.looping == 0
    }

    /// Whether no packets wait for each other in a circle.
    pub const fn deadlock_free(&self) -> bool {
        matches!(self.deadlock, Deadlock::Free(_))
    }

    /// Whether all of it is so: these tables may be programmed.
    pub const fn is_good(&self) -> bool {
        self.connected() && self.loop_free() && self.deadlock_free()
    }
}

/// A verdict on deadlock, with its proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deadlock {
    /// It is impossible.
    Free(Certificate),
    /// It is possible.
    Cyclic(Witness),
}

/// A switch, or another node, and a port of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The node's description.
    pub description: String,
    /// The node's GUID.
    pub guid: Guid,
    /// The port; 255 where a table's entry says to drop.
    pub port: u8,
}

impl Place {
    pub(crate) fn new(fabric: &Fabric, switch: SwitchIndex, port: u8) -> Self {
        Self::of_port(fabric, PortRef::new(fabric.switches()[switch.index()], port))
    }

    pub(crate) fn of_port(fabric: &Fabric, at: PortRef) -> Self {
        let node = fabric.node(at.node);
        Self { description: node.description.clone(), guid: node.guid, port: at.port }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { description, guid, port } = self;
        if *port == NO_PORT { write!(f, "\"{description}\" ({guid})") } else { write!(f, "port {port} of \"{description}\" ({guid})") }
    }
}

/// A switch whose packets to a LID do not arrive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unreachable {
    /// The switch, and the port by which it sends them.
    pub from: Place,
    /// The LID.
    pub lid: Lid,
    /// Whose LID it is.
    pub owner: Option<Place>,
    /// What happens to them.
    pub reason: Reason,
}

/// Why packets do not arrive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// A switch drops them.
    Dropped {
        /// The switch.
        at: Place,
    },
    /// They go in circles.
    Loop {
        /// The switches of the circle, and the ports by which they send the packets on.
        cycle: Vec<Place>,
    },
    /// A switch sends them out by a port that leads neither to the owner nor to another switch.
    WrongPort {
        /// The switch and the port.
        at: Place,
        /// What is at the other end; `None` if there is no cable, or no such port.
        leads_to: Option<Place>,
    },
}

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, lid, owner, reason } = self;
        write!(f, "packets from \"{}\" ({}) to LID {lid}", from.description, from.guid)?;
        if let Some(owner) = owner {
            write!(f, " ({owner})")?;
        }
        match reason {
            Reason::Dropped { at } => write!(f, " are dropped by {at}: its table has no port for this LID"),
            Reason::Loop { cycle } => {
                write!(f, " go in circles:")?;
                cycle.iter().enumerate().try_for_each(|(number, place)| write!(f, "{} {place}", if number > 0 { "," } else { "" }))
            }
            Reason::WrongPort { at, leads_to: Some(end) } => write!(f, " leave by {at}, which leads to {end}"),
            Reason::WrongPort { at, leads_to: None } => write!(f, " leave by {at}, which leads to nothing"),
        }
    }
}

/// Several lines: what was checked, and the verdicts.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {} switches, {} end ports, {} LIDs", self.engine, self.switches, self.end_ports, self.lids)?;
        self.write_verdicts(f)
    }
}

struct Verdicts<'a>(&'a Report);

impl fmt::Display for Verdicts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.write_verdicts(f)
    }
}

impl Report {
    /// The verdicts as text, in several lines, with what is wrong.
    pub fn verdicts(&self) -> impl fmt::Display + '_ {
        Verdicts(self)
    }

    fn write_verdicts(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.parts.len() > 1 {
            writeln!(f, "{}", self.parts)?;
        }
        if self.unreachable_from_switches == 0 {
            let of = if self.parts.len() > 1 { " of its part" } else { "" };
            writeln!(f, "every LID is reached from every switch and host{of}, without loops")?;
        } else {
            let [hosts, switches] = [self.unreachable_from_hosts, self.unreachable_from_switches];
            writeln!(f, "not reached: {hosts} pairs of host and LID, {switches} pairs of switch and LID ({} by loops)", self.looping)?;
            self.unreachable.iter().try_for_each(|pair| writeln!(f, "  {pair}"))?;
            if self.unreachable_from_switches > self.unreachable.len() as u64 {
                writeln!(f, "  and so on")?;
            }
        }
        if self.dropped_by_sl > 0 {
            writeln!(
                f,
                "dropped: packets of {} pairs of switch and LID have no SL, or one that a switch on their way maps to no VL",
                self.dropped_by_sl
            )?;
        }
        if self.unowned_entries > 0 {
            writeln!(f, "warning: {} entries are for LIDs that nobody has", self.unowned_entries)?;
        }
        match &self.deadlock {
            Deadlock::Free(certificate) if certificate.vls > 1 => {
                write!(f, "free of deadlock on {} VLs, for all traffic that has a host at one end", certificate.vls)
            }
            Deadlock::Free(certificate) if certificate.covers_switch_to_switch => write!(f, "free of deadlock on one VL, for all traffic"),
            Deadlock::Free(_) => write!(f, "free of deadlock on one VL, for all traffic that has a host at one end"),
            Deadlock::Cyclic(witness) => write!(f, "not free of deadlock: {witness}"),
        }
    }
}
