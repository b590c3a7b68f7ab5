use super::attribute::attribute;
use super::{LinkSpeed, PortInfo};

attribute! {
    /// ExtendedPortInfo: what NVIDIA (Mellanox) ports say beyond PortInfo; the attribute modifier is the port number.
    ///
    /// Bytes 3, 7, 11 and 15 are as libibmad and OpenSM have them; the others as the vendor's own ib_types.h (2025) has them, and zero in
    /// older devices.
    pub struct ExtendedPortInfo = "ExtendedPortInfo" 0xff90 {
        ame, set_ame: bool = "AME" @ 0, 1;
        /// Whether the aggregation node (SHARP) behind the port is enabled.
        sharp_an_enabled, set_sharp_an_enabled: bool = "SHARPANEn" @ 1, 1;
        router_lid_enabled, set_router_lid_enabled: bool = "RouterLIDEn" @ 2, 1;
        port_recovered, set_port_recovered: bool = "PortRecovered" @ 3, 1;
        state_change_enable, set_state_change_enable: u8 = "StateChangeEnable" @ 24, 8;
        bw_util_enable, set_bw_util_enable: bool = "BWUtilEn" @ 37, 1;
        bw_util, set_bw_util: u16 = "BWUtil" @ 38, 10;
        /// 1 none, 2 credit watchdog, 3 symmetry, 4 raw, 5 effective, 6 symbol bit error rate, 8 contain and drain.
        unhealthy_reason, set_unhealthy_reason: u8 = "UnhealthyReason" @ 48, 8;
        /// A mask: 1 is FDR10.
        link_speed_supported, set_link_speed_supported: u8 = "LinkSpeedSupported" @ 56, 8;
        min_bw_util, set_min_bw_util: u8 = "MinBWUtil" @ 81, 7;
        /// A mask as LinkSpeedSupported.
        link_speed_enabled, set_link_speed_enabled: u8 = "LinkSpeedEnabled" @ 88, 8;
        /// See [`ExtendedPortInfo::active_speed`].
        link_speed_active, set_link_speed_active: u8 = "LinkSpeedActive" @ 120, 8;
        /// 1 up, 2 down, 3 diagnosis.
        nmx_admin_state, set_nmx_admin_state: u8 = "NMXAdminState" @ 140, 3;
        capability_mask, set_capability_mask: u16 = "CapabilityMask" @ 144, 16;
        is_fnm_port, set_is_fnm_port: bool = "IsFNMPort" @ 352, 1;
        is_mission_as_fnm, set_is_mission_as_fnm: bool = "IsMissionAsFNM" @ 353, 1;
        qos_config_vl_enabled, set_qos_config_vl_enabled: bool = "QosConfigVLEn" @ 354, 1;
        is_access_trunk, set_is_access_trunk: bool = "AccessTrunk" @ 355, 1;
        is_special_port, set_is_special_port: bool = "IsSpecialPort" @ 376, 1;
        /// 1 aggregation node, 2 router, 3 Ethernet gateway.
        special_port_type, set_special_port_type: u8 = "SpecialPortType" @ 380, 4;
        adaptive_timeout_sl_mask, set_adaptive_timeout_sl_mask: u16 = "AdaptiveTimeoutSLMask" @ 416, 16;
        ooo_sl_mask, set_ooo_sl_mask: u16 = "OOOSLMask" @ 432, 16;
    }
}

impl ExtendedPortInfo {
    /// The speed of the link whose PortInfo is `port`: FDR10 is told from QDR here only. `None` for unknown codes.
    pub const fn active_speed(&self, port: &PortInfo) -> Option<LinkSpeed> {
        match (port.active_speed(), self.link_speed_active()) {
            (Some(LinkSpeed::Qdr), 1) => Some(LinkSpeed::Fdr10),
            (speed, _) => speed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fdr10_is_told_from_qdr() {
        let mut port = PortInfo::default();
        let mut extended = ExtendedPortInfo::default();
        port.set_active_speed(LinkSpeed::Qdr);
        assert_eq!(extended.active_speed(&port), Some(LinkSpeed::Qdr));
        extended.set_link_speed_active(1);
        assert_eq!(extended.active_speed(&port), Some(LinkSpeed::Fdr10));
        port.set_active_speed(LinkSpeed::Fdr);
        assert_eq!(extended.active_speed(&port), Some(LinkSpeed::Fdr));
    }
}
