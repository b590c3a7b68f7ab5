//! The verifier against the data plane: what it calls free never stops, what it calls cyclic can be driven into a stop.

use heddle_emulator::traffic::{Attack, End, Flow, Options, Pattern, Programmed, Stop};
use heddle_engines::{Engine, route};
use heddle_fabric::{Fabric, FabricBuilder, Guid, Lanes, Levels, Link, NodeKind, NodeSpec, PortRef, SwitchIndex, Tables};
use std::time::Duration;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as usize % bound
    }
}

/// Three to eight switches in one piece, some further cables, and up to two hosts at each switch.
fn fabric(random: &mut Random) -> Fabric {
    let mut builder = FabricBuilder::new();
    let count = 3 + random.below(6);
    let switches: Vec<_> = (0..count as u64)
        .map(|number| builder.add_node(NodeSpec::new(NodeKind::Switch, Guid(0x100 + number), 40, format!("s{number}"))).unwrap())
        .collect();
    let mut next_port = vec![1; count];
    let mut plug = |switch: usize| {
        next_port[switch] += 1;
        PortRef::new(switches[switch], next_port[switch] - 1)
    };
    let mut hosts = 0;
    for switch in 0..count {
        for _ in 0..random.below(3) {
            hosts += 1;
            let host = builder.add_node(NodeSpec::new(NodeKind::Ca, Guid(0x200 + hosts), 1, format!("h{hosts}"))).unwrap();
            builder.connect(PortRef::new(host, 1), plug(switch), Link::default()).unwrap();
        }
    }
    for switch in 1..count {
        let earlier = random.below(switch);
        builder.connect(plug(switch), plug(earlier), Link::default()).unwrap();
    }
    for _ in 0..random.below(count + 2) {
        let (one, other) = (random.below(count), random.below(count));
        if one != other {
            builder.connect(plug(one), plug(other), Link::default()).unwrap();
        }
    }
    builder.assign_lids().unwrap();
    builder.build()
}

/// For each LID a tree that leads to its owner, grown by chance: no loops, and no order whatever among destinations.
fn random_trees(fabric: &Fabric, random: &mut Random) -> Tables {
    let mut tables = Tables::new(fabric, "random trees");
    for end in fabric.end_ports() {
        for lid in end.lids() {
            tables.row_mut(end.switch)[lid.index()] = end.switch_port;
            let mut reached = vec![end.switch];
            while reached.len() < fabric.switch_count() {
                let at = reached[random.below(reached.len())];
                let arc = fabric.arcs(at)[random.below(fabric.arcs(at).len())];
                if !reached.contains(&arc.peer) {
                    tables.row_mut(arc.peer)[lid.index()] = arc.peer_port;
                    reached.push(arc.peer);
                }
            }
        }
    }
    tables
}

/// Up to three SLs by source switch and LID, and up to three VLs by SL, by chance for each pair of ports.
fn with_random_lanes(mut tables: Tables, fabric: &Fabric, random: &mut Random) -> Tables {
    let (sls, vls) = (1 + random.below(3), 1 + random.below(3));
    let levels = (0..fabric.switch_count() * tables.row_len()).map(|_| random.below(sls) as u8).collect();
    let mut lanes = Lanes::by_ports(fabric, Levels::ByPair(levels), [0; 16]);
    for switch in (0..fabric.switch_count() as u32).map(SwitchIndex) {
        let ports = fabric.switch(switch).num_ports;
        for (from, to) in (0..=ports).flat_map(|from| (1..=ports).map(move |to| (from, to))) {
            let mut row = [0; 16];
            row[..sls].iter_mut().for_each(|vl| *vl = random.below(vls) as u8);
            lanes.set_row(switch, from, to, row);
        }
    }
    tables.set_lanes(Some(lanes));
    tables
}

/// Traffic of all kinds: hosts among each other, and from everyone, switches included, to random hosts.
fn traffic(programmed: &Programmed, random: &mut Random) -> Vec<Vec<Flow>> {
    let seed = random.below(1000) as u64;
    let patterns = [Pattern::AllToAll, Pattern::Permutation { seed }, Pattern::Shift { by: 2 }, Pattern::Incast { to: 1 }];
    let mut all: Vec<_> = patterns.into_iter().map(|pattern| pattern.flows(programmed, 20)).collect();
    let (ends, hosts) = (programmed.ends(), programmed.hosts());
    if !hosts.is_empty() {
        let mut drawn = || {
            let ((from, slid), dlid) = (ends[random.below(ends.len())], hosts[random.below(hosts.len())].1);
            let start = Duration::from_nanos(random.below(2000) as u64);
            let (packets, payload) = (1 + random.below(50) as u32, 64 << random.below(6));
            // What has no SL is not sent: nothing was proved of it.
            programmed.known_sl(slid, dlid).map(|sl| Flow { sl, packets, payload, start, ..Flow::new(from, dlid) })
        };
        all.push((0..40).filter_map(|_| drawn()).collect());
    }
    all
}

/// What the verifier calls free never stops, what it calls cyclic is driven into a stop.
#[test]
fn a_thousand_random_fabrics() {
    // Cyclic ones and free ones of each kind of tables.
    let mut counts = [[0, 0]; 5];
    for seed in 0..1000 {
        let mut random = Random(seed);
        let fabric = fabric(&mut random);
        let kind = seed as usize % 5;
        let tables = match kind {
            0 => route(Engine::MinHop, &fabric, &heddle_engines::Options::default()).unwrap(),
            1 => route(Engine::UpDown, &fabric, &heddle_engines::Options::default()).unwrap(),
            2 => random_trees(&fabric, &mut random),
            3 => route(Engine::Dfsssp, &fabric, &heddle_engines::Options::default()).unwrap(),
            _ => with_random_lanes(random_trees(&fabric, &mut random), &fabric, &mut random),
        };
        let report = heddle_verify::verify(&fabric, &tables);
        assert!(report.connected() && report.loop_free(), "seed {seed}: {report}");
        let is_free = report.deadlock_free();
        counts[kind][usize::from(is_free)] += 1;

        let programmed = Programmed::of_tables(&fabric, &tables);
        let options = Options { buffer: 1 + (seed / 5 % 3) as u16, ..Options::default() };
        match programmed.attack(&options) {
            Attack::Free => assert!(is_free, "seed {seed}: the data plane knows no circle, but {report}"),
            Attack::Stopped { flows, outcome } => {
                assert!(!is_free, "seed {seed}: {report}, but {outcome}");
                assert_eq!(programmed.run(&flows, &options), outcome, "seed {seed}");
                is_a_circle(&programmed, outcome.stopped().unwrap(), seed);
            }
            Attack::Resisted { runs, .. } => panic!("seed {seed}: no stop in {runs} runs, but {report}"),
        }
        for flows in traffic(&programmed, &mut random) {
            let outcome = programmed.run(&flows, &options);
            assert!(outcome.stopped().is_none() || !is_free, "seed {seed}: {report}, but {outcome}");
            if outcome.end == End::Done {
                let wanted: u64 =
                    flows.iter().filter(|flow| !programmed.is_at(flow.from, flow.dlid)).map(|flow| u64::from(flow.packets)).sum();
                assert_eq!((outcome.delivered, outcome.underway), (wanted, 0), "seed {seed}: {outcome}");
            }
        }
    }
    let [[min_hop, _], [up_down, _], [trees, free_trees], [dfsssp, _], [lanes, free_lanes]] = counts;
    assert!(min_hop > 10 && trees > 50 && free_trees > 50 && lanes > 20 && free_lanes > 50, "{counts:?} are too few of a kind");
    assert_eq!((up_down, dfsssp), (0, 0));
}

/// Each packet of the circle waits for the port whose cable leads to the buffer of the next.
fn is_a_circle(programmed: &Programmed, stop: &Stop, seed: u64) {
    assert!(stop.circle.len() >= 2, "seed {seed}: {stop}");
    for (wait, next) in stop.circle.iter().zip(stop.circle.iter().cycle().skip(1)) {
        assert_eq!(programmed.peer(PortRef::new(wait.at.node, wait.exit)), Some(next.at), "seed {seed}: {stop}");
        assert_eq!(wait.exit_vl, next.vl, "seed {seed}: {stop}");
    }
}

/// All engines on all shapes: those that promise freedom from deadlock keep it, the others have it where the verifier says so.
#[test]
fn engines() {
    let mut cyclic = 0;
    for spec in [
        "clos2:4",
        "clos3:4",
        "ring:5,hosts=2",
        "torus:4x4,hosts=1",
        "torus:5x3,hosts=1",
        "torus:3x3x3,hosts=1",
        "mesh:3x4,hosts=1",
        "hypercube:4,hosts=1",
        "dragonfly:a=3,p=1,h=1",
        "random:switches=12,degree=4,hosts=1,seed=3",
    ] {
        let fabric = crate::support::generated(spec);
        for engine in Engine::ALL {
            let Ok(tables) = route(engine, &fabric, &heddle_engines::Options::default()) else { continue };
            let report = heddle_verify::verify(&fabric, &tables);
            let programmed = Programmed::of_tables(&fabric, &tables);
            cyclic += u32::from(!report.deadlock_free());
            for buffer in [1, 3] {
                let options = Options { buffer, ..Options::default() };
                match programmed.attack(&options) {
                    Attack::Free => assert!(report.deadlock_free(), "{engine} on {spec}: the data plane knows no circle, but {report}"),
                    Attack::Stopped { outcome, .. } => assert!(!report.deadlock_free(), "{engine} on {spec}: {report}, but {outcome}"),
                    Attack::Resisted { runs, .. } => panic!("{engine} on {spec}: no stop in {runs} runs, but {report}"),
                }
                let flows = Pattern::AllToAll.flows(&programmed, 5);
                let outcome = programmed.run(&flows, &options);
                assert!(outcome.end == End::Done || !report.deadlock_free(), "{engine} on {spec}: {report}, but {outcome}");
            }
        }
    }
    assert!(cyclic > 5, "min-hop alone closes circles on most of these");
}

/// Any port as another choice, beside routes that are free without it: the smallest set that moves and the dependencies between channels,
/// which know nothing of each other, agree that nothing stops.
#[test]
fn adaptive_groups() {
    let (mut free, mut stopped) = (0, 0);
    for seed in 0..400 {
        let mut random = Random(seed);
        let fabric = fabric(&mut random);
        let mut programmed = Programmed::of_tables(&fabric, &route(Engine::UpDown, &fabric, &heddle_engines::Options::default()).unwrap());
        for _ in 0..1 + random.below(6) {
            let switch = SwitchIndex(random.below(fabric.switch_count()) as u32);
            let end = fabric.end_ports()[random.below(fabric.end_ports().len())];
            let settings = programmed.switch_mut(fabric.switches()[switch.index()]).unwrap();
            let arc = fabric.arcs(switch)[random.below(fabric.arcs(switch).len())];
            let ports = [settings.lft[end.lid.index()], arc.port];
            settings.adaptive.insert(end.lid.get(), crate::support::group(&ports));
        }
        let options = Options { buffer: 1, until: Duration::from_micros(200), ..Options::default() };
        let attack = programmed.attack(&options);
        free += u32::from(matches!(attack, Attack::Free));
        if let Attack::Stopped { outcome, .. } = &attack {
            stopped += 1;
            is_a_circle(&programmed, outcome.stopped().unwrap(), seed);
        }
        for flows in traffic(&programmed, &mut random) {
            let outcome = programmed.run(&flows, &options);
            assert!(outcome.stopped().is_none() || !matches!(attack, Attack::Free), "seed {seed}: {outcome}");
        }
    }
    assert!(free > 50 && stopped > 10, "{free} and {stopped} are too few of a kind");
}
