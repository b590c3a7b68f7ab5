//! Writing to the fabric: what must be written, in which order, and what came of it.

use crate::Config;
use crate::event::{Finding, Problem, Written};
use crate::links::Wanted;
use crate::snapshot::{PortKey, Snapshot};
use crate::survey::Survey;
use heddle_fabric::{Lid, NodeIndex, NodeKind, PortRef, SwitchIndex, Tables};
use heddle_mad::exchange::{Exchange, RequestId};
use heddle_mad::transport::{Address, Envelope};
use heddle_mad::wire::{
    Attribute, AttributeId, CapabilityMask, LinearForwardingTable, Mad, Method, PortInfo, PortState, Status, SwitchInfo,
};
use heddle_verify::Proven;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// What this subnet manager knows to be in the fabric because it wrote it there.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// The LIDs that ports have; kept while they are away, so that they come back to the same ones.
    pub(crate) lids: BTreeMap<PortKey, Lid>,
    /// Ports that did not take a LID, or whose link is up but could not be made to carry data.
    pub(crate) refused: BTreeSet<PortKey>,
    /// What ports were last set to.
    params: BTreeMap<PortKey, Wanted>,
    /// What is in the switches' forwarding tables, by GUID.
    tables: BTreeMap<u64, Programmed>,
    /// Whether another subnet manager may have changed all that since.
    doubtful: bool,
}

#[derive(Debug, Default)]
struct Programmed {
    /// By block number; `None` where nothing was written yet.
    blocks: Vec<Option<[u8; Tables::BLOCK]>>,
    /// LinearFDBTop.
    top: Option<u16>,
}

impl Memory {
    /// Forgets what nodes that are gone, or that show signs of a reset, may have lost.
    pub(crate) fn compare(&mut self, survey: &Survey) {
        let present: BTreeMap<u64, &crate::survey::Found> =
            survey.nodes.iter().filter(|found| !found.left_out).map(|found| (found.info.node_guid(), found)).collect();
        let lids = &self.lids;
        self.tables.retain(|guid, programmed| present.get(guid).is_some_and(|found| !was_reset(found, programmed, lids)));
        self.params.retain(|(guid, port), _| {
            // A node may say that it has fewer ports than before.
            let info = present.get(guid).and_then(|found| *found.ports.get(usize::from(*port))?);
            // A port in Initialize has gone down since it was set, and may have lost what it was set to.
            info.is_some_and(|info| info.state() != Some(PortState::Init))
        });
    }

    /// Another subnet manager is master: what it writes, nobody here knows.
    pub(crate) fn doubt(&mut self) {
        self.params.clear();
        self.tables.clear();
        self.doubtful = true;
    }

    /// After another was master, ports have the LIDs that they say: it may have given them. But none takes the LID of a port that is
    /// away or has lost its own, and of two that say the same, neither counts.
    pub(crate) fn adopt_lids(&mut self, survey: &Survey) {
        if !std::mem::take(&mut self.doubtful) {
            return;
        }
        let mut said = BTreeMap::new();
        for found in survey.nodes.iter().filter(|found| !found.left_out) {
            let addressed = if found.is_switch() { 0..=0 } else { 1..=found.info.num_ports() };
            said.extend(addressed.filter_map(|port| {
                let lid = Lid::new(found.ports[usize::from(port)]?.lid())?;
                Some(((found.info.node_guid(), port), lid))
            }));
        }
        let mut claims: BTreeMap<Lid, usize> = BTreeMap::new();
        said.values().for_each(|&lid| *claims.entry(lid).or_default() += 1);
        let owners: BTreeMap<Lid, PortKey> = self.lids.iter().map(|(&key, &lid)| (lid, key)).collect();
        let moved = |key: &PortKey, lid: Lid| said.get(key).is_some_and(|&other| other != lid);
        let adopted: BTreeMap<PortKey, Lid> = said
            .iter()
            .filter(|&(_, lid)| claims[lid] == 1 && owners.get(lid).is_none_or(|owner| moved(owner, *lid)))
            .map(|(&key, &lid)| (key, lid))
            .collect();
        let taken: BTreeSet<Lid> = adopted.values().copied().collect();
        self.lids.retain(|_, lid| !taken.contains(lid));
        self.lids.extend(adopted);
    }

    /// Remembers the LIDs of a snapshot. Where LIDs are short, one may have been that of a port that is away, which then loses it.
    pub(crate) fn keep_lids(&mut self, snapshot: &Snapshot) {
        let owner = |lid| snapshot.fabric.lid_owner(lid).map(|end| snapshot.key(end.at));
        self.lids.retain(|&key, &mut lid| owner(lid).is_none_or(|owner| owner == key));
        for (index, _) in snapshot.fabric.nodes().iter().enumerate() {
            let node = NodeIndex(index as u32);
            for (port, known) in (0..=u8::MAX).zip(snapshot.fabric.node_ports(node)) {
                if let Some(lid) = known.lid {
                    self.lids.insert(snapshot.key(PortRef::new(node, port)), lid);
                }
            }
        }
    }
}

/// Whether a switch seems to have been reset between two sweeps: it lost its LID or the top of its table, or all its cables trained
/// anew. (A switch that resets faster than sweeps follow each other is never seen to be away.)
fn was_reset(found: &crate::survey::Found, programmed: &Programmed, lids: &BTreeMap<PortKey, Lid>) -> bool {
    let lid_lost = found.ports[0].is_none_or(|info| lids.get(&(found.info.node_guid(), 0)).is_none_or(|lid| lid.get() != info.lid()));
    let top_lost = programmed.top.is_some() && found.switch_info.map(|info| info.linear_fdb_top()) != programmed.top;
    let mut cabled = found.ports[1..].iter().flatten().filter_map(PortInfo::state).filter(|&state| state != PortState::Down).peekable();
    lid_lost || top_lost || cabled.peek().is_some() && cabled.all(|state| state == PortState::Init)
}

/// The order of writing. Each stage begins when every answer to the one before is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// LIDs and link parameters; new ports become ARMED, which carry no data yet.
    Ports,
    /// The LIDs up to which the forwarding tables count: before the tables, as OpenSM does it, since nothing says that a switch keeps
    /// what is written above. A LID that is new gets no packets yet.
    Tops,
    /// Forwarding tables.
    Tables,
    /// Armed ports become ACTIVE: only now, when tables are there, data flows over them.
    Activate,
    Done,
}

#[derive(Clone, Copy, Debug)]
enum Job {
    Port {
        at: PortRef,
        wanted: Wanted,
    },
    Block {
        switch: SwitchIndex,
        block: usize,
    },
    Top {
        switch: SwitchIndex,
    },
    Activate {
        at: PortRef,
    },
    /// What became of a port that refused to become ACTIVE.
    Confirm {
        at: PortRef,
    },
}

/// Requests given to the exchange at a time: enough to fill any window, little enough to need no memory.
const UNDER_WAY: usize = 1024;

/// One round of writing.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) snapshot: Snapshot,
    pub(crate) proven: Arc<Proven>,
    stage: Stage,
    jobs: VecDeque<Job>,
    asked: BTreeMap<RequestId, Job>,
    switches: BTreeSet<SwitchIndex>,
    pub(crate) written: Written,
    pub(crate) findings: Vec<Finding>,
}

impl Program {
    /// Only proven tables can be written.
    pub(crate) fn begin(config: &Config, survey: &Survey, memory: &Memory, snapshot: Snapshot, proven: Arc<Proven>) -> Self {
        let mut program = Self {
            snapshot,
            proven,
            stage: Stage::Ports,
            jobs: VecDeque::new(),
            asked: BTreeMap::new(),
            switches: BTreeSet::new(),
            written: Written::default(),
            findings: Vec::new(),
        };
        program.jobs = program.port_jobs(config, survey, memory).into();
        program
    }

    /// Goes on to the next stages as far as nothing is left to wait for; true when all is done.
    pub(crate) fn advance(&mut self, survey: &Survey, memory: &Memory) -> bool {
        while self.jobs.is_empty() && self.asked.is_empty() && self.stage != Stage::Done {
            let (stage, jobs) = match self.stage {
                Stage::Ports => (Stage::Tops, self.top_jobs(survey, memory)),
                Stage::Tops => (Stage::Tables, self.block_jobs(memory)),
                Stage::Tables => (Stage::Activate, self.activate_jobs(survey)),
                Stage::Activate | Stage::Done => (Stage::Done, Vec::new()),
            };
            self.stage = stage;
            self.jobs = jobs.into();
        }
        self.written.switches = self.switches.len();
        self.stage == Stage::Done
    }

    /// Whether the addresses are written, and the forwarding tables not yet.
    pub(crate) fn is_addressed(&self) -> bool {
        self.stage == Stage::Ports && self.jobs.is_empty() && self.asked.is_empty()
    }

    fn port_jobs(&self, config: &Config, survey: &Survey, memory: &Memory) -> Vec<Job> {
        let fabric = &self.snapshot.fabric;
        let sm_lid = self.sm_lid();
        let mut jobs = Vec::new();
        for (index, node) in fabric.nodes().iter().enumerate() {
            let node_index = NodeIndex(index as u32);
            for (number, port) in (0..=node.num_ports).zip(fabric.node_ports(node_index)) {
                let own = node.kind == NodeKind::Switch && number == 0;
                if !own && port.peer.is_none() {
                    continue;
                }
                let at = PortRef::new(node_index, number);
                let Some(info) = self.info(survey, at) else { continue };
                let wanted = Wanted::of(config, survey, &self.snapshot, at, sm_lid);
                let lost = wanted.lid().is_some_and(|lid| lid != info.lid() || info.master_sm_lid() != sm_lid);
                if self.is_fresh(survey, at) || lost || memory.params.get(&self.snapshot.key(at)) != Some(&wanted) {
                    jobs.push(Job::Port { at, wanted });
                }
            }
        }
        jobs
    }

    fn block_jobs(&self, memory: &Memory) -> Vec<Job> {
        let tables = self.proven.tables();
        let mut jobs = Vec::new();
        // Block by block over all switches, so that no switch has to take many at once.
        for block in 0..tables.row_len() / Tables::BLOCK {
            for number in 0..self.snapshot.fabric.switch_count() {
                let switch = SwitchIndex(number as u32);
                let programmed = memory.tables.get(&self.snapshot.fabric.switch(switch).guid.0);
                let there = programmed.and_then(|programmed| programmed.blocks.get(block)?.as_ref());
                if there.is_none_or(|there| there != self.block(switch, block)) {
                    jobs.push(Job::Block { switch, block });
                }
            }
        }
        jobs
    }

    fn top_jobs(&self, survey: &Survey, memory: &Memory) -> Vec<Job> {
        let fabric = &self.snapshot.fabric;
        let Some(top) = fabric.top_lid() else { return Vec::new() };
        let stale = |&switch: &SwitchIndex| {
            let programmed = memory.tables.get(&fabric.switch(switch).guid.0).and_then(|programmed| programmed.top);
            let found = self.snapshot.found(survey, fabric.switches()[switch.index()]).switch_info;
            programmed != Some(top.get()) || found.map(|info| info.linear_fdb_top()) != Some(top.get())
        };
        (0..fabric.switch_count() as u32).map(SwitchIndex).filter(stale).map(|switch| Job::Top { switch }).collect()
    }

    fn activate_jobs(&self, survey: &Survey) -> Vec<Job> {
        let fabric = &self.snapshot.fabric;
        let mut jobs = Vec::new();
        for index in 0..fabric.nodes().len() {
            let node = NodeIndex(index as u32);
            for (number, port) in (0..=u8::MAX).zip(fabric.node_ports(node)) {
                let at = PortRef::new(node, number);
                let armed = self.info(survey, at).is_some_and(|info| info.state() == Some(PortState::Armed));
                if (port.peer.is_some() || number == 0) && armed {
                    jobs.push(Job::Activate { at });
                }
            }
        }
        jobs
    }

    /// Hands out requests.
    pub(crate) fn feed(&mut self, exchange: &mut Exchange, survey: &Survey, memory: &Memory) {
        while exchange.outstanding() < UNDER_WAY {
            let Some(job) = self.jobs.pop_front() else { return };
            let Some((at, attribute, modifier, data)) = self.request(job, survey, memory) else { continue };
            let found = self.snapshot.found(survey, at.node);
            let method = if matches!(job, Job::Confirm { .. }) { Method::GET } else { Method::SET };
            let mut mad = Mad::directed(&found.path(at.port), method, attribute, modifier);
            mad.set_smp_data(&data);
            let id = exchange.ask(found.info.node_guid(), Envelope { address: Address::Directed, mad });
            self.asked.insert(id, job);
        }
    }

    fn request(&self, job: Job, survey: &Survey, memory: &Memory) -> Option<(PortRef, AttributeId, u32, [u8; 64])> {
        Some(match job {
            Job::Port { at, wanted } => {
                let mut info = self.info(survey, at)?;
                let had_other_sm = wanted.lid().is_some() && info.master_sm_lid() != self.sm_lid();
                let is_new = had_other_sm || !memory.params.contains_key(&self.snapshot.key(at));
                wanted.apply(&mut info);
                if self.is_fresh(survey, at) {
                    info.set_port_state(PortState::Armed as u8);
                }
                // Who this subnet manager has not met must register its groups and services again (IBA 14.4.11).
                let can = info.capabilities().contains(CapabilityMask::CLIENT_REREGISTRATION);
                info.set_client_reregister(can && is_new && wanted.lid().is_some());
                (at, PortInfo::ID, self.snapshot.found(survey, at.node).port_modifier(at.port), *info.bytes())
            }
            Job::Activate { at } => {
                let mut info = self.info(survey, at)?;
                // A port that could not be set carries no data. What it was set to counts, not what it says.
                memory.params.get(&self.snapshot.key(at))?.apply(&mut info);
                info.set_port_state(PortState::Active as u8);
                info.set_client_reregister(false);
                (at, PortInfo::ID, self.snapshot.found(survey, at.node).port_modifier(at.port), *info.bytes())
            }
            Job::Confirm { at } => (at, PortInfo::ID, self.snapshot.found(survey, at.node).port_modifier(at.port), [0; 64]),
            Job::Block { switch, block } => (self.at(switch), LinearForwardingTable::ID, block as u32, *self.block(switch, block)),
            Job::Top { switch } => {
                let mut info = self.snapshot.found(survey, self.at(switch).node).switch_info?;
                info.set_linear_fdb_top(self.snapshot.fabric.top_lid()?.get());
                info.set_life_time_value(PACKET_LIFE_TIME);
                info.set_port_state_change(false); // a 1 would clear the bit; changes since the sweep must stay visible
                (self.at(switch), SwitchInfo::ID, 0, *info.bytes())
            }
        })
    }

    /// Takes the answer to one of our requests; false if the request was not ours.
    pub(crate) fn answer(&mut self, survey: &mut Survey, memory: &mut Memory, id: RequestId, mad: &Mad) -> bool {
        let Some(job) = self.asked.remove(&id) else { return false };
        if let (Job::Activate { at }, Status::BAD_FIELD) = (job, mad.status()) {
            // An ARMED port becomes ACTIVE by itself with the first packet that comes from the other end (IBA 7.2.7), and then there
            // is no way from ACTIVE to ACTIVE.
            self.jobs.push_back(Job::Confirm { at });
            return true;
        }
        if mad.status() != Status::OK {
            self.forget(memory, job);
            self.refuse(survey, memory, job);
            let (at, attribute) = self.place(job);
            self.find(survey, at, Problem::Refused(attribute, mad.status()));
            return true;
        }
        match job {
            Job::Port { at, wanted } => self.port_set(survey, memory, at, wanted, mad.attribute()),
            Job::Activate { at } | Job::Confirm { at } => {
                let info: PortInfo = mad.attribute();
                self.remember_info(survey, at, info);
                if info.state() == Some(PortState::Active) {
                    self.written.activated += 1;
                } else if at.port != 0 {
                    self.forget(memory, job);
                    self.find(survey, at, Problem::StateRefused("ACTIVE"));
                }
            }
            Job::Block { switch, block } => {
                if mad.smp_data() == *self.block(switch, block) {
                    let blocks = &mut memory.tables.entry(self.snapshot.fabric.switch(switch).guid.0).or_default().blocks;
                    blocks.resize(blocks.len().max(block + 1), None);
                    blocks[block] = Some(mad.smp_data());
                    self.written.lft_blocks += 1;
                    self.switches.insert(switch);
                } else {
                    self.forget(memory, job);
                    self.find(survey, self.at(switch), Problem::TableDiffers(block as u32));
                }
            }
            Job::Top { switch } => {
                let top = mad.attribute::<SwitchInfo>().linear_fdb_top();
                memory.tables.entry(self.snapshot.fabric.switch(switch).guid.0).or_default().top = Some(top);
                if Some(top) != self.snapshot.fabric.top_lid().map(Lid::get) {
                    self.find(survey, self.at(switch), Problem::TopRefused(top));
                }
            }
        }
        true
    }

    fn port_set(&mut self, survey: &mut Survey, memory: &mut Memory, at: PortRef, wanted: Wanted, info: PortInfo) {
        let key = self.snapshot.key(at);
        let is_fresh = self.is_fresh(survey, at);
        self.written.ports += 1;
        self.remember_info(survey, at, info);
        memory.params.remove(&key);
        if let Some(lid) = wanted.lid().filter(|&lid| lid != info.lid()) {
            memory.refused.insert(key);
            self.find(survey, at, Problem::LidRefused(lid));
            return;
        }
        memory.params.insert(key, wanted);
        // It can be Initialize although it was not fresh: it went down and came up since it was looked at.
        let is_armed = if is_fresh { info.state() == Some(PortState::Armed) } else { info.state() != Some(PortState::Init) };
        if at.port != 0 && !is_armed {
            self.find(survey, at, Problem::StateRefused("ARMED"));
        }
    }

    /// A port that cannot be set, and is not ACTIVE or has another LID: nothing must be routed to it or over it.
    fn refuse(&self, survey: &Survey, memory: &mut Memory, job: Job) {
        let Job::Port { at, wanted } = job else { return };
        let serves = |info: PortInfo| info.state() == Some(PortState::Active) && wanted.lid().is_none_or(|lid| lid == info.lid());
        if !self.info(survey, at).is_some_and(serves) {
            memory.refused.insert(self.snapshot.key(at));
        }
    }

    /// Takes the news that one of our requests got no answer; false if the request was not ours.
    pub(crate) fn no_answer(&mut self, survey: &Survey, memory: &mut Memory, id: RequestId) -> bool {
        let Some(job) = self.asked.remove(&id) else { return false };
        let (at, attribute) = self.place(job);
        self.forget(memory, job);
        self.refuse(survey, memory, job);
        self.find(survey, at, Problem::NoAnswer(attribute));
        true
    }

    /// What the fabric has now is not what was remembered, nor surely what was written: the next round writes it again.
    fn forget(&self, memory: &mut Memory, job: Job) {
        let tables = |switch| self.snapshot.fabric.switch(switch).guid.0;
        match job {
            Job::Port { at, .. } | Job::Activate { at } | Job::Confirm { at } => {
                memory.params.remove(&self.snapshot.key(at));
            }
            Job::Block { switch, block } => {
                if let Some(known) = memory.tables.get_mut(&tables(switch)).and_then(|programmed| programmed.blocks.get_mut(block)) {
                    *known = None;
                }
            }
            Job::Top { switch } => {
                if let Some(programmed) = memory.tables.get_mut(&tables(switch)) {
                    programmed.top = None;
                }
            }
        }
    }

    /// Whether the port has come up since anybody set it.
    fn is_fresh(&self, survey: &Survey, at: PortRef) -> bool {
        let has_state = at.port != 0 || self.snapshot.found(survey, at.node).has_enhanced_port0();
        has_state && self.info(survey, at).is_some_and(|info| info.state() == Some(PortState::Init))
    }

    fn place(&self, job: Job) -> (PortRef, AttributeId) {
        match job {
            Job::Port { at, .. } | Job::Activate { at } | Job::Confirm { at } => (at, PortInfo::ID),
            Job::Block { switch, .. } => (self.at(switch), LinearForwardingTable::ID),
            Job::Top { switch } => (self.at(switch), SwitchInfo::ID),
        }
    }

    fn find(&mut self, survey: &Survey, at: PortRef, problem: Problem) {
        let place = self.snapshot.found(survey, at.node).place(Some(at.port));
        self.findings.push(Finding { place, problem });
    }

    fn at(&self, switch: SwitchIndex) -> PortRef {
        PortRef::new(self.snapshot.fabric.switches()[switch.index()], 0)
    }

    fn block(&self, switch: SwitchIndex, block: usize) -> &[u8; Tables::BLOCK] {
        let row = self.proven.tables().row(switch);
        row[block * Tables::BLOCK..].first_chunk().expect("a row is whole blocks")
    }

    fn info(&self, survey: &Survey, at: PortRef) -> Option<PortInfo> {
        self.snapshot.found(survey, at.node).ports[usize::from(at.port)]
    }

    fn remember_info(&self, survey: &mut Survey, at: PortRef, info: PortInfo) {
        survey.nodes[self.snapshot.found[at.node.index()]].ports[usize::from(at.port)] = Some(info);
    }

    /// This subnet manager's own LID; 0 without a cable.
    pub(crate) fn sm_lid(&self) -> u16 {
        self.snapshot.fabric.port(self.snapshot.local).and_then(|port| port.lid).map_or(0, Lid::get)
    }
}

/// SwitchInfo's LifeTimeValue: OpenSM's default `packet_life_time`.
const PACKET_LIFE_TIME: u8 = 0x12;
