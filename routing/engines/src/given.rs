//! Whether what the user listed fits the fabric.

use crate::graph::Graph;
use crate::refusal::NAMED;
use crate::{Engine, Options, Refusal};
use heddle_fabric::{Fabric, Guid, NodeIndex, SwitchIndex};
use std::collections::BTreeSet;

/// Refuses lists that cannot be meant for this fabric.
pub(crate) fn check(engine: Engine, fabric: &Fabric, graph: &Graph, options: &Options) -> Result<(), Refusal> {
    check_roots(engine, fabric, graph, options)?;
    check_hosts(engine, fabric, options)
}

/// The roots as switches. Those that are none are left out.
pub(crate) fn roots(fabric: &Fabric, options: &Options) -> Vec<usize> {
    let nodes = options.roots.iter().filter_map(|&guid| fabric.node_by_guid(guid));
    nodes.filter_map(|node| fabric.switch_index(node)).map(SwitchIndex::index).collect()
}

fn check_roots(engine: Engine, fabric: &Fabric, graph: &Graph, options: &Options) -> Result<(), Refusal> {
    let refuse = |reason: String, culprits| {
        let remedy = format!("Correct the list of roots, or leave it out: {engine} finds the order of the switches itself.");
        Err(Refusal { engine, reason, culprits, remedy })
    };
    let absent: Vec<Guid> = options.roots.iter().copied().filter(|&guid| fabric.node_by_guid(guid).is_none()).collect();
    if !absent.is_empty() {
        return refuse(format!("there are no nodes with these GUIDs, which are listed as roots: {}", names(&absent)), Vec::new());
    }
    if options.roots.is_empty() {
        return Ok(());
    }
    let roots: BTreeSet<usize> = roots(fabric, options).into_iter().collect();
    let is_root = |&&peer: &&u32| roots.contains(&(peer as usize));
    let adjacent = roots.iter().filter(|&&root| graph.peers(root).iter().any(|peer| is_root(&peer)));
    let adjacent: Vec<NodeIndex> = adjacent.map(|&root| fabric.switches()[root]).collect();
    if !adjacent.is_empty() {
        return refuse("these switches are listed as roots and cabled to each other, so that none is above the other".to_owned(), adjacent);
    }
    // A switch by itself needs no root.
    let hops = graph.hops(roots.iter().copied());
    let unranked = (0..graph.len()).filter(|&switch| hops[switch] == u32::MAX && !graph.peers(switch).is_empty());
    let unranked: Vec<NodeIndex> = unranked.map(|switch| fabric.switches()[switch]).collect();
    if !unranked.is_empty() {
        return refuse(
            "these switches are cabled to none of the roots, not by way of others either, and so have no rank".to_owned(),
            unranked,
        );
    }
    Ok(())
}

fn check_hosts(engine: Engine, fabric: &Fabric, options: &Options) -> Result<(), Refusal> {
    let refuse = |reason: String, culprits, what| {
        let remedy = format!("Correct the list of {what} nodes, or leave it out: {engine} then balances all hosts alike.");
        Err(Refusal { engine, reason, culprits, remedy })
    };
    let ports = (0..fabric.nodes().len() as u32).map(NodeIndex).flat_map(|node| fabric.node_ports(node));
    let known: BTreeSet<Guid> =
        ports.map(|port| port.guid).filter(|&guid| guid != Guid(0)).chain(fabric.nodes().iter().map(|node| node.guid)).collect();
    for (list, what) in [(&options.compute_nodes, "compute"), (&options.io_nodes, "I/O")] {
        let absent: Vec<Guid> = list.iter().copied().filter(|guid| !known.contains(guid)).collect();
        if !absent.is_empty() {
            let reason = format!("there are no nodes or ports with these GUIDs, which are listed as {what} nodes: {}", names(&absent));
            return refuse(reason, Vec::new(), what);
        }
        let switches = list.iter().filter_map(|&guid| fabric.node_by_guid(guid)).filter(|&node| fabric.switch_index(node).is_some());
        let switches: Vec<NodeIndex> = switches.collect();
        if !switches.is_empty() {
            return refuse(format!("these nodes are listed as {what} nodes, but are switches"), switches, what);
        }
    }
    Ok(())
}

/// The first of some GUIDs.
fn names(guids: &[Guid]) -> String {
    let first: Vec<String> = guids.iter().take(NAMED).map(Guid::to_string).collect();
    let more = guids.len().saturating_sub(NAMED);
    first.join(", ") + &if more > 0 { format!(" and {more} more") } else { String::new() }
}
