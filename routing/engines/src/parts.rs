//! Fabrics in several parts without a cable between them: each part is routed as a fabric of its own.

use crate::graph::Graph;
use crate::{Options, Refusal};
use heddle_fabric::{Fabric, FabricBuilder, Lanes, Levels, Lid, NodeIndex, PortRef, SwitchIndex, Tables};
use std::collections::BTreeSet;

/// The switches of each part, by GUID; the largest part first, equal ones by their first GUID.
pub(crate) fn parts(fabric: &Fabric, graph: &Graph) -> Vec<Vec<NodeIndex>> {
    let mut seen = vec![false; graph.len()];
    let mut parts: Vec<Vec<NodeIndex>> = Vec::new();
    for start in 0..graph.len() {
        if std::mem::replace(&mut seen[start], true) {
            continue;
        }
        let mut members = vec![start];
        let mut head = 0;
        while let Some(&switch) = members.get(head) {
            head += 1;
            for &peer in graph.peers(switch) {
                if !std::mem::replace(&mut seen[peer as usize], true) {
                    members.push(peer as usize);
                }
            }
        }
        let mut nodes: Vec<NodeIndex> = members.into_iter().map(|switch| fabric.switches()[switch]).collect();
        nodes.sort_by_key(|&node| fabric.node(node).guid);
        parts.push(nodes);
    }
    parts.sort_by_key(|part| (std::cmp::Reverse(part.len()), fabric.node(part[0]).guid));
    parts
}

/// Fills the tables part by part, each by `route`. Entries of LIDs in other parts stay as they are.
pub(crate) fn route_each(
    tables: &mut Tables,
    fabric: &Fabric,
    parts: &[Vec<NodeIndex>],
    options: &Options,
    route: impl Fn(&Fabric, &Options) -> Result<Tables, Refusal>,
) -> Result<(), Refusal> {
    let mut routed = Vec::new();
    for switches in parts {
        let part = Part::new(fabric, switches);
        let found = route(&part.fabric, &part.options(options)).map_err(|refusal| part.explain(refusal, fabric))?;
        for (switch, original) in part.switches(fabric) {
            tables.row_mut(original)[..found.row_len()].copy_from_slice(found.row(switch));
        }
        routed.push((part, found));
    }
    if routed.iter().any(|(_, found)| found.lanes().is_some()) {
        tables.set_lanes(Some(merged_lanes(fabric, tables.row_len(), &routed)));
    }
    Ok(())
}

/// The SLs and VLs of all parts. Those without any have SL 0 and VL 0.
fn merged_lanes(fabric: &Fabric, row_len: usize, routed: &[(Part, Tables)]) -> Lanes {
    let all = || routed.iter().filter_map(|(part, found)| Some((part, found.lanes()?, found.row_len())));
    let mut levels = vec![0; row_len * fabric.switch_count()];
    for (part, lanes, len) in all() {
        for (switch, original) in part.switches(fabric) {
            for lid in (1..len as u16).filter_map(Lid::new) {
                let level = lanes.levels_of(len, switch, lid).trailing_zeros();
                levels[original.index() * row_len + lid.index()] = if level < 16 { level as u8 } else { 0 };
            }
        }
    }
    let mut merged = Lanes::by_ports(fabric, Levels::ByPair(levels), Lanes::IDENTITY);
    for (part, lanes, _) in all() {
        for (switch, original) in part.switches(fabric) {
            let ports = fabric.switch(original).num_ports;
            for (from, to) in (0..=ports).flat_map(|from| (0..=ports).map(move |to| (from, to))) {
                merged.set_row(original, from, to, *lanes.row(switch, from, to));
            }
        }
    }
    merged
}

/// Some switches of a fabric and the hosts that are cabled to them.
struct Part {
    fabric: Fabric,
    /// By node of the part: the node of the whole.
    whole: Vec<NodeIndex>,
}

impl Part {
    fn new(fabric: &Fabric, switches: &[NodeIndex]) -> Self {
        let mut is_in = vec![false; fabric.nodes().len()];
        switches.iter().for_each(|switch| is_in[switch.index()] = true);
        let peers = switches.iter().flat_map(|&switch| fabric.node_ports(switch)).filter_map(|port| port.peer);
        let nodes: BTreeSet<NodeIndex> = peers.map(|peer| peer.node).chain(switches.iter().copied()).collect();
        let whole: Vec<NodeIndex> = nodes.into_iter().collect();
        let mut builder = FabricBuilder::new();
        for &node in &whole {
            builder.add_node(fabric.node(node).clone()).expect("nodes of a fabric are distinct");
        }
        let place = |node: NodeIndex| NodeIndex(whole.binary_search(&node).expect("a cable's end is in the part") as u32);
        for &node in &whole {
            for (number, port) in fabric.node_ports(node).iter().enumerate() {
                let at = PortRef::new(place(node), number as u8);
                let spec = builder.port_mut(at).expect("the node is the same");
                // Of those that claim a LID, one has it in the whole.
                let has_lid = |&lid: &Lid| fabric.lid_owner(lid).is_some_and(|end| end.at == PortRef::new(node, number as u8));
                (spec.guid, spec.lid, spec.lmc) = (port.guid, port.lid.filter(has_lid), port.lmc);
                // A host's other ports may be in other parts.
                if let Some(peer) = port.peer.filter(|peer| is_in[node.index()] || is_in[peer.node.index()]) {
                    builder.connect(at, PortRef::new(place(peer.node), peer.port), port.link).expect("the ports are the same");
                }
            }
        }
        Self { fabric: builder.build(), whole }
    }

    /// The switches by their numbers here and in the whole.
    fn switches<'a>(&'a self, fabric: &'a Fabric) -> impl Iterator<Item = (SwitchIndex, SwitchIndex)> + 'a {
        let original = |&node: &NodeIndex| fabric.switch_index(self.whole[node.index()]).expect("a switch is one in the whole too");
        (0..).map(SwitchIndex).zip(self.fabric.switches().iter().map(original))
    }

    /// The options, of which this part has to know the roots that are in it.
    fn options(&self, options: &Options) -> Options {
        let mut options = options.clone();
        options.roots.retain(|&guid| self.fabric.node_by_guid(guid).is_some());
        options
    }

    /// The refusal of this part as one of the whole.
    fn explain(&self, mut refusal: Refusal, fabric: &Fabric) -> Refusal {
        let first = self.fabric.switches().iter().map(|node| fabric.node(self.whole[node.index()])).min_by_key(|node| node.guid);
        if let Some(first) = first {
            let count = self.fabric.switch_count();
            let reason = refusal.reason;
            refusal.reason = format!("in the part of {count} switches with \"{}\" ({}): {reason}", first.description, first.guid);
        }
        refusal.culprits.iter_mut().for_each(|culprit| *culprit = self.whole[culprit.index()]);
        refusal
    }
}
