//! What a packet meets on its way: times, tables, partitions, arbitration. Expected values are by hand.

use crate::support::*;
use heddle_emulator::traffic::{Arbitration, Discard, End, Flow, Options, Outcome, Pattern, Programmed};
use heddle_engines::Engine;
use heddle_fabric::{Fabric, NodeIndex, PortRef};
use heddle_mad::wire::PortMask;
use std::time::Duration;

/// `a0, a1 -- A -- B -- b0, b1`, and the LIDs that min-hop was told.
struct Pair {
    fabric: Fabric,
    programmed: Programmed,
    hosts: [PortRef; 4],
    lids: [u16; 4],
    switches: [NodeIndex; 2],
    /// A's port to B, and B's to A.
    across: [u8; 2],
}

fn pair() -> Pair {
    let fabric = generated("ring:2,hosts=2");
    let names = ["host-0-0", "host-0-1", "host-1-0", "host-1-1"];
    Pair {
        programmed: routed(&fabric, Engine::MinHop),
        hosts: names.map(|name| host(&fabric, name)),
        lids: names.map(|name| lid(&fabric, name)),
        switches: ["switch-0", "switch-1"].map(|name| node(&fabric, name)),
        across: [port_to(&fabric, "switch-0", "switch-1"), port_to(&fabric, "switch-1", "switch-0")],
        fabric,
    }
}

impl Pair {
    fn run(&self, flows: &[Flow]) -> Outcome {
        self.programmed.run(flows, &Options::default())
    }

    fn only_discard(&self, flow: Flow) -> Discard {
        let outcome = self.run(&[flow]);
        assert_eq!((&outcome.end, outcome.delivered, outcome.underway), (&End::Done, 0, 0), "{outcome}");
        assert_eq!(outcome.discarded.values().sum::<u64>(), u64::from(flow.packets), "{outcome}");
        *outcome.discarded.keys().next().unwrap()
    }
}

#[test]
fn a_packet_cuts_through() {
    let pair = pair();
    // 2048 bytes and 26 of headers at 4 * 50 Gb/s are 82.96 ns, once; and three hops of 200 ns.
    let outcome = pair.run(&[Flow::new(pair.hosts[0], pair.lids[2])]);
    let latency = outcome.latency.unwrap();
    assert_eq!((latency.min, latency.max), (Duration::from_nanos(682), Duration::from_nanos(682)));
    assert_eq!((outcome.sent, outcome.delivered, outcome.hops), (1, 1, 3));
    let across = outcome.port(PortRef::new(pair.switches[0], pair.across[0]));
    assert_eq!((across.xmit_pkts, across.xmit_data, across.rcv_pkts, across.xmit_wait), (1, 518, 0, 0));
    // 2048 bytes and LRH, BTH and ICRC are 2072.
    assert_eq!(outcome.port(pair.hosts[2]).rcv_data, 518);
}

#[test]
fn a_slow_cable_takes_its_time() {
    let mut pair = pair();
    // 1x SDR: 2 Gb/s, 8,296 ns a packet. The last of ten has to wait for nine.
    pair.programmed.port_mut(PortRef::new(pair.switches[0], pair.across[0])).unwrap().mbps = 2000;
    let outcome = pair.run(&[Flow { packets: 10, ..Flow::new(pair.hosts[0], pair.lids[2]) }]);
    assert_eq!(outcome.at, Duration::from_nanos(10 * 8_296 + 600));
    assert!(outcome.port(PortRef::new(pair.switches[0], pair.across[0])).xmit_wait == 0, "it is never idle");
}

#[test]
fn a_full_buffer_holds_the_sender_back() {
    let mut pair = pair();
    pair.programmed.port_mut(PortRef::new(pair.switches[0], pair.across[0])).unwrap().mbps = 2000;
    let flows = [Flow { packets: 30, ..Flow::new(pair.hosts[0], pair.lids[2]) }];
    let outcome = pair.programmed.run(&flows, &Options { buffer: 4, ..Options::default() });
    // The host can be four packets ahead of the slow cable, not more.
    assert_eq!((&outcome.end, outcome.delivered), (&End::Done, 30));
    let wait = Duration::from_nanos(4 * outcome.port(pair.hosts[0]).xmit_wait);
    assert!(wait > Duration::from_nanos(25 * 8_000) && wait < Duration::from_nanos(27 * 8_296), "{wait:?}");
}

#[test]
fn a_switch_is_an_end_too() {
    let pair = pair();
    let [a, b] = pair.switches.map(|node| (PortRef::new(node, 0), pair.fabric.port(PortRef::new(node, 0)).unwrap().lid.unwrap().get()));
    let outcome = pair.run(&[Flow::new(a.0, b.1), Flow::new(a.0, pair.lids[0]), Flow::new(pair.hosts[3], a.1)]);
    assert_eq!((outcome.delivered, outcome.port(a.0).xmit_pkts, outcome.port(a.0).rcv_pkts), (3, 2, 1), "{outcome}");
}

#[test]
fn tables_that_lead_nowhere() {
    let mut pair = pair();
    let flow = Flow { packets: 3, ..Flow::new(pair.hosts[0], pair.lids[2]) };
    let mut with_entry = |port: u8| {
        pair.programmed.switch_mut(pair.switches[0]).unwrap().lft[usize::from(flow.dlid)] = port;
        pair.only_discard(flow)
    };
    assert_eq!(with_entry(0xff), Discard::NoEntry);
    assert_eq!(with_entry(200), Discard::LinkDown);
    assert_eq!(with_entry(0), Discard::WrongPort);
    let [own, neighbour] = [0, 1].map(|host| pair.programmed.peer(pair.hosts[host]).unwrap().port);
    let mut with_entry = |port: u8| {
        pair.programmed.switch_mut(pair.switches[0]).unwrap().lft[usize::from(flow.dlid)] = port;
        pair.only_discard(flow)
    };
    assert_eq!(with_entry(own), Discard::TurnsBack);
    assert_eq!(with_entry(neighbour), Discard::WrongPort);
    let nobody = Flow::new(pair.hosts[0], 0x3000);
    assert_eq!(pair.only_discard(nobody), Discard::NoEntry);
}

#[test]
fn packets_that_are_too_long() {
    let mut pair = pair();
    pair.programmed.port_mut(PortRef::new(pair.switches[0], pair.across[0])).unwrap().mtu = 1024;
    let flow = Flow::new(pair.hosts[0], pair.lids[2]);
    assert_eq!(pair.only_discard(flow), Discard::TooLong);
    assert_eq!(pair.run(&[Flow { payload: 1024, ..flow }]).delivered, 1);
    assert_eq!(pair.run(&[Flow::new(pair.hosts[2], pair.lids[0])]).delivered, 1, "the other direction has its own");
}

#[test]
fn partitions() {
    let mut pair = pair();
    let flow = Flow { p_key: 0x8001, ..Flow::new(pair.hosts[0], pair.lids[2]) };
    assert_eq!(pair.only_discard(flow), Discard::PKey);
    pair.programmed.port_mut(pair.hosts[0]).unwrap().p_keys = vec![0xffff, 0x8001];
    assert_eq!(pair.only_discard(flow), Discard::PKey, "the receiver does not have it");
    // A limited member speaks with full members only (IBA 10.9.1.1).
    pair.programmed.port_mut(pair.hosts[2]).unwrap().p_keys = vec![0x0001];
    assert_eq!(pair.run(&[flow]).delivered, 1);
    assert_eq!(pair.only_discard(Flow { p_key: 0x0001, ..flow }), Discard::PKey);

    let [entry, exit] = [PortRef::new(pair.switches[1], pair.across[1]), PortRef::new(pair.switches[0], pair.across[0])];
    pair.programmed.port_mut(entry).unwrap().enforce_inbound = true;
    assert_eq!(pair.only_discard(flow), Discard::PKeyInbound);
    assert_eq!(pair.run(&[flow]).port(entry).rcv_constraint_errors, 1);
    pair.programmed.port_mut(exit).unwrap().enforce_outbound = true;
    assert_eq!(pair.only_discard(flow), Discard::PKeyOutbound);
    assert_eq!(pair.run(&[flow]).port(exit).xmit_constraint_errors, 1);
    for at in [entry, exit] {
        pair.programmed.port_mut(at).unwrap().p_keys.push(0x8001);
    }
    assert_eq!(pair.run(&[flow]).delivered, 1);
}

#[test]
fn service_levels_choose_virtual_lanes() {
    let mut pair = pair();
    let row = |vl: u8| [vl; 16];
    let flow = Flow { sl: 5, ..Flow::new(pair.hosts[0], pair.lids[2]) };
    let port = pair.programmed.peer(pair.hosts[0]).unwrap().port;
    pair.programmed.switch_mut(pair.switches[0]).unwrap().sl_to_vl.insert((port, pair.across[0]), row(15));
    assert_eq!(pair.only_discard(flow), Discard::NoVl, "15 is drop");
    assert_eq!(pair.run(&[flow]).port(PortRef::new(pair.switches[0], port)).rcv_switch_relay_errors, 1);
    pair.programmed.switch_mut(pair.switches[0]).unwrap().sl_to_vl.insert((port, pair.across[0]), row(3));
    assert_eq!(pair.only_discard(flow), Discard::NoVl, "the link has one VL");
    pair.programmed.ports_mut().for_each(|port| port.operational_vls = 4);
    assert_eq!(pair.run(&[flow]).delivered, 1);
    pair.programmed.port_mut(pair.hosts[0]).unwrap().sl_to_vl = row(15);
    assert_eq!(pair.only_discard(flow), Discard::NoVl);
}

/// Two hosts push as much as goes over one cable, one on VL 0 and one on VL 1.
fn shares(arbitration: Arbitration) -> [u64; 2] {
    let mut pair = pair();
    pair.programmed.ports_mut().for_each(|port| port.operational_vls = 2);
    let exit = PortRef::new(pair.switches[0], pair.across[0]);
    for number in [0, 1] {
        let port = pair.programmed.peer(pair.hosts[number]).unwrap().port;
        let settings = pair.programmed.switch_mut(pair.switches[0]).unwrap();
        settings.sl_to_vl.insert((port, exit.port), [number as u8; 16]);
    }
    pair.programmed.port_mut(exit).unwrap().arbitration = arbitration;
    // 64-byte units: 2022 and 26 are 32 of them.
    let flow = |from: usize, to: usize| Flow { packets: 100_000, payload: 2022, ..Flow::new(pair.hosts[from], pair.lids[to]) };
    let options = Options { until: Duration::from_millis(1), ..Options::default() };
    let outcome = pair.programmed.run(&[flow(0, 2), flow(1, 3)], &options);
    assert_eq!(outcome.end, End::OutOfTime);
    [2, 3].map(|host| outcome.port(pair.hosts[host]).rcv_pkts)
}

fn ratio([first, second]: [u64; 2]) -> f64 {
    first as f64 / second as f64
}

#[test]
fn arbitration_shares_a_cable() {
    let tables = |high: &[(u8, u8)], low: &[(u8, u8)], limit_of_high| Arbitration { high: high.to_vec(), low: low.to_vec(), limit_of_high };
    assert!((ratio(shares(Arbitration::default())) - 1.0).abs() < 0.01, "in turn");
    // One packet against three.
    let weighted = ratio(shares(tables(&[], &[(0, 96), (1, 32)], 0)));
    assert!((weighted - 3.0).abs() < 0.05, "{weighted}");
    // Limit 0: one packet of the high table, then one of the low one.
    let limited = ratio(shares(tables(&[(0, 255)], &[(1, 255)], 0)));
    assert!((limited - 1.0).abs() < 0.05, "{limited}");
    // Limit 3: 12,288 bytes are six packets.
    let limited = ratio(shares(tables(&[(0, 255)], &[(1, 255)], 3)));
    assert!((limited - 6.0).abs() < 0.1, "{limited}");
    let [high, low] = shares(tables(&[(0, 1)], &[(1, 255)], 255));
    assert!(low <= 20 && high > 10_000, "{high} and {low}: only before the first of the others was there");
    let [high, low] = shares(tables(&[], &[(1, 32)], 0));
    assert!(high == 0 && low > 10_000, "VL 0 has no turn");
}

#[test]
fn multicast_copies() {
    let mut pair = pair();
    let [a, b] = pair.switches;
    let ports = [0, 1, 2, 3].map(|host| pair.programmed.peer(pair.hosts[host]).unwrap().port);
    // All but host-0-1, and switch-1 itself.
    let masks = [(a, vec![ports[0], pair.across[0]]), (b, vec![0, ports[2], ports[3], pair.across[1]])];
    for (switch, mask) in masks {
        pair.programmed.switch_mut(switch).unwrap().mft.insert(0xc001, mask.into_iter().collect::<PortMask>());
    }
    let outcome = pair.run(&[Flow { packets: 5, ..Flow::new(pair.hosts[0], 0xc001) }]);
    assert_eq!((&outcome.end, outcome.sent, outcome.delivered, outcome.underway), (&End::Done, 5, 15, 0), "{outcome}");
    let received = [1, 2, 3].map(|host| outcome.port(pair.hosts[host]).rcv_pkts);
    assert_eq!((received, outcome.port(PortRef::new(b, 0)).rcv_pkts), ([0, 5, 5], 5));
    assert_eq!(pair.only_discard(Flow::new(pair.hosts[0], 0xc002)), Discard::NoEntry);
}

#[test]
fn adaptive_switches_use_all_cables() {
    let fabric = double_ring(3);
    let mut programmed = one_way(&fabric);
    let flows = ["0", "1"].map(|number| Flow {
        packets: 1000,
        ..Flow::new(host(&fabric, &format!("host-0-{number}")), lid(&fabric, &format!("host-1-{number}")))
    });
    let exits = |outcome: &Outcome| [3, 4].map(|port| outcome.port(PortRef::new(node(&fabric, "switch-0"), port)).xmit_pkts);
    assert_eq!(exits(&programmed.run(&flows, &Options::default())), [2000, 0]);
    let settings = programmed.switch_mut(node(&fabric, "switch-0")).unwrap();
    settings.adaptive.extend(flows.iter().map(|flow| (flow.dlid, group(&[3, 4]))));
    let outcome = programmed.run(&flows, &Options::default());
    assert_eq!((&outcome.end, outcome.delivered, exits(&outcome)), (&End::Done, 2000, [1000, 1000]));
}

#[test]
fn a_loop_goes_on_until_the_time_is_over_or_the_buffers_are_full() {
    let fabric = generated("ring:3,hosts=1");
    let mut programmed = routed(&fabric, Engine::MinHop);
    let target = lid(&fabric, "host-0-0");
    for number in 0..3 {
        let [here, next] = [0, 1].map(|offset| format!("switch-{}", (number + offset) % 3));
        let port = port_to(&fabric, &here, &next);
        programmed.switch_mut(node(&fabric, &here)).unwrap().lft[usize::from(target)] = port;
    }
    let options = Options { buffer: 4, until: Duration::from_micros(100), ..Options::default() };
    let one = programmed.run(&[Flow::new(host(&fabric, "host-1-0"), target)], &options);
    assert_eq!((&one.end, one.underway), (&End::OutOfTime, 1));
    let flows = ["host-1-0", "host-2-0"].map(|name| Flow { packets: 100, ..Flow::new(host(&fabric, name), target) });
    let many = programmed.run(&flows, &options);
    assert_eq!(many.stopped().map(|stop| stop.circle.len()), Some(3), "{many}");
}

#[test]
fn patterns() {
    let pair = pair();
    let pairs = |pattern: Pattern| -> Vec<(usize, usize)> {
        let flows = pattern.flows(&pair.programmed, 1);
        let place = |flow: &Flow| {
            let from = pair.hosts.iter().position(|&host| host == flow.from).unwrap();
            (from, pair.lids.iter().position(|&lid| lid == flow.dlid).unwrap())
        };
        flows.iter().map(place).collect()
    };
    assert_eq!(pairs(Pattern::Shift { by: 1 }), [(0, 1), (1, 2), (2, 3), (3, 0)]);
    assert_eq!(pairs(Pattern::Shift { by: 4 }), []);
    assert_eq!(pairs(Pattern::Incast { to: 2 }), [(0, 2), (1, 2), (3, 2)]);
    assert_eq!(pairs(Pattern::AllToAll).len(), 12);
    let mut permuted = pairs(Pattern::Permutation { seed: 9 });
    assert!(permuted.iter().all(|(from, to)| from != to));
    permuted.sort_unstable();
    assert_eq!(permuted.iter().map(|pair| pair.0).collect::<Vec<_>>(), [0, 1, 2, 3]);
    permuted.sort_unstable_by_key(|pair| pair.1);
    assert_eq!(permuted.iter().map(|pair| pair.1).collect::<Vec<_>>(), [0, 1, 2, 3]);
}
