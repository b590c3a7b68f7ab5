//! The command line as a user types it.

use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const HEDDLE: &str = env!("CARGO_BIN_EXE_heddle");

/// Runs a command line, split at blanks; `'` quotes are not needed by any.
fn heddle(line: &str) -> Output {
    run(&line.split(' ').collect::<Vec<_>>())
}

fn run(arguments: &[&str]) -> Output {
    Command::new(HEDDLE).args(arguments).stdin(Stdio::null()).output().unwrap()
}

fn with_input(arguments: &[&str], input: &[u8]) -> Output {
    let mut child =
        Command::new(HEDDLE).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Checks the exit status, and shows both outputs if it is another.
#[track_caller]
fn assert_status(output: &Output, status: i32) {
    assert_eq!(output.status.code(), Some(status), "stdout:\n{}\nstderr:\n{}", stdout(output), stderr(output));
}

/// A failure: status 2, nothing on standard output, and a message with each of these in it, but no panic.
#[track_caller]
fn assert_fails(output: &Output, messages: &[&str]) {
    assert_status(output, 2);
    assert_eq!(stdout(output), "");
    for message in messages {
        assert!(stderr(output).contains(message), "no \"{message}\" in:\n{}", stderr(output));
    }
    assert!(!stderr(output).contains("panicked"), "{}", stderr(output));
}

fn entries(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

const COMMANDS: [&str; 7] = ["sm", "discover", "route", "verify", "generate", "convert", "engines"];

#[test]
fn help_lists_every_command() {
    let output = heddle("--help");
    assert_status(&output, 0);
    for command in COMMANDS {
        let line = stdout(&output).lines().find(|line| line.trim_start().starts_with(&format!("{command} "))).map(str::to_owned);
        assert!(line.is_some_and(|line| line.trim().len() > command.len() + 20), "{command} has no line of its own");
        let help = heddle(&format!("{command} --help"));
        assert_status(&help, 0);
        assert!(command == "engines" || stdout(&help).contains("\nExamples:\n  heddle "), "{command} has no examples");
    }
}

#[test]
fn help_explains_fabric() {
    for command in ["route", "verify", "generate", "convert"] {
        let help = stdout(&heddle(&format!("{command} --help")));
        assert!(help.contains("FABRIC is one of") && help.contains("gen:torus:"), "{command}");
    }
}

#[test]
fn usage_errors_suggest_what_was_meant() {
    assert_fails(&heddle("route gen:ring:4 --engine min-hops"), &["min-hops", "'min-hop'"]);
    assert_fails(&heddle("convert gen:ring:4 --to ibnetdiscovery"), &["ibnetdiscovery", "'ibnetdiscover'"]);
    assert_fails(&heddle("route gen:ring:4 --engine up-down --format ibsin"), &["ibsin", "'ibsim'"]);
    assert_fails(&heddle("rout gen:ring:4"), &["rout", "'route'"]);
    assert_fails(&heddle("route clos2:8 --engine up-down"), &["cannot read clos2:8", "gen:clos2:8"]);
    assert_fails(&heddle("route gen:ring:4"), &["--engine"]);
    assert_fails(&heddle("sm --ibsim x --emulate gen:ring:4"), &["cannot be used with"]);
    assert_fails(&heddle("sm --events x"), &["--emulate"]);
}

#[test]
fn bad_input_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty");
    fs::write(&empty, "").unwrap();
    let route = |file: &Path| run(&["route", file.to_str().unwrap(), "--engine", "up-down"]);
    assert_fails(&route(&folder.path().join("missing")), &["missing", "No such file"]);
    assert_fails(&route(&empty), &["empty:1:1: "]);
    assert_fails(&route(folder.path()), &["Is a directory"]);
    assert_fails(&with_input(&["route", "-", "--engine", "up-down"], b"\x00\xff\n"), &["standard input:1:1: "]);
    assert_fails(&heddle("generate clos2:7"), &["clos2:7", "column 7"]);
    assert_fails(&heddle("generate torus:4x4,host=2"), &["column 11"]);
    assert_fails(&heddle("verify gen:ring:4 --lfts /nonexistent/lfts"), &["/nonexistent/lfts"]);
    assert_fails(&run(&["verify", "gen:ring:4", "--lfts", empty.to_str().unwrap()]), &["empty:1:1: "]);
}

#[test]
fn json_of_a_route() {
    let output = heddle("route gen:clos2:8 --engine up-down --json");
    assert_status(&output, 0);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    // 8 leaves with 4 hosts each and 4 spines: each host and switch has one LID.
    assert_eq!(json["engine"], "up-down");
    assert_eq!(json["switches"], 12);
    assert_eq!(json["endports"], 44);
    assert_eq!(json["lids"], 44);
    for stage in ["parse", "route", "verify", "write"] {
        assert!(json["timing_ms"][stage].is_f64(), "{stage}");
    }
    for verdict in ["connected", "loop_free", "deadlock_free"] {
        assert_eq!(json["verified"][verdict], true, "{verdict}");
    }
    assert_eq!(json["verified"]["vls"], 1);
    assert_eq!(json["verified"]["unreachable_pairs"], 0);
    // Leaf to spine to leaf; 4 of a host's 31 peers are on its own switch, but for itself.
    assert_eq!(json["quality"]["max_hops"], 2);
    assert_eq!(json["quality"]["hops"], serde_json::json!([32 * 3, 0, 32 * 28]));
    let mean = json["quality"]["mean_hops"].as_f64().unwrap();
    assert!((mean - 2.0 * 28.0 / 31.0).abs() < 1e-9, "{mean}");
    assert!(json["quality"]["max_link_load"].is_u64());
    // 32 * 28 routes of two hops over 64 directions of cables.
    let load = json["quality"]["mean_link_load"].as_f64().unwrap();
    assert!((load - 32.0 * 28.0 * 2.0 / 64.0).abs() < 1e-9, "{load}");
    assert_eq!(json["refused"], Value::Array(Vec::new()));
    assert_eq!(json["warnings"], Value::Array(Vec::new()));
}

#[test]
fn auto_says_what_it_chose_and_why() {
    let output = heddle("route gen:torus:5x5x3 --engine auto");
    assert_status(&output, 0);
    assert!(stdout(&output).contains("\nauto: a torus of 5x5x3 (75 switches), so torus\n"), "{}", stdout(&output));
    assert!(stdout(&output).contains("\nrouted by torus in "), "{}", stdout(&output));
    let json: Value = serde_json::from_slice(&heddle("route gen:clos2:8 --engine auto --json").stdout).unwrap();
    assert!(json["auto"].as_str().unwrap().starts_with("a tree of 2 levels (8 + 4 switches"), "{json}");
    assert_eq!(json["engine"], "fat-tree");
    let json: Value = serde_json::from_slice(&heddle("route gen:clos2:8 --engine up-down --json").stdout).unwrap();
    assert_eq!(json["auto"], Value::Null);
    let output = heddle("sm --emulate gen:mesh:3x3 --once --engine auto");
    assert_status(&output, 0);
    assert!(stdout(&output).contains(" auto: a mesh of 3x3 (9 switches), so dor\n"), "{}", stdout(&output));
}

#[test]
fn json_of_a_refusal() {
    let output = heddle("route gen:ring:6 --engine min-hop --json");
    assert_status(&output, 1);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["engine"], "min-hop");
    assert_eq!(json["verified"]["connected"], true);
    assert_eq!(json["verified"]["deadlock_free"], false);
    assert_eq!(json["quality"], Value::Null);
    assert_eq!(json["refused"][0]["engine"], "min-hop");
    assert!(json["refused"][0]["reason"].as_str().unwrap().contains("\"switch-0\""));
}

#[test]
fn what_is_routed_is_verified() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("routes");
    let output = run(&["route", "gen:clos2:8", "--engine", "min-hop", "--out", out.to_str().unwrap()]);
    assert_status(&output, 0);
    assert!(stdout(&output).contains("44 assigned"), "{}", stdout(&output));
    assert_eq!(entries(&out), ["opensm-lfts.dump", "opensm-subnet.lst", "opensm.fdbs", "opensm.mcfdbs"]);
    let lfts = out.join("opensm-lfts.dump");
    let verified = run(&["verify", "gen:clos2:8", "--lfts", lfts.to_str().unwrap()]);
    assert_status(&verified, 0);
    assert!(stdout(&verified).contains("free of deadlock"));
    assert!(stdout(&verified).contains("\nroutes by hops: 0: 96, 2: 896\n"), "{}", stdout(&verified));

    // A wrong port in one entry: leaf-0 sends LID 1, its first host's, to its second.
    let text = fs::read_to_string(&lfts).unwrap();
    let wrong = folder.path().join("wrong");
    let line = text.lines().find(|line| line.starts_with("0x0001 001 ")).unwrap();
    fs::write(&wrong, text.replacen(line, &line.replacen(" 001 ", " 002 ", 1), 1)).unwrap();
    let verified = run(&["verify", "gen:clos2:8", "--lfts", wrong.to_str().unwrap(), "--json"]);
    assert_status(&verified, 1);
    let json: Value = serde_json::from_slice(&verified.stdout).unwrap();
    assert_eq!(json["verified"]["connected"], false);
    assert_eq!(json["verified"]["unreachable_pairs"], 12, "from every switch");
    assert_eq!(json["unreachable"][0]["lid"], 1);
}

/// 70 switches in a line: of the pairs of hosts, 2 * (5 + 4 + 3 + 2 + 1) are 65 to 69 hops apart.
#[test]
fn long_routes_are_a_warning() {
    let output = heddle("route gen:mesh:70,hosts=1 --engine min-hop");
    assert_status(&output, 0);
    for text in ["routes by hops: 1: 138, 2: 136, 3: 134", ", 16: 108, and longer ones\n", "warning: 30 routes have more than 64 hops"] {
        assert!(stdout(&output).contains(text), "{text} is not in {}", stdout(&output));
    }
}

/// Round a ring with one gap, then with another: each is free of deadlock, but not both together.
#[test]
fn the_way_from_old_tables_to_new_ones() {
    let folder = tempfile::tempdir().unwrap();
    // By how far the gap is moved.
    let [old, new] = [("old", 0), ("new", 2)].map(|(name, by)| {
        let mut text = String::new();
        for from in 0..4 {
            text += &format!("Unicast lids [0x0-0x8] of switch Lid {} guid 0x02000001000000{from}0 (switch-{from}):\n", 2 * from + 2);
            for to in 0..4 {
                let across = if (to + by) % 4 > (from + by) % 4 { 2 } else { 3 };
                let [host, own] = if from == to { [1, 0] } else { [across, across] };
                text += &format!("{:#06x} {host:03} : (host)\n{:#06x} {own:03} : (switch)\n", 2 * to + 1, 2 * to + 2);
            }
        }
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    });
    for tables in [&old, &new] {
        assert_status(&run(&["verify", "gen:ring:4", "--lfts", tables]), 0);
    }
    assert_status(&run(&["verify", "gen:ring:4", "--lfts", &old, "--from", &old]), 0);
    let output = run(&["verify", "gen:ring:4", "--lfts", &new, "--from", &old]);
    assert_status(&output, 1);
    assert!(
        stdout(&output).contains("not free of deadlock in any order") && stdout(&output).contains("(old table)"),
        "{}",
        stdout(&output)
    );
    let output = run(&["verify", "gen:ring:4", "--lfts", &new, "--from", &old, "--json"]);
    assert_status(&output, 1);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["verified"]["deadlock_free"], true);
    assert_eq!((&json["transition"]["any_order"], &json["transition"]["dropping_lids"]), (&Value::from(false), &Value::from(0)));
    assert!(json["transition"]["deadlock"]["steps"][0]["by"].is_string());
}

/// Nothing changes as long as the cables are the same.
#[test]
fn old_tables_are_mended() {
    let folder = tempfile::tempdir().unwrap();
    let routes = folder.path().join("routes");
    assert_status(&run(&["route", "gen:clos2:8", "--engine", "min-hop", "--out", routes.to_str().unwrap()]), 0);
    let old = routes.join("opensm-lfts.dump");
    let output = run(&["route", "gen:clos2:8", "--from", old.to_str().unwrap(), "--json"]);
    assert_status(&output, 0);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&json["changed"]["entries"], &json["changed"]["blocks"]), (&Value::from(0), &Value::from(0)));
    assert_eq!(json["verified"]["deadlock_free"], true);
}

#[test]
fn unproven_tables_are_never_written() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("routes");
    let output = run(&["route", "gen:ring:6", "--engine", "min-hop", "--out", out.to_str().unwrap()]);
    assert_status(&output, 1);
    // A circle of waiting around the ring, in names.
    for switch in 0..6 {
        assert!(stdout(&output).contains(&format!("\"switch-{switch}\"")), "{}", stdout(&output));
    }
    assert!(stderr(&output).contains("nothing was written"));
    assert!(!out.exists());

    let output = run(&["route", "gen:ring:6", "--engine", "min-hop,up-down", "--out", out.to_str().unwrap()]);
    assert_status(&output, 0);
    assert!(stdout(&output).contains("min-hop refused") && stdout(&output).contains("routed by up-down"));
    assert_eq!(entries(&out).len(), 4);
}

/// Two switches with a host each, and no cable between them.
const HALVES: &[u8] =
    b"switchguid=0x10(10)\nSwitch 2 \"S-10\" # \"left\" base port 0 lid 1 lmc 0\n[1] \"H-11\"[1](12) # \"a\" lid 2 4xHDR\n\n\
    switchguid=0x20(20)\nSwitch 2 \"S-20\" # \"right\" base port 0 lid 3 lmc 0\n[1] \"H-21\"[1](22) # \"b\" lid 4 4xHDR\n\n\
    caguid=0x11\nCa 1 \"H-11\" # \"a\"\n[1](12) \"S-10\"[1] # lid 2 lmc 0 \"left\" lid 1 4xHDR\n\n\
    caguid=0x21\nCa 1 \"H-21\" # \"b\"\n[1](22) \"S-20\"[1] # lid 4 lmc 0 \"right\" lid 3 4xHDR\n";

#[test]
fn two_halves_are_routed_each_by_itself() {
    for engine in ["up-down", "down-up", "fat-tree", "min-hop"] {
        let output = with_input(&["route", "-", "--engine", engine], HALVES);
        assert_status(&output, 0);
        assert!(stdout(&output).contains("\"left\"") && stdout(&output).contains("\"right\""), "{}", stdout(&output));
    }
}

#[test]
fn two_halves_are_verified_each_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let lfts = folder.path().join("lfts");
    let verify = |left: &str, right: &str| {
        let table = |lid, guid, name, entries| format!("Unicast lids [0x0-0x4] of switch Lid {lid} guid {guid} ({name}):\n{entries}\n");
        let text = table(1, "0x0000000000000010", "left", left) + &table(3, "0x0000000000000020", "right", right);
        fs::write(&lfts, text).unwrap();
        with_input(&["verify", "-", "--lfts", lfts.to_str().unwrap(), "--json"], HALVES)
    };
    let right = "0x0003 000 : (b)\n0x0004 001 : (b)";
    let output = verify("0x0001 000 : (a)\n0x0002 001 : (a)", right);
    assert_status(&output, 0);
    let verified = serde_json::from_slice::<Value>(&output.stdout).unwrap()["verified"].clone();
    assert_eq!((&verified["connected"], &verified["unreachable_pairs"]), (&Value::from(true), &Value::from(0)));
    // Each switch misses the LIDs of the other and its host.
    assert_eq!((&verified["parts"], &verified["pairs_apart"]), (&Value::from(2), &Value::from(4)));
    assert_status(&verify("0x0001 000 : (a)", right), 1);
}

#[test]
fn a_folder_that_cannot_be_written_gets_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "mine").unwrap();
    // Neither a file nor something below one can become a folder, not even for root.
    for out in [file.clone(), file.join("below")] {
        let output = run(&["route", "gen:ring:4", "--engine", "up-down", "--out", out.to_str().unwrap()]);
        assert_fails(&output, &["cannot write"]);
    }
    // A folder stands where a file should: the others are not left behind half-written.
    let blocked = folder.path().join("blocked");
    fs::create_dir_all(blocked.join("opensm-subnet.lst")).unwrap();
    let output = run(&["route", "gen:ring:4", "--engine", "up-down", "--out", blocked.to_str().unwrap()]);
    assert_fails(&output, &["opensm-subnet.lst"]);
    assert!(entries(&blocked).iter().all(|name| !name.starts_with('.')), "{:?}", entries(&blocked));
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    for line in ["generate clos2:36", "convert gen:clos2:36 --to json", "sm --emulate gen:clos2:8 --once", "route --help"] {
        let mut child =
            Command::new(HEDDLE).args(line.split(' ')).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_status(&output, 0);
        assert_eq!(stderr(&output), "", "{line}");
    }
}

#[test]
fn formats_survive_a_round_trip() {
    let lines = |text: String| text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect::<Vec<_>>();
    let dump = heddle("generate torus:3x3,hosts=2 --format ibnetdiscover");
    assert_status(&dump, 0);
    for format in ["ibsim", "ibnetdiscover"] {
        let there = with_input(&["convert", "-", "--to", format], &dump.stdout);
        assert_status(&there, 0);
        assert_eq!(stderr(&there), "", "{format}");
        let back = with_input(&["convert", "-", "--to", "json"], &there.stdout);
        let json: Value = serde_json::from_slice(&back.stdout).unwrap();
        assert_eq!(json["nodes"].as_array().unwrap().len(), 9 + 18, "{format}");
        assert_eq!(json["links"].as_array().unwrap().len(), 18 + 18, "{format}");
    }
    let again = with_input(&["convert", "-", "--to", "ibnetdiscover"], &dump.stdout);
    assert_eq!(lines(stdout(&again)), lines(stdout(&dump)));
}

#[test]
fn warnings_are_counted_with_their_lines() {
    let dump = b"switchguid=0x10(10)\nSwitch 4 \"S-10\" # \"leaf\" base port 0 lid 1 lmc 0\n[1] \"H-11\"[1](12) # \"a\" lid 2 4xHDR\n\
        [2] \"S-10\"[2] # \"leaf\" lid 1 4xHDR\n\ncaguid=0x11\nCa 1 \"H-11\" # \"a\"\n[1](12) \"S-10\"[1] # lid 2 lmc 0 \"leaf\" lid 1 4xHDR\n";
    let output = with_input(&["route", "-", "--engine", "up-down", "--json"], dump);
    assert_status(&output, 0);
    assert!(stderr(&output).contains("1 x port cabled to itself, first at line 4"), "{}", stderr(&output));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(json["warnings"][0].as_str().unwrap().starts_with("line 4: "), "{json}");
    assert_eq!(json["lids"], 2);
}

#[test]
fn engines_are_described() {
    let output = heddle("engines");
    assert_status(&output, 0);
    for word in ["\nmin-hop ", "\nup-down ", "\nauto ", "needs", "guarantees", "VLs", "cost"] {
        assert!(stdout(&output).contains(word), "{word}");
    }
}

#[test]
fn sm_on_the_emulator_reacts_to_a_script() {
    let output = run(&["sm", "--emulate", "gen:clos2:8", "--events", "2s cut leaf-0:5; 4s restore leaf-0:5"]);
    assert_status(&output, 0);
    let text = stdout(&output);
    // In this order: up, the cut, its trap, one cable less, up, the restoration, all cables again, up.
    let mut rest = text.as_str();
    for expected in [
        "[0.000000 s] sweep: start",
        "found 12 switches, 32 hosts, 64 cables",
        "routed by up-down",
        "proof: every LID is reached",
        "SUBNET UP",
        "[2.000000 s] --- cut leaf-0:5",
        "sweep: trap 128 (the state of a link changed) from LID 5 (\"leaf-0\")",
        "found 12 switches, 32 hosts, 63 cables",
        "gone: the cable between port 5 of \"leaf-0\" and port 1 of \"spine-0\"",
        "proof:",
        "written:",
        "SUBNET UP",
        "[4.000000 s] --- restore leaf-0:5",
        "sweep: trap 128",
        "found 12 switches, 32 hosts, 64 cables",
        "new: the cable between port 5 of \"leaf-0\" and port 1 of \"spine-0\"",
        "SUBNET UP",
        "the script is over",
    ] {
        let Some(at) = rest.find(expected) else { panic!("no \"{expected}\" in the rest of:\n{text}") };
        rest = &rest[at + expected.len()..];
    }
}

#[test]
fn sm_tells_why_it_cannot_route() {
    let folder = tempfile::tempdir().unwrap();
    let dump = folder.path().join("dump");
    let output = run(&["sm", "--emulate", "gen:ring:6", "--engine", "min-hop", "--once", "--dump", dump.to_str().unwrap()]);
    assert_status(&output, 1);
    assert!(stdout(&output).contains("min-hop refused") && stdout(&output).contains("NOT ROUTED"), "{}", stdout(&output));
    assert!(!dump.exists());
    let output = run(&["sm", "--emulate", "gen:ring:6", "--engine", "min-hop,up-down", "--once", "--dump", dump.to_str().unwrap()]);
    assert_status(&output, 0);
    assert_eq!(entries(&dump), ["opensm-lfts.dump", "opensm-subnet.lst", "opensm.fdbs", "opensm.mcfdbs"]);
}

#[test]
fn sm_that_loses_its_own_node_ends_with_a_finding() {
    let output = run(&["sm", "--emulate", "gen:ring:4", "--node", "host-0-0", "--events", "1s remove host-0-0"]);
    assert_status(&output, 1);
    assert!(stdout(&output).contains("NO FABRIC"), "{}", stdout(&output));
    let output = run(&["sm", "--emulate", "gen:ring:4", "--node", "host-0-0", "--events", "1s remove host-1-0"]);
    assert_status(&output, 0);
    assert!(stdout(&output).contains("gone: \"host-1-0\" (0x0200000200000010)"), "{}", stdout(&output));
}

#[test]
fn sm_without_a_link_ends_with_a_finding() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("alone.ibnetdiscover");
    fs::write(&file, "vendid=0x2c9\ndevid=0x1017\nsysimgguid=0x1\ncaguid=0x1\nCa\t1 \"H-0000000000000001\"\t\t# \"alone\"\n").unwrap();
    let output = run(&["sm", "--emulate", file.to_str().unwrap(), "--once"]);
    assert_status(&output, 1);
    assert!(stdout(&output).contains("\"alone\"") && stdout(&output).contains("has no link"), "{}", stdout(&output));
}

#[test]
fn sm_wants_a_script_that_makes_sense() {
    let sm = |events| run(&["sm", "--emulate", "gen:clos2:8", "--events", events]);
    assert_fails(&sm("2s cut leaf-9:5"), &["line 1, column 8", "leaf-0"]);
    assert_fails(&heddle("sm --ibsim --events x"), &["--ibsim", "--events"]);
    assert_fails(&sm("2s explode leaf-0"), &["column 4", "explode"]);
    assert_fails(&sm("@/nonexistent/script"), &["/nonexistent/script"]);
    assert_fails(&heddle("sm --emulate gen:ring:4 --node nobody"), &["nobody"]);
    assert_fails(&heddle("sm --emulate gen:ring:4 --node switch-0:1"), &["switch-0"]);
}

#[test]
fn discover_gives_a_dump_that_can_be_routed() {
    let dump = heddle("discover --emulate gen:clos2:8 --node spine-0");
    assert_status(&dump, 0);
    // A cold fabric has no LIDs, and looking at it gives it none.
    assert!(stdout(&dump).contains("\"leaf-0\" base port 0 lid 0 lmc 0"), "{}", stdout(&dump));
    let json = with_input(&["route", "-", "--engine", "up-down", "--json"], &dump.stdout);
    assert_status(&json, 0);
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["switches"], 12);
    assert_eq!(json["endports"], 44);
}

#[test]
fn an_absent_simulator_is_a_failure() {
    for command in ["sm", "discover"] {
        let output = run(&[command, "--ibsim", "heddle-test-nobody-listens"]);
        assert_fails(&output, &["heddle-test-nobody-listens"]);
    }
}

#[cfg(unix)]
#[test]
fn a_signal_ends_the_subnet_manager() {
    use std::io::{BufRead, BufReader};
    let mut child = Command::new(HEDDLE).args(["sm", "--emulate", "gen:ring:4"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("SUBNET UP")), "it comes up, and goes on");
    let kill = Command::new("sh").args(["-c", &format!("kill -TERM {}", child.id())]).status().unwrap();
    assert!(kill.success());
    assert!(lines.any(|line| line.contains("stopped")), "it says that it stops");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_description_does_not_command_the_terminal() {
    let dump = "Switch 2 \"S-0000000000000010\" # \"\x1b[2J\u{9b}m\"\n[1] \"S-0000000000000020\"[1] # \"\x1b]0;x\x07\"\n\nSwitch 2 \"S-0000000000000030\" # \"\r\"\n";
    for command in
        [&["route", "-", "--engine", "up-down"][..], &["route", "-", "--engine", "up-down", "--json"], &["convert", "-", "--to", "json"]]
    {
        let output = with_input(command, dump.as_bytes());
        let (out, err) = (stdout(&output), stderr(&output));
        assert!(!out.contains(|c: char| c.is_ascii_control() && c != '\n'), "{command:?}: {out:?}");
        assert!(!err.contains(|c: char| c.is_control() && c != '\n'), "{command:?}: {err:?}");
        assert!(err.contains("\\u{1b}]0;x\\u{7}"), "{err}");
    }
}

#[cfg(unix)]
#[test]
fn a_signal_leaves_no_half_written_file() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let arguments = ["route", "gen:clos3:14", "--engine", "up-down", "--out", out.to_str().unwrap()];
    let mut child = Command::new(HEDDLE).args(arguments).stdout(Stdio::null()).spawn().unwrap();
    let begun = || fs::read_dir(&out).is_ok_and(|mut entries| entries.next().is_some());
    while !begun() {
        assert_eq!(child.try_wait().unwrap(), None, "it ended before a file was there");
        std::thread::yield_now();
    }
    let kill = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(entries(&out), ["opensm-lfts.dump", "opensm-subnet.lst", "opensm.fdbs", "opensm.mcfdbs"]);
}

/// The first two switches of `gen:clos2:8`, which are leaves, and its first host.
const LEAVES: [&str; 2] = ["0x0200000100000000", "0x0200000100000010"];
const HOST: &str = "0x0200000200000000";

/// Routes `gen:clos2:8` with files for flags.
fn route_with(engines: &str, files: &[(&str, &str)]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let mut arguments = vec!["route".to_owned(), "gen:clos2:8".to_owned(), "--json".to_owned(), "--engine".to_owned(), engines.to_owned()];
    for (flag, content) in files {
        let path = folder.path().join(flag);
        fs::write(&path, content).unwrap();
        arguments.extend([format!("--{flag}"), path.to_str().unwrap().to_owned()]);
    }
    run(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn lists_for_engines_are_read() {
    let output = route_with("up-down", &[("roots", &format!("{}\n0x99\n", LEAVES[0])), ("compute-nodes", HOST), ("ids", "")]);
    assert_status(&output, 0);
    let warnings = json(&output)["warnings"].to_string();
    assert!(warnings.contains("roots: line 2: the fabric has no node or port with GUID 0x0000000000000099"), "{warnings}");
    assert!(warnings.contains("ids: line 1: no GUID in this file"), "{warnings}");
    assert!(stderr(&output).contains("1 x GUID that is not in the fabric, first at line 2"), "{}", stderr(&output));

    assert_fails(&route_with("up-down", &[("roots", "spine-0\n")]), &["roots:1:1: expected a GUID"]);
    assert_fails(&route_with("up-down", &[("ids", &format!("{} x", LEAVES[0]))]), &["ids:1:20: expected a number"]);
    assert_fails(&heddle("route gen:clos2:8 --engine up-down --roots /nonexistent"), &["cannot read /nonexistent"]);
}

#[test]
fn options_that_say_nothing_to_an_engine_are_told() {
    assert_fails(&route_with("min-hop,sssp", &[("roots", LEAVES[0])]), &["--roots says nothing to min-hop, sssp"]);
    let output = route_with("min-hop,up-down", &[("roots", LEAVES[0])]);
    assert_status(&output, 0);
    assert!(stderr(&output).contains("--roots says nothing to min-hop\n"), "{}", stderr(&output));
    assert_eq!(json(&output)["warnings"][0], "--roots says nothing to min-hop");
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    let output = route_with("up-down", &[("roots", &format!("{}\n{HOST}\n", LEAVES[0]))]);
    assert_status(&output, 1);
    let refused = &json(&output)["refused"][0];
    assert!(refused["reason"].as_str().unwrap().starts_with("hosts are listed as roots: \"host-0-0\" (0x0200000200000000)"), "{refused}");
    assert_eq!(refused["nodes"], serde_json::json!([{"guid": HOST, "description": "host-0-0"}]));

    let output = route_with("up-down", &[("compute-nodes", HOST), ("io-nodes", HOST)]);
    assert_status(&output, 1);
    let reason = json(&output)["refused"][0]["reason"].to_string();
    assert!(reason.contains("--compute-nodes") && reason.contains("--io-nodes") && reason.contains("host-0-0"), "{reason}");
}

#[test]
fn every_host_gets_the_lids_of_the_lmc() {
    let output = heddle("route gen:clos2:8 --engine up-down --lmc 2 --json");
    assert_status(&output, 0);
    let json = json(&output);
    // 12 switches with one LID each, 32 hosts with four.
    assert_eq!((&json["endports"], &json["lids"]), (&44.into(), &(12 + 32 * 4).into()));
    assert_eq!(json["verified"]["unreachable_pairs"], 0);
    assert_fails(&heddle("route gen:clos2:8 --engine up-down --lmc 8"), &["--lmc", "0..=7"]);
    // 28 leaves of 14 hosts with 128 LIDs each are 50,176; there are 49,151.
    assert_fails(&heddle("route gen:clos2:28 --engine up-down --lmc 7"), &["no unicast LID is left"]);
}

#[test]
fn links_and_ports_are_as_the_user_wants() {
    let leaf = LEAVES[0];
    let weights = format!("{leaf} 5 9\n");
    let order = format!("{leaf} 8 7 6 5\n");
    let output = route_with("min-hop", &[("hop-weights", &weights), ("port-order", &order), ("routing-order", HOST)]);
    assert_status(&output, 0);
    assert_eq!(json(&output)["warnings"], Value::Array(Vec::new()));
    let ignored = |port: u8| route_with("up-down", &[("ignore-links", &format!("{leaf} {port}\n"))]);
    assert_status(&ignored(5), 0);
    let output = ignored(1);
    assert_status(&output, 1);
    assert_eq!(json(&output)["refused"][0]["nodes"][0]["guid"], HOST);

    assert_fails(&route_with("min-hop", &[("hop-weights", &format!("{leaf} 5 256"))]), &["hop-weights:1:22: expected a weight"]);
    assert_fails(
        &route_with("min-hop", &[("port-order", &format!("{leaf} 9"))]),
        &["port-order:1:20: expected a port of \"leaf-0\", 1 to 8"],
    );
    assert_fails(&route_with("min-hop", &[("ignore-links", "0x5 1\n")]), &["ignore-links:1:1: the fabric has no node"]);
    assert_fails(&route_with("up-down", &[("hop-weights", &weights)]), &["--hop-weights says nothing to up-down"]);
    assert_status(&heddle("route gen:clos2:8 --engine up-down,min-hop --throttled weigh --seed 18446744073709551615"), 0);
    assert_fails(&heddle("route gen:clos2:8 --engine up-down --throttled never"), &["never", "avoid"]);
    assert_fails(&heddle("route gen:clos2:8 --engine up-down --seed -1"), &["-1"]);
}

#[test]
fn the_engine_file_takes_tables_and_proves_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let lfts = path("opensm-lfts.dump");
    let made = run(&["route", "gen:torus:5x5,hosts=1", "--engine", "torus", "--out", folder.path().to_str().unwrap()]);
    assert_status(&made, 0);
    let (sl, sl2vl) = (path("opensm-path-sl.dump"), path("opensm-sl2vl.dump"));
    let taken = |fabric: &str, more: &[&str]| run(&[&["route", fabric, "--json", "--engine", "file", "--lfts", &lfts], more].concat());

    let output = taken("gen:torus:5x5,hosts=1", &["--sl", &sl, "--sl2vl", &sl2vl]);
    assert_status(&output, 0);
    let result = json(&output);
    assert_eq!((&result["engine"], &result["verified"]["deadlock_free"]), (&"file".into(), &true.into()));
    // Without its SLs the same tables can deadlock.
    let output = taken("gen:torus:5x5,hosts=1", &[]);
    assert_status(&output, 1);
    assert_eq!(json(&output)["verified"]["deadlock_free"], false);

    // With two hosts a switch, LIDs are those of others; with more switches, some have no table.
    assert_fails(&taken("gen:torus:5x5,hosts=2", &[]), &["opensm-lfts.dump:", "the LIDs are not the same"]);
    let output = taken("gen:torus:6x5,hosts=1", &[]);
    assert_status(&output, 1);
    let refused = &json(&output)["refused"][0];
    assert!(refused["reason"].as_str().unwrap().contains("there are no tables of these switches"), "{refused}");
    assert_eq!(refused["nodes"].as_array().unwrap().len(), 5);
    assert_fails(&taken("gen:torus:4x5,hosts=1", &[]), &["opensm-lfts.dump:", "is this a dump of another fabric?"]);
    // A cable is gone that the tables use.
    let output = taken("gen:torus:5x5,hosts=1,fail-links=1", &[]);
    assert_status(&output, 1);
    let refused = &json(&output)["refused"][0];
    assert!(refused["reason"].as_str().unwrap().contains("ports without a cable"), "{refused}");
    assert_eq!(refused["nodes"].as_array().unwrap().len(), 2, "the cable's ends");

    assert_fails(&heddle("route gen:ring:3 --engine up-down,file"), &["file", "--lfts FILE"]);
    assert_fails(&run(&["route", "gen:ring:3", "--engine", "up-down", "--sl", &sl]), &["--lfts"]);
    assert_fails(&run(&["route", "gen:torus:5x5,hosts=1", "--engine", "dor", "--lfts", &lfts]), &["--lfts says nothing to dor"]);
}

#[test]
fn engines_are_a_table_for_people_and_json_for_programs() {
    let output = heddle("engines");
    assert_status(&output, 0);
    assert!(stdout(&output).lines().all(|line| line.chars().count() <= 100), "{}", stdout(&output));
    assert!(stdout(&output).contains("\n  --hop-weights      min-hop"), "{}", stdout(&output));

    let output = heddle("engines --json");
    assert_status(&output, 0);
    let listed = json(&output);
    let help = stdout(&heddle("route --help"));
    for engine in listed.as_array().unwrap() {
        let name = engine["name"].as_str().unwrap();
        assert!(help.contains(name), "{name} is not in the help of route");
        for key in ["needs", "guarantees", "virtual_lanes", "cost"] {
            assert!(!engine[key].as_str().unwrap().is_empty(), "{name} {key}");
        }
        // Each option is a flag of route, perhaps with a value.
        for option in engine["options"].as_array().unwrap() {
            let flag = option.as_str().unwrap().split(' ').next().unwrap();
            assert!(help.contains(&format!("--{flag} ")), "{name} {flag}");
        }
    }
    assert!(listed.to_string().contains("\"name\":\"file\""));
}

/// A folder with a list of groups of `gen:clos2:4`, whose hosts 0 and 1 are on the first leaf and 7 on the last.
fn groups(lines: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("groups");
    fs::write(&path, lines).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (folder, path)
}

#[test]
fn multicast_groups_get_trees_that_are_proven_and_written() {
    let (folder, path) = groups("0xc000 0 all\n0xc001 0 0x0200000200000000 send 0x0200000200000070\n");
    let routes = folder.path().join("routes");
    let output = run(&["route", "gen:clos2:4", "--engine", "up-down", "--groups", &path, "--out", routes.to_str().unwrap()]);
    assert_status(&output, 0);
    assert!(stdout(&output).contains("each of 2 multicast groups has a tree"), "{}", stdout(&output));
    let [lfts, mfts] = ["opensm-lfts.dump", "opensm.mcfdbs"].map(|name| routes.join(name).to_str().unwrap().to_owned());
    for more in [&["--groups", &path][..], &[]] {
        let output = run(&[&["verify", "gen:clos2:4", "--lfts", &lfts, "--mfts", &mfts, "--json"], more].concat());
        assert_status(&output, 0);
        let multicast = &json(&output)["multicast"];
        assert_eq!((&multicast["groups"], &multicast["trees"], &multicast["deadlock_free"]), (&2.into(), &true.into(), &true.into()));
    }
    // Without its first entry, the first leaf sends nothing to the first group.
    let text = fs::read_to_string(&mfts).unwrap();
    fs::write(&mfts, text.replacen("0xC000", "0xC002", 1)).unwrap();
    let output = run(&["verify", "gen:clos2:4", "--lfts", &lfts, "--mfts", &mfts, "--groups", &path]);
    assert_status(&output, 1);
    assert!(stdout(&output).contains("MLID 0xc000: packets that come in by port 1 of \"leaf-0\""), "{}", stdout(&output));
}

#[test]
fn nothing_is_written_without_the_trees() {
    let (folder, path) = groups("# one\n0xc000 0 all\n");
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let routes = folder.path().join("routes");
    // On a ring of five, all routes go the shorter way round, and what passes a switch in one direction is what goes from the switch before
    // it to that after it. SL 0 has all routes but those which pass switch 0 upwards and switch 2 downwards; these have SL 1. A tree of
    // all five passes all switches but two neighbours in both directions. As 0 and 2 are none, on SL 0 it closes a circle one way round.
    assert_status(&run(&["route", "gen:ring:5,hosts=1", "--engine", "dfsssp", "--out", &file("")]), 0);
    let [lfts, sl, sl2vl] = ["opensm-lfts.dump", "opensm-path-sl.dump", "opensm-sl2vl.dump"].map(file);
    let of_route = |line: &str| {
        let route = line.rsplit_once(' ').unwrap().0;
        // Hosts 3 and 4 to host 1 and its switch.
        let apart = ["30 3", "30 4", "40 3", "40 4"].map(|end| format!("0x02000002000000{end}"));
        format!("{route} {}\n", u8::from(apart.contains(&route.to_owned())))
    };
    fs::write(&sl, fs::read_to_string(&sl).unwrap().lines().map(of_route).collect::<String>()).unwrap();
    let out = routes.to_str().unwrap();
    let tables = ["--engine", "file", "--lfts", &lfts, "--sl", &sl, "--sl2vl", &sl2vl];
    let line = [&["route", "gen:ring:5,hosts=1", "--groups", &path, "--out", out][..], &tables].concat();
    let output = run(&line);
    assert_status(&output, 1);
    assert!(
        stdout(&output).contains("on the virtual lane of its SL 0, any tree of its members would close a circle"),
        "{}",
        stdout(&output)
    );
    let advice = stdout(&output).split("Give it one of these SLs").nth(1).map(str::to_owned);
    assert!(advice.is_some_and(|advice| advice.contains(" 5, ")), "{}", stdout(&output));
    assert!(stderr(&output).contains("nothing was written") && !routes.exists());
    fs::write(&path, "0xc000 5 all\n").unwrap();
    assert_status(&run(&line), 0);
    fs::remove_dir_all(&routes).unwrap();
    fs::write(&path, "0xc000 0 all\n0xc001 0 0x99\n").unwrap();
    let output = run(&["route", "gen:ring:6,hosts=1", "--engine", "up-down", "--groups", &path, "--out", out]);
    assert_fails(&output, &[&format!("{path}:2:10: the fabric has no node or port with GUID 0x0000000000000099")]);
    assert!(!routes.exists());
    let output = run(&["verify", "gen:ring:6", "--lfts", &path, "--groups", &path]);
    assert_fails(&output, &["--mfts"]);
}
