//! OpenSM's own test program, which asks its SA for everything and registers with it.

use crate::bench::Bench;

/// Has osmtest run a flow on the inventory that it made before.
fn assert_passes(bench: &Bench, flow: &str, name: &str) {
    let file = |name: &str| bench.opensm.folder().join(name).to_str().expect("a path").to_owned();
    let arguments = ["-f", flow, "-i", &file("inventory"), "-l", &file("osmtest.log"), "-m", "0x40"];
    let ended = bench.stock.end("osmtest", &arguments);
    let log = std::fs::read_to_string(file("osmtest.log")).unwrap_or_default();
    let errors: Vec<&str> = log.lines().filter(|line| line.contains("ERR")).collect();
    let passes = ended.status == Some(0) && ended.said.contains(&format!("OSMTEST: TEST \"{name}\" PASS"));
    assert!(passes, "{ended:?}\n{}", errors.join("\n"));
}

const FLOWS: [(&str, &str); 6] = [
    ("c", "Create Inventory"),
    ("a", "All Validations"),
    ("v", "Validate Inventory"),
    ("s", "Services Registration"),
    ("e", "Event Forwarding"),
    ("m", "Multicast"),
];

#[test]
fn flows() {
    let bench = Bench::new();
    for (flow, name) in FLOWS {
        assert_passes(&bench, flow, name);
    }
}
