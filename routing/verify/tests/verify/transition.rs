//! From old tables to new ones: all mixtures of small tables, one by one.

use crate::common::*;
use crate::oracle::{fabrics, tables};
use heddle_fabric::{Fabric, Lanes, Levels, Lid, SwitchIndex, Tables, generate};
use heddle_verify::{Certificate, Deadlock, MixedWitness, Side, Step, Transition, check_certificate, verify, verify_transition};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// A channel's VL.
type Lane = (Channel, u8);
type Dependencies = BTreeMap<(Lane, Lane), BTreeSet<Lid>>;

/// The tables in which the switches of `flipped` (bits) are written.
fn mixture(fabric: &Fabric, old: &Tables, new: &Tables, flipped: usize) -> Tables {
    let mut tables = old.clone();
    for switch in switches(fabric).filter(|switch| flipped >> switch.index() & 1 == 1) {
        tables.row_mut(switch).copy_from_slice(new.row(switch));
    }
    tables
}

/// What packets can wait for what, found by following each packet wherever old and new tables can send it.
struct Explorer<'a> {
    fabric: &'a Fabric,
    tables: [&'a Tables; 2],
    lanes: Option<[Lanes; 2]>,
    found: Dependencies,
}

impl Explorer<'_> {
    /// A packet comes to a switch by a port, on a lane.
    fn go(&mut self, lid: Lid, sl: usize, at: SwitchIndex, entry: u8, on: Option<Lane>, seen: &mut BTreeSet<(SwitchIndex, Option<Lane>)>) {
        if !seen.insert((at, on)) {
            return;
        }
        for exit in self.tables.map(|tables| tables.port(at, lid)) {
            let Some(peer) = across(self.fabric, (at, exit)) else { continue };
            let vls = self.lanes.as_ref().map_or([0, 0], |lanes| [0, 1].map(|side: usize| lanes[side].row(at, entry, exit)[sl]));
            for vl in vls.into_iter().filter(|&vl| vl < 15) {
                let lane = ((at, exit), vl);
                if let Some(before) = on {
                    self.found.entry((before, lane)).or_default().insert(lid);
                }
                let entry = self.fabric.arcs(at).iter().find(|arc| arc.port == exit).unwrap().peer_port;
                self.go(lid, sl, peer, entry, Some(lane), seen);
            }
        }
    }
}

/// All dependencies of the traffic that has a host at one end.
fn explore(fabric: &Fabric, tables: [&Tables; 2], lanes: Option<[Lanes; 2]>) -> Dependencies {
    let mut explorer = Explorer { fabric, tables, lanes: lanes.clone(), found: Dependencies::new() };
    for lid in lids(fabric) {
        let owner = fabric.lid_owner(lid).unwrap();
        for source in switches(fabric) {
            let hosts = fabric.end_ports().iter().filter(|end| end.is_host() && end.switch == source && end.at != owner.at);
            let entries = owner.is_host().then_some(0).into_iter().chain(hosts.map(|end| end.switch_port));
            for entry in entries {
                let levels = lanes.as_ref().map_or(1, |lanes| {
                    lanes[0].levels_of(tables[0].row_len(), source, lid) | lanes[1].levels_of(tables[1].row_len(), source, lid)
                });
                for sl in (0..16).filter(|sl| levels >> sl & 1 == 1) {
                    explorer.go(lid, sl, source, entry, None, &mut BTreeSet::new());
                }
            }
        }
    }
    explorer.found
}

/// The channels of a step's witness, as they are numbered here.
fn channel_of(fabric: &Fabric, step: &Step) -> Channel {
    (fabric.switch_index(fabric.node_by_guid(step.channel.guid).unwrap()).unwrap(), step.channel.port)
}

fn says(tables: [&Tables; 2], (switch, port): Channel, lid: Lid) -> Option<Side> {
    match tables.map(|tables| tables.port(switch, lid) == port) {
        [true, true] => Some(Side::Both),
        [true, false] => Some(Side::Old),
        [false, true] => Some(Side::New),
        [false, false] => None,
    }
}

fn check_witness(fabric: &Fabric, tables: [&Tables; 2], witness: &MixedWitness, dependencies: &Dependencies) {
    assert!(witness.steps.len() >= 2);
    for (mixed, next) in witness.steps.iter().zip(witness.steps.iter().cycle().skip(1)) {
        let [from, to] = [mixed, next].map(|mixed| (channel_of(fabric, &mixed.step), mixed.step.vl.unwrap_or(0)));
        assert!(dependencies[&(from, to)].contains(&mixed.step.lid), "no packets to LID {} go {from:?} to {to:?}", mixed.step.lid);
        assert_eq!(says(tables, from.0, mixed.step.lid), Some(mixed.by));
        assert_eq!(says(tables, to.0, mixed.step.lid), Some(mixed.then));
    }
}

/// Flips switches in rounds, each as soon as all that come after it on the new way are right, and looks at every mixture on the way.
fn rounds_of(fabric: &Fabric, old: &Tables, new: &Tables, lid: Lid) -> u32 {
    let differs = |switch: SwitchIndex| old.port(switch, lid) != new.port(switch, lid);
    let fine_before = switches(fabric).all(|source| walk(fabric, old, source, lid).1 != End::Loops);
    let mut flipped = 0usize;
    let mut rounds = 0;
    loop {
        let right = |switch: SwitchIndex| !differs(switch) || flipped >> switch.index() & 1 == 1;
        let after = |switch: SwitchIndex| walk(fabric, new, switch, lid).0.into_iter().skip(1).all(|(next, _)| right(next));
        // The owner's switch is on no channel of the way.
        let last = |switch: SwitchIndex| fabric.lid_owner(lid).unwrap().switch == switch || right(fabric.lid_owner(lid).unwrap().switch);
        let joined = |switch: SwitchIndex| walk(fabric, new, switch, lid).1 == End::Delivered;
        let ready: Vec<SwitchIndex> =
            switches(fabric).filter(|&switch| !right(switch) && after(switch) && (last(switch) || !joined(switch))).collect();
        if ready.is_empty() {
            assert!(switches(fabric).all(right), "each round has a switch");
            return rounds;
        }
        for some in 0..1usize << ready.len() {
            let these = ready
                .iter()
                .enumerate()
                .filter(|(bit, _)| some >> bit & 1 == 1)
                .fold(flipped, |all, (_, switch)| all | 1 << switch.index());
            let tables = mixture(fabric, old, new, these);
            for source in switches(fabric).filter(|_| fine_before) {
                let end = walk(fabric, &tables, source, lid).1;
                assert_ne!(end, End::Loops);
                assert!(end == End::Delivered || walk(fabric, old, source, lid).1 != End::Delivered);
            }
        }
        flipped = ready.iter().fold(flipped, |all, switch| all | 1 << switch.index());
        rounds += 1;
    }
}

fn agree(fabric: &Fabric, old: &Tables, new: &Tables) {
    let Transition { changed_entries, changed_lids, looping_lids, a_loop, dropping_lids, a_drop, lost_before, rounds, deadlock } =
        verify_transition(fabric, old, new);
    let both = [old, new];
    let mixtures: Vec<Tables> = (0..1 << fabric.switch_count()).map(|flipped| mixture(fabric, old, new, flipped)).collect();
    let joined = |source, lid| petgraph::algo::has_path_connecting(fabric.graph(), source, fabric.lid_owner(lid).unwrap().switch, None);
    let (mut changed, mut looping, mut dropping, mut lost, mut most) = (0, Vec::new(), Vec::new(), 0, Some(0));
    for lid in lids(fabric) {
        let differ = switches(fabric).filter(|&switch| old.port(switch, lid) != new.port(switch, lid)).count() as u64;
        if differ == 0 {
            continue;
        }
        changed += differ;
        let ends = |tables: &Tables| switches(fabric).map(|source| walk(fabric, tables, source, lid).1).collect::<Vec<_>>();
        let [with_old, with_new] = both.map(ends);
        let missed = |ends: &[End]| switches(fabric).zip(ends).any(|(source, &end)| end != End::Delivered && joined(source, lid));
        lost += u64::from(missed(&with_old));
        let all: Vec<Vec<End>> = mixtures.iter().map(ends).collect();
        let counts = |source: &SwitchIndex| {
            fabric.lid_owner(lid).unwrap().is_host() || fabric.end_ports().iter().any(|end| end.is_host() && end.switch == *source)
        };
        let sources: Vec<usize> = switches(fabric).filter(counts).map(SwitchIndex::index).collect();
        if all.iter().any(|ends| sources.iter().any(|&source| ends[source] == End::Loops)) {
            looping.push(lid);
        }
        let delivered = |source: usize| with_old[source] == End::Delivered && with_new[source] == End::Delivered;
        let ends_badly = |source: usize| all.iter().any(|ends| matches!(ends[source], End::Dropped | End::Astray));
        if sources.iter().any(|&source| delivered(source) && ends_badly(source)) {
            dropping.push(lid);
        }
        // Where the old tables loop or the new ones do not deliver, there is no good order.
        most = if missed(&with_new) { None } else { most.map(|most: u32| most.max(rounds_of_or_skip(fabric, both, lid, &with_new))) };
    }
    assert_eq!((changed_entries, looping_lids, dropping_lids, lost_before), (changed, looping.len() as u64, dropping.len() as u64, lost));
    assert!(changed_lids <= lids(fabric).len() as u64);
    assert_eq!(rounds, most);
    assert_eq!(
        (a_loop.as_ref().map(|found| found.lid), a_drop.as_ref().map(|found| found.lid)),
        (looping.first().copied(), dropping.first().copied())
    );
    if let Some(found) = a_loop {
        let channels: Vec<(Channel, Side)> = found
            .cycle
            .iter()
            .map(|(place, side)| ((fabric.switch_index(fabric.node_by_guid(place.guid).unwrap()).unwrap(), place.port), *side))
            .collect();
        for (&(channel, side), (next, _)) in channels.iter().zip(channels.iter().cycle().skip(1)) {
            assert_eq!((across(fabric, channel), says(both, channel, found.lid)), (Some(next.0), Some(side)));
        }
    }
    let counted = explore(fabric, both, None);
    let mut free = !has_cycle(&counted);
    assert!(!free || looping.is_empty(), "a circle of packets is one of channels");
    let mut relevant = counted;
    if !free && both.iter().any(|tables| tables.lanes().is_some()) {
        let zero = |tables: &Tables| Lanes::uniform(Levels::ByDestination(vec![0; tables.row_len()]), Lanes::IDENTITY);
        relevant = explore(fabric, both, Some(both.map(|tables| tables.lanes().cloned().unwrap_or_else(|| zero(tables)))));
        free = !has_cycle(&relevant);
    }
    assert_eq!(deadlock.is_ok(), free);
    match deadlock {
        Ok(certificate) => {
            let rank = |(channel, vl): Lane| {
                let node = fabric.channel(channel.0, channel.1) * usize::from(certificate.vls) + usize::from(vl);
                certificate.ranks[if certificate.vls == 1 { fabric.channel(channel.0, channel.1) } else { node }]
            };
            assert!(relevant.keys().all(|&(from, to)| rank(from) < rank(to)));
        }
        Err(witness) => check_witness(fabric, both, &witness, &relevant),
    }
}

/// Packets to another part may go in circles by the new tables: then no order is better than another, and none is tried.
fn rounds_of_or_skip(fabric: &Fabric, [old, new]: [&Tables; 2], lid: Lid, with_new: &[End]) -> u32 {
    if with_new.contains(&End::Loops) { 0 } else { rounds_of(fabric, old, new, lid) }
}

/// SLs 0 to 2, and how switches map them to VLs 0 to 2: all by the same row, or some by another.
#[derive(Clone, Debug)]
struct Mapping {
    levels: Vec<u8>,
    row: [u8; 16],
    others: Vec<(u32, u8, u8, [u8; 16])>,
}

fn mappings() -> impl Strategy<Value = Mapping> {
    let row = || proptest::array::uniform16(0u8..3);
    let others = proptest::collection::vec((0u32..7, 0u8..8, 0u8..8, row()), 0..6);
    (proptest::collection::vec(0u8..3, 40), row(), others).prop_map(|(levels, row, others)| Mapping { levels, row, others })
}

fn with_lanes(fabric: &Fabric, mut tables: Tables, mapping: Option<Mapping>) -> Tables {
    if let Some(Mapping { levels, row, others }) = mapping {
        let levels = Levels::ByPair(levels.into_iter().cycle().take(fabric.switch_count() * tables.row_len()).collect());
        let mut lanes = if others.is_empty() { Lanes::uniform(levels, row) } else { Lanes::by_ports(fabric, levels, row) };
        for (switch, from, to, row) in others.into_iter().filter(|(switch, ..)| (*switch as usize) < fabric.switch_count()) {
            lanes.set_row(SwitchIndex(switch), from, to, row);
        }
        tables.set_lanes(Some(lanes));
    }
    tables
}

/// Two tables for a fabric, each with or without SLs.
fn pairs(fabric: Fabric) -> impl Strategy<Value = (Fabric, Tables, Tables)> {
    let mapping = || proptest::option::of(mappings());
    (tables(fabric.clone()), tables(fabric), mapping(), mapping()).prop_map(|((fabric, old), (_, new), old_mapping, new_mapping)| {
        let (old, new) = (with_lanes(&fabric, old, old_mapping), with_lanes(&fabric, new, new_mapping));
        (fabric, old, new)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn any_two_tables((fabric, old, new) in fabrics().prop_flat_map(pairs)) {
        agree(&fabric, &old, &new);
    }

    /// Certificates that tell VLs apart: the checker says yes exactly if all dependencies of the SLs and VLs rise, whether the verifier made the
    /// certificate for these tables or it is any.
    #[test]
    fn any_certificate_of_several_lanes(
        (fabric, tables) in fabrics().prop_flat_map(tables),
        mapping in mappings(),
        any in proptest::collection::vec(0u32..9, 97),
        is_own: bool,
    ) {
        let tables = with_lanes(&fabric, tables, Some(mapping));
        let lanes = tables.lanes().unwrap();
        let dependencies = explore(&fabric, [&tables, &tables], Some([lanes.clone(), lanes.clone()]));
        let own = match verify(&fabric, &tables).deadlock {
            Deadlock::Free(own) if is_own && own.vls > 1 => Some(own),
            _ => None,
        };
        let nodes = fabric.channel_count() * usize::from(lanes.vls());
        let ranks = match own {
            Some(own) => own.ranks,
            None => any.into_iter().cycle().take(nodes).collect(),
        };
        let certificate = Certificate { vls: lanes.vls(), ranks, covers_switch_to_switch: false };
        let rank = |(channel, vl): Lane| certificate.ranks[fabric.channel(channel.0, channel.1) * usize::from(certificate.vls) + usize::from(vl)];
        let rises = dependencies.keys().all(|&(from, to)| rank(from) < rank(to));
        if certificate.vls > 1 {
            prop_assert_eq!(check_certificate(&fabric, &tables, &certificate).is_ok(), rises);
        }
    }
}

/// In the generator's ring, port 2 leads to the next switch and port 3 to the one before. No packet goes from the switch before `gap` to
/// `gap` or back.
fn ring_with_gap(fabric: &Fabric, gap: usize) -> Tables {
    let count = fabric.switch_count();
    let place = |switch: SwitchIndex| (switch.index() + count - gap) % count;
    let mut tables = Tables::new(fabric, format!("gap {gap}"));
    for switch in switches(fabric) {
        for end in fabric.end_ports() {
            let way = if place(end.switch) > place(switch) { 2 } else { 3 };
            tables.row_mut(switch)[end.lid.index()] = if end.switch == switch { end.switch_port } else { way };
        }
    }
    tables
}

/// Each is free of deadlock; but packets of both together can fill the ring, and a packet that goes back and forth between two tables
/// can go round in a circle of two.
#[test]
fn a_ring_whose_gap_moves() {
    let fabric = generated("ring:4");
    let [old, new] = [0, 2].map(|gap| ring_with_gap(&fabric, gap));
    assert!(verify(&fabric, &old).is_good() && verify(&fabric, &new).is_good());
    agree(&fabric, &old, &new);
    let transition = verify_transition(&fabric, &old, &new);
    assert!(!transition.any_order());
    let text = transition.to_string();
    let Err(witness) = transition.deadlock else { panic!("{text}") };
    assert!(witness.steps.iter().any(|mixed| mixed.by != mixed.then || mixed.by == Side::Old));
    for part in [
        "(old table)",
        "(new table)",
        "go in circles in some order of the switches",
        "not free of deadlock in any order",
        " rounds do neither",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    assert!(transition.a_drop.is_none() && transition.lost_before == 0);
}

#[test]
fn nothing_changes() {
    let fabric = generated("clos2:8");
    let tables = nearest(&fabric, |_| true);
    let transition = verify_transition(&fabric, &tables, &tables);
    assert!(transition.any_order());
    assert_eq!((transition.changed_entries, transition.changed_lids, transition.rounds), (0, 0, Some(0)));
    assert!(verify(&fabric, &tables).deadlock_free());
    assert!(transition.to_string().starts_with("0 entries of 0 LIDs change\n"));
}

/// Leaf 0's cable to spine 0 is lost. The tables from before send over it and over spine 0 to leaf 0; the new ones take another spine.
#[test]
fn a_lost_cable_in_a_tree() {
    let builder = generate("clos2:4,leaves=4").unwrap();
    let before = built(builder.clone());
    let old = nearest(&before, |_| true);
    let leaf = SwitchIndex(0);
    let arc = before.arcs(leaf)[0];
    let mut builder = before.to_builder();
    builder.disconnect(heddle_fabric::PortRef::new(before.switches()[0], arc.port));
    let fabric = builder.build();
    let new = nearest(&fabric, |_| true);
    agree(&fabric, &old, &new);
    let transition = verify_transition(&fabric, &old, &new);
    // Spine 0 now sends what is for leaf 0 by another leaf, which may still send it to spine 0: that is so for leaf 0, its 2 hosts, and
    // the other way round for spine 0.
    assert_eq!((transition.looping_lids, transition.dropping_lids, transition.any_order()), (4, 0, false), "{transition}");
    // Leaf 0 sent to everyone but spine 1 by that cable, and spine 0 to spine 1 too.
    assert_eq!(transition.lost_before, 8 + 4 + 2);
    // First the leaf, then spine 0.
    assert_eq!(transition.rounds, Some(2));
}

/// A switch that was not there before knows no LID, so whoever is sent to it too early finds nothing.
#[test]
fn a_new_switch_is_a_black_hole_at_first() {
    let fabric = generated("clos2:4,leaves=3");
    let spines = [3, 4].map(SwitchIndex);
    let only = |spine: SwitchIndex| {
        let other = spines.into_iter().find(|&other| other != spine).unwrap();
        nearest(&fabric, |(switch, port)| switch != other && across(&fabric, (switch, port)) != Some(other))
    };
    let (old, mut new) = (only(spines[0]), nearest(&fabric, |_| true));
    for switch in switches(&fabric).filter(|switch| !spines.contains(switch)) {
        let theirs = only(spines[1]);
        for end in fabric.end_ports().iter().filter(|end| !spines.contains(&end.switch)) {
            new.row_mut(switch)[end.lid.index()] = theirs.port(switch, end.lid);
        }
    }
    agree(&fabric, &old, &new);
    let transition = verify_transition(&fabric, &old, &new);
    // Packets to all 6 hosts and 3 leaves go by the new spine.
    assert_eq!((transition.dropping_lids, transition.looping_lids, transition.any_order()), (9, 0, false), "{transition}");
    assert_eq!(transition.a_drop.as_ref().unwrap().at.0.description, "spine-1");
    // First the spine, then the leaves.
    assert_eq!(transition.rounds, Some(2));
}
