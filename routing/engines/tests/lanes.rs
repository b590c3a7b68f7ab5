//! Routes on several virtual lanes: no VL has a circle, by petgraph and by the verifier, and few VLs are enough.

mod support;

use heddle_engines::{Engine, Options, route};
use heddle_fabric::{Lanes, Levels, SwitchIndex};
use heddle_verify::{Deadlock, Effort, check_certificate, patterns, verify};
use proptest::prelude::*;
use std::sync::Arc;
use support::*;

/// OpenSM's dfsssp needs 9, 5 and 7 VLs on the fabrics of this size, its lash 6, 5 and 5.
#[test]
fn few_lanes_are_enough() {
    for (spec, most) in [
        ("ring:6,hosts=2", 2),
        ("torus:6x5x5,hosts=7,links=4", 3),
        ("dragonfly:a=8,p=4,h=4,groups=33", 2),
        ("random:switches=125,degree=11,hosts=8,seed=1", 3),
        ("mesh:4x5,hosts=2", 1),
        ("hypercube:6,hosts=1", 1),
        ("clos3:8", 1),
    ] {
        let fabric = generated(spec);
        let tables = route(Engine::Dfsssp, &fabric, &Options::default()).unwrap();
        let report = verify(&fabric, &tables);
        assert!(report.is_good() && report.vls() <= most, "{spec}: {report}");
    }
}

#[test]
fn a_refusal_names_the_lanes_that_are_needed() {
    let fabric = generated("ring:6,hosts=2");
    let refusal = route(Engine::Dfsssp, &fabric, &Options { max_vls: 1, ..Options::default() }).unwrap_err();
    let text = refusal.display(&fabric).to_string();
    assert!(text.contains("need 2 virtual lanes, but 1 are allowed") && text.contains("switch-"), "{text}");
}

/// OpenSM's best on these: .533 (sssp) on the torus, .5295 (dfsssp) on the random fabric, .624 (dfsssp) on the dragonfly.
#[test]
fn flows_get_more_than_with_opensm() {
    for (spec, least) in [
        ("torus:6x5x5,hosts=7,links=4", 0.533 * 1.05),
        ("random:switches=125,degree=11,hosts=8,seed=1", 0.5295),
        ("dragonfly:a=8,p=4,h=4,groups=33", 0.631),
    ] {
        let fabric = generated(spec);
        let tables = route(Engine::Dfsssp, &fabric, &Options::default()).unwrap();
        let found = patterns(&fabric, &tables, Effort { bisections: 200, permutations: 0, shifts: 0 }).unwrap();
        assert!(found.bisection > least, "{spec}: {found:?}");
    }
}

/// In a whole tree each shift of the hosts is without contention, as with D-mod-K, and one VL is enough.
#[test]
fn whole_trees_stay_whole() {
    let fabric = generated("clos3:8");
    let tables = route(Engine::Sssp, &fabric, &Options::default()).unwrap();
    let found = patterns(&fabric, &tables, Effort { bisections: 0, permutations: 0, shifts: 1000 }).unwrap();
    assert_eq!(found.shift_contention, 1);
    assert!(verify(&fabric, &tables).is_good());
}

/// Three switches are neighbours, so that no route turns. With five or more, the routes of two hops alone turn at each switch both ways, which
/// closes two circles; if one layer leaves out a turn, the routes that have it are too short to close another.
#[test]
fn a_ring_needs_two_lanes() {
    for (switches, vls) in [(3, 1), (5, 2), (6, 2), (9, 2)] {
        let fabric = generated(&format!("ring:{switches},hosts=1"));
        let tables = route(Engine::Dfsssp, &fabric, &Options::default()).unwrap();
        assert_eq!(assert_free(&fabric, &tables), vls, "{switches} switches");
    }
}

/// Two VLs on any torus, one on meshes, hypercubes and tori whose rings are short; and shortest routes throughout.
#[test]
fn grids_are_recognised_and_routed_by_dimension() {
    for (spec, vls) in [
        ("torus:6x5x5,hosts=2,links=2", 2),
        ("ring:6,hosts=2", 2),
        ("torus:4x3x6,hosts=1", 2),
        ("torus:5x5x5x5,hosts=1", 2),
        ("torus:3x3,hosts=2", 1),
        ("torus:4x4x4,hosts=1", 1),
        ("mesh:4x5,hosts=2", 1),
        ("mesh:2x7x3,hosts=1", 1),
        ("hypercube:6,hosts=1", 1),
        ("ring:2,hosts=2", 1),
        ("hyperx:5x4,hosts=2", 1),
        ("hyperx:4x4x4,hosts=1", 1),
        ("hyperx:9,hosts=2", 1),
    ] {
        let fabric = generated(spec);
        let tables = route(Engine::Torus, &fabric, &Options::default()).unwrap();
        let verdict = judge(&fabric, &tables);
        for (switch, hops) in verdict.hops.iter().enumerate() {
            let shortest = shortest(&fabric, SwitchIndex(switch as u32));
            for (end, &hops) in fabric.end_ports().iter().zip(hops) {
                assert_eq!(hops, shortest[end.switch.index()], "{spec}");
            }
        }
        assert_eq!(assert_free(&fabric, &tables), vls, "{spec}");
        let dor = route(Engine::Dor, &fabric, &Options::default()).unwrap();
        assert_eq!(verify(&fabric, &dor).deadlock_free(), vls == 1, "{spec} by dor on one VL");
    }
}

/// OpenSM's best routes that are free of deadlock give flows .517 of a link on this torus (nue, 8 VLs), its best of all .533 (sssp).
#[test]
fn a_torus_gives_flows_more_than_opensm_does() {
    let fabric = generated("torus:6x5x5,hosts=7,links=4");
    let tables = route(Engine::Torus, &fabric, &Options::default()).unwrap();
    let found = patterns(&fabric, &tables, Effort { bisections: 200, permutations: 0, shifts: 0 }).unwrap();
    assert!(found.bisection > 0.517 * 1.05, "{found:?}");
    assert_eq!(verify(&fabric, &tables).vls(), 2);
}

/// With lost cables and switches the coordinates are still found, and nearly all such tori proven.
#[test]
fn tori_with_losses_are_routed() {
    let mut proven = 0;
    let mut refused = 0;
    for seed in 0..40i32 {
        let (links, switches) = (seed % 8, i32::from(seed % 5 == 0));
        let fabric = generated(&format!("torus:5x6x5,hosts=1,fail-links={links},fail-switches={switches},seed={seed}"));
        match route(Engine::Torus, &fabric, &Options::default()) {
            Ok(tables) => {
                judge(&fabric, &tables);
                let report = verify(&fabric, &tables);
                assert_eq!(report.deadlock_free(), is_acyclic(&fabric, &tables), "seed {seed}");
                // A few lost cables never matter; round a lost switch, turns against the order can close a circle, which the verifier sees.
                assert!(report.is_good() || switches > 0 || links > 3, "seed {seed}: {report}");
                proven += u32::from(report.is_good());
            }
            Err(refusal) => {
                assert!(!refusal.reason.is_empty());
                refused += 1;
            }
        }
    }
    assert!(proven >= 34, "{proven} of 40 proven, {refused} refused");
}

#[test]
fn what_is_no_grid_is_refused_with_names() {
    for spec in ["clos3:4", "dragonfly:a=4,p=2,h=2,groups=9", "random:switches=20,degree=5,hosts=1,seed=1"] {
        let fabric = generated(spec);
        for engine in [Engine::Dor, Engine::Torus] {
            let refusal = route(engine, &fabric, &Options::default()).unwrap_err();
            assert!(!refusal.culprits.is_empty(), "{spec}: {}", refusal.display(&fabric));
        }
    }
    let fabric = generated("ring:6,hosts=1");
    let refusal = route(Engine::Torus, &fabric, &Options { max_vls: 1, ..Options::default() }).unwrap_err();
    assert!(refusal.display(&fabric).to_string().contains("need 2 virtual lanes"));
}

/// One pair's SL changed, or one switch's SL2VL: the verifier says what petgraph says.
#[test]
fn changed_lanes_are_judged_as_petgraph_does() {
    let mut verdicts = [0; 2];
    for seed in 0..60u64 {
        let fabric = generated(&format!("torus:3x4,hosts=1,fail-links={},seed={seed}", seed % 4));
        let mut tables = route(Engine::Dfsssp, &fabric, &Options::default()).unwrap();
        let Some(lanes) = tables.lanes() else { continue };
        let Levels::ByPair(mut levels) = lanes.levels().clone() else { unreachable!("dfsssp has an SL for each pair") };
        let mut random = random(seed);
        for level in &mut levels {
            if *level < 16 && random(10) == 0 {
                *level = random(3) as u8;
            }
        }
        let mut lanes = Lanes::by_ports(&fabric, Levels::ByPair(levels), Lanes::IDENTITY);
        for _ in 0..random(4) {
            let switch = SwitchIndex(random(fabric.switch_count()) as u32);
            let ports = usize::from(fabric.switch(switch).num_ports);
            let mut row = Lanes::IDENTITY;
            row[random(3)] = random(3) as u8;
            lanes.set_row(switch, random(ports) as u8 + 1, random(ports) as u8 + 1, row);
        }
        tables.set_lanes(Some(lanes));
        let report = verify(&fabric, &tables);
        assert_eq!(report.deadlock_free(), is_acyclic(&fabric, &tables), "seed {seed}: {report}");
        match &report.deadlock {
            Deadlock::Free(certificate) => assert_eq!(check_certificate(&fabric, &tables, certificate), Ok(())),
            Deadlock::Cyclic(witness) => assert!(witness.steps.len() > 1 && witness.to_string().contains("VL "), "{witness}"),
        }
        verdicts[usize::from(report.deadlock_free())] += 1;
    }
    assert!(verdicts.iter().all(|&count| count > 5), "both verdicts are seen: {verdicts:?}");
}

/// SL2VL that drops an SL in use is no tables to be proud of.
#[test]
fn a_dropped_level_is_a_finding() {
    let fabric = generated("ring:6,hosts=2");
    let mut tables = route(Engine::Dfsssp, &fabric, &Options::default()).unwrap();
    let levels = tables.lanes().unwrap().levels().clone();
    let mut row = Lanes::IDENTITY;
    row[1] = heddle_fabric::DROP_VL;
    tables.set_lanes(Some(Lanes::uniform(levels, row)));
    let report = verify(&fabric, &tables);
    assert!(!report.is_good() && report.dropped_by_sl > 0, "{report}");
    assert!(heddle_verify::prove(Arc::new(fabric), tables).is_err());
}

/// One SL and two VLs; local, global, local cable at most.
#[test]
fn a_whole_dragonfly_takes_one_level_and_three_hops() {
    for spec in ["dragonfly:a=4,p=2,h=2", "dragonfly:a=6,p=1,h=3,groups=7", "dragonfly:a=8,p=4,h=4,groups=33"] {
        let fabric = generated(spec);
        let tables = route(Engine::Dragonfly, &fabric, &Options::default()).unwrap();
        let verdict = judge(&fabric, &tables);
        assert!(verdict.hops.iter().flatten().all(|&hops| hops <= 3), "{spec}");
        let report = verify(&fabric, &tables);
        assert!(report.is_good() && report.vls() == 2, "{spec}: {report}");
        let Levels::ByDestination(levels) = tables.lanes().unwrap().levels() else { panic!("{spec}: one SL needs no pairs") };
        assert!(levels.iter().all(|&level| level == 0), "{spec}");
    }
}

/// OpenSM's lash gives flows .631 of a link there, on five VLs.
#[test]
fn a_dragonfly_gives_flows_no_less_than_opensm_does_on_more_lanes() {
    let fabric = generated("dragonfly:a=8,p=4,h=4,groups=33");
    let tables = route(Engine::Dragonfly, &fabric, &Options::default()).unwrap();
    let found = patterns(&fabric, &tables, Effort { bisections: 500, permutations: 0, shifts: 0 }).unwrap();
    assert!(found.bisection > 0.631, "{found:?}");
}

#[test]
fn what_is_no_dragonfly_is_refused_with_its_shape() {
    for (spec, shape) in [
        ("torus:5x5", "a torus of 5x5"),
        ("clos2:8", "a tree of 2 levels"),
        ("dragonfly-plus:leaves=4,spines=4,p=2,h=2", "a dragonfly-plus of 9 groups"),
        ("random:switches=40,degree=4,seed=1", "a fabric of no known shape"),
    ] {
        let fabric = generated(spec);
        let refusal = route(Engine::Dragonfly, &fabric, &Options::default()).unwrap_err();
        let text = refusal.display(&fabric).to_string();
        assert!(text.contains(shape) && text.contains("dfsssp") && !refusal.culprits.is_empty(), "{spec}: {text}");
    }
    let fabric = generated("dragonfly:a=4,p=2,h=2");
    let refusal = route(Engine::Dragonfly, &fabric, &Options { max_vls: 1, ..Options::default() }).unwrap_err();
    assert!(refusal.display(&fabric).to_string().contains("need 2 virtual lanes"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn damaged_dragonflies_are_free_of_deadlock_on_two_lanes(
        h in 2u64..4, groups in 3u64..14, links in 0u64..6, switches in 0u64..3, seed in any::<u32>()
    ) {
        let (a, groups) = (2 * h + h % 2, groups.min(2 * h * h + 1));
        let spec = format!("dragonfly:a={a},p=1,h={h},groups={groups},fail-links={links},fail-switches={switches},seed={seed}");
        let fabric = generated(&spec);
        match route(Engine::Dragonfly, &fabric, &Options::default()) {
            Ok(tables) => prop_assert!(assert_free(&fabric, &tables) <= 2),
            // With few faults only, where there is room to go round them.
            Err(refusal) => prop_assert!(!refusal.culprits.is_empty() && (links + switches > 1 || h == 2), "{}: {:?}", spec, refusal),
        }
    }

    #[test]
    fn lanes_are_free_of_deadlock_on_any_fabric(fabric in random_fabric()) {
        // No grid, mostly: a result or a refusal, never a panic.
        if let Ok(tables) = route(Engine::Torus, &fabric, &Options::default()) {
            judge(&fabric, &tables);
        }
        for engine in [Engine::Sssp, Engine::Dfsssp] {
            let at_most = |max_vls| route(engine, &fabric, &Options { max_vls, ..Options::default() });
            let tables = at_most(15).unwrap();
            // It uses what it says that it needs, is content with that, and refuses one less.
            let needed = tables.lanes().map_or(1, Lanes::vls);
            prop_assert!(at_most(needed).is_ok_and(|same| same == tables));
            if needed > 1 {
                let refusal = at_most(needed - 1).unwrap_err();
                let named = refusal.reason.contains(&format!("need {needed} virtual lanes"));
                prop_assert!(named && !refusal.culprits.is_empty(), "{}", refusal.reason);
            }
            let verdict = judge(&fabric, &tables);
            for (switch, hops) in verdict.hops.iter().enumerate() {
                let shortest = shortest(&fabric, SwitchIndex(switch as u32));
                for (end, &hops) in fabric.end_ports().iter().zip(hops) {
                    prop_assert_eq!(hops, shortest[end.switch.index()]);
                }
            }
            if engine == Engine::Dfsssp {
                assert_free(&fabric, &tables);
            }
        }
    }
}
