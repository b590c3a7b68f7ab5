use super::attribute::attribute;

attribute! {
    /// A block of a switch's linear forwarding table: the port of exit for 64 LIDs; 255 drops (IBA 14.2.5.10).
    ///
    /// The attribute modifier is the block number: entry `i` of block `b` is that of LID `64 * b + i`.
    pub struct LinearForwardingTable = "LinearForwardingTable" 0x0019 {
        port, set_port, ports: [u8; 64] = "Port" @ 0, 8;
    }
}

attribute! {
    /// A block of a switch's multicast forwarding table: for 32 multicast LIDs, a mask of 16 ports (IBA 14.2.5.12).
    ///
    /// The attribute modifier says which: see [`MulticastForwardingTable::modifier`].
    pub struct MulticastForwardingTable = "MulticastForwardingTable" 0x001b {
        port_mask, set_port_mask, port_masks: [u16; 32] = "PortMask" @ 0, 16;
    }
}

impl LinearForwardingTable {
    /// The number of LIDs of a block.
    pub const LIDS: usize = 64;

    /// A block of these ports.
    pub const fn from_ports(ports: [u8; 64]) -> Self {
        Self(ports)
    }
}

impl MulticastForwardingTable {
    /// The number of LIDs of a block.
    pub const LIDS: usize = 32;
    /// The number of ports in a mask.
    pub const PORTS: usize = 16;

    /// The attribute modifier for the LIDs from `0xc000 + 32 * block` on (`block` below 512) and the ports from `16 * position` on
    /// (`position` below 16).
    pub const fn modifier(block: u16, position: u8) -> u32 {
        (position as u32) << 28 | (block & 0x1ff) as u32
    }
}
