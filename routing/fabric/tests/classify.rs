//! What shape a fabric has, against how it was made.

use heddle_fabric::{Class, Fabric, FabricBuilder, Guid, Link, NodeKind, NodeSpec, PortRef, Shape, classify, generate};
use proptest::prelude::*;

fn fabric(spec: &str) -> Fabric {
    generate(spec).unwrap_or_else(|error| panic!("{error}")).build()
}

/// By what a shape has in common with those that lost something.
fn kind(class: &Class) -> &'static str {
    match class.shape() {
        Some(Shape::BackToBack) => "back to back",
        Some(Shape::OneSwitch) => "one switch",
        Some(Shape::Tree(_)) => "tree",
        Some(Shape::Ring(_)) => "ring",
        Some(Shape::Mesh(lengths)) if lengths.len() == 1 => "chain",
        Some(Shape::Mesh(_)) => "mesh",
        Some(Shape::Torus(_)) => "torus",
        Some(Shape::Hypercube(_)) => "hypercube",
        Some(Shape::HyperX(_)) => "hyperx",
        Some(Shape::Dragonfly { .. }) => "dragonfly",
        Some(Shape::DragonflyPlus { .. }) => "dragonfly-plus",
        Some(Shape::Irregular) => "irregular",
        None => "parts",
    }
}

#[test]
fn shapes_without_faults_are_told_with_their_numbers() {
    for (spec, text) in [
        ("clos2:8", "a tree of 2 levels (8 + 4 switches from the bottom)"),
        ("clos2:36,leaves=10", "a tree of 2 levels (10 + 18 switches from the bottom)"),
        ("clos2:4,leaves=2", "a tree of 2 levels (2 + 2 switches from the bottom)"),
        ("clos2:2,leaves=2", "a tree of 2 levels (2 + 1 switches from the bottom)"),
        ("clos3:8", "a tree of 3 levels (32 + 32 + 16 switches from the bottom)"),
        ("clos3:2", "a tree of 3 levels (2 + 2 + 1 switches from the bottom)"),
        ("rail:pods=3,servers=4,rails=8,spines=4,links=2", "a tree of 2 levels (24 + 4 switches from the bottom)"),
        ("torus:6x5x5,links=4,hosts=7", "a torus of 6x5x5 (150 switches)"),
        ("torus:4x3x6", "a torus of 4x3x6 (72 switches)"),
        ("torus:2x3", "a torus of 2x3 (6 switches)"),
        ("torus:1x5", "a ring of 5 switches"),
        ("torus:2x2", "a ring of 4 switches"),
        ("torus:4x4", "a hypercube of 4 dimensions (16 switches)"),
        ("mesh:4x3", "a mesh of 4x3 (12 switches)"),
        ("mesh:7", "a chain of 7 (7 switches)"),
        ("ring:4,hosts=2", "a ring of 4 switches"),
        ("ring:2", "a chain of 2 (2 switches)"),
        ("ring:1", "one switch"),
        ("hypercube:6,hosts=2", "a hypercube of 6 dimensions (64 switches)"),
        ("hypercube:1", "a chain of 2 (2 switches)"),
        ("hyperx:5x4", "a HyperX of 5x4 (20 switches)"),
        ("hyperx:4x4x4", "a HyperX of 4x4x4 (64 switches)"),
        ("hyperx:9", "a full mesh (9 switches)"),
        ("hyperx:3x3", "a torus of 3x3 (9 switches)"),
        ("dragonfly:a=8,p=4,h=4,groups=33", "a dragonfly of 33 groups of 8 switches"),
        ("dragonfly:a=4,p=2,h=2", "a dragonfly of 9 groups of 4 switches"),
        ("dragonfly:a=8,p=4,h=4,groups=9", "a dragonfly of 9 groups of 8 switches"),
        ("dragonfly:a=6,p=1,h=3,groups=1", "a full mesh (6 switches)"),
        ("dragonfly-plus:leaves=4,spines=4,p=4,h=4", "a dragonfly-plus of 17 groups of 4 leaves and 4 spines"),
        ("dragonfly-plus:leaves=8,spines=6,p=4,h=2,groups=3", "a dragonfly-plus of 3 groups of 8 leaves and 6 spines"),
        ("random:switches=125,degree=11,hosts=8,seed=1", "a fabric of no known shape (125 switches)"),
        ("random:switches=30,degree=4,seed=2", "a fabric of no known shape (30 switches)"),
    ] {
        let fabric = fabric(spec);
        let class = classify(&fabric);
        assert_eq!(class.to_string(), text, "{spec}: {}", class.display(&fabric));
        let is_irregular = class.shape() == Some(&Shape::Irregular);
        assert_eq!(class.parts[0].findings.is_empty(), !is_irregular, "{spec}: {}", class.display(&fabric));
    }
}

#[test]
fn what_is_lost_is_counted() {
    for (spec, texts) in [
        ("torus:5x5x5,fail-links=3", &["a torus of 5x5x5 (125", "3 cables are missing"][..]),
        ("torus:5x6x5,fail-switches=1", &["a torus of", "(149", "1 switches are missing"]),
        ("hypercube:6,fail-links=5,seed=4", &["a hypercube of 6", "5 cables are missing"]),
        ("hyperx:5x5,links=2,fail-links=4", &["a HyperX of 5x5", "4 cables are missing"]),
        ("clos3:8,fail-links=5", &["a tree of 3 levels (32 + 32 + 16"]),
        ("clos2:16,fail-links=3", &["a tree of 2 levels (16 + 8", "3 cables up are missing where most switches of level 0 have 8"]),
        ("dragonfly:a=8,p=4,h=4,groups=33,fail-switches=2", &["a dragonfly of 33 groups of 8", "2 switches are missing"]),
        ("dragonfly-plus:leaves=4,spines=4,p=4,h=4,fail-links=4", &["a dragonfly-plus of 17 groups of 4 leaves and 4 spines"]),
    ] {
        let fabric = fabric(spec);
        let class = classify(&fabric);
        let told = class.display(&fabric).to_string();
        texts.iter().for_each(|text| assert!(told.contains(text), "{spec}: no \"{text}\" in {told}"));
    }
}

/// Switches with hosts, then cables between them by number.
fn drawn(hosts: &[usize], cables: &[(usize, usize)]) -> Fabric {
    let mut builder = FabricBuilder::new();
    let switches: Vec<_> = (0..hosts.len() as u64)
        .map(|number| builder.add_node(NodeSpec::new(NodeKind::Switch, Guid(number + 1), 64, format!("s{number}"))).unwrap())
        .collect();
    let mut used = vec![0; hosts.len()];
    let mut port = |switch: usize| {
        used[switch] += 1;
        PortRef::new(switches[switch], used[switch])
    };
    for &(a, b) in cables {
        let ends = [port(a), port(b)];
        builder.connect(ends[0], ends[1], Link::default()).unwrap();
    }
    for (switch, &count) in hosts.iter().enumerate() {
        for number in 0..count {
            let guid = Guid(1000 * (switch as u64 + 1) + number as u64);
            let host = builder.add_node(NodeSpec::new(NodeKind::Ca, guid, 1, "host")).unwrap();
            builder.connect(PortRef::new(host, 1), port(switch), Link::default()).unwrap();
        }
    }
    builder.build()
}

#[test]
fn odd_trees_are_trees() {
    // Two leaves and two spines, the spines joined too: 1 of 5 cables is within a level.
    let class = classify(&drawn(&[4, 4, 0, 0], &[(0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]));
    assert_eq!(kind(&class), "tree");
    assert!(class.parts[0].findings.iter().any(|finding| finding.what.contains("one level") && finding.nodes.len() == 2), "{class:?}");
    // A spine with one host.
    let class = classify(&drawn(&[6, 6, 6, 1, 0], &[(0, 3), (0, 4), (1, 3), (1, 4), (2, 3), (2, 4)]));
    assert_eq!(class.shape(), Some(&Shape::Tree(vec![3, 2])));
    assert!(class.parts[0].findings.iter().any(|finding| finding.what.contains("above the bottom")), "{class:?}");
    // A star of switches that all have hosts.
    assert_eq!(classify(&drawn(&[2; 5], &[(0, 1), (0, 2), (0, 3), (0, 4)])).shape(), Some(&Shape::Tree(vec![4, 1])));
}

#[test]
fn parts_are_told_one_by_one() {
    let class = classify(&drawn(&[2, 2, 2, 2, 2, 1], &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]));
    assert_eq!(class.to_string(), "2 parts without a cable between them: a ring of 5 switches, one switch");
    assert_eq!(class.shape(), None);
    let mut builder = FabricBuilder::new();
    assert_eq!(classify(&builder.clone().build()).to_string(), "nothing is cabled");
    let [a, b] = [1, 2].map(|guid| builder.add_node(NodeSpec::new(NodeKind::Ca, Guid(guid), 1, "host")).unwrap());
    builder.connect(PortRef::new(a, 1), PortRef::new(b, 1), Link::default()).unwrap();
    assert_eq!(classify(&builder.build()).to_string(), "hosts cabled to each other (2 hosts)");
}

/// A shape, and what it is called with few faults.
fn made() -> impl Strategy<Value = (String, &'static str, usize)> {
    prop_oneof![
        (2u64..10, 4u64..18).prop_map(|(half, leaves)| (
            format!("clos2:{},leaves={}", 2 * half, leaves.min(2 * half)),
            "tree",
            half as usize / 2
        )),
        (3u64..5, 2u64..8).prop_map(|(half, pods)| (format!("clos3:{},pods={}", 2 * half, pods.min(2 * half)), "tree", 2)),
        (2u64..4, 2u64..9, 3u64..9).prop_map(|(p, r, s)| (format!("rail:pods={p},servers=3,rails={r},spines={s}"), "tree", 1)),
        (5u64..8, 5u64..8).prop_map(|(x, y)| (format!("torus:{x}x{y}"), "torus", 1)),
        (3u64..6, 5u64..7, 3u64..6).prop_map(|(x, y, z)| (format!("torus:{x}x{y}x{z}"), "torus", 5)),
        (4u64..8, 4u64..8).prop_map(|(x, y)| (format!("mesh:{x}x{y}"), "mesh", 0)),
        (3u64..6, 3u64..6, 3u64..6).prop_map(|(x, y, z)| (format!("mesh:{x}x{y}x{z}"), "mesh", 1)),
        (4u64..8).prop_map(|n| (format!("hypercube:{n}"), "hypercube", 2)),
        (4u64..8, 5u64..9).prop_map(|(x, y)| (format!("hyperx:{x}x{y}"), "hyperx", 3)),
        (2u64..5, 0u64..40).prop_map(|(h, groups)| {
            let a = 2 * h;
            let groups = (a * h + 1).min(h + 2 + groups);
            (format!("dragonfly:a={a},p={h},h={h},groups={groups}"), "dragonfly", (h as usize - 1) / 2)
        }),
        (3u64..7, 3u64..7, 1u64..4).prop_map(|(l, s, h)| (format!("dragonfly-plus:leaves={l},spines={s},p=2,h={h}"), "dragonfly-plus", 1)),
        (40u64..100, 4u64..9).prop_map(|(n, degree)| (format!("random:switches={n},degree={degree}"), "irregular", 5)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_shape_is_what_was_made((spec, expected, faults) in made(), links in 0usize..100, switch in 0usize..4, seed in 1u32..1000) {
        // In a plane mesh a loss at the rim can take the last square of what is beside it. Fewer cables beside a lost switch.
        let (switches, links) = if switch == 0 && faults > 0 { (1, links % (faults / 2 + 1)) } else { (0, links % (faults + 1)) };
        let spec = format!("{spec},fail-links={links},fail-switches={switches},seed={seed}");
        let Ok(builder) = generate(&spec) else { return Ok(()) };
        let fabric = builder.build();
        let class = classify(&fabric);
        prop_assert_eq!(kind(&class), expected, "{}: {}", spec, class.display(&fabric));
    }
}
