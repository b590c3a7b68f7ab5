//! The dependencies between the VLs of channels, for tables that say which SLs and VLs their routes use.

use crate::dependencies::{Set, SharedSet};
use crate::net::{Block, Column, NOWHERE, Net};
use heddle_fabric::{DROP_VL, Lanes, SwitchIndex, Tables};
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) set: Set,
    /// Pairs of a switch with hosts and a LID, some of whose packets a switch drops because SL2VL says so or because their SL is not known.
    pub(crate) dropped: u64,
}

/// By SL: the VLs, as a mask, that packets of this SL may have on a channel.
pub(crate) type Usage = [u16; 16];

/// `O(switches * LIDs * SLs)`.
pub(crate) fn collect(net: &Net<'_>, tables: &Tables, lanes: &Lanes) -> Found {
    let set = SharedSet::new(net, usize::from(lanes.vls()));
    let dropped = AtomicU64::new(0);
    let scratch = || (Block::default(), Tree::default());
    (0..net.blocks()).into_par_iter().for_each_init(scratch, |(block, tree), number| {
        block.load(net, tables, number);
        for column in net.columns_of(number) {
            tree.follow(net, tables, lanes, block, column, Some(&set));
            dropped.fetch_add(tree.dropped, Relaxed);
        }
    });
    Found { set: set.finish(net), dropped: dropped.into_inner() }
}

/// The routes to one LID from the hosts of all switches; to a host's LID from the switches themselves too, where their SL is known.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    /// By switch: what its packets to the LID, and those that come by, have on its port of exit.
    pub(crate) usage: Vec<Usage>,
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
        lanes: &Lanes,
        block: &Block,
        column: &Column,
        set: Option<&SharedSet>,
    ) {
        let count = net.switches();
        self.dropped = 0;
        self.usage.clear();
        self.usage.resize(count, [0; 16]);
        self.feeders.clear();
        self.feeders.resize(count, 0);
        for switch in 0..count as u32 {
            self.start(net, tables, lanes, block, column, switch);
            if let Some(next) = net.next(switch, block.port(switch, column)) {
                self.feeders[next as usize] += 1;
            }
        }
        // Each switch after all that send by it; those on circles, and after them, come last.
        self.order.clear();
        self.order.extend((0..count as u32).filter(|&switch| self.feeders[switch as usize] == 0));
        let mut head = 0;
        while let Some(&switch) = self.order.get(head) {
            head += 1;
            self.pass_on(net, lanes, block, column, switch, set);
            if let Some(next) = net.next(switch, block.port(switch, column)) {
                self.feeders[next as usize] -= 1;
                if self.feeders[next as usize] == 0 {
                    self.order.push(next);
                }
            }
        }
        let circling: Vec<u32> = (0..count as u32).filter(|&switch| self.feeders[switch as usize] > 0).collect();
        let mut changed = !circling.is_empty();
        while changed {
            changed = false;
            for &switch in &circling {
                changed |= self.pass_on(net, lanes, block, column, switch, set);
            }
        }
    }

    /// What a switch's own hosts, and the switch itself, send.
    fn start(&mut self, net: &Net<'_>, tables: &Tables, lanes: &Lanes, block: &Block, column: &Column, switch: u32) {
        let hosts = net.ports_of_hosts(switch);
        if hosts.is_empty() && !column.counts_from_everywhere {
            return;
        }
        let levels = lanes.levels_of(tables.row_len(), SwitchIndex(switch), column.lid);
        let port = block.port(switch, column);
        let apart = net.apart(switch, column);
        let mut lost = levels == 0 && !hosts.is_empty() && !(hosts.len() == 1 && column.owner == (switch, hosts[0]));
        let own = column.counts_from_everywhere.then_some(0);
        for from in own.into_iter().chain(hosts.iter().copied()).filter(|&from| column.owner != (switch, from)) {
            let row = lanes.row(SwitchIndex(switch), from, port);
            for sl in (0..16).filter(|sl| levels >> sl & 1 == 1) {
                if row[sl] < DROP_VL {
                    self.usage[switch as usize][sl] |= 1 << row[sl];
                } else {
                    lost = true;
                }
            }
        }
        self.dropped += u64::from(lost && !apart);
    }

    /// Hands a switch's packets on to the next. Whether that was something new to it.
    fn pass_on(&mut self, net: &Net<'_>, lanes: &Lanes, block: &Block, column: &Column, switch: u32, set: Option<&SharedSet>) -> bool {
        let port = block.port(switch, column);
        let Some(hop) = net.hops_of(switch).get(usize::from(port)).copied().filter(|hop| hop.peer != NOWHERE) else { return false };
        let (next, exit) = (hop.peer, block.port(hop.peer, column));
        let entry = net.entry(switch, port);
        let row = lanes.row(SwitchIndex(next), entry, exit);
        let before = self.usage[next as usize];
        let usage = self.usage[switch as usize];
        for (sl, (&vls, &to)) in usage.iter().zip(row).enumerate().filter(|(_, (vls, _))| **vls != 0) {
            if to >= DROP_VL {
                self.dropped += u64::from(!net.apart(switch, column));
                continue;
            }
            self.usage[next as usize][sl] |= 1 << to;
            if let Some(set) = set {
                (0..DROP_VL).filter(|vl| vls >> vl & 1 == 1).for_each(|vl| set.insert_lane(hop, usize::from(vl), exit, usize::from(to)));
            }
        }
        self.usage[next as usize] != before
    }
}
