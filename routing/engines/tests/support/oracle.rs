//! A second opinion on tables of small fabrics: every packet is followed, and petgraph is asked about circles.

use heddle_fabric::{EndPort, Fabric, Lid, SwitchIndex, Tables};
use petgraph::algo::is_cyclic_directed;
use petgraph::graphmap::DiGraphMap;
use std::collections::BTreeSet;
use std::hash::RandomState;

/// What became of all packets.
pub struct Opinion {
    /// Whether each packet that has a way arrives, and each that has none is dropped where nobody gets it.
    pub arrives: bool,
    /// Whether no packets that have a host at one end can wait for each other in a circle.
    pub deadlock_free: bool,
    /// How many routes from hosts to hosts' LIDs have how many hops; those that arrive.
    pub hops: Vec<u64>,
}

/// A channel (its number) and a VL.
type Buffer = (usize, u8);
type Waits = BTreeSet<(Buffer, Buffer)>;

/// Where a packet ends.
#[derive(PartialEq, Eq)]
enum End {
    At(SwitchIndex, u8),
    Circle,
}

pub fn opinion(fabric: &Fabric, tables: &Tables) -> Opinion {
    let mut opinion = Opinion { arrives: true, deadlock_free: true, hops: Vec::new() };
    let (mut waits, mut waits_by_lane) = (Waits::new(), Waits::new());
    for source in (0..fabric.switch_count() as u32).map(SwitchIndex) {
        let hosts: Vec<&EndPort> = fabric.end_ports().iter().filter(|end| end.is_host() && end.switch == source).collect();
        for to in fabric.end_ports() {
            let has_way = petgraph::algo::has_path_connecting(fabric.graph(), source, to.switch, None);
            let senders: Vec<u8> = hosts.iter().filter(|end| end.at != to.at).map(|end| end.switch_port).collect();
            for lid in to.lids() {
                let (way, end) = follow(fabric, tables, (source, 0), lid, None);
                let arrives = end == End::At(to.switch, to.switch_port);
                opinion.arrives &= arrives || !has_way && is_nowhere(fabric, &end);
                if arrives && to.is_host() && !senders.is_empty() {
                    opinion.hops.resize(opinion.hops.len().max(way.len() + 1), 0);
                    opinion.hops[way.len()] += senders.len() as u64;
                }
                if to.is_host() || !hosts.is_empty() {
                    waits.extend(way.windows(2).map(|pair| (pair[0], pair[1])));
                }
                let Some(lanes) = tables.lanes() else { continue };
                let levels = lanes.levels_of(tables.row_len(), source, lid);
                opinion.arrives &= levels != 0 || !has_way || senders.is_empty();
                for entry in to.is_host().then_some(0).into_iter().chain(senders.iter().copied()) {
                    for sl in (0..16).filter(|sl| levels >> sl & 1 == 1) {
                        let (way, end) = follow(fabric, tables, (source, entry), lid, Some(sl));
                        // The end is known already, unless the packet was dropped on the way.
                        opinion.arrives &= !arrives || end == End::At(to.switch, to.switch_port);
                        waits_by_lane.extend(way.windows(2).map(|pair| (pair[0], pair[1])));
                    }
                }
            }
        }
    }
    opinion.deadlock_free = is_acyclic(&waits) || tables.lanes().is_some() && is_acyclic(&waits_by_lane);
    opinion
}

/// The buffers on a packet's way, twice round a circle if it goes in one, and where it ends. Without an SL, it is on VL 0 everywhere.
fn follow(fabric: &Fabric, tables: &Tables, from: (SwitchIndex, u8), lid: Lid, sl: Option<usize>) -> (Vec<Buffer>, End) {
    let mut way = Vec::new();
    let (mut at, mut entry) = from;
    while way.len() <= 2 * fabric.switch_count() {
        let port = tables.port(at, lid);
        let vl = match (sl, tables.lanes()) {
            (Some(sl), Some(lanes)) => lanes.row(at, entry, port)[sl],
            _ => 0,
        };
        if vl >= heddle_fabric::DROP_VL {
            return (way, End::At(at, heddle_fabric::NO_PORT));
        }
        let Some(arc) = fabric.arcs(at).iter().find(|arc| arc.port == port) else { return (way, End::At(at, port)) };
        way.push((fabric.channel(at, port), vl));
        (at, entry) = (arc.peer, arc.peer_port);
    }
    (way, End::Circle)
}

/// Whether nothing is at the end of a port.
fn is_nowhere(fabric: &Fabric, end: &End) -> bool {
    match *end {
        End::At(switch, port) => {
            port != 0 && fabric.node_ports(fabric.switches()[switch.index()]).get(usize::from(port)).is_none_or(|port| port.peer.is_none())
        }
        End::Circle => false,
    }
}

fn is_acyclic(waits: &Waits) -> bool {
    !is_cyclic_directed(&DiGraphMap::<Buffer, (), RandomState>::from_edges(waits))
}
