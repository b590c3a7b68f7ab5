//! The verifier and the judge must agree on any tables for any fabric.

use crate::common::*;
use heddle_fabric::{Fabric, FabricBuilder, Guid, Lid, Link, NodeKind, NodeSpec, PortRef, SwitchIndex, Tables};
use heddle_verify::{Certificate, Deadlock, Violation, check_certificate, quality, verify};
use proptest::prelude::*;

/// Switches with up to 5 hosts of random LMC each, some with two ports, and random cables, parallel ones and some from a switch to itself.
pub(crate) fn fabrics() -> impl Strategy<Value = Fabric> {
    let cables = |count: usize| proptest::collection::vec((0..count, 0..count), 0..=3 * count);
    let hosts = |count: usize| proptest::collection::vec((0..count, 0..count, 0u8..=2), 0..=5);
    let sizes = 1usize..=7;
    sizes.prop_flat_map(move |count| (Just(count), cables(count), hosts(count))).prop_map(|(count, cables, hosts)| {
        let mut builder = FabricBuilder::new();
        let mut next_port = vec![1; count];
        let mut plug = |switch: usize| {
            next_port[switch] += 1;
            PortRef::new(heddle_fabric::NodeIndex(switch as u32), next_port[switch] - 1)
        };
        for switch in 0..count as u64 {
            builder.add_node(NodeSpec::new(NodeKind::Switch, Guid(0x100 + switch), 70, format!("s{switch}"))).unwrap();
        }
        for (number, (first, second, lmc)) in hosts.into_iter().enumerate() {
            let kind = if number == 3 { NodeKind::Router } else { NodeKind::Ca };
            let host = builder.add_node(NodeSpec::new(kind, Guid(0x200 + number as u64), 2, format!("h{number}"))).unwrap();
            builder.connect(PortRef::new(host, 1), plug(first), Link::default()).unwrap();
            if first != second {
                builder.connect(PortRef::new(host, 2), plug(second), Link::default()).unwrap();
            }
            builder.port_mut(PortRef::new(host, 1)).unwrap().lmc = lmc;
        }
        for (a, b) in cables {
            builder.connect(plug(a), plug(b), Link::default()).unwrap();
        }
        built(builder)
    })
}

/// Shortest routes, or the same with any ports, with any number of entries changed to any port.
pub(crate) fn tables(fabric: Fabric) -> impl Strategy<Value = (Fabric, Tables)> {
    let count = fabric.switch_count() as u32;
    let top = fabric.top_lid().map_or(0, Lid::index);
    let changes = proptest::collection::vec((0..count, 0..=top, prop_oneof![0u8..20, Just(255), any::<u8>()]), 0..6);
    let forbidden = proptest::collection::vec((0..count, 1u8..20), 0..4);
    (Just(fabric), changes, forbidden).prop_map(move |(fabric, changes, forbidden)| {
        let mut tables = nearest(&fabric, |(switch, port)| !forbidden.contains(&(switch.0, port)));
        for (switch, lid, port) in changes {
            tables.row_mut(SwitchIndex(switch))[lid] = port;
        }
        (fabric, tables)
    })
}

fn agree(fabric: &Fabric, tables: &Tables) {
    let report = verify(fabric, tables);
    let judgement = judge(fabric, tables);
    assert_eq!(report.unreachable_from_switches, judgement.from_switches, "{report}");
    assert_eq!(report.unreachable_from_hosts, judgement.from_hosts, "{report}");
    assert_eq!(report.looping, judgement.looping, "{report}");
    assert_eq!(report.unreachable.len() as u64, judgement.from_switches.min(20));
    assert_eq!(report.lids, lids(fabric).len());
    assert_eq!(report.deadlock_free(), !has_cycle(&judgement.counted), "{report}");
    match &report.deadlock {
        Deadlock::Free(certificate) => {
            assert_eq!(certificate.covers_switch_to_switch, !has_cycle(&judgement.all));
            assert_eq!(check_certificate(fabric, tables, certificate), Ok(()));
        }
        Deadlock::Cyclic(witness) => {
            let channels: Vec<Channel> = witness
                .steps
                .iter()
                .map(|step| (fabric.switch_index(fabric.node_by_guid(step.channel.guid).unwrap()).unwrap(), step.channel.port))
                .collect();
            assert!(channels.len() >= 2);
            for (number, step) in witness.steps.iter().enumerate() {
                let dependency = (channels[number], channels[(number + 1) % channels.len()]);
                assert!(judgement.counted[&dependency].contains(&step.lid), "no packets to LID {} do {dependency:?}", step.lid);
            }
        }
    }
    assert_eq!(quality(fabric, tables), judge_quality(fabric, tables));
}

/// Whether each dependency of the traffic goes up in rank.
fn rises(fabric: &Fabric, tables: &Tables, certificate: &Certificate) -> bool {
    let judgement = judge(fabric, tables);
    let dependencies = if certificate.covers_switch_to_switch { judgement.all } else { judgement.counted };
    let rank = |(switch, port): Channel| certificate.ranks[fabric.channel(switch, port)];
    dependencies.keys().all(|&(from, to)| rank(from) < rank(to))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_tables((fabric, tables) in fabrics().prop_flat_map(tables)) {
        agree(&fabric, &tables);
    }

    /// Any certificate for any tables: the checker says yes exactly if all dependencies rise. So it rejects what does not belong to the
    /// tables, and what it accepts is a proof.
    #[test]
    fn any_certificate((fabric, tables) in fabrics().prop_flat_map(tables), seed in proptest::collection::vec(0u32..6, 500), covers: bool) {
        let ranks = if let Deadlock::Free(own) = verify(&fabric, &nearest(&fabric, |_| true)).deadlock {
            own.ranks
        } else {
            seed.into_iter().cycle().take(fabric.channel_count()).collect()
        };
        let certificate = Certificate { vls: 1, ranks, covers_switch_to_switch: covers };
        prop_assert_eq!(check_certificate(&fabric, &tables, &certificate).is_ok(), rises(&fabric, &tables, &certificate));
    }
}

/// Every single entry of good tables, changed to every other port.
#[test]
fn every_mutation_of_a_tree() {
    let (fabric, good) = turning(small_tree(), 1);
    assert!(verify(&fabric, &good).is_good());
    let Deadlock::Free(certificate) = verify(&fabric, &good).deadlock else { panic!("it is good") };
    let mut caught = 0;
    for switch in switches(&fabric) {
        for lid in lids(&fabric) {
            for port in (0..=5).chain([255]).filter(|&port| port != good.port(switch, lid)) {
                let mut tables = good.clone();
                tables.row_mut(switch)[lid.index()] = port;
                agree(&fabric, &tables);
                assert_eq!(check_certificate(&fabric, &tables, &certificate).is_ok(), rises(&fabric, &tables, &certificate));
                caught += usize::from(!verify(&fabric, &tables).is_good());
            }
        }
    }
    assert!(caught > 100, "{caught} of the mutations are faults");
}

#[test]
fn every_mutation_of_a_line() {
    let fabric = generated("mesh:4,hosts=1");
    let good = nearest(&fabric, |_| true);
    for switch in switches(&fabric) {
        for lid in lids(&fabric) {
            for port in (0..=4).chain([255]).filter(|&port| port != good.port(switch, lid)) {
                let mut tables = good.clone();
                tables.row_mut(switch)[lid.index()] = port;
                agree(&fabric, &tables);
                // In a line each entry is the only good one.
                assert!(!verify(&fabric, &tables).is_good());
            }
        }
    }
}

/// A dependency whose ranks are exchanged is found, whichever it is.
#[test]
fn every_corruption_of_a_certificate() {
    let (fabric, tables) = turning(small_tree(), 1);
    let Deadlock::Free(certificate) = verify(&fabric, &tables).deadlock else { panic!("it is good") };
    assert!(!certificate.covers_switch_to_switch, "between spines packets turn up again");
    for &(from, to) in judge(&fabric, &tables).counted.keys() {
        let mut wrong = certificate.clone();
        wrong.ranks[fabric.channel(from.0, from.1)] = certificate.ranks[fabric.channel(to.0, to.1)];
        assert!(matches!(check_certificate(&fabric, &tables, &wrong), Err(Violation::NotRising { .. })));
    }
    let wrong = Certificate { covers_switch_to_switch: true, ..certificate.clone() };
    assert!(check_certificate(&fabric, &tables, &wrong).is_err(), "it does not cover packets between switches");
    let short = Certificate { ranks: certificate.ranks[1..].to_vec(), ..certificate };
    let channels = fabric.channel_count();
    assert_eq!(check_certificate(&fabric, &tables, &short), Err(Violation::Size { ranks: channels - 1, vls: 1, channels }));
}

/// Whoever wants to believe a certificate reads one short file, which uses nothing else of the verifier.
#[test]
fn the_checker_is_short_and_stands_alone() {
    let source = include_str!("../../src/checker.rs");
    assert!(source.lines().count() < 100);
    let uses: Vec<&str> = source.lines().filter(|line| line.starts_with("use ") || line.starts_with("mod ")).collect();
    assert!(uses.iter().all(|line| *line == "use crate::{Certificate, Violation};" || line.starts_with("use heddle_fabric::")), "{uses:?}");
    assert_eq!(source.matches("crate::").count(), 2, "the other is in its documentation");
}

/// Larger shapes, several blocks of LIDs; some of these are free of deadlock and some are not.
#[test]
fn usual_shapes() {
    for (spec, free) in [
        ("clos2:8", true),
        ("clos3:4", true),
        ("mesh:4x4,hosts=2", true),
        ("hypercube:4", true),
        ("ring:4", false),
        ("torus:4x4,hosts=1", false),
        ("random:switches=20,degree=4,hosts=3,seed=3", false),
        ("clos2:8,fail-links=5,seed=2", true),
    ] {
        let fabric = generated(spec);
        let tables = nearest(&fabric, |_| true);
        agree(&fabric, &tables);
        assert_eq!(verify(&fabric, &tables).deadlock_free(), free, "{spec}");
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let fabric = generated("random:switches=40,degree=5,hosts=4,seed=5");
    let mut tables = nearest(&fabric, |_| true);
    tables.row_mut(SwitchIndex(3))[7] = 255;
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| (verify(&fabric, &tables), quality(&fabric, &tables)))
    };
    assert_eq!(run(1), run(5));
}
