use super::attribute::attribute;

attribute! {
    /// SwitchInfo: the sizes of a switch's tables and whether anything changed at its ports (IBA 14.2.5.4).
    pub struct SwitchInfo = "SwitchInfo" 0x0012 {
        /// Number of entries that the linear forwarding table can have; 0 for a switch without one.
        linear_fdb_cap, set_linear_fdb_cap: u16 = "LinearFDBCap" @ 0, 16;
        random_fdb_cap, set_random_fdb_cap: u16 = "RandomFDBCap" @ 16, 16;
        /// Number of entries that the multicast forwarding table can have.
        multicast_fdb_cap, set_multicast_fdb_cap: u16 = "MulticastFDBCap" @ 32, 16;
        /// The highest LID that the switch forwards; packets for those above are dropped.
        linear_fdb_top, set_linear_fdb_top: u16 = "LinearFDBTop" @ 48, 16;
        default_port, set_default_port: u8 = "DefaultPort" @ 64, 8;
        default_multicast_primary_port, set_default_multicast_primary_port: u8 = "DefaultMulticastPrimaryPort" @ 72, 8;
        default_multicast_not_primary_port, set_default_multicast_not_primary_port: u8 = "DefaultMulticastNotPrimaryPort" @ 80, 8;
        /// A packet may stay 4.096 µs × 2^value in the switch; without limit above 19 (IBA 18.2.5.4).
        life_time_value, set_life_time_value: u8 = "LifeTimeValue" @ 88, 5;
        /// Some port's state changed since the bit was cleared. A Set with this bit set clears it.
        port_state_change, set_port_state_change: bool = "PortStateChange" @ 93, 1;
        optimized_sl_to_vl_mapping, set_optimized_sl_to_vl_mapping: u8 = "OptimizedSLtoVLMappingProgramming" @ 94, 2;
        lids_per_port, set_lids_per_port: u16 = "LIDsPerPort" @ 96, 16;
        partition_enforcement_cap, set_partition_enforcement_cap: u16 = "PartitionEnforcementCap" @ 112, 16;
        inbound_enforcement_cap, set_inbound_enforcement_cap: bool = "InboundEnforcementCap" @ 128, 1;
        outbound_enforcement_cap, set_outbound_enforcement_cap: bool = "OutboundEnforcementCap" @ 129, 1;
        filter_raw_inbound_cap, set_filter_raw_inbound_cap: bool = "FilterRawInboundCap" @ 130, 1;
        filter_raw_outbound_cap, set_filter_raw_outbound_cap: bool = "FilterRawOutboundCap" @ 131, 1;
        /// Port 0 has an own LMC, state and VLs, as an adapter's port has.
        enhanced_port0, set_enhanced_port0: bool = "EnhancedPort0" @ 132, 1;
        /// The highest multicast LID that the switch forwards, where the capability mask says that there is such a limit.
        multicast_fdb_top, set_multicast_fdb_top: u16 = "MulticastFDBTop" @ 144, 16;
    }
}
