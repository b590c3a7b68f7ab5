//! Heddle's engines and proofs beside OpenSM's on the same fabrics in the same run: `beside-opensm [FABRIC...]` for `tests/beside-opensm`.
//!
//! OpenSM runs on ibsim; its routing stage is the time in its log from "building routing with" to "tables configured". Heddle's figure is
//! route and proof together, the best of several runs in a process of its own, whose peak memory counts. The tables of both are judged by
//! the same measures (heddle-verify's `patterns` and `quality`).

mod faults;
mod heddle;
mod opensm;
mod proofs;

use heddle::Measured;
use heddle_fabric::{Fabric, generate};
use heddle_verify::Effort;
use opensm::Stage;
use std::collections::BTreeMap;

/// A fabric, and the engines to compare on it: OpenSM's with what it is told beside, Heddle's with the VLs it may use.
struct Case {
    fabric: &'static str,
    engines: &'static [(Theirs, Ours)],
    /// OpenSM's tables are judged too: its dump files grow with switches times LIDs.
    judged: bool,
}

type Theirs = &'static [&'static str];
type Ours = (&'static str, u8);

const MINHOP: Theirs = &["minhop"];
const UPDN: Theirs = &["updn"];
const FTREE: Theirs = &["ftree"];
const SSSP: Theirs = &["sssp"];
const DFSSSP: Theirs = &["dfsssp", "--qos"];
const LASH: Theirs = &["lash", "--qos"];
const NUE_1: Theirs = &["nue"];
const NUE_8: Theirs = &["nue", "--qos", "--nue_max_num_vls", "8"];

const ANY_SHAPE: [(Theirs, Ours); 6] =
    [(MINHOP, ("min-hop", 1)), (SSSP, ("sssp", 1)), (DFSSSP, ("dfsssp", 8)), (LASH, ("lash", 8)), (NUE_1, ("nue", 1)), (NUE_8, ("nue", 8))];

const CASES: [Case; 9] = [
    Case {
        fabric: "gen:torus:6x5x5,links=4,hosts=7",
        engines: &[ANY_SHAPE[0], ANY_SHAPE[1], ANY_SHAPE[2], ANY_SHAPE[3], ANY_SHAPE[4], ANY_SHAPE[5], (NUE_8, ("torus", 2))],
        judged: true,
    },
    Case { fabric: "gen:random:switches=125,degree=11,hosts=8", engines: &ANY_SHAPE, judged: true },
    Case {
        fabric: "gen:dragonfly:a=8,p=4,h=4,groups=33",
        engines: &[ANY_SHAPE[0], ANY_SHAPE[1], ANY_SHAPE[2], ANY_SHAPE[3], ANY_SHAPE[4], ANY_SHAPE[5], (LASH, ("dragonfly", 2))],
        judged: true,
    },
    Case { fabric: "gen:clos3:16", engines: &[(MINHOP, ("min-hop", 1)), (UPDN, ("up-down", 1)), (FTREE, ("fat-tree", 1))], judged: true },
    Case { fabric: "gen:clos3:24", engines: &[(UPDN, ("up-down", 1)), (FTREE, ("fat-tree", 1))], judged: true },
    Case { fabric: "gen:clos3:24,fail-links=1", engines: &[(FTREE, ("fat-tree", 1))], judged: true },
    Case { fabric: "gen:clos3:24,fail-links=69", engines: &[(FTREE, ("fat-tree", 1))], judged: true },
    Case {
        fabric: "gen:clos3:36",
        engines: &[
            (MINHOP, ("min-hop", 1)),
            (UPDN, ("up-down", 1)),
            (FTREE, ("fat-tree", 1)),
            (SSSP, ("sssp", 1)),
            (DFSSSP, ("dfsssp", 8)),
            (NUE_1, ("nue", 1)),
        ],
        judged: false,
    },
    Case {
        fabric: "gen:clos3:64,pods=44",
        engines: &[(MINHOP, ("min-hop", 1)), (MINHOP, ("up-down", 1)), (MINHOP, ("fat-tree", 1))],
        judged: false,
    },
];

/// The patterns by which tables are judged: all shifts up to 1,100 hosts.
const EFFORT: Effort = Effort { bisections: 500, permutations: 126, shifts: 1_100 };

/// What proof and faults are measured on.
const TREE: &str = "gen:clos3:36";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [first, rest @ ..] = &arguments[..]
        && first == heddle::CHILD
    {
        if let Err(why) = heddle::measure(rest) {
            eprintln!("{why}");
            std::process::exit(1);
        }
        return;
    }
    let wanted = |name: &str| arguments.is_empty() || arguments.iter().any(|argument| argument == name);
    for case in CASES.iter().filter(|case| wanted(case.fabric)) {
        compare(case);
    }
    if wanted("proof") {
        proofs::compare(TREE);
    }
    if wanted("fault") {
        faults::compare(TREE);
    }
}

fn fabric(spec: &str) -> Fabric {
    let mut builder = generate(spec).unwrap_or_else(|error| panic!("{error}"));
    builder.assign_lids().expect("LIDs for all");
    builder.build()
}

fn compare(case: &Case) {
    let fabric = fabric(case.fabric);
    let hosts = fabric.end_ports().len() - fabric.switch_count();
    println!("\n`{}`: {hosts} hosts, {} switches\n", case.fabric, fabric.switch_count());
    println!("| OpenSM | its stage | eBB | shift | Heddle | route | proof | together | peak | VLs | eBB | shift | load | ratio |");
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    let mut known: BTreeMap<Theirs, Stage> = BTreeMap::new();
    for &(theirs, ours) in case.engines {
        let stage = known.entry(theirs).or_insert_with(|| opensm::route(&fabric, theirs, case.judged));
        match heddle::run(case.fabric, ours) {
            Ok(measured) => println!("{} {}", stage.cells(theirs), measured.cells(ours, stage.ms)),
            Err(why) => println!("{} {} | none: {why}", stage.cells(theirs), ours.0),
        }
    }
}

impl Stage {
    fn cells(&self, theirs: Theirs) -> String {
        let name = theirs.join(" ").replace("--nue_max_num_vls ", "").replace(" --qos", "");
        let name = if self.routed_by == theirs[0] { name } else { format!("{name} (refused: {})", self.routed_by) };
        let (bisection, shift) = self.patterns.map_or((String::new(), String::new()), |patterns| {
            (format!("{:.3}", patterns.bisection), format!("{:.3} / {}", patterns.shift, patterns.shift_contention))
        });
        format!("| {name} | {:.1} ms | {bisection} | {shift} |", self.ms)
    }
}

impl Measured {
    fn cells(&self, (engine, _): Ours, theirs: f64) -> String {
        let Self { route_ms, proof_ms, peak_mib, vls, bisection, shift, shift_contention, load } = self;
        let together = route_ms + proof_ms;
        let vls = if *vls == 0 { "deadlocks".to_owned() } else { vls.to_string() };
        format!(
            "{engine} | {route_ms:.1} ms | {proof_ms:.1} ms | {together:.1} ms | {peak_mib} MiB | {vls} | {bisection:.3} | {shift:.3} / {shift_contention} \
             | {load:.2} | {:.0} |",
            theirs / together
        )
    }
}
