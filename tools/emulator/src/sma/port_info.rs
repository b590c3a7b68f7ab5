//! PortInfo and its state machine (IBA 14.2.5.6, 7.2.7), and the vendor's ExtendedPortInfo.

use super::{Effect, Outcome, capabilities};
use crate::network::{Network, Port};
use crate::training::{NO_EXTENDED_SPEED, NO_EXTENDED_SPEED_2};
use heddle_fabric::PortRef;
use heddle_mad::wire::{Attribute, CapabilityMask, ExtendedPortInfo, PhysicalState, PortInfo, PortState, Status, SwitchInfo};

/// Bit 31 of the modifier: the manager knows extended speeds.
const KNOWS_EXTENDED_SPEEDS: u32 = 1 << 31;
/// ExtendedPortInfo: FDR10, in the masks of speeds.
const FDR10: u8 = 1;

/// PortInfo for somebody who shows `m_key`.
pub(super) fn get(network: &Network, at: PortRef, modifier: u32, m_key: u64) -> Result<PortInfo, Status> {
    let target = port_of(network, at, modifier)?;
    let mut info = network.port(target).ok_or(Status::BAD_FIELD)?.info;
    info.set_local_port_num(at.port);
    if info.m_key() != m_key && info.m_key_protect_bits() == 1 {
        info.set_m_key(0);
    }
    if network.device(at.node).model.hides_extended_speeds && modifier & KNOWS_EXTENDED_SPEEDS == 0 {
        info.set_link_speed_ext_active(0);
        info.set_link_speed_ext_supported(0);
        info.set_link_speed_ext_enabled(0);
        info.set_link_speed_ext_active_2(0);
        info.set_link_speed_ext_supported_2(0);
        info.set_link_speed_ext_enabled_2(0);
    }
    Ok(info)
}

/// Takes over what may be written, all of it or nothing. The answer is what a Get would bring, but it already says what becomes of the link
/// once the answer has left, and keeps ClientReregister (o14-12.2.1).
pub(super) fn set(
    network: &mut Network,
    at: PortRef,
    modifier: u32,
    wanted: &PortInfo,
    effect: &mut Option<Effect>,
) -> Result<PortInfo, Status> {
    let target = port_of(network, at, modifier)?;
    let device = network.device(target.node);
    let switch = device.switch.as_ref().map(|switch| switch.info);
    let capabilities = capabilities(network, at);
    let port = network.port_mut(target).ok_or(Status::BAD_FIELD)?;
    let mut info = port.info;
    let is_end = switch.is_none() || target.port == 0;
    if is_end {
        set_end_fields(&mut info, wanted, switch.as_ref(), capabilities)?;
    }
    if target.port != 0 {
        set_link_fields(&mut info, wanted, switch.as_ref())?;
    } else if switch.is_some_and(|switch| switch.enhanced_port0()) {
        set_queue_fields(&mut info, wanted)?;
    }
    let command = if target.port != 0 { command(port.info.state(), wanted)? } else { Command::Stay };

    let default_changed = info.link_down_default_state() != port.info.link_down_default_state();
    port.info = info;
    if default_changed && port.is_up() {
        port.rest_by_default();
    }
    *effect = obey(port, target, command);
    let resting = port.resting;
    let reregisters = is_end && wanted.client_reregister() && capabilities.contains(CapabilityMask::CLIENT_REREGISTRATION);
    port.client_reregistrations += u32::from(reregisters);

    let mut answer = get(network, at, modifier, info.m_key())?;
    answer.set_client_reregister(reregisters);
    match effect {
        Some(Effect::LinkDown(_)) => {
            answer.set_state(PortState::Down);
            answer.set_physical_state(resting);
        }
        Some(Effect::LinkReset(_)) => answer.set_state(PortState::Init),
        _ => {}
    }
    Ok(answer)
}

/// What a Set asks of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Command {
    Stay,
    /// To ARMED or ACTIVE.
    Rise(PortState),
    /// To DOWN. Where no physical state is given, the physical link stays, which leads to INIT again at once.
    Fall(Option<PhysicalState>),
}

/// The state machine of IBA 7.2.7: a manager leads upward one step at a time; everything falls to DOWN. Physical states can be asked for
/// only of a link that is down or is to fall.
fn command(state: Option<PortState>, wanted: &PortInfo) -> Result<Command, Status> {
    let physical = match wanted.port_physical_state() {
        0 => None,
        code @ 1..=3 => PhysicalState::from_code(code),
        _ => return Err(Status::BAD_FIELD),
    };
    match (state, wanted.port_state(), wanted.state()) {
        (_, 0, _) if physical.is_none() => Ok(Command::Stay),
        (_, 0, _) | (_, _, Some(PortState::Down)) => Ok(Command::Fall(physical)),
        (Some(PortState::Init), _, Some(next @ PortState::Armed)) | (Some(PortState::Armed), _, Some(next @ PortState::Active))
            if physical.is_none() =>
        {
            Ok(Command::Rise(next))
        }
        _ => Err(Status::BAD_FIELD),
    }
}

/// Does what can be done at once, and says what follows.
fn obey(port: &mut Port, at: PortRef, command: Command) -> Option<Effect> {
    match command {
        Command::Stay => None,
        Command::Rise(state) => {
            port.info.set_state(state);
            None
        }
        Command::Fall(None) if port.is_up() => Some(Effect::LinkReset(at)),
        // Only a physical state ends it.
        Command::Fall(None) if port.resting == PhysicalState::Disabled => None,
        Command::Fall(physical) => {
            match physical {
                Some(physical) => port.resting = physical,
                None => port.rest_by_default(),
            }
            if port.is_up() {
                return Some(Effect::LinkDown(at));
            }
            port.info.set_physical_state(port.resting);
            (port.resting != PhysicalState::Disabled).then_some(Effect::LinkUp(at))
        }
    }
}

/// What addresses and manages an end port.
fn set_end_fields(info: &mut PortInfo, wanted: &PortInfo, switch: Option<&SwitchInfo>, capabilities: CapabilityMask) -> Result<(), Status> {
    let has_lmc = switch.is_none_or(|switch| switch.enhanced_port0()); // a base switch port 0 has one LID (IBA 18.2.4.1)
    let lmc = if has_lmc { wanted.lmc() } else { 0 };
    let last = u32::from(wanted.lid()) + (1 << lmc) - 1;
    let aligned = wanted.lid() & ((1 << lmc) - 1) == 0;
    if last > 0xbfff || !aligned || wanted.master_sm_lid() > 0xbfff {
        return Err(Status::BAD_FIELD);
    }
    info.set_lid(wanted.lid());
    info.set_lmc(lmc);
    info.set_master_sm_lid(wanted.master_sm_lid());
    info.set_master_sm_sl(wanted.master_sm_sl());
    info.set_gid_prefix(wanted.gid_prefix());
    info.set_init_type(wanted.init_type());
    info.set_m_key(wanted.m_key());
    info.set_m_key_lease_period(wanted.m_key_lease_period());
    info.set_m_key_protect_bits(wanted.m_key_protect_bits());
    info.set_subnet_timeout(wanted.subnet_timeout());
    if capabilities.contains(CapabilityMask::MULTICAST_P_KEY_TRAP_SUPPRESSION) {
        info.set_multicast_p_key_trap_suppression(wanted.multicast_p_key_trap_suppression());
    }
    // Counters of violations go up by themselves; a Set can only clear them.
    if wanted.m_key_violations() == 0 {
        info.set_m_key_violations(0);
    }
    if wanted.p_key_violations() == 0 {
        info.set_p_key_violations(0);
    }
    if wanted.q_key_violations() == 0 {
        info.set_q_key_violations(0);
    }
    Ok(())
}

/// What the queues in front of a link need to know. 0 is "no change" where the specification says so.
fn set_queue_fields(info: &mut PortInfo, wanted: &PortInfo) -> Result<(), Status> {
    if !(1..=info.mtu_cap()).contains(&wanted.neighbor_mtu()) || wanted.operational_vls() > info.vl_cap() {
        return Err(Status::BAD_FIELD);
    }
    info.set_neighbor_mtu(wanted.neighbor_mtu());
    if wanted.operational_vls() != 0 {
        info.set_operational_vls(wanted.operational_vls());
    }
    info.set_vl_high_limit(wanted.vl_high_limit());
    info.set_vl_stall_count(wanted.vl_stall_count());
    info.set_hoq_life(wanted.hoq_life());
    info.set_local_phy_errors(wanted.local_phy_errors());
    info.set_overrun_errors(wanted.overrun_errors());
    Ok(())
}

/// What governs a port with a cable. Widths and speeds take effect when the link is trained the next time.
fn set_link_fields(info: &mut PortInfo, wanted: &PortInfo, switch: Option<&SwitchInfo>) -> Result<(), Status> {
    set_queue_fields(info, wanted)?;
    let enabled = |wanted: u8, all: u8, none: Option<u8>, supported: u8, now: u8| match wanted {
        0 => Ok(now),
        code if code == all => Ok(supported),
        code if Some(code) == none => Ok(code),
        mask if mask & !supported == 0 => Ok(mask),
        _ => Err(Status::BAD_FIELD),
    };
    let widths = enabled(wanted.link_width_enabled(), 0xff, None, info.link_width_supported(), info.link_width_enabled())?;
    info.set_link_width_enabled(widths);
    let speeds = enabled(wanted.link_speed_enabled(), 0xf, None, info.link_speed_supported(), info.link_speed_enabled())?;
    info.set_link_speed_enabled(speeds);
    let (supported, now) = (info.link_speed_ext_supported(), info.link_speed_ext_enabled());
    info.set_link_speed_ext_enabled(enabled(wanted.link_speed_ext_enabled(), 31, Some(NO_EXTENDED_SPEED), supported, now)?);
    let (supported, now) = (info.link_speed_ext_supported_2(), info.link_speed_ext_enabled_2());
    info.set_link_speed_ext_enabled_2(enabled(wanted.link_speed_ext_enabled_2(), 7, Some(NO_EXTENDED_SPEED_2), supported, now)?);
    match wanted.link_down_default_state() {
        0 => {}
        default @ 1..=2 => info.set_link_down_default_state(default),
        _ => return Err(Status::BAD_FIELD),
    }
    // Only the cable ports of switches enforce and filter, and those only where SwitchInfo says so.
    if let Some(switch) = switch {
        info.set_partition_enforcement_inbound(wanted.partition_enforcement_inbound() && switch.inbound_enforcement_cap());
        info.set_partition_enforcement_outbound(wanted.partition_enforcement_outbound() && switch.outbound_enforcement_cap());
        info.set_filter_raw_inbound(wanted.filter_raw_inbound() && switch.filter_raw_inbound_cap());
        info.set_filter_raw_outbound(wanted.filter_raw_outbound() && switch.filter_raw_outbound_cap());
    }
    Ok(())
}

pub(super) fn get_extended(network: &Network, at: PortRef, modifier: u32) -> Outcome {
    let target = port_of(network, at, modifier)?;
    let port = network.port(target).ok_or(Status::BAD_FIELD)?;
    let device = network.device(target.node);
    let mut info = ExtendedPortInfo::default();
    if device.supports_fdr10(port) {
        info.set_link_speed_supported(FDR10);
        info.set_link_speed_enabled(if port.fdr10_enabled { FDR10 } else { 0 });
        info.set_link_speed_active(if port.fdr10_active { FDR10 } else { 0 });
    }
    Ok(*info.bytes())
}

/// Only the enabled speeds can be written, and only where StateChangeEnable says that they count.
pub(super) fn set_extended(network: &mut Network, at: PortRef, modifier: u32, wanted: &ExtendedPortInfo) -> Result<(), Status> {
    let target = port_of(network, at, modifier)?;
    let port = network.port(target).ok_or(Status::BAD_FIELD)?;
    let supports = network.device(target.node).supports_fdr10(port);
    let wanted = match (wanted.state_change_enable(), wanted.link_speed_enabled()) {
        (0, _) => return Ok(()),
        (_, 0) => false,
        (_, FDR10) if supports => true,
        _ => return Err(Status::BAD_FIELD),
    };
    network.port_mut(target).ok_or(Status::BAD_FIELD)?.fdr10_enabled = wanted;
    Ok(())
}

/// The port that a modifier means: on a switch the port of that number, on a host also 0 for the port asked through.
fn port_of(network: &Network, at: PortRef, modifier: u32) -> Result<PortRef, Status> {
    let device = network.device(at.node);
    match u8::try_from(modifier & !KNOWS_EXTENDED_SPEEDS) {
        Ok(0) if device.switch.is_none() => Ok(at),
        Ok(number) if number <= device.num_ports() => Ok(PortRef::new(at.node, number)),
        _ => Err(Status::BAD_FIELD),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every state, every PortState and every PortPhysicalState that a Set can hold (IBA 7.2.7, 14.2.5.6; of the physical states as the
    /// kernel's qib has it: only of a link that is down or falls).
    #[test]
    fn the_whole_table_of_commands() {
        use PortState::{Active, Armed, Down, Init};
        for state in [Down, Init, Armed, Active] {
            for port_state in 0..=15 {
                for physical in 0..=15 {
                    let mut wanted = PortInfo::default();
                    wanted.set_port_state(port_state);
                    wanted.set_port_physical_state(physical);
                    let expected = match (state, port_state, physical) {
                        (_, 0, 0) => Some(Command::Stay),
                        (_, 1, 0) => Some(Command::Fall(None)),
                        (_, 0 | 1, 1) => Some(Command::Fall(Some(PhysicalState::Sleep))),
                        (_, 0 | 1, 2) => Some(Command::Fall(Some(PhysicalState::Polling))),
                        (_, 0 | 1, 3) => Some(Command::Fall(Some(PhysicalState::Disabled))),
                        (Init, 3, 0) => Some(Command::Rise(Armed)),
                        (Armed, 4, 0) => Some(Command::Rise(Active)),
                        _ => None,
                    };
                    let result = command(Some(state), &wanted);
                    assert_eq!(result, expected.ok_or(Status::BAD_FIELD), "{state:?}, asked for {port_state} and {physical}");
                }
            }
        }
    }
}
