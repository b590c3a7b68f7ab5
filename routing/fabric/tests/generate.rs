//! The generators against counts by hand and the shapes' own definitions.

use heddle_fabric::{Fabric, LinkSpeed, LinkWidth, NodeKind, PortRef, SwitchIndex, generate};
use std::collections::{BTreeMap, BTreeSet};

fn fabric(spec: &str) -> Fabric {
    generate(spec).unwrap_or_else(|error| panic!("{error}")).build()
}

fn hosts(fabric: &Fabric) -> usize {
    fabric.nodes().iter().filter(|node| node.kind != NodeKind::Switch).count()
}

/// Cables between switches.
fn cables(fabric: &Fabric) -> usize {
    let ends: usize = switches(fabric).map(|switch| fabric.arcs(switch).len()).sum();
    assert_eq!(ends % 2, 0);
    ends / 2
}

fn switches(fabric: &Fabric) -> impl Iterator<Item = SwitchIndex> + use<> {
    (0..fabric.switch_count() as u32).map(SwitchIndex)
}

fn named<'a>(fabric: &'a Fabric, name: &str) -> &'a [heddle_fabric::Port] {
    let index = fabric.nodes().iter().position(|node| node.description == name).unwrap_or_else(|| panic!("no node \"{name}\""));
    fabric.node_ports(heddle_fabric::NodeIndex(index as u32))
}

/// The other end of a cable as `name:port`.
fn peer(fabric: &Fabric, name: &str, port: usize) -> String {
    let peer = named(fabric, name)[port].peer.unwrap_or_else(|| panic!("no cable in port {port} of {name}"));
    format!("{}:{}", fabric.node(peer.node).description, peer.port)
}

fn pieces(fabric: &Fabric) -> usize {
    petgraph::algo::tarjan_scc(fabric.graph()).len()
}

/// Spec, switches, hosts, cables between switches, diameter of the switch graph.
const SIZES: [(&str, usize, usize, usize, usize); 26] = [
    ("clos2:36", 54, 648, 648, 2),
    ("gen:clos2:36,leaves=10", 28, 180, 180, 2),
    ("clos3:16", 320, 1024, 2048, 4),
    ("clos3:24", 720, 3456, 6912, 4),
    ("clos3:36,pods=1", 18 + 18 + 324, 324, 648, 4),
    ("torus:6x5x5,links=4,hosts=7", 150, 1050, 150 * 3 * 4, 3 + 2 + 2),
    ("torus:8x8x8,hosts=2", 512, 1024, 1536, 12),
    ("torus:2x3", 6, 6, 3 + 6, 2),
    ("torus:1x4", 4, 4, 4, 2),
    ("mesh:4x3", 12, 12, 3 * 3 + 4 * 2, 5),
    ("mesh:5,hosts=0", 5, 0, 4, 4),
    ("ring:6,hosts=2", 6, 12, 6, 3),
    ("ring:2", 2, 2, 1, 1),
    ("ring:1,hosts=3", 1, 3, 0, 0),
    ("hypercube:6,hosts=2", 64, 128, 192, 6),
    ("hypercube:3,links=2", 8, 8, 24, 3),
    ("hyperx:4x3,hosts=2", 12, 24, 3 * 6 + 4 * 3, 2),
    ("hyperx:5,links=3", 5, 5, 30, 1),
    // 33 groups of 8 * 7 / 2 cables, and one for each of the 33 * 32 / 2 pairs of groups.
    ("dragonfly:a=8,p=4,h=4,groups=33", 264, 1056, 33 * 28 + 528, 3),
    // Three groups: each of the 3 pairs gets 8 / 2 cables, one for each router, so that a local hop at one end is enough.
    ("dragonfly:a=4,p=2,h=2,groups=3", 12, 24, 3 * 6 + 3 * 4, 2),
    ("dragonfly:a=4,p=1,h=0", 4, 4, 6, 1),
    ("dragonfly-plus:leaves=4,spines=4,p=4,h=2", 72, 144, 9 * 16 + 36, 5),
    ("rail:pods=4", 32 + 32, 1024, 1024, 2),
    ("rail:pods=2,servers=4,rails=8,spines=2,links=2", 18, 64, 64, 2),
    ("random:switches=60,degree=6,hosts=2,seed=1", 60, 120, 180, 0),
    ("random:switches=125,degree=11,hosts=8", 125, 1000, 687, 0),
];

#[test]
fn sizes() {
    for (spec, expected_switches, expected_hosts, expected_cables, diameter) in SIZES {
        let fabric = fabric(spec);
        assert_eq!(fabric.switch_count(), expected_switches, "switches of {spec}");
        assert_eq!(hosts(&fabric), expected_hosts, "hosts of {spec}");
        assert_eq!(cables(&fabric), expected_cables, "cables of {spec}");
        assert_eq!(pieces(&fabric), 1, "pieces of {spec}");
        let farthest =
            (switches(&fabric).step_by(7)).flat_map(|from| petgraph::algo::dijkstra(fabric.graph(), from, None, |_| 1).into_values()).max();
        assert!(diameter == 0 && spec.starts_with("random") || farthest == Some(diameter), "diameter of {spec}: {farthest:?}");
    }
}

#[test]
fn large_trees() {
    for (spec, expected_switches, expected_hosts) in [("clos3:36", 1620, 11664), ("clos3:64,pods=44", 3840, 45056)] {
        let fabric = fabric(spec);
        assert_eq!((fabric.switch_count(), hosts(&fabric)), (expected_switches, expected_hosts), "{spec}");
        assert_eq!(cables(&fabric), 2 * expected_hosts, "full bisection: {spec}");
    }
}

#[test]
fn every_cable_has_two_ends_and_every_node_its_guids() {
    for (spec, ..) in SIZES {
        let fabric = fabric(spec);
        let mut guids = BTreeSet::new();
        let mut names = BTreeSet::new();
        for (index, node) in fabric.nodes().iter().enumerate() {
            let index = heddle_fabric::NodeIndex(index as u32);
            assert!(names.insert(&node.description), "{spec}: two nodes named {}", node.description);
            let own: BTreeSet<_> =
                fabric.node_ports(index).iter().map(|port| port.guid).chain([node.guid]).filter(|guid| guid.0 != 0).collect();
            assert!(own.into_iter().all(|guid| guids.insert(guid)), "{spec}: a GUID comes twice");
            for (port, at) in fabric.node_ports(index).iter().zip(0..) {
                let Some(peer) = port.peer else { continue };
                let back = fabric.port(peer).unwrap();
                assert_eq!(back.peer, Some(PortRef::new(index, at)), "{spec}: a cable with one end");
                assert_ne!(peer.node, index, "{spec}: a cable from a node to itself");
                assert_eq!((port.link.width, port.link.speed), (Some(LinkWidth::X4), Some(LinkSpeed::Hdr)));
            }
        }
    }
}

/// The layout that the measured fabrics of the literature use.
#[test]
fn three_level_tree_is_cabled_by_the_book() {
    let fabric = fabric("clos3:8,pods=5");
    assert_eq!(fabric.nodes()[0].description, "leaf-0-0");
    assert_eq!(fabric.nodes()[4].description, "agg-0-0");
    assert_eq!(fabric.nodes()[5 * 8].description, "spine-0-0");
    assert_eq!(fabric.nodes()[5 * 8 + 16].description, "host-0-0-0");
    assert_eq!(peer(&fabric, "leaf-3-2", 1), "host-3-2-0:1");
    assert_eq!(peer(&fabric, "leaf-3-2", 4), "host-3-2-3:1");
    assert_eq!(peer(&fabric, "leaf-3-2", 5), "agg-3-0:3");
    assert_eq!(peer(&fabric, "leaf-3-2", 8), "agg-3-3:3");
    assert_eq!(peer(&fabric, "agg-3-1", 7), "spine-1-2:4");
    let hosts: Vec<_> = fabric.nodes()[56..].iter().map(|node| node.description.as_str()).collect();
    assert_eq!(hosts[15..17], ["host-0-3-3", "host-1-0-0"]);
}

#[test]
fn two_level_tree_ring_and_torus_layout() {
    let tree = fabric("clos2:4");
    assert_eq!(peer(&tree, "leaf-3", 1), "host-3-0:1");
    assert_eq!(peer(&tree, "leaf-3", 4), "spine-1:4");
    let torus = fabric("torus:3x4,hosts=1,links=2");
    assert_eq!(peer(&torus, "switch-2-1", 1), "host-2-1-0:1");
    assert_eq!(peer(&torus, "switch-2-1", 2), "switch-0-1:4");
    assert_eq!(peer(&torus, "switch-2-1", 3), "switch-0-1:5");
    assert_eq!(peer(&torus, "switch-2-1", 4), "switch-1-1:2");
    assert_eq!(peer(&torus, "switch-2-1", 6), "switch-2-2:8");
    assert_eq!(peer(&fabric("ring:6,hosts=2"), "switch-5", 3), "switch-0:4");
}

#[test]
fn regular_shapes_have_regular_degrees() {
    for (spec, degree) in [
        ("torus:6x5x5,links=4,hosts=7", 24),
        ("hypercube:6,hosts=2", 6),
        ("hyperx:4x3,hosts=2", 5),
        ("dragonfly:a=8,p=4,h=4", 11),
        ("random:switches=60,degree=6,hosts=2,seed=1", 6),
        ("random:switches=2,degree=9", 9),
    ] {
        let fabric = fabric(spec);
        for switch in switches(&fabric) {
            assert_eq!(fabric.arcs(switch).len(), degree, "{spec}");
        }
    }
    // 125 * 11 ends is an odd number: one is left over.
    let odd = fabric("random:switches=125,degree=11,hosts=8");
    let degrees: Vec<usize> = switches(&odd).map(|switch| odd.arcs(switch).len()).collect();
    assert_eq!(degrees.iter().filter(|&&degree| degree == 10).count(), 1);
    assert_eq!(degrees.iter().filter(|&&degree| degree == 11).count(), 124);
}

#[test]
fn dragonfly_groups_are_all_to_all() {
    for (spec, per_group, copies) in
        [("dragonfly:a=4,p=1,h=2", 4, 1), ("dragonfly:a=4,p=1,h=2,groups=5", 4, 2), ("dragonfly-plus:leaves=2,spines=3,p=1,h=2", 5, 1)]
    {
        let fabric = fabric(spec);
        let mut between = BTreeMap::new();
        for switch in switches(&fabric) {
            for arc in fabric.arcs(switch) {
                let groups = (switch.index() / per_group, arc.peer.index() / per_group);
                *between.entry(groups).or_insert(0) += 1;
            }
        }
        let groups = fabric.switch_count() / per_group;
        between.retain(|(a, b), _| a != b);
        assert_eq!(between.len(), groups * (groups - 1), "{spec}");
        assert!(between.values().all(|&cables| cables == copies), "{spec}");
    }
}

#[test]
fn the_same_text_is_the_same_fabric() {
    let listing = |spec: &str| format!("{:?}", fabric(spec));
    for spec in ["random:switches=40,degree=3,seed=7", "clos3:8,fail-links=9,fail-switches=3,seed=5", "dragonfly:a=4,p=2,h=2"] {
        assert_eq!(listing(spec), listing(spec));
    }
    assert_ne!(listing("random:switches=40,degree=3,seed=7"), listing("random:switches=40,degree=3,seed=8"));
    assert_ne!(listing("clos3:8,fail-links=9,seed=1"), listing("clos3:8,fail-links=9,seed=2"));
}

#[test]
fn faults_take_exactly_so_much_and_leave_one_piece() {
    for seed in 0..20 {
        let links = fabric(&format!("clos3:8,fail-links=100,seed={seed}"));
        assert_eq!((links.switch_count(), hosts(&links), cables(&links), pieces(&links)), (80, 128, 256 - 100, 1));
        let nodes = fabric(&format!("torus:4x4,hosts=3,fail-switches=5,seed={seed}"));
        assert_eq!((nodes.switch_count(), hosts(&nodes), pieces(&nodes)), (11, 33, 1));
        let both = fabric(&format!("random:switches=30,degree=4,fail-switches=2,fail-links=3,seed={seed}"));
        assert_eq!((both.switch_count(), pieces(&both)), (28, 1));
    }
    // A ring can lose one cable, and then no other.
    assert_eq!(cables(&fabric("ring:9,fail-links=1")), 8);
    let error = generate("ring:9,fail-links=2").unwrap_err().to_string();
    assert_eq!(error, "\"ring:9,fail-links=2\", column 1: fail-links=2: only 1 cables can fail before the fabric falls into pieces");
    assert!(generate("ring:9,fail-switches=9").unwrap_err().to_string().contains("only 8 switches"));
    // A fault changes nobody's identity.
    let whole = fabric("clos2:8");
    for node in fabric("clos2:8,fail-switches=3,seed=4").nodes() {
        let same = whole.node(whole.node_by_guid(node.guid).unwrap());
        assert_eq!(same, node);
    }
}

#[test]
fn errors_say_where_and_what() {
    for (spec, column, part) in [
        ("", 1, "is not a shape; the shapes are clos2, clos3"),
        ("klos:8", 1, "\"klos\" is not a shape"),
        ("gen:klos:8", 5, "\"klos\" is not a shape"),
        ("clos2", 6, "expected the number of ports of a switch; as in clos2:RADIX"),
        ("clos2:", 7, "expected the number of ports"),
        ("clos2:x", 7, "\"x\" is not a possible value for the number of ports of a switch: a number from 2 to 254"),
        ("clos2:7", 7, "expected an even number"),
        ("clos2:-8", 7, "a number from 2 to 254"),
        ("clos2:99999999999999999999", 7, "a number from 2 to 254"),
        ("clos2:8,leaves=9", 16, "a number from 1 to 8"),
        ("clos2:8,leaves=", 16, "a value is missing"),
        ("clos2:8,leaves=2,leaves=3", 18, "says the same option again"),
        ("clos2:8,leafs=2", 9, "clos2 does not take \"leafs=\"; it takes fail-links=, fail-switches=, seed=, leaves="),
        ("clos2:8,9", 9, "expected KEY=VALUE instead of \"9\""),
        ("clos2:leaves=9", 7, "expected the number of ports of a switch first"),
        ("clos2:8,seed=ä", 14, "a number from 0"),
        ("torus:8xx8", 9, "the size of a dimension"),
        ("torus:2x2x2x2x2x2x2x2x2", 7, "9 dimensions"),
        ("torus:300x300x300,hosts=200", 1, "27000000 switches"),
        ("torus:49151x49151x49151x49151x49151", 1, "more than the 49151 unicast LIDs"),
        ("torus:4x4x4,links=50", 1, "a switch would need 301 ports; 254 are possible"),
        ("clos3:64", 1, "5120 switches and 65536 hosts are more than the 49151"),
        ("dragonfly:p=4,h=4", 1, "a= is missing; as in dragonfly:a=8"),
        ("dragonfly:7,a=4,p=4,h=4", 11, "expected KEY=VALUE instead of \"7\""),
        ("dragonfly:a=4,p=4,h=4,groups=18", 30, "a number from 1 to 17"),
        ("random:switches=60,degree=1", 1, "60 switches cannot hold together"),
        ("hypercube:16", 11, "a number from 1 to 15"),
        ("rail:pods=40", 1, "a switch would need 320 ports"),
    ] {
        let error = generate(spec).expect_err(spec);
        assert_eq!(error.column, column, "{error}");
        assert!(error.message.contains(part), "{error}");
        assert_eq!(error.spec, spec);
    }
}
