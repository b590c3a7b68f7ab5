use crate::{FabricBuilder, Lid, NodeIndex, NodeKind, PortRef, PortSpec};

/// What [`FabricBuilder::assign_lids`] did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LidReport {
    /// Ports that had no LID and have one now.
    pub assigned: Vec<PortRef>,
    /// Ports whose LID belongs to another port, or whose range is not aligned or ends beyond the unicast LIDs; they have a new one.
    pub replaced: Vec<(PortRef, Lid)>,
}

/// There are more ports than LIDs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no unicast LID is left for port {} of node {}: {} LIDs are all there are", .0.port, .0.node.0, Lid::MAX.get())]
pub struct LidsExhausted(pub PortRef);

impl FabricBuilder {
    /// Gives every port of a host this LMC, 0 to 7; what is larger counts as 7. Switches keep theirs. [`FabricBuilder::assign_lids`] then
    /// replaces base LIDs whose ranges are not aligned or overlap.
    pub fn set_lmc(&mut self, lmc: u8) {
        let hosts = self.nodes.iter().zip(&mut self.ports).filter(|(node, _)| node.kind != NodeKind::Switch);
        hosts.flat_map(|(_, ports)| ports).for_each(|port| port.spec.lmc = lmc.min(PortSpec::MAX_LMC));
    }

    /// Gives every port that needs a LID exactly one range of its own: each switch (at port 0) and each cabled port of a host.
    ///
    /// The order is by switch, its hosts by port before itself. A port that has a valid range keeps it, the first in the order where two
    /// claim the same. The others get the lowest free ranges in the order, so that a switch's hosts share as few forwarding-table blocks
    /// as possible. An LMC beyond 7 counts as 7.
    /// The same fabric always gets the same LIDs. `O(nodes + ports + LIDs)`.
    ///
    /// # Errors
    /// [`LidsExhausted`] when there are more ports than the 49,151 unicast LIDs; LIDs assigned until then stay.
    pub fn assign_lids(&mut self) -> Result<LidReport, LidsExhausted> {
        self.assign_lids_beside(&[])
    }

    /// As [`FabricBuilder::assign_lids`], but a port that has no LID gets none of `reserved`: the LIDs of ports that are not there now.
    ///
    /// # Errors
    /// [`LidsExhausted`] when there are more ports than LIDs beside those; LIDs assigned until then stay.
    pub fn assign_lids_beside(&mut self, reserved: &[Lid]) -> Result<LidReport, LidsExhausted> {
        let mut report = LidReport::default();
        let mut taken = vec![false; Lid::MAX.index() + 1];
        taken[0] = true;
        let mut homeless = Vec::new();
        for at in self.ports_in_lid_order() {
            let spec = &mut self.ports[at.node.index()][usize::from(at.port)].spec;
            spec.lmc = spec.lmc.min(PortSpec::MAX_LMC);
            let size = 1usize << spec.lmc;
            match spec.lid {
                None => homeless.push((at, false)),
                Some(lid) => {
                    let range = lid.index()..lid.index() + size;
                    let fits = lid.index() % size == 0 && range.end <= taken.len() && !taken[range.clone()].contains(&true);
                    if fits {
                        taken[range].fill(true);
                    } else {
                        report.replaced.push((at, lid));
                        spec.lid = None;
                        homeless.push((at, true));
                    }
                }
            }
        }
        for lid in reserved {
            taken[lid.index()] = true;
        }
        let mut next = [1usize; 8]; // lowest candidate, by LMC
        for (at, had_one) in homeless {
            let spec = &mut self.ports[at.node.index()][usize::from(at.port)].spec;
            let size = 1usize << spec.lmc;
            let start = &mut next[usize::from(spec.lmc)];
            *start = start.next_multiple_of(size);
            while taken.get(*start..*start + size).is_some_and(|range| range.contains(&true)) {
                *start += size;
            }
            let Some(range) = taken.get_mut(*start..*start + size) else { return Err(LidsExhausted(at)) };
            range.fill(true);
            spec.lid = Lid::new(*start as u16);
            *start += size;
            if !had_one {
                report.assigned.push(at);
            }
        }
        Ok(report)
    }

    /// The ports that need LIDs: for each switch its hosts by port, then the switch itself; then what hangs on no switch.
    fn ports_in_lid_order(&self) -> Vec<PortRef> {
        let mut order = Vec::new();
        let mut loose = Vec::new();
        for (index, node) in self.nodes.iter().enumerate() {
            let node_index = NodeIndex(index as u32);
            if node.kind == NodeKind::Switch {
                let hosts = self.ports[index].iter().filter_map(|port| Some(port.cable?.0));
                order.extend(hosts.filter(|peer| self.nodes[peer.node.index()].kind != NodeKind::Switch));
                order.push(PortRef::new(node_index, 0));
            } else {
                let alone = (1..=node.num_ports)
                    .map(|port| PortRef::new(node_index, port))
                    .filter(|&at| self.peer(at).is_some_and(|(peer, _)| self.nodes[peer.node.index()].kind != NodeKind::Switch));
                loose.extend(alone);
            }
        }
        order.append(&mut loose);
        order
    }
}
