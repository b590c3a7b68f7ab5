//! How packets travel: by directed route and by forwarding tables.

use crate::adaptive::{Choice, Transport};
use crate::faults::Passage;
use crate::network::Network;
use crate::packet::{PERMISSIVE_LID, Packet};
use crate::partitions::Passing;
use heddle_fabric::{NodeKind, PortRef};
use heddle_mad::wire::{Class, Mad, Path};
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
    /// The SL to VL mapping gives the packet no VL that the port of exit has.
    NoVl,
    /// The LID is above the switch's LinearFDBTop.
    AboveTop,
    /// The forwarding table leads to a port that does not have the LID.
    WrongPort,
    /// The forwarding tables lead in a circle, or back through the port by which the packet came.
    Loop,
    /// A directed route goes on beyond a node that is no switch, or leaves by another port than the one it starts at; or it changes there
    /// from or to forwarding tables.
    NotThrough,
    /// The header of a directed route contradicts itself.
    BadRoute,
    /// The port, or a switch's port that enforces partitions, has no P_Key that matches the packet's.
    WrongPKey,
    /// The packet does not have the Q_Key of its queue pair.
    WrongQKey,
    /// Nobody is there to take the packet.
    NoReceiver,
    /// No more packets of subnet management can wait for the node.
    NoRoom,
    /// The cable lost it.
    Cable,
    /// The cable inverted bits, and the port behind it dropped the packet.
    Damaged,
}

impl fmt::Display for LostWhy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NodeRemoved => "the node is not there",
            Self::NoSuchPort => "the node has no such port",
            Self::LinkDown => "the link is down",
            Self::NotActive => "the link is not ACTIVE",
            Self::NoEntry => "the forwarding table has no entry for the LID",
            Self::NoVl => "the service level is mapped to no VL of the port of exit",
            Self::AboveTop => "the LID is above LinearFDBTop",
            Self::WrongPort => "the forwarding table leads to a port that does not have the LID",
            Self::Loop => "the forwarding tables lead in a circle",
            Self::NotThrough => "the directed route does not lead through a switch",
            Self::BadRoute => "the directed route's header contradicts itself",
            Self::WrongPKey => "the P_Key is not one of the port's partitions",
            Self::WrongQKey => "the Q_Key is not that of the queue pair",
            Self::NoRoom => "too many packets wait for the node",
            Self::Cable => "the cable lost it",
            Self::Damaged => "the cable damaged it",
            Self::NoReceiver => "nobody takes such a packet there",
        })
    }
}

/// What a packet needs of the links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// VL15, subnet management: a link that is up, whatever its state (IBA 7.2.7).
    Management,
    /// Any other: from a port that is ACTIVE to one that is, or that is ARMED and becomes ACTIVE by it.
    Data,
}

/// A MAD on a cable in units of 4 bytes, as the data counters have it: 256 bytes and the headers LRH, BTH, DETH and ICRC.
const MAD_DWORDS: u64 = 72;

/// Where a packet arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// The port by which it came in; where it starts when it made no hop.
    pub(crate) at: PortRef,
    pub(crate) hops: u32,
}

/// What a switch looks at when it forwards.
#[derive(Clone, Copy)]
struct Heading {
    dlid: u16,
    sl: u8,
    lane: Lane,
}

impl Heading {
    /// Of a packet of subnet management: on VL 15 the service level does not count.
    fn management(dlid: u16) -> Self {
        Self { dlid, sl: 0, lane: Lane::Management }
    }
}

/// What a node does with a packet that forwarding tables carry.
enum Step {
    Arrived,
    Leave(PortRef),
}

impl Network {
    /// Sends a packet from an end port to where it arrives, counts it at each port, and keeps its header as the way changes it. `O(hops)`.
    pub(crate) fn carry(&mut self, from: PortRef, packet: &mut Packet) -> Result<Arrival, Lost> {
        self.passage = Passage::default();
        let carried = match packet.mad.class() {
            Class::SUBN_DIRECTED => self.carry_directed(from, packet),
            _ if packet.dlid == PERMISSIVE_LID => Err(Lost { at: from, why: LostWhy::BadRoute }),
            _ if packet.lane() == Lane::Data => self.carry_data(from, packet),
            _ => self.carry_by_tables(from, packet.dlid),
        };
        carried.inspect_err(|lost| self.count_loss(lost))
    }

    /// The way of a data packet: each port of exit and the port of entry behind it. Counts nothing.
    pub(crate) fn trace(&self, from: PortRef, dlid: u16) -> Result<Vec<PortRef>, Lost> {
        let (mut at, mut way) = (from, Vec::new());
        let heading = Heading { dlid, sl: 0, lane: Lane::Data };
        while let Step::Leave(out) = self.step(at, heading, way.len() / 2)? {
            at = self.cross(out, Lane::Data)?;
            way.extend([out, at]);
        }
        Ok(way)
    }

    /// A packet of subnet management to a LID.
    fn carry_by_tables(&mut self, from: PortRef, dlid: u16) -> Result<Arrival, Lost> {
        let (mut at, mut hops) = (from, 0);
        while let Step::Leave(out) = self.step(at, Heading::management(dlid), hops as usize)? {
            at = self.transmit(out, Lane::Management, None)?;
            hops += 1;
        }
        Ok(Arrival { at, hops })
    }

    /// Any other packet: it wakes ARMED ports, and belongs to a partition.
    fn carry_data(&mut self, from: PortRef, packet: &Packet) -> Result<Arrival, Lost> {
        let (mut at, mut hops) = (from, 0);
        let heading = Heading { dlid: packet.dlid, sl: packet.sl, lane: Lane::Data };
        while let Step::Leave(out) = self.step(at, heading, hops as usize)? {
            if !self.lets_pass(out, Passing::Out, packet.p_key) {
                return Err(self.wrong_p_key(out, Passing::Out));
            }
            let vl = self.vl(at, out, packet.sl).ok_or(Lost { at, why: LostWhy::NoVl })?;
            at = self.transmit(out, Lane::Data, Some((packet.sl, vl)))?;
            self.activate_by_data(at);
            if !self.lets_pass(at, Passing::In, packet.p_key) {
                return Err(self.wrong_p_key(at, Passing::In));
            }
            hops += 1;
        }
        let end = self.end_port(at);
        if !self.takes(end, packet.p_key) {
            return Err(self.wrong_p_key(end, Passing::In));
        }
        if packet.dst_qp == 1 && packet.q_key != Packet::Q_KEY {
            return Err(self.wrong_q_key(end));
        }
        Ok(Arrival { at, hops })
    }

    /// A directed route, and the parts before and behind it that forwarding tables carry, if its header wants such (IBA 14.2.2).
    fn carry_directed(&mut self, from: PortRef, packet: &mut Packet) -> Result<Arrival, Lost> {
        let lost = |at, why| Err(Lost { at, why });
        let mad = &packet.mad;
        let returning = mad.is_returning();
        let (first_lid, last_lid) = if returning { (mad.dr_dlid(), mad.dr_slid()) } else { (mad.dr_slid(), mad.dr_dlid()) };
        // Answers travel in the other direction than all else; and a route that begins here goes to no LID.
        if returning != mad.method().is_response() || (first_lid == PERMISSIVE_LID) != (packet.dlid == PERMISSIVE_LID) {
            return lost(from, LostWhy::BadRoute);
        }
        let (mut at, mut hops) = (from, 0);
        if first_lid != PERMISSIVE_LID {
            let first = self.carry_by_tables(from, packet.dlid)?;
            if self.device(first.at.node).kind != NodeKind::Switch {
                return lost(first.at, LostWhy::NotThrough);
            }
            (at, hops) = (first.at, first.hops);
        }
        let route = if returning { self.directed_back(at, &mut packet.mad)? } else { self.directed_out(at, &mut packet.mad)? };
        (at, hops) = (route.at, hops + route.hops);
        (packet.slid, packet.dlid) = (PERMISSIVE_LID, PERMISSIVE_LID);
        if last_lid != PERMISSIVE_LID {
            if self.device(at.node).kind != NodeKind::Switch {
                return lost(at, LostWhy::NotThrough);
            }
            let end = self.end_port(at);
            (packet.slid, packet.dlid) = (self.lid(end), last_lid);
            let last = self.carry_by_tables(end, last_lid)?;
            (at, hops) = (last.at, hops + last.hops);
        }
        Ok(Arrival { at, hops })
    }

    /// Whether a packet that made so many hops and came in at `at` (that starts there, if it made none) has arrived, or by which port it
    /// leaves.
    fn step(&self, at: PortRef, heading: Heading, hops: usize) -> Result<Step, Lost> {
        let Heading { dlid, sl, lane } = heading;
        let lost = |at, why| Err(Lost { at, why });
        let device = self.device(at.node);
        if !device.present {
            return lost(at, LostWhy::NodeRemoved);
        }
        // A packet that made more hops than there are nodes has been at one of them twice, and will be for ever.
        if hops > self.devices.len() {
            return lost(at, LostWhy::Loop);
        }
        let out = match &device.switch {
            Some(switch) if dlid > switch.info.linear_fdb_top() => return lost(at, LostWhy::AboveTop),
            Some(switch) => {
                let transport = if lane == Lane::Management { Transport::Smp } else { Transport::Ud };
                self.exit(at, switch.choice(dlid, sl, transport), lane)
            }
            None if self.owns(at, dlid) => return Ok(Step::Arrived),
            None if hops == 0 => at.port,
            None => return lost(at, LostWhy::WrongPort),
        };
        match PortRef::new(at.node, out) {
            end if out == 0 && self.owns(end, dlid) => Ok(Step::Arrived),
            end if out == 0 => lost(end, LostWhy::WrongPort),
            _ if out == 0xff => lost(at, LostWhy::NoEntry),
            out if out == at && hops > 0 => lost(at, LostWhy::Loop),
            out => Ok(Step::Leave(out)),
        }
    }

    /// The port of exit: where there is a choice, the first that can take the packet.
    fn exit(&self, at: PortRef, choice: Choice, lane: Lane) -> u8 {
        let takes = |&port: &u8| port != at.port && self.cross(PortRef::new(at.node, port), lane).is_ok();
        match choice {
            Choice::Static { port, spare } if spare.is_empty() || takes(&port) => port,
            Choice::Static { port, spare } => spare.iter().find(takes).unwrap_or(port),
            Choice::Group { primary, secondary, .. } => {
                let all = || primary.iter().chain(secondary.iter());
                all().find(takes).or_else(|| all().next()).unwrap_or(0xff)
            }
        }
    }

    /// Sends a directed-route request from `start` outward, and fills in its return path (IBA 14.2.2.2).
    fn directed_out(&mut self, start: PortRef, mad: &mut Mad) -> Result<Arrival, Lost> {
        let lost = |at, why| Err(Lost { at, why });
        let hops = mad.hop_count();
        if mad.hop_pointer() != 0 || usize::from(hops) > Path::MAX_HOPS {
            return lost(start, LostWhy::BadRoute);
        }
        if !self.device(start.node).present {
            return lost(start, LostWhy::NodeRemoved);
        }
        let mut at = start;
        for hop in 1..=usize::from(hops) {
            let out = PortRef::new(at.node, mad.0[128 + hop]);
            let through = self.device(at.node).kind == NodeKind::Switch || (hop == 1 && out == start);
            if !through {
                return lost(at, LostWhy::NotThrough);
            }
            at = self.transmit(out, Lane::Management, None)?;
            mad.return_path_mut()[hop] = at.port;
        }
        mad.set_hop_pointer(hops + 1);
        Ok(Arrival { at, hops: u32::from(hops) })
    }

    /// Sends the answer of a directed-route request back by the return path, from the port by which the request came in.
    fn directed_back(&mut self, start: PortRef, mad: &mut Mad) -> Result<Arrival, Lost> {
        let lost = |at, why| Err(Lost { at, why });
        let hops = mad.hop_count();
        if usize::from(hops) > Path::MAX_HOPS || mad.hop_pointer() != hops + 1 {
            return lost(start, LostWhy::BadRoute);
        }
        if !self.device(start.node).present {
            return lost(start, LostWhy::NodeRemoved);
        }
        let mut at = start;
        for hop in (1..=hops).rev() {
            let out = PortRef::new(at.node, mad.return_path()[usize::from(hop)]);
            let through = self.device(at.node).kind == NodeKind::Switch || (hop == hops && out == start);
            if !through {
                return lost(at, LostWhy::NotThrough);
            }
            at = self.transmit(out, Lane::Management, None)?;
        }
        mad.set_hop_pointer(0);
        Ok(Arrival { at, hops: u32::from(hops) })
    }

    /// As [`Network::cross`], counted at both ends: `lane` is service level and VL, unless that is VL 15.
    fn transmit(&mut self, out: PortRef, needs: Lane, lane: Option<(u8, u8)>) -> Result<PortRef, Lost> {
        let peer = self.cross(out, needs)?;
        if let Some(port) = self.port_mut(out) {
            port.tally.sent(MAD_DWORDS, lane);
            if let Some(faults) = &port.faults {
                let faults = faults.clone();
                faults
                    .pass(&mut self.passage, &mut self.random)
                    .map_err(|why| Lost { at: if why == LostWhy::Damaged { peer } else { out }, why })?;
            }
        }
        if let Some(port) = self.port_mut(peer) {
            port.tally.received(MAD_DWORDS, lane);
        }
        Ok(peer)
    }

    /// Through the cable in port `out`, to the port at its other end.
    fn cross(&self, out: PortRef, lane: Lane) -> Result<PortRef, Lost> {
        let lost = |why| Lost { at: out, why };
        let port = self.port(out).filter(|_| out.port != 0).ok_or(lost(LostWhy::NoSuchPort))?;
        let peer = port.peer.filter(|_| port.is_up()).ok_or(lost(LostWhy::LinkDown))?;
        let far = self.port(peer).ok_or(lost(LostWhy::LinkDown))?;
        match lane {
            Lane::Data if !(port.is_active() && far.takes_data()) => Err(lost(LostWhy::NotActive)),
            _ => Ok(peer),
        }
    }

    /// Counts a loss at its port, if the hardware has a counter for it (IBA 16.1.3.5, PortCounters).
    pub(crate) fn count_loss(&mut self, lost: &Lost) {
        let Some(port) = self.port_mut(lost.at) else { return };
        let tally = &mut port.tally;
        match lost.why {
            LostWhy::LinkDown | LostWhy::NotActive => {
                tally.xmit_discards += 1;
                tally.inactive_discards += 1;
            }
            LostWhy::NoEntry | LostWhy::AboveTop => {
                tally.rcv_switch_relay_errors += 1;
                tally.dlid_mapping_errors += 1;
            }
            LostWhy::NoVl => {
                tally.rcv_switch_relay_errors += 1;
                tally.vl_mapping_errors += 1;
            }
            LostWhy::Loop => {
                tally.rcv_switch_relay_errors += 1;
                tally.looping_errors += 1;
            }
            LostWhy::WrongPort => tally.rcv_errors += 1,
            LostWhy::NoRoom => tally.vl15_dropped += 1,
            LostWhy::Damaged => {
                tally.symbol_errors += 1;
                tally.rcv_errors += 1;
            }
            LostWhy::Cable => {} // nobody notices
            LostWhy::NodeRemoved | LostWhy::NoSuchPort | LostWhy::NotThrough | LostWhy::BadRoute | LostWhy::NoReceiver => {}
            LostWhy::WrongPKey | LostWhy::WrongQKey => {} // counted where they are refused
        }
    }
}
