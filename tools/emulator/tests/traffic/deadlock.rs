//! What stops and what does not, known by thought.

use crate::support::*;
use heddle_emulator::traffic::{Attack, Discard, End, Flow, Options, Pattern, Programmed};
use heddle_engines::Engine;
use heddle_fabric::{Fabric, Lid, NodeIndex, PortRef};
use std::time::Duration;

const SIX: &str = "ring:6,hosts=2";

/// Everyone sends to the host two switches further by LID, clockwise.
fn two_further(programmed: &Programmed, packets: u32) -> Vec<Flow> {
    Pattern::Shift { by: 4 }.flows(programmed, packets)
}

#[test]
fn a_ring_of_six_switches_stops_under_min_hop() {
    let fabric = generated(SIX);
    let programmed = routed(&fabric, Engine::MinHop);
    for buffer in [1, 2, 16] {
        let options = Options { buffer, ..Options::default() };
        let outcome = programmed.run(&two_further(&programmed, 1000), &options);
        let stop = outcome.stopped().unwrap_or_else(|| panic!("{outcome}"));
        // Six cables in one direction, and each packet goes to the switch after the next.
        assert_eq!(stop.circle.len(), 6, "{outcome}");
        assert!(outcome.underway as usize == stop.stuck && stop.stuck >= 6 * usize::from(buffer), "{outcome}");
        let mut switches: Vec<_> = stop.circle.iter().map(|wait| wait.description.clone()).collect();
        switches.sort();
        assert_eq!(switches, (0..6).map(|number| format!("switch-{number}")).collect::<Vec<_>>());
    }
}

#[test]
fn the_picture_says_who_waits_for_whom() {
    let fabric = generated(SIX);
    let programmed = routed(&fabric, Engine::MinHop);
    let outcome = programmed.run(&two_further(&programmed, 2), &Options { buffer: 1, ..Options::default() });
    let stop = outcome.stopped().unwrap();
    let picture = stop.to_string();
    for wait in &stop.circle {
        let peer = programmed.peer(PortRef::new(wait.at.node, wait.exit)).unwrap();
        let next = stop.circle.iter().find(|next| next.at == peer).unwrap();
        assert!(picture.contains(&format!("[\"{}\" port {} VL 0] 1 of 1 full", wait.description, wait.at.port)), "{picture}");
        assert!(picture.contains(&format!("a packet from \"{}\" port 1 to LID {}", wait.from_description, wait.dlid)), "{picture}");
        let edge = format!("\"{} port {} VL 0\" -> \"{} port {} VL 0\"", wait.description, wait.at.port, next.description, next.at.port);
        assert!(stop.dot().contains(&edge), "{}", stop.dot());
    }
}

#[test]
fn it_does_not_under_up_down() {
    let programmed = routed(&generated(SIX), Engine::UpDown);
    for buffer in [1, 2, 16] {
        let options = Options { buffer, ..Options::default() };
        for pattern in [Pattern::AllToAll, Pattern::Shift { by: 4 }, Pattern::Shift { by: 6 }, Pattern::Permutation { seed: 3 }] {
            let flows = pattern.flows(&programmed, 200);
            let outcome = programmed.run(&flows, &options);
            assert_eq!((&outcome.end, outcome.delivered), (&End::Done, 200 * flows.len() as u64), "{pattern:?}: {outcome}");
        }
        assert!(matches!(programmed.attack(&options), Attack::Free));
    }
}

/// Two VLs, with a line between switches 5 and 0, as on a torus: SL 1 is for packets that cross it, on VL 1 from there on.
fn with_dateline(fabric: &Fabric, programmed: &mut Programmed) {
    programmed.ports_mut().for_each(|port| port.operational_vls = 2);
    for number in 0..6 {
        let name = |offset: usize| format!("switch-{}", (number + offset) % 6);
        let at = node(fabric, &name(0));
        let [next, last] = [1, 5].map(|offset| port_to(fabric, &name(0), &name(offset)));
        let crosses = |exit: u8| (number == 5 && exit == next) || (number == 0 && exit == last);
        let settings = programmed.switch_mut(at).unwrap();
        for (from, to) in [(next, last), (last, next)] {
            // Ways have three hops at most, so that who came to switch 0, 1 or 2 clockwise and crosses the line has done so.
            let is_past = if from == last { number < 3 } else { number > 2 };
            settings.sl_to_vl.insert((from, to), row(u8::from(crosses(to) || is_past)));
        }
        for host in [0, 1, 2] {
            for to in [next, last] {
                settings.sl_to_vl.insert((host, to), row(u8::from(crosses(to))));
            }
        }
    }
}

fn row(vl_of_sl_1: u8) -> [u8; 16] {
    let mut row = [0; 16];
    row[1] = vl_of_sl_1;
    row
}

#[test]
fn virtual_lanes_break_the_circle() {
    let fabric = generated(SIX);
    let mut programmed = routed(&fabric, Engine::MinHop);
    // Whoever crosses the line says so by SL 1: that is known from the forwarding tables.
    let switch_of = |lid: u16| {
        let end = fabric.lid_owner(Lid::new(lid).unwrap()).unwrap();
        (0..6).position(|number| node(&fabric, &format!("switch-{number}")) == fabric.switches()[end.switch.index()]).unwrap()
    };
    let ends = programmed.ends();
    for (&(_, slid), &(_, dlid)) in ends.iter().flat_map(|from| ends.iter().map(move |to| (from, to))) {
        let (mut at, end) = (switch_of(slid), switch_of(dlid));
        let mut crosses = false;
        while at != end {
            let name = |offset: usize| format!("switch-{}", (at + offset) % 6);
            let port = programmed.switch_mut(node(&fabric, &name(0))).unwrap().lft[usize::from(dlid)];
            let step = if port == port_to(&fabric, &name(0), &name(1)) { 1 } else { 5 };
            crosses |= (at == 5 && step == 1) || (at == 0 && step == 5);
            at = (at + step) % 6;
        }
        programmed.path_sl.insert((slid, dlid), u8::from(crosses));
    }
    let one_lane = programmed.clone();
    with_dateline(&fabric, &mut programmed);
    for buffer in [1, 4] {
        let options = Options { buffer, ..Options::default() };
        assert!(matches!(one_lane.attack(&options), Attack::Stopped { .. }), "SLs alone change nothing");
        assert!(matches!(programmed.attack(&options), Attack::Free));
        for pattern in [Pattern::AllToAll, Pattern::Shift { by: 4 }, Pattern::Permutation { seed: 5 }] {
            let flows = pattern.flows(&programmed, 100);
            let outcome = programmed.run(&flows, &options);
            assert_eq!((&outcome.end, outcome.delivered), (&End::Done, 100 * flows.len() as u64), "{pattern:?}: {outcome}");
        }
    }
    // The same SLs and lanes, but nobody heeds the line: all packets that cross it are on VL 1 from the start, and so are in a circle again.
    let mut careless = one_lane.clone();
    careless.ports_mut().for_each(|port| port.operational_vls = 2);
    (0..6).for_each(|number| {
        let settings = careless.switch_mut(node(&fabric, &format!("switch-{number}"))).unwrap();
        settings.sl_to_vl.extend((0..=4).flat_map(|from| (0..=4).map(move |to| ((from, to), row(0)))));
    });
    assert!(matches!(careless.attack(&Options::default()), Attack::Stopped { .. }));
}

#[test]
fn lifetimes_dissolve_a_deadlock() {
    let fabric = generated(SIX);
    let mut programmed = routed(&fabric, Engine::MinHop);
    programmed.ports_mut().for_each(|port| port.hoq_life = Some(Duration::from_micros(50)));
    let flows = two_further(&programmed, 20);
    let outcome = programmed.run(&flows, &Options { buffer: 1, hoq_life: true, ..Options::default() });
    let lost = outcome.discarded[&Discard::HeadOfQueue];
    assert_eq!((&outcome.end, outcome.delivered + lost, outcome.underway), (&End::Done, 240, 0), "{outcome}");
    assert!(lost >= 1 && outcome.at > Duration::from_micros(50), "{outcome}");
    assert_eq!(outcome.ports.values().map(|tally| tally.xmit_discards).sum::<u64>(), lost);
    // Lifetimes that nobody reaches change nothing.
    let flows = Pattern::Incast { to: 0 }.flows(&programmed, 20);
    programmed.ports_mut().for_each(|port| port.hoq_life = Some(Duration::from_millis(1)));
    let [with, without] = [true, false].map(|hoq_life| programmed.run(&flows, &Options { hoq_life, ..Options::default() }));
    assert_eq!((&with, &with.end, with.delivered), (&without, &End::Done, 220), "{with}");
}

/// One ring stands still; hosts at one switch that need no ring go on. It is found all the same, while they send.
#[test]
fn a_deadlock_is_found_beside_traffic_that_flows() {
    let fabric = generated("ring:6,hosts=4");
    let programmed = routed(&fabric, Engine::MinHop);
    let mut flows: Vec<_> = Pattern::Shift { by: 8 }.flows(&programmed, 4);
    let aside = Flow { packets: 10_000_000, ..Flow::new(host(&fabric, "host-0-0"), lid(&fabric, "host-0-1")) };
    flows.retain(|flow| flow.from != aside.from);
    flows.push(aside);
    let outcome = programmed.run(&flows, &Options { buffer: 1, ..Options::default() });
    let stop = outcome.stopped().unwrap_or_else(|| panic!("{outcome}"));
    assert_eq!(stop.circle.len(), 6);
    assert!(outcome.delivered > 1000 && outcome.sent < 10_000_000, "{outcome}");
    assert!(stop.circle.iter().all(|wait| wait.from != aside.from));
}

/// One host of each switch sends a packet to the switch after the next, all by the first of two cables, and they stop. If only switch 0 may
/// use its second cable as well, the packet that waits there has another choice, and with it everything moves.
#[test]
fn a_packet_that_may_choose_is_stuck_only_if_all_choices_are() {
    let fabric = double_ring(6);
    let mut programmed = one_way(&fabric);
    let options = Options { buffer: 1, ..Options::default() };
    let firsts = |flows: Vec<Flow>| flows.into_iter().step_by(2).collect::<Vec<_>>();
    let flows = firsts(Pattern::Shift { by: 4 }.flows(&programmed, 1));
    assert_eq!(programmed.run(&flows, &options).stopped().map(|stop| stop.circle.len()), Some(6));
    let choose = |programmed: &mut Programmed, number: u32| {
        let settings = programmed.switch_mut(NodeIndex(number)).unwrap();
        let onward = (1..).zip(&settings.lft[1..]).filter(|&(_, &port)| port == 3);
        settings.adaptive.extend(onward.map(|(lid, _)| (lid, group(&[3, 4]))));
    };
    choose(&mut programmed, 0);
    let outcome = programmed.run(&flows, &options);
    assert_eq!((&outcome.end, outcome.delivered), (&End::Done, 6), "{outcome}");
    // With the choice everywhere, and packets enough for both cables, all choices are full.
    (1..6).for_each(|number| choose(&mut programmed, number));
    let outcome = programmed.run(&Pattern::Shift { by: 4 }.flows(&programmed, 4), &options);
    let stop = outcome.stopped().unwrap_or_else(|| panic!("{outcome}"));
    assert!(stop.stuck >= 12, "{outcome}");
}
