//! Performance management: what ports counted (IBA 16.1).
//!
//! `PortSelect` says of which port a block is, 255 of all of them together. In a Set, each bit of `CounterSelect` clears a counter: bit 0 the
//! first, unless told otherwise. Counters stop at their largest value, but for those of [`PortCountersExtended`]. Data is counted in units of
//! four bytes, all headers and the invariant CRC included (IBA 16.1.3.5).

use super::attribute::attribute;
use bitflags::bitflags;

bitflags! {
    /// The CapabilityMask of performance management's [`super::ClassPortInfo`] (bits as in OpenSM, ib_types.h).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct PerformanceCapabilities: u16 {
        /// PortSelect 255 means all ports.
        const ALL_PORT_SELECT = 1 << 8;
        /// Has PortCountersExtended.
        const EXTENDED_WIDTH = 1 << 9;
        /// Has PortCountersExtended, without the counters of unicast and multicast packets.
        const EXTENDED_WIDTH_NO_IETF = 1 << 10;
        /// PortSamplesControl has SamplesOnlyOptionMask.
        const SAMPLES_ONLY = 1 << 11;
        /// PortCounters has PortXmitWait.
        const XMIT_WAIT = 1 << 12;
        /// Counts P_Key errors of multicast packets to a limited degree only.
        const LIMITED_P_KEY_MULTICAST_CONSTRAINT_ERRORS = 1 << 13;
        /// PortExtendedSpeedsCounters has the counters of Reed-Solomon error correction.
        const RS_FEC_COUNTERS = 1 << 14;
        /// PortCounters has QP1Dropped.
        const QP1_DROPPED = 1 << 15;
    }
}

/// PortSelect of all ports together.
pub const ALL_PORTS: u8 = 0xff;

attribute! {
    /// PortSamplesControl: what a port can sample, and starts it (IBA 16.1.3.2).
    pub struct PortSamplesControl = "PortSamplesControl" 0x0010 in PERFORMANCE {
        op_code, set_op_code: u8 = "OpCode" @ 0, 8;
        port_select, set_port_select: u8 = "PortSelect" @ 8, 8;
        /// The unit of SampleStart, SampleInterval and PortXmitWait, a code (IBA 16.1.3.2).
        tick, set_tick: u8 = "Tick" @ 16, 8;
        counter_width, set_counter_width: u8 = "CounterWidth" @ 29, 3;
        counter_mask_0, set_counter_mask_0: u8 = "CounterMask0" @ 34, 3;
        counter_masks_1_to_9, set_counter_masks_1_to_9: u32 = "CounterMasks1to9" @ 37, 27;
        counter_masks_10_to_14, set_counter_masks_10_to_14: u16 = "CounterMasks10to14" @ 65, 15;
        /// How many ports can be sampled at a time, less one.
        sample_mechanisms, set_sample_mechanisms: u8 = "SampleMechanisms" @ 80, 8;
        /// 0 done, 1 about to start, 2 under way.
        sample_status, set_sample_status: u8 = "SampleStatus" @ 94, 2;
        option_mask, set_option_mask: u64 = "OptionMask" @ 96, 64;
        vendor_mask, set_vendor_mask: u64 = "VendorMask" @ 160, 64;
        sample_start, set_sample_start: u32 = "SampleStart" @ 224, 32;
        sample_interval, set_sample_interval: u32 = "SampleInterval" @ 256, 32;
        tag, set_tag: u16 = "Tag" @ 288, 16;
        counter_select, set_counter_select, counter_selects: [u16; 15] = "CounterSelect" @ 304, 16;
        samples_only_option_mask, set_samples_only_option_mask: u64 = "SamplesOnlyOptionMask" @ 576, 64;
    }
}

attribute! {
    /// PortSamplesResult: what was sampled (IBA 16.1.3.4).
    pub struct PortSamplesResult = "PortSamplesResult" 0x0011 in PERFORMANCE {
        tag, set_tag: u16 = "Tag" @ 0, 16;
        /// As in [`PortSamplesControl`].
        sample_status, set_sample_status: u8 = "SampleStatus" @ 30, 2;
        counter, set_counter, counters: [u32; 15] = "Counter" @ 32, 32;
    }
}

attribute! {
    /// PortCounters: the counters that every port has (IBA 16.1.3.5).
    ///
    /// Bits 0 to 10 of CounterSelect clear the counters up to ExcessiveBufferOverrunErrors, bit 11 VL15Dropped, bits 12 to 15 those of data and
    /// packets.
    pub struct PortCounters = "PortCounters" 0x0012 in PERFORMANCE {
        port_select, set_port_select: u8 = "PortSelect" @ 8, 8;
        counter_select, set_counter_select: u16 = "CounterSelect" @ 16, 16;
        symbol_error_counter, set_symbol_error_counter: u16 = "SymbolErrorCounter" @ 32, 16;
        link_error_recovery_counter, set_link_error_recovery_counter: u8 = "LinkErrorRecoveryCounter" @ 48, 8;
        link_downed_counter, set_link_downed_counter: u8 = "LinkDownedCounter" @ 56, 8;
        port_rcv_errors, set_port_rcv_errors: u16 = "PortRcvErrors" @ 64, 16;
        port_rcv_remote_physical_errors, set_port_rcv_remote_physical_errors: u16 = "PortRcvRemotePhysicalErrors" @ 80, 16;
        port_rcv_switch_relay_errors, set_port_rcv_switch_relay_errors: u16 = "PortRcvSwitchRelayErrors" @ 96, 16;
        port_xmit_discards, set_port_xmit_discards: u16 = "PortXmitDiscards" @ 112, 16;
        port_xmit_constraint_errors, set_port_xmit_constraint_errors: u8 = "PortXmitConstraintErrors" @ 128, 8;
        port_rcv_constraint_errors, set_port_rcv_constraint_errors: u8 = "PortRcvConstraintErrors" @ 136, 8;
        /// Bit 0 clears PortXmitWait, bit 1 QP1Dropped.
        counter_select_2, set_counter_select_2: u8 = "CounterSelect2" @ 144, 8;
        local_link_integrity_errors, set_local_link_integrity_errors: u8 = "LocalLinkIntegrityErrors" @ 152, 4;
        excessive_buffer_overrun_errors, set_excessive_buffer_overrun_errors: u8 = "ExcessiveBufferOverrunErrors" @ 156, 4;
        qp1_dropped, set_qp1_dropped: u16 = "QP1Dropped" @ 160, 16;
        vl15_dropped, set_vl15_dropped: u16 = "VL15Dropped" @ 176, 16;
        port_xmit_data, set_port_xmit_data: u32 = "PortXmitData" @ 192, 32;
        port_rcv_data, set_port_rcv_data: u32 = "PortRcvData" @ 224, 32;
        port_xmit_pkts, set_port_xmit_pkts: u32 = "PortXmitPkts" @ 256, 32;
        port_rcv_pkts, set_port_rcv_pkts: u32 = "PortRcvPkts" @ 288, 32;
        /// Ticks (see [`PortSamplesControl`]) in which there was something to send and nothing could be.
        port_xmit_wait, set_port_xmit_wait: u32 = "PortXmitWait" @ 320, 32;
    }
}

attribute! {
    /// PortRcvErrorDetails: what PortRcvErrors consists of (IBA 16.1.4).
    pub struct PortRcvErrorDetails = "PortRcvErrorDetails" 0x0015 in PERFORMANCE {
        port_select, set_port_select: u8 = "PortSelect" @ 8, 8;
        counter_select, set_counter_select: u16 = "CounterSelect" @ 16, 16;
        port_local_physical_errors, set_port_local_physical_errors: u16 = "PortLocalPhysicalErrors" @ 32, 16;
        port_malformed_packet_errors, set_port_malformed_packet_errors: u16 = "PortMalformedPacketErrors" @ 48, 16;
        port_buffer_overrun_errors, set_port_buffer_overrun_errors: u16 = "PortBufferOverrunErrors" @ 64, 16;
        port_dlid_mapping_errors, set_port_dlid_mapping_errors: u16 = "PortDLIDMappingErrors" @ 80, 16;
        port_vl_mapping_errors, set_port_vl_mapping_errors: u16 = "PortVLMappingErrors" @ 96, 16;
        port_looping_errors, set_port_looping_errors: u16 = "PortLoopingErrors" @ 112, 16;
    }
}

attribute! {
    /// PortXmitDiscardDetails: what PortXmitDiscards consists of (IBA 16.1.4).
    pub struct PortXmitDiscardDetails = "PortXmitDiscardDetails" 0x0016 in PERFORMANCE {
        port_select, set_port_select: u8 = "PortSelect" @ 8, 8;
        counter_select, set_counter_select: u16 = "CounterSelect" @ 16, 16;
        port_inactive_discards, set_port_inactive_discards: u16 = "PortInactiveDiscards" @ 32, 16;
        port_neighbor_mtu_discards, set_port_neighbor_mtu_discards: u16 = "PortNeighborMTUDiscards" @ 48, 16;
        port_sw_lifetime_limit_discards, set_port_sw_lifetime_limit_discards: u16 = "PortSwLifetimeLimitDiscards" @ 64, 16;
        port_sw_hoq_lifetime_limit_discards, set_port_sw_hoq_lifetime_limit_discards: u16 = "PortSwHOQLifetimeLimitDiscards" @ 80, 16;
    }
}

attribute! {
    /// PortOpRcvCounters: packets received of one operation (IBA 16.1.4).
    pub struct PortOpRcvCounters = "PortOpRcvCounters" 0x0017 in PERFORMANCE {
        /// Which operation is counted: the opcode of the packets (IBA 9.2.1).
        op_code, set_op_code: u8 = "OpCode" @ 0, 8;
        port_select, set_port_select: u8 = "PortSelect" @ 8, 8;
        counter_select, set_counter_select: u16 = "CounterSelect" @ 16, 16;
        port_op_rcv_pkts, set_port_op_rcv_pkts: u32 = "PortOpRcvPkts" @ 32, 32;
        port_op_rcv_data, set_port_op_rcv_data: u32 = "PortOpRcvData" @ 64, 32;
    }
}

attribute! {
    /// PortFlowCtlCounters: flow control packets (IBA 16.1.4).
    pub struct PortFlowCtlCounters = "PortFlowCtlCounters" 0x0018 in PERFORMANCE {
        port_select, set_port_select: u8 = "PortSelect" @ 8, 8;
        counter_select, set_counter_select: u16 = "CounterSelect" @ 16, 16;
        port_xmit_flow_pkts, set_port_xmit_flow_pkts: u32 = "PortXmitFlowPkts" @ 32, 32;
        port_rcv_flow_pkts, set_port_rcv_flow_pkts: u32 = "PortRcvFlowPkts" @ 64, 32;
    }
}

attribute! {
    /// PortVLOpPackets: packets received of one operation, by VL (IBA 16.1.4).
    pub struct PortVLOpPackets = "PortVLOpPackets" 0x0019 in PERFORMANCE {
        /// Which operation is counted: the opcode of the packets (IBA 9.2.1).
        op_code, set_op_code: u8 = "OpCode" @ 0, 8;
        port_select, set_port_select: u8 = "PortSelect" @ 8, 8;
        counter_select, set_counter_select: u16 = "CounterSelect" @ 16, 16;
        port_vl_op_packets, set_port_vl_op_packets, all_port_vl_op_packets: [u16; 16] = "PortVLOpPackets" @ 32, 16;
    }
}

attribute! {
    /// PortVLOpData: data received of one operation, by VL (IBA 16.1.4).
    pub struct PortVLOpData = "PortVLOpData" 0x001a in PERFORMANCE {
        /// Which operation is counted: the opcode of the packets (IBA 9.2.1).
        op_code, set_op_code: u8 = "OpCode" @ 0, 8;
        port_select, set_port_select: u8 = "PortSelect" @ 8, 8;
        counter_select, set_counter_select: u16 = "CounterSelect" @ 16, 16;
        port_vl_op_data, set_port_vl_op_data, all_port_vl_op_data: [u32; 16] = "PortVLOpData" @ 32, 32;
    }
}

attribute! {
    /// PortVLXmitFlowCtlUpdateErrors: flow control packets that came too late to be sent, by VL (IBA 16.1.4).
    pub struct PortVLXmitFlowCtlUpdateErrors = "PortVLXmitFlowCtlUpdateErrors" 0x001b in PERFORMANCE {
        port_select, set_port_select: u8 = "PortSelect" @ 8, 8;
        counter_select, set_counter_select: u16 = "CounterSelect" @ 16, 16;
        port_vl_xmit_flow_ctl_update_errors, set_port_vl_xmit_flow_ctl_update_errors, all_port_vl_xmit_flow_ctl_update_errors: [u8; 16] = "PortVLXmitFlowCtlUpdateErrors" @ 32, 2;
    }
}

attribute! {
    /// PortVLXmitWaitCounters: [`PortCounters::port_xmit_wait`] by VL (IBA 16.1.4).
    pub struct PortVLXmitWaitCounters = "PortVLXmitWaitCounters" 0x001c in PERFORMANCE {
        port_select, set_port_select: u8 = "PortSelect" @ 8, 8;
        counter_select, set_counter_select: u16 = "CounterSelect" @ 16, 16;
        port_vl_xmit_wait, set_port_vl_xmit_wait, all_port_vl_xmit_wait: [u16; 16] = "PortVLXmitWait" @ 32, 16;
    }
}

attribute! {
    /// PortCountersExtended: counters of 64 bits, which wrap (IBA 16.1.4).
    pub struct PortCountersExtended = "PortCountersExtended" 0x001d in PERFORMANCE {
        port_select, set_port_select: u8 = "PortSelect" @ 8, 8;
        counter_select, set_counter_select: u16 = "CounterSelect" @ 16, 16;
        /// Clears the counters from SymbolErrorCounter on.
        counter_select_2, set_counter_select_2: u32 = "CounterSelect2" @ 32, 32;
        port_xmit_data, set_port_xmit_data: u64 = "PortXmitData" @ 64, 64;
        port_rcv_data, set_port_rcv_data: u64 = "PortRcvData" @ 128, 64;
        port_xmit_pkts, set_port_xmit_pkts: u64 = "PortXmitPkts" @ 192, 64;
        port_rcv_pkts, set_port_rcv_pkts: u64 = "PortRcvPkts" @ 256, 64;
        port_unicast_xmit_pkts, set_port_unicast_xmit_pkts: u64 = "PortUnicastXmitPkts" @ 320, 64;
        port_unicast_rcv_pkts, set_port_unicast_rcv_pkts: u64 = "PortUnicastRcvPkts" @ 384, 64;
        port_multicast_xmit_pkts, set_port_multicast_xmit_pkts: u64 = "PortMulticastXmitPkts" @ 448, 64;
        port_multicast_rcv_pkts, set_port_multicast_rcv_pkts: u64 = "PortMulticastRcvPkts" @ 512, 64;
        symbol_error_counter, set_symbol_error_counter: u64 = "SymbolErrorCounter" @ 576, 64;
        link_error_recovery_counter, set_link_error_recovery_counter: u64 = "LinkErrorRecoveryCounter" @ 640, 64;
        link_downed_counter, set_link_downed_counter: u64 = "LinkDownedCounter" @ 704, 64;
        port_rcv_errors, set_port_rcv_errors: u64 = "PortRcvErrors" @ 768, 64;
        port_rcv_remote_physical_errors, set_port_rcv_remote_physical_errors: u64 = "PortRcvRemotePhysicalErrors" @ 832, 64;
        port_rcv_switch_relay_errors, set_port_rcv_switch_relay_errors: u64 = "PortRcvSwitchRelayErrors" @ 896, 64;
        port_xmit_discards, set_port_xmit_discards: u64 = "PortXmitDiscards" @ 960, 64;
        port_xmit_constraint_errors, set_port_xmit_constraint_errors: u64 = "PortXmitConstraintErrors" @ 1024, 64;
        port_rcv_constraint_errors, set_port_rcv_constraint_errors: u64 = "PortRcvConstraintErrors" @ 1088, 64;
        local_link_integrity_errors, set_local_link_integrity_errors: u64 = "LocalLinkIntegrityErrors" @ 1152, 64;
        excessive_buffer_overrun_errors, set_excessive_buffer_overrun_errors: u64 = "ExcessiveBufferOverrunErrors" @ 1216, 64;
        vl15_dropped, set_vl15_dropped: u64 = "VL15Dropped" @ 1280, 64;
        port_xmit_wait, set_port_xmit_wait: u64 = "PortXmitWait" @ 1344, 64;
        qp1_dropped, set_qp1_dropped: u64 = "QP1Dropped" @ 1408, 64;
    }
}

attribute! {
    /// PortSamplesResultExtended: [`PortSamplesResult`] with wide counters (layout as in Linux, ib_pma.h).
    pub struct PortSamplesResultExtended = "PortSamplesResultExtended" 0x001e in PERFORMANCE {
        tag, set_tag: u16 = "Tag" @ 0, 16;
        sample_status, set_sample_status: u8 = "SampleStatus" @ 30, 2;
        /// 1: counters of 48 bits; 2: of 64.
        extended_width, set_extended_width: u8 = "ExtendedWidth" @ 32, 2;
        counter, set_counter, counters: [u64; 15] = "Counter" @ 64, 64;
    }
}

attribute! {
    /// PortExtendedSpeedsCounters: errors on links from FDR on, by lane (IBA 16.1.4).
    pub struct PortExtendedSpeedsCounters = "PortExtendedSpeedsCounters" 0x001f in PERFORMANCE {
        port_select, set_port_select: u8 = "PortSelect" @ 8, 8;
        counter_select, set_counter_select: u64 = "CounterSelect" @ 64, 64;
        sync_header_error_counter, set_sync_header_error_counter: u16 = "SyncHeaderErrorCounter" @ 128, 16;
        unknown_block_counter, set_unknown_block_counter: u16 = "UnknownBlockCounter" @ 144, 16;
        error_detection_counter, set_error_detection_counter, all_error_detection_counter: [u16; 12] = "ErrorDetectionCounter" @ 160, 16;
        fec_correctable_block_ctr, set_fec_correctable_block_ctr, all_fec_correctable_block_ctr: [u32; 12] = "FECCorrectableBlockCtr" @ 352, 32;
        fec_uncorrectable_block_ctr, set_fec_uncorrectable_block_ctr, all_fec_uncorrectable_block_ctr: [u32; 12] = "FECUncorrectableBlockCtr" @ 736, 32;
        port_fec_correctable_block_ctr, set_port_fec_correctable_block_ctr: u32 = "PortFECCorrectableBlockCtr" @ 1120, 32;
        port_fec_uncorrectable_block_ctr, set_port_fec_uncorrectable_block_ctr: u32 = "PortFECUncorrectableBlockCtr" @ 1152, 32;
        port_fec_corrected_symbol_ctr, set_port_fec_corrected_symbol_ctr: u32 = "PortFECCorrectedSymbolCtr" @ 1184, 32;
    }
}

attribute! {
    /// SwPortVLCongestion: packets that the switch marked as congested, by VL (IBA A10.5).
    pub struct SwPortVLCongestion = "SwPortVLCongestion" 0x0030 in PERFORMANCE {
        port_select, set_port_select: u8 = "PortSelect" @ 8, 8;
        counter_select, set_counter_select: u16 = "CounterSelect" @ 16, 16;
        sw_port_vl_congestion, set_sw_port_vl_congestion, all_sw_port_vl_congestion: [u16; 16] = "SWPortVLCongestion" @ 32, 16;
    }
}

attribute! {
    /// PortRcvConCtrl: packets received that were marked as congested (IBA A10.5).
    pub struct PortRcvConCtrl = "PortRcvConCtrl" 0x0031 in PERFORMANCE {
        port_select, set_port_select: u8 = "PortSelect" @ 8, 8;
        counter_select, set_counter_select: u16 = "CounterSelect" @ 16, 16;
        port_pkt_rcv_fecn, set_port_pkt_rcv_fecn: u32 = "PortPktRcvFECN" @ 32, 32;
        port_pkt_rcv_becn, set_port_pkt_rcv_becn: u32 = "PortPktRcvBECN" @ 64, 32;
    }
}

attribute! {
    /// PortSLRcvFECN: packets received that were marked forward, by SL (IBA A10.5).
    pub struct PortSLRcvFECN = "PortSLRcvFECN" 0x0032 in PERFORMANCE {
        port_select, set_port_select: u8 = "PortSelect" @ 8, 8;
        counter_select, set_counter_select: u16 = "CounterSelect" @ 16, 16;
        port_sl_rcv_fecn, set_port_sl_rcv_fecn, all_port_sl_rcv_fecn: [u32; 16] = "PortSLRcvFECN" @ 32, 32;
    }
}

attribute! {
    /// PortSLRcvBECN: packets received that were marked backward, by SL (IBA A10.5).
    pub struct PortSLRcvBECN = "PortSLRcvBECN" 0x0033 in PERFORMANCE {
        port_select, set_port_select: u8 = "PortSelect" @ 8, 8;
        counter_select, set_counter_select: u16 = "CounterSelect" @ 16, 16;
        port_sl_rcv_becn, set_port_sl_rcv_becn, all_port_sl_rcv_becn: [u32; 16] = "PortSLRcvBECN" @ 32, 32;
    }
}

attribute! {
    /// PortXmitConCtrl: ticks spent in congestion (IBA A10.5).
    pub struct PortXmitConCtrl = "PortXmitConCtrl" 0x0034 in PERFORMANCE {
        port_select, set_port_select: u8 = "PortSelect" @ 8, 8;
        counter_select, set_counter_select: u16 = "CounterSelect" @ 16, 16;
        port_xmit_time_cong, set_port_xmit_time_cong: u32 = "PortXmitTimeCong" @ 32, 32;
    }
}

attribute! {
    /// PortVLXmitTimeCong: ticks spent in congestion, by VL (IBA A10.5).
    pub struct PortVLXmitTimeCong = "PortVLXmitTimeCong" 0x0035 in PERFORMANCE {
        port_select, set_port_select: u8 = "PortSelect" @ 8, 8;
        counter_select, set_counter_select: u16 = "CounterSelect" @ 16, 16;
        port_vl_xmit_time_cong, set_port_vl_xmit_time_cong, all_port_vl_xmit_time_cong: [u32; 15] = "PortVLXmitTimeCong" @ 32, 32;
    }
}

attribute! {
    /// PortXmitDataSL: data sent, by SL (IBA 16.1.4).
    pub struct PortXmitDataSL = "PortXmitDataSL" 0x0036 in PERFORMANCE {
        port_select, set_port_select: u8 = "PortSelect" @ 8, 8;
        counter_select, set_counter_select: u16 = "CounterSelect" @ 16, 16;
        xmt_data_sl, set_xmt_data_sl, all_xmt_data_sl: [u32; 16] = "XmtDataSL" @ 32, 32;
    }
}

attribute! {
    /// PortRcvDataSL: data received, by SL (IBA 16.1.4).
    pub struct PortRcvDataSL = "PortRcvDataSL" 0x0037 in PERFORMANCE {
        port_select, set_port_select: u8 = "PortSelect" @ 8, 8;
        counter_select, set_counter_select: u16 = "CounterSelect" @ 16, 16;
        rcv_data_sl, set_rcv_data_sl, all_rcv_data_sl: [u32; 16] = "RcvDataSL" @ 32, 32;
    }
}
