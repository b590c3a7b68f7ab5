//! The way from old tables to new ones, switch by switch.

mod mixture;
mod routes;
mod witness;

pub use witness::{MixedStep, MixedWitness, Side};

use crate::net::Net;
use crate::{Certificate, Place, cycle};
use heddle_fabric::{Fabric, Lanes, Levels, Lid, Tables};
use mixture::Mixture;
use serde::Serialize;
use std::fmt;

/// What can happen while switches get new tables one after another, in whatever order, and packets are under way.
///
/// It is about the traffic that counts for deadlock: all packets to hosts, and those to switches from switches that have hosts.
///
/// At any moment each switch sends packets to a LID by the port that its old or its new table says. What is found here is found for all
/// mixtures, and for packets that stay in buffers from one to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transition {
    /// Pairs of a switch and a LID that somebody has, whose entries differ.
    pub changed_entries: u64,
    /// The LIDs of those.
    pub changed_lids: u64,
    /// The LIDs whose packets go in circles in some mixture.
    pub looping_lids: u64,
    /// One of those circles.
    pub a_loop: Option<MixedLoop>,
    /// The LIDs whose packets from some switch are dropped or go astray in some mixture, though both tables by themselves deliver them.
    pub dropping_lids: u64,
    /// One of those.
    pub a_drop: Option<MixedDrop>,
    /// The LIDs that the old tables by themselves do not reach from everywhere, as where a cable was lost. Of LIDs whose entries differ.
    pub lost_before: u64,
    /// The rounds of an order in which nothing loops and nothing is dropped that the old tables deliver: for each LID, a switch is
    /// written once all switches after it on the new way are. The most that any LID needs; `None` if the new tables do not deliver the
    /// packets to one whose entries change. (Entries are written in blocks of 64: LIDs with contrary orders need a block written twice.)
    pub rounds: Option<u32>,
    /// Whether packets can wait for each other in a circle in any mixture, or across several. The certificate ranks the channels for all
    /// of them.
    pub deadlock: Result<Certificate, MixedWitness>,
}

/// Packets that go in circles in a mixture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MixedLoop {
    /// Their LID.
    pub lid: Lid,
    /// The switches, the ports by which they send the packets on, and which table says so.
    pub cycle: Vec<(Place, Side)>,
}

/// Packets that are dropped in a mixture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MixedDrop {
    /// Their LID.
    pub lid: Lid,
    /// A switch from which both tables deliver them.
    pub from: Place,
    /// Where they end, and by which table.
    pub at: (Place, Side),
}

impl Transition {
    /// Whether no order of the switches can do harm that the old tables do not do anyway.
    pub const fn any_order(&self) -> bool {
        self.deadlock.is_ok() && self.looping_lids == 0 && self.dropping_lids == 0
    }
}

/// Looks at all mixtures of old and new tables on a fabric, which is the one for the new tables: the old ones may have been made when it had
/// other cables, but its switches and LIDs must be the same (what an old table does not know, it drops). `O(switches * LIDs)`; with SLs
/// that are needed times SLs.
///
/// Where the channels alone have a circle, SLs and VLs decide, as in [`crate::verify`]: a packet may have an old or a new SL, and each switch map
/// it by the old or the new table. Tables without SLs then count as those of SL 0 on VL 0. What such a mapping drops is not counted.
#[must_use]
pub fn verify_transition(fabric: &Fabric, old: &Tables, new: &Tables) -> Transition {
    let net = Net::new(fabric);
    let mixture = Mixture { net: &net, tables: [old, new] };
    let routes = routes::follow_all(&mixture);
    Transition {
        changed_entries: routes.changed_entries,
        changed_lids: routes.changed_lids,
        looping_lids: routes.looping_lids,
        a_loop: routes.a_loop,
        dropping_lids: routes.dropping_lids,
        a_drop: routes.a_drop,
        lost_before: routes.lost_before,
        rounds: routes.rounds,
        deadlock: rank(&mixture),
    }
}

fn rank(mixture: &Mixture<'_>) -> Result<Certificate, MixedWitness> {
    let net = mixture.net;
    let (counted, all) = mixture.dependencies();
    if let Some(ranks) = cycle::ranks(net, &counted) {
        let with_all = cycle::ranks(net, &all);
        let covers_switch_to_switch = with_all.is_some();
        return Ok(Certificate { vls: 1, ranks: with_all.unwrap_or(ranks), covers_switch_to_switch });
    }
    if mixture.tables.iter().all(|tables| tables.lanes().is_none()) {
        return Err(witness::find(mixture, None, &counted));
    }
    let zero = mixture.tables.map(|tables| Lanes::uniform(Levels::ByDestination(vec![0; tables.row_len()]), Lanes::IDENTITY));
    let lanes = [0, 1].map(|side| mixture.tables[side].lanes().unwrap_or(&zero[side]));
    let set = mixture.lane_dependencies(lanes);
    match cycle::ranks(net, &set) {
        Some(ranks) => Ok(Certificate { vls: set.vls as u8, ranks, covers_switch_to_switch: false }),
        None => Err(witness::find(mixture, Some(lanes), &set)),
    }
}

/// Several lines.
impl fmt::Display for Transition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} entries of {} LIDs change", self.changed_entries, self.changed_lids)?;
        if self.lost_before > 0 {
            writeln!(f, "the old tables do not reach {} of these LIDs from everywhere", self.lost_before)?;
        }
        match &self.a_loop {
            None => writeln!(f, "no order of the switches lets packets go in circles")?,
            Some(MixedLoop { lid, cycle }) => {
                write!(f, "packets to {} LIDs go in circles in some order of the switches, as those to LID {lid}:", self.looping_lids)?;
                for (number, (place, side)) in cycle.iter().enumerate() {
                    write!(f, "{} {place} ({side})", if number > 0 { "," } else { "" })?;
                }
                writeln!(f)?;
            }
        }
        match &self.a_drop {
            None => writeln!(f, "no order drops packets that both tables deliver")?,
            Some(MixedDrop { lid, from, at: (place, side) }) => writeln!(
                f,
                "packets to {} LIDs are dropped in some order though both tables deliver them, as those from \"{}\" ({}) to LID {lid} by \
                 {place} ({side})",
                self.dropping_lids, from.description, from.guid
            )?,
        }
        match self.rounds {
            Some(rounds) => writeln!(f, "from the owner of each LID outward, {rounds} rounds do neither")?,
            None => writeln!(f, "the new tables do not deliver all packets, so no order is good")?,
        }
        match &self.deadlock {
            Ok(certificate) => {
                let traffic = if certificate.covers_switch_to_switch { "all traffic" } else { "all traffic that has a host at one end" };
                let vls = if certificate.vls == 1 { "one VL".to_owned() } else { format!("{} VLs", certificate.vls) };
                write!(f, "free of deadlock in any order on {vls}, packets under way included, for {traffic}")
            }
            Err(witness) => write!(f, "not free of deadlock in any order: {witness}"),
        }
    }
}
