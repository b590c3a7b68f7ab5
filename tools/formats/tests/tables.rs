//! OpenSM's dump files, judged by ibdmchk, and dumps of forwarding tables read back. Needs Debian's `ibutils` and `ibsim-utils`.

use heddle_engines::{Engine, Options, route};
use heddle_fabric::{Fabric, Guid, Lid, NO_PORT, NodeIndex, Tables, generate};
use heddle_formats::{WarningKind, read, read_lfts, write_file, write_ibnetdiscover, write_netlist, write_opensm_dumps};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

fn tree() -> Fabric {
    let mut builder = generate("clos2:4").unwrap();
    builder.node_mut(NodeIndex(0)).description = "core {1} \"x\"".to_owned();
    builder.assign_lids().unwrap();
    builder.build()
}

fn dumps(fabric: &Fabric, tables: &Tables) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let files = write_opensm_dumps(folder.path(), fabric, tables, None).unwrap();
    assert_eq!(files.len(), 4);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4, "no temporary file is left");
    folder
}

/// What `ibdmchk` says of a folder of dumps.
fn ibdmchk(folder: &Path) -> String {
    let output = Command::new("ibdmchk")
        .args(["-s", "opensm-subnet.lst", "-f", "opensm.fdbs", "-m", "opensm.mcfdbs"])
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .expect("ibdmchk runs (Debian package ibutils)");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn ibdmchk_finds_a_tree_clean() {
    let fabric = tree();
    let tables = route("up-down".parse::<Engine>().unwrap(), &fabric, &Options::default()).unwrap();
    let said = ibdmchk(dumps(&fabric, &tables).path());
    assert!(said.contains("Scanned:56 CA to CA paths"), "8 hosts are 56 pairs: {said}");
    assert!(said.contains("no credit loops found"), "{said}");
    assert!(!said.contains("-E-") && !said.contains("Wrong syntax"), "{said}");
}

#[test]
fn ibdmchk_finds_what_is_missing() {
    let fabric = tree();
    let mut tables = route("up-down".parse::<Engine>().unwrap(), &fabric, &Options::default()).unwrap();
    tables.rows_mut().iter_mut().step_by(3).for_each(|port| *port = NO_PORT);
    assert!(ibdmchk(dumps(&fabric, &tables).path()).contains("-E-"));
}

/// Two leaves a and b with a host each, and a spine between them; the leaves are also cabled to each other.
const TRIANGLE: &str = "switchguid=0x10(10)\nSwitch 4 \"S-0000000000000010\" # \"spine\" base port 0 lid 3 lmc 0\n\
[1] \"S-0000000000000020\"[2] # \"a\" lid 4 4xHDR\n[2] \"S-0000000000000030\"[2] # \"b\" lid 5 4xHDR\n\
switchguid=0x20(20)\nSwitch 4 \"S-0000000000000020\" # \"a\" base port 0 lid 4 lmc 0\n\
[1] \"H-0000000000000100\"[1](101) # \"host {1}\" lid 1 1xFDR10\n[2] \"S-0000000000000010\"[1] # \"spine\" lid 3 4xHDR\n\
[3] \"S-0000000000000030\"[3] # \"b\" lid 5 2xNDR\n\
switchguid=0x30(30)\nSwitch 4 \"S-0000000000000030\" # \"b\" base port 0 lid 5 lmc 0\n\
[1] \"H-0000000000000200\"[1](201) # \"host 2\" lid 7 4xHDR\n[2] \"S-0000000000000010\"[2] # \"spine\" lid 3 4xHDR\n\
[3] \"S-0000000000000020\"[3] # \"a\" lid 4 2xNDR\n\
vendid=0x2c9\ndevid=0x1017\nsysimgguid=0x100\ncaguid=0x100\nCa 1 \"H-0000000000000100\" # \"host {1}\"\n\
[1](101) \"S-0000000000000020\"[1] # lid 1 lmc 0 \"a\" lid 4 1xFDR10\n\
caguid=0x200\nCa 2 \"H-0000000000000200\" # \"host 2\"\n[1](201) \"S-0000000000000030\"[1] # lid 7 lmc 0 \"b\" lid 5 4xHDR\n";

fn triangle() -> Fabric {
    let loaded = read(TRIANGLE.as_bytes(), "triangle", None).unwrap();
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
    loaded.builder.build()
}

/// A detour from a to host 2, a loop from b and the spine to host 1, and a hole.
const TRIANGLE_ROUTES: &str = "dump_ucast_routes: Switch 0x0000000000000010
LID    : Port : Hops : Optimal
0x0001 : 002  : HOPS UNKNOWN
0x0002 : UNREACHABLE
0x0003 : 000  : 00   : yes
0x0004 : 001  : 01   : yes
0x0005 : 002  : 01   : yes
0x0006 : UNREACHABLE
0x0007 : 002  : 02   : yes
dump_ucast_routes: Switch 0x0000000000000020
LID    : Port : Hops : Optimal
0x0001 : 001  : 01   : yes
0x0002 : UNREACHABLE
0x0003 : 002  : 01   : yes
0x0004 : 000  : 00   : yes
0x0005 : 003  : 01   : yes
0x0006 : UNREACHABLE
0x0007 : 002  : 03   : No 2 hop path possible via port 3!
dump_ucast_routes: Switch 0x0000000000000030
LID    : Port : Hops : Optimal
0x0001 : 002  : HOPS UNKNOWN
0x0002 : UNREACHABLE
0x0003 : UNREACHABLE
0x0004 : 003  : 01   : yes
0x0005 : 000  : 00   : yes
0x0006 : UNREACHABLE
0x0007 : 001  : 01   : yes
";

#[test]
fn dumps_as_opensm_writes_them() {
    let fabric = triangle();
    let (tables, warnings) = read_lfts(TRIANGLE_ROUTES.as_bytes(), "by hand", &fabric).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    let folder = dumps(&fabric, &tables);
    let file = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(file("opensm.fdbs"), TRIANGLE_ROUTES);
    assert_eq!(file("opensm.mcfdbs"), "");
    let lfts = file("opensm-lfts.dump");
    let begin = "Unicast lids [0-7] of switch Lid 3 guid 0x0000000000000010 ('spine'):\n\
                 0x0001 002 # Channel Adapter portguid 0x0000000000000101: 'host {1}'\n\
                 0x0003 000 # Switch portguid 0x0000000000000010: 'spine'\n";
    assert!(lfts.starts_with(begin), "{lfts}");
    assert!(lfts.ends_with("0x0007 001 # Channel Adapter portguid 0x0000000000000201: 'host 2'\n7 lids dumped\n"), "{lfts}");
    // The layout of OpenSM 3.3.23, as seen on ibsim; a brace would end the description for ibdmchk.
    let line = "{ CA Ports:01 SystemGUID:0000000000000100 NodeGUID:0000000000000100 PortGUID:0000000000000101 VenID:0002C9 DevID:1017 \
                Rev:00000000 {host (1)} LID:0001 PN:01 } { SW Ports:04 SystemGUID:0000000000000000 NodeGUID:0000000000000020 \
                PortGUID:0000000000000020 VenID:00000000 DevID:00000000 Rev:00000000 {a} LID:0004 PN:01 } PHY=1x LOG=ACT SPD=FDR10";
    assert!(file("opensm-subnet.lst").lines().any(|found| found == line), "{}", file("opensm-subnet.lst"));
    assert_eq!(file("opensm-subnet.lst").lines().count(), 10, "each cable from both ends");
    let (again, warnings) = read_lfts(lfts.as_bytes(), "again", &fabric).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    for switch in (0..3).map(heddle_fabric::SwitchIndex) {
        assert_eq!(again.row(switch), tables.row(switch));
    }
}

const DUMP_FTS: &str = "Unicast lids [0x0-0x7] of switch DR path slid 0; dlid 0; 0,1 guid 0x0000000000000020 (a):
  Lid  Out   Destination
       Port     Info 
0x0000 255 : (path #0 - illegal port)
0x0001 001 : (Channel Adapter portguid 0x0000000000000101: 'host portguid 0x9')
0x0003 002 
0x0009 003 : (unknown)
3 valid lids dumped 
";

#[test]
fn dump_fts() {
    let fabric = triangle();
    let (tables, warnings) = read_lfts(DUMP_FTS.as_bytes(), "fts", &fabric).unwrap();
    let a = fabric.switch_index(fabric.node_by_guid(Guid(0x20)).unwrap()).unwrap();
    let ports: Vec<u8> = [1, 3, 4].map(|lid| tables.port(a, Lid::new(lid).unwrap())).to_vec();
    assert_eq!(ports, [1, 2, NO_PORT]);
    let kinds: Vec<_> = warnings.iter().map(|warning| (warning.kind, warning.line)).collect();
    assert_eq!(kinds, [(WarningKind::UnknownLid, 7), (WarningKind::MissingTable, 8), (WarningKind::MissingTable, 8)]);
}

#[test]
fn tables_that_are_refused() {
    let fabric = triangle();
    let refusal = |text: &str| read_lfts(text.as_bytes(), "fts", &fabric).unwrap_err().to_string();
    let port = refusal(&DUMP_FTS.replace("0x0003 002", "0x0003 200"));
    assert_eq!(port, "fts:6:8: LID 3 goes to port 200, but \"a\" (0x0000000000000020) has ports 0 to 4");
    let other = refusal(&DUMP_FTS.replace("0000020 (a)", "0000099 (a)"));
    assert!(other.starts_with("fts:1:67: the fabric has no switch with GUID 0x0000000000000099"), "{other}");
    let lids = refusal(&DUMP_FTS.replace("0000101:", "0000201:"));
    assert!(lids.starts_with("fts:5:") && lids.contains("the LIDs are not the same"), "{lids}");
    assert!(refusal(&format!("{DUMP_FTS}{DUMP_FTS}")).contains("a second table"));
    assert!(refusal("0x0001 001 # x\n").contains("before any switch"));
    assert!(refusal(&DUMP_FTS.replace("0x0003 002", "0x0003 xxx")).contains("expected a port number"));
    assert!(refusal(&DUMP_FTS.replace("0x0003 002", "0xc003 002")).contains("expected a unicast LID"));
    assert!(refusal(TRIANGLE).contains("no forwarding table found"));
    assert!(refusal("").contains("the file is empty"));
    for end in 1..DUMP_FTS.len() {
        let _ = read_lfts(&DUMP_FTS.as_bytes()[..end], "cut", &fabric);
    }
}

#[test]
fn files_are_whole_or_absent() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dump");
    write_file(&path, |out| write_ibnetdiscover(out, &tree(), None)).unwrap();
    let before = fs::read(&path).unwrap();
    let error = write_file(&path, |out| {
        out.write_all(b"half")?;
        Err(std::io::Error::other("no more"))
    });
    assert!(error.unwrap_err().to_string().ends_with("dump: no more"));
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left");
    // A folder that cannot be: a file is in its place.
    let fabric = triangle();
    let error = write_opensm_dumps(&path, &fabric, &Tables::new(&fabric, "none"), None).unwrap_err().to_string();
    assert!(error.starts_with("cannot write ") && error.contains("opensm-subnet.lst"), "{error}");
}

/// ibsim takes the netlist, and the ibnetdiscover form as well, with all nodes and no complaint.
#[test]
fn ibsim_loads_what_is_written() {
    let fabric = tree();
    let folder = tempfile::tempdir().unwrap();
    let netlist = folder.path().join("net");
    let dump = folder.path().join("dump");
    write_file(&netlist, |out| write_netlist(out, &fabric)).unwrap();
    write_file(&dump, |out| write_ibnetdiscover(out, &fabric, None)).unwrap();
    for (number, file) in [netlist, dump].iter().enumerate() {
        let lines = fs::read_to_string(file).unwrap().lines().count();
        let mut ibsim = Command::new("ibsim")
            .arg("-s")
            .arg(file)
            .env("IBSIM_SOCKNAME", format!("heddle-formats-{}-{number}", std::process::id()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("ibsim runs (Debian package ibsim-utils)");
        let mut stdin = ibsim.stdin.take().unwrap();
        std::io::Write::write_all(&mut stdin, b"dump\nquit\n").unwrap();
        let said: Vec<String> = BufReader::new(ibsim.stdout.take().unwrap()).lines().map_while(Result::ok).collect();
        let complaints: Vec<String> = BufReader::new(ibsim.stderr.take().unwrap()).lines().map_while(Result::ok).collect();
        ibsim.wait().unwrap();
        assert!(said.iter().any(|line| line.ends_with(&format!("parsed {lines} lines"))), "{said:#?}");
        assert!(complaints.is_empty(), "{complaints:#?}");
        for node in fabric.nodes() {
            let guid = format!("{:x}", node.guid.0);
            assert!(said.iter().any(|line| line.contains(&guid)), "{guid} is missing: {said:#?}");
        }
    }
}
