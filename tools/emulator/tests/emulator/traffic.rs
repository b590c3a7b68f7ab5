//! Data packets by what was really programmed: each table is written by MADs, and what becomes of the packets is known by hand.

use crate::support::*;
use heddle_emulator::traffic::{Discard, End, Flow, Options, Outcome};
use heddle_emulator::{Emulator, World};
use heddle_mad::wire::{
    ArForwardingTable, ArGroupTable, ArInfo, LidState, Mtu, MulticastForwardingTable, PKeyTable, PortState, SlToVlMapping, Status,
    VlArbitration, VlArbitrationPart,
};
use std::time::Duration;

fn up() -> Emulator {
    let mut emulator = emulator();
    bring_up(&mut emulator);
    emulator
}

/// Both cables between S and T, and all VLs.
fn both_cables(emulator: &mut Emulator) {
    for (ports, number) in [(TO_S, 6), (TO_T, 8)] {
        activate(emulator, ports, number);
    }
}

/// NeighborMTU is 256 until a manager raises it.
fn from_a(packets: u32) -> Flow {
    Flow { packets, payload: 256, ..Flow::new(at(A, 1), LID_B) }
}

fn carry(emulator: &mut Emulator, flow: Flow) -> Outcome {
    emulator.world_mut().carry(&[flow], &Options::default())
}

fn only_discard(emulator: &mut Emulator, flow: Flow) -> Discard {
    let outcome = carry(emulator, flow);
    assert_eq!((&outcome.end, outcome.delivered), (&End::Done, 0), "{outcome}");
    *outcome.discarded.keys().next().unwrap()
}

fn written(answer: heddle_mad::wire::Mad) {
    assert_eq!(answer.status(), Status::OK, "{answer:?}");
}

#[test]
fn ports_count_what_they_carried() {
    let mut emulator = up();
    let tally = |world: &World, node, port| world.tally(at(node, port)).unwrap().clone();
    let before = tally(emulator.world(), S, 5);
    let outcome = carry(&mut emulator, from_a(7));
    assert_eq!(outcome.delivered, 7, "{outcome}");
    let after = tally(emulator.world(), S, 5);
    // 256 bytes, LRH, BTH and ICRC are 70 units of 4 bytes.
    assert_eq!((after.xmit_pkts - before.xmit_pkts, after.xmit_data - before.xmit_data), (7, 7 * 70));
    let lanes = tally(emulator.world(), B, 1).lanes.unwrap();
    assert_eq!((lanes.vl_rcv_pkts[0], lanes.sl_rcv_data[0]), (7, 7 * 70));
    assert_eq!(emulator.world().now(), up().world().now(), "the world's time stands still");
}

#[test]
fn links_and_tables_decide() {
    let mut emulator = up();
    // What stayed in INIT carries nothing: T 7 is ACTIVE, T 8 is not.
    set_lft(&mut emulator, TO_S, &[(LID_A, 3), (LID_S, 0), (LID_T, 5), (LID_B, 6)]);
    assert_eq!(only_discard(&mut emulator, from_a(1)), Discard::LinkDown);
    assert_eq!(emulator.world().tally(at(S, 6)).unwrap().inactive_discards, 1);
    both_cables(&mut emulator);
    assert_eq!(carry(&mut emulator, from_a(1)).delivered, 1);
    // LID_B is above LinearFDBTop.
    let mut info: heddle_mad::wire::SwitchInfo = get::<heddle_mad::wire::SwitchInfo>(&mut emulator, TO_S, 0).unwrap().attribute();
    info.set_linear_fdb_top(LID_T);
    written(set(&mut emulator, TO_S, 0, &info));
    assert_eq!(only_discard(&mut emulator, from_a(1)), Discard::NoEntry);
    assert_eq!(emulator.world().tally(at(S, 3)).unwrap().dlid_mapping_errors, 1);
}

#[test]
fn data_makes_armed_ports_active() {
    let mut emulator = up();
    for (ports, number) in [(TO_S, 6), (TO_T, 8)] {
        written(change_port(&mut emulator, ports, number, |info| info.set_state(PortState::Armed)));
    }
    set_lft(&mut emulator, TO_S, &[(LID_A, 3), (LID_S, 0), (LID_T, 5), (LID_B, 6)]);
    assert_eq!(carry(&mut emulator, from_a(1)).delivered, 1);
    assert_eq!(emulator.world().port_info(at(T, 8)).unwrap().state(), Some(PortState::Active));
    assert_eq!(emulator.world().port_info(at(S, 6)).unwrap().state(), Some(PortState::Armed), "nothing came in here");
}

#[test]
fn neighbor_mtu_limits_packets() {
    let mut emulator = up();
    let large = Flow { payload: 2048, ..from_a(1) };
    for (ports, number) in [(&[][..], 1), (TO_S, 5), (TO_T, 2)] {
        assert_eq!(only_discard(&mut emulator, large), Discard::TooLong);
        written(change_port(&mut emulator, ports, number, |info| info.set_neighbor_mtu(Mtu::B2048 as u8)));
    }
    assert_eq!(carry(&mut emulator, large).delivered, 1);
    assert_eq!(emulator.world().tally(at(T, 2)).unwrap().mtu_discards, 1);
}

#[test]
fn service_levels_go_by_the_tables_of_each_pair_of_ports() {
    let mut emulator = up();
    let mut table = SlToVlMapping::default();
    (0..16).for_each(|sl| table.set_vl(sl, 0));
    table.set_vl(4, 15);
    written(set(&mut emulator, TO_S, SlToVlMapping::modifier(3, 5), &table));
    let small = |sl| Flow { sl, payload: 64, ..from_a(1) };
    assert_eq!(only_discard(&mut emulator, small(4)), Discard::NoVl);
    assert_eq!(emulator.world().tally(at(S, 3)).unwrap().vl_mapping_errors, 1);
    assert_eq!(carry(&mut emulator, small(3)).delivered, 1);
    table.set_vl(3, 2);
    written(set(&mut emulator, TO_S, SlToVlMapping::modifier(3, 5), &table));
    carry(&mut emulator, small(3));
    let lanes = emulator.world().tally(at(T, 7)).unwrap().lanes.clone().unwrap();
    assert_eq!((lanes.vl_rcv_pkts[2], lanes.vl_rcv_pkts[3]), (1, 0));
    // Fewer VLs are in use on one side of the cable.
    written(change_port(&mut emulator, TO_T, 7, |info| info.set_operational_vls(2)));
    assert_eq!(only_discard(&mut emulator, small(3)), Discard::NoVl);
}

#[test]
fn vl_arbitration_must_give_a_turn() {
    let mut emulator = up();
    let mut table = VlArbitration::default();
    written(set(&mut emulator, TO_S, VlArbitration::modifier(VlArbitrationPart::HighFirst, 5), &table));
    table.set_vl(0, 1);
    table.set_weight(0, 10);
    for part in [VlArbitrationPart::LowFirst, VlArbitrationPart::HighFirst] {
        written(set(&mut emulator, TO_S, VlArbitration::modifier(part, 5), &table));
    }
    let small = Flow { payload: 64, ..from_a(1) };
    assert_eq!(only_discard(&mut emulator, small), Discard::NoTurn);
    table.set_vl(1, 0);
    table.set_weight(1, 1);
    written(set(&mut emulator, TO_S, VlArbitration::modifier(VlArbitrationPart::HighFirst, 5), &table));
    assert_eq!(carry(&mut emulator, small).delivered, 1);
}

#[test]
fn partitions_are_enforced() {
    let mut emulator = up();
    let small = Flow { payload: 64, p_key: 0x8005, ..from_a(1) };
    let mut keys = PKeyTable::default();
    keys.set_p_key(0, 0xffff);
    keys.set_p_key(1, 0x8005);
    written(set(&mut emulator, &[], PKeyTable::modifier(0, 0), &keys));
    assert_eq!(only_discard(&mut emulator, small), Discard::PKey);
    written(set(&mut emulator, TO_B, PKeyTable::modifier(0, 0), &keys));
    assert_eq!(carry(&mut emulator, small).delivered, 1);
    written(change_port(&mut emulator, TO_S, 3, |info| info.set_partition_enforcement_inbound(true)));
    assert_eq!(only_discard(&mut emulator, small), Discard::PKeyInbound);
    assert_eq!(emulator.world().tally(at(S, 3)).unwrap().rcv_constraint_errors, 1);
    written(set(&mut emulator, TO_S, PKeyTable::modifier(3, 0), &keys));
    assert_eq!(carry(&mut emulator, small).delivered, 1);
}

#[test]
fn multicast_goes_by_its_table() {
    let mut emulator = up();
    let mut masks = MulticastForwardingTable::default();
    // LID 0xc021: the second block's entry 1. A, and T over port 5; B, and T itself.
    masks.set_port_mask(1, 1 << 3 | 1 << 5);
    written(set(&mut emulator, TO_S, MulticastForwardingTable::modifier(1, 0), &masks));
    masks.set_port_mask(1, 1 << 0 | 1 << 2 | 1 << 7);
    written(set(&mut emulator, TO_T, MulticastForwardingTable::modifier(1, 0), &masks));
    let outcome = carry(&mut emulator, Flow { dlid: 0xc021, payload: 64, ..from_a(3) });
    assert_eq!((outcome.sent, outcome.delivered), (3, 6), "{outcome}");
    assert_eq!((outcome.port(at(B, 1)).rcv_multicast_pkts, outcome.port(at(T, 0)).rcv_multicast_pkts), (3, 3));
    assert_eq!(emulator.world().tally(at(S, 5)).unwrap().xmit_multicast_pkts, 3);
}

#[test]
fn groups_use_both_cables() {
    let mut emulator = up();
    both_cables(&mut emulator);
    let small = Flow { payload: 64, ..from_a(100) };
    let sent = |outcome: &Outcome| [5, 6].map(|port| outcome.port(at(S, port)).xmit_pkts);
    assert_eq!(sent(&carry(&mut emulator, small)), [100, 0]);
    let mut info: ArInfo = get::<ArInfo>(&mut emulator, TO_S, 0).unwrap().attribute();
    info.set_enabled(true);
    info.set_sub_grps_active(1);
    info.set_group_top(1);
    written(set(&mut emulator, TO_S, 0, &info));
    let mut groups = ArGroupTable::default();
    groups.set_ports(1, [5, 6].into_iter().collect());
    written(set(&mut emulator, TO_S, 0, &groups));
    let mut entries = ArForwardingTable::default();
    for lid in 0..16 {
        entries.set_state(lid, LidState::Static);
        entries.set_port(lid, 0xff);
    }
    entries.set_state(usize::from(LID_B), LidState::Free);
    entries.set_port(usize::from(LID_B), 5);
    entries.set_group(usize::from(LID_B), 1);
    written(set(&mut emulator, TO_S, 0, &entries));
    // The cable behind T is as fast as both together need, so that each takes about half.
    let outcome = carry(&mut emulator, small);
    let [one, other] = sent(&outcome);
    assert_eq!((outcome.delivered, one + other), (100, 100), "{outcome}");
    assert!(one >= 20 && other >= 20, "{one} and {other}");
    assert_eq!(outcome.latency.unwrap().min, Duration::from_nanos(603));
}
