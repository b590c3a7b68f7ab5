//! Hosts that no switch carries.

use heddle_fabric::{Fabric, NodeIndex, PortRef};

/// What hosts that are cabled to each other, beside a fabric, do not reach and are not reached from.
#[derive(Debug, Default)]
pub(crate) struct CutOff {
    /// Their ports.
    pub(crate) ports: Vec<PortRef>,
    /// Pairs of a switch and one of their LIDs.
    pub(crate) from_switches: u64,
    /// Pairs of a host's port and a LID, of which at least one is theirs.
    pub(crate) from_hosts: u64,
}

/// Finds them. Hosts forward nothing, so only two hosts by themselves, without any switch, have all they need in the cable between them.
/// `O(ports)`.
pub(crate) fn find(fabric: &Fabric) -> CutOff {
    let nodes = (0..fabric.nodes().len() as u32).map(NodeIndex).filter(|&node| fabric.switch_index(node).is_none());
    let host_behind = |at: PortRef| fabric.port(at)?.peer.filter(|peer| fabric.switch_index(peer.node).is_none());
    let ports: Vec<PortRef> = nodes
        .flat_map(|node| (1..=fabric.node(node).num_ports).map(move |port| PortRef::new(node, port)))
        .filter(|&at| host_behind(at).is_some())
        .collect();
    if fabric.switch_count() == 0 && ports.len() == 2 {
        return CutOff::default();
    }
    let lids = |at: PortRef| fabric.port(at).filter(|port| port.lid.is_some()).map_or(0, |port| 1_u64 << port.lmc);
    let theirs: u64 = ports.iter().map(|&at| lids(at)).sum();
    let others: u64 = fabric.end_ports().iter().map(|end| lids(end.at)).sum();
    let hosts = fabric.end_ports().iter().filter(|end| end.is_host()).count() as u64;
    let missed = |&at: &PortRef| others + theirs - lids(at) - host_behind(at).map_or(0, lids);
    CutOff {
        from_switches: fabric.switch_count() as u64 * theirs,
        from_hosts: hosts * theirs + ports.iter().map(missed).sum::<u64>(),
        ports,
    }
}
