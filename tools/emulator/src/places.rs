//! How a place in the fabric is called.

use crate::script::{NoNode, Site, cabled_ports, find, nodes};
use crate::world::World;
use heddle_fabric::{Guid, NodeKind, PortRef};

/// Why no port has the name that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// No node is called so.
    #[error(
        "the fabric has no node with the description or GUID \"{name}\"{}",
        if .similar.is_empty() { String::new() } else { format!("; similar names: {}", .similar.join(", ")) }
    )]
    NoNode {
        /// As it was asked for.
        name: String,
        /// Descriptions that are similar, the most similar first.
        similar: Vec<String>,
    },
    /// Several nodes are called so.
    #[error("several nodes have the name \"{name}\"; name one by its GUID, such as {} or {}", .guids[0], .guids[1])]
    SeveralNodes {
        /// As it was asked for.
        name: String,
        /// The node GUIDs of two of them.
        guids: [Guid; 2],
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
        let whole = find(self, name);
        let (node, port) = match name.rsplit_once(':').map(|(node, port)| (node, port.parse::<u8>())) {
            Some((node, Ok(port))) if matches!(whole, Err(NoNode::Unknown(_))) => (find(self, node), Some(port)),
            _ => (whole, None),
        };
        let node = node.map_err(|why| match why {
            NoNode::Unknown(similar) => PlaceError::NoNode { name: name.into(), similar },
            NoNode::Several(one, other) => PlaceError::SeveralNodes { name: name.into(), guids: [one, other] },
        })?;
        let device = self.network.device(node);
        let is_switch = device.kind == NodeKind::Switch;
        let usual = || if is_switch { 0 } else { cabled_ports(self, node).next().map_or(1, |at| at.port) };
        let at = PortRef::new(node, port.unwrap_or_else(usual));
        if is_switch != (at.port == 0) || at.port > device.num_ports() {
            return Err(PlaceError::NoPort { name: name.into(), is_switch, num_ports: device.num_ports() });
        }
        Ok(at)
    }

    /// The first port of a host that has a cable; else any host's; else port 0 of the first switch.
    fn first_end_port(&self) -> Option<PortRef> {
        let of_kind = |is_switch| nodes(self).filter(move |&node| (self.kind(node) == NodeKind::Switch) == is_switch);
        let any_host = || of_kind(false).next().map(|node| PortRef::new(node, 1));
        let first_switch = || of_kind(true).next().map(|node| PortRef::new(node, 0));
        of_kind(false).find_map(|node| cabled_ports(self, node).next()).or_else(any_host).or_else(first_switch)
    }
}
