//! Which management agent of a device answers a request.

use crate::network::Network;
use crate::packet::Packet;
use crate::pma;
use crate::sma::{self, Reply};
use heddle_fabric::{NodeKind, PortRef};
use heddle_mad::Time;
use heddle_mad::wire::{Class, Mad, Method, Status};

/// Lets the agent of the packet's class turn a request that came in through `at` into its answer; `None` if the device has no agent for the
/// class. Subnet management is at queue pair 0, all else at queue pair 1; whoever calls has seen to that.
pub(crate) fn answer(network: &mut Network, at: PortRef, now: Time, packet: &mut Packet) -> Option<Reply> {
    match packet.mad.class() {
        Class::SUBN_LID | Class::SUBN_DIRECTED => Some(sma::answer(network, at, packet.routed_from(), now, &mut packet.mad)),
        Class::PERF => Some(pma::answer(network, at, &mut packet.mad)),
        _ if network.device(at.node).kind == NodeKind::Ca => refuse(&mut packet.mad),
        _ => None,
    }
}

/// A host's operating system refuses what nobody there takes: Linux answers a Get or Set of any class with this status, and nothing else
/// (`generate_unmatched_resp` in its `drivers/infiniband/core/mad.c`).
fn refuse(mad: &mut Mad) -> Option<Reply> {
    if !matches!(mad.method(), Method::GET | Method::SET) {
        return None;
    }
    mad.set_method(Method::GET_RESP);
    mad.set_status(Status::BAD_ATTRIBUTE);
    Some(Reply { answered: true, effect: None })
}
