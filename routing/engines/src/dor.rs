//! Dimension-order routing on grids, HyperX included: along the first dimension until the coordinate is right, then along the second, and so on.
//!
//! Turns from a later dimension to an earlier one do not happen, so circles of waiting can only be in a ring. On a torus the SL of a route
//! has a bit for each ring dimension that says whether the route crosses the ring's *dateline*, between the last coordinate and the first;
//! the switches map the SL to VL 1 on the cables of this dimension if the bit is set, and else to VL 0. What does not cross never uses the
//! cable of the dateline, and what crosses goes half round at most: neither closes a circle (the scheme of OpenSM's torus-2QoS).
//!
//! Where cables or switches are lost, a route takes the way that keeps the order of dimensions if there is one, else the one that breaks it
//! least. The verifier says whether such routes are still free of deadlock: after a few lost cables they are, round a lost switch not always.

use crate::graph::Graph;
use crate::{Engine, Options, Refusal};
use heddle_fabric::{Dimension, EndPort, Fabric, Grid, Guid, Lanes, Levels, NoGrid, Row, SwitchIndex, Tables};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Rings as long as this need two VLs; in shorter ones a route has one hop at most, or a square is two dimensions.
const SHORTEST_RING: u32 = 4;

/// Fills the tables, and for [`Engine::Torus`] the SLs and VLs.
pub(crate) fn fill(engine: Engine, tables: &mut Tables, fabric: &Fabric, graph: &Graph, options: &Options) -> Result<(), Refusal> {
    let grid = Grid::find(fabric).map_err(|NoGrid { reason, culprits }| Refusal {
        engine,
        reason: format!(
            "the fabric is no mesh, torus, hypercube or HyperX: {reason}{}",
            if culprits.is_empty() { "" } else { "; the first such switches" }
        ),
        culprits,
        remedy: "Use auto, which goes by the shape, or dfsssp, nue or up-down, which route any.".to_owned(),
    })?;
    let steps = steps(graph, &grid);
    let ranks = ranks(engine, fabric, graph, &steps, &options.port_order, grid.dimensions.len())?;
    let bits: Vec<Option<u8>> = dateline_bits(&grid.dimensions);
    if engine == Engine::Torus && bits.iter().flatten().count() > 4 {
        return Err(Refusal {
            engine,
            reason: "the torus has more than four dimensions that are rings, and there are SLs for four".to_owned(),
            culprits: Vec::new(),
            remedy: "Use dfsssp.".to_owned(),
        });
    }
    let row_len = tables.row_len();
    let count = fabric.switch_count();
    let mut levels = vec![crate::layers::NO_LEVEL; count * row_len];
    let mut ends: Vec<Vec<&EndPort>> = vec![Vec::new(); count];
    fabric.end_ports().iter().for_each(|end| ends[end.switch.index()].push(end));
    let mut search = Search::new(count, ranks);
    let mut ports = Vec::new();
    for (target, ends) in ends.iter().enumerate().filter(|(_, ends)| !ends.is_empty()) {
        search.run(graph, &grid, &steps, target);
        let mut level = vec![0u8; count];
        for &switch in &search.order {
            let switch = switch as usize;
            let edge = search.edge[switch];
            ports.clear();
            if edge != NONE {
                let edge = edge as usize;
                graph.turns(&[edge], &mut ports);
                let (dimension, forward) = steps[edge];
                let here = grid.place(SwitchIndex(switch as u32))[dimension];
                let last = grid.dimensions[dimension].length - 1;
                let crosses = if forward { here == last } else { here == 0 };
                let bit = bits[dimension].filter(|_| crosses).map_or(0, |bit| 1 << bit);
                level[switch] = level[graph.peer(edge)] | bit;
            }
            for (turn, end) in ends.iter().enumerate() {
                for (offset, lid) in end.lids().enumerate() {
                    levels[switch * row_len + lid.index()] = level[switch];
                    if edge != NONE {
                        tables.rows_mut()[switch * row_len + lid.index()] = ports[(turn + offset) % ports.len()];
                    }
                }
            }
        }
        for end in ends {
            end.lids().for_each(|lid| tables.row_mut(end.switch)[lid.index()] = end.switch_port);
        }
    }
    if engine == Engine::Torus && bits.iter().any(Option::is_some) {
        tables.set_lanes(Some(lanes(fabric, graph, &steps, &bits, Levels::ByPair(levels))));
    }
    Ok(())
}

/// The dimension of an edge, and whether it leads to the next coordinate and not to the one before.
type Step = (usize, bool);

/// By edge.
fn steps(graph: &Graph, grid: &Grid) -> Vec<Step> {
    let index = |switch: usize| SwitchIndex(switch as u32);
    let of = |switch: usize| graph.peers(switch).iter().map(move |&peer| (switch, peer as usize));
    let pairs = (0..graph.len()).flat_map(of);
    pairs.map(|(from, to)| grid.step(index(from), index(to)).expect("no two switches are at one place")).collect()
}

/// By dimension: its place in the order in which routes take them. This is the order of the user's ports, and of the dimensions' numbers where
/// these say nothing.
fn ranks(
    engine: Engine,
    fabric: &Fabric,
    graph: &Graph,
    steps: &[Step],
    port_order: &BTreeMap<Guid, Vec<u8>>,
    dimensions: usize,
) -> Result<Vec<usize>, Refusal> {
    let listed: Vec<usize> =
        (0..graph.len()).filter(|&switch| port_order.contains_key(&fabric.switch(SwitchIndex(switch as u32)).guid)).collect();
    // By listed switch and dimension: the place of the first port, if there is one.
    let first_port = |switch: usize, dimension: usize| {
        let edges = graph.edges(switch).filter(|&edge| steps[edge].0 == dimension);
        edges.flat_map(|edge| graph.ports(edge)).map(|&port| graph.port_place(switch, port)).min()
    };
    let places: Vec<Vec<Option<u8>>> =
        listed.iter().map(|&switch| (0..dimensions).map(|dimension| first_port(switch, dimension)).collect()).collect();
    let mut ranks = vec![0; dimensions];
    let mut left: Vec<usize> = (0..dimensions).collect();
    for rank in 0..dimensions {
        let is_before = |places: &[Option<u8>], a: usize, b: usize| places[a].zip(places[b]).is_some_and(|(a, b)| a < b);
        let is_next = |&dimension: &usize| !places.iter().any(|places| left.iter().any(|&other| is_before(places, other, dimension)));
        let Some(next) = left.iter().position(is_next) else {
            return Err(Refusal {
                engine,
                reason: "the ports of these switches are in orders (--port-order) that take the dimensions in different orders".to_owned(),
                culprits: listed.into_iter().map(|switch| fabric.switches()[switch]).collect(),
                remedy: "List the ports of each switch in the same order of dimensions, or of one switch only.".to_owned(),
            });
        };
        ranks[left.remove(next)] = rank;
    }
    Ok(ranks)
}

/// By dimension: the bit of the SL that says whether a route crosses its dateline.
fn dateline_bits(dimensions: &[Dimension]) -> Vec<Option<u8>> {
    let mut next = 0;
    let mut bit = |dimension: &Dimension| {
        let needed = dimension.row == Row::Ring && dimension.length >= SHORTEST_RING;
        next += u8::from(needed);
        needed.then(|| next - 1)
    };
    dimensions.iter().map(&mut bit).collect()
}

fn lanes(fabric: &Fabric, graph: &Graph, steps: &[Step], bits: &[Option<u8>], levels: Levels) -> Lanes {
    let mut lanes = Lanes::by_ports(fabric, levels, [0; 16]);
    for switch in 0..graph.len() {
        let index = SwitchIndex(switch as u32);
        for edge in graph.edges(switch) {
            let Some(bit) = bits[steps[edge].0] else { continue };
            let row = std::array::from_fn(|sl| (sl >> bit & 1) as u8);
            for &port in graph.ports(edge) {
                (0..=fabric.switch(index).num_ports).for_each(|from| lanes.set_row(index, from, port, row));
            }
        }
    }
    lanes
}

const NONE: u32 = u32::MAX;

/// How bad a way is: turns against the order of dimensions, then hops, then how far a ring is gone round the wrong way on a tie.
type Cost = (u32, u32, u32);

/// The ways to one switch, from it backward.
struct Search {
    cost: Vec<Cost>,
    /// By switch: the edge that it takes.
    edge: Vec<u32>,
    /// All switches that have a way, each after the next on it.
    order: Vec<u32>,
    /// By dimension: its place among those that routes take.
    ranks: Vec<usize>,
}

impl Search {
    fn new(count: usize, ranks: Vec<usize>) -> Self {
        Self { cost: vec![(u32::MAX, 0, 0); count], edge: vec![NONE; count], order: Vec::new(), ranks }
    }

    fn run(&mut self, graph: &Graph, grid: &Grid, steps: &[Step], target: usize) {
        self.cost.fill((u32::MAX, 0, 0));
        self.edge.fill(NONE);
        self.order.clear();
        self.cost[target] = (0, 0, 0);
        let mut done = vec![false; graph.len()];
        let mut heap = BinaryHeap::from([Reverse(((0, 0, 0), target as u32))]);
        while let Some(Reverse((cost, switch))) = heap.pop() {
            let switch = switch as usize;
            if std::mem::replace(&mut done[switch], true) {
                continue;
            }
            self.order.push(switch as u32);
            let next = Some(self.edge[switch]).filter(|&edge| edge != NONE).map(|edge| steps[edge as usize]);
            for &peer in graph.peers(switch) {
                let peer = peer as usize;
                let Some(edge) = graph.edges(peer).find(|&edge| graph.peer(edge) == switch) else { continue };
                let (dimension, forward) = steps[edge];
                let breaks = u32::from(next.is_some_and(|(next, next_forward)| {
                    // Where a row of neighbours lacks a cable, a detour goes to earlier coordinates first: this, too, closes no circle.
                    let turns_back = next == dimension && grid.dimensions[dimension].row == Row::Full && forward && !next_forward;
                    turns_back || self.ranks[next] < self.ranks[dimension]
                }));
                // Half round a ring both ways are as long: every other switch takes the other.
                let parity = grid.place(SwitchIndex(peer as u32)).iter().sum::<u32>() % 2 == 0;
                let better = (cost.0 + breaks, cost.1 + 1, u32::from(parity == forward));
                if !done[peer] && better < self.cost[peer] {
                    self.cost[peer] = better;
                    self.edge[peer] = edge as u32;
                    heap.push(Reverse((better, peer as u32)));
                }
            }
        }
    }
}
