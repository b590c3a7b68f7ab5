//! Adaptive routing: attributes as `heddle_mad::wire` has them, values by hand.

use crate::support::*;
use heddle_emulator::{Choice, Emulator, Event, Transport};
use heddle_mad::wire::{
    ArForwardingTable, ArGroupTable, ArGroupTableCopy, ArInfo, Attribute, Capability, GeneralInfo, LidState, LinearForwardingTable, Mad,
    Method, PortMask, PrivateLftInfo, Status, SwitchInfo,
};
use std::time::Duration;

fn ports(ports: &[u8]) -> PortMask {
    ports.iter().copied().collect()
}

fn only(port: u8) -> Option<Choice> {
    Some(Choice::Static { port, spare: PortMask::default() })
}

fn group(primary: &[u8], secondary: &[u8], ageing: Option<u32>) -> Option<Choice> {
    Some(Choice::Group { primary: ports(primary), secondary: ports(secondary), ageing })
}

fn read<A: Attribute>(emulator: &mut Emulator, modifier: u32) -> A {
    let mad = get::<A>(emulator, TO_S, modifier).unwrap();
    assert_eq!(mad.status(), Status::OK, "{mad:?}");
    mad.attribute()
}

fn write<A: Attribute>(emulator: &mut Emulator, modifier: u32, attribute: &A) -> Mad {
    set(emulator, TO_S, modifier, attribute)
}

/// Changes ArInfo, and says how that went.
fn change_info(emulator: &mut Emulator, change: impl FnOnce(&mut ArInfo)) -> Status {
    let mut info = read::<ArInfo>(emulator, 0);
    change(&mut info);
    write(emulator, 0, &info).status()
}

/// Adaptive routing of S is on, with so many sub-groups and groups up to 9.
fn enabled(sub_groups: u8) -> Emulator {
    let mut emulator = emulator();
    let status = change_info(&mut emulator, |info| {
        info.set_enabled(true);
        info.set_sub_grps_active(sub_groups);
        info.set_group_top(9);
    });
    assert_eq!(status, Status::OK);
    emulator
}

/// A block with one entry: LID 5.
fn entry(state: LidState, port: u8, group: u16) -> ArForwardingTable {
    let mut table = ArForwardingTable::default();
    table.set_state(5, state);
    table.set_port(5, port);
    table.set_group(5, group);
    table
}

fn choose(emulator: &Emulator) -> Option<Choice> {
    emulator.world().choice(S, 5, 0, Transport::Rc)
}

#[test]
fn switches_say_that_they_route_adaptively() {
    let mut emulator = emulator();
    let info = read::<GeneralInfo>(&mut emulator, GeneralInfo::MODIFIER);
    assert!(info.has(Capability::AdaptiveRoutingRev1) && !info.has(Capability::AdaptiveRouting) && !info.has(Capability::PrivateLft));
    assert_eq!(get::<GeneralInfo>(&mut emulator, TO_S, 0).unwrap().status(), Status::BAD_FIELD);
    assert_eq!(get::<PrivateLftInfo>(&mut emulator, TO_S, 0).unwrap().status(), Status::BAD_ATTRIBUTE);
    // A host, and a switch of a generation that did not: InfiniScale IV.
    assert_eq!(get::<ArInfo>(&mut emulator, &[], 0).unwrap().status(), Status::BAD_ATTRIBUTE);
    let mut old = Emulator::new(&fabric_of([0, 0xbd36, 0, 0], 0x2c9), at(A, 1)).unwrap();
    assert_eq!(get::<ArInfo>(&mut old, TO_S, 0).unwrap().status(), Status::BAD_ATTRIBUTE);
}

#[test]
fn ar_info_keeps_what_only_the_switch_can_say() {
    let mut emulator = emulator();
    emulator.world_mut().set_group_cap(S, 100);
    let before = read::<ArInfo>(&mut emulator, 0);
    assert_eq!((before.group_cap(), before.group_table_cap(), before.sub_grps_supported(), before.enabled()), (100, 1, 2, false));

    let mut wanted = ArInfo::from_bytes([0xff; 64]);
    wanted.set_sub_grps_active(2);
    wanted.set_group_top(49);
    assert_eq!(write(&mut emulator, 0, &wanted).status(), Status::OK);
    let mut expected = before;
    expected.set_enabled(true);
    expected.set_sub_grps_active(2);
    expected.set_group_cap(50); // two sub-groups each
    expected.set_group_top(49);
    expected.set_by_sl_enabled(true);
    expected.set_enable_by_sl_mask(0xffff);
    expected.set_by_transport_disable(0xf);
    expected.set_ageing_time(u32::MAX);
    expected.set_fr_enabled(true);
    assert_eq!(read::<ArInfo>(&mut emulator, 0), expected);

    // More groups than there are, more sub-groups than the switch knows.
    assert_eq!(change_info(&mut emulator, |info| info.set_group_top(50)), Status::BAD_FIELD);
    assert_eq!(change_info(&mut emulator, |info| info.set_sub_grps_active(3)), Status::BAD_FIELD);
    assert_eq!(read::<ArInfo>(&mut emulator, 0), expected);
    // What a flag in the modifier means is not known.
    assert_eq!(get::<ArInfo>(&mut emulator, TO_S, 1).unwrap().status(), Status::BAD_FIELD);
}

#[test]
fn groups_are_kept_as_far_as_there_are_groups_and_ports() {
    let mut emulator = emulator();
    emulator.world_mut().set_group_cap(S, 3);
    let mut table = ArGroupTable::default();
    table.set_ports(0, ports(&[5, 6]));
    table.set_ports(1, ports(&[0, 1, 8, 9, 255]));
    for block in 0..2 {
        assert_eq!(write(&mut emulator, block, &table).status(), Status::OK);
    }
    assert_eq!(write(&mut emulator, 2, &table).status(), Status::BAD_FIELD);
    assert_eq!(get::<ArGroupTable>(&mut emulator, TO_S, 0x0001_0000).unwrap().status(), Status::BAD_FIELD);
    let first = read::<ArGroupTable>(&mut emulator, 0);
    assert_eq!((first.ports(0), first.ports(1)), (ports(&[5, 6]), ports(&[1, 8])), "S has ports 1 to 8");
    let second = read::<ArGroupTable>(&mut emulator, 1);
    assert_eq!((second.ports(0), second.ports(1)), (ports(&[5, 6]), ports(&[])), "there is no group 3");
}

#[test]
fn the_forwarding_table_counts_while_adaptive_routing_is_on() {
    let mut emulator = emulator();
    set_lft(&mut emulator, TO_S, &[(5, 7)]);
    let mut groups = ArGroupTable::default();
    groups.set_ports(1, ports(&[5, 6]));
    assert_eq!(write(&mut emulator, 1, &groups).status(), Status::OK); // group 3
    assert_eq!(write(&mut emulator, 0, &entry(LidState::Free, 6, 3)).status(), Status::OK);
    assert_eq!(choose(&emulator), only(7));

    assert_eq!(change_info(&mut emulator, |info| (info.set_enabled(true), info.set_group_top(3)).0), Status::OK);
    assert_eq!(choose(&emulator), group(&[5, 6], &[], None));
    assert_eq!(emulator.world().choice(S, 16, 0, Transport::Rc), only(255), "nobody wrote LID 16");
    assert_eq!(change_info(&mut emulator, |info| info.set_ageing_time(30)), Status::OK);
    for (state, choice) in [
        (LidState::Bounded, group(&[5, 6], &[], Some(30))),
        (LidState::Static, only(6)),
        (LidState::Hbf, only(6)), // the switch has no hashes
    ] {
        assert_eq!(write(&mut emulator, 0, &entry(state, 6, 3)).status(), Status::OK);
        assert_eq!(choose(&emulator), choice, "{state:?}");
        assert_eq!(read::<ArForwardingTable>(&mut emulator, 0), entry(state, 6, 3));
    }
    // An empty group, one above GroupTop, and one that there cannot be.
    for (state, group) in [(LidState::Free, 1), (LidState::Bounded, 4)] {
        assert_eq!(write(&mut emulator, 0, &entry(state, 6, group)).status(), Status::OK);
        assert_eq!(choose(&emulator), only(6));
    }
    emulator.world_mut().set_group_cap(S, 4);
    assert_eq!(write(&mut emulator, 0, &entry(LidState::Free, 6, 4)).status(), Status::BAD_FIELD);
    assert_eq!(write(&mut emulator, 0, &entry(LidState::Static, 6, 4)).status(), Status::OK, "a static entry has no group");
    // LinearFDBCap is 49152.
    assert_eq!(write(&mut emulator, 3071, &entry(LidState::Free, 6, 3)).status(), Status::OK);
    assert_eq!(write(&mut emulator, 3072, &entry(LidState::Free, 6, 3)).status(), Status::BAD_FIELD);
}

#[test]
fn service_levels_and_transports_can_stay_static() {
    let mut emulator = enabled(0);
    let mut groups = ArGroupTable::default();
    groups.set_ports(0, ports(&[5, 6]));
    write(&mut emulator, 1, &groups); // group 2
    write(&mut emulator, 0, &entry(LidState::Free, 6, 2));
    let status = change_info(&mut emulator, |info| {
        info.set_by_sl_enabled(true);
        info.set_enable_by_sl_mask(1 << 3);
        info.set_by_transport_disable(0b0101); // UD and UC
    });
    assert_eq!(status, Status::OK);
    let any = group(&[5, 6], &[], None);
    for (sl, transport, choice) in [
        (3, Transport::Rc, any),
        (3, Transport::Dc, any),
        (3, Transport::Ud, only(6)),
        (3, Transport::Uc, only(6)),
        (2, Transport::Rc, only(6)),
    ] {
        assert_eq!(emulator.world().choice(S, 5, sl, transport), choice, "{sl} {transport:?}");
    }
}

#[test]
fn a_second_sub_group_is_for_when_the_first_is_full() {
    let mut emulator = enabled(2);
    let mut groups = ArGroupTable::default();
    groups.set_ports(0, ports(&[5]));
    groups.set_ports(1, ports(&[3, 6]));
    write(&mut emulator, 7, &groups); // both sub-groups of group 7
    write(&mut emulator, 0, &entry(LidState::Free, 6, 7));
    assert_eq!(choose(&emulator), group(&[5], &[3, 6], None));
}

#[test]
fn groups_can_be_copied() {
    let mut emulator = enabled(0);
    let mut groups = ArGroupTable::default();
    groups.set_ports(1, ports(&[5, 6]));
    write(&mut emulator, 0, &groups); // group 1
    let mut copy = ArGroupTableCopy::default();
    copy.set_last_group(0, 5);
    copy.set_first_group(0, 4);
    copy.set_last_group(1, 8);
    copy.set_first_group(1, 8);
    assert_eq!(write(&mut emulator, 1, &copy).status(), Status::OK);
    let sizes: Vec<usize> = (0..5)
        .flat_map(|block| {
            let table = read::<ArGroupTable>(&mut emulator, block);
            [table.ports(0).iter().count(), table.ports(1).iter().count()]
        })
        .collect();
    assert_eq!(sizes, [0, 2, 0, 0, 2, 2, 0, 0, 2, 0]);

    emulator.world_mut().set_group_cap(S, 8);
    assert_eq!(write(&mut emulator, 1, &copy).status(), Status::BAD_FIELD, "there is no group 8 any more");
    assert_eq!(write(&mut emulator, 1 << 12, &copy).status(), Status::BAD_FIELD);
    assert_eq!(get::<ArGroupTableCopy>(&mut emulator, TO_S, 1).unwrap().status(), Status::BAD_ATTRIBUTE);
}

#[test]
fn static_packets_have_spare_ports_with_fast_recovery() {
    let mut emulator = enabled(0);
    let mut groups = ArGroupTable::default();
    groups.set_ports(0, ports(&[5, 6]));
    write(&mut emulator, 1, &groups);
    write(&mut emulator, 0, &entry(LidState::Static, 6, 2));
    assert_eq!(choose(&emulator), only(6));
    assert_eq!(change_info(&mut emulator, |info| info.set_fr_enabled(true)), Status::OK);
    assert_eq!(choose(&emulator), Some(Choice::Static { port: 6, spare: ports(&[5, 6]) }));
}

#[test]
fn a_plain_forwarding_table_turns_it_off_in_older_switches() {
    for (device, stays_on) in [(0xc738, false), (0xd2f0, true)] {
        let mut emulator = Emulator::new(&fabric_of([0, device, device, 0], 0x2c9), at(A, 1)).unwrap();
        assert_eq!(change_info(&mut emulator, |info| info.set_enabled(true)), Status::OK);
        assert_eq!(write(&mut emulator, 0, &LinearForwardingTable::default()).status(), Status::OK);
        assert_eq!(read::<ArInfo>(&mut emulator, 0).enabled(), stays_on, "{device:#x}");
    }
}

#[test]
fn a_switch_without_power_forgets_all_but_the_size_of_its_table() {
    let mut emulator = emulator();
    emulator.world_mut().apply(Event::Groups { node: S, groups: 2 });
    let cold = read::<ArInfo>(&mut emulator, 0);
    assert_eq!(cold.group_cap(), 2);
    assert_eq!(change_info(&mut emulator, |info| (info.set_enabled(true), info.set_group_top(1)).0), Status::OK);
    let mut groups = ArGroupTable::default();
    groups.set_ports(1, ports(&[5]));
    write(&mut emulator, 0, &groups);
    write(&mut emulator, 0, &entry(LidState::Free, 6, 1));
    emulator.world_mut().remove_node(S);
    emulator.world_mut().return_node(S);
    receive_all(&mut emulator, Duration::from_secs(1));
    assert_eq!(read::<ArInfo>(&mut emulator, 0), cold);
    assert_eq!(read::<ArGroupTable>(&mut emulator, 0), ArGroupTable::default());
    assert_eq!(read::<ArForwardingTable>(&mut emulator, 0).state(5), LidState::Static);
}

/// LID_B at S by the group of both cables to T, of which only that of port 5 is ACTIVE; then of port 6 alone.
#[test]
fn mads_go_by_groups_but_for_those_of_subnet_management() {
    let mut emulator = emulator();
    bring_up(&mut emulator);
    let status = change_info(&mut emulator, |info| {
        info.set_enabled(true);
        info.set_group_top(1);
    });
    assert_eq!(status, Status::OK);
    let mut table = ArForwardingTable::default();
    for (lid, port, state) in
        [(LID_A, 3, LidState::Static), (LID_S, 0, LidState::Static), (LID_T, 6, LidState::Free), (LID_B, 6, LidState::Free)]
    {
        table.set_port(usize::from(lid), port);
        table.set_group(usize::from(lid), 1);
        table.set_state(usize::from(lid), state);
    }
    write(&mut emulator, 0, &table);
    let mut groups = ArGroupTable::default();
    groups.set_ports(1, ports(&[5, 6]));
    write(&mut emulator, 0, &groups);
    let way = emulator.world().deliver(at(A, 1), lid(LID_B)).unwrap();
    assert_eq!(way[2], at(S, 5), "port 6 is in INIT");
    // An SMP goes by the static port, in whatever state.
    let tally = |emulator: &Emulator, port| emulator.world().tally(at(S, port)).unwrap().xmit_pkts;
    let before = (tally(&emulator, 5), tally(&emulator, 6));
    send(&mut emulator, to(LID_T), smp::<SwitchInfo>(Method::GET, 0));
    assert_eq!(receive(&mut emulator).unwrap().mad.status(), Status::OK);
    assert_eq!((tally(&emulator, 5), tally(&emulator, 6)), (before.0, before.1 + 1));
}
