//! What each port should be set to.

use crate::Config;
use crate::snapshot::Snapshot;
use crate::survey::Survey;
use heddle_fabric::{NodeKind, PortRef};
use heddle_mad::wire::PortInfo;

/// The parameters that a subnet manager gives a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// LID and subnet prefix where the port has a LID of its own: hosts, and port 0 of switches.
    address: Option<(u16, u64)>,
    master_sm_lid: u16,
    /// MTU code and operational-VLs code: for both ends of a cable the same. Port 0 of a switch has them where it is an enhanced one.
    link: Option<(u8, u8)>,
    /// Whether a host is at one end of the cable.
    edge: bool,
}

/// OpenSM's defaults, which every site runs with: `subnet_timeout`, `head_of_queue_lifetime`, `leaf_head_of_queue_lifetime`,
/// `vl_stall_count`, `local_phy_errors_threshold`, `overrun_errors_threshold`.
const SUBNET_TIMEOUT: u8 = 18;
const HOQ_LIFE: u8 = 0x12;
const LEAF_HOQ_LIFE: u8 = 0x10;
const VL_STALL_COUNT: u8 = 7;
const ERROR_THRESHOLD: u8 = 8;
/// LinkDownDefaultState: Polling, so that a cable that comes back trains by itself (IBA 14.2.5.6).
const POLLING: u8 = 2;

impl Wanted {
    /// What `at` of the snapshot should be set to.
    pub(crate) fn of(config: &Config, survey: &Survey, snapshot: &Snapshot, at: PortRef, master_sm_lid: u16) -> Self {
        let fabric = &snapshot.fabric;
        let is_switch = |port: PortRef| fabric.node(port.node).kind == NodeKind::Switch;
        let port = fabric.port(at).expect("the port is one of the fabric's");
        let addressed = !is_switch(at) || at.port == 0;
        let address = port.lid.filter(|_| addressed).map(|lid| (lid.get(), config.subnet_prefix));
        let info = |at: PortRef| snapshot.found(survey, at.node).ports[usize::from(at.port)];
        let link = port.peer.and_then(|peer| {
            let (here, there) = (info(at)?, info(peer)?);
            // A code of 0 would be none, whoever said it: 1 is 256 bytes, and VL0.
            Some((here.mtu_cap().min(there.mtu_cap()).max(1), here.vl_cap().min(there.vl_cap()).max(1)))
        });
        let enhanced = at.port == 0 && snapshot.found(survey, at.node).has_enhanced_port0();
        let own = info(at).filter(|_| enhanced).map(|info| (info.mtu_cap().max(1), info.operational_vls()));
        let link = link.or(own);
        let edge = port.peer.is_some_and(|peer| !is_switch(at) || !is_switch(peer));
        Self { address, master_sm_lid: if addressed { master_sm_lid } else { 0 }, link, edge }
    }

    /// Writes these parameters into what the port answered; the port's state, link width and speed stay as they are.
    pub(crate) fn apply(&self, info: &mut PortInfo) {
        info.set_port_state(0); // no change
        info.set_port_physical_state(0); // no change
        info.set_link_down_default_state(POLLING);
        // No change: the node's own choice stands, whatever it said.
        info.set_link_width_enabled(0);
        info.set_link_speed_enabled(0);
        info.set_link_speed_ext_enabled(0);
        if let Some((lid, prefix)) = self.address {
            // No M_Key: one that a node made up would lock everybody out.
            info.set_m_key(0);
            info.set_m_key_protect_bits(0);
            info.set_m_key_lease_period(0);
            info.set_lid(lid);
            info.set_lmc(0);
            info.set_gid_prefix(prefix);
            info.set_master_sm_lid(self.master_sm_lid);
            info.set_master_sm_sl(0);
            info.set_subnet_timeout(SUBNET_TIMEOUT);
        }
        if let Some((mtu, vls)) = self.link {
            info.set_neighbor_mtu(mtu);
            info.set_operational_vls(vls);
            info.set_hoq_life(if self.edge { LEAF_HOQ_LIFE } else { HOQ_LIFE });
            info.set_vl_stall_count(VL_STALL_COUNT);
            info.set_local_phy_errors(ERROR_THRESHOLD);
            info.set_overrun_errors(ERROR_THRESHOLD);
        }
    }

    /// The LID that the port should have, if it should have one.
    pub(crate) fn lid(&self) -> Option<u16> {
        self.address.map(|(lid, _)| lid)
    }
}
