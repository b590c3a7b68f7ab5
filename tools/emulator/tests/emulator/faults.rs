//! Each statement of a script, as whoever manages the fabric sees it.

use crate::support::*;
use heddle_emulator::{Emulator, VERBS, parse_script};
use heddle_fabric::PortRef;
use heddle_mad::Time;
use heddle_mad::transport::{Address, Envelope, Transport};
use heddle_mad::wire::*;
use proptest::prelude::*;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn up() -> Emulator {
    let mut emulator = emulator();
    bring_up(&mut emulator);
    emulator
}

/// Lets statements happen now.
fn happen(emulator: &mut Emulator, statements: &str) {
    for statement in statements.split(';') {
        let events = parse_script(&format!("0s {statement}"), &fabric()).unwrap_or_else(|error| panic!("{statement}: {error}"));
        for (after, event) in events {
            let at = emulator.now() + after.since(Time::ZERO);
            emulator.world_mut().schedule(at, event);
        }
    }
    let now = emulator.now();
    assert_eq!(emulator.receive(Some(now)).unwrap(), None);
}

fn state(emulator: &Emulator, at: PortRef) -> PortState {
    emulator.world().port_info(at).unwrap().state().unwrap()
}

fn links(emulator: &Emulator) -> [PortState; 5] {
    [at(A, 1), at(S, 5), at(S, 6), at(B, 1), at(B, 2)].map(|end| state(emulator, end))
}

/// Asks for NodeInfo so many times, without waiting in between, and says whom the answers are for and when they came.
fn ask(emulator: &mut Emulator, way: &[u8], times: u64) -> Vec<(u64, Duration)> {
    let start = emulator.now();
    for transaction in 0..times {
        let mut mad = Mad::directed(&path(way), Method::GET, NodeInfo::ID, 0);
        mad.set_transaction(transaction);
        send(emulator, Address::Directed, mad);
    }
    let mut heard = Vec::new();
    while let Some(delivery) = emulator.receive(Some(start + 10 * SECOND)).unwrap() {
        let heddle_mad::transport::Delivery::Received(envelope) = delivery else { panic!("told of a loss") };
        if envelope.mad.method() == Method::GET_RESP {
            heard.push((envelope.mad.transaction() & 0xffff_ffff, emulator.now().since(start)));
        }
    }
    heard
}

fn traps(envelopes: &[Envelope]) -> Vec<TrapDetails> {
    let traps = envelopes.iter().filter(|envelope| envelope.mad.method() == Method::TRAP);
    traps.map(|envelope| envelope.mad.attribute::<Notice>().details().unwrap()).collect()
}

const DOWN: PortState = PortState::Down;
const INIT: PortState = PortState::Init;
const ACTIVE: PortState = PortState::Active;

#[test]
fn cut_and_restore_of_cables_of_nodes_and_of_all() {
    let mut emulator = up();
    assert_eq!(links(&emulator), [ACTIVE, ACTIVE, INIT, ACTIVE, INIT]);
    happen(&mut emulator, "cut T:7");
    assert_eq!(links(&emulator), [ACTIVE, DOWN, INIT, ACTIVE, INIT]);
    happen(&mut emulator, "cut B");
    assert_eq!(links(&emulator), [ACTIVE, DOWN, INIT, DOWN, DOWN]);
    happen(&mut emulator, "restore T");
    assert_eq!(links(&emulator), [ACTIVE, INIT, INIT, INIT, INIT]);
    happen(&mut emulator, "cut all");
    assert_eq!(links(&emulator), [DOWN; 5]);
    happen(&mut emulator, "restore all");
    assert_eq!(links(&emulator), [INIT; 5]);
    happen(&mut emulator, "cut S:5 for 3s");
    receive_all(&mut emulator, 2 * SECOND);
    assert_eq!(state(&emulator, at(T, 7)), DOWN);
    receive_all(&mut emulator, SECOND);
    assert_eq!(state(&emulator, at(T, 7)), INIT);
}

#[test]
fn a_degraded_link_trains_again_with_less() {
    let mut emulator = up();
    let active = |emulator: &Emulator, end| {
        let info = emulator.world().port_info(end).unwrap();
        (info.active_width(), info.active_speed())
    };
    let full = active(&emulator, at(S, 6));
    assert_eq!(full, (Some(LinkWidth::X4), Some(LinkSpeed::Hdr)));
    happen(&mut emulator, "degrade S:6 1x");
    assert_eq!(state(&emulator, at(T, 8)), DOWN);
    let heard = receive_all(&mut emulator, SECOND);
    assert_eq!(traps(&heard)[..2], [LID_S, LID_T].map(|lid| TrapDetails::LinkStateChange { lid }));
    for end in [at(S, 6), at(T, 8)] {
        assert_eq!((state(&emulator, end), active(&emulator, end)), (INIT, (Some(LinkWidth::X1), full.1)));
    }
    happen(&mut emulator, "degrade S:6 SDR");
    receive_all(&mut emulator, SECOND);
    assert_eq!(active(&emulator, at(T, 8)), (Some(LinkWidth::X1), Some(LinkSpeed::Sdr)));
    // What the SM enables changes nothing about what the cable can do.
    happen(&mut emulator, "cut S:6; restore T:8");
    receive_all(&mut emulator, SECOND);
    assert_eq!((state(&emulator, at(T, 8)), active(&emulator, at(T, 8))), (INIT, full));
    assert_eq!(active(&emulator, at(S, 5)), full, "another cable");
}

#[test]
fn cables_lose_packets_and_a_seed_says_which() {
    let heard = |statements: &str, way: &[u8]| {
        let mut emulator = up();
        happen(&mut emulator, statements);
        ask(&mut emulator, way, 1000)
    };
    assert_eq!(heard("loss S:5 0", TO_T).len(), 1000);
    assert_eq!(heard("loss S:5 100", TO_T).len(), 0);
    assert_eq!(heard("loss S:5 100", TO_S).len(), 1000, "another cable");
    assert_eq!(heard("loss S:5 100; restore T:7", TO_T).len(), 1000);
    let some = heard("loss T:7 10", TO_T);
    // A request and its answer both cross it: 0.9 times 0.9.
    assert!((760..860).contains(&some.len()), "{}", some.len());
    assert_eq!(some, heard("loss T:7 10", TO_T));
    assert_ne!(some, heard("seed 2; loss T:7 10", TO_T));
    // Two cables there and back: 0.9 to the fourth.
    let some = heard("loss all 10", TO_T);
    assert!((600..710).contains(&some.len()), "{}", some.len());
}

#[test]
fn damaged_packets_are_dropped_and_counted_where_they_come_in() {
    let mut emulator = up();
    let bad = |emulator: &Emulator, end| {
        let tally = emulator.world().tally(end).unwrap();
        (tally.rcv_errors, tally.symbol_errors)
    };
    happen(&mut emulator, "corrupt S:5 100");
    assert_eq!(ask(&mut emulator, TO_T, 10), []);
    assert_eq!((bad(&emulator, at(S, 5)), bad(&emulator, at(T, 7))), ((0, 0), (10, 10)));
    happen(&mut emulator, "restore S:5; corrupt S:5 20");
    let heard = ask(&mut emulator, TO_T, 1000).len() as u64;
    let damaged = bad(&emulator, at(S, 5)).0 + bad(&emulator, at(T, 7)).0 - 10;
    assert_eq!(heard + damaged, 1000);
    assert!((600..680).contains(&heard), "0.8 times 0.8: {heard}");
}

#[test]
fn errors_are_counted() {
    let mut emulator = up();
    happen(&mut emulator, "errors T:7 symbol 10; errors T:7 symbol 5; errors T:0 vl15 1; cut T:7");
    let tally = |end| emulator.world().tally(end).unwrap();
    assert_eq!((tally(at(T, 7)).symbol_errors, tally(at(T, 0)).vl15_dropped), (15, 1));
    assert_eq!((tally(at(T, 7)).link_downed, tally(at(S, 5)).link_downed, tally(at(S, 6)).link_downed), (1, 1, 0));
}

#[test]
fn a_delay_is_added_in_each_direction() {
    let mut emulator = up();
    let usual = ask(&mut emulator, TO_T, 1)[0].1;
    happen(&mut emulator, "delay S 3ms");
    // A to S, S to T, and back.
    assert_eq!(ask(&mut emulator, TO_T, 1)[0].1, usual + Duration::from_millis(12));
    assert_eq!(ask(&mut emulator, TO_S, 1)[0].1 / 1_000_000, Duration::from_millis(6) / 1_000_000);
}

#[test]
fn packets_are_overtaken_or_come_twice() {
    let mut emulator = up();
    let order: Vec<u64> = ask(&mut emulator, TO_T, 100).iter().map(|heard| heard.0).collect();
    assert_eq!(order, (0..100).collect::<Vec<_>>());
    happen(&mut emulator, "reorder S:5 30");
    let mut order: Vec<u64> = ask(&mut emulator, TO_T, 100).iter().map(|heard| heard.0).collect();
    assert!(!order.is_sorted(), "{order:?}");
    order.sort_unstable();
    assert_eq!(order, (0..100).collect::<Vec<_>>());
    // The request comes twice, and so does each of the answers.
    happen(&mut emulator, "restore S:5; repeat S:5 100");
    assert_eq!(ask(&mut emulator, TO_T, 1).len(), 4);
}

#[test]
fn a_moved_cable_leads_to_where_it_was() {
    let mut emulator = up();
    let guid = |emulator: &mut Emulator, way: &[u8]| Some(get::<NodeInfo>(emulator, way, 0)?.attribute::<NodeInfo>().node_guid());
    happen(&mut emulator, "move S:6 S:1 for 60s");
    let heard = receive_all(&mut emulator, SECOND / 2);
    assert!(traps(&heard).contains(&TrapDetails::LinkStateChange { lid: LID_T }));
    receive_all(&mut emulator, 50 * SECOND);
    assert_eq!((guid(&mut emulator, &[1, 1]), guid(&mut emulator, &[1, 6])), (Some(0x70), None));
    assert_eq!(links(&emulator)[2], DOWN);
    receive_all(&mut emulator, 60 * SECOND);
    assert_eq!((guid(&mut emulator, &[1, 1]), guid(&mut emulator, &[1, 6])), (None, Some(0x70)));

    happen(&mut emulator, "swap S:6 T:4");
    receive_all(&mut emulator, 60 * SECOND);
    assert_eq!(guid(&mut emulator, &[1, 6]), Some(0xb0));
    assert_eq!(guid(&mut emulator, &[1, 5, 4]), Some(0x70), "a cable from T to itself");
}

#[test]
fn a_split_leaves_hosts_with_their_switches_and_merges() {
    let mut emulator = up();
    happen(&mut emulator, "split T");
    assert_eq!(links(&emulator), [ACTIVE, DOWN, DOWN, ACTIVE, INIT]);
    happen(&mut emulator, "merge T");
    assert_eq!(links(&emulator), [ACTIVE, INIT, INIT, ACTIVE, INIT]);
    happen(&mut emulator, "split S T for 1s");
    assert_eq!(links(&emulator), [ACTIVE, INIT, INIT, ACTIVE, INIT], "there is no rest");
}

#[test]
fn a_reboot_forgets() {
    let mut emulator = up();
    happen(&mut emulator, "reboot T for 2s");
    assert_eq!(links(&emulator), [ACTIVE, DOWN, DOWN, DOWN, DOWN]);
    receive_all(&mut emulator, 3 * SECOND);
    assert_eq!(links(&emulator), [ACTIVE, INIT, INIT, INIT, INIT]);
    assert!(emulator.world().lft(T).is_empty());
    assert_eq!(emulator.world().port_info(at(T, 0)).unwrap().lid(), 0);
    assert_eq!(emulator.world().port_info(at(B, 1)).unwrap().lid(), LID_B, "of others nothing is forgotten");
}

#[test]
fn a_slow_node_takes_its_time_and_its_queue_overflows() {
    let mut emulator = up();
    happen(&mut emulator, "slow T 2ms");
    let heard = ask(&mut emulator, TO_T, 100);
    assert_eq!(heard.len(), 100);
    assert!(heard[99].1 >= Duration::from_millis(200) && heard[9].1 >= Duration::from_millis(20), "{heard:?}");
    happen(&mut emulator, "queue T 4");
    let heard = ask(&mut emulator, TO_T, 100);
    assert_eq!(heard.iter().map(|heard| heard.0).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert_eq!(emulator.world().tally(at(T, 7)).unwrap().vl15_dropped, 96);
    happen(&mut emulator, "heal T");
    assert_eq!(ask(&mut emulator, TO_T, 100).len(), 100);
}

#[test]
fn an_attribute_is_ignored_refused_or_forgotten() {
    let mut emulator = up();
    happen(&mut emulator, "ignore T PortInfo");
    assert_eq!(get::<PortInfo>(&mut emulator, TO_T, 1), None);
    assert!(get::<NodeInfo>(&mut emulator, TO_T, 0).is_some());
    happen(&mut emulator, "refuse T PortInfo busy");
    let answer = get::<PortInfo>(&mut emulator, TO_T, 1).unwrap();
    assert_eq!((answer.status(), answer.method()), (Status::BUSY, Method::GET_RESP));
    happen(&mut emulator, "heal T; forget T PortInfo");
    let answer = change_port(&mut emulator, TO_T, 7, |info| info.set_vl_high_limit(9));
    assert_eq!((answer.status(), answer.attribute::<PortInfo>().vl_high_limit()), (Status::OK, 9));
    let read: PortInfo = get::<PortInfo>(&mut emulator, TO_T, 7).unwrap().attribute();
    assert_eq!(read.vl_high_limit(), 0);
    happen(&mut emulator, "heal T");
    change_port(&mut emulator, TO_T, 7, |info| info.set_vl_high_limit(9));
    let read: PortInfo = get::<PortInfo>(&mut emulator, TO_T, 7).unwrap().attribute();
    assert_eq!(read.vl_high_limit(), 9);
}

#[test]
fn a_babbling_port_babbles_until_it_is_healed() {
    let mut emulator = up();
    happen(&mut emulator, "babble T:2 129 10ms");
    let heard = receive_all(&mut emulator, SECOND);
    assert!((99..=101).contains(&heard.len()), "{}", heard.len());
    assert!(traps(&heard).iter().all(|trap| *trap == TrapDetails::LocalLinkIntegrity { lid: LID_T, port: 2 }));
    let mut repress = heard[0].mad;
    repress.set_method(Method::TRAP_REPRESS);
    send(&mut emulator, heard[0].address, repress);
    assert!((99..=101).contains(&receive_all(&mut emulator, SECOND).len()));
    happen(&mut emulator, "heal T");
    assert!(receive_all(&mut emulator, SECOND).len() <= 1, "what was under way");
    assert_eq!(receive_all(&mut emulator, 10 * SECOND), []);
}

#[test]
fn to_babble_anew_replaces_what_was_babbled() {
    let mut emulator = up();
    happen(&mut emulator, "babble T:2 129 1ms; babble T:2 129 20ms; babble T:2 129 10ms");
    receive_all(&mut emulator, SECOND);
    assert!((99..=101).contains(&receive_all(&mut emulator, SECOND).len()));
    happen(&mut emulator, "heal T; babble T:2 129 100ms");
    receive_all(&mut emulator, SECOND);
    assert!((9..=11).contains(&receive_all(&mut emulator, SECOND).len()));
}

#[test]
fn what_came_while_a_node_was_slow_keeps_it_busy_no_longer() {
    for cure in ["heal T", "slow T 1ms", "reboot T for 1s"] {
        let mut emulator = up();
        happen(&mut emulator, "slow T 1000m; queue T 1");
        assert_eq!(ask(&mut emulator, TO_T, 1), []);
        happen(&mut emulator, cure);
        if cure.starts_with("reboot") {
            receive_all(&mut emulator, 2 * SECOND);
            happen(&mut emulator, "slow T 1ms");
        }
        assert_eq!(ask(&mut emulator, TO_T, 1).len(), 1, "{cure}");
    }
}

#[test]
fn a_node_pretends_to_be_another() {
    let mut emulator = up();
    let guids = |emulator: &mut Emulator, way| {
        let info: NodeInfo = get::<NodeInfo>(emulator, way, 0).unwrap().attribute();
        (info.node_guid(), info.port_guid())
    };
    assert_eq!(guids(&mut emulator, TO_B), (0xb0, 0xb1));
    happen(&mut emulator, "guid B A; guid T S");
    assert_eq!(guids(&mut emulator, TO_B), (0xa0, 0xa1));
    assert_eq!(guids(&mut emulator, TO_T), (0x50, 0x50));
    happen(&mut emulator, "guid B 0x1234; heal T");
    assert_eq!(guids(&mut emulator, TO_B), (0x1234, 0x1235));
    assert_eq!(guids(&mut emulator, TO_T), (0x70, 0x70));
    happen(&mut emulator, "heal B");
    assert_eq!(guids(&mut emulator, TO_B), (0xb0, 0xb1));
}

#[test]
fn somebody_else_sets_keys() {
    let mut emulator = up();
    happen(&mut emulator, "mkey T 0xfeed");
    let mut info: PortInfo = get::<PortInfo>(&mut emulator, TO_T, 0).unwrap().attribute();
    assert_eq!((info.m_key(), info.m_key_protect_bits()), (0, 1), "with protection 1 it is not shown");
    info.set_vl_high_limit(1);
    let mut mad = Mad::directed(&path(TO_T), Method::SET, PortInfo::ID, 7);
    mad.set_smp_data(info.bytes());
    send(&mut emulator, Address::Directed, mad);
    assert!(receive_all(&mut emulator, SECOND).iter().all(|heard| heard.mad.method() != Method::GET_RESP));
    happen(&mut emulator, "mkey T 0xfeed 2");
    assert!(ask(&mut emulator, TO_T, 1).is_empty());
    happen(&mut emulator, "mkey T 0");
    assert_eq!(ask(&mut emulator, TO_T, 1).len(), 1);

    happen(&mut emulator, "pkey T:0 33 0x8001; pkey B:1 0 0x7fff");
    assert_eq!(get::<PKeyTable>(&mut emulator, TO_T, 1).unwrap().attribute::<PKeyTable>().p_key(1), 0x8001);
    assert_eq!(get::<PKeyTable>(&mut emulator, TO_B, 0).unwrap().attribute::<PKeyTable>().p_key(0), 0x7fff);
}

/// A statement that does something to the fabric of these tests.
fn statement() -> impl Strategy<Value = String> {
    let place = prop::sample::select(vec!["all", "any link", "S", "T", "B", "S:5", "T:8", "A:1", "B:2"]);
    let node = prop::sample::select(vec!["all", "any node", "any switch", "any host", "S", "T", "B"]);
    let port = prop::sample::select(vec!["S:1", "S:5", "S:6", "T:8", "T:3", "B:1", "A:1", "A:2"]);
    let number = 0u32..=100;
    let verb = 0..VERBS.len();
    (verb, place, node, port.clone(), port, number, prop::bool::ANY).prop_map(|(verb, place, node, port, other, number, ends)| {
        let verb = VERBS[verb];
        let one = if node == "all" { "T" } else { node };
        let arguments = match verb.name {
            "cut" | "restore" => place.to_owned(),
            "degrade" => format!("{place} {}", ["1x", "4x", "SDR", "XDR"][number as usize % 4]),
            "loss" | "corrupt" | "reorder" | "repeat" => format!("{place} {number}"),
            "delay" => format!("{place} {number}ms"),
            "move" => "any link S:2".to_owned(),
            "swap" => format!("{port} {other}"),
            "split" | "merge" => format!("{one} B"),
            "late" | "slow" => format!("{node} {number}ms"),
            "drop" | "queue" | "garbage" | "groups" => format!("{node} {number}"),
            "ignore" | "forget" => format!("{node} {:#x}", number % 0x20),
            "refuse" => format!("{node} PortInfo {number}"),
            "babble" => format!("{port} 130 {number}ms"),
            "guid" => format!("{one} S"),
            "rename" => format!("{one} n{number}"),
            "mkey" => format!("{node} {number} {}", number % 4),
            "pkey" => format!("{port} {number} 0x8001"),
            "errors" => format!("{port} symbol {number}"),
            "seed" => number.to_string(),
            _ => node.to_owned(),
        };
        let lasts = if ends && verb.ends { " for 1ms..2s" } else { "" };
        format!("0s..3s 2x {} {arguments}{lasts}", verb.name)
    })
}

proptest! {
    #[test]
    fn any_plan_is_survived_repeats_and_ends_well(plan in prop::collection::vec(statement(), 1..30), seed: u64) {
        let plan = format!("seed {seed}\n{}", plan.join("\n"));
        let run = || {
            let mut emulator = up();
            for (time, event) in parse_script(&plan, &fabric()).unwrap() {
                emulator.world_mut().schedule(time, event);
            }
            let mut heard = Vec::new();
            for _ in 0..50 {
                for way in [TO_S, TO_T, TO_B] {
                    send(&mut emulator, Address::Directed, Mad::directed(&path(way), Method::GET, PortInfo::ID, 1));
                }
                heard.extend(receive_all(&mut emulator, SECOND / 10));
            }
            // However bad it was: put back, healed and restored it is as new.
            happen(&mut emulator, "heal all; return all; restore all");
            receive_all(&mut emulator, SECOND);
            (heard, emulator.world().counters().clone(), emulator)
        };
        let (first, counters, emulator) = run();
        let (second, same_counters, _) = run();
        prop_assert_eq!(first, second);
        prop_assert_eq!(counters, same_counters);
        if !plan.contains("move") && !plan.contains("swap") {
            for end in [at(A, 1), at(S, 5), at(S, 6), at(B, 1), at(B, 2)] {
                let info = emulator.world().port_info(end).unwrap();
                prop_assert_ne!(info.state(), Some(DOWN));
                prop_assert_eq!((info.active_width(), info.active_speed()), (Some(LinkWidth::X4), Some(LinkSpeed::Hdr)));
            }
        }
    }
}
