//! Congestion control (IBA annex A10; offsets as in libibmad's fields.c).

use super::attribute::attribute;

attribute! {
    /// CongestionInfo: what a port can do about congestion (IBA A10.4.3).
    pub struct CongestionInfo = "CongestionInfo" 0x0011 in CONGESTION {
        /// A mask: bit 0, the switch starves ports without credits.
        congestion_info, set_congestion_info: u16 = "CongestionInfo" @ 0, 16;
        /// Number of blocks of [`CongestionControlTable`].
        control_table_cap, set_control_table_cap: u8 = "ControlTableCap" @ 16, 8;
    }
}

attribute! {
    /// CongestionKeyInfo: who may change the settings (IBA A10.4.3).
    pub struct CongestionKeyInfo = "CongestionKeyInfo" 0x0012 in CONGESTION {
        cc_key, set_cc_key: u64 = "CC_Key" @ 0, 64;
        /// Whether the CC_Key is kept from those who do not have it.
        cc_key_protect, set_cc_key_protect: bool = "CC_KeyProtectBit" @ 64, 1;
        /// Seconds; 0 is without end.
        cc_key_lease_period, set_cc_key_lease_period: u16 = "CC_KeyLeasePeriod" @ 80, 16;
        cc_key_violations, set_cc_key_violations: u16 = "CC_KeyViolations" @ 96, 16;
    }
}

attribute! {
    /// CongestionLog of a switch: the packets that it marked last (IBA A10.4.3).
    pub struct SwitchCongestionLog = "CongestionLog" 0x0013 in CONGESTION_LOG {
        /// 1.
        log_type, set_log_type: u8 = "LogType" @ 0, 8;
        congestion_flags, set_congestion_flags: u8 = "CongestionFlags" @ 8, 8;
        log_events_counter, set_log_events_counter: u16 = "LogEventsCounter" @ 16, 16;
        /// Units of 1.024 µs.
        current_time_stamp, set_current_time_stamp: u32 = "CurrentTimeStamp" @ 32, 32;
        port_map, set_port_map, port_map_bytes: [u8; 32] = "PortMap" @ 64, 8;
        slid, set_slid, all_slid: [u16; 15] = "SLID" @ 320, 16 / 96;
        dlid, set_dlid, all_dlid: [u16; 15] = "DLID" @ 336, 16 / 96;
        sl, set_sl, all_sl: [u8; 15] = "SL" @ 352, 4 / 96;
        time_stamp, set_time_stamp, all_time_stamp: [u32; 15] = "TimeStamp" @ 384, 32 / 96;
    }
}

attribute! {
    /// CongestionLog of a channel adapter: the notifications that it got last (IBA A10.4.3).
    pub struct CaCongestionLog = "CongestionLog" 0x0013 in CONGESTION_LOG {
        /// 2.
        log_type, set_log_type: u8 = "LogType" @ 0, 8;
        congestion_flags, set_congestion_flags: u8 = "CongestionFlags" @ 8, 8;
        threshold_event_counter, set_threshold_event_counter: u16 = "ThresholdEventCounter" @ 16, 16;
        threshold_congestion_event_map, set_threshold_congestion_event_map: u16 = "ThresholdCongestionEventMap" @ 32, 16;
        /// Units of 1.024 µs.
        current_time_stamp, set_current_time_stamp: u32 = "CurrentTimeStamp" @ 64, 32;
        local_qp, set_local_qp, all_local_qp: [u32; 13] = "LocalQP" @ 96, 24 / 128;
        sl, set_sl, all_sl: [u8; 13] = "SL" @ 120, 4 / 128;
        service_type, set_service_type, all_service_type: [u8; 13] = "ServiceType" @ 124, 4 / 128;
        remote_qp, set_remote_qp, all_remote_qp: [u32; 13] = "RemoteQP" @ 128, 24 / 128;
        local_lid, set_local_lid, all_local_lid: [u16; 13] = "LocalLID" @ 160, 16 / 128;
        remote_lid, set_remote_lid, all_remote_lid: [u16; 13] = "RemoteLID" @ 176, 16 / 128;
        time_stamp, set_time_stamp, all_time_stamp: [u32; 13] = "TimeStamp" @ 192, 32 / 128;
    }
}

attribute! {
    /// SwitchCongestionSetting: when a switch marks packets (IBA A10.4.3).
    pub struct SwitchCongestionSetting = "SwitchCongestionSetting" 0x0014 in CONGESTION {
        /// Which of the fields that follow count: bit 0 VictimMask, 1 CreditMask, 2 Threshold and PacketSize, 3 CSThreshold and CSReturnDelay,
        /// 4 MarkingRate.
        control_map, set_control_map: u32 = "ControlMap" @ 0, 32;
        victim_mask, set_victim_mask, victim_mask_bytes: [u8; 32] = "VictimMask" @ 32, 8;
        credit_mask, set_credit_mask, credit_mask_bytes: [u8; 32] = "CreditMask" @ 288, 8;
        /// 0 marks nothing, 15 soonest.
        threshold, set_threshold: u8 = "Threshold" @ 544, 4;
        /// Shorter packets are not marked; units of 64 bytes.
        packet_size, set_packet_size: u8 = "PacketSize" @ 552, 8;
        cs_threshold, set_cs_threshold: u8 = "CSThreshold" @ 560, 4;
        cs_return_delay, set_cs_return_delay: u16 = "CSReturnDelay" @ 576, 16;
        /// So many packets go unmarked between two that are marked.
        marking_rate, set_marking_rate: u16 = "MarkingRate" @ 592, 16;
    }
}

attribute! {
    /// SwitchPortCongestionSetting: [`SwitchCongestionSetting`] for each port; the attribute modifier is the block of 32 ports (IBA A10.4.3).
    pub struct SwitchPortCongestionSetting = "SwitchPortCongestionSetting" 0x0015 in CONGESTION {
        valid, set_valid, all_valid: [u8; 32] = "Valid" @ 0, 1 / 32;
        /// 0: the parameter is a marking rate; 1: of credit starvation.
        control_type, set_control_type, all_control_type: [u8; 32] = "ControlType" @ 1, 1 / 32;
        threshold, set_threshold, all_threshold: [u8; 32] = "Threshold" @ 4, 4 / 32;
        packet_size, set_packet_size, all_packet_size: [u8; 32] = "PacketSize" @ 8, 8 / 32;
        congestion_parameter, set_congestion_parameter, all_congestion_parameter: [u16; 32] = "CongestionParameter" @ 16, 16 / 32;
    }
}

attribute! {
    /// CACongestionSetting: how a channel adapter reacts, by SL (IBA A10.4.3).
    pub struct CaCongestionSetting = "CACongestionSetting" 0x0016 in CONGESTION {
        /// Bit 0: by port rather than by SL.
        port_control, set_port_control: u16 = "PortControl" @ 0, 16;
        /// Bit i: entry i counts.
        control_map, set_control_map: u16 = "ControlMap" @ 16, 16;
        /// After so many units of 1.024 µs the index falls by one.
        ccti_timer, set_ccti_timer, all_ccti_timer: [u16; 16] = "CCTITimer" @ 32, 16 / 64;
        ccti_increase, set_ccti_increase, all_ccti_increase: [u8; 16] = "CCTIIncrease" @ 48, 8 / 64;
        trigger_threshold, set_trigger_threshold, all_trigger_threshold: [u8; 16] = "TriggerThreshold" @ 56, 8 / 64;
        ccti_min, set_ccti_min, all_ccti_min: [u8; 16] = "CCTIMin" @ 64, 8 / 64;
    }
}

attribute! {
    /// CongestionControlTable: 64 delays between packets; the attribute modifier is the block (IBA A10.4.3).
    pub struct CongestionControlTable = "CongestionControlTable" 0x0017 in CONGESTION {
        /// The highest index that is used.
        ccti_limit, set_ccti_limit: u16 = "CCTILimit" @ 0, 16;
        cct_shift, set_cct_shift, all_cct_shift: [u8; 64] = "CCTShift" @ 32, 2 / 16;
        cct_multiplier, set_cct_multiplier, all_cct_multiplier: [u16; 64] = "CCTMultiplier" @ 34, 14 / 16;
    }
}

attribute! {
    /// TimeStamp: the clock of the congestion log (IBA A10.4.3).
    pub struct CongestionTimeStamp = "TimeStamp" 0x0018 in CONGESTION {
        /// Units of 1.024 µs.
        time_stamp, set_time_stamp: u32 = "TimeStamp" @ 0, 32;
    }
}
