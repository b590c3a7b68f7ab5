//! The structure that all engines use: which switches are higher, and in which order neighbours and leaves are taken in turn.

use crate::graph::Graph;
use crate::heights::Heights;
use crate::pieces::Pieces;
use heddle_fabric::{EndPort, Fabric};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The structure of a connected fabric with at least one switch. Everything is by switch.
pub(crate) struct Order {
    /// Its place in the total order; 0 is the top. Every other switch has a neighbour with a lower place.
    pub(crate) place: Vec<u32>,
    /// Its place in an order in which the switches of a pod follow one another, and a pod's own pods. Where cables between equals hold a
    /// pod together, it is that of the tree in which each switch hangs below its highest neighbour, parents first and subtrees together.
    pub(crate) rank: Vec<u32>,
    /// Its pod: what the switches of the next level hold together, if that is not everything; else what those of its own level do.
    pub(crate) pod: Vec<u32>,
    /// Its plane: the highest switches that it can climb to, and those that can climb to the same. Planes are numbered, and switches of one
    /// level that see the same of what is above them have the same number, so that the switches of every pod are in the same order.
    pub(crate) plane: Vec<u32>,
    /// Its number among the switches of its level and plane that lead down to the same leaves.
    pub(crate) seat: Vec<u32>,
    /// How high it is, counted from the bottom: see [`Heights`].
    pub(crate) level: Vec<u32>,
    /// How many hosts it carries; 1 each if there are none at all.
    pub(crate) hosts: Vec<u32>,
}

impl Order {
    pub(crate) fn new(graph: &Graph, heights: Heights) -> Self {
        let placed = grow(graph, &heights);
        let mut place = vec![0; graph.len()];
        for (number, &switch) in placed.iter().enumerate() {
            place[switch] = number as u32;
        }
        let Heights { level, hosts, .. } = heights;
        // From the top level down, what is in one piece is a plane; from the bottom up, a pod. Losing cables does not change it as long as any
        // hold the piece together.
        let plane: Vec<u32> = pieces(graph, &level, |&switch| Reverse(level[switch])).into_iter().map(|planes| planes[0]).collect();
        let pods = pieces(graph, &level, |&switch| level[switch]);
        let rank = ranks(&pods, &tree(graph, &placed, &place));
        let seat = seats(&level, &rank, &plane, &pods);
        // What the top level holds together is everything.
        let pod = pods.iter().map(|pods| if pods.len() > 2 { pods[1] } else { pods[0] }).collect();
        Self { place, rank, pod, plane, seat, level, hosts }
    }
}

/// Whether an end port is a host's.
pub(crate) fn is_real_host(fabric: &Fabric, end: &EndPort) -> bool {
    fabric.node(end.at.node).is_host()
}

/// The switches from the top down: first the highest, then always the highest among the neighbours of those before.
/// Ties go to the nearer to the first, then to the lower [`Graph::tie`].
///
/// After a switch, all its higher neighbours come at once. In a tree, cores that have no switch below them in common are
/// joined by a leaf only; all switches between this leaf and the new cores are then above these, and can lead down to the leaf from
/// there, where otherwise one alone could.
fn grow(graph: &Graph, heights: &Heights) -> Vec<usize> {
    let Some(top) = (0..graph.len()).min_by_key(|&switch| (heights.precedence(switch), graph.tie(switch))) else { return Vec::new() };
    let hops = graph.hops([top]);
    let precedence = |switch: usize| (heights.precedence(switch), hops[switch], graph.tie(switch), switch);
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
            let (mut higher, others): (Vec<_>, Vec<_>) = graph
                .peers(switch)
                .iter()
                .map(|&peer| peer as usize)
                .filter(free)
                .partition(|&peer| heights.rank[peer] < heights.rank[switch]);
            higher.sort_unstable_by_key(|&peer| precedence(peer));
            higher.iter().for_each(|&peer| taken[peer] = true);
            at_once.extend(higher);
            heap.extend(others.into_iter().map(|peer| Reverse(precedence(peer))));
        }
    }
    placed
}

/// Puts the switches in order: those of one pod together, whatever cables it lost, and otherwise as in the tree.
fn ranks(pods: &[Vec<u32>], in_tree: &[u32]) -> Vec<u32> {
    let mut switches: Vec<usize> = (0..pods.len()).collect();
    switches.sort_by(|&a, &b| pods[a].iter().rev().cmp(pods[b].iter().rev()).then(in_tree[a].cmp(&in_tree[b])));
    let mut rank = vec![0; pods.len()];
    switches.into_iter().zip(0..).for_each(|(switch, number)| rank[switch] = number);
    rank
}

/// The places of the switches in the tree in which each hangs below its highest neighbour, parents first and subtrees together.
fn tree(graph: &Graph, placed: &[usize], place: &[u32]) -> Vec<u32> {
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

/// Numbers the switches of a level, plane and pod.
fn seats(level: &[u32], rank: &[u32], plane: &[u32], pods: &[Vec<u32>]) -> Vec<u32> {
    let mut switches: Vec<usize> = (0..level.len()).collect();
    let group = |switch: usize| (level[switch], plane[switch], pods[switch][0]);
    switches.sort_unstable_by_key(|&switch| (group(switch), rank[switch]));
    let mut seat = vec![0; level.len()];
    for equals in switches.chunk_by(|&a, &b| group(a) == group(b)) {
        equals.iter().zip(0..).for_each(|(&switch, number)| seat[switch] = number);
    }
    seat
}

/// Takes the levels in the order of `key`, each time joining the switches of a level with what they are cabled to of this and earlier
/// levels: for each switch the number of the piece in which it is then, and with each later level.
fn pieces<K: Ord>(graph: &Graph, level: &[u32], key: impl Fn(&usize) -> K) -> Vec<Vec<u32>> {
    let mut by_level: Vec<usize> = (0..graph.len()).collect();
    by_level.sort_by_key(&key);
    let mut by_tie: Vec<usize> = (0..graph.len()).collect();
    by_tie.sort_unstable_by_key(|&switch| graph.tie(switch));
    let mut number = vec![0; graph.len()];
    by_tie.into_iter().zip(0..).for_each(|(switch, at)| number[switch] = at);
    let mut joined = Pieces::new(graph.len());
    let mut pieces = vec![Vec::new(); graph.len()];
    let mut end = 0;
    for switches in by_level.chunk_by(|&a, &b| level[a] == level[b]) {
        for &switch in switches {
            let peers = graph.peers(switch).iter().map(|&peer| peer as usize).filter(|peer| key(peer) <= key(&switch));
            peers.for_each(|peer| _ = joined.join(number[switch], number[peer]));
        }
        end += switches.len();
        by_level[..end].iter().for_each(|&switch| pieces[switch].push(joined.first(number[switch]) as u32));
    }
    pieces
}
