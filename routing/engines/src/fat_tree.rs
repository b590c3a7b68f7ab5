//! What a tree is, and which fabrics are none. See [`Engine::FatTree`].

use crate::graph::Graph;
use crate::heights::Heights;
use crate::pieces::Pieces;
use crate::{Engine, Options, Refusal, given};
use heddle_fabric::{EndPort, Fabric, NodeIndex};

/// The heights of a tree's switches; a refusal if the fabric is no tree. `O(cables)` beside what [`Heights`] take.
pub(crate) fn heights(fabric: &Fabric, graph: &Graph, options: &Options) -> Result<Heights, Refusal> {
    if !fabric.end_ports().iter().any(EndPort::is_host) {
        // Any order will do, and what lost all its hosts shall not keep the rest of a fabric from being routed.
        return Ok(Heights::by_hosts(fabric, graph, options));
    }
    let roots = given::roots(fabric, options);
    let heights = match &roots[..] {
        [] => Heights::of_tree(fabric, graph, options),
        roots => Heights::below(roots, fabric, graph, options),
    };
    let mut pieces = Pieces::new(graph.len());
    if edges(graph).filter(|(a, b)| a < b).all(|(a, b)| pieces.join(a, b)) {
        return Ok(heights);
    }
    let refuse = |reason: &str, switches: Vec<usize>| {
        let mut culprits: Vec<NodeIndex> = switches.into_iter().map(|switch| fabric.switches()[switch]).collect();
        culprits.sort_unstable_by_key(|&node| fabric.node(node).guid);
        culprits.dedup();
        let remedy = "Use up-down, which needs no tree and one virtual lane, or dfsssp, which has shorter routes on several; dor or torus \
                      if this is a grid. If it is a tree, list its top switches as roots."
            .to_owned();
        Err(Refusal { engine: Engine::FatTree, reason: format!("it is no tree: {reason}"), culprits, remedy })
    };
    let equals = needed_between_equals(graph, &heights.level);
    if !equals.is_empty() {
        return refuse("cables between switches of one level are needed and form rings; these are the switches", equals);
    }
    let above = with_hosts_above_hosts(graph, &heights);
    let hosts = |switches: &[usize]| -> u64 { switches.iter().map(|&switch| u64::from(heights.hosts[switch])).sum() };
    if 2 * hosts(&above) > heights.hosts.iter().map(|&hosts| u64::from(hosts)).sum() {
        return refuse("more than half of the hosts are on these switches, which are above others with hosts", above);
    }
    Ok(heights)
}

fn edges(graph: &Graph) -> impl Iterator<Item = (usize, usize)> {
    (0..graph.len()).flat_map(|switch| graph.peers(switch).iter().map(move |&peer| (switch, peer as usize)))
}

/// The switches at the ends of needed cables between equals.
///
/// Without the cables between switches of one level, the fabric falls into pieces. Cables that join the pieces are needed. As long as they
/// form no ring of pieces, the fabric is still a tree: each piece can hang below one end of such a cable.
fn needed_between_equals(graph: &Graph, level: &[u32]) -> Vec<usize> {
    let mut pieces = Pieces::new(graph.len());
    edges(graph).filter(|&(a, b)| level[a] != level[b]).for_each(|(a, b)| _ = pieces.join(a, b));
    let piece: Vec<usize> = (0..graph.len()).map(|switch| pieces.first(switch)).collect();
    let mut between: Vec<(usize, usize)> = edges(graph).map(|(a, b)| (piece[a], piece[b])).filter(|(a, b)| a < b).collect();
    between.sort_unstable();
    between.dedup(); // two pieces with several cables between them are no ring
    let joins = between.iter().filter(|&&(a, b)| pieces.join(a, b)).count();
    let is_ring = joins < between.len();
    edges(graph).filter(|&(a, b)| is_ring && piece[a] != piece[b]).map(|(a, _)| a).collect()
}

/// The switches with hosts that have a lower neighbour with hosts.
fn with_hosts_above_hosts(graph: &Graph, heights: &Heights) -> Vec<usize> {
    let Heights { level, hosts, .. } = heights;
    let is_below = |peer: usize, switch: usize| hosts[peer] > 0 && level[peer] < level[switch];
    let has_below = |switch: usize| graph.peers(switch).iter().any(|&peer| is_below(peer as usize, switch));
    (0..graph.len()).filter(|&switch| hosts[switch] > 0 && has_below(switch)).collect()
}
