//! Multicast tables as OpenSM writes and ibdmchk reads them, and lists of groups. Needs Debian's `ibutils`.

use heddle_engines::{Engine, Options, multicast, route};
use heddle_fabric::{
    Fabric, Group, Guid, Link, Mlid, MulticastTables, NodeIndex, NodeKind, NodeSpec, PortRef, SwitchIndex, Tables, generate,
};
use heddle_formats::{WarningKind, read_groups, read_mfts, write_opensm_dumps};
use proptest::prelude::*;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

fn fabric(spec: &str) -> Fabric {
    let mut builder = generate(spec).unwrap();
    builder.assign_lids().unwrap();
    builder.build()
}

fn mlid(mlid: u16) -> Mlid {
    Mlid::new(mlid).unwrap()
}

fn up_down(fabric: &Fabric) -> Tables {
    route(Engine::UpDown, fabric, &Options::default()).unwrap()
}

/// What OpenSM 3.3.23 wrote (`-R minhop -D 0x47`) for `gen:clos2:4` on ibsim, with a broadcast group of five hosts (`-S`).
const BY_OPENSM: &str = "
Switch 0x0200000100000000
LID    : Out Port(s)
0xC000 : 0x001  0x002  0x003\x20

Switch 0x0200000100000010
LID    : Out Port(s)
0xC000 : 0x002  0x003\x20

Switch 0x0200000100000020
LID    : Out Port(s)
0xC000 : 0x002  0x003\x20

Switch 0x0200000100000030
LID    : Out Port(s)
0xC000 : 0x002  0x003\x20

Switch 0x0200000100000040
LID    : Out Port(s)
0xC000 : 0x001  0x002  0x003  0x004\x20
";

fn mcfdbs(folder: &Path) -> String {
    fs::read_to_string(folder.join("opensm.mcfdbs")).unwrap()
}

#[test]
fn what_opensm_writes_is_read_and_written_as_it_was() {
    let fabric = fabric("clos2:4");
    let (tables, warnings) = read_mfts(BY_OPENSM.as_bytes(), "opensm.mcfdbs", &fabric).unwrap();
    assert!(warnings.is_empty());
    assert_eq!(tables.mlids().collect::<Vec<_>>(), [mlid(0xc000)]);
    let ports = |guid| {
        let switch = fabric.switch_index(fabric.node_by_guid(Guid(guid)).unwrap()).unwrap();
        tables.ports(mlid(0xc000), switch).collect::<Vec<u8>>()
    };
    assert_eq!((ports(0x0200000100000000), ports(0x0200000100000040)), (vec![1, 2, 3], vec![1, 2, 3, 4]));
    let folder = tempfile::tempdir().unwrap();
    write_opensm_dumps(folder.path(), &fabric, &up_down(&fabric), Some(&tables)).unwrap();
    assert_eq!(mcfdbs(folder.path()), BY_OPENSM);
    write_opensm_dumps(folder.path(), &fabric, &up_down(&fabric), None).unwrap();
    assert_eq!(mcfdbs(folder.path()), "", "OpenSM's is empty without groups");
    assert!(read_mfts(b"", "opensm.mcfdbs", &fabric).unwrap().0 == MulticastTables::new(&fabric));
}

/// What ibdmchk says of a folder of dumps, multicast in the search for credit loops included.
fn ibdmchk(folder: &Path) -> String {
    let output = Command::new("ibdmchk")
        .args(["-s", "opensm-subnet.lst", "-f", "opensm.fdbs", "-m", "opensm.mcfdbs", "-M"])
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .expect("ibdmchk runs (Debian package ibutils)");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn group(number: u16, members: &[PortRef], senders: &[PortRef]) -> Group {
    Group { mlid: mlid(0xc000 + number), sl: 0, members: members.to_vec(), senders: senders.to_vec() }
}

#[test]
fn ibdmchk_finds_each_member_and_no_loop() {
    for spec in ["clos2:4", "clos3:4", "random:switches=12,degree=4,hosts=2,seed=1", "torus:4x4,hosts=1", "ring:6,hosts=2"] {
        let fabric = fabric(spec);
        let unicast = up_down(&fabric);
        let hosts: Vec<PortRef> = fabric.end_ports().iter().filter(|end| end.is_host()).map(|end| end.at).collect();
        let groups =
            [group(0, &hosts, &[]), group(1, &hosts[1..5], &[]), group(33, &hosts[..1], &[]), group(0x3ffe, &hosts[2..6], &hosts[3..5])];
        let tables = multicast(&fabric, &unicast, &groups, &Options::default()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        write_opensm_dumps(folder.path(), &fabric, &unicast, Some(&tables)).unwrap();
        let said = ibdmchk(folder.path());
        for group in &groups {
            let of_group = format!("Multicast Group:0x{:X} has:", group.mlid.get());
            let line = said.lines().find(|line| line.contains(&of_group)).unwrap_or_else(|| panic!("{spec}: {of_group} in {said}"));
            assert!(line.ends_with(&format!(" switches and:{} HCAs", group.members.len())), "{spec}: {line}");
        }
        let is_multicast = |line: &&str| line.starts_with("-I- Multicast Group:");
        assert_eq!(said.lines().filter(is_multicast).count(), groups.len());
        assert!(said.contains("no credit loops found") && !said.contains("-E-") && !said.contains("-W-"), "{spec}: {said}");
        let (read, warnings) = read_mfts(mcfdbs(folder.path()).as_bytes(), "opensm.mcfdbs", &fabric).unwrap();
        assert!(read == tables && warnings.is_empty(), "{spec}");
    }
}

/// It takes each tree to be used both ways, and so tells of the branches of those who only send.
#[test]
fn ibdmchk_finds_what_is_wrong() {
    let fabric = fabric("clos2:4");
    let unicast = up_down(&fabric);
    let hosts: Vec<PortRef> = fabric.end_ports().iter().filter(|end| end.is_host()).map(|end| end.at).collect();
    let mut tables = multicast(&fabric, &unicast, &[group(0, &hosts, &[])], &Options::default()).unwrap();
    // Two leaves joined over both spines: a ring.
    for switch in (0..fabric.switch_count() as u32).map(SwitchIndex) {
        fabric.arcs(switch).iter().for_each(|arc| _ = tables.insert(mlid(0xc000), switch, arc.port));
    }
    let folder = tempfile::tempdir().unwrap();
    write_opensm_dumps(folder.path(), &fabric, &unicast, Some(&tables)).unwrap();
    assert!(ibdmchk(folder.path()).contains("-E- Found a loop on MLID:0xC000"));
    let tables = multicast(&fabric, &unicast, &[group(0, &hosts[..2], &hosts[2..])], &Options::default()).unwrap();
    write_opensm_dumps(folder.path(), &fabric, &unicast, Some(&tables)).unwrap();
    let said = ibdmchk(folder.path());
    assert!(said.contains("has MFT entry of group:0xC000 but is disconnceted from it") && !said.contains("-E-"), "{said}");
}

#[test]
fn tables_that_make_no_sense_are_refused_with_their_place() {
    let fabric = fabric("clos2:4");
    let head = "Switch 0x0200000100000000\nLID    : Out Port(s)\n";
    for (text, refusal) in [
        ("0xC000 : 0x001\n".to_owned(), "1:1: an entry before any switch"),
        ("Switch 0x17\n".to_owned(), "1:8: the fabric has no switch with GUID 0x0000000000000017: is this a dump of another fabric?"),
        ("Switch x\n".to_owned(), "1:8: expected a switch's GUID, found \"x\""),
        (format!("{head}{head}"), "3:8: a second table for switch 0x0200000100000000; the first is in line 1"),
        (format!("{head}0xBFFF : 0x001\n"), "3:1: expected a multicast LID, 0xc000 to 0xfffe, found \"0xBFFF : 0x001\""),
        (format!("{head}0xFFFF : 0x001\n"), "3:1: expected a multicast LID, 0xc000 to 0xfffe, found \"0xFFFF : 0x001\""),
        (format!("{head}0xC000 0x001\n"), "3:8: expected \":\" and ports, found \"0x001\""),
        (format!("{head}0xC000 : 0x001  2\n"), "3:17: expected a port as 0x and digits, found \"2\""),
        (
            format!("{head}0xC000 : 0x001  0x005\n"),
            "3:17: MLID 0xc000 goes to port 5, but \"leaf-0\" (0x0200000100000000) has ports 0 to 4",
        ),
        (format!("{head}0xC000 : 0x001\n0xC000 : 0x002\n"), "4:1: a second entry for MLID 0xc000 of this switch"),
    ] {
        let error = read_mfts(text.as_bytes(), "x", &fabric).unwrap_err();
        assert_eq!(error.to_string(), format!("x:{refusal}"));
    }
    let (tables, warnings) = read_mfts(format!("hello\n{head}0xC001 : 0x000 \n0xC000 : 0x0").as_bytes(), "x", &fabric).unwrap();
    assert_eq!(tables.mlids().collect::<Vec<_>>(), [mlid(0xc001)]);
    let kinds: Vec<WarningKind> = warnings.iter().map(|warning| warning.kind).collect();
    assert_eq!(kinds, [WarningKind::SkippedLine, WarningKind::Truncated]);
}

/// A switch with a host of one port, one of two, and one without a cable.
fn hosts_of_all_kinds() -> Fabric {
    let mut builder = heddle_fabric::FabricBuilder::new();
    let mut add = |kind, guid, ports, name: &str| builder.add_node(NodeSpec::new(kind, Guid(guid), ports, name)).unwrap();
    let switch = add(NodeKind::Switch, 0x10, 4, "switch");
    let [one, two] = [add(NodeKind::Ca, 0x20, 1, "one"), add(NodeKind::Ca, 0x30, 2, "two")];
    add(NodeKind::Ca, 0x40, 1, "lone");
    for (number, at) in [PortRef::new(one, 1), PortRef::new(two, 1), PortRef::new(two, 2)].into_iter().enumerate() {
        builder.connect(at, PortRef::new(switch, number as u8 + 1), Link::default()).unwrap();
        builder.port_mut(at).unwrap().guid = Guid([0x21, 0x31, 0x32][number]);
    }
    builder.port_mut(PortRef::new(switch, 0)).unwrap().guid = Guid(0x10);
    builder.assign_lids().unwrap();
    builder.build()
}

#[test]
fn groups_are_read() {
    let fabric = hosts_of_all_kinds();
    let text = "# all of them\n\n0xc000 0 all\n 0xFFFE 15 0x20 0x0000000000000031 # by node and by port\r\n0xc001 3\n0xc002 1 0x10 send 0x32 all\n";
    let (groups, warnings) = read_groups(text.as_bytes(), "x", &fabric).unwrap();
    assert!(warnings.is_empty());
    let port = |node: u32, port| PortRef::new(NodeIndex(node), port);
    let (all, by_guid) = (vec![port(1, 1), port(2, 1), port(2, 2)], vec![port(1, 1), port(2, 1)]);
    let with_switch = [vec![port(2, 2)], all.clone()].concat();
    let expected = [
        Group { mlid: mlid(0xc000), sl: 0, members: all, senders: vec![] },
        Group { mlid: mlid(0xfffe), sl: 15, members: by_guid, senders: vec![] },
        Group { mlid: mlid(0xc001), sl: 3, members: vec![], senders: vec![] },
        Group { mlid: mlid(0xc002), sl: 1, members: vec![port(0, 0)], senders: with_switch },
    ];
    assert_eq!(groups, expected);
    for (text, refusal) in [
        ("0xbfff 0 all", "1:1: expected a multicast LID, 0xc000 to 0xfffe, found \"0xbfff 0 all\""),
        ("0xc000 16 all", "1:8: expected an SL, 0 to 15, found \"16 all\""),
        ("0xc000", "1:7: expected an SL, 0 to 15, found the end of the line"),
        ("0xc000 0 0x99", "1:10: the fabric has no node or port with GUID 0x0000000000000099"),
        ("0xc000 0 0x40", "1:10: no switch carries a port of 0x0000000000000040"),
        ("0xc000 0 0x30", "1:10: 0x0000000000000030 has 2 ports that switches carry: give the GUID of one of them"),
        ("0xc000 0 0x20,0x31", "1:10: expected a GUID as 0x and digits, \"all\" or \"send\", found \"0x20,0x31\""),
        ("0xc000 0 send 0x20 send", "1:20: expected a GUID as 0x and digits, \"all\" or \"send\", found \"send\""),
        ("0xc000 0\n#\n0xc000 1", "3:1: a second group with MLID 0xc000; the first is in line 1"),
    ] {
        assert_eq!(read_groups(text.as_bytes(), "x", &fabric).unwrap_err().to_string(), format!("x:{refusal}"));
    }
}

proptest! {
    #[test]
    fn nothing_panics(bytes in prop::collection::vec(any::<u8>(), 0..300), text in "(0x[cC][0-9]{3}|[0-9 ]| : |0x00[0-9]|Switch 0x0200000100000000\n|send|all|\n){0,30}") {
        let fabric = fabric("clos2:4");
        for bytes in [&bytes[..], text.as_bytes()] {
            let _ = read_mfts(bytes, "x", &fabric);
            let _ = read_groups(bytes, "x", &fabric);
        }
    }
}
