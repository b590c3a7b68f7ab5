//! Shortest ways.

use crate::graph::Graph;

/// For up to 64 destination switches: for each edge, which of them (as bits) have a shortest way over it.
pub(crate) fn ways(graph: &Graph, targets: &[u32], ways: &mut [u64]) {
    if let Some(weights) = graph.weights() {
        return weighted(graph, weights, targets, ways);
    }
    graph.search(targets, |_, switch, new, front| {
        let edges = graph.edges(switch);
        for (way, &peer) in ways[edges].iter_mut().zip(graph.peers(switch)) {
            *way |= new & front[peer as usize];
        }
    });
}

/// The same where edges have weights: the switches at each distance are found from those at the distances that one edge less leaves (the
/// buckets of R. B. Dial, "Algorithm 360: shortest-path forest with topological ordering", CACM 12, 1969).
fn weighted(graph: &Graph, weights: &[u8], targets: &[u32], ways: &mut [u64]) {
    // The fronts of the last distances, a ring as long as the largest weight and one more.
    let ring = weights.iter().max().map_or(1, |&most| usize::from(most) + 1);
    let mut fronts = vec![vec![0u64; graph.len()]; ring];
    for (bit, &target) in targets.iter().enumerate() {
        fronts[0][target as usize] |= 1 << bit;
    }
    let mut found = fronts[0].clone();
    let mut last = 0;
    for distance in 1.. {
        // Nothing can be farther from the last front than an edge is long.
        if distance - last >= ring {
            return;
        }
        let mut front = std::mem::take(&mut fronts[distance % ring]);
        front.fill(0);
        for switch in 0..graph.len() {
            let at_end = |edge: usize| {
                let before = distance.checked_sub(usize::from(weights[edge]));
                before.map_or(0, |before| fronts[before % ring][graph.peer(edge)])
            };
            let new = graph.edges(switch).fold(0, |bits, edge| bits | at_end(edge)) & !found[switch];
            if new != 0 {
                graph.edges(switch).for_each(|edge| ways[edge] |= new & at_end(edge));
                found[switch] |= new;
                last = distance;
            }
            front[switch] = new;
        }
        fronts[distance % ring] = front;
    }
}
