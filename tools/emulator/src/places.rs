//! How a place in the fabric is called.

use crate::network::Device;
use crate::world::World;
use heddle_fabric::{NodeIndex, NodeKind, PortRef};

/// Why no port has the name that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// No node is called so.
    #[error("the fabric has no node with the description or GUID \"{name}\"")]
    NoNode {
        /// As it was asked for.
        name: String,
    },
    /// Several nodes are called so.
    #[error("{count} nodes of the fabric are called \"{name}\"; name one by its GUID, such as {guid:#018x}")]
    SeveralNodes {
        /// As it was asked for.
        name: String,
        /// How many they are.
        count: usize,
        /// The node GUID of one of them.
        guid: u64,
    },
    /// The node has other ports.
    #[error(
        "\"{name}\": nobody can be attached there; {}",
        if *.is_switch { "at a switch, it is port 0".to_owned() } else { format!("at a host, it is one of the ports 1 to {num_ports}") }
    )]
    NoPort {
        /// As it was asked for.
        name: String,
        /// Whether the node is a switch.
        is_switch: bool,
        /// How many ports the node has.
        num_ports: u8,
    },
    /// The fabric has nobody to attach to.
    #[error("the fabric has no nodes")]
    Empty,
}

impl World {
    /// The port where a client wants to be that calls it so: a node's description, its GUID (`0x…`), or the name that ibnetdiscover
    /// gives it (`H-…` or `S-…` and the digits of the GUID); perhaps with `:` and a port behind it. Without a port it is port 0 of a
    /// switch, and the first port of a host that has a cable. Nothing (`""`) is the first port of a host that has a cable. `O(nodes)`.
    ///
    /// # Errors
    /// [`PlaceError`], if it is not exactly one port.
    pub fn place(&self, name: &str) -> Result<PortRef, PlaceError> {
        if name.is_empty() {
            return self.first_end_port().ok_or(PlaceError::Empty);
        }
        // A description may itself end as if with a port.
        let whole = self.nodes_called(name);
        let (nodes, port) = match name.rsplit_once(':').map(|(node, port)| (node, port.parse::<u8>())) {
            Some((node, Ok(port))) if whole.is_empty() => (self.nodes_called(node), Some(port)),
            _ => (whole, None),
        };
        let node = match nodes[..] {
            [node] => node,
            [] => return Err(PlaceError::NoNode { name: name.into() }),
            [first, ..] => {
                let guid = self.network.node_info(PortRef::new(first, 0)).node_guid();
                return Err(PlaceError::SeveralNodes { name: name.into(), count: nodes.len(), guid });
            }
        };
        let device = self.network.device(node);
        let is_switch = device.kind == NodeKind::Switch;
        let usual = || if is_switch { 0 } else { self.cabled_ports(node).next().map_or(1, |at| at.port) };
        let at = PortRef::new(node, port.unwrap_or_else(usual));
        if is_switch != (at.port == 0) || at.port > device.num_ports() {
            return Err(PlaceError::NoPort { name: name.into(), is_switch, num_ports: device.num_ports() });
        }
        Ok(at)
    }

    /// The first port of a host that has a cable; else any host's; else port 0 of the first switch.
    fn first_end_port(&self) -> Option<PortRef> {
        let of_kind =
            |is_switch| self.nodes().filter(move |(_, device)| (device.kind == NodeKind::Switch) == is_switch).map(|(node, _)| node);
        let any_host = || of_kind(false).next().map(|node| PortRef::new(node, 1));
        let first_switch = || of_kind(true).next().map(|node| PortRef::new(node, 0));
        of_kind(false).find_map(|node| self.cabled_ports(node).next()).or_else(any_host).or_else(first_switch)
    }

    fn nodes(&self) -> impl Iterator<Item = (NodeIndex, &Device)> {
        (0..).map(NodeIndex).zip(&self.network.devices)
    }

    fn cabled_ports(&self, node: NodeIndex) -> impl Iterator<Item = PortRef> {
        let ports = (1..=self.network.device(node).num_ports()).map(move |port| PortRef::new(node, port));
        ports.filter(|&at| self.network.port(at).is_some_and(|port| port.peer.is_some()))
    }

    fn nodes_called(&self, name: &str) -> Vec<NodeIndex> {
        let digits = ["0x", "H-", "S-", "R-"].iter().find_map(|prefix| name.strip_prefix(prefix));
        let guid = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
        let has_guid = |node| guid.is_some_and(|guid| self.network.node_info(PortRef::new(node, 0)).node_guid() == guid);
        self.nodes().filter(|&(node, device)| device.description == name || has_guid(node)).map(|(node, _)| node).collect()
    }
}
