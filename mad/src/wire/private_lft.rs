//! Routing notifications (RN) and private forwarding tables (pLFT): so far only to be read.

use super::attribute::attribute;

attribute! {
    /// PrivateLFTInfo: how many private forwarding tables (pLFT) a switch can have.
    pub struct PrivateLftInfo = "PrivateLFTInfo" 0xff10 {
        /// 0 means 36.
        num_plfts, set_num_plfts: u8 = "NumPLFTs" @ 8, 8;
        mode_cap, set_mode_cap: u8 = "ModeCap" @ 16, 8;
        /// 0: none is in use.
        active_mode, set_active_mode: u8 = "ActiveMode" @ 24, 8;
        /// Units of 1024 LIDs; entry `m - 1` is that of mode `m`.
        bank_size, set_bank_size, bank_sizes: [u8; 7] = "BankSize" @ 32, 8 / 16;
        num_banks, set_num_banks, all_num_banks: [u8; 7] = "NumBanks" @ 40, 8 / 16;
    }
}

attribute! {
    /// PrivateLFTDef: where 16 private forwarding tables lie.
    pub struct PrivateLftDef = "PrivateLFTDef" 0xff11 {
        /// Index of the bank, and a flag that forces sub-group 0; which bits is not confirmed.
        bank, set_bank, banks: [u8; 16] = "Bank" @ 0, 8 / 32;
        /// Units of 512 LIDs, 1 to 96.
        lid_space, set_lid_space, all_lid_space: [u8; 16] = "LIDSpace" @ 8, 8 / 32;
        /// Units of 512 LIDs.
        lid_offset, set_lid_offset, all_lid_offset: [u8; 16] = "LIDOffset" @ 24, 8 / 32;
    }
}

attribute! {
    /// PrivateLFTMap: which ports use a private forwarding table; the attribute modifier is its number.
    pub struct PrivateLftMap = "PrivateLFTMap" 0xff12 {
        lft_top_enable, set_lft_top_enable: bool = "LFTTopEnable" @ 30, 1;
        port_mask_enable, set_port_mask_enable: bool = "PortMaskEnable" @ 31, 1;
        port_mask_byte, set_port_mask_byte, port_mask_bytes: [u8; 32] = "PortMask" @ 32, 8;
        lft_top, set_lft_top: u16 = "LFTTop" @ 304, 16;
    }
}

attribute! {
    /// PortSLToPrivateLFTMap: for 4 ports, the private forwarding table of each of 16 SLs.
    pub struct PortSlToPrivateLftMap = "PortSLToPrivateLFTMap" 0xff14 {
        /// Entry `16 * port + sl`, ports counted from the first of the block.
        plft_id, set_plft_id, all_plft_id: [u8; 64] = "PLFTID" @ 0, 8;
    }
}

attribute! {
    /// RNGenStringTable: the string to send, by direction.
    pub struct RnGenString = "RNGenStringTable" 0xffb8 {
        string, set_string, strings: [u16; 32] = "String" @ 0, 16;
    }
}

attribute! {
    /// RNRcvStringTable: what to do with a string that was received.
    pub struct RnRcvString = "RNRcvStringTable" 0xffb9 {
        /// The string to pass on instead.
        string, set_string, strings: [u16; 16] = "String" @ 0, 16 / 32;
        plft_id, set_plft_id, all_plft_id: [u8; 16] = "PLFTID" @ 16, 8 / 32;
        /// 0 discard, 1 consume notifications of congestion (ARN), 2 also those of faults (FRN), 3 pass on.
        decision, set_decision, decisions: [u8; 16] = "Decision" @ 24, 8 / 32;
    }
}

attribute! {
    /// RNSubGroupDirectionTable: the direction of each sub-group.
    pub struct RnSubGroupDirection = "RNSubGroupDirectionTable" 0xffba {
        direction, set_direction, directions: [u8; 64] = "Direction" @ 0, 8;
    }
}

attribute! {
    /// RNXmitPortMask: what each port sends: bit 0 generated ARN, 1 generated FRN, 2 what is passed on.
    pub struct RnXmitPortMask = "RNXmitPortMask" 0xffbc {
        /// Even ports in the high half of a byte: not confirmed.
        port, set_port, ports: [u8; 128] = "Port" @ 0, 4;
    }
}

attribute! {
    /// RNGenBySubGroupPriority: whether a sub-group of a priority generates notifications.
    pub struct RnGenBySubGroupPriority = "RNGenBySubGroupPriority" 0xffbe {
        frn, set_frn, all_frn: [u8; 16] = "FRN" @ 30, 1 / 32;
        arn, set_arn, all_arn: [u8; 16] = "ARN" @ 31, 1 / 32;
    }
}
