//! Every oddity of dumps in the field, each in a small fixture of our own making.

use heddle_fabric::{Fabric, FabricBuilder, Guid, Link, LinkSpeed, LinkWidth, NodeKind, PortRef};
use heddle_formats::{Format, Loaded, ReadError, WarningKind, read};

/// Two switches and two hosts, as `ibnetdiscover` prints them.
const DUMP: &str = "#\n# Topology file: generated on Mon Jan  5 10:00:00 2026\n#\n\
# Initiated from node 0000000000000100 port 0000000000000101\n\n\
vendid=0x2c9\ndevid=0xd2f0\nsysimgguid=0x13\nswitchguid=0x10(10)\n\
Switch\t36 \"S-0000000000000010\"\t\t# \"leaf one\" enhanced port 0 lid 3 lmc 0\n\
[1]\t\"H-0000000000000100\"[1](101) \t\t# \"host one\" lid 1 4xHDR\n\
[36]\t\"S-0000000000000020\"[36]\t\t# \"leaf two\" lid 4 4xFDR10\n\n\
vendid=0x2c9\ndevid=0xd2f0\nsysimgguid=0x23\nswitchguid=0x20(20)\n\
Switch\t36 \"S-0000000000000020\"\t\t# \"leaf two\" base port 0 lid 4 lmc 0\n\
[2]\t\"H-0000000000000200\"[2](202) \t\t# \"host two\" lid 6 1xSDR\n\
[36]\t\"S-0000000000000010\"[36]\t\t# \"leaf one\" lid 3 4xFDR10\n\n\
vendid=0x2c9\ndevid=0x1017\nsysimgguid=0x100\ncaguid=0x100\n\
Ca\t1 \"H-0000000000000100\"\t\t# \"host one\"\n\
[1](101) \t\"S-0000000000000010\"[1]\t\t# lid 1 lmc 0 \"leaf one\" lid 3 4xHDR\n\n\
vendid=0x2c9\ndevid=0x1017\nsysimgguid=0x200\ncaguid=0x200\n\
Ca\t2 \"H-0000000000000200\"\t\t# \"host two\"\n\
[2](202) \t\"S-0000000000000020\"[2]\t\t# lid 6 lmc 1 \"leaf two\" lid 4 1xSDR\n";

fn load(text: impl AsRef<[u8]>) -> Loaded {
    read(text.as_ref(), "test.dump", None).unwrap_or_else(|error| panic!("{error}"))
}

fn refusal(text: impl AsRef<[u8]>) -> ReadError {
    read(text.as_ref(), "test.dump", None).unwrap_err()
}

/// The kinds of warnings with their lines.
fn warned(loaded: &Loaded) -> Vec<(WarningKind, usize)> {
    loaded.warnings.iter().map(|warning| (warning.kind, warning.line)).collect()
}

fn port(builder: &FabricBuilder, node: u64, port: u8) -> PortRef {
    PortRef::new(builder.node_by_guid(Guid(node)).unwrap(), port)
}

fn lid(builder: &FabricBuilder, node: u64, number: u8) -> Option<u16> {
    builder.port(port(builder, node, number)).unwrap().lid.map(heddle_fabric::Lid::get)
}

/// That this is the fabric of [`DUMP`].
fn check_dump(loaded: &Loaded) {
    let builder = &loaded.builder;
    let of_kind = |kind| builder.nodes().iter().filter(|node| node.kind == kind).count();
    assert_eq!((of_kind(NodeKind::Switch), of_kind(NodeKind::Ca)), (2, 2));
    let leaf = &builder.nodes()[0];
    assert_eq!((leaf.guid, leaf.num_ports, leaf.description.as_str()), (Guid(0x10), 36, "leaf one"));
    assert_eq!((leaf.vendor_id, leaf.device_id, leaf.system_image_guid), (0x2c9, 0xd2f0, Guid(0x13)));
    let link = |width, speed| Link { width: Some(width), speed: Some(speed) };
    assert_eq!(builder.peer(port(builder, 0x10, 36)), Some((port(builder, 0x20, 36), link(LinkWidth::X4, LinkSpeed::Fdr10))));
    assert_eq!(builder.peer(port(builder, 0x20, 2)), Some((port(builder, 0x200, 2), link(LinkWidth::X1, LinkSpeed::Sdr))));
    assert_eq!(builder.peer(port(builder, 0x100, 1)), Some((port(builder, 0x10, 1), link(LinkWidth::X4, LinkSpeed::Hdr))));
    assert_eq!(
        [lid(builder, 0x10, 0), lid(builder, 0x20, 0), lid(builder, 0x100, 1), lid(builder, 0x200, 2)],
        [Some(3), Some(4), Some(1), Some(6)]
    );
    assert_eq!(builder.port(port(builder, 0x200, 2)).unwrap().lmc, 1);
    assert_eq!(builder.port(port(builder, 0x200, 2)).unwrap().guid, Guid(0x202));
}

#[test]
fn plain() {
    let loaded = load(DUMP);
    check_dump(&loaded);
    assert_eq!(loaded.format, Format::Ibnetdiscover);
    assert_eq!(warned(&loaded), []);
    assert_eq!(loaded.sm_port, Some(port(&loaded.builder, 0x100, 1)));
}

#[test]
fn line_ends() {
    for end in ["\r\n", "\r\r\n", "\r"] {
        let loaded = load(DUMP.replace('\n', end));
        check_dump(&loaded);
        assert_eq!(warned(&loaded), [], "{end:?}");
    }
    // A carriage return within a file of line feeds is no line end to an editor, but separates.
    let loaded = load(DUMP.replacen('\n', "\rprompt # \r", 5));
    check_dump(&loaded);
}

#[test]
fn blanks_and_tabs() {
    for text in
        [DUMP.replace('\t', ""), DUMP.replace('\t', " "), DUMP.replace("\t\t", "    ").replace('\t', "  "), DUMP.replace("\n\n", "\n")]
    {
        let loaded = load(&text);
        check_dump(&loaded);
        assert_eq!(warned(&loaded), [], "{text}");
    }
    let loaded = load(DUMP.replace("\n\n", "\n \n").replace("\t\t# ", " #"));
    check_dump(&loaded);
    assert_eq!(warned(&loaded), []);
}

#[test]
fn byte_order_mark() {
    let loaded = load(format!("\u{feff}{DUMP}"));
    check_dump(&loaded);
    assert_eq!(warned(&loaded), [(WarningKind::ByteOrderMark, 1)]);
    let utf16: Vec<u8> = std::iter::once(0xfeff).chain(DUMP.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    assert!(refusal(utf16).reason.contains("UTF-16"));
}

#[test]
fn banner_prompt_and_tool_errors() {
    let text = format!(
        "=~=~= terminal log =~=~=\n[admin@sm ~]# ibnetdiscover\nsrc/query_smp.c:195; umad (DR path slid 0; dlid 0; 0,1) bad status 110; \
         Connection timed out\n{DUMP}Switch to another terminal\n\rhost [ active ] (config) # "
    );
    let loaded = load(text);
    check_dump(&loaded);
    let last = DUMP.lines().count() + 4;
    assert_eq!(
        warned(&loaded),
        [
            (WarningKind::SkippedLine, 1),
            (WarningKind::SkippedLine, 2),
            (WarningKind::ToolError, 3),
            (WarningKind::SkippedLine, last),
            (WarningKind::SkippedLine, last + 1)
        ]
    );
    let summary = loaded.warnings.summary();
    assert!(summary[0].starts_with("4 x line skipped, first at line 1: "), "{summary:?}");
    assert!(summary[1].starts_with("1 x error message of the dump tool skipped, first at line 3: "), "{summary:?}");
}

#[test]
fn chassis_headings() {
    let text =
        DUMP.replace("[36]\t", "[36][ext 4]\t").replacen("\n\n", "\n\nChassis 1 (guid 0x13)\n\nNon-Chassis Nodes\n\n# Chassis 1\n", 1);
    let loaded = load(text);
    check_dump(&loaded);
    assert_eq!(warned(&loaded), []);
}

#[test]
fn full_form() {
    let loaded = load(DUMP.replace("4xHDR\n", "4xHDR s=0 w=2 v=4 e=4\n").replace("1xSDR\n", "1xSDR s=1 w=1 v=4\n"));
    check_dump(&loaded);
    assert_eq!(warned(&loaded), []);
}

#[test]
fn descriptions() {
    for name in ["a \"quoted\" one", "rack # 4", "[1](2) {3} \"S-1\"[2]", "  blanks  ", "", "s=9 w=77 lid 8 4xSDR", "Größe"] {
        let loaded = load(DUMP.replace("host two", name));
        let node = loaded.builder.node_by_guid(Guid(0x200)).unwrap();
        assert_eq!(loaded.builder.nodes()[node.index()].description, name);
        assert_eq!(warned(&loaded), []);
        check_dump(&loaded);
    }
    let mut bytes = DUMP.as_bytes().to_vec();
    let at = DUMP.find("Ca\t1").unwrap() + "Ca\t1 \"H-0000000000000100\"\t\t# \"".len();
    bytes[at] = 0xff;
    let loaded = load(bytes);
    let node = loaded.builder.node_by_guid(Guid(0x100)).unwrap();
    assert_eq!(loaded.builder.nodes()[node.index()].description, "\u{fffd}ost one");
    assert_eq!(warned(&loaded), [(WarningKind::NotUtf8, 26)]);
}

#[test]
fn cut_anywhere() {
    for end in 1..DUMP.len() {
        match read(&DUMP.as_bytes()[..end], "cut.dump", None) {
            Err(error) => assert!(error.to_string().starts_with("cut.dump:"), "{error}"),
            // What is not cut off is as in the whole file.
            Ok(loaded) => {
                for (node, number, whole) in [(0x10, 0, 3), (0x20, 0, 4), (0x100, 1, 1), (0x200, 2, 6)] {
                    if loaded.builder.node_by_guid(Guid(node)).is_some() {
                        assert!([None, Some(whole)].contains(&lid(&loaded.builder, node, number)), "cut after {end} bytes");
                    }
                }
            }
        }
    }
    let loaded = load(&DUMP[..DUMP.find("1 4xHDR").unwrap()]);
    assert!(warned(&loaded).contains(&(WarningKind::Truncated, 11)), "{:?}", loaded.warnings);
    let loaded = load(&DUMP[..DUMP.find("ne\" lid 1").unwrap()]);
    assert!(warned(&loaded).contains(&(WarningKind::Truncated, 11)), "{:?}", loaded.warnings);
}

#[test]
fn nothing_in_it() {
    assert_eq!(refusal("").to_string(), "test.dump:1:1: the file is empty");
    assert!(refusal("\n\n \n").reason.contains("the file is blank"));
    let error = refusal("\n\nhello there\n");
    assert_eq!((error.line, error.column), (3, 1));
    assert!(error.reason.contains("\"hello there\""), "{error}");
    assert!(refusal("vendid=0x2c9\n").reason.contains("no node found"));
}

#[test]
fn other_formats() {
    for (text, name) in [
        ("{ SW Ports:08 SystemGUID:1 }\n", ".lst"),
        ("{\"network_info\":{\"network_type\":2}}\n", "netloc"),
        ("{\n  \"nodes\": []\n}\n", "JSON"),
        ("TOPSYSTEM A,B\n\nNODE SW 8 X U1\n", ".ibnl"),
        ("# made by hand\nTYPE8 SW-1\n   P1 -> Adapter H-1 P1\n", ".topo"),
        ("#---\n\nDIRECTOR SL1\n\t L1/P1 -8X-5G-> Adapter H-1 P1\n", ".topo"),
        ("#StartDevice,StartPort,EndDevice,EndPort,LinkType\n", ".ndt"),
        ("SwitchName=s1 Nodes=n[1-4]\n", "Slurm"),
        ("strict digraph \"x\" {\n", "Graphviz"),
        ("Unicast lids [0-5] of switch Lid 3 guid 0x10 ('x'):\n", "forwarding tables"),
        ("dump_ucast_routes: Switch 0x10\n", "forwarding tables"),
        ("CA: host one:\n", "iblinkinfo"),
        ("Ca\t: 0x0000000000000100 ports 1 devid 0x1 vendid 0x2 \"h\"\n", "node list"),
    ] {
        let error = refusal(text);
        assert!(error.reason.contains(name) && error.reason.contains("not supported"), "{error}");
    }
    assert_eq!("ibsim".parse(), Ok(Format::IbsimNetlist));
    assert!("topo".parse::<Format>().unwrap_err().to_string().contains("\"topo\""));
}

#[test]
fn duplicate_nodes() {
    let record = "switchguid=0x10(10)\nSwitch\t8 \"S-0000000000000010\"\t# \"one\" base port 0 lid 3 lmc 0\n\
                  [1]\t\"S-0000000000000010\"[2]\t# \"one\" lid 3 4xHDR\n[2]\t\"S-0000000000000010\"[1]\t# \"one\" lid 3 4xHDR\n";
    let loaded = load(format!("{record}\n{record}"));
    assert_eq!(warned(&loaded), [(WarningKind::RepeatedNode, 7)]);
    let loaded = load(format!("{record}\n{}", record.replace("\"one\"", "\"two\"")));
    assert_eq!(warned(&loaded), [(WarningKind::ConflictingNode, 7)]);
    assert_eq!(loaded.builder.nodes().len(), 1);
    assert_eq!(loaded.builder.nodes()[0].description, "one");
    // One GUID under two ids: cables to the second node are left out with it.
    let other =
        "caguid=0x10\nCa\t1 \"H-00000000000000aa\"\t# \"h\"\n[1](11)\t\"S-0000000000000010\"[4]\t# lid 5 lmc 0 \"one\" lid 3 4xHDR\n";
    let loaded = load(format!("{record}[4]\t\"H-00000000000000aa\"[1](11)\t# \"h\" lid 5 4xHDR\n\n{other}"));
    assert_eq!(warned(&loaded), [(WarningKind::ConflictingNode, 8), (WarningKind::CableLeftOut, 5)]);
}

#[test]
fn one_way_cables_and_unknown_nodes() {
    let loaded = load(DUMP.replace("[36]\t\"S-0000000000000010\"[36]\t\t# \"leaf one\" lid 3 4xFDR10\n", ""));
    check_dump(&loaded);
    assert_eq!(warned(&loaded), [(WarningKind::OneWayCable, 12)]);
    let loaded = load(&DUMP[..DUMP.find("\n\nvendid=0x2c9\ndevid=0x1017\nsysimgguid=0x200").unwrap() + 1]);
    check_dump_without_lmc(&loaded);
    assert_eq!(warned(&loaded), [(WarningKind::UnknownNode, 19)]);
    let loaded = load("Switch 8 \"S-0000000000000010\"\n[1] \"S-0000000000000020\"[7]\n[2] \"R-0000000000000030\"[1]\n");
    assert_eq!(
        loaded.builder.nodes().iter().map(|node| (node.kind, node.num_ports)).collect::<Vec<_>>(),
        [(NodeKind::Switch, 8), (NodeKind::Switch, 7), (NodeKind::Router, 1)]
    );
    assert_eq!(loaded.builder.nodes()[1].description, "unknown");
}

fn check_dump_without_lmc(loaded: &Loaded) {
    let builder = &loaded.builder;
    assert_eq!(builder.nodes().len(), 4);
    assert_eq!(builder.peer(port(builder, 0x20, 2)).unwrap().0, port(builder, 0x200, 2));
    assert_eq!(lid(builder, 0x200, 2), Some(6));
    assert_eq!(builder.nodes()[3].description, "host two");
}

#[test]
fn strange_cables() {
    let header = "switchguid=0x10(10)\nSwitch 8 \"S-0000000000000010\" # \"one\" base port 0 lid 3 lmc 0\n";
    // A loopback cable is legal, a port in itself is not.
    let loaded = load(format!("{header}[1] \"S-0000000000000010\"[1] # \"one\" lid 3 4xHDR\n"));
    assert_eq!(warned(&loaded), [(WarningKind::SelfCable, 3)]);
    assert_eq!(loaded.builder.peer(port(&loaded.builder, 0x10, 1)), None);
    // Ports that nobody can have.
    let loaded = load(format!("{header}[9] \"S-0000000000000010\"[1]\n[1] \"S-0000000000000010\"[0]\n[1] \"S-0000000000000010\"[300]\n"));
    assert_eq!(warned(&loaded), [(WarningKind::NoSuchPort, 3), (WarningKind::NoSuchPort, 4), (WarningKind::NoSuchPort, 5)]);
    // The first of two cables in one port stays, a repeated line does no harm.
    let pair = "[1] \"S-0000000000000010\"[2] # \"one\" lid 3 4xHDR\n[2] \"S-0000000000000010\"[1] # \"one\" lid 3 4xHDR\n";
    let loaded = load(format!(
        "{header}{pair}[1] \"S-0000000000000010\"[3] # \"one\" lid 3 4xHDR\n[2] \"S-0000000000000010\"[1] # \"\" lid 3 4xHDR\n"
    ));
    assert_eq!(warned(&loaded), [(WarningKind::ConflictingCable, 5), (WarningKind::RepeatedPort, 6)]);
    let loaded = load(format!("{header}[1] \"S-0000000000000010\"[2]\n[3] \"S-0000000000000010\"[2]\n"));
    assert_eq!(loaded.warnings.count(WarningKind::ConflictingCable), 1);
    // Lines that cannot be read.
    let loaded = load(format!("{header}[1] S-0000000000000010[2]\n[2] \"S-00000000\n[3]\n"));
    assert_eq!(warned(&loaded), [(WarningKind::MalformedLine, 3), (WarningKind::MalformedLine, 4), (WarningKind::MalformedLine, 5)]);
    assert!(loaded.warnings.iter().next().unwrap().text.starts_with("column 5: expected a node id in quotes"));
    let loaded = load(format!("[1] \"S-0000000000000010\"[2]\n{header}"));
    assert_eq!(warned(&loaded), [(WarningKind::MalformedLine, 1)]);
}

#[test]
fn ends_that_disagree() {
    let text = DUMP.replacen("\"leaf two\" lid 4 4xFDR10", "\"leaf two\" lid 4 1xHDR", 1);
    let loaded = load(text);
    assert_eq!(warned(&loaded), [(WarningKind::LinkDiffers, 20)]);
    let link = loaded.builder.peer(port(&loaded.builder, 0x10, 36)).unwrap().1;
    assert_eq!(link, Link { width: Some(LinkWidth::X1), speed: Some(LinkSpeed::Fdr10) });
}

#[test]
fn lids() {
    for none in ["0", "65535"] {
        let loaded = load(DUMP.replace("lid 6 ", &format!("lid {none} ")));
        assert_eq!(warned(&loaded), [(WarningKind::UnassignedLid, 34)]);
        assert_eq!(lid(&loaded.builder, 0x200, 2), None);
    }
    let loaded = load(DUMP.replace("lid 6 ", "lid 49152 ").replace("lmc 1", "lmc 8"));
    assert_eq!(warned(&loaded), [(WarningKind::InvalidLid, 34), (WarningKind::InvalidLid, 34)]);
    let loaded = load(DUMP.replace("lid 6 lmc 1", "lid 8 lmc 1"));
    assert_eq!(warned(&loaded), [(WarningKind::ConflictingLid, 19)]);
    assert_eq!(lid(&loaded.builder, 0x200, 2), Some(8));
    // Two LIDs at 6, of which the second is another port's.
    let loaded = load(DUMP.replace("lid 4 ", "lid 7 "));
    assert_eq!(warned(&loaded), [(WarningKind::DuplicateLid, 33)]);
}

#[test]
fn port_counts() {
    for count in ["0", "255", "300", "99999999999999999999"] {
        let error = refusal(DUMP.replace("Switch\t36 \"S-0000000000000020\"", &format!("Switch\t{count} \"S-0000000000000020\"")));
        assert_eq!((error.line, error.column), (18, 8));
        assert!(error.reason.starts_with("a node has 1 to 254 ports, not "), "{error}");
    }
    load("Switch 254 \"S-0000000000000010\"\n");
    let error = refusal("Switch 36 S-0000000000000010\n");
    assert_eq!(error.to_string(), "test.dump:1:11: expected a node id in quotes, found \"S-0000000000000010\"");
}

#[test]
fn no_switch_and_two_halves() {
    let loaded = load("caguid=0x100\nCa\t1 \"H-0000000000000100\"\t\t# \"host one\"\n");
    assert_eq!(warned(&loaded), []);
    let fabric: Fabric = loaded.builder.build();
    assert_eq!((fabric.nodes().len(), fabric.switch_count(), fabric.end_ports().len()), (1, 0, 0));
    let half =
        "Switch 8 \"S-0000000000000010\"\n[1] \"H-0000000000000020\"[1]\n\nCa 1 \"H-0000000000000020\"\n[1] \"S-0000000000000010\"[1]\n";
    let loaded = load(format!("{half}\n{}", half.replace("0000010", "0000030").replace("0000020", "0000040")));
    assert_eq!(warned(&loaded), []);
    assert_eq!(loaded.builder.build().switch_count(), 2);
}

#[test]
fn zero_guid() {
    let loaded = load("switchguid=0x0(0)\nSwitch 8 \"S-0000000000000000\"\n[1] \"H-0000000000000000\"[1]\n\nCa 1 \"H-0000000000000000\"\n");
    assert_eq!(loaded.warnings.count(WarningKind::ZeroGuid), 2);
    let guids: Vec<Guid> = loaded.builder.nodes().iter().map(|node| node.guid).collect();
    assert!(guids[0] != guids[1] && !guids.contains(&Guid(0)), "{guids:?}");
}

const NETLIST: &str = "# words as ids\nSwitch\t8 \"Core 1\"\n[1]\t\"alpha\"[1]\tw=1 s=2\n[2]\t\"beta\"[2]\n\n\
Hca 2 \"alpha\"\n[1] \"Core 1\"[1]\n\nHca \t2 \"beta\"\t# \"w=77\"\n[2]\t\"Core 1\"[2]\n";

#[test]
fn netlist() {
    let loaded = load(NETLIST);
    assert_eq!(loaded.format, Format::IbsimNetlist);
    assert_eq!(warned(&loaded), [(WarningKind::InventedGuid, 2), (WarningKind::InventedGuid, 6), (WarningKind::InventedGuid, 9)]);
    let names: Vec<&str> = loaded.builder.nodes().iter().map(|node| node.description.as_str()).collect();
    assert_eq!(names, ["Core 1", "alpha", "w=77"]);
    let switch = loaded.sm_port.unwrap();
    assert_eq!((switch.node.index(), switch.port), (0, 0));
    let link = loaded.builder.peer(PortRef::new(switch.node, 1)).unwrap().1;
    assert_eq!(link, Link { width: Some(LinkWidth::X1), speed: Some(LinkSpeed::Ddr) });
    // GUIDs depend on the id alone: FNV-1a of "Core 1" is 0x237c3ee9da40bf31, calculated apart from this program.
    assert_eq!(loaded.builder.nodes()[0].guid, Guid(0x027c_3ee9_da40_bf31));
    let shorter = load(&NETLIST[..NETLIST.find("Hca \t2").unwrap()]);
    assert_eq!(shorter.builder.nodes()[0].guid, loaded.builder.nodes()[0].guid);
    assert!(refusal(format!("include \"other\"\n{NETLIST}")).reason.contains("not followed"));
    assert_eq!(load(format!("do dump\nwidth=4\n{NETLIST}")).warnings.count(WarningKind::Command), 2);
}

const ONE_LINE: &str = "CA   134  1 0x0000000000000101 4x EDR - SW  1719 10 0x0000000000000010 ( 'host one' - 'leaf - 1 ' )\n\
SW  1719 10 0x0000000000000010 4x EDR - CA   134  1 0x0000000000000101 ( 'leaf - 1 ' - 'host one' )\n\
SW  1719 11 0x0000000000000010 4x EDR - SW    20  1 0x0000000000000020 ( 'leaf - 1 ' - 'leaf 2' )\n\
SW  1719 37 0x0000000000000010 4x ???                                    'leaf - 1 '\n\
SW    20 80 0x0000000000000020 4x SDR                                    leaf 2\n\
SW    21  3 0x0000000000000021 ??x QDR                                   ' alone'\n\n";

#[test]
fn one_line_a_port() {
    let loaded = load(ONE_LINE);
    assert_eq!(loaded.format, Format::IbnetdiscoverPorts);
    assert_eq!(warned(&loaded), [(WarningKind::OneWayCable, 3)]);
    let nodes: Vec<_> =
        loaded.builder.nodes().iter().map(|node| (node.kind, node.guid.0, node.num_ports, node.description.as_str())).collect();
    assert_eq!(
        nodes,
        [
            (NodeKind::Ca, 0x101, 1, "host one"),
            (NodeKind::Switch, 0x10, 37, "leaf - 1 "),
            (NodeKind::Switch, 0x20, 80, "leaf 2"),
            (NodeKind::Switch, 0x21, 3, " alone")
        ]
    );
    assert_eq!(
        [lid(&loaded.builder, 0x101, 1), lid(&loaded.builder, 0x10, 0), lid(&loaded.builder, 0x20, 0)],
        [Some(134), Some(1719), Some(20)]
    );
    let link = Link { width: Some(LinkWidth::X4), speed: Some(LinkSpeed::Edr) };
    assert_eq!(loaded.builder.peer(port(&loaded.builder, 0x10, 10)), Some((port(&loaded.builder, 0x101, 1), link)));
}

#[test]
fn one_line_a_port_oddities() {
    let conflict = "CA 78 1 0x0000000000000bfe 4x HDR - SW 51 81 0x0000000000000010 ( 'an' - 'leaf' )\n\
                    SW 9 81 0x0000000000000020 4x HDR - CA 60 1 0x0000000000000bfe ( 'spine' - 'an' )\n";
    let loaded = load(conflict);
    assert_eq!(loaded.warnings.count(WarningKind::ConflictingNode), 1);
    assert_eq!(loaded.builder.nodes().len(), 4, "both lines are kept");
    let second = loaded.builder.peer(port(&loaded.builder, 0x20, 81)).unwrap().0;
    assert_eq!(loaded.builder.port(second).unwrap().lid.unwrap().get(), 60);
    let loaded = load(format!("{ONE_LINE}prompt #\nCA 1 1 0x5 4y\nCA 1 300 0x0000000000000005 4x SDR 'x'\n"));
    let kinds: Vec<_> = warned(&loaded).into_iter().map(|(kind, _)| kind).take(3).collect();
    assert_eq!(kinds, [WarningKind::SkippedLine, WarningKind::MalformedLine, WarningKind::MalformedLine]);
    for end in 1..ONE_LINE.len() {
        let _ = read(&ONE_LINE.as_bytes()[..end], "cut", None);
    }
}

#[test]
fn long_description() {
    // 62 bytes and one of two bytes fit, one of three does not; the name of a neighbour without a record is cut as well.
    let name = format!("{}ä", "n".repeat(62));
    let loaded = load(format!("Switch 8 \"S-0000000000000010\" # \"{name}\"\n"));
    assert_eq!((warned(&loaded), loaded.builder.nodes()[0].description.as_str()), (vec![], &*name));
    let line = format!("Switch 8 \"S-0000000000000010\" # \"{0}€\"\n[1] \"H-0000000000000020\"[1] # \"{0}x and more\"\n", &name[..63 - 1]);
    let loaded = load(line);
    assert_eq!(loaded.warnings.count(WarningKind::LongDescription), 2);
    assert_eq!(loaded.builder.nodes()[0].description, "n".repeat(62));
    assert_eq!(loaded.builder.nodes()[1].description, format!("{}x ", "n".repeat(62)));
    // Replacement characters take three bytes each.
    let loaded = load([b"Switch 8 \"S-0000000000000010\" # \"".as_slice(), &[0xff; 64], b"\"\n"].concat());
    assert_eq!((warned(&loaded), loaded.builder.nodes()[0].description.chars().count()), (vec![(WarningKind::NotUtf8, 1)], 21));
}

#[test]
fn netlist_begins_with_a_port_that_is_not_there() {
    for (first, expected) in [("[0]", None), ("[3]", None), ("[300]", None), ("[3] \"a\"[1]\n[2]", Some(2))] {
        let loaded = load(format!("Hca 2 \"host\"\n{first} \"a\"[2]\n\nSwitch 4 \"a\"\n"));
        assert_eq!(loaded.sm_port.map(|at| at.port), expected, "{first}");
    }
}

#[test]
fn more_nodes_than_lids() {
    // 0xbfff unicast LIDs (IBA 4.1.3); repeated records do not count.
    let nodes = |count: usize| (0..count).map(|node| format!("Ca 1 \"n{node}\"\n")).collect::<String>();
    let most = 0xbfff;
    assert_eq!(load(nodes(most) + &nodes(9)).builder.nodes().len(), most);
    let refused = refusal(nodes(most + 1));
    assert_eq!((refused.line, refused.reason.contains("49151 unicast LIDs")), (most + 1, true), "{refused}");
    // Those count that only a neighbour names.
    assert!(refusal(nodes(most) + "[1] \"one more\"[1]\n").reason.contains("49151 unicast LIDs"));
}
