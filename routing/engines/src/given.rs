//! Whether what the user listed fits the fabric, and whether the lists agree.

use crate::graph::Graph;
use crate::refusal::NAMED;
use crate::{Engine, Options, Refusal};
use heddle_fabric::{Fabric, Guid, NodeIndex, SwitchIndex};
use std::collections::{BTreeMap, BTreeSet};

/// Refuses lists that cannot be meant for this fabric, or contradict each other.
pub(crate) fn check(engine: Engine, fabric: &Fabric, graph: &Graph, options: &Options) -> Result<(), Refusal> {
    if options.roots.is_empty() && options.compute_nodes.is_empty() && options.io_nodes.is_empty() {
        return Ok(());
    }
    let nodes = nodes_by_guid(fabric);
    check_roots(engine, fabric, graph, &nodes, options)?;
    check_hosts(engine, fabric, &nodes, options)
}

/// The node of each GUID of a node or port.
fn nodes_by_guid(fabric: &Fabric) -> BTreeMap<Guid, NodeIndex> {
    let nodes = (0..fabric.nodes().len() as u32).map(NodeIndex);
    let ports = nodes.clone().flat_map(|node| fabric.node_ports(node).iter().map(move |port| (port.guid, node)));
    ports.filter(|&(guid, _)| guid != Guid(0)).chain(nodes.map(|node| (fabric.node(node).guid, node))).collect()
}

/// The roots as switches. Those that are none are left out.
pub(crate) fn roots(fabric: &Fabric, options: &Options) -> Vec<usize> {
    let nodes = options.roots.iter().filter_map(|&guid| fabric.node_by_guid(guid));
    nodes.filter_map(|node| fabric.switch_index(node)).map(SwitchIndex::index).collect()
}

fn check_roots(
    engine: Engine,
    fabric: &Fabric,
    graph: &Graph,
    nodes: &BTreeMap<Guid, NodeIndex>,
    options: &Options,
) -> Result<(), Refusal> {
    let no_switch = |&node: &NodeIndex| fabric.switch_index(node).is_none();
    let hosts: Vec<NodeIndex> = options.roots.iter().filter_map(|guid| nodes.get(guid).copied()).filter(no_switch).collect();
    if !hosts.is_empty() {
        let remedy = "Take them out of the list of roots (--roots): roots are switches, listed by their node GUIDs.".to_owned();
        return Err(Refusal { engine, reason: "hosts are listed as roots".to_owned(), culprits: hosts, remedy });
    }
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

fn check_hosts(engine: Engine, fabric: &Fabric, nodes: &BTreeMap<Guid, NodeIndex>, options: &Options) -> Result<(), Refusal> {
    let io: BTreeSet<&Guid> = options.io_nodes.iter().collect();
    let both = options.compute_nodes.iter().filter(|guid| io.contains(guid)).filter_map(|guid| nodes.get(guid).copied());
    let both: Vec<NodeIndex> = both.collect();
    if !both.is_empty() {
        let reason = "these are listed as compute nodes and as I/O nodes".to_owned();
        let remedy = "Take each out of one of the lists (--compute-nodes, --io-nodes).".to_owned();
        return Err(Refusal { engine, reason, culprits: both, remedy });
    }
    let refuse = |reason: String, culprits, what| {
        let remedy = format!("Correct the list of {what} nodes, or leave it out: {engine} then balances all hosts alike.");
        Err(Refusal { engine, reason, culprits, remedy })
    };
    for (list, what) in [(&options.compute_nodes, "compute"), (&options.io_nodes, "I/O")] {
        let absent: Vec<Guid> = list.iter().copied().filter(|guid| !nodes.contains_key(guid)).collect();
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
