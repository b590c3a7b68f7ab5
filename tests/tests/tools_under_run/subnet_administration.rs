//! Each query of `saquery`, with as many records as there must be. Most answers take several packets.

use crate::bench::Bench;
use heddle_fabric::NodeKind;
use heddle_tests::{Ended, Lfts, assert_same, records};
use std::collections::{BTreeMap, BTreeSet};

type Record = BTreeMap<String, String>;

/// OpenSM trusts whoever knows this, its default `sm_key`.
const TRUSTED: [&str; 2] = ["--smkey", "1"];

fn query(bench: &Bench, arguments: &[&str]) -> Vec<Record> {
    records(&bench.stock.run("saquery", arguments))
}

/// A number, decimal or with `0x`.
fn number(record: &Record, name: &str) -> u64 {
    let value = record.get(name).unwrap_or_else(|| panic!("no {name} in {record:#?}"));
    let parsed = value.strip_prefix("0x").map_or_else(|| value.parse(), |hex| u64::from_str_radix(hex, 16));
    parsed.unwrap_or_else(|_| panic!("{name} is {value}"))
}

/// Records by two of their numbers; no two have the same.
fn by<'a>(records: &'a [Record], first: &str, second: &str) -> BTreeMap<(u64, u64), &'a Record> {
    let map: BTreeMap<_, _> = records.iter().map(|record| ((number(record, first), number(record, second)), record)).collect();
    assert_eq!(map.len(), records.len(), "two records have the same {first} and {second}");
    map
}

/// The LID and number of each port with a LID of its own: 0 for a switch.
fn end_ports(bench: &Bench) -> BTreeMap<u64, (u64, u64)> {
    let switches = bench.graph.nodes.keys().filter(|guid| bench.graph.is_switch(**guid)).map(|&guid| (guid, 0));
    let hosts = bench.graph.host_ports.iter().map(|(&(_, number), &guid)| (guid, u64::from(number)));
    switches.chain(hosts).map(|(guid, number)| (guid, (u64::from(bench.dump.lids[&guid]), number))).collect()
}

/// The LID and number of every port, those without a cable and port 0 of switches included.
fn all_ports(bench: &Bench) -> BTreeSet<(u64, u64)> {
    let mut ports: BTreeSet<_> = end_ports(bench).into_values().collect();
    for (guid, (_, count, _)) in bench.graph.nodes.iter().filter(|(guid, _)| bench.graph.is_switch(**guid)) {
        ports.extend((0..=*count).map(|number| (u64::from(bench.dump.lids[guid]), u64::from(number))));
    }
    ports
}

/// Of nodes: one for each port of a host.
#[test]
fn node_records() {
    let bench = Bench::new();
    for arguments in [&[][..], &["NR"], &["-N"]] {
        let found = query(&bench, arguments);
        let nodes: BTreeSet<u64> = found.iter().map(|record| number(record, "node_guid")).collect();
        assert!(nodes.iter().eq(bench.graph.nodes.keys()), "{nodes:x?}");
        let ports: BTreeMap<u64, (u64, u64)> =
            found.iter().map(|record| (number(record, "port_guid"), (number(record, "lid"), number(record, "port_num")))).collect();
        assert_same("ports of NodeRecords", &ports, &end_ports(&bench));
        assert_eq!(found.len(), ports.len());
        for record in &found {
            let (kind, count, name) = &bench.graph.nodes[&number(record, "node_guid")];
            let kind = if *kind == NodeKind::Switch { "Switch" } else { "Channel Adapter" };
            assert_eq!((record["node_type"].as_str(), number(record, "num_ports")), (kind, u64::from(*count)), "{record:#?}");
            assert_eq!(&record["NodeDescription"], name);
        }
    }
    let lid = bench.switch_lid("leaf-3");
    let found = query(&bench, &["NR", &lid]);
    assert!(found.len() == 1 && found[0]["NodeDescription"] == "leaf-3", "{found:#?}");
}

#[test]
fn port_info_records() {
    let bench = Bench::new();
    let found = query(&bench, &["PIR"]);
    let found = by(&found, "EndPortLid", "PortNum");
    assert!(found.keys().eq(&all_ports(&bench)), "{:?}", found.keys());
    for &(lid, port) in end_ports(&bench).values() {
        let record = found[&(lid, port)];
        assert_eq!((number(record, "Lid"), record["LinkState"].as_str()), (lid, "Active"), "{record:#?}");
    }
    // The tool's -s asks for the ports of subnet managers only.
    let managers = query(&bench, &["-s"]);
    let ports: Vec<u64> = managers.iter().map(|record| number(record, "base_lid")).collect();
    assert_eq!(ports, [u64::from(bench.dump.lids[&bench.sm_port])], "{managers:#?}");
}

#[test]
fn link_records() {
    let bench = Bench::new();
    let end = |at: &(u64, u8)| (u64::from(bench.dump.lids[&bench.graph.port_guid(*at)]), u64::from(at.1));
    let expected: BTreeMap<_, _> = bench.graph.cables.iter().map(|(from, to)| (end(from), end(to))).collect();
    for arguments in ["LR", "-x"] {
        let found = query(&bench, &[arguments]);
        let found = by(&found, "FromLID", "FromPort");
        let found = found.into_iter().map(|(from, record)| (from, (number(record, "ToLID"), number(record, "ToPort")))).collect();
        assert_same("LinkRecords", &found, &expected);
    }
}

/// All pairs of ports: some 70 KB.
#[test]
fn path_records() {
    let bench = Bench::new();
    let lids: BTreeSet<u64> = bench.dump.lids.values().map(|lid| u64::from(*lid)).collect();
    for arguments in ["PR", "-p"] {
        let found = query(&bench, &[arguments]);
        let found = by(&found, "slid", "dlid");
        let pairs: BTreeSet<_> = lids.iter().flat_map(|&from| lids.iter().map(move |&to| (from, to))).collect();
        assert!(found.keys().eq(&pairs), "{} of {} pairs", found.len(), pairs.len());
        for ((from, to), record) in found {
            let gid = |lid: u64| {
                let (guid, _) = bench.dump.lids.iter().find(|(_, own)| u64::from(**own) == lid).expect("its port");
                format!("fe80::{guid:x}")
            };
            assert_eq!((&record["sgid"], &record["dgid"]), (&gid(from), &gid(to)), "{record:#?}");
            assert_eq!((number(record, "pkey"), number(record, "sl")), (0xffff, 0), "{record:#?}");
        }
    }
    let [(from_guid, from), (to_guid, to)] = bench.own_ports()[..] else { panic!("two ports") };
    let by_lids = query(&bench, &["--src-to-dst", &format!("{from}:{to}")]);
    let by_gids = query(&bench, &["--sgid-to-dgid", &format!("fe80::{from_guid:x}-fe80::{to_guid:x}")]);
    assert_eq!(by_lids, by_gids);
    assert_eq!((number(&by_lids[0], "slid"), number(&by_lids[0], "dlid")), (u64::from(from), u64::from(to)));
}

#[test]
fn sm_info_records() {
    let bench = Bench::with(&["--priority", "7"]);
    let found = query(&bench, &["SMIR"]);
    let [record] = &found[..] else { panic!("{found:#?}") };
    assert_eq!(number(record, "LID"), u64::from(bench.dump.lids[&bench.sm_port]));
    assert_eq!((number(record, "GUID"), number(record, "Priority"), number(record, "SMState")), (bench.sm_port, 7, 3));
}

/// With QoS, since OpenSM knows the tables that it sets. Of a host's port there is one; of a switch, one for each way through it.
#[test]
fn sl_to_vl_records() {
    let bench = Bench::with(&["--qos"]);
    let found = query(&bench, &["SL2VL"]);
    let hosts = bench.graph.host_ports.len();
    let leaf: Vec<_> = found.iter().filter(|record| record["LID"] == bench.switch_lid("leaf-0")).collect();
    let ways: BTreeSet<_> = leaf.iter().map(|record| (number(record, "InPort"), number(record, "OutPort"))).collect();
    assert_eq!(ways.len(), leaf.len());
    assert!((1..=8).all(|out| (0..=8).all(|into| ways.contains(&(into, out)))), "{ways:?}");
    let switches = bench.graph.nodes.len() - 12;
    assert_eq!(found.len(), hosts + switches * leaf.len());
}

/// The SA asks for trust: without the key there is an error.
#[test]
fn p_key_table_records() {
    let bench = Bench::new();
    let Ended { status, errors, .. } = bench.stock.end("saquery", &["PKTR"]);
    assert!(status.is_some_and(|status| status != 0) && errors.contains("SA_ERR_REQ_INVALID"), "{status:?} {errors}");
    let said = bench.stock.run("saquery", &[&TRUSTED[..], &["PKTR"]].concat());
    let blocks: Vec<&str> = said.split("PKeyTableRecord dump:").skip(1).collect();
    assert!(blocks.len() >= end_ports(&bench).len(), "{said}");
    assert!(said.contains("0xffff"), "{said}");
}

#[test]
fn vl_arbitration_records() {
    let bench = Bench::with(&["--qos"]);
    let found = query(&bench, &["VLAR"]);
    let ports: BTreeSet<_> = found.iter().map(|record| (number(record, "LID"), number(record, "Port"))).collect();
    assert!(ports.is_subset(&all_ports(&bench)), "{ports:?}");
    assert!(end_ports(&bench).values().filter(|(_, port)| *port > 0).all(|port| ports.contains(port)), "{ports:?}");
}

#[test]
fn lft_records() {
    let bench = Bench::new();
    let said = bench.stock.run("saquery", &["LFTR"]);
    let mut found = Lfts::new();
    for record in said.split("LFT Record dump:").skip(1) {
        let fields = heddle_tests::fields(record);
        let (switch, _) = bench.dump.lids.iter().find(|(_, lid)| u64::from(**lid) == number(&fields, "LID")).expect("a switch");
        let row = found.entry(*switch).or_default();
        let entries = record.lines().filter_map(|line| line.trim().split_once('\t'));
        let entries: BTreeMap<usize, u8> = entries.filter_map(|(lid, port)| Some((lid.parse().ok()?, port.parse().ok()?))).collect();
        assert_eq!(entries.len(), 64, "{record}");
        let base = 64 * number(&fields, "Block") as usize;
        row.resize(row.len().max(base + 64), 255);
        (base..base + 64).for_each(|lid| row[lid] = entries[&lid]);
    }
    for row in found.values_mut() {
        row.truncate(row.iter().rposition(|&port| port != 255).map_or(0, |last| last + 1));
    }
    assert_same("tables by LFTRecords", &found, &bench.dump.lfts);
}

#[test]
fn switch_info_records() {
    let bench = Bench::new();
    let found = query(&bench, &["SWIR"]);
    let found = by(&found, "LID", "LinearFDBTop");
    let top = bench.dump.lids.values().max().expect("a LID");
    let switches = bench.graph.nodes.keys().filter(|guid| bench.graph.is_switch(**guid));
    let expected: BTreeSet<_> = switches.map(|guid| (u64::from(bench.dump.lids[guid]), u64::from(*top))).collect();
    assert!(found.keys().eq(&expected), "{:?}", found.keys());
}

#[test]
fn guid_info_records() {
    let bench = Bench::new();
    let found = query(&bench, &["GIR"]);
    let found = by(&found, "LID", "Block");
    for (guid, (lid, _)) in end_ports(&bench) {
        let record = found.get(&(lid, 0)).unwrap_or_else(|| panic!("LID {lid}: {:?}", found.keys()));
        assert_eq!((number(record, "GUID 0"), number(record, "GUID 1")), (guid, 0), "{record:#?}");
    }
}

/// The group of IPoIB, which OpenSM makes itself, and which nobody joined.
#[test]
fn multicast_records() {
    let bench = Bench::new();
    for arguments in [&["-g"][..], &["-m"], &["MCMR"]] {
        let found = query(&bench, arguments);
        let [record] = &found[..] else { panic!("{found:#?}") };
        let mlid = if record.contains_key("Mlid") { "Mlid" } else { "mlid" };
        assert_eq!((record["MGID"].as_str(), number(record, mlid)), ("ff12:401b:ffff::ffff:ffff", 0xc000), "{arguments:?}");
    }
    assert_eq!(bench.stock.run("saquery", &["MFTR"]), "");
}

/// Nobody registered anything.
#[test]
fn registrations() {
    let bench = Bench::new();
    for arguments in [["IIR"], ["-I"], ["SR"], ["-S"]] {
        assert_eq!(bench.stock.run("saquery", &arguments), "", "{arguments:?}");
    }
}

#[test]
fn class_port_info() {
    let bench = Bench::new();
    for arguments in [["CPI"], ["-c"]] {
        let said = bench.stock.run("saquery", &arguments);
        let found = heddle_tests::fields(&said);
        assert_eq!((found["Base version"].as_str(), found["Class version"].as_str()), ("1", "2"), "{said}");
    }
}

#[test]
fn names() {
    let bench = Bench::new();
    let leaf = bench.graph.node("leaf-4");
    let run = |arguments: &[&str]| bench.stock.run("saquery", arguments);
    for option in ["-L", "-l"] {
        assert_eq!(run(&[option, "leaf-4"]).trim(), bench.lid(leaf), "{option}");
    }
    assert_eq!(run(&["-G", "leaf-4"]).trim(), format!("{leaf:#018x}"));
    assert_eq!(run(&["-O", &bench.lid(leaf)]).trim(), "leaf-4");
    assert_eq!(run(&["-U", &format!("{leaf:#x}")]).trim(), "leaf-4");
    let list = run(&["-D"]);
    let names: BTreeSet<&str> = list.lines().filter_map(|line| line.split('"').nth(1)).collect();
    let hosts = bench.graph.nodes.values().filter(|(kind, ..)| *kind == NodeKind::Ca);
    assert!(hosts.clone().all(|(.., name)| names.contains(name.as_str())), "{list}");
}
