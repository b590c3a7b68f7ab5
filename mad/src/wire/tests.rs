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
                fn each_field_round_trips_and_no_other_bit_changes((field, index, value) in element($name::FIELDS), block in block()) {
                    for start in [block, [0xa5; 64]] {
                        let mut bytes = start;
                        field.write_at(&mut bytes, index, value);
                        prop_assert_eq!(field.read_at(&bytes, index), value);
                        let first = field.bit + index * field.stride;
                        for bit in (0..512).filter(|bit| !(first..first + field.width).contains(bit)) {
                            prop_assert_eq!(bit_of(&bytes, bit), bit_of(&start, bit), "bit {} changed", bit);
                        }
                        // The value's bits are where the table says, most significant first.
                        for place in 0..field.width {
                            prop_assert_eq!(u64::from(bit_of(&bytes, first + place)), value >> (field.width - 1 - place) & 1);
                        }
                    }
                }

                #[test]
                fn any_bytes_survive(block in block()) {
                    let view = $name::from_bytes(block);
                    prop_assert_eq!(view.bytes(), &block);
                    let json = serde_json::to_string(&view).unwrap();
                    prop_assert_eq!(serde_json::from_str::<$name>(&json).unwrap(), view, "{}", json);
                    let debug = format!("{:?}", view);
                    prop_assert!(debug.starts_with($name::NAME));
                    prop_assert_eq!(format!("{:?}", $name::ID), $name::NAME);
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
    extended_port_info: ExtendedPortInfo,
    guid_info: GuidInfo,
    linear_forwarding_table: LinearForwardingTable,
    multicast_forwarding_table: MulticastForwardingTable,
    node_description: NodeDescription,
    node_info: NodeInfo,
    notice: Notice,
    p_key_table: PKeyTable,
    port_info: PortInfo,
    sl_to_vl_mapping: SlToVlMapping,
    sm_info: SmInfo,
    switch_info: SwitchInfo,
    vl_arbitration: VlArbitration,
}

/// Any element of any field, and a value for it.
fn element(fields: &'static [Field]) -> impl Strategy<Value = (Field, usize, u64)> {
    prop::sample::select(fields).prop_flat_map(|field| (Just(field), 0..field.count, value(&field)))
}

fn bit_of(bytes: &[u8; 64], bit: usize) -> u8 {
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
