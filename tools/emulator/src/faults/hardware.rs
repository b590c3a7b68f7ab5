//! What faults change in the hardware.

use crate::network::Network;
use heddle_fabric::{Guid, NodeIndex, PortRef};
use heddle_mad::wire::{Attribute, PKeyTable};

impl Network {
    /// The cables in two ports change places, with all that is wrong with them. Their links are down, and no cable is in both.
    pub(crate) fn exchange_cables(&mut self, one: PortRef, other: PortRef) {
        let mut take = |at| {
            let port = self.port_mut(at)?;
            let cable = (port.peer.take(), port.cut, port.faults.take(), port.link);
            (port.cut, port.link) = Default::default();
            Some(cable)
        };
        let (Some(first), Some(second)) = (take(one), take(other)) else { return };
        for (at, (peer, cut, faults, link)) in [(one, second), (other, first)] {
            if let Some(far) = peer.and_then(|peer| self.port_mut(peer)) {
                far.peer = Some(at);
            }
            let port = self.port_mut(at).expect("it was there");
            (port.peer, port.cut, port.faults, port.link) = (peer, cut, faults, link);
        }
    }

    /// The node and its ports have GUIDs counted from this one.
    pub(crate) fn set_guid(&mut self, node: NodeIndex, guid: Guid) {
        let device = self.device_mut(node);
        let own = device.node_info.node_guid();
        device.node_info.set_node_guid(guid.0);
        for number in 0..=device.num_ports() {
            if let Some(port) = self.port_mut(PortRef::new(node, number)) {
                let offset = port.guid.wrapping_sub(own);
                if offset <= u64::from(u8::MAX) {
                    port.guid = guid.0.wrapping_add(offset);
                }
            }
        }
    }

    /// Writes an entry of a port's P_Key table, if it has it.
    pub(crate) fn write_p_key(&mut self, at: PortRef, index: u16, p_key: u16) {
        if self.port(at).is_none() || index >= self.p_key_cap(at) {
            return;
        }
        let block = u32::from(index) / PKeyTable::P_KEYS as u32;
        let mut data = self.p_key_block(at, block);
        data[usize::from(index) % PKeyTable::P_KEYS * 2..][..2].copy_from_slice(&p_key.to_be_bytes());
        self.device_mut(at.node).blocks.insert((PKeyTable::ID, at.port, block), data);
    }
}
