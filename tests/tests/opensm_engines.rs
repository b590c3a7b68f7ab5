//! OpenSM with each of its engines on twelve fabrics, on `heddle emulate`: it brings each up, and the tables that it writes are those
//! that it writes on Debian's ibsim, where they are the same each time.
#![forbid(unsafe_code)]

use heddle_fabric::{Fabric, generate};
use heddle_tests::{Dump, Emulate, Graph, Ibsim, OpenSm, Preload, Seat, assert_same, dual_ported_tree, netlist};
use std::fs;
use std::path::Path;

const ENGINES: [&str; 7] = ["minhop", "updn", "ftree", "dfsssp", "lash", "nue", "torus-2QoS"];

#[test]
fn tree_of_two_levels() {
    check(&made_up("clos2:8"), Shape::Tree);
}

#[test]
fn tree_of_three_levels() {
    check(&made_up("clos3:6"), Shape::Tree);
}

/// `ftree` wants as many cables from each switch of a level.
#[test]
fn tree_with_gaps() {
    check(&made_up("clos3:6,fail-links=6,seed=3"), Shape::Other { root: None });
}

#[test]
fn torus_of_three_dimensions() {
    let origin = &["switch-0-0-0", "switch-1-0-0", "switch-0-1-0", "switch-0-0-1"];
    check(&made_up("torus:3x3x3"), Shape::Torus { size: "torus 3 3 3", origin });
}

#[test]
fn torus_of_two_dimensions() {
    let origin = &["switch-0-0", "switch-1-0", "switch-0-1"];
    check(&made_up("torus:5x5,hosts=2"), Shape::Torus { size: "torus 5 5 1", origin });
}

#[test]
fn mesh() {
    let origin = &["switch-0-0", "switch-1-0", "switch-0-1"];
    check(&made_up("mesh:3x5"), Shape::Torus { size: "mesh 3 5 1", origin });
}

#[test]
fn ring() {
    check(&made_up("ring:6,hosts=2"), Shape::Other { root: Some("switch-0") });
}

#[test]
fn hypercube() {
    check(&made_up("hypercube:4"), Shape::Other { root: Some("switch-0") });
}

#[test]
fn dragonfly() {
    check(&made_up("dragonfly:a=4,p=2,h=2"), Shape::Other { root: Some("router-0-0") });
}

#[test]
fn random_shape() {
    check(&made_up("random:switches=20,degree=4,hosts=2,seed=5"), Shape::Other { root: Some("switch-0") });
}

#[test]
fn single_switch() {
    check(&made_up("ring:1,hosts=6"), Shape::Other { root: Some("switch-0") });
}

#[test]
fn hosts_with_two_ports() {
    check(&dual_ported_tree(), Shape::Tree);
}

fn made_up(shape: &str) -> Fabric {
    generate(shape).unwrap().build()
}

/// What OpenSM's engines want to know, and which of them refuse the fabric.
#[derive(Clone, Copy)]
enum Shape<'a> {
    /// With the same number of cables from each switch of a level; OpenSM finds the roots itself.
    Tree,
    /// The size as `torus-2QoS.conf` has it, a switch, and the next one in each dimension.
    Torus { size: &'a str, origin: &'a [&'a str] },
    /// With a root for `updn`, unless OpenSM finds some itself.
    Other { root: Option<&'a str> },
}

impl Shape<'_> {
    fn is_refused_by(self, engine: &str) -> bool {
        match engine {
            "ftree" => !matches!(self, Self::Tree),
            "torus-2QoS" => !matches!(self, Self::Torus { .. }),
            _ => false,
        }
    }

    /// The arguments for an engine, and in a folder the file that it reads.
    fn arguments(self, engine: &str, graph: &Graph, folder: &Path) -> Vec<String> {
        let guid = |name: &str| format!("{:#x}", graph.node(name));
        let (option, content) = match (engine, self) {
            ("updn", Self::Torus { origin, .. }) => ("--root_guid_file", guid(origin[0])),
            ("updn", Self::Other { root: Some(root) }) => ("--root_guid_file", guid(root)),
            ("torus-2QoS", Self::Torus { size, origin }) => {
                let links = ["xp", "yp", "zp"].iter().zip(&origin[1..]);
                let links = links.map(|(way, next)| format!("{way}_link {} {}\n", guid(origin[0]), guid(next)));
                ("--torus_config", format!("{size}\n{}", links.collect::<String>()))
            }
            _ => return vec!["--routing_engine".into(), engine.into(), "--qos".into()],
        };
        let file = folder.join(engine);
        fs::write(&file, content).unwrap();
        vec!["--routing_engine".into(), engine.into(), "--qos".into(), option.into(), file.to_str().unwrap().into()]
    }
}

/// OpenSM routes with each engine but those that refuse the shape, which leave it to `minhop`.
fn check(fabric: &Fabric, shape: Shape<'_>) {
    let graph = Graph::of(fabric);
    let netlist = netlist(fabric);
    let (host, _) = graph.first_host();
    let folder = tempfile::tempdir().unwrap();
    for engine in ENGINES {
        let arguments = shape.arguments(engine, &graph, folder.path());
        let on_ibsim = || Ending::of(&Ibsim::start(&netlist).seat(&host), &arguments);
        let reference = on_ibsim();
        let routed = if shape.is_refused_by(engine) { "minhop" } else { engine };
        assert_eq!(reference.engine.as_deref(), Some(routed), "{engine}");
        on_ibsim().assert_same(engine, &reference);
        for preload in [Preload::Ibsim, Preload::Heddle] {
            Ending::of(&Emulate::start(fabric).seat(&host, preload), &arguments).assert_same(engine, &reference);
        }
    }
}

/// How OpenSM ended, and what it wrote.
struct Ending {
    status: Option<i32>,
    engine: Option<String>,
    dump: Dump,
}

impl Ending {
    fn of(seat: &Seat, arguments: &[String]) -> Self {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let (opensm, status) = OpenSm::once(seat, &arguments);
        assert!(opensm.log().contains("SUBNET UP"), "{arguments:?}: {}", opensm.log());
        Self { status: status.code(), engine: opensm.engine(), dump: Dump::read(opensm.folder()) }
    }

    fn assert_same(&self, engine: &str, reference: &Self) {
        assert_eq!((self.status, &self.engine), (reference.status, &reference.engine), "{engine}");
        assert_same(&format!("LIDs by {engine}"), &self.dump.lids, &reference.dump.lids);
        assert_same(&format!("cables by {engine}"), &self.dump.cables, &reference.dump.cables);
        assert_same(&format!("tables by {engine}"), &self.dump.lfts, &reference.dump.lfts);
    }
}
