use crate::{Fabric, Guid, Lid, Link, NodeIndex, NodeKind, PortRef};
use std::collections::BTreeMap;

/// What is known of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSpec {
    /// What kind of node.
    pub kind: NodeKind,
    /// The node's identity; unique in a fabric.
    pub guid: Guid,
    /// Shared by all nodes of one system; zero if not known.
    pub system_image_guid: Guid,
    /// Who made it (an IEEE number, 24 bits); zero if not known.
    pub vendor_id: u32,
    /// The maker's number for the device; zero if not known.
    pub device_id: u16,
    /// How many cable ports it has, 1 to 254.
    pub num_ports: u8,
    /// The NodeDescription, blanks at its ends included. Not unique.
    pub description: String,
}

impl NodeSpec {
    /// A node of which nothing else is known.
    pub fn new(kind: NodeKind, guid: Guid, num_ports: u8, description: impl Into<String>) -> Self {
        Self { kind, guid, system_image_guid: Guid(0), vendor_id: 0, device_id: 0, num_ports, description: description.into() }
    }

    /// Whether it sends and receives for somebody: no switch, and not the aggregation node of one. Every HDR and later switch has such a
    /// node, which looks like a CA; if these counted, cores would seem to have hosts.
    pub fn is_host(&self) -> bool {
        const MELLANOX: u32 = 0x02c9;
        const AGGREGATION_NODE: u16 = 0xcf09;
        self.kind != NodeKind::Switch && (self.vendor_id, self.device_id) != (MELLANOX, AGGREGATION_NODE)
    }
}

/// What is known of a port beside its cable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortSpec {
    /// The port's GUID; zero if not known. A switch has one, at port 0.
    pub guid: Guid,
    /// The base LID, if the port has a valid one.
    pub lid: Option<Lid>,
    /// The port answers to 2^lmc LIDs from the base on; 0 to 7. What is larger counts as 7.
    pub lmc: u8,
}

impl PortSpec {
    /// The largest LMC: the field has three bits (IBA 14.2.5.6, PortInfo).
    pub const MAX_LMC: u8 = 7;
}

/// Why a node or a cable cannot be added.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// A node with this GUID is there already.
    #[error("node GUID {guid} of \"{description}\" is also the GUID of \"{other}\"")]
    DuplicateGuid {
        /// The GUID.
        guid: Guid,
        /// The node to be added.
        description: String,
        /// The node that is there.
        other: String,
    },
    /// The node has no such port.
    #[error("\"{description}\" ({guid}) has ports 1 to {num_ports}, but not port {port}")]
    NoSuchPort {
        /// The node.
        guid: Guid,
        /// The node's description.
        description: String,
        /// The ports that it has.
        num_ports: u8,
        /// The port asked for.
        port: u8,
    },
    /// Another cable is in the port.
    #[error("port {port} of \"{description}\" ({guid}) has a cable to port {peer_port} of \"{peer}\" already")]
    PortInUse {
        /// The node.
        guid: Guid,
        /// The node's description.
        description: String,
        /// The port.
        port: u8,
        /// The node at the other end of the cable that is there.
        peer: String,
        /// The port at the other end.
        peer_port: u8,
    },
    /// A port cannot be cabled to itself.
    #[error("port {port} of \"{description}\" ({guid}) is cabled to itself")]
    SelfLink {
        /// The node.
        guid: Guid,
        /// The node's description.
        description: String,
        /// The port.
        port: u8,
    },
    /// A node has 1 to 254 ports.
    #[error("\"{description}\" ({guid}) has {num_ports} ports; 1 to 254 are possible")]
    PortCount {
        /// The node.
        guid: Guid,
        /// The node's description.
        description: String,
        /// The count given.
        num_ports: u8,
    },
}

/// A fabric under construction.
#[derive(Clone, Debug, Default)]
pub struct FabricBuilder {
    pub(crate) nodes: Vec<NodeSpec>,
    /// Indexed by node, then port (0 to `num_ports`).
    pub(crate) ports: Vec<Vec<PortState>>,
    by_guid: BTreeMap<Guid, NodeIndex>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PortState {
    pub(crate) spec: PortSpec,
    pub(crate) cable: Option<(PortRef, Link)>,
}

impl FabricBuilder {
    /// An empty fabric.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a node; its index is the number of nodes before it.
    ///
    /// # Errors
    /// [`BuildError::DuplicateGuid`], [`BuildError::PortCount`].
    pub fn add_node(&mut self, node: NodeSpec) -> Result<NodeIndex, BuildError> {
        if let Some(&other) = self.by_guid.get(&node.guid) {
            let other = self.nodes[other.index()].description.clone();
            return Err(BuildError::DuplicateGuid { guid: node.guid, description: node.description, other });
        }
        if node.num_ports == 0 || node.num_ports == 255 {
            return Err(BuildError::PortCount { guid: node.guid, description: node.description, num_ports: node.num_ports });
        }
        let index = NodeIndex(u32::try_from(self.nodes.len()).expect("fewer than 2^32 nodes fit into memory"));
        self.by_guid.insert(node.guid, index);
        self.ports.push(vec![PortState::default(); usize::from(node.num_ports) + 1]);
        self.nodes.push(node);
        Ok(index)
    }

    /// The node with this GUID.
    pub fn node_by_guid(&self, guid: Guid) -> Option<NodeIndex> {
        self.by_guid.get(&guid).copied()
    }

    /// All nodes so far, by index.
    pub fn nodes(&self) -> &[NodeSpec] {
        &self.nodes
    }

    /// What is known of a node, to be corrected. Its GUID and port count must stay.
    pub fn node_mut(&mut self, node: NodeIndex) -> &mut NodeSpec {
        &mut self.nodes[node.index()]
    }

    /// What is known of a port.
    ///
    /// # Errors
    /// [`BuildError::NoSuchPort`].
    pub fn port(&self, at: PortRef) -> Result<&PortSpec, BuildError> {
        self.check(at)?;
        Ok(&self.ports[at.node.index()][usize::from(at.port)].spec)
    }

    /// What is known of a port, to be filled in. A switch's LID and GUID are at port 0.
    ///
    /// # Errors
    /// [`BuildError::NoSuchPort`].
    pub fn port_mut(&mut self, at: PortRef) -> Result<&mut PortSpec, BuildError> {
        self.check(at)?;
        Ok(&mut self.ports[at.node.index()][usize::from(at.port)].spec)
    }

    /// The other end of the cable in a port.
    pub fn peer(&self, at: PortRef) -> Option<(PortRef, Link)> {
        self.ports.get(at.node.index())?.get(usize::from(at.port))?.cable
    }

    /// Plugs a cable in, both ends at once. Saying the same again is fine; the link is then the later one.
    ///
    /// # Errors
    /// [`BuildError::NoSuchPort`], [`BuildError::PortInUse`], [`BuildError::SelfLink`]; nothing is changed then.
    pub fn connect(&mut self, a: PortRef, b: PortRef, link: Link) -> Result<(), BuildError> {
        for end in [a, b] {
            self.check(end)?;
            if end.port == 0 {
                return Err(self.no_such_port(end));
            }
        }
        if a == b {
            let node = &self.nodes[a.node.index()];
            return Err(BuildError::SelfLink { guid: node.guid, description: node.description.clone(), port: a.port });
        }
        for (end, other) in [(a, b), (b, a)] {
            if let Some((peer, _)) = self.peer(end).filter(|&(peer, _)| peer != other) {
                let node = &self.nodes[end.node.index()];
                return Err(BuildError::PortInUse {
                    guid: node.guid,
                    description: node.description.clone(),
                    port: end.port,
                    peer: self.nodes[peer.node.index()].description.clone(),
                    peer_port: peer.port,
                });
            }
        }
        self.ports[a.node.index()][usize::from(a.port)].cable = Some((b, link));
        self.ports[b.node.index()][usize::from(b.port)].cable = Some((a, link));
        Ok(())
    }

    /// Pulls the cable out of a port, at both ends.
    pub fn disconnect(&mut self, at: PortRef) {
        if let Some((peer, _)) = self.peer(at) {
            self.ports[at.node.index()][usize::from(at.port)].cable = None;
            self.ports[peer.node.index()][usize::from(peer.port)].cable = None;
        }
    }

    /// Freezes the fabric. `O(nodes + ports)`.
    ///
    /// Ports without a LID, and hosts not cabled to a switch, are in the fabric but are no [`Fabric::end_ports`]. Where two ports
    /// claim a LID, the first keeps it in the snapshot ([`FabricBuilder::assign_lids`] leaves no such pair).
    pub fn build(self) -> Fabric {
        Fabric::new(self)
    }

    fn check(&self, at: PortRef) -> Result<(), BuildError> {
        if at.port <= self.nodes[at.node.index()].num_ports { Ok(()) } else { Err(self.no_such_port(at)) }
    }

    fn no_such_port(&self, at: PortRef) -> BuildError {
        let node = &self.nodes[at.node.index()];
        BuildError::NoSuchPort { guid: node.guid, description: node.description.clone(), num_ports: node.num_ports, port: at.port }
    }
}
