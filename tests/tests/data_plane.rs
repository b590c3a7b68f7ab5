//! Data packets by tables that OpenSM wrote on the emulator: they stop under min-hop on a ring, and do not under the engines that promise it.
#![forbid(unsafe_code)]

use heddle_emulator::traffic::{Attack, End, Options, Pattern, Programmed};
use heddle_fabric::{EndPort, Fabric, Lid, NO_PORT, NodeIndex, PortRef, SwitchIndex, Tables, generate};
use heddle_tests::{Dump, Emulate, Graph, OpenSm, Preload, Seat, Stock, fields, heddle, records};
use heddle_verify::verify;
use serde_json::Value;
use std::fmt::Write;
use std::process::Command;

const RING: &str = "ring:6,hosts=2";
/// With rings of five: torus-2QoS takes no torus of one dimension, which the ring would be.
const TORUS: &str = "torus:5x3,hosts=1";

/// What OpenSM made of a fabric.
struct Written {
    fabric: Fabric,
    /// As its dump files have them.
    tables: Tables,
    /// The emulated hardware, and the SLs by LIDs of hosts as commands give them.
    _emulate: Emulate,
    seat: Seat,
    levels: String,
}

#[test]
fn min_hop_stops_on_a_ring() {
    let written = route(RING, "minhop", &[], false);
    assert!(!verify(&written.fabric, &written.tables).deadlock_free());
    let programmed = written.programmed();
    // Everyone sends to the switch after the next, which is clockwise only by two cables of six.
    let outcome = programmed.run(&Pattern::Shift { by: 4 }.flows(&programmed, 1000), &Options::default());
    let stop = outcome.stopped().unwrap_or_else(|| panic!("{outcome}"));
    assert_eq!(stop.circle.len(), 6, "{outcome}");
    // The hardware as the emulator has it, by a command.
    let told = written.traffic("shift 4 packets 1000");
    assert_eq!((&told["end"], &told["stuck"]), (&"stopped".into(), &stop.stuck.into()), "{told}");
    assert!(told["text"].as_str().unwrap().contains(&stop.to_string()), "{told}");
    assert_eq!(written.traffic("attack")["end"], "stopped");
}

#[test]
fn up_down_does_not() {
    let root = generate(RING).unwrap().build();
    let root = format!("{:#x}\n", Graph::of(&root).node("switch-0"));
    never_stops(&route(RING, "updn", &[("--root_guid_file", &root)], false));
}

#[test]
fn nue_does_not() {
    let mut written = route(RING, "nue", &[], true);
    // OpenSM's nue speaks for the hosts' LIDs alone (nue_include_switches is FALSE).
    for end in written.fabric.end_ports().iter().filter(|end| !end.is_host()) {
        for switch in (0..written.fabric.switch_count() as u32).map(SwitchIndex) {
            written.tables.row_mut(switch)[end.lid.index()] = NO_PORT;
        }
    }
    never_stops(&written);
}

#[test]
fn min_hop_stops_on_a_torus_and_its_own_engine_does_not() {
    let written = route(TORUS, "minhop", &[], false);
    assert!(!verify(&written.fabric, &written.tables).deadlock_free());
    assert!(matches!(written.programmed().attack(&Options::default()), Attack::Stopped { .. }));
    assert_eq!(written.traffic("attack")["end"], "stopped");

    let graph = Graph::of(&written.fabric);
    let [origin, x, y] = ["switch-0-0", "switch-1-0", "switch-0-1"].map(|name| graph.node(name));
    let shape = format!("torus 5 3 1\nxp_link {origin:#x} {x:#x}\nyp_link {origin:#x} {y:#x}\n");
    let written = route(TORUS, "torus-2QoS", &[("--torus_config", &shape)], true);
    assert!(written.tables.lanes().is_some_and(|lanes| lanes.vls() >= 2), "datelines take a second VL");
    never_stops(&written);
    // The VLs are what does it.
    let mut one_lane = written.programmed();
    one_lane.ports_mut().for_each(|port| port.operational_vls = 1);
    for node in (0..written.fabric.nodes().len() as u32).map(NodeIndex) {
        if let Some(switch) = one_lane.switch_mut(node) {
            switch.sl_to_vl.clear();
            switch.sl_to_vl_else = [0; 16];
        }
    }
    assert!(matches!(one_lane.attack(&Options::default()), Attack::Stopped { .. }));
}

/// The verifier says so, an adversary finds nothing, and everything arrives, with small buffers as well.
fn never_stops(written: &Written) {
    let report = verify(&written.fabric, &written.tables);
    assert!(report.deadlock_free(), "{report}");
    let programmed = written.programmed();
    for buffer in [1, 2, 16] {
        let options = Options { buffer, ..Options::default() };
        assert!(matches!(programmed.attack(&options), Attack::Free));
        for pattern in [Pattern::AllToAll, Pattern::Shift { by: 4 }, Pattern::Permutation { seed: 11 }, Pattern::Incast { to: 5 }] {
            let flows = pattern.flows(&programmed, 100);
            let outcome = programmed.run(&flows, &options);
            assert_eq!((&outcome.end, outcome.delivered), (&End::Done, 100 * flows.len() as u64), "{pattern:?}: {outcome}");
        }
    }
    // The same on the hardware: what was written into it, not what the dump files say.
    let hosts = written.fabric.end_ports().iter().filter(|end| end.is_host()).count();
    // Performance counters tell it to whoever asks, and count the asking.
    let lid = written.fabric.end_ports().iter().find(|end| end.is_host()).unwrap().lid.to_string();
    let stock = Stock::new(written.seat.clone());
    let sent = || fields(&stock.run("perfquery", &[&lid, "1"]))["PortXmitPkts"].parse::<usize>().unwrap();
    let before = sent();
    let told = written.traffic("all-to-all packets 10 buffer 1");
    assert_eq!((&told["end"], &told["delivered"]), (&"done".into(), &(10 * hosts * (hosts - 1)).into()), "{told}");
    let by_host = sent() - before;
    assert!((10 * (hosts - 1)..10 * (hosts - 1) + 20).contains(&by_host), "{by_host} packets");
    assert_eq!(written.traffic("attack buffer 1")["end"], "free");
}

impl Written {
    fn programmed(&self) -> Programmed {
        Programmed::of_tables(&self.fabric, &self.tables)
    }

    /// What the emulator answers to `traffic`.
    fn traffic(&self, what: &str) -> Value {
        let command = format!("traffic {what} {}", self.levels);
        let output = Command::new(heddle()).args(["fabric", self.seat.simulator(), "--json", &command]).output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(output.status.success(), "{command}: {answer}");
        answer["ok"].clone()
    }
}

/// Has OpenSM route a fabric by an engine, which wants a file with this content. With `levels`, its subnet administration is asked for the SL
/// of each pair of hosts.
fn route(spec: &str, engine: &str, file: &[(&str, &str)], levels: bool) -> Written {
    let fabric = generate(spec).unwrap().build();
    let graph = Graph::of(&fabric);
    let emulate = Emulate::start(&fabric);
    let seat = emulate.seat(graph.first_host().0, Preload::Ibsim);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let mut arguments = vec!["--routing_engine", engine, "--qos"];
    for (option, content) in file {
        std::fs::write(&path, content).unwrap();
        arguments.extend([option, path.to_str().unwrap()]);
    }
    let mut opensm = OpenSm::start(&seat, &arguments);
    opensm.wait_until_up(0);
    assert_eq!(opensm.engine().as_deref(), Some(engine));

    let dump = Dump::read(opensm.folder());
    let mut builder = fabric.to_builder();
    for (index, node) in fabric.nodes().iter().enumerate() {
        for number in 0..=node.num_ports {
            let at = PortRef::new(NodeIndex(index as u32), number);
            let lid = fabric.port(at).and_then(|port| dump.lids.get(&port.guid.0)).and_then(|&lid| Lid::new(lid));
            builder.port_mut(at).unwrap().lid = lid;
        }
    }
    let fabric = builder.build();
    let read = |name: &str| std::fs::read(opensm.folder().join(name)).unwrap();
    let (mut tables, _) = heddle_formats::read_lfts(&read("opensm-lfts.dump"), "opensm-lfts.dump", &fabric).unwrap();
    let mut command = String::new();
    if levels {
        let levels = ask_levels(&Stock::new(seat.clone()), &fabric);
        command.push_str("sl");
        levels.iter().for_each(|(from, to, level)| write!(command, " {}:{}:{level}", from.lid, to.lid).unwrap());
        let lines: String =
            levels.iter().map(|(from, to, level)| format!("{} {} {level}\n", fabric.node(from.at.node).guid, to.lid)).collect();
        let (levels, _) = heddle_formats::read_path_sl(lines.as_bytes(), "saquery", &fabric, &tables).unwrap();
        let (lanes, _) = heddle_formats::read_sl2vl(&read("opensm-sl2vl.dump"), "opensm-sl2vl.dump", &fabric, levels).unwrap();
        tables.set_lanes(Some(lanes));
    }
    Written { fabric, tables, _emulate: emulate, seat, levels: command }
}

/// The SL of each pair of hosts.
fn ask_levels(stock: &Stock, fabric: &Fabric) -> Vec<(EndPort, EndPort, u8)> {
    let hosts: Vec<_> = fabric.end_ports().iter().filter(|end| end.is_host()).copied().collect();
    let pairs = hosts.iter().flat_map(|from| hosts.iter().map(move |to| (*from, *to))).filter(|(from, to)| from.lid != to.lid);
    let level = |(from, to): (EndPort, EndPort)| {
        let said = stock.run("saquery", &["--src-to-dst", &format!("{}:{}", from.lid, to.lid)]);
        let records = records(&said);
        let level = records.first().and_then(|record| u8::from_str_radix(record.get("sl")?.strip_prefix("0x")?, 16).ok());
        (from, to, level.unwrap_or_else(|| panic!("no SL: {said}")))
    };
    pairs.map(level).collect()
}
