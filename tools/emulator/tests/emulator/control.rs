//! Commands over the control socket, without the socket.

use crate::support::*;
use heddle_emulator::{Emulator, QUERIES, control};
use heddle_mad::wire::*;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::time::Duration;

fn say(emulator: &mut Emulator, command: &str) -> Value {
    let answer = control(emulator.world_mut(), &json!({ "command": command }).to_string());
    assert!(!answer.contains('\n'), "a line: {answer}");
    serde_json::from_str(&answer).unwrap()
}

fn ask(emulator: &mut Emulator, command: &str) -> Value {
    let mut answer = say(emulator, command);
    assert!(answer.get("ok").is_some(), "{command}: {answer}");
    answer["ok"].take()
}

#[test]
fn statements_happen_now_or_later() {
    let mut emulator = emulator();
    let told = ask(&mut emulator, "cut S:5; 2s mute \"T\" for 500ms");
    let expected = json!([
        { "in": 0.0, "event": "cut S:5" },
        { "in": 2.0, "event": "mute T" },
        { "in": 2.5, "event": "heal T" },
    ]);
    assert_eq!(told, expected);
    assert_eq!(emulator.world().port_info(at(T, 7)).unwrap().state(), Some(PortState::Down));
    receive_all(&mut emulator, Duration::from_secs(1));
    assert_eq!(ask(&mut emulator, "plan"), json!([{ "in": 1.0, "event": "mute T" }, { "in": 1.5, "event": "heal T" }]));
    receive_all(&mut emulator, Duration::from_millis(1100));
    assert_eq!(ask(&mut emulator, "status")["wrong"], json!(["mute T", "cut S:5"]));
}

#[test]
fn only_so_much_can_be_planned() {
    let mut emulator = emulator();
    let many = || ["1s 10000x heal S"; 16].join("; ");
    for _ in 0..3 {
        ask(&mut emulator, &many());
    }
    assert_eq!(ask(&mut emulator, "status")["planned"], 480_000);
    assert_eq!(
        say(&mut emulator, &many())["error"],
        "640000 events would be yet to happen, 500000 at most; `plan` tells those that are already"
    );
    ask(&mut emulator, "cut S:5");
    assert_eq!(ask(&mut emulator, "status")["planned"], 480_000);
    let told = ask(&mut emulator, "1s 1500x heal S");
    assert_eq!((told.as_array().unwrap().len(), &told[1000]), (1001, &json!({ "in": 1.0, "event": "# and 500 more" })));
}

#[test]
fn chance_goes_on() {
    let cuts = |seed: u64| {
        let mut emulator = emulator();
        ask(&mut emulator, &format!("seed {seed}"));
        (0..10).map(|_| ask(&mut emulator, "cut any link")[0]["event"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(cuts(1), cuts(1));
    assert_ne!(cuts(1), cuts(2));
    assert!(cuts(1).iter().any(|cut| *cut != cuts(1)[0]));
}

#[test]
fn status_tells_what_is_wrong() {
    let mut emulator = emulator();
    let status = ask(&mut emulator, "status");
    assert_eq!((&status["switches"], &status["hosts"], &status["clients"]), (&json!(2), &json!(2), &json!(1)));
    assert_eq!(status["links"], json!({ "up": 5, "down": 0 }));
    assert_eq!(status["wrong"], json!([]));
    let wrong = ["remove B", "slow T 2ms", "ignore T PortInfo", "guid T 0x0000000000000050", "loss A:1 10", "cut S:6"];
    for statement in wrong {
        ask(&mut emulator, statement);
    }
    let status = ask(&mut emulator, "status");
    assert_eq!(status["links"], json!({ "up": 2, "down": 3 }));
    let mut told: Vec<&str> = status["wrong"].as_array().unwrap().iter().map(|statement| statement.as_str().unwrap()).collect();
    told.sort_unstable();
    let mut expected = wrong;
    expected.sort_unstable();
    assert_eq!(told, expected);
    for statement in ["restore all", "return all", "heal all"] {
        ask(&mut emulator, statement);
    }
    assert_eq!(ask(&mut emulator, "status")["wrong"], json!([]));
}

#[test]
fn nodes_ports_and_counters_are_shown() {
    let mut emulator = emulator();
    bring_up(&mut emulator);
    let nodes = ask(&mut emulator, "nodes");
    assert_eq!(nodes[1], json!({ "name": "S", "guid": "0x0000000000000050", "kind": "switch", "ports": 8, "lid": LID_S }));
    assert_eq!((nodes.as_array().unwrap().len(), &nodes[3]["kind"], &nodes[3]["lid"]), (4, &json!("ca"), &json!(LID_B)));
    ask(&mut emulator, "rename S \"new name\"; corrupt S:5 1");
    let node = ask(&mut emulator, "show 0x50");
    assert_eq!(node["name"], "new name");
    assert_eq!(node["cables"][1], json!({ "port": 5, "state": "Active", "to": "T:7" }));
    let port = ask(&mut emulator, "show \"new name\":5");
    assert_eq!(
        (&port["port"], &port["to"], &port["wrong"]),
        (&json!("\"new name\":5"), &json!("T:7"), &json!(["corrupt \"new name\":5 1"]))
    );
    assert_eq!(port["PortInfo"]["LinkWidthActive"], 2, "4x");
    let counters = ask(&mut emulator, "counters");
    assert_eq!(counters["requests"]["Set LinearForwardingTable"], 2);
    assert_eq!(ask(&mut emulator, "traffic shift 1")["end"], "done");
    for query in QUERIES {
        assert!(["status", "nodes", "show", "counters", "plan", "traffic"].contains(&query.name), "{} is not tried", query.name);
    }
}

#[test]
fn what_is_wrong_with_a_command_is_said() {
    let mut emulator = emulator();
    let answer = say(&mut emulator, "cut SS:5");
    assert_eq!((&answer["column"], &answer["similar"]), (&json!(5), &json!(["S", "T", "A"])));
    assert!(answer["error"].as_str().unwrap().contains("no node with the name or GUID \"SS\""), "{answer}");
    assert_eq!(say(&mut emulator, "cut S:1")["error"], "no cable is in port 1 of \"S\"; cables are in ports 3, 5, 6");
    assert_eq!(say(&mut emulator, "stauts")["similar"], json!(["status"]));
    assert_eq!(say(&mut emulator, "status now")["column"], 8);
    assert!(say(&mut emulator, "show S:9")["error"].as_str().unwrap().contains("ports 0 to 8"));
    assert!(say(&mut emulator, "mute S; cut T:99")["error"].as_str().unwrap().contains("ports 1 to 8"));
    // Not half of it in silence.
    for command in ["status; cut S:5", "plan\ncut S:5"] {
        assert!(say(&mut emulator, command)["error"].as_str().unwrap().contains("ask it alone"), "{command}");
    }
    ask(&mut emulator, "status;");
    assert_eq!(ask(&mut emulator, "status")["wrong"], json!([]), "all of a command or nothing");
    for line in ["", "cut S:5", "{}", "[]", "{\"command\": 5}", "{\"command\": \"status\", \"more\": 1}", "{\"command\": \"status\"} x"] {
        let answer: Value = serde_json::from_str(&control(emulator.world_mut(), line)).unwrap();
        assert!(answer["error"].as_str().unwrap().contains("{\"command\": \"status\"}"), "{line}: {answer}");
    }
}

proptest! {
    #[test]
    fn any_line_is_answered(line in "(\\{\"command\":|\"|S:5|cut |show |any |link|all |\\PC){0,20}", command in "(S:5|cut |show |any |link|all |\\PC){0,20}") {
        let mut emulator = emulator();
        for line in [line, json!({ "command": command }).to_string()] {
            let answer: Value = serde_json::from_str(&control(emulator.world_mut(), &line)).unwrap();
            prop_assert!(answer.get("ok").is_some() != answer["error"].is_string());
        }
    }
}
