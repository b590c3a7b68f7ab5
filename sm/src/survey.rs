//! Discovery: who is there, from the local port outward by directed routes, with many questions under way.

use crate::event::{Finding, Place, Problem};
use heddle_mad::exchange::{Exchange, RequestId};
use heddle_mad::transport::{Address, Envelope};
use heddle_mad::wire::{
    Attribute, AttributeId, CapabilityMask, ExtendedPortInfo, LinkSpeed, Mad, Method, NodeDescription, NodeInfo, NodeType, Path, PortInfo,
    PortState, SmInfo, SmState, Status, SwitchInfo,
};
use std::collections::BTreeMap;

/// A node as found.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) info: NodeInfo,
    pub(crate) description: String,
    pub(crate) switch_info: Option<SwitchInfo>,
    /// By port number.
    pub(crate) ports: Vec<Option<PortInfo>>,
    /// By port number, for the ports whose speed PortInfo does not tell for certain.
    pub(crate) extended: BTreeMap<u8, ExtendedPortInfo>,
    /// How to reach it: a switch by any path; a host's port by the path that leads to this very port.
    paths: BTreeMap<u8, Path>,
    /// Of a host, by port: NodeInfo tells the GUID of the port that it is asked by.
    port_guids: BTreeMap<u8, u64>,
    /// Set when the node cannot be part of this sweep's fabric.
    pub(crate) left_out: bool,
}

impl Found {
    pub(crate) fn is_switch(&self) -> bool {
        self.info.kind() == Some(NodeType::Switch)
    }

    /// Whether it is a switch whose port 0 has a state, an MTU and VLs as an adapter's port has.
    pub(crate) fn has_enhanced_port0(&self) -> bool {
        self.is_switch() && self.switch_info.is_some_and(|info| info.enhanced_port0())
    }

    /// The path to ask about `port`: on a host the one that ends there, if there is one.
    pub(crate) fn path(&self, port: u8) -> Path {
        let own = if self.is_switch() { None } else { self.paths.get(&port) };
        *own.or_else(|| self.paths.values().next()).expect("a node is found by a path")
    }

    /// The key, for the exchange's windows, of whoever is behind `port`: each one of its own, so that nobody waits for another.
    pub(crate) fn key_behind(&self, port: u8) -> u64 {
        self.info.node_guid() ^ u64::from(port) << 56
    }

    /// The attribute modifier of PortInfo for `port`: of a switch, the capabilities of port 0 are those of all ports.
    pub(crate) fn port_modifier(&self, port: u8) -> u32 {
        let telling = self.ports[if self.is_switch() { 0 } else { usize::from(port) }];
        PortInfo::modifier(port, telling.is_some_and(|info| info.capabilities().contains(CapabilityMask::EXTENDED_SPEEDS)))
    }

    /// The GUID of a port that has a LID: of port 0 of a switch, of a host's ports; 0 if no way led into the port.
    pub(crate) fn port_guid(&self, port: u8) -> u64 {
        if self.is_switch() { self.info.port_guid() } else { self.port_guids.get(&port).copied().unwrap_or(0) }
    }

    pub(crate) fn place(&self, port: Option<u8>) -> Place {
        Place::new(self.description.trim_end(), self.info.node_guid(), port, &self.path(port.unwrap_or(0)))
    }
}

/// A question under way.
#[derive(Clone, Copy, Debug)]
enum Question {
    /// Who is at the end of this path, behind `from` (a node and its port)?
    Who {
        from: Option<(usize, u8)>,
        path: Path,
    },
    Description(usize),
    Switch(usize),
    ClearChange(usize),
    Port(usize, u8),
    /// Again, with the bit that shows extended speeds.
    Speeds(usize, u8),
    Extended(usize, u8),
    OtherSm(usize, u8),
}

/// What has been found so far.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// In order of discovery; the first is the local node.
    pub(crate) nodes: Vec<Found>,
    by_guid: BTreeMap<u64, usize>,
    /// Both directions of every cable.
    pub(crate) cables: BTreeMap<(usize, u8), (usize, u8)>,
    /// Ports whose link is up but behind which nobody answered, with the path to ask again.
    pub(crate) silent: Vec<(usize, u8)>,
    pub(crate) findings: Vec<Finding>,
    /// Whether something was left out that only a new sweep can find.
    pub(crate) incomplete: bool,
    pub(crate) other_master: Option<Finding>,
    asked: BTreeMap<RequestId, Question>,
    /// Nothing is to be written: what is found is to stay as it is.
    pub(crate) read_only: bool,
    /// Whether change bits are cleared. They are the master's: whoever is not yet sure to be it leaves them.
    clears_changes: bool,
}

/// The key of a node that is not known yet, for the exchange's window: questions into the dark wait for nobody in particular.
const UNKNOWN: u64 = 0;

/// The vendor whose devices have links of FDR10 speed, and the attribute that tells them from QDR (as libibnetdisc asks it).
const MELLANOX: u32 = 0x0002c9;

impl Survey {
    pub(crate) fn begin(exchange: &mut Exchange, read_only: bool, clears_changes: bool) -> Self {
        let mut survey = Self { read_only, clears_changes, ..Self::default() };
        survey.ask_who(exchange, None, Path::local());
        survey
    }

    /// Whether a change bit was seen and left.
    pub(crate) fn left_changes(&self) -> bool {
        let is_set = |found: &Found| found.switch_info.is_some_and(|info| info.port_state_change());
        !self.clears_changes && self.nodes.iter().any(is_set)
    }

    /// Whether every question has ended.
    pub(crate) fn is_complete(&self) -> bool {
        self.asked.is_empty()
    }

    /// Takes the answer to one of our questions; false if the question was not ours.
    pub(crate) fn answer(&mut self, exchange: &mut Exchange, id: RequestId, mad: &Mad) -> bool {
        let Some(question) = self.asked.remove(&id) else { return false };
        if mad.status() != Status::OK {
            self.refused(exchange, question, mad.attribute_id(), mad.status());
            return true;
        }
        match question {
            Question::Who { from, path } => self.who(exchange, from, path, mad.attribute()),
            Question::Description(node) => {
                self.nodes[node].description = mad.attribute::<NodeDescription>().to_string();
            }
            Question::Switch(node) => self.switch(exchange, node, mad.attribute()),
            Question::ClearChange(node) => self.ask_ports(exchange, node),
            Question::Port(node, port) => self.port(exchange, node, port, mad.attribute()),
            Question::Speeds(node, port) => {
                let info: PortInfo = mad.attribute();
                // Another state is a change since the first answer, which the change bit tells.
                if let Some(known) = self.nodes[node].ports[usize::from(port)].as_mut().filter(|known| known.state() == info.state()) {
                    *known = info;
                }
            }
            Question::Extended(node, port) => {
                self.nodes[node].extended.insert(port, mad.attribute());
            }
            Question::OtherSm(node, port) => self.other_sm(node, port, &mad.attribute()),
        }
        true
    }

    /// Takes the news that one of our questions got no answer; false if the question was not ours.
    pub(crate) fn no_answer(&mut self, exchange: &mut Exchange, id: RequestId) -> bool {
        let Some(question) = self.asked.remove(&id) else { return false };
        match question {
            Question::Who { from: Some((node, port)), .. } => {
                self.silent.push((node, port));
                self.find(node, Some(port), Problem::NobodyBehind);
            }
            // Nothing is known but that the local node is silent; the manager sees it from the lack of nodes.
            Question::Who { from: None, .. } => {}
            Question::Description(node) => self.description_unknown(node, Problem::NoAnswer(NodeDescription::ID)),
            Question::Switch(node) => self.leave_out(node, None, Problem::NoAnswer(SwitchInfo::ID)),
            // The ports can be read all the same: the change bit then brings one sweep more.
            Question::ClearChange(node) => self.ask_ports(exchange, node),
            Question::Port(node, port) => self.port_unknown(node, port, Problem::NoAnswer(PortInfo::ID)),
            // Without it a faster link is taken for QDR; nothing else depends on it.
            Question::Speeds(..) | Question::Extended(..) | Question::OtherSm(..) => {}
        }
        true
    }

    fn refused(&mut self, exchange: &mut Exchange, question: Question, attribute: AttributeId, status: Status) {
        let problem = Problem::Refused(attribute, status);
        match question {
            Question::Who { from: Some((node, port)), .. } => {
                self.silent.push((node, port));
                self.find(node, Some(port), problem);
            }
            Question::Who { from: None, .. } | Question::Speeds(..) | Question::Extended(..) | Question::OtherSm(..) => {}
            Question::Description(node) => self.description_unknown(node, problem),
            Question::ClearChange(node) => {
                self.find(node, None, problem);
                self.ask_ports(exchange, node);
            }
            Question::Switch(node) => self.leave_out(node, None, problem),
            Question::Port(node, port) => self.port_unknown(node, port, problem),
        }
    }

    fn who(&mut self, exchange: &mut Exchange, from: Option<(usize, u8)>, path: Path, info: NodeInfo) {
        let port = info.local_port_num();
        let kind = info.kind();
        let nonsense = if kind.is_none() {
            Some(format!("node type {}", info.node_type()))
        } else if info.num_ports() == 0 || info.num_ports() == 255 {
            Some(format!("{} ports", info.num_ports()))
        } else if port > info.num_ports() || (port == 0 && kind != Some(NodeType::Switch)) || (port == 0 && from.is_some()) {
            Some(format!("asked by port {port}, and it has ports 1 to {}", info.num_ports()))
        } else if info.node_guid() == 0 {
            Some("node GUID 0".to_owned())
        } else {
            None
        };
        if let Some(why) = nonsense {
            if let Some((node, port)) = from {
                self.incomplete = true;
                self.find(node, Some(port), Problem::Nonsense(NodeInfo::ID, format!("behind this port is a node with {why}")));
            }
            return;
        }
        let known = self.by_guid.get(&info.node_guid()).copied();
        if let (Some(node), Some(from)) = (known, from) {
            let contradicts = self.nodes[node].info.num_ports() != info.num_ports()
                || self.nodes[node].info.node_type() != info.node_type()
                || self.cables.get(&(node, port)).is_some_and(|&other| other != from);
            if contradicts {
                let other = self.nodes[node].place(None).to_string();
                let place = Place::new("?", info.node_guid(), Some(port), &path);
                self.incomplete = true;
                self.findings.push(Finding { place, problem: Problem::DuplicateGuid(other) });
                return;
            }
        }
        if let Some(from) = from.filter(|&(node, out)| known == Some(node) && port == out) {
            self.find(from.0, Some(port), Problem::SelfLink);
            return;
        }
        let node = known.unwrap_or_else(|| self.meet(exchange, info, path));
        if let Some(from) = from {
            self.cables.insert(from, (node, port));
            self.cables.insert((node, port), from);
        }
        if self.nodes[node].is_switch() {
            return;
        }
        self.nodes[node].paths.entry(port).or_insert(path);
        self.nodes[node].port_guids.insert(port, info.port_guid());
        if self.nodes[node].ports[usize::from(port)].is_none() {
            self.ask(exchange, Question::Port(node, port));
        }
    }

    fn meet(&mut self, exchange: &mut Exchange, info: NodeInfo, path: Path) -> usize {
        let node = self.nodes.len();
        self.by_guid.insert(info.node_guid(), node);
        self.nodes.push(Found {
            info,
            description: String::new(),
            switch_info: None,
            extended: BTreeMap::new(),
            ports: vec![None; usize::from(info.num_ports()) + 1],
            paths: BTreeMap::from([(info.local_port_num(), path)]),
            port_guids: BTreeMap::new(),
            left_out: false,
        });
        self.ask(exchange, Question::Description(node));
        if self.nodes[node].is_switch() {
            self.ask(exchange, Question::Switch(node));
        }
        node
    }

    fn switch(&mut self, exchange: &mut Exchange, node: usize, mut info: SwitchInfo) {
        self.nodes[node].switch_info = Some(info);
        if info.port_state_change() && self.clears_changes {
            // Cleared before the ports are read: a change from now on sets it again and is not lost (C14-24.2.1 has it cleared by
            // writing 1).
            info.set_port_state_change(true);
            self.nodes[node].switch_info = Some(info);
            self.ask(exchange, Question::ClearChange(node));
        } else {
            self.ask_ports(exchange, node);
        }
    }

    fn ask_ports(&mut self, exchange: &mut Exchange, node: usize) {
        for port in 0..=self.nodes[node].info.num_ports() {
            self.ask(exchange, Question::Port(node, port));
        }
    }

    fn port(&mut self, exchange: &mut Exchange, node: usize, port: u8, info: PortInfo) {
        let state = info.state();
        if state.is_none() {
            let why = format!("port state {}", info.port_state());
            self.port_unknown(node, port, Problem::Nonsense(PortInfo::ID, why));
            return;
        }
        self.nodes[node].ports[usize::from(port)] = Some(info);
        if node == 0 && state == Some(PortState::Down) && !self.nodes[0].is_switch() && port == self.nodes[0].info.local_port_num() {
            self.find(node, Some(port), Problem::LocalLinkDown);
        }
        let up = matches!(state, Some(PortState::Init | PortState::Armed | PortState::Active));
        let cabled = port != 0 || !self.nodes[node].is_switch();
        // No packet goes through a host: of the local one only the port that we speak from leads on.
        let forwards = self.nodes[node].is_switch() || (node == 0 && port == self.nodes[0].info.local_port_num());
        if cabled && up && forwards && !self.cables.contains_key(&(node, port)) {
            match self.nodes[node].path(port).then(port) {
                Some(path) => self.ask_who(exchange, Some((node, port)), path),
                None => self.find(node, Some(port), Problem::TooFar),
            }
        }
        if up && info.active_speed() == Some(LinkSpeed::Qdr) && self.nodes[node].info.vendor_id() == MELLANOX {
            self.ask(exchange, Question::Extended(node, port));
        }
        // The capabilities of a switch are those of its port 0.
        if node != 0 && (port == 0 || !self.nodes[node].is_switch()) && info.capabilities().contains(CapabilityMask::SM) {
            self.ask(exchange, Question::OtherSm(node, port));
        }
        self.ask_speeds(exchange, node, port);
    }

    /// Asks again where extended speeds may be hidden. The ports of a switch wait for what port 0 says, whichever answers first.
    fn ask_speeds(&mut self, exchange: &mut Exchange, node: usize, port: u8) {
        let found = &self.nodes[node];
        let ports = if found.is_switch() && port == 0 { 1..=found.info.num_ports() } else { port..=port };
        let hides = |port: u8| {
            let up = |info: &PortInfo| info.state() != Some(PortState::Down);
            let plain = |info: &PortInfo| info.link_speed_ext_active() == 0 && info.link_speed_ext_active_2() == 0;
            let info = found.ports[usize::from(port)];
            port != 0 && found.port_modifier(port) != u32::from(port) && info.is_some_and(|info| up(&info) && plain(&info))
        };
        let hiding: Vec<u8> = ports.filter(|&port| hides(port)).collect();
        for port in hiding {
            self.ask(exchange, Question::Speeds(node, port));
        }
    }

    fn other_sm(&mut self, node: usize, port: u8, info: &SmInfo) {
        if info.state() == Some(SmState::Master) {
            let problem = Problem::OtherMaster(info.priority());
            self.other_master = Some(Finding { place: self.nodes[node].place(Some(port)), problem });
        }
    }

    /// A description is good to have; its lack does not keep a node out.
    fn description_unknown(&mut self, node: usize, problem: Problem) {
        self.incomplete = true;
        self.find(node, None, problem);
    }

    /// A port of which nothing is known: fatal where the node is addressed by it, else the cable in it is left out.
    fn port_unknown(&mut self, node: usize, port: u8, problem: Problem) {
        if port == 0 || !self.nodes[node].is_switch() {
            self.leave_out(node, Some(port), problem);
        } else {
            self.incomplete = true;
            self.find(node, Some(port), problem);
        }
    }

    pub(crate) fn leave_out(&mut self, node: usize, port: Option<u8>, problem: Problem) {
        self.nodes[node].left_out = true;
        self.incomplete = true;
        self.find(node, port, problem);
    }

    fn find(&mut self, node: usize, port: Option<u8>, problem: Problem) {
        let place = self.nodes[node].place(port);
        self.findings.push(Finding { place, problem });
    }

    fn ask_who(&mut self, exchange: &mut Exchange, from: Option<(usize, u8)>, path: Path) {
        let mad = Mad::directed(&path, Method::GET, NodeInfo::ID, 0);
        let key = from.map_or(UNKNOWN, |(node, port)| self.nodes[node].key_behind(port));
        let id = exchange.ask(key, Envelope { address: Address::Directed, mad });
        self.asked.insert(id, Question::Who { from, path });
    }

    fn ask(&mut self, exchange: &mut Exchange, question: Question) {
        let (node, port, attribute) = match question {
            Question::Description(node) => (node, 0, NodeDescription::ID),
            Question::Switch(node) | Question::ClearChange(node) => (node, 0, SwitchInfo::ID),
            Question::Port(node, port) | Question::Speeds(node, port) => (node, port, PortInfo::ID),
            Question::Extended(node, port) => (node, port, ExtendedPortInfo::ID),
            Question::OtherSm(node, port) => (node, port, SmInfo::ID),
            Question::Who { .. } => unreachable!("asked by ask_who, which knows the path"),
        };
        let (method, modifier) = match question {
            Question::ClearChange(_) => (Method::SET, 0),
            Question::Port(..) | Question::Extended(..) => (Method::GET, u32::from(port)),
            Question::Speeds(..) => (Method::GET, self.nodes[node].port_modifier(port)),
            _ => (Method::GET, 0),
        };
        let found = &self.nodes[node];
        let mut mad = Mad::directed(&found.path(port), method, attribute, modifier);
        if let (Question::ClearChange(_), Some(info)) = (question, found.switch_info) {
            mad.set_smp_data(info.bytes());
        }
        let key = found.info.node_guid();
        self.asked.insert(exchange.ask(key, Envelope { address: Address::Directed, mad }), question);
    }
}
