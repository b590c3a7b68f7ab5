//! Fields of performance management and congestion control.

use crate::tables::{Beyond, Same};

/// All that the oracle is to ask about.
pub(crate) const ALL: &[&[Same]] = &[
    CLASS_PORT_INFO,
    PORT_SAMPLES_CONTROL,
    PORT_SAMPLES_RESULT,
    PORT_COUNTERS,
    PORT_RCV_ERROR_DETAILS,
    PORT_XMIT_DISCARD_DETAILS,
    PORT_OP_RCV_COUNTERS,
    PORT_FLOW_CTL_COUNTERS,
    PORT_VL_OP_PACKETS,
    PORT_VL_OP_DATA,
    PORT_VL_XMIT_FLOW_CTL_UPDATE_ERRORS,
    PORT_VL_XMIT_WAIT_COUNTERS,
    PORT_COUNTERS_EXTENDED,
    PORT_EXTENDED_SPEEDS_COUNTERS,
    SW_PORT_VL_CONGESTION,
    PORT_RCV_CON_CTRL,
    PORT_SL_RCV_FECN,
    PORT_SL_RCV_BECN,
    PORT_XMIT_CON_CTRL,
    PORT_VL_XMIT_TIME_CONG,
    PORT_XMIT_DATA_SL,
    PORT_RCV_DATA_SL,
    CONGESTION_INFO,
    CONGESTION_KEY_INFO,
    SWITCH_CONGESTION_SETTING,
    CONGESTION_TIME_STAMP,
    SWITCH_CONGESTION_LOG,
    CA_CONGESTION_LOG,
    CA_CONGESTION_SETTING,
    CONGESTION_CONTROL_TABLE,
];
/// As [`ALL`].
pub(crate) const ALL_PARTS: &[&[Part]] =
    &[SWITCH_LOG_PARTS, CA_LOG_PARTS, SWITCH_PORT_SETTING_PARTS, CA_SETTING_PARTS, CONTROL_TABLE_PARTS];

/// Our field, the first bit of the element that it is part of, and libibmad's field, which counts from there.
pub(crate) type Part = (&'static str, usize, &'static str);

/// The names of fields that differ in a number.
macro_rules! row {
    ($begin:literal) => {
        row!($begin, "0" "1" "2" "3" "4" "5" "6" "7" "8" "9" "10" "11" "12" "13" "14" "15")
    };
    ($begin:literal, $($number:literal)+) => {
        &[$(concat!($begin, $number, "_F")),+]
    };
}

pub(crate) const CLASS_PORT_INFO: &[Same] = &[
    ("BaseVersion", &["IB_CPI_BASEVER_F"]),
    ("ClassVersion", &["IB_CPI_CLASSVER_F"]),
    ("CapabilityMask", &["IB_CPI_CAPMASK_F"]),
    ("CapabilityMask2", &["IB_CPI_CAPMASK2_F"]),
    ("RespTimeValue", &["IB_CPI_RESP_TIME_VALUE_F"]),
    ("RedirectGID", &["IB_CPI_REDIRECT_GID_F"]),
    ("RedirectTC", &["IB_CPI_REDIRECT_TC_F"]),
    ("RedirectSL", &["IB_CPI_REDIRECT_SL_F"]),
    ("RedirectFL", &["IB_CPI_REDIRECT_FL_F"]),
    ("RedirectLID", &["IB_CPI_REDIRECT_LID_F"]),
    ("RedirectP_Key", &["IB_CPI_REDIRECT_PKEY_F"]),
    ("RedirectQP", &["IB_CPI_REDIRECT_QP_F"]),
    ("RedirectQ_Key", &["IB_CPI_REDIRECT_QKEY_F"]),
    ("TrapGID", &["IB_CPI_TRAP_GID_F"]),
    ("TrapTC", &["IB_CPI_TRAP_TC_F"]),
    ("TrapSL", &["IB_CPI_TRAP_SL_F"]),
    ("TrapFL", &["IB_CPI_TRAP_FL_F"]),
    ("TrapLID", &["IB_CPI_TRAP_LID_F"]),
    ("TrapP_Key", &["IB_CPI_TRAP_PKEY_F"]),
    ("TrapHL", &["IB_CPI_TRAP_HL_F"]),
    ("TrapQP", &["IB_CPI_TRAP_QP_F"]),
    ("TrapQ_Key", &["IB_CPI_TRAP_QKEY_F"]),
];

pub(crate) const PORT_SAMPLES_CONTROL: &[Same] = &[
    ("OpCode", &["IB_PSC_OPCODE_F"]),
    ("PortSelect", &["IB_PSC_PORT_SELECT_F"]),
    ("Tick", &["IB_PSC_TICK_F"]),
    ("CounterWidth", &["IB_PSC_COUNTER_WIDTH_F"]),
    ("CounterMask0", &["IB_PSC_COUNTER_MASK0_F"]),
    ("CounterMasks1to9", &["IB_PSC_COUNTER_MASKS1TO9_F"]),
    ("CounterMasks10to14", &["IB_PSC_COUNTER_MASKS10TO14_F"]),
    ("SampleMechanisms", &["IB_PSC_SAMPLE_MECHS_F"]),
    ("SampleStatus", &["IB_PSC_SAMPLE_STATUS_F"]),
    ("OptionMask", &["IB_PSC_OPTION_MASK_F"]),
    ("VendorMask", &["IB_PSC_VENDOR_MASK_F"]),
    ("SampleStart", &["IB_PSC_SAMPLE_START_F"]),
    ("SampleInterval", &["IB_PSC_SAMPLE_INTVL_F"]),
    ("Tag", &["IB_PSC_TAG_F"]),
    ("CounterSelect", row!("IB_PSC_COUNTER_SEL", "0" "1" "2" "3" "4" "5" "6" "7" "8" "9" "10" "11" "12" "13" "14")),
    ("SamplesOnlyOptionMask", &["IB_PSC_SAMPLES_ONLY_OPT_MASK_F"]),
];

pub(crate) const PORT_SAMPLES_RESULT: &[Same] = &[
    ("Tag", &["IB_PSR_TAG_F"]),
    ("SampleStatus", &["IB_PSR_SAMPLE_STATUS_F"]),
    ("Counter", row!("IB_PSR_COUNTER", "0" "1" "2" "3" "4" "5" "6" "7" "8" "9" "10" "11" "12" "13" "14")),
];

pub(crate) const PORT_COUNTERS: &[Same] = &[
    ("PortSelect", &["IB_PC_PORT_SELECT_F"]),
    ("CounterSelect", &["IB_PC_COUNTER_SELECT_F"]),
    ("SymbolErrorCounter", &["IB_PC_ERR_SYM_F"]),
    ("LinkErrorRecoveryCounter", &["IB_PC_LINK_RECOVERS_F"]),
    ("LinkDownedCounter", &["IB_PC_LINK_DOWNED_F"]),
    ("PortRcvErrors", &["IB_PC_ERR_RCV_F"]),
    ("PortRcvRemotePhysicalErrors", &["IB_PC_ERR_PHYSRCV_F"]),
    ("PortRcvSwitchRelayErrors", &["IB_PC_ERR_SWITCH_REL_F"]),
    ("PortXmitDiscards", &["IB_PC_XMT_DISCARDS_F"]),
    ("PortXmitConstraintErrors", &["IB_PC_ERR_XMTCONSTR_F"]),
    ("PortRcvConstraintErrors", &["IB_PC_ERR_RCVCONSTR_F"]),
    ("CounterSelect2", &["IB_PC_COUNTER_SELECT2_F"]),
    ("LocalLinkIntegrityErrors", &["IB_PC_ERR_LOCALINTEG_F"]),
    ("ExcessiveBufferOverrunErrors", &["IB_PC_ERR_EXCESS_OVR_F"]),
    ("VL15Dropped", &["IB_PC_VL15_DROPPED_F"]),
    ("PortXmitData", &["IB_PC_XMT_BYTES_F"]),
    ("PortRcvData", &["IB_PC_RCV_BYTES_F"]),
    ("PortXmitPkts", &["IB_PC_XMT_PKTS_F"]),
    ("PortRcvPkts", &["IB_PC_RCV_PKTS_F"]),
    ("PortXmitWait", &["IB_PC_XMT_WAIT_F"]),
];

/// libibmad's field lies on VL15Dropped (its offset is given in the other of its two notations).
pub(crate) const PORT_COUNTERS_BEYOND: &[Beyond] = &[("QP1Dropped", "IBA 16.1.3.5; Linux, ib_pma.h: the 16 bits before vl15_dropped")];

pub(crate) const PORT_RCV_ERROR_DETAILS: &[Same] = &[
    ("PortSelect", &["IB_PC_PORT_SELECT_F"]),
    ("CounterSelect", &["IB_PC_COUNTER_SELECT_F"]),
    ("PortLocalPhysicalErrors", &["IB_PC_RCV_LOCAL_PHY_ERR_F"]),
    ("PortMalformedPacketErrors", &["IB_PC_RCV_MALFORMED_PKT_ERR_F"]),
    ("PortBufferOverrunErrors", &["IB_PC_RCV_BUF_OVR_ERR_F"]),
    ("PortDLIDMappingErrors", &["IB_PC_RCV_DLID_MAP_ERR_F"]),
    ("PortVLMappingErrors", &["IB_PC_RCV_VL_MAP_ERR_F"]),
    ("PortLoopingErrors", &["IB_PC_RCV_LOOPING_ERR_F"]),
];

pub(crate) const PORT_XMIT_DISCARD_DETAILS: &[Same] = &[
    ("PortSelect", &["IB_PC_PORT_SELECT_F"]),
    ("CounterSelect", &["IB_PC_COUNTER_SELECT_F"]),
    ("PortInactiveDiscards", &["IB_PC_XMT_INACT_DISC_F"]),
    ("PortNeighborMTUDiscards", &["IB_PC_XMT_NEIGH_MTU_DISC_F"]),
    ("PortSwLifetimeLimitDiscards", &["IB_PC_XMT_SW_LIFE_DISC_F"]),
    ("PortSwHOQLifetimeLimitDiscards", &["IB_PC_XMT_SW_HOL_DISC_F"]),
];

pub(crate) const OP_CODE_BEYOND: &[Beyond] = &[("OpCode", "IBA 16.1.4: the byte before PortSelect")];
pub(crate) const PORT_OP_RCV_COUNTERS: &[Same] = &[
    ("PortSelect", &["IB_PC_PORT_SELECT_F"]),
    ("CounterSelect", &["IB_PC_COUNTER_SELECT_F"]),
    ("PortOpRcvPkts", &["IB_PC_PORT_OP_RCV_PKTS_F"]),
    ("PortOpRcvData", &["IB_PC_PORT_OP_RCV_DATA_F"]),
];
pub(crate) const PORT_FLOW_CTL_COUNTERS: &[Same] = &[
    ("PortSelect", &["IB_PC_PORT_SELECT_F"]),
    ("CounterSelect", &["IB_PC_COUNTER_SELECT_F"]),
    ("PortXmitFlowPkts", &["IB_PC_PORT_XMIT_FLOW_PKTS_F"]),
    ("PortRcvFlowPkts", &["IB_PC_PORT_RCV_FLOW_PKTS_F"]),
];
pub(crate) const PORT_VL_OP_PACKETS: &[Same] = &[
    ("PortSelect", &["IB_PC_PORT_SELECT_F"]),
    ("CounterSelect", &["IB_PC_COUNTER_SELECT_F"]),
    ("PortVLOpPackets", row!("IB_PC_PORT_VL_OP_PACKETS")),
];
pub(crate) const PORT_VL_OP_DATA: &[Same] = &[
    ("PortSelect", &["IB_PC_PORT_SELECT_F"]),
    ("CounterSelect", &["IB_PC_COUNTER_SELECT_F"]),
    ("PortVLOpData", row!("IB_PC_PORT_VL_OP_DATA")),
];
pub(crate) const PORT_VL_XMIT_FLOW_CTL_UPDATE_ERRORS: &[Same] = &[
    ("PortSelect", &["IB_PC_PORT_SELECT_F"]),
    ("CounterSelect", &["IB_PC_COUNTER_SELECT_F"]),
    ("PortVLXmitFlowCtlUpdateErrors", row!("IB_PC_PORT_VL_XMIT_FLOW_CTL_UPDATE_ERRORS")),
];
pub(crate) const PORT_VL_XMIT_WAIT_COUNTERS: &[Same] = &[
    ("PortSelect", &["IB_PC_PORT_SELECT_F"]),
    ("CounterSelect", &["IB_PC_COUNTER_SELECT_F"]),
    ("PortVLXmitWait", row!("IB_PC_PORT_VL_XMIT_WAIT")),
];

pub(crate) const PORT_COUNTERS_EXTENDED: &[Same] = &[
    ("PortSelect", &["IB_PC_EXT_PORT_SELECT_F"]),
    ("CounterSelect", &["IB_PC_EXT_COUNTER_SELECT_F"]),
    ("CounterSelect2", &["IB_PC_EXT_COUNTER_SELECT2_F"]),
    ("PortXmitData", &["IB_PC_EXT_XMT_BYTES_F"]),
    ("PortRcvData", &["IB_PC_EXT_RCV_BYTES_F"]),
    ("PortXmitPkts", &["IB_PC_EXT_XMT_PKTS_F"]),
    ("PortRcvPkts", &["IB_PC_EXT_RCV_PKTS_F"]),
    ("PortUnicastXmitPkts", &["IB_PC_EXT_XMT_UPKTS_F"]),
    ("PortUnicastRcvPkts", &["IB_PC_EXT_RCV_UPKTS_F"]),
    ("PortMulticastXmitPkts", &["IB_PC_EXT_XMT_MPKTS_F"]),
    ("PortMulticastRcvPkts", &["IB_PC_EXT_RCV_MPKTS_F"]),
    ("SymbolErrorCounter", &["IB_PC_EXT_ERR_SYM_F"]),
    ("LinkErrorRecoveryCounter", &["IB_PC_EXT_LINK_RECOVERS_F"]),
    ("LinkDownedCounter", &["IB_PC_EXT_LINK_DOWNED_F"]),
    ("PortRcvErrors", &["IB_PC_EXT_ERR_RCV_F"]),
    ("PortRcvRemotePhysicalErrors", &["IB_PC_EXT_ERR_PHYSRCV_F"]),
    ("PortRcvSwitchRelayErrors", &["IB_PC_EXT_ERR_SWITCH_REL_F"]),
    ("PortXmitDiscards", &["IB_PC_EXT_XMT_DISCARDS_F"]),
    ("PortXmitConstraintErrors", &["IB_PC_EXT_ERR_XMTCONSTR_F"]),
    ("PortRcvConstraintErrors", &["IB_PC_EXT_ERR_RCVCONSTR_F"]),
    ("LocalLinkIntegrityErrors", &["IB_PC_EXT_ERR_LOCALINTEG_F"]),
    ("ExcessiveBufferOverrunErrors", &["IB_PC_EXT_ERR_EXCESS_OVR_F"]),
    ("VL15Dropped", &["IB_PC_EXT_VL15_DROPPED_F"]),
    ("PortXmitWait", &["IB_PC_EXT_XMT_WAIT_F"]),
    ("QP1Dropped", &["IB_PC_EXT_QP1_DROP_F"]),
];

pub(crate) const PORT_SAMPLES_RESULT_EXTENDED_BEYOND: &[Beyond] = &[
    ("Tag", "Linux, ib_pma.h: ib_pma_portsamplesresult_ext"),
    ("SampleStatus", "Linux, ib_pma.h: ib_pma_portsamplesresult_ext"),
    ("ExtendedWidth", "Linux, ib_pma.h: ib_pma_portsamplesresult_ext, the upper 2 bits of 32"),
    ("Counter", "Linux, ib_pma.h: ib_pma_portsamplesresult_ext"),
];

pub(crate) const PORT_EXTENDED_SPEEDS_COUNTERS: &[Same] = &[
    ("PortSelect", &["IB_PESC_PORT_SELECT_F"]),
    ("CounterSelect", &["IB_PESC_COUNTER_SELECT_F"]),
    ("SyncHeaderErrorCounter", &["IB_PESC_SYNC_HDR_ERR_CTR_F"]),
    ("UnknownBlockCounter", &["IB_PESC_UNK_BLOCK_CTR_F"]),
    ("ErrorDetectionCounter", row!("IB_PESC_ERR_DET_CTR_LANE", "0" "1" "2" "3" "4" "5" "6" "7" "8" "9" "10" "11")),
    ("FECCorrectableBlockCtr", row!("IB_PESC_FEC_CORR_BLOCK_CTR_LANE", "0" "1" "2" "3" "4" "5" "6" "7" "8" "9" "10" "11")),
    ("FECUncorrectableBlockCtr", row!("IB_PESC_FEC_UNCORR_BLOCK_CTR_LANE", "0" "1" "2" "3" "4" "5" "6" "7" "8" "9" "10" "11")),
    ("PortFECCorrectableBlockCtr", &["IB_PESC_PORT_FEC_CORR_BLOCK_CTR_F"]),
    ("PortFECUncorrectableBlockCtr", &["IB_PESC_PORT_FEC_UNCORR_BLOCK_CTR_F"]),
    ("PortFECCorrectedSymbolCtr", &["IB_PESC_PORT_FEC_CORR_SYMBOL_CTR_F"]),
];

pub(crate) const SW_PORT_VL_CONGESTION: &[Same] = &[
    ("PortSelect", &["IB_PC_PORT_SELECT_F"]),
    ("CounterSelect", &["IB_PC_COUNTER_SELECT_F"]),
    ("SWPortVLCongestion", row!("IB_PC_SW_PORT_VL_CONGESTION")),
];
pub(crate) const PORT_RCV_CON_CTRL: &[Same] = &[
    ("PortSelect", &["IB_PC_PORT_SELECT_F"]),
    ("CounterSelect", &["IB_PC_COUNTER_SELECT_F"]),
    ("PortPktRcvFECN", &["IB_PC_RCV_CON_CTRL_PKT_RCV_FECN_F"]),
    ("PortPktRcvBECN", &["IB_PC_RCV_CON_CTRL_PKT_RCV_BECN_F"]),
];
pub(crate) const PORT_SL_RCV_FECN: &[Same] = &[
    ("PortSelect", &["IB_PC_PORT_SELECT_F"]),
    ("CounterSelect", &["IB_PC_COUNTER_SELECT_F"]),
    ("PortSLRcvFECN", row!("IB_PC_SL_RCV_FECN")),
];
pub(crate) const PORT_SL_RCV_BECN: &[Same] = &[
    ("PortSelect", &["IB_PC_PORT_SELECT_F"]),
    ("CounterSelect", &["IB_PC_COUNTER_SELECT_F"]),
    ("PortSLRcvBECN", row!("IB_PC_SL_RCV_BECN")),
];
pub(crate) const PORT_XMIT_CON_CTRL: &[Same] = &[
    ("PortSelect", &["IB_PC_PORT_SELECT_F"]),
    ("CounterSelect", &["IB_PC_COUNTER_SELECT_F"]),
    ("PortXmitTimeCong", &["IB_PC_XMIT_CON_CTRL_TIME_CONG_F"]),
];
pub(crate) const PORT_VL_XMIT_TIME_CONG: &[Same] = &[
    ("PortSelect", &["IB_PC_PORT_SELECT_F"]),
    ("CounterSelect", &["IB_PC_COUNTER_SELECT_F"]),
    ("PortVLXmitTimeCong", row!("IB_PC_VL_XMIT_TIME_CONG", "0" "1" "2" "3" "4" "5" "6" "7" "8" "9" "10" "11" "12" "13" "14")),
];
pub(crate) const PORT_XMIT_DATA_SL: &[Same] =
    &[("PortSelect", &["IB_PC_PORT_SELECT_F"]), ("CounterSelect", &["IB_PC_COUNTER_SELECT_F"]), ("XmtDataSL", row!("IB_PC_XMT_DATA_SL"))];
pub(crate) const PORT_RCV_DATA_SL: &[Same] =
    &[("PortSelect", &["IB_PC_PORT_SELECT_F"]), ("CounterSelect", &["IB_PC_COUNTER_SELECT_F"]), ("RcvDataSL", row!("IB_PC_RCV_DATA_SL"))];

pub(crate) const CONGESTION_INFO: &[Same] =
    &[("CongestionInfo", &["IB_CC_CONGESTION_INFO_F"]), ("ControlTableCap", &["IB_CC_CONGESTION_INFO_CONTROL_TABLE_CAP_F"])];
pub(crate) const CONGESTION_KEY_INFO: &[Same] = &[
    ("CC_Key", &["IB_CC_CONGESTION_KEY_INFO_CC_KEY_F"]),
    ("CC_KeyProtectBit", &["IB_CC_CONGESTION_KEY_INFO_CC_KEY_PROTECT_BIT_F"]),
    ("CC_KeyLeasePeriod", &["IB_CC_CONGESTION_KEY_INFO_CC_KEY_LEASE_PERIOD_F"]),
    ("CC_KeyViolations", &["IB_CC_CONGESTION_KEY_INFO_CC_KEY_VIOLATIONS_F"]),
];
pub(crate) const SWITCH_CONGESTION_LOG: &[Same] = &[
    ("LogType", &["IB_CC_CONGESTION_LOG_LOGTYPE_F"]),
    ("CongestionFlags", &["IB_CC_CONGESTION_LOG_CONGESTION_FLAGS_F"]),
    ("LogEventsCounter", &["IB_CC_CONGESTION_LOG_SWITCH_LOG_EVENTS_COUNTER_F"]),
    ("CurrentTimeStamp", &["IB_CC_CONGESTION_LOG_SWITCH_CURRENT_TIME_STAMP_F"]),
    ("PortMap", &["IB_CC_CONGESTION_LOG_SWITCH_PORTMAP_F"]),
];
pub(crate) const CA_CONGESTION_LOG: &[Same] = &[
    ("LogType", &["IB_CC_CONGESTION_LOG_LOGTYPE_F"]),
    ("CongestionFlags", &["IB_CC_CONGESTION_LOG_CONGESTION_FLAGS_F"]),
    ("ThresholdEventCounter", &["IB_CC_CONGESTION_LOG_CA_THRESHOLD_EVENT_COUNTER_F"]),
    ("ThresholdCongestionEventMap", &["IB_CC_CONGESTION_LOG_CA_THRESHOLD_CONGESTION_EVENT_MAP_F"]),
    ("CurrentTimeStamp", &["IB_CC_CONGESTION_LOG_CA_CURRENT_TIMESTAMP_F"]),
];
pub(crate) const SWITCH_CONGESTION_SETTING: &[Same] = &[
    ("ControlMap", &["IB_CC_SWITCH_CONGESTION_SETTING_CONTROL_MAP_F"]),
    ("VictimMask", &["IB_CC_SWITCH_CONGESTION_SETTING_VICTIM_MASK_F"]),
    ("CreditMask", &["IB_CC_SWITCH_CONGESTION_SETTING_CREDIT_MASK_F"]),
    ("Threshold", &["IB_CC_SWITCH_CONGESTION_SETTING_THRESHOLD_F"]),
    ("PacketSize", &["IB_CC_SWITCH_CONGESTION_SETTING_PACKET_SIZE_F"]),
    ("CSThreshold", &["IB_CC_SWITCH_CONGESTION_SETTING_CS_THRESHOLD_F"]),
    ("CSReturnDelay", &["IB_CC_SWITCH_CONGESTION_SETTING_CS_RETURN_DELAY_F"]),
    ("MarkingRate", &["IB_CC_SWITCH_CONGESTION_SETTING_MARKING_RATE_F"]),
];
pub(crate) const CA_CONGESTION_SETTING: &[Same] =
    &[("PortControl", &["IB_CC_CA_CONGESTION_SETTING_PORT_CONTROL_F"]), ("ControlMap", &["IB_CC_CA_CONGESTION_SETTING_CONTROL_MAP_F"])];
pub(crate) const CONGESTION_CONTROL_TABLE: &[Same] = &[("CCTILimit", &["IB_CC_CONGESTION_CONTROL_TABLE_CCTI_LIMIT_F"])];
pub(crate) const CONGESTION_TIME_STAMP: &[Same] = &[("TimeStamp", &["IB_CC_TIMESTAMP_F"])];

// Where the first entry begins: behind the fields above; OpenSM, ib_types.h, has the same structures whole.
pub(crate) const SWITCH_LOG_PARTS: &[Part] = &[
    ("SLID", 320, "IB_CC_CONGESTION_LOG_ENTRY_SWITCH_SLID_F"),
    ("DLID", 320, "IB_CC_CONGESTION_LOG_ENTRY_SWITCH_DLID_F"),
    ("SL", 320, "IB_CC_CONGESTION_LOG_ENTRY_SWITCH_SL_F"),
    ("TimeStamp", 320, "IB_CC_CONGESTION_LOG_ENTRY_SWITCH_TIMESTAMP_F"),
];
pub(crate) const CA_LOG_PARTS: &[Part] = &[
    ("LocalQP", 96, "IB_CC_CONGESTION_LOG_ENTRY_CA_LOCAL_QP_CN_ENTRY_F"),
    ("SL", 96, "IB_CC_CONGESTION_LOG_ENTRY_CA_SL_CN_ENTRY_F"),
    ("ServiceType", 96, "IB_CC_CONGESTION_LOG_ENTRY_CA_SERVICE_TYPE_CN_ENTRY_F"),
    ("RemoteQP", 96, "IB_CC_CONGESTION_LOG_ENTRY_CA_REMOTE_QP_NUMBER_CN_ENTRY_F"),
    ("LocalLID", 96, "IB_CC_CONGESTION_LOG_ENTRY_CA_LOCAL_LID_CN_F"),
    ("RemoteLID", 96, "IB_CC_CONGESTION_LOG_ENTRY_CA_REMOTE_LID_CN_ENTRY_F"),
    ("TimeStamp", 96, "IB_CC_CONGESTION_LOG_ENTRY_CA_TIMESTAMP_CN_ENTRY_F"),
];
pub(crate) const SWITCH_PORT_SETTING_PARTS: &[Part] = &[
    ("Valid", 0, "IB_CC_SWITCH_PORT_CONGESTION_SETTING_ELEMENT_VALID_F"),
    ("ControlType", 0, "IB_CC_SWITCH_PORT_CONGESTION_SETTING_ELEMENT_CONTROL_TYPE_F"),
    ("Threshold", 0, "IB_CC_SWITCH_PORT_CONGESTION_SETTING_ELEMENT_THRESHOLD_F"),
    ("PacketSize", 0, "IB_CC_SWITCH_PORT_CONGESTION_SETTING_ELEMENT_PACKET_SIZE_F"),
    ("CongestionParameter", 0, "IB_CC_SWITCH_PORT_CONGESTION_SETTING_ELEMENT_CONG_PARM_MARKING_RATE_F"),
];
pub(crate) const CA_SETTING_PARTS: &[Part] = &[
    ("CCTITimer", 32, "IB_CC_CA_CONGESTION_ENTRY_CCTI_TIMER_F"),
    ("CCTIIncrease", 32, "IB_CC_CA_CONGESTION_ENTRY_CCTI_INCREASE_F"),
    ("TriggerThreshold", 32, "IB_CC_CA_CONGESTION_ENTRY_TRIGGER_THRESHOLD_F"),
    ("CCTIMin", 32, "IB_CC_CA_CONGESTION_ENTRY_CCTI_MIN_F"),
];
pub(crate) const CONTROL_TABLE_PARTS: &[Part] = &[
    ("CCTShift", 32, "IB_CC_CONGESTION_CONTROL_TABLE_ENTRY_CCT_SHIFT_F"),
    ("CCTMultiplier", 32, "IB_CC_CONGESTION_CONTROL_TABLE_ENTRY_CCT_MULTIPLIER_F"),
];
