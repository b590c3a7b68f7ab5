//! Where the packets to a LID end, followed from every switch.

use crate::net::{Block, Column, Net};
use crate::report::{Place, Reason, Unreachable};
use heddle_fabric::{Lid, PortRef, SwitchIndex, Tables};
use rayon::prelude::*;

/// How many unreachable pairs a report names.
const KEPT: usize = 20;

/// What happens to packets to one LID from one switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Unknown,
    /// On the route that is being followed.
    Underway,
    Delivered,
    /// Dropped, or sent to nowhere.
    Dropped,
    /// Sent to another node.
    Astray,
    Loops,
}

/// What [`fates`] needs and leaves.
pub(crate) type Fates = Vec<Fate>;

/// The fates of packets to one LID by switch. Each switch is visited once: what is known of it holds for all who come by.
pub(crate) fn fates(net: &Net<'_>, block: &Block, column: &Column, fates: &mut Fates) {
    fates.clear();
    fates.resize(net.switches(), Fate::Unknown);
    let mut route = Vec::new();
    for source in 0..net.switches() as u32 {
        let mut at = source;
        let fate = loop {
            match fates[at as usize] {
                Fate::Unknown => {}
                Fate::Underway => break Fate::Loops,
                known => break known,
            }
            fates[at as usize] = Fate::Underway;
            route.push(at);
            let port = block.port(at, column);
            match net.next(at, port) {
                Some(next) => at = next,
                None if column.owner == (at, port) => break Fate::Delivered,
                None if net.is_dead_end(at, port) => break Fate::Dropped,
                None => break Fate::Astray,
            }
        };
        route.drain(..).for_each(|switch| fates[switch as usize] = fate);
    }
}

pub(crate) fn all_reach(net: &Net<'_>, block: &Block, column: &Column, scratch: &mut Fates) -> bool {
    fates(net, block, column, scratch);
    scratch.iter().all(|&fate| fate == Fate::Delivered)
}

/// What does not arrive.
#[derive(Debug, Default)]
pub(crate) struct Reach {
    pub(crate) from_switches: u64,
    pub(crate) from_hosts: u64,
    /// Of those from switches, the ones that go in circles.
    pub(crate) looping: u64,
    /// The first, by LID, then switch.
    pub(crate) kept: Vec<(SwitchIndex, Lid)>,
}

/// Follows the routes to every LID from every switch. `O(switches * LIDs)`.
pub(crate) fn follow_all(net: &Net<'_>, tables: &Tables) -> Reach {
    let mut hosts = vec![0; net.switches()];
    net.host_switches.iter().for_each(|&(switch, count)| hosts[switch.index()] = u64::from(count));
    let scratch = || (Block::default(), Fates::new());
    let blocks = (0..net.blocks()).into_par_iter().map_init(scratch, |(block, fate), number| {
        let mut reach = Reach::default();
        block.load(net, tables, number);
        for column in net.columns_of(number) {
            fates(net, block, column, fate);
            // Where there is no way, it is right to drop.
            let right = |switch, fate| fate == Fate::Delivered || fate == Fate::Dropped && net.apart(switch, column);
            for (switch, fate) in (0..).zip(fate.iter()).filter(|&(switch, &fate)| !right(switch, fate)) {
                let oneself = u64::from(column.counts_from_everywhere && column.owner.0 == switch);
                reach.from_switches += 1;
                reach.from_hosts += hosts[switch as usize] - oneself;
                reach.looping += u64::from(*fate == Fate::Loops);
                if reach.kept.len() < KEPT {
                    reach.kept.push((SwitchIndex(switch), column.lid));
                }
            }
        }
        reach
    });
    blocks.collect::<Vec<_>>().into_iter().fold(Reach::default(), |mut all, reach| {
        all.from_switches += reach.from_switches;
        all.from_hosts += reach.from_hosts;
        all.looping += reach.looping;
        all.kept.extend(reach.kept);
        all.kept.truncate(KEPT);
        all
    })
}

/// Why packets from a switch to a LID do not arrive, step by step.
pub(crate) fn explain(net: &Net<'_>, tables: &Tables, from: SwitchIndex, lid: Lid) -> Unreachable {
    let fabric = net.fabric;
    let mut route: Vec<SwitchIndex> = Vec::new();
    let mut seen = vec![false; net.switches()];
    let mut at = from;
    let reason = loop {
        if std::mem::replace(&mut seen[at.index()], true) {
            let start = route.iter().position(|&switch| switch == at).unwrap_or(0);
            break Reason::Loop {
                cycle: route[start..].iter().map(|&switch| Place::new(fabric, switch, tables.port(switch, lid))).collect(),
            };
        }
        route.push(at);
        let port = tables.port(at, lid);
        match net.next(at.0, port) {
            Some(next) => at = SwitchIndex(next),
            None if port == heddle_fabric::NO_PORT => break Reason::Dropped { at: Place::new(fabric, at, port) },
            None => {
                let own = PortRef::new(fabric.switches()[at.index()], port);
                let leads_to = if port == 0 { Some(own) } else { fabric.port(own).and_then(|port| port.peer) };
                let leads_to = leads_to.map(|end| Place::of_port(fabric, end));
                break Reason::WrongPort { at: Place::new(fabric, at, port), leads_to };
            }
        }
    };
    let owner = fabric.lid_owner(lid).map(|end| Place::of_port(fabric, end.at));
    Unreachable { from: Place::new(fabric, from, tables.port(from, lid)), lid, owner, reason }
}
