//! Both engines on fabrics of any shape: valid tables, no deadlock where promised, shortest routes where promised.

mod support;

use heddle_engines::{Engine, Options, route};
use heddle_fabric::{Fabric, FabricBuilder, Guid, Link, NodeIndex, NodeKind, NodeSpec, PortRef, SwitchIndex};
use proptest::prelude::*;
use support::*;

/// Checks all that the engines promise.
fn assert_promises(fabric: &Fabric) {
    for engine in [Engine::UpDown, Engine::DownUp] {
        let tables = route(engine, fabric, &Options::default()).unwrap();
        judge(fabric, &tables);
        assert!(acyclic(fabric, &tables, Traffic::All), "{engine}");
    }
    let min_hop = route(Engine::MinHop, fabric, &Options::default()).unwrap();
    let verdict = judge(fabric, &min_hop);
    for (switch, hops) in verdict.hops.iter().enumerate() {
        let shortest = shortest(fabric, SwitchIndex(switch as u32));
        for (end, &hops) in fabric.end_ports().iter().zip(hops) {
            assert_eq!(hops, shortest[end.switch.index()], "min-hop from switch {switch} to LID {}", end.lid);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn promises_hold_on_random_fabrics(fabric in random_fabric()) {
        assert_promises(&fabric);
    }

    #[test]
    fn promises_hold_on_degraded_grids(fabric in degraded_grid(150)) {
        assert_promises(&fabric);
    }

    #[test]
    fn tables_do_not_depend_on_the_number_of_threads(fabric in random_fabric()) {
        for engine in ANY_SHAPE {
            let tables = [1, 2, 5].map(|threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| route(engine, &fabric, &Options::default()).unwrap())
            });
            prop_assert!(tables[0] == tables[1] && tables[1] == tables[2]);
        }
    }

    #[test]
    fn the_order_of_the_nodes_decides_nothing(fabric in random_fabric(), seed in any::<u32>()) {
        let (other, moved) = shuffled(&fabric, u64::from(seed));
        for engine in ANY_SHAPE {
            let (tables, others) = (route(engine, &fabric, &Options::default()).unwrap(), route(engine, &other, &Options::default()).unwrap());
            for (number, node) in fabric.switches().iter().enumerate() {
                let switch = other.switch_index(moved[node.index()]).unwrap();
                prop_assert_eq!(tables.row(SwitchIndex(number as u32)), others.row(switch));
            }
        }
    }
}

#[test]
fn promises_hold_on_usual_shapes() {
    for fabric in [
        torus([12, 1, 1], 1, 1).build(),
        torus([4, 4, 4], 2, 2).build(),
        torus([6, 5, 5], 7, 4).build(),
        clos2(6, 2, 4, 3).build(),
        clos3(6, 5, |number| 1000 - number as u64).build(),
    ] {
        assert_promises(&fabric);
    }
}

#[test]
fn the_lids_of_a_range_take_different_ways() {
    let mut site = clos2(4, 4, 0, 1);
    let hosts = [0, 1, 2, 3].map(|leaf| site.host(NodeIndex(leaf)));
    for host in hosts {
        site.builder.port_mut(host).unwrap().lmc = 2;
    }
    let fabric = site.build();
    for engine in SEVERAL_WAYS {
        let tables = route(engine, &fabric, &Options::default()).unwrap();
        judge(&fabric, &tables);
        for end in fabric.end_ports().iter().filter(|end| end.is_host()) {
            for leaf in (0..4).map(SwitchIndex).filter(|&leaf| leaf != end.switch) {
                let mut ports: Vec<u8> = end.lids().map(|lid| tables.port(leaf, lid)).collect();
                ports.sort_unstable();
                assert_eq!(ports, [1, 2, 3, 4], "{engine}: these ports lead to the four spines");
            }
        }
    }
}

#[test]
fn aggregation_nodes_do_not_make_a_spine_a_leaf() {
    // Each switch has one. With them counted as hosts, a spine of the smallest tree would be no nearer to the hosts than a leaf.
    let mut site = clos2(2, 2, 1, 1);
    for switch in (0..4).map(NodeIndex) {
        let mut spec = NodeSpec::new(NodeKind::Ca, Guid(900 + u64::from(switch.0)), 1, "aggregation node");
        (spec.vendor_id, spec.device_id) = (0x02c9, 0xcf09);
        let node = site.add(spec);
        site.cable(node, switch);
    }
    let fabric = site.build();
    assert_eq!(heddle_engines::roots(&fabric), [SwitchIndex(2), SwitchIndex(3)]);
    assert_promises(&fabric);
}

#[test]
fn a_host_with_both_ports_on_one_switch_is_routed_twice() {
    let mut site = clos2(2, 1, 1, 1);
    let host = site.add(NodeSpec::new(NodeKind::Ca, Guid(900), 2, "two ports"));
    site.cable(host, NodeIndex(0));
    site.cable(host, NodeIndex(0));
    let fabric = site.build();
    assert_eq!(fabric.end_ports().iter().filter(|end| end.at.node == host).count(), 2);
    assert_promises(&fabric);
}

#[test]
fn fabrics_without_anything_to_route_get_empty_tables() {
    let mut lone_host = FabricBuilder::new();
    lone_host.add_node(NodeSpec::new(NodeKind::Ca, Guid(1), 1, "host")).unwrap();
    let mut no_lids = clos2(2, 1, 1, 1).builder;
    for engine in ANY_SHAPE {
        for builder in [FabricBuilder::new(), lone_host.clone(), no_lids.clone()] {
            assert_eq!(route(engine, &builder.build(), &Options::default()).unwrap().row_len(), 0);
        }
    }
    // Hosts alone have LIDs: switches are then no destinations.
    for host in [3, 4].map(NodeIndex) {
        no_lids.port_mut(PortRef::new(host, 1)).unwrap().lid = heddle_fabric::Lid::new(host.0 as u16);
    }
    let fabric = no_lids.build();
    assert_eq!(fabric.end_ports().len(), 2);
    assert_promises(&fabric);
}

#[test]
fn one_switch_with_hosts_or_without() {
    for hosts in [0, 3] {
        let mut site = Site::new();
        let switch = site.switch();
        site.hosts(switch, hosts);
        let fabric = site.build();
        assert_promises(&fabric);
        assert_eq!(heddle_engines::roots(&fabric), [SwitchIndex(0)]);
    }
}

/// Each part of a fabric is routed as if it were alone, and nothing leads from one part to another.
#[test]
fn parts_without_a_cable_between_them_are_routed_each_as_a_fabric_of_its_own() {
    // A ring of five switches, which needs two lanes, a tree whose radix is another, and two lone switches, one with a host.
    let mut site = clos2(4, 3, 3, 1);
    let ring: Vec<_> = (0..5).map(|_| site.switch()).collect();
    for (number, &switch) in ring.iter().enumerate() {
        site.cable(switch, ring[(number + 1) % 5]);
        site.hosts(switch, 2);
    }
    let lone = site.switch();
    site.host(lone);
    site.switch();
    let fabric = site.build();
    let mut engines = ANY_SHAPE.to_vec();
    engines.retain(|&engine| engine != Engine::MinHop); // deadlocks on the ring
    for engine in engines {
        let tables = route(engine, &fabric, &Options::default()).unwrap();
        let report = heddle_verify::verify(&fabric, &tables);
        assert_eq!(report.parts.len(), 4, "{engine}");
        assert!(report.connected() && report.deadlock_free() || engine == Engine::Sssp, "{engine}: {report:?}");
        let alone = clos2(4, 3, 3, 1).build();
        let expected = route(engine, &alone, &Options::default()).unwrap();
        for (number, end) in alone.end_ports().iter().enumerate() {
            assert_eq!(fabric.node(fabric.end_ports()[number].at.node).guid, alone.node(end.at.node).guid, "the first LIDs are the tree's");
            for switch in (0..7).map(SwitchIndex) {
                assert_eq!(tables.port(switch, fabric.end_ports()[number].lid), expected.port(switch, end.lid), "{engine}");
            }
        }
    }
}

#[test]
fn a_refusal_of_a_part_names_nodes_of_the_whole() {
    let mut site = clos2(3, 2, 1, 1);
    let ring: Vec<_> = (0..5).map(|_| site.switch()).collect();
    for (number, &switch) in ring.iter().enumerate() {
        site.cable(switch, ring[(number + 1) % 5]);
        site.host(switch);
    }
    let fabric = site.build();
    let refusal = route(Engine::FatTree, &fabric, &Options::default()).unwrap_err();
    assert_eq!((refusal.engine, &refusal.culprits), (Engine::FatTree, &ring));
    let text = refusal.display(&fabric).to_string();
    for part in ["in the part of 5 switches with \"switch 9\" (0x0000000000000009)", "no tree", "up-down"] {
        assert!(text.contains(part), "{part} is not in: {text}");
    }
}

#[test]
fn engines_are_known_by_name() {
    for engine in Engine::ALL {
        assert_eq!(engine.name().parse(), Ok(engine));
    }
    let error = "minhop".parse::<Engine>().unwrap_err().to_string();
    let names = "min-hop, up-down, down-up, fat-tree, dor, torus, lash, sssp, dfsssp, nue, dragonfly, file, auto";
    assert_eq!(error, format!("there is no engine \"minhop\"; there are: {names}"));
}

#[test]
fn hosts_cabled_to_each_other_are_a_part_of_their_own() {
    // Hosts 1 to 4 in pairs, then a switch with host 5.
    let fabric = |pairs: u64, switch: bool| {
        let mut builder = FabricBuilder::new();
        let mut add = |kind, guid| PortRef::new(builder.add_node(NodeSpec::new(kind, Guid(guid), 1, format!("{guid}"))).unwrap(), 1);
        let mut cables: Vec<_> = (0..pairs).map(|pair| [1, 2].map(|end| add(NodeKind::Ca, 2 * pair + end))).collect();
        if switch {
            cables.push([add(NodeKind::Ca, 5), add(NodeKind::Switch, 6)]);
        }
        cables.into_iter().for_each(|[a, b]| builder.connect(a, b, Link::default()).unwrap());
        builder.assign_lids().unwrap();
        builder.build()
    };
    for engine in ANY_SHAPE {
        assert!(route(engine, &fabric(1, false), &Options::default()).is_ok(), "two hosts alone are a whole fabric");
        assert!(route(engine, &fabric(0, true), &Options::default()).is_ok());
        assert_eq!(route(engine, &fabric(1, true), &Options::default()).unwrap_err().culprits, [0, 1].map(NodeIndex));
        assert_eq!(route(engine, &fabric(2, false), &Options::default()).unwrap_err().culprits, [0, 1, 2, 3].map(NodeIndex));
    }
}

/// Where a pod's switches lost different cables, one has places that another has not.
#[test]
fn trees_that_lost_much() {
    for shape in [
        "clos3:8,fail-links=5,fail-switches=2,seed=2",
        "clos3:8,fail-links=15,fail-switches=3,seed=8",
        "clos3:8,fail-links=5,fail-switches=5,seed=8",
        "clos3:12,fail-links=15,fail-switches=3,seed=5",
        "clos3:12,fail-links=15,fail-switches=5,seed=4",
        "clos3:12,fail-links=15,fail-switches=5,seed=5",
    ] {
        let fabric = generated(shape);
        for engine in [Engine::MinHop, Engine::UpDown, Engine::DownUp, Engine::FatTree, Engine::Nue, Engine::Auto] {
            let tables =
                route(engine, &fabric, &Options::default()).unwrap_or_else(|refusal| panic!("{shape}: {}", refusal.display(&fabric)));
            let report = heddle_verify::verify(&fabric, &tables);
            assert!(
                report.connected() && report.loop_free() && (report.deadlock_free() || engine == Engine::MinHop),
                "{engine} on {shape}: {report}"
            );
        }
    }
}
