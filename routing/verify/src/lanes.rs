//! The dependencies between the VLs of channels, for tables that say which SLs and VLs their routes use.

use crate::dependencies::{Set, SharedSet};
use crate::net::{Block, Column, Hop, NOWHERE, Net};
use heddle_fabric::{DROP_VL, Lanes, SwitchIndex, Tables};
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) set: Set,
    /// Pairs of a switch with hosts and a LID, some of whose packets a switch drops because SL2VL says so or because their SL is not known.
    pub(crate) dropped: u64,
}

/// `vls` is how many VLs the set is to tell apart, as many as the lanes need at least. `O(switches * LIDs * SLs)`.
pub(crate) fn collect(net: &Net<'_>, tables: &Tables, lanes: &Lanes, vls: u8) -> Found {
    let classes = Classes::new(net, lanes);
    let set = SharedSet::new(net, usize::from(vls), classes.is_uniform());
    let dropped = AtomicU64::new(0);
    let scratch = || (Block::default(), Tree::default());
    (0..net.blocks()).into_par_iter().for_each_init(scratch, |(block, tree), number| {
        block.load(net, tables, number);
        for column in net.columns_of(number) {
            tree.follow(net, tables, &classes, block, column, Some(&set));
            dropped.fetch_add(tree.dropped, Relaxed);
        }
    });
    Found { set: set.finish(net), dropped: dropped.into_inner() }
}

/// The SLs of what a switch without hosts sends to a host's LID, where the tables do not say: it answers, and an answer has the SL of the
/// question (IBA 13.5.4). If this is not known either, any SL is possible.
pub(crate) fn answers(net: &Net<'_>, tables: &Tables, lanes: &Lanes, column: &Column, switch: u32) -> u16 {
    let question = net.own_lid(switch).map_or(0, |lid| lanes.levels_of(tables.row_len(), SwitchIndex(column.owner.0), lid));
    if question == 0 { lanes.used_levels() } else { question }
}

/// Packets that switches treat alike: those of one SL, or all where each switch maps SLs to VLs by the same row, since they then keep their
/// VL.
#[derive(Debug)]
pub(crate) struct Classes<'a> {
    lanes: &'a Lanes,
    /// The one row, if there is only one.
    row: Option<[u8; 16]>,
    /// The SL of each class; empty with the one row.
    levels: Vec<u8>,
    /// By channel and class: the VLs, as a mask, on which what hosts send by it leaves; [`LOST`] if some is dropped.
    from_hosts: Vec<u16>,
    /// The same for what the switch itself sends.
    from_switch: Vec<u16>,
}

/// The bit of [`DROP_VL`].
const LOST: u16 = 1 << DROP_VL;

impl<'a> Classes<'a> {
    pub(crate) fn new(net: &Net<'_>, lanes: &'a Lanes) -> Self {
        let row = lanes.uniform_row().copied();
        let mut classes = Self { lanes, row, levels: Vec::new(), from_hosts: Vec::new(), from_switch: Vec::new() };
        if row.is_some() {
            return classes;
        }
        classes.levels = (0..16).filter(|sl| lanes.used_levels() >> sl & 1 == 1).collect();
        for switch in 0..net.switches() as u32 {
            for port in 0..net.hops_of(switch).len() as u8 {
                let on = |from: u8, sl: u8| 1 << lanes.row(SwitchIndex(switch), from, port)[usize::from(sl)].min(DROP_VL);
                // A host sends nothing to itself.
                let hosts = || net.ports_of_hosts(switch).iter().filter(|&&from| from != port);
                let of_hosts = |&sl: &u8| hosts().fold(0, |mask, &from| mask | on(from, sl));
                classes.from_hosts.extend(classes.levels.iter().map(of_hosts));
                classes.from_switch.extend(classes.levels.iter().map(|&sl| on(0, sl)));
            }
        }
        classes
    }

    fn is_uniform(&self) -> bool {
        self.row.is_some()
    }

    fn len(&self) -> usize {
        if self.is_uniform() { 1 } else { self.levels.len() }
    }

    /// The VLs of a class after a hop, from those before.
    fn after(&self, row: &[u8; 16], class: usize, vls: u16) -> u16 {
        match self.levels.get(class) {
            None => vls,
            Some(&sl) if vls != 0 => 1 << row[usize::from(sl)].min(DROP_VL),
            Some(_) => 0,
        }
    }
}

/// The routes to one LID from the hosts of all switches; to a host's LID from the switches themselves too, where their SL is known.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    /// By switch and class: the VLs, as a mask, that its packets to the LID, and those that come by, have on its port of exit.
    usage: Vec<u16>,
    /// By switch: the next on the way, or [`NOWHERE`].
    next: Vec<u32>,
    /// By switch: how many others send to the LID by it.
    feeders: Vec<u32>,
    order: Vec<u32>,
    dropped: u64,
}

impl Tree {
    /// Follows the routes and notes dependencies in `set`. Where routes go in circles, it goes on until nothing new is found.
    pub(crate) fn follow(
        &mut self,
        net: &Net<'_>,
        tables: &Tables,
        classes: &Classes<'_>,
        block: &Block,
        column: &Column,
        set: Option<&SharedSet>,
    ) {
        let count = net.switches();
        self.dropped = 0;
        self.usage.clear();
        self.usage.resize(count * classes.len(), 0);
        self.feeders.clear();
        self.feeders.resize(count, 0);
        self.next.clear();
        for switch in 0..count as u32 {
            self.start(net, tables, classes, block, column, switch);
            let next = net.next(switch, block.port(switch, column)).unwrap_or(NOWHERE);
            self.next.push(next);
            if next != NOWHERE {
                self.feeders[next as usize] += 1;
            }
        }
        // Each switch after all that send by it; those on circles, and after them, come last.
        self.order.clear();
        self.order.extend((0..count as u32).filter(|&switch| self.feeders[switch as usize] == 0));
        let mut head = 0;
        while let Some(&switch) = self.order.get(head) {
            head += 1;
            let next = self.next[switch as usize];
            if next != NOWHERE {
                self.pass_on(net, classes, block, column, switch, set);
                self.feeders[next as usize] -= 1;
                if self.feeders[next as usize] == 0 {
                    self.order.push(next);
                }
            }
        }
        let is_circling = |&switch: &u32| self.feeders[switch as usize] > 0 && self.next[switch as usize] != NOWHERE;
        let circling: Vec<u32> = if self.order.len() < count { (0..count as u32).filter(is_circling).collect() } else { Vec::new() };
        let mut changed = !circling.is_empty();
        while changed {
            changed = false;
            for &switch in &circling {
                changed |= self.pass_on(net, classes, block, column, switch, set);
            }
        }
    }

    /// Whether, of the packets that [`Tree::follow`] saw, some leave `from` on one VL, and then the next switch by `row` on another.
    pub(crate) fn goes_on(&self, classes: &Classes<'_>, from: SwitchIndex, vl: usize, row: &[u8; 16], next: usize) -> bool {
        let usage = &self.usage[from.index() * classes.len()..][..classes.len()];
        usage.iter().enumerate().any(|(class, &vls)| classes.after(row, class, vls & 1 << vl) >> next & 1 == 1)
    }

    /// What a switch's own hosts, and the switch itself, send.
    fn start(&mut self, net: &Net<'_>, tables: &Tables, classes: &Classes<'_>, block: &Block, column: &Column, switch: u32) {
        let hosts = net.ports_of_hosts(switch);
        if hosts.is_empty() && !column.counts_from_everywhere {
            return;
        }
        let mut levels = classes.lanes.levels_of(tables.row_len(), SwitchIndex(switch), column.lid);
        if levels == 0 && hosts.is_empty() {
            levels = answers(net, tables, classes.lanes, column, switch);
        }
        let port = block.port(switch, column);
        let mut lost = levels == 0 && !hosts.is_empty() && !(hosts.len() == 1 && column.owner == (switch, hosts[0]));
        let usage = &mut self.usage[switch as usize * classes.len()..][..classes.len()];
        if let Some(row) = classes.row {
            (0..16).filter(|sl| levels >> sl & 1 == 1).for_each(|sl| usage[0] |= 1 << row[sl].min(DROP_VL));
            lost |= usage[0] & LOST != 0;
        } else if usize::from(port) < net.hops_of(switch).len() {
            let channel = (net.first_channel(switch) + usize::from(port)) * classes.len();
            for (class, _) in classes.levels.iter().enumerate().filter(|(_, sl)| levels >> **sl & 1 == 1) {
                let own = if column.counts_from_everywhere { classes.from_switch[channel + class] } else { 0 };
                usage[class] |= own | classes.from_hosts[channel + class];
                lost |= usage[class] & LOST != 0;
            }
        }
        usage.iter_mut().for_each(|vls| *vls &= !LOST);
        self.dropped += u64::from(lost && !net.apart(switch, column));
    }

    /// Hands a switch's packets on to the next, which there is. Whether that was something new to it.
    fn pass_on(
        &mut self,
        net: &Net<'_>,
        classes: &Classes<'_>,
        block: &Block,
        column: &Column,
        switch: u32,
        set: Option<&SharedSet>,
    ) -> bool {
        let port = block.port(switch, column);
        let hop = net.hops_of(switch)[usize::from(port)];
        let exit = block.port(hop.peer, column);
        let (own, next) = (switch as usize * classes.len(), hop.peer as usize * classes.len());
        if classes.is_uniform() {
            let vls = self.usage[own];
            let is_new = vls & !self.usage[next] != 0;
            self.usage[next] |= vls;
            if let Some(set) = set {
                ones(vls).for_each(|vl| set.insert_lane(hop, vl, exit, vl));
            }
            return is_new;
        }
        let row = classes.lanes.row(SwitchIndex(hop.peer), net.entry(switch, port), exit);
        let mut is_new = false;
        for class in 0..classes.len() {
            let vls = self.usage[own + class];
            let to = classes.after(row, class, vls);
            self.dropped += u64::from(to & LOST != 0 && !net.apart(switch, column));
            is_new |= to & !LOST & !self.usage[next + class] != 0;
            self.usage[next + class] |= to & !LOST;
            if let Some(set) = set {
                note(set, hop, vls, exit, to & !LOST);
            }
        }
        is_new
    }
}

/// Notes the dependencies of each of some VLs of a channel on the VLs that it goes on by.
fn note(set: &SharedSet, hop: Hop, vls: u16, exit: u8, to: u16) {
    ones(to).for_each(|to| ones(vls).for_each(|vl| set.insert_lane(hop, vl, exit, to)));
}

fn ones(mask: u16) -> impl Iterator<Item = usize> {
    crate::dependencies::ones(u64::from(mask))
}
