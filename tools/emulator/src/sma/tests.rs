//! What only a model that nobody has can show.

use super::*;
use crate::models;
use heddle_fabric::NodeIndex;
use heddle_mad::wire::{AttributeId, Path};

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
