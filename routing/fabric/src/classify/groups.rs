//! Finds the groups of a dragonfly.
//!
//! In a dragonfly (J. Kim et al., ISCA 2008) the switches of a group are all cabled to each other, and every two groups are joined. Two
//! neighbours of one group have the rest of the group as common neighbours, two of different groups few. So neighbours with many in common
//! are put together first, and larger pieces only if most of the cables between them are there: what is lost does no harm, and what
//! happens to be cabled between two groups does not join them.
//!
//! In a dragonfly-plus (A. Shpiner et al., HiPINEB 2017) a group is a tree of two levels whose upper switches are joined with other groups.

use super::neighbours::{Neighbours, Pieces};
use super::{Finding, Hosts};
use crate::{Fabric, SwitchIndex};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// The groups of a dragonfly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Groups {
    /// The switches of each group, by GUID; the groups by their first.
    pub members: Vec<Vec<SwitchIndex>>,
}

impl Groups {
    /// The groups of a dragonfly, which may have lost cables and switches. `None` for another fabric, and where groups are so small (fewer
    /// than three switches) or so closely joined that they cannot be told. `O(cables × neighbours)`.
    pub fn find(fabric: &Fabric) -> Option<Self> {
        let graph = Neighbours::new(fabric, (0..fabric.switch_count() as u32).map(SwitchIndex).collect());
        let found = Cut::direct(&graph)?;
        let members = found.groups.iter().map(|group| group.iter().map(|&switch| graph.index(switch)).collect());
        Some(Self { members: members.collect() })
    }
}

/// The groups, by the numbers of switches within their part, and what is missing.
pub(super) struct Cut {
    pub(super) groups: Vec<Vec<usize>>,
    /// Upper switches of the largest group of a dragonfly-plus.
    pub(super) spines: usize,
    pub(super) findings: Vec<Finding>,
}

impl Cut {
    /// Switches of a whole group.
    pub(super) fn size(&self) -> usize {
        self.groups.iter().map(Vec::len).max().unwrap_or(0)
    }

    pub(super) fn direct(graph: &Neighbours<'_>) -> Option<Self> {
        let (size, pairs) = (graph.len(), graph.pairs().count());
        let mut order: Vec<(Reverse<usize>, usize)> = Vec::with_capacity(pairs);
        let mut is_near = vec![false; size];
        for switch in 0..size {
            graph.peers(switch).for_each(|peer| is_near[peer] = true);
            for edge in graph.edges(switch).filter(|&edge| graph.peer(edge) > switch) {
                order.push((Reverse(graph.peers(graph.peer(edge)).filter(|&peer| is_near[peer]).count()), edge));
            }
            graph.peers(switch).for_each(|peer| is_near[peer] = false);
        }
        order.sort_unstable();
        let mut pieces = Pieces::new(size);
        // By first member.
        let mut members: Vec<Vec<usize>> = (0..size).map(|switch| vec![switch]).collect();
        for (_, edge) in order {
            let (a, b) = (pieces.first(graph.from(edge)), pieces.first(graph.peer(edge)));
            if a == b {
                continue;
            }
            let (small, large) = if members[a].len() < members[b].len() { (a, b) } else { (b, a) };
            let between: usize =
                members[small].iter().map(|&switch| graph.peers(switch).filter(|&peer| pieces.first(peer) == large).count()).sum();
            if 2 * between >= members[a].len() * members[b].len() {
                pieces.join(a, b);
                let moved = std::mem::take(&mut members[a.max(b)]);
                members[a.min(b)].extend(moved);
            }
        }
        let groups: Vec<Vec<usize>> = members.into_iter().filter(|group| !group.is_empty()).collect();
        let full = groups.iter().map(Vec::len).max()?;
        let all = full * (full - 1) / 2;
        Self::checked(graph, groups, full, |group| all - (full * (full - 1) - group.len() * (group.len() - 1)) / 2)
    }

    /// Groups of lower switches, which have hosts, and upper ones.
    pub(super) fn plus(graph: &Neighbours<'_>, hosts: &Hosts) -> Option<Self> {
        let is_leaf = |switch: usize| hosts.count(graph, switch) > 0;
        if graph.pairs().any(|edge| is_leaf(graph.from(edge)) && is_leaf(graph.peer(edge))) {
            return None;
        }
        let mut pieces = Pieces::new(graph.len());
        for edge in graph.pairs().filter(|&edge| is_leaf(graph.from(edge)) || is_leaf(graph.peer(edge))) {
            pieces.join(graph.from(edge), graph.peer(edge));
        }
        let mut members = BTreeMap::<usize, Vec<usize>>::new();
        (0..graph.len()).for_each(|switch| members.entry(pieces.first(switch)).or_default().push(switch));
        let groups: Vec<Vec<usize>> = members.into_values().collect();
        let full = groups.iter().map(Vec::len).max()?;
        let spines = |group: &Vec<usize>| group.iter().filter(|&&switch| !is_leaf(switch)).count();
        let most = groups.iter().map(spines).max()?;
        let found = Self::checked(graph, groups, full, |group| spines(group) * (group.len() - spines(group)))?;
        Some(Self { spines: most, ..found })
    }

    /// Whether these are groups: nearly whole, nearly all cables in them, nearly all of them joined. `cables` says how many pairs of a group
    /// are to be neighbours.
    fn checked(graph: &Neighbours<'_>, groups: Vec<Vec<usize>>, full: usize, cables: impl Fn(&Vec<usize>) -> usize) -> Option<Self> {
        let few = |missing: usize, of: usize| missing == 0 || missing <= (of / 8).max(1);
        if groups.len() < 2 || full < 3 || !few(full * groups.len() - graph.len(), graph.len()) {
            return None;
        }
        let mut group_of = vec![0; graph.len()];
        groups.iter().enumerate().for_each(|(number, group)| group.iter().for_each(|&switch| group_of[switch] = number));
        let mut joined = BTreeMap::<(usize, usize), usize>::new();
        let mut inside = 0;
        for edge in graph.pairs() {
            let (a, b) = (group_of[graph.from(edge)], group_of[graph.peer(edge)]);
            if a == b {
                inside += 1;
            } else {
                *joined.entry((a.min(b), a.max(b))).or_default() += graph.cables(edge);
            }
        }
        let (all_inside, all_pairs) = (groups.iter().map(cables).sum::<usize>(), groups.len() * (groups.len() - 1) / 2);
        let (lost_inside, lost_pairs) = (all_inside.saturating_sub(inside), all_pairs - joined.len());
        if !few(lost_inside, all_inside) || !few(lost_pairs, all_pairs) {
            return None;
        }
        let mut findings = Vec::new();
        let nodes = |switches: BTreeSet<usize>| switches.into_iter().map(|switch| graph.node(switch)).collect::<Vec<_>>();
        let small: BTreeSet<usize> = groups.iter().filter(|group| group.len() < full).map(|group| group[0]).collect();
        if !small.is_empty() {
            let what = format!("{} switches are missing; in the groups of", full * groups.len() - graph.len());
            findings.push(Finding { what, nodes: nodes(small) });
        }
        if lost_inside > 0 {
            findings.push(Finding { what: format!("{lost_inside} cables are missing in groups"), nodes: Vec::new() });
        }
        if lost_pairs > 0 {
            let apart =
                (0..groups.len()).flat_map(|a| (a + 1..groups.len()).map(move |b| (a, b))).filter(|pair| !joined.contains_key(pair));
            let ends = apart.flat_map(|(a, b)| [groups[a][0], groups[b][0]]).collect();
            findings
                .push(Finding { what: format!("{lost_pairs} pairs of groups are not joined; among the groups of"), nodes: nodes(ends) });
        }
        Some(Self { groups, spines: 0, findings })
    }
}
