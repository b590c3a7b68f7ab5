//! SLs and SL2VL tables: written as ibdmchk reads them, judged by it, and read back. Needs Debian's `ibutils`.

use heddle_engines::{Engine, Options, route};
use heddle_fabric::{Fabric, Lanes, Levels, Lid, SwitchIndex, Tables, generate};
use heddle_formats::{read_path_sl, read_sl2vl, write_opensm_dumps};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

fn fabric(spec: &str) -> Fabric {
    let mut builder = generate(spec).unwrap();
    builder.assign_lids().unwrap();
    builder.build()
}

fn ibdmchk(folder: &Path, lanes: bool) -> String {
    let mut command = Command::new("ibdmchk");
    command.args(["-s", "opensm-subnet.lst", "-f", "opensm.fdbs", "-m", "opensm.mcfdbs"]);
    if lanes {
        command.args(["-c", "opensm-path-sl.dump", "-d", "opensm-sl2vl.dump"]);
    }
    let output = command.current_dir(folder).stdin(Stdio::null()).output().expect("ibdmchk runs (Debian package ibutils)");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn routed(engine: Engine, spec: &str) -> (Fabric, Tables) {
    let fabric = fabric(spec);
    let tables = route(engine, &fabric, &Options::default()).unwrap();
    assert!(tables.lanes().is_some(), "{spec} needs several VLs");
    (fabric, tables)
}

/// With the SLs ibdmchk finds no circle, and without them it does.
#[test]
fn ibdmchk_finds_several_lanes_clean() {
    for (engine, spec) in [
        (Engine::Dfsssp, "ring:6,hosts=2"),
        (Engine::Dfsssp, "torus:5x5,hosts=2"),
        (Engine::Dfsssp, "dragonfly:a=4,p=2,h=2,groups=9"),
        (Engine::Dfsssp, "random:switches=20,degree=5,hosts=2,seed=3"),
        (Engine::Torus, "ring:6,hosts=2"),
        (Engine::Torus, "torus:5x6,hosts=2"),
        (Engine::Torus, "torus:5x5x6,hosts=1,fail-links=3,seed=5"),
    ] {
        let (fabric, tables) = routed(engine, spec);
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(write_opensm_dumps(folder.path(), &fabric, &tables, None).unwrap().len(), 6);
        let said = ibdmchk(folder.path(), true);
        assert!(said.contains("no credit loops found") && !said.contains("-E-"), "{spec}: {said}");
        let said = ibdmchk(folder.path(), false);
        assert!(!said.contains("no credit loops found"), "{spec} on one VL: {said}");
    }
}

/// The SL that is told of a route is the SL of the proof (field report R14, linux-rdma/opensm a0a9eea): OpenSM's came from LIDs compared in
/// the wrong byte order.
#[test]
fn r14_what_is_written_is_read_back() {
    let (fabric, tables) = routed(Engine::Dfsssp, "torus:5x5,hosts=2");
    let folder = tempfile::tempdir().unwrap();
    write_opensm_dumps(folder.path(), &fabric, &tables, None).unwrap();
    let file = |name: &str| fs::read(folder.path().join(name)).unwrap();
    let (levels, warnings) = read_path_sl(&file("opensm-path-sl.dump"), "sl", &fabric, &tables).unwrap();
    assert!(warnings.is_empty());
    let (lanes, warnings) = read_sl2vl(&file("opensm-sl2vl.dump"), "sl2vl", &fabric, levels).unwrap();
    assert!(warnings.is_empty());
    let own = tables.lanes().unwrap();
    for host in fabric.end_ports().iter().filter(|end| end.is_host()) {
        for lid in fabric.end_ports().iter().filter(|end| end.at != host.at).map(|end| end.lid) {
            let of = |lanes: &Lanes| lanes.levels_of(tables.row_len(), host.switch, lid);
            assert_eq!(of(&lanes), of(own));
        }
    }
    assert_eq!(lanes.uniform_row(), Some(&Lanes::IDENTITY));

    // Tables that need no SLs leave no files of others that do.
    let tables = route(Engine::UpDown, &fabric, &Options::default()).unwrap();
    assert_eq!(write_opensm_dumps(folder.path(), &fabric, &tables, None).unwrap().len(), 4);
    assert!(!folder.path().join("opensm-path-sl.dump").exists() && !folder.path().join("opensm-sl2vl.dump").exists());
}

/// The form in which OpenSM 3.3.23 writes opensm-sl2vl.dump.
#[test]
fn opensms_own_form_is_read() {
    let fabric = fabric("ring:3,hosts=1");
    let guid = fabric.switch(SwitchIndex(1)).guid;
    let text = format!(
        "Switch {guid}, base LID 3, \"switch-1\"\n\
         #in out : 0  1  2  3  4  5  6  7  8  9  10 11 12 13 14 15\n\
         #--------------------------------------------------------\n\
         0   1   : 0  1  2  3  4  5  6  7  0  1  2  3  4  5  6  7 \n\
         2   1   : 1  0  2  3  4  5  6  7  0  1  2  3  4  5  6  15 \n"
    );
    let (lanes, warnings) = read_sl2vl(text.as_bytes(), "dump", &fabric, Levels::ByDestination(vec![0])).unwrap();
    assert!(warnings.is_empty());
    assert_eq!(lanes.row(SwitchIndex(1), 2, 1), &[1, 0, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 15]);
    assert_eq!(lanes.row(SwitchIndex(1), 0, 1), &[0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(lanes.row(SwitchIndex(0), 2, 1), &Lanes::IDENTITY);
}

#[test]
fn errors_name_the_place() {
    let fabric = fabric("ring:3,hosts=1");
    let tables = Tables::new(&fabric, "none");
    let host = fabric.nodes().iter().find(|node| node.description.starts_with("host")).unwrap().guid;
    let guid = fabric.switch(SwitchIndex(0)).guid;
    for (text, expected) in [
        (String::new(), "sl:1:1: the file is empty"),
        ("nothing\n".into(), "sl:1:1: no line of the form"),
        (format!("{host} 1 16\n"), "sl:1:22: expected an SL, 0 to 15"),
        (format!("\n{host} 0 1\n"), "sl:2:20: expected a unicast LID"),
        ("0x77 1 1\n".into(), "sl:1:1: the fabric has no node with GUID"),
    ] {
        let error = read_path_sl(text.as_bytes(), "sl", &fabric, &tables).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    for (text, expected) in [
        ("1 1 : 0\n".into(), "d:1:1: a row before any switch"),
        (format!("{guid} 1 99 0x01\n"), "d:1:22: expected a port, 0 to "),
        (format!("{guid} 1 1 0x01 0x23\n"), "d:1:33: expected the VLs of two SLs"),
        (format!("Switch {guid}, x\n1 1 : 0 1 2\n"), "d:2:12: expected a VL, 0 to 15"),
        (format!("{host} 1 1 0x01\n"), "d:1:1: the fabric has no switch"),
    ] {
        let error = read_sl2vl(text.as_bytes(), "d", &fabric, Levels::ByDestination(vec![0; 8])).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    assert_eq!(Lid::MAX.get(), 0xbfff);
}
