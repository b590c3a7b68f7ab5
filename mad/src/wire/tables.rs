use super::attribute::attribute;

attribute! {
    /// A block of 8 of a port's GUIDs; the attribute modifier is the block number (IBA 14.2.5.5). Entry 0 of block 0 is the port GUID.
    pub struct GuidInfo = "GUIDInfo" 0x0014 {
        guid, set_guid, guids: [u64; 8] = "GUID" @ 0, 64;
    }
}

attribute! {
    /// A block of 32 of a port's P_Keys (IBA 14.2.5.7). The top bit of a P_Key says full member; a key of 0 is an empty entry.
    ///
    /// The attribute modifier says which: see [`PKeyTable::modifier`].
    pub struct PKeyTable = "P_KeyTable" 0x0016 {
        p_key, set_p_key, p_keys: [u16; 32] = "P_Key" @ 0, 16;
    }
}

impl PKeyTable {
    /// The number of P_Keys of a block.
    pub const P_KEYS: usize = 32;

    /// The attribute modifier for a block; `port` counts at a switch only.
    pub const fn modifier(port: u8, block: u16) -> u32 {
        (port as u32) << 16 | block as u32
    }
}

attribute! {
    /// The VL for each SL; VL 15 drops (IBA 14.2.5.8).
    ///
    /// The attribute modifier says for which ports: see [`SlToVlMapping::modifier`].
    pub struct SlToVlMapping = "SLtoVLMappingTable" 0x0017 {
        vl, set_vl, vls: [u8; 16] = "SLtoVL" @ 0, 4;
    }
}

impl SlToVlMapping {
    /// The attribute modifier for the packets from port `input` to port `output` of a switch. An adapter has one table, with modifier 0.
    pub const fn modifier(input: u8, output: u8) -> u32 {
        (input as u32) << 8 | output as u32
    }
}

attribute! {
    /// Half of a table of weights for the VLs of a port: 32 entries, served in turn (IBA 14.2.5.9).
    ///
    /// The attribute modifier says which: see [`VlArbitration::modifier`].
    pub struct VlArbitration = "VLArbitrationTable" 0x0018 {
        vl, set_vl, vls: [u8; 32] = "VL" @ 4, 4 / 16;
        /// Units of 64 bytes; 0 skips the entry.
        weight, set_weight, weights: [u8; 32] = "Weight" @ 8, 8 / 16;
    }
}

/// Which quarter of a port's VL arbitration tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VlArbitrationPart {
    /// Low priority, entries 0 to 31.
    LowFirst = 1,
    /// Low priority, entries 32 to 63.
    LowSecond = 2,
    /// High priority, entries 0 to 31.
    HighFirst = 3,
    /// High priority, entries 32 to 63.
    HighSecond = 4,
}

impl VlArbitration {
    /// The number of entries of a part.
    pub const ENTRIES: usize = 32;

    /// The attribute modifier for a part; `port` counts at a switch only.
    pub const fn modifier(part: VlArbitrationPart, port: u8) -> u32 {
        (part as u32) << 16 | port as u32
    }
}
