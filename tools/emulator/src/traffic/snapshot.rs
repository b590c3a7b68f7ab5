//! What the emulated hardware is programmed with.

use super::flows::Flow;
use super::forward::FIRST_MULTICAST;
use super::outcome::Outcome;
use super::plane::Options;
use super::programmed::{Arbitration, Group, Programmed, SwitchSettings, mbps};
use crate::adaptive::{Adaptive, Choice, Transport};
use crate::network::{Device, Network};
use crate::sma::cold_row;
use crate::world::World;
use heddle_fabric::{Link, LinkSpeed, LinkWidth, NO_PORT, NodeIndex, PortRef};
use heddle_mad::wire::{
    Attribute, LinkWidth as WireWidth, MulticastForwardingTable, PortInfo, PortMask, VlArbitration, VlArbitrationPart, data_vls,
};
use std::time::Duration;

/// HOQLife from here on is for ever (IBA 14.2.5.6).
const HOQ_FOR_EVER: u8 = 20;

impl World {
    /// What the hardware is programmed with now. Links carry packets if the ports at both ends are ACTIVE, or ARMED.
    /// `O(nodes + ports + tables)`.
    pub fn programmed(&self) -> Programmed {
        Programmed::of_network(&self.network)
    }

    /// [`Programmed::run`] on what the hardware is programmed with now. The ports count what they sent, received and discarded, as their
    /// performance counters tell, and those that were ARMED are ACTIVE when they received some; the world's time does not move.
    pub fn carry(&mut self, flows: &[Flow], options: &Options) -> Outcome {
        let outcome = self.programmed().run(flows, options);
        for (&(node, port), tally) in &outcome.ports {
            let at = PortRef::new(node, port);
            if let Some(port) = self.network.port_mut(at) {
                port.tally.add(tally);
            }
            if tally.rcv_pkts > 0 {
                self.network.activate_by_data(at);
            }
        }
        outcome
    }
}

impl Programmed {
    fn of_network(network: &Network) -> Self {
        let mut new = Self::unconnected((0..).zip(&network.devices).map(|(number, device)| {
            let settings = device.switch.is_some().then(|| switch_settings(network, device, NodeIndex(number)));
            (device.description.clone(), device.num_ports(), settings)
        }));
        for (number, device) in (0..).zip(&network.devices).filter(|(_, device)| device.present) {
            for port in 0..=device.num_ports() {
                new.take_port(network, device, PortRef::new(NodeIndex(number), port));
            }
        }
        new
    }

    fn take_port(&mut self, network: &Network, device: &Device, at: PortRef) {
        let Some(port) = network.port(at) else { return };
        let info = &port.info;
        let is_switch = device.switch.is_some();
        if is_switch == (at.port == 0) {
            self.set_lids(at, info.lid(), info.lmc());
        }
        if let Some(peer) = peer(network, at) {
            self.connect(at, peer, mbps(link(info, port.fdr10_active)));
        }
        // What is said and heard at a switch's port 0 has the port's P_Keys, on its one VL.
        let p_keys = network.p_keys(at).filter(|p_key| p_key & 0x7fff != 0).collect();
        if let (true, 0, Some(manager)) = (is_switch, at.port, self.end(at)) {
            self.ports[manager as usize].p_keys = p_keys;
            return;
        }
        let Some(settings) = self.port_mut(at) else { return };
        settings.operational_vls = data_vls(info.operational_vls()).unwrap_or(1);
        settings.mtu = info.active_mtu().map_or(256, |mtu| 128 << mtu as u16);
        settings.arbitration = arbitration(network, at, info);
        settings.p_keys = p_keys;
        settings.enforce_inbound = is_switch && info.partition_enforcement_inbound();
        settings.enforce_outbound = is_switch && info.partition_enforcement_outbound();
        settings.hoq_life = (info.hoq_life() < HOQ_FOR_EVER).then(|| Duration::from_nanos(4096 << info.hoq_life()));
        if !is_switch {
            settings.sl_to_vl = vls(device.sl_to_vl(0, at.port).unwrap_or_else(|| cold_row(network, at)));
        }
    }
}

fn switch_settings(network: &Network, device: &Device, node: NodeIndex) -> SwitchSettings {
    let mut settings = SwitchSettings::default();
    let Some(switch) = &device.switch else { return settings };
    let top = usize::from(switch.info.linear_fdb_top());
    settings.lft = vec![NO_PORT; top + 1];
    let written = switch.lft.len().min(top + 1);
    settings.lft[..written].copy_from_slice(&switch.lft[..written]);
    if switch.adaptive.as_ref().is_some_and(Adaptive::is_enabled) {
        for lid in 0..=switch.info.linear_fdb_top() {
            let choice = |sl| switch.choice(lid, sl, Transport::Rc);
            let groups = (0..16).filter_map(|sl| {
                if let Choice::Group { primary, secondary, .. } = choice(sl) { Some((sl, primary, secondary)) } else { None }
            });
            for (sl, primary, secondary) in groups {
                let group = settings.adaptive.entry(lid).or_insert(Group { primary, secondary, sls: 0 });
                group.sls |= 1 << sl;
            }
            // Subnet management is never routed adaptively, so that its way is the static one.
            if let Choice::Static { port, spare } = switch.choice(lid, 0, Transport::Smp) {
                settings.lft[usize::from(lid)] = port;
                if !spare.is_empty() && peer(network, PortRef::new(node, port)).is_none() {
                    settings.adaptive.entry(lid).or_insert(Group { primary: spare, secondary: PortMask::default(), sls: u16::MAX });
                }
            }
        }
    }
    for (&(_, _, modifier), data) in device.blocks.iter().filter(|((id, ..), _)| *id == MulticastForwardingTable::ID) {
        let (position, block) = (modifier >> 28, modifier & 0x1ff);
        for (entry, mask) in (0..).zip(MulticastForwardingTable::from_bytes(*data).port_masks()) {
            let ports = (0..16).filter(|bit| mask >> bit & 1 == 1).filter_map(|bit| u8::try_from(position * 16 + bit).ok());
            let lid = FIRST_MULTICAST.saturating_add(block as u16 * MulticastForwardingTable::LIDS as u16 + entry);
            ports.for_each(|port| settings.mft.entry(lid).or_default().insert(port));
        }
    }
    // The ports of a model are all alike.
    let written_or_cold = device.sl_to_vl.all.unwrap_or_else(|| cold_row(network, PortRef::new(node, 1)));
    settings.sl_to_vl_else = vls(written_or_cold);
    let rows = device.sl_to_vl.rows.iter().map(|(&(output, input), data)| ((input, output), vls(*data)));
    settings.sl_to_vl = rows.filter(|(_, row)| *row != settings.sl_to_vl_else).collect();
    settings
}

/// The other end of a link that carries data packets, or will with the first of them.
fn peer(network: &Network, at: PortRef) -> Option<PortRef> {
    let carries = |at: PortRef| network.port(at).filter(|port| network.device(at.node).present && port.takes_data());
    carries(at)?.peer.filter(|&peer| carries(peer).is_some())
}

fn vls(row: [u8; 8]) -> [u8; 16] {
    std::array::from_fn(|sl| row[sl / 2] >> (4 * (1 - sl % 2)) & 15)
}

fn arbitration(network: &Network, at: PortRef, info: &PortInfo) -> Arbitration {
    let part = |part: VlArbitrationPart| -> Vec<(u8, u8)> {
        let table = VlArbitration::from_bytes(network.vl_arbitration_block(at, part as u32));
        table.vls().into_iter().zip(table.weights()).filter(|entry| entry.1 > 0).collect()
    };
    use VlArbitrationPart as Part;
    Arbitration {
        high: [part(Part::HighFirst), part(Part::HighSecond)].concat(),
        low: [part(Part::LowFirst), part(Part::LowSecond)].concat(),
        limit_of_high: info.vl_high_limit(),
    }
}

fn link(info: &PortInfo, fdr10: bool) -> Link {
    let width = info.active_width().map(|width| match width {
        WireWidth::X1 => LinkWidth::X1,
        WireWidth::X2 => LinkWidth::X2,
        WireWidth::X4 => LinkWidth::X4,
        WireWidth::X8 => LinkWidth::X8,
        WireWidth::X12 => LinkWidth::X12,
    });
    // Both lists are in ascending order.
    let speed = info.active_speed().and_then(|speed| LinkSpeed::ALL.get(speed as usize).copied());
    Link { width, speed: if fdr10 { Some(LinkSpeed::Fdr10) } else { speed } }
}
