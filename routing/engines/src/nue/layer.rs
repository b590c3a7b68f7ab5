//! A virtual lane: which dependencies between edges its routes may have. A tree for each destination switch finds that out.

use super::escape::Escape;
use super::net::{NONE, Net};
use crate::acyclic::{Acyclic, Channels};

pub(super) struct Layer {
    dependencies: Acyclic,
    /// By edge: the routes of the trees over it, as 64ths for each share of its cables.
    load: Vec<u64>,
}

/// The ways to one destination switch, and room to grow them.
#[derive(Default)]
pub(super) struct Tree {
    hops: Vec<u32>,
    /// By switch: the edge that it takes.
    pub(super) edge: Vec<u32>,
    /// The switches that have a way, the nearest first.
    reached: Vec<u32>,
    /// By switch: the only edge that it may take; [`NONE`] where all do.
    bound: Vec<u32>,
    /// The dependencies that came new into the layer.
    added: Vec<(u32, u32)>,
    next: Vec<u32>,
    /// By switch: the last hop at which it came into `next`.
    seen: Vec<u32>,
    doubtful: Vec<(u64, u32)>,
    routes: Vec<u64>,
}

impl Layer {
    /// With the dependencies of the escape tree, if there is to be one. The order to begin with is arbitrary: where the trees leave it open, edges
    /// of all parts and directions are early and late. In an order that climbs and then descends, grids get more crowded at the top.
    pub(super) fn new(net: &Net, channels: &Channels, escape: Option<&Escape>) -> Self {
        let mut dependencies = Acyclic::with_order(channels, net.scattered());
        for (switch, escape) in (0..net.len() as u32).flat_map(|switch| escape.map(|escape| (switch, escape))) {
            let edges = escape.edges(net, switch);
            for from in edges.clone() {
                for to in edges.clone().filter(|&to| to != from) {
                    let fits = dependencies.add(channels, net.back[from as usize], to);
                    debug_assert!(fits, "ways in a tree close no circle");
                }
            }
        }
        Self { dependencies, load: vec![0; net.edge_count()] }
    }

    /// By edge: its place in an order such that all routes along rising edges are free of circles.
    pub(super) fn places(&self) -> &[u32] {
        self.dependencies.places()
    }

    /// Takes a destination if all ways to it can be shortest ones; else nothing changes.
    pub(super) fn take_if_shortest(&mut self, net: &Net, channels: &Channels, target: u32, tree: &mut Tree) -> bool {
        tree.begin(net);
        let fits = self.grow(net, channels, target, tree, true);
        self.keep(net, channels, target, tree, fits)
    }

    /// Takes a destination if there are ways to it from everywhere; else nothing changes.
    pub(super) fn take_if_complete(&mut self, net: &Net, channels: &Channels, escape: &Escape, target: u32, tree: &mut Tree) -> bool {
        tree.begin(net);
        self.grow(net, channels, target, tree, false);
        let fits = escape.is_complete(target, |switch| tree.hops[switch] != NONE);
        self.keep(net, channels, target, tree, fits)
    }

    /// Takes a destination, in the layer that has the escape tree. Switches that find no way are bound to that in the escape tree, one after
    /// another: when all are, all ways are the tree's, whose dependencies are there.
    pub(super) fn take(&mut self, net: &Net, channels: &Channels, escape: &Escape, target: u32, tree: &mut Tree) {
        tree.begin(net);
        self.grow(net, channels, target, tree, false);
        while escape.bind(net, target, |switch| tree.hops[switch] != NONE, &mut tree.bound) {
            self.take_back(channels, tree);
            self.grow(net, channels, target, tree, false);
        }
        self.add_load(net, target, tree);
    }

    fn keep(&mut self, net: &Net, channels: &Channels, target: u32, tree: &mut Tree, fits: bool) -> bool {
        if fits {
            self.add_load(net, target, tree);
        } else {
            self.take_back(channels, tree);
        }
        fits
    }

    fn take_back(&mut self, channels: &Channels, tree: &mut Tree) {
        tree.added.drain(..).for_each(|(from, to)| self.dependencies.remove(channels, from, to));
    }

    /// Reaches hop by hop all switches that have a way; with `all_shortest`, gives up where one has none that is shortest, and returns
    /// false.
    fn grow(&mut self, net: &Net, channels: &Channels, target: u32, tree: &mut Tree, all_shortest: bool) -> bool {
        tree.hops.fill(NONE);
        tree.edge.fill(NONE);
        tree.seen.fill(0);
        tree.hops[target as usize] = 0;
        tree.reached.clear();
        tree.reached.push(target);
        let mut front = 0;
        for hops in 1.. {
            tree.next.clear();
            for &switch in &tree.reached[front..] {
                for &peer in net.peers(switch) {
                    if tree.hops[peer as usize] == NONE && tree.seen[peer as usize] != hops {
                        tree.seen[peer as usize] = hops;
                        tree.next.push(peer);
                    }
                }
            }
            front = tree.reached.len();
            for number in 0..tree.next.len() {
                let switch = tree.next[number];
                let edge = self.edge(net, channels, switch, hops, tree);
                if edge != NONE {
                    tree.hops[switch as usize] = hops;
                    tree.edge[switch as usize] = edge;
                    tree.reached.push(switch);
                } else if all_shortest {
                    return false;
                }
            }
            if tree.reached.len() == front {
                break;
            }
        }
        true
    }

    /// The edge for a switch at a distance: one whose dependency is there, else one whose dependency goes up, else one whose dependency can
    /// be had; of these the least loaded. [`NONE`] if there is none.
    fn edge(&mut self, net: &Net, channels: &Channels, switch: u32, hops: u32, tree: &mut Tree) -> u32 {
        let mut best = (2, u64::MAX, NONE);
        tree.doubtful.clear();
        let bound = tree.bound[switch as usize];
        let places = self.dependencies.places();
        for edge in net.edges(switch) {
            let head = net.head(edge);
            if tree.hops[head] != hops - 1 || bound != NONE && bound != edge {
                continue;
            }
            let to = tree.edge[head];
            let load = self.load[edge as usize];
            if to == NONE || self.dependencies.contains(channels, edge, to) {
                best = best.min((0, load, edge));
            } else if places[edge as usize] < places[to as usize] {
                best = best.min((1, load, edge));
            } else {
                tree.doubtful.push((load, edge));
            }
        }
        match best {
            (0, _, edge) => edge,
            (1, _, edge) => self.add(net, channels, edge, tree),
            _ => {
                tree.doubtful.sort_unstable();
                for number in 0..tree.doubtful.len() {
                    let edge = self.add(net, channels, tree.doubtful[number].1, tree);
                    if edge != NONE {
                        return edge;
                    }
                }
                NONE
            }
        }
    }

    /// Adds the dependency of an edge on the next one; gives the edge, or [`NONE`] if that would close a circle.
    fn add(&mut self, net: &Net, channels: &Channels, edge: u32, tree: &mut Tree) -> u32 {
        let to = tree.edge[net.head(edge)];
        if !self.dependencies.add(channels, edge, to) {
            return NONE;
        }
        tree.added.push((edge, to));
        edge
    }

    fn add_load(&mut self, net: &Net, target: u32, tree: &mut Tree) {
        tree.routes.clear();
        tree.routes.extend(net.hosts.iter().map(|&hosts| u64::from(hosts) * u64::from(net.hosts[target as usize].max(1))));
        for &switch in tree.reached[1..].iter().rev() {
            let edge = tree.edge[switch as usize];
            let routes = tree.routes[switch as usize];
            self.load[edge as usize] += routes * 64 / net.shares[edge as usize];
            tree.routes[net.head(edge)] += routes;
        }
    }
}

impl Tree {
    fn begin(&mut self, net: &Net) {
        self.hops.resize(net.len(), NONE);
        self.edge.resize(net.len(), NONE);
        self.seen.resize(net.len(), 0);
        self.bound.clear();
        self.bound.resize(net.len(), NONE);
        self.added.clear();
    }
}
