use crate::builder::{FabricBuilder, NodeSpec, PortSpec};
use crate::{Guid, Lid, Link, NodeIndex, NodeKind, PortRef, SwitchGraph, SwitchIndex};
use std::collections::BTreeMap;

/// A node: what is known of it.
pub type Node = NodeSpec;

/// A port and the cable in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Port {
    /// The port's GUID; zero if not known.
    pub guid: Guid,
    /// The base LID.
    pub lid: Option<Lid>,
    /// The port answers to 2^lmc LIDs.
    pub lmc: u8,
    /// The other end of the cable, if there is one.
    pub peer: Option<PortRef>,
    /// What is known of the cable.
    pub link: Link,
}

/// One direction of a cable between two different switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arc {
    /// The port of exit.
    pub port: u8,
    /// The switch at the other end.
    pub peer: SwitchIndex,
    /// The port of entry there.
    pub peer_port: u8,
}

/// A port that packets can be sent to: it has a LID, and a switch carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndPort {
    /// The port itself: a host's, or port 0 of a switch.
    pub at: PortRef,
    /// The base LID.
    pub lid: Lid,
    /// It answers to the 2^lmc LIDs from `lid` on.
    pub lmc: u8,
    /// The switch that hands packets to it: the host's neighbour, or the switch itself.
    pub switch: SwitchIndex,
    /// The port of that switch which leads to it; 0 for the switch itself.
    pub switch_port: u8,
}

impl EndPort {
    /// Whether this is a host's port and not a switch's port 0.
    pub const fn is_host(&self) -> bool {
        self.switch_port != 0
    }

    /// The LIDs that it answers to.
    pub fn lids(&self) -> impl Iterator<Item = Lid> + use<> {
        let base = self.lid.get();
        (0..1u16 << self.lmc).filter_map(move |offset| Lid::new(base.checked_add(offset)?))
    }
}

/// An immutable fabric with dense indices.
///
/// Switches are also numbered by themselves ([`SwitchIndex`]), and the cables between them are a compact sparse row graph of
/// port-numbered arcs ([`Fabric::arcs`]) in which parallel cables are allowed. A *channel* is a port of exit of a switch, numbered
/// densely over all switches ([`Fabric::channel`]).
#[derive(Clone, Debug)]
pub struct Fabric {
    nodes: Vec<Node>,
    /// Where each node's port 0 is in `ports`; one more entry at the end.
    port_base: Vec<u32>,
    ports: Vec<Port>,
    by_guid: BTreeMap<Guid, NodeIndex>,
    switches: Vec<NodeIndex>,
    /// By node; `u32::MAX` for a node that is no switch.
    switch_of: Vec<u32>,
    /// Where each switch's arcs begin; one more entry at the end.
    arc_base: Vec<u32>,
    arcs: Vec<Arc>,
    /// Where each switch's channels begin; one more entry at the end.
    channel_base: Vec<u32>,
    /// By channel.
    channel_peer: Vec<Option<(SwitchIndex, u8)>>,
    end_ports: Vec<EndPort>,
    /// By LID; `u32::MAX` for a LID that nobody has.
    lid_owner: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl Fabric {
    pub(crate) fn new(builder: FabricBuilder) -> Self {
        let count = |n: usize| u32::try_from(n).expect("fewer than 2^32 ports fit into memory");
        let nodes = builder.nodes;
        let mut port_base = Vec::with_capacity(nodes.len() + 1);
        let mut ports = Vec::new();
        for node_ports in &builder.ports {
            port_base.push(count(ports.len()));
            ports.extend(node_ports.iter().map(|port| Port {
                guid: port.spec.guid,
                lid: port.spec.lid,
                lmc: port.spec.lmc.min(PortSpec::MAX_LMC),
                peer: port.cable.map(|(peer, _)| peer),
                link: port.cable.map(|(_, link)| link).unwrap_or_default(),
            }));
        }
        port_base.push(count(ports.len()));

        let mut by_guid = BTreeMap::new();
        let mut switches = Vec::new();
        let mut switch_of = vec![NONE; nodes.len()];
        for (index, node) in nodes.iter().enumerate() {
            by_guid.insert(node.guid, NodeIndex(count(index)));
            if node.kind == NodeKind::Switch {
                switch_of[index] = count(switches.len());
                switches.push(NodeIndex(count(index)));
            }
        }

        let mut fabric = Self {
            nodes,
            port_base,
            ports,
            by_guid,
            switches,
            switch_of,
            arc_base: vec![0],
            arcs: Vec::new(),
            channel_base: vec![0],
            channel_peer: Vec::new(),
            end_ports: Vec::new(),
            lid_owner: Vec::new(),
        };
        fabric.number_channels();
        fabric.number_lids();
        fabric
    }

    fn number_channels(&mut self) {
        for (number, &node) in self.switches.iter().enumerate() {
            for port in 0..=self.nodes[node.index()].num_ports {
                let peer = self.port(PortRef::new(node, port)).and_then(|port| port.peer);
                let peer = peer.and_then(|peer| Some((self.switch_index(peer.node)?, peer.port)));
                let peer = peer.filter(|&(switch, _)| switch.index() != number);
                if let Some((peer, peer_port)) = peer {
                    self.arcs.push(Arc { port, peer, peer_port });
                }
                self.channel_peer.push(peer);
            }
            self.arc_base.push(self.arcs.len() as u32);
            self.channel_base.push(self.channel_peer.len() as u32);
        }
    }

    fn number_lids(&mut self) {
        let mut end_ports = Vec::new();
        for (index, node) in self.nodes.iter().enumerate() {
            let node_index = NodeIndex(index as u32);
            let candidates = if node.kind == NodeKind::Switch { 0..=0 } else { 1..=node.num_ports };
            for number in candidates {
                let at = PortRef::new(node_index, number);
                let Some(port) = self.port(at) else { continue };
                if let (Some(lid), Some((switch, switch_port))) = (port.lid, self.attachment(at)) {
                    end_ports.push(EndPort { at, lid, lmc: port.lmc, switch, switch_port });
                }
            }
        }
        end_ports.sort_by_key(|end| end.lid);
        let top = end_ports.iter().flat_map(|end| end.lids().last()).max();
        self.lid_owner = vec![NONE; top.map_or(0, |lid| lid.index() + 1)];
        for end in end_ports {
            let claimed: Vec<Lid> = end.lids().collect();
            if claimed.iter().all(|lid| self.lid_owner[lid.index()] == NONE) {
                for lid in claimed {
                    self.lid_owner[lid.index()] = self.end_ports.len() as u32;
                }
                self.end_ports.push(end);
            }
        }
    }

    /// All nodes, by [`NodeIndex`].
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// A node.
    pub fn node(&self, index: NodeIndex) -> &Node {
        &self.nodes[index.index()]
    }

    /// The node with this GUID. `O(log nodes)`.
    pub fn node_by_guid(&self, guid: Guid) -> Option<NodeIndex> {
        self.by_guid.get(&guid).copied()
    }

    /// A port; `None` if the node has no such port.
    pub fn port(&self, at: PortRef) -> Option<&Port> {
        self.node_ports(at.node).get(usize::from(at.port))
    }

    /// All ports of a node, port 0 included.
    pub fn node_ports(&self, node: NodeIndex) -> &[Port] {
        &self.ports[self.port_base[node.index()] as usize..self.port_base[node.index() + 1] as usize]
    }

    /// The switch that hands packets to a host's port or a switch's port 0, and its port that leads there; `None` for a port that no
    /// switch carries, and for a switch's other ports.
    pub fn attachment(&self, at: PortRef) -> Option<(SwitchIndex, u8)> {
        match self.switch_index(at.node) {
            Some(switch) => (at.port == 0).then_some((switch, 0)),
            None => {
                let peer = self.port(at)?.peer?;
                Some((self.switch_index(peer.node)?, peer.port))
            }
        }
    }

    /// All switches, by [`SwitchIndex`].
    pub fn switches(&self) -> &[NodeIndex] {
        &self.switches
    }

    /// How many switches there are.
    pub fn switch_count(&self) -> usize {
        self.switches.len()
    }

    /// A switch's number; `None` for another node.
    pub fn switch_index(&self, node: NodeIndex) -> Option<SwitchIndex> {
        Some(self.switch_of[node.index()]).filter(|&number| number != NONE).map(SwitchIndex)
    }

    /// A switch as a node.
    pub fn switch(&self, switch: SwitchIndex) -> &Node {
        self.node(self.switches[switch.index()])
    }

    /// The cables from a switch to others, by port, ascending. Cables from a switch to itself are left out: no route may use them.
    pub fn arcs(&self, switch: SwitchIndex) -> &[Arc] {
        &self.arcs[self.arc_base[switch.index()] as usize..self.arc_base[switch.index() + 1] as usize]
    }

    /// How many channels there are: the ports of all switches, port 0 included.
    pub fn channel_count(&self) -> usize {
        self.channel_peer.len()
    }

    /// The number of the channel out of `port` of `switch`. The port must be one that the switch has.
    #[inline]
    pub fn channel(&self, switch: SwitchIndex, port: u8) -> usize {
        self.channel_base[switch.index()] as usize + usize::from(port)
    }

    /// The switch and port of a channel. `O(log switches)`.
    pub fn channel_at(&self, channel: usize) -> (SwitchIndex, u8) {
        let switch = self.channel_base.partition_point(|&base| base as usize <= channel) - 1;
        (SwitchIndex(switch as u32), (channel - self.channel_base[switch] as usize) as u8)
    }

    /// Where a channel ends: another switch and its port of entry; `None` when there is no other switch at its end.
    pub fn channel_peer(&self, channel: usize) -> Option<(SwitchIndex, u8)> {
        self.channel_peer[channel]
    }

    /// Where packets come in that `switch` sends out by `port`: another switch and its port of entry; `None` if the switch has no such port,
    /// or no other switch is at its end.
    #[inline]
    pub fn next(&self, switch: SwitchIndex, port: u8) -> Option<(SwitchIndex, u8)> {
        let channels = self.channel_base[switch.index()] as usize..self.channel_base[switch.index() + 1] as usize;
        *self.channel_peer[channels].get(usize::from(port))?
    }

    /// Every port that has a LID and is carried by a switch, by LID, ascending.
    pub fn end_ports(&self) -> &[EndPort] {
        &self.end_ports
    }

    /// Who answers to a LID.
    pub fn lid_owner(&self, lid: Lid) -> Option<&EndPort> {
        let owner = *self.lid_owner.get(lid.index())?;
        self.end_ports.get(owner as usize)
    }

    /// The largest LID that is in use; `None` without any.
    pub fn top_lid(&self) -> Option<Lid> {
        Lid::new(u16::try_from(self.lid_owner.len().checked_sub(1)?).ok()?)
    }

    /// The switches and the cables between them, for petgraph's algorithms.
    pub fn graph(&self) -> SwitchGraph<'_> {
        SwitchGraph::new(self)
    }

    /// Takes the fabric apart again, to be changed.
    pub fn to_builder(&self) -> FabricBuilder {
        let mut builder = FabricBuilder::new();
        for node in &self.nodes {
            builder.add_node(node.clone()).expect("a fabric's nodes are distinct");
        }
        for (index, ports) in builder.ports.iter_mut().enumerate() {
            for (port, known) in ports.iter_mut().zip(self.node_ports(NodeIndex(index as u32))) {
                port.spec = PortSpec { guid: known.guid, lid: known.lid, lmc: known.lmc };
                port.cable = known.peer.map(|peer| (peer, known.link));
            }
        }
        builder
    }
}
