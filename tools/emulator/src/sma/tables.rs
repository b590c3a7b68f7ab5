//! Tables that are read and written in blocks: forwarding, GUIDs, P_Keys, VL arbitration (IBA 14.2.5.5, .7, .9, .10, .12).

use super::Outcome;
use crate::network::{Device, Network, Switch};
use heddle_fabric::PortRef;
use heddle_mad::wire::{
    Attribute, AttributeId, GuidInfo, LinearForwardingTable, MulticastForwardingTable, PKeyTable, Status, VlArbitration, data_vls,
};

pub(super) fn get_lft(device: &Device, modifier: u32) -> Outcome {
    let switch = device.switch.as_ref().ok_or(Status::BAD_ATTRIBUTE)?;
    let start = lft_start(switch, modifier)?;
    let mut data = [0xff; 64];
    if let Some(block) = switch.lft.get(start..start + 64) {
        data.copy_from_slice(block);
    }
    Ok(data)
}

pub(super) fn set_lft(device: &mut Device, modifier: u32, data: &[u8; 64]) -> Result<(), Status> {
    let switch = device.switch.as_mut().ok_or(Status::BAD_ATTRIBUTE)?;
    let start = lft_start(switch, modifier)?;
    if switch.lft.len() < start + 64 {
        switch.lft.resize(start + 64, 0xff);
    }
    switch.lft[start..start + 64].copy_from_slice(data);
    if let Some(adaptive) = &mut switch.adaptive {
        adaptive.plain_table_written();
    }
    Ok(())
}

/// The first entry of an LFT block.
fn lft_start(switch: &Switch, modifier: u32) -> Result<usize, Status> {
    let start = modifier as usize * LinearForwardingTable::LIDS;
    if start < usize::from(switch.info.linear_fdb_cap()) { Ok(start) } else { Err(Status::BAD_FIELD) }
}

pub(super) fn get_mft(device: &Device, modifier: u32) -> Outcome {
    check_mft(device, modifier)?;
    Ok(device.blocks.get(&(MulticastForwardingTable::ID, 0, modifier)).copied().unwrap_or([0; 64]))
}

pub(super) fn set_mft(device: &mut Device, modifier: u32, data: &[u8; 64]) -> Result<(), Status> {
    check_mft(device, modifier)?;
    device.blocks.insert((MulticastForwardingTable::ID, 0, modifier), *data);
    Ok(())
}

/// The modifier: a position, which is 16 ports, in bits 31 to 28, and a block, which is 32 LIDs.
fn check_mft(device: &Device, modifier: u32) -> Result<(), Status> {
    let switch = device.switch.as_ref().ok_or(Status::BAD_ATTRIBUTE)?;
    let (position, block) = (modifier >> 28, modifier & 0x0fff_ffff);
    let lids = block.saturating_mul(MulticastForwardingTable::LIDS as u32);
    let is_there = position <= u32::from(device.num_ports()) / MulticastForwardingTable::PORTS as u32
        && lids < u32::from(switch.info.multicast_fdb_cap());
    if is_there { Ok(()) } else { Err(Status::BAD_FIELD) }
}

pub(super) fn get_guids(network: &Network, at: PortRef, block: u32) -> Outcome {
    let end = network.end_port(at);
    let port = network.port(end).ok_or(Status::BAD_FIELD)?;
    entries(port.info.guid_cap().into(), block, 8)?;
    let mut data = stored(network, end, GuidInfo::ID, block).unwrap_or([0; 64]);
    if block == 0 {
        data[..8].copy_from_slice(&port.guid.to_be_bytes()); // the first is the hardware's own
    }
    Ok(data)
}

pub(super) fn set_guids(network: &mut Network, at: PortRef, block: u32, mut data: [u8; 64]) -> Result<(), Status> {
    let end = network.end_port(at);
    let guids = network.port(end).ok_or(Status::BAD_FIELD)?.info.guid_cap();
    data[entries(guids.into(), block, 8)? * 8..].fill(0);
    store(network, end, GuidInfo::ID, block, data);
    Ok(())
}

pub(super) fn get_p_keys(network: &Network, at: PortRef, modifier: u32) -> Outcome {
    let (port, block) = p_key_port(network, at, modifier)?;
    entries(network.p_key_cap(port).into(), block, PKeyTable::P_KEYS)?;
    Ok(network.p_key_block(port, block))
}

pub(super) fn set_p_keys(network: &mut Network, at: PortRef, modifier: u32, mut data: [u8; 64]) -> Result<(), Status> {
    let (port, block) = p_key_port(network, at, modifier)?;
    data[entries(network.p_key_cap(port).into(), block, PKeyTable::P_KEYS)? * 2..].fill(0);
    store(network, port, PKeyTable::ID, block, data);
    Ok(())
}

/// The port and the block: of a host always the port asked through, whatever the upper half of the modifier.
fn p_key_port(network: &Network, at: PortRef, modifier: u32) -> Result<(PortRef, u32), Status> {
    let device = network.device(at.node);
    let port = match (&device.switch, u8::try_from(modifier >> 16)) {
        (None, _) => at.port,
        (Some(_), Ok(number)) if number <= device.num_ports() => number,
        _ => return Err(Status::BAD_FIELD),
    };
    Ok((PortRef::new(at.node, port), modifier & 0xffff))
}

impl Network {
    /// How many P_Keys a port has: PartitionCap, or PartitionEnforcementCap at a cable port of a switch.
    pub(crate) fn p_key_cap(&self, at: PortRef) -> u16 {
        let device = self.device(at.node);
        match &device.switch {
            Some(switch) if at.port != 0 => switch.info.partition_enforcement_cap(),
            _ => device.model.partition_cap,
        }
    }

    /// A block of a port's P_Keys. What nobody wrote makes the port a full member of the default partition (IBA 10.9.2).
    pub(crate) fn p_key_block(&self, at: PortRef, block: u32) -> [u8; 64] {
        stored(self, at, PKeyTable::ID, block).unwrap_or_else(|| {
            let mut data = [0; 64];
            if block == 0 {
                data[..2].fill(0xff);
            }
            data
        })
    }
}

pub(super) fn get_vl_arbitration(network: &Network, at: PortRef, modifier: u32) -> Outcome {
    let (port, part) = vl_arbitration_port(network, at, modifier)?;
    arbitration_entries(network, port, part)?;
    Ok(network.vl_arbitration_block(port, part))
}

impl Network {
    /// A part of a port's VL arbitration tables, 1 to 4. Where nobody wrote it, VL 0 has high and each other VL low priority, as on ibsim.
    pub(crate) fn vl_arbitration_block(&self, at: PortRef, part: u32) -> [u8; 64] {
        stored(self, at, VlArbitration::ID, part).unwrap_or_else(|| {
            let mut table = VlArbitration::default();
            let entries = arbitration_entries(self, at, part).unwrap_or(0);
            let vls = self.port(at).and_then(|port| data_vls(port.info.vl_cap())).unwrap_or(1);
            if matches!(part, 1 | 3) {
                for (vl, entry) in (0..vls).zip(0..entries) {
                    table.set_vl(entry, vl);
                    table.set_weight(entry, if (vl == 0) == (part == 3) { 4 } else { 0 });
                }
            }
            *table.bytes()
        })
    }
}

pub(super) fn set_vl_arbitration(network: &mut Network, at: PortRef, modifier: u32, mut data: [u8; 64]) -> Result<(), Status> {
    let (port, part) = vl_arbitration_port(network, at, modifier)?;
    data[arbitration_entries(network, port, part)? * 2..].fill(0);
    for entry in data.chunks_exact_mut(2) {
        entry[0] &= 0x0f; // above the VL is reserved
    }
    store(network, port, VlArbitration::ID, part, data);
    Ok(())
}

/// The port, and which half of which table: 1 and 2 low, 3 and 4 high priority.
fn vl_arbitration_port(network: &Network, at: PortRef, modifier: u32) -> Result<(PortRef, u32), Status> {
    let device = network.device(at.node);
    let port = match (&device.switch, u8::try_from(modifier & 0xffff)) {
        (None, _) => at.port,
        (Some(_), Ok(number)) if (1..=device.num_ports()).contains(&number) => number,
        _ => return Err(Status::BAD_FIELD),
    };
    Ok((PortRef::new(at.node, port), modifier >> 16))
}

fn arbitration_entries(network: &Network, at: PortRef, part: u32) -> Result<usize, Status> {
    let info = &network.port(at).ok_or(Status::BAD_FIELD)?.info;
    let (cap, half) = match part {
        1 | 2 => (info.vl_arbitration_low_cap(), part - 1),
        3 | 4 => (info.vl_arbitration_high_cap(), part - 3),
        _ => return Err(Status::BAD_FIELD),
    };
    entries(cap.into(), half, VlArbitration::ENTRIES)
}

/// How many entries of a block lie within the table; the others are not kept.
fn entries(table: usize, block: u32, of_block: usize) -> Result<usize, Status> {
    let before = (block as usize).saturating_mul(of_block);
    if before < table { Ok(of_block.min(table - before)) } else { Err(Status::BAD_FIELD) }
}

fn stored(network: &Network, at: PortRef, id: AttributeId, block: u32) -> Option<[u8; 64]> {
    network.device(at.node).blocks.get(&(id, at.port, block)).copied()
}

fn store(network: &mut Network, at: PortRef, id: AttributeId, block: u32, data: [u8; 64]) {
    network.device_mut(at.node).blocks.insert((id, at.port, block), data);
}
