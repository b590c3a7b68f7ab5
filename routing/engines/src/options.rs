//! What the user decides about routes.

use crate::{Engine, Refusal};
use heddle_fabric::{Fabric, Guid, NodeIndex};
use std::collections::{BTreeMap, BTreeSet};

/// What the user decides about routes. Each engine heeds what has a meaning for it; the defaults ask for nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The virtual lanes that an engine may use, 1 to 15.
    pub max_vls: u8,
    /// The switches at the top, for engines that go up and down; found if there are none here.
    pub roots: Vec<Guid>,
    /// The hosts (nodes or ports) whose traffic with each other is balanced first; all hosts if there are none here.
    pub compute_nodes: Vec<Guid>,
    /// The hosts (nodes or ports) that are balanced apart from the others: storage and gateways.
    pub io_nodes: Vec<Guid>,
    /// Numbers that decide between equal switches, lower ones nearer to the top, in place of what the engine finds.
    pub ids: BTreeMap<Guid, u64>,
}

impl Default for Options {
    /// 8 VLs, which is what most switches have.
    fn default() -> Self {
        Self { max_vls: 8, roots: Vec::new(), compute_nodes: Vec::new(), io_nodes: Vec::new(), ids: BTreeMap::new() }
    }
}

impl Options {
    /// The options that are given here but say nothing to an engine, by the names of their flags without dashes.
    pub fn unheeded(&self, engine: Engine) -> Vec<&'static str> {
        use Engine::UpDown;
        let given = [
            (!self.roots.is_empty(), "roots", &[UpDown][..]),
            (!self.compute_nodes.is_empty(), "compute-nodes", &[UpDown]),
            (!self.io_nodes.is_empty(), "io-nodes", &[UpDown]),
            (!self.ids.is_empty(), "ids", &[UpDown]),
        ];
        given.into_iter().filter(|(is_given, _, heeding)| *is_given && !heeding.contains(&engine)).map(|(_, name, _)| name).collect()
    }
}

/// The refusal of options that contradict the fabric or each other.
pub(crate) fn if_contradictory(engine: Engine, fabric: &Fabric, options: &Options) -> Option<Refusal> {
    let nodes = nodes_by_guid(fabric);
    let node = |guid: &Guid| nodes.get(guid).copied();
    let no_switch = |&node: &NodeIndex| fabric.switch_index(node).is_none();
    let hosts: Vec<NodeIndex> = options.roots.iter().filter_map(node).filter(no_switch).collect();
    if !hosts.is_empty() {
        let remedy = "Take them out of the list of roots (--roots): roots are switches, listed by their node GUIDs.";
        return Some(refusal(engine, "hosts are listed as roots", hosts, remedy));
    }
    let io: BTreeSet<&Guid> = options.io_nodes.iter().collect();
    let both: Vec<NodeIndex> = options.compute_nodes.iter().filter(|guid| io.contains(guid)).filter_map(node).collect();
    if !both.is_empty() {
        let remedy = "Take each out of one of the lists (--compute-nodes, --io-nodes).";
        return Some(refusal(engine, "these are listed as compute nodes and as I/O nodes", both, remedy));
    }
    None
}

fn refusal(engine: Engine, reason: &str, culprits: Vec<NodeIndex>, remedy: &str) -> Refusal {
    Refusal { engine, reason: reason.to_owned(), culprits, remedy: remedy.to_owned() }
}

/// The node of each GUID of a node or port.
fn nodes_by_guid(fabric: &Fabric) -> BTreeMap<Guid, NodeIndex> {
    let nodes = (0..fabric.nodes().len() as u32).map(NodeIndex);
    let ports = nodes.clone().flat_map(|node| fabric.node_ports(node).iter().map(move |port| (port.guid, node)));
    ports.filter(|&(guid, _)| guid != Guid(0)).chain(nodes.map(|node| (fabric.node(node).guid, node))).collect()
}
