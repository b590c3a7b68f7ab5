//! Graph work on sets of dependencies: ranks if there is no cycle, a short cycle if there is one. A channel is here one VL of a channel.

use crate::dependencies::Set;
use crate::net::Net;
use std::collections::VecDeque;

/// For each channel the length of the longest chain of dependencies that ends there; `None` if there is a cycle (A. B. Kahn, CACM 1962).
/// `O(channels + dependencies)`.
pub(crate) fn ranks(net: &Net<'_>, set: &Set) -> Option<Vec<u32>> {
    let (ranks, rest) = peel(net, set);
    (rest.iter().all(|&waits| waits == 0)).then_some(ranks)
}

/// The ranks of all channels that depend on no cycle; and for each channel how many of its predecessors have none.
fn peel(net: &Net<'_>, set: &Set) -> (Vec<u32>, Vec<u32>) {
    let mut waits = vec![0u32; set.nodes(net)];
    for channel in 0..set.nodes(net) {
        set.successors(net, channel).for_each(|next| waits[next] += 1);
    }
    let mut ranks = vec![0u32; set.nodes(net)];
    let mut ready: Vec<usize> = (0..set.nodes(net)).filter(|&channel| waits[channel] == 0).collect();
    while let Some(channel) = ready.pop() {
        for next in set.successors(net, channel) {
            ranks[next] = ranks[next].max(ranks[channel] + 1);
            waits[next] -= 1;
            if waits[next] == 0 {
                ready.push(next);
            }
        }
    }
    (ranks, waits)
}

/// A cycle, the shortest through some of its channels; the set must have one. `O(channels + dependencies)`.
pub(crate) fn short_cycle(net: &Net<'_>, set: &Set) -> Vec<usize> {
    const STARTS: usize = 16;
    let (_, waits) = peel(net, set);
    let stuck: Vec<usize> = (0..set.nodes(net)).filter(|&channel| waits[channel] > 0).collect();
    // Each channel that is stuck waits for one that is, so going back ends in a cycle.
    let mut before = vec![usize::MAX; set.nodes(net)];
    for &channel in &stuck {
        set.successors(net, channel).for_each(|next| before[next] = channel);
    }
    let Some(&start) = stuck.first() else { return Vec::new() };
    let mut seen = vec![false; set.nodes(net)];
    let mut at = start;
    while !std::mem::replace(&mut seen[at], true) {
        at = before[at];
    }
    let mut cycle = vec![at];
    let mut back = before[at];
    while back != at {
        cycle.push(back);
        back = before[back];
    }
    cycle.reverse();
    let starts: Vec<usize> = cycle.iter().copied().take(STARTS).collect();
    for start in starts {
        if let Some(shorter) = shortest_through(net, set, start, cycle.len()) {
            cycle = shorter;
        }
    }
    // Begin with the lowest channel, so that the same cycle reads the same.
    let lowest = (0..cycle.len()).min_by_key(|&at| cycle[at]).unwrap_or(0);
    cycle.rotate_left(lowest);
    cycle
}

/// The shortest cycle through a channel, if it is shorter than `limit`.
fn shortest_through(net: &Net<'_>, set: &Set, start: usize, limit: usize) -> Option<Vec<usize>> {
    let mut before = vec![usize::MAX; set.nodes(net)];
    let mut queue = VecDeque::from([(start, 1)]);
    while let Some((channel, length)) = queue.pop_front().filter(|&(_, length)| length < limit) {
        for next in set.successors(net, channel) {
            if next == start {
                let mut cycle = vec![channel];
                while cycle[cycle.len() - 1] != start {
                    cycle.push(before[cycle[cycle.len() - 1]]);
                }
                cycle.reverse();
                return Some(cycle);
            }
            if before[next] == usize::MAX {
                before[next] = channel;
                queue.push_back((next, length + 1));
            }
        }
    }
    None
}
