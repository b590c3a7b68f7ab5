//! Every field's place, compared with the decoder that the stock tools use: rdma-core's libibmad.
//!
//! A small C program, compiled here, lets libibmad write and read each field in blocks of random bytes; our tables must say the same about
//! the same bytes. Comparing bytes rather than offsets leaves libibmad's own notation of offsets out of it.

mod general_services;
mod oracle;
mod tables;

use general_services::*;
use heddle_mad::wire::*;
use oracle::Oracle;
use tables::*;

#[test]
fn fields_lie_where_libibmad_has_them() {
    let oracle = Oracle::new();
    oracle.check("MAD", Mad::FIELDS, MAD, &[]);
    oracle.check_attribute::<NodeInfo>(NODE_INFO, &[]);
    oracle.check_attribute::<SwitchInfo>(SWITCH_INFO, &[]);
    oracle.check_attribute::<PortInfo>(PORT_INFO, PORT_INFO_BEYOND);
    oracle.check_attribute::<SmInfo>(SM_INFO, &[]);
    oracle.check_attribute::<Notice>(NOTICE, &[]);
    oracle.check_attribute::<GuidInfo>(GUID_INFO, &[]);
    oracle.check_attribute::<ExtendedPortInfo>(EXTENDED_PORT_INFO, EXTENDED_PORT_INFO_BEYOND);
    oracle.check_attribute::<LinearForwardingTable>(LFT, &[]);
    oracle.check_attribute::<MulticastForwardingTable>(MFT, &[]);
    oracle.check_attribute::<NodeDescription>(DESCRIPTION, &[]);
    oracle.check_attribute::<SlToVlMapping>(SL_TO_VL, &[]);
    oracle.check_attribute::<VlArbitration>(&[], VL_ARBITRATION_BEYOND);
    oracle.check_attribute::<PKeyTable>(&[], P_KEY_TABLE_BEYOND);

    // Of the details of traps, libibmad knows three fields.
    let detail = |number, name: &str| *TrapDetails::fields(number).unwrap().iter().find(|field| field.name == name).unwrap();
    oracle.check_field("trap 128", &detail(128, "LIDADDR"), &["IB_NOTICE_DATA_LID_F"]);
    oracle.check_field("trap 144", &detail(144, "LIDADDR"), &["IB_NOTICE_DATA_144_LID_F"]);
    oracle.check_field("trap 144", &detail(144, "CAPABILITYMASK"), &["IB_NOTICE_DATA_144_CAPMASK_F"]);
}

#[test]
fn fields_of_general_services_lie_where_libibmad_has_them() {
    let oracle = Oracle::new();
    oracle.check_attribute::<ClassPortInfo>(CLASS_PORT_INFO, &[]);
    oracle.check_attribute::<PortSamplesControl>(PORT_SAMPLES_CONTROL, &[]);
    oracle.check_attribute::<PortSamplesResult>(PORT_SAMPLES_RESULT, &[]);
    oracle.check_attribute::<PortCounters>(PORT_COUNTERS, PORT_COUNTERS_BEYOND);
    oracle.check_attribute::<PortRcvErrorDetails>(PORT_RCV_ERROR_DETAILS, &[]);
    oracle.check_attribute::<PortXmitDiscardDetails>(PORT_XMIT_DISCARD_DETAILS, &[]);
    oracle.check_attribute::<PortOpRcvCounters>(PORT_OP_RCV_COUNTERS, OP_CODE_BEYOND);
    oracle.check_attribute::<PortFlowCtlCounters>(PORT_FLOW_CTL_COUNTERS, &[]);
    oracle.check_attribute::<PortVLOpPackets>(PORT_VL_OP_PACKETS, OP_CODE_BEYOND);
    oracle.check_attribute::<PortVLOpData>(PORT_VL_OP_DATA, OP_CODE_BEYOND);
    oracle.check_attribute::<PortVLXmitFlowCtlUpdateErrors>(PORT_VL_XMIT_FLOW_CTL_UPDATE_ERRORS, &[]);
    oracle.check_attribute::<PortVLXmitWaitCounters>(PORT_VL_XMIT_WAIT_COUNTERS, &[]);
    oracle.check_attribute::<PortCountersExtended>(PORT_COUNTERS_EXTENDED, &[]);
    oracle.check_attribute::<PortSamplesResultExtended>(&[], PORT_SAMPLES_RESULT_EXTENDED_BEYOND);
    oracle.check_attribute::<PortExtendedSpeedsCounters>(PORT_EXTENDED_SPEEDS_COUNTERS, &[]);
    oracle.check_attribute::<SwPortVLCongestion>(SW_PORT_VL_CONGESTION, &[]);
    oracle.check_attribute::<PortRcvConCtrl>(PORT_RCV_CON_CTRL, &[]);
    oracle.check_attribute::<PortSLRcvFECN>(PORT_SL_RCV_FECN, &[]);
    oracle.check_attribute::<PortSLRcvBECN>(PORT_SL_RCV_BECN, &[]);
    oracle.check_attribute::<PortXmitConCtrl>(PORT_XMIT_CON_CTRL, &[]);
    oracle.check_attribute::<PortVLXmitTimeCong>(PORT_VL_XMIT_TIME_CONG, &[]);
    oracle.check_attribute::<PortXmitDataSL>(PORT_XMIT_DATA_SL, &[]);
    oracle.check_attribute::<PortRcvDataSL>(PORT_RCV_DATA_SL, &[]);
    oracle.check_attribute::<CongestionInfo>(CONGESTION_INFO, &[]);
    oracle.check_attribute::<CongestionKeyInfo>(CONGESTION_KEY_INFO, &[]);
    oracle.check_attribute::<SwitchCongestionSetting>(SWITCH_CONGESTION_SETTING, &[]);
    oracle.check_attribute::<CongestionTimeStamp>(CONGESTION_TIME_STAMP, &[]);
    oracle.check_entries::<SwitchCongestionLog>(SWITCH_CONGESTION_LOG, SWITCH_LOG_PARTS);
    oracle.check_entries::<CaCongestionLog>(CA_CONGESTION_LOG, CA_LOG_PARTS);
    oracle.check_entries::<SwitchPortCongestionSetting>(&[], SWITCH_PORT_SETTING_PARTS);
    oracle.check_entries::<CaCongestionSetting>(CA_CONGESTION_SETTING, CA_SETTING_PARTS);
    oracle.check_entries::<CongestionControlTable>(CONGESTION_CONTROL_TABLE, CONTROL_TABLE_PARTS);
}

#[test]
fn data_of_general_services_begin_where_libibmad_has_them() {
    let oracle = Oracle::new();
    let size = |bytes: &[u8]| bytes.len() as u64;
    for (offset, length, ours) in [
        ("IB_PC_DATA_OFFS", "IB_PC_DATA_SZ", (PortCounters::OFFSET, size(PortCounters::default().bytes()))),
        ("IB_CC_DATA_OFFS", "IB_CC_DATA_SZ", (CongestionInfo::OFFSET, size(CongestionInfo::default().bytes()))),
        ("IB_CC_LOG_DATA_OFFS", "IB_CC_LOG_DATA_SZ", (CaCongestionLog::OFFSET, size(CaCongestionLog::default().bytes()))),
        (
            "IB_VENDOR_RANGE1_DATA_OFFS",
            "IB_VENDOR_RANGE1_DATA_SIZE",
            (VendorGeneralInfo::OFFSET, size(VendorGeneralInfo::default().bytes())),
        ),
    ] {
        assert_eq!((oracle.constant(offset), oracle.constant(length)), (ours.0 as u64, ours.1), "{offset}");
    }
}

#[test]
fn paths_and_data_of_an_smp_lie_where_libibmad_has_them() {
    let oracle = Oracle::new();
    let mut mad = Mad([0; 256]);
    mad.return_path_mut().fill(0xff);
    assert_eq!(mad.0, oracle.field("IB_DRSMP_RPATH_F").ones);
    let mut mad = Mad([0; 256]);
    mad.set_smp_data(&[0xff; 64]);
    assert_eq!(mad.0[64..128], [0xff; 64], "IB_SMP_DATA_OFFS");
    assert_eq!(oracle.constant("IB_SMP_DATA_OFFS"), 64);
    assert_eq!(oracle.constant("IB_SMP_DATA_SIZE"), 64);

    // Hop 1 is byte 1 of the path.
    let path = [7; 63];
    let mad = Mad::directed(&Path::from_ports(&path).unwrap(), Method::GET, NodeInfo::ID, 0);
    let place = oracle.field("IB_DRSMP_PATH_F").ones.iter().position(|&byte| byte == 0xff).unwrap();
    assert_eq!(mad.0[place..place + 64], [&[0], &path[..]].concat());
}

#[test]
fn ids_are_those_of_libibmad() {
    let oracle = Oracle::new();
    for (name, ours) in [
        ("NOTICE", Notice::ID.0),
        ("IB_ATTR_NODE_DESC", NodeDescription::ID.0),
        ("IB_ATTR_NODE_INFO", NodeInfo::ID.0),
        ("IB_ATTR_SWITCH_INFO", SwitchInfo::ID.0),
        ("IB_ATTR_GUID_INFO", GuidInfo::ID.0),
        ("IB_ATTR_PORT_INFO", PortInfo::ID.0),
        ("IB_ATTR_PKEY_TBL", PKeyTable::ID.0),
        ("IB_ATTR_SLVL_TABLE", SlToVlMapping::ID.0),
        ("IB_ATTR_VL_ARBITRATION", VlArbitration::ID.0),
        ("IB_ATTR_LINEARFORWTBL", LinearForwardingTable::ID.0),
        ("IB_ATTR_MULTICASTFORWTBL", MulticastForwardingTable::ID.0),
        ("IB_ATTR_SMINFO", SmInfo::ID.0),
        ("IB_ATTR_MLNX_EXT_PORT_INFO", ExtendedPortInfo::ID.0),
        ("CLASS_PORT_INFO", ClassPortInfo::ID.0),
        ("IB_GSI_PORT_SAMPLES_CONTROL", PortSamplesControl::ID.0),
        ("IB_GSI_PORT_SAMPLES_RESULT", PortSamplesResult::ID.0),
        ("IB_GSI_PORT_COUNTERS", PortCounters::ID.0),
        ("IB_GSI_PORT_RCV_ERROR_DETAILS", PortRcvErrorDetails::ID.0),
        ("IB_GSI_PORT_XMIT_DISCARD_DETAILS", PortXmitDiscardDetails::ID.0),
        ("IB_GSI_PORT_PORT_OP_RCV_COUNTERS", PortOpRcvCounters::ID.0),
        ("IB_GSI_PORT_PORT_FLOW_CTL_COUNTERS", PortFlowCtlCounters::ID.0),
        ("IB_GSI_PORT_PORT_VL_OP_PACKETS", PortVLOpPackets::ID.0),
        ("IB_GSI_PORT_PORT_VL_OP_DATA", PortVLOpData::ID.0),
        ("IB_GSI_PORT_PORT_VL_XMIT_FLOW_CTL_UPDATE_ERRORS", PortVLXmitFlowCtlUpdateErrors::ID.0),
        ("IB_GSI_PORT_PORT_VL_XMIT_WAIT_COUNTERS", PortVLXmitWaitCounters::ID.0),
        ("IB_GSI_PORT_COUNTERS_EXT", PortCountersExtended::ID.0),
        ("IB_GSI_PORT_EXT_SPEEDS_COUNTERS", PortExtendedSpeedsCounters::ID.0),
        ("IB_GSI_SW_PORT_VL_CONGESTION", SwPortVLCongestion::ID.0),
        ("IB_GSI_PORT_RCV_CON_CTRL", PortRcvConCtrl::ID.0),
        ("IB_GSI_PORT_SL_RCV_FECN", PortSLRcvFECN::ID.0),
        ("IB_GSI_PORT_SL_RCV_BECN", PortSLRcvBECN::ID.0),
        ("IB_GSI_PORT_XMIT_CON_CTRL", PortXmitConCtrl::ID.0),
        ("IB_GSI_PORT_VL_XMIT_TIME_CONG", PortVLXmitTimeCong::ID.0),
        ("IB_GSI_PORT_XMIT_DATA_SL", PortXmitDataSL::ID.0),
        ("IB_GSI_PORT_RCV_DATA_SL", PortRcvDataSL::ID.0),
        ("IB_CC_ATTR_CONGESTION_INFO", CongestionInfo::ID.0),
        ("IB_CC_ATTR_CONGESTION_KEY_INFO", CongestionKeyInfo::ID.0),
        ("IB_CC_ATTR_CONGESTION_LOG", SwitchCongestionLog::ID.0),
        ("IB_CC_ATTR_CONGESTION_LOG", CaCongestionLog::ID.0),
        ("IB_CC_ATTR_SWITCH_CONGESTION_SETTING", SwitchCongestionSetting::ID.0),
        ("IB_CC_ATTR_SWITCH_PORT_CONGESTION_SETTING", SwitchPortCongestionSetting::ID.0),
        ("IB_CC_ATTR_CA_CONGESTION_SETTING", CaCongestionSetting::ID.0),
        ("IB_CC_ATTR_CONGESTION_CONTROL_TABLE", CongestionControlTable::ID.0),
        ("IB_CC_ATTR_TIMESTAMP", CongestionTimeStamp::ID.0),
        ("IB_CC_CLASS", Class::CONGESTION.0.into()),
        ("IB_SMI_CLASS", Class::SUBN_LID.0.into()),
        ("IB_SMI_DIRECT_CLASS", Class::SUBN_DIRECTED.0.into()),
        ("IB_SA_CLASS", Class::SUBN_ADM.0.into()),
        ("IB_PERFORMANCE_CLASS", Class::PERF.0.into()),
        ("IB_MAD_METHOD_GET", Method::GET.0.into()),
        ("IB_MAD_METHOD_SET", Method::SET.0.into()),
        ("IB_MAD_METHOD_TRAP", Method::TRAP.0.into()),
        ("IB_MAD_METHOD_TRAP_REPRESS", Method::TRAP_REPRESS.0.into()),
        ("IB_MAD_METHOD_GET_RESPONSE", Method::GET_RESP.0.into()),
        ("IB_MAD_STS_BAD_BASE_VER_OR_CLASS", Status::BAD_VERSION.0),
        ("IB_MAD_STS_METHOD_NOT_SUPPORTED", Status::BAD_METHOD.0),
        ("IB_MAD_STS_METHOD_ATTR_NOT_SUPPORTED", Status::BAD_ATTRIBUTE.0),
        ("IB_MAD_STS_INV_ATTR_VALUE", Status::BAD_FIELD.0),
    ] {
        assert_eq!(u64::from(ours), oracle.constant(name), "{name}");
    }
}

/// What libibmad prints for a code is what we mean by it.
#[test]
fn codes_mean_what_libibmad_prints() {
    let oracle = Oracle::new();
    for code in 0..=15 {
        let state = PortState::from_code(code).map(|state| match state {
            PortState::Down => "Down",
            PortState::Init => "Initialize",
            PortState::Armed => "Armed",
            PortState::Active => "Active",
        });
        oracle.check_code("mad_dump_portstate", code, state);
        let state = PhysicalState::from_code(code).map(|state| match state {
            PhysicalState::Sleep => "Sleep",
            PhysicalState::Polling => "Polling",
            PhysicalState::Disabled => "Disabled",
            PhysicalState::Training => "PortConfigurationTraining",
            PhysicalState::LinkUp => "LinkUp",
            PhysicalState::LinkErrorRecovery => "LinkErrorRecovery",
            PhysicalState::PhyTest => "PhyTest",
        });
        oracle.check_code("mad_dump_physportstate", code, state);
        oracle.check_code("mad_dump_mtu", code, Mtu::from_code(code).map(|mtu| mtu.bytes().to_string()).as_deref());

        let rate = |port: &PortInfo| match port.active_speed()? {
            LinkSpeed::Sdr => Some("2.5 Gbps"),
            LinkSpeed::Ddr => Some("5.0 Gbps"),
            LinkSpeed::Qdr => Some("10.0 Gbps"),
            LinkSpeed::Fdr => Some("14.0625 Gbps"),
            LinkSpeed::Edr => Some("25.78125 Gbps"),
            LinkSpeed::Hdr => Some("53.125 Gbps"),
            LinkSpeed::Ndr => Some("106.25 Gbps"),
            speed => panic!("{speed} has no code in these fields"),
        };
        let mut port = PortInfo::default();
        port.set_link_speed_active(code);
        oracle.check_code("mad_dump_linkspeed", code, rate(&port));
        let mut port = PortInfo::default();
        port.set_link_speed_ext_active(code);
        oracle.check_code("mad_dump_linkspeedext", code, rate(&port));
    }
    for code in 0..=u8::MAX {
        oracle.check_code("mad_dump_linkwidth", code, LinkWidth::from_code(code).map(|width| width.to_string()).as_deref());
    }
}

#[test]
fn capability_bits_are_those_that_libibmad_prints() {
    let oracle = Oracle::new();
    // Not printed: bit 13 (CableInfo; OpenSM, IB_PORT_CAP_HAS_CABLE_INFO), and of the second mask what came after NDR (NVIDIA's ib_types.h).
    // Spelt or named otherwise than we do: the last word of the line.
    let others = [
        ("communicatonmanagement", "communicationmanagement"),
        ("clientregistration", "clientreregistration"),
        ("mcastpkeytrapsuppression", "multicastpkeytrapsuppression"),
    ];
    let check = |dumper: &str, bit: u32, ours: Option<&str>, not_printed: bool| {
        let printed = oracle.dumped(dumper, u64::from(1u32 << bit));
        let theirs = printed.split_whitespace().nth(1).map(|name| name.trim_start_matches("Is").to_lowercase().replace("supported", ""));
        let theirs = theirs.map(|name| others.iter().find(|(other, _)| *other == name).map_or(name, |(_, same)| same.to_string()));
        let ours = ours.map(|name| name.to_lowercase().replace('_', ""));
        assert!(ours == theirs || not_printed && theirs.is_none(), "{dumper} bit {bit}: we say {ours:?}, libibmad {theirs:?}");
    };
    for bit in 0..32 {
        let name = CapabilityMask::from_bits(1 << bit).and_then(|mask| mask.iter_names().next()).map(|(name, _)| name);
        check("mad_dump_portcapmask", bit, name, bit == 13);
    }
    for bit in 0..16 {
        let name = CapabilityMask2::from_bits(1 << bit).and_then(|mask| mask.iter_names().next()).map(|(name, _)| name);
        check("mad_dump_portcapmask2", bit, name, bit > 10);
    }
}
