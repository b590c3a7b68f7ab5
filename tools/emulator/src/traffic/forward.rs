//! What a switch does with a packet by its tables.

use super::flows::Flow;
use super::outcome::Discard;
use super::programmed::{Group, NONE, Programmed};
use crate::partitions::p_keys_match;
use heddle_mad::wire::PortMask;

/// Multicast LIDs begin here (IBA 4.1.3).
pub(super) const FIRST_MULTICAST: u16 = 0xc000;

/// By which dense ports a packet leaves a switch.
#[derive(Clone, Copy, Debug)]
pub(super) enum Exits {
    One(u32),
    /// Any one of these ports of the switch.
    Any(Group),
    /// A copy by each of these ports of the switch.
    All(PortMask),
    /// None, and the port that counts it.
    None(Discard, u32),
}

impl Programmed {
    /// By which ports a packet that came by dense port `input` of a switch leaves it.
    pub(super) fn exits(&self, input: u32, flow: &Flow) -> Exits {
        let (at, dlid) = (self.ports[input as usize].at, flow.dlid);
        let node = &self.nodes[at.node.index()];
        let Some(switch) = &node.switch else { return Exits::None(Discard::WrongPort, input) };
        if dlid >= FIRST_MULTICAST {
            return switch.mft.get(&dlid).map_or(Exits::None(Discard::NoEntry, input), |&mask| Exits::All(mask));
        }
        let group = switch.adaptive.get(&dlid).filter(|group| group.sls >> (flow.sl & 15) & 1 == 1);
        if let Some(&group) = group.filter(|group| self.choices(input, group).next().is_some()) {
            return Exits::Any(group);
        }
        match switch.lft.get(usize::from(dlid)).copied().unwrap_or(0xff) {
            0xff => Exits::None(Discard::NoEntry, input),
            port if port == at.port => Exits::None(Discard::TurnsBack, input),
            port if port > node.num_ports => Exits::None(Discard::LinkDown, input),
            port => match node.first + u32::from(port) {
                output if self.ports[output as usize].peer == NONE => Exits::None(Discard::LinkDown, output),
                output => Exits::One(output),
            },
        }
    }

    /// The dense ports of a group by which a packet from `input` can leave, and whether each is a primary one.
    pub(super) fn choices(&self, input: u32, group: &Group) -> impl Iterator<Item = (u32, bool)> {
        let primary = self.usable(input, group.primary).map(|output| (output, true));
        let only_secondary = group.secondary.iter().filter(|&port| !group.primary.contains(port)).collect();
        primary.chain(self.usable(input, only_secondary).map(|output| (output, false)))
    }

    /// The dense ports of these by which a packet from `input` can leave: their links are up, and none is the one it came by.
    pub(super) fn usable(&self, input: u32, mask: PortMask) -> impl Iterator<Item = u32> {
        let at = self.ports[input as usize].at;
        let node = &self.nodes[at.node.index()];
        let ports = mask.iter().filter(move |&port| port <= node.num_ports && port != at.port);
        ports.map(|port| node.first + u32::from(port)).filter(|&output| self.ports[output as usize].peer != NONE)
    }

    /// The VL by which a packet may leave a switch.
    pub(super) fn admit(&self, input: u32, output: u32, flow: &Flow) -> Result<u8, Discard> {
        let (from, to) = (self.ports[input as usize].at, &self.ports[output as usize]);
        if to.enforce_outbound && !self.has_p_key(output, flow.p_key) {
            return Err(Discard::PKeyOutbound);
        }
        let vl = match &self.nodes[from.node.index()].switch {
            Some(switch) if to.at.port > 0 => {
                switch.sl_to_vl.get(&(from.port, to.at.port)).unwrap_or(&switch.sl_to_vl_else)[usize::from(flow.sl & 15)]
            }
            _ => 0,
        };
        self.fits(output, vl, flow)
    }

    /// The VL by which an end port may send packets.
    pub(super) fn admit_from_end(&self, end: u32, flow: &Flow) -> Result<u8, Discard> {
        if !self.has_p_key(end, flow.p_key) {
            return Err(Discard::PKey);
        }
        self.fits(end, self.ports[end as usize].sl_to_vl[usize::from(flow.sl & 15)], flow)
    }

    fn fits(&self, output: u32, vl: u8, flow: &Flow) -> Result<u8, Discard> {
        let port = &self.ports[output as usize];
        match vl {
            _ if flow.payload > port.mtu => Err(Discard::TooLong),
            vl if vl >= self.vls(output) => Err(Discard::NoVl),
            vl if !port.arbitration.serves(vl) => Err(Discard::NoTurn),
            vl => Ok(vl),
        }
    }

    /// A P_Key of `from` that `to` has as well, so that packets with it may pass between them.
    pub(super) fn common_p_key(&self, from: u32, to: u32) -> Option<u16> {
        self.ports[from as usize].p_keys.iter().copied().find(|&p_key| self.has_p_key(to, p_key))
    }

    /// Whether a dense port has a P_Key that matches: the same partition, and one of both is a full member (IBA 10.9.3).
    pub(super) fn has_p_key(&self, port: u32, p_key: u16) -> bool {
        self.ports[port as usize].p_keys.iter().any(|&own| p_keys_match(own, p_key))
    }
}
