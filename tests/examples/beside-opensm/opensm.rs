//! OpenSM's routing stage.

use heddle_fabric::{Fabric, Guid, Lid, NodeKind, PortRef, Tables};
use heddle_tests::{Graph, Ibsim, OpenSm, netlist};
use heddle_verify::{Patterns, patterns};
use std::path::Path;
use std::time::Duration;

/// What came of an engine of OpenSM's.
pub(crate) struct Stage {
    pub(crate) ms: f64,
    /// `minhop` where the engine refused.
    pub(crate) routed_by: String,
    /// If its tables were judged.
    pub(crate) patterns: Option<Patterns>,
}

/// Log flags: with the time at which it begins to route; and with dump files.
pub(crate) const VERBOSE: &str = "0x07";
const VERBOSE_AND_DUMPS: &str = "0x47";

/// min-hop on 45,056 hosts takes four minutes on an idle machine.
pub(crate) const LIMIT: Duration = Duration::from_secs(1_800);

/// Has OpenSM route a fabric; `engine` is its name and what OpenSM is told beside.
pub(crate) fn route(fabric: &Fabric, engine: &[&str], judged: bool) -> Stage {
    let ibsim = Ibsim::start(&netlist(&without_lids(fabric)));
    let seat = ibsim.seat(Graph::of(fabric).first_host().0);
    let arguments = [&["--maxsmps", "64", "--routing_engine"], engine].concat();
    let opensm = if judged {
        OpenSm::once_within(LIMIT, &seat, &[&arguments[..], &["-D", VERBOSE_AND_DUMPS]].concat()).0
    } else {
        let mut opensm = OpenSm::start(&seat, &[&arguments[..], &["-D", VERBOSE]].concat());
        opensm.wait_for_within(LIMIT, " tables configured", 1);
        opensm
    };
    let log = opensm.log();
    let stage = stages(&log).into_iter().next().unwrap_or_else(|| panic!("OpenSM did not route:\n{log}"));
    let judge = || {
        let (fabric, tables) = dumped(fabric, opensm.folder());
        patterns(&fabric, &tables, super::EFFORT)
    };
    Stage { ms: stage, routed_by: opensm.engine().unwrap_or_default(), patterns: judged.then(judge).flatten() }
}

/// How long each routing took, in milliseconds: from "building routing with" the first engine of a chain to "tables configured".
pub(crate) fn stages(log: &str) -> Vec<f64> {
    let (mut stages, mut begin) = (Vec::new(), None);
    for (line, now) in log.lines().filter_map(|line| Some((line, stamp(line)?))) {
        if line.contains("building routing with") {
            begin = begin.or(Some(now));
        } else if line.contains(" tables configured") {
            stages.extend(begin.take().map(|begin| now - begin));
        }
    }
    stages
}

/// Milliseconds of the month, of `Dec 01 15:00:00 123456 [1A2B] …`.
fn stamp(line: &str) -> Option<f64> {
    let mut words = line.split_ascii_whitespace().skip(1);
    let day: f64 = words.next()?.parse().ok()?;
    let clock: Option<Vec<f64>> = words.next()?.split(':').map(|part| part.parse().ok()).collect();
    let [hour, minute, second] = clock?[..] else { return None };
    let micros: f64 = words.next()?.parse().ok()?;
    Some((((day * 24.0 + hour) * 60.0 + minute) * 60.0 + second) * 1e3 + micros / 1e3)
}

/// OpenSM numbers the ports itself.
fn without_lids(fabric: &Fabric) -> Fabric {
    with_lids(fabric, |_| None)
}

/// The fabric with OpenSM's LIDs, and its tables.
pub(crate) fn dumped(fabric: &Fabric, folder: &Path) -> (Fabric, Tables) {
    let read = |name: &str| std::fs::read(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let lids = heddle_tests::subnet(&String::from_utf8_lossy(&read("opensm-subnet.lst"))).0;
    let fabric = with_lids(fabric, |guid| lids.get(&guid.0).copied().and_then(Lid::new));
    let (tables, _) =
        heddle_formats::read_lfts(&read("opensm-lfts.dump"), "opensm-lfts.dump", &fabric).unwrap_or_else(|error| panic!("{error}"));
    (fabric, tables)
}

fn with_lids(fabric: &Fabric, lid: impl Fn(Guid) -> Option<Lid>) -> Fabric {
    let mut builder = fabric.to_builder();
    for end in fabric.end_ports() {
        let at = PortRef::new(end.at.node, end.at.port);
        let port = fabric.port(at).expect("an end port is a port");
        // ibsim's ports have the GUIDs that the netlist gives them; switches have one, the node's.
        let guid = if fabric.node(at.node).kind == NodeKind::Switch { fabric.node(at.node).guid } else { port.guid };
        builder.port_mut(at).expect("the port is there").lid = lid(guid);
    }
    builder.build()
}
