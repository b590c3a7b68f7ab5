//! Links and nodes that come and go, traps, and nodes that misbehave.

use crate::support::*;
use heddle_emulator::{Emulator, Event, Fault, Lost, LostWhy};
use heddle_fabric::NodeIndex;
use heddle_mad::Time;
use heddle_mad::transport::{Address, Envelope, Transport};
use heddle_mad::wire::*;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn up() -> Emulator {
    let mut emulator = emulator();
    bring_up(&mut emulator);
    emulator
}

fn traps(envelopes: &[Envelope]) -> Vec<(Address, TrapDetails)> {
    let traps = envelopes.iter().filter(|envelope| envelope.mad.method() == Method::TRAP);
    traps.map(|envelope| (envelope.address, envelope.mad.attribute::<Notice>().details().unwrap())).collect()
}

/// Tells the sender of a trap to stop.
fn repress(emulator: &mut Emulator, trap: &Envelope) {
    let mut mad = trap.mad;
    mad.set_method(Method::TRAP_REPRESS);
    send(emulator, trap.address, mad);
}

#[test]
fn both_switches_report_a_broken_cable_until_they_are_told_to_stop() {
    let mut emulator = up();
    // The spare cable, so that both ends still reach the manager.
    emulator.world_mut().cut(at(S, 6));
    for end in [at(S, 6), at(T, 8)] {
        assert_eq!(emulator.world().port_info(end).unwrap().state(), Some(PortState::Down));
    }
    assert!([S, T].iter().all(|&node| emulator.world().switch_info(node).unwrap().port_state_change()));
    let heard = receive_all(&mut emulator, SECOND);
    let expected = [LID_S, LID_T].map(|lid| (to(lid), TrapDetails::LinkStateChange { lid }));
    assert_eq!(traps(&heard), expected);
    for envelope in &heard {
        let mad = &envelope.mad;
        assert_eq!((mad.class(), mad.attribute_id()), (Class::SUBN_LID, Notice::ID));
        assert_ne!(mad.transaction(), 0);
        let notice: Notice = mad.attribute();
        assert_eq!((notice.kind(), notice.producer_type(), notice.trap_number()), (Some(NoticeType::Urgent), 2, 128));
    }
    // SubnetTimeOut 18 is 4.096 µs times 2^18, 1.07 s: they come again. S is told to stop, T goes on.
    repress(&mut emulator, &heard[0]);
    let again = receive_all(&mut emulator, SECOND);
    assert_eq!(traps(&again), [expected[1]]);
    assert_eq!(again[0].mad.transaction(), heard[1].mad.transaction());
    repress(&mut emulator, &again[0]);
    assert_eq!(receive_all(&mut emulator, 10 * SECOND), []);
}

#[test]
fn a_trap_that_nobody_represses_ends_some_time() {
    let mut emulator = up();
    emulator.world_mut().cut(at(S, 6));
    let heard = receive_all(&mut emulator, 60 * SECOND);
    assert_eq!(heard.len(), 2 * 16);
    assert!(emulator.receive(None).is_err(), "nothing goes on for ever");
}

#[test]
fn the_repression_of_an_old_trap_does_not_silence_a_new_one() {
    let mut emulator = up();
    emulator.world_mut().cut(at(S, 6));
    let first = receive_all(&mut emulator, SECOND);
    emulator.world_mut().restore(at(S, 6));
    repress(&mut emulator, &first[0]);
    let then = receive_all(&mut emulator, 2 * SECOND);
    assert!(traps(&then).iter().filter(|(address, _)| *address == to(LID_S)).count() >= 2, "{then:?}");
}

#[test]
fn a_switch_that_cannot_reach_the_manager_is_not_heard() {
    let mut emulator = up();
    emulator.world_mut().cut(at(S, 5));
    let heard = receive_all(&mut emulator, SECOND);
    assert_eq!(traps(&heard), [(to(LID_S), TrapDetails::LinkStateChange { lid: LID_S })]);
    assert_eq!(emulator.world().deliver(at(A, 1), lid(LID_B)), Err(Lost { at: at(S, 5), why: LostWhy::LinkDown }));
    assert_eq!(get::<NodeInfo>(&mut emulator, &[1, 6], 0).unwrap().attribute::<NodeInfo>().node_guid(), 0x70, "the other cable");
}

#[test]
fn a_restored_cable_is_in_init() {
    let mut emulator = up();
    emulator.world_mut().schedule(Time::ZERO + 5 * SECOND, Event::Cut(at(T, 7).into()));
    emulator.world_mut().schedule(Time::ZERO + 7 * SECOND, Event::Restore(at(T, 7).into()));
    let state = |emulator: &Emulator| emulator.world().port_info(at(S, 5)).unwrap().state().unwrap();
    let mut wait = |until: u64| {
        while emulator.receive(Some(Time::ZERO + Duration::from_millis(until * 100))).unwrap().is_some() {}
        (emulator.now(), state(&emulator))
    };
    assert_eq!(wait(49), (Time(4_900_000_000), PortState::Active));
    assert_eq!(wait(51), (Time(5_100_000_000), PortState::Down));
    assert_eq!(wait(71), (Time(7_100_000_000), PortState::Init));
}

#[test]
fn a_removed_switch_is_gone_and_returns_with_nothing() {
    let mut emulator = up();
    emulator.world_mut().remove_node(T);
    assert_eq!(get::<NodeInfo>(&mut emulator, TO_T, 0).map(|mad| mad.method()), Some(Method::TRAP), "only S is heard");
    let told = traps(&receive_all(&mut emulator, 60 * SECOND));
    assert!(told.iter().all(|(_, details)| *details == TrapDetails::LinkStateChange { lid: LID_S }), "{told:?}");
    assert_eq!(get::<NodeInfo>(&mut emulator, TO_T, 0), None);
    assert_eq!(emulator.world().port_info(at(B, 1)).unwrap().state(), Some(PortState::Down));

    emulator.world_mut().return_node(T);
    assert_eq!(emulator.world().port_info(at(S, 5)).unwrap().state(), Some(PortState::Init));
    assert!(emulator.world().switch_info(S).unwrap().port_state_change());
    receive_all(&mut emulator, 60 * SECOND);
    assert!(emulator.world().lft(T).is_empty());
    assert_eq!(emulator.world().switch_info(T).unwrap().linear_fdb_top(), 0);
    assert_eq!(emulator.world().port_info(at(T, 0)).unwrap().lid(), 0);
    assert_eq!(get::<NodeInfo>(&mut emulator, TO_T, 0).unwrap().attribute::<NodeInfo>().node_guid(), 0x70);
    // What others keep is still there.
    assert_eq!(emulator.world().port_info(at(B, 1)).unwrap().lid(), LID_B);
    assert_eq!(emulator.world().deliver(at(S, 0), lid(LID_B)).unwrap_err().why, LostWhy::NotActive);
}

#[test]
fn a_cut_cable_stays_cut_when_the_node_returns() {
    let mut emulator = up();
    emulator.world_mut().cut(at(S, 5));
    emulator.world_mut().remove_node(T);
    emulator.world_mut().restore(at(S, 6)); // was never cut, and T is not there
    assert_eq!(emulator.world().port_info(at(S, 6)).unwrap().state(), Some(PortState::Down));
    emulator.world_mut().return_node(T);
    assert_eq!(emulator.world().port_info(at(S, 5)).unwrap().state(), Some(PortState::Down));
    assert_eq!(emulator.world().port_info(at(S, 6)).unwrap().state(), Some(PortState::Init));
}

#[test]
fn capabilities_and_names_are_reported_by_trap_144() {
    let mut emulator = up();
    emulator.world_mut().rename(B, "new".to_owned());
    let heard = receive_all(&mut emulator, SECOND);
    let [(address, TrapDetails::LocalChange { lid, other_local_changes: true, changes, .. })] = traps(&heard)[..] else {
        panic!("{heard:?}")
    };
    assert_eq!((address, lid, changes), (to(LID_B), LID_B, LocalChanges::NODE_DESCRIPTION));
    assert_eq!(heard[0].mad.attribute::<Notice>().producer_type(), 1);
    repress(&mut emulator, &heard[0]);
    assert_eq!(get::<NodeDescription>(&mut emulator, TO_B, 0).unwrap().attribute::<NodeDescription>().to_string(), "new");

    emulator.set_is_sm(true).unwrap();
    emulator.set_is_sm(true).unwrap();
    let heard = receive_all(&mut emulator, SECOND);
    let [(address, TrapDetails::LocalChange { capability_mask, other_local_changes: false, .. })] = traps(&heard)[..] else {
        panic!("{heard:?}")
    };
    assert_eq!(address, to(LID_A));
    assert!(CapabilityMask::from_bits_retain(capability_mask).contains(CapabilityMask::SM));
}

#[test]
fn a_mute_node_forwards_and_heals() {
    let mut emulator = up();
    emulator.world_mut().apply(Event::Fault(T, Fault::Mute));
    assert_eq!(get::<NodeInfo>(&mut emulator, TO_T, 0), None);
    assert!(get::<NodeInfo>(&mut emulator, TO_B, 0).is_some());
    assert!(emulator.world().deliver(at(A, 1), lid(LID_B)).is_ok());
    emulator.world_mut().apply(Event::Heal(T));
    assert!(get::<NodeInfo>(&mut emulator, TO_T, 0).is_some());
}

#[test]
fn answers_come_twice_or_late() {
    let mut emulator = emulator();
    emulator.world_mut().apply(Event::Fault(S, Fault::Duplicate));
    let ask = Mad::directed(&path(TO_S), Method::GET, NodeInfo::ID, 0);
    send(&mut emulator, Address::Directed, ask);
    let twice = receive_all(&mut emulator, SECOND);
    assert_eq!(twice.len(), 2);
    assert_eq!(twice[0], twice[1]);

    emulator.world_mut().apply(Event::Heal(S));
    emulator.world_mut().apply(Event::Fault(S, Fault::Late(3 * SECOND)));
    send(&mut emulator, Address::Directed, ask);
    assert_eq!(receive_all(&mut emulator, 3 * SECOND), []);
    assert_eq!(receive_all(&mut emulator, SECOND).len(), 1);
}

#[test]
fn some_requests_are_dropped_and_always_the_same() {
    let heard = |percent, seed| {
        let mut emulator = emulator();
        emulator.world_mut().apply(Event::Fault(S, Fault::Drop { percent, seed }));
        for transaction in 0..1000 {
            let mut mad = Mad::directed(&path(TO_S), Method::GET, NodeInfo::ID, 0);
            mad.set_transaction(transaction);
            send(&mut emulator, Address::Directed, mad);
        }
        receive_all(&mut emulator, SECOND).iter().map(|envelope| envelope.mad.transaction()).collect::<Vec<_>>()
    };
    assert_eq!(heard(0, 1).len(), 1000);
    assert_eq!(heard(100, 1).len(), 0);
    let some = heard(30, 1);
    assert!((600..800).contains(&some.len()), "{}", some.len());
    assert_eq!(some, heard(30, 1));
    assert_ne!(some, heard(30, 2));
}

#[test]
fn garbage_is_garbage_and_always_the_same() {
    let heard = |seed| {
        let mut emulator = emulator();
        emulator.world_mut().apply(Event::Fault(S, Fault::Garbage { seed }));
        (0..50).map(|_| get::<NodeInfo>(&mut emulator, TO_S, 0).unwrap()).collect::<Vec<_>>()
    };
    let right = get::<NodeInfo>(&mut emulator(), TO_S, 0).unwrap();
    let garbage = heard(3);
    assert!(garbage.iter().filter(|&mad| *mad != right).count() >= 45);
    assert_eq!(garbage, heard(3));
}

#[test]
fn a_node_takes_one_request_after_another() {
    let mut emulator = emulator();
    for _ in 0..100 {
        send(&mut emulator, Address::Directed, Mad::directed(&path(TO_S), Method::GET, NodeInfo::ID, 0));
    }
    let mut last = Time::ZERO;
    for _ in 0..100 {
        receive(&mut emulator).unwrap();
        assert!(emulator.now().since(last) >= Duration::from_micros(5));
        last = emulator.now();
    }
}

#[test]
fn requests_are_counted() {
    let mut emulator = emulator();
    get::<NodeInfo>(&mut emulator, TO_S, 0);
    get::<NodeInfo>(&mut emulator, TO_T, 0);
    get::<PortInfo>(&mut emulator, TO_T, 1);
    let counters = emulator.world().counters();
    assert_eq!(counters.requests[&(Method::GET, NodeInfo::ID)], 2);
    assert_eq!(counters.requests[&(Method::GET, PortInfo::ID)], 1);
    assert_eq!((counters.answers, counters.traps, counters.lost.len()), (3, 0, 0));
}

#[test]
fn events_for_what_is_not_there_are_none() {
    let mut emulator = up();
    let nobody = NodeIndex(99);
    for event in [
        Event::Cut(at(nobody, 1).into()),
        Event::Cut(at(A, 200).into()),
        Event::Restore(at(S, 1).into()),
        Event::Cut(at(S, 0).into()),
        Event::RemoveNode(nobody),
        Event::ReturnNode(nobody),
        Event::ReturnNode(S),
        Event::Rename(nobody, String::new()),
        Event::Heal(nobody),
        Event::Fault(nobody, Fault::Mute),
    ] {
        emulator.world_mut().apply(event);
    }
    assert_eq!(receive_all(&mut emulator, SECOND), []);
    assert!(emulator.world().deliver(at(A, 1), lid(LID_B)).is_ok());
}
