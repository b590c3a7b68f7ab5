//! Shortest ways.

use crate::graph::Graph;

/// For up to 64 destination switches: for each edge, which of them (as bits) have a shortest way over it.
pub(crate) fn ways(graph: &Graph, targets: &[u32], ways: &mut [u64]) {
    graph.search(targets, |_, switch, new, front| {
        let edges = graph.edges(switch);
        for (way, &peer) in ways[edges].iter_mut().zip(graph.peers(switch)) {
            *way |= new & front[peer as usize];
        }
    });
}
