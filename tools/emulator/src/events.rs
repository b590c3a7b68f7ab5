//! What happens to the fabric: cables, power, names.

use crate::World;
use crate::faults::Fault;
use crate::traps::TrapKind;
use heddle_fabric::{NodeIndex, PortRef};
use heddle_mad::wire::LocalChanges;

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

impl World {
    /// Lets `event` happen now. An event for a node or port that the fabric does not have, or that changes nothing, is none.
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
        if let Some(switch) = &mut self.network.device_mut(at.node).switch {
            switch.info.set_port_state_change(true);
            self.start_trap(PortRef::new(at.node, 0), TrapKind::LinkState);
        }
    }
}
