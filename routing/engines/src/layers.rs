//! Routes on several virtual lanes.
//!
//! A layer is a set of turns from cable to cable that close no circle. A route fits in it if all its turns are in the set. So layers are
//! chosen without a look at single routes: the first takes the turns that most routes need, as long as they close no circle, the second
//! those that most of the routes need which do not fit in the first, and so on.

use crate::acyclic::{Acyclic, Channels};
use crate::graph::bits;
use crate::sssp::{Routes, Tree};
use crate::ways::{Cables, NONE, Ways};
use heddle_fabric::{Fabric, NodeIndex, SwitchIndex, Tables};
use rayon::prelude::*;
use std::cmp::Reverse;

/// The service level of no route.
pub(crate) const NO_LEVEL: u8 = u8::MAX;

/// The layers of a fabric's routes.
pub(crate) struct Layers {
    /// By turn: the layers that have it, as bits.
    pub(crate) allowed: Vec<u32>,
    pub(crate) count: usize,
    /// By switch.
    has_hosts: Vec<bool>,
}

/// The routes that fit in no layer.
pub(crate) struct Left {
    /// By tree: whether it has such routes.
    pub(crate) trees: Vec<bool>,
    /// How many there are, and how many routes there are at all.
    pub(crate) routes: (u64, u64),
    /// By turn: how many need it.
    turns: Vec<u32>,
}

impl Layers {
    pub(crate) fn new(fabric: &Fabric, cables: &Cables) -> Self {
        let mut has_hosts = vec![false; fabric.switch_count()];
        fabric.end_ports().iter().filter(|end| end.is_host()).for_each(|end| has_hosts[end.switch.index()] = true);
        Self { allowed: vec![0; cables.turn_count()], count: 0, has_hosts }
    }

    /// The routes for which there is no room yet.
    pub(crate) fn left(&self, fabric: &Fabric, routes: &mut Routes<'_>, tables: &Tables) -> Left {
        let mut left = Left { trees: vec![false; routes.trees.len()], routes: (0, 0), turns: vec![0; self.allowed.len()] };
        routes.in_runs(|routes, run, held| {
            let share = run.len().div_ceil(rayon::current_num_threads()).max(1);
            let trees = routes.trees[run.clone()].par_chunks(share).zip(left.trees[run].par_chunks_mut(share));
            let parts = trees.map(|(trees, stuck)| {
                let mut walk = Walk::new(self, fabric, &routes.cables, tables);
                let mut turns = vec![0; self.allowed.len()];
                let mut count = (0, 0);
                for (&tree, stuck) in trees.iter().zip(stuck) {
                    let (lost, all) = walk.count_left(held.to(tree.target), tree, &mut turns);
                    *stuck = lost > 0;
                    count = (count.0 + lost, count.1 + all);
                }
                (turns, count)
            });
            for (turns, count) in parts.collect::<Vec<_>>() {
                left.turns.iter_mut().zip(turns).for_each(|(sum, turns)| *sum += turns);
                left.routes = (left.routes.0 + count.0, left.routes.1 + count.1);
            }
        });
        left
    }

    /// Adds a layer with as much room as can be for the routes that are left; returns whether they all have room.
    pub(crate) fn add(&mut self, fabric: &Fabric, routes: &Routes<'_>, left: &Left) -> bool {
        let cables = &routes.cables;
        let bit = 1 << self.count;
        self.count += 1;
        let uses = |turn: usize| left.turns[turn] > 0 || routes.on_turn(turn) > 0;
        let circling = circling(cables, uses);
        let mut turns = Vec::new();
        for cable in 0..cables.len() as u32 {
            for (turn, next) in cables.turns_of(cable).filter(|&(turn, _)| uses(turn)) {
                if circling[cable as usize] && circling[next as usize] {
                    turns.push((turn, cable, next));
                } else {
                    self.allowed[turn] |= bit;
                }
            }
        }
        // Cables are numbered as the fabric lists its switches, which is to decide nothing.
        let name = |cable: u32| {
            let (switch, port) = fabric.channel_at(cables.channel[cable as usize] as usize);
            (fabric.switch(switch).guid, port)
        };
        turns.sort_by_cached_key(|&(turn, from, to)| (Reverse((left.turns[turn], routes.on_turn(turn))), name(from), name(to)));
        let channels = Channels::new(cables.base.clone(), cables.peer.clone());
        let mut acyclic = Acyclic::new(&channels);
        let mut all = true;
        for (turn, from, to) in turns {
            if acyclic.add(&channels, from, to) {
                self.allowed[turn] |= bit;
            } else {
                all &= left.turns[turn] == 0;
            }
        }
        all
    }

    /// For each switch and LID, in rows as long as those of the tables, the layer of the route; [`NO_LEVEL`] where no packets go. Each layer
    /// gets as many routes as the others, as far as these fit in it. Each route must fit in one.
    pub(crate) fn levels(&self, fabric: &Fabric, routes: &mut Routes<'_>, tables: &Tables) -> Vec<u8> {
        let row_len = tables.row_len();
        let mut levels = vec![NO_LEVEL; tables.row_len() * fabric.switch_count()];
        let mut used = vec![0u64; self.count];
        routes.in_runs(|routes, run, held| {
            let mut walk = Walk::new(self, fabric, &routes.cables, tables);
            for &tree in &routes.trees[run] {
                let ways = held.to(tree.target);
                walk.follow(ways, tree);
                levels[tree.target as usize * row_len + tree.lid.index()] = 0;
                for (switch, _) in ways.steps().filter(|&(switch, _)| self.sends(switch, tree)) {
                    let fits = bits(u64::from(walk.allowed[switch as usize])).take_while(|&layer| layer < self.count);
                    let layer = fits.min_by_key(|&layer| used[layer]).expect("each route fits in a layer");
                    used[layer] += 1;
                    levels[switch as usize * row_len + tree.lid.index()] = layer as u8;
                }
            }
        });
        for row in levels.chunks_mut(row_len) {
            routes.followers.iter().for_each(|&(lid, leader)| row[lid.index()] = row[leader.index()]);
        }
        levels
    }

    /// The switches with routes that do not fit in one of the first layers.
    pub(crate) fn begin_beyond(&self, fabric: &Fabric, routes: &mut Routes<'_>, tables: &Tables, first: u8) -> Vec<NodeIndex> {
        let mut beyond = vec![false; fabric.switch_count()];
        routes.in_runs(|routes, run, held| {
            let mut walk = Walk::new(self, fabric, &routes.cables, tables);
            for &tree in &routes.trees[run] {
                let ways = held.to(tree.target);
                walk.follow(ways, tree);
                for (switch, _) in ways.steps().filter(|&(switch, _)| self.sends(switch, tree)) {
                    beyond[switch as usize] |= walk.allowed[switch as usize] & ((1 << first) - 1) == 0;
                }
            }
        });
        beyond.iter().zip(fabric.switches()).filter(|(beyond, _)| **beyond).map(|(_, &node)| node).collect()
    }

    fn sends(&self, switch: u32, tree: Tree) -> bool {
        tree.from_everywhere || self.has_hosts[switch as usize]
    }
}

/// By cable: whether it can be on a circle of these turns. What only leads to circles, or from them, is not.
fn circling(cables: &Cables, uses: impl Fn(usize) -> bool) -> Vec<bool> {
    let mut before = vec![Vec::new(); cables.len()];
    let mut after = vec![Vec::new(); cables.len()];
    for cable in 0..cables.len() as u32 {
        for (_, next) in cables.turns_of(cable).filter(|&(turn, _)| uses(turn)) {
            after[cable as usize].push(next);
            before[next as usize].push(cable);
        }
    }
    let mut circling = vec![true; cables.len()];
    for (from, to) in [(&before, &after), (&after, &before)] {
        let mut open: Vec<u32> = from.iter().map(|from| from.iter().filter(|&&from| circling[from as usize]).count() as u32).collect();
        let mut ends: Vec<u32> = (0..cables.len() as u32).filter(|&cable| circling[cable as usize] && open[cable as usize] == 0).collect();
        while let Some(cable) = ends.pop() {
            circling[cable as usize] = false;
            for &next in &to[cable as usize] {
                open[next as usize] = open[next as usize].saturating_sub(1);
                if open[next as usize] == 0 && circling[next as usize] {
                    ends.push(next);
                }
            }
        }
    }
    circling
}

/// One tree's routes, followed from all switches.
struct Walk<'a> {
    layers: &'a Layers,
    fabric: &'a Fabric,
    cables: &'a Cables,
    tables: &'a Tables,
    /// By switch: the cable that it takes.
    next: Vec<u32>,
    /// By switch: the layers in which the route from there fits, as bits.
    allowed: Vec<u32>,
    /// By switch: how many routes come by that are left.
    left: Vec<u32>,
}

impl<'a> Walk<'a> {
    fn new(layers: &'a Layers, fabric: &'a Fabric, cables: &'a Cables, tables: &'a Tables) -> Self {
        let count = fabric.switch_count();
        Self { layers, fabric, cables, tables, next: vec![NONE; count], allowed: vec![0; count], left: vec![0; count] }
    }

    fn follow(&mut self, ways: &Ways, tree: Tree) {
        for (switch, _) in ways.steps() {
            let at = SwitchIndex(switch);
            let cable = self.cables.by_channel(self.fabric.channel(at, self.tables.row(at)[tree.lid.index()]));
            let peer = self.cables.peer[cable as usize];
            self.next[switch as usize] = cable;
            self.allowed[switch as usize] = match peer == tree.target {
                true => u32::MAX,
                false => self.allowed[peer as usize] & self.layers.allowed[self.cables.turn(cable, self.next[peer as usize])],
            };
        }
    }

    /// Adds the turns of routes that are left, and tells how many these are of how many.
    fn count_left(&mut self, ways: &Ways, tree: Tree, turns: &mut [u32]) -> (u64, u64) {
        self.follow(ways, tree);
        let mut count = (0, 0);
        for (switch, _) in ways.steps() {
            let sends = self.layers.sends(switch, tree);
            let left = sends && self.allowed[switch as usize] == 0;
            self.left[switch as usize] = u32::from(left);
            count = (count.0 + u64::from(left), count.1 + u64::from(sends));
        }
        if count.0 > 0 {
            for (switch, _) in ways.steps().rev() {
                let cable = self.next[switch as usize];
                let peer = self.cables.peer[cable as usize];
                if peer != tree.target {
                    turns[self.cables.turn(cable, self.next[peer as usize])] += self.left[switch as usize];
                    self.left[peer as usize] += self.left[switch as usize];
                }
            }
        }
        count
    }
}
