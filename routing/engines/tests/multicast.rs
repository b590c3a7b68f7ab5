//! Multicast trees: each member gets each packet once and nobody else does, no circle together with the unicast routes (by petgraph),
//! many groups spread, and a change touches one branch.

mod support;

use heddle_engines::{Engine, Multicast, NoTree, Options, multicast, route};
use heddle_fabric::{Fabric, Group, Lanes, Levels, Mlid, MulticastTables, NodeIndex, PortRef, SwitchIndex, Tables};
use petgraph::algo::toposort;
use petgraph::graph::DiGraph;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use support::*;

fn mlid(number: usize) -> Mlid {
    Mlid::new(0xc000 + number as u16).unwrap()
}

fn group(number: usize, members: impl IntoIterator<Item = PortRef>) -> Group {
    Group { mlid: mlid(number), sl: 0, members: members.into_iter().collect(), senders: Vec::new() }
}

fn hosts(fabric: &Fabric) -> Vec<PortRef> {
    fabric.end_ports().iter().filter(|end| end.is_host()).map(|end| end.at).collect()
}

/// Groups of random members and senders: hosts and switches.
fn random_groups(fabric: &Fabric, count: usize, levels: &[u8], seed: u64) -> Vec<Group> {
    let mut random = random(seed);
    let ends: Vec<PortRef> = fabric.end_ports().iter().map(|end| end.at).collect();
    let some = |most: usize, random: &mut dyn FnMut(usize) -> usize| -> Vec<PortRef> {
        (0..if ends.is_empty() { 0 } else { random(most) }).map(|_| ends[random(ends.len())]).collect()
    };
    (0..count)
        .map(|number| {
            let (members, senders) = (some(12, &mut random), some(3, &mut random));
            Group { mlid: mlid(number * 7), sl: levels[number % levels.len()], members, senders }
        })
        .collect()
}

/// A channel and a VL.
type Buffer = (usize, u8);
type Dependencies = BTreeSet<(Buffer, Buffer)>;

fn vl(unicast: &Tables, switch: SwitchIndex, entry: u8, exit: u8, sl: u8) -> u8 {
    unicast.lanes().map_or(0, |lanes| lanes.row(switch, entry, exit)[usize::from(sl)])
}

fn is_acyclic(dependencies: &Dependencies) -> bool {
    let mut graph = DiGraph::<(), ()>::new();
    let mut vertices = BTreeMap::new();
    for &(a, b) in dependencies {
        let [a, b] = [a, b].map(|node| *vertices.entry(node).or_insert_with(|| graph.add_node(())));
        graph.add_edge(a, b, ());
    }
    toposort(&graph, None).is_ok()
}

/// Sends a packet of a group from one port by the tables, copy by copy. Returns where copies leave the switches, and the hops of each.
fn flood(
    fabric: &Fabric,
    unicast: &Tables,
    tables: &MulticastTables,
    group: &Group,
    from: PortRef,
    waits: &mut Dependencies,
) -> Vec<((SwitchIndex, u8), u32)> {
    let mut arrived = Vec::new();
    let mut copies = vec![(fabric.attachment(from).unwrap(), None, 0)];
    let mut steps = 0;
    while let Some(((switch, entry), last, hops)) = copies.pop() {
        steps += 1;
        assert!(steps <= fabric.switch_count(), "{:?} goes in circles", group.mlid);
        for port in tables.ports(group.mlid, switch).filter(|&port| port != entry) {
            assert!(port <= fabric.switch(switch).num_ports);
            let channel = fabric.channel(switch, port);
            match fabric.channel_peer(channel) {
                Some(next) => {
                    let buffer = (channel, vl(unicast, switch, entry, port, group.sl));
                    assert_ne!(buffer.1, heddle_fabric::DROP_VL);
                    waits.extend(last.map(|last| (last, buffer)));
                    copies.push((next, Some(buffer), hops + 1));
                }
                None => arrived.push(((switch, port), hops)),
            }
        }
    }
    arrived
}

/// Checks all that is promised of tables. Returns the most hops between switches of any packet, by group.
fn assert_good(fabric: &Fabric, unicast: &Tables, groups: &[Group], tables: &MulticastTables) -> Vec<u32> {
    let mut waits = dependencies(fabric, unicast);
    let known: BTreeSet<Mlid> = groups.iter().map(|group| group.mlid).collect();
    assert!(tables.mlids().all(|mlid| known.contains(&mlid)), "a tree of a group that there is not");
    let hops = groups
        .iter()
        .map(|group| {
            let members: BTreeSet<_> = group.members.iter().map(|&at| fabric.attachment(at).unwrap()).collect();
            let mut most = 0;
            for &from in group.members.iter().chain(&group.senders) {
                let arrived = flood(fabric, unicast, tables, group, from, &mut waits);
                let mut expected = members.clone();
                expected.remove(&fabric.attachment(from).unwrap());
                let at: BTreeSet<_> = arrived.iter().map(|&(at, _)| at).collect();
                assert_eq!(at, expected, "{:?} from {from:?}", group.mlid);
                assert_eq!(arrived.len(), expected.len(), "{:?} from {from:?}: a copy too many", group.mlid);
                most = most.max(arrived.iter().map(|&(_, hops)| hops).max().unwrap_or(0));
            }
            most
        })
        .collect();
    assert!(is_acyclic(&waits), "a circle");
    let report = heddle_verify::verify_multicast(fabric, unicast, groups, tables);
    assert!(report.is_good() && report.unowned_mlids == 0, "{report}");
    hops
}

/// The entries of all groups.
fn entries(tables: &MulticastTables) -> BTreeSet<(Mlid, SwitchIndex, u8)> {
    let switches = tables.mlids().flat_map(|mlid| tables.switches(mlid).iter().map(move |&switch| (mlid, switch)));
    switches.flat_map(|(mlid, switch)| tables.ports(mlid, switch).map(move |port| (mlid, switch, port))).collect()
}

/// Fabrics and tables of engines that need an order, lanes, both or none.
fn routed() -> impl Strategy<Value = (Netlist, Tables)> {
    let tree = (1usize..4, 1usize..5, any::<u32>())
        .prop_map(|(k, pods, seed)| Netlist(degrade(&clos3(2 * k, pods, |n| n as u64 + 1).build(), 100, seed.into())));
    let fabric = prop_oneof![random_fabric(), degraded_grid(30), tree];
    (fabric, prop::sample::select(Engine::ALL.to_vec()))
        .prop_filter_map("refused", |(fabric, engine)| route(engine, &fabric, &Options::default()).ok().map(|tables| (fabric, tables)))
}

/// Refusals that a group may get, as the dependencies of the unicast routes alone tell.
fn assert_refusal_is_right(fabric: &Fabric, unicast: &Tables, no_tree: &NoTree) {
    assert!(unicast.engine() != "up-down", "{}", no_tree.display(fabric));
    match no_tree.mlid {
        None => assert!(unicast.lanes().is_some() || !is_acyclic(&dependencies(fabric, unicast))),
        Some(_) => assert!(!no_tree.culprits.is_empty()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn trees_are_good((fabric, unicast) in routed(), seed in any::<u32>()) {
        let levels = if unicast.lanes().is_some() { &[0, 1, 7][..] } else { &[0] };
        let groups = random_groups(&fabric, 20, levels, seed.into());
        match multicast(&fabric, &unicast, &groups, &Options::default()) {
            Ok(tables) => _ = assert_good(&fabric, &unicast, &groups, &tables),
            Err(no_tree) => assert_refusal_is_right(&fabric, &unicast, &no_tree),
        }
    }

    /// Each group that can be is there, and each change changes what must change only: the switches whose entries are others are one way.
    #[test]
    fn ports_join_and_leave((fabric, unicast) in routed(), seed in any::<u32>()) {
        let options = Options::default();
        let Ok(ways) = Multicast::new(&fabric, &unicast, &[0], &options) else { return Ok(()) };
        let mut groups = random_groups(&fabric, 4, &[0], seed.into());
        let Ok(mut tables) = ways.route(&groups) else { return Ok(()) };
        let ends: Vec<PortRef> = fabric.end_ports().iter().map(|end| end.at).collect();
        let mut random = random(seed.into());
        for _ in 0..if ends.is_empty() { 0 } else { 12 } {
            let number = random(groups.len());
            let group = &mut groups[number];
            let ports = if random(4) == 0 { &mut group.senders } else { &mut group.members };
            let joins = ports.is_empty() || random(2) == 0;
            if joins {
                ports.push(ends[random(ends.len())]);
            } else {
                ports.swap_remove(random(ports.len()));
            }
            let before = tables.clone();
            let group = groups[number].clone();
            if ways.change(&mut tables, &group).is_err() {
                prop_assert!(tables == before);
                return Ok(());
            }
            assert_good(&fabric, &unicast, &groups, &tables);
            let (old, new) = (entries(&before), entries(&tables));
            prop_assert!(old.symmetric_difference(&new).all(|(mlid, ..)| *mlid == group.mlid));
            if !group.senders.is_empty() || old.iter().all(|(mlid, ..)| *mlid != group.mlid) {
                continue;
            }
            // Without send-only ports, all cables of a tree are used both ways: a join only adds, a leave only takes away.
            let (fewer, more) = if joins { (old, new) } else { (new, old) };
            prop_assert!(fewer.is_subset(&more));
        }
    }

    #[test]
    fn the_order_of_nodes_members_and_groups_and_the_threads_decide_nothing(fabric in random_fabric(), seed in any::<u32>()) {
        let (other, moved) = shuffled(&fabric, seed.into());
        let unicast = [&fabric, &other].map(|fabric| route(Engine::UpDown, fabric, &Options::default()).unwrap());
        let groups = random_groups(&fabric, 10, &[0], seed.into());
        let move_ports = |ports: &[PortRef]| ports.iter().rev().map(|at| PortRef::new(moved[at.node.index()], at.port)).collect();
        let moved_groups: Vec<Group> = groups
            .iter()
            .rev()
            .map(|group| Group { members: move_ports(&group.members), senders: move_ports(&group.senders), ..group.clone() })
            .collect();
        let tables = [1, 3].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| multicast(&fabric, &unicast[0], &groups, &Options::default()).unwrap())
        });
        prop_assert!(tables[0] == tables[1]);
        let others = entries(&multicast(&other, &unicast[1], &moved_groups, &Options::default()).unwrap());
        let place = |switch: SwitchIndex| other.switch_index(moved[fabric.switches()[switch.index()].index()]).unwrap();
        let expected = entries(&tables[0]).into_iter().map(|(mlid, switch, port)| (mlid, place(switch), port)).collect();
        prop_assert_eq!(others, expected);
    }
}

/// A tree of 2 levels with 8 leaves, 4 spines and two cables between each two: 100 groups of all hosts take each spine 25 times, and of the
/// two cables of a leaf to a spine one 12 or 13 times.
#[test]
fn many_groups_are_spread_over_roots_and_cables() {
    let fabric = clos2(8, 4, 4, 2).build();
    let unicast = route(Engine::UpDown, &fabric, &Options::default()).unwrap();
    let groups: Vec<Group> = (0..100).map(|number| group(number, hosts(&fabric))).collect();
    let tables = multicast(&fabric, &unicast, &groups, &Options::default()).unwrap();
    assert_eq!(assert_good(&fabric, &unicast, &groups, &tables), [2; 100], "leaf, spine, leaf");
    for spine in (8..12).map(SwitchIndex) {
        assert_eq!(groups.iter().filter(|group| tables.ports(group.mlid, spine).count() > 0).count(), 25);
        for port in 1..=16 {
            let used = groups.iter().filter(|group| tables.contains(group.mlid, spine, port)).count();
            assert!(used == 12 || used == 13, "port {port} of spine {}: {used}", spine.0);
        }
    }
}

/// A tree of 3 levels with 6-port switches and 6 pods: groups within a pod are 2 hops across, over any of its 3 switches above the
/// leaves; groups in several pods are 4 hops across, over any of the 9 cores.
#[test]
fn groups_stay_low_and_use_all_roots() {
    let fabric = clos3(6, 6, |number| number as u64 + 1).build();
    let unicast = route(Engine::MinHop, &fabric, &Options::default()).unwrap();
    // Each leaf has 3 hosts, each pod 9, in the order of the pods.
    let all = hosts(&fabric);
    let in_pods: Vec<Group> = (0..18).map(|number| group(number, all[number % 6 * 9..][..9].iter().copied())).collect();
    let across: Vec<Group> = (18..36).map(|number| group(number, [all[0], all[9 + number], all[50]])).collect();
    let groups = [in_pods, across].concat();
    let tables = multicast(&fabric, &unicast, &groups, &Options::default()).unwrap();
    let hops = assert_good(&fabric, &unicast, &groups, &tables);
    assert_eq!(hops, [[2; 18], [4; 18]].concat());
    let used = |switch: u32, groups: std::ops::Range<usize>| {
        groups.filter(|&number| tables.ports(mlid(number), SwitchIndex(switch)).count() > 0).count()
    };
    for pod in 0..6 {
        for above in 3..6 {
            assert_eq!(used(pod * 6 + above, 0..18), 1, "three groups in a pod, three switches");
        }
    }
    for core in 36..45 {
        assert_eq!(used(core, 18..36), 2, "18 groups, 9 cores");
    }
}

/// By hand, on leaves 0 to 3 with two hosts each and spines 4 and 5.
#[test]
fn a_branch_comes_and_goes() {
    let fabric = clos2(4, 2, 2, 1).build();
    let unicast = route(Engine::UpDown, &fabric, &Options::default()).unwrap();
    let host = hosts(&fabric);
    let options = Options::default();
    let ways = Multicast::new(&fabric, &unicast, &[0], &options).unwrap();
    let mut tables = MulticastTables::new(&fabric);
    let mut at: Vec<Vec<u8>>;
    let mut change = |members: &[usize], senders: &[usize]| {
        let group = Group { senders: senders.iter().map(|&n| host[n]).collect(), ..group(0, members.iter().map(|&n| host[n])) };
        ways.change(&mut tables, &group).unwrap();
        assert_good(&fabric, &unicast, &[group], &tables);
        (0..6).map(|switch| tables.ports(mlid(0), SwitchIndex(switch)).collect()).collect()
    };
    const NO: Vec<u8> = Vec::new();
    // Ports 1 and 2 of a leaf are its hosts, 3 and 4 the spines; port n of a spine is leaf n - 1.
    at = change(&[0], &[]);
    assert_eq!(at, [vec![1], NO, NO, NO, NO, NO], "one member: nothing beyond its switch");
    at = change(&[0, 1], &[]);
    assert_eq!(at, [vec![1, 2], NO, NO, NO, NO, NO]);
    at = change(&[0, 1, 2], &[]);
    assert_eq!(at, [vec![1, 2, 3], vec![1, 3], NO, NO, vec![1, 2], NO], "over the first spine");
    at = change(&[0, 1, 2, 7], &[]);
    assert_eq!(at, [vec![1, 2, 3], vec![1, 3], NO, vec![2, 3], vec![1, 2, 4], NO], "to the nearest switch of the tree");
    at = change(&[1, 2, 7], &[5]);
    assert_eq!(at, [vec![2, 3], vec![1, 3], vec![3], vec![2, 3], vec![1, 2, 4], NO], "nothing is sent to who only sends");
    at = change(&[1], &[5, 0]);
    assert_eq!(at, [vec![2], NO, vec![3], NO, vec![1], NO], "one way to the only member");
    at = change(&[], &[5, 0]);
    assert_eq!(at, [NO; 6], "nobody to send to");
    at = change(&[4], &[0]);
    assert_eq!(at, [vec![3], NO, vec![1], NO, vec![3], NO], "made anew");
}

/// Leaves 0 to 2 have no cable to the spine of their number, so that any two have a spine in common and all three have none. And
/// spines are members: only leaves are below two of them.
#[test]
fn members_without_a_switch_above_all_of_them_are_joined_as_well() {
    let mut site = clos2(4, 3, 1, 1);
    let switches: Vec<NodeIndex> = (0..7).map(NodeIndex).collect(); // leaves, spines, then hosts
    for number in 0..3 {
        site.cut(switches[number], switches[4 + number]);
    }
    let fabric = site.build();
    let host = hosts(&fabric);
    let own = |switch: u32| PortRef::new(fabric.switches()[switch as usize], 0);
    let groups = [group(0, host[..3].iter().copied()), group(1, (4..7).map(own)), group(2, [host[3], own(4), own(6)])];
    for engine in [Engine::DownUp, Engine::UpDown] {
        let unicast = route(engine, &fabric, &Options::default()).unwrap();
        let options = Options::default();
        let ways = Multicast::new(&fabric, &unicast, &[0], &options).unwrap();
        let mut tables = ways.route(&groups).unwrap();
        assert_good(&fabric, &unicast, &groups, &tables);
        let mut groups = groups.clone();
        groups[0].members.push(host[3]);
        groups[1].members.pop();
        for group in &groups {
            ways.change(&mut tables, group).unwrap();
        }
        assert_good(&fabric, &unicast, &groups, &tables);
    }
}

#[test]
fn trees_keep_off_the_cables_that_are_not_to_be_used() {
    let fabric = clos2(3, 2, 2, 1).build();
    let spine = fabric.switch(SwitchIndex(3)).guid;
    let options = Options { ignored_links: vec![(spine, 1), (spine, 2)], ..Options::default() };
    let unicast = route(Engine::UpDown, &fabric, &options).unwrap();
    let groups: Vec<Group> = (0..10).map(|number| group(number, hosts(&fabric))).collect();
    let tables = multicast(&fabric, &unicast, &groups, &options).unwrap();
    assert_good(&fabric, &unicast, &groups, &tables);
    assert!(groups.iter().all(|group| tables.ports(group.mlid, SwitchIndex(3)).next().is_none()), "one cable is no way through");
    let all = Options { ignored_links: (1..=3).map(|port| (spine, port)).collect(), ..Options::default() };
    let text = multicast(&fabric, &unicast, &groups, &all).unwrap_err().display(&fabric);
    assert!(text.starts_with("the ignored links are the only ways"), "{text}");
}

#[test]
fn parts_without_a_cable_between_them_have_groups_of_their_own() {
    // Two rings of three; tables by hand, as every neighbour is one hop away.
    let mut site = torus([3, 1, 1], 1, 1);
    let others: Vec<NodeIndex> = (0..3).map(|_| site.switch()).collect();
    for number in 0..3 {
        site.host(others[number]);
        site.cable(others[number], others[(number + 1) % 3]);
    }
    let fabric = site.build();
    let mut unicast = Tables::new(&fabric, "by hand");
    for switch in (0..6).map(SwitchIndex) {
        for end in fabric.end_ports() {
            let across = fabric.arcs(switch).iter().find(|arc| arc.peer == end.switch).map(|arc| arc.port);
            let port = if end.switch == switch { Some(end.switch_port) } else { across };
            unicast.row_mut(switch)[end.lid.index()] = port.unwrap_or(heddle_fabric::NO_PORT);
        }
    }
    let host = hosts(&fabric);
    let apart = [group(0, host[..3].iter().copied()), group(1, host[3..].iter().copied())];
    let tables = multicast(&fabric, &unicast, &apart, &Options::default()).unwrap();
    assert_good(&fabric, &unicast, &apart, &tables);
    let no_tree = multicast(&fabric, &unicast, &[group(5, host.iter().copied())], &Options::default()).unwrap_err();
    let text = no_tree.display(&fabric);
    assert!(text.starts_with("group 0xc005: its members are in parts") && text.contains("\"host 12\""), "{text}");
    assert_eq!(no_tree.culprits, host[3..].iter().map(|at| at.node).collect::<Vec<_>>());
}

#[test]
fn what_cannot_be_is_refused_and_named() {
    let fabric = clos2(2, 2, 1, 1).build();
    let unicast = route(Engine::UpDown, &fabric, &Options::default()).unwrap();
    let refused = |groups: &[Group]| multicast(&fabric, &unicast, groups, &Options::default()).unwrap_err().display(&fabric);
    let host = hosts(&fabric);
    let spine = fabric.switches()[2];
    let text = refused(&[group(1, [host[0], PortRef::new(spine, 1)])]);
    assert!(text.starts_with("group 0xc001: ports of these nodes belong to it, but no switch carries them: \"switch 3\""), "{text}");
    let text = refused(&[group(1, [host[0]]), group(2, []), group(1, [host[1]])]);
    assert!(text.starts_with("group 0xc001: two groups have this MLID"), "{text}");
    let text = refused(&[Group { sl: 16, ..group(1, [host[0]]) }]);
    assert!(text.starts_with("group 0xc001: nothing was prepared for its SL 16"), "{text}");

    let mut row = Lanes::IDENTITY;
    row[4] = heddle_fabric::DROP_VL;
    let mut with_lanes = unicast.clone();
    with_lanes.set_lanes(Some(Lanes::uniform(Levels::ByDestination(vec![0; unicast.row_len()]), row)));
    let text =
        multicast(&fabric, &with_lanes, &[Group { sl: 4, ..group(1, [host[0]]) }], &Options::default()).unwrap_err().display(&fabric);
    assert!(text.starts_with("group 0xc001: the switches drop packets of its SL 4"), "{text}");

    let ring = torus([6, 1, 1], 1, 1).build();
    let unicast = route(Engine::MinHop, &ring, &Options::default()).unwrap();
    let text = multicast(&ring, &unicast, &[group(1, hosts(&ring))], &Options::default()).unwrap_err().display(&ring);
    assert!(text.starts_with("the unicast routes of min-hop are not free of deadlock on the virtual lane of SL 0"), "{text}");
}

#[test]
fn fabrics_without_switches_or_cables_have_no_trees() {
    for fabric in [heddle_fabric::FabricBuilder::new().build(), Site::new().build()] {
        let unicast = Tables::new(&fabric, "nobody");
        assert!(multicast(&fabric, &unicast, &[], &Options::default()).unwrap() == MulticastTables::new(&fabric));
    }
    let mut site = Site::new();
    let switch = site.switch();
    site.hosts(switch, 253);
    let fabric = site.build();
    let unicast = route(Engine::UpDown, &fabric, &Options::default()).unwrap();
    let all = [group(0, hosts(&fabric).into_iter().chain([PortRef::new(switch, 0)]))];
    let tables = multicast(&fabric, &unicast, &all, &Options::default()).unwrap();
    assert_good(&fabric, &unicast, &all, &tables);
    assert_eq!(tables.ports(mlid(0), SwitchIndex(0)).count(), 254);
}
