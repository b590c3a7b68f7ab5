use crate::cycle::short_cycle;
use crate::dependencies::{Set, mark_live};
use crate::lanes::{Classes, Tree};
use crate::net::{Block, Column, Net};
use crate::report::Place;
use heddle_fabric::{Lanes, Lid, SwitchIndex, Tables};
use serde::Serialize;
use std::fmt;

/// A circle of channels, each of which can be full of packets that wait for the next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Witness {
    /// The channels; the last waits for the first.
    pub steps: Vec<Step>,
}

/// A channel of a [`Witness`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// The switch and its port of exit.
    pub channel: Place,
    /// The VL, where the tables say which VLs their routes use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vl: Option<u8>,
    /// A LID whose packets leave by this channel and then by the next.
    pub lid: Lid,
    /// Whose LID it is.
    pub owner: Place,
}

impl fmt::Display for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} channels can wait for each other in a circle", self.steps.len())?;
        for (step, next) in self.steps.iter().zip(self.steps.iter().cycle().skip(1)) {
            let vl = |step: &Step| step.vl.map_or(String::new(), |vl| format!("VL {vl} of "));
            let (own, others) = (vl(step), vl(next));
            write!(f, "\n  {own}{} waits for {others}{} with packets to LID {} ({})", step.channel, next.channel, step.lid, step.owner)?;
        }
        Ok(())
    }
}

/// A short cycle of the dependencies in `set`, which must have one.
pub(crate) fn find(net: &Net<'_>, tables: &Tables, set: &Set) -> Witness {
    let cycle = short_cycle(net, set);
    let at = |node: usize| net.fabric.channel_at(node / set.vls);
    let steps = cycle.iter().zip(cycle.iter().cycle().skip(1)).filter_map(|(&node, &next)| {
        let lid = a_lid_between(net, tables, set, node, next)?;
        let owner = net.fabric.lid_owner(lid)?;
        let (switch, port) = at(node);
        let vl = (set.vls > 1).then_some((node % set.vls) as u8);
        Some(Step { channel: Place::new(net.fabric, switch, port), vl, lid, owner: Place::of_port(net.fabric, owner.at) })
    });
    Witness { steps: steps.collect() }
}

/// A LID whose packets make one channel (its VL, where `set` tells VLs apart) depend on another.
pub(crate) fn a_lid_between(net: &Net<'_>, tables: &Tables, set: &Set, node: usize, next: usize) -> Option<Lid> {
    let at = |node: usize| net.fabric.channel_at(node / set.vls);
    match tables.lanes() {
        Some(lanes) if set.vls > 1 => a_lid_on(net, tables, lanes, (at(node), node % set.vls), (at(next), next % set.vls)),
        _ => a_lid(net, tables, at(node), at(next)),
    }
}

/// A LID whose packets leave by one VL of a channel and then by one of another.
fn a_lid_on(
    net: &Net<'_>,
    tables: &Tables,
    lanes: &Lanes,
    (from, vl): ((SwitchIndex, u8), usize),
    (to, next): ((SwitchIndex, u8), usize),
) -> Option<Lid> {
    let (classes, mut block, mut tree) = (Classes::new(net, lanes), Block::default(), Tree::default());
    let row = lanes.row(to.0, net.entry(from.0.0, from.1), to.1);
    for (number, columns) in net.columns().enumerate() {
        let both = |column: &&Column| [from, to].iter().all(|&(switch, port)| tables.port(switch, column.lid) == port);
        for column in columns.iter().filter(both) {
            block.load(net, tables, number);
            tree.follow(net, tables, &classes, &block, column, None);
            if tree.goes_on(&classes, from.0, vl, row, next) {
                return Some(column.lid);
            }
        }
    }
    None
}

/// A LID whose packets leave by the one channel and then by the other; a host's if possible.
fn a_lid(net: &Net<'_>, tables: &Tables, from: (SwitchIndex, u8), to: (SwitchIndex, u8)) -> Option<Lid> {
    let both = |lid: Lid| [from, to].iter().all(|&(switch, port)| tables.port(switch, lid) == port);
    let columns = || net.columns().enumerate().flat_map(|(block, columns)| columns.iter().map(move |column| (block, column)));
    let host = columns().find(|(_, column)| column.counts_from_everywhere && both(column.lid));
    let (mut block, mut live) = (Block::default(), Vec::new());
    let found = host.or_else(|| {
        columns().filter(|(_, column)| !column.counts_from_everywhere && both(column.lid)).find(|&(number, column)| {
            block.load(net, tables, number);
            mark_live(net, &block, column, &mut live);
            live[from.0.index()]
        })
    });
    found.map(|(_, column)| column.lid)
}
