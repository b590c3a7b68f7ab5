//! The cables that multicast trees may use, and which end is up.

use crate::acyclic::{Acyclic, Channels};
use crate::graph::{Graph, bits};
use crate::order::Order;
use heddle_fabric::{Arc, DROP_VL, EndPort, Fabric, Lanes, Lid, SwitchIndex, Tables};
use rayon::prelude::*;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What trees grow on.
pub(super) struct Ground<'f> {
    pub(super) fabric: &'f Fabric,
    /// The same without the cables that the user wants no traffic on.
    pub(super) usable: Cow<'f, Fabric>,
    pub(super) unicast: &'f Tables,
    pub(super) graph: Graph,
    pub(super) order: Order,
}

/// A direction for some of the cables, such that any tree along them is free of deadlock with the unicast routes and all other such trees,
/// if each switch has at most one cable up in it.
#[derive(Clone)]
pub(super) struct Ways {
    /// By switch: its place in the order; *up* is towards the lower.
    pub(super) place: Vec<u32>,
    /// By switch: the cables up that trees may use, and those down.
    pub(super) up: Vec<Vec<Arc>>,
    pub(super) down: Vec<Vec<Arc>>,
}

/// In how many orders the cables are tried, if the unicast routes are not up and then down.
const ATTEMPTS: usize = 64;

impl Ways {
    /// All cables, up towards the switch that is earlier in `order`.
    fn all(fabric: &Fabric, order: &[usize]) -> Self {
        let count = fabric.switch_count();
        let mut ways = Self { place: vec![0; count], up: vec![Vec::new(); count], down: vec![Vec::new(); count] };
        order.iter().zip(0..).for_each(|(&switch, place)| ways.place[switch] = place);
        for switch in (0..count as u32).map(SwitchIndex) {
            ways.cables_up(fabric, switch).into_iter().for_each(|arc| _ = ways.add(switch, arc));
        }
        ways
    }

    /// By levels, if the unicast routes climb and then descend by them. Then each tree can have any switch of a level at its top; but members
    /// can have no switch above all of them.
    pub(super) fn by_levels(ground: &Ground<'_>) -> Option<Self> {
        let Order { level, place, .. } = &ground.order;
        Self::if_climbing(ground, |switch| (u32::MAX - level[switch], place[switch]))
    }

    /// By the order in which `up-down` routes, if the unicast routes climb and then descend by it. Its first switch is above all that there
    /// is a way to.
    pub(super) fn by_place(ground: &Ground<'_>) -> Option<Self> {
        Self::if_climbing(ground, |switch| (ground.order.place[switch], 0))
    }

    fn if_climbing(ground: &Ground<'_>, key: impl Fn(usize) -> (u32, u32)) -> Option<Self> {
        let ways = Self::all(&ground.usable, &sorted(ground.fabric, key));
        climb_then_descend(ground.fabric, ground.unicast, &ways.place).then_some(ways)
    }

    /// The cables that close no circle with the dependencies of the unicast routes, and those of all trees along `beside`. They are tried in
    /// several orders, until a tree can join all switches that are connected. `None` if the unicast routes have a circle by themselves.
    pub(super) fn that_fit(ground: &Ground<'_>, lane: &Lane<'_>, levels: &[u8], beside: Option<&Self>) -> Option<Self> {
        let Ground { fabric, usable, unicast, graph, order } = ground;
        let mut waits = Waits::new(fabric, unicast, lane, levels)?;
        if beside.is_some_and(|beside| !waits.add_trees(beside)) {
            return None;
        }
        let from_top = sorted(fabric, |switch| (order.place[switch], 0));
        let (_, parts) = Self::grow(usable, &from_top, |_, _, _| true);
        // The first order is that of the fabric, the others go outwards from its switches, the highest first.
        let mut best: Option<(Self, usize)> = None;
        for first in std::iter::once(None).chain(from_top.iter().take(ATTEMPTS).map(Some)) {
            let hops = first.map_or_else(|| vec![0; graph.len()], |&first| graph.hops([first]));
            let outwards = sorted(fabric, |switch| (hops[switch], order.place[switch]));
            let mut acyclic = waits.acyclic.clone();
            let (ways, pieces) = Self::grow(usable, &outwards, |ways, switch, arc| waits.add_cable(&mut acyclic, ways, switch, arc));
            if best.as_ref().is_none_or(|(_, least)| pieces < *least) {
                best = Some((ways, pieces));
            }
            if pieces == parts {
                break;
            }
        }
        best.map(|(ways, _)| ways)
    }

    /// Joins the switches one after another to those that are joined already, always the first in `order` that can be, by one cable that `accept`
    /// takes; then adds all other cables that it takes. It is told what there is so far, and a cable up from a switch. Also how many pieces
    /// there are in the end.
    fn grow(fabric: &Fabric, order: &[usize], mut accept: impl FnMut(&Self, SwitchIndex, &Arc) -> bool) -> (Self, usize) {
        let count = fabric.switch_count();
        let mut ways = Self { place: vec![NOT_YET; count], up: vec![Vec::new(); count], down: vec![Vec::new(); count] };
        let mut precedence = vec![0u32; count];
        order.iter().zip(0..).for_each(|(&switch, number)| precedence[switch] = number);
        let mut tried: Vec<bool> = vec![false; fabric.channel_count()];
        let mut joins = Vec::with_capacity(count);
        let mut pieces = 0;
        let mut heap = BinaryHeap::new();
        for &start in order {
            if ways.place[start] != NOT_YET {
                continue;
            }
            pieces += 1;
            heap.push(Reverse((precedence[start], start as u32)));
            while let Some(Reverse((_, number))) = heap.pop() {
                let switch = SwitchIndex(number);
                if ways.place[switch.index()] != NOT_YET {
                    continue;
                }
                let mut joined = number as usize == start;
                for arc in ways.cables_up(fabric, switch) {
                    if joined {
                        break;
                    }
                    tried[fabric.channel(switch, arc.port)] = true;
                    joined = accept(&ways, switch, &arc) && ways.add(switch, arc);
                }
                if joined {
                    ways.place[switch.index()] = joins.len() as u32;
                    joins.push(switch);
                    let free = fabric.arcs(switch).iter().map(|arc| arc.peer).filter(|peer| ways.place[peer.index()] == NOT_YET);
                    heap.extend(free.map(|peer| Reverse((precedence[peer.index()], peer.0))));
                }
            }
        }
        for switch in joins {
            for arc in ways.cables_up(fabric, switch) {
                if !tried[fabric.channel(switch, arc.port)] && accept(&ways, switch, &arc) {
                    ways.add(switch, arc);
                }
            }
        }
        (ways, pieces)
    }

    /// The cables to switches that are joined already and higher, the highest first.
    fn cables_up(&self, fabric: &Fabric, switch: SwitchIndex) -> Vec<Arc> {
        let place = |switch: SwitchIndex| self.place[switch.index()];
        let is_up = |arc: &&Arc| place(arc.peer) != NOT_YET && place(arc.peer) < place(switch);
        let mut arcs: Vec<Arc> = fabric.arcs(switch).iter().filter(is_up).copied().collect();
        arcs.sort_unstable_by_key(|arc| (place(arc.peer), arc.port));
        arcs
    }

    fn add(&mut self, switch: SwitchIndex, arc: Arc) -> bool {
        self.up[switch.index()].push(arc);
        self.down[arc.peer.index()].push(Arc { port: arc.peer_port, peer: switch, peer_port: arc.port });
        true
    }
}

const NOT_YET: u32 = u32::MAX;

/// All switches by a key, and then by GUID.
fn sorted(fabric: &Fabric, key: impl Fn(usize) -> (u32, u32)) -> Vec<usize> {
    let mut switches: Vec<usize> = (0..fabric.switch_count()).collect();
    switches.sort_unstable_by_key(|&switch| (key(switch), fabric.switch(SwitchIndex(switch as u32)).guid));
    switches
}

/// Whether no route that counts ([`for_each_source`]) turns up after it went down.
fn climb_then_descend(fabric: &Fabric, unicast: &Tables, place: &[u32]) -> bool {
    // By channel: where it leads, and whether that is up.
    let hops: Vec<Option<(SwitchIndex, bool)>> = (0..fabric.switch_count() as u32)
        .flat_map(|switch| (0..=fabric.switch(SwitchIndex(switch)).num_ports).map(move |port| (SwitchIndex(switch), port)))
        .map(|(switch, port)| {
            let (peer, _) = fabric.channel_peer(fabric.channel(switch, port))?;
            Some((peer, place[peer.index()] < place[switch.index()]))
        })
        .collect();
    let hop = |switch: SwitchIndex, port: u8| {
        if port > fabric.switch(switch).num_ports { None } else { hops[fabric.channel(switch, port)] }
    };
    let is_fine = |switch: SwitchIndex, port: u8, next: &dyn Fn(SwitchIndex) -> u8| match hop(switch, port) {
        Some((peer, false)) => hop(peer, next(peer)).is_none_or(|(_, up)| !up),
        _ => true,
    };
    let carriers = host_carriers(fabric);
    let ends: Vec<&EndPort> = fabric.end_ports().iter().collect();
    // A few LIDs at a time, so that what is read of the tables stays in the cache.
    ends.par_chunks(64).all(|ends| {
        let (hosts, switches): (Vec<&EndPort>, Vec<&EndPort>) = ends.iter().partition(|end| end.is_host());
        let to_hosts = (0..fabric.switch_count() as u32).map(SwitchIndex).all(|switch| {
            let lids = hosts.iter().flat_map(|end| end.lids());
            lids.into_iter().all(|lid| is_fine(switch, unicast.port(switch, lid), &|peer| unicast.port(peer, lid)))
        });
        let mut seen = vec![false; fabric.switch_count()];
        to_hosts
            && switches.iter().flat_map(|end| end.lids()).all(|lid| {
                seen.fill(false);
                carriers.iter().all(|&carrier| {
                    let mut at = carrier;
                    while !std::mem::replace(&mut seen[at.index()], true) {
                        let port = unicast.port(at, lid);
                        if !is_fine(at, port, &|peer| unicast.port(peer, lid)) {
                            return false;
                        }
                        let Some((peer, _)) = hop(at, port) else { break };
                        at = peer;
                    }
                    true
                })
            })
    })
}

/// The switches that carry hosts. To the LIDs of switches, only their packets count: other switches speak on VL 15, which waits for nobody.
fn host_carriers(fabric: &Fabric) -> Vec<SwitchIndex> {
    let mut carriers: Vec<SwitchIndex> = fabric.end_ports().iter().filter(|end| end.is_host()).map(|end| end.switch).collect();
    carriers.sort_unstable();
    carriers.dedup();
    carriers
}

/// Which packets share buffers with those of a service level.
#[derive(Clone, Copy)]
pub(super) enum Lane<'t> {
    /// All: the tables need one VL only, and say nothing of SLs.
    Only,
    /// Those on the same VL: packets keep theirs all the way.
    Same { lanes: &'t Lanes, row: [u8; 16], vl: u8 },
    /// It depends on the ports.
    ByPorts(&'t Lanes),
}

impl<'t> Lane<'t> {
    pub(super) fn of(lanes: Option<&'t Lanes>, level: u8) -> Self {
        match lanes {
            None => Self::Only,
            Some(lanes) => match lanes.uniform_row() {
                Some(&row) => Self::Same { lanes, row, vl: row[usize::from(level) % 16] },
                None => Self::ByPorts(lanes),
            },
        }
    }

    pub(super) fn is_shared_with(&self, level: u8) -> bool {
        match self {
            Self::Only | Self::ByPorts(_) => true,
            Self::Same { row, vl, .. } => row[usize::from(level) % 16] == *vl,
        }
    }

    /// Whether all switches drop these packets.
    pub(super) fn drops(&self) -> bool {
        matches!(self, Self::Same { vl, .. } if *vl >= DROP_VL)
    }

    /// The number of the VL among those that matter; `None` if the packet is dropped, or on one that does not matter.
    fn vl(&self, switch: SwitchIndex, from: u8, to: u8, level: u8) -> Option<u8> {
        match self {
            Self::Only => Some(0),
            Self::Same { row, vl, .. } => (row[usize::from(level) % 16] == *vl && *vl < DROP_VL).then_some(0),
            Self::ByPorts(lanes) => Some(lanes.row(switch, from, to)[usize::from(level) % 16]).filter(|&vl| vl < DROP_VL),
        }
    }

    /// The SLs of packets from a switch to a LID, as a mask.
    fn levels(&self, row_len: usize, from: SwitchIndex, to: Lid) -> u16 {
        match self {
            Self::Only => 1,
            Self::Same { lanes, .. } | Self::ByPorts(lanes) => lanes.levels_of(row_len, from, to),
        }
    }
}

/// The dependencies of the unicast routes, to which those of trees are added. A VL of a channel is number `channel * vls + vl`.
struct Waits<'a> {
    fabric: &'a Fabric,
    lane: &'a Lane<'a>,
    levels: &'a [u8],
    vls: u32,
    channels: Channels,
    acyclic: Acyclic,
    /// As [`leaving`] has it.
    leaving: Vec<u16>,
}

impl<'a> Waits<'a> {
    /// `None` if they have a circle.
    fn new(fabric: &'a Fabric, unicast: &Tables, lane: &'a Lane<'a>, levels: &'a [u8]) -> Option<Self> {
        let leaving = leaving(fabric, lane, levels);
        let highest = leaving.iter().map(|vls| 16 - vls.leading_zeros()).max().unwrap_or(0);
        let vls = match lane {
            Lane::Only | Lane::Same { .. } => 1,
            Lane::ByPorts(lanes) => highest.max(u32::from(lanes.vls())),
        };
        let channels = Channels::with_lanes(fabric, vls);
        let mut waits = Self { fabric, lane, levels, vls, acyclic: Acyclic::new(&channels), channels, leaving };
        waits.add_routes(unicast).then_some(waits)
    }

    /// Adds what the routes of all packets that count depend on. Returns whether there is no circle.
    fn add_routes(&mut self, unicast: &Tables) -> bool {
        let fabric = self.fabric;
        let mut entries = vec![vec![0u8]; fabric.switch_count()];
        fabric.end_ports().iter().filter(|end| end.is_host()).for_each(|end| entries[end.switch.index()].push(end.switch_port));
        let carriers = host_carriers(fabric);
        let all: Vec<SwitchIndex> = (0..fabric.switch_count() as u32).map(SwitchIndex).collect();
        // By switch and SL: the VLs on which packets to the LID at hand were seen to leave.
        let mut seen = vec![[0u16; 16]; fabric.switch_count()];
        for end in fabric.end_ports() {
            for lid in end.lids() {
                seen.fill([0; 16]);
                for &source in if end.is_host() { &all } else { &carriers } {
                    for level in bits(self.lane.levels(unicast.row_len(), source, lid).into()) {
                        for &entry in &entries[source.index()] {
                            if !self.add_route(unicast, lid, (source, entry), level as u8, &mut seen) {
                                return false;
                            }
                        }
                    }
                }
            }
        }
        true
    }

    /// Adds the dependencies of one route, as far as it is new.
    fn add_route(&mut self, unicast: &Tables, lid: Lid, from: (SwitchIndex, u8), level: u8, seen: &mut [[u16; 16]]) -> bool {
        let (mut switch, mut entry) = from;
        let mut last = None;
        loop {
            let port = unicast.port(switch, lid);
            if port > self.fabric.switch(switch).num_ports {
                return true;
            }
            let channel = self.fabric.channel(switch, port);
            let Some((peer, peer_port)) = self.fabric.channel_peer(channel) else { return true };
            let Some(vl) = self.lane.vl(switch, entry, port, level) else { return true };
            let number = channel as u32 * self.vls + u32::from(vl);
            if last.is_some_and(|last| !self.acyclic.add(&self.channels, last, number)) {
                return false;
            }
            let known = &mut seen[switch.index()][usize::from(level)];
            if *known >> vl & 1 == 1 {
                return true;
            }
            *known |= 1 << vl;
            (switch, entry, last) = (peer, peer_port, Some(number));
        }
    }

    /// Adds what all trees along these ways can depend on. Returns whether there is no circle, and no packet dropped.
    fn add_trees(&mut self, ways: &Ways) -> bool {
        let mut new = Vec::new();
        let pairs = (0..self.fabric.switch_count() as u32).map(SwitchIndex).all(|at| {
            let down = &ways.down[at.index()];
            let below = down.iter().enumerate().flat_map(|(number, one)| down[number + 1..].iter().map(move |other| (one, other)));
            let across = down.iter().flat_map(|one| ways.up[at.index()].iter().map(move |other| (one, other)));
            below.chain(across).all(|(one, other)| self.turns(one, at, other, &mut new))
        });
        pairs && self.acyclic.add_all(&self.channels, &new)
    }

    /// Adds what trees can depend on that use a cable up beside all the cables that `ways` has at its ends. Where that would close a
    /// circle, or packets would be dropped, nothing is added.
    fn add_cable(&self, acyclic: &mut Acyclic, ways: &Ways, below: SwitchIndex, arc: &Arc) -> bool {
        let mut new = Vec::new();
        let back = Arc { port: arc.peer_port, peer: below, peer_port: arc.port };
        // At the upper end any other cable may follow; at the lower one only those that go further down.
        let above =
            ways.up[arc.peer.index()].iter().chain(&ways.down[arc.peer.index()]).all(|other| self.turns(&back, arc.peer, other, &mut new));
        above
            && ways.down[below.index()].iter().all(|other| self.turns(arc, below, other, &mut new))
            && acyclic.add_all(&self.channels, &new)
    }

    /// Collects the dependencies of packets between two cables of a switch, both ways. False if they are dropped.
    fn turns(&self, one: &Arc, at: SwitchIndex, other: &Arc, new: &mut Vec<(u32, u32)>) -> bool {
        self.turn(one, at, other, new) && self.turn(other, at, one, new)
    }

    fn turn(&self, from: &Arc, at: SwitchIndex, to: &Arc, new: &mut Vec<(u32, u32)>) -> bool {
        let (arrival, departure) = (self.fabric.channel(from.peer, from.peer_port), self.fabric.channel(at, to.port));
        self.levels.iter().all(|&level| {
            let Some(vl) = self.lane.vl(at, from.port, to.port, level) else { return false };
            let number = |channel: usize, vl: u32| channel as u32 * self.vls + vl;
            new.extend(bits(self.leaving[arrival].into()).map(|on| (number(arrival, on as u32), number(departure, vl.into()))));
            true
        })
    }
}

/// By channel: the VLs on which packets of these SLs can leave by it, wherever they came from.
fn leaving(fabric: &Fabric, lane: &Lane<'_>, levels: &[u8]) -> Vec<u16> {
    let of_port = |switch: SwitchIndex, to: u8| {
        let vls = |from: u8| levels.iter().filter_map(move |&level| lane.vl(switch, from, to, level));
        (0..=fabric.switch(switch).num_ports).flat_map(vls).fold(0, |mask, vl| mask | 1 << vl)
    };
    let switches = (0..fabric.switch_count() as u32).map(SwitchIndex);
    switches.flat_map(|switch| (0..=fabric.switch(switch).num_ports).map(move |to| of_port(switch, to))).collect()
}
