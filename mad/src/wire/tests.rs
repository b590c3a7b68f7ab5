//! What must hold for the table of every attribute.

use super::testing::{attribute, block, value};
use super::*;
use proptest::prelude::*;

/// A module of property tests for each attribute.
macro_rules! every_attribute {
    ($($module:ident: $name:ident,)*) => { $(
        mod $module {
            use super::*;

            proptest! {
                #[test]
                fn each_field_round_trips_and_no_other_bit_changes((field, index, value) in element($name::FIELDS), block in block::<$name>()) {
                    let bits = 8 * block.bytes().len();
                    for start in [*block.bytes(), block.bytes().map(|_| 0xa5)] {
                        let mut bytes = start;
                        field.write_at(&mut bytes, index, value);
                        prop_assert_eq!(field.read_at(&bytes, index), value);
                        let first = field.bit + index * field.stride;
                        for bit in (0..bits).filter(|bit| !(first..first + field.width).contains(bit)) {
                            prop_assert_eq!(bit_of(&bytes, bit), bit_of(&start, bit), "bit {} changed", bit);
                        }
                        // The value's bits are where the table says, most significant first.
                        for place in 0..field.width {
                            prop_assert_eq!(u64::from(bit_of(&bytes, first + place)), value >> (field.width - 1 - place) & 1);
                        }
                    }
                }

                #[test]
                fn any_bytes_survive(view in block::<$name>()) {
                    let mut mad = Mad([0x5a; 256]);
                    mad.set_attribute(&view);
                    prop_assert_eq!(mad.attribute::<$name>(), view);
                    let place = $name::OFFSET..$name::OFFSET + view.bytes().len();
                    prop_assert_eq!(&mad.0[place.clone()], &view.bytes()[..]);
                    prop_assert!((0..256).all(|byte| place.contains(&byte) || mad.0[byte] == 0x5a));
                    let json = serde_json::to_string(&view).unwrap();
                    prop_assert_eq!(serde_json::from_str::<$name>(&json).unwrap(), view, "{}", json);
                    let debug = format!("{:?}", view);
                    prop_assert!(debug.starts_with($name::NAME));
                    prop_assert_eq!($name::ID.name_in($name::CLASS), Some($name::NAME));
                }

                #[test]
                fn json_names_every_field(view in attribute::<$name>()) {
                    let json = serde_json::to_value(view).unwrap();
                    let names: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
                    let mut expected: Vec<&str> = $name::FIELDS.iter().map(|field| field.name).collect();
                    expected.sort_unstable();
                    prop_assert_eq!(names, expected);
                    prop_assert_eq!(serde_json::from_value::<$name>(json).unwrap(), view);
                }
            }
        }
    )* };
}
every_attribute! {
    ar_forwarding_table: ArForwardingTable,
    ar_group_table: ArGroupTable,
    ar_group_table_copy: ArGroupTableCopy,
    ar_info: ArInfo,
    ca_congestion_log: CaCongestionLog,
    ca_congestion_setting: CaCongestionSetting,
    class_port_info: ClassPortInfo,
    congestion_control_table: CongestionControlTable,
    congestion_info: CongestionInfo,
    congestion_key_info: CongestionKeyInfo,
    congestion_time_stamp: CongestionTimeStamp,
    extended_port_info: ExtendedPortInfo,
    general_info: GeneralInfo,
    guid_info: GuidInfo,
    hbf_config: HbfConfig,
    linear_forwarding_table: LinearForwardingTable,
    multicast_forwarding_table: MulticastForwardingTable,
    node_description: NodeDescription,
    node_info: NodeInfo,
    notice: Notice,
    p_key_table: PKeyTable,
    pfrn_config: PfrnConfig,
    port_counters: PortCounters,
    port_counters_extended: PortCountersExtended,
    port_extended_speeds_counters: PortExtendedSpeedsCounters,
    port_flow_ctl_counters: PortFlowCtlCounters,
    port_info: PortInfo,
    port_op_rcv_counters: PortOpRcvCounters,
    port_rcv_con_ctrl: PortRcvConCtrl,
    port_rcv_data_sl: PortRcvDataSL,
    port_rcv_error_details: PortRcvErrorDetails,
    port_samples_control: PortSamplesControl,
    port_samples_result: PortSamplesResult,
    port_samples_result_extended: PortSamplesResultExtended,
    port_sl_rcv_becn: PortSLRcvBECN,
    port_sl_rcv_fecn: PortSLRcvFECN,
    port_sl_to_private_lft_map: PortSlToPrivateLftMap,
    port_vl_op_data: PortVLOpData,
    port_vl_op_packets: PortVLOpPackets,
    port_vl_xmit_flow_ctl_update_errors: PortVLXmitFlowCtlUpdateErrors,
    port_vl_xmit_time_cong: PortVLXmitTimeCong,
    port_vl_xmit_wait_counters: PortVLXmitWaitCounters,
    port_xmit_con_ctrl: PortXmitConCtrl,
    port_xmit_data_sl: PortXmitDataSL,
    port_xmit_discard_details: PortXmitDiscardDetails,
    private_lft_def: PrivateLftDef,
    private_lft_info: PrivateLftInfo,
    private_lft_map: PrivateLftMap,
    rn_gen_by_sub_group_priority: RnGenBySubGroupPriority,
    rn_gen_string: RnGenString,
    rn_rcv_string: RnRcvString,
    rn_sub_group_direction: RnSubGroupDirection,
    rn_xmit_port_mask: RnXmitPortMask,
    sl_to_vl_mapping: SlToVlMapping,
    sm_info: SmInfo,
    sw_port_vl_congestion: SwPortVLCongestion,
    switch_congestion_log: SwitchCongestionLog,
    switch_congestion_setting: SwitchCongestionSetting,
    switch_info: SwitchInfo,
    switch_port_congestion_setting: SwitchPortCongestionSetting,
    vendor_general_info: VendorGeneralInfo,
    vl_arbitration: VlArbitration,
}

/// Any element of any field, and a value for it.
fn element(fields: &'static [Field]) -> impl Strategy<Value = (Field, usize, u64)> {
    prop::sample::select(fields).prop_flat_map(|field| (Just(field), 0..field.count, value(&field)))
}

fn bit_of(bytes: &[u8], bit: usize) -> u8 {
    bytes[bit / 8] >> (7 - bit % 8) & 1
}

#[test]
fn json_of_a_port() {
    let mut port = PortInfo::default();
    port.set_m_key(0x1234);
    port.set_lid(7);
    let json = serde_json::to_value(port).unwrap();
    assert_eq!(json["M_Key"], "0x0000000000001234");
    assert_eq!(json["LID"], 7);
}

#[test]
fn json_is_read_leniently_and_refused_precisely() {
    let read = |text: &str| serde_json::from_str::<PortInfo>(text).map_err(|error| error.to_string());
    let mut expected = PortInfo::default();
    expected.set_lid(0x10);
    expected.set_lmc(3);
    assert_eq!(read(r#"{"LMC": 3, "LID": "0x10"}"#), Ok(expected));

    for (text, reason) in [
        (r#"{"LMC": 8}"#, "PortInfo LMC: 8 is beyond 7, the most that 3 bits hold"),
        (r#"{"LMC": -1}"#, "PortInfo LMC: "),
        (r#"{"LMC": "3"}"#, "PortInfo LMC: \"3\" is not a number"),
        (r#"{"LMC": [3]}"#, "PortInfo LMC: expected a number instead of a list"),
        (r#"{"Lmc": 3}"#, "PortInfo has no field \"Lmc\""),
        (r#"{"reserved": "00"}"#, "PortInfo reserved: expected 128 hexadecimal digits"),
        ("3", "a map with the fields of PortInfo"),
    ] {
        let error = read(text).unwrap_err();
        assert!(error.contains(reason), "{text}: {error}");
    }
    let error = serde_json::from_str::<GuidInfo>(r#"{"GUID": [1, 2]}"#).unwrap_err().to_string();
    assert!(error.contains("GUIDInfo GUID: the list has 2 entries instead of 8"), "{error}");
    let error = serde_json::from_str::<GuidInfo>(r#"{"GUID": 1}"#).unwrap_err().to_string();
    assert!(error.contains("GUIDInfo GUID: expected a list of 8 numbers"), "{error}");
    let long = format!(r#"{{"NodeString": "{}"}}"#, "x".repeat(65));
    let error = serde_json::from_str::<NodeDescription>(&long).unwrap_err().to_string();
    assert!(error.contains("NodeDescription NodeString: the text has 65 bytes, at most 64 fit"), "{error}");
}
