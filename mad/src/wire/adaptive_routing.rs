//! Adaptive routing and what belongs to it: attributes of NVIDIA (Mellanox) switches.
//!
//! The layouts are those of the ib_types.h (GPL 2 or BSD) that the vendor ships with its OpenSM of 2025. What no open source confirms stands
//! together in [`unconfirmed`].

use super::attribute::attribute;
use super::{Attribute, AttributeId, PortMask};

attribute! {
    /// GeneralInfo of subnet management: the capabilities of a device, of which there are more than bits in CapabilityMask.
    ///
    /// The attribute modifier is [`GeneralInfo::MODIFIER`]; what others ask for is not known.
    pub struct GeneralInfo = "GeneralInfo" 0xff17 {
        /// The least significant bit of entry 0 is bit 0; see [`Capability`].
        capability_mask, set_capability_mask, capability_masks: [u32; 4] = "CapabilityMask" @ 0, 32;
    }
}

attribute! {
    /// AdaptiveRoutingInfo: what a switch can do, and does, beside static routing.
    pub struct ArInfo = "AdaptiveRoutingInfo" 0xff20 {
        /// Whether the switch tells the GroupCap that it would have under other settings.
        dyn_cap_calc_sup, set_dyn_cap_calc_sup: bool = "DynCapCalcSup" @ 1, 1;
        by_transport_cap, set_by_transport_cap: bool = "ByTranspCap" @ 2, 1;
        /// Only the SLs of EnableBySLMask are routed adaptively.
        by_sl_enabled, set_by_sl_enabled: bool = "BySLEn" @ 3, 1;
        by_sl_cap, set_by_sl_cap: bool = "BySLCap" @ 4, 1;
        global_groups, set_global_groups: bool = "GlbGroups" @ 5, 1;
        is4_mode, set_is4_mode: bool = "IS4Mode" @ 6, 1;
        no_fallback, set_no_fallback: bool = "NoFallback" @ 7, 1;
        direction_num_sup, set_direction_num_sup: u8 = "DirectionNumSup" @ 8, 8;
        /// Whether there is [`ArGroupTableCopy`].
        group_table_copy_sup, set_group_table_copy_sup: u8 = "GroupTableCopySup" @ 16, 4;
        /// See [`ArInfo::active_sub_groups`].
        sub_grps_active, set_sub_grps_active: u8 = "SubGrpsActive" @ 20, 4;
        rn_xmit_enabled, set_rn_xmit_enabled: bool = "RNXmitEn" @ 26, 1;
        /// Whether static packets use a port of the group when theirs is down (fast link fault recovery).
        fr_enabled, set_fr_enabled: bool = "FREn" @ 27, 1;
        fr_sup, set_fr_sup: bool = "FRSup" @ 28, 1;
        frn_sup, set_frn_sup: bool = "FRNSup" @ 29, 1;
        arn_sup, set_arn_sup: bool = "ARNSup" @ 30, 1;
        /// Whether the switch routes adaptively.
        enabled, set_enabled: bool = "Enabled" @ 31, 1;
        string_width_cap, set_string_width_cap: u8 = "StringWidthCap" @ 32, 4;
        group_table_cap, set_group_table_cap: u8 = "GroupTableCap" @ 36, 4;
        /// The highest group in use.
        group_top, set_group_top: u16 = "GroupTop" @ 40, 12;
        /// The number of groups that there can be, as the settings are.
        group_cap, set_group_cap: u16 = "GroupCap" @ 52, 12;
        enable_by_sl_mask, set_enable_by_sl_mask: u16 = "EnableBySLMask" @ 64, 16;
        sub_grps_supported, set_sub_grps_supported: u8 = "SubGrpsSupported" @ 80, 8;
        rn_version_cap, set_rn_version_cap: u8 = "RNVersionCap" @ 88, 4;
        ar_version_cap, set_ar_version_cap: u8 = "ARVersionCap" @ 92, 4;
        /// Transports that are not routed adaptively: bit 0 UD, 1 RC, 2 UC, 3 DC.
        by_transport_disable, set_by_transport_disable: u8 = "ByTransportDisable" @ 124, 4;
        /// In the bounded state a flow changes its port only after a pause of so many microseconds.
        ageing_time, set_ageing_time: u32 = "AgeingTime" @ 128, 32;
        hbf_sup, set_hbf_sup: bool = "HBFSup" @ 160, 1;
        whbf_sup, set_whbf_sup: bool = "WHBFSup" @ 161, 1;
        symmetric_hash_sup, set_symmetric_hash_sup: bool = "SymmetricHashSup" @ 162, 1;
        dceth_hash_sup, set_dceth_hash_sup: bool = "DCETHHashSup" @ 163, 1;
        bth_dqp_hash_sup, set_bth_dqp_hash_sup: bool = "BTHDQPHashSup" @ 164, 1;
        by_vl_cap, set_by_vl_cap: bool = "ByVLCap" @ 165, 1;
        pfrn_sup, set_pfrn_sup: bool = "PFRNSup" @ 166, 1;
        by_sl_hbf_enabled, set_by_sl_hbf_enabled: bool = "BySLHBFEn" @ 176, 1;
        whbf_enabled, set_whbf_enabled: bool = "WHBFEn" @ 177, 1;
        by_vl_enabled, set_by_vl_enabled: bool = "ByVLEn" @ 178, 1;
        pfrn_enabled, set_pfrn_enabled: bool = "PFRNEn" @ 179, 1;
        whbf_granularity, set_whbf_granularity: u8 = "WHBFGranularity" @ 192, 3;
        enable_by_sl_mask_hbf, set_enable_by_sl_mask_hbf: u16 = "EnableBySLMaskHBF" @ 208, 16;
    }
}

attribute! {
    /// AdaptiveRoutingGroupTable: the ports of two sub-groups.
    ///
    /// Sub-group `s` of group `g` is element `g * active + s` of the whole table, where `active` is [`ArInfo::active_sub_groups`]; block `b` has
    /// elements `2 * b` and `2 * b + 1`. See [`ArGroupTable::ports`].
    pub struct ArGroupTable = "AdaptiveRoutingGroupTable" 0xff21 {
        sub_group_byte, set_sub_group_byte, sub_group_bytes: [u8; 64] = "SubGroup" @ 0, 8;
    }
}

attribute! {
    /// AdaptiveRoutingLinearForwardingTable (of SwitchX and later): for 16 LIDs, a port or a group.
    ///
    /// Entry `i` of block `b` is that of LID `16 * b + i`.
    pub struct ArForwardingTable = "AdaptiveRoutingLinearForwardingTable" 0xff23 {
        /// See [`ArForwardingTable::state`].
        lid_state, set_lid_state, all_lid_state: [u8; 16] = "LIDState" @ 0, 2 / 32;
        group_table, set_group_table, all_group_table: [u8; 16] = "GroupTable" @ 4, 4 / 32;
        /// The port of packets that are routed statically; 255 drops.
        port, set_port, all_port: [u8; 16] = "Port" @ 8, 8 / 32;
        group, set_group, all_group: [u16; 16] = "Group" @ 16, 16 / 32;
    }
}

attribute! {
    /// AdaptiveRoutingGroupTableCopy: copies the group of the attribute modifier to ranges of groups. It can only be set.
    pub struct ArGroupTableCopy = "AdaptiveRoutingGroupTableCopy" 0xffbd {
        /// Last and first group may be the other way round: not confirmed.
        last_group, set_last_group, last_groups: [u16; 16] = "LastGroup" @ 4, 12 / 32;
        first_group, set_first_group, first_groups: [u16; 16] = "FirstGroup" @ 20, 12 / 32;
    }
}

attribute! {
    /// HBFConfig: what the hash is made of that chooses a port for statically routed packets (hash-based forwarding).
    pub struct HbfConfig = "HBFConfig" 0xff24 {
        /// 0 CRC, 1 XOR.
        hash_type, set_hash_type: u8 = "HashType" @ 0, 4;
        /// 0: the seed is given; 1: it is random.
        seed_type, set_seed_type: u8 = "SeedType" @ 6, 2;
        seed, set_seed: u32 = "Seed" @ 64, 32;
        /// Bit 20 destination QP, 22 source QP of DC, 23 its ISID; the names of others are not known.
        fields_enable, set_fields_enable: u64 = "FieldsEnable" @ 96, 64;
    }
}

attribute! {
    /// pFRNConfig: notifications from switch to switch about links that failed.
    pub struct PfrnConfig = "pFRNConfig" 0xff61 {
        /// Bit 0: has a policy.
        capability_mask, set_capability_mask: u32 = "CapabilityMask" @ 0, 32;
        sl, set_sl: u8 = "SL" @ 64, 4;
        /// 0: notifications for sub-group 0; 1: for sub-groups 0 and 1.
        policy, set_policy: u8 = "Policy" @ 92, 4;
        /// Seconds.
        mask_force_clear_timeout, set_mask_force_clear_timeout: u16 = "MaskForceClearTimeout" @ 96, 16;
        /// Seconds.
        mask_clear_timeout, set_mask_clear_timeout: u16 = "MaskClearTimeout" @ 112, 16;
    }
}

/// Bits of [`GeneralInfo`] that matter to routing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// Has private forwarding tables.
    PrivateLft = 0,
    /// Routes adaptively, in the way of switches before SwitchX.
    AdaptiveRouting = 1,
    /// Routes adaptively, in the way of SwitchX and later: [`ArInfo`], [`ArGroupTable`], [`ArForwardingTable`].
    AdaptiveRoutingRev1 = 2,
    /// Has ExtendedPortInfo.
    ExtendedPortInfo = 9,
    /// Has PortSLToPrivateLFTMap.
    PortSlToPrivateLft = 12,
    /// Recovers from faults of links by itself.
    FastRecovery = 52,
}

impl GeneralInfo {
    /// The attribute modifier that asks for the capability mask.
    pub const MODIFIER: u32 = 4;

    /// Whether the device has a capability.
    pub const fn has(&self, capability: Capability) -> bool {
        let bit = capability as usize;
        self.capability_mask(bit / 32) >> (bit % 32) & 1 == 1
    }

    /// Says that the device has a capability.
    pub const fn add(&mut self, capability: Capability) {
        let bit = capability as usize;
        self.set_capability_mask(bit / 32, self.capability_mask(bit / 32) | 1 << (bit % 32));
    }
}

impl ArInfo {
    /// The number of sub-groups that each group has, at least 1.
    pub const fn active_sub_groups(&self) -> u8 {
        unconfirmed::sub_groups(self.sub_grps_active())
    }

    /// Whether packets of a service level are routed adaptively, as far as the service level goes.
    pub const fn applies_to_sl(&self, sl: u8) -> bool {
        self.enabled() && (!self.by_sl_enabled() || self.enable_by_sl_mask() >> (sl & 15) & 1 == 1)
    }
}

impl ArGroupTable {
    /// The number of elements of a block.
    pub const ELEMENTS: usize = 2;

    /// The ports of an element.
    ///
    /// # Panics
    /// When `element` is not below 2.
    pub fn ports(&self, element: usize) -> PortMask {
        let half: [u8; 32] = std::array::from_fn(|byte| self.bytes()[32 * element + byte]);
        PortMask::from_bytes(half)
    }

    /// Sets the ports of an element.
    ///
    /// # Panics
    /// As [`ArGroupTable::ports`].
    pub fn set_ports(&mut self, element: usize, ports: PortMask) {
        self.0[32 * element..32 * element + 32].copy_from_slice(&ports.to_bytes());
    }
}

/// How packets to a LID are routed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LidState {
    /// A flow keeps its port of the group until it pauses.
    Bounded = 0,
    /// Each packet takes any port of the group.
    Free = 1,
    /// Every packet takes the same port.
    Static = 2,
    /// A hash of the packet chooses the port of the group.
    Hbf = 3,
}

impl ArForwardingTable {
    /// The number of LIDs of a block.
    pub const LIDS: usize = 16;

    /// How packets to the LID of entry `index` are routed.
    ///
    /// # Panics
    /// When `index` is not below 16.
    pub const fn state(&self, index: usize) -> LidState {
        match self.lid_state(index) {
            0 => LidState::Bounded,
            1 => LidState::Free,
            2 => LidState::Static,
            _ => LidState::Hbf,
        }
    }

    /// Sets how packets to the LID of entry `index` are routed.
    ///
    /// # Panics
    /// As [`ArForwardingTable::state`].
    pub const fn set_state(&mut self, index: usize, state: LidState) {
        self.set_lid_state(index, state as u8);
    }
}

impl ArGroupTableCopy {
    /// The ranges that are copied to, from the lower group to the higher, those of only group 0 left out: it is kept empty, so that an entry
    /// of zeros is none.
    pub fn ranges(&self) -> impl Iterator<Item = std::ops::RangeInclusive<u16>> {
        let bounds = self.first_groups().into_iter().zip(self.last_groups());
        bounds.map(|(a, b)| a.min(b)..=a.max(b)).filter(|range| *range != (0..=0))
    }
}

/// What no open source confirms, in one place, so that it is easily put right. The layouts of the blocks are confirmed; of attribute
/// modifiers, only GeneralInfo's and the group of the table copy's (bits 11 to 0).
///
/// | what | taken as | standing |
/// |---|---|---|
/// | modifier of the group table and of the forwarding table | the block number, for group table 0 and private table 0 | inferred |
/// | other bits of modifiers: group table, private table, direction of a copy, the flag that asks an ArInfo for the GroupCap under other settings | to be refused | unknown |
/// | place of a sub-group in the group table | see [`ArGroupTable`] | inferred |
/// | code of SubGrpsActive | the number itself, and 0 as 1 | unknown |
/// | which of a table copy's two groups is the last | both orders mean the same | unknown |
/// | NoFallback, IS4Mode, the unit of WHBFGranularity | nothing; they are kept | unknown |
/// | GlbGroups | groups shared by all group tables | inferred |
/// | a static entry's port when its group has none | used, as in the static state | inferred |
/// | order of the halves of a byte in RNXmitPortMask | even ports in the high half | inferred |
/// | which bits of PrivateLFTDef's Bank are the flag | neither is told apart | unknown |
pub mod unconfirmed {
    use super::*;

    /// The attributes whose modifier is taken as a plain block number.
    pub const BLOCK_NUMBERS: [AttributeId; 2] = [ArGroupTable::ID, ArForwardingTable::ID];

    /// The number of sub-groups that a code of SubGrpsActive means.
    pub const fn sub_groups(code: u8) -> u8 {
        if code == 0 { 1 } else { code }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bit 2 of the mask, and bit 52, which is bit 20 of the second word.
    #[test]
    fn capabilities_count_from_the_low_end_of_each_word() {
        let mut info = GeneralInfo::default();
        info.add(Capability::AdaptiveRoutingRev1);
        info.add(Capability::FastRecovery);
        assert_eq!(info.bytes()[..8], [0, 0, 0, 4, 0, 0x10, 0, 0]);
        assert!(info.has(Capability::FastRecovery) && !info.has(Capability::PrivateLft));
    }

    /// Port p is bit p % 8 of byte 31 - p / 8.
    #[test]
    fn ports_of_a_group_count_from_its_last_byte() {
        let mut table = ArGroupTable::default();
        table.set_ports(1, [1, 8, 254].into_iter().collect());
        let mut expected = [0; 64];
        (expected[63], expected[62], expected[32]) = (0b10, 0b1, 0b0100_0000);
        assert_eq!(table.bytes(), &expected);
        assert_eq!(table.ports(1).iter().collect::<Vec<_>>(), [1, 8, 254]);
        assert_eq!(table.ports(0), PortMask::default());
    }

    #[test]
    fn a_forwarding_entry_is_four_bytes() {
        let mut table = ArForwardingTable::default();
        table.set_state(15, LidState::Static);
        table.set_port(15, 7);
        table.set_group(15, 0x123);
        assert_eq!(table.bytes()[60..], [0x80, 7, 1, 0x23]);
        assert_eq!(table.state(15), LidState::Static);
    }

    #[test]
    fn a_copy_goes_to_each_range_whichever_way_round_it_is() {
        let mut copy = ArGroupTableCopy::default();
        copy.set_last_group(0, 9);
        copy.set_first_group(0, 7);
        copy.set_last_group(3, 4);
        copy.set_first_group(3, 4);
        copy.set_last_group(4, 2);
        copy.set_first_group(4, 3);
        assert_eq!(copy.bytes()[..4], [0, 9, 0, 7]);
        assert_eq!(copy.ranges().collect::<Vec<_>>(), [7..=9, 4..=4, 2..=3]);
    }

    #[test]
    fn adaptive_routing_applies_by_service_level() {
        let mut info = ArInfo::default();
        assert!(!info.applies_to_sl(1));
        info.set_enabled(true);
        assert!(info.applies_to_sl(1));
        info.set_by_sl_enabled(true);
        info.set_enable_by_sl_mask(0b10);
        assert!(info.applies_to_sl(1) && !info.applies_to_sl(0));
    }
}
