//! SwitchInfo (IBA 14.2.5.4).

use crate::network::Network;
use heddle_fabric::{NodeIndex, PortRef};
use heddle_mad::wire::{CapabilityMask, Status, SwitchInfo};

/// MulticastFDBTop: the table has no entries that count.
const NO_MULTICAST: u16 = 0xbfff;
const FIRST_MULTICAST_LID: u16 = 0xc000;

/// Takes over what may be written, all of it or nothing.
pub(super) fn set(network: &mut Network, node: NodeIndex, wanted: &SwitchInfo) -> Result<(), Status> {
    let has_multicast_top =
        (network.port(PortRef::new(node, 0))).is_some_and(|port| port.info.capabilities().contains(CapabilityMask::MULTICAST_FDB_TOP));
    let info = &mut network.device_mut(node).switch.as_mut().ok_or(Status::BAD_ATTRIBUTE)?.info;
    if wanted.linear_fdb_top() >= info.linear_fdb_cap() {
        return Err(Status::BAD_FIELD);
    }
    if has_multicast_top {
        // 0 is "no such limit", as after a reset.
        let top = wanted.multicast_fdb_top();
        let in_table = top >= FIRST_MULTICAST_LID && top - FIRST_MULTICAST_LID < info.multicast_fdb_cap();
        if !(top == 0 || top == NO_MULTICAST || in_table) {
            return Err(Status::BAD_FIELD);
        }
        info.set_multicast_fdb_top(top);
    }
    info.set_linear_fdb_top(wanted.linear_fdb_top());
    info.set_default_port(wanted.default_port());
    info.set_default_multicast_primary_port(wanted.default_multicast_primary_port());
    info.set_default_multicast_not_primary_port(wanted.default_multicast_not_primary_port());
    info.set_life_time_value(wanted.life_time_value());
    if wanted.port_state_change() {
        info.set_port_state_change(false);
    }
    Ok(())
}
