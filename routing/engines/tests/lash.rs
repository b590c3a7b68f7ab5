//! One way and one service level for each pair of switches, free of deadlock on few virtual lanes.

mod support;

use heddle_engines::{Engine, Options, route};
use heddle_fabric::{Fabric, Lanes, SwitchIndex, Tables};
use heddle_verify::verify;
use proptest::prelude::*;
use support::*;

/// Routes are shortest ones, the LIDs of a switch share the switches that they pass, and SLs are the same there and back.
fn check(fabric: &Fabric, tables: &Tables) {
    for source in (0..fabric.switch_count() as u32).map(SwitchIndex) {
        let hops = shortest(fabric, source);
        for end in fabric.end_ports().iter().filter(|end| end.switch != source) {
            let first = fabric.end_ports().iter().find(|other| other.switch == end.switch).unwrap();
            for lid in end.lids() {
                let ways = [first.lid, lid].map(|lid| {
                    let mut way = vec![source];
                    while *way.last().unwrap() != end.switch {
                        let at = *way.last().unwrap();
                        way.push(fabric.channel_peer(fabric.channel(at, tables.port(at, lid))).unwrap().0);
                    }
                    way
                });
                assert_eq!(ways[0], ways[1]);
                assert_eq!(ways[0].len() as u32 - 1, hops[end.switch.index()]);
                let Some(lanes) = tables.lanes() else { continue };
                let level = |from, to| lanes.levels_of(tables.row_len(), from, to);
                for back in fabric.end_ports().iter().filter(|back| back.switch == source).flat_map(|back| back.lids()) {
                    assert_eq!(level(source, lid), level(end.switch, back), "LIDs {lid} and {back}");
                }
            }
        }
    }
}

/// OpenSM's lash needs 6 VLs on this torus, 5 on such a random fabric, 5 on this dragonfly and 1 on trees of two levels.
#[test]
fn no_more_lanes_than_with_opensm() {
    for (spec, most) in [
        ("torus:6x5x5,hosts=7,links=4", 6),
        ("random:switches=125,degree=11,hosts=8", 5),
        ("random:switches=125,degree=11,hosts=8,seed=2", 5),
        ("dragonfly:a=8,p=4,h=4,groups=33", 5),
        ("clos2:16", 1),
        ("clos3:8", 1),
    ] {
        let fabric = generated(spec);
        let tables = route(Engine::Lash, &fabric, &Options::default()).unwrap();
        let report = verify(&fabric, &tables);
        assert!(report.is_good() && report.vls() <= most, "{spec}: {report}");
        check(&fabric, &tables);
    }
}

/// Three switches are neighbours, so that no route turns. With five, routes of two hops turn at each switch both ways, which closes two circles;
/// without the pair that turns at one of the switches, there is none. With six, the generator has the same port lead the same way round at each
/// switch, so that routes to the switch across and back go all the way round, and turn at all switches but these two. Any two of the three
/// pairs of this kind close a circle, so that they take three layers.
#[test]
fn rings_need_as_many_lanes_as_they_must() {
    for (switches, vls) in [(3, 1), (5, 2), (6, 3)] {
        let fabric = generated(&format!("ring:{switches},hosts=1"));
        let tables = route(Engine::Lash, &fabric, &Options::default()).unwrap();
        assert_eq!(assert_free(&fabric, &tables), vls, "{switches} switches");
    }
    let fabric = generated("ring:6,hosts=1");
    let refusal = route(Engine::Lash, &fabric, &Options { max_vls: 1, ..Options::default() }).unwrap_err();
    let text = refusal.display(&fabric).to_string();
    assert!(text.contains("need 3 virtual lanes, but 1 are allowed") && text.contains("switch-"), "{text}");
}

/// The hosts of a switch take the cables between two neighbours in turn.
#[test]
fn parallel_cables_are_shared() {
    let fabric = torus([4, 1, 1], 4, 2).build();
    let tables = route(Engine::Lash, &fabric, &Options::default()).unwrap();
    for (channel, load) in loads(&fabric, &tables) {
        let (at, port) = fabric.channel_at(channel);
        let peer = fabric.channel_peer(channel).unwrap().0;
        let twins = loads(&fabric, &tables)
            .into_iter()
            .filter(|&(other, _)| fabric.channel_at(other).0 == at && fabric.channel_peer(other).unwrap().0 == peer);
        assert!(twins.clone().count() == 2 && twins.into_iter().all(|(_, other)| other == load), "switch {} port {port}", at.0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_fabric_is_free_of_deadlock(fabric in random_fabric()) {
        let at_most = |max_vls| route(Engine::Lash, &fabric, &Options { max_vls, ..Options::default() });
        let tables = at_most(15).unwrap();
        assert_free(&fabric, &tables);
        check(&fabric, &tables);
        let used = tables.lanes().map_or(1, Lanes::vls);
        prop_assert!(at_most(used).is_ok_and(|same| same == tables));
        if let Err(refusal) = at_most(1) {
            // What it asks for is enough, and not more than it takes.
            let needed: Vec<u8> = (2..=used).filter(|vls| refusal.reason.contains(&format!("need {vls} virtual lanes"))).collect();
            prop_assert!(needed.len() == 1 && !refusal.culprits.is_empty(), "{}", refusal.reason);
            let tables = at_most(needed[0]).unwrap();
            prop_assert!(assert_free(&fabric, &tables) <= needed[0] && at_most(needed[0] - 1).is_err());
        }
    }
}
