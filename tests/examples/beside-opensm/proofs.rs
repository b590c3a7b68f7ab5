//! The proof of OpenSM's own tables, by ibdmchk and by Heddle.

use super::opensm;
use heddle_tests::{Graph, Ibsim, OpenSm, ibdmchk, netlist};
use heddle_verify::verify;
use std::time::Instant;

/// Has OpenSM's `ftree` route a fabric, and both prove what it dumped; what it takes to read the files is told apart where it can be.
pub(crate) fn compare(spec: &str) {
    let fabric = super::fabric(spec);
    let ibsim = Ibsim::start(&netlist(&fabric));
    let seat = ibsim.seat(Graph::of(&fabric).first_host().0);
    let (opensm, _) = OpenSm::once_within(opensm::LIMIT, &seat, &["--maxsmps", "64", "--routing_engine", "ftree"]);
    let start = Instant::now();
    let pairs = ibdmchk(opensm.folder()).unwrap_or_else(|why| panic!("{why}"));
    let theirs = start.elapsed();
    let start = Instant::now();
    let (fabric, tables) = opensm::dumped(&fabric, opensm.folder());
    let reading = start.elapsed();
    let best = (0..10).map(|_| {
        let start = Instant::now();
        let report = verify(&fabric, &tables);
        assert!(report.is_good(), "{report}");
        start.elapsed()
    });
    let ours = best.min().expect("ten runs");
    println!("\nProof of the tables of OpenSM's ftree, `{spec}`, {pairs} pairs of hosts:\n");
    println!("| ibdmchk, with reading | Heddle, reading | Heddle, proof | ratio |\n|---|---|---|---|");
    let ms = ours.as_secs_f64() * 1e3;
    println!(
        "| {:.1} s | {:.1} s | {ms:.1} ms | {:.0} |",
        theirs.as_secs_f64(),
        reading.as_secs_f64(),
        theirs.as_secs_f64() / ours.as_secs_f64()
    );
}
