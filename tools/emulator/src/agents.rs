//! Which management agent of a device answers a request.

use crate::network::{Device, Network};
use crate::packet::Packet;
use crate::sma::{self, MELLANOX, Reply};
use crate::{congestion, pma, vendor};
use heddle_fabric::PortRef;
use heddle_mad::Time;
use heddle_mad::wire::{Class, Method, Status};

/// Lets the agent of the packet's class turn a request that came in through `at` into its answer; `None` if nobody answers. Subnet
/// management is at queue pair 0, all else at queue pair 1; whoever calls has seen to that.
pub(crate) fn answer(network: &mut Network, at: PortRef, now: Time, packet: &mut Packet) -> Option<Reply> {
    match packet.mad.class() {
        Class::SUBN_LID | Class::SUBN_DIRECTED => Some(sma::answer(network, at, packet.routed_from(), now, &mut packet.mad)),
        Class::PERF => Some(pma::answer(network, at, &mut packet.mad)),
        Class::CONGESTION if controls_congestion(network.device(at.node)) => Some(congestion::answer(network, at, now, &mut packet.mad)),
        Class::MELLANOX if network.node_info(at).vendor_id() == MELLANOX => Some(vendor::answer(network, at, now, &mut packet.mad)),
        _ => refuse(network, at, packet),
    }
}

/// Congestion control came with the generation that has ExtendedPortInfo.
fn controls_congestion(device: &Device) -> bool {
    device.model.extended_port_info || device.model.is_default()
}

/// A Get or Set of a class that there is no agent for. A host's Linux kernel says that it does not know the attribute (drivers/infiniband,
/// mad.c: generate_unmatched_resp); a switch, that it does not know the class (IBA 13.4.7). Other methods get no answer.
fn refuse(network: &Network, at: PortRef, packet: &mut Packet) -> Option<Reply> {
    if !matches!(packet.mad.method(), Method::GET | Method::SET) {
        return None;
    }
    let is_switch = network.device(at.node).switch.is_some();
    packet.mad.set_status(if is_switch { Status::BAD_VERSION } else { Status::BAD_ATTRIBUTE });
    packet.mad.set_method(Method::GET_RESP);
    Some(Reply { answered: true, effect: None })
}
