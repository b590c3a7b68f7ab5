use crate::graph::Graph;
use crate::{Engine, parts};
use heddle_fabric::{DROP_VL, Fabric, NodeIndex};
use std::fmt;

/// Why an engine cannot route a fabric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The engine that was asked.
    pub engine: Engine,
    /// What is wrong, in words.
    pub reason: String,
    /// The nodes that are in the way, most telling first; there can be thousands.
    pub culprits: Vec<NodeIndex>,
    /// What to do.
    pub remedy: String,
}

impl Refusal {
    /// The refusal as text, without the engine's name, with names and GUIDs of the first culprits. `fabric` is the one that was to be routed.
    pub fn display<'a>(&'a self, fabric: &'a Fabric) -> impl fmt::Display + 'a {
        Explained { reason: &self.reason, culprits: &self.culprits, remedy: &self.remedy, fabric }
    }
}

/// What is wrong, who is in the way and what to do, as text.
pub(crate) struct Explained<'a> {
    pub(crate) reason: &'a str,
    pub(crate) culprits: &'a [NodeIndex],
    pub(crate) remedy: &'a str,
    pub(crate) fabric: &'a Fabric,
}

/// How many culprits are named.
pub(crate) const NAMED: usize = 8;

impl fmt::Display for Explained<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { reason, culprits, remedy, .. } = self;
        write!(f, "{reason}")?;
        if !culprits.is_empty() {
            f.write_str(": ")?;
        }
        for (number, &culprit) in culprits.iter().take(NAMED).enumerate() {
            write!(f, "{}{}", if number == 0 { "" } else { ", " }, name(self.fabric, culprit))?;
        }
        if culprits.len() > NAMED {
            write!(f, " and {} more", culprits.len() - NAMED)?;
        }
        write!(f, ". {remedy}")
    }
}

fn name(fabric: &Fabric, node: NodeIndex) -> String {
    let node = fabric.node(node);
    format!("\"{}\" ({})", node.description, node.guid)
}

/// The refusal of routes that need more virtual lanes than there may be. `culprits` are the switches where those begin that find no room.
pub(crate) fn too_many_lanes(engine: Engine, needed: usize, allowed: u8, culprits: Vec<NodeIndex>) -> Refusal {
    let too_many = needed > usize::from(DROP_VL);
    let needed = if too_many { format!("more than {DROP_VL}") } else { needed.to_string() };
    let mut reason = format!("free of deadlock its routes need {needed} virtual lanes, but {allowed} are allowed");
    if !culprits.is_empty() {
        reason += "; the routes that find no room begin at these switches";
    }
    let remedy = match too_many {
        true => "No switch has as many: use up-down, which needs one.".to_owned(),
        false => format!("Allow {needed} (--max-vls {needed}) if the switches have them, or use up-down, which needs one."),
    };
    Refusal { engine, reason, culprits, remedy }
}

/// The refusal of a fabric that is in more than one part.
pub(crate) fn if_disconnected(engine: Engine, fabric: &Fabric, graph: &Graph) -> Option<Refusal> {
    if_hosts_are_apart(engine, fabric).or_else(|| if_switches_are_apart(engine, fabric, graph))
}

/// A cable from host to host is a part of its own, since hosts forward nothing. No table has to do with it, so no proof would notice.
pub(crate) fn if_hosts_are_apart(engine: Engine, fabric: &Fabric) -> Option<Refusal> {
    let is_switch = |node: NodeIndex| fabric.switch_index(node).is_some();
    let nodes = (0..fabric.nodes().len() as u32).map(NodeIndex).filter(|&node| !is_switch(node));
    let peers = |node: NodeIndex| fabric.node_ports(node).iter().filter_map(|port| port.peer).filter(|peer| !is_switch(peer.node));
    let ends: Vec<NodeIndex> = nodes.flat_map(|node| peers(node).map(move |_| node)).collect();
    if ends.is_empty() || (fabric.switch_count() == 0 && ends.len() == 2) {
        return None;
    }
    let mut culprits = ends;
    culprits.dedup();
    let reason = "hosts are cabled to each other, not to a switch, and hosts forward nothing, so that the rest of the fabric cannot \
                  reach these hosts";
    let remedy = "Cable them to a switch, or leave them out.".to_owned();
    Some(Refusal { engine, reason: reason.to_owned(), culprits, remedy })
}

fn if_switches_are_apart(engine: Engine, fabric: &Fabric, graph: &Graph) -> Option<Refusal> {
    let parts = parts::parts(fabric, graph);
    if parts.len() < 2 {
        return None;
    }
    let sizes: Vec<String> = parts.iter().take(NAMED).map(|part| part.len().to_string()).collect();
    let reason = format!(
        "the fabric's switches are in {} parts without a cable between them ({}{} switches); from {} there is no way to these switches",
        parts.len(),
        sizes.join(" + "),
        if parts.len() > NAMED { " + ..." } else { "" },
        name(fabric, parts[0][0])
    );
    // One switch of each part first, so that every part is named.
    let firsts = parts[1..].iter().map(|part| part[0]);
    let others = parts[1..].iter().flat_map(|part| part[1..].iter().copied());
    let culprits = firsts.chain(others).collect();
    let remedy = "Repair the cables between the parts, or route each part as a fabric of its own.".to_owned();
    Some(Refusal { engine, reason, culprits, remedy })
}
