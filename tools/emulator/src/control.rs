//! What is said over the control socket: a line of JSON asks, a line of JSON answers.
//!
//! ```text
//! {"command": "cut leaf-0:5"}     {"ok": [{"in": 0.0, "event": "cut leaf-0:5"}]}
//! {"command": "cut leef-0:5"}     {"error": "...", "column": 5, "similar": ["leaf-0"]}
//! ```
//!
//! A command is a statement as in an event script ([`crate::parse_script`]), or one of [`crate::QUERIES`]. `ok` holds what the command
//! asked for; of a statement, the events that it stands for and in how many seconds each happens, now being 0.

use crate::World;
use crate::events::{Event, Place};
use crate::script::{Command, ScriptError, Site, nodes, parse_command, port_name};
use heddle_fabric::{NodeIndex, NodeKind, PortRef};
use heddle_mad::Time;
use heddle_mad::wire::{PortInfo, PortState};
use serde::Deserialize;
use serde_json::{Map, Value, json};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    command: String,
}

/// As many of the things that are wrong does `status` tell.
const WRONG_MAX: usize = 100;

/// As many events may be yet to happen.
const PLANNED_MAX: usize = 500_000;

/// As many of the events that a statement stands for are told: each takes a look at all names.
const TOLD_MAX: usize = 1_000;

/// Does what a line asks for. The answer is one line, without its end.
pub fn control(world: &mut World, line: &str) -> String {
    let answer = match serde_json::from_str(line) {
        Ok(Request { command }) => match run(world, &command) {
            Ok(answer) => json!({ "ok": answer }),
            Err(error) => json!({ "error": error.message, "column": error.column, "similar": error.similar }),
        },
        Err(error) => json!({ "error": format!("expected a line such as {{\"command\": \"status\"}}: {error}") }),
    };
    answer.to_string()
}

fn run(world: &mut World, text: &str) -> Result<Value, ScriptError> {
    let mut random = world.network.random.clone();
    let command = parse_command(text, world, &mut random);
    world.network.random = random;
    Ok(match command? {
        Command::Events(events) => {
            let planned = world.scheduled().count() + events.iter().filter(|(after, _)| !after.is_zero()).count();
            if planned > PLANNED_MAX {
                let message =
                    format!("{planned} events would be yet to happen, {PLANNED_MAX} at most; `plan` tells those that are already");
                return Err(ScriptError::new(1, 1, message));
            }
            let mut told: Vec<Value> = events
                .iter()
                .take(TOLD_MAX)
                .map(|(after, event)| json!({ "in": after.as_secs_f64(), "event": event.statement(world) }))
                .collect();
            if let Some((after, _)) = events.get(TOLD_MAX) {
                told.push(json!({ "in": after.as_secs_f64(), "event": format!("# and {} more", events.len() - TOLD_MAX) }));
            }
            for (after, event) in events {
                if after.is_zero() { world.apply(event) } else { world.schedule(world.now + after, event) }
            }
            told.into()
        }
        Command::Status => status(world),
        Command::Nodes => nodes(world).map(|node| node_line(world, node)).collect(),
        Command::Show(Place::Port(at)) => port(world, at),
        Command::Show(Place::Node(node)) => self::node(world, node),
        Command::Show(Place::Everywhere) => Value::Null,
        Command::Counters => counters(world),
        Command::Traffic(job) => job.run(world).map_err(|message| ScriptError::new(1, 1, message))?,
        Command::Plan => {
            let now = world.now;
            let planned = world.scheduled();
            planned.map(|(at, event)| json!({ "in": at.since(now).as_secs_f64(), "event": event.statement(world) })).collect()
        }
    })
}

fn status(world: &World) -> Value {
    let is_switch = |node: &NodeIndex| world.kind(*node) == NodeKind::Switch;
    let all_ports = || nodes(world).flat_map(|node| (1..=world.num_ports(node)).map(move |port| PortRef::new(node, port)));
    // Each cable once.
    let links = || all_ports().filter(|&at| world.peer(at).is_some_and(|peer| at <= peer));
    let is_up = |at: &PortRef| world.port_info(*at).and_then(PortInfo::state).is_some_and(|state| state != PortState::Down);
    let wrong: Vec<Event> =
        nodes(world).flat_map(|node| world.node_faults(node)).chain(links().flat_map(|at| world.cable_faults(at))).collect();
    json!({
        "time": world.now.since(Time::ZERO).as_secs_f64(),
        "switches": nodes(world).filter(is_switch).count(),
        "hosts": nodes(world).filter(|node| !is_switch(node)).count(),
        "links": { "up": links().filter(is_up).count(), "down": links().filter(|at| !is_up(at)).count() },
        "clients": world.client_count(),
        "planned": world.scheduled().count(),
        // The statements that would make it as it is.
        "wrong": wrong.iter().take(WRONG_MAX).map(|event| event.statement(world)).collect::<Vec<_>>(),
        "more_wrong": wrong.len().saturating_sub(WRONG_MAX),
    })
}

fn node_line(world: &World, node: NodeIndex) -> Value {
    let first = if world.kind(node) == NodeKind::Switch { 0 } else { 1 };
    json!({
        "name": world.description(node),
        "guid": world.guid(node),
        "kind": world.kind(node),
        "ports": world.num_ports(node),
        "lid": world.port_info(PortRef::new(node, first)).map(PortInfo::lid),
    })
}

fn node(world: &World, node: NodeIndex) -> Value {
    let mut told = node_line(world, node);
    let ports = (1..=world.num_ports(node)).map(|port| PortRef::new(node, port)).filter(|&at| world.peer(at).is_some());
    let ports = ports.map(|at| {
        let state = world.port_info(at).and_then(PortInfo::state);
        json!({ "port": at.port, "state": state.map(|state| format!("{state:?}")), "to": world.peer(at).map(|peer| port_name(world, peer)) })
    });
    told["cables"] = ports.collect();
    told["wrong"] = world.node_faults(node).iter().map(|event| event.statement(world)).collect();
    told
}

fn port(world: &World, at: PortRef) -> Value {
    json!({
        "port": port_name(world, at),
        "to": world.peer(at).map(|peer| port_name(world, peer)),
        "wrong": world.cable_faults(at).iter().map(|event| event.statement(world)).collect::<Vec<_>>(),
        "PortInfo": world.port_info(at),
    })
}

fn counters(world: &World) -> Value {
    let counters = world.counters();
    let requests: Map<String, Value> =
        counters.requests.iter().map(|((method, attribute), count)| (format!("{method:?} {attribute:?}"), json!(count))).collect();
    let lost: Map<String, Value> = counters.lost.iter().map(|(why, count)| (why.to_string(), json!(count))).collect();
    json!({ "requests": requests, "answers": counters.answers, "traps": counters.traps, "lost": lost })
}
