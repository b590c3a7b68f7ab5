//! The parts of a fabric between which there is no cable.

use heddle_fabric::{Fabric, Guid, NodeIndex, PortRef, SwitchIndex};
use serde::Serialize;
use std::cmp::Reverse;
use std::fmt;

/// A part of a fabric: no cable leads from it to the rest, so no packet does. Hosts forward nothing: a host with a port in each of two parts
/// does not join them, and two hosts that are cabled to each other are a part of their own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Part {
    /// Its switches.
    pub switches: u64,
    /// Its hosts' ports that have a LID.
    pub host_ports: u64,
    /// Its LIDs.
    pub lids: u64,
    /// The description of its first node by GUID: a switch, if it has any.
    pub description: String,
    /// That node's GUID.
    pub guid: Guid,
}

/// The parts of a fabric, by falling numbers of switches and LIDs, then by GUID. One in a connected fabric, none in an empty one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts(Vec<Part>);

impl Parts {
    /// Finds them. `O(nodes + ports)`.
    pub fn of(fabric: &Fabric) -> Self {
        let part_of = of_switches(fabric);
        let count = part_of.iter().max().map_or(0, |&last| last as usize + 1);
        let mut members: Vec<(Vec<NodeIndex>, Part)> = (0..count).map(|_| (Vec::new(), Part::empty())).collect();
        for (switch, &part) in part_of.iter().enumerate() {
            let (nodes, part) = &mut members[part as usize];
            nodes.push(fabric.switches()[switch]);
            part.switches += 1;
        }
        for end in fabric.end_ports() {
            let (_, part) = &mut members[part_of[end.switch.index()] as usize];
            part.host_ports += u64::from(end.is_host());
            part.lids += end.lids().count() as u64;
        }
        members.extend(between_hosts(fabric));
        let mut parts: Vec<Part> = members.into_iter().map(|(nodes, part)| part.named(fabric, &nodes)).collect();
        parts.sort_by_key(|part| (Reverse((part.switches, part.lids)), part.guid));
        Self(parts)
    }

    /// Each of them.
    pub fn iter(&self) -> std::slice::Iter<'_, Part> {
        self.0.iter()
    }

    /// How many there are.
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is nothing at all.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The pairs of a host's port and a LID between which there is no way.
    pub fn apart_from_hosts(&self) -> u64 {
        self.0.iter().map(|part| part.host_ports * self.lids_beyond(part)).sum()
    }

    /// The pairs of a switch and a LID between which there is no way.
    pub fn apart_from_switches(&self) -> u64 {
        self.0.iter().map(|part| part.switches * self.lids_beyond(part)).sum()
    }

    fn lids_beyond(&self, part: &Part) -> u64 {
        self.0.iter().map(|part| part.lids).sum::<u64>() - part.lids
    }
}

impl Part {
    const fn empty() -> Self {
        Self { switches: 0, host_ports: 0, lids: 0, description: String::new(), guid: Guid(0) }
    }

    fn named(mut self, fabric: &Fabric, nodes: &[NodeIndex]) -> Self {
        if let Some(node) = nodes.iter().map(|&node| fabric.node(node)).min_by_key(|node| node.guid) {
            (self.description, self.guid) = (node.description.clone(), node.guid);
        }
        self
    }
}

/// How many parts the text names.
const NAMED: usize = 8;

/// One line.
impl fmt::Display for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} part{} without a cable between them", self.len(), if self.len() == 1 { "" } else { "s" })?;
        for (number, Part { switches, host_ports, description, guid, .. }) in self.0.iter().take(NAMED).enumerate() {
            let lead = if number == 0 { ": " } else { ", " };
            write!(f, "{lead}that of \"{description}\" ({guid}; switches: {switches}, ports of hosts: {host_ports})")?;
        }
        if self.len() > NAMED {
            write!(f, ", and {} more", self.len() - NAMED)?;
        }
        let (hosts, switches) = (self.apart_from_hosts(), self.apart_from_switches());
        write!(f, "; {hosts} pairs of host and LID, {switches} pairs of switch and LID are in different ones")
    }
}

/// By switch: the number of its part.
pub(crate) fn of_switches(fabric: &Fabric) -> Vec<u32> {
    const NONE: u32 = u32::MAX;
    let mut part_of = vec![NONE; fabric.switch_count()];
    let mut stack = Vec::new();
    let mut count = 0;
    for start in (0..fabric.switch_count() as u32).map(SwitchIndex) {
        if part_of[start.index()] != NONE {
            continue;
        }
        part_of[start.index()] = count;
        stack.push(start);
        while let Some(switch) = stack.pop() {
            for arc in fabric.arcs(switch) {
                if std::mem::replace(&mut part_of[arc.peer.index()], count) == NONE {
                    stack.push(arc.peer);
                }
            }
        }
        count += 1;
    }
    part_of
}

/// A part for each cable from host to host.
fn between_hosts(fabric: &Fabric) -> impl Iterator<Item = (Vec<NodeIndex>, Part)> + '_ {
    let is_host = |node: NodeIndex| fabric.switch_index(node).is_none();
    let hosts = (0..fabric.nodes().len() as u32).map(NodeIndex).filter(move |&node| is_host(node));
    let ports = hosts.flat_map(|node| (1..=fabric.node(node).num_ports).map(move |port| PortRef::new(node, port)));
    let cables = ports.filter_map(|at| Some((at, fabric.port(at)?.peer?)));
    cables.filter(move |&(at, peer)| is_host(peer.node) && at < peer).map(|(at, peer)| {
        let lids = |at| fabric.port(at).filter(|port| port.lid.is_some()).map_or(0, |port| 1 << port.lmc);
        let host_ports = [at, peer].into_iter().filter(|&at| lids(at) > 0).count() as u64;
        (vec![at.node, peer.node], Part { host_ports, lids: lids(at) + lids(peer), ..Part::empty() })
    })
}
