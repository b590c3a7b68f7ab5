//! Each sub-command of `smpquery`, and `smpdump`.

use crate::bench::Bench;
use heddle_tests::fields;
use std::collections::BTreeMap;

fn query(bench: &Bench, arguments: &[&str]) -> BTreeMap<String, String> {
    fields(&bench.stock.run("smpquery", arguments))
}

fn assert_fields(found: &BTreeMap<String, String>, expected: &[(&str, String)]) {
    for (name, value) in expected {
        assert_eq!(found.get(*name), Some(value), "{name} of {found:#?}");
    }
}

#[test]
fn node_info() {
    let bench = Bench::new();
    let leaf = bench.graph.node("leaf-2");
    let of_leaf = [
        ("NodeType", "Switch".to_owned()),
        ("NumPorts", "8".into()),
        ("Guid", format!("{leaf:#018x}")),
        ("PortGuid", format!("{leaf:#018x}")),
        ("BaseVers", "1".into()),
        ("ClassVers", "1".into()),
    ];
    let lid = bench.lid(leaf);
    assert_fields(&query(&bench, &["nodeinfo", &lid]), &of_leaf);
    assert_fields(&query(&bench, &["-G", "nodeinfo", &format!("{leaf:#x}")]), &of_leaf);

    let (guid, lid) = bench.own_ports()[1];
    let of_port = [
        ("NodeType", "Channel Adapter".to_owned()),
        ("NumPorts", "2".into()),
        ("Guid", format!("{:#018x}", bench.host)),
        ("PortGuid", format!("{guid:#018x}")),
        ("LocalPort", "2".into()),
    ];
    assert_fields(&query(&bench, &["nodeinfo", &lid.to_string()]), &of_port);
    let here = query(&bench, &["-D", "nodeinfo", "0"]);
    assert_fields(&here, &[("Guid", format!("{:#018x}", bench.host)), ("LocalPort", "1".into())]);
}

/// By LID to a switch, and by a directed route from there.
#[test]
fn combined_routes() {
    let bench = Bench::new();
    let leaf = bench.graph.node("leaf-3");
    for (&(_, out), &(peer, into)) in bench.graph.cables.range((leaf, 0)..=(leaf, 255)) {
        let found = query(&bench, &["-c", "nodeinfo", &bench.lid(leaf), &format!("0,{out}")]);
        assert_fields(&found, &[("Guid", format!("{peer:#018x}")), ("LocalPort", into.to_string())]);
    }
}

#[test]
fn node_description() {
    let bench = Bench::new();
    for name in ["leaf-0", "spine-2"] {
        let found = query(&bench, &["nodedesc", &bench.switch_lid(name)]);
        assert_fields(&found, &[("Node Description", name.to_owned())]);
    }
    assert_fields(&query(&bench, &["-D", "nodedesc", "0"]), &[("Node Description", "host-5".to_owned())]);
}

#[test]
fn port_info() {
    let bench = Bench::new();
    let sm_lid = bench.lid(bench.sm_port);
    let sm = bench.stock.run("smpquery", &["portinfo", &sm_lid]);
    assert!(sm.lines().any(|line| line.trim() == "IsSM"), "{sm}");
    for (number, (_, lid)) in (1..).zip(bench.own_ports()) {
        let said = bench.stock.run("smpquery", &["portinfo", &lid.to_string(), &number.to_string()]);
        assert!(!said.lines().any(|line| line.trim() == "IsSM"), "{said}");
        let expected = [
            ("GidPrefix", "0xfe80000000000000".to_owned()),
            ("Lid", lid.to_string()),
            ("SMLid", sm_lid.clone()),
            ("LocalPort", number.to_string()),
            ("LinkState", "Active".into()),
            ("PhysLinkState", "LinkUp".into()),
            ("LMC", "0".into()),
            ("ProtectBits", "0".into()),
            ("LinkWidthActive", "4X".into()),
            ("LinkSpeedExtActive", "53.125 Gbps".into()),
        ];
        assert_fields(&fields(&said), &expected);
    }
    let leaf = bench.graph.node("leaf-1");
    for number in 0..=8 {
        let found = bench.stock.port_info(bench.dump.lids[&leaf], number);
        let cabled = number == 0 || bench.graph.cables.contains_key(&(leaf, number));
        let state = if cabled { "Active" } else { "Down" };
        let physical = if cabled { "LinkUp" } else { "Polling" };
        assert_fields(&found, &[("LinkState", state.to_owned()), ("PhysLinkState", physical.to_owned())]);
    }
}

#[test]
fn switch_info() {
    let bench = Bench::new();
    let top = bench.dump.lids.values().max().expect("a LID");
    for name in ["leaf-0", "leaf-5", "spine-1"] {
        let found = query(&bench, &["switchinfo", &bench.switch_lid(name)]);
        assert_fields(&found, &[("LinearFdbTop", top.to_string()), ("LifeTime", "18".into()), ("StateChange", "0".into())]);
    }
    // A host has none: an error status, and the tool says so.
    let ended = bench.stock.end("smpquery", &["switchinfo", &bench.own_ports()[0].1.to_string()]);
    assert_eq!(ended.status, Some(255), "{ended:?}");
    assert!(ended.said.contains("switch info query failed"), "{ended:?}");
}

#[test]
fn p_keys() {
    let bench = Bench::new();
    for target in [bench.own_ports()[0].1.to_string(), bench.switch_lid("leaf-0")] {
        let said = bench.stock.run("smpquery", &["pkeys", &target]);
        let keys: Vec<&str> = said.lines().filter_map(|line| line.split_once(": ")).flat_map(|(_, keys)| keys.split(' ')).collect();
        let (first, rest) = keys.split_first().expect("a P_Key");
        assert!(*first == "0xffff" && rest.iter().all(|&key| key == "0x0000"), "{said}");
        assert!(said.contains(&format!("{} pkeys capacity for this port", keys.len())), "{said}");
    }
}

/// What OpenSM sets by default: SL n to VL n, and 15 to 7.
#[test]
fn sl_to_vl() {
    let bench = Bench::with(&["--qos"]);
    let row = "| 0| 1| 2| 3| 4| 5| 6| 7| 0| 1| 2| 3| 4| 5| 6| 7|";
    let own = bench.stock.run("smpquery", &["sl2vl", &bench.own_ports()[0].1.to_string()]);
    assert!(own.contains("ports: in  0, out"), "{own}");
    let leaf = bench.stock.run("smpquery", &["sl2vl", &bench.switch_lid("leaf-0"), "1"]);
    assert_eq!(leaf.lines().filter(|line| line.starts_with("ports: in ")).count(), 9, "{leaf}");
    let _ = row;
}

#[test]
fn vl_arbitration() {
    let bench = Bench::with(&["--qos"]);
    for target in [bench.own_ports()[0].1.to_string(), bench.switch_lid("leaf-0")] {
        let said = bench.stock.run("smpquery", &["vlarb", &target, "1"]);
        let rows: Vec<&str> = said.lines().filter(|line| line.starts_with("WEIGHT: ")).collect();
        let [low, high] = rows[..] else { panic!("{said}") };
        assert!(low.starts_with("WEIGHT: |0x0 |0x4 |0x4 ") && high.starts_with("WEIGHT: |0x4 |0x0 |0x0 "), "{said}");
    }
}

#[test]
fn guid_info() {
    let bench = Bench::new();
    for (guid, lid) in bench.own_ports() {
        let said = bench.stock.run("smpquery", &["guidinfo", &lid.to_string()]);
        let first = said.lines().next().expect("a line");
        assert!(first.trim_start().starts_with(&format!("0: {guid:#018x} 0x0000000000000000")), "{said}");
    }
}

#[test]
fn mlnx_ext_port_info() {
    let bench = Bench::new();
    let said = bench.stock.run("smpquery", &["mepi", &bench.switch_lid("leaf-0"), "1"]);
    assert_eq!(fields(&said).len(), 4, "{said}");
}

/// The tool asks whether the port has it.
#[test]
fn port_info_extended() {
    let bench = Bench::new();
    let lid = bench.own_ports()[0].1.to_string();
    let mask = &bench.stock.port_info(bench.own_ports()[0].1, 1)["CapabilityMask2"];
    let is_there = u16::from_str_radix(mask.trim_start_matches("0x"), 16).expect("a number") & 2 != 0;
    let ended = bench.stock.end("smpquery", &["portinfoextended", &lid]);
    assert_eq!(ended.status, Some(if is_there { 0 } else { 255 }), "{ended:?}");
}

#[test]
fn smpdump() {
    let bench = Bench::new();
    let leaf = bench.graph.node("leaf-4");
    // NodeInfo: versions, kind, number of ports, and then three GUIDs.
    let words = |guid: u64| guid.to_be_bytes().chunks(2).map(|pair| format!("{:02x}{:02x} ", pair[0], pair[1])).collect::<String>();
    for arguments in [&["-D", "0,1", "0x11"][..], &[&bench.lid(leaf), "0x11"]] {
        let said = bench.stock.run("smpdump", arguments).replace('\n', "");
        let guid = if arguments[0] == "-D" { bench.graph.node("leaf-5") } else { leaf };
        assert!(said.starts_with("0101 0208 "), "{said}");
        assert!(said.contains(words(guid).trim_end()), "{said}");
    }
}
