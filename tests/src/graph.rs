//! A fabric as plain maps by GUID, in which two fabrics can be compared, and ways followed, without any index of Heddle's.

use crate::{Hop, Lfts};
use heddle_fabric::{Fabric, Lid, NodeIndex, NodeKind, PortRef};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// A fabric without its LIDs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// By node GUID: kind, number of ports and description.
    pub nodes: BTreeMap<u64, (NodeKind, u8, String)>,
    /// Both ends of each cable, by node GUID and port.
    pub cables: Cables,
    /// By the node GUID and port of a host: the port's GUID.
    pub host_ports: BTreeMap<(u64, u8), u64>,
}

impl Graph {
    /// The nodes of a fabric, and their cables.
    pub fn of(fabric: &Fabric) -> Self {
        let mut graph = Self::default();
        for (index, node) in (0..).map(NodeIndex).zip(fabric.nodes()) {
            graph.nodes.insert(node.guid.0, (node.kind, node.num_ports, node.description.clone()));
            for number in 1..=node.num_ports {
                let Some(port) = fabric.port(PortRef::new(index, number)) else { continue };
                let Some(peer) = port.peer else { continue };
                graph.cables.insert((node.guid.0, number), (fabric.node(peer.node).guid.0, peer.port));
                if node.kind != NodeKind::Switch {
                    graph.host_ports.insert((node.guid.0, number), port.guid.0);
                }
            }
        }
        graph
    }

    /// What the tools call a port: its own GUID for a host's, the node's for a switch's.
    pub fn port_guid(&self, at: (u64, u8)) -> u64 {
        self.host_ports.get(&at).copied().unwrap_or(at.0)
    }

    /// The GUIDs of all ports that need a LID: those of the hosts' cabled ports, and of the switches.
    pub fn end_ports(&self) -> Vec<u64> {
        let switches = self.nodes.keys().copied().filter(|guid| self.is_switch(*guid));
        switches.chain(self.host_ports.values().copied()).collect()
    }

    /// The GUID of the node with this description.
    ///
    /// # Panics
    /// When there is none.
    pub fn node(&self, description: &str) -> u64 {
        let found = self.nodes.iter().find(|(_, (.., name))| name == description);
        *found.unwrap_or_else(|| panic!("there is no {description}")).0
    }

    /// The id of the first host in netlists, and the GUID of its first cabled port.
    ///
    /// # Panics
    /// When there is none.
    pub fn first_host(&self) -> (String, u64) {
        let (&(node, _), &port) = self.host_ports.first_key_value().expect("a host");
        (format!("H-{node:016x}"), port)
    }

    /// Whether this is a switch's node GUID.
    pub fn is_switch(&self, guid: u64) -> bool {
        self.nodes.get(&guid).is_some_and(|(kind, ..)| *kind == NodeKind::Switch)
    }

    /// With a cable between two free ports.
    ///
    /// # Panics
    /// When one is not free.
    pub fn connect(&mut self, one: (u64, u8), other: (u64, u8)) {
        for (at, peer) in [(one, other), (other, one)] {
            assert!(self.cables.insert(at, peer).is_none(), "a cable is in port {} of {:#x}", at.1, at.0);
        }
    }

    /// Without the cable in a port.
    pub fn cut(&mut self, at: (u64, u8)) {
        let peer = self.cables.remove(&at).expect("a cable is there");
        self.cables.remove(&peer);
    }

    /// What is left when a switch is gone: without it, and without the hosts that had no other.
    pub fn remove(&mut self, switch: u64) {
        let ports: Vec<_> = self.cables.keys().filter(|(guid, _)| *guid == switch).copied().collect();
        ports.into_iter().for_each(|at| self.cut(at));
        let cables = &self.cables;
        self.nodes.retain(|guid, _| cables.range((*guid, 0)..=(*guid, 255)).next().is_some());
        self.host_ports.retain(|at, _| cables.contains_key(at));
    }

    /// The way of a packet by the tables, from the port of one GUID to that of another, whose LID is `lid`.
    ///
    /// # Errors
    /// Where and why it does not arrive.
    pub fn walk(&self, tables: &Lfts, from: u64, to: u64, lid: u16) -> Result<Vec<Hop>, String> {
        let mut hops = Vec::new();
        // A host has one way out.
        let mut at = match self.host_at(from) {
            Some(port) => self.step(port, &mut hops)?,
            None => from,
        };
        while self.port_guid((at, 0)) != to {
            let Some(row) = tables.get(&at) else { return Err(format!("{at:#x} is no switch with a table, on the way to LID {lid}")) };
            let out = row.get(usize::from(lid)).copied().unwrap_or(255);
            let next = self.step((at, out), &mut hops)?;
            if !self.is_switch(next) {
                let end = hops.last().map_or(0, |hop| hop.guid);
                return if end == to { Ok(hops) } else { Err(format!("packets to LID {lid} come to {end:#x}")) };
            }
            if hops.len() > 64 {
                return Err(format!("packets to LID {lid} go in circles at {at:#x}"));
            }
            at = next;
        }
        let own = tables.get(&at).and_then(|row| row.get(usize::from(lid)));
        if own == Some(&0) { Ok(hops) } else { Err(format!("switch {at:#x} does not take LID {lid}, its own, but sends it to {own:?}")) }
    }

    fn host_at(&self, port_guid: u64) -> Option<(u64, u8)> {
        self.host_ports.iter().find(|(_, guid)| **guid == port_guid).map(|(at, _)| *at)
    }

    fn step(&self, at: (u64, u8), hops: &mut Vec<Hop>) -> Result<u64, String> {
        let Some(&peer) = self.cables.get(&at) else { return Err(format!("there is no cable in port {} of {:#x}", at.1, at.0)) };
        hops.push(Hop { out: at.1, guid: self.port_guid(peer), into: peer.1 });
        Ok(peer.0)
    }
}

/// A tree of six leaves and three spines, and twelve hosts, the two ports of each in two leaves beside each other.
///
/// # Panics
/// Never.
pub fn dual_ported_tree() -> Fabric {
    // Of Mellanox, with HDR links: what has attributes of its own.
    let (quantum, connect_x) = ("vendid=0x2c9\ndevid=0xd2f0\n", "vendid=0x2c9\ndevid=0x101b\n");
    let mut text = String::new();
    for leaf in 0..6 {
        writeln!(text, "{quantum}switchguid={:#x}\nSwitch 8 \"leaf-{leaf}\"", 0xa0 + leaf).expect("memory can be written");
        (0..3).for_each(|spine| writeln!(text, "[{}] \"spine-{spine}\"[{}] # 4xHDR", spine + 1, leaf + 1).expect("memory can be written"));
    }
    for spine in 0..3 {
        writeln!(text, "{quantum}switchguid={:#x}\nSwitch 8 \"spine-{spine}\"", 0xb0 + spine).expect("memory can be written");
    }
    for host in 0..12 {
        let (leaf, next) = (host % 6, (host + 1) % 6);
        writeln!(text, "{connect_x}caguid={:#x}\nHca 2 \"host-{host}\"", 0x1000 + 16 * host).expect("memory can be written");
        writeln!(text, "[1] \"leaf-{leaf}\"[{}] # 4xHDR\n[2] \"leaf-{next}\"[{}] # 4xHDR", 4 + host / 6, 6 + host / 6)
            .expect("memory can be written");
    }
    heddle_formats::read(text.as_bytes(), "two ports", None).expect("a netlist").builder.build()
}

/// The LIDs of a fabric, by port GUID.
pub fn lids(fabric: &Fabric) -> BTreeMap<u64, u16> {
    fabric.end_ports().iter().map(|end| (fabric.port(end.at).map_or(0, |port| port.guid.0), Lid::get(end.lid))).collect()
}

/// The dump files that Heddle wrote into a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dump {
    /// By port GUID, from `opensm-subnet.lst`.
    pub lids: BTreeMap<u64, u16>,
    /// Both ends of each cable, by node GUID and port, from `opensm-subnet.lst`.
    pub cables: Cables,
    /// From `opensm-lfts.dump`.
    pub lfts: Lfts,
}

impl Dump {
    /// Reads them.
    ///
    /// # Panics
    /// When a file is missing or a line of it cannot be read.
    pub fn read(folder: &Path) -> Self {
        let file = |name: &str| {
            let path = folder.join(name);
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        };
        let (lids, cables) = subnet(&file("opensm-subnet.lst"));
        Self { lids, cables, lfts: crate::lfts(&file("opensm-lfts.dump")) }
    }
}

/// Both ends of each cable, by node GUID and port.
pub type Cables = BTreeMap<(u64, u8), (u64, u8)>;

/// What `opensm-subnet.lst` says: LIDs by port GUID, and both ends of each cable by node GUID and port.
///
/// # Panics
/// When a line is no cable, or a port has two LIDs.
pub fn subnet(text: &str) -> (BTreeMap<u64, u16>, Cables) {
    let (mut lids, mut cables) = (BTreeMap::new(), BTreeMap::new());
    for line in text.lines() {
        let mut ends = line.split("NodeGUID:").skip(1).map(|text| end(text).unwrap_or_else(|| panic!("no cable: \"{line}\"")));
        let (Some(own), Some(peer)) = (ends.next(), ends.next()) else { panic!("no cable: \"{line}\"") };
        for (_, port_guid, lid) in [own, peer] {
            let before = lids.insert(port_guid, lid);
            assert!(before.is_none_or(|before| before == lid), "{port_guid:#x} has two LIDs");
        }
        cables.insert(own.0, peer.0);
    }
    (lids, cables)
}

/// `0200… PortGUID:0200… … LID:0001 PN:01 …`: node GUID and port, port GUID, LID.
fn end(text: &str) -> Option<((u64, u8), u64, u16)> {
    let hex = |after: &str| u64::from_str_radix(text.split_once(after)?.1.split_ascii_whitespace().next()?, 16).ok();
    let node = u64::from_str_radix(text.split_ascii_whitespace().next()?, 16).ok()?;
    Some(((node, hex(" PN:")? as u8), hex("PortGUID:")?, hex(" LID:")? as u16))
}
