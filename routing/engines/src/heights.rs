//! Which of two neighbours is the upper one, and by how many levels a fabric rises.

use crate::Options;
use crate::graph::{Graph, bits};
use crate::order::is_real_host;
use heddle_fabric::{Fabric, SwitchIndex};
use rayon::prelude::*;

/// How high the switches of a connected fabric are. Everything is by switch.
pub(crate) struct Heights {
    /// Less is higher.
    pub(crate) rank: Vec<Rank>,
    /// The number that the user gave it to decide between switches of one rank; without one it comes after those that have one.
    id: Vec<u64>,
    /// What decides next: the rank that [`Heights::by_hosts`] gives.
    near: Vec<Rank>,
    /// How many levels it is above the bottom.
    pub(crate) level: Vec<u32>,
    /// How many hosts it carries; 1 each if there are none at all.
    pub(crate) hosts: Vec<u32>,
}

/// How near a switch is to the hosts: the sum of its distances to them, then the largest.
type Rank = (u64, u32);

impl Heights {
    /// Switches that are nearer to the hosts on average are higher. A switch that has no lower neighbour is at the bottom, and the level
    /// counts the hops from there.
    pub(crate) fn by_hosts(fabric: &Fabric, graph: &Graph, options: &Options) -> Self {
        let hosts = host_counts(fabric);
        let near = nearness(graph, &hosts);
        let bottoms = (0..graph.len()).filter(|&switch| graph.peers(switch).iter().all(|&peer| near[peer as usize] <= near[switch]));
        let level = graph.hops(bottoms);
        Self { rank: near.clone(), id: ids(fabric, options), near, level, hosts }
    }

    /// Switches that are fewer hops from a root are higher. There must be one.
    pub(crate) fn below(roots: &[usize], fabric: &Fabric, graph: &Graph, options: &Options) -> Self {
        let hops = graph.hops(roots.iter().copied());
        let bottom = hops.iter().copied().max().unwrap_or(0);
        Self::by_hosts(fabric, graph, options).with_levels(hops.into_iter().map(|hops| bottom - hops).collect())
    }

    /// Switches that are more hops from the nearest one with hosts are higher.
    pub(crate) fn above_hosts(fabric: &Fabric, graph: &Graph, options: &Options) -> Self {
        let heights = Self::by_hosts(fabric, graph, options);
        let level = graph.hops((0..graph.len()).filter(|&switch| heights.hosts[switch] > 0));
        heights.with_levels(level)
    }

    /// Switches at more hops from the nearest leaf are higher. A leaf has hosts, and none of its neighbours that have hosts is farther
    /// from the other hosts.
    ///
    /// A switch that is no leaf is moved to another level if its cables lead to neighbouring levels more often then: a core to which a
    /// leaf is cabled directly is no neighbour of the level of leaves.
    pub(crate) fn of_tree(fabric: &Fabric, graph: &Graph, options: &Options) -> Self {
        let heights = Self::by_hosts(fabric, graph, options);
        let has_hosts = |switch: usize| heights.hosts[switch] > 0;
        let is_nearer = |peer: usize, switch: usize| !has_hosts(peer) || heights.near[peer] <= heights.near[switch];
        let leaves = |&switch: &usize| has_hosts(switch) && graph.peers(switch).iter().all(|&peer| is_nearer(peer as usize, switch));
        let mut level = graph.hops((0..graph.len()).filter(leaves));
        let mut others: Vec<usize> = (0..graph.len()).filter(|&switch| level[switch] > 0).collect();
        others.sort_unstable_by_key(|&switch| graph.tie(switch));
        // Each move gives more cables the right difference of levels, so that there is an end.
        while others.iter().filter(|&&switch| settle(graph, &mut level, switch)).count() > 0 {}
        heights.with_levels(level)
    }

    /// The same with other levels, which decide.
    fn with_levels(mut self, level: Vec<u32>) -> Self {
        let top = level.iter().copied().max().unwrap_or(0);
        self.rank = level.iter().map(|level| (u64::from(top - level), 0)).collect();
        self.level = level;
        self
    }

    /// What puts switches in order, highest first.
    pub(crate) fn precedence(&self, switch: usize) -> (Rank, u64, Rank) {
        (self.rank[switch], self.id[switch], self.near[switch])
    }
}

/// Moves a switch to the level from which most of its cables lead to the next level, up or down. Whether it moved.
fn settle(graph: &Graph, level: &mut [u32], switch: usize) -> bool {
    let fitting = |candidate: u32| -> usize {
        let edges = graph.edges(switch).filter(|&edge| level[graph.peer(edge)].abs_diff(candidate) == 1);
        edges.map(|edge| graph.ports(edge).len()).sum()
    };
    let here = level[switch];
    let candidates = graph.peers(switch).iter().map(|&peer| level[peer as usize]).flat_map(|level| [level.checked_sub(1), Some(level + 1)]);
    let best = candidates.flatten().max_by_key(|&candidate| (fitting(candidate), std::cmp::Reverse(candidate.abs_diff(here)), candidate));
    let Some(best) = best.filter(|&best| fitting(best) > fitting(here)) else { return false };
    level[switch] = best;
    true
}

/// The switches to which no neighbour is nearer to the hosts.
pub(crate) fn roots(fabric: &Fabric, graph: &Graph) -> Vec<SwitchIndex> {
    let near = nearness(graph, &host_counts(fabric));
    let is_root = |&switch: &usize| graph.peers(switch).iter().all(|&peer| near[peer as usize] >= near[switch]);
    (0..graph.len()).filter(is_root).map(|switch| SwitchIndex(switch as u32)).collect()
}

/// How many hosts each switch carries; one each if there are none at all.
fn host_counts(fabric: &Fabric) -> Vec<u32> {
    let mut counts = vec![0; fabric.switch_count()];
    for end in fabric.end_ports().iter().filter(|end| is_real_host(fabric, end)) {
        counts[end.switch.index()] += 1;
    }
    if counts.iter().all(|&count| count == 0) {
        counts.fill(1);
    }
    counts
}

fn ids(fabric: &Fabric, options: &Options) -> Vec<u64> {
    let id = |&node: &_| options.ids.get(&fabric.node(node).guid).copied().unwrap_or(u64::MAX);
    fabric.switches().iter().map(id).collect()
}

fn nearness(graph: &Graph, hosts: &[u32]) -> Vec<Rank> {
    let carriers: Vec<u32> = (0..graph.len() as u32).filter(|&switch| hosts[switch as usize] > 0).collect();
    let add = |a: Vec<Rank>, b: Vec<Rank>| a.into_iter().zip(b).map(|(a, b)| (a.0 + b.0, a.1.max(b.1))).collect();
    carriers
        .par_chunks(64)
        .map(|sources| {
            let mut near = vec![(0, 0); graph.len()];
            graph.search(sources, |distance, switch, new, _| {
                let weight: u64 = bits(new).map(|bit| u64::from(hosts[sources[bit] as usize])).sum();
                near[switch] = (near[switch].0 + weight * u64::from(distance), distance);
            });
            near
        })
        .reduce(|| vec![(0, 0); graph.len()], add)
}
