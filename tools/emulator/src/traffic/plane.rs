//! The run: packets move by events, in picoseconds.

use super::arbiter::Arbiter;
use super::deadlock;
use super::flows::Flow;
use super::forward::{Exits, FIRST_MULTICAST};
use super::outcome::{Discard, End, Latency, Outcome};
use super::programmed::{NONE, Programmed};
use crate::Tally;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::time::Duration;

/// How a run is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// How many packets each port of a switch can hold for each VL; at least 1. 16 by default.
    pub buffer: u16,
    /// Whether packets that are at the head of a queue for longer than HOQLife are discarded. Not by default, so that a deadlock stays.
    pub hoq_life: bool,
    /// The run ends after this time at the latest; a second by default.
    pub until: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { buffer: 16, hoq_life: false, until: Duration::from_secs(1) }
    }
}

impl Programmed {
    /// Sends packets, and says what became of them. Flows from ports that are no end ports, or whose link is down, send nothing. The same
    /// calls have the same results. `O(hops * log(packets underway))`.
    ///
    /// Switches cut through: a packet leaves as soon as its header is there, the port of exit is free and the next buffer has room for all
    /// of it, and its own buffer is free when its tail has left. Each port of exit takes the packets of a VL from the ports of entry in
    /// turn. A hop takes 0.2 µs beside the transmission; news of free buffers takes no time. Whoever receives never lets packets wait.
    pub fn run(&self, flows: &[Flow], options: &Options) -> Outcome {
        let mut plane = Plane::new(self, flows, options);
        let end = plane.run();
        plane.outcome(end)
    }
}

/// Time over a link and through the switch behind it, in ps (as in [`crate::Timing::Hardware`]).
pub(super) const HOP: u64 = 200_000;
/// Bytes of a packet beside its payload: LRH 8, BTH 12, ICRC 4, VCRC 2 (IBA 5.2).
const HEADERS: u16 = 26;
/// The unit of PortXmitWait.
const TICK: u64 = 4_000;
const NEVER: u64 = u64::MAX;
/// So many events at least are between two searches for packets that never move.
const SEARCH: u64 = 50_000;

/// Kinds of events, above the index that they are about.
const START: u32 = 0;
const ARRIVE: u32 = 1 << 30;
const SENT: u32 = 2 << 30;
const EXPIRE: u32 = 3 << 30;
const INDEX: u32 = (1 << 30) - 1;

/// A packet in the buffer of a port of entry, or on its way into it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    pub(super) flow: u32,
    /// The dense port of entry; [`NONE`] if this is no packet.
    pub(super) input: u32,
    pub(super) vl: u8,
    /// Copies that wait for a port of exit.
    pub(super) copies: u8,
    /// Copies that are being sent.
    sending: u8,
    /// Waits at several ports of exit for the first that has room.
    pub(super) any: bool,
    pub(super) arrived: bool,
    /// Requests with another number are void.
    pub(super) serial: u32,
    tail_in: u64,
    born: u64,
}

/// A packet that waits for a port of exit. Those from the same port of entry are a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) packet: u32,
    pub(super) serial: u32,
    pub(super) next: u32,
    queue: u32,
    deadline: u64,
}

/// Those who wait for a (port of exit, VL) from one port of entry; at an end port, a flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    input: u32,
    pub(super) head: u32,
    tail: u32,
}

/// A port of exit.
#[derive(Clone, Debug)]
struct Out {
    peer: u32,
    peer_is_end: bool,
    is_end: bool,
    busy: bool,
    /// The packet that is being sent, if it leaves a buffer.
    sending: u32,
    /// A bit for each VL that somebody waits for.
    wanted: u16,
    /// How many wait.
    queued: u32,
    mbps: u64,
    waiting_since: u64,
    arbiter: Arbiter,
    tally: Tally,
    wait: u64,
}

impl Out {
    /// As the counters of performance management have it (IBA 16.1.4).
    fn count_discard(&mut self, why: Discard) {
        let tally = &mut self.tally;
        let (sum, detail) = match why {
            Discard::NoEntry => (&mut tally.rcv_switch_relay_errors, Some(&mut tally.dlid_mapping_errors)),
            Discard::TurnsBack => (&mut tally.rcv_switch_relay_errors, Some(&mut tally.looping_errors)),
            Discard::NoVl if self.is_end => (&mut tally.xmit_discards, None),
            Discard::NoVl => (&mut tally.rcv_switch_relay_errors, Some(&mut tally.vl_mapping_errors)),
            Discard::LinkDown => (&mut tally.xmit_discards, Some(&mut tally.inactive_discards)),
            Discard::TooLong => (&mut tally.xmit_discards, Some(&mut tally.mtu_discards)),
            Discard::HeadOfQueue => (&mut tally.xmit_discards, Some(&mut tally.hoq_discards)),
            Discard::NoTurn => (&mut tally.xmit_discards, None),
            Discard::PKeyInbound => (&mut tally.rcv_constraint_errors, None),
            Discard::PKeyOutbound => (&mut tally.xmit_constraint_errors, None),
            Discard::WrongPort => (&mut tally.rcv_errors, None),
            // A host has no counter of these but PortInfo's violations.
            Discard::PKey => return,
        };
        *sum += 1;
        detail.into_iter().for_each(|detail| *detail += 1);
    }
}

pub(super) struct Plane<'a> {
    pub(super) programmed: &'a Programmed,
    pub(super) flows: &'a [Flow],
    hoq_life: bool,
    until: u64,
    now: u64,
    planned: u32,
    events: BinaryHeap<Reverse<u128>>,
    /// Packets that each flow still has to send.
    left: Vec<u32>,
    pub(super) packets: Vec<Packet>,
    free_packets: Vec<u32>,
    pub(super) requests: Vec<Request>,
    free_requests: Vec<u32>,
    outs: Vec<Out>,
    pub(super) vls: usize,
    /// By (port of exit, VL).
    pub(super) queues: Vec<VecDeque<Line>>,
    /// Free places by (port of entry, VL).
    pub(super) room: Vec<u16>,
    pub(super) buffer: u16,
    sent: u64,
    delivered: u64,
    discarded: BTreeMap<Discard, u64>,
    hops: u64,
    latency: (u64, u128, u64),
}

impl<'a> Plane<'a> {
    fn new(programmed: &'a Programmed, flows: &'a [Flow], options: &Options) -> Self {
        let ports = &programmed.ports;
        let vls = (0..ports.len() as u32).map(|port| programmed.vls(port)).max().unwrap_or(1);
        let slots = ports.len() * usize::from(vls);
        let outs = ports.iter().map(|port| Out {
            peer: port.peer,
            peer_is_end: ports.get(port.peer as usize).is_some_and(|peer| peer.is_end),
            is_end: port.is_end,
            busy: false,
            sending: NONE,
            wanted: 0,
            queued: 0,
            mbps: u64::from(port.mbps.max(1)),
            waiting_since: NEVER,
            arbiter: Arbiter::default(),
            tally: Tally::default(),
            wait: 0,
        });
        let mut plane = Self {
            programmed,
            flows,
            hoq_life: options.hoq_life,
            until: picoseconds(options.until),
            now: 0,
            planned: 0,
            events: BinaryHeap::new(),
            left: flows.iter().map(|flow| flow.packets).collect(),
            packets: Vec::new(),
            free_packets: Vec::new(),
            requests: Vec::new(),
            free_requests: Vec::new(),
            outs: outs.collect(),
            vls: usize::from(vls),
            queues: vec![VecDeque::new(); slots],
            room: vec![options.buffer.max(1); slots],
            buffer: options.buffer.max(1),
            sent: 0,
            delivered: 0,
            discarded: BTreeMap::new(),
            hops: 0,
            latency: (NEVER, 0, 0),
        };
        for (number, flow) in (0..INDEX).zip(flows) {
            plane.plan(picoseconds(flow.start), START | number);
        }
        plane
    }

    fn run(&mut self) -> End {
        let (mut count, mut search) = (0, SEARCH);
        while let Some(Reverse(event)) = self.events.pop() {
            let at = (event >> 64) as u64;
            let is_void = |request: u32| self.requests[request as usize].deadline != at;
            if event as u32 & !INDEX == EXPIRE && is_void(event as u32 & INDEX) {
                continue; // it went in time
            }
            self.now = at;
            if self.now > self.until {
                self.now = self.until;
                return deadlock::find(self).map_or(End::OutOfTime, End::Stopped);
            }
            let index = event as u32 & INDEX;
            match event as u32 & !INDEX {
                START => self.start(index),
                ARRIVE => self.arrive(index),
                SENT => self.sent(index),
                _ => self.expire(index),
            }
            count += 1;
            if count >= search {
                // In proportion to what a search costs, so that it takes a small share of the time.
                search = count + SEARCH + 4 * self.packets.len() as u64;
                if let Some(stop) = deadlock::find(self) {
                    return End::Stopped(stop);
                }
            }
        }
        deadlock::find(self).map_or(End::Done, End::Stopped)
    }

    /// Lifetimes end every wait.
    pub(super) fn waits_for_ever(&self, output: u32) -> bool {
        !self.hoq_life || self.programmed.ports[output as usize].hoq_life.is_none()
    }

    pub(super) fn peer(&self, port: u32) -> u32 {
        self.outs[port as usize].peer
    }

    fn plan(&mut self, at: u64, event: u32) {
        self.planned = self.planned.wrapping_add(1);
        self.events.push(Reverse(u128::from(at) << 64 | u128::from(self.planned) << 32 | u128::from(event)));
    }

    /// A flow may begin.
    fn start(&mut self, number: u32) {
        let flow = self.flows[number as usize];
        let Some(end) = self.programmed.end(flow.from).filter(|&end| self.peer(end) != NONE && flow.packets > 0) else { return };
        match self.programmed.admit_from_end(end, &flow) {
            Ok(vl) => {
                self.queues[end as usize * self.vls + usize::from(vl)].push_back(Line { input: number, head: NONE, tail: NONE });
                self.outs[end as usize].wanted |= 1 << vl;
                self.try_send(end);
            }
            Err(why) => {
                *self.discarded.entry(why).or_default() += u64::from(flow.packets);
                (0..flow.packets).for_each(|_| self.outs[end as usize].count_discard(why));
            }
        }
    }

    /// Sends the next packet by a port, if there is one that can go.
    fn try_send(&mut self, output: u32) {
        loop {
            let out = &mut self.outs[output as usize];
            if out.busy || out.wanted == 0 {
                return;
            }
            let mut ready = out.wanted;
            if !out.peer_is_end {
                let rooms = &self.room[out.peer as usize * self.vls..][..self.vls];
                rooms.iter().enumerate().filter(|(_, room)| **room == 0).for_each(|(vl, _)| ready &= !(1 << vl));
            }
            let Some(vl) = out.arbiter.next(&self.programmed.ports[output as usize].arbitration, ready) else {
                out.waiting_since = out.waiting_since.min(self.now);
                return;
            };
            let slot = output as usize * self.vls + usize::from(vl);
            let Some(mut line) = self.queues[slot].pop_front() else { return };
            if out.is_end {
                self.left[line.input as usize] -= 1;
                if self.left[line.input as usize] > 0 {
                    self.queues[slot].push_back(line);
                }
                self.unwant_if_empty(output, vl);
                self.sent += 1;
                return self.send(output, vl, line.input, NONE);
            }
            let request = self.requests[line.head as usize];
            self.requests[line.head as usize].deadline = NEVER;
            self.free_requests.push(line.head);
            out.queued -= 1;
            line.head = request.next;
            if line.head != NONE {
                self.queues[slot].push_back(line);
                self.limit(line.head, output);
            }
            self.unwant_if_empty(output, vl);
            let packet = &mut self.packets[request.packet as usize];
            if packet.serial == request.serial {
                packet.sending += 1;
                packet.copies -= 1;
                if packet.any {
                    packet.copies = 0;
                    packet.serial = packet.serial.wrapping_add(1);
                }
                let flow = packet.flow;
                return self.send(output, vl, flow, request.packet);
            }
        }
    }

    fn unwant_if_empty(&mut self, output: u32, vl: u8) {
        if self.queues[output as usize * self.vls + usize::from(vl)].is_empty() {
            self.outs[output as usize].wanted &= !(1 << vl);
        }
    }

    fn send(&mut self, output: u32, vl: u8, flow: u32, from: u32) {
        let Flow { payload, sl, dlid, .. } = self.flows[flow as usize];
        let bytes = payload + HEADERS;
        let (born, tail_in) = self.packets.get(from as usize).map_or((self.now, 0), |packet| (packet.born, packet.tail_in));
        let out = &mut self.outs[output as usize];
        if out.waiting_since != NEVER {
            out.wait += self.now - out.waiting_since;
            out.waiting_since = NEVER;
        }
        out.busy = true;
        out.sending = from;
        out.tally.sent(dwords(payload), Some((sl, vl)));
        out.tally.xmit_multicast_pkts += u64::from(dlid >= FIRST_MULTICAST);
        out.arbiter.sent(&self.programmed.ports[output as usize].arbitration, bytes);
        // Bytes to picoseconds; no faster than they come in.
        let tail_out = (self.now + u64::from(bytes) * 8_000_000 / out.mbps).max(tail_in);
        let (input, is_end) = (out.peer, out.peer_is_end);
        if !is_end {
            self.room[input as usize * self.vls + usize::from(vl)] -= 1;
        }
        let tail_in = tail_out + HOP;
        let new = Packet { flow, input, vl, copies: 0, sending: 0, any: false, arrived: false, serial: 0, tail_in, born };
        let packet = match self.free_packets.pop() {
            Some(packet) => {
                let serial = self.packets[packet as usize].serial;
                self.packets[packet as usize] = Packet { serial, ..new };
                packet
            }
            None => {
                self.packets.push(new);
                self.packets.len() as u32 - 1
            }
        };
        self.plan(tail_out, SENT | output);
        self.plan(if is_end { tail_in } else { self.now + HOP }, ARRIVE | packet);
    }

    /// A port has sent the tail of a packet.
    fn sent(&mut self, output: u32) {
        let out = &mut self.outs[output as usize];
        out.busy = false;
        if let Some(packet) = self.packets.get_mut(out.sending as usize) {
            packet.sending -= 1;
            let packet = out.sending;
            self.release(packet);
        }
        self.try_send(output);
    }

    /// Frees a packet's place, if no copy of it waits or is being sent.
    fn release(&mut self, number: u32) {
        let packet = &mut self.packets[number as usize];
        if packet.copies > 0 || packet.sending > 0 {
            return;
        }
        let input = std::mem::replace(&mut packet.input, NONE);
        packet.serial = packet.serial.wrapping_add(1);
        let vl = packet.vl;
        self.free_packets.push(number);
        let upstream = &self.outs[input as usize];
        if !upstream.is_end {
            let upstream = upstream.peer;
            self.room[input as usize * self.vls + usize::from(vl)] += 1;
            self.try_send(upstream);
        }
    }

    /// A packet's header is at a port of a switch, or all of it at an end port.
    fn arrive(&mut self, number: u32) {
        self.hops += 1;
        let packet = &mut self.packets[number as usize];
        packet.arrived = true;
        let Packet { input, tail_in, born, vl, .. } = *packet;
        let flow = self.flows[packet.flow as usize];
        let port = &self.programmed.ports[input as usize];
        let tally = &mut self.outs[input as usize].tally;
        tally.received(dwords(flow.payload), Some((flow.sl, vl)));
        tally.rcv_multicast_pkts += u64::from(flow.dlid >= FIRST_MULTICAST);
        if port.is_end {
            let is_here = flow.dlid >= FIRST_MULTICAST || self.programmed.owner.get(usize::from(flow.dlid)) == Some(&input);
            return match () {
                () if !is_here => self.discard(number, input, Discard::WrongPort),
                () if !self.programmed.has_p_key(input, flow.p_key) => self.discard(number, input, Discard::PKey),
                () => {
                    let took = tail_in - born;
                    self.latency = (self.latency.0.min(took), self.latency.1 + u128::from(took), self.latency.2.max(took));
                    self.delivered += 1;
                    self.release(number);
                }
            };
        }
        if port.enforce_inbound && !self.programmed.has_p_key(input, flow.p_key) {
            return self.discard(number, input, Discard::PKeyInbound);
        }
        match self.programmed.exits(input, &flow) {
            Exits::None(why, port) => self.discard(number, port, why),
            Exits::One(output) => match self.programmed.admit(input, output, &flow) {
                Ok(vl) => {
                    self.packets[number as usize].copies = 1;
                    self.enqueue(number, output, vl);
                    self.try_send(output);
                }
                Err(why) => self.discard(number, self.blamed(input, output, why), why),
            },
            Exits::All(mask) => {
                let outputs: Vec<_> =
                    self.programmed.usable(input, mask).map(|output| (output, self.programmed.admit(input, output, &flow))).collect();
                if outputs.is_empty() {
                    return self.discard(number, input, Discard::NoEntry);
                }
                // One more as long as copies are made, so that the packet stays.
                self.packets[number as usize].copies = 1;
                for (output, admitted) in outputs {
                    match admitted {
                        Ok(vl) => {
                            self.packets[number as usize].copies += 1;
                            self.enqueue(number, output, vl);
                            self.try_send(output);
                        }
                        Err(why) => self.count_discard(self.blamed(input, output, why), why),
                    }
                }
                self.packets[number as usize].copies -= 1;
                self.release(number);
            }
            Exits::Any(group) => {
                let admitted = |(output, primary)| (output, primary, self.programmed.admit(input, output, &flow));
                let outputs = self.programmed.choices(input, &group).map(admitted);
                let (mut open, closed): (Vec<_>, Vec<_>) = outputs.partition(|(.., admitted)| admitted.is_ok());
                if let (true, Some(&(output, _, Err(why)))) = (open.is_empty(), closed.first()) {
                    return self.discard(number, self.blamed(input, output, why), why);
                }
                // Waits at all of them, and goes by the first that can send; of the primary ones the shortest queue is asked first.
                self.packets[number as usize].copies = 1;
                self.packets[number as usize].any = true;
                open.sort_by_key(|(output, primary, _)| (!primary, self.outs[*output as usize].queued, *output));
                for &(output, _, vl) in &open {
                    self.enqueue(number, output, vl.unwrap_or(0));
                }
                for (output, ..) in open {
                    self.try_send(output);
                }
            }
        }
    }

    fn enqueue(&mut self, packet: u32, output: u32, vl: u8) {
        let queue = output as usize * self.vls + usize::from(vl);
        let Packet { input, serial, .. } = self.packets[packet as usize];
        let new = Request { packet, serial, next: NONE, queue: queue as u32, deadline: NEVER };
        let request = match self.free_requests.pop() {
            Some(request) => {
                self.requests[request as usize] = new;
                request
            }
            None => {
                self.requests.push(new);
                self.requests.len() as u32 - 1
            }
        };
        self.outs[output as usize].wanted |= 1 << vl;
        self.outs[output as usize].queued += 1;
        if let Some(line) = self.queues[queue].iter_mut().find(|line| line.input == input) {
            self.requests[line.tail as usize].next = request;
            line.tail = request;
        } else {
            self.queues[queue].push_back(Line { input, head: request, tail: request });
            self.limit(request, output);
        }
    }

    /// Begins the lifetime of what is now at the head of a queue.
    fn limit(&mut self, request: u32, output: u32) {
        if let Some(life) = self.programmed.ports[output as usize].hoq_life.filter(|_| self.hoq_life) {
            let deadline = self.now + picoseconds(life);
            self.requests[request as usize].deadline = deadline;
            self.plan(deadline, EXPIRE | request);
        }
    }

    fn expire(&mut self, number: u32) {
        let request = self.requests[number as usize];
        let output = request.queue / self.vls as u32;
        let queue = &mut self.queues[request.queue as usize];
        let Some(place) = queue.iter().position(|line| line.head == number) else { return };
        self.outs[output as usize].queued -= 1;
        if request.next == NONE {
            queue.remove(place);
            self.unwant_if_empty(output, (request.queue % self.vls as u32) as u8);
        } else {
            queue[place].head = request.next;
            self.limit(request.next, output);
        }
        self.requests[number as usize].deadline = NEVER;
        self.free_requests.push(number);
        let packet = &mut self.packets[request.packet as usize];
        if packet.serial == request.serial {
            packet.copies -= 1;
            self.count_discard(output, Discard::HeadOfQueue);
            self.release(request.packet);
        }
    }

    /// The port that counts a discard.
    fn blamed(&self, input: u32, output: u32, why: Discard) -> u32 {
        if why == Discard::NoVl { input } else { output }
    }

    fn discard(&mut self, packet: u32, port: u32, why: Discard) {
        self.count_discard(port, why);
        self.release(packet);
    }

    fn count_discard(&mut self, port: u32, why: Discard) {
        *self.discarded.entry(why).or_default() += 1;
        self.outs[port as usize].count_discard(why);
    }

    fn outcome(self, end: End) -> Outcome {
        let (min, sum, max) = self.latency;
        let latency = (self.delivered > 0).then(|| Latency {
            min: duration(min),
            mean: duration((sum / u128::from(self.delivered)) as u64),
            max: duration(max),
        });
        let mut ports = BTreeMap::new();
        for (settings, out) in self.programmed.ports.iter().zip(self.outs) {
            let waiting = self.now - out.waiting_since.min(self.now);
            let tally = Tally { xmit_wait: (out.wait + waiting) / TICK, ..out.tally };
            // Of a switch's port 0 and the manager behind it, only the manager counts.
            let is_inner = !settings.is_end && settings.at.port == 0;
            if tally != Tally::default() && !is_inner {
                ports.insert((settings.at.node, settings.at.port), tally);
            }
        }
        Outcome {
            end,
            at: duration(self.now),
            sent: self.sent,
            delivered: self.delivered,
            discarded: self.discarded,
            underway: self.packets.iter().filter(|packet| packet.input != NONE && (packet.sending == 0 || packet.copies > 0)).count()
                as u64,
            hops: self.hops,
            latency,
            ports,
        }
    }
}

/// A packet in units of 4 bytes, without VCRC and what is on the wire between packets, as the counters have it.
fn dwords(payload: u16) -> u64 {
    u64::from((payload + HEADERS - 2).div_ceil(4))
}

fn picoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(NEVER).saturating_mul(1000)
}

fn duration(picoseconds: u64) -> Duration {
    Duration::from_nanos(picoseconds / 1000)
}
