//! The engine nue: a result on every connected fabric with any number of virtual lanes, free of deadlock by the verifier and by petgraph.

mod support;

use heddle_engines::{Engine, Options, route};
use heddle_fabric::{Fabric, NodeIndex, SwitchIndex, Tables};
use heddle_verify::{Effort, patterns, quality, verify};
use proptest::prelude::*;
use support::*;

fn routed(fabric: &Fabric, max_vls: u8) -> Tables {
    route(Engine::Nue, fabric, &Options { max_vls, ..Options::default() }).unwrap()
}

/// Routes on so many VLs at most, and checks that all is reached and free of deadlock; on one VL for all traffic that there can be.
fn assert_routed(fabric: &Fabric, max_vls: u8) -> Tables {
    let tables = routed(fabric, max_vls);
    let vls = assert_free(fabric, &tables);
    assert!(vls <= max_vls.max(1), "{vls} VLs of {max_vls}");
    if tables.lanes().is_none() {
        assert!(acyclic(fabric, &tables, Traffic::All));
    }
    tables
}

fn is_shortest(fabric: &Fabric, tables: &Tables) -> bool {
    let verdict = judge(fabric, tables);
    let shortest = (0..fabric.switch_count() as u32).map(|switch| shortest(fabric, SwitchIndex(switch)));
    verdict.hops.iter().zip(shortest).all(|(hops, shortest)| {
        let carriers = fabric.end_ports().iter().map(|end| shortest[end.switch.index()]);
        hops.iter().copied().eq(carriers)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_fabric_is_routed_on_any_number_of_lanes(fabric in random_fabric(), max_vls in 1u8..16) {
        for max_vls in [1, 2, 8, max_vls] {
            assert_routed(&fabric, max_vls);
        }
    }

    #[test]
    fn degraded_grids_are_routed(x in 1usize..7, y in 1usize..5, z in 1usize..3, cables in 1usize..3, seed in any::<u32>()) {
        let fabric = degrade(&torus([x, y, z], 1, cables).build(), 100, u64::from(seed));
        for max_vls in [1, 2, 8] {
            assert_routed(&fabric, max_vls);
        }
    }

    #[test]
    fn degraded_dragonflies_and_trees_are_routed(shape in 0usize..4, links in 0usize..5, seed in any::<u32>()) {
        let shape = ["dragonfly:a=4,p=1,h=2,groups=9", "dragonfly:a=3,p=2,h=1,groups=4", "clos3:4", "hyperx:3x4,hosts=1"][shape];
        let fabric = generated(&format!("{shape},fail-links={links},seed={seed}"));
        for max_vls in [1, 2, 8] {
            assert_routed(&fabric, max_vls);
        }
    }
}

/// A ring has a circle each way, so that one VL needs detours; by hand, two do: each destination of a half has the cut on the other side.
#[test]
fn rings_of_all_lengths() {
    for switches in 3..20 {
        let fabric = torus([switches, 1, 1], 1, 1).build();
        assert_eq!(is_shortest(&fabric, &assert_routed(&fabric, 1)), switches < 5, "{switches} switches");
        assert!(is_shortest(&fabric, &assert_routed(&fabric, 15)), "{switches} switches");
    }
}

/// The edges of this hub do not fit into one word, nor do those of a rim switch with parallel cables into one cable.
#[test]
fn a_wheel_with_more_spokes_than_a_word_has_bits() {
    let mut site = Site::new();
    let hub = site.switch();
    let rim: Vec<_> = (0..150).map(|_| site.switch()).collect();
    for (number, &switch) in rim.iter().enumerate() {
        site.cable(switch, rim[(number + 1) % rim.len()]);
        site.cable(hub, switch);
        if number % 3 == 0 {
            site.cable(switch, rim[(number + 1) % rim.len()]);
        }
        site.host(switch);
    }
    let fabric = site.build();
    assert_routed(&fabric, 1);
    assert_routed(&fabric, 3);
}

#[test]
fn a_long_chain_of_rings() {
    // 64 hops and more: pairs of switches joined by two cables to the next pair.
    let mut site = Site::new();
    let switches: Vec<_> = (0..140).map(|_| site.switch()).collect();
    for number in 0..switches.len() - 2 {
        site.cable(switches[number], switches[number + 2]);
        site.cable(switches[number], switches[(number ^ 1) + 2 * usize::from(number % 2 == 0 && number + 3 < switches.len())]);
    }
    [0, 70, 139].iter().for_each(|&at| site.hosts(switches[at], 1));
    let fabric = site.build();
    for max_vls in [1, 2] {
        assert_routed(&fabric, max_vls);
    }
}

/// Where lanes are enough, no route is longer than it must be, and no more lanes are taken.
#[test]
fn with_lanes_enough_all_routes_are_shortest() {
    for (spec, most) in
        [("dragonfly:a=4,p=2,h=2,groups=9", 5), ("random:switches=60,degree=6,hosts=2,seed=1", 8), ("torus:4x4x4,hosts=1", 8)]
    {
        let fabric = generated(spec);
        let tables = assert_routed(&fabric, 15);
        assert!(is_shortest(&fabric, &tables), "{spec}");
        let vls = verify(&fabric, &tables).vls();
        assert!(vls <= most, "{spec}: {vls} VLs");
        assert_eq!(assert_routed(&fabric, vls + 1), tables, "{spec}: no lane more is of any use");
    }
}

/// Trees need no detours and no second lane: they get the routes of up-down.
#[test]
fn trees_are_routed_as_by_up_down() {
    for fabric in [clos2(6, 3, 4, 2).build(), clos3(8, 8, |number| number as u64 + 1).build()] {
        let tables = assert_routed(&fabric, 8);
        assert!(tables.lanes().is_none());
        let up_down = route(Engine::UpDown, &fabric, &Options::default()).unwrap();
        assert!((0..fabric.switch_count() as u32).map(SwitchIndex).all(|switch| tables.row(switch) == up_down.row(switch)));
    }
}

/// The shares of a link that flows get by OpenSM 3.3.23's nue on the same fabrics, on 1 VL and on 8; its largest link load over the mean
/// is 6 to 53 on one VL.
#[test]
fn flows_get_more_than_by_opensm() {
    for (spec, one, eight) in [
        ("dragonfly:a=8,p=4,h=4,groups=33", 0.542, 0.613),
        ("random:switches=125,degree=11,hosts=8,seed=1", 0.481, 0.524),
        ("torus:6x5x5,hosts=7,links=4", 0.441, 0.517),
        ("clos3:16", 0.621, 0.621),
        ("clos2:36", 0.781, 0.781),
    ] {
        let fabric = generated(spec);
        for (max_vls, share) in [(1, one), (8, eight)] {
            let tables = routed(&fabric, max_vls);
            assert!(verify(&fabric, &tables).is_good());
            let found = patterns(&fabric, &tables, Effort { bisections: 60, permutations: 0, shifts: 0 }).unwrap();
            assert!(found.bisection > share, "{spec} on {max_vls}: {found:?}");
            let quality = quality(&fabric, &tables);
            let over_mean = quality.max_link_load as f64 / quality.mean_link_load;
            assert!(over_mean < 5.0, "{spec} on {max_vls}: the fullest link has {over_mean} times the mean");
        }
    }
}

#[test]
fn the_lids_of_a_range_take_different_ways_off_trees_too() {
    let mut site = torus([5, 5, 1], 1, 2);
    let hosts = [0, 6, 12].map(|switch| site.host(NodeIndex(switch)));
    for host in hosts {
        site.builder.port_mut(host).unwrap().lmc = 2;
    }
    let fabric = site.build();
    let tables = assert_routed(&fabric, 8);
    for end in fabric.end_ports().iter().filter(|end| end.lmc > 0) {
        for from in [0, 6, 12].map(SwitchIndex).into_iter().filter(|&from| from != end.switch) {
            let mut ports: Vec<u8> = end.lids().map(|lid| tables.port(from, lid)).collect();
            ports.sort_unstable();
            ports.dedup();
            assert!(ports.len() > 1, "from switch {} to LID {}", from.0, end.lid);
        }
    }
}
