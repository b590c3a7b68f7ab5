use super::Attribute;
use super::attribute::attribute;

attribute! {
    /// ClassPortInfo: what the agent of a class can do, and where else to turn to (IBA 13.4.8.1).
    ///
    /// Every general services class has it under this id, at the begin of its data; here is the place of performance management and congestion
    /// control.
    pub struct ClassPortInfo = "ClassPortInfo" 0x0001 in PERFORMANCE {
        base_version, set_base_version: u8 = "BaseVersion" @ 0, 8;
        class_version, set_class_version: u8 = "ClassVersion" @ 8, 8;
        /// See [`super::PerformanceCapabilities`].
        capability_mask, set_capability_mask: u16 = "CapabilityMask" @ 16, 16;
        capability_mask_2, set_capability_mask_2: u32 = "CapabilityMask2" @ 32, 27;
        /// An answer takes at most 4.096 µs × 2^value.
        resp_time_value, set_resp_time_value: u8 = "RespTimeValue" @ 59, 5;
        redirect_gid_byte, set_redirect_gid_byte, redirect_gid: [u8; 16] = "RedirectGID" @ 64, 8;
        redirect_tc, set_redirect_tc: u8 = "RedirectTC" @ 192, 8;
        redirect_sl, set_redirect_sl: u8 = "RedirectSL" @ 200, 4;
        redirect_fl, set_redirect_fl: u32 = "RedirectFL" @ 204, 20;
        redirect_lid, set_redirect_lid: u16 = "RedirectLID" @ 224, 16;
        redirect_p_key, set_redirect_p_key: u16 = "RedirectP_Key" @ 240, 16;
        redirect_qp, set_redirect_qp: u32 = "RedirectQP" @ 264, 24;
        redirect_q_key, set_redirect_q_key: u32 = "RedirectQ_Key" @ 288, 32;
        trap_gid_byte, set_trap_gid_byte, trap_gid: [u8; 16] = "TrapGID" @ 320, 8;
        trap_tc, set_trap_tc: u8 = "TrapTC" @ 448, 8;
        trap_sl, set_trap_sl: u8 = "TrapSL" @ 456, 4;
        trap_fl, set_trap_fl: u32 = "TrapFL" @ 460, 20;
        trap_lid, set_trap_lid: u16 = "TrapLID" @ 480, 16;
        trap_p_key, set_trap_p_key: u16 = "TrapP_Key" @ 496, 16;
        trap_hl, set_trap_hl: u8 = "TrapHL" @ 512, 8;
        trap_qp, set_trap_qp: u32 = "TrapQP" @ 520, 24;
        trap_q_key, set_trap_q_key: u32 = "TrapQ_Key" @ 544, 32;
    }
}

impl ClassPortInfo {
    /// Bit 1 of the performance class's CapabilityMask2: PortCountersExtended has the counters from SymbolErrorCounter on (OpenSM, ib_types.h).
    pub const ADDITIONAL_EXTENDED_COUNTERS: u32 = 1 << 1;

    /// The fields that say where traps go: what a manager sets. All else is zero.
    pub fn traps_only(&self) -> Self {
        let mut info = Self::default();
        for field in Self::FIELDS.iter().filter(|field| field.name.starts_with("Trap")) {
            (0..field.count).for_each(|index| field.write_at(&mut info.0, index, field.read_at(&self.0, index)));
        }
        info
    }
}
