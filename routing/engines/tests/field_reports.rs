//! Public reports about routing engines of subnet managers, each as a case to get right.

mod support;

use heddle_engines::{Engine, Options, Throttled, roots, route};
use heddle_fabric::{
    Fabric, FabricBuilder, Guid, Link, LinkSpeed, LinkWidth, NodeIndex, NodeKind, NodeSpec, PortRef, SwitchIndex, Tables, generate,
};
use std::collections::BTreeSet;
use support::*;

/// linux-rdma/opensm 84c9832: an assertion where there is at most one leaf.
#[test]
fn r6_one_leaf_is_routed_or_refused_with_a_reason() {
    let mut alone = Site::new();
    let leaf = alone.switch();
    alone.hosts(leaf, 3);
    let mut below_a_spine = Site::new();
    let leaf = below_a_spine.switch();
    below_a_spine.hosts(leaf, 3);
    let spine = below_a_spine.switch();
    below_a_spine.cable(leaf, spine);
    for fabric in [alone.build(), below_a_spine.build()] {
        for engine in Engine::ALL {
            match route(engine, &fabric, &Options::default()) {
                Ok(tables) => _ = judge(&fabric, &tables),
                Err(refusal) => assert!(!ANY_SHAPE.contains(&engine) && !refusal.reason.is_empty() && !refusal.remedy.is_empty()),
            }
        }
    }
}

/// linux-rdma/opensm 0292ae2: two hosts back to back, no switch, and the subnet manager crashes.
#[test]
fn r17_two_hosts_back_to_back_need_no_tables() {
    let mut builder = FabricBuilder::new();
    let hosts = [1, 2].map(|guid| PortRef::new(builder.add_node(NodeSpec::new(NodeKind::Ca, Guid(guid), 1, "host")).unwrap(), 1));
    builder.connect(hosts[0], hosts[1], Link::default()).unwrap();
    builder.assign_lids().unwrap();
    let fabric = builder.build();
    for engine in Engine::ALL {
        for throttled in [Throttled::Use, Throttled::Weigh, Throttled::Avoid] {
            let tables = route(engine, &fabric, &Options { throttled, seed: 3, ..Options::default() }).unwrap();
            assert_eq!(tables.row_len(), 0, "{engine}");
        }
    }
}

/// linux-rdma/opensm d4479ba: a link at 1x in a trunk of four is taken as an equal one.
#[test]
fn r12_a_throttled_cable_of_a_trunk_is_weighed_or_avoided() {
    // Two leaves of 13 hosts and a spine, four cables from each leaf. The last of the first leaf's is at 1x: port 17.
    let mut site = clos2(2, 1, 13, 4);
    let nodes: Vec<NodeIndex> = (0..3).map(NodeIndex).collect();
    for &switch in &nodes {
        for at in (1..=30).map(|port| PortRef::new(switch, port)) {
            let Some((peer, _)) = site.builder.peer(at) else { continue };
            let width = if at == PortRef::new(nodes[0], 17) || peer == PortRef::new(nodes[0], 17) { LinkWidth::X1 } else { LinkWidth::X4 };
            site.builder.connect(at, peer, Link { width: Some(width), speed: Some(LinkSpeed::Hdr) }).unwrap();
        }
    }
    let fabric = site.build();
    let throttled = PortRef::new(nodes[0], 17);
    assert_eq!(fabric.port(throttled).unwrap().link.width, Some(LinkWidth::X1));
    let far_end = fabric.port(throttled).unwrap().peer.unwrap();
    for engine in [Engine::MinHop, Engine::UpDown] {
        let on = |how: Throttled| {
            let tables = route(engine, &fabric, &Options { throttled: how, ..Options::default() }).unwrap();
            judge(&fabric, &tables);
            let count = |switch: u32, port: u8, to: u32| {
                let ends = fabric.end_ports().iter().filter(|end| end.is_host() && end.switch.0 == to);
                ends.filter(|end| tables.port(SwitchIndex(switch), end.lid) == port).count()
            };
            // Of the routes up to the other leaf's 13 hosts, and of those down to the 13 below.
            (count(0, 17, 1), count(2, far_end.port, 0))
        };
        // 13 hosts by four cables: three or four each. By 4 + 4 + 4 + 1 shares: one.
        let (up, down) = on(Throttled::Use);
        assert!((3..=4).contains(&up) && (3..=4).contains(&down), "{engine}: {up} {down}");
        let (up, down) = on(Throttled::Weigh);
        assert!(up <= 1 && down <= 1 && up + down > 0, "{engine}: {up} {down}");
        assert_eq!(on(Throttled::Avoid), (0, 0), "{engine}");
    }
    for engine in Engine::ALL {
        let avoid = Options { throttled: Throttled::Avoid, ..Options::default() };
        if let Ok(tables) = route(engine, &fabric, &avoid) {
            judge(&fabric, &tables);
            assert!(tables.row(SwitchIndex(0)).iter().all(|&port| port != 17), "{engine}");
        }
    }
}

/// linux-rdma/opensm 7bf7482, 64873ff, 899664d, 702f9cd: with hosts that have several LIDs engines crash, take one LMC for all ports, or
/// give all LIDs of a port the same way.
#[test]
fn g9_hosts_have_an_lmc_and_switches_none() {
    let mut builder = generate("clos2:8").unwrap();
    builder.set_lmc(1);
    builder.assign_lids().unwrap();
    let fabric = builder.build();
    for end in fabric.end_ports() {
        assert_eq!(end.lids().count(), if end.is_host() { 2 } else { 1 });
    }
    // With lash, there is one way between two switches.
    for engine in Engine::ALL.into_iter().filter(|&engine| engine != Engine::Lash) {
        let Ok(tables) = route(engine, &fabric, &Options::default()) else { continue };
        judge(&fabric, &tables);
        for end in fabric.end_ports().iter().filter(|end| end.is_host()) {
            for leaf in (0..8).map(SwitchIndex).filter(|&leaf| leaf != end.switch) {
                let ways: BTreeSet<u8> = end.lids().map(|lid| tables.port(leaf, lid)).collect();
                assert_eq!(ways.len(), 2, "{engine}: both LIDs of a port from leaf {}", leaf.0);
            }
        }
    }
}

/// linux-rdma/opensm e94d471 and others: the torus engine crashes on what is no torus, and counts VLs wrong.
#[test]
fn r9_a_torus_engine_refuses_what_is_no_torus_and_links_with_too_few_lanes() {
    let fabric = |spec: &str| {
        let mut builder = generate(spec).unwrap();
        builder.assign_lids().unwrap();
        builder.build()
    };
    for spec in ["clos2:8", "clos3:4", "dragonfly:a=4,p=2,h=2", "random:switches=20,degree=4,seed=3"] {
        let fabric = fabric(spec);
        let refusal = route(Engine::Torus, &fabric, &Options::default()).unwrap_err();
        let text = refusal.display(&fabric).to_string();
        assert!(text.contains("is no mesh, torus") && text.contains("auto") && !refusal.culprits.is_empty(), "{spec}: {text}");
    }
    // A port with one data VL in a torus that needs two; a torus of short rings needs one.
    let one = Options { max_vls: 1, ..Options::default() };
    let refusal = route(Engine::Torus, &fabric("torus:5x5"), &one).unwrap_err();
    assert!(refusal.reason.contains("need 2 virtual lanes, but 1 are allowed"), "{}", refusal.reason);
    assert!(route(Engine::Torus, &fabric("torus:3x4"), &one).is_ok());
}

/// The engines that go up and then down.
const TREE_ENGINES: [Engine; 3] = [Engine::UpDown, Engine::DownUp, Engine::FatTree];

/// Routes and proves; every pair of a switch and a LID in one part is connected.
fn proven(engine: Engine, fabric: &Fabric, options: &Options) -> Tables {
    let tables = route(engine, fabric, options).unwrap_or_else(|refusal| panic!("{engine}: {}", refusal.display(fabric)));
    let report = heddle_verify::verify(fabric, &tables);
    assert!(report.connected() && report.deadlock_free(), "{engine}: {report:?}");
    tables
}

fn refused(engine: Engine, fabric: &Fabric, options: &Options) -> (String, Vec<NodeIndex>) {
    let refusal = route(engine, fabric, options).unwrap_err();
    let text = refusal.display(fabric).to_string();
    (text, refusal.culprits)
}

/// A host with two ports, each with a GUID of its own.
fn dual(site: &mut Site, guid: u64, switches: [NodeIndex; 2]) -> NodeIndex {
    let node = site.add(NodeSpec::new(NodeKind::Ca, Guid(guid), 2, format!("dual {guid}")));
    switches.into_iter().for_each(|switch| site.cable(node, switch));
    for port in [1, 2] {
        site.builder.port_mut(PortRef::new(node, port)).unwrap().guid = Guid(guid + u64::from(port));
    }
    node
}

/// linux-rdma/opensm 21765ad, 13ebee4: engines fail when the root file is absent or has no valid GUID.
#[test]
fn r1_without_roots_they_are_found_and_wrong_ones_are_named() {
    let fabric = clos2(4, 2, 2, 1).build();
    for engine in TREE_ENGINES {
        proven(engine, &fabric, &Options::default());
        if engine == Engine::DownUp {
            continue; // has no roots
        }
        let with = |roots: &[u64]| Options { roots: roots.iter().copied().map(Guid).collect(), ..Options::default() };
        let (text, culprits) = refused(engine, &fabric, &with(&[5, 0xbad, 0xbeef]));
        assert!(text.contains("0x0000000000000bad, 0x000000000000beef") && culprits.is_empty(), "{text}");
        let host = fabric.node_by_guid(Guid(7)).unwrap();
        let (text, culprits) = refused(engine, &fabric, &with(&[5, 7]));
        assert!(text.contains("\"host 7\" (0x0000000000000007)") && culprits == [host], "{text}");
        proven(engine, &fabric, &with(&[5, 6]));
    }
}

/// linux-rdma/opensm 8be9b90: every switch is found to be a root.
#[test]
fn r2_the_roots_are_the_top_switches_only() {
    assert_eq!(roots(&clos2(20, 2, 3, 1).build()), [20, 21].map(SwitchIndex));
    assert_eq!(roots(&clos2(5, 3, 2, 2).build()), [5, 6, 7].map(SwitchIndex));
}

/// linux-rdma/opensm cb20b11: two roots that are cabled to each other leave all ranks at 0.
#[test]
fn r3_roots_cabled_to_each_other_are_refused() {
    let mut site = clos2(3, 2, 2, 1);
    site.cable(NodeIndex(3), NodeIndex(4));
    let fabric = site.build();
    let options = Options { roots: vec![Guid(4), Guid(5)], ..Options::default() };
    for engine in [Engine::UpDown, Engine::FatTree] {
        let (text, culprits) = refused(engine, &fabric, &options);
        assert_eq!(culprits, [3, 4].map(NodeIndex));
        assert!(text.contains("\"switch 4\"") && text.contains("\"switch 5\"") && text.contains("cabled to each other"), "{text}");
        proven(engine, &fabric, &Options { roots: vec![Guid(4)], ..Options::default() });
    }
}

/// linux-rdma/opensm b2cd2d7, c633e05: a switch without rank crashes the engine, and a host with one leg on it is routed by that leg.
#[test]
fn r4_a_lone_switch_is_a_part_of_its_own_and_hosts_keep_their_other_leg() {
    let mut site = clos2(3, 2, 2, 1);
    let lone = site.add(NodeSpec::new(NodeKind::Switch, Guid(0x99), 36, "lone"));
    let host = dual(&mut site, 0x100, [NodeIndex(0), lone]);
    let fabric = site.build();
    let lid = |port| fabric.port(PortRef::new(host, port)).unwrap().lid.unwrap();
    for engine in TREE_ENGINES {
        for roots in [Vec::new(), vec![Guid(4), Guid(5)]] {
            let tables = proven(engine, &fabric, &Options { roots, ..Options::default() });
            for switch in (0..5).map(SwitchIndex) {
                assert_ne!(tables.port(switch, lid(1)), heddle_fabric::NO_PORT);
                assert_eq!(tables.port(switch, lid(2)), heddle_fabric::NO_PORT, "there is no way to the other leg");
            }
            assert_eq!(tables.port(SwitchIndex(5), lid(2)), 1);
        }
    }
    // Several switches without a root above them are another matter.
    let mut site = clos2(3, 2, 2, 1);
    let (leaf, spine) = (site.switch(), site.switch());
    site.cable(leaf, spine);
    let fabric = site.build();
    for engine in [Engine::UpDown, Engine::FatTree] {
        let (text, culprits) = refused(engine, &fabric, &Options { roots: vec![Guid(4), Guid(5)], ..Options::default() });
        assert!(culprits == [leaf, spine] && text.contains("no rank"), "{text}");
    }
}

/// linux-rdma/opensm ccab3b8, e9bbf44, e4e449e: hosts with two ports are counted twice, skipped, or share one I/O flag.
#[test]
fn r7_each_port_of_a_host_is_routed_and_listed_on_its_own() {
    let mut site = clos2(4, 4, 0, 1);
    let hosts: Vec<NodeIndex> = (0..16u64)
        .map(|number| {
            let leaf = NodeIndex(number as u32 / 4);
            // Every other host has both ports on one leaf, the others on two.
            let other = if number % 2 == 0 { leaf } else { NodeIndex((leaf.0 + 2) % 4) };
            dual(&mut site, 0x100 + 0x10 * number, [leaf, other])
        })
        .collect();
    let fabric = site.build();
    for engine in TREE_ENGINES {
        // 8 ports a leaf over 4 cables: each cable carries the routes of two ports, in both directions.
        assert_eq!(imbalance(&fabric, &proven(engine, &fabric, &Options::default())), 1.0);
        let first_ports = hosts.iter().map(|&host| fabric.port(PortRef::new(host, 1)).unwrap().guid).collect();
        let tables = proven(engine, &fabric, &Options { io_nodes: first_ports, ..Options::default() });
        for leaf in (0..4).map(SwitchIndex) {
            for port in [1, 2] {
                let ends = fabric.end_ports().iter().filter(|end| end.is_host() && end.switch == leaf && end.at.port == port);
                let mut spines: Vec<u8> = ends.map(|end| tables.port(SwitchIndex((leaf.0 + 1) % 4), end.lid)).collect();
                spines.sort_unstable();
                spines.dedup();
                assert_eq!(spines.len(), 4, "{engine}: the four ports {port} of a leaf come by the four spines");
            }
        }
    }
}

/// Vendor manuals on fat-tree routing: without a root file the tree must be pure, else some pairs have no route.
#[test]
fn r16_impure_trees_are_routed_without_a_root_file() {
    let pure = || clos2(4, 3, 3, 2);
    let (leaf, spine) = ([0, 1, 2, 3].map(NodeIndex), [4, 5, 6].map(NodeIndex));
    let mut missing = pure();
    missing.cut(leaf[1], spine[2]);
    let mut other_groups = pure();
    [0, 1].into_iter().for_each(|_| other_groups.cut(leaf[1], spine[2]));
    let mut equals = pure();
    equals.cable(leaf[0], leaf[1]);
    equals.cable(spine[0], spine[1]);
    let mut levels = pure();
    levels.hosts(spine[1], 2);
    levels.host(spine[2]);
    let mut deep = pure();
    let below = deep.switch();
    deep.cable(below, leaf[3]);
    deep.hosts(below, 2);
    for site in [missing, other_groups, equals, levels, deep] {
        let fabric = site.build();
        for engine in TREE_ENGINES {
            let tables = proven(engine, &fabric, &Options::default());
            for leaf in leaf.map(|leaf| fabric.switch_index(leaf).unwrap()) {
                let hops = shortest(&fabric, leaf);
                let found = judge(&fabric, &tables).hops;
                for (number, end) in fabric.end_ports().iter().enumerate().filter(|(_, end)| end.is_host()) {
                    assert_eq!(found[leaf.index()][number], hops[end.switch.index()], "{engine}");
                }
            }
        }
    }
    let (text, culprits) = refused(Engine::FatTree, &torus([5, 1, 1], 2, 1).build(), &Options::default());
    assert!(culprits.len() == 5 && text.contains("no tree") && text.contains("Use up-down"), "{text}");
}
