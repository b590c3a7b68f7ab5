//! One cable lost: how long OpenSM computes, and how long Heddle.

use super::opensm;
use heddle_engines::{Engine, Options, Rerouter, route};
use heddle_fabric::{Fabric, NodeIndex, PortRef};
use heddle_tests::{Graph, Ibsim, OpenSm, netlist};
use heddle_verify::{Proven, prove, quality};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Takes a cable between the upper levels of a three-level tree away.
pub(crate) fn compare(spec: &str) {
    let fabric = super::fabric(spec);
    let cable = upper_cable(&fabric);
    let theirs = theirs(&fabric, cable);
    println!("\nA cable between an aggregation switch and a spine lost, `{spec}`; OpenSM's minhop takes {theirs:.0} ms for it:\n");
    println!("| Heddle | routes | proof | together | ratio | changed entries | blocks | busiest link over mean, before | after |");
    println!("|---|---|---|---|---|---|---|---|---|");
    for engine in [Engine::MinHop, Engine::UpDown, Engine::FatTree] {
        let Ours { routes, proof, entries, blocks, before, after } = ours(engine, &fabric, cable);
        let together = routes + proof;
        println!(
            "| {engine} | {routes:.2} ms | {proof:.2} ms | {together:.2} ms | {:.0} | {entries} | {blocks} | {before:.3} | {after:.3} |",
            theirs / together
        );
    }
}

struct Ours {
    /// Milliseconds.
    routes: f64,
    proof: f64,
    entries: usize,
    blocks: usize,
    before: f64,
    after: f64,
}

/// The best of five times.
fn ours(engine: Engine, fabric: &Fabric, cable: PortRef) -> Ours {
    let whole = Arc::new(fabric.clone());
    let mut builder = fabric.to_builder();
    builder.disconnect(cable);
    let changed = Arc::new(builder.build());
    let runs = (0..5).map(|_| {
        let tables = route(engine, &whole, &Options::default()).unwrap_or_else(|refusal| panic!("{}", refusal.display(&whole)));
        let mut rerouter =
            Rerouter::new(engine, Arc::clone(&whole), &tables).unwrap_or_else(|refusal| panic!("{}", refusal.display(&whole)));
        let proven = prove(Arc::clone(&whole), tables).unwrap_or_else(|report| panic!("{report}"));
        let before = imbalance(&proven);
        let start = Instant::now();
        let patch = rerouter.reroute(proven.tables(), &changed).unwrap_or_else(|refusal| panic!("{}", refusal.display(&changed)));
        let routed = start.elapsed();
        let (proven, _) = proven.apply(Arc::clone(&changed), &patch).unwrap_or_else(|report| panic!("{report}"));
        let both = start.elapsed();
        let ms = |duration: Duration| duration.as_secs_f64() * 1e3;
        let (entries, blocks) = (patch.entries().len(), patch.blocks());
        Ours { routes: ms(routed), proof: ms(both) - ms(routed), entries, blocks, before, after: imbalance(&proven) }
    });
    runs.min_by(|a, b| (a.routes + a.proof).total_cmp(&(b.routes + b.proof))).expect("five runs")
}

fn imbalance(proven: &Proven) -> f64 {
    let quality = quality(proven.fabric(), proven.tables());
    quality.max_link_load as f64 / quality.mean_link_load
}

/// How long OpenSM computes once it knows.
fn theirs(fabric: &Fabric, cable: PortRef) -> f64 {
    let mut ibsim = Ibsim::start(&netlist(fabric));
    let seat = ibsim.seat(Graph::of(fabric).first_host().0);
    let mut opensm = OpenSm::start(&seat, &["--maxsmps", "64", "--routing_engine", "minhop", "--sweep", "0", "-D", opensm::VERBOSE]);
    opensm.wait_for_within(opensm::LIMIT, "SUBNET UP", 1);
    ibsim.console(&format!("Unlink \"S-{:016x}\"[{}]", fabric.node(cable.node).guid.0, cable.port));
    opensm.wait_for_within(opensm::LIMIT, " tables configured", 2);
    opensm::stages(&opensm.log())[1]
}

/// The first cable from the first aggregation switch to a spine.
fn upper_cable(fabric: &Fabric) -> PortRef {
    let named = |name: &str| (0..fabric.nodes().len() as u32).map(NodeIndex).find(|&node| fabric.node(node).description == name);
    let node = named("agg-0-0").expect("a tree of three levels");
    let leads_up = |port: &PortRef| {
        let peer = fabric.port(*port).and_then(|port| port.peer);
        peer.is_some_and(|peer| fabric.node(peer.node).description.starts_with("spine"))
    };
    (1..=fabric.node(node).num_ports).map(|port| PortRef::new(node, port)).find(leads_up).expect("a spine above")
}
