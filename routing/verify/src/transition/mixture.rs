//! The dependencies of all mixtures of two tables.

use crate::dependencies::{Set, SharedSet};
use crate::net::{Block, Column, NOWHERE, Net};
use heddle_fabric::{DROP_VL, Lanes, SwitchIndex, Tables};
use rayon::prelude::*;

/// Old and new tables of one fabric, in this order.
pub(crate) struct Mixture<'a> {
    pub(crate) net: &'a Net<'a>,
    pub(crate) tables: [&'a Tables; 2],
}

/// A block of both tables.
#[derive(Debug, Default)]
pub(crate) struct Blocks([Block; 2]);

impl Blocks {
    pub(crate) fn load(&mut self, mixture: &Mixture<'_>, block: usize) {
        self.0.iter_mut().zip(mixture.tables).for_each(|(own, tables)| own.load(mixture.net, tables, block));
    }

    /// The ports by which the old and the new table of a switch send packets to a LID.
    pub(crate) fn both(&self, switch: u32, column: &Column) -> [u8; 2] {
        [self.0[0].port(switch, column), self.0[1].port(switch, column)]
    }

    /// The same, each port once.
    pub(crate) fn ports(&self, switch: u32, column: &Column) -> impl Iterator<Item = u8> + use<> {
        let [old, new] = self.both(switch, column);
        std::iter::once(old).chain((new != old).then_some(new))
    }

    pub(crate) fn of(&self, side: usize) -> &Block {
        &self.0[side]
    }
}

impl Mixture<'_> {
    /// Which channel depends on which, in the traffic that counts and in all traffic.
    pub(crate) fn dependencies(&self) -> (Set, Set) {
        let net = self.net;
        let (counted, other) = (SharedSet::new(net, 1, true), SharedSet::new(net, 1, true));
        (0..net.blocks()).into_par_iter().for_each_init(
            || (Blocks::default(), Vec::new()),
            |(blocks, live), number| {
                blocks.load(self, number);
                for column in net.columns_of(number) {
                    self.mark_live(blocks, column, live);
                    for switch in 0..net.switches() as u32 {
                        let set = if live[switch as usize] { &counted } else { &other };
                        for port in blocks.ports(switch, column) {
                            if let Some(hop) = net.hops_of(switch).get(usize::from(port)).filter(|hop| hop.peer != NOWHERE) {
                                blocks.ports(hop.peer, column).for_each(|next| set.insert(*hop, next));
                            }
                        }
                    }
                }
            },
        );
        let counted = counted.finish(net);
        let mut all = other.finish(net);
        all.words.iter_mut().zip(&counted.words).for_each(|(all, counted)| *all |= counted);
        (counted, all)
    }

    /// Marks the switches that can carry packets to a LID which count.
    pub(crate) fn mark_live(&self, blocks: &Blocks, column: &Column, live: &mut Vec<bool>) {
        live.clear();
        live.resize(self.net.switches(), column.counts_from_everywhere);
        let mut stack: Vec<u32> = self.net.host_switches.iter().map(|(switch, _)| switch.0).collect();
        while let Some(switch) = stack.pop() {
            if !std::mem::replace(&mut live[switch as usize], true) {
                stack.extend(blocks.ports(switch, column).filter_map(|port| self.net.next(switch, port)));
            }
        }
    }

    /// Which VL of a channel depends on which of another.
    pub(crate) fn lane_dependencies(&self, lanes: [&Lanes; 2]) -> Set {
        let net = self.net;
        let sls = lanes[0].used_levels() | lanes[1].used_levels();
        let vls = lanes[0].vls_of(sls).max(lanes[1].vls_of(sls));
        let set = SharedSet::new(net, usize::from(vls), false);
        (0..net.blocks()).into_par_iter().for_each_init(
            || (Blocks::default(), Spread::default()),
            |(blocks, spread), number| {
                blocks.load(self, number);
                for column in net.columns_of(number) {
                    spread.fill(self, lanes, blocks, column);
                    for switch in 0..net.switches() as u32 {
                        spread.steps(self, lanes, blocks, column, switch, |step| {
                            let hop = net.hops_of(switch)[usize::from(step.exit)];
                            let vls = (0..DROP_VL).filter(|vl| step.vls >> vl & 1 == 1);
                            vls.for_each(|vl| set.insert_lane(hop, usize::from(vl), step.next, usize::from(step.next_vl)));
                        });
                    }
                }
            },
        );
        set.finish(net)
    }
}

/// The VLs that packets to one LID can have, whichever table they meet.
#[derive(Debug, Default)]
pub(crate) struct Spread {
    /// By switch, by the place of the port of exit in [`Blocks::ports`], and by SL: a mask.
    usage: Vec<[[u16; 16]; 2]>,
}

/// Packets that go on at the switch at the end of a channel.
pub(crate) struct Step {
    pub(crate) exit: u8,
    /// What VLs they have on that channel, as a mask.
    pub(crate) vls: u16,
    sl: usize,
    /// The next switch, its port of exit, which of its ports that is, and the VL there.
    peer: u32,
    pub(crate) next: u8,
    next_place: usize,
    pub(crate) next_vl: u8,
}

impl Spread {
    /// Follows packets from all hosts, and to hosts from switches too, until nothing new is found.
    pub(crate) fn fill(&mut self, mixture: &Mixture<'_>, lanes: [&Lanes; 2], blocks: &Blocks, column: &Column) {
        let net = mixture.net;
        self.usage.clear();
        self.usage.resize(net.switches(), [[0; 16]; 2]);
        let mut waiting: Vec<u32> = Vec::new();
        for switch in 0..net.switches() as u32 {
            let level_of = |side: usize| {
                let levels = lanes[side].levels_of(mixture.tables[side].row_len(), SwitchIndex(switch), column.lid);
                let is_told = levels != 0 || !net.ports_of_hosts(switch).is_empty();
                if is_told { levels } else { crate::lanes::answers(net, mixture.tables[side], lanes[side], column, switch) }
            };
            let levels = level_of(0) | level_of(1);
            let own = column.counts_from_everywhere.then_some(0);
            let entries = own.into_iter().chain(net.ports_of_hosts(switch).iter().copied());
            for entry in entries.filter(|&entry| column.owner != (switch, entry)) {
                for (place, exit) in blocks.ports(switch, column).enumerate() {
                    for (sl, vl) in lane_choices(lanes, switch, (entry, exit)).filter(|(sl, _)| levels >> sl & 1 == 1) {
                        self.usage[switch as usize][place][sl] |= 1 << vl;
                    }
                }
            }
            waiting.push(switch);
        }
        let mut steps = Vec::new();
        while let Some(switch) = waiting.pop() {
            self.steps(mixture, lanes, blocks, column, switch, |step| steps.push(step));
            for step in steps.drain(..) {
                let known = &mut self.usage[step.peer as usize][step.next_place][step.sl];
                if *known >> step.next_vl & 1 == 0 {
                    *known |= 1 << step.next_vl;
                    waiting.push(step.peer);
                }
            }
        }
    }

    /// How a switch's packets go on at the next.
    pub(crate) fn steps(
        &self,
        mixture: &Mixture<'_>,
        lanes: [&Lanes; 2],
        blocks: &Blocks,
        column: &Column,
        switch: u32,
        mut tell: impl FnMut(Step),
    ) {
        for (place, exit) in blocks.ports(switch, column).enumerate() {
            let usage = &self.usage[switch as usize][place];
            let Some(peer) = mixture.net.next(switch, exit).filter(|_| usage.iter().any(|&vls| vls != 0)) else { continue };
            let entry = mixture.net.entry(switch, exit);
            for (next_place, next) in blocks.ports(peer, column).enumerate() {
                for (sl, next_vl) in lane_choices(lanes, peer, (entry, next)).filter(|&(sl, _)| usage[sl] != 0) {
                    tell(Step { exit, vls: usage[sl], sl, peer, next, next_place, next_vl });
                }
            }
        }
    }
}

/// To which VLs a switch's old and new table map each SL, where they do not drop it.
fn lane_choices(lanes: [&Lanes; 2], switch: u32, (entry, exit): (u8, u8)) -> impl Iterator<Item = (usize, u8)> {
    let rows = lanes.map(|lanes| *lanes.row(SwitchIndex(switch), entry, exit));
    rows.into_iter().flat_map(|row| row.into_iter().enumerate()).filter(|&(_, vl)| vl < DROP_VL)
}
