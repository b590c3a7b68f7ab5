use super::attribute::attribute;
use super::{CapabilityMask, CapabilityMask2, LinkSpeed, LinkWidth, Mtu, PhysicalState, PortState};

attribute! {
    /// PortInfo: a port's addresses, states, link parameters and capabilities (IBA 14.2.5.6).
    ///
    /// A Set takes 0 as "no change" in the state fields and writes everything else that is writable: start from what a Get brought.
    pub struct PortInfo = "PortInfo" 0x0015 {
        m_key, set_m_key: u64 = "M_Key" @ 0, 64;
        gid_prefix, set_gid_prefix: u64 = "GidPrefix" @ 64, 64;
        /// The base LID.
        lid, set_lid: u16 = "LID" @ 128, 16;
        master_sm_lid, set_master_sm_lid: u16 = "MasterSMLID" @ 144, 16;
        /// See [`PortInfo::capabilities`].
        capability_mask, set_capability_mask: u32 = "CapabilityMask" @ 160, 32;
        diag_code, set_diag_code: u16 = "DiagCode" @ 192, 16;
        /// Seconds; 0 is without end.
        m_key_lease_period, set_m_key_lease_period: u16 = "M_KeyLeasePeriod" @ 208, 16;
        /// The port at which the question came in.
        local_port_num, set_local_port_num: u8 = "LocalPortNum" @ 224, 8;
        link_width_enabled, set_link_width_enabled: u8 = "LinkWidthEnabled" @ 232, 8;
        link_width_supported, set_link_width_supported: u8 = "LinkWidthSupported" @ 240, 8;
        /// See [`PortInfo::active_width`].
        link_width_active, set_link_width_active: u8 = "LinkWidthActive" @ 248, 8;
        link_speed_supported, set_link_speed_supported: u8 = "LinkSpeedSupported" @ 256, 4;
        /// See [`PortInfo::state`].
        port_state, set_port_state: u8 = "PortState" @ 260, 4;
        /// See [`PortInfo::physical_state`].
        port_physical_state, set_port_physical_state: u8 = "PortPhysicalState" @ 264, 4;
        /// The physical state to go to when the link goes down: 1 sleep, 2 polling.
        link_down_default_state, set_link_down_default_state: u8 = "LinkDownDefaultState" @ 268, 4;
        m_key_protect_bits, set_m_key_protect_bits: u8 = "M_KeyProtectBits" @ 272, 2;
        /// The port has 2^LMC LIDs.
        lmc, set_lmc: u8 = "LMC" @ 277, 3;
        /// See [`PortInfo::active_speed`].
        link_speed_active, set_link_speed_active: u8 = "LinkSpeedActive" @ 280, 4;
        link_speed_enabled, set_link_speed_enabled: u8 = "LinkSpeedEnabled" @ 284, 4;
        /// The MTU that the port may send, a code: see [`Mtu`].
        neighbor_mtu, set_neighbor_mtu: u8 = "NeighborMTU" @ 288, 4;
        master_sm_sl, set_master_sm_sl: u8 = "MasterSMSL" @ 292, 4;
        /// The data VLs there are, a code: see [`data_vls`].
        vl_cap, set_vl_cap: u8 = "VLCap" @ 296, 4;
        init_type, set_init_type: u8 = "InitType" @ 300, 4;
        vl_high_limit, set_vl_high_limit: u8 = "VLHighLimit" @ 304, 8;
        vl_arbitration_high_cap, set_vl_arbitration_high_cap: u8 = "VLArbitrationHighCap" @ 312, 8;
        vl_arbitration_low_cap, set_vl_arbitration_low_cap: u8 = "VLArbitrationLowCap" @ 320, 8;
        init_type_reply, set_init_type_reply: u8 = "InitTypeReply" @ 328, 4;
        /// The most that the port can take, a code: see [`Mtu`].
        mtu_cap, set_mtu_cap: u8 = "MTUCap" @ 332, 4;
        vl_stall_count, set_vl_stall_count: u8 = "VLStallCount" @ 336, 3;
        /// A packet may wait 4.096 µs × 2^value at the head of a queue; without limit above 19 (IBA 18.2.5.4).
        hoq_life, set_hoq_life: u8 = "HOQLife" @ 339, 5;
        /// The data VLs in use, a code: see [`data_vls`].
        operational_vls, set_operational_vls: u8 = "OperationalVLs" @ 344, 4;
        partition_enforcement_inbound, set_partition_enforcement_inbound: bool = "PartitionEnforcementInbound" @ 348, 1;
        partition_enforcement_outbound, set_partition_enforcement_outbound: bool = "PartitionEnforcementOutbound" @ 349, 1;
        filter_raw_inbound, set_filter_raw_inbound: bool = "FilterRawInbound" @ 350, 1;
        filter_raw_outbound, set_filter_raw_outbound: bool = "FilterRawOutbound" @ 351, 1;
        m_key_violations, set_m_key_violations: u16 = "M_KeyViolations" @ 352, 16;
        p_key_violations, set_p_key_violations: u16 = "P_KeyViolations" @ 368, 16;
        q_key_violations, set_q_key_violations: u16 = "Q_KeyViolations" @ 384, 16;
        /// Number of GUIDs that the port can have.
        guid_cap, set_guid_cap: u8 = "GUIDCap" @ 400, 8;
        /// In a Set: ask the node's clients to register with the subnet administration anew.
        client_reregister, set_client_reregister: bool = "ClientReregister" @ 408, 1;
        multicast_p_key_trap_suppression, set_multicast_p_key_trap_suppression: u8 = "MulticastPKeyTrapSuppressionEnabled" @ 409, 2;
        /// Traps are sent at most every 4.096 µs × 2^value.
        subnet_timeout, set_subnet_timeout: u8 = "SubnetTimeOut" @ 411, 5;
        /// The node answers within 4.096 µs × 2^value.
        resp_time_value, set_resp_time_value: u8 = "RespTimeValue" @ 419, 5;
        local_phy_errors, set_local_phy_errors: u8 = "LocalPhyErrors" @ 424, 4;
        overrun_errors, set_overrun_errors: u8 = "OverrunErrors" @ 428, 4;
        max_credit_hint, set_max_credit_hint: u16 = "MaxCreditHint" @ 432, 16;
        /// 1 is XDR; where not 0, the other active speeds do not count.
        link_speed_ext_active_2, set_link_speed_ext_active_2: u8 = "LinkSpeedExtActive2" @ 449, 2;
        link_speed_ext_supported_2, set_link_speed_ext_supported_2: u8 = "LinkSpeedExtSupported2" @ 451, 2;
        link_speed_ext_enabled_2, set_link_speed_ext_enabled_2: u8 = "LinkSpeedExtEnabled2" @ 453, 3;
        link_round_trip_latency, set_link_round_trip_latency: u32 = "LinkRoundTripLatency" @ 456, 24;
        /// See [`PortInfo::capabilities_2`].
        capability_mask_2, set_capability_mask_2: u16 = "CapabilityMask2" @ 480, 16;
        /// See [`PortInfo::active_speed`].
        link_speed_ext_active, set_link_speed_ext_active: u8 = "LinkSpeedExtActive" @ 496, 4;
        link_speed_ext_supported, set_link_speed_ext_supported: u8 = "LinkSpeedExtSupported" @ 500, 4;
        /// A mask of speeds; 30 disables all extended speeds, 31 enables all that are supported.
        link_speed_ext_enabled, set_link_speed_ext_enabled: u8 = "LinkSpeedExtEnabled" @ 507, 5;
    }
}

impl PortInfo {
    /// The attribute modifier for a port: 0 for port 0 of a switch and for whichever port of a host the question reaches.
    ///
    /// `extended_speeds` (SMSupportExtendedSpeeds, bit 31) is for ports whose mask has [`CapabilityMask::EXTENDED_SPEEDS`]: without it
    /// they may hide the extended speeds, as from a manager that does not know them.
    pub const fn modifier(port: u8, extended_speeds: bool) -> u32 {
        (extended_speeds as u32) << 31 | port as u32
    }

    /// The logical state; `None` for the code 0 ("no change" in a Set) and for unknown ones.
    pub const fn state(&self) -> Option<PortState> {
        PortState::from_code(self.port_state())
    }

    /// Sets the logical state.
    pub const fn set_state(&mut self, state: PortState) {
        self.set_port_state(state as u8);
    }

    /// The state of the physical link; `None` for the code 0 ("no change" in a Set) and for unknown ones.
    pub const fn physical_state(&self) -> Option<PhysicalState> {
        PhysicalState::from_code(self.port_physical_state())
    }

    /// Sets the state of the physical link.
    pub const fn set_physical_state(&mut self, state: PhysicalState) {
        self.set_port_physical_state(state as u8);
    }

    /// What the port can do; bits without a name are kept. For the ports of a switch, those of its port 0 count.
    pub const fn capabilities(&self) -> CapabilityMask {
        CapabilityMask::from_bits_retain(self.capability_mask())
    }

    /// What else the port can do, where [`CapabilityMask::CAPABILITY_MASK_2`] says that there is such a mask.
    pub const fn capabilities_2(&self) -> CapabilityMask2 {
        CapabilityMask2::from_bits_retain(self.capability_mask_2())
    }

    /// The largest packet that may be sent; `None` for unknown codes.
    pub const fn active_mtu(&self) -> Option<Mtu> {
        Mtu::from_code(self.neighbor_mtu())
    }

    /// The largest packet that the port can take; `None` for unknown codes.
    pub const fn max_mtu(&self) -> Option<Mtu> {
        Mtu::from_code(self.mtu_cap())
    }

    /// The width of the link; `None` for unknown codes. Means something only while the physical link is up.
    pub const fn active_width(&self) -> Option<LinkWidth> {
        LinkWidth::from_code(self.link_width_active())
    }

    /// The speed of the link, from the three fields that can hold it: of the second extended, the extended and the first one, the first
    /// that is not 0 counts. `None` for unknown codes. Means something only while the physical link is up.
    ///
    /// A port at FDR10 says QDR here; see [`super::ExtendedPortInfo`].
    pub const fn active_speed(&self) -> Option<LinkSpeed> {
        match (self.link_speed_ext_active_2(), self.link_speed_ext_active(), self.link_speed_active()) {
            (0, 0, 1) => Some(LinkSpeed::Sdr),
            (0, 0, 2) => Some(LinkSpeed::Ddr),
            (0, 0, 4) => Some(LinkSpeed::Qdr),
            (0, 1, _) => Some(LinkSpeed::Fdr),
            (0, 2, _) => Some(LinkSpeed::Edr),
            (0, 4, _) => Some(LinkSpeed::Hdr),
            (0, 8, _) => Some(LinkSpeed::Ndr),
            (1, _, _) => Some(LinkSpeed::Xdr),
            _ => None,
        }
    }

    /// Sets all three fields of the active speed. FDR10 is written as QDR.
    pub const fn set_active_speed(&mut self, speed: LinkSpeed) {
        let (ext_2, ext, first) = match speed {
            LinkSpeed::Sdr => (0, 0, 1),
            LinkSpeed::Ddr => (0, 0, 2),
            LinkSpeed::Qdr | LinkSpeed::Fdr10 => (0, 0, 4),
            LinkSpeed::Fdr => (0, 1, 0),
            LinkSpeed::Edr => (0, 2, 0),
            LinkSpeed::Hdr => (0, 4, 0),
            LinkSpeed::Ndr => (0, 8, 0),
            LinkSpeed::Xdr => (1, 0, 0),
        };
        self.set_link_speed_ext_active_2(ext_2);
        self.set_link_speed_ext_active(ext);
        self.set_link_speed_active(first);
    }
}

/// The number of data VLs behind a code of VLCap and OperationalVLs; `None` for 0 ("no change" in a Set) and unknown codes.
pub const fn data_vls(code: u8) -> Option<u8> {
    match code {
        1 => Some(1),
        2 => Some(2),
        3 => Some(4),
        4 => Some(8),
        5 => Some(15),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The codes of rdma-core's libibmad/dump.c (mad_dump_linkspeed, mad_dump_linkspeedext, mad_dump_linkspeedext2).
    #[test]
    fn active_speed_prefers_the_newer_field() {
        let mut port = PortInfo::default();
        assert_eq!(port.active_speed(), None);
        port.set_link_speed_active(4);
        assert_eq!(port.active_speed(), Some(LinkSpeed::Qdr));
        port.set_link_speed_ext_active(2);
        assert_eq!(port.active_speed(), Some(LinkSpeed::Edr));
        port.set_link_speed_ext_active_2(1);
        assert_eq!(port.active_speed(), Some(LinkSpeed::Xdr));
        port.set_link_speed_ext_active_2(3);
        assert_eq!(port.active_speed(), None, "an unknown newer speed is not an older one");
        assert_eq!(port.link_speed_ext_active_2(), 3);
    }

    #[test]
    fn active_speed_survives_setting() {
        use LinkSpeed::*;
        for speed in [Sdr, Ddr, Qdr, Fdr, Edr, Hdr, Ndr, Xdr] {
            let mut port = PortInfo::default();
            port.set_active_speed(Xdr);
            port.set_active_speed(speed);
            assert_eq!(port.active_speed(), Some(speed));
        }
    }
}
