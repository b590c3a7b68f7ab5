//! One cable lost: how long OpenSM computes, and how long Heddle.

use super::opensm;
use heddle_fabric::{Fabric, NodeIndex, PortRef};
use heddle_tests::{Graph, Ibsim, OpenSm, netlist};

/// Takes a cable between the upper levels of a three-level tree away.
pub(crate) fn compare(spec: &str) {
    let fabric = super::fabric(spec);
    let cable = upper_cable(&fabric);
    println!("\nA cable between an aggregation switch and a spine lost, `{spec}`:\n");
    println!("| OpenSM minhop, its stage |\n|---|\n| {:.0} ms |", theirs(&fabric, cable));
}

/// How long OpenSM computes once it knows.
fn theirs(fabric: &Fabric, cable: PortRef) -> f64 {
    let mut ibsim = Ibsim::start(&netlist(fabric));
    let seat = ibsim.seat(Graph::of(fabric).first_host().0);
    let mut opensm = OpenSm::start(&seat, &["--maxsmps", "64", "--routing_engine", "minhop", "--sweep", "0", "-D", opensm::VERBOSE]);
    opensm.wait_for_within(opensm::LIMIT, "SUBNET UP", 1);
    ibsim.console(&format!("Unlink \"S-{:016x}\"[{}]", fabric.node(cable.node).guid.0, cable.port));
    opensm.wait_for_within(opensm::LIMIT, "SUBNET UP", 2);
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
