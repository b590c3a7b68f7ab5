use crate::cycle::short_cycle;
use crate::dependencies::{Set, mark_live};
use crate::net::{Block, Net};
use crate::report::Place;
use heddle_fabric::{Lid, SwitchIndex, Tables};
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
    /// A LID whose packets leave by this channel and then by the next.
    pub lid: Lid,
    /// Whose LID it is.
    pub owner: Place,
}

impl fmt::Display for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} channels can wait for each other in a circle", self.steps.len())?;
        for (step, next) in self.steps.iter().zip(self.steps.iter().cycle().skip(1)) {
            write!(f, "\n  {} waits for {} with packets to LID {} ({})", step.channel, next.channel, step.lid, step.owner)?;
        }
        Ok(())
    }
}

/// A short cycle of the dependencies in `set`, which must have one.
pub(crate) fn find(net: &Net<'_>, tables: &Tables, set: &Set) -> Witness {
    let cycle = short_cycle(net, set);
    let at = |channel: usize| net.fabric.channel_at(channel);
    let steps = cycle.iter().zip(cycle.iter().cycle().skip(1)).filter_map(|(&channel, &next)| {
        let lid = a_lid(net, tables, at(channel), at(next))?;
        let owner = net.fabric.lid_owner(lid)?;
        let (switch, port) = at(channel);
        Some(Step { channel: Place::new(net.fabric, switch, port), lid, owner: Place::of_port(net.fabric, owner.at) })
    });
    Witness { steps: steps.collect() }
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
