//! Layered shortest paths (T. Skeie, O. Lysne and I. Theiss, "Layered shortest path (LASH) routing in irregular system area networks",
//! IPDPS 2002): one shortest way from each switch to each other, and a layer for each pair of switches, the same there and back.
//!
//! The hosts of a switch share its ways. Where several cables lead from a switch to the next, they share these as well: what closes no
//! circle with one cable between neighbours closes none with several.

use crate::acyclic::{Acyclic, Channels};
use crate::graph::Graph;
use crate::layers::NO_LEVEL;
use crate::order::Order;
use crate::refusal::too_many_lanes;
use crate::ways::NONE;
use crate::{Engine, Options, Refusal};
use heddle_fabric::{DROP_VL, Fabric, Lanes, Levels, NodeIndex, Tables};
use rayon::prelude::*;
use std::cmp::Reverse;

/// Fills the tables of a connected fabric.
///
/// Where some switches have no hosts, as in a tree, ways are spread, which closes few circles there or none. Elsewhere that would close many,
/// and ways by the lowest ports are taken; also if spread ways need more VLs than there may be.
pub(crate) fn fill(
    engine: Engine,
    tables: &mut Tables,
    fabric: &Fabric,
    graph: &Graph,
    order: &Order,
    options: &Options,
) -> Result<(), Refusal> {
    let max_vls = options.max_vls.min(DROP_VL);
    let spread = order.hosts.contains(&0).then(|| Pairs::new(fabric, graph, ways(graph, order, true)));
    let mut pairs = spread;
    if pairs.as_ref().is_none_or(|pairs| pairs.layers > usize::from(max_vls)) {
        let regular = Pairs::new(fabric, graph, ways(graph, order, false));
        pairs = pairs.into_iter().chain([regular]).min_by_key(|pairs| pairs.layers);
    }
    let pairs = pairs.expect("one of them was made");
    if pairs.layers > usize::from(max_vls) {
        return Err(too_many_lanes(engine, pairs.layers, options.max_vls, pairs.beyond(fabric, max_vls)));
    }
    pairs.write(tables, fabric, graph);
    if pairs.layers > 1 {
        let levels = pairs.levels(fabric, tables.row_len());
        tables.set_lanes(Some(Lanes::uniform(Levels::ByPair(levels), Lanes::IDENTITY)));
    }
    Ok(())
}

/// By target and source, the edge that a switch takes, one of those that lead nearer; [`NONE`] at the target.
///
/// If `spread`, that with the fewest routes so far. Otherwise that of the lowest port: where cables in one direction are in ports of one number,
/// ways to all targets then take the directions in the same order, so that there are few turns from one direction to another.
fn ways(graph: &Graph, order: &Order, spread: bool) -> Vec<u32> {
    let count = graph.len();
    let mut ways = vec![NONE; count * count];
    let mut load = vec![0; graph.edge_count()];
    let shares_of =
        |edge| graph.shares(edge).map_or(graph.ports(edge).len() as u64, |shares| shares.iter().map(|&share| u64::from(share)).sum());
    let shares: Vec<u64> = (0..graph.edge_count()).map(shares_of).collect();
    let mut targets: Vec<usize> = (0..count).collect();
    targets.sort_unstable_by_key(|&target| order.rank[target]);
    for target in targets {
        let hops = graph.hops([target]);
        let mut farthest_first: Vec<usize> = (0..count).filter(|&switch| switch != target).collect();
        farthest_first.sort_unstable_by_key(|&switch| (Reverse(hops[switch]), order.rank[switch]));
        let mut through = order.hosts.clone();
        for switch in farthest_first {
            let nearer = graph.edges(switch).filter(|&edge| hops[graph.peer(edge)] < hops[switch]);
            let first_port = |edge| graph.ports(edge).iter().map(|&port| (graph.port_place(switch, port), port)).min();
            let used = |edge| match spread {
                // What comes by at the neighbour will be on its next cable.
                true => load[edge] / shares[edge] + u64::from(through[graph.peer(edge)]) * u64::from(order.hosts[target]),
                false => 0,
            };
            let edge = nearer.min_by_key(|&edge| (used(edge), first_port(edge))).expect("one leads nearer in a connected fabric");
            ways[target * count + switch] = edge as u32;
            load[edge] += u64::from(through[switch]) * u64::from(order.hosts[target]);
            through[graph.peer(edge)] += through[switch];
        }
    }
    ways
}

/// The ways between all pairs of switches, and their layers.
struct Pairs {
    /// By target and source: see [`ways`].
    ways: Vec<u32>,
    /// By source and target; [`NO_LEVEL`] if there are no packets between them.
    layer: Vec<u8>,
    layers: usize,
}

impl Pairs {
    /// Each pair goes to the first layer in which its routes there and back close no circle, those with the longest ways first: the others
    /// find room between them.
    fn new(fabric: &Fabric, graph: &Graph, ways: Vec<u32>) -> Self {
        let count = graph.len();
        let edges = |switch| graph.edges(switch).map(|edge| graph.peer(edge) as u32);
        let base = (0..count).map(|switch| graph.edges(switch).start).chain([graph.edge_count()]).map(|edge| edge as u32);
        let channels = Channels::new(base.collect(), (0..count).flat_map(edges).collect());
        let mut layer = vec![NO_LEVEL; count * count];
        (0..count).for_each(|switch| layer[switch * count + switch] = 0);
        let mut sets = vec![Acyclic::new(&channels)];
        let mut turns = Vec::new();
        for (a, b) in longest_first(fabric, graph) {
            turns.clear();
            for (source, target) in [(a, b), (b, a)] {
                let mut edge = ways[target * count + source];
                while edge != NONE {
                    let after = ways[target * count + graph.peer(edge as usize)];
                    turns.extend((after != NONE).then_some((edge, after)));
                    edge = after;
                }
            }
            let fits = sets.iter_mut().position(|set| set.add_all(&channels, &turns));
            let number = fits.unwrap_or_else(|| {
                // More layers than there can be VLs are all the same.
                if sets.len() <= usize::from(DROP_VL) {
                    let mut set = Acyclic::new(&channels);
                    set.add_all(&channels, &turns);
                    sets.push(set);
                }
                sets.len() - 1
            });
            layer[a * count + b] = number as u8;
            layer[b * count + a] = number as u8;
        }
        Self { ways, layer, layers: sets.len() }
    }

    /// Fills the tables. LIDs that a switch sends to the same neighbour take the cables to that in turn.
    fn write(&self, tables: &mut Tables, fabric: &Fabric, graph: &Graph) {
        let row_len = tables.row_len();
        tables.rows_mut().par_chunks_mut(row_len).enumerate().for_each(|(source, row)| {
            let first = graph.edges(source).start;
            let mut ports = vec![Vec::new(); graph.edges(source).len()];
            ports.iter_mut().zip(graph.edges(source)).for_each(|(ports, edge)| graph.turns(&[edge], ports));
            // By edge, for hosts and others.
            let mut numbers = vec![[0; 2]; ports.len()];
            for end in fabric.end_ports() {
                let edge = self.ways[end.switch.index() * graph.len() + source];
                for lid in end.lids() {
                    row[lid.index()] = match edge {
                        NONE => end.switch_port,
                        edge => {
                            let ports = &ports[edge as usize - first];
                            let number = &mut numbers[edge as usize - first][usize::from(end.is_host())];
                            *number += 1;
                            ports[(*number - 1) % ports.len()]
                        }
                    };
                }
            }
        });
    }

    /// For each switch and LID, in rows as long as those of the tables, the layer of the pair.
    fn levels(&self, fabric: &Fabric, row_len: usize) -> Vec<u8> {
        let count = fabric.switch_count();
        let mut levels = vec![NO_LEVEL; count * row_len];
        levels.par_chunks_mut(row_len).enumerate().for_each(|(source, row)| {
            for end in fabric.end_ports() {
                end.lids().for_each(|lid| row[lid.index()] = self.layer[source * count + end.switch.index()]);
            }
        });
        levels
    }

    /// The switches of pairs in a layer beyond the first `allowed`.
    fn beyond(&self, fabric: &Fabric, allowed: u8) -> Vec<NodeIndex> {
        let rows = self.layer.chunks(fabric.switch_count()).zip(fabric.switches());
        let beyond = |row: &[u8]| row.iter().any(|&layer| layer != NO_LEVEL && layer >= allowed);
        rows.filter(|(row, _)| beyond(row)).map(|(_, &node)| node).collect()
    }
}

/// The pairs of switches with a host at one of them at least; the switches between others send nothing to them.
fn longest_first(fabric: &Fabric, graph: &Graph) -> Vec<(usize, usize)> {
    let mut has_hosts = vec![false; graph.len()];
    fabric.end_ports().iter().filter(|end| end.is_host()).for_each(|end| has_hosts[end.switch.index()] = true);
    let mut by_tie: Vec<usize> = (0..graph.len()).collect();
    by_tie.sort_unstable_by_key(|&switch| graph.tie(switch));
    let mut pairs = Vec::new();
    for (number, &a) in by_tie.iter().enumerate() {
        let hops = graph.hops([a]);
        pairs.extend(by_tie[..number].iter().filter(|&&b| has_hosts[a] || has_hosts[b]).map(|&b| (Reverse(hops[b]), a, b)));
    }
    pairs.sort_by_key(|&(hops, ..)| hops);
    pairs.into_iter().map(|(_, a, b)| (a, b)).collect()
}
