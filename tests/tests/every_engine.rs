//! Every engine on every shape: proven tables or a refusal with its reason, and of the tables ibdmchk says what the verifier says.
#![forbid(unsafe_code)]

use heddle_engines::{Engine, Options, route};
use heddle_fabric::{Fabric, generate};
use heddle_tests::ibdmchk;
use heddle_verify::{Parts, verify};
use std::io::Write;
use std::path::{Path, PathBuf};

const SHAPES: [&str; 22] = [
    "clos2:8",
    "clos2:12,fail-links=9,seed=3",
    "clos3:6",
    "clos3:8,fail-links=12,fail-switches=3,seed=2",
    "clos3:8,pods=3",
    "torus:4x4x3",
    "torus:5x5,hosts=2,links=2",
    "torus:5x5,hosts=2,fail-links=3,fail-switches=1,seed=4",
    "mesh:3x4,hosts=2",
    "hypercube:4",
    "ring:6,hosts=2",
    "ring:2,hosts=3,links=3",
    "ring:1,hosts=5",
    "hyperx:4x3,hosts=2",
    "dragonfly:a=4,p=2,h=2",
    "dragonfly:a=4,p=2,h=2,fail-links=5,seed=6",
    "dragonfly-plus:leaves=3,spines=3,p=3,h=2,groups=5",
    "rail:pods=2,servers=6,rails=4,spines=4",
    "random:switches=20,degree=4,hosts=2,seed=5",
    "random:switches=12,degree=3,hosts=3,seed=9",
    "random:switches=40,degree=3,hosts=1,seed=7",
    "random:switches=9,degree=8,hosts=4,seed=8",
];

/// Up to so many ports of hosts, tables go to ibdmchk as well, which takes time with the square of it.
const JUDGED: usize = 600;

#[test]
fn made_up_shapes() {
    for shape in SHAPES {
        let mut builder = generate(shape).unwrap();
        builder.assign_lids().unwrap();
        check(shape, &builder.build());
    }
}

/// The dumps of real fabrics, which are no part of the project: `$HEDDLE_FABRICS`, or `shared/fabrics` beside the clone.
#[test]
fn real_fabrics() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/fabrics");
    let folder = std::env::var_os("HEDDLE_FABRICS").map_or(beside, PathBuf::from);
    if !folder.is_dir() {
        // Not `eprintln!`, which is shown for failed tests only.
        writeln!(std::io::stderr().lock(), "NOT TRIED: the real dumps are neither in $HEDDLE_FABRICS nor in {}", folder.display()).unwrap();
        return;
    }
    let mut tried = 0;
    for folder in [folder.clone(), folder.join("ibsim")] {
        let files: std::collections::BTreeSet<PathBuf> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        for file in files.iter().filter(|file| file.is_file()) {
            let name = file.display().to_string();
            // What is no fabric, or in a format that is not read, is told by name elsewhere.
            let Ok(mut loaded) = heddle_formats::read(&std::fs::read(file).unwrap(), &name, None) else { continue };
            loaded.builder.assign_lids().unwrap();
            check(&name, &loaded.builder.build());
            tried += 1;
        }
    }
    assert!(tried >= 20, "only {tried} files");
}

fn check(name: &str, fabric: &Fabric) {
    let hosts = fabric.end_ports().iter().filter(|end| end.is_host()).count() as u64;
    let in_parts = Parts::of(fabric).len() > 1;
    for engine in Engine::ALL {
        let tables = match route(engine, fabric, &Options::default()) {
            Ok(tables) => tables,
            Err(refusal) => {
                let text = refusal.display(fabric).to_string();
                assert!(
                    !refusal.reason.is_empty() && !refusal.remedy.is_empty() && text.contains(&refusal.remedy),
                    "{engine} on {name}: {text}"
                );
                assert!(!ALWAYS.contains(&engine), "{engine} on {name} refused: {text}");
                continue;
            }
        };
        let report = verify(fabric, &tables);
        assert!(report.connected() && report.loop_free(), "{engine} on {name}: {report}");
        assert!(report.deadlock_free() || MAY_DEADLOCK.contains(&engine), "{engine} on {name}: {report}");
        if fabric.end_ports().len() > JUDGED || hosts < 2 || in_parts {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        heddle_formats::write_opensm_dumps(folder.path(), fabric, &tables, None).unwrap();
        let verdict = ibdmchk(folder.path());
        let what = format!("{engine} on {name}: {verdict:?}, but {report}");
        match &verdict {
            Ok(pairs) => assert_eq!(*pairs, hosts * (hosts - 1), "{what}"),
            // Routes to switches can close a circle too, and ibdmchk follows none of these.
            Err(why) => assert!(!report.deadlock_free() && why.contains("credit loop"), "{what}"),
        }
    }
}

/// Engines that route any shape.
const ALWAYS: [Engine; 4] = [Engine::MinHop, Engine::UpDown, Engine::DownUp, Engine::Sssp];

/// Engines that promise nothing about deadlock on some shapes.
const MAY_DEADLOCK: [Engine; 3] = [Engine::MinHop, Engine::Sssp, Engine::Dor];
