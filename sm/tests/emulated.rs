//! The subnet manager on the emulator: the data plane and the emulator's own state are what is asked, never the subnet manager.

use heddle_emulator::traffic::{Attack, Discard, End, Options, Pattern};
use heddle_emulator::{Emulator, Event as Happening, Fault};
use heddle_engines::Engine;
use heddle_fabric::{Fabric, FabricBuilder, Guid, Lid, Link, LinkSpeed, LinkWidth, NodeIndex, NodeKind, NodeSpec, PortRef, generate};
use heddle_mad::Time;
use heddle_mad::transport::Transport;
use heddle_mad::wire::{Method, PortState};
use heddle_sm::{Config, Event, Finding, Problem, SubnetManager, Why, Written, drive};
use std::time::Duration;

/// A subnet manager on an emulated fabric, driven from one event to another.
struct Site {
    fabric: Fabric,
    emulator: Emulator,
    sm: SubnetManager,
}

/// What was told until the subnet was up.
#[derive(Debug, Default)]
struct Told {
    why: Vec<Why>,
    found: Vec<Finding>,
    not_written: Vec<Finding>,
    refused: Vec<String>,
    not_routed: Vec<String>,
    written: Option<Written>,
    standby: bool,
    no_fabric: bool,
}

impl Site {
    fn new(spec: &str) -> Self {
        Self::with(generate(spec).unwrap().build(), Config::default())
    }

    fn with(fabric: Fabric, config: Config) -> Self {
        let attach = hosts(&fabric).first().copied().unwrap_or(PortRef::new(NodeIndex(0), 0));
        let emulator = Emulator::new(&fabric, attach).unwrap();
        let sm = SubnetManager::new(config, emulator.now());
        Self { fabric, emulator, sm }
    }

    /// Runs until an event for which `until` holds; fails after an hour of virtual time or a million events.
    fn run(&mut self, mut until: impl FnMut(&Event) -> bool) -> Told {
        let mut told = Told::default();
        let mut left = 1_000_000;
        let mut reached = false;
        drive(&mut self.sm, &mut self.emulator, |event| {
            match event {
                Event::SweepBegan(why) => told.why.push(why.clone()),
                Event::Found(found) => told.found = found.findings.clone(),
                Event::Refused { why, .. } => told.refused.push(why.clone()),
                Event::NotRouted(why) => told.not_routed.push(why.clone()),
                Event::Finding(finding) => told.not_written.push(finding.clone()),
                Event::Up { written, findings, .. } => {
                    told.written = Some(*written);
                    told.not_written.extend(findings.iter().cloned());
                }
                Event::Standby(_) => told.standby = true,
                Event::NoFabric => told.no_fabric = true,
                Event::Chosen(_) | Event::Routed(_) => {}
            }
            left -= 1;
            assert!(left > 0, "no end: {told:?}");
            reached = until(event);
            !reached
        })
        .unwrap();
        assert!(reached);
        assert!(self.emulator.now() < Time::ZERO + Duration::from_secs(3600));
        told
    }

    fn up(&mut self) -> Told {
        self.run(|event| matches!(event, Event::Up { .. }))
    }

    /// The LID that a port of the emulated fabric has.
    fn lid(&self, at: PortRef) -> Option<Lid> {
        Lid::new(self.emulator.world().port_info(at)?.lid())
    }

    /// Whether packets from every host in `hosts` reach every other by the tables in the switches.
    fn check_all_pairs(&self, hosts: &[PortRef]) {
        for &from in hosts {
            for &to in hosts.iter().filter(|&&to| to != from) {
                let lid = self.lid(to).unwrap_or_else(|| panic!("{to:?} has no LID"));
                let way = self.emulator.world().deliver(from, lid).unwrap_or_else(|lost| panic!("{from:?} to {to:?}: {lost}"));
                assert_eq!(way.last(), Some(&to), "from {from:?}");
            }
        }
    }

    fn all_pairs(&self, hosts: &[PortRef]) -> bool {
        let reaches = |from, to| self.lid(to).is_some_and(|lid| self.emulator.world().deliver(from, lid).is_ok());
        hosts.iter().all(|&from| hosts.iter().all(|&to| reaches(from, to)))
    }

    /// How many Sets the fabric has taken.
    fn sets(&self) -> u64 {
        let requests = &self.emulator.world().counters().requests;
        requests.iter().filter(|((method, _), _)| *method == Method::SET).map(|(_, count)| count).sum()
    }

    fn tables(&self) -> Vec<Vec<u8>> {
        self.fabric.switches().iter().map(|&switch| self.emulator.world().lft(switch).to_vec()).collect()
    }

    fn node(&self, description: &str) -> NodeIndex {
        let node = self.fabric.nodes().iter().position(|node| node.description == description);
        NodeIndex(node.unwrap_or_else(|| panic!("no {description}")) as u32)
    }

    /// The first cable between these two, as the port of the first.
    fn cable(&self, a: &str, b: &str) -> PortRef {
        let (a, b) = (self.node(a), self.node(b));
        let port = self.fabric.node_ports(a).iter().position(|port| port.peer.is_some_and(|peer| peer.node == b));
        PortRef::new(a, port.expect("there is a cable") as u8)
    }
}

fn hosts(fabric: &Fabric) -> Vec<PortRef> {
    let hosts = fabric.nodes().iter().enumerate().filter(|(_, node)| node.kind != NodeKind::Switch);
    hosts
        .flat_map(|(index, node)| (1..=node.num_ports).map(move |port| PortRef::new(NodeIndex(index as u32), port)))
        .filter(|&at| fabric.port(at).is_some_and(|port| port.peer.is_some()))
        .collect()
}

#[test]
fn every_shape_comes_up() {
    for spec in ["clos2:8", "clos3:4", "torus:3x3,hosts=2", "ring:6,hosts=2", "mesh:2x3,hosts=1", "hypercube:3,hosts=1"] {
        let mut site = Site::new(spec);
        let told = site.up();
        assert_eq!((told.found.as_slice(), told.not_written.as_slice()), (&[][..], &[][..]), "{spec}");
        let hosts = hosts(&site.fabric);
        site.check_all_pairs(&hosts);
        for (index, node) in site.fabric.nodes().iter().enumerate() {
            for port in 1..=node.num_ports {
                let at = PortRef::new(NodeIndex(index as u32), port);
                let info = site.emulator.world().port_info(at).unwrap();
                let cabled = site.fabric.port(at).unwrap().peer.is_some();
                let state = if cabled { PortState::Active } else { PortState::Down };
                assert_eq!(info.state(), Some(state), "{spec} {at:?}");
                if cabled {
                    assert_eq!(info.neighbor_mtu(), info.mtu_cap(), "{spec} {at:?}");
                    assert_eq!(info.operational_vls(), info.vl_cap(), "{spec} {at:?}");
                }
            }
        }
        let sm_lid = site.lid(site.emulator.attach()).unwrap();
        for &host in &hosts {
            let info = site.emulator.world().port_info(host).unwrap();
            assert_eq!((info.master_sm_lid(), info.subnet_timeout()), (sm_lid.get(), 18));
            assert_eq!(info.gid_prefix(), 0xfe80_0000_0000_0000);
        }
        for &switch in site.fabric.switches() {
            assert!(!site.emulator.world().switch_info(switch).unwrap().port_state_change());
        }
    }
}

#[test]
fn a_quiet_fabric_is_left_alone() {
    let mut site = Site::new("clos2:8");
    site.up();
    let before = site.tables();
    let later = site.emulator.now() + Duration::from_secs(120);
    let spine = site.node("spine-0");
    let sets = site.sets();
    site.emulator.world_mut().schedule(later, Happening::Rename(spine, "renamed".to_owned()));
    // Trap 144 tells of the new name: nothing before it made the subnet manager sweep or write.
    site.run(|event| matches!(event, Event::SweepBegan(Why::Trap { number: 144, .. })));
    assert!(site.emulator.now() >= later);
    assert_eq!(site.sets(), sets);
    assert_eq!(site.tables(), before);
}

#[test]
fn a_cut_and_restored_cable_is_routed_around_and_used_again() {
    let mut site = Site::new("clos2:8");
    site.up();
    let hosts = hosts(&site.fabric);
    let before = site.tables();
    let cable = site.cable("leaf-1", "spine-2");
    site.emulator.world_mut().cut(cable);
    let told = site.up();
    assert!(matches!(told.why[..], [Why::Trap { number: 128, .. }, ..]), "{told:?}");
    assert_eq!(told.not_written, []);
    site.check_all_pairs(&hosts);
    let blocks = before[0].len() / 64;
    let written = told.written.unwrap();
    assert!(written.lft_blocks >= 1 && written.lft_blocks < blocks * site.fabric.switch_count(), "{written:?}");
    assert_eq!((written.ports, written.activated), (0, 0), "no port but the cut ones changed");

    site.emulator.world_mut().restore(cable);
    let told = site.run(|event| matches!(event, Event::Up { written, .. } if written.activated > 0));
    assert_eq!(told.written.map(|written| written.activated), Some(2), "the two ends of the cable");
    assert_eq!(site.tables(), before, "the same fabric has the same routes");
    site.check_all_pairs(&hosts);
}

#[test]
fn a_removed_and_returned_switch_gets_everything_again() {
    for gap in [Duration::from_secs(30), Duration::ZERO] {
        let mut site = Site::new("clos2:8");
        site.up();
        let before = site.tables();
        let leaf = site.node("leaf-3");
        let own = |at: &PortRef| site.fabric.port(*at).unwrap().peer.unwrap().node == leaf;
        let (gone, stay): (Vec<_>, Vec<_>) = hosts(&site.fabric).into_iter().partition(own);
        let start = site.emulator.now() + Duration::from_secs(1);
        site.emulator.world_mut().schedule(start, Happening::RemoveNode(leaf));
        site.emulator.world_mut().schedule(start + gap, Happening::ReturnNode(leaf));
        if gap > Duration::ZERO {
            site.up();
            site.check_all_pairs(&stay);
            assert!(gone.iter().all(|&host| site.emulator.world().deliver(stay[0], site.lid(host).unwrap()).is_err()));
        }
        // All cables of the leaf: 4 hosts, 4 spines, two ends each.
        let told = site.run(|event| matches!(event, Event::Up { written, .. } if written.activated == 16));
        assert_eq!(told.not_written, []);
        assert_eq!(site.tables(), before, "after a gap of {gap:?}");
        site.check_all_pairs(&hosts(&site.fabric));
    }
}

#[test]
fn a_silent_node_is_left_out_and_taken_in_later() {
    for (name, hosts_lost) in [("host-1-1", 1), ("leaf-1", 4), ("spine-1", 0)] {
        let mut site = Site::new("clos2:8");
        let node = site.node(name);
        site.emulator.world_mut().apply(Happening::Fault(node, Fault::Mute));
        let told = site.up();
        let silent = told.found.iter().filter(|finding| finding.problem == Problem::NobodyBehind).count();
        assert!(silent >= 1 && silent == told.found.len(), "{name}: {told:?}");
        let (lost, there): (Vec<_>, Vec<_>) =
            hosts(&site.fabric).into_iter().partition(|&at| at.node == node || site.fabric.port(at).unwrap().peer.unwrap().node == node);
        assert_eq!(lost.len(), hosts_lost);
        site.check_all_pairs(&there);
        site.emulator.world_mut().apply(Happening::Heal(node));
        let told = site.run(|event| matches!(event, Event::Up { written, .. } if written.activated > 0));
        assert!(matches!(told.why[..], [.., Why::Appeared(_)]), "{name}: {told:?}");
        site.check_all_pairs(&hosts(&site.fabric));
    }
}

/// More silent hosts on one switch than are asked at a time: the last one of them is not held back by the others.
#[test]
fn of_many_silent_nodes_the_one_that_answers_again_is_taken_in() {
    let mut site = Site::new("clos2:16");
    let silent: Vec<_> = (0..8).map(|host| site.node(&format!("host-3-{host}"))).collect();
    for &host in &silent {
        site.emulator.world_mut().apply(Happening::Fault(host, Fault::Mute));
    }
    let told = site.up();
    assert_eq!(told.found.iter().filter(|finding| finding.problem == Problem::NobodyBehind).count(), 8);
    site.emulator.world_mut().apply(Happening::Heal(silent[7]));
    // Something else that brings a sweep ends the wait if that one is never found.
    let (late, other) = (site.emulator.now() + Duration::from_secs(60), site.node("leaf-1"));
    site.emulator.world_mut().schedule(late, Happening::Rename(other, "renamed".to_owned()));
    let told = site.up();
    assert!(matches!(told.why[0], Why::Appeared(_)), "{:?}", told.why);
    assert!(site.lid(PortRef::new(silent[7], 1)).is_some());
}

#[test]
fn a_node_that_talks_nonsense_is_left_out() {
    for seed in 0..20 {
        for name in ["host-1-1", "leaf-1", "spine-1"] {
            let mut site = Site::new("clos2:8");
            let node = site.node(name);
            site.emulator.world_mut().apply(Happening::Fault(node, Fault::Garbage { seed }));
            let told = site.up();
            assert!(!told.found.is_empty() || !told.not_written.is_empty(), "{name} seed {seed}: {told:?}");
            let sane: Vec<_> = hosts(&site.fabric)
                .into_iter()
                .filter(|&at| at.node != node && site.fabric.port(at).unwrap().peer.unwrap().node != node)
                .collect();
            // It may even say that it is another node, which then seems to be there twice: a later sweep gets the others in.
            let mut sweeps = 1;
            while !site.all_pairs(&sane) {
                assert!(sweeps < 50, "{name} seed {seed}");
                sweeps += 1;
                site.up();
            }
        }
    }
}

#[test]
fn answers_twice_late_or_lost_do_no_harm() {
    for fault in [Fault::Duplicate, Fault::Late(Duration::from_millis(400)), Fault::Drop { percent: 20, seed: 7 }] {
        let mut site = Site::new("clos2:8");
        for name in ["host-1-1", "leaf-1", "spine-1"] {
            let node = site.node(name);
            site.emulator.world_mut().apply(Happening::Fault(node, fault));
        }
        let whole = |event: &Event| matches!(event, Event::Up { proven, findings, .. } if findings.is_empty() && proven.fabric().nodes().len() == 44);
        site.run(whole);
        site.check_all_pairs(&hosts(&site.fabric));
    }
}

#[test]
fn unproven_tables_are_never_written() {
    let config = Config { engines: vec![Engine::MinHop], ..Config::default() };
    let mut site = Site::with(generate("ring:6,hosts=1").unwrap().build(), config);
    let told = site.run(|event| matches!(event, Event::NotRouted(_)));
    assert!(told.refused[0].contains("switch-"), "the witness names switches: {told:?}");
    assert_eq!(site.sets(), 0);
    // It goes on trying, with pauses.
    let began = site.emulator.now();
    site.run(|event| matches!(event, Event::NotRouted(_)));
    assert!(site.emulator.now() >= began + Duration::from_secs(1));

    let config = Config { engines: vec![Engine::MinHop, Engine::UpDown], ..Config::default() };
    let mut site = Site::with(generate("ring:6,hosts=1").unwrap().build(), config);
    let told = site.up();
    assert_eq!(told.refused.len(), 1, "{told:?}");
    site.check_all_pairs(&hosts(&site.fabric));
}

/// The hardware's own tables, links and VLs, not what the manager believes of them.
#[test]
fn data_flows_by_what_was_programmed() {
    for spec in ["ring:6,hosts=2", "clos2:8"] {
        let mut site = Site::new(spec);
        assert_eq!(site.emulator.world().programmed().ends(), [], "{spec}: nobody has a LID yet");
        site.up();
        let programmed = site.emulator.world().programmed();
        let flows = Pattern::AllToAll.flows(&programmed, 10);
        let count = hosts(&site.fabric).len();
        assert_eq!(flows.len(), count * (count - 1));
        let outcome = programmed.run(&flows, &Options { buffer: 2, ..Options::default() });
        assert_eq!((&outcome.end, outcome.delivered), (&End::Done, 10 * flows.len() as u64), "{spec}: {outcome}");
        // 4x HDR: 2048 and 26 bytes in 82.96 ns, and two hops between neighbours.
        assert_eq!(outcome.latency.unwrap().min, Duration::from_nanos(482), "{spec}");
        assert!(matches!(programmed.attack(&Options::default()), Attack::Free), "{spec}");

        let leaf = site.fabric.nodes().iter().position(|node| node.kind == NodeKind::Switch).map(|node| NodeIndex(node as u32)).unwrap();
        let is_between = |port: &PortRef| {
            let peer = site.fabric.port(*port).unwrap().peer;
            peer.is_some_and(|peer| site.fabric.switch_index(peer.node).is_some())
        };
        let cable = (1..=site.fabric.node(leaf).num_ports).map(|port| PortRef::new(leaf, port)).find(is_between).unwrap();
        site.emulator.world_mut().apply(Happening::Cut(cable.into()));
        let flows = Pattern::AllToAll.flows(&site.emulator.world().programmed(), 1);
        let before = site.emulator.world().tally(cable).unwrap().clone();
        let outcome = site.emulator.world_mut().carry(&flows, &Options::default());
        let lost = outcome.discarded.get(&Discard::LinkDown).copied().unwrap_or(0);
        assert!(lost > 0 && outcome.delivered + lost == flows.len() as u64, "{spec}: {outcome}");
        // The port counts them, beside what it counted before.
        let counted = site.emulator.world().tally(cable).unwrap();
        assert_eq!(counted.inactive_discards - before.inactive_discards, outcome.port(cable).inactive_discards, "{spec}");
        assert!(outcome.port(cable).inactive_discards > 0 && counted.xmit_pkts == before.xmit_pkts, "{spec}");
        let host = site.emulator.attach();
        let sent = flows.iter().filter(|flow| flow.from == host).count() as u64;
        assert_eq!((outcome.port(host).xmit_pkts, outcome.port(host).xmit_data), (sent, sent * 518), "{spec}");
    }
}

#[test]
fn traffic_by_command() {
    let mut site = Site::new("ring:6,hosts=2");
    let ask = |site: &mut Site, command: &str| -> serde_json::Value {
        let line = serde_json::json!({ "command": command }).to_string();
        serde_json::from_str(&heddle_emulator::control(site.emulator.world_mut(), &line)).unwrap()
    };
    assert_eq!(ask(&mut site, "traffic all-to-all")["ok"]["sent"], 0, "nobody has a LID yet");
    site.up();
    let told = ask(&mut site, "traffic all-to-all packets 3 payload 64 buffer 1")["ok"].take();
    assert_eq!((&told["end"], &told["delivered"], &told["circle"]), (&"done".into(), &396.into(), &serde_json::Value::Null), "{told}");
    assert!(told["text"].as_str().unwrap().starts_with("done after "), "{told}");
    assert_eq!(ask(&mut site, "traffic incast host-2-1 packets 1")["ok"]["delivered"], 11);
    assert_eq!(ask(&mut site, "traffic shift 1")["ok"]["delivered"], 1200);
    assert_eq!(ask(&mut site, "traffic permutation 7 packets 5")["ok"]["delivered"], 60);
    assert_eq!(ask(&mut site, "traffic attack")["ok"]["end"], "free");
    // SL 9 has no VL of its own: its packets have that of SL 1.
    let levels = ask(&mut site, "traffic shift 1 packets 1 sl 1:2:9 2:4:0")["ok"].take();
    assert_eq!(levels["delivered"], 12, "{levels}");
    for (command, error) in [
        ("traffic", "who sends to whom is missing"),
        ("traffic all-to-al", "all-to-all"),
        ("traffic incast nowhere", "nowhere"),
        ("traffic shift 1 packets many", "how many packets"),
        ("traffic shift 1 sl 1:2", "SLID:DLID:SL"),
        ("traffic shift 1 fast", "payload BYTES"),
        ("traffic all-to-all packets 4000000000", "132 flows of 4000000000 packets are more than 1000000 packets"),
    ] {
        let answer = ask(&mut site, command);
        assert!(answer["error"].as_str().unwrap().contains(error), "{command}: {answer}");
    }
}

#[test]
fn the_smallest_fabrics_come_up() {
    let ca = |name: &str, guid: u64, ports: u8| NodeSpec::new(NodeKind::Ca, Guid(guid), ports, name);
    // Two hosts back to back.
    let mut builder = FabricBuilder::new();
    let a = builder.add_node(ca("a", 1, 1)).unwrap();
    let b = builder.add_node(ca("b", 2, 2)).unwrap();
    builder.connect(PortRef::new(a, 1), PortRef::new(b, 2), Link::default()).unwrap();
    let mut site = Site::with(builder.build(), Config::default());
    site.up();
    assert!(site.lid(PortRef::new(a, 1)).is_some() && site.lid(PortRef::new(b, 2)).is_some());
    assert_eq!(site.emulator.world().port_info(PortRef::new(b, 2)).unwrap().state(), Some(PortState::Active));

    // A switch with no host: the subnet manager is on the switch itself.
    let mut builder = FabricBuilder::new();
    let one = builder.add_node(NodeSpec::new(NodeKind::Switch, Guid(1), 254, "one")).unwrap();
    let two = builder.add_node(NodeSpec::new(NodeKind::Switch, Guid(2), 4, "two")).unwrap();
    builder.connect(PortRef::new(one, 254), PortRef::new(two, 1), Link::default()).unwrap();
    let mut site = Site::with(builder.build(), Config::default());
    site.up();
    let to = site.lid(PortRef::new(two, 0)).unwrap();
    assert!(site.emulator.world().deliver(PortRef::new(one, 0), to).is_ok());

    // A host without a cable.
    let mut builder = FabricBuilder::new();
    builder.add_node(ca("alone", 1, 1)).unwrap();
    let fabric = builder.build();
    let mut emulator = Emulator::new(&fabric, PortRef::new(NodeIndex(0), 1)).unwrap();
    let mut sm = SubnetManager::new(Config::default(), emulator.now());
    let (mut nodes, mut problems) = (0, Vec::new());
    drive(&mut sm, &mut emulator, |event| match event {
        Event::Up { proven, .. } => {
            nodes = proven.fabric().nodes().len();
            false
        }
        Event::Found(found) => {
            problems.extend(found.findings.iter().map(|finding| finding.problem.clone()));
            true
        }
        _ => true,
    })
    .unwrap();
    assert_eq!((nodes, problems), (1, vec![Problem::LocalLinkDown]));
}

#[test]
fn a_silent_local_port_is_waited_for() {
    let mut site = Site::new("clos2:4");
    let local = site.emulator.attach().node;
    site.emulator.world_mut().apply(Happening::Fault(local, Fault::Mute));
    site.run(|event| matches!(event, Event::NoFabric));
    site.emulator.world_mut().apply(Happening::Heal(local));
    site.up();
    site.check_all_pairs(&hosts(&site.fabric));
}

#[test]
fn a_cable_between_two_ports_of_one_switch_is_harmless() {
    let mut builder = generate("ring:4,hosts=1").unwrap();
    let spec = NodeSpec::new(NodeKind::Switch, Guid(0xabc), 8, "extra");
    let extra = builder.add_node(spec).unwrap();
    let free = {
        let fabric = builder.clone().build();
        fabric.switches()[0]
    };
    let host = builder.peer(PortRef::new(free, 1)).unwrap().0;
    builder.disconnect(host);
    builder.connect(PortRef::new(extra, 1), PortRef::new(free, 1), Link::default()).unwrap();
    builder.connect(PortRef::new(extra, 2), host, Link::default()).unwrap();
    builder.connect(PortRef::new(extra, 5), PortRef::new(extra, 7), Link::default()).unwrap();
    let mut site = Site::with(builder.build(), Config::default());
    let told = site.up();
    assert_eq!(told.not_written, []);
    site.check_all_pairs(&hosts(&site.fabric));
}

#[test]
fn each_port_of_a_host_has_its_own_guid() {
    let mut builder = generate("ring:4,hosts=1").unwrap();
    let host = builder.add_node(NodeSpec::new(NodeKind::Ca, Guid(0xa0), 2, "two ports")).unwrap();
    let switch = builder.add_node(NodeSpec::new(NodeKind::Switch, Guid(0xb0), 4, "extra")).unwrap();
    for port in 1..=2 {
        builder.port_mut(PortRef::new(host, port)).unwrap().guid = Guid(0xa0 + u64::from(port));
        builder.connect(PortRef::new(host, port), PortRef::new(switch, port), Link::default()).unwrap();
    }
    let attached = builder.peer(PortRef::new(NodeIndex(0), 1)).unwrap().0;
    builder.disconnect(attached);
    builder.connect(PortRef::new(switch, 3), PortRef::new(NodeIndex(0), 1), Link::default()).unwrap();
    builder.connect(PortRef::new(switch, 4), attached, Link::default()).unwrap();
    let mut site = Site::with(builder.build(), Config::default());
    let mut guids = Vec::new();
    site.run(|event| match event {
        Event::Found(found) => {
            let host = found.fabric.node_by_guid(Guid(0xa0)).unwrap();
            guids = found.fabric.node_ports(host).iter().map(|port| port.guid.0).collect();
            true
        }
        _ => false,
    });
    assert_eq!(guids, [0, 0xa1, 0xa2]);
}

#[test]
fn looking_writes_nothing() {
    let config = Config { read_only: true, ..Config::default() };
    let mut site = Site::with(generate("clos2:8").unwrap().build(), config);
    let mut nodes = 0;
    site.run(|event| match event {
        Event::Found(found) => {
            nodes = found.fabric.nodes().len();
            assert!(found.fabric.end_ports().is_empty(), "nobody has a LID yet");
            true
        }
        _ => false,
    });
    assert_eq!(nodes, 44); // 32 hosts, 8 leaves, 4 spines
    assert_eq!(site.sets(), 0);
    assert_eq!(site.sm.poll_timeout(), None);
}

#[test]
fn fdr10_is_told_from_qdr() {
    let mut builder = FabricBuilder::new();
    let mut node = |kind, guid, ports, name: &str| {
        let mut spec = NodeSpec::new(kind, Guid(guid), ports, name);
        spec.vendor_id = 0x2c9;
        builder.add_node(spec).unwrap()
    };
    let (a, b) = (node(NodeKind::Switch, 1, 4, "a"), node(NodeKind::Switch, 2, 4, "b"));
    let host = node(NodeKind::Ca, 3, 1, "host");
    let fast = Link { width: Some(LinkWidth::X4), speed: Some(LinkSpeed::Fdr10) };
    let slow = Link { width: Some(LinkWidth::X4), speed: Some(LinkSpeed::Qdr) };
    builder.connect(PortRef::new(a, 1), PortRef::new(b, 1), fast).unwrap();
    builder.connect(PortRef::new(a, 2), PortRef::new(b, 2), slow).unwrap();
    builder.connect(PortRef::new(a, 3), PortRef::new(host, 1), slow).unwrap();
    let mut site = Site::with(builder.build(), Config::default());
    let mut speeds = Vec::new();
    site.run(|event| {
        let Event::Up { proven, .. } = event else { return false };
        let fabric = proven.fabric();
        let switch = fabric.node_by_guid(Guid(1)).unwrap();
        speeds = (1..=3).map(|port| fabric.port(PortRef::new(switch, port)).unwrap().link.speed).collect();
        true
    });
    assert_eq!(speeds, [Some(LinkSpeed::Fdr10), Some(LinkSpeed::Qdr), Some(LinkSpeed::Qdr)]);
}

#[test]
fn the_lid_of_a_port_that_is_away_is_given_to_nobody() {
    let mut site = Site::new("clos2:8");
    let (away, new) = (site.node("host-1-1"), site.node("host-2-2"));
    site.emulator.world_mut().remove_node(new);
    site.up();
    let lid = site.lid(PortRef::new(away, 1));
    site.emulator.world_mut().remove_node(away);
    site.up();
    site.emulator.world_mut().return_node(new);
    site.run(|event| matches!(event, Event::Up { written, .. } if written.activated > 0));
    assert_ne!(site.lid(PortRef::new(new, 1)), lid);
    site.emulator.world_mut().return_node(away);
    site.run(|event| matches!(event, Event::Up { written, .. } if written.activated > 0));
    assert_eq!(site.lid(PortRef::new(away, 1)), lid);
    site.check_all_pairs(&hosts(&site.fabric));
}

#[test]
fn a_cut_to_everybody_while_sweeping_or_writing_is_noticed_soon() {
    // 80 switches and 128 hosts are read within 20 ms and written within 50: a cut at each of these times meets another step.
    for ms in [1, 3, 5, 8, 12, 20, 30, 40] {
        let mut site = Site::new("clos3:8");
        let own = site.emulator.attach();
        site.emulator.world_mut().schedule(Time(ms * 1_000_000), Happening::Cut(own.into()));
        site.run(|event| matches!(event, Event::Up { proven, .. } if proven.fabric().nodes().len() == 1));
        // All that was asked runs out once, a second for each window of nodes, and then the next sweep or look sees it.
        let noticed = site.emulator.now();
        assert!(noticed < Time::ZERO + Duration::from_secs(30), "cut at {ms} ms, noticed at {noticed:?}");
        site.emulator.world_mut().restore(own);
        site.run(|event| matches!(event, Event::Up { proven, .. } if proven.fabric().nodes().len() == 208));
        assert!(site.emulator.now() < noticed + Duration::from_secs(30), "restored at {noticed:?}, up at {:?}", site.emulator.now());
        site.check_all_pairs(&hosts(&site.fabric));
    }
}
