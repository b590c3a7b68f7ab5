//! The hardware: devices, ports and cables, and what they keep.

use heddle_fabric::{Fabric, Guid, Link, LinkSpeed, LinkWidth, NodeIndex, NodeKind, PortRef};
use heddle_mad::Time;
use heddle_mad::wire::{
    AttributeId, CapabilityMask, CapabilityMask2, Mtu, NodeInfo, NodeType, PhysicalState, PortInfo, PortState, SwitchInfo,
};
use std::collections::BTreeMap;

/// LinearFDBCap: a table for every unicast LID.
pub(crate) const LINEAR_FDB_CAP: u16 = 0xc000;
/// MulticastFDBCap.
pub(crate) const MULTICAST_FDB_CAP: u16 = 0x2000;
/// PartitionCap of hosts and of switches' port 0, and PartitionEnforcementCap of switches' cable ports.
pub(crate) const PARTITION_CAP: u16 = 128;

#[derive(Debug)]
pub(crate) struct Network {
    pub(crate) devices: Vec<Device>,
    ports: Vec<Port>,
}

#[derive(Debug)]
pub(crate) struct Device {
    pub(crate) kind: NodeKind,
    pub(crate) description: String,
    /// Whether it was not removed.
    pub(crate) present: bool,
    pub(crate) switch: Option<Switch>,
    /// Blocks of P_Keys, GUIDs, VL arbitration and multicast tables that were written, by attribute, port and block.
    pub(crate) blocks: BTreeMap<(AttributeId, u8, u32), [u8; 64]>,
    /// SL-to-VL rows that were written, by ports. Apart from the other blocks because there are a thousand in a switch.
    pub(crate) sl_to_vl: BTreeMap<u32, [u8; 8]>,
    /// Requests that arrive earlier wait until then.
    pub(crate) busy_until: Time,
    node_info: NodeInfo,
    first_port: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Switch {
    pub(crate) info: SwitchInfo,
    /// Up to the last block that was written.
    pub(crate) lft: Vec<u8>,
}

#[derive(Debug)]
pub(crate) struct Port {
    pub(crate) info: PortInfo,
    /// The other end of the cable.
    pub(crate) peer: Option<PortRef>,
    /// The cable was cut, from this end or the other.
    pub(crate) cut: bool,
    /// Switched off by its PortPhysicalState.
    pub(crate) disabled: bool,
    pub(crate) guid: u64,
    pub(crate) link: Link,
}

impl Port {
    /// Whether the link is up, in any state but DOWN.
    pub(crate) fn is_up(&self) -> bool {
        self.info.state() != Some(PortState::Down)
    }

    /// Whether the port is ACTIVE.
    pub(crate) fn is_active(&self) -> bool {
        self.info.state() == Some(PortState::Active)
    }
}

impl Network {
    /// The fabric as it is when the power comes on. `O(nodes + ports)`.
    pub(crate) fn new(fabric: &Fabric) -> Self {
        let mut network = Self { devices: Vec::with_capacity(fabric.nodes().len()), ports: Vec::new() };
        for (index, node) in fabric.nodes().iter().enumerate() {
            let node_index = NodeIndex(index as u32);
            let mut info = NodeInfo::default();
            info.set_base_version(1);
            info.set_class_version(1);
            info.set_node_type(match node.kind {
                NodeKind::Ca => NodeType::ChannelAdapter,
                NodeKind::Switch => NodeType::Switch,
                NodeKind::Router => NodeType::Router,
            } as u8);
            info.set_num_ports(node.num_ports);
            info.set_system_image_guid(if node.system_image_guid == Guid(0) { node.guid.0 } else { node.system_image_guid.0 });
            info.set_node_guid(node.guid.0);
            info.set_partition_cap(PARTITION_CAP);
            info.set_device_id(node.device_id);
            info.set_vendor_id(node.vendor_id);
            network.devices.push(Device {
                kind: node.kind,
                description: node.description.clone(),
                present: true,
                switch: (node.kind == NodeKind::Switch).then(Switch::default),
                blocks: BTreeMap::new(),
                sl_to_vl: BTreeMap::new(),
                busy_until: Time::ZERO,
                node_info: info,
                first_port: network.ports.len(),
            });
            for (port, number) in fabric.node_ports(node_index).iter().zip(0u64..) {
                let guid = match (port.guid, node.kind) {
                    (Guid(0), NodeKind::Switch) => node.guid.0,
                    (Guid(0), _) => node.guid.0.wrapping_add(number),
                    (known, _) => known.0,
                };
                let peer = port.peer;
                network.ports.push(Port { info: PortInfo::default(), peer, cut: false, disabled: false, guid, link: port.link });
            }
        }
        for index in 0..network.devices.len() {
            network.reset(NodeIndex(index as u32));
        }
        for index in 0..network.devices.len() {
            let node = NodeIndex(index as u32);
            for number in 1..=network.device(node).num_ports() {
                network.raise(PortRef::new(node, number));
            }
        }
        network
    }

    pub(crate) fn device(&self, node: NodeIndex) -> &Device {
        &self.devices[node.index()]
    }

    pub(crate) fn device_mut(&mut self, node: NodeIndex) -> &mut Device {
        &mut self.devices[node.index()]
    }

    /// A port; `None` if there is no such node or port.
    pub(crate) fn port(&self, at: PortRef) -> Option<&Port> {
        let device = self.devices.get(at.node.index())?;
        (at.port <= device.num_ports()).then(|| &self.ports[device.first_port + usize::from(at.port)])
    }

    /// As [`Network::port`], to be changed.
    pub(crate) fn port_mut(&mut self, at: PortRef) -> Option<&mut Port> {
        let device = self.devices.get(at.node.index())?;
        (at.port <= device.num_ports()).then(|| &mut self.ports[device.first_port + usize::from(at.port)])
    }

    /// The port that holds the LID, M_Key and MasterSMLID which count at `at`: port 0 of a switch, the port itself of a host.
    pub(crate) fn end_port(&self, at: PortRef) -> PortRef {
        if self.device(at.node).kind == NodeKind::Switch { PortRef::new(at.node, 0) } else { at }
    }

    /// Whether the end port `at` answers to `lid`.
    pub(crate) fn owns(&self, at: PortRef, lid: u16) -> bool {
        self.port(at).is_some_and(|port| {
            let base = port.info.lid();
            base != 0 && lid >= base && usize::from(lid - base) < 1 << port.info.lmc()
        })
    }

    /// NodeInfo as seen through the port `at`.
    pub(crate) fn node_info(&self, at: PortRef) -> NodeInfo {
        let mut info = self.device(at.node).node_info;
        info.set_port_guid(self.port(self.end_port(at)).map_or(0, |port| port.guid));
        info.set_local_port_num(at.port);
        info
    }

    /// Everything that a device keeps is lost; its links are down.
    pub(crate) fn reset(&mut self, node: NodeIndex) {
        let device = &mut self.devices[node.index()];
        device.blocks.clear();
        device.sl_to_vl.clear();
        if let Some(switch) = &mut device.switch {
            switch.lft = Vec::new();
            switch.info = cold_switch_info();
        }
        let kind = device.kind;
        for number in 0..=device.num_ports() {
            let port = &mut self.ports[device.first_port + usize::from(number)];
            port.disabled = false;
            port.info = cold_port_info(kind, number, port.link);
        }
    }

    /// Trains the link in port `at`, at both ends, if it is down and nothing hinders it. Whether the link came up.
    pub(crate) fn raise(&mut self, at: PortRef) -> bool {
        let usable = |at: PortRef| {
            let port = self.port(at)?;
            (self.device(at.node).present && !port.cut && !port.disabled).then_some(port)
        };
        let Some(near) = usable(at) else { return false };
        let Some(peer) = near.peer.filter(|_| !near.is_up()) else { return false };
        if usable(peer).is_none() {
            return false;
        }
        for end in [at, peer] {
            let port = self.port_mut(end).expect("both ends are there");
            port.info.set_state(PortState::Init);
            port.info.set_physical_state(PhysicalState::LinkUp);
        }
        true
    }

    /// Takes the link in port `at` down, at both ends. Whether it was up.
    pub(crate) fn lower(&mut self, at: PortRef) -> bool {
        let Some(peer) = self.port(at).filter(|port| port.is_up()).and_then(|port| port.peer) else { return false };
        for end in [at, peer] {
            let port = self.port_mut(end).expect("a link that is up has two ends");
            port.info.set_state(PortState::Down);
            port.info.set_physical_state(if port.disabled { PhysicalState::Disabled } else { PhysicalState::Polling });
        }
        true
    }
}

impl Device {
    pub(crate) fn num_ports(&self) -> u8 {
        self.node_info.num_ports()
    }
}

fn cold_switch_info() -> SwitchInfo {
    let mut info = SwitchInfo::default();
    info.set_linear_fdb_cap(LINEAR_FDB_CAP);
    info.set_multicast_fdb_cap(MULTICAST_FDB_CAP);
    info.set_default_multicast_primary_port(0xff);
    info.set_default_multicast_not_primary_port(0xff);
    info.set_partition_enforcement_cap(PARTITION_CAP);
    info
}

fn cold_port_info(kind: NodeKind, number: u8, link: Link) -> PortInfo {
    let mut info = PortInfo::default();
    info.set_mtu_cap(Mtu::B4096 as u8);
    info.set_guid_cap(8);
    info.set_resp_time_value(16);
    info.set_capability_mask(capabilities(kind, number).bits());
    if number == 0 && kind == NodeKind::Switch {
        info.set_state(PortState::Active);
        info.set_physical_state(PhysicalState::LinkUp);
        info.set_neighbor_mtu(Mtu::B4096 as u8);
        return info;
    }
    info.set_state(PortState::Down);
    info.set_physical_state(PhysicalState::Polling);
    info.set_link_down_default_state(PhysicalState::Polling as u8);
    info.set_neighbor_mtu(Mtu::B256 as u8); // what a manager forgets to raise shall be seen
    info.set_vl_cap(4); // VL0 to VL7
    info.set_operational_vls(1);
    info.set_vl_arbitration_high_cap(8);
    info.set_vl_arbitration_low_cap(8);
    info.set_local_phy_errors(8);
    info.set_overrun_errors(8);

    let width = link.width.unwrap_or(LinkWidth::X4);
    let code = wire_width(width);
    let widths = wire_width(LinkWidth::X1) | wire_width(LinkWidth::X4) | code;
    info.set_link_width_supported(widths);
    info.set_link_width_enabled(widths);
    info.set_link_width_active(code);

    let speed = link.speed.unwrap_or(LinkSpeed::Hdr);
    info.set_active_speed(wire_speed(speed));
    info.set_link_speed_supported(7);
    info.set_link_speed_enabled(7);
    // Every speed up to the link's own: bit 0 FDR, bit 1 EDR, bit 2 HDR, bit 3 NDR.
    let extended = match speed {
        LinkSpeed::Sdr | LinkSpeed::Ddr | LinkSpeed::Qdr | LinkSpeed::Fdr10 => 0,
        LinkSpeed::Fdr => 0b1,
        LinkSpeed::Edr => 0b11,
        LinkSpeed::Hdr => 0b111,
        LinkSpeed::Ndr | LinkSpeed::Xdr => 0b1111,
    };
    info.set_link_speed_ext_supported(extended);
    info.set_link_speed_ext_enabled(extended);
    if speed == LinkSpeed::Xdr {
        info.set_link_speed_ext_supported_2(1);
        info.set_link_speed_ext_enabled_2(1);
    }
    info.set_capability_mask_2(capabilities_2(width, speed).bits());
    info
}

fn capabilities(kind: NodeKind, number: u8) -> CapabilityMask {
    use CapabilityMask as C;
    let end = C::NOTICE | C::TRAP | C::SYSTEM_IMAGE_GUID | C::EXTENDED_SPEEDS | C::CAPABILITY_MASK_2 | C::CAPABILITY_MASK_NOTICE;
    match kind {
        NodeKind::Switch if number != 0 => C::empty(),
        NodeKind::Switch => end | C::SL_MAPPING | C::OTHER_LOCAL_CHANGES_NOTICE,
        _ => end | C::SL_MAPPING | C::AUTOMATIC_MIGRATION | C::CLIENT_REREGISTRATION | C::OTHER_LOCAL_CHANGES_NOTICE,
    }
}

fn capabilities_2(width: LinkWidth, speed: LinkSpeed) -> CapabilityMask2 {
    use CapabilityMask2 as C;
    let mut mask = C::empty();
    mask.set(C::LINK_WIDTH_2X, width == LinkWidth::X2);
    mask.set(C::LINK_SPEED_HDR, speed >= LinkSpeed::Hdr);
    mask.set(C::LINK_SPEED_NDR, speed >= LinkSpeed::Ndr);
    mask.set(C::EXTENDED_SPEEDS_2 | C::LINK_SPEED_XDR, speed >= LinkSpeed::Xdr);
    mask
}

fn wire_width(width: LinkWidth) -> u8 {
    use heddle_mad::wire::LinkWidth as Wire;
    (match width {
        LinkWidth::X1 => Wire::X1,
        LinkWidth::X2 => Wire::X2,
        LinkWidth::X4 => Wire::X4,
        LinkWidth::X8 => Wire::X8,
        LinkWidth::X12 => Wire::X12,
    }) as u8
}

fn wire_speed(speed: LinkSpeed) -> heddle_mad::wire::LinkSpeed {
    use heddle_mad::wire::LinkSpeed as Wire;
    match speed {
        LinkSpeed::Sdr => Wire::Sdr,
        LinkSpeed::Ddr => Wire::Ddr,
        LinkSpeed::Qdr => Wire::Qdr,
        LinkSpeed::Fdr10 => Wire::Fdr10,
        LinkSpeed::Fdr => Wire::Fdr,
        LinkSpeed::Edr => Wire::Edr,
        LinkSpeed::Hdr => Wire::Hdr,
        LinkSpeed::Ndr => Wire::Ndr,
        LinkSpeed::Xdr => Wire::Xdr,
    }
}
