//! Public reports about routing engines of subnet managers, each as a case to get right.

mod support;

use heddle_engines::{Engine, Options, Throttled, route};
use heddle_fabric::{FabricBuilder, Guid, Link, LinkSpeed, LinkWidth, NodeIndex, NodeKind, NodeSpec, PortRef, SwitchIndex, generate};
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
    for engine in Engine::ALL {
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
