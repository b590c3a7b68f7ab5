//! How packets travel: by directed route and by forwarding tables.

use crate::network::Network;
use heddle_fabric::{NodeKind, PortRef};
use heddle_mad::wire::{Mad, Path};
use std::fmt;

/// Where and why a packet was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("lost at port {} of node {}: {why}", .at.port, .at.node.0)]
pub struct Lost {
    /// The port of exit that failed; where there is none, the port by which the packet came in.
    pub at: PortRef,
    /// The reason.
    pub why: LostWhy,
}

/// Why a packet was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LostWhy {
    /// The node was removed.
    NodeRemoved,
    /// The node has no such port.
    NoSuchPort,
    /// No cable is in the port, it was cut, or a port at its ends is down.
    LinkDown,
    /// A port of the cable is up but not ACTIVE: it carries subnet management packets only (IBA 7.2.7).
    NotActive,
    /// The forwarding table has no entry for the LID.
    NoEntry,
    /// The LID is above the switch's LinearFDBTop.
    AboveTop,
    /// The forwarding table leads to a port that does not have the LID.
    WrongPort,
    /// The forwarding tables lead in a circle.
    Loop,
    /// A directed route goes on beyond a node that is no switch, or leaves by another port than the one it starts at.
    NotThrough,
    /// The header of a directed route contradicts itself.
    BadRoute,
    /// Nobody is there to take the packet.
    NoReceiver,
}

impl fmt::Display for LostWhy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NodeRemoved => "the node is not there",
            Self::NoSuchPort => "the node has no such port",
            Self::LinkDown => "the link is down",
            Self::NotActive => "the link is not ACTIVE",
            Self::NoEntry => "the forwarding table has no entry for the LID",
            Self::AboveTop => "the LID is above LinearFDBTop",
            Self::WrongPort => "the forwarding table leads to a port that does not have the LID",
            Self::Loop => "the forwarding tables lead in a circle",
            Self::NotThrough => "the directed route does not lead through a switch",
            Self::BadRoute => "the directed route's header contradicts itself",
            Self::NoReceiver => "nobody takes such a packet there",
        })
    }
}

/// What a packet needs of the links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// VL15, subnet management: a link that is up, whatever its state (IBA 7.2.7).
    Management,
    /// Any other: ACTIVE at both ends.
    Data,
}

/// Where a packet arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// The port by which it came in; where it starts when it made no hop.
    pub(crate) at: PortRef,
    pub(crate) hops: u32,
}

impl Network {
    /// Through the cable in port `out`, to the port at its other end.
    fn cross(&self, out: PortRef, lane: Lane) -> Result<PortRef, Lost> {
        let lost = |why| Lost { at: out, why };
        let port = self.port(out).filter(|_| out.port != 0).ok_or(lost(LostWhy::NoSuchPort))?;
        let peer = port.peer.filter(|_| port.is_up()).ok_or(lost(LostWhy::LinkDown))?;
        let far = self.port(peer).ok_or(lost(LostWhy::LinkDown))?;
        match lane {
            Lane::Data if !(port.is_active() && far.is_active()) => Err(lost(LostWhy::NotActive)),
            _ => Ok(peer),
        }
    }

    /// Sends a packet from an end port by the forwarding tables. `visit` sees each port of exit and each port of entry.
    pub(crate) fn forward(&self, from: PortRef, dlid: u16, lane: Lane, mut visit: impl FnMut(PortRef)) -> Result<Arrival, Lost> {
        let mut at = from;
        // A packet that made more hops than there are nodes has been at one of them twice, and will be for ever.
        for hops in 0..=self.devices.len() as u32 {
            let lost = |at, why| Err(Lost { at, why });
            let device = self.device(at.node);
            if !device.present {
                return lost(at, LostWhy::NodeRemoved);
            }
            let out = match &device.switch {
                Some(switch) if dlid > switch.info.linear_fdb_top() => return lost(at, LostWhy::AboveTop),
                Some(switch) => switch.lft.get(usize::from(dlid)).copied().unwrap_or(0xff),
                None if self.owns(at, dlid) => return Ok(Arrival { at, hops }),
                None if hops == 0 => at.port,
                None => return lost(at, LostWhy::WrongPort),
            };
            let out = PortRef::new(at.node, out);
            if out.port == 0 {
                return if self.owns(out, dlid) { Ok(Arrival { at, hops }) } else { lost(out, LostWhy::WrongPort) };
            }
            if out.port == 0xff {
                return lost(at, LostWhy::NoEntry);
            }
            at = {
                let peer = self.cross(out, lane)?;
                visit(out);
                visit(peer);
                peer
            };
        }
        Err(Lost { at, why: LostWhy::Loop })
    }

    /// Sends a directed-route request from `start` outward, and fills in its return path (IBA 14.2.2.2).
    pub(crate) fn directed_out(&self, start: PortRef, mad: &mut Mad) -> Result<Arrival, Lost> {
        let lost = |at, why| Err(Lost { at, why });
        let Some(path) = mad.initial_path().filter(|_| mad.hop_pointer() == 0 && mad.dr_dlid() == 0xffff) else {
            return lost(start, LostWhy::BadRoute);
        };
        if !self.device(start.node).present {
            return lost(start, LostWhy::NodeRemoved);
        }
        let mut at = start;
        for (hop, &port) in path.ports().iter().enumerate() {
            let out = PortRef::new(at.node, port);
            let through = self.device(at.node).kind == NodeKind::Switch || (hop == 0 && out == start);
            if !through {
                return lost(at, LostWhy::NotThrough);
            }
            at = self.cross(out, Lane::Management)?;
            mad.return_path_mut()[hop + 1] = at.port;
        }
        mad.set_hop_pointer(path.hops() + 1);
        Ok(Arrival { at, hops: u32::from(path.hops()) })
    }

    /// Sends the answer of a directed-route request back by the return path, from the port by which the request came in.
    pub(crate) fn directed_back(&self, start: PortRef, mad: &mut Mad) -> Result<Arrival, Lost> {
        let lost = |at, why| Err(Lost { at, why });
        let hops = mad.hop_count();
        if usize::from(hops) > Path::MAX_HOPS {
            return lost(start, LostWhy::BadRoute);
        }
        let mut at = start;
        for hop in (1..=hops).rev() {
            let out = PortRef::new(at.node, mad.return_path()[usize::from(hop)]);
            let through = self.device(at.node).kind == NodeKind::Switch || (hop == hops && out == start);
            if !through {
                return lost(at, LostWhy::NotThrough);
            }
            at = self.cross(out, Lane::Management)?;
        }
        mad.set_hop_pointer(0);
        Ok(Arrival { at, hops: u32::from(hops) })
    }
}
