//! Routes that close no circle, on as many virtual lanes as there may be and on one as well, after J. Domke, T. Hoefler and S. Matsuoka,
//! "Routing on the dependency graph: a new approach to deadlock-free high-performance routing" (HPDC 2016).
//!
//! The destinations are split over layers, which are VLs. In a layer, routes are looked for among the dependencies between edges: a route
//! never takes one that would close a circle with those in use. The dependencies of a spanning tree are in every layer from the start and
//! close none, so that there is always a way.
//!
//! Here this is done in two steps. The first grows a tree for each destination switch ([`layer`]) and leaves behind an order of all edges in
//! each layer. The second takes nothing but this order: every way along rising edges is good, whether a tree had it or not, so that each
//! LID gets the least loaded of the shortest ones ([`ways`]), without a search for circles.
//!
//! A destination goes into the first layer in which all ways to it can be shortest ones. Those for which there is none are shared out among
//! the layers, and get detours.
//!
//! Where some switches have no hosts and climbing and descending is as short as anything, as in trees, the routes are those of up-down,
//! with their digits for the spread.

mod climbing;
mod escape;
mod layer;
mod loads;
mod net;
mod ways;

use crate::acyclic::Channels;
use crate::graph::Graph;
use crate::numbers::Numbers;
use crate::order::{Order, is_real_host};
use crate::{Options, spread, up_down};
use escape::Escape;
use heddle_fabric::{DROP_VL, EndPort, Fabric, Lanes, Levels, Lid, Tables};
use layer::{Layer, Tree};
use loads::Loads;
use net::Net;
use rayon::prelude::*;
use ways::Ways;

/// Fills the tables, with SLs if it takes more than one VL.
pub(crate) fn fill(tables: &mut Tables, fabric: &Fabric, graph: &Graph, order: &Order, options: &Options) {
    let directions = up_down::Directions::new(graph, order);
    if order.hosts.contains(&0) && climbing::is_short(graph, order, &directions) {
        let numbers = Numbers::new(fabric, order, options);
        return spread::fill(tables, fabric, graph, order, &numbers, |targets, ways| up_down::ways(&directions, targets, ways));
    }
    let net = Net::new(graph, order);
    let targets = Targets::new(fabric, &net, order);
    let plan = Plan::new(&net, &targets.switches, usize::from(options.max_vls.clamp(1, DROP_VL)));
    let mut levels = vec![u8::MAX; tables.row_len()];
    let mut loads = Loads::new(&net);
    // So many at once bounds the memory.
    for (number, switches) in targets.switches.chunks(AT_ONCE).enumerate() {
        let first = number * AT_ONCE;
        let ways: Vec<Ways> = (first..first + switches.len()).into_par_iter().map(|target| plan.ways(&net, target)).collect();
        for (number, end, lid) in targets.in_turn(switches) {
            let row_len = tables.row_len();
            let rows = tables.rows_mut();
            let write = |switch: u32, port| rows[net.switch[switch as usize].index() * row_len + lid.index()] = port;
            loads.choose(&net, &ways[number], switches[number], is_real_host(fabric, end), write);
            tables.row_mut(end.switch)[lid.index()] = end.switch_port;
            levels[lid.index()] = plan.targets[first + number].layer as u8;
        }
    }
    if plan.layers.len() > 1 {
        tables.set_lanes(Some(Lanes::uniform(Levels::ByDestination(levels), Lanes::IDENTITY)));
    }
}

const AT_ONCE: usize = 1024;

/// The first step: which layers there are, and which destinations are in them.
struct Plan {
    layers: Vec<Layer>,
    targets: Vec<Target>,
}

struct Target {
    switch: u32,
    layer: usize,
    /// By switch: the edge that it takes in the tree that was grown.
    tree: Vec<u32>,
}

impl Plan {
    fn new(net: &Net, switches: &[u32], most: usize) -> Self {
        let channels = Channels::new(net.base.clone(), net.head.clone());
        let escape = Escape::new(net);
        let mut layers: Vec<Layer> = Vec::new();
        let mut targets: Vec<Target> = switches.iter().map(|&switch| Target { switch, layer: 0, tree: Vec::new() }).collect();
        let mut tree = Tree::default();
        let mut left: Vec<&mut Target> = targets.iter_mut().collect();
        while !left.is_empty() && layers.len() < most {
            // Only the last can have to take destinations that fit nowhere.
            let mut layer = Layer::new(net, &channels, (layers.len() == most - 1).then_some(&escape));
            left.retain_mut(|target| {
                let fits = layer.take_if_shortest(net, &channels, target.switch, &mut tree);
                if fits {
                    target.put(layers.len(), &tree);
                }
                !fits
            });
            layers.push(layer);
        }
        for (turn, target) in left.into_iter().enumerate() {
            let mut number = turn % most;
            if number == most - 1 || !layers[number].take_if_complete(net, &channels, &escape, target.switch, &mut tree) {
                number = most - 1;
                layers[number].take(net, &channels, &escape, target.switch, &mut tree);
            }
            target.put(number, &tree);
        }
        Self { layers, targets }
    }

    /// The second step, for one destination.
    fn ways(&self, net: &Net, number: usize) -> Ways {
        let target = &self.targets[number];
        Ways::new(net, self.layers[target.layer].places(), &target.tree, target.switch)
    }
}

impl Target {
    fn put(&mut self, layer: usize, tree: &Tree) {
        self.layer = layer;
        self.tree = tree.edge.clone();
    }
}

/// The destinations.
struct Targets<'a> {
    /// The switches that carry LIDs, in the order of the tree in which each hangs below its highest neighbour. Those that follow one another
    /// are near each other and need much the same dependencies: a dragonfly's routes are shorter by this than in any other order.
    switches: Vec<u32>,
    /// By switch.
    lids: Vec<Vec<(&'a EndPort, Lid)>>,
    /// Whether all of a switch's LIDs come one after another.
    by_switch: bool,
}

impl<'a> Targets<'a> {
    fn new(fabric: &'a Fabric, net: &Net, order: &Order) -> Self {
        let mut lids = vec![Vec::new(); net.len()];
        for end in fabric.end_ports() {
            lids[net.number[end.switch.index()] as usize].extend(end.lids().map(|lid| (end, lid)));
        }
        let mut switches: Vec<u32> = (0..net.len() as u32).filter(|&switch| !lids[switch as usize].is_empty()).collect();
        switches.sort_unstable_by_key(|&switch| order.rank[net.switch[switch as usize].index()]);
        Self { switches, lids, by_switch: net.hosts.contains(&0) }
    }

    /// The LIDs of some of the switches, each with its switch's number among these, as the engine sssp takes them: where some switches have
    /// no hosts, one switch's after another's, else one of each switch after another, so that no switch gets only what the others left.
    fn in_turn(&self, switches: &[u32]) -> Vec<(usize, &'a EndPort, Lid)> {
        let turns = |(number, &switch): (usize, &u32)| {
            let turn = move |turn| if self.by_switch { 0 } else { turn };
            self.lids[switch as usize].iter().enumerate().map(move |(at, &(end, lid))| (turn(at), number, end, lid))
        };
        let mut all: Vec<_> = switches.iter().enumerate().flat_map(turns).collect();
        all.sort_by_key(|&(turn, ..)| turn);
        all.into_iter().map(|(_, number, end, lid)| (number, end, lid)).collect()
    }
}
