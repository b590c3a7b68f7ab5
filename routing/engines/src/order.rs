//! The structure that all engines use: which switches are higher, and in which order neighbours and leaves are taken in turn.

use crate::graph::{Graph, bits};
use heddle_fabric::{Fabric, SwitchIndex};
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The structure of a connected fabric with at least one switch. Everything is by switch.
pub(crate) struct Order {
    /// Its place in the total order; 0 is the top. Every other switch has a neighbour with a lower place.
    pub(crate) place: Vec<u32>,
    /// Its place in the order of the tree in which each switch hangs below its highest neighbour, parents first and subtrees
    /// together. So the leaves of a pod follow one another, and the switches above them are in the same order in each pod.
    pub(crate) rank: Vec<u32>,
    /// Its plane: the highest switches that it can climb to, and those that can climb to the same. Planes are numbered, and switches of one
    /// level that see the same of what is above them have the same number, so that the switches of every pod are in the same order.
    pub(crate) plane: Vec<u32>,
    /// Its number among the switches of its level and plane that lead down to the same leaves.
    pub(crate) seat: Vec<u32>,
    /// How many hops it is above the nearest bottom switch.
    pub(crate) level: Vec<u32>,
    /// How many hosts it carries; 1 each if there are none at all.
    pub(crate) hosts: Vec<u32>,
}

impl Order {
    pub(crate) fn new(fabric: &Fabric, graph: &Graph) -> Self {
        let hosts = host_counts(fabric);
        let keys = keys(graph, &hosts);
        let placed = grow(graph, &keys);
        let mut place = vec![0; graph.len()];
        for (number, &switch) in placed.iter().enumerate() {
            place[switch] = number as u32;
        }
        let bottoms = (0..graph.len()).filter(|&switch| graph.peers(switch).iter().all(|&peer| keys[peer as usize] <= keys[switch]));
        let level = graph.hops(bottoms);
        let (rank, plane) = (ranks(graph, &placed, &place), planes(graph, &level));
        Self { seat: seats(graph, &level, &rank, &plane), rank, plane, level, place, hosts }
    }
}

/// How near a switch is to the hosts: the sum of its distances to them, then the largest. Less is higher.
type Key = (u64, u32);

pub(crate) fn roots(fabric: &Fabric, graph: &Graph) -> Vec<SwitchIndex> {
    let keys = keys(graph, &host_counts(fabric));
    let is_root = |&switch: &usize| graph.peers(switch).iter().all(|&peer| keys[peer as usize] >= keys[switch]);
    (0..graph.len()).filter(is_root).map(|switch| SwitchIndex(switch as u32)).collect()
}

/// Whether an end port is a host's.
pub(crate) fn is_real_host(fabric: &Fabric, end: &heddle_fabric::EndPort) -> bool {
    fabric.node(end.at.node).is_host()
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

fn keys(graph: &Graph, hosts: &[u32]) -> Vec<Key> {
    let carriers: Vec<u32> = (0..graph.len() as u32).filter(|&switch| hosts[switch as usize] > 0).collect();
    let add = |a: Vec<Key>, b: Vec<Key>| a.into_iter().zip(b).map(|(a, b)| (a.0 + b.0, a.1.max(b.1))).collect();
    carriers
        .par_chunks(64)
        .map(|sources| {
            let mut keys = vec![(0, 0); graph.len()];
            graph.search(sources, |distance, switch, new, _| {
                let weight: u64 = bits(new).map(|bit| u64::from(hosts[sources[bit] as usize])).sum();
                keys[switch] = (keys[switch].0 + weight * u64::from(distance), distance);
            });
            keys
        })
        .reduce(|| vec![(0, 0); graph.len()], add)
}

/// The switches from the top down: first the one with the best key, then always the best among the neighbours of those before.
/// Ties go to the nearer to the first, then to the lower [`Graph::tie`].
///
/// After a switch, all its neighbours with a better key come at once. In a tree, cores that have no switch below them in common are
/// joined by a leaf only; all switches between this leaf and the new cores are then above these, and can lead down to the leaf from
/// there, where otherwise one alone could.
fn grow(graph: &Graph, keys: &[Key]) -> Vec<usize> {
    let Some(top) = (0..graph.len()).min_by_key(|&switch| (keys[switch], graph.tie(switch))) else { return Vec::new() };
    let hops = graph.hops([top]);
    let precedence = |switch: usize| (keys[switch], hops[switch], graph.tie(switch), switch);
    let mut placed = Vec::with_capacity(graph.len());
    let mut taken = vec![false; graph.len()];
    let mut at_once = VecDeque::new();
    let mut heap = BinaryHeap::from([Reverse(precedence(top))]);
    while let Some(Reverse((.., next))) = heap.pop() {
        if std::mem::replace(&mut taken[next], true) {
            continue;
        }
        at_once.push_back(next);
        while let Some(switch) = at_once.pop_front() {
            placed.push(switch);
            let free = |&peer: &usize| !taken[peer];
            let (mut better, others): (Vec<_>, Vec<_>) =
                graph.peers(switch).iter().map(|&peer| peer as usize).filter(free).partition(|&peer| keys[peer] < keys[switch]);
            better.sort_unstable_by_key(|&peer| precedence(peer));
            better.iter().for_each(|&peer| taken[peer] = true);
            at_once.extend(better);
            heap.extend(others.into_iter().map(|peer| Reverse(precedence(peer))));
        }
    }
    placed
}

fn ranks(graph: &Graph, placed: &[usize], place: &[u32]) -> Vec<u32> {
    let mut children = vec![Vec::new(); graph.len()];
    for &switch in &placed[1..] {
        let parent = graph.peers(switch).iter().min_by_key(|&&peer| place[peer as usize]).expect("a later switch has neighbours");
        children[*parent as usize].push(switch);
    }
    let mut rank = vec![0; graph.len()];
    let mut stack = vec![placed[0]];
    let mut next = 0;
    while let Some(switch) = stack.pop() {
        rank[switch] = next;
        next += 1;
        stack.extend(children[switch].iter().rev());
    }
    rank
}

/// From the top level down, each level's switches are joined with what they are cabled to at their own level and above; what is then in
/// one piece is a plane. Losing cables does not change it as long as any holds the piece together.
fn planes(graph: &Graph, level: &[u32]) -> Vec<u32> {
    pieces(graph, level, |&switch| Reverse(level[switch]))
}

/// The same from the bottom up gives the pods.
fn seats(graph: &Graph, level: &[u32], rank: &[u32], plane: &[u32]) -> Vec<u32> {
    let pod = pieces(graph, level, |&switch| level[switch]);
    let mut switches: Vec<usize> = (0..graph.len()).collect();
    let group = |switch: usize| (level[switch], plane[switch], pod[switch]);
    switches.sort_unstable_by_key(|&switch| (group(switch), rank[switch]));
    let mut seat = vec![0; graph.len()];
    for equals in switches.chunk_by(|&a, &b| group(a) == group(b)) {
        equals.iter().zip(0..).for_each(|(&switch, number)| seat[switch] = number);
    }
    seat
}

/// Takes the levels in the order of `key`, each time joining the switches of a level with what they are cabled to of this and earlier
/// levels: for each switch the number of the piece in which it is then.
fn pieces<K: Ord>(graph: &Graph, level: &[u32], key: impl Fn(&usize) -> K) -> Vec<u32> {
    let mut by_level: Vec<usize> = (0..graph.len()).collect();
    by_level.sort_by_key(&key);
    let mut by_tie: Vec<usize> = (0..graph.len()).collect();
    by_tie.sort_unstable_by_key(|&switch| graph.tie(switch));
    let mut number = vec![0; graph.len()];
    by_tie.into_iter().zip(0..).for_each(|(switch, at)| number[switch] = at);
    // Each switch points towards the first switch of its piece.
    let mut towards: Vec<usize> = (0..graph.len()).collect();
    let mut piece = vec![0; graph.len()];
    for switches in by_level.chunk_by(|&a, &b| level[a] == level[b]) {
        for &switch in switches {
            for &peer in graph.peers(switch).iter().filter(|&&peer| key(&(peer as usize)) <= key(&switch)) {
                let (a, b) = (first(&mut towards, switch), first(&mut towards, peer as usize));
                let (low, high) = if number[a] <= number[b] { (a, b) } else { (b, a) };
                towards[high] = low;
            }
        }
        for &switch in switches {
            piece[switch] = number[first(&mut towards, switch)];
        }
    }
    piece
}

fn first(towards: &mut [usize], mut switch: usize) -> usize {
    while towards[switch] != switch {
        towards[switch] = towards[towards[switch]];
        switch = towards[switch];
    }
    switch
}
