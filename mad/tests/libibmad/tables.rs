//! Our fields and theirs.

/// Our field, and the fields of libibmad that together are it.
pub(crate) type Same = (&'static str, &'static [&'static str]);

/// Our field that libibmad (of rdma-core 44, Debian 12) does not know, and who else confirms its place.
pub(crate) type Beyond = (&'static str, &'static str);

pub(crate) const MAD: &[Same] = &[
    ("BaseVersion", &["IB_MAD_BASEVER_F"]),
    ("MgmtClass", &["IB_MAD_MGMTCLASS_F"]),
    ("ClassVersion", &["IB_MAD_CLASSVER_F"]),
    ("Method", &["IB_MAD_RESPONSE_F", "IB_MAD_METHOD_F"]),
    ("Direction", &["IB_DRSMP_DIRECTION_F"]),
    ("Status", &["IB_DRSMP_STATUS_F"]),
    ("HopPointer", &["IB_DRSMP_HOPPTR_F"]),
    ("HopCount", &["IB_DRSMP_HOPCNT_F"]),
    ("TransactionID", &["IB_MAD_TRID_F"]),
    ("AttributeID", &["IB_MAD_ATTRID_F"]),
    ("AttributeModifier", &["IB_MAD_ATTRMOD_F"]),
    ("M_Key", &["IB_MAD_MKEY_F"]),
    ("DrSLID", &["IB_DRSMP_DRSLID_F"]),
    ("DrDLID", &["IB_DRSMP_DRDLID_F"]),
];

pub(crate) const NODE_INFO: &[Same] = &[
    ("BaseVersion", &["IB_NODE_BASE_VERS_F"]),
    ("ClassVersion", &["IB_NODE_CLASS_VERS_F"]),
    ("NodeType", &["IB_NODE_TYPE_F"]),
    ("NumPorts", &["IB_NODE_NPORTS_F"]),
    ("SystemImageGUID", &["IB_NODE_SYSTEM_GUID_F"]),
    ("NodeGUID", &["IB_NODE_GUID_F"]),
    ("PortGUID", &["IB_NODE_PORT_GUID_F"]),
    ("PartitionCap", &["IB_NODE_PARTITION_CAP_F"]),
    ("DeviceID", &["IB_NODE_DEVID_F"]),
    ("Revision", &["IB_NODE_REVISION_F"]),
    ("LocalPortNum", &["IB_NODE_LOCAL_PORT_F"]),
    ("VendorID", &["IB_NODE_VENDORID_F"]),
];

pub(crate) const SWITCH_INFO: &[Same] = &[
    ("LinearFDBCap", &["IB_SW_LINEAR_FDB_CAP_F"]),
    ("RandomFDBCap", &["IB_SW_RANDOM_FDB_CAP_F"]),
    ("MulticastFDBCap", &["IB_SW_MCAST_FDB_CAP_F"]),
    ("LinearFDBTop", &["IB_SW_LINEAR_FDB_TOP_F"]),
    ("DefaultPort", &["IB_SW_DEF_PORT_F"]),
    ("DefaultMulticastPrimaryPort", &["IB_SW_DEF_MCAST_PRIM_F"]),
    ("DefaultMulticastNotPrimaryPort", &["IB_SW_DEF_MCAST_NOT_PRIM_F"]),
    ("LifeTimeValue", &["IB_SW_LIFE_TIME_F"]),
    ("PortStateChange", &["IB_SW_STATE_CHANGE_F"]),
    ("OptimizedSLtoVLMappingProgramming", &["IB_SW_OPT_SLTOVL_MAPPING_F"]),
    ("LIDsPerPort", &["IB_SW_LIDS_PER_PORT_F"]),
    ("PartitionEnforcementCap", &["IB_SW_PARTITION_ENFORCE_CAP_F"]),
    ("InboundEnforcementCap", &["IB_SW_PARTITION_ENF_INB_F"]),
    ("OutboundEnforcementCap", &["IB_SW_PARTITION_ENF_OUTB_F"]),
    ("FilterRawInboundCap", &["IB_SW_FILTER_RAW_INB_F"]),
    ("FilterRawOutboundCap", &["IB_SW_FILTER_RAW_OUTB_F"]),
    ("EnhancedPort0", &["IB_SW_ENHANCED_PORT0_F"]),
    ("MulticastFDBTop", &["IB_SW_MCAST_FDB_TOP_F"]),
];

pub(crate) const PORT_INFO: &[Same] = &[
    ("M_Key", &["IB_PORT_MKEY_F"]),
    ("GidPrefix", &["IB_PORT_GID_PREFIX_F"]),
    ("LID", &["IB_PORT_LID_F"]),
    ("MasterSMLID", &["IB_PORT_SMLID_F"]),
    ("CapabilityMask", &["IB_PORT_CAPMASK_F"]),
    ("DiagCode", &["IB_PORT_DIAG_F"]),
    ("M_KeyLeasePeriod", &["IB_PORT_MKEY_LEASE_F"]),
    ("LocalPortNum", &["IB_PORT_LOCAL_PORT_F"]),
    ("LinkWidthEnabled", &["IB_PORT_LINK_WIDTH_ENABLED_F"]),
    ("LinkWidthSupported", &["IB_PORT_LINK_WIDTH_SUPPORTED_F"]),
    ("LinkWidthActive", &["IB_PORT_LINK_WIDTH_ACTIVE_F"]),
    ("LinkSpeedSupported", &["IB_PORT_LINK_SPEED_SUPPORTED_F"]),
    ("PortState", &["IB_PORT_STATE_F"]),
    ("PortPhysicalState", &["IB_PORT_PHYS_STATE_F"]),
    ("LinkDownDefaultState", &["IB_PORT_LINK_DOWN_DEF_F"]),
    ("M_KeyProtectBits", &["IB_PORT_MKEY_PROT_BITS_F"]),
    ("LMC", &["IB_PORT_LMC_F"]),
    ("LinkSpeedActive", &["IB_PORT_LINK_SPEED_ACTIVE_F"]),
    ("LinkSpeedEnabled", &["IB_PORT_LINK_SPEED_ENABLED_F"]),
    ("NeighborMTU", &["IB_PORT_NEIGHBOR_MTU_F"]),
    ("MasterSMSL", &["IB_PORT_SMSL_F"]),
    ("VLCap", &["IB_PORT_VL_CAP_F"]),
    ("InitType", &["IB_PORT_INIT_TYPE_F"]),
    ("VLHighLimit", &["IB_PORT_VL_HIGH_LIMIT_F"]),
    ("VLArbitrationHighCap", &["IB_PORT_VL_ARBITRATION_HIGH_CAP_F"]),
    ("VLArbitrationLowCap", &["IB_PORT_VL_ARBITRATION_LOW_CAP_F"]),
    ("InitTypeReply", &["IB_PORT_INIT_TYPE_REPLY_F"]),
    ("MTUCap", &["IB_PORT_MTU_CAP_F"]),
    ("VLStallCount", &["IB_PORT_VL_STALL_COUNT_F"]),
    ("HOQLife", &["IB_PORT_HOQ_LIFE_F"]),
    ("OperationalVLs", &["IB_PORT_OPER_VLS_F"]),
    ("PartitionEnforcementInbound", &["IB_PORT_PART_EN_INB_F"]),
    ("PartitionEnforcementOutbound", &["IB_PORT_PART_EN_OUTB_F"]),
    ("FilterRawInbound", &["IB_PORT_FILTER_RAW_INB_F"]),
    ("FilterRawOutbound", &["IB_PORT_FILTER_RAW_OUTB_F"]),
    ("M_KeyViolations", &["IB_PORT_MKEY_VIOL_F"]),
    ("P_KeyViolations", &["IB_PORT_PKEY_VIOL_F"]),
    ("Q_KeyViolations", &["IB_PORT_QKEY_VIOL_F"]),
    ("GUIDCap", &["IB_PORT_GUID_CAP_F"]),
    ("ClientReregister", &["IB_PORT_CLIENT_REREG_F"]),
    ("MulticastPKeyTrapSuppressionEnabled", &["IB_PORT_MCAST_PKEY_SUPR_ENAB_F"]),
    ("SubnetTimeOut", &["IB_PORT_SUBN_TIMEOUT_F"]),
    ("RespTimeValue", &["IB_PORT_RESP_TIME_VAL_F"]),
    ("LocalPhyErrors", &["IB_PORT_LOCAL_PHYS_ERR_F"]),
    ("OverrunErrors", &["IB_PORT_OVERRUN_ERR_F"]),
    ("MaxCreditHint", &["IB_PORT_MAX_CREDIT_HINT_F"]),
    ("LinkRoundTripLatency", &["IB_PORT_LINK_ROUND_TRIP_F"]),
    ("CapabilityMask2", &["IB_PORT_CAPMASK2_F"]),
    ("LinkSpeedExtActive", &["IB_PORT_LINK_SPEED_EXT_ACTIVE_F"]),
    ("LinkSpeedExtSupported", &["IB_PORT_LINK_SPEED_EXT_SUPPORTED_F"]),
    ("LinkSpeedExtEnabled", &["IB_PORT_LINK_SPEED_EXT_ENABLED_F"]),
];

/// The three fields are in the newest libibmad, too, as IB_PORT_LINK_SPEED_EXT_ACTIVE_2_F and so on.
pub(crate) const PORT_INFO_BEYOND: &[Beyond] = &[
    ("LinkSpeedExtActive2", "rdma-core 2026, libibmad/fields.c: BITSOFFS(449, 2)"),
    ("LinkSpeedExtSupported2", "rdma-core 2026, libibmad/fields.c: BITSOFFS(451, 2)"),
    ("LinkSpeedExtEnabled2", "rdma-core 2026, libibmad/fields.c: BITSOFFS(453, 3)"),
];

pub(crate) const SM_INFO: &[Same] = &[
    ("GUID", &["IB_SMINFO_GUID_F"]),
    ("SM_Key", &["IB_SMINFO_KEY_F"]),
    ("ActCount", &["IB_SMINFO_ACT_F"]),
    ("Priority", &["IB_SMINFO_PRIO_F"]),
    ("SMState", &["IB_SMINFO_STATE_F"]),
];

pub(crate) const NOTICE: &[Same] = &[
    ("IsGeneric", &["IB_NOTICE_IS_GENERIC_F"]),
    ("Type", &["IB_NOTICE_TYPE_F"]),
    ("ProducerType", &["IB_NOTICE_PRODUCER_F"]),
    ("TrapNumber", &["IB_NOTICE_TRAP_NUMBER_F"]),
    ("IssuerLID", &["IB_NOTICE_ISSUER_LID_F"]),
    ("NoticeToggle", &["IB_NOTICE_TOGGLE_F"]),
    ("NoticeCount", &["IB_NOTICE_COUNT_F"]),
    ("DataDetails", &["IB_NOTICE_DATA_DETAILS_F"]),
];

pub(crate) const GUID_INFO: &[Same] = &[(
    "GUID",
    &[
        "IB_GI_GUID0_F",
        "IB_GI_GUID1_F",
        "IB_GI_GUID2_F",
        "IB_GI_GUID3_F",
        "IB_GI_GUID4_F",
        "IB_GI_GUID5_F",
        "IB_GI_GUID6_F",
        "IB_GI_GUID7_F",
    ],
)];

pub(crate) const EXTENDED_PORT_INFO: &[Same] = &[
    ("StateChangeEnable", &["IB_MLNX_EXT_PORT_STATE_CHG_ENABLE_F"]),
    ("LinkSpeedSupported", &["IB_MLNX_EXT_PORT_LINK_SPEED_SUPPORTED_F"]),
    ("LinkSpeedEnabled", &["IB_MLNX_EXT_PORT_LINK_SPEED_ENABLED_F"]),
    ("LinkSpeedActive", &["IB_MLNX_EXT_PORT_LINK_SPEED_ACTIVE_F"]),
];

/// ib_mlnx_ext_port_info_t of the ib_types.h (GPL 2 or BSD) that NVIDIA ships with its OpenSM of 2025.
pub(crate) const EXTENDED_PORT_INFO_BEYOND: &[Beyond] = &[
    ("AME", "resvd1[0], AME_BIT"),
    ("SHARPANEn", "resvd1[0], SHARP_AN_ENABLED_BIT"),
    ("RouterLIDEn", "resvd1[0], ROUTER_LID_ENABLED_BIT"),
    ("PortRecovered", "resvd1[0], IB_EXT_PORT_INFO_PORT_RECOVERY_BIT"),
    ("BWUtilEn", "bytes 4 and 5"),
    ("BWUtil", "bytes 4 and 5"),
    ("UnhealthyReason", "byte 6, unhealthy_reason"),
    ("MinBWUtil", "byte 10"),
    ("NMXAdminState", "byte 17"),
    ("CapabilityMask", "bytes 18 and 19, capability_mask"),
    ("IsFNMPort", "byte 44"),
    ("IsMissionAsFNM", "byte 44"),
    ("QosConfigVLEn", "byte 44"),
    ("AccessTrunk", "byte 44"),
    ("IsSpecialPort", "byte 47, special_port_type, IB_IS_SPECIAL_PORT_TYPE_BIT"),
    ("SpecialPortType", "byte 47, special_port_type, IB_SPECIAL_PORT_TYPE_MASK"),
    ("AdaptiveTimeoutSLMask", "bytes 52 and 53"),
    ("OOOSLMask", "bytes 54 and 55"),
];

/// Tables that libibmad knows as a row of bytes only.
pub(crate) const LFT: &[Same] = &[("Port", &["IB_LINEAR_FORW_TBL_F"])];
pub(crate) const MFT: &[Same] = &[("PortMask", &["IB_MULTICAST_FORW_TBL_F"])];
pub(crate) const DESCRIPTION: &[Same] = &[("NodeString", &["IB_NODE_DESC_F"])];
pub(crate) const SL_TO_VL: &[Same] = &[("SLtoVL", &["IB_SLTOVL_MAPPING_TABLE_F"])];
/// The reserved half of the byte with the VL is part of libibmad's field.
pub(crate) const VL_ARBITRATION_BEYOND: &[Beyond] = &[
    ("VL", "OpenSM, ib_types.h: ib_vl_arb_element_t (bytes VL, weight); IBA 14.2.5.9"),
    ("Weight", "OpenSM, ib_types.h: ib_vl_arb_element_t (bytes VL, weight); IBA 14.2.5.9"),
];
pub(crate) const P_KEY_TABLE_BEYOND: &[Beyond] = &[("P_Key", "OpenSM, ib_types.h: ib_pkey_table_t (32 words of 16 bits)")];
