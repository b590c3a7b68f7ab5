//! One run: the subnet manager on the emulator, driven step by step through a script.

use crate::checks;
use crate::random::Random;
use crate::script::Burst;
use crate::site::Site;
use heddle_emulator::{Emulator, Event as Happening, Fault, Place};
use heddle_engines::Engine;
use heddle_fabric::{Fabric, NodeIndex, PortRef};
use heddle_mad::Time;
use heddle_mad::transport::Transport;
use heddle_mad::wire::Method;
use heddle_sm::{Config, Event, Finding, SubnetManager};
use heddle_verify::Proven;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

/// The system, and what is known about it without asking the subnet manager.
pub(crate) struct World {
    pub(crate) fabric: Fabric,
    pub(crate) emulator: Emulator,
    pub(crate) truth: Truth,
    sm: SubnetManager,
    /// The newest tables that the subnet manager says are in the switches.
    pub(crate) proven: Option<Arc<Proven>>,
    findings: Vec<Finding>,
    sweeps: Vec<Time>,
    at_work: bool,
    /// The LID that each port had first.
    pub(crate) lids: BTreeMap<PortRef, u16>,
    log: String,
    /// Of all datagrams sent.
    hash: u64,
    steps: u64,
    stepped: Time,
}

/// What was done to the fabric.
#[derive(Debug, Default)]
pub(crate) struct Truth {
    /// Both ends of each.
    pub(crate) cut: BTreeSet<PortRef>,
    pub(crate) removed: BTreeSet<NodeIndex>,
    pub(crate) faulty: BTreeMap<NodeIndex, Vec<Fault>>,
    /// Nodes that ever answered nonsense: they may have got the address of somebody else.
    pub(crate) doubtful: BTreeSet<NodeIndex>,
}

/// Runs a seed; its log says all that happened.
pub(crate) fn run(seed: u64) -> String {
    let mut random = Random(seed);
    let Site { fabric, attach, spec } = Site::random(&mut random);
    let mut world = World::new(fabric, attach, &spec, &mut random);
    if random.once_in(2) {
        world.rest(Duration::from_secs(20)); // else things happen while the fabric comes up
    }
    for _ in 0..random.within(1..=5) {
        let burst = Burst::random(&world.fabric, &mut random);
        let long = burst.calm >= Duration::from_secs(60);
        world.play(burst);
        if long {
            world.comes_right();
        }
    }
    let burst = Burst::healing(&world.fabric, &mut random);
    let calm = burst.calm;
    world.play(burst);
    world.comes_to_rest();
    if !world.truth.doubtful.is_empty() {
        // Lies that made sense were believed; the next sweep, for whatever reason, finds the truth.
        world.happen(Happening::Rename(attach.node, "whole again".to_owned()));
        world.rest(Duration::from_secs(20));
        world.comes_to_rest();
    }
    checks::all(&world).unwrap_or_else(|wrong| panic!("{calm:?} after all is whole again: {wrong}\n{}", world.log));
    world.is_left_alone();
    world.log
}

impl World {
    fn new(fabric: Fabric, attach: PortRef, spec: &str, random: &mut Random) -> Self {
        let engines = if random.once_in(3) { vec![Engine::MinHop, Engine::UpDown] } else { vec![Engine::UpDown] };
        let config = Config { engines, ..Config::default() };
        let mut emulator = Emulator::new(&fabric, attach).unwrap();
        emulator.set_is_sm(true).unwrap();
        let sm = SubnetManager::new(config, emulator.now());
        Self {
            sm,
            emulator,
            truth: Truth::default(),
            proven: None,
            findings: Vec::new(),
            sweeps: Vec::new(),
            at_work: true,
            lids: BTreeMap::new(),
            log: format!("{spec}, {} nodes, subnet manager at {attach:?}\n", fabric.nodes().len()),
            hash: 0xcbf2_9ce4_8422_2325,
            steps: 0,
            stepped: Time::ZERO,
            fabric,
        }
    }

    /// Plays a burst and the calm after it.
    fn play(&mut self, burst: Burst) {
        let begin = self.emulator.now();
        let mut happenings = burst.happenings;
        happenings.sort_by_key(|&(after, _)| after);
        for (after, happening) in happenings {
            self.run_until(begin + after);
            self.happen(happening);
        }
        self.rest(burst.calm);
    }

    fn happen(&mut self, happening: Happening) {
        writeln!(self.log, "{:?} happens: {happening:?}", self.emulator.now()).unwrap();
        let ends = |at: PortRef| [Some(at), self.fabric.port(at).and_then(|port| port.peer)].into_iter().flatten();
        let truth = &mut self.truth;
        match &happening {
            Happening::Cut(Place::Port(at)) => truth.cut.extend(ends(*at)),
            Happening::Restore(Place::Port(at)) => ends(*at).for_each(|end| {
                truth.cut.remove(&end);
            }),
            Happening::RemoveNode(node) => {
                truth.removed.insert(*node);
            }
            Happening::ReturnNode(node) => {
                truth.removed.remove(node);
            }
            Happening::Heal(node) => {
                truth.faulty.remove(node);
            }
            Happening::Fault(node, fault) => {
                truth.faulty.entry(*node).or_default().push(*fault);
                if matches!(fault, Fault::Garbage { .. }) {
                    truth.doubtful.insert(*node);
                }
            }
            Happening::Rename(..) => {}
            other => unreachable!("{other:?} is not in the script"),
        }
        self.emulator.world_mut().apply(happening);
    }

    fn rest(&mut self, time: Duration) {
        self.run_until(self.emulator.now() + time);
    }

    fn run_until(&mut self, end: Time) {
        loop {
            self.step(end);
            if self.emulator.now() >= end {
                return;
            }
        }
    }

    /// As [`heddle_sm::drive`] does, but no further than to `end`.
    fn step(&mut self, end: Time) {
        let now = self.emulator.now();
        self.steps = if now == self.stepped { self.steps + 1 } else { 0 };
        self.stepped = now;
        assert!(self.steps < 100_000, "time stands still\n{}", self.log);
        self.sm.handle_timeout(now);
        while let Some(envelope) = self.sm.poll_transmit(now) {
            for &byte in envelope.mad.0.iter() {
                self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3); // FNV-1a
            }
            self.emulator.send(&envelope).unwrap();
        }
        while let Some(event) = self.sm.poll_event() {
            self.take(now, event);
        }
        let deadline = self.sm.poll_timeout().map_or(end, |timeout| timeout.min(end));
        if let Some(delivery) = self.emulator.receive(Some(deadline)).unwrap() {
            self.sm.handle(self.emulator.now(), delivery);
        }
    }

    fn take(&mut self, now: Time, event: Event) {
        let hash = self.hash;
        let at_work =
            matches!(event, Event::SweepBegan(_) | Event::Found(_) | Event::Routed(_) | Event::Refused { .. } | Event::Finding(_));
        self.at_work = at_work;
        let told = match event {
            Event::SweepBegan(why) => {
                self.sweeps.push(now);
                format!("sweeps: {why}")
            }
            Event::Found(found) => {
                format!("found {} nodes, {} new LIDs, {:#?}", found.fabric.nodes().len(), found.new_lids, found.findings)
            }
            Event::Refused { engine, why } => format!("{engine:?} refused: {why}"),
            Event::Routed(_) => "routed".to_owned(),
            Event::NotRouted(why) => format!("not routed: {why}"),
            Event::Finding(finding) => format!("finding: {finding}"),
            Event::Up { proven, written, findings } => {
                let told = format!("up: {written:?} {findings:#?}");
                self.proven = Some(proven);
                self.findings = findings;
                told
            }
            Event::Standby(finding) => format!("standby: {finding}"),
            Event::NoFabric => "no fabric".to_owned(),
            Event::Chosen(why) => why.clone(),
        };
        writeln!(self.log, "{now:?} {hash:016x} {told}").unwrap();
        if !at_work {
            self.check_always();
        }
    }

    /// What holds at any time.
    fn check_always(&mut self) {
        let lids = checks::lids(self);
        for (&at, &lid) in &lids {
            let first = *self.lids.entry(at).or_insert(lid);
            let is_doubtful = self.truth.doubtful.contains(&at.node);
            assert!(first == lid || is_doubtful, "LID of {at:?} was {first}, is {lid}\n{}", self.log);
        }
        // A node that talks nonsense may say that it is another one, and get that one's address.
        if self.truth.doubtful.is_empty() {
            checks::no_lid_has_two_ports(self).unwrap_or_else(|wrong| panic!("{wrong}\n{}", self.log));
        }
    }

    /// Waits until the subnet manager is not in the middle of something.
    fn comes_to_rest(&mut self) {
        let end = self.emulator.now() + Duration::from_secs(60);
        while self.at_work {
            assert!(self.emulator.now() < end, "always at work\n{}", self.log);
            self.step(end);
        }
    }

    /// While some nodes are faulty: the others come to work, and the subnet manager keeps its pauses.
    fn comes_right(&mut self) {
        let talks_nonsense = |fault: &Fault| matches!(fault, Fault::Garbage { .. });
        if self.truth.faulty.values().flatten().any(talks_nonsense) {
            return;
        }
        let began = self.emulator.now();
        let end = began + Duration::from_secs(60);
        loop {
            self.comes_to_rest();
            match checks::healthy_part(self) {
                Ok(()) => break,
                Err(wrong) => assert!(self.emulator.now() < end, "does not come right: {wrong}\n{}", self.log),
            }
            self.rest(Duration::from_secs(1));
        }
        // 30 seconds ago the last happening was 30 seconds past. Pauses of 1, 2, 4, 8 and 10 seconds lie between sweeps, again from the
        // shortest after one that found all in order.
        let since = Time::ZERO + (began - Time::ZERO).saturating_sub(Duration::from_secs(30));
        let sweeps = self.sweeps.iter().filter(|&&at| at >= since && at <= began).count();
        assert!(sweeps <= 8, "{sweeps} sweeps in 30 s\n{}", self.log);
    }

    /// A whole fabric is not written to.
    fn is_left_alone(&mut self) {
        assert_eq!(self.findings, [], "{}", self.log);
        let (sets, sweeps) = (self.sets(), self.sweeps.len());
        self.rest(Duration::from_secs(60));
        assert_eq!((self.sets(), self.sweeps.len()), (sets, sweeps), "quiet, but written to or swept\n{}", self.log);
    }

    fn sets(&self) -> u64 {
        let requests = &self.emulator.world().counters().requests;
        requests.iter().filter(|((method, _), _)| *method == Method::SET).map(|(_, count)| count).sum()
    }
}
