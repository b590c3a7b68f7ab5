//! Routes whose own cable is missing, or leads nowhere: which other cable they take.
//!
//! All other routes stay where they are. In a healthy tree, while every host sends to the one a fixed number of places further (a *shift*),
//! each cable carries one flow. A route that is moved meets the one at home there; so the aim is that no two moved ones meet, and that
//! those which lost the same cable are spread over all others.
//!
//! A route from a switch to a destination carries flows in known shifts: those by the destination's number less the numbers of the hosts
//! below the switch. Moved routes are taken one after another, from the top of the tree down, so that what follows on the way is known. Each
//! takes the first cable on whose way no moved route has flows in the same shifts; else the one with fewest. The first to be tried is the
//! one that its pod's last switch took, since hosts of one pod send to neighbouring destinations at the same time; then from another one in
//! turn.

use crate::graph::Graph;
use crate::numbers::{Number, Numbers};
use crate::order::Order;
use crate::slots::Slots;
use crate::spread::Plan;
use heddle_fabric::{Fabric, Lid, NO_PORT, SwitchIndex, Tables};
use rayon::prelude::*;
use std::cmp::Reverse;
use std::ops::Range;

/// The routes of one switch that have to be moved, and what is open to them.
#[derive(Default)]
pub(crate) struct Gaps {
    moved: Vec<Moved>,
    /// Rows of places, with whether each can be used.
    open: Vec<bool>,
}

#[derive(Clone, Copy)]
struct Moved {
    lid: u32,
    number: Number,
    /// Where its row begins in [`Gaps::open`].
    open: u32,
    /// The place that its number says.
    place: u32,
}

impl Gaps {
    /// Notes which places are open to the routes that follow.
    pub(crate) fn begin(&mut self, places: &[u8], is_open: &[bool; 256]) {
        self.open.extend(places.iter().map(|&port| port != NO_PORT && is_open[usize::from(port)]));
    }

    /// Whether a place, which may be one that only other switches have, can be used.
    fn is_open(&self, moved: &Moved, places: &[u8], place: usize) -> bool {
        place < places.len() && places[place] != places[moved.place as usize] && self.open[moved.open as usize + place]
    }

    /// Notes a route to be moved from a place, among the `places` places noted last.
    pub(crate) fn push(&mut self, lid: u32, number: Number, place: usize, places: usize) {
        self.moved.push(Moved { lid, number, open: (self.open.len() - places) as u32, place: place as u32 });
    }
}

/// Moves the routes, in tables that have all others. `gaps` are by switch.
///
/// `O(moved routes x hops)` where few cables are lost. Where more than a sixteenth of all routes has to be moved, they are spread only.
pub(crate) fn fill(tables: &mut Tables, fabric: &Fabric, plan: &Plan<'_>, numbers: &Numbers, mut gaps: Vec<Gaps>) {
    let Plan { graph, order, slots, .. } = *plan;
    let count: usize = gaps.iter().map(|gaps| gaps.moved.len()).sum();
    let row_len = tables.row_len();
    if count > tables.rows_mut().len() / 16 {
        tables.rows_mut().par_chunks_mut(row_len).enumerate().for_each(|(switch, row)| {
            for moved in &gaps[switch].moved {
                let first = in_turn(slots, order.level[switch], switch, &gaps[switch], moved).next();
                row[moved.lid as usize] = first.map_or(NO_PORT, |place| slots.of(switch)[place]);
            }
        });
        return;
    }
    let mut switches: Vec<usize> = (0..graph.len()).filter(|&switch| !gaps[switch].moved.is_empty()).collect();
    switches.sort_unstable_by_key(|&switch| (Reverse(order.level[switch]), order.rank[switch]));
    let mut detours = Detours {
        fabric,
        graph,
        order,
        slots,
        below: below(graph, order, fabric, numbers),
        crowd: Crowd::new(fabric, numbers.in_shifts),
        before: vec![None; row_len],
    };
    for switch in switches {
        gaps[switch].moved.sort_unstable_by_key(|moved| (moved.number.index, moved.lid));
        for moved in &gaps[switch].moved {
            detours.choose(tables, switch, &gaps[switch], moved);
        }
    }
}

/// The places that are open to a route. Equals begin with different ones, as do routes that share a place. Cables with more shares come
/// first.
fn in_turn(slots: &Slots, level: u32, switch: usize, gaps: &Gaps, moved: &Moved) -> impl Iterator<Item = usize> {
    let ports = slots.of(switch);
    let mut open: Vec<usize> = (0..ports.len()).filter(|&place| gaps.is_open(moved, ports, place)).collect();
    if open.is_empty() {
        // What has few shares near the destination may be the only way.
        open.extend((0..ports.len()).filter(|place| gaps.open[moved.open as usize + place]));
    }
    let turn = slots.turn(switch) as usize + (moved.number.index / slots.period(level)) as usize;
    let first = turn % open.len().max(1);
    open.rotate_left(first);
    let mut shares = [0u32; 256];
    open.iter().for_each(|&place| shares[usize::from(ports[place])] += 1);
    if shares.iter().any(|&shares| shares > 1) {
        open.sort_by_key(|&place| Reverse(shares[usize::from(ports[place])]));
    }
    open.into_iter()
}

struct Detours<'a> {
    fabric: &'a Fabric,
    graph: &'a Graph,
    order: &'a Order,
    slots: &'a Slots,
    /// By switch: the numbers of the hosts from which one climbs to it.
    below: Vec<Range<u32>>,
    crowd: Crowd,
    /// By LID: level and pod of the last switch that moved its route, and the place that it took.
    before: Vec<Option<((u32, u32), usize)>>,
}

impl Detours<'_> {
    fn choose(&mut self, tables: &mut Tables, switch: usize, gaps: &Gaps, moved: &Moved) {
        let Some(lid) = u16::try_from(moved.lid).ok().and_then(Lid::new) else { return };
        let shifts = self.crowd.shifts(&self.sources(tables, switch, lid), moved.number);
        let home = self.home(lid, moved.number);
        let mut best: Option<(u8, usize, Vec<usize>)> = None;
        let level = self.order.level[switch];
        let pod = (level, self.slots.turn(switch));
        let before = self.before[lid.index()]
            .filter(|&(of, place)| of == pod && gaps.is_open(moved, self.slots.of(switch), place))
            .map(|(_, place)| place);
        for place in before.into_iter().chain(in_turn(self.slots, level, switch, gaps, moved)) {
            let port = self.slots.of(switch)[place];
            let way = self.way(tables, switch, port, lid, &home);
            let most = way.iter().map(|&channel| self.crowd.most(channel, &shifts)).max().unwrap_or(0);
            if best.as_ref().is_none_or(|&(least, ..)| most < least) {
                best = Some((most, place, way));
            }
            if most == 0 {
                break;
            }
        }
        if let Some((_, place, way)) = best {
            self.before[lid.index()] = Some((pod, place));
            tables.row_mut(SwitchIndex(switch as u32))[lid.index()] = self.slots.of(switch)[place];
            way.into_iter().for_each(|channel| self.crowd.add(channel, &shifts));
        }
    }

    /// The numbers of the hosts whose packets to a LID come by a switch already.
    fn sources(&self, tables: &Tables, switch: usize, lid: Lid) -> Range<u32> {
        if self.order.level[switch] == 0 {
            return self.below[switch].clone();
        }
        let lower = self.graph.peers(switch).iter().filter(|&&peer| self.order.level[peer as usize] < self.order.level[switch]);
        let come_by =
            lower.filter(|&&peer| self.next(SwitchIndex(peer), tables.port(SwitchIndex(peer), lid)) == Some(SwitchIndex(switch as u32)));
        come_by.fold(0..0, |all, &peer| hull(&all, &self.below[peer as usize]))
    }

    /// The switches that packets to a LID come by at last where nothing is lost, last first.
    fn home(&self, lid: Lid, number: Number) -> Vec<SwitchIndex> {
        let mut home: Vec<SwitchIndex> = self.fabric.lid_owner(lid).map(|end| end.switch).into_iter().collect();
        while let Some(last) = home.last() {
            let places = self.slots.of(last.index());
            if places.is_empty() {
                break;
            }
            let place = self.slots.place(self.order.level[last.index()], number, places.len());
            match self.next(*last, places[place]) {
                Some(next) => home.push(next),
                None => break,
            }
        }
        home
    }

    /// The channels from a port of a switch to a LID's owner, or as far as is known, that the route does not take where nothing is lost.
    fn way(&self, tables: &Tables, switch: usize, port: u8, lid: Lid, home: &[SwitchIndex]) -> Vec<usize> {
        let mut way = Vec::new();
        let (mut at, mut port) = (SwitchIndex(switch as u32), port);
        while let Some(next) = self.next(at, port) {
            if !home.windows(2).any(|ends| ends == [next, at]) {
                way.push(self.fabric.channel(at, port));
            }
            (at, port) = (next, tables.port(next, lid));
        }
        way
    }

    fn next(&self, switch: SwitchIndex, port: u8) -> Option<SwitchIndex> {
        if port == NO_PORT {
            return None;
        }
        self.fabric.channel_peer(self.fabric.channel(switch, port)).map(|(peer, _)| peer)
    }
}

/// By switch: the numbers of the hosts from which one climbs to it.
fn below(graph: &Graph, order: &Order, fabric: &Fabric, numbers: &Numbers) -> Vec<Range<u32>> {
    let mut below = vec![0..0; graph.len()];
    let hosts = fabric.end_ports().iter().zip(&numbers.of).filter(|(_, number)| number.in_shifts);
    hosts.for_each(|(end, number)| below[end.switch.index()] = hull(&below[end.switch.index()], &(number.index..number.index + 1)));
    let mut upwards: Vec<usize> = (0..graph.len()).collect();
    upwards.sort_unstable_by_key(|&switch| order.level[switch]);
    for switch in upwards {
        for &peer in graph.peers(switch).iter().filter(|&&peer| order.level[peer as usize] < order.level[switch]) {
            below[switch] = hull(&below[switch], &below[peer as usize]);
        }
    }
    below
}

fn hull(a: &Range<u32>, b: &Range<u32>) -> Range<u32> {
    match (a.is_empty(), b.is_empty()) {
        (true, _) => b.clone(),
        (_, true) => a.clone(),
        _ => a.start.min(b.start)..a.end.max(b.end),
    }
}

/// How many moved routes have flows on each channel, by shift.
struct Crowd {
    hosts: u32,
    /// So many shifts are counted together, which bounds the memory.
    width: u32,
    /// By channel: where its counts begin; [`NONE`] as long as there are none.
    begin: Vec<u32>,
    count: Vec<u8>,
}

const NONE: u32 = u32::MAX;

/// Into how many parts the shifts are divided at most.
const PARTS: u32 = 1024;

impl Crowd {
    fn new(fabric: &Fabric, hosts: u32) -> Self {
        Self { hosts, width: hosts.div_ceil(PARTS).max(1), begin: vec![NONE; fabric.channel_count()], count: Vec::new() }
    }

    fn parts(&self) -> usize {
        self.hosts.div_ceil(self.width) as usize
    }

    /// The parts in which packets from some hosts to a destination are under way; empty if one of them takes part in no shifts.
    fn shifts(&self, from: &Range<u32>, to: Number) -> Vec<u32> {
        if from.is_empty() || !to.in_shifts {
            return Vec::new();
        }
        let least = (to.index + self.hosts - (from.end - 1)) % self.hosts;
        let count = from.end - from.start;
        let mut parts: Vec<u32> = (0..count).map(|step| (least + step) % self.hosts / self.width).collect();
        parts.dedup();
        parts
    }

    fn most(&self, channel: usize, shifts: &[u32]) -> u8 {
        match self.begin[channel] {
            NONE => 0,
            begin => shifts.iter().map(|&part| self.count[(begin + part) as usize]).max().unwrap_or(0),
        }
    }

    fn add(&mut self, channel: usize, shifts: &[u32]) {
        if self.begin[channel] == NONE {
            self.begin[channel] = self.count.len() as u32;
            self.count.resize(self.count.len() + self.parts(), 0);
        }
        for &part in shifts {
            let count = &mut self.count[(self.begin[channel] + part) as usize];
            *count = count.saturating_add(1);
        }
    }
}
