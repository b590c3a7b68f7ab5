//! The subnet management agent of a device: Get and Set of attributes (IBA 14.2.5).

mod m_key;
mod port_info;
mod sl_to_vl;
mod switch_info;
mod tables;

pub(crate) use sl_to_vl::{SlToVl, cold_row};

use crate::network::{Device, Network};
use crate::traps::TrapKind;
use heddle_fabric::PortRef;
use heddle_mad::Time;
use heddle_mad::wire::{
    ArGroupTableCopy, Attribute, Capability, CapabilityMask, CapabilityMask2, ExtendedPortInfo, GeneralInfo, GuidInfo,
    LinearForwardingTable, Mad, Method, MulticastForwardingTable, NodeDescription, NodeInfo, Notice, NoticeType, PKeyTable, PortInfo,
    SlToVlMapping, Status, SwitchInfo, VlArbitration,
};

/// What a request brings about when its answer has left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// The port's link goes down, and up again unless something hinders it.
    LinkDown(PortRef),
    /// Both ends of the port's link begin anew: DOWN, and INIT at once.
    LinkReset(PortRef),
    /// The port's link may come up.
    LinkUp(PortRef),
    /// The end port tells the subnet manager.
    Trap(PortRef, TrapKind),
}

/// What becomes of a request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Reply {
    /// Whether the request became its answer; otherwise it gets none.
    pub(crate) answered: bool,
    pub(crate) effect: Option<Effect>,
}

/// A vendor whose devices have the attribute ExtendedPortInfo (0xFF90): NVIDIA, formerly Mellanox.
pub(crate) const MELLANOX: u32 = 0x0002c9;

type Outcome = Result<[u8; 64], Status>;

/// Turns a Get or Set that came in through `at` into its answer. `slid` is where it came from, if forwarding tables carried it.
pub(crate) fn answer(network: &mut Network, at: PortRef, slid: Option<u16>, now: Time, mad: &mut Mad) -> Reply {
    let mut effect = None;
    let outcome = if mad.base_version() != 1 || mad.class_version() != 1 {
        Err(Status::BAD_VERSION)
    } else {
        let method = mad.method();
        if !matches!(method, Method::GET | Method::SET) {
            Err(Status::BAD_METHOD)
        } else if network.device(at.node).model.never_answers.contains(&mad.attribute_id()) {
            return Reply::default();
        } else if let Err(violation) = m_key::admit(network, at, slid, now, mad) {
            return Reply { answered: false, effect: violation };
        } else if method == Method::GET {
            get(network, at, mad)
        } else {
            set(network, at, mad, &mut effect)
        }
    };
    match outcome {
        Ok(data) => {
            mad.set_smp_data(&data);
            mad.set_status(Status::OK);
        }
        Err(status) => mad.set_status(status),
    }
    mad.set_method(Method::GET_RESP);
    Reply { answered: true, effect }
}

/// Whether the sender of a TrapRepress has the M_Key that it takes (IBA 14.2.4.1). If not, what that brings about.
pub(crate) fn admits_repression(network: &mut Network, at: PortRef, slid: Option<u16>, now: Time, mad: &Mad) -> Result<(), Option<Effect>> {
    m_key::admit(network, at, slid, now, mad)
}

fn get(network: &Network, at: PortRef, mad: &Mad) -> Outcome {
    let device = network.device(at.node);
    let modifier = mad.modifier();
    match mad.attribute_id() {
        NodeInfo::ID => without(modifier).map(|()| *network.node_info(at).bytes()),
        NodeDescription::ID => without(modifier).map(|()| *NodeDescription::from_text(&device.description).bytes()),
        Notice::ID if capabilities(network, at).contains(CapabilityMask::NOTICE) => without(modifier).map(|()| no_notice()),
        SwitchInfo::ID => {
            let switch = device.switch.as_ref().ok_or(Status::BAD_ATTRIBUTE)?;
            without(modifier).map(|()| *switch.info.bytes())
        }
        PortInfo::ID => port_info::get(network, at, modifier, mad.m_key()).map(|info| *info.bytes()),
        ExtendedPortInfo::ID if has_extended_port_info(device, network, at) => port_info::get_extended(network, at, modifier),
        LinearForwardingTable::ID => tables::get_lft(device, modifier),
        MulticastForwardingTable::ID => tables::get_mft(device, modifier),
        GuidInfo::ID => tables::get_guids(network, at, modifier),
        PKeyTable::ID => tables::get_p_keys(network, at, modifier),
        VlArbitration::ID => tables::get_vl_arbitration(network, at, modifier),
        SlToVlMapping::ID => sl_to_vl::get(network, at, modifier),
        GeneralInfo::ID => general_info(network, at, modifier),
        id => {
            let (switch, adaptive) =
                device.switch.as_ref().and_then(|switch| Some((switch, switch.adaptive.as_ref()?))).ok_or(Status::BAD_ATTRIBUTE)?;
            adaptive.get(id, modifier, switch.info.linear_fdb_cap())
        }
    }
}

fn set(network: &mut Network, at: PortRef, mad: &Mad, effect: &mut Option<Effect>) -> Outcome {
    let modifier = mad.modifier();
    let data = mad.smp_data();
    match mad.attribute_id() {
        PortInfo::ID => return port_info::set(network, at, modifier, &PortInfo::from_bytes(data), effect).map(|info| *info.bytes()),
        SwitchInfo::ID => without(modifier).and_then(|()| switch_info::set(network, at.node, &SwitchInfo::from_bytes(data)))?,
        LinearForwardingTable::ID => tables::set_lft(network.device_mut(at.node), modifier, &data)?,
        MulticastForwardingTable::ID => tables::set_mft(network.device_mut(at.node), modifier, &data)?,
        GuidInfo::ID => tables::set_guids(network, at, modifier, data)?,
        PKeyTable::ID => tables::set_p_keys(network, at, modifier, data)?,
        VlArbitration::ID => tables::set_vl_arbitration(network, at, modifier, data)?,
        SlToVlMapping::ID => return sl_to_vl::set(network, at, modifier, &data),
        NodeDescription::ID if capabilities_2(network, at).contains(CapabilityMask2::SET_NODE_DESCRIPTION) => {
            without(modifier)?;
            network.device_mut(at.node).description = NodeDescription::from_bytes(data).to_string();
        }
        ExtendedPortInfo::ID if has_extended_port_info(network.device(at.node), network, at) => {
            port_info::set_extended(network, at, modifier, &ExtendedPortInfo::from_bytes(data))?;
        }
        // A Set takes away the notice that a Get brought; there never is one here.
        Notice::ID => {}
        // What there is else is read-only, but for adaptive routing.
        id => {
            let device = network.device_mut(at.node);
            let ports = device.num_ports();
            let switch = device.switch.as_mut().ok_or(Status::BAD_ATTRIBUTE)?;
            let lids = switch.info.linear_fdb_cap();
            switch.adaptive.as_mut().ok_or(Status::BAD_ATTRIBUTE)?.set(id, modifier, data, lids, ports)?;
            if id == ArGroupTableCopy::ID {
                return Ok(data); // which cannot be read
            }
        }
    }
    get(network, at, mad)
}

/// Most attributes have no modifier.
fn without(modifier: u32) -> Result<(), Status> {
    if modifier == 0 { Ok(()) } else { Err(Status::BAD_FIELD) }
}

fn capabilities(network: &Network, at: PortRef) -> CapabilityMask {
    network.port(network.end_port(at)).map_or(CapabilityMask::empty(), |port| port.info.capabilities())
}

fn capabilities_2(network: &Network, at: PortRef) -> CapabilityMask2 {
    network.port(network.end_port(at)).map_or(CapabilityMask2::empty(), |port| port.info.capabilities_2())
}

fn no_notice() -> [u8; 64] {
    let mut notice = Notice::default();
    notice.set_notice_type(NoticeType::Empty as u8);
    *notice.bytes()
}

/// What the device can do beside what CapabilityMask says.
fn general_info(network: &Network, at: PortRef, modifier: u32) -> Outcome {
    let device = network.device(at.node);
    let mut info = GeneralInfo::default();
    if has_extended_port_info(device, network, at) {
        info.add(Capability::ExtendedPortInfo);
    }
    if let Some(adaptive) = device.switch.as_ref().and_then(|switch| switch.adaptive.as_ref()) {
        info.add(Capability::AdaptiveRoutingRev1);
        if adaptive.fast_recovery() {
            info.add(Capability::FastRecovery);
        }
    }
    match modifier {
        _ if info == GeneralInfo::default() => Err(Status::BAD_ATTRIBUTE),
        GeneralInfo::MODIFIER => Ok(*info.bytes()),
        _ => Err(Status::BAD_FIELD), // others ask for what is not known
    }
}

/// Unknown devices of the vendor have it as well as those whose model says so.
fn has_extended_port_info(device: &Device, network: &Network, at: PortRef) -> bool {
    device.model.extended_port_info || (device.model.is_default() && network.node_info(at).vendor_id() == MELLANOX)
}

#[cfg(test)]
mod tests;
