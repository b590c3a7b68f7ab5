//! How events happen.

use super::{CableFault, Event, Fault, Place};
use crate::faults::Faults;
use crate::network::Port;
use crate::random::Random;
use crate::script::Site;
use crate::timing::TRAINING;
use crate::traps::{LinkTrouble, TrapKind};
use crate::world::{Happening, World};
use heddle_fabric::{Guid, NodeIndex, NodeKind, PortRef};
use heddle_mad::wire::LocalChanges;
use std::collections::BTreeSet;
use std::time::Duration;

/// A port that babbles waits for at least so long between two traps.
const BABBLE_MIN: Duration = Duration::from_millis(1);

impl World {
    /// Lets `event` happen now. An event for a node or port that the fabric does not have, or that changes nothing, is none.
    pub fn apply(&mut self, event: Event) {
        match event {
            Event::Cut(place) => self.cables(place).into_iter().for_each(|at| self.cut(at)),
            Event::Restore(place) => self.cables(place).into_iter().for_each(|at| self.restore(at)),
            Event::Cable(place, fault) => self.cables(place).into_iter().for_each(|at| self.spoil_cable(at, fault)),
            Event::Move { from, to } => self.move_cable(from, to),
            Event::Swap(one, other) => self.swap_cables(one, other),
            Event::Split(nodes) => self.border(&nodes).into_iter().for_each(|at| self.cut(at)),
            Event::Merge(nodes) => self.border(&nodes).into_iter().for_each(|at| self.restore(at)),
            Event::RemoveNode(node) => self.remove_node(node),
            Event::ReturnNode(node) => self.return_node(node),
            Event::Reboot(node, time) => {
                self.remove_node(node);
                self.schedule(self.now + time, Event::ReturnNode(node));
            }
            Event::Fault(node, fault) => self.begin_fault(node, fault),
            Event::Heal(node) => self.heal(node),
            Event::Rename(node, description) => self.rename(node, description),
            Event::MKey { node, key, protect } => {
                for at in self.end_ports(node) {
                    if let Some(port) = self.network.port_mut(at) {
                        port.info.set_m_key(key);
                        port.info.set_m_key_protect_bits(protect);
                    }
                }
            }
            Event::PKey { at, index, p_key } => self.network.write_p_key(at, index, p_key),
            Event::Errors { at, counter, count } => {
                if let Some(port) = self.network.port_mut(at) {
                    *port.tally.error_mut(counter) += u64::from(count);
                }
            }
            Event::Groups { node, groups } => self.set_group_cap(node, groups),
            Event::Seed(seed) => self.network.random = Random(seed),
        }
    }

    /// [`Event::Cut`] of one cable, now.
    pub fn cut(&mut self, at: PortRef) {
        self.each_end(at, |port| port.cut = true);
        self.take_down(at);
    }

    /// [`Event::Restore`] of one cable, now.
    pub fn restore(&mut self, at: PortRef) {
        let was_slow = self.network.port(at).and_then(|port| port.faults.as_ref()).is_some_and(|faults| faults.slows_down());
        self.each_end(at, |port| {
            port.cut = false;
            port.faults = None;
        });
        if was_slow { self.train_again(at) } else { self.bring_up(at) }
    }

    /// [`Event::RemoveNode`], now.
    pub fn remove_node(&mut self, node: NodeIndex) {
        // First, so that it tells nobody of the links that it loses.
        if let Some(device) = self.network.devices.get_mut(node.index()) {
            device.present = false;
        }
        self.traps.retain(|&(sender, _), _| sender.node != node);
        for at in self.cable_ports(node) {
            self.take_down(at);
        }
    }

    /// [`Event::ReturnNode`], now.
    pub fn return_node(&mut self, node: NodeIndex) {
        match self.network.devices.get_mut(node.index()) {
            Some(device) if !device.present => device.present = true,
            _ => return,
        }
        self.network.reset(node);
        self.forget_requests(node);
        for at in self.end_ports(node) {
            self.show_is_sm(at); // the clients were not switched off
        }
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

    fn spoil_cable(&mut self, at: PortRef, fault: CableFault) {
        self.each_end(at, |port| port.faults.get_or_insert_default().add(fault));
        if matches!(fault, CableFault::Width(_) | CableFault::Speed(_)) {
            self.train_again(at);
        }
    }

    fn move_cable(&mut self, from: PortRef, to: PortRef) {
        let is_free = to.port != 0 && self.network.port(to).is_some_and(|port| port.peer.is_none());
        if is_free {
            self.swap_cables(from, to);
        }
    }

    fn swap_cables(&mut self, one: PortRef, other: PortRef) {
        let Some(near) = self.network.port(one) else { return };
        let is_possible =
            one != other && one.port != 0 && other.port != 0 && near.peer != Some(other) && self.network.port(other).is_some();
        if !is_possible {
            return;
        }
        for at in [one, other] {
            self.take_down(at);
        }
        self.network.exchange_cables(one, other);
        for at in [one, other] {
            self.plan(self.now + TRAINING, Happening::Train(at));
        }
    }

    fn begin_fault(&mut self, node: NodeIndex, fault: Fault) {
        if node.index() >= self.network.devices.len() {
            return;
        }
        let number = self.planned;
        let faults = self.faults.entry(node).or_default();
        faults.add(fault, number);
        match fault {
            Fault::Babble { port, trouble, .. } => self.babble(PortRef::new(node, port), trouble, number),
            Fault::Slow(_) => self.forget_requests(node),
            Fault::Guid(guid) => {
                faults.own_guid.get_or_insert(Guid(self.network.device(node).node_info.node_guid()));
                self.network.set_guid(node, guid);
            }
            _ => {}
        }
    }

    /// Sends a trap that is babbled, and goes on with it until the node is healed, or babbles it at another distance: as `number` says.
    pub(crate) fn babble(&mut self, at: PortRef, trouble: LinkTrouble, number: u64) {
        let is_this = |&&(port, other, _, since): &&(u8, LinkTrouble, Duration, u64)| (port, other, since) == (at.port, trouble, number);
        let Some(&(_, _, every, _)) = self.faults.get(&at.node).and_then(|faults| faults.babble.iter().find(is_this)) else { return };
        self.send_once(self.network.end_port(at), TrapKind::LinkTrouble(trouble, at.port));
        self.plan(self.now + every.max(BABBLE_MIN), Happening::Babble { at, trouble, number });
    }

    fn heal(&mut self, node: NodeIndex) {
        self.forget_requests(node);
        if let Some(own) = self.faults.remove(&node).and_then(|faults| faults.own_guid) {
            self.network.set_guid(node, own);
        }
    }

    /// What came while the node was slow does not keep it busy any longer.
    fn forget_requests(&mut self, node: NodeIndex) {
        if let Some(device) = self.network.devices.get_mut(node.index()) {
            device.busy_until = self.now;
        }
        if let Some(faults) = self.faults.get_mut(&node) {
            faults.forget_requests();
        }
    }

    pub(crate) fn take_down(&mut self, at: PortRef) {
        if self.network.lower(at) {
            self.link_changed(at);
        }
    }

    pub(crate) fn bring_up(&mut self, at: PortRef) {
        if self.network.raise(at) {
            self.link_changed(at);
        }
    }

    /// As [`World::take_down`], by a Set at this end. What a Set does at its own port is no PortStateChange (IBA 14.2.5.4).
    pub(crate) fn take_down_by_set(&mut self, at: PortRef) {
        if self.network.lower(at) {
            self.peer_changed(at);
        }
    }

    /// As [`World::take_down_by_set`], but only the logical state, which is INIT at once.
    pub(crate) fn reset_link(&mut self, at: PortRef) {
        if self.network.reset_link(at) {
            self.peer_changed(at);
        }
    }

    fn peer_changed(&mut self, at: PortRef) {
        if let Some(peer) = self.network.port(at).and_then(|port| port.peer) {
            self.port_changed(peer);
        }
    }

    fn link_changed(&mut self, at: PortRef) {
        let peer = self.network.port(at).and_then(|port| port.peer);
        for end in [Some(at), peer].into_iter().flatten() {
            self.port_changed(end);
        }
    }

    /// A switch notes and reports that a port's state changed.
    fn port_changed(&mut self, at: PortRef) {
        let device = self.network.device_mut(at.node);
        if let Some(switch) = device.switch.as_mut().filter(|_| device.present) {
            switch.info.set_port_state_change(true);
            self.start_trap(PortRef::new(at.node, 0), TrapKind::LinkState);
        }
    }

    /// Takes a link down that is up; it comes up as it can.
    fn train_again(&mut self, at: PortRef) {
        self.take_down(at);
        self.plan(self.now + TRAINING, Happening::Train(at));
    }

    fn cable_ports(&self, node: NodeIndex) -> Vec<PortRef> {
        let last = self.network.devices.get(node.index()).map_or(0, |device| device.num_ports());
        (1..=last).map(|number| PortRef::new(node, number)).collect()
    }

    fn end_ports(&self, node: NodeIndex) -> Vec<PortRef> {
        let first = PortRef::new(node, 0);
        let is_switch = self.network.devices.get(node.index()).is_some_and(|device| device.kind == NodeKind::Switch);
        if is_switch { vec![first] } else { self.cable_ports(node) }
    }

    fn each_end(&mut self, at: PortRef, change: impl Fn(&mut Port)) {
        let Some(peer) = self.network.port(at).and_then(|port| port.peer) else { return };
        for end in [at, peer] {
            self.network.port_mut(end).into_iter().for_each(&change);
        }
    }

    /// What is wrong with a node, as the events that make it so.
    pub(crate) fn node_faults(&self, node: NodeIndex) -> Vec<Event> {
        let is_gone = self.network.devices.get(node.index()).is_some_and(|device| !device.present);
        let faults = self.faults.get(&node).map(Faults::list).unwrap_or_default();
        is_gone.then_some(Event::RemoveNode(node)).into_iter().chain(faults.into_iter().map(|fault| Event::Fault(node, fault))).collect()
    }

    /// What is wrong with the cable in a port, as the events that make it so.
    pub(crate) fn cable_faults(&self, at: PortRef) -> Vec<Event> {
        let Some(port) = self.network.port(at) else { return Vec::new() };
        let faults = port.faults.as_ref().map(|faults| faults.list()).unwrap_or_default();
        let faults = faults.into_iter().map(|fault| Event::Cable(at.into(), fault));
        port.cut.then_some(Event::Cut(at.into())).into_iter().chain(faults).collect()
    }

    /// The cables of a place, each by one of its ends.
    fn cables(&self, place: Place) -> Vec<PortRef> {
        let cabled = |&at: &PortRef| self.network.port(at).is_some_and(|port| port.peer.is_some());
        match place {
            Place::Port(at) => vec![at],
            Place::Node(node) => self.cable_ports(node).into_iter().filter(cabled).collect(),
            Place::Everywhere => {
                let all = (0..self.network.devices.len() as u32).flat_map(|node| self.cable_ports(NodeIndex(node)));
                all.filter(|&at| self.network.port(at).and_then(|port| port.peer).is_some_and(|peer| at <= peer)).collect()
            }
        }
    }

    /// The cables between these nodes, with the hosts that hang on them alone, and the rest.
    fn border(&self, nodes: &[NodeIndex]) -> Vec<PortRef> {
        let neighbours = |node: NodeIndex| {
            let peers = self.cable_ports(node).into_iter().filter_map(|at| Some((at, self.network.port(at)?.peer?)));
            peers.collect::<Vec<_>>()
        };
        let mut inside: BTreeSet<NodeIndex> = nodes.iter().copied().collect();
        let hosts: Vec<NodeIndex> = (nodes.iter().flat_map(|&node| neighbours(node)).map(|(_, peer)| peer.node))
            .filter(|&node| self.network.device(node).kind != NodeKind::Switch)
            .filter(|&node| neighbours(node).iter().all(|(_, peer)| nodes.contains(&peer.node)))
            .collect();
        inside.extend(hosts);
        let all = inside.iter().flat_map(|&node| neighbours(node));
        all.filter(|(_, peer)| !inside.contains(&peer.node)).map(|(at, _)| at).collect()
    }
}

impl Site for World {
    fn node_count(&self) -> usize {
        self.network.devices.len()
    }

    fn description(&self, node: NodeIndex) -> &str {
        &self.network.device(node).description
    }

    fn guid(&self, node: NodeIndex) -> Guid {
        Guid(self.network.device(node).node_info.node_guid())
    }

    fn kind(&self, node: NodeIndex) -> NodeKind {
        self.network.device(node).kind
    }

    fn num_ports(&self, node: NodeIndex) -> u8 {
        self.network.device(node).num_ports()
    }

    fn peer(&self, at: PortRef) -> Option<PortRef> {
        self.network.port(at)?.peer
    }
}
