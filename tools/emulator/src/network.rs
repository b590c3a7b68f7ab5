//! The hardware: devices, ports and cables, and what they keep.

use crate::adaptive::Adaptive;
use crate::cold::{self, Support};
use crate::congestion::Congestion;
use crate::faults::{CableFaults, Passage};
use crate::models::Model;
use crate::pma::Performance;
use crate::random::Random;
use crate::sma::SlToVl;
use crate::tally::Tally;
use heddle_fabric::{Fabric, Guid, Link, LinkSpeed, NodeIndex, NodeKind, PortRef};
use heddle_mad::Time;
use heddle_mad::wire::{AttributeId, NodeInfo, NodeType, PhysicalState, PortInfo, PortState, SwitchInfo};
use std::collections::BTreeMap;

#[derive(Debug)]
pub(crate) struct Network {
    pub(crate) devices: Vec<Device>,
    ports: Vec<Port>,
    /// What faulty cables do by chance.
    pub(crate) random: Random,
    /// What faulty cables did to the packet that was carried last.
    pub(crate) passage: Passage,
}

#[derive(Debug)]
pub(crate) struct Device {
    pub(crate) kind: NodeKind,
    pub(crate) model: &'static Model,
    pub(crate) description: String,
    /// Whether it was not removed.
    pub(crate) present: bool,
    pub(crate) switch: Option<Switch>,
    /// Blocks of P_Keys, GUIDs, VL arbitration and multicast tables that were written, by attribute, port and block.
    pub(crate) blocks: BTreeMap<(AttributeId, u8, u32), [u8; 64]>,
    pub(crate) sl_to_vl: SlToVl,
    pub(crate) performance: Performance,
    /// By end port.
    pub(crate) congestion: BTreeMap<u8, Congestion>,
    /// Requests that arrive earlier wait until then.
    pub(crate) busy_until: Time,
    pub(crate) node_info: NodeInfo,
    first_port: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Switch {
    pub(crate) info: SwitchInfo,
    /// Up to the last block that was written.
    pub(crate) lft: Vec<u8>,
    pub(crate) adaptive: Option<Adaptive>,
}

#[derive(Debug)]
pub(crate) struct Port {
    pub(crate) info: PortInfo,
    /// The other end of the cable.
    pub(crate) peer: Option<PortRef>,
    /// The cable was cut, from this end or the other.
    pub(crate) cut: bool,
    /// What the cable does wrong, the same at both ends.
    pub(crate) faults: Option<Box<CableFaults>>,
    /// The physical state that the port has without a link: Sleep, Polling or Disabled.
    pub(crate) resting: PhysicalState,
    /// The vendor's speed, which PortInfo does not know, is enabled.
    pub(crate) fdr10_enabled: bool,
    /// The link runs at it.
    pub(crate) fdr10_active: bool,
    /// When the lease of a violated M_Key runs out.
    pub(crate) m_key_expiry: Option<Time>,
    /// How many times clients were told to register with the subnet administration anew.
    pub(crate) client_reregistrations: u32,
    pub(crate) guid: u64,
    pub(crate) link: Link,
    pub(crate) tally: Tally,
}

impl Port {
    /// Whether the link is up, in any state but DOWN.
    pub(crate) fn is_up(&self) -> bool {
        self.info.state() != Some(PortState::Down)
    }

    /// Whether the port takes data packets: it is ACTIVE, or ARMED and becomes it by the first of them (IBA 7.2.7).
    pub(crate) fn takes_data(&self) -> bool {
        matches!(self.info.state(), Some(PortState::Armed | PortState::Active))
    }

    /// Whether the port is ACTIVE.
    pub(crate) fn is_active(&self) -> bool {
        self.info.state() == Some(PortState::Active)
    }
}

impl Network {
    /// The fabric as it is when the power comes on. `O(nodes + ports)`.
    pub(crate) fn new(fabric: &Fabric) -> Self {
        let mut network =
            Self { devices: Vec::with_capacity(fabric.nodes().len()), ports: Vec::new(), random: Random(0), passage: Passage::default() };
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
            let model = Model::of(node.kind, node.vendor_id, node.device_id);
            info.set_partition_cap(model.partition_cap);
            info.set_device_id(node.device_id);
            info.set_vendor_id(node.vendor_id);
            network.devices.push(Device {
                kind: node.kind,
                model,
                description: node.description.clone(),
                present: true,
                switch: model
                    .switch
                    .as_ref()
                    .map(|model| Switch { adaptive: model.adaptive_routing.as_ref().map(Adaptive::new), ..Switch::default() }),
                blocks: BTreeMap::new(),
                sl_to_vl: SlToVl::default(),
                performance: Performance::default(),
                congestion: BTreeMap::new(),
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
                network.ports.push(Port {
                    info: PortInfo::default(),
                    peer,
                    cut: false,
                    faults: None,
                    resting: PhysicalState::Polling,
                    fdr10_enabled: false,
                    fdr10_active: false,
                    m_key_expiry: None,
                    client_reregistrations: 0,
                    guid,
                    link: port.link,
                    tally: Tally::default(),
                });
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

    /// The base LID of a port; 0 if it has none.
    pub(crate) fn lid(&self, at: PortRef) -> u16 {
        self.port(at).map_or(0, |port| port.info.lid())
    }

    /// NodeInfo as seen through the port `at`.
    pub(crate) fn node_info(&self, at: PortRef) -> NodeInfo {
        let mut info = self.device(at.node).node_info;
        info.set_port_guid(self.port(self.end_port(at)).map_or(0, |port| port.guid));
        info.set_local_port_num(at.port);
        info
    }

    /// Whether there is such a node, and the GUID is another one.
    pub(crate) fn change_system_image_guid(&mut self, node: NodeIndex, guid: Guid) -> bool {
        let Some(device) = self.devices.get_mut(node.index()) else { return false };
        let changes = device.node_info.system_image_guid() != guid.0;
        device.node_info.set_system_image_guid(guid.0);
        changes
    }

    /// The end port by which a node tells of what concerns all of it: the first that has a LID, and of a host a link.
    pub(crate) fn speaker(&self, node: NodeIndex) -> Option<PortRef> {
        let device = self.devices.get(node.index())?;
        let ends = if device.switch.is_some() { 0..=0 } else { 1..=device.num_ports() };
        let managed = |&at: &PortRef| self.port(at).is_some_and(|port| port.info.lid() != 0 && (at.port == 0 || port.is_up()));
        ends.map(|number| PortRef::new(node, number)).find(managed)
    }

    /// Everything that a device keeps is lost; its links are down.
    pub(crate) fn reset(&mut self, node: NodeIndex) {
        let device = &mut self.devices[node.index()];
        device.blocks.clear();
        device.sl_to_vl = SlToVl::default();
        device.performance = Performance::default();
        device.congestion.clear();
        let model = device.model;
        if let (Some(switch), Some(model)) = (&mut device.switch, &model.switch) {
            switch.lft = Vec::new();
            switch.info = cold::switch_info(model);
            if let Some(adaptive) = &mut switch.adaptive {
                adaptive.reset();
            }
        }
        let ports = &mut self.ports[device.first_port..=device.first_port + usize::from(device.num_ports())];
        let mut best = Support::default();
        for port in &ports[1..] {
            best.join(Support::of(model, port.link));
        }
        for (port, number) in ports.iter_mut().zip(0..) {
            let support = Support::of(model, port.link);
            port.resting = PhysicalState::Polling;
            port.fdr10_enabled = support.speeds.contains(&LinkSpeed::Fdr10);
            port.fdr10_active = false;
            port.m_key_expiry = None;
            port.tally = Tally::default();
            port.info = cold::port_info(model, number, &support, &best);
        }
    }
}

impl Device {
    /// Whether one of its ports can do FDR10, the speed that PortInfo does not know.
    pub(crate) fn supports_fdr10(&self, port: &Port) -> bool {
        Support::of(self.model, port.link).speeds.contains(&LinkSpeed::Fdr10)
    }

    pub(crate) fn num_ports(&self) -> u8 {
        self.node_info.num_ports()
    }
}
