//! `ibdiagnet` and `ibdmchk` of ibutils.

use crate::bench::Bench;

/// It finds the whole fabric, and nothing wrong with it.
#[test]
fn ibdiagnet() {
    let bench = Bench::new();
    let folder = bench.opensm.folder().join("ibdiagnet");
    let said = bench.stock.run("ibdiagnet", &["-p", "1", "-o", folder.to_str().expect("a path")]);
    // OpenSM makes the group of IPoIB for the slowest links there are, of 10 Gb/s, and the tool knows no speed above 40.
    let expected = ["-W- Topology file is not specified.", "-W- Suboptimal rate for group. Lowest member rate:40Gbps > group-rate:10Gbps"];
    let warnings = said.lines().filter(|line| line.starts_with("-E-") || line.starts_with("-W-"));
    assert!(warnings.eq(expected), "{said}");
    let nodes = bench.graph.nodes.len();
    let switches = bench.graph.nodes.keys().filter(|guid| bench.graph.is_switch(**guid)).count();
    let found = format!("-I- Discovering ... {nodes} nodes ({switches} Switches & {} CA-s) discovered.", nodes - switches);
    assert!(said.contains(&found), "{said}");
}
