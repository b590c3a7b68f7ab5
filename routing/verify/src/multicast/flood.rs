//! A packet of a group, from one switch on, everywhere it is copied to.

use crate::dependencies::Set;
use crate::net::Net;
use heddle_fabric::{DROP_VL, Group, Lanes, MulticastTables, SwitchIndex};
use std::collections::BTreeSet;

/// What comes to a switch.
struct Arrival {
    at: SwitchIndex,
    /// By which port; `None` where the packet begins.
    entry: Option<u8>,
    /// The number of the arrival before, and the port of exit there.
    before: Option<(usize, u8)>,
}

/// What goes from one switch to another.
struct Copy {
    by: (SwitchIndex, u8),
    next: SwitchIndex,
    entry: u8,
    /// As a mask.
    vls: u16,
}

/// Packets that come by a channel and leave by another.
pub(crate) struct Turn {
    from: (SwitchIndex, u8),
    /// As a mask.
    vls: u16,
    to: (SwitchIndex, u8),
    to_vl: u8,
}

pub(crate) struct Flood<'a> {
    net: &'a Net<'a>,
    lanes: Option<&'a Lanes>,
    group: &'a Group,
    tables: &'a MulticastTables,
    /// Each switch once, after the one before it.
    arrivals: Vec<Arrival>,
    /// By switch.
    reached: Vec<bool>,
    copies: Vec<Copy>,
    /// A switch to which it came a second time, and by which port; it is not followed from there.
    pub(crate) twice: Option<(SwitchIndex, u8)>,
    /// A port of exit for which a switch maps the group's SL to no VL.
    pub(crate) dropped: Option<(SwitchIndex, u8)>,
}

impl<'a> Flood<'a> {
    /// Of what comes to `source` by `ports`. Without `lanes` all is on VL 0.
    pub(crate) fn new(
        net: &'a Net<'a>,
        lanes: Option<&'a Lanes>,
        group: &'a Group,
        tables: &'a MulticastTables,
        (source, ports): (SwitchIndex, &[u8]),
    ) -> Self {
        let begin = Arrival { at: source, entry: None, before: None };
        let (arrivals, reached) = (vec![begin], vec![false; net.switches()]);
        let mut flood = Self { net, lanes, group, tables, arrivals, reached, copies: Vec::new(), twice: None, dropped: None };
        flood.reached[source.index()] = true;
        let mut number = 0;
        while number < flood.arrivals.len() {
            let (at, entry) = (flood.arrivals[number].at, flood.arrivals[number].entry);
            for exit in flood.exits(number).collect::<Vec<_>>() {
                let Some(next) = net.next(at.0, exit).map(SwitchIndex) else { continue };
                let entries = entry.as_ref().map_or(ports, std::slice::from_ref);
                let vls = entries.iter().fold(0, |vls, &entry| vls | 1 << flood.vl(at, entry, exit));
                if vls >> DROP_VL & 1 == 1 {
                    flood.dropped.get_or_insert((at, exit));
                }
                let by = net.entry(at.0, exit);
                flood.copies.push(Copy { by: (at, exit), next, entry: by, vls: vls & !(1 << DROP_VL) });
                if !std::mem::replace(&mut flood.reached[next.index()], true) {
                    flood.arrivals.push(Arrival { at: next, entry: Some(by), before: Some((number, exit)) });
                } else {
                    flood.twice.get_or_insert((next, by));
                }
            }
            number += 1;
        }
        flood
    }

    /// Whether it comes to a switch.
    pub(crate) fn reaches(&self, switch: SwitchIndex) -> bool {
        self.reached[switch.index()]
    }

    /// The ports by which it leaves the switch of an arrival.
    fn exits(&self, number: usize) -> impl Iterator<Item = u8> + use<'a> {
        let Arrival { at, entry, .. } = self.arrivals[number];
        self.tables.ports(self.group.mlid, at).filter(move |&port| Some(port) != entry)
    }

    fn vl(&self, switch: SwitchIndex, entry: u8, exit: u8) -> u8 {
        let row = self.lanes.map(|lanes| lanes.row(switch, entry, exit));
        row.map_or(0, |row| row.get(usize::from(self.group.sl)).map_or(DROP_VL, |&vl| vl.min(DROP_VL)))
    }

    /// The ports to other switches by which it leaves on its way to some member.
    pub(crate) fn useful(&self, members: &BTreeSet<(SwitchIndex, u8)>) -> Vec<(SwitchIndex, u8)> {
        let mut leads_on: Vec<bool> = (0..self.arrivals.len())
            .map(|number| self.exits(number).any(|exit| members.contains(&(self.arrivals[number].at, exit))))
            .collect();
        let mut ports = Vec::new();
        for number in (0..self.arrivals.len()).rev() {
            if let (true, Some((before, exit))) = (leads_on[number], self.arrivals[number].before) {
                leads_on[before] = true;
                ports.push((self.arrivals[before].at, exit));
            }
        }
        ports
    }

    /// How it goes on at each switch that it comes to from another, once more where it comes a second time.
    pub(crate) fn turns(&self, mut tell: impl FnMut(Turn)) {
        for copy in &self.copies {
            let next = copy.next;
            for after in
                self.tables.ports(self.group.mlid, next).filter(|&after| after != copy.entry && self.net.next(next.0, after).is_some())
            {
                let to_vl = self.vl(next, copy.entry, after);
                if to_vl < DROP_VL {
                    tell(Turn { from: copy.by, vls: copy.vls, to: (next, after), to_vl });
                }
            }
        }
    }
}

impl Turn {
    /// The channels' VLs, as numbers in a set of dependencies.
    pub(crate) fn nodes(&self, net: &Net<'_>, vls: usize) -> impl Iterator<Item = (usize, usize)> + use<> {
        let [from, to] = [self.from, self.to].map(|(switch, port)| (net.first_channel(switch.0) + usize::from(port)) * vls);
        let (mask, to) = (self.vls, to + usize::from(self.to_vl));
        (0..usize::from(DROP_VL)).filter(move |vl| mask >> vl & 1 == 1).map(move |vl| (from + vl, to))
    }

    pub(crate) fn insert(&self, net: &Net<'_>, set: &mut Set) {
        let hop = net.hop(net.first_channel(self.from.0.0) + usize::from(self.from.1));
        for vl in (0..usize::from(DROP_VL)).filter(|vl| self.vls >> vl & 1 == 1) {
            set.insert(hop, vl, self.to.1, usize::from(self.to_vl));
        }
    }
}
