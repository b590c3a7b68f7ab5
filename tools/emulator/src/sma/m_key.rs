//! The M_Key check of requests, violations, and the lease (IBA 14.2.4).

use super::Effect;
use crate::network::Network;
use crate::traps::TrapKind;
use heddle_fabric::{NodeKind, PortRef};
use heddle_mad::Time;
use heddle_mad::wire::{Attribute, CapabilityMask, Class, Mad, Method, PortInfo, TrapDetails};
use std::time::Duration;

/// How many bytes of a return path fit into trap 256. The first of them means nothing, as in the path itself.
const RETURN_PATH: usize = 30;

/// Checks the M_Key of a Get, Set or TrapRepress: that of the port by which it came in, and for PortInfo of another port of a host also
/// that port's.
///
/// # Errors
/// The request gets no answer. A violation that starts a trap brings that about.
pub(super) fn admit(network: &mut Network, at: PortRef, slid: Option<u16>, now: Time, mad: &Mad) -> Result<(), Option<Effect>> {
    check(network, network.end_port(at), slid, now, mad)?;
    let device = network.device(at.node);
    let meant = u8::try_from(mad.modifier() & 0x7fff_ffff).ok().filter(|&meant| (1..=device.num_ports()).contains(&meant));
    match meant {
        Some(meant) if device.kind != NodeKind::Switch && mad.attribute_id() == PortInfo::ID && meant != at.port => {
            check(network, PortRef::new(at.node, meant), slid, now, mad)
        }
        _ => Ok(()),
    }
}

fn check(network: &mut Network, end: PortRef, slid: Option<u16>, now: Time, mad: &Mad) -> Result<(), Option<Effect>> {
    let Some(port) = network.port_mut(end) else { return Err(None) };
    if port.m_key_expiry.is_some_and(|expiry| expiry <= now) {
        port.m_key_expiry = None;
        port.info.set_m_key_protect_bits(0);
    }
    if port.info.m_key() == 0 || port.info.m_key() == mad.m_key() {
        port.m_key_expiry = None;
        return Ok(());
    }
    // Levels 0 and 1 let everybody read; at level 1 the key itself stays hidden. Level 3 is as 2.
    if mad.method() == Method::GET && port.info.m_key_protect_bits() < 2 {
        return Ok(());
    }
    port.info.set_m_key_violations(port.info.m_key_violations().saturating_add(1));
    let lease = port.info.m_key_lease_period();
    if lease != 0 && port.m_key_expiry.is_none() {
        port.m_key_expiry = Some(now + Duration::from_secs(lease.into()));
    }
    let tells_path = port.info.capabilities().contains(CapabilityMask::DR_NOTICE);
    Err(Some(Effect::Trap(end, TrapKind::Security(bad_m_key(slid, tells_path, mad)))))
}

/// Trap 256 (IBA 14.2.5.1).
fn bad_m_key(slid: Option<u16>, tells_path: bool, mad: &Mad) -> TrapDetails {
    let is_directed = mad.class() == Class::SUBN_DIRECTED;
    let hops = usize::from(mad.hop_count());
    let mut dr_return_path = [0; RETURN_PATH];
    let told = if is_directed && tells_path { RETURN_PATH.min(hops + 1).min(mad.return_path().len()) } else { 0 };
    dr_return_path[..told].copy_from_slice(&mad.return_path()[..told]);
    TrapDetails::BadMKey {
        lid: slid.unwrap_or(0xffff),
        dr_slid: if is_directed { mad.dr_slid() } else { 0 },
        method: mad.method().0,
        attribute_id: mad.attribute_id().0,
        modifier: mad.modifier(),
        m_key: mad.m_key(),
        dr_notice: told > 0,
        dr_path_truncated: told > 0 && hops + 1 > told,
        dr_hop_count: told.saturating_sub(1) as u8,
        dr_return_path,
    }
}
