//! Which buffer can wait for which: the channel dependency graph of the traffic that can be, with virtual lanes.

use super::flows::Flow;
use super::forward::Exits;
use super::programmed::{NONE, Programmed};
use std::collections::{BTreeMap, VecDeque};

/// The packets of a flow leave by the one channel and then by another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dependency {
    /// A flow that does so.
    pub(super) flow: Flow,
    /// How many channels between switches its packets pass before the first of both.
    pub(super) before: u32,
}

/// A channel is a port of exit of a switch to another, and a VL: `dense port * vls + VL`.
pub(super) struct Dependencies {
    /// By channel and the one it depends on: who makes it so, the nearest first. At most [`KEPT`].
    pub(super) of: BTreeMap<u32, BTreeMap<u32, Vec<Dependency>>>,
}

/// So many flows are kept for each dependency.
const KEPT: usize = 8;

impl Programmed {
    /// The dependencies of all unicast traffic that has a host at one end, on the SLs of [`Programmed::path_sl`] and with P_Keys that both
    /// ends have. `O(LIDs * (channels + end ports))` for each SL in use.
    pub(super) fn dependencies(&self) -> Dependencies {
        let mut found = Dependencies { of: BTreeMap::new() };
        let ends = self.ends();
        let vls = self.max_vls();
        // By channel: the search that found it last.
        let mut seen = vec![0; self.ports.len() * vls as usize];
        let mut search = 0;
        for (dlid, &owner) in (0u16..).zip(&self.owner).filter(|&(_, &owner)| owner != NONE) {
            let to_host = self.ports[owner as usize].at.port != 0;
            let mut by_header: BTreeMap<(u8, u16), Vec<Flow>> = BTreeMap::new();
            for &(from, slid) in ends.iter().filter(|(from, _)| to_host || from.port != 0) {
                let Some(end) = self.end(from).filter(|&end| end != owner) else { continue };
                let Some(p_key) = self.common_p_key(end, owner) else { continue };
                let Some(sl) = self.known_sl(slid, dlid) else { continue };
                let flow = Flow { sl, p_key, ..Flow::new(from, dlid) };
                by_header.entry((flow.sl, p_key)).or_default().push(flow);
            }
            for flows in by_header.into_values() {
                search += 1;
                self.spread(&flows, vls, &mut seen, search, &mut found);
            }
        }
        found
    }

    pub(super) fn max_vls(&self) -> u32 {
        (0..self.ports.len() as u32).map(|port| u32::from(self.vls(port))).max().unwrap_or(1)
    }

    /// Follows packets of one header from all their sources at once, so that each channel is found on the shortest way to it.
    fn spread(&self, flows: &[Flow], vls: u32, seen: &mut [u32], search: u32, found: &mut Dependencies) {
        let mut queue = VecDeque::new();
        for flow in flows {
            let Some(end) = self.end(flow.from).filter(|&end| self.admit_from_end(end, flow).is_ok()) else { continue };
            let input = self.ports[end as usize].peer;
            if input != NONE {
                // Each source begins at its own switch; those at one switch are alternatives.
                self.channels_after(input, vls, flow).into_iter().for_each(|first| queue.push_back((first, 0, *flow)));
            }
        }
        while let Some((channel, before, flow)) = queue.pop_front() {
            let fresh = std::mem::replace(&mut seen[channel as usize], search) != search;
            if !fresh && before > 0 {
                continue;
            }
            let input = self.ports[(channel / vls) as usize].peer;
            for next in self.channels_after(input, vls, &flow) {
                let makers = found.of.entry(channel).or_default().entry(next).or_default();
                let place = makers.partition_point(|maker| maker.before <= before);
                if place < KEPT && !makers.iter().any(|maker| maker.flow.from == flow.from) {
                    makers.insert(place, Dependency { flow, before });
                    makers.truncate(KEPT);
                }
                if fresh {
                    queue.push_back((next, before + 1, flow));
                }
            }
        }
    }

    /// The channels to other switches by which a packet from `input` may leave the switch.
    fn channels_after(&self, input: u32, vls: u32, flow: &Flow) -> Vec<u32> {
        let outputs = match self.exits(input, flow) {
            _ if self.ports[input as usize].enforce_inbound && !self.has_p_key(input, flow.p_key) => Vec::new(),
            Exits::One(output) => vec![output],
            Exits::Any(group) => self.choices(input, &group).map(|(output, _)| output).collect(),
            Exits::All(_) | Exits::None(..) => Vec::new(),
        };
        let to_switch = |output: &u32| self.ports.get(self.ports[*output as usize].peer as usize).is_some_and(|peer| !peer.is_end);
        let outputs = outputs.into_iter().filter(to_switch);
        outputs.filter_map(|output| Some(output * vls + u32::from(self.admit(input, output, flow).ok()?))).collect()
    }
}

impl Dependencies {
    /// Up to `count` short circles of channels, each of which depends on the next, the last on the first; no two with the same first
    /// channel. With `near`, only dependencies count whose packets are sent at the switch of the first channel. `O(count * dependencies)`.
    pub(super) fn circles(&self, near: bool, count: usize) -> Vec<Vec<u32>> {
        let counts = |makers: &Vec<Dependency>| !near || makers.first().is_some_and(|maker| maker.before == 0);
        let next = |channel: u32| self.of.get(&channel).into_iter().flatten().filter(|(_, makers)| counts(makers)).map(|(&next, _)| next);
        // Whatever depends on nothing is on no circle, and so on.
        let mut waits: BTreeMap<u32, usize> = BTreeMap::new();
        let mut waited_for: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for &channel in self.of.keys() {
            for next in next(channel) {
                *waits.entry(channel).or_default() += 1;
                waits.entry(next).or_default();
                waited_for.entry(next).or_default().push(channel);
            }
        }
        let mut free: Vec<u32> = waits.iter().filter(|(_, count)| **count == 0).map(|(&channel, _)| channel).collect();
        while let Some(channel) = free.pop() {
            waits.remove(&channel);
            for before in waited_for.get(&channel).into_iter().flatten() {
                if let Some(left) = waits.get_mut(before) {
                    *left -= 1;
                    if *left == 0 {
                        free.push(*before);
                    }
                }
            }
        }
        let circle = |start: u32| {
            let mut from: BTreeMap<u32, u32> = BTreeMap::new();
            let mut queue = VecDeque::from([start]);
            while let Some(channel) = queue.pop_front() {
                for next in next(channel).filter(|next| waits.contains_key(next)) {
                    if next == start {
                        let way = std::iter::successors(Some(channel), |at| from.get(at).copied());
                        let mut circle: Vec<u32> = way.collect();
                        circle.reverse();
                        return Some(circle);
                    }
                    from.entry(next).or_insert_with(|| {
                        queue.push_back(next);
                        channel
                    });
                }
            }
            None
        };
        let mut circles: Vec<Vec<u32>> = waits.keys().filter_map(|&start| circle(start)).take(count).collect();
        circles.sort_by_key(Vec::len);
        circles
    }
}
