//! Packets that can never move again, found exactly.

use super::plane::{Packet, Plane};
use super::programmed::NONE;
use heddle_fabric::PortRef;
use std::fmt;

/// A packet that waits for a buffer which is full of packets that wait as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The switch and the port of entry in whose buffer the packet is.
    pub at: PortRef,
    /// The node's description.
    pub description: String,
    /// The VL of that buffer.
    pub vl: u8,
    /// The port of exit that the packet waits for.
    pub exit: u8,
    /// The VL on which it would leave.
    pub exit_vl: u8,
    /// Who sent the packet.
    pub from: PortRef,
    /// The sender's description.
    pub from_description: String,
    /// Where it is to go.
    pub dlid: u16,
    /// The service level.
    pub sl: u8,
}

/// Packets wait for each other, and for nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// Full buffers in a circle, a packet of each: each waits for the next, the last for the first.
    pub circle: Vec<Wait>,
    /// How many packets never move again.
    pub stuck: usize,
    /// How many packets a buffer holds.
    pub buffer: u16,
}

/// A picture: who waits for whom.
impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { circle, stuck, buffer } = self;
        writeln!(f, "deadlock: {stuck} packets never move again; {} full buffers wait for each other in a circle:", circle.len())?;
        let places = circle.iter().map(|wait| format!("\"{}\" port {} VL {}", wait.description, wait.at.port, wait.vl));
        let places: Vec<String> = places.collect();
        let width = places.iter().map(|place| place.chars().count()).max().unwrap_or(0);
        for (number, (place, wait)) in places.iter().zip(circle).enumerate() {
            let edge = if number == 0 { "+->" } else { "|  " };
            let Wait { exit, exit_vl, from, from_description, dlid, sl, .. } = wait;
            let source = format!("\"{from_description}\" port {} to LID {dlid}, SL {sl}", from.port);
            writeln!(f, "  {edge} [{place:width$}] {buffer} of {buffer} full; a packet from {source}")?;
            let last = number + 1 == circle.len();
            writeln!(f, "  |     v waits for port {exit}, VL {exit_vl}{}", if last { ": the first buffer" } else { "" })?;
        }
        write!(f, "  +-----+")
    }
}

impl Stop {
    /// The circle in Graphviz's language.
    pub fn dot(&self) -> String {
        let name = |wait: &Wait| format!("\"{} port {} VL {}\"", wait.description.replace(['"', '\\'], "'"), wait.at.port, wait.vl);
        let mut text = String::from("digraph deadlock {\n");
        for (wait, next) in self.circle.iter().zip(self.circle.iter().cycle().skip(1)) {
            let label = format!("LID {} by port {}", wait.dlid, wait.exit);
            text += &format!("  {} -> {} [label=\"{label}\"];\n", name(wait), name(next));
        }
        text + "}\n"
    }
}

/// A packet that waits for a buffer.
struct Edge {
    packet: u32,
    /// The port of exit.
    output: u32,
    /// The (port of entry, VL) behind it.
    target: usize,
}

/// Whether packets wait that can never move again.
///
/// A buffer will have room if it has some, if something is on its way out of it or into it (what that will wait for is not known yet), or
/// if a packet in it can leave for good. A packet can leave if each of its copies goes to a buffer that will have room; one that may
/// choose needs one such buffer. The smallest set of buffers and packets that this makes is all that can ever move, so what is left never
/// does. `O(packets * their ports of exit)`.
pub(super) fn find(plane: &Plane<'_>) -> Option<Stop> {
    let edges = edges(plane);
    let mut by_target: Vec<u32> = (0..edges.len() as u32).collect();
    by_target.sort_by_key(|&edge| edges[edge as usize].target);
    let waiting_for = |target: usize| {
        let start = by_target.partition_point(|&edge| edges[edge as usize].target < target);
        by_target[start..].iter().map(|&edge| &edges[edge as usize]).take_while(move |edge| edge.target == target)
    };
    let slot = |packet: u32| {
        let packet = &plane.packets[packet as usize];
        packet.input as usize * plane.vls + usize::from(packet.vl)
    };

    let mut needs: Vec<u8> = plane.packets.iter().map(|packet| packet.copies).collect();
    let mut moves = vec![false; plane.room.len()];
    let mut todo: Vec<usize> = (0..moves.len()).filter(|&place| plane.room[place] > 0).collect();
    let unsettled = |packet: &Packet| packet.input != NONE && !(packet.arrived && packet.copies > 0);
    todo.extend((0..).zip(&plane.packets).filter(|(_, packet)| unsettled(packet)).map(|(number, _)| slot(number)));
    let mut leaves = |edge: &Edge, todo: &mut Vec<usize>| {
        let need = &mut needs[edge.packet as usize];
        if *need == 1 {
            todo.push(slot(edge.packet));
        }
        *need = need.saturating_sub(1);
    };
    // Whoever may not wait for ever leaves in any case.
    edges.iter().filter(|edge| !plane.waits_for_ever(edge.output)).for_each(|edge| leaves(edge, &mut todo));
    while let Some(target) = todo.pop() {
        if !std::mem::replace(&mut moves[target], true) {
            waiting_for(target).filter(|edge| plane.waits_for_ever(edge.output)).for_each(|edge| leaves(edge, &mut todo));
        }
    }

    let stuck: Vec<bool> = needs.iter().map(|&need| need > 0).collect();
    let mut by_packet: Vec<&Edge> = edges.iter().filter(|edge| stuck[edge.packet as usize] && !moves[edge.target]).collect();
    by_packet.sort_by_key(|edge| (edge.packet, edge.target));
    // From any stuck packet to the first in the buffer that it waits for, until a buffer comes again.
    let mut first_in = vec![NONE; moves.len()];
    (0..plane.packets.len() as u32).rev().filter(|&packet| stuck[packet as usize]).for_each(|packet| first_in[slot(packet)] = packet);
    let mut packet = by_packet.first()?.packet;
    let mut way: Vec<&Edge> = Vec::new();
    let start = loop {
        let edge = by_packet[by_packet.partition_point(|edge| edge.packet < packet)];
        if let Some(start) = way.iter().position(|earlier| slot(earlier.packet) == slot(packet)) {
            break start;
        }
        way.push(edge);
        packet = first_in[edge.target];
    };
    let circle = way[start..].iter().map(|edge| wait(plane, edge)).collect();
    Some(Stop { circle, stuck: stuck.iter().filter(|stuck| **stuck).count(), buffer: plane.buffer })
}

fn edges(plane: &Plane<'_>) -> Vec<Edge> {
    let mut edges = Vec::new();
    for (number, queue) in plane.queues.iter().enumerate() {
        let (output, vl) = (number / plane.vls, number % plane.vls);
        if queue.is_empty() || plane.programmed.ports[output].is_end {
            continue; // what an end port has not sent yet holds no buffer
        }
        for line in queue {
            let mut next = line.head;
            while let Some(request) = plane.requests.get(next as usize) {
                next = request.next;
                if plane.packets[request.packet as usize].serial == request.serial {
                    let target = plane.peer(output as u32) as usize * plane.vls + vl;
                    edges.push(Edge { packet: request.packet, output: output as u32, target });
                }
            }
        }
    }
    edges
}

fn wait(plane: &Plane<'_>, edge: &Edge) -> Wait {
    let packet = &plane.packets[edge.packet as usize];
    let flow = &plane.flows[packet.flow as usize];
    let at = plane.programmed.ports[packet.input as usize].at;
    Wait {
        at,
        description: plane.programmed.description(at.node).to_owned(),
        vl: packet.vl,
        exit: plane.programmed.ports[edge.output as usize].at.port,
        exit_vl: (edge.target % plane.vls) as u8,
        from: flow.from,
        from_description: plane.programmed.description(flow.from.node).to_owned(),
        dlid: flow.dlid,
        sl: flow.sl,
    }
}
