use crate::event::{Found, Why};
use crate::notices;
use crate::program::{Memory, Program};
use crate::snapshot::Snapshot;
use crate::survey::Survey;
use crate::{Config, Event};
use heddle_fabric::Lid;
use heddle_mad::Time;
use heddle_mad::exchange::{self, Exchange, RequestId};
use heddle_mad::transport::{Address, Delivery, Envelope};
use heddle_mad::wire::{Attribute, AttributeId, Mad, Method, NodeInfo, Path, PortInfo, SmInfo, SmState, Status, SwitchInfo};
use heddle_verify::Proven;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// The subnet manager.
///
/// Drive it as [`drive`](crate::drive) does: after every call of [`handle`](Self::handle) or
/// [`handle_timeout`](Self::handle_timeout), drain [`poll_transmit`](Self::poll_transmit) and [`poll_event`](Self::poll_event), then
/// wait for a datagram until [`poll_timeout`](Self::poll_timeout). Spurious calls do nothing.
pub struct SubnetManager {
    config: Config,
    exchange: Exchange,
    phase: Phase,
    /// What must be looked at again when the present sweep ends.
    again: Option<Why>,
    /// The pause before a sweep after one that could not do everything; doubles from one to the next.
    pause: Duration,
    managed: Option<Managed>,
    memory: Memory,
    /// Answers and state changes so far, as SMInfo's ActCount tells others.
    act_count: u32,
    events: VecDeque<Event>,
}

/// The subnet as it was last brought up.
#[derive(Debug)]
struct Managed {
    survey: Survey,
    snapshot: Snapshot,
}

#[derive(Debug)]
enum Phase {
    /// Nothing to do until `until`; then a sweep of the whole fabric if there is a reason, else a look at the change bits.
    Waiting { until: Time, sweep: Option<Why> },
    /// A look at the change bits.
    Looking { asked: BTreeMap<RequestId, Look>, why: Option<Why> },
    /// A sweep of the whole fabric.
    Sweeping(Survey),
    /// Writing.
    Writing { survey: Survey, program: Box<Program> },
    /// A read-only run has ended.
    Ended,
}

/// What a light sweep asks, by node of the last survey.
#[derive(Clone, Copy, Debug)]
enum Look {
    Switch(usize),
    LocalPort(u8),
    Behind(usize, u8),
}

/// The first pause after a sweep that could not do everything.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);

impl SubnetManager {
    /// A subnet manager that begins its first sweep at `now`.
    pub fn new(config: Config, now: Time) -> Self {
        Self {
            exchange: Exchange::new(config.limits),
            config,
            phase: Phase::Waiting { until: now, sweep: Some(Why::Start) },
            again: None,
            pause: SHORTEST_PAUSE,
            managed: None,
            memory: Memory::default(),
            act_count: 0,
            events: VecDeque::new(),
        }
    }

    /// Takes a datagram. Afterwards everything may have changed: drain all three polls.
    pub fn handle(&mut self, now: Time, delivery: Delivery) {
        self.exchange.handle(now, delivery);
        self.advance(now);
    }

    /// Takes note of the time. Afterwards everything may have changed: drain all three polls.
    pub fn handle_timeout(&mut self, now: Time) {
        self.exchange.handle_timeout(now);
        self.advance(now);
    }

    /// The next datagram to send.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Envelope> {
        if let Phase::Writing { survey, program } = &mut self.phase {
            program.feed(&mut self.exchange, survey, &self.memory);
        }
        self.exchange.poll_transmit(now)
    }

    /// The next thing to tell.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) at the latest; `None` after a read-only run.
    pub fn poll_timeout(&self) -> Option<Time> {
        let waiting = match self.phase {
            Phase::Waiting { until, .. } => Some(until),
            _ => None,
        };
        [waiting, self.exchange.poll_timeout()].into_iter().flatten().min()
    }

    /// Asks for a sweep of the whole fabric as soon as the present one, if any, has ended.
    fn sweep_for(&mut self, now: Time, why: Why) {
        match &mut self.phase {
            Phase::Waiting { until, sweep } => {
                *until = now;
                sweep.get_or_insert(why);
            }
            Phase::Looking { why: already, .. } => {
                already.get_or_insert(why);
            }
            Phase::Sweeping(_) | Phase::Writing { .. } => {
                self.again.get_or_insert(why);
            }
            Phase::Ended => {}
        }
    }

    fn advance(&mut self, now: Time) {
        while let Some(event) = self.exchange.poll_event() {
            match event {
                exchange::Event::Answer { id, mad } => self.answer(id, &mad),
                exchange::Event::Failed { id, .. } => self.no_answer(id),
                exchange::Event::Unsolicited(envelope) => self.unsolicited(now, &envelope),
            }
        }
        loop {
            self.phase = match std::mem::replace(&mut self.phase, Phase::Ended) {
                Phase::Waiting { until, sweep } if until <= now => match sweep {
                    Some(why) => self.begin_sweep(why),
                    None => self.begin_look(now),
                },
                Phase::Looking { asked, why } if asked.is_empty() => match why {
                    Some(why) => self.begin_sweep(why),
                    None => self.wait(now, None),
                },
                Phase::Sweeping(survey) if survey.is_complete() => self.end_sweep(now, survey),
                Phase::Writing { survey, program } if program.is_addressed() && self.has_refused(&program) => {
                    self.events.extend(program.findings.iter().cloned().map(Event::Finding));
                    self.settle(now, survey)
                }
                Phase::Writing { survey, mut program } => {
                    if !program.advance(&survey, &self.memory) {
                        self.phase = Phase::Writing { survey, program };
                        return;
                    }
                    self.end_writing(now, survey, *program)
                }
                waiting => {
                    self.phase = waiting;
                    return;
                }
            }
        }
    }

    fn answer(&mut self, id: RequestId, mad: &Mad) {
        match &mut self.phase {
            Phase::Sweeping(survey) => {
                survey.answer(&mut self.exchange, id, mad);
            }
            Phase::Writing { survey, program } => {
                program.answer(survey, &mut self.memory, id, mad);
            }
            Phase::Looking { asked, why } => {
                let Some(look) = asked.remove(&id) else { return };
                let Some(managed) = &self.managed else { return };
                if let Some(changed) = managed.changed(look, mad) {
                    why.get_or_insert(changed);
                }
            }
            Phase::Waiting { .. } | Phase::Ended => {}
        }
    }

    fn no_answer(&mut self, id: RequestId) {
        match &mut self.phase {
            Phase::Sweeping(survey) => {
                survey.no_answer(&mut self.exchange, id);
            }
            Phase::Writing { survey, program } => {
                program.no_answer(survey, &mut self.memory, id);
            }
            Phase::Looking { asked, why } => {
                let Some(look) = asked.remove(&id) else { return };
                let Some(managed) = &self.managed else { return };
                match look {
                    Look::Switch(node) => {
                        why.get_or_insert(Why::Silent(managed.survey.nodes[node].place(None)));
                    }
                    Look::LocalPort(_) => {
                        why.get_or_insert(Why::LocalPort);
                    }
                    Look::Behind(..) => {}
                }
            }
            Phase::Waiting { .. } | Phase::Ended => {}
        }
    }

    fn unsolicited(&mut self, now: Time, envelope: &Envelope) {
        if self.config.read_only {
            return;
        }
        if let Some(notice) = notices::trap(&envelope.mad) {
            // Any trap, understood or not: its sender repeats it until then.
            self.exchange.tell(notices::repress(envelope));
            if notices::is_change(&notice) {
                self.sweep_for(now, Why::Trap { number: notice.trap_number(), lid: notice.issuer_lid() });
            }
        } else if let Some(answer) = self.own_sm_info().and_then(|own| notices::sm_info(envelope, &own)) {
            self.exchange.tell(answer);
        }
    }

    /// What others are told of this subnet manager; nothing before it is master.
    fn own_sm_info(&self) -> Option<SmInfo> {
        let local = &self.managed.as_ref()?.survey.nodes[0];
        let mut info = SmInfo::default();
        info.set_guid(local.info.port_guid());
        info.set_act_count(self.act_count);
        info.set_priority(self.config.priority);
        info.set_state(SmState::Master);
        Some(info)
    }

    fn wait(&mut self, now: Time, sweep: Option<Why>) -> Phase {
        if let Some(why) = self.again.take() {
            return Phase::Waiting { until: now, sweep: Some(why) };
        }
        Phase::Waiting { until: now + self.config.sweep_interval, sweep }
    }

    /// Waits before another sweep, longer each time, so that nothing that keeps failing makes us sweep without end.
    fn retry(&mut self, now: Time) -> Phase {
        if self.again.is_some() {
            return self.wait(now, None);
        }
        let until = now + self.pause.min(self.config.sweep_interval);
        self.pause = (self.pause * 2).min(self.config.sweep_interval);
        Phase::Waiting { until, sweep: Some(Why::Incomplete) }
    }

    fn begin_sweep(&mut self, why: Why) -> Phase {
        self.events.push_back(Event::SweepBegan(why));
        self.again = None;
        Phase::Sweeping(Survey::begin(&mut self.exchange, self.config.read_only, self.managed.is_some()))
    }

    fn begin_look(&mut self, now: Time) -> Phase {
        let Some(managed) = &self.managed else { return Phase::Waiting { until: now, sweep: Some(Why::Incomplete) } };
        let mut asked = BTreeMap::new();
        for (look, path, attribute, modifier) in managed.looks() {
            let mad = Mad::directed(&path, Method::GET, attribute, modifier);
            let key = match look {
                Look::Switch(node) => managed.survey.nodes[node].info.node_guid(),
                Look::Behind(node, port) => managed.survey.nodes[node].key_behind(port),
                Look::LocalPort(_) => managed.survey.nodes[0].info.node_guid(),
            };
            asked.insert(self.exchange.ask(key, Envelope { address: Address::Directed, mad }), look);
        }
        Phase::Looking { asked, why: None }
    }

    fn end_sweep(&mut self, now: Time, mut survey: Survey) -> Phase {
        survey.findings.sort();
        if survey.nodes.first().is_none_or(|local| local.left_out) {
            self.events.push_back(Event::NoFabric);
            return if self.config.read_only { Phase::Ended } else { self.retry(now) };
        }
        if self.config.read_only {
            return match Snapshot::take(&mut survey, &self.memory.lids, &self.memory.refused) {
                Ok(snapshot) => {
                    self.events.push_back(Event::Found(found(&survey, &snapshot)));
                    Phase::Ended
                }
                Err(error) => {
                    self.events.push_back(Event::NotRouted(error.to_string()));
                    Phase::Ended
                }
            };
        }
        if let Some(other) = survey.other_master.take() {
            self.events.push_back(Event::Standby(other));
            self.managed = None;
            self.memory.doubt();
            return self.retry(now);
        }
        if survey.left_changes() {
            // Now that nobody else is master, clear the change bits, and only then read the ports: so no change is lost.
            return Phase::Sweeping(Survey::begin(&mut self.exchange, false, true));
        }
        self.memory.adopt_lids(&survey);
        self.memory.compare(&survey);
        self.memory.refused.clear();
        self.settle(now, survey)
    }

    /// From what was found to proven tables.
    fn settle(&mut self, now: Time, mut survey: Survey) -> Phase {
        let snapshot = match Snapshot::take(&mut survey, &self.memory.lids, &self.memory.refused) {
            Ok(snapshot) => snapshot,
            Err(error) => {
                self.events.push_back(Event::NotRouted(error.to_string()));
                return self.retry(now);
            }
        };
        if survey.nodes[0].left_out {
            self.events.push_back(Event::NoFabric);
            return self.retry(now);
        }
        self.memory.keep_lids(&snapshot);
        self.events.push_back(Event::Found(found(&survey, &snapshot)));
        match self.route(&snapshot) {
            Some(proven) => {
                self.events.push_back(Event::Routed(Arc::clone(&proven)));
                let program = Program::begin(&self.config, &survey, &self.memory, snapshot, proven);
                Phase::Writing { survey, program: Box::new(program) }
            }
            None => {
                let tried: Vec<_> = self.config.engines.iter().map(|engine| engine.name()).collect();
                self.events.push_back(Event::NotRouted(format!("none of the engines ({}) gave proven tables", tried.join(", "))));
                self.retry(now)
            }
        }
    }

    fn route(&mut self, snapshot: &Snapshot) -> Option<Arc<Proven>> {
        let heddle_engines::Chain { engines, why } = heddle_engines::Chain::new(&self.config.engines, &snapshot.fabric, &one_lane());
        self.events.extend(why.map(Event::Chosen));
        for engine in engines {
            let why = match heddle_engines::route(engine, &snapshot.fabric, &one_lane()) {
                Ok(tables) => match heddle_verify::prove(Arc::clone(&snapshot.fabric), tables) {
                    Ok(proven) => return Some(Arc::new(proven)),
                    Err(report) => format!("its tables are not proven\n{}", report.verdicts()),
                },
                Err(refusal) => refusal.display(&snapshot.fabric).to_string(),
            };
            self.events.push_back(Event::Refused { engine, why });
        }
        None
    }

    fn has_refused(&self, program: &Program) -> bool {
        self.memory.refused.iter().any(|&key| program.snapshot.uses(key))
    }

    fn end_writing(&mut self, now: Time, survey: Survey, program: Program) -> Phase {
        self.act_count = self.act_count.wrapping_add(1);
        let complete = program.findings.is_empty() && !survey.incomplete;
        let mut findings = program.findings;
        findings.sort();
        self.events.push_back(Event::Up { proven: Arc::clone(&program.proven), written: program.written, findings });
        self.managed = Some(Managed { survey, snapshot: program.snapshot });
        if complete {
            self.pause = SHORTEST_PAUSE;
            self.wait(now, None)
        } else {
            self.retry(now)
        }
    }
}

impl Managed {
    /// What a light sweep asks: the change bits of the switches, the local port, and again where nobody answered.
    fn looks(&self) -> Vec<(Look, Path, AttributeId, u32)> {
        let survey = &self.survey;
        let switches = self.snapshot.fabric.switches().iter().map(|node| {
            let found = self.snapshot.found[node.index()];
            (Look::Switch(found), survey.nodes[found].path(0), SwitchInfo::ID, 0)
        });
        let port = self.snapshot.local.port;
        let local = (Look::LocalPort(port), Path::local(), PortInfo::ID, u32::from(port));
        let silent = survey
            .silent
            .iter()
            .filter(|&&(node, _)| !survey.nodes[node].left_out)
            .filter_map(|&(node, port)| Some((Look::Behind(node, port), survey.nodes[node].path(port).then(port)?, NodeInfo::ID, 0)));
        switches.chain([local]).chain(silent).collect()
    }

    /// Whether an answer of a light sweep shows a change.
    fn changed(&self, look: Look, mad: &Mad) -> Option<Why> {
        if mad.status() != Status::OK {
            return None;
        }
        match look {
            Look::Switch(node) => {
                let info: SwitchInfo = mad.attribute();
                let top = self.snapshot.fabric.top_lid().map_or(0, Lid::get);
                let changed = info.port_state_change() || info.linear_fdb_top() != top;
                changed.then(|| Why::ChangeBit(self.survey.nodes[node].place(None)))
            }
            Look::LocalPort(port) => {
                let known = self.survey.nodes[0].ports[usize::from(port)]?;
                let info: PortInfo = mad.attribute();
                let telling = |info: &PortInfo| (info.port_state(), info.lid(), info.master_sm_lid());
                (telling(&info) != telling(&known)).then_some(Why::LocalPort)
            }
            Look::Behind(node, port) => Some(Why::Appeared(self.survey.nodes[node].place(Some(port)))),
        }
    }
}

fn found(survey: &Survey, snapshot: &Snapshot) -> Found {
    Found { fabric: Arc::clone(&snapshot.fabric), findings: survey.findings.clone(), new_lids: snapshot.new_lids, local: snapshot.local }
}

/// SL2VL tables are not programmed, and nobody tells hosts the SLs of their routes: engines that need more than one VL refuse.
fn one_lane() -> heddle_engines::Options {
    heddle_engines::Options { max_vls: 1, ..Default::default() }
}
