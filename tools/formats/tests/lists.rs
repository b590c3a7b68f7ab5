//! Lists for routing engines: what is read, and what is wrong at which place.

use heddle_fabric::{Fabric, Guid, generate};
use heddle_formats::{WarningKind, Warnings, read_guids, read_ids, read_port_orders, read_port_weights, read_ports};
use std::collections::BTreeMap;

/// Switches 0x0200000100000000 and then every 0x10, with 4 ports each; hosts from 0x0200000200000000 on, whose port has GUID + 1.
fn fabric() -> Fabric {
    generate("clos2:4").unwrap().build()
}

const SWITCH: Guid = Guid(0x0200_0001_0000_0000);
const SECOND: Guid = Guid(0x0200_0001_0000_0010);
const HOST_PORT: Guid = Guid(0x0200_0002_0000_0001);

fn kinds(warnings: &Warnings) -> Vec<(usize, WarningKind)> {
    warnings.iter().map(|warning| (warning.line, warning.kind)).collect()
}

#[test]
fn guids_are_in_the_order_of_the_file() {
    let text = b"# roots\n\n  0x0200000100000010 # second\r\n0X200000100000000\n0x0200000200000001#a host's port";
    let (guids, warnings) = read_guids(text, "roots", &fabric()).unwrap();
    assert_eq!(guids, [SECOND, SWITCH, HOST_PORT]);
    assert!(warnings.is_empty());
}

#[test]
fn what_is_odd_is_left_out_and_told() {
    let text = b"\xef\xbb\xbf0x0200000100000000\n0x123\n0x0200000100000000\n";
    let (guids, warnings) = read_guids(text, "roots", &fabric()).unwrap();
    assert_eq!(guids, [SWITCH]);
    assert_eq!(kinds(&warnings), [(1, WarningKind::ByteOrderMark), (2, WarningKind::UnknownGuid), (3, WarningKind::RepeatedGuid)]);
    let texts: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    assert_eq!(texts[1], "line 2: the fabric has no node or port with GUID 0x0000000000000123");
    assert_eq!(texts[2], "line 3: 0x0200000100000000 is in line 1 already, which is used");
}

#[test]
fn r1_a_list_without_a_guid_is_told() {
    for text in [&b""[..], b"# nothing\n\n"] {
        let (guids, warnings) = read_guids(text, "roots", &fabric()).unwrap();
        assert!(guids.is_empty());
        assert_eq!(kinds(&warnings), [(1, WarningKind::EmptyList)]);
    }
}

#[test]
fn numbers_ports_and_weights_are_read() {
    let fabric = fabric();
    let (ids, _) = read_ids(b"0x0200000100000000 18446744073709551615\n0x0200000100000010\t0\n", "ids", &fabric).unwrap();
    assert_eq!(ids, BTreeMap::from([(SWITCH, u64::MAX), (SECOND, 0)]));
    let (ports, _) = read_ports(b"0x0200000100000010 4\n0x0200000100000010 1\n", "ports", &fabric).unwrap();
    assert_eq!(ports, [(SECOND, 4), (SECOND, 1)]);
    let (weights, _) = read_port_weights(b"0x0200000100000000 3 255 # slow\n", "weights", &fabric).unwrap();
    assert_eq!(weights, BTreeMap::from([((SWITCH, 3), 255)]));
    let (orders, _) = read_port_orders(b"0x0200000100000000 3 1  4\n", "orders", &fabric).unwrap();
    assert_eq!(orders, BTreeMap::from([(SWITCH, vec![3, 1, 4])]));
    let (ports, warnings) = read_ports(b"0x0200000100000010 4\n0x0200000100000010 4\n", "ports", &fabric).unwrap();
    assert_eq!(ports, [(SECOND, 4)]);
    assert_eq!(warnings.iter().next().unwrap().to_string(), "line 2: port 4 of 0x0200000100000010 is in line 1 already, which is used");
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let fabric = fabric();
    let guids = |text: &[u8]| read_guids(text, "f", &fabric).unwrap_err().to_string();
    let ids = |text: &[u8]| read_ids(text, "f", &fabric).unwrap_err().to_string();
    let ports = |text: &[u8]| read_ports(text, "f", &fabric).unwrap_err().to_string();
    let weights = |text: &[u8]| read_port_weights(text, "f", &fabric).unwrap_err().to_string();
    let orders = |text: &[u8]| read_port_orders(text, "f", &fabric).unwrap_err().to_string();
    const GUID: &str = "expected a GUID such as 0x0002c90300a1b2c3, found";
    for (said, begin) in [
        (guids(b"0x0200000100000000\nroot\n"), format!("f:2:1: {GUID} \"root\"")),
        (guids(b"  0\n"), format!("f:1:3: {GUID} \"0\"")),
        (guids(b"0x0\n"), format!("f:1:1: {GUID}")),
        (guids(b"0x\n"), format!("f:1:1: {GUID}")),
        (guids(b"0x12345678123456781\n"), format!("f:1:1: {GUID}")),
        (guids(b"0x0200000100000000g\n"), format!("f:1:1: {GUID}")),
        (guids(b"\x80\xfe\x00\n"), format!("f:1:1: {GUID}")),
        (guids(b"\xff\xfe0\0x\0"), "f:1:1: the file is UTF-16 text".to_owned()),
        (
            guids(b"0x0200000100000000 spine\n"),
            "f:1:20: expected the end of the line or a comment that begins with #, found \"spine\"".to_owned(),
        ),
        (
            guids(b"0x77\n0x78\n"),
            "f:1:1: the fabric has no node or port with GUID 0x0000000000000077, nor any other of this file".to_owned(),
        ),
        (ids(b"0x0200000100000000\n"), "f:1:19: expected a number below 2^64, found the end of the line".to_owned()),
        (
            ids(b"0x0200000100000000 18446744073709551616\n"),
            "f:1:20: expected a number below 2^64, found \"18446744073709551616\"".to_owned(),
        ),
        (ids(b"0x0200000100000000 5 6\n"), "f:1:22: expected the end of the line".to_owned()),
        (ports(b"0x0200000100000000 5\n"), "f:1:20: expected a port of \"leaf-0\", 1 to 4, found \"5\"".to_owned()),
        (ports(b"0x0200000100000000 0\n"), "f:1:20: expected a port of \"leaf-0\", 1 to 4, found \"0\"".to_owned()),
        (ports(b"0x0200000200000001 1\n"), "f:1:1: the fabric has no node with GUID 0x0200000200000001".to_owned()),
        (weights(b"0x0200000200000000 1 1\n"), "f:1:1: the fabric has no switch with GUID 0x0200000200000000".to_owned()),
        (weights(b"0x0200000100000000 1 256\n"), "f:1:22: expected a weight, 1 to 255, found \"256\"".to_owned()),
        (weights(b"0x0200000100000000 1 0\n"), "f:1:22: expected a weight, 1 to 255, found \"0\"".to_owned()),
        (weights(b"0x0200000100000000 1 2x\n"), "f:1:22: expected a weight, 1 to 255, found \"2x\"".to_owned()),
        (orders(b"0x0200000100000000\n"), "f:1:19: expected a port of \"leaf-0\", 1 to 4".to_owned()),
        (orders(b"0x0200000100000000 1 2 1\n"), "f:1:24: port 1 is in this line twice".to_owned()),
    ] {
        assert!(said.starts_with(&begin), "\"{said}\" does not begin with \"{begin}\"");
    }
}
