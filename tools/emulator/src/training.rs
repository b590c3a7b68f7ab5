//! How links come up and go down, and at which width and speed.

use crate::network::{Network, Port};
use heddle_fabric::{LinkSpeed, LinkWidth, PortRef};
use heddle_mad::wire::{LinkWidth as WireWidth, PhysicalState, PortInfo, PortState};

impl Network {
    /// Trains the link in port `at`, at both ends, if it is down and nothing hinders it. Whether the link came up.
    ///
    /// Both ends must be there and not disabled, one of them must poll (it wakes the other), and they need a width and a speed that
    /// both have enabled; the best are taken.
    pub(crate) fn raise(&mut self, at: PortRef) -> bool {
        let usable = |at: PortRef| {
            let port = self.port(at)?;
            (self.device(at.node).present && !port.cut && port.resting != PhysicalState::Disabled).then_some(port)
        };
        let Some(near) = usable(at) else { return false };
        let Some(peer) = near.peer.filter(|_| !near.is_up()) else { return false };
        let Some(far) = usable(peer) else { return false };
        if near.resting == PhysicalState::Sleep && far.resting == PhysicalState::Sleep {
            return false;
        }
        let Some((width, speed)) = agree(near, far) else { return false };
        for end in [at, peer] {
            let port = self.port_mut(end).expect("both ends are there");
            port.info.set_state(PortState::Init);
            port.info.set_physical_state(PhysicalState::LinkUp);
            port.info.set_link_width_active(wire_width(width));
            port.info.set_active_speed(wire_speed(speed));
            if port.info.link_speed_active() == 0 {
                // At an extended speed devices say QDR in the first field.
                port.info.set_link_speed_active(speed_bits(LinkSpeed::Qdr).0);
            }
            port.fdr10_active = speed == LinkSpeed::Fdr10;
            port.rest_by_default();
        }
        true
    }

    /// Takes the link in port `at` down, at both ends. Whether it was up.
    pub(crate) fn lower(&mut self, at: PortRef) -> bool {
        let Some(peer) = self.port(at).filter(|port| port.is_up()).and_then(|port| port.peer) else { return false };
        for end in [at, peer] {
            let port = self.port_mut(end).expect("a link that is up has two ends");
            port.info.set_state(PortState::Down);
            port.info.set_physical_state(port.resting);
            port.tally.link_downed += 1;
        }
        true
    }

    /// Lets both ends of the link in port `at` begin anew, in INIT, if it is up (IBA 7.2.7: a Set to DOWN resets the logical state only).
    /// Whether the other end notices, which is in INIT already as long as no manager has been there.
    pub(crate) fn reset_link(&mut self, at: PortRef) -> bool {
        let Some(peer) = self.port(at).filter(|port| port.is_up()).and_then(|port| port.peer) else { return false };
        let notices = self.port(peer).is_some_and(|port| port.info.state() != Some(PortState::Init));
        for end in [at, peer] {
            self.port_mut(end).expect("a link that is up has two ends").info.set_state(PortState::Init);
        }
        notices
    }

    /// A data packet arrived at an ARMED port: it becomes ACTIVE (IBA 7.2.7).
    pub(crate) fn activate_by_data(&mut self, at: PortRef) {
        if let Some(port) = self.port_mut(at)
            && port.info.state() == Some(PortState::Armed)
        {
            port.info.set_state(PortState::Active);
        }
    }
}

impl Port {
    /// Where the port goes when its link fails by itself: to LinkDownDefaultState.
    pub(crate) fn rest_by_default(&mut self) {
        let default = PhysicalState::from_code(self.info.link_down_default_state());
        self.resting = default.unwrap_or(PhysicalState::Polling);
    }
}

/// The best width and the best speed that both ends have enabled and the cable carries.
fn agree(near: &Port, far: &Port) -> Option<(LinkWidth, LinkSpeed)> {
    let faults = near.faults.as_deref();
    let most_lanes = faults.and_then(|faults| faults.width);
    let fastest = faults.and_then(|faults| faults.speed);
    let widths = near.info.link_width_enabled() & far.info.link_width_enabled();
    let width = LinkWidth::ALL.into_iter().rfind(|&width| {
        widths & wire_width(width) != 0
            && near.link.width.is_none_or(|most| width <= most)
            && far.link.width.is_none_or(|most| width <= most)
            && most_lanes.is_none_or(|most| width <= most)
    })?;
    let speed = LinkSpeed::ALL.into_iter().rfind(|&speed| {
        let carried = |port: &Port| port.link.speed.is_none_or(|most| speed <= most);
        enables(near, speed) && enables(far, speed) && carried(near) && carried(far) && fastest.is_none_or(|most| speed <= most)
    })?;
    Some((width, speed))
}

/// LinkSpeedExtEnabled: no extended speed.
pub(crate) const NO_EXTENDED_SPEED: u8 = 30;
/// LinkSpeedExtEnabled2: no speed of the second row, by analogy with the first.
pub(crate) const NO_EXTENDED_SPEED_2: u8 = 6;

/// Whether a port has a speed enabled.
fn enables(port: &Port, speed: LinkSpeed) -> bool {
    let (first, extended, extended_2) = speed_bits(speed);
    let unless = |none: u8, mask: u8| if mask == none { 0 } else { mask };
    let extended_enabled = unless(NO_EXTENDED_SPEED, port.info.link_speed_ext_enabled());
    let extended_2_enabled = unless(NO_EXTENDED_SPEED_2, port.info.link_speed_ext_enabled_2());
    (speed == LinkSpeed::Fdr10 && port.fdr10_enabled)
        || port.info.link_speed_enabled() & first != 0
        || extended_enabled & extended != 0
        || extended_2_enabled & extended_2 != 0
}

/// The bits of a speed in LinkSpeed, LinkSpeedExt and LinkSpeedExt2, Supported and Enabled alike. FDR10 has none.
fn speed_bits(speed: LinkSpeed) -> (u8, u8, u8) {
    let mut info = PortInfo::default();
    if speed != LinkSpeed::Fdr10 {
        // The codes of the active speed are the bits of the masks.
        info.set_active_speed(wire_speed(speed));
    }
    (info.link_speed_active(), info.link_speed_ext_active(), info.link_speed_ext_active_2())
}

/// What a port supports, all of it enabled.
pub(crate) fn support(info: &mut PortInfo, speeds: &[LinkSpeed], widths: &[LinkWidth]) {
    let (mut first, mut extended, mut extended_2) = (0, 0, 0);
    for &speed in speeds {
        let bits = speed_bits(speed);
        first |= bits.0;
        extended |= bits.1;
        extended_2 |= bits.2;
    }
    info.set_link_speed_supported(first);
    info.set_link_speed_enabled(first);
    info.set_link_speed_ext_supported(extended);
    info.set_link_speed_ext_enabled(extended);
    info.set_link_speed_ext_supported_2(extended_2);
    info.set_link_speed_ext_enabled_2(extended_2);
    let widths = widths.iter().fold(0, |mask, &width| mask | wire_width(width));
    info.set_link_width_supported(widths);
    info.set_link_width_enabled(widths);
}

fn wire_width(width: LinkWidth) -> u8 {
    (match width {
        LinkWidth::X1 => WireWidth::X1,
        LinkWidth::X2 => WireWidth::X2,
        LinkWidth::X4 => WireWidth::X4,
        LinkWidth::X8 => WireWidth::X8,
        LinkWidth::X12 => WireWidth::X12,
    }) as u8
}

fn wire_speed(speed: LinkSpeed) -> heddle_mad::wire::LinkSpeed {
    use heddle_mad::wire::LinkSpeed as Wire;
    match speed {
        LinkSpeed::Sdr => Wire::Sdr,
        LinkSpeed::Ddr => Wire::Ddr,
        LinkSpeed::Qdr => Wire::Qdr,
        LinkSpeed::Fdr10 => Wire::Fdr10,
        LinkSpeed::Fdr => Wire::Fdr,
        LinkSpeed::Edr => Wire::Edr,
        LinkSpeed::Hdr => Wire::Hdr,
        LinkSpeed::Ndr => Wire::Ndr,
        LinkSpeed::Xdr => Wire::Xdr,
    }
}
