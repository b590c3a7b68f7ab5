//! Loops and drops in mixtures of two tables, LID by LID.

use super::mixture::{Blocks, Mixture};
use super::witness::{Side, side};
use super::{MixedDrop, MixedLoop};
use crate::Place;
use crate::net::{Column, Net};
use crate::reach::{Fate, Fates, fates};
use heddle_fabric::SwitchIndex;
use rayon::prelude::*;

#[derive(Debug, Default)]
pub(crate) struct Routes {
    pub(crate) changed_entries: u64,
    pub(crate) changed_lids: u64,
    pub(crate) looping_lids: u64,
    pub(crate) a_loop: Option<MixedLoop>,
    pub(crate) dropping_lids: u64,
    pub(crate) a_drop: Option<MixedDrop>,
    pub(crate) lost_before: u64,
    pub(crate) rounds: Option<u32>,
}

/// Looks at each LID whose entries differ. `O(switches * LIDs)`, and for those LIDs that an entry drops times the longest way.
pub(crate) fn follow_all(mixture: &Mixture<'_>) -> Routes {
    let blocks = (0..mixture.net.blocks()).into_par_iter().map_init(
        || (Blocks::default(), Scratch::default()),
        |(blocks, scratch), number| {
            blocks.load(mixture, number);
            let mut routes = Routes { rounds: Some(0), ..Routes::default() };
            for column in mixture.net.columns_of(number) {
                let differs = |switch: &u32| matches!(blocks.both(*switch, column), [old, new] if old != new);
                let changed = (0..mixture.net.switches() as u32).filter(differs).count() as u64;
                if changed > 0 {
                    routes.changed_entries += changed;
                    routes.changed_lids += 1;
                    One { net: mixture.net, blocks, column }.look(scratch, &mut routes);
                }
            }
            routes
        },
    );
    blocks.collect::<Vec<_>>().into_iter().fold(Routes { rounds: Some(0), ..Routes::default() }, |all, routes| Routes {
        changed_entries: all.changed_entries + routes.changed_entries,
        changed_lids: all.changed_lids + routes.changed_lids,
        looping_lids: all.looping_lids + routes.looping_lids,
        a_loop: all.a_loop.or(routes.a_loop),
        dropping_lids: all.dropping_lids + routes.dropping_lids,
        a_drop: all.a_drop.or(routes.a_drop),
        lost_before: all.lost_before + routes.lost_before,
        rounds: all.rounds.zip(routes.rounds).map(|(a, b)| a.max(b)),
    })
}

#[derive(Debug, Default)]
struct Scratch {
    old: Fates,
    new: Fates,
}

/// The packets to one LID.
struct One<'a> {
    net: &'a Net<'a>,
    blocks: &'a Blocks,
    column: &'a Column,
}

impl One<'_> {
    fn look(&self, scratch: &mut Scratch, routes: &mut Routes) {
        let Self { net, blocks, column } = *self;
        fates(net, blocks.of(0), column, &mut scratch.old);
        fates(net, blocks.of(1), column, &mut scratch.new);
        let missed = |fates: &Fates| (0..).zip(fates).any(|(switch, &fate)| fate != Fate::Delivered && !net.apart(switch, column));
        routes.lost_before += u64::from(missed(&scratch.old));
        if let Some(cycle) = self.cycle() {
            routes.looping_lids += 1;
            let places = || cycle.into_iter().filter_map(|(switch, port)| self.place(switch, port)).collect();
            routes.a_loop.get_or_insert_with(|| MixedLoop { lid: column.lid, cycle: places() });
        }
        if let Some((from, (at, port))) = self.dropped(scratch) {
            routes.dropping_lids += 1;
            if routes.a_drop.is_none() {
                let from = Place::new(net.fabric, SwitchIndex(from), blocks.both(from, column)[0]);
                routes.a_drop = self.place(at, port).map(|at| MixedDrop { lid: column.lid, from, at });
            }
        }
        let rounds = (!missed(&scratch.new)).then(|| self.rounds());
        routes.rounds = routes.rounds.zip(rounds).map(|(all, own)| all.max(own));
    }

    fn place(&self, switch: u32, port: u8) -> Option<(Place, Side)> {
        let side = side(self.blocks.both(switch, self.column), port)?;
        Some((Place::new(self.net.fabric, SwitchIndex(switch), port), side))
    }

    /// The switches to which the old and the new port of a switch lead, and those ports.
    fn nexts(&self, switch: u32) -> impl Iterator<Item = (u8, u32)> {
        self.blocks.ports(switch, self.column).filter_map(move |port| Some((port, self.net.next(switch, port)?)))
    }

    /// The switches that send packets to the LID which count, or whose hosts do.
    fn sources(&self) -> Vec<u32> {
        match self.column.counts_from_everywhere {
            true => (0..self.net.switches() as u32).collect(),
            false => self.net.host_switches.iter().map(|(switch, _)| switch.0).collect(),
        }
    }

    /// A circle of switches and ports, each of which one of the tables says; a depth-first search. Each switch is in it once, so there is a
    /// mixture that has it; and where none is, no packet comes to a switch twice, even if tables change meanwhile.
    fn cycle(&self) -> Option<Vec<(u32, u8)>> {
        const DONE: usize = usize::MAX;
        const NEW: usize = usize::MAX - 1;
        // By switch: its place on the way that is followed.
        let mut state = vec![NEW; self.net.switches()];
        for start in self.sources() {
            if state[start as usize] != NEW {
                continue;
            }
            let mut way: Vec<(u32, u8)> = Vec::new();
            let mut left: Vec<Vec<(u8, u32)>> = Vec::new();
            let mut enter = Some(start);
            loop {
                if let Some(switch) = enter.take() {
                    state[switch as usize] = way.len();
                    way.push((switch, 0));
                    left.push(self.nexts(switch).collect());
                }
                let (Some(at), Some(choices)) = (way.last_mut(), left.last_mut()) else { break };
                match choices.pop() {
                    Some((port, next)) => {
                        at.1 = port;
                        match state[next as usize] {
                            NEW => enter = Some(next),
                            DONE => {}
                            place => return Some(way.split_off(place)),
                        }
                    }
                    None => {
                        state[at.0 as usize] = DONE;
                        way.pop();
                        left.pop();
                    }
                }
            }
        }
        None
    }

    /// A switch from which both tables deliver, and a switch and port where its packets end elsewhere in some mixture.
    fn dropped(&self, scratch: &Scratch) -> Option<(u32, (u32, u8))> {
        let Self { net, blocks, column } = *self;
        // By switch: where packets from it can end that do not arrive.
        let mut ends: Vec<Option<(u32, u8)>> = (0..net.switches() as u32)
            .map(|switch| {
                let arrives = |port: u8| net.next(switch, port).is_some() || column.owner == (switch, port);
                blocks.ports(switch, column).find(|&port| !arrives(port)).map(|port| (switch, port))
            })
            .collect();
        let mut changed = ends.iter().any(Option::is_some);
        while changed {
            changed = false;
            for switch in 0..net.switches() as u32 {
                if ends[switch as usize].is_none() {
                    ends[switch as usize] = self.nexts(switch).find_map(|(_, next)| ends[next as usize]);
                    changed |= ends[switch as usize].is_some();
                }
            }
        }
        let delivered = |switch: u32| [&scratch.old, &scratch.new].iter().all(|fates| fates[switch as usize] == Fate::Delivered);
        self.sources().into_iter().filter(|&switch| delivered(switch)).find_map(|switch| Some((switch, ends[switch as usize]?)))
    }

    /// How many rounds an order takes in which a switch is written after all that differ and come after it on its new way.
    fn rounds(&self) -> u32 {
        const NEW: u32 = u32::MAX;
        let new = |switch: u32| self.blocks.both(switch, self.column)[1];
        // By switch: how many of it and those after it differ.
        let mut rounds = vec![NEW; self.net.switches()];
        let mut way = Vec::new();
        for start in 0..self.net.switches() as u32 {
            let mut at = Some(start);
            let mut sum = loop {
                match at {
                    Some(switch) if rounds[switch as usize] == NEW => {
                        way.push(switch);
                        // What goes in circles is for another part, and no order is better than another.
                        rounds[switch as usize] = 0;
                        at = self.net.next(switch, new(switch));
                    }
                    Some(switch) => break rounds[switch as usize],
                    None => break 0,
                }
            };
            while let Some(switch) = way.pop() {
                let [old, new] = self.blocks.both(switch, self.column);
                sum += u32::from(old != new);
                rounds[switch as usize] = sum;
            }
        }
        rounds.into_iter().max().unwrap_or(0)
    }
}
