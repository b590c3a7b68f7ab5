//! The subnet management agent of a device: Get and Set of attributes (IBA 14.2.5).

use crate::network::{LINEAR_FDB_CAP, MULTICAST_FDB_CAP, Network, PARTITION_CAP};
use heddle_fabric::{LinkSpeed, NodeKind, PortRef};
use heddle_mad::wire::{
    Attribute, AttributeId, ExtendedPortInfo, GuidInfo, LinearForwardingTable, Mad, Method, MulticastForwardingTable, NodeDescription,
    NodeInfo, PKeyTable, PhysicalState, PortInfo, PortState, SlToVlMapping, Status, SwitchInfo, VlArbitration,
};

/// What an answer brings about when it has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    None,
    /// The port's link goes down, and up again unless the port is disabled.
    LinkDown(PortRef),
    /// The port's link may come up.
    LinkUp(PortRef),
}

/// A vendor whose devices have the attribute ExtendedPortInfo (0xFF90): NVIDIA, formerly Mellanox.
const MELLANOX: u32 = 0x0002c9;

type Outcome = Result<[u8; 64], Status>;

/// Turns a request that came in through `at` into its answer. `None` if it gets no answer.
pub(crate) fn answer(network: &mut Network, at: PortRef, mad: &mut Mad) -> Option<Effect> {
    let mut effect = Effect::None;
    let outcome = if mad.base_version() != 1 || mad.class_version() != 1 {
        Err(Status::BAD_VERSION)
    } else {
        match mad.method() {
            Method::GET | Method::SET if !admits(network, at, mad) => return None,
            Method::GET => get(network, at, mad),
            Method::SET => set(network, at, mad, &mut effect),
            _ => Err(Status::BAD_METHOD),
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
    Some(effect)
}

/// The M_Key check (IBA 14.2.4.1): a Set needs the key, a Get does where the protection is 2 or 3. Leases do not run out here.
fn admits(network: &mut Network, at: PortRef, mad: &Mad) -> bool {
    let end = network.end_port(at);
    let Some(port) = network.port_mut(end) else { return false };
    let key = port.info.m_key();
    let admitted = key == 0 || key == mad.m_key() || (mad.method() == Method::GET && port.info.m_key_protect_bits() < 2);
    if !admitted {
        port.info.set_m_key_violations(port.info.m_key_violations().saturating_add(1));
    }
    admitted
}

fn get(network: &Network, at: PortRef, mad: &Mad) -> Outcome {
    let device = network.device(at.node);
    let modifier = mad.modifier();
    match mad.attribute_id() {
        NodeInfo::ID => Ok(*network.node_info(at).bytes()),
        NodeDescription::ID => Ok(*NodeDescription::from_text(&device.description).bytes()),
        SwitchInfo::ID => Ok(*device.switch.as_ref().ok_or(Status::BAD_ATTRIBUTE)?.info.bytes()),
        PortInfo::ID => {
            let mut info = network.port(port_of(network, at, modifier)?).ok_or(Status::BAD_FIELD)?.info;
            info.set_local_port_num(at.port);
            if info.m_key() != mad.m_key() && info.m_key_protect_bits() == 1 {
                info.set_m_key(0);
            }
            Ok(*info.bytes())
        }
        LinearForwardingTable::ID => {
            let switch = device.switch.as_ref().ok_or(Status::BAD_ATTRIBUTE)?;
            let start = lft_block(modifier)?;
            let mut data = [0xff; 64];
            if let Some(block) = switch.lft.get(start..start + 64) {
                data.copy_from_slice(block);
            }
            Ok(data)
        }
        SlToVlMapping::ID => {
            let key = sl_to_vl_key(network, at, modifier)?;
            let mut data = [0; 64];
            // Out of reset each SL has the VL of its number, as far as there are VLs.
            data[..8].copy_from_slice(device.sl_to_vl.get(&key).unwrap_or(&[0x01, 0x23, 0x45, 0x67, 0x01, 0x23, 0x45, 0x67]));
            Ok(data)
        }
        ExtendedPortInfo::ID if network.node_info(at).vendor_id() == MELLANOX => {
            let port = network.port(port_of(network, at, modifier)?).ok_or(Status::BAD_FIELD)?;
            let mut info = ExtendedPortInfo::default();
            if port.link.speed == Some(LinkSpeed::Fdr10) {
                info.set_link_speed_supported(1);
                info.set_link_speed_enabled(1);
                info.set_link_speed_active(1);
            }
            Ok(*info.bytes())
        }
        id => {
            let (port, block) = block_of(network, at, id, modifier)?;
            Ok(device
                .blocks
                .get(&(id, port, block))
                .copied()
                .unwrap_or_else(|| cold_block(network, PortRef::new(at.node, port), id, block)))
        }
    }
}

fn set(network: &mut Network, at: PortRef, mad: &Mad, effect: &mut Effect) -> Outcome {
    let modifier = mad.modifier();
    let data = mad.smp_data();
    match mad.attribute_id() {
        SwitchInfo::ID => {
            let switch = network.device_mut(at.node).switch.as_mut().ok_or(Status::BAD_ATTRIBUTE)?;
            set_switch_info(&mut switch.info, &SwitchInfo::from_bytes(data))?;
        }
        PortInfo::ID => {
            let target = port_of(network, at, modifier)?;
            *effect = set_port_info(network, target, &PortInfo::from_bytes(data))?;
        }
        LinearForwardingTable::ID => {
            let switch = network.device_mut(at.node).switch.as_mut().ok_or(Status::BAD_ATTRIBUTE)?;
            let start = lft_block(modifier)?;
            if switch.lft.len() < start + 64 {
                switch.lft.resize(start + 64, 0xff);
            }
            switch.lft[start..start + 64].copy_from_slice(&data);
        }
        SlToVlMapping::ID => {
            let key = sl_to_vl_key(network, at, modifier)?;
            let row = std::array::from_fn(|i| data[i]);
            network.device_mut(at.node).sl_to_vl.insert(key, row);
        }
        // Read-only.
        NodeInfo::ID | NodeDescription::ID | ExtendedPortInfo::ID => return Err(Status::BAD_ATTRIBUTE),
        id => {
            let (port, block) = block_of(network, at, id, modifier)?;
            let mut data = data;
            if id == GuidInfo::ID {
                // The first GUID is the hardware's own.
                data[..8].copy_from_slice(&cold_block(network, PortRef::new(at.node, port), id, block)[..8]);
            }
            network.device_mut(at.node).blocks.insert((id, port, block), data);
        }
    }
    get(network, at, mad)
}

/// The port that a PortInfo's modifier means: on a switch the port of that number, on a host also 0 for the port asked through. Bit 31
/// says only that the asking manager knows extended speeds.
fn port_of(network: &Network, at: PortRef, modifier: u32) -> Result<PortRef, Status> {
    let device = network.device(at.node);
    match u8::try_from(modifier & 0x7fff_ffff) {
        Ok(0) if device.switch.is_none() => Ok(at),
        Ok(number) if number <= device.num_ports() => Ok(PortRef::new(at.node, number)),
        _ => Err(Status::BAD_FIELD),
    }
}

/// The first entry of an LFT block.
fn lft_block(modifier: u32) -> Result<usize, Status> {
    if modifier < u32::from(LINEAR_FDB_CAP) / 64 { Ok(modifier as usize * 64) } else { Err(Status::BAD_FIELD) }
}

/// Which SL-to-VL row: for switches input port and output port as in the modifier (IBA 14.2.5.8).
fn sl_to_vl_key(network: &Network, at: PortRef, modifier: u32) -> Result<u32, Status> {
    let device = network.device(at.node);
    if device.kind != NodeKind::Switch {
        return Ok(u32::from(at.port));
    }
    let [0, 0, input, output] = modifier.to_be_bytes() else { return Err(Status::BAD_FIELD) };
    let known = input <= device.num_ports() && (1..=device.num_ports()).contains(&output);
    if known { Ok(modifier) } else { Err(Status::BAD_FIELD) }
}

/// The port and the block that a modifier means.
fn block_of(network: &Network, at: PortRef, id: AttributeId, modifier: u32) -> Result<(u8, u32), Status> {
    let device = network.device(at.node);
    let is_switch = device.switch.is_some();
    let (high, low) = (modifier >> 16, modifier & 0xffff);
    let port = |number: u32, ports: std::ops::RangeInclusive<u8>| match u8::try_from(number) {
        _ if !is_switch => Ok(at.port),
        Ok(number) if ports.contains(&number) => Ok(number),
        _ => Err(Status::BAD_FIELD),
    };
    let (port, block, blocks) = match id {
        GuidInfo::ID => (network.end_port(at).port, modifier, 0..1),
        PKeyTable::ID => (port(high, 0..=device.num_ports())?, low, 0..u32::from(PARTITION_CAP) / 32),
        // Blocks 1 and 3 are the low and the high table's first 32 entries; there are no more (VLArbitrationLowCap).
        VlArbitration::ID if high % 2 == 1 => (port(low, 1..=device.num_ports())?, high, 1..4),
        VlArbitration::ID => return Err(Status::BAD_FIELD),
        MulticastForwardingTable::ID if is_switch => {
            let known = modifier >> 28 <= u32::from(device.num_ports()) / 16 && modifier & 0x0fff_ffff < u32::from(MULTICAST_FDB_CAP) / 32;
            (0, modifier, if known { 0..u32::MAX } else { 0..0 })
        }
        _ => return Err(Status::BAD_ATTRIBUTE),
    };
    if blocks.contains(&block) { Ok((port, block)) } else { Err(Status::BAD_FIELD) }
}

/// A block that nobody wrote.
fn cold_block(network: &Network, at: PortRef, id: AttributeId, block: u32) -> [u8; 64] {
    let mut data = [0; 64];
    if id == GuidInfo::ID {
        data[..8].copy_from_slice(&network.port(at).map_or(0, |port| port.guid).to_be_bytes());
    } else if id == PKeyTable::ID && block == 0 {
        data[..2].copy_from_slice(&[0xff, 0xff]); // full member of the default partition (IBA 10.9.2)
    }
    data
}

fn set_switch_info(info: &mut SwitchInfo, wanted: &SwitchInfo) -> Result<(), Status> {
    if wanted.linear_fdb_top() >= LINEAR_FDB_CAP {
        return Err(Status::BAD_FIELD);
    }
    info.set_linear_fdb_top(wanted.linear_fdb_top());
    info.set_default_port(wanted.default_port());
    info.set_default_multicast_primary_port(wanted.default_multicast_primary_port());
    info.set_default_multicast_not_primary_port(wanted.default_multicast_not_primary_port());
    info.set_life_time_value(wanted.life_time_value());
    info.set_multicast_fdb_top(wanted.multicast_fdb_top());
    if wanted.port_state_change() {
        info.set_port_state_change(false);
    }
    Ok(())
}

/// Takes over what may be written, all of it or nothing.
fn set_port_info(network: &mut Network, target: PortRef, wanted: &PortInfo) -> Result<Effect, Status> {
    let is_switch = network.device(target.node).switch.is_some();
    let is_end = !is_switch || target.port == 0;
    let port = network.port_mut(target).ok_or(Status::BAD_FIELD)?;
    let mut info = port.info;
    let mut disabled = port.disabled;
    let mut effect = Effect::None;
    if is_end {
        set_end_fields(&mut info, wanted, is_switch)?;
    }
    if target.port != 0 {
        set_link_fields(&mut info, wanted)?;
        match (wanted.port_physical_state(), wanted.physical_state()) {
            (0, _) => {}
            (_, Some(PhysicalState::Sleep | PhysicalState::Polling)) if disabled => {
                disabled = false;
                info.set_physical_state(PhysicalState::Polling);
                effect = Effect::LinkUp(target);
            }
            (_, Some(PhysicalState::Sleep | PhysicalState::Polling)) => effect = Effect::LinkDown(target),
            (_, Some(PhysicalState::Disabled)) => {
                disabled = true;
                if !port.is_up() {
                    info.set_physical_state(PhysicalState::Disabled);
                }
                effect = Effect::LinkDown(target);
            }
            _ => return Err(Status::BAD_FIELD),
        }
        // The state machine of IBA 7.2.7: a manager leads upward one step at a time; everything falls to DOWN.
        match (info.state(), wanted.state()) {
            _ if wanted.port_state() == 0 => {}
            (Some(PortState::Init), Some(next @ PortState::Armed)) | (Some(PortState::Armed), Some(next @ PortState::Active)) => {
                info.set_state(next);
            }
            (_, Some(PortState::Down)) if effect == Effect::None => effect = Effect::LinkDown(target),
            (_, Some(PortState::Down)) => {}
            _ => return Err(Status::BAD_FIELD),
        }
    }
    port.info = info;
    port.disabled = disabled;
    Ok(effect)
}

/// What addresses and manages an end port.
fn set_end_fields(info: &mut PortInfo, wanted: &PortInfo, is_switch: bool) -> Result<(), Status> {
    let last = u32::from(wanted.lid()) + (1 << wanted.lmc()) - 1;
    let aligned = wanted.lid() & ((1 << wanted.lmc()) - 1) == 0;
    if last > 0xbfff || !aligned || wanted.master_sm_lid() > 0xbfff {
        return Err(Status::BAD_FIELD);
    }
    info.set_lid(wanted.lid());
    if !is_switch {
        info.set_lmc(wanted.lmc()); // a base switch port 0 has one LID (IBA 18.2.4.1)
    }
    info.set_master_sm_lid(wanted.master_sm_lid());
    info.set_master_sm_sl(wanted.master_sm_sl());
    info.set_gid_prefix(wanted.gid_prefix());
    info.set_m_key(wanted.m_key());
    info.set_m_key_lease_period(wanted.m_key_lease_period());
    info.set_m_key_protect_bits(wanted.m_key_protect_bits());
    info.set_m_key_violations(wanted.m_key_violations());
    info.set_subnet_timeout(wanted.subnet_timeout());
    info.set_multicast_p_key_trap_suppression(wanted.multicast_p_key_trap_suppression());
    // ClientReregister is done at once, and reads as 0.
    Ok(())
}

/// What governs the link. 0 is "no change" where the specification says so.
fn set_link_fields(info: &mut PortInfo, wanted: &PortInfo) -> Result<(), Status> {
    if !(1..=info.mtu_cap()).contains(&wanted.neighbor_mtu()) || wanted.operational_vls() > info.vl_cap() {
        return Err(Status::BAD_FIELD);
    }
    info.set_neighbor_mtu(wanted.neighbor_mtu());
    if wanted.operational_vls() != 0 {
        info.set_operational_vls(wanted.operational_vls());
    }
    match wanted.link_width_enabled() {
        0 => {}
        0xff => info.set_link_width_enabled(info.link_width_supported()),
        mask if mask & info.link_width_supported() == mask => info.set_link_width_enabled(mask),
        _ => return Err(Status::BAD_FIELD),
    }
    match wanted.link_speed_enabled() {
        0 => {}
        0xf => info.set_link_speed_enabled(info.link_speed_supported()),
        mask if mask & info.link_speed_supported() == mask => info.set_link_speed_enabled(mask),
        _ => return Err(Status::BAD_FIELD),
    }
    match wanted.link_speed_ext_enabled() {
        0 => {}
        30 => info.set_link_speed_ext_enabled(30),
        31 => info.set_link_speed_ext_enabled(info.link_speed_ext_supported()),
        mask if mask & info.link_speed_ext_supported() == mask => info.set_link_speed_ext_enabled(mask),
        _ => return Err(Status::BAD_FIELD),
    }
    match wanted.link_down_default_state() {
        0 => {}
        default @ 1..=2 => info.set_link_down_default_state(default),
        _ => return Err(Status::BAD_FIELD),
    }
    info.set_vl_high_limit(wanted.vl_high_limit());
    info.set_vl_stall_count(wanted.vl_stall_count());
    info.set_hoq_life(wanted.hoq_life());
    info.set_partition_enforcement_inbound(wanted.partition_enforcement_inbound());
    info.set_partition_enforcement_outbound(wanted.partition_enforcement_outbound());
    info.set_filter_raw_inbound(wanted.filter_raw_inbound());
    info.set_filter_raw_outbound(wanted.filter_raw_outbound());
    info.set_local_phy_errors(wanted.local_phy_errors());
    info.set_overrun_errors(wanted.overrun_errors());
    Ok(())
}
