use crate::faults::{Fault, Faults};
use crate::network::Network;
use crate::sma::{self, Effect};
use crate::traps::{Trap, TrapKind};
use crate::travel::{Arrival, Lane, Lost, LostWhy};
use heddle_fabric::{Fabric, Lid, NodeIndex, NodeKind, PortRef};
use heddle_mad::Time;
use heddle_mad::transport::{Address, Delivery, Envelope, Transport, TransportError};
use heddle_mad::wire::{Attribute, AttributeId, CapabilityMask, Class, LocalChanges, Mad, Method, PortInfo, SmInfo, SwitchInfo};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Time that a packet takes over a cable and through the switch behind it.
pub(crate) const HOP: Duration = Duration::from_nanos(200);
/// Time that a node takes for each request; further requests wait.
const SERVICE: Duration = Duration::from_micros(5);
/// Time that a link takes to come up again after a manager took it down.
const TRAINING: Duration = Duration::from_millis(10);

/// Something that happens to the fabric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The cable in the port breaks: the ports at both its ends go down.
    Cut(PortRef),
    /// The cable in the port is whole again.
    Restore(PortRef),
    /// The node loses its power.
    RemoveNode(NodeIndex),
    /// The node gets its power back. It has forgotten everything: LID, tables, states.
    ReturnNode(NodeIndex),
    /// The node begins to do something wrong, beside what it does wrong already.
    Fault(NodeIndex, Fault),
    /// The node does everything right again.
    Heal(NodeIndex),
    /// The NodeDescription changes.
    Rename(NodeIndex, String),
}

/// Why there can be no emulator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EmulatorError {
    /// The manager cannot be where it was wanted.
    #[error(
        "a subnet manager cannot run at port {port} of \"{description}\": {}",
        if *.is_switch { "on a switch it runs at port 0" } else { "on a host it runs at one of the ports 1 to the last" }
    )]
    NoEndPort {
        /// The node's description.
        description: String,
        /// The port asked for.
        port: u8,
        /// Whether the node is a switch.
        is_switch: bool,
    },
    /// The fabric does not have the node.
    #[error("the fabric has {nodes} nodes, but no node number {node}")]
    NoNode {
        /// The node's index.
        node: u32,
        /// How many nodes there are.
        nodes: usize,
    },
}

/// What an emulator counted since its start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Requests that management agents took, by method and attribute.
    pub requests: BTreeMap<(Method, AttributeId), u64>,
    /// Answers that management agents sent.
    pub answers: u64,
    /// Traps sent, repetitions included.
    pub traps: u64,
    /// Management packets that were lost, by the reason. What a [`Fault`] swallows is not lost.
    pub lost: BTreeMap<LostWhy, u64>,
}

/// A fabric that answers subnet management packets in process and in virtual time.
///
/// It starts as cold hardware does: no LIDs, empty forwarding tables, links in INIT. The same calls always have the same results.
///
/// Time moves only in [`Transport::receive`]: it jumps to the next thing that happens, or to the deadline. A hop takes 200 ns, a
/// node 5 µs for each request, one after another. A packet that is lost gets no answer; the sender's timeout has to notice.
#[derive(Debug)]
pub struct Emulator {
    pub(crate) network: Network,
    attach: PortRef,
    pub(crate) now: Time,
    /// What is to happen, by time and then in the order of planning.
    agenda: BTreeMap<(Time, u64), Happening>,
    planned: u64,
    inbox: VecDeque<Delivery>,
    pub(crate) faults: BTreeMap<NodeIndex, Faults>,
    /// Traps that nobody repressed yet, by sender and number.
    pub(crate) traps: BTreeMap<(NodeIndex, u16), Trap>,
    pub(crate) last_trap: u64,
    pub(crate) counters: Counters,
}

#[derive(Debug)]
pub(crate) enum Happening {
    /// A packet reaches a node, by the port given. `slid` is where it came from, if forwarding tables carried it.
    Arrive {
        at: PortRef,
        slid: Option<u16>,
        qp: u32,
        mad: Box<Mad>,
    },
    /// A packet reaches the manager.
    Deliver(Box<Envelope>),
    Event(Event),
    /// The link in the port may come up.
    Train(PortRef),
    /// It is time to send a trap again.
    RepeatTrap {
        node: NodeIndex,
        number: u16,
        transaction: u64,
    },
}

impl Emulator {
    /// Powers the fabric on, with the subnet manager at `attach`: a port of a host, or port 0 of a switch. LIDs that the fabric brings
    /// are not used. `O(nodes + ports)`.
    ///
    /// # Errors
    /// [`EmulatorError`] when the manager cannot be there.
    pub fn new(fabric: &Fabric, attach: PortRef) -> Result<Self, EmulatorError> {
        let Some(node) = fabric.nodes().get(attach.node.index()) else {
            return Err(EmulatorError::NoNode { node: attach.node.0, nodes: fabric.nodes().len() });
        };
        let is_switch = node.kind == NodeKind::Switch;
        if is_switch != (attach.port == 0) || attach.port > node.num_ports {
            return Err(EmulatorError::NoEndPort { description: node.description.clone(), port: attach.port, is_switch });
        }
        Ok(Self {
            network: Network::new(fabric),
            attach,
            now: Time::ZERO,
            agenda: BTreeMap::new(),
            planned: 0,
            inbox: VecDeque::new(),
            faults: BTreeMap::new(),
            traps: BTreeMap::new(),
            last_trap: 0,
            counters: Counters::default(),
        })
    }

    /// Lets `event` happen at a time; at once if that time has passed. An event for a node or port that the fabric does not have, or
    /// that changes nothing, is none.
    pub fn schedule(&mut self, at: Time, event: Event) {
        self.plan(at, Happening::Event(event));
    }

    /// Lets `event` happen now.
    pub fn apply(&mut self, event: Event) {
        match event {
            Event::Cut(at) => self.cut(at),
            Event::Restore(at) => self.restore(at),
            Event::RemoveNode(node) => self.remove_node(node),
            Event::ReturnNode(node) => self.return_node(node),
            Event::Fault(node, fault) => self.faults.entry(node).or_default().add(fault),
            Event::Heal(node) => {
                self.faults.remove(&node);
            }
            Event::Rename(node, description) => self.rename(node, description),
        }
    }

    /// [`Event::Cut`], now.
    pub fn cut(&mut self, at: PortRef) {
        self.mark_cut(at, true);
        self.take_down(at);
    }

    /// [`Event::Restore`], now.
    pub fn restore(&mut self, at: PortRef) {
        self.mark_cut(at, false);
        self.bring_up(at);
    }

    /// [`Event::RemoveNode`], now.
    pub fn remove_node(&mut self, node: NodeIndex) {
        for at in self.cable_ports(node) {
            self.take_down(at);
        }
        if let Some(device) = self.network.devices.get_mut(node.index()) {
            device.present = false;
        }
        self.traps.retain(|&(sender, _), _| sender != node);
    }

    /// [`Event::ReturnNode`], now.
    pub fn return_node(&mut self, node: NodeIndex) {
        match self.network.devices.get_mut(node.index()) {
            Some(device) if !device.present => device.present = true,
            _ => return,
        }
        self.network.reset(node);
        for at in self.cable_ports(node) {
            self.bring_up(at);
        }
    }

    /// [`Event::Rename`], now. The node tells the subnet manager (trap 144).
    pub fn rename(&mut self, node: NodeIndex, description: String) {
        let Some(device) = self.network.devices.get_mut(node.index()) else { return };
        device.description = description;
        // A host with several ports in the subnet tells it once.
        if let Some(from) = self.network.speaker(node) {
            self.announce(from, LocalChanges::NODE_DESCRIPTION);
        }
    }

    /// Sends a data packet from an end port to a LID, now: by the forwarding tables as they are, over links that are ACTIVE.
    /// Returns its way: each port of exit and the port of entry behind it. `O(hops)`.
    ///
    /// # Errors
    /// [`Lost`] says where and why it went no further.
    pub fn deliver(&self, from: PortRef, dlid: Lid) -> Result<Vec<PortRef>, Lost> {
        if self.network.port(from).is_none() || self.network.end_port(from) != from {
            return Err(Lost { at: from, why: LostWhy::NoSuchPort });
        }
        let mut way = Vec::new();
        self.network.forward(from, dlid.get(), Lane::Data, |at| way.push(at))?;
        Ok(way)
    }

    /// Where the subnet manager is.
    pub fn attach(&self) -> PortRef {
        self.attach
    }

    /// A port's PortInfo, whether anybody could ask for it or not; `None` if there is no such port.
    pub fn port_info(&self, at: PortRef) -> Option<&PortInfo> {
        self.network.port(at).map(|port| &port.info)
    }

    /// A switch's SwitchInfo; `None` if the node is none.
    pub fn switch_info(&self, node: NodeIndex) -> Option<&SwitchInfo> {
        Some(&self.network.devices.get(node.index())?.switch.as_ref()?.info)
    }

    /// A switch's linear forwarding table by LID, as far as it was written; empty if the node is no switch.
    pub fn lft(&self, node: NodeIndex) -> &[u8] {
        self.network.devices.get(node.index()).and_then(|device| device.switch.as_ref()).map_or(&[], |switch| &switch.lft)
    }

    /// What was counted since the start.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    pub(crate) fn plan(&mut self, at: Time, happening: Happening) {
        self.planned += 1;
        self.agenda.insert((at.max(self.now), self.planned), happening);
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Arrive { at, slid, qp, mad } => self.arrive(at, slid, qp, mad),
            Happening::Deliver(envelope) => self.inbox.push_back(Delivery::Received(*envelope)),
            Happening::Event(event) => self.apply(event),
            Happening::Train(at) => self.bring_up(at),
            Happening::RepeatTrap { node, number, transaction } => {
                if self.traps.get(&(node, number)).is_some_and(|trap| trap.transaction == transaction) {
                    self.send_trap(node, number);
                }
            }
        }
    }

    /// Sends the manager's packet on its way.
    fn depart(&self, envelope: &Envelope) -> Result<(Arrival, Option<u16>, u32, Box<Mad>), Lost> {
        let mut mad = Box::new(envelope.mad);
        let is_directed = mad.class() == Class::SUBN_DIRECTED;
        match envelope.address {
            // Answers travel in the other direction than all else (IBA 14.2.2).
            Address::Directed if !is_directed || mad.is_returning() != mad.method().is_response() => {
                Err(Lost { at: self.attach, why: LostWhy::BadRoute })
            }
            Address::Directed if mad.is_returning() => {
                let arrival = self.network.directed_back(self.attach, &mut mad)?;
                Ok((arrival, None, 0, mad))
            }
            Address::Directed => Ok((self.network.directed_out(self.attach, &mut mad)?, None, 0, mad)),
            Address::Lid { lid, qp } => {
                let slid = self.lid_of(self.attach);
                let lane = if qp == 0 { Lane::Management } else { Lane::Data };
                let mut arrival = self.network.forward(self.attach, lid, lane, |_| {})?;
                if is_directed {
                    // Forwarding tables carry it to the switch where its directed route begins.
                    let begin = self.network.end_port(arrival.at);
                    let beyond = self.network.directed_out(begin, &mut mad)?;
                    arrival = Arrival { at: beyond.at, hops: arrival.hops + beyond.hops };
                }
                Ok((arrival, Some(slid), qp, mad))
            }
        }
    }

    fn arrive(&mut self, at: PortRef, slid: Option<u16>, qp: u32, mut mad: Box<Mad>) {
        if !self.network.device(at.node).present {
            return self.count_lost(Lost { at, why: LostWhy::NodeRemoved });
        }
        let is_smp = matches!(mad.class(), Class::SUBN_LID | Class::SUBN_DIRECTED);
        let for_manager = !is_smp || mad.method().is_response() || mad.method() == Method::TRAP || mad.attribute_id() == SmInfo::ID;
        if for_manager && self.network.end_port(at) == self.attach {
            let address = slid.map_or(Address::Directed, |lid| Address::Lid { lid, qp });
            return self.inbox.push_back(Delivery::Received(Envelope { address, mad: *mad }));
        }
        if !is_smp || mad.method().is_response() || mad.method() == Method::TRAP {
            return self.count_lost(Lost { at, why: LostWhy::NoReceiver });
        }
        if self.faults.get_mut(&at.node).is_some_and(Faults::ignores) {
            return;
        }
        *self.counters.requests.entry((mad.method(), mad.attribute_id())).or_default() += 1;
        if mad.method() == Method::TRAP_REPRESS {
            // A repression carries the transaction of its trap (IBA 13.4.9).
            match sma::admits_repression(&mut self.network, at, slid, self.now, &mad) {
                Ok(()) => self.traps.retain(|&(sender, _), trap| sender != at.node || trap.transaction != mad.transaction()),
                Err(effect) => self.bring_about(effect),
            }
            return;
        }
        let reply = sma::answer(&mut self.network, at, slid, self.now, &mut mad);
        if !reply.answered {
            return self.bring_about(reply.effect);
        }
        let device = self.network.device_mut(at.node);
        device.busy_until = device.busy_until.max(self.now) + SERVICE;
        let mut leaves = device.busy_until;
        let mut copies = 1;
        if let Some(faults) = self.faults.get_mut(&at.node) {
            faults.spoil(&mut mad);
            leaves = leaves + faults.late;
            copies += u32::from(faults.duplicate);
        }
        match self.answer_way(at, slid, &mut mad) {
            Ok((hops, address)) => {
                for copy in 0..copies {
                    self.counters.answers += 1;
                    let envelope = Box::new(Envelope { address, mad: *mad });
                    self.plan(leaves + SERVICE * copy + HOP * hops, Happening::Deliver(envelope));
                }
            }
            Err(lost) => self.count_lost(lost),
        }
        self.bring_about(reply.effect);
    }

    fn bring_about(&mut self, effect: Option<Effect>) {
        match effect {
            None => {}
            Some(Effect::LinkUp(port)) => self.plan(self.now + TRAINING, Happening::Train(port)),
            Some(Effect::LinkDown(port)) => {
                self.take_down(port);
                self.plan(self.now + TRAINING, Happening::Train(port));
            }
            Some(Effect::Trap(from, details)) => self.start_trap(from, details),
        }
    }

    /// The way of an answer from the port by which the request came in to the manager: its hops, and its sender.
    fn answer_way(&self, at: PortRef, slid: Option<u16>, mad: &mut Mad) -> Result<(u32, Address), Lost> {
        let sender = |at| Address::Lid { lid: self.lid_of(at), qp: 0 };
        let (arrival, address) = if mad.class() == Class::SUBN_DIRECTED {
            mad.set_returning(true);
            let back = self.network.directed_back(at, mad)?;
            match slid {
                None => (back, Address::Directed),
                Some(_) => {
                    let begin = self.network.end_port(back.at);
                    let rest = self.network.forward(begin, mad.dr_slid(), Lane::Management, |_| {})?;
                    (Arrival { at: rest.at, hops: back.hops + rest.hops }, sender(begin))
                }
            }
        } else {
            let from = self.network.end_port(at);
            (self.network.forward(from, slid.unwrap_or(0), Lane::Management, |_| {})?, sender(from))
        };
        if self.network.end_port(arrival.at) == self.attach {
            Ok((arrival.hops, address))
        } else {
            Err(Lost { at: arrival.at, why: LostWhy::NoReceiver })
        }
    }

    fn lid_of(&self, at: PortRef) -> u16 {
        self.network.port(at).map_or(0, |port| port.info.lid())
    }

    pub(crate) fn count_lost(&mut self, lost: Lost) {
        *self.counters.lost.entry(lost.why).or_default() += 1;
    }

    fn cable_ports(&self, node: NodeIndex) -> Vec<PortRef> {
        let last = self.network.devices.get(node.index()).map_or(0, |device| device.num_ports());
        (1..=last).map(|number| PortRef::new(node, number)).collect()
    }

    fn mark_cut(&mut self, at: PortRef, cut: bool) {
        let Some(peer) = self.network.port(at).and_then(|port| port.peer) else { return };
        for end in [at, peer] {
            if let Some(port) = self.network.port_mut(end) {
                port.cut = cut;
            }
        }
    }

    fn take_down(&mut self, at: PortRef) {
        if self.network.lower(at) {
            self.link_changed(at);
        }
    }

    fn bring_up(&mut self, at: PortRef) {
        if self.network.raise(at) {
            self.link_changed(at);
        }
    }

    /// The switches at both ends note and report that a port's state changed.
    fn link_changed(&mut self, at: PortRef) {
        let peer = self.network.port(at).and_then(|port| port.peer);
        for end in [Some(at), peer].into_iter().flatten() {
            if let Some(switch) = &mut self.network.device_mut(end.node).switch {
                switch.info.set_port_state_change(true);
                self.start_trap(PortRef::new(end.node, 0), TrapKind::LinkState);
            }
        }
    }
}

impl Transport for Emulator {
    fn now(&self) -> Time {
        self.now
    }

    fn send(&mut self, envelope: &Envelope) -> Result<(), TransportError> {
        match self.depart(envelope) {
            Ok((arrival, slid, qp, mad)) => {
                self.plan(self.now + HOP * arrival.hops, Happening::Arrive { at: arrival.at, slid, qp, mad });
            }
            Err(lost) => self.count_lost(lost),
        }
        Ok(())
    }

    /// As [`Transport::receive`]. Without a deadline and with nothing that will ever happen it is an error, not a wait without end.
    fn receive(&mut self, deadline: Option<Time>) -> Result<Option<Delivery>, TransportError> {
        loop {
            if let Some(delivery) = self.inbox.pop_front() {
                return Ok(Some(delivery));
            }
            let until = deadline.map(|deadline| deadline.max(self.now));
            match self.agenda.first_entry() {
                Some(next) if until.is_none_or(|until| next.key().0 <= until) => {
                    let ((time, _), happening) = next.remove_entry();
                    self.now = time;
                    self.happen(happening);
                }
                _ => {
                    let Some(until) = until else {
                        return Err(TransportError::Other(
                            "the emulated fabric is at rest: no packet is under way, no event is scheduled, and no deadline was given"
                                .to_owned(),
                        ));
                    };
                    self.now = until;
                    return Ok(None);
                }
            }
        }
    }

    /// The port's capability mask changes, which the port tells the manager it knows (trap 144).
    fn set_is_sm(&mut self, is_sm: bool) -> Result<(), TransportError> {
        let at = self.attach;
        let Some(port) = self.network.port_mut(at) else { return Ok(()) };
        let mut capabilities = port.info.capabilities();
        capabilities.set(CapabilityMask::SM, is_sm);
        if capabilities != port.info.capabilities() {
            port.info.set_capability_mask(capabilities.bits());
            self.announce(at, LocalChanges::empty());
        }
        Ok(())
    }
}
