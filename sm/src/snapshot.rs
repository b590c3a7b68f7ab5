//! From what was found to the immutable fabric that engines see.

use crate::event::Problem;
use crate::survey::Survey;
use heddle_fabric::{Fabric, FabricBuilder, Guid, Lid, LidsExhausted, Link, LinkSpeed, LinkWidth, NodeIndex, NodeKind, NodeSpec, PortRef};
use heddle_mad::wire::{self, ExtendedPortInfo, NodeType, PortInfo};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A port for as long as this subnet manager lives: the GUID of its node, and its number.
pub(crate) type PortKey = (u64, u8);

/// The fabric of one sweep.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) fabric: Arc<Fabric>,
    /// The survey's number of each node of the fabric.
    pub(crate) found: Vec<usize>,
    /// Ports that have another LID now than they said.
    pub(crate) new_lids: usize,
    /// The port that this subnet manager speaks from.
    pub(crate) local: PortRef,
}

impl Snapshot {
    /// Freezes what was found, nodes in the order of their GUIDs, so that the same fabric gives the same snapshot in whatever order
    /// the answers came in. A port keeps the LID that it had under this subnet manager (`lids`), else the one that it says it has.
    /// Ports in `refused` could not be set before: they are left out with their cables, and at port 0 the whole switch. Of a read-only
    /// survey, all stays as it was found.
    pub(crate) fn take(survey: &mut Survey, lids: &BTreeMap<PortKey, Lid>, refused: &BTreeSet<PortKey>) -> Result<Self, LidsExhausted> {
        loop {
            let snapshot = Self::freeze(survey, lids, refused)?;
            if survey.read_only {
                return Ok(snapshot);
            }
            let needed = snapshot.fabric.top_lid().map_or(0, Lid::get);
            let small: Vec<(u16, usize)> = snapshot
                .fabric
                .switches()
                .iter()
                .filter_map(|node| {
                    let found = snapshot.found[node.index()];
                    Some((survey.nodes[found].switch_info?.linear_fdb_cap(), found))
                })
                .filter(|&(cap, _)| cap <= needed)
                .collect();
            // Without the smallest, fewer LIDs may be needed. All of that size at once: there are few sizes, but maybe many switches.
            let Some(&(least, _)) = small.iter().min() else { return Ok(snapshot) };
            for (cap, found) in small.into_iter().filter(|&(cap, _)| cap == least) {
                survey.leave_out(found, None, Problem::TableTooSmall(cap));
            }
        }
    }

    fn freeze(survey: &mut Survey, lids: &BTreeMap<PortKey, Lid>, refused: &BTreeSet<PortKey>) -> Result<Self, LidsExhausted> {
        survey.incomplete |= !refused.is_empty();
        for found in &mut survey.nodes {
            // A switch without a LID cannot be addressed; other ports are left out below, cable by cable.
            found.left_out |= refused.contains(&(found.info.node_guid(), 0));
        }
        leave_out_cut_off(survey, refused);
        let mut order: Vec<usize> = (0..survey.nodes.len()).filter(|&node| !survey.nodes[node].left_out).collect();
        order.sort_by_key(|&node| survey.nodes[node].info.node_guid());
        let mut number = vec![None; survey.nodes.len()];
        let mut builder = FabricBuilder::new();
        for &node in &order {
            let found = &survey.nodes[node];
            let kind = match found.info.kind() {
                Some(NodeType::Switch) => NodeKind::Switch,
                Some(NodeType::Router) => NodeKind::Router,
                Some(NodeType::ChannelAdapter) | None => NodeKind::Ca,
            };
            let mut spec = NodeSpec::new(kind, Guid(found.info.node_guid()), found.info.num_ports(), found.description.clone());
            spec.system_image_guid = Guid(found.info.system_image_guid());
            spec.vendor_id = found.info.vendor_id();
            spec.device_id = found.info.device_id();
            number[node] = Some(builder.add_node(spec).expect("discovery keeps GUIDs apart and port counts in range"));
        }
        let key = |node: usize, port: u8| (survey.nodes[node].info.node_guid(), port);
        for (&(a, a_port), &(b, b_port)) in &survey.cables {
            let known = |node: usize, port: u8| survey.nodes[node].ports[usize::from(port)];
            let (Some(a_node), Some(b_node), Some(info), Some(_)) = (number[a], number[b], known(a, a_port), known(b, b_port)) else {
                continue;
            };
            if refused.contains(&key(a, a_port)) || refused.contains(&key(b, b_port)) {
                continue;
            }
            // Both directions of a cable are in the survey and agree: the second is the same cable again.
            let _ = builder.connect(
                PortRef::new(a_node, a_port),
                PortRef::new(b_node, b_port),
                link(&info, survey.nodes[a].extended.get(&a_port)),
            );
        }

        // Ports that are away keep their LIDs: they come back, and others know them by these.
        let remembered: BTreeSet<Lid> = lids.values().copied().collect();
        for &node in &order {
            let found = &survey.nodes[node];
            let index = number[node].expect("every node of the order is in the builder");
            let addressed = if found.is_switch() { 0..=0 } else { 1..=found.info.num_ports() };
            for port in addressed {
                let Some(info) = found.ports[usize::from(port)].filter(|_| !refused.contains(&key(node, port))) else { continue };
                let said = Lid::new(info.lid()).filter(|lid| !remembered.contains(lid));
                let spec = builder.port_mut(PortRef::new(index, port)).expect("the port is in range");
                spec.guid = Guid(found.port_guid(port));
                spec.lid = lids.get(&key(node, port)).copied().or(said);
                if survey.read_only {
                    spec.lmc = info.lmc();
                }
            }
        }
        if !survey.read_only {
            let reserved: Vec<Lid> = remembered.into_iter().collect();
            // When no others are left, those of ports that are away are better than none.
            builder.assign_lids_beside(&reserved).or_else(|_| builder.assign_lids())?;
        }
        let fabric = Arc::new(builder.build());
        let new_lids = order
            .iter()
            .enumerate()
            .flat_map(|(index, &node)| (0..).zip(fabric.node_ports(NodeIndex(index as u32))).map(move |(port, known)| (node, port, known)))
            .filter(|&(node, port, known): &(usize, usize, _)| {
                known.lid.is_some_and(|lid| survey.nodes[node].ports[port].is_none_or(|info| info.lid() != lid.get()))
            })
            .count();
        let local = survey.nodes.first().and_then(|local| {
            let port = if local.is_switch() { 0 } else { local.info.local_port_num() };
            Some(PortRef::new(number[0]?, port))
        });
        Ok(Self { fabric, found: order, new_lids, local: local.unwrap_or(PortRef::new(NodeIndex(0), 0)) })
    }

    /// The fabric's node as the survey knows it.
    pub(crate) fn found<'a>(&self, survey: &'a Survey, node: NodeIndex) -> &'a crate::survey::Found {
        &survey.nodes[self.found[node.index()]]
    }

    /// Whether anything is routed to or over a port.
    pub(crate) fn uses(&self, (guid, port): PortKey) -> bool {
        let at = self.fabric.node_by_guid(Guid(guid)).and_then(|node| self.fabric.port(PortRef::new(node, port)));
        at.is_some_and(|port| port.lid.is_some() || port.peer.is_some())
    }

    /// A port's key for the memory across sweeps.
    pub(crate) fn key(&self, at: PortRef) -> PortKey {
        (self.fabric.node(at.node).guid.0, at.port)
    }
}

/// Leaves out what hangs on left-out nodes only: no packet could get there.
fn leave_out_cut_off(survey: &mut Survey, refused: &BTreeSet<PortKey>) {
    let is_refused = |(node, port): (usize, u8)| refused.contains(&(survey.nodes[node].info.node_guid(), port));
    let mut reached = vec![false; survey.nodes.len()];
    let mut stack = vec![0];
    while let Some(node) = stack.pop() {
        if survey.nodes.get(node).is_none_or(|found| found.left_out) || std::mem::replace(&mut reached[node], true) {
            continue;
        }
        let cables = survey.cables.range((node, 0)..=(node, u8::MAX)).filter(|&(&here, &there)| !is_refused(here) && !is_refused(there));
        stack.extend(cables.map(|(_, &(peer, _))| peer));
    }
    for (node, reached) in reached.into_iter().enumerate() {
        if !reached && !survey.nodes[node].left_out {
            survey.leave_out(node, None, Problem::CutOff);
        }
    }
}

fn link(info: &PortInfo, extended: Option<&ExtendedPortInfo>) -> Link {
    let width = info.active_width().map(|width| match width {
        wire::LinkWidth::X1 => LinkWidth::X1,
        wire::LinkWidth::X2 => LinkWidth::X2,
        wire::LinkWidth::X4 => LinkWidth::X4,
        wire::LinkWidth::X8 => LinkWidth::X8,
        wire::LinkWidth::X12 => LinkWidth::X12,
    });
    let speed = extended.map_or(info.active_speed(), |extended| extended.active_speed(info)).map(|speed| match speed {
        wire::LinkSpeed::Sdr => LinkSpeed::Sdr,
        wire::LinkSpeed::Ddr => LinkSpeed::Ddr,
        wire::LinkSpeed::Qdr => LinkSpeed::Qdr,
        wire::LinkSpeed::Fdr10 => LinkSpeed::Fdr10,
        wire::LinkSpeed::Fdr => LinkSpeed::Fdr,
        wire::LinkSpeed::Edr => LinkSpeed::Edr,
        wire::LinkSpeed::Hdr => LinkSpeed::Hdr,
        wire::LinkSpeed::Ndr => LinkSpeed::Ndr,
        wire::LinkSpeed::Xdr => LinkSpeed::Xdr,
    });
    Link { width, speed }
}
