//! Rerouting and the proof of changes, beside what proving and judging everything says.

mod support;

use heddle_engines::{Engine, Options, Rerouter, route};
use heddle_fabric::{
    EndPort, Entry, Fabric, FabricBuilder, Guid, Lid, Link, NodeIndex, NodeKind, NodeSpec, Patch, PortRef, SwitchIndex, Tables,
};
use heddle_verify::{Extent, Proven, check_certificate, prove, verify};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;
use support::*;

/// A cable, by the GUIDs and ports of its ends.
type Cable = [(Guid, u8); 2];

/// A fabric that changes. Every port keeps its LID.
#[derive(Clone)]
struct Changing {
    nodes: Vec<NodeSpec>,
    lids: Vec<(Guid, u8, Lid, u8)>,
    cables: BTreeSet<Cable>,
    /// Cables between switches that were pulled, first the first.
    pulled: Vec<Cable>,
    away: Vec<Guid>,
}

impl Changing {
    fn new(fabric: &Fabric) -> Self {
        let mut changing =
            Self { nodes: fabric.nodes().to_vec(), lids: Vec::new(), cables: BTreeSet::new(), pulled: Vec::new(), away: Vec::new() };
        for (index, node) in (0..).map(NodeIndex).zip(fabric.nodes()) {
            for (number, port) in (0..=254).zip(fabric.node_ports(index)) {
                changing.lids.extend(port.lid.map(|lid| (node.guid, number, lid, port.lmc)));
                if let Some(peer) = port.peer {
                    let mut ends = [(node.guid, number), (fabric.node(peer.node).guid, peer.port)];
                    ends.sort_unstable();
                    changing.cables.insert(ends);
                }
            }
        }
        changing
    }

    fn build(&self) -> Arc<Fabric> {
        let mut builder = FabricBuilder::new();
        for node in self.nodes.iter().filter(|node| !self.away.contains(&node.guid)) {
            builder.add_node(node.clone()).unwrap();
        }
        for &(guid, port, lid, lmc) in &self.lids {
            if let Some(node) = builder.node_by_guid(guid) {
                let spec = builder.port_mut(PortRef::new(node, port)).unwrap();
                (spec.lid, spec.lmc) = (Some(lid), lmc);
            }
        }
        for cable in self.cables.iter().filter(|cable| !self.pulled.contains(cable)) {
            if let [Some(a), Some(b)] = cable.map(|(guid, port)| Some(PortRef::new(builder.node_by_guid(guid)?, port))) {
                builder.connect(a, b, Link::default()).unwrap();
            }
        }
        Arc::new(builder.build())
    }

    fn is_switch(&self, guid: Guid) -> bool {
        self.nodes.iter().any(|node| node.guid == guid && node.kind == NodeKind::Switch)
    }

    fn free_port(&self, switch: Guid) -> u8 {
        (1..=254).find(|&port| self.cables.iter().flatten().all(|&end| end != (switch, port))).unwrap()
    }

    fn between_switches(&self) -> Vec<Cable> {
        self.cables.iter().copied().filter(|cable| cable.iter().all(|end| self.is_switch(end.0)) && !self.pulled.contains(cable)).collect()
    }

    fn switches(&self) -> Vec<Guid> {
        self.nodes.iter().filter(|node| node.kind == NodeKind::Switch).map(|node| node.guid).collect()
    }

    /// Changes something, as two numbers say; what cannot be is left.
    fn change(&mut self, what: u8, which: usize) {
        let hosts: Vec<Cable> = self.cables.iter().copied().filter(|cable| cable.iter().any(|end| !self.is_switch(end.0))).collect();
        let switches = self.switches();
        match what {
            0..=3 => {
                let cables = self.between_switches();
                self.pulled.extend(cables.get(which % cables.len().max(1)));
            }
            4 | 5 if !self.pulled.is_empty() => _ = self.pulled.remove(which % self.pulled.len()),
            6 if self.away.is_empty() && switches.len() > 2 => self.away.push(switches[which % switches.len()]),
            6 | 7 => self.away.clear(),
            8 if !hosts.is_empty() => {
                let cable = hosts[which % hosts.len()];
                let host = cable.into_iter().find(|end| !self.is_switch(end.0)).unwrap();
                self.cables.remove(&cable);
                let switch = switches[which / 7 % switches.len()];
                let mut moved = [host, (switch, self.free_port(switch))];
                moved.sort_unstable();
                self.cables.insert(moved);
            }
            9 => {
                let guid = Guid(1_000_000 + which as u64 % 1_000_000);
                if self.nodes.iter().all(|node| node.guid != guid) {
                    let taken: BTreeSet<u16> = self.lids.iter().flat_map(|&(_, _, lid, lmc)| lid.get()..lid.get() + (1 << lmc)).collect();
                    let lid = (1..).find(|lid| !taken.contains(lid)).and_then(Lid::new).unwrap();
                    self.nodes.push(NodeSpec::new(NodeKind::Ca, guid, 1, "new host"));
                    self.lids.push((guid, 1, lid, 0));
                    let switch = switches[which % switches.len()];
                    self.cables.insert([(switch, self.free_port(switch)), (guid, 1)]);
                }
            }
            10 if !hosts.is_empty() => _ = self.cables.remove(&hosts[which % hosts.len()]),
            // A cable in other ports.
            _ => {
                let cables = self.between_switches();
                if let Some(cable) = cables.get(which % cables.len().max(1)) {
                    self.cables.remove(cable);
                    let (a, b) = (cable[0].0, switches[which / 5 % switches.len()]);
                    if a != b {
                        let mut other = [(a, cable[0].1), (b, self.free_port(b))];
                        other.sort_unstable();
                        self.cables.insert(other);
                    }
                }
            }
        }
    }
}

/// Tables that follow a fabric.
struct Following {
    engine: Engine,
    proven: Proven,
    rerouter: Rerouter,
}

impl Following {
    /// `None` if the fabric is in several parts, or the engine's tables need several VLs, or are not good.
    fn new(engine: Engine, fabric: &Arc<Fabric>) -> Option<Self> {
        if heddle_verify::Parts::of(fabric).len() > 1 {
            return None;
        }
        let tables = route(engine, fabric, &Options { max_vls: 1, ..Options::default() }).ok()?;
        let proven = prove(Arc::clone(fabric), tables).ok()?;
        let rerouter = Rerouter::new(engine, Arc::clone(fabric), proven.tables()).ok()?;
        Some(Self { engine, proven, rerouter })
    }

    /// Follows to a changed fabric, and checks all that is promised. `None` if rerouting refused.
    fn follow(&mut self, fabric: &Arc<Fabric>) -> Option<(Patch, Extent)> {
        let before = Tables::carried(self.proven.tables(), self.proven.fabric(), fabric);
        let patch = match self.rerouter.reroute(self.proven.tables(), fabric) {
            Ok(patch) => patch,
            Err(refusal) => {
                assert_eq!(refusal.engine, self.engine);
                assert!(!refusal.culprits.is_empty() && !refusal.display(fabric).to_string().is_empty());
                return None;
            }
        };
        let (proven, extent) = self.proven.clone().apply(Arc::clone(fabric), &patch).unwrap_or_else(|report| panic!("{report}"));
        let mut expected = before;
        expected.apply(&patch);
        for switch in (0..fabric.switch_count() as u32).map(SwitchIndex) {
            let len = expected.row_len();
            assert_eq!(proven.tables().row(switch)[..len], expected.row(switch)[..]);
        }
        assert_proven(&proven);
        judge(fabric, proven.tables());
        assert!(acyclic(fabric, proven.tables(), Traffic::Hosts));
        self.proven = proven;
        Some((patch, extent))
    }
}

/// What the proof of the change says must be what the proof of everything says.
fn assert_proven(proven: &Proven) {
    let (fabric, tables) = (proven.fabric(), proven.tables());
    check_certificate(fabric, tables, proven.certificate()).unwrap();
    let mut whole = verify(fabric, tables);
    assert!(whole.is_good(), "{whole}");
    whole.deadlock = proven.report().deadlock.clone();
    assert_eq!(&whole, &**proven.report());
}

/// After a loss: nearly all changed entries are of switches whose packets would not arrive. For each of these one other may give way.
fn assert_few(fabric: &Fabric, before: &Tables, patch: &Patch) {
    let arrives = |entry: &&Entry| {
        let owner = fabric.lid_owner(entry.lid).unwrap();
        let mut at = entry.switch;
        while let Some((next, _)) = fabric.next(at, before.port(at, entry.lid)) {
            at = next;
        }
        (at, before.port(at, entry.lid)) == (owner.switch, owner.switch_port)
    };
    let (intact, broken): (Vec<&Entry>, Vec<&Entry>) = patch.entries().iter().partition(arrives);
    let lids = |entries: &[&Entry]| {
        let mut lids: Vec<Lid> = entries.iter().map(|entry| entry.lid).collect();
        lids.sort_unstable();
        lids
    };
    let (intact, broken) = (lids(&intact), lids(&broken));
    for lid in &intact {
        let count = |lids: &[Lid]| lids.iter().filter(|other| *other == lid).count();
        assert!(count(&intact) <= count(&broken), "{} entries for LID {lid} had no need to change", count(&intact));
    }
}

/// A fabric that a failing test shows as a netlist.
#[derive(Clone)]
struct Shown(Fabric);

impl std::fmt::Debug for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let changing = Changing::new(&self.0);
        let nodes = changing.nodes.iter().map(|node| (node.guid, node.kind, node.num_ports));
        write!(f, "{:?} {:?}", nodes.collect::<Vec<_>>(), changing.cables)
    }
}

/// A connected fabric: a tree, a torus, or one at random, with parallel cables, ranges of LIDs and switches without hosts.
fn any_fabric() -> impl Strategy<Value = Shown> {
    let trees = (2usize..7, 1usize..5, 1usize..4, 1usize..3)
        .prop_map(|(leaves, spines, hosts, cables)| clos2(leaves, spines, hosts, cables).build());
    let tall = Just(()).prop_map(|()| clos3(4, 4, |number| number as u64 + 1).build());
    let tori = (1usize..5, 1usize..5, 1usize..3).prop_map(|(x, y, z)| torus([x, y, z], 1, 1).build());
    let random =
        (1usize..14, any::<u64>(), 0usize..20, prop::collection::vec((0usize..3, 0u8..3), 14)).prop_map(|(switches, seed, more, hosts)| {
            let mut random = random(seed >> 1);
            let mut site = Site::new();
            let nodes: Vec<_> = (0..switches).map(|_| site.switch()).collect();
            for number in 1..switches {
                site.cable(nodes[number], nodes[random(number)]);
            }
            for _ in 0..more {
                site.cable(nodes[random(switches)], nodes[random(switches)]);
            }
            for (&node, &(count, lmc)) in nodes.iter().zip(&hosts) {
                for _ in 0..count {
                    let host = site.host(node);
                    site.builder.port_mut(host).unwrap().lmc = lmc;
                }
            }
            site.build()
        });
    prop_oneof![trees, tall, tori, random].prop_map(Shown)
}

fn any_engine() -> impl Strategy<Value = Engine> {
    prop::sample::select(vec![Engine::MinHop, Engine::UpDown, Engine::FatTree, Engine::Dor, Engine::Sssp, Engine::Nue])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn every_change_is_followed_or_refused(
        fabric in any_fabric(),
        engine in any_engine(),
        changes in prop::collection::vec((0u8..12, any::<usize>()), 1..12),
    ) {
        let mut changing = Changing::new(&fabric.0);
        let mut following = Following::new(engine, &changing.build());
        for (what, which) in changes {
            changing.change(what, which);
            let fabric = changing.build();
            let before = following.as_ref().map(|following| following.proven.clone());
            let followed = following.as_mut().and_then(|following| following.follow(&fabric));
            if let (Some(before), Some((patch, _)), 0..=3) = (before, &followed, what) {
                assert_few(&fabric, before.tables(), patch);
            }
            if followed.is_none() {
                following = Following::new(engine, &fabric);
            }
        }
    }

    /// Without knowing the changes that there were.
    #[test]
    fn tables_for_other_cables_are_mended_or_refused(
        fabric in any_fabric(),
        engine in any_engine(),
        changes in prop::collection::vec((0u8..12, any::<usize>()), 0..6),
    ) {
        let mut changing = Changing::new(&fabric.0);
        let before = changing.build();
        let Some(Following { proven, .. }) = Following::new(engine, &before) else { return Ok(()) };
        changes.iter().for_each(|&(what, which)| changing.change(what, which));
        let fabric = changing.build();
        let mut tables = proven.tables().carried(&before, &fabric);
        let arrived = arriving(&fabric, &tables);
        match Rerouter::mend(engine, Arc::clone(&fabric), &tables) {
            Ok((rerouter, patch)) => {
                // Only LIDs that some switch does not reach: there, a neighbour may have to take another way for the sake of that switch.
                let is_reached = |lid| (0..fabric.switch_count() as u32).all(|switch| arrived.contains(&(SwitchIndex(switch), lid)));
                prop_assert!(patch.entries().iter().all(|entry| !is_reached(entry.lid)));
                tables.apply(&patch);
                judge(&fabric, &tables);
                assert!(acyclic(&fabric, &tables, Traffic::Hosts));
                let proven = prove(Arc::clone(&fabric), tables).unwrap_or_else(|report| panic!("{report}"));
                let mut following = Following { engine, proven, rerouter };
                changing.change(0, 1);
                following.follow(&changing.build());
            }
            Err(refusal) => prop_assert!(!refusal.display(&fabric).to_string().is_empty()),
        }
    }

    /// Entries of the patch are changed, left out, or others added.
    #[test]
    fn a_wrong_patch_is_caught(
        fabric in any_fabric(),
        engine in any_engine(),
        changes in prop::collection::vec((0u8..12, any::<usize>()), 1..4),
        mutations in prop::collection::vec((any::<u32>(), any::<u16>(), any::<u8>()), 1..4),
    ) {
        let mut changing = Changing::new(&fabric.0);
        let Some(mut following) = Following::new(engine, &changing.build()) else { return Ok(()) };
        changes.iter().for_each(|&(what, which)| changing.change(what, which));
        let fabric = changing.build();
        let Ok(patch) = following.rerouter.reroute(following.proven.tables(), &fabric) else { return Ok(()) };
        let mut entries: Vec<Entry> = patch.entries().to_vec();
        for (switch, lid, port) in mutations {
            if port < 60 && !entries.is_empty() {
                entries.remove(lid as usize % entries.len());
            } else if fabric.switch_count() > 0 && let Some(lid) = fabric.top_lid().and_then(|top| Lid::new(lid % top.get() + 1)) {
                let switch = SwitchIndex(switch % fabric.switch_count() as u32);
                entries.retain(|entry| (entry.switch, entry.lid) != (switch, lid));
                entries.push(Entry { switch, lid, port: port % 8 });
            }
        }
        let patch = Patch::new(entries);
        let mut tables = following.proven.tables().carried(following.proven.fabric(), &fabric);
        tables.apply(&patch);
        match following.proven.apply(Arc::clone(&fabric), &patch) {
            Ok((proven, _)) => assert_proven(&proven),
            Err(report) => {
                prop_assert!(!report.is_good());
                prop_assert!(!verify(&fabric, &tables).is_good());
            }
        }
    }
}

/// The entries by which packets arrive.
fn arriving(fabric: &Fabric, tables: &Tables) -> BTreeSet<(SwitchIndex, Lid)> {
    let mut arriving = BTreeSet::new();
    for (lid, end) in fabric.end_ports().iter().flat_map(|end| end.lids().map(move |lid| (lid, end))) {
        for from in (0..fabric.switch_count() as u32).map(SwitchIndex) {
            let mut at = from;
            for _ in 0..fabric.switch_count() {
                at = fabric.next(at, tables.port(at, lid)).map_or(at, |(next, _)| next);
            }
            if (at, tables.port(at, lid)) == (end.switch, end.switch_port) {
                arriving.insert((from, lid));
            }
        }
    }
    arriving
}

/// The entries that lead to no neighbour, and those of switches whose hosts' packets would take a detour if nobody but these changed: entries
/// that are on no shortest way any more. Hosts' packets alone: a LID of a host, or a switch with hosts.
fn entries_that_must_change(fabric: &Fabric, tables: &Tables) -> BTreeSet<(SwitchIndex, Lid)> {
    let on: BTreeSet<SwitchIndex> = fabric.end_ports().iter().filter(|end| end.is_host()).map(|end| end.switch).collect();
    let mut must = BTreeSet::new();
    for (owner, ends) in fabric
        .switches()
        .iter()
        .map(|&node| fabric.switch_index(node).unwrap())
        .map(|owner| (owner, fabric.end_ports().iter().filter(move |end| end.switch == owner)))
    {
        let hops = shortest(fabric, owner);
        for lid in ends.flat_map(EndPort::lids) {
            // Followed from the switches with hosts.
            let mut seen = vec![false; fabric.switch_count()];
            for start in &on {
                let mut at = *start;
                while at != owner && !std::mem::replace(&mut seen[at.index()], true) {
                    let next = fabric.next(at, tables.port(at, lid)).map(|(next, _)| next);
                    let on_shortest = |next: &SwitchIndex| hops[next.index()] < hops[at.index()];
                    match next.filter(on_shortest) {
                        Some(next) => at = next,
                        None => _ = must.insert((at, lid)),
                    }
                    if next.is_none() || must.contains(&(at, lid)) {
                        break;
                    }
                }
            }
            for at in (0..fabric.switch_count() as u32).map(SwitchIndex).filter(|&at| at != owner) {
                if fabric.next(at, tables.port(at, lid)).is_none() {
                    must.insert((at, lid));
                }
            }
        }
    }
    must
}

fn blocks<'a>(entries: impl IntoIterator<Item = &'a (SwitchIndex, Lid)>) -> usize {
    entries.into_iter().map(|(switch, lid)| (switch, lid.index() / Tables::BLOCK)).collect::<BTreeSet<_>>().len()
}

/// Cables between switches of two kinds, as the generator names them.
fn cables_between(fabric: &Fabric, kinds: [&str; 2]) -> Vec<PortRef> {
    let is = |switch: SwitchIndex, kind: &str| fabric.switch(switch).description.starts_with(kind);
    let mut cables = Vec::new();
    for switch in (0..fabric.switch_count() as u32).map(SwitchIndex).filter(|&switch| is(switch, kinds[0])) {
        let arcs = fabric.arcs(switch).iter().filter(|arc| is(arc.peer, kinds[1]));
        cables.extend(arcs.map(|arc| PortRef::new(fabric.switches()[switch.index()], arc.port)));
    }
    cables
}

fn without(fabric: &Fabric, cables: &[PortRef]) -> Arc<Fabric> {
    let mut builder = fabric.to_builder();
    cables.iter().for_each(|&cable| builder.disconnect(cable));
    Arc::new(builder.build())
}

fn generated(spec: &str) -> Arc<Fabric> {
    let mut builder = heddle_fabric::generate(spec).unwrap();
    builder.assign_lids().unwrap();
    Arc::new(builder.build())
}

/// One link of a tree is lost and comes back.
#[test]
fn a_lost_cable_of_a_tree_changes_what_it_must_and_comes_back() {
    let healthy = generated("clos3:16");
    for engine in [Engine::MinHop, Engine::UpDown, Engine::Sssp] {
        for (kinds, number) in [(["agg", "spine"], 0), (["agg", "spine"], 301), (["leaf", "agg"], 0), (["leaf", "agg"], 555)] {
            let cable = cables_between(&healthy, kinds)[number];
            let mut following = Following::new(engine, &healthy).unwrap();
            let before = following.proven.clone();
            let fabric = without(&healthy, &[cable]);
            let must = entries_that_must_change(&fabric, before.tables());
            let (patch, extent) = following.follow(&fabric).unwrap();
            assert!(matches!(extent, Extent::Change { .. }), "{engine} {kinds:?} {number}: {extent:?}");
            let changed: BTreeSet<_> = patch.entries().iter().map(|entry| (entry.switch, entry.lid)).collect();
            let (blocks, fewest) = (patch.blocks(), blocks(&must));
            // The first of the spines is the top of up-down's order: other spines reach each other through it, and have to do without.
            let share = if engine == Engine::UpDown && kinds[1] == "spine" && number == 0 { 125 } else { 110 };
            assert!(blocks * 100 <= fewest * share, "{engine} {kinds:?} {number}: {blocks} blocks changed, {fewest} have to");
            assert!(changed.len() < 2 * must.len(), "{engine} {kinds:?} {number}: {} entries, {} have to", changed.len(), must.len());
            following.follow(&healthy).unwrap();
            assert!(following.proven.tables() == before.tables(), "{engine} {kinds:?} {number}: other tables when the cable is back");
        }
    }
}

/// The figures of the issue: on 11,664 hosts the busiest link has at most 1.10 of the mean after one link is lost.
#[test]
fn routes_of_a_lost_cable_are_spread_over_the_others() {
    let healthy = generated("clos3:36");
    let mut following = Following::new(Engine::MinHop, &healthy).unwrap();
    let before = following.proven.clone();
    for kinds in [["agg", "spine"], ["leaf", "agg"]] {
        let fabric = without(&healthy, &cables_between(&healthy, kinds)[7919..7920]);
        let patch = following.rerouter.reroute(following.proven.tables(), &fabric).unwrap();
        let (lost, extent) = following.proven.clone().apply(Arc::clone(&fabric), &patch).unwrap();
        assert!(matches!(extent, Extent::Change { .. }), "{kinds:?}: {extent:?}");
        let quality = heddle_verify::quality(&fabric, lost.tables());
        assert!(quality.max_link_load as f64 <= 1.10 * quality.mean_link_load, "{kinds:?}: {quality:?}");
        let back = following.rerouter.reroute(lost.tables(), &healthy).unwrap();
        following.proven = lost.apply(Arc::clone(&healthy), &back).unwrap().0;
        assert!(following.proven.tables() == before.tables(), "{kinds:?}: other tables when the cable is back");
    }
}

#[test]
fn cables_that_are_lost_one_after_another_come_back_to_the_same_tables() {
    let healthy = generated("clos3:8");
    for seed in 0..8 {
        let mut following = Following::new(Engine::UpDown, &healthy).unwrap();
        let before = following.proven.clone();
        let (mut random, cables) = (random(seed), cables_between(&healthy, ["agg", "spine"]));
        let lost: Vec<PortRef> = (0..4).map(|number| cables[number * 31 + random(31)]).collect();
        for count in 1..=lost.len() {
            following.follow(&without(&healthy, &lost[..count])).unwrap();
        }
        for count in (0..lost.len()).rev() {
            following.follow(&without(&healthy, &lost[..count])).unwrap();
        }
        assert!(following.proven.tables() == before.tables(), "seed {seed}");
    }
}

#[test]
fn a_host_that_moves_changes_its_own_entries_only() {
    let healthy = clos2(6, 3, 4, 1).build();
    let mut changing = Changing::new(&healthy);
    let mut following = Following::new(Engine::MinHop, &changing.build()).unwrap();
    let host = healthy.end_ports().iter().find(|end| end.is_host()).unwrap();
    let (guid, leaf) = (healthy.node(host.at.node).guid, healthy.switch(host.switch).guid);
    changing.cables.remove(&[(leaf, host.switch_port), (guid, 1)]);
    // To another port of its leaf: one entry. LIDs on the way need no change.
    let mut elsewhere = changing.clone();
    elsewhere.cables.insert([(leaf, 100), (guid, 1)]);
    let (patch, _) = following.follow(&elsewhere.build()).unwrap();
    assert_eq!(patch.entries(), [Entry { switch: host.switch, lid: host.lid, port: 100 }]);
    // To another leaf.
    let other = changing.switches()[1];
    changing.cables.insert([(other, 100), (guid, 1)]);
    let (patch, extent) = following.follow(&changing.build()).unwrap();
    assert!(patch.entries().iter().all(|entry| entry.lid == host.lid), "{patch:?}");
    assert!(matches!(extent, Extent::Change { .. }), "{extent:?}");
}

#[test]
fn a_switch_that_is_lost_and_comes_back_gets_its_routes_again() {
    let healthy = clos2(6, 3, 4, 2).build();
    let mut changing = Changing::new(&healthy);
    let spine = changing.switches()[7];
    let fabric = changing.build();
    let mut following = Following::new(Engine::MinHop, &fabric).unwrap();
    let before = following.proven.clone();
    changing.away.push(spine);
    let (_, extent) = following.follow(&changing.build()).unwrap();
    assert!(matches!(extent, Extent::Everything(_)), "{extent:?}");
    changing.away.clear();
    following.follow(&changing.build()).unwrap();
    assert!(following.proven.tables() == before.tables());
}

#[test]
fn a_fabric_that_falls_apart_is_refused_by_name() {
    let healthy = clos2(3, 1, 2, 1).build();
    let mut changing = Changing::new(&healthy);
    let mut following = Following::new(Engine::UpDown, &changing.build()).unwrap();
    let cable = changing.between_switches()[0];
    changing.pulled.push(cable);
    let fabric = changing.build();
    let refusal = following.rerouter.reroute(following.proven.tables(), &fabric).unwrap_err();
    let text = refusal.display(&fabric).to_string();
    assert!(text.contains("2 parts") && text.contains("switch 1"), "{text}");
}

#[test]
fn tables_that_need_several_lanes_are_refused() {
    let fabric = Arc::new(torus([5, 5, 1], 1, 1).build());
    for engine in [Engine::Torus, Engine::Dfsssp] {
        let tables = route(engine, &fabric, &Options::default()).unwrap();
        assert!(tables.lanes().is_some());
        let refusal = Rerouter::new(engine, Arc::clone(&fabric), &tables).err().unwrap();
        assert!(refusal.reason.contains("several virtual lanes"), "{}", refusal.reason);
        // A change of them is proven from nothing, and not in silence.
        let proven = prove(Arc::clone(&fabric), tables).unwrap();
        let (_, extent) = proven.apply(Arc::clone(&fabric), &Patch::default()).unwrap();
        assert!(matches!(extent, Extent::Everything(_)), "{extent:?}");
    }
}
