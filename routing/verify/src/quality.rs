use crate::net::{Block, Column, Net};
use heddle_fabric::{Fabric, Tables};
use rayon::prelude::*;
use serde::Serialize;

/// How good routes between hosts are, if every host sends the same to every LID of every other host.
///
/// Only pairs that reach each other count. Hops are cables between switches: hosts of the same switch are 0 hops from each other. The load
/// of a link is the number of routes (host's port to LID) that go over it in one direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Quality {
    /// By hops: how many routes (host's port to LID) have so many. The last is not 0.
    pub hops: Vec<u64>,
    /// The hops of the longest route.
    pub max_hops: u32,
    /// The mean over all routes; 0 without any.
    pub mean_hops: f64,
    /// The load of the link that has most.
    pub max_link_load: u64,
    /// The mean over all links between switches, in each direction; 0 without any.
    pub mean_link_load: f64,
}

/// Follows the routes between all hosts. `O(switches * hosts' LIDs)`: for each LID, the routes from all hosts are a tree, up which the
/// numbers of hosts are added.
pub fn quality(fabric: &Fabric, tables: &Tables) -> Quality {
    let net = Net::new(fabric);
    let parts = rayon::current_num_threads() * 2;
    let ranges: Vec<_> = (0..parts).map(|part| net.blocks() * part / parts..net.blocks() * (part + 1) / parts).collect();
    let sums = ranges.into_par_iter().map(|blocks| {
        let mut sums = Sums { load: vec![0; net.channels()], ..Sums::default() };
        let mut trees = Trees::new(&net);
        let mut block = Block::default();
        for number in blocks {
            block.load(&net, tables, number);
            for column in net.columns_of(number).iter().filter(|column| column.counts_from_everywhere) {
                trees.add(&net, &block, column, &mut sums);
            }
        }
        sums
    });
    let all = sums.reduce(Sums::default, Sums::plus);
    let links: usize = (0..fabric.switch_count() as u32).map(|switch| fabric.arcs(heddle_fabric::SwitchIndex(switch)).len()).sum();
    let total: u64 = all.load.iter().sum(); // a route is once on each of its links
    Quality {
        max_hops: all.routes.len().saturating_sub(1) as u32,
        mean_hops: mean(total, all.routes.iter().sum()),
        max_link_load: all.load.into_iter().max().unwrap_or(0),
        mean_link_load: mean(total, links as u64),
        hops: all.routes,
    }
}

impl Quality {
    /// What [`Quality::long_routes`] takes for long. Packets that are routed by LID may take any number of hops: nothing counts them. But
    /// directed-route packets, by which subnet managers find switches, cross at most 63 cables (IBA 14.2.1.2: a path of 64 bytes, of which
    /// the first is not used), so that a fabric with longer ways is beyond what others try.
    pub const MANY_HOPS: usize = 64;

    /// How many routes have more than [`Quality::MANY_HOPS`] hops.
    pub fn long_routes(&self) -> u64 {
        self.hops.iter().skip(Self::MANY_HOPS + 1).sum()
    }
}

fn mean(sum: u64, count: u64) -> f64 {
    if count == 0 { 0.0 } else { sum as f64 / count as f64 }
}

#[derive(Debug, Default)]
struct Sums {
    /// By hops.
    routes: Vec<u64>,
    /// By channel.
    load: Vec<u64>,
}

impl Sums {
    fn note(&mut self, hops: usize, routes: u32) {
        if routes > 0 {
            self.routes.resize(self.routes.len().max(hops + 1), 0);
            self.routes[hops] += u64::from(routes);
        }
    }

    fn plus(mut self, other: Self) -> Self {
        if self.load.is_empty() {
            return other;
        }
        self.routes.resize(self.routes.len().max(other.routes.len()), 0);
        self.routes.iter_mut().zip(other.routes).for_each(|(sum, routes)| *sum += routes);
        self.load.iter_mut().zip(other.load).for_each(|(sum, load)| *sum += load);
        self
    }
}

/// Room for one LID's tree.
#[derive(Debug)]
struct Trees {
    /// By switch: its own hosts.
    hosts: Vec<u32>,
    /// By switch: the hosts whose packets to this LID come by.
    count: Vec<u32>,
    /// By switch: how far the owner is, if known.
    hops: Vec<u32>,
    /// The switches of the tree, each after the next one on its way.
    order: Vec<u32>,
    route: Vec<u32>,
}

const UNKNOWN: u32 = u32::MAX;
const LOST: u32 = u32::MAX - 1;

impl Trees {
    fn new(net: &Net<'_>) -> Self {
        let mut hosts = vec![0; net.switches()];
        net.host_switches.iter().for_each(|&(switch, count)| hosts[switch.index()] = count);
        Self { count: hosts.clone(), hops: vec![UNKNOWN; hosts.len()], hosts, order: Vec::new(), route: Vec::new() }
    }

    fn add(&mut self, net: &Net<'_>, block: &Block, column: &Column, sums: &mut Sums) {
        self.hops.fill(UNKNOWN);
        self.order.clear();
        for &(source, hosts) in &net.host_switches {
            let hops = self.follow(net, block, column, source.0);
            if hops != LOST {
                sums.note(hops as usize, hosts - u32::from(source.0 == column.owner.0));
            }
        }
        self.count.copy_from_slice(&self.hosts);
        for &switch in self.order.iter().rev() {
            let port = block.port(switch, column);
            if let Some(next) = net.next(switch, port) {
                let count = self.count[switch as usize];
                sums.load[net.first_channel(switch) + usize::from(port)] += u64::from(count);
                self.count[next as usize] += count;
            }
        }
    }

    /// How far the owner is from a switch; notes it for all switches on the way.
    fn follow(&mut self, net: &Net<'_>, block: &Block, column: &Column, source: u32) -> u32 {
        let mut at = source;
        let mut hops = loop {
            if self.hops[at as usize] != UNKNOWN {
                break self.hops[at as usize];
            }
            self.hops[at as usize] = LOST; // what comes by again while this holds goes in circles
            self.route.push(at);
            let port = block.port(at, column);
            match net.next(at, port) {
                Some(next) => at = next,
                None if column.owner == (at, port) => break UNKNOWN, // one before 0 hops
                None => break LOST,
            }
        };
        while let Some(switch) = self.route.pop() {
            if hops != LOST {
                hops = hops.wrapping_add(1);
                self.hops[switch as usize] = hops;
                self.order.push(switch);
            }
        }
        hops
    }
}
