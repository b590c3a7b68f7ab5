//! What only a model that nobody has can show.

use super::*;
use crate::models;
use heddle_fabric::NodeIndex;
use heddle_mad::wire::{AttributeId, Field, Path};
use proptest::prelude::*;

/// A host with one port beside a switch, both of this model where it is of their kind.
fn network(model: &str) -> Network {
    let fabric = heddle_fabric::generate("ring:3,hosts=1").unwrap().build();
    let mut network = Network::new(&fabric);
    let model: &'static models::Model = Box::leak(Box::new(models::parse(model).unwrap().remove(0)));
    for index in 0..network.devices.len() {
        if network.devices[index].switch.is_none() {
            network.devices[index].model = model;
            network.reset(NodeIndex(index as u32));
        }
    }
    network
}

const MODEL: &str = r#"[{
    "name": "made up", "kind": "ca", "vendor": "0x1", "devices": ["0x1"], "speeds": ["SDR", "HDR", "NDR", "XDR"], "widths": [4],
    "capability_mask": "0xc000", "capability_mask_2": "0x1", "partition_cap": 40, "guid_cap": 9, "data_vls": 2,
    "vl_arbitration_cap": 40, "mtu_cap": 2048, "resp_time_value": 1,
    "hides_extended_speeds": true, "never_answers": ["0x18"]
}]"#;

fn ask(network: &mut Network, mad: &mut Mad) -> Reply {
    let host = (0..).map(NodeIndex).find(|&node| network.device(node).switch.is_none()).unwrap();
    answer(network, PortRef::new(host, 1), None, Time::ZERO, mad)
}

fn asked(network: &mut Network, method: Method, attribute: AttributeId, modifier: u32, data: [u8; 64]) -> Mad {
    let mut mad = Mad::directed(&Path::local(), method, attribute, modifier);
    mad.set_smp_data(&data);
    assert!(ask(network, &mut mad).answered);
    mad
}

#[test]
fn extended_speeds_can_be_hidden_from_managers_that_do_not_know_them() {
    let mut network = network(MODEL);
    let mut seen = |modifier| {
        let info: PortInfo = asked(&mut network, Method::GET, PortInfo::ID, modifier, [0; 64]).attribute();
        (info.link_speed_supported(), info.link_speed_ext_supported(), info.link_speed_ext_supported_2())
    };
    assert_eq!(seen(1 << 31), (1, 12, 1));
    assert_eq!(seen(0), (1, 0, 0));
}

#[test]
fn an_attribute_can_be_never_answered() {
    let mut network = network(MODEL);
    let mut mad = Mad::directed(&Path::local(), Method::GET, VlArbitration::ID, 1 << 16);
    assert_eq!(ask(&mut network, &mut mad), Reply::default());
    assert_eq!(mad.method(), Method::GET);
}

#[test]
fn a_node_description_can_be_set_where_the_mask_says_so() {
    let mut network = network(MODEL);
    let name = NodeDescription::from_text("new name");
    assert_eq!(asked(&mut network, Method::SET, NodeDescription::ID, 0, *name.bytes()).status(), Status::OK);
    let answer: NodeDescription = asked(&mut network, Method::GET, NodeDescription::ID, 0, [0; 64]).attribute();
    assert_eq!(answer.to_string(), "new name");
}

/// Sizes that are no whole number of blocks: what lies beyond them is not kept.
#[test]
fn the_last_block_of_a_table_can_be_a_part() {
    let mut network = network(MODEL);
    for (attribute, last, kept) in [(PKeyTable::ID, 1, 8 * 2), (GuidInfo::ID, 1, 8)] {
        let answer = asked(&mut network, Method::SET, attribute, last, [0x11; 64]);
        assert_eq!(answer.status(), Status::OK);
        assert_eq!(answer.smp_data()[..kept], [0x11; 64][..kept]);
        assert_eq!(answer.smp_data()[kept..], [0; 64][kept..], "{attribute:?}");
        assert_eq!(asked(&mut network, Method::SET, attribute, last + 1, [0; 64]).status(), Status::BAD_FIELD);
    }
}

/// The fields of PortInfo that a manager can write at a host's port (IBA 14.2.5.6, access RW) or that follow from such a write.
const WRITABLE: [&str; 28] = [
    "M_Key",
    "GidPrefix",
    "LID",
    "MasterSMLID",
    "M_KeyLeasePeriod",
    "LinkWidthEnabled",
    "PortState",
    "PortPhysicalState",
    "LinkDownDefaultState",
    "M_KeyProtectBits",
    "LMC",
    "LinkSpeedEnabled",
    "NeighborMTU",
    "MasterSMSL",
    "InitType",
    "VLHighLimit",
    "VLStallCount",
    "HOQLife",
    "OperationalVLs",
    "M_KeyViolations",
    "P_KeyViolations",
    "Q_KeyViolations",
    "SubnetTimeOut",
    "LocalPhyErrors",
    "OverrunErrors",
    "LinkSpeedExtEnabled2",
    "LinkSpeedExtEnabled",
    "ClientReregister",
];

/// A field of PortInfo and a value that fits.
fn change() -> impl Strategy<Value = (Field, u64)> {
    prop::sample::select(PortInfo::FIELDS).prop_flat_map(|field| {
        let max = field.max();
        (Just(field), prop_oneof![Just(0), Just(1), Just(max), 0..=max])
    })
}

proptest! {
    /// Whatever a Set asks for: what it may not write stays; when it is refused, all stays; when it is not, a Get brings what it answered.
    #[test]
    fn a_set_writes_what_may_be_written_or_nothing(changes in prop::collection::vec(prop::collection::vec(change(), 1..4), 1..20)) {
        let mut network = network(MODEL);
        let host = (0..).map(NodeIndex).find(|&node| network.device(node).switch.is_none()).unwrap();
        let at = PortRef::new(host, 1);
        for changes in changes {
            let before = network.port(at).unwrap().info;
            let mut bytes = *before.bytes();
            let mut wanted = PortInfo::from_bytes(bytes);
            wanted.set_port_state(0);
            wanted.set_port_physical_state(0);
            bytes = *wanted.bytes();
            for (field, value) in changes {
                field.write(&mut bytes, value);
            }
            let mut mad = Mad::directed(&Path::local(), Method::SET, PortInfo::ID, 1 << 31);
            mad.set_m_key(before.m_key());
            mad.set_smp_data(&bytes);
            let reply = answer(&mut network, at, None, Time::ZERO, &mut mad);
            prop_assert!(reply.answered);
            let after = network.port(at).unwrap().info;
            for field in PortInfo::FIELDS.iter().filter(|field| !WRITABLE.contains(&field.name)) {
                prop_assert_eq!(field.read(before.bytes()), field.read(after.bytes()), "{}", field.name);
            }
            prop_assert!(!after.client_reregister());
            if mad.status() != Status::OK {
                prop_assert_eq!((mad.status(), before), (Status::BAD_FIELD, after));
                continue;
            }
            let mut answered: PortInfo = mad.attribute();
            answered.set_client_reregister(false);
            answered.set_local_port_num(after.local_port_num());
            if reply.effect.is_some() {
                answered.set_port_state(after.port_state());
                answered.set_port_physical_state(after.port_physical_state());
            }
            prop_assert_eq!(answered, after);
        }
    }
}
