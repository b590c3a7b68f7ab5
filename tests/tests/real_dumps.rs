//! Public dumps of real fabrics, which are no part of the project: `$HEDDLE_FABRICS`, or `shared/fabrics` beside the clone. `heddle route`
//! proves routes for each, or says why there can be none; of other files it says what they are.
#![forbid(unsafe_code)]

use heddle_tests::{Dump, Graph, Ibsim, Stock, Way, assert_agreement, assert_clean_routes, heddle, netlist};
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What comes of an engine on a fabric.
enum Outcome {
    Proven,
    /// Every pair is reached, but these tables could deadlock: refused with the circle.
    Deadlock,
}
use Outcome::{Deadlock, Proven};

/// Whether to write the files and have ibdmchk judge them.
#[derive(PartialEq)]
enum Judge {
    Ibdmchk,
    /// So large that it would take minutes: the proof alone.
    TooLarge,
    /// `opensm-subnet.lst` is a list of cables: a fabric without any is none to ibdmchk.
    NoCable,
}
use Judge::{Ibdmchk, NoCable, TooLarge};

/// File, `up-down`, `min-hop`, ports that hosts have cables in.
const TABLE: [(&str, Outcome, Outcome, u64, Judge); 21] = [
    ("superpod-hdr-666sw.ibnetdiscover", Proven, Deadlock, 4_341, TooLarge),
    ("superpod-storage-hdr-160sw.ibnetdiscover", Proven, Deadlock, 1_247, Ibdmchk),
    ("director-hdr-400sw-unconfigured.ibnetdiscover", Proven, Deadlock, 2_328, TooLarge),
    ("lab-mixed-speed-2sw.ibnetdiscover", Proven, Proven, 13, Ibdmchk),
    ("gb200-ndr-40sw.ibnetdiscover", Proven, Deadlock, 582, Ibdmchk),
    ("single-ca-no-link.ibnetdiscover", Proven, Proven, 0, NoCable),
    ("fdr10-two-spine-8sw.ibnetdiscover", Proven, Proven, 145, Ibdmchk),
    ("qdr-ddr-11sw.ibnetdiscover", Proven, Deadlock, 89, Ibdmchk),
    ("doc-sdr-lmc1-2sw.ibnetdiscover", Proven, Proven, 5, Ibdmchk),
    ("doc-sdr-1sw.ibnetdiscover", Proven, Proven, 2, Ibdmchk),
    ("doc-edr-errline-2sw.ibnetdiscover", Proven, Proven, 6, Ibdmchk),
    ("doc-qdr-noblank-1sw.ibnetdiscover", Proven, Proven, 1, Ibdmchk),
    ("director-slice-hdr-8sw-truncated.ibnetdiscover", Proven, Proven, 11, Ibdmchk),
    ("oneline-1.ibnetdiscover-p", Proven, Proven, 3, TooLarge),
    ("oneline-2.ibnetdiscover-p", Proven, Proven, 3, TooLarge),
    ("oneline-3.ibnetdiscover-p", Proven, Proven, 0, NoCable),
    ("ibsim/net", Proven, Proven, 2, Ibdmchk),
    ("ibsim/net.1", Proven, Proven, 2, Ibdmchk),
    ("ibsim/net.2sw2path", Proven, Proven, 2, Ibdmchk),
    ("ibsim/net.2sw2path4hca", Proven, Proven, 4, Ibdmchk),
    ("ibsim/net.2sw2path4hca2port", Proven, Proven, 4, Ibdmchk),
];

fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("HEDDLE_FABRICS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/fabrics"), PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    // Not `eprintln!`, which is shown for failed tests only.
    writeln!(std::io::stderr().lock(), "NOT TRIED: the real dumps are neither in $HEDDLE_FABRICS nor in {}", folder.display()).unwrap();
    None
}

#[test]
fn real_fabrics_are_routed_or_refused_with_the_reason() {
    let Some(folder) = folder() else { return };
    for (file, up_down, min_hop, host_ports, judge) in &TABLE {
        let out = tempfile::tempdir().unwrap();
        let routes = (*judge == Ibdmchk).then(|| out.path().join("routes"));
        check(&folder.join(file), "up-down", up_down, *host_ports, routes.as_deref());
        if let Some(routes) = &routes {
            assert_clean_routes(routes, *host_ports);
        }
        let untouched = out.path().join("unproven");
        check(&folder.join(file), "min-hop", min_hop, *host_ports, matches!(min_hop, Deadlock).then_some(&untouched));
        assert!(!untouched.exists(), "{file}: tables that are not proven were written");
    }
}

fn check(file: &Path, engine: &str, outcome: &Outcome, host_ports: u64, out: Option<&Path>) {
    let mut command = Command::new(heddle());
    command.arg("route").arg(file).args(["--engine", engine, "--json"]);
    if let Some(out) = out {
        command.arg("--out").arg(out);
    }
    let output = command.output().expect("heddle starts");
    let said = String::from_utf8_lossy(&output.stdout);
    let case = format!("{engine} on {}: {}\n{said}\n{}", file.display(), output.status, String::from_utf8_lossy(&output.stderr));
    let json: Value = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {case}"));
    let verdict = ["connected", "loop_free", "deadlock_free"].map(|name| json["verified"][name].as_bool());
    let number = |name: &str| json[name].as_u64().unwrap_or_else(|| panic!("{name} is missing: {case}"));
    let reason = json["refused"][0]["reason"].as_str().unwrap_or_default();
    match outcome {
        Proven => {
            assert_eq!((output.status.code(), verdict, reason), (Some(0), [Some(true); 3], ""), "{case}");
            assert_eq!(json["verified"]["unreachable_pairs"], 0, "{case}");
            assert_eq!(number("endports") - number("switches"), host_ports, "{case}");
        }
        Deadlock => {
            assert_eq!((output.status.code(), verdict), (Some(1), [Some(true), Some(true), Some(false)]), "{case}");
            assert!(reason.contains("in a circle") && reason.contains(" waits for port "), "{case}");
        }
    }
}

/// Real wiring, irregular as it is, on Debian's ibsim: stock tools agree with what `heddle sm` says.
#[test]
fn real_fabrics_come_up_on_ibsim() {
    let Some(folder) = folder() else { return };
    for file in ["gb200-ndr-40sw", "fdr10-two-spine-8sw", "qdr-ddr-11sw", "doc-sdr-lmc1-2sw", "superpod-storage-hdr-160sw"] {
        let bytes = std::fs::read(folder.join(file).with_extension("ibnetdiscover")).unwrap();
        let fabric = heddle_formats::read(&bytes, file, None).unwrap().builder.build();
        let ibsim = Ibsim::start(&netlist(&fabric));
        let mut expected = Graph::of(&fabric);
        // ibsim counts the GUIDs of a host's ports up from the node's, and serves the first port of a host.
        expected.host_ports.iter_mut().for_each(|((node, number), guid)| *guid = node + u64::from(*number));
        let host = expected.host_ports.keys().find(|at| at.1 == 1).expect("a host");
        let seat = ibsim.seat(format!("H-{:016x}", host.0));
        let dump = ibsim.directory().join("dump");
        let output = Way::Ibsim.manager(&seat).args(["--once", "--dump"]).arg(&dump).output().expect("heddle starts");
        assert!(output.status.success(), "{file}: {output:?}");
        assert_agreement(&Stock::new(seat), &expected, &Dump::read(&dump));
    }
}

#[test]
fn other_files_are_refused_with_line_and_column() {
    let Some(folder) = folder() else { return };
    let mut tried = 0;
    for folder in [folder.clone(), folder.join("ibsim"), folder.join("ibutils")] {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let file = entry.unwrap().path();
            let is_known = TABLE.iter().any(|row| file.ends_with(row.0));
            if file.is_dir() || is_known {
                continue;
            }
            let output = Command::new(heddle()).arg("route").arg(&file).args(["--engine", "up-down"]).output().expect("heddle starts");
            let errors = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{}: {errors}", file.display());
            let place = errors.trim_end().strip_prefix(&format!("heddle: {}:", file.display()));
            let mut place = place.unwrap_or_else(|| panic!("no place in: {errors}")).splitn(3, ':');
            let numbers = [place.next(), place.next()].map(|number| number.and_then(|number| number.parse::<u32>().ok()));
            assert!(numbers.iter().all(|number| number.is_some_and(|number| number > 0)), "{errors}");
            assert!(
                place.next().is_some_and(|reason| reason.contains("which is not supported") || reason.contains("no node found")),
                "{errors}"
            );
            tried += 1;
        }
    }
    assert!(tried >= 40, "only {tried} files");
}

/// Hosts with two LIDs (field report G9), and two cables between the switches of which one end says that one is at 1x (R12).
#[test]
fn g9_r12_the_lids_of_a_port_part_and_a_throttled_cable_can_be_avoided() {
    let Some(folder) = folder() else { return };
    for (throttled, ports) in [("use", [1, 3]), ("avoid", [3, 3])] {
        let out = tempfile::tempdir().unwrap();
        let file = folder.join("doc-sdr-lmc1-2sw.ibnetdiscover");
        let mut command = Command::new(heddle());
        command.arg("route").arg(file).args(["--engine", "up-down", "--throttled", throttled, "--out"]).arg(out.path());
        assert!(command.output().expect("heddle starts").status.success());
        let dump = std::fs::read_to_string(out.path().join("opensm-lfts.dump")).unwrap();
        // Hosts behind the other switch have LIDs 4, 10 and 14 and those after; the first switch of the file has the lower LID.
        let first = dump.split("Unicast lids").find(|part| part.contains("guid 0x0008f10400410015")).unwrap();
        for host in [4, 10, 14] {
            let port = |lid: u32| first.lines().find_map(|line| line.strip_prefix(&format!("0x{lid:04x} "))?[..3].parse::<u8>().ok());
            let mut found = [port(host).unwrap(), port(host + 1).unwrap()];
            found.sort_unstable();
            assert_eq!(found, ports, "{throttled}: LIDs {host} and {}", host + 1);
        }
    }
}
