//! What the driver asks its own device, as it does for sysfs: without any packet.

use crate::agents;
use crate::packet::Packet;
use crate::world::World;
use heddle_fabric::PortRef;
use heddle_mad::wire::{Attribute, Class, GuidInfo, Mad, Method};

/// Lets the device's agent answer.
fn ask(world: &mut World, at: PortRef, mut mad: Mad) -> Option<Mad> {
    if let Some(port) = world.port_info(at) {
        mad.set_m_key(port.m_key());
    }
    answer(world, at, Packet::smp(0, mad))
}

fn answer(world: &mut World, at: PortRef, mut packet: Packet) -> Option<Mad> {
    let reply = agents::answer(&mut world.network, at, world.now, &mut packet)?;
    (reply.answered && packet.mad.status().0 == 0).then_some(packet.mad)
}

fn get<A: Attribute>(world: &mut World, at: PortRef, modifier: u32) -> Option<A> {
    Some(ask(world, at, Mad::request(Class::SUBN_LID, 1, Method::GET, A::ID, modifier))?.attribute())
}

/// An entry of a port's P_Key table; `None` beyond its end.
pub(super) fn p_key_at(world: &World, at: PortRef, index: u16) -> Option<u16> {
    world.network.p_keys(at).nth(index.into())
}

/// An entry of a port's GUID table.
pub(super) fn guid_at(world: &mut World, at: PortRef, index: u8) -> Option<u64> {
    let table: GuidInfo = get(world, at, u32::from(index / 8))?;
    let mut guid = [0; 8];
    guid.copy_from_slice(&table.bytes()[usize::from(index % 8) * 8..][..8]);
    Some(u64::from_be_bytes(guid))
}

/// The P_Key of a packet that a program sends with this index.
pub(super) fn p_key(world: &World, at: PortRef, qp: u32, index: u16) -> u16 {
    match qp {
        0 => 0xffff, // Not on the wire.
        _ => p_key_at(world, at, index).unwrap_or(0),
    }
}

/// The index that a program sees of a packet's P_Key.
pub(super) fn p_key_index(world: &World, at: PortRef, packet: &Packet) -> u16 {
    // Membership is not compared (IBA 10.9.3).
    let is_meant = |key: u16| (key ^ packet.p_key) & 0x7fff == 0;
    if packet.dst_qp == 0 { 0 } else { world.network.p_keys(at).position(is_meant).unwrap_or(0) as u16 }
}

/// What performance management answers to a Get of this attribute.
pub(super) fn performance<A: Attribute>(world: &mut World, at: PortRef, asked: &A) -> Option<A> {
    let mut mad = Mad::request(A::CLASS, 1, Method::GET, A::ID, 0);
    mad.set_attribute(asked);
    answer(world, at, Packet { src_qp: 1, dst_qp: 1, ..Packet::smp(0, mad) }).map(|answer| answer.attribute())
}
