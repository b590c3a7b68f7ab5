//! Who is attached where, and who takes which requests.

use crate::packet::Packet;
use heddle_fabric::PortRef;
use heddle_mad::wire::Method;
use std::collections::{BTreeMap, VecDeque};

/// A client of a [`crate::World`], 1 to 65,535. Bits 63 to 48 of the transaction id of each request that it sends are this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub u16);

/// Whether a client hears of losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Losses {
    /// As on hardware: a packet that gets lost is silence.
    Silent,
    /// [`Delivered::Lost`] comes for a request that gets no answer, as soon as that is certain.
    Told,
}

/// What a client gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivered {
    /// A packet from the fabric: an answer, a request or a trap.
    Received(Packet),
    /// A request of the client's own, as it was sent, that will get no answer: it was lost, or nobody answers it, or the answer was lost.
    /// Only with [`Losses::Told`].
    Lost(Packet),
}

/// Requests and traps that a client takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interest {
    /// Management class.
    pub class: u8,
    /// Version of the class.
    pub version: u8,
    /// Bit `n` is method `n`.
    pub methods: u128,
}

impl Interest {
    /// All requests of a class.
    pub const fn all(class: u8, version: u8) -> Self {
        Self { class, version, methods: u128::MAX }
    }

    fn holds(&self, packet: &Packet) -> bool {
        let Method(method) = packet.mad.method();
        self.class == packet.mad.class().0
            && self.version == packet.mad.class_version()
            && self.methods.checked_shr(method.into()).is_some_and(|methods| methods & 1 != 0)
    }
}

#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) at: PortRef,
    pub(crate) losses: Losses,
    pub(crate) interests: Vec<Interest>,
    pub(crate) is_sm: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Clients {
    by_id: BTreeMap<ClientId, Client>,
    by_port: BTreeMap<PortRef, Vec<ClientId>>,
    /// Requests whose sender hears of losses, and the client that was given each to answer it.
    entrusted: VecDeque<(ClientId, Packet)>,
    last: u16,
}

/// Of more requests that clients leave without an answer, the oldest are forgotten.
const ENTRUSTED_MAX: usize = 1_024;

impl Clients {
    /// A new client; `None` if there are 65,535. Numbers are not used again soon, so that no late answer reaches a stranger.
    pub(crate) fn add(&mut self, at: PortRef, losses: Losses) -> Option<ClientId> {
        let after = (self.last..u16::MAX).map(|last| last + 1);
        let id = after.chain(1..=self.last).map(ClientId).find(|id| !self.by_id.contains_key(id))?;
        self.last = id.0;
        self.by_id.insert(id, Client { at, losses, interests: Vec::new(), is_sm: false });
        self.by_port.entry(at).or_default().push(id);
        Some(id)
    }

    /// Gives the requests that it leaves without an answer.
    pub(crate) fn remove(&mut self, id: ClientId) -> Vec<Packet> {
        let Some(client) = self.by_id.remove(&id) else { return Vec::new() };
        if let Some(here) = self.by_port.get_mut(&client.at) {
            here.retain(|&other| other != id);
            if here.is_empty() {
                self.by_port.remove(&client.at);
            }
        }
        let left = self.entrusted.iter().filter(|(to, _)| *to == id).map(|(_, request)| *request).collect();
        self.entrusted.retain(|(to, _)| *to != id);
        left
    }

    /// A client is given a request whose sender hears of losses.
    pub(crate) fn entrust(&mut self, to: ClientId, request: &Packet) {
        if self.entrusted.len() >= ENTRUSTED_MAX {
            self.entrusted.pop_front();
        }
        self.entrusted.push_back((to, *request));
    }

    /// The request that a client answers, if its sender hears of losses.
    pub(crate) fn answered(&mut self, by: ClientId, answer: &Packet) -> Option<Packet> {
        let transaction = answer.mad.transaction();
        let at = self.entrusted.iter().position(|(to, request)| *to == by && request.mad.transaction() == transaction)?;
        self.entrusted.remove(at).map(|(_, request)| request)
    }

    pub(crate) fn count(&self) -> usize {
        self.by_id.len()
    }

    pub(crate) fn get(&self, id: ClientId) -> Option<&Client> {
        self.by_id.get(&id)
    }

    pub(crate) fn get_mut(&mut self, id: ClientId) -> Option<&mut Client> {
        self.by_id.get_mut(&id)
    }

    /// Whether a subnet manager is at the end port.
    pub(crate) fn any_sm(&self, at: PortRef) -> bool {
        self.by_port.get(&at).is_some_and(|here| here.iter().any(|id| self.by_id[id].is_sm))
    }

    /// The client at the end port `at` that began the transaction of a response.
    pub(crate) fn of_transaction(&self, at: PortRef, packet: &Packet) -> Option<ClientId> {
        let id = ClientId((packet.mad.transaction() >> 48) as u16);
        self.get(id).is_some_and(|client| client.at == at).then_some(id)
    }

    /// The client at the end port `at` that takes a request, the first attached if several would.
    pub(crate) fn interested(&self, at: PortRef, packet: &Packet) -> Option<ClientId> {
        let here = self.by_port.get(&at)?;
        here.iter().copied().find(|id| self.by_id[id].interests.iter().any(|interest| interest.holds(packet)))
    }
}
