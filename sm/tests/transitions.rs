//! Every phase of the subnet manager with every kind of input: nothing panics or hangs, and each input has the effect it should have.

use heddle_emulator::Emulator;
use heddle_fabric::{Fabric, NodeIndex, NodeKind, PortRef, generate};
use heddle_mad::Time;
use heddle_mad::transport::{Address, Delivery, Envelope, Transport};
use heddle_mad::wire::{
    Attribute, Class, LocalChanges, Mad, Method, NodeType, Notice, NoticeType, Path, PortInfo, SmInfo, SmState, TrapDetails,
};
use heddle_sm::{Config, Event, SubnetManager};
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Before the first sweep.
    New,
    Sweeping,
    Writing,
    /// Up, nothing to do.
    Waiting,
    /// At the light sweep.
    Looking,
    /// Another subnet manager is master.
    Standby,
    /// A read-only run has ended.
    Ended,
}

const PHASES: [Phase; 7] = [Phase::New, Phase::Sweeping, Phase::Writing, Phase::Waiting, Phase::Looking, Phase::Standby, Phase::Ended];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Input {
    /// Once more, the last answer that came.
    AnswerAgain,
    /// Reports a request of ours that is on the wire as undeliverable.
    Undeliverable,
    Trap(u16),
    DirectedSmInfo,
    LidRoutedSmInfo,
    Garbage(u64),
    FarFuture,
    SpuriousTimeout,
}

const INPUTS: [Input; 11] = [
    Input::AnswerAgain,
    Input::Undeliverable,
    Input::Trap(128),
    Input::Trap(144),
    Input::Trap(129),
    Input::DirectedSmInfo,
    Input::LidRoutedSmInfo,
    Input::Garbage(1),
    Input::Garbage(2),
    Input::FarFuture,
    Input::SpuriousTimeout,
];

struct Bench {
    emulator: Emulator,
    sm: SubnetManager,
    other_master: bool,
    now: Time,
    last_answer: Option<Envelope>,
    sent: Vec<Envelope>,
    events: Vec<Event>,
}

impl Bench {
    fn new(fabric: &Fabric, phase: Phase) -> Self {
        let host = fabric.nodes().iter().position(|node| node.kind == NodeKind::Ca).unwrap();
        let emulator = Emulator::new(fabric, PortRef::new(NodeIndex(host as u32), 1)).unwrap();
        let config = Config { read_only: phase == Phase::Ended, ..Config::default() };
        let sm = SubnetManager::new(config, Time::ZERO);
        let other_master = phase == Phase::Standby;
        let mut bench = Self { emulator, sm, other_master, now: Time::ZERO, last_answer: None, sent: Vec::new(), events: Vec::new() };
        let reached = |bench: &Self| match phase {
            Phase::New => true,
            Phase::Sweeping => bench.events.iter().any(|event| matches!(event, Event::SweepBegan(_))) && bench.last_answer.is_some(),
            Phase::Writing => bench.sent.last().is_some_and(|sent| sent.mad.method() == Method::SET) && bench.told_routed(),
            Phase::Waiting => bench.is_up(),
            Phase::Looking => bench.is_up() && bench.sent.last().is_some_and(|sent| sent.mad.method() == Method::GET),
            Phase::Standby => bench.events.iter().any(|event| matches!(event, Event::Standby(_))),
            Phase::Ended => bench.sm.poll_timeout().is_none(),
        };
        let mut left = 100_000;
        while !reached(&bench) {
            bench.step();
            left -= 1;
            assert!(left > 0, "{phase:?} is not reached");
        }
        bench
    }

    fn told_routed(&self) -> bool {
        self.events.iter().any(|event| matches!(event, Event::Routed(_)))
    }

    fn is_up(&self) -> bool {
        self.events.iter().any(|event| matches!(event, Event::Up { .. }))
    }

    fn sweeps(&self) -> usize {
        self.events.iter().filter(|event| matches!(event, Event::SweepBegan(_))).count()
    }

    fn drain(&mut self) {
        while let Some(envelope) = self.sm.poll_transmit(self.now) {
            self.emulator.send(&envelope).unwrap();
            self.sent.push(envelope);
        }
        while let Some(event) = self.sm.poll_event() {
            self.events.push(event);
        }
    }

    /// One step as [`heddle_sm::drive`] makes it, in which an answer may become that of a fabric with another master.
    fn step(&mut self) {
        self.sm.handle_timeout(self.now);
        self.drain();
        let deadline = self.sm.poll_timeout().unwrap_or(self.now + Duration::from_secs(1));
        let delivery = self.emulator.receive(Some(deadline)).unwrap();
        self.now = self.now.max(self.emulator.now());
        let Some(mut delivery) = delivery else { return };
        if let Delivery::Received(envelope) = &mut delivery {
            if self.other_master {
                pretend_master(&mut envelope.mad);
            }
            self.last_answer = Some(envelope.clone());
        }
        self.sm.handle(self.now, delivery);
        self.drain();
    }

    fn run(&mut self, time: Duration) {
        let end = self.now + time;
        let mut left = 1_000_000;
        while self.now < end {
            self.step();
            left -= 1;
            assert!(left > 0, "time stands still");
        }
    }

    fn receive(&mut self, envelope: Envelope) {
        self.sm.handle(self.now, Delivery::Received(envelope));
        self.drain();
    }

    fn give(&mut self, input: Input) {
        let from_lid = Address::Lid { lid: 7, qp: 0 };
        match input {
            Input::AnswerAgain => {
                if let Some(answer) = self.last_answer.clone() {
                    self.receive(answer);
                }
            }
            Input::Undeliverable => {
                if let Some(sent) = self.sent.last().cloned() {
                    self.sm.handle(self.now, Delivery::Undeliverable(sent));
                    self.drain();
                }
            }
            Input::Trap(number) => self.receive(Envelope { address: from_lid, mad: trap(number) }),
            Input::DirectedSmInfo => {
                let mad = Mad::directed(&Path::local(), Method::GET, SmInfo::ID, 0);
                self.receive(Envelope { address: Address::Directed, mad });
            }
            Input::LidRoutedSmInfo => {
                let mad = Mad::request(Class::SUBN_LID, 1, Method::GET, SmInfo::ID, 0);
                self.receive(Envelope { address: from_lid, mad });
            }
            Input::Garbage(seed) => {
                let mut state = seed;
                for _ in 0..2000 {
                    let mut mad = Mad([0; 256]);
                    for byte in &mut mad.0 {
                        // Knuth's MMIX generator.
                        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                        *byte = (state >> 56) as u8;
                    }
                    let address = if state.is_multiple_of(2) { Address::Directed } else { from_lid };
                    self.receive(Envelope { address, mad });
                }
            }
            Input::FarFuture => {
                self.now = self.now + Duration::from_secs(1_000_000);
                self.sm.handle_timeout(self.now);
                self.drain();
                // The emulator's clock follows.
                while self.emulator.now() < self.now {
                    if let Some(delivery) = self.emulator.receive(Some(self.now)).unwrap() {
                        self.sm.handle(self.now, delivery);
                        self.drain();
                    }
                }
            }
            Input::SpuriousTimeout => {
                for _ in 0..100 {
                    self.sm.handle_timeout(self.now);
                    self.drain();
                }
            }
        }
    }
}

fn pretend_master(mad: &mut Mad) {
    if mad.method() != Method::GET_RESP {
        return;
    }
    if mad.attribute_id() == PortInfo::ID {
        let mut info: PortInfo = mad.attribute();
        info.set_capability_mask(info.capability_mask() | heddle_mad::wire::CapabilityMask::SM.bits());
        mad.set_attribute(&info);
    } else if mad.attribute_id() == SmInfo::ID {
        let mut info = SmInfo::default();
        info.set_state(SmState::Master);
        mad.set_status(heddle_mad::wire::Status::OK);
        mad.set_attribute(&info);
    }
}

fn trap(number: u16) -> Mad {
    let details = match number {
        144 => TrapDetails::LocalChange {
            lid: 7,
            other_local_changes: true,
            capability_mask: 0,
            changes: LocalChanges::NODE_DESCRIPTION,
            capability_mask_2: 0,
        },
        _ => TrapDetails::LinkStateChange { lid: 7 },
    };
    let mut notice = Notice::generic(NoticeType::Urgent, NodeType::Switch, 7, &details);
    notice.set_trap_number(number);
    let mut mad = Mad::request(Class::SUBN_LID, 1, Method::TRAP, Notice::ID, 0);
    mad.set_transaction(0x1234_5678_9abc);
    mad.set_smp_data(notice.bytes());
    mad
}

#[test]
fn every_phase_takes_every_input() {
    let fabric = generate("clos2:4").unwrap().build();
    for phase in PHASES {
        for input in INPUTS {
            let what = format!("{input:?} while {phase:?}");
            let mut bench = Bench::new(&fabric, phase);
            let (sweeps, sent, was_up) = (bench.sweeps(), bench.sent.len(), bench.is_up());
            bench.give(input);
            let new: Vec<_> = bench.sent[sent..].iter().map(|sent| (sent.mad.method(), sent.mad.attribute_id(), sent.address)).collect();
            let read_only = phase == Phase::Ended;
            match input {
                Input::Trap(_) => {
                    let repress = (Method::TRAP_REPRESS, Notice::ID, Address::Lid { lid: 7, qp: 0 });
                    assert_eq!(new.contains(&repress), !read_only, "{what}: {new:?}");
                }
                Input::DirectedSmInfo | Input::LidRoutedSmInfo => {
                    let answers = new.iter().filter(|(method, attribute, _)| *method == Method::GET_RESP && *attribute == SmInfo::ID);
                    assert_eq!(answers.count(), usize::from(was_up), "answered as master only, {what}: {new:?}");
                }
                _ => {}
            }
            if phase == Phase::Ended {
                bench.run(Duration::from_secs(30));
                assert!(bench.sweeps() == sweeps && bench.sm.poll_timeout().is_none(), "{what}");
                continue;
            }
            bench.other_master = false;
            bench.run(Duration::from_secs(9));
            // What was under way before, and one for the trap; a change told before the first question of a sweep is part of that sweep.
            let begins = bench.sweeps() - sweeps;
            let expected = match (phase, input) {
                (Phase::New, _) => 1,
                (Phase::Standby, _) => 1,
                (_, Input::Trap(128 | 144)) => 1,
                _ => 0,
            };
            if !matches!(input, Input::Garbage(_) | Input::FarFuture) {
                assert_eq!(begins, expected, "{what}: {:?}", bench.events);
            }
            bench.run(Duration::from_secs(30));
            assert!(bench.is_up(), "{what}");
        }
    }
}

/// A change that is told during a sweep or while tables are written brings exactly one sweep more, however often it is told.
#[test]
fn many_traps_bring_one_more_sweep() {
    let fabric = generate("clos2:4").unwrap().build();
    for phase in [Phase::Sweeping, Phase::Writing, Phase::Looking] {
        let mut bench = Bench::new(&fabric, phase);
        let sweeps = bench.sweeps();
        for number in [128, 144, 128, 128] {
            bench.give(Input::Trap(number));
        }
        bench.run(Duration::from_secs(60));
        assert_eq!(bench.sweeps() - sweeps, 1, "{phase:?}");
    }
}

/// A trap that nobody here understands is repeated by its sender until it is told to stop, as any other.
#[test]
fn a_vendors_trap_is_repressed() {
    let fabric = generate("clos2:4").unwrap().build();
    let mut bench = Bench::new(&fabric, Phase::Waiting);
    let sweeps = bench.sweeps();
    let mut mad = trap(128);
    let mut notice: Notice = mad.attribute();
    notice.set_is_generic(false);
    mad.set_attribute(&notice);
    bench.receive(Envelope { address: Address::Lid { lid: 7, qp: 0 }, mad });
    bench.run(Duration::from_secs(5));
    let mut repress = mad;
    repress.set_method(Method::TRAP_REPRESS);
    assert!(bench.sent.iter().any(|sent| sent.mad == repress && sent.address == Address::Lid { lid: 7, qp: 0 }));
    assert_eq!(bench.sweeps(), sweeps);
}
