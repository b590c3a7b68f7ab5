//! Which traffic counts for deadlock.

use heddle_fabric::{EndPort, Fabric, SwitchIndex};

/// The switches that have hosts with a LID, ascending, and how many.
pub(crate) fn host_switches(fabric: &Fabric) -> Vec<(SwitchIndex, u32)> {
    let mut hosts = vec![0; fabric.switch_count()];
    for end in fabric.end_ports().iter().filter(|end| end.is_host()) {
        hosts[end.switch.index()] += 1;
    }
    let all = hosts.into_iter().enumerate().map(|(switch, hosts)| (SwitchIndex(switch as u32), hosts));
    all.filter(|&(_, hosts)| hosts > 0).collect()
}

/// Whether packets to this end port count wherever they come from; else only those from [`host_switches`] do.
pub(crate) const fn counts_from_everywhere(to: &EndPort) -> bool {
    to.is_host()
}
