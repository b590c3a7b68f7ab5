use heddle_fabric::{DROP_VL, EndPort, Fabric, Lanes, Link, LinkSpeed, LinkWidth, NodeIndex, PortRef, SwitchIndex, Tables};
use heddle_mad::wire::PortMask;
use std::collections::BTreeMap;
use std::time::Duration;

/// No port.
pub(super) const NONE: u32 = u32::MAX;
/// The P_Key of the default partition, as a full member.
pub const DEFAULT_P_KEY: u16 = 0xffff;

/// A fabric as it is programmed at one moment: all that decides about the way of a data packet.
///
/// [`Programmed::of_tables`] makes one from forwarding tables; what they do not say (virtual lanes, partitions, multicast, adaptive
/// groups) is as if nobody had set it, and can be filled in through [`Programmed::port_mut`] and [`Programmed::switch_mut`].
#[derive(Clone, Debug)]
pub struct Programmed {
    pub(super) nodes: Vec<Node>,
    /// Dense: for each node its ports from 0 on, and for a switch one more, the manager behind port 0, which sends and receives.
    pub(super) ports: Vec<PortSettings>,
    /// Who answers to each LID, by LID: dense ports.
    pub(super) owner: Vec<u32>,
    /// The SL of the packets from one LID to another. Without any, all have SL 0; otherwise pairs that are not here have, and do not count in
    /// [`Programmed::attack`].
    pub path_sl: BTreeMap<(u16, u16), u8>,
}

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) description: String,
    pub(super) first: u32,
    pub(super) num_ports: u8,
    pub(super) switch: Option<SwitchSettings>,
}

/// What a switch is programmed with.
#[derive(Clone, Debug, Default)]
pub struct SwitchSettings {
    /// The port of exit by LID.
    pub lft: Vec<u8>,
    /// The ports of exit by multicast LID.
    pub mft: BTreeMap<u16, PortMask>,
    /// The ports among which the switch chooses for a LID, whatever its `lft` says; a LID that is not here has but one port.
    pub adaptive: BTreeMap<u16, Group>,
    /// The VL by port of entry, port of exit and SL. What goes to port 0 is always on VL 0.
    pub sl_to_vl: BTreeMap<(u8, u8), [u8; 16]>,
    /// The VL by SL for ports that are not in `sl_to_vl`.
    pub sl_to_vl_else: [u8; 16],
}

/// What a port is programmed with, and its link.
#[derive(Clone, Debug)]
pub struct PortSettings {
    pub(super) at: PortRef,
    /// Sends and receives packets: a port of a host, or the manager behind a switch's port 0.
    pub(super) is_end: bool,
    /// The other end of the link, if it carries data.
    pub(super) peer: u32,
    /// Data on the link, in Mb/s.
    pub mbps: u32,
    /// How many data VLs are in use, 1 to 15. The smaller number of both ends counts.
    pub operational_vls: u8,
    /// The largest payload, in bytes.
    pub mtu: u16,
    /// How a host chooses the VL by SL.
    pub sl_to_vl: [u8; 16],
    /// Who sends next.
    pub arbitration: Arbitration,
    /// The P_Keys that an end port has, or that a switch's port lets through where it enforces partitions.
    pub p_keys: Vec<u16>,
    /// Whether packets that come in are checked.
    pub enforce_inbound: bool,
    /// Whether packets that go out are checked.
    pub enforce_outbound: bool,
    /// How long a packet may be at the head of a queue for this port; `None` is for ever.
    pub hoq_life: Option<Duration>,
}

/// VL arbitration of a port of exit (IBA 7.6.9). Without an entry in either table, all VLs take turns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arbitration {
    /// VL and weight, in units of 64 bytes.
    pub high: Vec<(u8, u8)>,
    /// VL and weight, in units of 64 bytes.
    pub low: Vec<(u8, u8)>,
    /// How much may be sent by the high table before the low one has a turn, in units of 4096 bytes; 255 is any amount.
    pub limit_of_high: u8,
}

impl Arbitration {
    /// Whether packets on this VL have a turn at all.
    pub(super) fn serves(&self, vl: u8) -> bool {
        let mut entries = self.high.iter().chain(&self.low).filter(|entry| entry.1 > 0).peekable();
        entries.peek().is_none() || entries.any(|entry| entry.0 == vl)
    }
}

/// The ports among which a switch chooses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// Asked first.
    pub primary: PortMask,
    /// Asked when no primary one can take the packet at once.
    pub secondary: PortMask,
    /// Packets of these SLs may choose, a bit each; the others go by the forwarding table.
    pub sls: u16,
}

impl Programmed {
    /// A fabric whose links are all ACTIVE, with these forwarding tables, and everybody in the default partition; with the SLs and VLs of the
    /// tables, or one VL. Links of unknown speed are 4x HDR. `O(nodes + ports + switches * LIDs)`, and end ports squared with SLs.
    pub fn of_tables(fabric: &Fabric, tables: &Tables) -> Self {
        let mut new = Self::unconnected(fabric.nodes().iter().enumerate().map(|(index, node)| {
            let switch = fabric.switch_index(NodeIndex(index as u32));
            let settings = switch.map(|switch: SwitchIndex| SwitchSettings { lft: tables.row(switch).to_vec(), ..Default::default() });
            (node.description.clone(), node.num_ports, settings)
        }));
        for index in 0..fabric.nodes().len() as u32 {
            for (number, port) in (0..=u8::MAX).zip(fabric.node_ports(NodeIndex(index))) {
                let at = PortRef::new(NodeIndex(index), number);
                if let Some(peer) = port.peer {
                    new.connect(at, peer, mbps(port.link));
                }
            }
        }
        for end in fabric.end_ports() {
            new.set_lids(end.at, end.lid.get(), end.lmc);
        }
        if let Some(lanes) = tables.lanes() {
            new.take_lanes(fabric, lanes, tables.row_len());
        }
        new
    }

    fn take_lanes(&mut self, fabric: &Fabric, lanes: &Lanes, row_len: usize) {
        self.ports.iter_mut().for_each(|port| port.operational_vls = lanes.vls().min(DROP_VL));
        for switch in (0..fabric.switch_count() as u32).map(SwitchIndex) {
            let node = fabric.switches()[switch.index()];
            let Some(settings) = self.switch_mut(node) else { continue };
            settings.sl_to_vl_else = *lanes.row(switch, u8::MAX, u8::MAX);
            let ports = fabric.switch(switch).num_ports;
            for (from, to) in (0..=ports).flat_map(|from| (1..=ports).map(move |to| (from, to))) {
                let row = *lanes.row(switch, from, to);
                if row != settings.sl_to_vl_else {
                    settings.sl_to_vl.insert((from, to), row);
                }
            }
        }
        // SLs are those of packets that have a host at one end.
        for from in fabric.end_ports() {
            let to_lids = fabric.end_ports().iter().filter(|to| from.is_host() || to.is_host()).flat_map(EndPort::lids);
            for to in to_lids {
                let levels = lanes.levels_of(row_len, from.switch, to);
                if levels != 0 {
                    self.path_sl.insert((from.lid.get(), to.get()), levels.trailing_zeros() as u8);
                }
            }
        }
    }

    /// Nodes, by description, number of ports, and what a switch is programmed with; without links and LIDs.
    pub(super) fn unconnected(nodes: impl Iterator<Item = (String, u8, Option<SwitchSettings>)>) -> Self {
        let mut new = Self { nodes: Vec::new(), ports: Vec::new(), owner: Vec::new(), path_sl: BTreeMap::new() };
        for (description, num_ports, switch) in nodes {
            let (node, first) = (NodeIndex(new.nodes.len() as u32), new.ports.len() as u32);
            let is_switch = switch.is_some();
            new.ports.extend((0..=num_ports).map(|port| PortSettings::new(PortRef::new(node, port), !is_switch)));
            if is_switch {
                let manager = new.ports.len() as u32;
                new.ports.push(PortSettings::new(PortRef::new(node, 0), true));
                new.ports[first as usize].peer = manager;
                new.ports[manager as usize].peer = first;
            }
            new.nodes.push(Node { description, first, num_ports, switch });
        }
        new
    }

    /// Lets a link carry data, from the one end.
    pub(super) fn connect(&mut self, at: PortRef, peer: PortRef, mbps: u32) {
        if let (Some(at), Some(peer)) = (self.id(at), self.id(peer)) {
            self.ports[at as usize].peer = peer;
            self.ports[at as usize].mbps = mbps.max(1);
        }
    }

    /// Gives an end port (a switch's is port 0) its LIDs. The first owner of a LID keeps it.
    pub(super) fn set_lids(&mut self, at: PortRef, base: u16, lmc: u8) {
        let Some(end) = self.end(at) else { return };
        let last = usize::from(base) + (1 << lmc.min(7));
        if base == 0 || last > 0xc000 {
            return;
        }
        self.owner.resize(self.owner.len().max(last), NONE);
        self.owner[usize::from(base)..last].iter_mut().filter(|owner| **owner == NONE).for_each(|owner| *owner = end);
    }

    /// A port's settings, to be changed; `None` if there is no such port.
    pub fn port_mut(&mut self, at: PortRef) -> Option<&mut PortSettings> {
        let id = self.id(at)?;
        self.ports.get_mut(id as usize)
    }

    /// All ports' settings, to be changed.
    pub fn ports_mut(&mut self) -> impl Iterator<Item = &mut PortSettings> {
        self.ports.iter_mut()
    }

    /// A switch's settings, to be changed; `None` if the node is none.
    pub fn switch_mut(&mut self, node: NodeIndex) -> Option<&mut SwitchSettings> {
        self.nodes.get_mut(node.index())?.switch.as_mut()
    }

    /// A node's description; empty if there is no such node.
    pub fn description(&self, node: NodeIndex) -> &str {
        self.nodes.get(node.index()).map_or("", |node| &node.description)
    }

    /// The other end of the link in a port, if it carries data; `None` for a switch's port 0.
    pub fn peer(&self, at: PortRef) -> Option<PortRef> {
        let peer = self.ports.get(self.ports[self.id(at)? as usize].peer as usize)?;
        Some(peer.at).filter(|&peer| peer != at)
    }

    /// Whether an end port has this LID.
    pub fn is_at(&self, at: PortRef, lid: u16) -> bool {
        self.end(at).is_some_and(|end| self.owner.get(usize::from(lid)) == Some(&end))
    }

    /// The ports that can send data and have a LID: those of hosts, and port 0 of switches, with their first LID. In the order of LIDs.
    pub fn ends(&self) -> Vec<(PortRef, u16)> {
        let mut seen = vec![false; self.ports.len()];
        let owners = (0..).zip(&self.owner).filter(|&(_, &owner)| owner != NONE);
        let first = owners.filter(|&(_, &owner)| !std::mem::replace(&mut seen[owner as usize], true));
        first.map(|(lid, &owner)| (self.ports[owner as usize].at, lid)).collect()
    }

    /// As [`Programmed::ends`], hosts only.
    pub fn hosts(&self) -> Vec<(PortRef, u16)> {
        self.ends().into_iter().filter(|(at, _)| at.port != 0).collect()
    }

    /// The SL of packets from one LID to another; `None` if [`Programmed::path_sl`] knows some, but not this one.
    pub fn known_sl(&self, slid: u16, dlid: u16) -> Option<u8> {
        if self.path_sl.is_empty() { Some(0) } else { self.path_sl.get(&(slid, dlid)).map(|sl| sl & 15) }
    }

    /// The dense number of a port.
    pub(super) fn id(&self, at: PortRef) -> Option<u32> {
        let node = self.nodes.get(at.node.index())?;
        (at.port <= node.num_ports).then(|| node.first + u32::from(at.port))
    }

    /// The dense number of the end that sends and receives at a port.
    pub(super) fn end(&self, at: PortRef) -> Option<u32> {
        let node = self.nodes.get(at.node.index())?;
        match (&node.switch, at.port) {
            (Some(_), 0) => Some(node.first + u32::from(node.num_ports) + 1),
            (None, 1..) => self.id(at),
            _ => None,
        }
    }

    /// How many VLs the link at a dense port carries.
    pub(super) fn vls(&self, port: u32) -> u8 {
        let near = &self.ports[port as usize];
        let far = self.ports.get(near.peer as usize).map_or(15, |peer| peer.operational_vls);
        near.operational_vls.min(far).clamp(1, 15)
    }
}

impl PortSettings {
    fn new(at: PortRef, is_end: bool) -> Self {
        Self {
            at,
            is_end,
            peer: NONE,
            mbps: mbps(Link::default()),
            operational_vls: 1,
            mtu: 4096,
            sl_to_vl: [0; 16],
            arbitration: Arbitration::default(),
            p_keys: vec![DEFAULT_P_KEY],
            enforce_inbound: false,
            enforce_outbound: false,
            hoq_life: None,
        }
    }

    /// Where it is; the manager of a switch is at port 0.
    pub fn at(&self) -> PortRef {
        self.at
    }
}

/// What a link carries, the coding's share taken off: 8b/10b up to QDR, then 64b/66b (IBA volume 2); 4x HDR if it is not known.
pub(super) fn mbps(link: Link) -> u32 {
    let lane = match link.speed.unwrap_or(LinkSpeed::Hdr) {
        LinkSpeed::Sdr => 2_000,
        LinkSpeed::Ddr => 4_000,
        LinkSpeed::Qdr => 8_000,
        LinkSpeed::Fdr10 => 10_000,
        LinkSpeed::Fdr => 13_636,
        LinkSpeed::Edr => 25_000,
        LinkSpeed::Hdr => 50_000,
        LinkSpeed::Ndr => 100_000,
        LinkSpeed::Xdr => 200_000,
    };
    lane * link.width.unwrap_or(LinkWidth::X4).lanes()
}
