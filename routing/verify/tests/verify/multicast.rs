//! Multicast tables by hand, and any tables beside a judge that follows every copy.

use crate::common::*;
use crate::oracle::fabrics;
use heddle_fabric::{Fabric, Group, Lanes, Levels, Mlid, MulticastTables, PortRef, SwitchIndex, Tables, generate};
use heddle_verify::{MulticastFault, MulticastReport, Packets, verify_multicast};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const S0: SwitchIndex = SwitchIndex(0);
const S1: SwitchIndex = SwitchIndex(1);
const S2: SwitchIndex = SwitchIndex(2);

fn mlid(number: u16) -> Mlid {
    Mlid::new(0xc000 + number).unwrap()
}

/// The ports of the hosts of some switches.
fn hosts(fabric: &Fabric, on: &[usize]) -> Vec<PortRef> {
    fabric.end_ports().iter().filter(|end| end.is_host() && on.contains(&end.switch.index())).map(|end| end.at).collect()
}

fn group(number: u16, members: Vec<PortRef>) -> Group {
    Group { mlid: mlid(number), sl: 0, members, senders: Vec::new() }
}

fn filled(fabric: &Fabric, entries: &[(u16, SwitchIndex, &[u8])]) -> MulticastTables {
    let mut tables = MulticastTables::new(fabric);
    for &(number, switch, ports) in entries {
        ports.iter().for_each(|&port| _ = tables.insert(mlid(number), switch, port));
    }
    tables
}

/// Three switches in a line, a host each at port 1; port 2 leads on, port 3 back.
fn line() -> (Fabric, Tables) {
    let fabric = generated("mesh:3,hosts=1");
    let tables = nearest(&fabric, |_| true);
    (fabric, tables)
}

fn kinds(report: &MulticastReport) -> Vec<&'static str> {
    let kind = |fault: &MulticastFault| match fault {
        MulticastFault::Missed { .. } => "missed",
        MulticastFault::Twice { .. } => "twice",
        MulticastFault::Stray { .. } => "stray",
        MulticastFault::DroppedBySl { .. } => "dropped",
    };
    report.faults.iter().map(kind).collect()
}

#[test]
fn a_line_and_what_can_be_wrong_with_it() {
    let (fabric, unicast) = line();
    let all = [group(0, hosts(&fabric, &[0, 1, 2]))];
    let check =
        |entries: &[(u16, SwitchIndex, &[u8])], groups: &[Group]| verify_multicast(&fabric, &unicast, groups, &filled(&fabric, entries));
    let good = check(&[(0, S0, &[1, 2]), (0, S1, &[1, 2, 3]), (0, S2, &[1, 3])], &all);
    assert!(good.is_good(), "{good}");
    assert!(
        good.to_string().starts_with("each of 1 multicast groups has a tree that reaches its members, and only them, once\n"),
        "{good}"
    );

    // Without the port from 1 to 2, host 2 gets nothing of the other two.
    let report = check(&[(0, S0, &[1, 2]), (0, S1, &[1, 3]), (0, S2, &[1, 3])], &all);
    assert_eq!(kinds(&report), ["missed", "missed"]);
    assert!(report.to_string().contains("MLID 0xc000: packets that come in by port 1 of \"switch-0\""), "{report}");
    // A port to a host that is no member; a port without a cable; port 0 of a switch that is none.
    let two = [group(0, hosts(&fabric, &[0, 1]))];
    assert!(check(&[(0, S0, &[1, 2]), (0, S1, &[1, 3])], &two).is_good());
    assert_eq!(kinds(&check(&[(0, S0, &[1, 2, 3]), (0, S1, &[1, 3, 0])], &two)), ["stray", "stray"]);
    // A branch on which there is no member: the port to it, and its own entries.
    assert_eq!(kinds(&check(&[(0, S0, &[1, 2]), (0, S1, &[1, 2, 3]), (0, S2, &[3])], &two)), ["stray", "stray"]);
    // Host 2 sends only: what it sends goes to the others, and nothing comes to it.
    let sender = [Group { senders: hosts(&fabric, &[2]), ..two[0].clone() }];
    assert!(check(&[(0, S0, &[1, 2]), (0, S1, &[1, 3]), (0, S2, &[3])], &sender).is_good());
    assert_eq!(kinds(&check(&[(0, S0, &[1, 2]), (0, S1, &[1, 3])], &sender)), ["missed", "missed"]);
    assert_eq!(kinds(&check(&[(0, S0, &[1, 2]), (0, S1, &[1, 2, 3]), (0, S2, &[3, 1])], &sender)), ["stray", "stray"]);
    // One member, a switch that is one, nobody, and an MLID without a group.
    assert!(check(&[(0, S0, &[1])], &[group(0, hosts(&fabric, &[0]))]).is_good());
    let with_switch = group(0, [hosts(&fabric, &[0]), vec![PortRef::new(fabric.switches()[1], 0)]].concat());
    assert!(check(&[(0, S0, &[1, 2]), (0, S1, &[0, 3])], &[with_switch]).is_good());
    let report = check(&[(7, S0, &[1, 2])], &[group(0, Vec::new())]);
    assert_eq!((report.is_good(), report.unowned_mlids), (true, 1));
}

#[test]
fn a_circle_is_come_to_twice() {
    let fabric = generated("ring:3,hosts=1");
    let unicast = nearest(&fabric, |_| true);
    let everywhere: &[u8] = &[1, 2, 3];
    let tables = filled(&fabric, &[(0, S0, everywhere), (0, S1, everywhere), (0, S2, everywhere)]);
    let report = verify_multicast(&fabric, &unicast, &[group(0, hosts(&fabric, &[0, 1, 2]))], &tables);
    assert!(kinds(&report).iter().filter(|kind| **kind == "twice").count() == 3 && !report.is_good(), "{report}");
}

/// In a ring of four whose unicast routes never cross the gap between 3 and 0, two trees close the ring: both cross it, and each goes round
/// where the unicast routes do not turn.
#[test]
fn trees_and_unicast_routes_wait_for_each_other() {
    let fabric = generated("ring:4,hosts=1");
    let mut unicast = Tables::new(&fabric, "by hand");
    for switch in switches(&fabric) {
        for end in fabric.end_ports() {
            let way = if end.switch > switch { 2 } else { 3 };
            unicast.row_mut(switch)[end.lid.index()] = if end.switch == switch { end.switch_port } else { way };
        }
    }
    let s3 = SwitchIndex(3);
    let groups = [group(0, hosts(&fabric, &[2, 3, 0])), group(5, hosts(&fabric, &[3, 0, 1]))];
    let one = filled(&fabric, &[(0, S2, &[1, 2]), (0, s3, &[1, 2, 3]), (0, S0, &[1, 3])]);
    let report = verify_multicast(&fabric, &unicast, &groups[..1], &one);
    assert!(report.is_good(), "{report}");
    let mut both = one;
    for (switch, ports) in [(s3, [1, 2].as_slice()), (S0, &[1, 2, 3]), (S1, &[1, 3])] {
        ports.iter().for_each(|&port| _ = both.insert(mlid(5), switch, port));
    }
    let report = verify_multicast(&fabric, &unicast, &groups, &both);
    let Err(witness) = &report.deadlock else { panic!("{report}") };
    assert_eq!((report.fault_count, witness.steps.len()), (0, 4));
    let mlids: BTreeSet<Mlid> =
        witness.steps.iter().filter_map(|step| if let Packets::Multicast { mlid } = step.packets { Some(mlid) } else { None }).collect();
    assert_eq!(mlids, BTreeSet::from([mlid(0), mlid(5)]));
    assert!(report.to_string().contains("with packets of MLID 0xc005"), "{report}");

    // On a VL of its own, the second group is in nobody's way.
    let mut lanes = unicast.clone();
    let levels = Levels::ByDestination(vec![0; lanes.row_len()]);
    lanes.set_lanes(Some(Lanes::uniform(levels, Lanes::IDENTITY)));
    let apart = [groups[0].clone(), Group { sl: 1, ..groups[1].clone() }];
    let report = verify_multicast(&fabric, &lanes, &apart, &both);
    assert_eq!((report.is_good(), report.deadlock.as_ref().map(|certificate| certificate.vls)), (true, Ok(2)), "{report}");
    let report = verify_multicast(&fabric, &lanes, &groups, &both);
    assert!(report.deadlock.is_err_and(|witness| witness.steps.iter().all(|step| step.vl == Some(0))));
    // SL 15 is VL 14 here; a row that drops SL 1 drops the group.
    let mut row = Lanes::IDENTITY;
    row[1] = 15;
    lanes.set_lanes(Some(Lanes::uniform(Levels::ByDestination(vec![0; lanes.row_len()]), row)));
    assert!(kinds(&verify_multicast(&fabric, &lanes, &apart, &both)).contains(&"dropped"));
}

/// Members in another part cannot be reached, and that is no fault.
#[test]
fn each_part_has_its_tree() {
    let mut builder = generate("mesh:4,hosts=1").unwrap();
    builder.disconnect(PortRef::new(heddle_fabric::NodeIndex(1), 2));
    let fabric = built(builder);
    let unicast = nearest(&fabric, |_| true);
    let s3 = SwitchIndex(3);
    let groups = [group(0, hosts(&fabric, &[0, 1, 2, 3]))];
    let tables = filled(&fabric, &[(0, S0, &[1, 2]), (0, S1, &[1, 3]), (0, S2, &[1, 2]), (0, s3, &[1, 3])]);
    let report = verify_multicast(&fabric, &unicast, &groups, &tables);
    assert!(report.is_good(), "{report}");
    let tables = filled(&fabric, &[(0, S0, &[1, 2]), (0, S1, &[1, 3])]);
    assert_eq!(kinds(&verify_multicast(&fabric, &unicast, &groups, &tables)), ["missed", "missed"]);
}

/// Follows every copy of a packet for as many hops as there are channels: how often each switch's ports to hosts and to itself send it, which
/// channels it uses, and which after which.
struct Copies<'a> {
    fabric: &'a Fabric,
    tables: &'a MulticastTables,
    mlid: Mlid,
    delivered: BTreeMap<Channel, usize>,
    visits: BTreeMap<SwitchIndex, usize>,
    waits: BTreeSet<(Channel, Channel)>,
}

impl Copies<'_> {
    fn go(&mut self, at: SwitchIndex, by: Option<(Channel, u8)>, left: usize) {
        *self.visits.entry(at).or_default() += 1;
        let (tables, mlid) = (self.tables, self.mlid);
        for port in (0..=254).filter(|&port| tables.contains(mlid, at, port)) {
            if by.is_some_and(|(_, entry)| entry == port) {
                continue;
            }
            match self.fabric.arcs(at).iter().find(|arc| arc.port == port) {
                Some(arc) => {
                    if let Some((before, _)) = by {
                        self.waits.insert((before, (at, port)));
                    }
                    if left > 0 {
                        self.go(arc.peer, Some(((at, port), arc.peer_port)), left - 1);
                    }
                }
                None => *self.delivered.entry((at, port)).or_default() += 1,
            }
        }
    }
}

/// The verdict by definition, for groups whose members all send.
fn judge_groups(fabric: &Fabric, unicast: &Tables, groups: &[Group], tables: &MulticastTables) -> (bool, bool) {
    let mut waits: BTreeMap<(Channel, Channel), ()> = judge(fabric, unicast).counted.keys().map(|&pair| (pair, ())).collect();
    let mut fine = true;
    for group in groups {
        let members: BTreeSet<Channel> = group.members.iter().map(|&at| fabric.attachment(at).unwrap()).collect();
        for &(source, port) in &members {
            let mut copies =
                Copies { fabric, tables, mlid: group.mlid, delivered: BTreeMap::new(), visits: BTreeMap::new(), waits: BTreeSet::new() };
            copies.go(source, None, fabric.switch_count() + 1);
            fine &= copies.visits.values().all(|&visits| visits == 1);
            copies.delivered.remove(&(source, port));
            let joined = |to: SwitchIndex| petgraph::algo::has_path_connecting(fabric.graph(), source, to, None);
            let wanted: BTreeSet<Channel> = members.iter().copied().filter(|&to| to != (source, port) && joined(to.0)).collect();
            fine &=
                copies.delivered.keys().copied().collect::<BTreeSet<_>>() == wanted && copies.delivered.values().all(|&count| count == 1);
            waits.extend(copies.waits.iter().map(|&pair| (pair, ())));
        }
        // Nothing without use: taken away, each entry is missed by somebody, but for that of a member that is alone.
        for &switch in tables.switches(group.mlid) {
            for port in tables.ports(group.mlid, switch).filter(|&port| !members.contains(&(switch, port))) {
                let mut without = tables.clone();
                without.remove(group.mlid, switch, port);
                let sent = |tables: &MulticastTables| {
                    let of = |&(source, port): &Channel| {
                        let mut copies = Copies {
                            fabric,
                            tables,
                            mlid: group.mlid,
                            delivered: BTreeMap::new(),
                            visits: BTreeMap::new(),
                            waits: BTreeSet::new(),
                        };
                        copies.go(source, None, fabric.switch_count() + 1);
                        copies.delivered.remove(&(source, port));
                        copies.delivered.retain(|at, _| members.contains(at));
                        copies.delivered
                    };
                    members.iter().map(of).collect::<Vec<_>>()
                };
                fine &= sent(tables) != sent(&without);
            }
        }
    }
    // To MLIDs of nobody, packets may come from anywhere.
    for mlid in tables.mlids().filter(|mlid| groups.iter().all(|group| group.mlid != *mlid)) {
        for &source in tables.switches(mlid) {
            let mut copies = Copies { fabric, tables, mlid, delivered: BTreeMap::new(), visits: BTreeMap::new(), waits: BTreeSet::new() };
            copies.go(source, None, fabric.switch_count() + 1);
            fine &= copies.visits.values().all(|&visits| visits == 1);
            waits.extend(copies.waits.iter().map(|&pair| (pair, ())));
        }
    }
    (fine, !has_cycle(&waits))
}

/// Trees from a breadth-first search, with any ports added and taken away.
fn trees(fabric: Fabric) -> impl Strategy<Value = (Fabric, Vec<Group>, MulticastTables)> {
    let ends = fabric.end_ports().len();
    let count = fabric.switch_count() as u32;
    let members = proptest::collection::btree_set(0..ends, 0..=ends.min(4));
    let groups = proptest::collection::vec((members, 0..count), 1..3);
    let changes = proptest::collection::vec((0u16..2, 0..count, 0u8..10), 0..3);
    (Just(fabric), groups, changes).prop_map(|(fabric, groups, changes)| {
        let mut tables = MulticastTables::new(&fabric);
        let groups: Vec<Group> = (0..)
            .zip(groups)
            .map(|(number, (members, root))| {
                let members: Vec<_> = members.into_iter().map(|end| fabric.end_ports()[end]).collect();
                // By switch: the channel by which the search came.
                let mut found: BTreeMap<SwitchIndex, Option<(SwitchIndex, u8, u8)>> = BTreeMap::from([(SwitchIndex(root), None)]);
                let mut queue = vec![SwitchIndex(root)];
                while !queue.is_empty() {
                    let at = queue.remove(0);
                    for arc in fabric.arcs(at) {
                        found.entry(arc.peer).or_insert_with(|| {
                            queue.push(arc.peer);
                            Some((at, arc.port, arc.peer_port))
                        });
                    }
                }
                for end in &members {
                    tables.insert(mlid(number), end.switch, end.switch_port);
                    let mut at = end.switch;
                    while let Some(&Some((before, port, own))) = found.get(&at) {
                        tables.insert(mlid(number), before, port);
                        tables.insert(mlid(number), at, own);
                        at = before;
                    }
                }
                group(number, members.into_iter().map(|end| end.at).collect())
            })
            .collect();
        for (number, switch, port) in changes {
            if !tables.remove(mlid(number), SwitchIndex(switch), port) {
                tables.insert(mlid(number), SwitchIndex(switch), port);
            }
        }
        (fabric, groups, tables)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn any_multicast_tables((fabric, groups, tables) in fabrics().prop_filter("somebody", |fabric| !fabric.end_ports().is_empty()).prop_flat_map(trees)) {
        let unicast = nearest(&fabric, |_| true);
        let report = verify_multicast(&fabric, &unicast, &groups, &tables);
        let (fine, free) = judge_groups(&fabric, &unicast, &groups, &tables);
        prop_assert_eq!(report.fault_count == 0, fine, "{}", report);
        if fine {
            prop_assert_eq!(report.deadlock.is_ok(), free, "{}", report);
        }
    }
}
