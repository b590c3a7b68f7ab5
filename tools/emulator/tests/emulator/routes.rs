//! How packets travel.

use crate::support::*;
use heddle_emulator::{Emulator, EmulatorError, Lost, LostWhy};
use heddle_fabric::PortRef;
use heddle_mad::transport::{Address, Transport};
use heddle_mad::wire::{Attribute, Class, Mad, Method, NodeInfo, PortInfo};

#[test]
fn a_directed_route_reaches_the_node_and_records_its_way_back() {
    let mut emulator = emulator();
    let mut mad = Mad::directed(&path(&[1, 5, 2]), Method::GET, NodeInfo::ID, 0);
    mad.set_transaction(0x1234_5678_9abc_def0);
    send(&mut emulator, Address::Directed, mad);
    let envelope = receive(&mut emulator).unwrap();
    assert_eq!(envelope.address, Address::Directed);
    let answer = envelope.mad;
    // The 16 high bits are the client's number.
    assert_eq!((answer.method(), answer.transaction()), (Method::GET_RESP, 0x0001_5678_9abc_def0));
    // IBA 14.2.2: D bit set, the hop pointer is back at 0, and the ports of entry are S 3, T 7, B 1.
    assert!(answer.is_returning());
    assert_eq!((answer.hop_pointer(), answer.hop_count()), (0, 3));
    assert_eq!(answer.return_path()[1..=3], [3, 7, 1]);
    let info: NodeInfo = answer.attribute();
    assert_eq!((info.node_guid(), info.port_guid(), info.local_port_num(), info.num_ports()), (0xb0, 0xb1, 1, 2));
    // Three hops of 200 ns each way, and 20 to 230 µs at B.
    assert!((20_000..=230_000).contains(&(emulator.now().0 - 6 * 200)), "{:?}", emulator.now());
}

/// Who asks B's way back is at A: the return path, read backwards, is a route too.
#[test]
fn the_return_path_is_a_route_from_the_other_end() {
    let mut there = emulator();
    let answer = get::<NodeInfo>(&mut there, TO_B, 0).unwrap();
    let back: Vec<u8> = answer.return_path()[1..=3].iter().rev().copied().collect();
    let mut from_b = Emulator::new(&fabric(), at(B, 1)).unwrap();
    let info: NodeInfo = get::<NodeInfo>(&mut from_b, &back, 0).unwrap().attribute();
    assert_eq!((info.node_guid(), info.local_port_num()), (0xa0, 1));
}

#[test]
fn no_hops_are_the_local_node() {
    let mut emulator = emulator();
    let info: NodeInfo = get::<NodeInfo>(&mut emulator, &[], 0).unwrap().attribute();
    assert_eq!((info.node_guid(), info.local_port_num()), (0xa0, 1));
    let mut on_switch = Emulator::new(&fabric(), at(S, 0)).unwrap();
    let info: NodeInfo = get::<NodeInfo>(&mut on_switch, &[], 0).unwrap().attribute();
    assert_eq!((info.node_guid(), info.local_port_num()), (0x50, 0));
    let info: NodeInfo = get::<NodeInfo>(&mut on_switch, &[6], 0).unwrap().attribute();
    assert_eq!((info.node_guid(), info.local_port_num()), (0x70, 8));
}

#[test]
fn directed_routes_that_lead_nowhere_are_lost() {
    for (ports, why) in [
        (&[2][..], LostWhy::NotThrough),      // the manager's host sends from the manager's port only
        (&[1, 9], LostWhy::NoSuchPort),       // S has eight ports
        (&[1, 0], LostWhy::NoSuchPort),       // port 0 has no cable
        (&[1, 1], LostWhy::LinkDown),         // nothing is in S 1
        (&[1, 5, 2, 2], LostWhy::NotThrough), // a host does not forward
    ] {
        let mut emulator = emulator();
        assert_eq!(get::<NodeInfo>(&mut emulator, ports, 0), None, "{ports:?}");
        assert_eq!(emulator.world().counters().lost.iter().collect::<Vec<_>>(), [(&why, &1)], "{ports:?}");
    }
}

#[test]
fn headers_that_contradict_themselves_are_lost() {
    let good = Mad::directed(&path(TO_S), Method::GET, NodeInfo::ID, 0);
    let spoilt: [fn(&mut Mad); 4] = [
        |mad| mad.set_returning(true),          // a request that says it returns
        |mad| mad.set_hop_pointer(1),           // one that says it is on its way already
        |mad| mad.0[7] = 64,                    // one with more hops than a path holds
        |mad| mad.set_method(Method::GET_RESP), // an answer that says it goes out
    ];
    for spoil in spoilt {
        let mut emulator = emulator();
        let mut mad = good;
        spoil(&mut mad);
        send(&mut emulator, Address::Directed, mad);
        assert_eq!(receive(&mut emulator), None);
        assert_eq!(emulator.world().counters().lost.get(&LostWhy::BadRoute), Some(&1));
    }
}

#[test]
fn tables_carry_management_packets_in_init_too() {
    let mut emulator = emulator();
    bring_up(&mut emulator);
    send(&mut emulator, to(LID_B), smp::<NodeInfo>(Method::GET, 0));
    let answer = receive(&mut emulator).unwrap();
    assert_eq!(answer.address, to(LID_B));
    assert_eq!(answer.mad.attribute::<NodeInfo>().node_guid(), 0xb0);

    // By the second cable, which is in INIT: management passes, data does not (IBA 7.2.7).
    set_lft(&mut emulator, TO_S, &[(LID_A, 3), (LID_S, 0), (LID_T, 6), (LID_B, 6)]);
    send(&mut emulator, to(LID_B), smp::<NodeInfo>(Method::GET, 0));
    assert!(receive(&mut emulator).is_some());
    assert_eq!(emulator.world().deliver(at(A, 1), lid(LID_B)), Err(Lost { at: at(S, 6), why: LostWhy::NotActive }));
}

#[test]
fn a_switch_and_the_own_port_answer_by_lid() {
    let mut emulator = emulator();
    bring_up(&mut emulator);
    for (lid, guid, port) in [(LID_A, 0xa0, 1), (LID_S, 0x50, 3), (LID_T, 0x70, 7)] {
        send(&mut emulator, to(lid), smp::<NodeInfo>(Method::GET, 0));
        let info: NodeInfo = receive(&mut emulator).unwrap().mad.attribute();
        assert_eq!((info.node_guid(), info.local_port_num()), (guid, port));
    }
}

/// The three ways of IBA 14.2.2 to mix a directed route with forwarding tables, from A: by tables to S and from there on by ports; by
/// ports to S and on by tables; and tables, ports, tables. `ibportstate` asks for the peer of a port in the first way.
#[test]
fn a_directed_route_can_begin_and_end_at_a_lid() {
    struct Mixed {
        dlid: Option<u16>,
        ports: &'static [u8],
        dr_slid: u16,
        dr_dlid: u16,
        /// The node that answers, the port by which the request reached it, and the return path.
        found: (u64, u8),
        back: &'static [u8],
    }
    let ways = [
        Mixed { dlid: Some(LID_S), ports: &[6], dr_slid: LID_A, dr_dlid: 0xffff, found: (0x70, 8), back: &[8] },
        Mixed { dlid: Some(LID_S), ports: &[], dr_slid: LID_A, dr_dlid: 0xffff, found: (0x50, 3), back: &[] },
        Mixed { dlid: None, ports: &[1], dr_slid: 0xffff, dr_dlid: LID_B, found: (0xb0, 1), back: &[3] },
        Mixed { dlid: None, ports: &[1, 6], dr_slid: 0xffff, dr_dlid: LID_S, found: (0x50, 5), back: &[3, 8] },
        Mixed { dlid: Some(LID_S), ports: &[6], dr_slid: LID_A, dr_dlid: LID_B, found: (0xb0, 1), back: &[8] },
    ];
    for Mixed { dlid, ports, dr_slid, dr_dlid, found, back } in ways {
        let mut emulator = up();
        let mut mad = Mad::directed(&path(ports), Method::GET, NodeInfo::ID, 0);
        mad.set_dr_slid(dr_slid);
        mad.0[34..36].copy_from_slice(&dr_dlid.to_be_bytes());
        send(&mut emulator, dlid.map_or(Address::Directed, to), mad);
        let answer = receive(&mut emulator).unwrap_or_else(|| panic!("{ports:?} {dr_slid:#x} {dr_dlid:#x}"));
        // It comes from where its last part began.
        assert_eq!(answer.address, dlid.map_or(Address::Directed, to));
        let mad = answer.mad;
        assert_eq!((mad.dr_slid(), mad.dr_dlid(), mad.is_returning()), (dr_slid, dr_dlid, true));
        assert_eq!((mad.hop_pointer(), usize::from(mad.hop_count())), (0, ports.len()));
        assert_eq!(&mad.return_path()[1..=back.len()], back);
        let info: NodeInfo = mad.attribute();
        assert_eq!((info.node_guid(), info.local_port_num()), found);
    }
}

#[test]
fn parts_by_tables_meet_the_directed_part_at_switches_only() {
    let sent = |address, ports: &[u8], dr_slid, dr_dlid: u16| {
        let mut emulator = up();
        let mut mad = Mad::directed(&path(ports), Method::GET, NodeInfo::ID, 0);
        mad.set_dr_slid(dr_slid);
        mad.0[34..36].copy_from_slice(&dr_dlid.to_be_bytes());
        send(&mut emulator, address, mad);
        assert_eq!(receive(&mut emulator), None);
        let lost: Vec<_> = emulator.world().counters().lost.keys().copied().collect();
        lost
    };
    // A host forwards nothing, neither from tables to ports nor from ports to tables.
    assert_eq!(sent(to(LID_B), &[1], LID_A, 0xffff), [LostWhy::NotThrough]);
    assert_eq!(sent(Address::Directed, TO_B, 0xffff, LID_A), [LostWhy::NotThrough]);
    // Who begins with ports goes to no LID, and who begins with tables goes to one.
    assert_eq!(sent(to(LID_S), &[6], 0xffff, 0xffff), [LostWhy::BadRoute]);
    assert_eq!(sent(Address::Directed, &[1], LID_A, 0xffff), [LostWhy::BadRoute]);
    // The way back to a LID that is not the sender's.
    assert_eq!(sent(to(LID_S), &[6], LID_T, 0xffff), [LostWhy::NoReceiver]);
}

#[test]
fn data_follows_the_tables_that_were_written() {
    let mut emulator = emulator();
    bring_up(&mut emulator);
    let way = [at(A, 1), at(S, 3), at(S, 5), at(T, 7), at(T, 2), at(B, 1)];
    assert_eq!(emulator.world().deliver(at(A, 1), lid(LID_B)), Ok(way.to_vec()));
    let back: Vec<PortRef> = way.iter().rev().copied().collect();
    assert_eq!(emulator.world().deliver(at(B, 1), lid(LID_A)), Ok(back));
    assert_eq!(emulator.world().deliver(at(S, 0), lid(LID_B)), Ok(way[2..].to_vec()));
    assert_eq!(emulator.world().deliver(at(A, 1), lid(LID_T)), Ok(way[..4].to_vec()));
    assert_eq!(emulator.world().deliver(at(A, 1), lid(LID_A)), Ok(vec![]));
}

fn up() -> Emulator {
    let mut emulator = emulator();
    bring_up(&mut emulator);
    emulator
}

#[test]
fn wrong_tables_lose_packets_with_a_reason() {
    let lost = |entries: &[(u16, u8)], dlid| {
        let mut emulator = emulator();
        bring_up(&mut emulator);
        set_lft(&mut emulator, TO_S, entries);
        emulator.world().deliver(at(A, 1), lid(dlid)).unwrap_err()
    };
    assert_eq!(lost(&[], LID_B), Lost { at: at(S, 3), why: LostWhy::NoEntry });
    assert_eq!(lost(&[(LID_B, 5)], 5), Lost { at: at(S, 3), why: LostWhy::AboveTop });
    assert_eq!(lost(&[(LID_B, 9)], LID_B), Lost { at: at(S, 9), why: LostWhy::NoSuchPort });
    assert_eq!(lost(&[(LID_B, 1)], LID_B), Lost { at: at(S, 1), why: LostWhy::LinkDown });
    assert_eq!(lost(&[(LID_B, 0)], LID_B), Lost { at: at(S, 0), why: LostWhy::WrongPort });
    // Back through the port by which it came (IBA 16.1.3.5, PortRcvSwitchRelayErrors).
    assert_eq!(lost(&[(LID_B, 3)], LID_B), Lost { at: at(S, 3), why: LostWhy::Loop });

    // T sends its own LID to B.
    let mut emulator = up();
    set_lft(&mut emulator, TO_T, &[(LID_A, 7), (LID_T, 2)]);
    assert_eq!(emulator.world().deliver(at(A, 1), lid(LID_T)), Err(Lost { at: at(B, 1), why: LostWhy::WrongPort }));

    // S sends T's LID to T, and T sends it back by the second cable.
    let mut emulator = up();
    activate(&mut emulator, TO_S, 6);
    activate(&mut emulator, TO_T, 8);
    set_lft(&mut emulator, TO_T, &[(LID_A, 7), (LID_T, 8)]);
    assert_eq!(emulator.world().deliver(at(A, 1), lid(LID_T)).unwrap_err().why, LostWhy::Loop);
    // A management packet is lost there too, and nobody hangs.
    send(&mut emulator, to(LID_T), smp::<PortInfo>(Method::GET, 0));
    assert_eq!(receive(&mut emulator), None);
}

#[test]
fn cold_hardware_forwards_nothing() {
    let emulator = emulator();
    assert_eq!(emulator.world().deliver(at(A, 1), lid(1)), Err(Lost { at: at(A, 1), why: LostWhy::NotActive }));
    assert!(emulator.world().lft(S).is_empty());
}

#[test]
fn other_classes_have_no_receiver_but_the_manager() {
    let mut emulator = emulator();
    bring_up(&mut emulator);
    let query = Mad::request(Class::SUBN_ADM, 2, Method::GET, NodeInfo::ID, 0);
    send(&mut emulator, Address::Lid { lid: LID_A, qp: 1 }, query);
    let asked = receive(&mut emulator).unwrap().mad;
    assert_eq!((asked.class(), asked.method(), asked.smp_data()), (query.class(), query.method(), query.smp_data()));
    // A host's operating system refuses a Get or Set that no program takes; a switch says that it does not know the class.
    send(&mut emulator, Address::Lid { lid: LID_B, qp: 1 }, query);
    let refusal = receive(&mut emulator).unwrap().mad;
    assert_eq!((refusal.method(), refusal.status().0, refusal.class()), (Method::GET_RESP, 0x0c, query.class()));
    send(&mut emulator, Address::Lid { lid: LID_T, qp: 1 }, query);
    assert_eq!(receive(&mut emulator).unwrap().mad.status().0, 0x04);
    let table = Mad::request(Class::SUBN_ADM, 2, Method(0x12), NodeInfo::ID, 0);
    send(&mut emulator, Address::Lid { lid: LID_B, qp: 1 }, table);
    assert_eq!(receive(&mut emulator), None);
}

#[test]
fn a_manager_needs_an_end_port() {
    let refused = |at| Emulator::new(&fabric(), at).unwrap_err();
    assert!(matches!(refused(at(S, 3)), EmulatorError::NoEndPort { port: 3, is_switch: true, .. }));
    assert!(matches!(refused(at(A, 0)), EmulatorError::NoEndPort { port: 0, is_switch: false, .. }));
    assert!(matches!(refused(at(A, 3)), EmulatorError::NoEndPort { port: 3, .. }));
    assert!(matches!(refused(at(heddle_fabric::NodeIndex(4), 1)), EmulatorError::NoNode { node: 4, nodes: 4 }));
}

#[test]
fn waiting_for_nothing_is_an_error_and_not_a_hang() {
    assert!(emulator().receive(None).is_err());
}
