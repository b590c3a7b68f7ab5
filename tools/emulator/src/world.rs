//! A fabric and everybody who is attached to it: how packets, time and clients meet.

use crate::agents;
use crate::clients::{ClientId, Clients, Delivered, Interest, Losses};
use crate::events::Event;
use crate::faults::{Faults, Passage, Reaction};
use crate::network::Network;
use crate::packet::{PERMISSIVE_LID, Packet};
use crate::sma::{self, Effect};
use crate::tally::Tally;
use crate::timing::{TRAINING, Timing};
use crate::traps::{LinkTrouble, Trap, TrapKind};
use crate::travel::{Lost, LostWhy};
use heddle_fabric::{Fabric, Lid, NodeIndex, NodeKind, PortRef};
use heddle_mad::Time;
use heddle_mad::wire::{Attribute, AttributeId, CapabilityMask, LocalChanges, Method, PortInfo, SmInfo, SwitchInfo};
use std::collections::{BTreeMap, VecDeque};

/// Why a client cannot be attached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EmulatorError {
    /// The client cannot be where it was wanted.
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
    /// All numbers of clients are taken.
    #[error("the emulator has 65535 clients, and can have no more; detach one first")]
    TooManyClients,
}

/// What a world counted since its start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Requests that management agents took, by method and attribute.
    pub requests: BTreeMap<(Method, AttributeId), u64>,
    /// Answers that management agents sent.
    pub answers: u64,
    /// Traps sent, repetitions included.
    pub traps: u64,
    /// Management packets that were lost, by the reason. What a [`crate::Fault`] swallows is not lost.
    pub lost: BTreeMap<LostWhy, u64>,
}

/// A fabric, its management agents, and the clients attached to it. It knows no socket and no clock: whoever owns it moves its time on.
///
/// It starts as cold hardware does: no LIDs, empty forwarding tables, links in INIT. The same calls always have the same results.
///
/// With [`Timing::Instant`] a request is answered within [`World::send`]; otherwise, when time has moved on far enough. Who takes a packet
/// that reaches a port:
/// - answers, and repressions of traps: the client that began the transaction, by the 16 high bits of the transaction id, if it is at
///   this port;
/// - Get and Set of subnet management except those of SMInfo: the node's agent, always;
/// - all other requests, and traps: a client at this port whose [`Interest`]s hold it; if there is none, the agent of the class.
#[derive(Debug)]
pub struct World {
    pub(crate) network: Network,
    pub(crate) now: Time,
    timing: Timing,
    /// What is to happen, by time and then in the order of planning.
    agenda: BTreeMap<(Time, u64), Happening>,
    pub(crate) planned: u64,
    clients: Clients,
    deliveries: VecDeque<(ClientId, Delivered)>,
    pub(crate) faults: BTreeMap<NodeIndex, Faults>,
    /// Traps that nobody repressed yet, by end port and number.
    pub(crate) traps: BTreeMap<(PortRef, u16), Trap>,
    pub(crate) last_trap: u64,
    pub(crate) counters: Counters,
}

#[derive(Debug)]
pub(crate) enum Happening {
    /// A packet reaches a node, by the port given. `request` is what its sender, or the one whom it answers, asked and wants to hear of.
    Arrive {
        at: PortRef,
        packet: Box<Packet>,
        request: Option<Box<Packet>>,
    },
    Event(Event),
    /// The link in the port may come up.
    Train(PortRef),
    /// A port that babbles does so again.
    Babble {
        at: PortRef,
        trouble: LinkTrouble,
        number: u64,
    },
    /// It is time to send a trap again.
    RepeatTrap {
        from: PortRef,
        number: u16,
        transaction: u64,
    },
}

impl World {
    /// Powers the fabric on, with [`Timing::Instant`]. LIDs that the fabric brings are not used. `O(nodes + ports)`.
    pub fn new(fabric: &Fabric) -> Self {
        Self {
            network: Network::new(fabric),
            now: Time::ZERO,
            timing: Timing::Instant,
            agenda: BTreeMap::new(),
            planned: 0,
            clients: Clients::default(),
            deliveries: VecDeque::new(),
            faults: BTreeMap::new(),
            traps: BTreeMap::new(),
            last_trap: 0,
            counters: Counters::default(),
        }
    }

    /// How long packets and agents take from now on.
    pub fn set_timing(&mut self, timing: Timing) {
        self.timing = timing;
    }

    /// The present time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Attaches a client to a port of a host, or to port 0 of a switch. A port can have many.
    ///
    /// # Errors
    /// [`EmulatorError`] when a client cannot be there.
    pub fn attach(&mut self, at: PortRef, losses: Losses) -> Result<ClientId, EmulatorError> {
        let Some(device) = self.network.devices.get(at.node.index()) else {
            return Err(EmulatorError::NoNode { node: at.node.0, nodes: self.network.devices.len() });
        };
        let is_switch = device.kind == NodeKind::Switch;
        if is_switch != (at.port == 0) || at.port > device.num_ports() {
            return Err(EmulatorError::NoEndPort { description: device.description.clone(), port: at.port, is_switch });
        }
        self.clients.add(at, losses).ok_or(EmulatorError::TooManyClients)
    }

    /// Takes a client away, and the IsSM that it set. What was not delivered to it yet is forgotten.
    pub fn detach(&mut self, client: ClientId) {
        self.set_is_sm(client, false);
        let left = self.clients.remove(client);
        self.deliveries.retain(|&(to, _)| to != client);
        left.iter().for_each(|request| self.tell_lost(Some(request)));
    }

    /// Which requests and traps the client takes, in place of those before. None at first.
    pub fn set_interests(&mut self, client: ClientId, interests: Vec<Interest>) {
        if let Some(client) = self.clients.get_mut(client) {
            client.interests = interests;
        }
    }

    /// Whether the client is a subnet manager: IsSM in the CapabilityMask of its port, which the port tells the manager it knows (trap 144).
    pub fn set_is_sm(&mut self, client: ClientId, is_sm: bool) {
        let Some(client) = self.clients.get_mut(client) else { return };
        client.is_sm = is_sm;
        let at = client.at;
        self.show_is_sm(at);
    }

    /// The port says whether a subnet manager is there.
    pub(crate) fn show_is_sm(&mut self, at: PortRef) {
        let is_sm = self.clients.any_sm(at);
        let Some(port) = self.network.port_mut(at) else { return };
        let mut capabilities = port.info.capabilities();
        capabilities.set(CapabilityMask::SM, is_sm);
        if capabilities != port.info.capabilities() {
            port.info.set_capability_mask(capabilities.bits());
            self.announce(at, LocalChanges::empty());
        }
    }

    pub(crate) fn client_count(&self) -> usize {
        self.clients.count()
    }

    /// Where a client is; `None` if it is not attached.
    pub fn client_port(&self, client: ClientId) -> Option<PortRef> {
        self.clients.get(client).map(|client| client.at)
    }

    /// Sends a client's packet, now. From nobody, if the client is not attached, it goes nowhere. `O(hops)`.
    pub fn send(&mut self, client: ClientId, packet: &Packet) {
        let Some(sender) = self.clients.get(client) else { return };
        let (from, told) = (sender.at, sender.losses == Losses::Told);
        let mut packet = *packet;
        if packet.dlid == PERMISSIVE_LID {
            packet.slid = PERMISSIVE_LID;
        } else if !self.network.owns(from, packet.slid) {
            packet.slid = self.network.lid(from);
        }
        if packet.is_response() {
            let request = self.clients.answered(client, &packet);
            return self.launch(self.now, from, &mut packet, request.as_ref());
        }
        packet.mad.set_transaction(u64::from(client.0) << 48 | packet.mad.transaction() & 0xffff_ffff_ffff);
        let request = packet;
        self.launch(self.now, from, &mut packet, told.then_some(&request));
    }

    /// The next packet for a client, in the order of their arrival.
    pub fn poll_delivery(&mut self) -> Option<(ClientId, Delivered)> {
        self.deliveries.pop_front()
    }

    /// Moves the time on to `now`: all that is due until then happens.
    pub fn handle_timeout(&mut self, now: Time) {
        while let Some(next) = self.agenda.first_entry()
            && next.key().0 <= now
        {
            let ((time, _), happening) = next.remove_entry();
            self.now = time;
            self.happen(happening);
        }
        self.now = self.now.max(now);
    }

    /// When something is going to happen next: [`World::handle_timeout`] is to be called then. `None` if nothing is.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.agenda.first_key_value().map(|(&(time, _), _)| time)
    }

    /// Lets `event` happen at a time; at once, when time moves on, if that time has passed.
    pub fn schedule(&mut self, at: Time, event: Event) {
        self.plan(at, Happening::Event(event));
    }

    /// Sends a data packet from an end port to a LID, now: by the forwarding tables as they are, over links that are ACTIVE.
    /// Returns its way: each port of exit and the port of entry behind it. No port counts it. `O(hops)`.
    ///
    /// # Errors
    /// [`Lost`] says where and why it went no further.
    pub fn deliver(&self, from: PortRef, dlid: Lid) -> Result<Vec<PortRef>, Lost> {
        if self.network.port(from).is_none() || self.network.end_port(from) != from {
            return Err(Lost { at: from, why: LostWhy::NoSuchPort });
        }
        self.network.trace(from, dlid.get())
    }

    /// A port's PortInfo, whether anybody could ask for it or not; `None` if there is no such port.
    pub fn port_info(&self, at: PortRef) -> Option<&PortInfo> {
        self.network.port(at).map(|port| &port.info)
    }

    /// What crossed a port; `None` if there is no such port.
    pub fn tally(&self, at: PortRef) -> Option<&Tally> {
        self.network.port(at).map(|port| &port.tally)
    }

    /// What the node's hardware is taken for, such as "ConnectX-7, BlueField-3"; `None` if there is no such node.
    pub fn model(&self, node: NodeIndex) -> Option<&'static str> {
        self.network.devices.get(node.index()).map(|device| device.model.name())
    }

    /// How many times the clients behind an end port were told to register with the subnet administration anew (PortInfo's
    /// ClientReregister); `None` if there is no such port.
    pub fn client_reregistrations(&self, at: PortRef) -> Option<u32> {
        self.network.port(at).map(|port| port.client_reregistrations)
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

    /// Events that are yet to happen, by time.
    pub(crate) fn scheduled(&self) -> impl Iterator<Item = (Time, &Event)> {
        self.agenda
            .iter()
            .filter_map(|(&(at, _), happening)| if let Happening::Event(event) = happening { Some((at, event)) } else { None })
    }

    pub(crate) fn plan(&mut self, at: Time, happening: Happening) {
        self.planned += 1;
        self.agenda.insert((at.max(self.now), self.planned), happening);
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Arrive { at, mut packet, request } => self.arrive(at, &mut packet, request.as_deref()),
            Happening::Event(event) => self.apply(event),
            Happening::Train(at) => self.bring_up(at),
            Happening::Babble { at, trouble, number } => self.babble(at, trouble, number),
            Happening::RepeatTrap { from, number, transaction } => {
                if self.traps.get(&(from, number)).is_some_and(|trap| trap.transaction == transaction) {
                    self.send_trap(from, number);
                }
            }
        }
    }

    /// Sends a packet that leaves a port at a time. `request` goes back to who asked it if the packet is lost.
    pub(crate) fn launch(&mut self, leaves: Time, from: PortRef, packet: &mut Packet, request: Option<&Packet>) {
        match self.network.carry(from, packet) {
            Ok(arrival) => {
                let Passage { later, copies } = self.network.passage;
                let when = leaves + self.timing.travel(arrival.hops) + later;
                for _ in 1..copies {
                    self.plan(when, Happening::Arrive { at: arrival.at, packet: Box::new(*packet), request: None });
                }
                if when <= self.now {
                    self.arrive(arrival.at, packet, request);
                } else {
                    let (packet, request) = (Box::new(*packet), request.map(|&request| Box::new(request)));
                    self.plan(when, Happening::Arrive { at: arrival.at, packet, request });
                }
            }
            Err(lost) => {
                if let Some(violation) = self.network.violation(&lost, packet) {
                    self.start_trap(self.network.end_port(lost.at), TrapKind::Security(violation));
                }
                self.lose(lost, request);
            }
        }
    }

    fn lose(&mut self, lost: Lost, request: Option<&Packet>) {
        *self.counters.lost.entry(lost.why).or_default() += 1;
        self.tell_lost(request);
    }

    /// Tells who asked that there will be no answer.
    fn tell_lost(&mut self, request: Option<&Packet>) {
        let Some(request) = request else { return };
        let client = ClientId((request.mad.transaction() >> 48) as u16);
        if self.clients.get(client).is_some() {
            self.deliveries.push_back((client, Delivered::Lost(*request)));
        }
    }

    fn arrive(&mut self, at: PortRef, packet: &mut Packet, request: Option<&Packet>) {
        if !self.network.device(at.node).present {
            return self.lose(Lost { at, why: LostWhy::NodeRemoved }, request);
        }
        if let Some(client) = self.receiver(at, packet) {
            if let Some(request) = request.filter(|_| !packet.is_response()) {
                self.clients.entrust(client, request);
            }
            return self.deliveries.push_back((client, Delivered::Received(*packet)));
        }
        let mad = &packet.mad;
        // Subnet management is at queue pair 0, all else at queue pair 1 (IBA 13.5.1).
        let has_queue_pair = packet.dst_qp == u32::from(!packet.is_smp());
        if !has_queue_pair || mad.method().is_response() || mad.method() == Method::TRAP {
            return self.lose(Lost { at, why: LostWhy::NoReceiver }, request);
        }
        let mut reaction = Reaction::Serve;
        if let Some(faults) = self.faults.get_mut(&at.node) {
            if packet.is_smp() && !faults.has_room(self.now) {
                let lost = Lost { at, why: LostWhy::NoRoom };
                self.network.count_loss(&lost);
                return self.lose(lost, request);
            }
            reaction = faults.reaction(mad);
        }
        match reaction {
            Reaction::Ignore => self.tell_lost(request),
            _ if packet.is_smp() && mad.method() == Method::TRAP_REPRESS => self.repress(at, packet),
            _ => self.answer(at, packet, request, reaction),
        }
    }

    /// The client that takes a packet; `None` if it is for the node's agents, or for nobody.
    fn receiver(&self, at: PortRef, packet: &Packet) -> Option<ClientId> {
        let end = self.network.end_port(at);
        let mad = &packet.mad;
        if packet.dst_qp != u32::from(!packet.is_smp()) {
            None
        } else if packet.is_response() {
            self.clients.of_transaction(end, packet)
        } else if packet.is_smp() && matches!(mad.method(), Method::GET | Method::SET) && mad.attribute_id() != SmInfo::ID {
            None
        } else {
            self.clients.interested(end, packet)
        }
    }

    /// Lets an agent of the node answer.
    fn answer(&mut self, at: PortRef, packet: &mut Packet, request: Option<&Packet>, reaction: Reaction) {
        let what = (packet.mad.method(), packet.mad.attribute_id());
        let reply = match reaction {
            Reaction::Serve => agents::answer(&mut self.network, at, self.now, packet),
            _ => Some(reaction.pretend(&mut packet.mad)),
        };
        let Some(reply) = reply else {
            return self.lose(Lost { at, why: LostWhy::NoReceiver }, request);
        };
        *self.counters.requests.entry(what).or_default() += 1;
        if !reply.answered {
            self.tell_lost(request);
            return self.bring_about(reply.effect);
        }
        let slow = self.faults.get(&at.node).and_then(|faults| faults.slow);
        let service = slow.unwrap_or_else(|| self.timing.service(at.node));
        let device = self.network.device_mut(at.node);
        device.busy_until = device.busy_until.max(self.now) + service;
        let mut leaves = device.busy_until;
        let mut duplicate = false;
        if let Some(faults) = self.faults.get_mut(&at.node) {
            if packet.is_smp() {
                faults.waits(leaves);
            }
            faults.spoil(&mut packet.mad);
            leaves = leaves + faults.late;
            duplicate = faults.duplicate;
        }
        packet.turn();
        // A directed route leads back through the port by which the request came; forwarding tables lead from the port with the LID.
        let from = if packet.dlid == PERMISSIVE_LID { at } else { self.network.end_port(at) };
        if duplicate {
            self.counters.answers += 1;
            self.launch(leaves + service, from, &mut packet.clone(), None);
        }
        self.counters.answers += 1;
        self.launch(leaves, from, packet, request);
        self.bring_about(reply.effect);
    }

    /// Takes the repression of a trap, which carries the transaction of its trap (IBA 13.4.9).
    fn repress(&mut self, at: PortRef, packet: &Packet) {
        let mad = &packet.mad;
        *self.counters.requests.entry((mad.method(), mad.attribute_id())).or_default() += 1;
        match sma::admits_repression(&mut self.network, at, packet.routed_from(), self.now, mad) {
            Ok(()) => {
                let end = self.network.end_port(at);
                self.traps.retain(|&(sender, _), trap| sender != end || trap.transaction != mad.transaction());
            }
            Err(effect) => self.bring_about(effect),
        }
    }

    fn bring_about(&mut self, effect: Option<Effect>) {
        match effect {
            None => {}
            Some(Effect::LinkUp(port)) => self.plan(self.now + TRAINING, Happening::Train(port)),
            Some(Effect::LinkReset(port)) => self.reset_link(port),
            Some(Effect::LinkDown(port)) => {
                self.take_down_by_set(port);
                self.plan(self.now + TRAINING, Happening::Train(port));
            }
            Some(Effect::Trap(from, details)) => self.start_trap(from, details),
        }
    }
}
