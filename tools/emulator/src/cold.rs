//! What a device has when its power comes on.

use crate::models::{Model, SwitchModel};
use crate::training::support;
use heddle_fabric::{Link, LinkSpeed, LinkWidth};
use heddle_mad::wire::{CapabilityMask2, Mtu, PhysicalState, PortInfo, PortState, SwitchInfo};

/// SwitchInfo: the sizes of the tables; all ports drop what they have no entry for.
pub(crate) fn switch_info(model: &SwitchModel) -> SwitchInfo {
    let mut info = SwitchInfo::default();
    info.set_linear_fdb_cap(model.linear_fdb_cap);
    info.set_multicast_fdb_cap(model.multicast_fdb_cap);
    info.set_default_multicast_primary_port(0xff);
    info.set_default_multicast_not_primary_port(0xff);
    info.set_optimized_sl_to_vl_mapping(u8::from(model.optimized_sl_to_vl));
    info.set_partition_enforcement_cap(model.partition_enforcement_cap);
    info.set_inbound_enforcement_cap(model.enforces_inbound);
    info.set_outbound_enforcement_cap(model.enforces_outbound);
    info.set_filter_raw_inbound_cap(model.filters_raw);
    info.set_filter_raw_outbound_cap(model.filters_raw);
    info.set_enhanced_port0(model.enhanced_port0);
    info
}

/// PortInfo of a port whose link is down. `best` is what any of the device's ports supports.
pub(crate) fn port_info(model: &Model, number: u8, own: &Support, best: &Support) -> PortInfo {
    let mut info = PortInfo::default();
    let is_end = model.switch.is_none() || number == 0;
    info.set_mtu_cap(model.mtu_cap() as u8);
    if is_end {
        info.set_guid_cap(model.guid_cap);
        info.set_resp_time_value(model.resp_time_value);
        info.set_capability_mask(model.capabilities().bits());
        info.set_capability_mask_2((model.capabilities_2() | best.capabilities_2()).bits());
    }
    if is_end && model.switch.is_some() {
        info.set_state(PortState::Active);
        info.set_physical_state(PhysicalState::LinkUp);
        info.set_neighbor_mtu(info.mtu_cap());
        // Port 0 has a VL for all that it says.
        info.set_vl_cap(1);
        info.set_operational_vls(1);
        return info;
    }
    info.set_state(PortState::Down);
    info.set_physical_state(PhysicalState::Polling);
    info.set_link_down_default_state(PhysicalState::Polling as u8);
    info.set_neighbor_mtu(Mtu::B256 as u8); // what a manager forgets to raise shall be seen
    info.set_vl_cap(model.vl_cap());
    info.set_operational_vls(model.vl_cap()); // OpenSM's lash and dfsssp take this for what there is, and so ibsim has it
    info.set_vl_arbitration_high_cap(model.vl_arbitration_cap);
    info.set_vl_arbitration_low_cap(model.vl_arbitration_cap);
    info.set_local_phy_errors(8);
    info.set_overrun_errors(8);
    // What a port without a link says of it.
    info.set_link_width_active(heddle_mad::wire::LinkWidth::X4 as u8);
    info.set_active_speed(heddle_mad::wire::LinkSpeed::Sdr);
    support(&mut info, &own.speeds, &own.widths);
    info
}

/// The speeds and widths that a port supports.
#[derive(Debug, Default)]
pub(crate) struct Support {
    pub(crate) speeds: Vec<LinkSpeed>,
    pub(crate) widths: Vec<LinkWidth>,
}

impl Support {
    /// Those of the model. A cable that is known to do more than the model is believed; of a device that nobody knows, the ports do what
    /// their cables do.
    pub(crate) fn of(model: &Model, link: Link) -> Self {
        let fastest = link.speed.unwrap_or(LinkSpeed::Hdr);
        let speed = |speed: &LinkSpeed| match model.speeds.is_empty() {
            true => *speed == fastest || (*speed <= fastest.max(LinkSpeed::Qdr) && *speed != LinkSpeed::Fdr10),
            false => model.speeds.contains(speed) || link.speed == Some(*speed),
        };
        let width = |width: &LinkWidth| match model.widths.is_empty() {
            true => matches!(width, LinkWidth::X1 | LinkWidth::X4) || link.width == Some(*width),
            false => model.widths.contains(width) || link.width == Some(*width),
        };
        Self { speeds: LinkSpeed::ALL.into_iter().filter(speed).collect(), widths: LinkWidth::ALL.into_iter().filter(width).collect() }
    }

    /// What these and those support.
    pub(crate) fn join(&mut self, other: Self) {
        self.speeds.extend(other.speeds);
        self.widths.extend(other.widths);
    }

    fn capabilities_2(&self) -> CapabilityMask2 {
        use CapabilityMask2 as C;
        let mut mask = C::empty();
        mask.set(C::LINK_WIDTH_2X, self.widths.contains(&LinkWidth::X2));
        mask.set(C::LINK_SPEED_HDR, self.speeds.contains(&LinkSpeed::Hdr));
        mask.set(C::LINK_SPEED_NDR, self.speeds.contains(&LinkSpeed::Ndr));
        mask.set(C::EXTENDED_SPEEDS_2 | C::LINK_SPEED_XDR, self.speeds.contains(&LinkSpeed::Xdr));
        mask
    }
}
