//! What the user decides about routes, on fabrics small enough to know the right answer.

mod support;

use heddle_engines::{Engine, Options, Throttled, route};
use heddle_fabric::{Fabric, Guid, Link, LinkSpeed, LinkWidth, NO_PORT, NodeIndex, PortRef, SwitchIndex, Tables, generate};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use support::*;

const FULL: Link = Link { width: Some(LinkWidth::X4), speed: Some(LinkSpeed::Hdr) };
const NARROW: Link = Link { width: Some(LinkWidth::X1), speed: Some(LinkSpeed::Hdr) };
const SLOW: Link = Link { width: Some(LinkWidth::X4), speed: Some(LinkSpeed::Edr) };

/// Makes every cable 4x HDR, but those at these ports.
fn linked(mut site: Site, others: &[(PortRef, Link)]) -> Site {
    for node in (0..site.builder.nodes().len() as u32).map(NodeIndex) {
        for port in 1..=site.builder.nodes()[node.index()].num_ports {
            let at = PortRef::new(node, port);
            if let Some((peer, _)) = site.builder.peer(at) {
                site.builder.connect(at, peer, FULL).unwrap();
            }
        }
    }
    for &(at, link) in others {
        let (peer, _) = site.builder.peer(at).unwrap();
        site.builder.connect(at, peer, link).unwrap();
    }
    site
}

/// Those that heed weights of hops.
const BY_WEIGHTS: [Engine; 3] = [Engine::MinHop, Engine::Sssp, Engine::Dfsssp];

/// Two switches with hosts at the first ports, and a trunk.
fn trunk(hosts: usize, cables: usize) -> Site {
    let mut site = Site::new();
    let ends = [site.switch(), site.switch()];
    ends.iter().for_each(|&end| site.hosts(end, hosts));
    (0..cables).for_each(|_| site.cable(ends[0], ends[1]));
    site
}

/// To how many of the other switches' hosts a switch sends by each port.
fn hosts_by_port(fabric: &Fabric, tables: &Tables, switch: u32) -> BTreeMap<u8, usize> {
    let mut count = BTreeMap::new();
    for end in fabric.end_ports().iter().filter(|end| end.is_host() && end.switch.0 != switch) {
        for lid in end.lids() {
            *count.entry(tables.port(SwitchIndex(switch), lid)).or_default() += 1;
        }
    }
    count
}

/// Routes by an engine that must not refuse, and judges the tables.
fn routed(engine: Engine, fabric: &Fabric, options: &Options) -> Tables {
    let tables = route(engine, fabric, options).unwrap_or_else(|refusal| panic!("{engine}: {}", refusal.display(fabric)));
    judge(fabric, &tables);
    tables
}

/// Triangle 0-1-2 with a host each, at port 1; then cables 0:2-1:2, 1:3-2:2, 0:3-2:3.
fn triangle() -> Fabric {
    let mut site = Site::new();
    let corners = [(); 3].map(|()| site.switch());
    corners.iter().for_each(|&corner| _ = site.host(corner));
    [(0, 1), (1, 2), (0, 2)].into_iter().for_each(|(a, b)| site.cable(corners[a], corners[b]));
    site.build()
}

#[test]
fn weights_make_the_longer_way_the_shorter_one() {
    let fabric = triangle();
    let host = *fabric.end_ports().iter().find(|end| end.is_host() && end.switch.0 == 2).unwrap();
    let back = *fabric.end_ports().iter().find(|end| end.is_host() && end.switch.0 == 0).unwrap();
    for (weight, port) in [(1, 3), (3, 2), (255, 2)] {
        let options = Options { hop_weights: BTreeMap::from([((Guid(1), 3), weight)]), ..Options::default() };
        for engine in BY_WEIGHTS {
            let tables = routed(engine, &fabric, &options);
            // From 0 straight to 2 is as far as the weight says, by way of 1 it is 2.
            assert_eq!(tables.port(SwitchIndex(0), host.lid), port, "{engine}: weight {weight}");
            assert_eq!(tables.port(SwitchIndex(2), back.lid), 3, "{engine}: the way back has no weight");
        }
    }
}

#[test]
fn a_heavy_cable_of_a_trunk_stays_empty() {
    let fabric = trunk(6, 3).build();
    let options = Options { hop_weights: BTreeMap::from([((Guid(1), 8), 2)]), ..Options::default() };
    for engine in BY_WEIGHTS {
        let tables = routed(engine, &fabric, &options);
        assert_eq!(hosts_by_port(&fabric, &tables, 0), BTreeMap::from([(7, 3), (9, 3)]), "{engine}");
        let back = hosts_by_port(&fabric, &tables, 1);
        assert_eq!(back, BTreeMap::from([(7, 2), (8, 2), (9, 2)]), "{engine}: the other direction has no weights");
    }
}

#[test]
fn ignored_links_carry_nothing() {
    let fabric = clos2(6, 3, 4, 1).build();
    // The cable of the first leaf to the first spine, named from above; the leaf's other end is its port 5.
    let ignored = Options { ignored_links: vec![(fabric.switch(SwitchIndex(6)).guid, 1)], ..Options::default() };
    for engine in ANY_SHAPE {
        let tables = routed(engine, &fabric, &ignored);
        let loads: BTreeMap<usize, u64> = loads(&fabric, &tables).into_iter().collect();
        let channels = [fabric.channel(SwitchIndex(0), 5), fabric.channel(SwitchIndex(6), 1)];
        assert_eq!(channels.map(|channel| loads[&channel]), [0, 0], "{engine}");
        assert!(loads.iter().all(|(channel, &load)| load > 0 || channels.contains(channel)), "{engine}");
    }
}

#[test]
fn ignored_links_that_are_needed_are_refused_by_name() {
    let fabric = clos2(2, 1, 1, 1).build();
    for engine in ANY_SHAPE {
        let refused = |node: u32, port: u8| {
            let guid = fabric.node(NodeIndex(node)).guid;
            let options = Options { ignored_links: vec![(guid, port)], ..Options::default() };
            route(engine, &fabric, &options).unwrap_err().culprits
        };
        assert_eq!(refused(0, 2), [NodeIndex(0), NodeIndex(2)], "{engine}: the only cable up");
        assert_eq!(refused(0, 1), [NodeIndex(3)], "{engine}: a host's cable");
    }
    let all: Vec<_> = [(1, 2), (2, 2)].map(|(guid, port)| (Guid(guid), port)).to_vec();
    let refusal = route(Engine::UpDown, &fabric, &Options { ignored_links: all, ..Options::default() }).unwrap_err();
    let text = refusal.display(&fabric).to_string();
    assert!(text.contains("\"switch 3\"") && text.contains("--ignore-links"), "{text}");
}

#[test]
fn an_uneven_trunk_is_used_in_proportion() {
    // 4x and 1x of one speed: 4 to 4 to 4 to 1. 13 hosts to share.
    for (link, hosts, counts) in [(NARROW, 13, [4, 4, 4, 1]), (SLOW, 7, [2, 2, 2, 1])] {
        let slow = PortRef::new(NodeIndex(0), hosts as u8 + 3);
        let fabric = linked(trunk(hosts, 4), &[(slow, link)]).build();
        let weigh = Options { throttled: Throttled::Weigh, ..Options::default() };
        for engine in ANY_SHAPE {
            let tables = routed(engine, &fabric, &weigh);
            for switch in [0, 1] {
                let by_port = hosts_by_port(&fabric, &tables, switch);
                let mut found: Vec<usize> = by_port.values().copied().collect();
                found.sort_unstable_by_key(|&count| std::cmp::Reverse(count));
                assert_eq!(found, counts, "{engine}");
                assert_eq!(by_port[&slow.port], 1, "{engine}");
            }
        }
    }
}

#[test]
fn a_throttled_cable_of_a_tree_takes_its_share_up_and_down() {
    // 4 leaves of 16 hosts, 4 spines. The cable of leaf 0 to spine 1 is at 1x, port 18 of the leaf.
    let site = clos2(4, 4, 16, 1);
    let fabric = linked(site, &[(PortRef::new(NodeIndex(0), 18), NARROW)]).build();
    for engine in [Engine::MinHop, Engine::UpDown, Engine::Nue] {
        let tables = routed(engine, &fabric, &Options { throttled: Throttled::Weigh, ..Options::default() });
        let up = hosts_by_port(&fabric, &tables, 0);
        // 48 hosts in other leaves: a cable of four shares had 12; the throttled one keeps a quarter, the others take the rest, 15 on average.
        assert_eq!(up[&18], 3, "{engine}");
        assert!([17, 19, 20].iter().all(|port| (12..=18).contains(&up[port])), "{engine}: {up:?}");
        // Down to the 16 hosts of leaf 0 go the routes of 48 hosts each.
        let loads: BTreeMap<usize, u64> = loads(&fabric, &tables).into_iter().collect();
        let down = [4, 5, 6, 7].map(|spine| loads[&fabric.channel(SwitchIndex(spine), 1)]);
        assert_eq!((down[1], down.iter().sum::<u64>()), (48, 16 * 48), "{engine}: {down:?}");
        assert!([0, 2, 3].iter().all(|&spine| down[spine] == 5 * 48), "{engine}: {down:?}");
    }
}

#[test]
fn a_throttled_cable_costs_those_more_who_take_it() {
    // 4 leaves of 13 hosts, 4 spines, the cable of leaf 0 to spine 1 at 1x: port 15 of the leaf. Up from there, 13 hosts are 4 to 4 to 4 to 1,
    // and then all four cables have cost the same again, so that those of the next leaf are so too.
    let fabric = linked(clos2(4, 4, 13, 1), &[(PortRef::new(NodeIndex(0), 15), NARROW)]).build();
    for engine in [Engine::Sssp, Engine::Dfsssp] {
        let tables = routed(engine, &fabric, &Options { throttled: Throttled::Weigh, ..Options::default() });
        assert_eq!(hosts_by_port(&fabric, &tables, 0), BTreeMap::from([(14, 12), (15, 3), (16, 12), (17, 12)]), "{engine}");
        // Down to leaf 0 go 39 routes to each host. Those who send have cables up of one rate, and took some more often than others before.
        let loads: BTreeMap<usize, u64> = loads(&fabric, &tables).into_iter().collect();
        let down = [4, 5, 6, 7].map(|spine| loads[&fabric.channel(SwitchIndex(spine), 1)]);
        assert_eq!(down.iter().sum::<u64>(), 13 * 39, "{engine}: {down:?}");
        assert!(down[1] <= 2 * 39 && [0, 2, 3].iter().all(|&spine| down[spine] >= 3 * 39), "{engine}: {down:?}");
    }
}

#[test]
fn a_narrow_part_of_a_torus_is_spared() {
    // Torus of 5 x 5 with a host each. All 50 cables are 4x, but that of switch 0 at port 2 is 1x: it then has fewer routes.
    let site = torus([5, 5, 1], 1, 1);
    let narrow = PortRef::new(NodeIndex(0), 2);
    let channel = |fabric: &Fabric| fabric.channel(SwitchIndex(0), 2);
    let fabric = linked(site, &[(narrow, NARROW)]).build();
    for engine in [Engine::Sssp, Engine::Dfsssp] {
        let [plain, weighed] = [Throttled::Use, Throttled::Weigh].map(|throttled| {
            let tables = routed(engine, &fabric, &Options { throttled, ..Options::default() });
            loads(&fabric, &tables).into_iter().collect::<BTreeMap<usize, u64>>()[&channel(&fabric)]
        });
        assert!(0 < weighed && weighed < plain, "{engine}: {weighed} in place of {plain}");
    }
}

#[test]
fn equal_cables_have_no_weights_whatever_their_speed() {
    for fabric in [linked(clos2(4, 2, 3, 2), &[]).build(), clos2(4, 2, 3, 2).build()] {
        for engine in ANY_SHAPE {
            let plain = routed(engine, &fabric, &Options::default());
            for throttled in [Throttled::Weigh, Throttled::Avoid] {
                assert!(routed(engine, &fabric, &Options { throttled, ..Options::default() }) == plain, "{engine}");
            }
        }
    }
}

#[test]
fn a_slow_switch_has_no_throttled_cables_but_a_slow_cable_is_one() {
    // All cables of leaf 0 are of an older speed; leaf 1 has one such, port 4 to the first spine.
    let site = clos2(6, 3, 3, 1);
    let old = [4, 5, 6].map(|port| (PortRef::new(NodeIndex(0), port), SLOW));
    let fabric = linked(site, &[old[0], old[1], old[2], (PortRef::new(NodeIndex(1), 4), SLOW)]).build();
    for engine in ANY_SHAPE {
        let tables = routed(engine, &fabric, &Options { throttled: Throttled::Avoid, ..Options::default() });
        assert_eq!(hosts_by_port(&fabric, &tables, 0).len(), 3, "{engine}");
        assert_eq!(hosts_by_port(&fabric, &tables, 1).into_keys().collect::<Vec<_>>(), [5, 6], "{engine}");
    }
}

#[test]
fn throttled_cables_are_used_where_there_is_no_other_way() {
    // A chain of three switches, the second step by a trunk of two slow cables and one still slower.
    let mut site = Site::new();
    let chain = [(); 3].map(|()| site.switch());
    chain.iter().for_each(|&switch| site.hosts(switch, 4));
    (0..3).for_each(|_| site.cable(chain[0], chain[1]));
    (0..3).for_each(|_| site.cable(chain[1], chain[2]));
    let slow = [8, 9].map(|port| (PortRef::new(chain[1], port), SLOW));
    let fabric = linked(site, &[slow[0], slow[1], (PortRef::new(chain[1], 10), NARROW)]).build();
    for engine in ANY_SHAPE {
        let tables = routed(engine, &fabric, &Options { throttled: Throttled::Avoid, ..Options::default() });
        let last = hosts_by_port(&fabric, &tables, 2);
        assert!(!last.contains_key(&7) && last.values().sum::<usize>() == 8, "{engine}: port 7 leads to the slowest cable: {last:?}");
    }
}

#[test]
fn ports_are_taken_in_the_users_order() {
    let fabric = trunk(4, 4).build();
    for engine in [Engine::MinHop, Engine::UpDown, Engine::Sssp, Engine::Dfsssp] {
        let first_host = |options: &Options| {
            let tables = routed(engine, &fabric, options);
            let hosts = fabric.end_ports().iter().filter(|end| end.is_host() && end.switch.0 == 1);
            hosts.map(|end| tables.port(SwitchIndex(0), end.lid)).collect::<Vec<u8>>()
        };
        let natural = first_host(&Options::default());
        let port_order = BTreeMap::from([(Guid(1), vec![8, 5])]);
        let ordered = first_host(&Options { port_order, ..Options::default() });
        // Ports 5 to 8 in turn, wherever the turn begins; then 8, 5, 6, 7.
        let place = |port: u8| [5, 6, 7, 8].iter().position(|&other| other == port).unwrap();
        let expected: Vec<u8> = natural.iter().map(|&port| [8, 5, 6, 7][place(port)]).collect();
        assert_eq!(ordered, expected, "{engine}");
    }
}

#[test]
fn ports_up_are_taken_in_the_users_order() {
    let fabric = clos2(3, 4, 4, 1).build();
    let port_order = BTreeMap::from([(Guid(1), vec![7, 8, 5, 6])]);
    for engine in [Engine::MinHop, Engine::UpDown, Engine::Sssp, Engine::Dfsssp] {
        let hosts = |tables: &Tables| {
            let ends = fabric.end_ports().iter().filter(|end| end.is_host() && end.switch.0 != 0);
            ends.map(|end| tables.port(SwitchIndex(0), end.lid)).collect::<Vec<u8>>()
        };
        let natural = hosts(&routed(engine, &fabric, &Options::default()));
        let ordered = hosts(&routed(engine, &fabric, &Options { port_order: port_order.clone(), ..Options::default() }));
        let expected: Vec<u8> = natural.iter().map(|&port| [7, 8, 5, 6][usize::from(port) - 5]).collect();
        assert_eq!(ordered, expected, "{engine}");
    }
}

#[test]
fn what_is_first_in_the_routing_order_has_the_first_numbers() {
    let fabric = clos2(2, 3, 3, 1).build();
    let hosts: Vec<_> = fabric.end_ports().iter().filter(|end| end.is_host()).collect();
    let far: Vec<_> = hosts.iter().filter(|end| end.switch.0 == 1).collect();
    // A switch stands for its hosts.
    let by_switch = Options { routing_order: vec![fabric.switch(SwitchIndex(1)).guid], ..Options::default() };
    for engine in [Engine::MinHop, Engine::UpDown, Engine::Sssp, Engine::Dfsssp] {
        // Backwards, the second leaf's hosts are numbers 0, 1 and 2: each takes the next cable up.
        let routing_order: Vec<Guid> = far.iter().rev().map(|end| fabric.node(end.at.node).guid).collect();
        let tables = routed(engine, &fabric, &Options { routing_order, ..Options::default() });
        let ports: Vec<u8> = far.iter().rev().map(|end| tables.port(SwitchIndex(0), end.lid)).collect();
        assert_eq!(ports, [4, 5, 6], "{engine}");
        let tables = routed(engine, &fabric, &by_switch);
        assert_eq!(far.iter().map(|end| tables.port(SwitchIndex(0), end.lid)).collect::<Vec<_>>(), [4, 5, 6], "{engine}");
    }
}

#[test]
fn seeds_give_other_routes_that_are_as_good() {
    let fabric = clos2(6, 4, 8, 2).build();
    for engine in ANY_SHAPE {
        let tables: Vec<Tables> = [0, 1, 2].map(|seed| routed(engine, &fabric, &Options { seed, ..Options::default() })).into();
        assert!(tables[0] != tables[1] && tables[1] != tables[2] && tables[0] != tables[2], "{engine}");
        assert!(tables[1] == routed(engine, &fabric, &Options { seed: 1, ..Options::default() }), "{engine}: a seed decides all");
        // Five other leaves cannot share four spines evenly, and with lash the hosts of a leaf have one way.
        for tables in tables.iter().filter(|_| engine != Engine::Lash) {
            assert!(imbalance(&fabric, tables) < 1.01, "{engine}");
        }
    }
}

#[test]
fn every_lid_of_a_host_leaves_by_another_cable_and_another_spine_while_there_are_such() {
    for (shape, lmc) in [("clos2:16", 3), ("clos2:8", 2), ("clos2:8", 3), ("clos3:8", 2), ("clos2:16,leaves=4", 5)] {
        let mut builder = generate(shape).unwrap();
        builder.set_lmc(lmc);
        builder.assign_lids().unwrap();
        let fabric = builder.build();
        for engine in SEVERAL_WAYS {
            let tables = routed(engine, &fabric, &Options::default());
            for end in fabric.end_ports().iter().filter(|end| end.is_host()) {
                assert_eq!(end.lids().count(), 1 << lmc);
                let carries_hosts = |switch: SwitchIndex| fabric.end_ports().iter().any(|end| end.is_host() && end.switch == switch);
                let leaves = (0..fabric.switch_count() as u32).map(SwitchIndex).filter(|&switch| carries_hosts(switch));
                for leaf in leaves.filter(|&leaf| leaf != end.switch) {
                    let first: BTreeSet<u8> = end.lids().map(|lid| tables.port(leaf, lid)).collect();
                    assert_eq!(first.len(), fabric.arcs(leaf).len().min(1 << lmc), "{shape} {engine}: cables up");
                    // The last switch before the leaf of the host.
                    let last = |lid| {
                        let mut at = leaf;
                        loop {
                            let next = fabric.channel_peer(fabric.channel(at, tables.port(at, lid))).unwrap().0;
                            if next == end.switch {
                                return at;
                            }
                            at = next;
                        }
                    };
                    let last: BTreeSet<SwitchIndex> = end.lids().map(last).collect();
                    let ways = fabric.arcs(end.switch).len();
                    assert_eq!(last.len(), ways.min(1 << lmc), "{shape} {engine}: switches down");
                }
            }
        }
    }
}

#[test]
fn what_an_engine_does_not_heed_changes_nothing() {
    let fabric = triangle();
    let options = Options { hop_weights: BTreeMap::from([((Guid(1), 3), 9)]), ..Options::default() };
    assert_eq!(options.unheeded(Engine::UpDown), ["hop-weights"]);
    assert!(options.unheeded(Engine::MinHop).is_empty());
    assert!(routed(Engine::UpDown, &fabric, &options) == routed(Engine::UpDown, &fabric, &Options::default()));
}

#[test]
fn every_engine_reaches_every_switch_from_every_switch() {
    for shape in ["mesh:3x3,hosts=1", "clos2:6", "ring:3,hosts=0"] {
        let mut builder = generate(shape).unwrap();
        builder.assign_lids().unwrap();
        let fabric = builder.build();
        for engine in Engine::ALL {
            let Ok(tables) = route(engine, &fabric, &Options::default()) else { continue };
            // The judge walks from every switch to every LID.
            judge(&fabric, &tables);
        }
    }
}

#[test]
fn tables_from_a_file_are_taken_as_they_are() {
    let fabric = clos2(4, 2, 3, 1).build();
    let torus = torus([5, 5, 1], 1, 1).build();
    for (fabric, engine) in [(&fabric, Engine::UpDown), (&torus, Engine::Torus)] {
        let made = routed(engine, fabric, &Options::default());
        let options = Options { tables: Some(Arc::new(made.clone())), ..Options::default() };
        let taken = routed(Engine::File, fabric, &options);
        assert_eq!(taken.engine(), "file");
        assert!(taken.lanes() == made.lanes());
        assert!((0..fabric.switch_count() as u32).map(SwitchIndex).all(|switch| taken.row(switch) == made.row(switch)));
        assert_eq!(options.unheeded(Engine::UpDown), ["lfts"]);
    }
}

#[test]
fn tables_of_another_fabric_are_refused_with_what_does_not_fit() {
    let fabric = clos2(3, 2, 2, 1).build();
    let made = routed(Engine::UpDown, &fabric, &Options::default());
    let refusal = |fabric: &Fabric, tables: Option<Tables>| {
        let refusal = route(Engine::File, fabric, &Options { tables: tables.map(Arc::new), ..Options::default() }).unwrap_err();
        (refusal.display(fabric).to_string(), refusal.culprits.clone())
    };
    assert!(refusal(&fabric, None).0.contains("--lfts"));
    let larger = clos2(3, 3, 2, 1).build();
    assert!(refusal(&larger, Some(made.clone())).0.contains("another number of switches"));

    let mut without_table = made.clone();
    without_table.row_mut(SwitchIndex(3)).fill(NO_PORT);
    assert_eq!(refusal(&fabric, Some(without_table)).1, [NodeIndex(3)]);

    let host = *fabric.end_ports().iter().find(|end| end.is_host()).unwrap();
    let mut without_way = made.clone();
    (0..5).for_each(|switch| without_way.row_mut(SwitchIndex(switch))[host.lid.index()] = NO_PORT);
    assert_eq!(refusal(&fabric, Some(without_way)).1, [host.at.node]);

    // Leaf 0 has hosts at 1 and 2, spines at 3 and 4, and 254 ports.
    for port in [5, 254] {
        let mut dead_end = made.clone();
        dead_end.row_mut(SwitchIndex(0))[host.lid.index()] = port;
        assert_eq!(refusal(&fabric, Some(dead_end)).1, [NodeIndex(0)]);
    }
    let mut elsewhere = made.clone();
    elsewhere.row_mut(host.switch)[host.lid.index()] = 3 - host.switch_port;
    let (text, culprits) = refusal(&fabric, Some(elsewhere));
    assert_eq!(culprits, [host.at.node]);
    assert!(text.contains("take an engine that computes routes"), "{text}");
}

#[test]
fn the_order_of_ports_is_that_of_dimensions() {
    // Mesh of 3 x 3, switch 3 * y + x, one host each. The first of the ports with cables decides.
    let mut site = Site::new();
    let switch: Vec<NodeIndex> = (0..9).map(|_| site.switch()).collect();
    switch.iter().for_each(|&switch| _ = site.host(switch));
    for y in 0..3 {
        for x in 0..3 {
            if x < 2 {
                site.cable(switch[3 * y + x], switch[3 * y + x + 1]);
            }
            if y < 2 {
                site.cable(switch[3 * y + x], switch[3 * y + x + 3]);
            }
        }
    }
    let fabric = site.build();
    let port_to = |from: u32, to: u32| fabric.arcs(SwitchIndex(from)).iter().find(|arc| arc.peer.0 == to).unwrap().port;
    let corner = fabric.end_ports().iter().find(|end| end.is_host() && end.switch.0 == 8).unwrap();
    let order = |from: u32, to: [u32; 2]| (fabric.switch(SwitchIndex(from)).guid, to.map(|to| port_to(from, to)).to_vec());
    for (first, port_order) in [(1, order(0, [1, 3])), (3, order(0, [3, 1])), (1, order(4, [5, 1])), (3, order(4, [7, 3]))] {
        let port_order = BTreeMap::from([port_order]);
        let tables = routed(Engine::Dor, &fabric, &Options { port_order, ..Options::default() });
        assert!(acyclic(&fabric, &tables, Traffic::All));
        assert_eq!(tables.port(SwitchIndex(0), corner.lid), port_to(0, first));
    }
    let port_order = BTreeMap::from([order(0, [1, 3]), order(8, [5, 7])]);
    let refusal = route(Engine::Dor, &fabric, &Options { port_order, ..Options::default() }).unwrap_err();
    assert_eq!(refusal.culprits, [switch[0], switch[8]]);
}
