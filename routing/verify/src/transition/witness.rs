//! A circle of waiting across old and new tables, in names.

use super::mixture::{Blocks, Mixture, Spread};
use crate::cycle::short_cycle;
use crate::dependencies::Set;
use crate::net::Column;
use crate::{Place, Step};
use heddle_fabric::{Lanes, SwitchIndex};
use serde::Serialize;
use std::fmt;

/// Whose word an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The old table says so.
    Old,
    /// The new one does.
    New,
    /// Both do.
    Both,
}

/// A circle of channels, each of which can be full of packets that wait for the next, while switches get new tables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MixedWitness {
    /// The channels; the last waits for the first.
    pub steps: Vec<MixedStep>,
}

/// A channel of a [`MixedWitness`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MixedStep {
    /// The channel, and a LID whose packets leave by it and then by the next.
    #[serde(flatten)]
    pub step: Step,
    /// Which table of the switch sends them by this channel.
    pub by: Side,
    /// Which table of the next switch sends them by the next channel.
    pub then: Side,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Old => "old table",
            Self::New => "new table",
            Self::Both => "both tables",
        })
    }
}

impl fmt::Display for MixedWitness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} channels can wait for each other in a circle", self.steps.len())?;
        let vl = |step: &Step| step.vl.map_or(String::new(), |vl| format!("VL {vl} of "));
        for (MixedStep { step, by, then }, next) in self.steps.iter().zip(self.steps.iter().cycle().skip(1)) {
            let (own, others) = (vl(step), vl(&next.step));
            write!(f, "\n  {own}{} ({by}) waits for {others}{} ({then})", step.channel, next.step.channel)?;
            write!(f, " with packets to LID {} ({})", step.lid, step.owner)?;
        }
        Ok(())
    }
}

/// Which of the old and new port of a switch this one is; `None` if it is neither.
pub(crate) fn side(both: [u8; 2], port: u8) -> Option<Side> {
    match both.map(|own| own == port) {
        [true, true] => Some(Side::Both),
        [true, false] => Some(Side::Old),
        [false, true] => Some(Side::New),
        [false, false] => None,
    }
}

/// A short cycle of the dependencies in `set`, which must have one. `lanes` where it tells VLs apart.
pub(crate) fn find(mixture: &Mixture<'_>, lanes: Option<[&Lanes; 2]>, set: &Set) -> MixedWitness {
    let fabric = mixture.net.fabric;
    let cycle = short_cycle(mixture.net, set);
    let steps = cycle.iter().zip(cycle.iter().cycle().skip(1)).filter_map(|(&node, &next)| {
        let [(at, vl), (to, next_vl)] = [node, next].map(|node| (fabric.channel_at(node / set.vls), node % set.vls));
        let (column, by, then) = packets(mixture, lanes, (at, vl), (to, next_vl))?;
        let owner = Place::of_port(fabric, fabric.lid_owner(column.lid)?.at);
        let vl = lanes.map(|_| vl as u8);
        Some(MixedStep { step: Step { channel: Place::new(fabric, at.0, at.1), vl, lid: column.lid, owner }, by, then })
    });
    MixedWitness { steps: steps.collect() }
}

/// A LID whose packets leave by one VL of a channel and then by one of another, and which tables say so.
fn packets(
    mixture: &Mixture<'_>,
    lanes: Option<[&Lanes; 2]>,
    (from, vl): ((SwitchIndex, u8), usize),
    (to, next_vl): ((SwitchIndex, u8), usize),
) -> Option<(Column, Side, Side)> {
    let (mut blocks, mut live, mut spread) = (Blocks::default(), Vec::new(), Spread::default());
    for (number, columns) in mixture.net.columns().enumerate() {
        blocks.load(mixture, number);
        for column in columns {
            let Some(by) = side(blocks.both(from.0.0, column), from.1) else { continue };
            let Some(then) = side(blocks.both(to.0.0, column), to.1) else { continue };
            let mut found = false;
            if let Some(lanes) = lanes {
                spread.fill(mixture, lanes, &blocks, column);
                spread.steps(mixture, lanes, &blocks, column, from.0.0, |step| {
                    let here = step.exit == from.1 && step.vls >> vl & 1 == 1;
                    found |= here && step.next == to.1 && usize::from(step.next_vl) == next_vl;
                });
            } else {
                mixture.mark_live(&blocks, column, &mut live);
                found = live[from.0.index()];
            }
            if found {
                return Some((*column, by, then));
            }
        }
    }
    None
}
