//! Reads a fabric as a tree: switches in levels, hosts at the bottom, every two bottom switches joined by a way up and down.

use super::neighbours::{Neighbours, usual};
use super::{Finding, Hosts};
use std::cmp::Reverse;

/// A tree's levels, and what is odd about it.
pub(super) struct Tree {
    /// Switches by level, from the bottom.
    pub(super) levels: Vec<usize>,
    pub(super) findings: Vec<Finding>,
}

impl Tree {
    /// The tree in which the switches with hosts are the bottom. Hosts elsewhere are odd, but no obstacle: a switch with less than a fourth of
    /// the hosts of a neighbour, or else of any, is taken to be no bottom switch. `O(cables × bottom switches / 64)`.
    pub(super) fn find(graph: &Neighbours<'_>, hosts: &Hosts) -> Option<Self> {
        let count = |switch: usize| hosts.count(graph, switch);
        let dwarfs = |few: usize, many: usize| few * 4 < many;
        let by_neighbours = (0..graph.len()).filter(|&switch| {
            let most = graph.peers(switch).map(count).max().unwrap_or(0);
            count(switch) > 0 && !dwarfs(count(switch), most)
        });
        let most = (0..graph.len()).map(count).max().unwrap_or(0);
        let by_all = (0..graph.len()).filter(|&switch| count(switch) > 0 && !dwarfs(count(switch), most));
        Self::above(graph, hosts, by_neighbours.collect()).or_else(|| Self::above(graph, hosts, by_all.collect()))
    }

    /// The tree of a fabric without a circle of switches, with its centre at the top.
    pub(super) fn without_circles(graph: &Neighbours<'_>, hosts: &Hosts) -> Option<Self> {
        if graph.pairs().count() + 1 != graph.len() {
            return None;
        }
        let far = |from: usize| (0..graph.len()).max_by_key(|&switch| (graph.hops([from])[switch], Reverse(switch)));
        let end = far(0)?;
        let (a, b) = (graph.hops([end]), graph.hops([far(end)?]));
        let centre = (0..graph.len()).min_by_key(|&switch| (a[switch].max(b[switch]), switch))?;
        let depth = graph.hops([centre]);
        let deepest = depth.iter().max().copied()?;
        Some(Self::described(graph, hosts, &depth.iter().map(|depth| (deepest - depth) as usize).collect::<Vec<_>>(), 0))
    }

    fn above(graph: &Neighbours<'_>, hosts: &Hosts, bottom: Vec<usize>) -> Option<Self> {
        if bottom.len() == graph.len() || bottom.is_empty() {
            return None;
        }
        let level: Vec<usize> = graph.hops(bottom.iter().copied()).into_iter().map(|hops| hops as usize).collect();
        let level_cables = graph.pairs().filter(|&edge| level[graph.from(edge)] == level[graph.peer(edge)]).count();
        if 4 * level_cables > graph.pairs().count() {
            return None;
        }
        let pairs = bottom.len() * (bottom.len() - 1);
        let apart = pairs - joined(graph, &level, &bottom);
        (5 * apart <= pairs).then(|| Self::described(graph, hosts, &level, apart / 2))
    }

    fn described(graph: &Neighbours<'_>, hosts: &Hosts, level: &[usize], apart: usize) -> Self {
        let top = level.iter().max().copied().unwrap_or(0);
        let mut levels = vec![0; top + 1];
        level.iter().for_each(|&level| levels[level] += 1);
        let mut findings = Vec::new();
        let mut tell = |what: String, switches: Vec<usize>| {
            if !switches.is_empty() {
                findings.push(Finding { what, nodes: switches.into_iter().map(|switch| graph.node(switch)).collect() });
            }
        };
        for number in 0..top {
            let up = |switch: usize| {
                graph.edges(switch).filter(|&edge| level[graph.peer(edge)] > number).map(|edge| graph.cables(edge)).sum::<usize>()
            };
            let of_level: Vec<usize> = (0..graph.len()).filter(|&switch| level[switch] == number).collect();
            let expected = usual(of_level.iter().map(|&switch| up(switch)));
            let (few, missing) = lacking(&of_level, expected, up);
            tell(format!("{missing} cables up are missing where most switches of level {number} have {expected}"), few);
        }
        let down = |switch: usize| graph.edges(switch).map(|edge| graph.cables(edge)).sum::<usize>();
        let tops: Vec<usize> = (0..graph.len()).filter(|&switch| level[switch] == top).collect();
        let expected = usual(tops.iter().map(|&switch| down(switch)));
        let (few, missing) = lacking(&tops, expected, down);
        tell(format!("{missing} cables down are missing where most of the top switches have {expected}"), few);
        let level_cables: Vec<usize> = graph.pairs().filter(|&edge| level[graph.from(edge)] == level[graph.peer(edge)]).collect();
        let mut ends: Vec<usize> = level_cables.iter().flat_map(|&edge| [graph.from(edge), graph.peer(edge)]).collect();
        ends.sort_unstable();
        ends.dedup();
        tell("cables join switches of one level".to_owned(), ends);
        let with_hosts = (0..graph.len()).filter(|&switch| level[switch] > 0 && hosts.count(graph, switch) > 0);
        tell("hosts are on switches above the bottom".to_owned(), with_hosts.collect());
        if apart > 0 {
            let what = format!("{apart} pairs of bottom switches have no way up and then down to each other");
            findings.push(Finding { what, nodes: Vec::new() });
        }
        Self { levels, findings }
    }
}

/// Which switches have fewer than expected, and how many are missing in all.
fn lacking(switches: &[usize], expected: usize, has: impl Fn(usize) -> usize) -> (Vec<usize>, usize) {
    let few: Vec<usize> = switches.iter().copied().filter(|&switch| has(switch) < expected).collect();
    let missing = few.iter().map(|&switch| expected - has(switch)).sum();
    (few, missing)
}

/// How many ordered pairs of bottom switches have a way that climbs and then descends, level by level; 64 of them at once.
fn joined(graph: &Neighbours<'_>, level: &[usize], bottom: &[usize]) -> usize {
    let mut by_level: Vec<usize> = (0..graph.len()).collect();
    by_level.sort_by_key(|&switch| level[switch]);
    let mut count = 0;
    for group in bottom.chunks(64) {
        let mut reach = vec![0u64; graph.len()];
        group.iter().enumerate().for_each(|(bit, &switch)| reach[switch] = 1 << bit);
        for &switch in &by_level {
            let below = graph.peers(switch).filter(|&peer| level[peer] < level[switch]);
            reach[switch] = below.fold(reach[switch], |bits, peer| bits | reach[peer]);
        }
        for &switch in by_level.iter().rev() {
            let above = graph.peers(switch).filter(|&peer| level[peer] > level[switch]);
            reach[switch] = above.fold(reach[switch], |bits, peer| bits | reach[peer]);
        }
        count += bottom.iter().map(|&switch| reach[switch].count_ones() as usize).sum::<usize>() - group.len();
    }
    count
}
