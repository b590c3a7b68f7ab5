//! Shortest ways that spread over the least used cables (after T. Hoefler, T. Schneider and A. Lumsdaine, "Optimized routing for
//! large-scale InfiniBand networks", HOTI 2009): one destination after another takes, of all shortest ways, those over the cables with the
//! fewest routes so far.
//!
//! Where some switches have no hosts, as in a tree, the hosts of a switch are handed out together ([`Routes::hand_out`]). Elsewhere each
//! host's ways are searched for, and in further passes again, now that all others have theirs ([`Routes::search`]).
//!
//! Two routes that share several cables in a row disturb each other no more than two that share one. So what a cable costs is the number of
//! routes that are on it and were not on the cable before it. Routes then bundle where they can: flows get more, and there are fewer turns
//! from cable to cable, so that fewer virtual lanes are needed to keep them free of circles.
//!
//! With [`crate::Throttled::Weigh`] a route costs the more on a cable the fewer shares of the routes this should have.

use crate::Options;
use crate::graph::Graph;
use crate::order::{Order, is_real_host};
use crate::precedence::Precedence;
use crate::ways::{Cables, Held, NONE, Ways};
use heddle_fabric::{EndPort, Fabric, Lid, NO_PORT, SwitchIndex, Tables};
use rayon::prelude::*;

/// Fills the tables of a connected fabric.
pub(crate) fn fill(tables: &mut Tables, fabric: &Fabric, graph: &Graph, order: &Order, options: &Options) {
    let mut routes = Routes::new(fabric, graph, order, options);
    routes.spread(tables);
    routes.finish(tables);
}

/// How often the ways to each host are searched for. More changes little.
const PASSES: usize = 3;

/// The routes to a LID.
#[derive(Clone, Copy)]
pub(crate) struct Tree {
    pub(crate) lid: Lid,
    /// The switch that carries it.
    pub(crate) target: u32,
    /// Whether it is a host's, whose routes are spread before all others.
    carries: bool,
    /// Whether packets come from all switches, and not only from those with hosts.
    pub(crate) from_everywhere: bool,
}

/// The routes of a fabric, while they are made.
pub(crate) struct Routes<'a> {
    fabric: &'a Fabric,
    graph: &'a Graph,
    pub(crate) cables: Cables,
    /// By switch: how many hosts send from there.
    hosts: &'a [u32],
    pub(crate) trees: Vec<Tree>,
    /// LIDs whose routes are those of another LID of the same switch.
    pub(crate) followers: Vec<(Lid, Lid)>,
    /// Whether one switch's hosts are routed after another's.
    by_switch: bool,
    held: Held,
    /// By cable: the routes on it.
    load: Vec<u32>,
    /// By turn: the routes that take it; empty until they are counted.
    turn: Vec<u32>,
}

impl<'a> Routes<'a> {
    pub(crate) fn new(fabric: &'a Fabric, graph: &'a Graph, order: &'a Order, options: &Options) -> Self {
        let by_switch = order.hosts.contains(&0);
        let (trees, followers) = in_turn(fabric, graph, order, options, by_switch);
        let cables = Cables::new(fabric, graph);
        let (load, turn) = (vec![0; cables.len()], Vec::new());
        Self { fabric, graph, cables, hosts: &order.hosts, trees, followers, by_switch, held: Held::default(), load, turn }
    }

    /// Fills the tables for all trees, but at their targets.
    pub(crate) fn spread(&mut self, tables: &mut Tables) {
        if self.by_switch {
            self.hand_out(tables);
            return;
        }
        // Without bounds to what may follow what.
        let free = vec![u32::MAX; self.cables.turn_count()];
        for pass in 0..PASSES {
            self.search(tables, &free, |_| true, pass > 0);
        }
    }

    /// Gives the trees that do not have any the routes of others, and the targets their last ports.
    pub(crate) fn finish(&self, tables: &mut Tables) {
        let row_len = tables.row_len();
        tables.rows_mut().par_chunks_mut(row_len).for_each(|row| {
            self.followers.iter().for_each(|&(lid, leader)| row[lid.index()] = row[leader.index()]);
        });
        for end in self.fabric.end_ports() {
            end.lids().for_each(|lid| tables.row_mut(end.switch)[lid.index()] = end.switch_port);
        }
    }

    /// How many routes take a turn, as far as they are counted.
    pub(crate) fn on_turn(&self, turn: usize) -> u32 {
        self.turn.get(turn).copied().unwrap_or(0)
    }

    /// Calls `each` with runs of trees, while the ways to their targets are held.
    pub(crate) fn in_runs(&mut self, mut each: impl FnMut(&mut Self, std::ops::Range<usize>, &Held)) {
        for run in Held::runs(&self.trees, self.graph.len(), &self.cables, |tree| tree.target) {
            let mut held = std::mem::take(&mut self.held);
            held.hold(self.graph, &self.cables, self.trees[run.clone()].iter().map(|tree| tree.target));
            each(self, run, &held);
            self.held = held;
        }
    }

    /// Each switch, the farthest first, hands what it has for the LIDs of a target to its cables: always the next to that over which
    /// the way is the cheapest.
    fn hand_out(&mut self, tables: &mut Tables) {
        let row_len = tables.row_len();
        let mut other_load = vec![0; self.cables.len()];
        let mut room = HandOut::default();
        self.in_runs(|routes, run, held| {
            let mut ports: Vec<Vec<u8>> = Vec::new();
            let groups = routes.trees[run].chunk_by(|a, b| (a.target, a.carries) == (b.target, b.carries));
            for trees in groups.clone() {
                let load = if trees[0].carries { &mut routes.load } else { &mut other_load };
                let (cables, ways) = (&routes.cables, held.to(trees[0].target));
                ports.push(match &cables.price[..] {
                    [] => room.run(cables, routes.hosts, ways, trees.len(), load, |_| 1),
                    price => room.run(cables, routes.hosts, ways, trees.len(), load, |cable| price[cable as usize]),
                });
            }
            // Row by row, since that is how tables are in memory.
            tables.rows_mut().par_chunks_mut(row_len).enumerate().for_each(|(switch, row)| {
                for (trees, ports) in groups.clone().zip(&ports) {
                    let ports = &ports[switch * trees.len()..][..trees.len()];
                    trees.iter().zip(ports).for_each(|(tree, &port)| row[tree.lid.index()] = port);
                }
            });
        });
    }

    /// Searches ways for some trees. Where there are ways over turns that have a bit in common in `allowed`, these come first. `again` if the
    /// trees have ways already.
    pub(crate) fn search(&mut self, tables: &mut Tables, allowed: &[u32], some: impl Fn(usize) -> bool, again: bool) {
        if self.turn.is_empty() {
            self.turn.resize(self.cables.turn_count(), 0);
            if again {
                self.count_all(tables);
            }
        }
        let mean_load = match again {
            true => self.load.iter().map(|&load| u64::from(load)).sum::<u64>() / self.cables.len().max(1) as u64,
            false => mean_load(self.graph, &self.cables, self.hosts, &self.trees),
        };
        let mean_price = self.cables.price.iter().sum::<u64>().checked_div(self.cables.price.len() as u64).unwrap_or(1);
        let new_turn = mean_load * mean_price * 3 / 2;
        let mut search = Search::new(self.graph.len());
        self.in_runs(|routes, run, held| {
            for at in run.filter(|&at| some(at)) {
                let tree = routes.trees[at];
                let ways = held.to(tree.target);
                if again {
                    search.read(routes.fabric, &routes.cables, tables, ways, tree.lid);
                    routes.count(&mut search, ways, tree, u32::wrapping_sub);
                }
                let (cables, used) = (&routes.cables, (&routes.load[..], &routes.turn[..]));
                match &cables.price[..] {
                    [] => search.find(cables, ways, used, |_| 1, allowed, new_turn),
                    price => search.find(cables, ways, used, |cable| price[cable as usize], allowed, new_turn),
                }
                routes.count(&mut search, ways, tree, u32::wrapping_add);
                search.write(&routes.cables, tables, ways, tree.lid);
            }
        });
    }

    /// Counts the routes that are handed out.
    fn count_all(&mut self, tables: &Tables) {
        self.load.fill(0);
        let mut search = Search::new(self.graph.len());
        self.in_runs(|routes, run, held| {
            for at in run {
                let tree = routes.trees[at];
                search.read(routes.fabric, &routes.cables, tables, held.to(tree.target), tree.lid);
                routes.count(&mut search, held.to(tree.target), tree, u32::wrapping_add);
            }
        });
    }

    /// Adds the routes of a tree to the loads, or takes them away.
    fn count(&mut self, search: &mut Search, ways: &Ways, tree: Tree, change: fn(u32, u32) -> u32) {
        if !tree.carries {
            return;
        }
        let through = &mut search.through;
        through.copy_from_slice(self.hosts);
        for (switch, _) in ways.steps().rev() {
            let cable = search.next[switch as usize];
            let peer = self.cables.peer[cable as usize];
            let routes = through[switch as usize];
            self.load[cable as usize] = change(self.load[cable as usize], routes);
            if peer != tree.target {
                let turn = self.cables.turn(cable, search.next[peer as usize]);
                self.turn[turn] = change(self.turn[turn], routes);
                through[peer as usize] += routes;
            }
        }
    }
}

fn mean_load(graph: &Graph, cables: &Cables, hosts: &[u32], trees: &[Tree]) -> u64 {
    let mut lids = vec![0u64; graph.len()];
    trees.iter().filter(|tree| tree.carries).for_each(|tree| lids[tree.target as usize] += 1);
    let hops_to = |target: usize| -> u64 {
        let hops = graph.hops([target]);
        hops.iter().zip(hosts).map(|(&hops, &hosts)| u64::from(hops) * u64::from(hosts)).sum()
    };
    let sum: u64 = lids.par_iter().enumerate().filter(|(_, lids)| **lids > 0).map(|(target, lids)| lids * hops_to(target)).sum();
    sum / cables.len().max(1) as u64
}

/// The trees in the order in which they are routed, and the LIDs that follow others.
///
/// First come those that the user wants first. Where some switches have no hosts, one switch's hosts come after another's: they then take one way up after another, and those of all
/// switches the same. Where all have, one host of each switch comes after another, so that no switch's hosts get only what the others left.
/// What comes with a switch follows its hosts if it has some, and is routed after them otherwise.
fn in_turn(fabric: &Fabric, graph: &Graph, order: &Order, options: &Options, by_switch: bool) -> (Vec<Tree>, Vec<(Lid, Lid)>) {
    let precedence = Precedence::new(fabric, &options.routing_order);
    let any_host = fabric.end_ports().iter().any(|end| is_real_host(fabric, end));
    let mut leaders: Vec<Vec<Lid>> = vec![Vec::new(); fabric.switch_count()];
    let mut trees = Vec::new();
    let (carriers, others): (Vec<&EndPort>, Vec<&EndPort>) =
        fabric.end_ports().iter().partition(|end| !any_host || is_real_host(fabric, end));
    for end in carriers {
        let leaders = &mut leaders[end.switch.index()];
        for lid in end.lids() {
            let tree = Tree { lid, target: end.switch.0, carries: true, from_everywhere: end.is_host() };
            trees.push((precedence.of(end), leaders.len(), tree));
            leaders.push(lid);
        }
    }
    let mut followers = Vec::new();
    for end in others {
        for lid in end.lids() {
            match &leaders[end.switch.index()][..] {
                [] => {
                    let tree = Tree { lid, target: end.switch.0, carries: false, from_everywhere: end.is_host() };
                    trees.push((precedence.of(end), 0, tree));
                }
                leaders => followers.push((lid, leaders[(order.rank[end.switch.index()] as usize + lid.index()) % leaders.len()])),
            }
        }
    }
    let place = |tree: &Tree| match by_switch {
        true => u64::from(order.rank[tree.target as usize]),
        false => graph.tie(tree.target as usize),
    };
    trees.sort_by_key(|(first, turn, tree)| (!tree.carries, *first, if by_switch { 0 } else { *turn }, place(tree), *turn, tree.lid));
    (trees.into_iter().map(|(.., tree)| tree).collect(), followers)
}

/// The ways of one tree.
struct Search {
    /// By switch: the cable that it takes.
    next: Vec<u32>,
    /// By switch: the routes that it disturbs on its way.
    cost: Vec<u64>,
    /// By switch: what is allowed all the way, as bits.
    allowed: Vec<u32>,
    /// By switch: the routes that come by.
    through: Vec<u32>,
}

impl Search {
    fn new(switches: usize) -> Self {
        Self { next: vec![NONE; switches], cost: vec![0; switches], allowed: vec![0; switches], through: vec![0; switches] }
    }

    /// `price` is what a route costs on a cable.
    fn find(
        &mut self,
        cables: &Cables,
        ways: &Ways,
        (load, turns): (&[u32], &[u32]),
        price: impl Fn(u32) -> u64,
        allowed: &[u32],
        new_turn: u64,
    ) {
        self.allowed[ways.target() as usize] = u32::MAX;
        self.cost[ways.target() as usize] = 0;
        for (switch, nearer) in ways.steps() {
            let (mut best, mut best_cable, mut best_allowed) = ((true, u64::MAX), NONE, 0);
            for &cable in nearer {
                let peer = cables.peer[cable as usize];
                let mut cost = u64::from(load[cable as usize]) * price(cable);
                let mut bits = u32::MAX;
                if peer != ways.target() {
                    let next = self.next[peer as usize];
                    let turn = cables.turn(cable, next);
                    bits = self.allowed[peer as usize] & allowed[turn];
                    let shared = u64::from(turns[turn]);
                    cost += self.cost[peer as usize] - shared * price(next) + if shared == 0 { new_turn } else { 0 };
                }
                if (bits == 0, cost) < best {
                    (best, best_cable, best_allowed) = ((bits == 0, cost), cable, bits);
                }
            }
            self.cost[switch as usize] = best.1;
            self.next[switch as usize] = best_cable;
            self.allowed[switch as usize] = best_allowed;
        }
    }

    fn read(&mut self, fabric: &Fabric, cables: &Cables, tables: &Tables, ways: &Ways, lid: Lid) {
        for (switch, _) in ways.steps() {
            let at = SwitchIndex(switch);
            self.next[switch as usize] = cables.by_channel(fabric.channel(at, tables.row(at)[lid.index()]));
        }
    }

    fn write(&self, cables: &Cables, tables: &mut Tables, ways: &Ways, lid: Lid) {
        let row_len = tables.row_len();
        let rows = tables.rows_mut();
        for (switch, _) in ways.steps() {
            rows[switch as usize * row_len + lid.index()] = cables.port[self.next[switch as usize] as usize];
        }
    }
}

/// The trees to one target, made together.
#[derive(Default)]
struct HandOut {
    /// By switch: the sum of the loads on the cheapest way.
    cost: Vec<u64>,
    /// By switch: the highest price of a cable on that way.
    price: Vec<u64>,
    /// The costs over each cable that leads nearer, in the order of the ways.
    over: Vec<u64>,
    /// By switch and tree: the routes that come by.
    through: Vec<u32>,
}

impl HandOut {
    /// By switch and tree, the ports. `price` is what a route costs on a cable.
    fn run(&mut self, cables: &Cables, hosts: &[u32], ways: &Ways, trees: usize, load: &mut [u32], price: impl Fn(u32) -> u64) -> Vec<u8> {
        self.cost.clear();
        self.cost.resize(hosts.len(), 0);
        self.price.clear();
        self.price.resize(hosts.len(), 0);
        self.over.clear();
        for (switch, nearer) in ways.steps() {
            let (mut least, mut best) = (u64::MAX, NONE);
            for &cable in nearer {
                let cost = u64::from(load[cable as usize]) * price(cable) + self.cost[cables.peer[cable as usize] as usize];
                self.over.push(cost);
                if cost < least {
                    (least, best) = (cost, cable);
                }
            }
            self.cost[switch as usize] = least;
            self.price[switch as usize] = price(best).max(self.price[cables.peer[best as usize] as usize]);
        }
        self.through.clear();
        hosts.iter().for_each(|&hosts| self.through.extend(std::iter::repeat_n(hosts, trees)));
        let mut ports = vec![NO_PORT; hosts.len() * trees];
        let all = hosts.iter().map(|&hosts| u64::from(hosts)).sum();
        for (switch, nearer) in ways.steps().rev() {
            let start = self.over.len() - nearer.len();
            let over = &mut self.over[start..];
            let at = switch as usize * trees;
            let mut best = cheapest(over);
            for tree in 0..trees {
                let cable = nearer[best] as usize;
                ports[at + tree] = cables.port[cable];
                let routes = self.through[at + tree];
                if routes > 0 {
                    load[cable] += routes;
                    self.through[cables.peer[cable] as usize * trees + tree] += routes;
                    // Others are to be expected to do the same, so that the cables further on get the routes of all.
                    let others = if cables.peer[cable] == ways.target() { u64::from(routes) } else { all };
                    over[best] += others * price(nearer[best]).max(self.price[cables.peer[cable] as usize]);
                    best = cheapest(over);
                }
            }
            self.over.truncate(start);
        }
        ports
    }
}

/// The place of the first that costs least.
fn cheapest(costs: &[u64]) -> usize {
    let (mut best, mut least) = (0, u64::MAX);
    for (place, &cost) in costs.iter().enumerate() {
        if cost < least {
            (best, least) = (place, cost);
        }
    }
    best
}
