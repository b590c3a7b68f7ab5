//! Performance management (IBA 16.1): counts what crossed, values by hand. A MAD on a cable is 288 bytes from LRH to ICRC: 72 units of 4.

use crate::support::*;
use heddle_emulator::Emulator;
use heddle_emulator::traffic::{Flow, Options};
use heddle_fabric::PortRef;
use heddle_mad::transport::Address;
use heddle_mad::wire::*;

const MAD: u64 = 72;

/// The answer of a node's performance management agent.
fn ask<A: Attribute>(emulator: &mut Emulator, lid: u16, method: Method, request: &A) -> Mad {
    let mut mad = Mad::request(Class::PERF, 1, method, A::ID, 0);
    mad.set_attribute(request);
    send(emulator, Address::Lid { lid, qp: 1 }, mad);
    let mut answer = receive(emulator).expect("performance management answers");
    while answer.mad.class() != Class::PERF {
        answer = receive(emulator).expect("there are traps before the answer");
    }
    assert_eq!(answer.address, Address::Lid { lid, qp: 1 });
    assert_eq!((answer.mad.method(), answer.mad.attribute_id()), (Method::GET_RESP, A::ID));
    answer.mad
}

fn port_counters(emulator: &mut Emulator, lid: u16, port: u8) -> PortCounters {
    let mut request = PortCounters::default();
    request.set_port_select(port);
    let answer = ask(emulator, lid, Method::GET, &request);
    assert_eq!(answer.status(), Status::OK);
    answer.attribute()
}

fn extended(emulator: &mut Emulator, lid: u16, port: u8) -> PortCountersExtended {
    let mut request = PortCountersExtended::default();
    request.set_port_select(port);
    let answer = ask(emulator, lid, Method::GET, &request);
    assert_eq!(answer.status(), Status::OK);
    answer.attribute()
}

fn managed() -> Emulator {
    let mut emulator = emulator();
    bring_up(&mut emulator);
    emulator
}

#[test]
fn agents_say_what_they_can_do_and_keep_where_traps_go() {
    let mut emulator = managed();
    let info: ClassPortInfo = ask(&mut emulator, LID_S, Method::GET, &ClassPortInfo::default()).attribute();
    // AllPortSelect, extended width with packets by cast, PortXmitWait; and the further extended counters.
    assert_eq!((info.base_version(), info.class_version(), info.capability_mask(), info.capability_mask_2()), (1, 1, 0x1300, 2));
    let info: ClassPortInfo = ask(&mut emulator, LID_B, Method::GET, &ClassPortInfo::default()).attribute();
    assert_eq!(info.capability_mask(), 0x1200, "an adapter's ports are asked one by one");

    let wanted = ClassPortInfo::from_bytes([0x11; 192]);
    assert_eq!(ask(&mut emulator, LID_B, Method::SET, &wanted).status(), Status::OK);
    let kept: ClassPortInfo = ask(&mut emulator, LID_B, Method::GET, &ClassPortInfo::default()).attribute();
    assert_eq!((kept.trap_lid(), kept.trap_gid(), kept.trap_q_key()), (0x1111, [0x11; 16], 0x1111_1111));
    assert_eq!((kept.capability_mask(), kept.redirect_lid(), kept.resp_time_value()), (0x1200, 0, info.resp_time_value()));
}

/// A Get from A to T crosses S, and so does its answer, which does not count itself at the port that it has still to leave by.
#[test]
fn packets_are_counted_at_both_ends_of_each_cable() {
    let mut emulator = managed();
    let before = extended(&mut emulator, LID_T, 7);
    let after = extended(&mut emulator, LID_T, 7);
    for (field, change) in [("PortRcvPkts", 1), ("PortXmitPkts", 1), ("PortRcvData", MAD), ("PortXmitData", MAD), ("PortUnicastRcvPkts", 1)]
    {
        let field = PortCountersExtended::FIELDS.iter().find(|known| known.name == field).unwrap();
        assert_eq!(field.read(after.bytes()) - field.read(before.bytes()), change, "{}", field.name);
    }
    // The other end of the cable has seen the same: what one sent, the other received.
    let other = extended(&mut emulator, LID_S, 5);
    assert_eq!((other.port_xmit_pkts(), other.port_rcv_pkts()), (after.port_rcv_pkts(), after.port_xmit_pkts() + 1));
    let narrow = port_counters(&mut emulator, LID_S, 5);
    assert_eq!((u64::from(narrow.port_xmit_pkts()), narrow.port_select()), (other.port_xmit_pkts(), 5));
}

#[test]
fn a_set_clears_what_is_selected_and_nothing_else() {
    let mut emulator = managed();
    // CounterSelect, the field that it clears: bits as in IBA 16.1.3.5 and 16.1.4.
    for (bits, name) in [(1 << 12, "PortXmitData"), (1 << 13, "PortRcvData"), (1 << 14, "PortXmitPkts"), (1 << 15, "PortRcvPkts")] {
        let before = port_counters(&mut emulator, LID_S, 5);
        let mut request = PortCounters::default();
        request.set_port_select(5);
        request.set_counter_select(bits);
        let after: PortCounters = ask(&mut emulator, LID_S, Method::SET, &request).attribute();
        for field in PortCounters::FIELDS.iter().filter(|field| !field.name.contains("Select")) {
            let (before, after) = (field.read(before.bytes()), field.read(after.bytes()));
            assert!(if field.name == name { after == 0 } else { after == before }, "{name}: {} {before} {after}", field.name);
        }
    }
    for (bit, name) in PortCountersExtended::FIELDS[3..11].iter().map(|field| field.name).enumerate() {
        let before = extended(&mut emulator, LID_T, 7);
        let mut request = PortCountersExtended::default();
        request.set_port_select(7);
        request.set_counter_select(1 << bit);
        let after: PortCountersExtended = ask(&mut emulator, LID_T, Method::SET, &request).attribute();
        for field in PortCountersExtended::FIELDS.iter().filter(|field| !field.name.contains("Select")) {
            let (before, after) = (field.read(before.bytes()), field.read(after.bytes()));
            assert!(if field.name == name { after == 0 } else { after >= before }, "{name}: {} {before} {after}", field.name);
        }
    }
}

/// PortCounters and PortCountersExtended are cleared each by itself.
#[test]
fn a_link_that_goes_down_is_counted_and_can_be_cleared() {
    let mut emulator = managed();
    for _ in 0..300 {
        emulator.world_mut().cut(at(S, 6));
        emulator.world_mut().restore(at(S, 6));
    }
    receive_all(&mut emulator, std::time::Duration::from_secs(1));
    for (lid, port) in [(LID_S, 6), (LID_T, 8)] {
        assert_eq!(port_counters(&mut emulator, lid, port).link_downed_counter(), 255, "8 bits");
        assert_eq!(extended(&mut emulator, lid, port).link_downed_counter(), 300);
    }
    let mut request = PortCounters::default();
    request.set_port_select(6);
    request.set_counter_select(1 << 2);
    assert_eq!(ask(&mut emulator, LID_S, Method::SET, &request).status(), Status::OK);
    emulator.world_mut().cut(at(S, 6));
    assert_eq!(port_counters(&mut emulator, LID_S, 6).link_downed_counter(), 1);
    assert_eq!(extended(&mut emulator, LID_S, 6).link_downed_counter(), 301);
    let mut request = PortCountersExtended::default();
    request.set_port_select(6);
    request.set_counter_select_2(1 << 2);
    let answer: PortCountersExtended = ask(&mut emulator, LID_S, Method::SET, &request).attribute();
    assert_eq!(answer.link_downed_counter(), 0);
    assert_eq!(port_counters(&mut emulator, LID_S, 6).link_downed_counter(), 1);
}

#[test]
fn losses_are_counted_where_and_as_what_they_happen() {
    let mut emulator = managed();
    // S has no entry for LID 5, and is told to send LID_T by port 6, which is in INIT.
    let mut info: SwitchInfo = get::<SwitchInfo>(&mut emulator, TO_S, 0).unwrap().attribute();
    info.set_linear_fdb_top(5);
    set(&mut emulator, TO_S, 0, &info);
    let mut mad = Mad::request(Class::PERF, 1, Method::GET, PortCounters::ID, 0);
    for lid in [5, 6] {
        send(&mut emulator, Address::Lid { lid, qp: 1 }, mad);
    }
    let mut block = [0xff; 64];
    block[..5].copy_from_slice(&[0xff, 3, 0, 6, 5]);
    set(&mut emulator, TO_S, 0, &LinearForwardingTable::from_bytes(block));
    mad.set_transaction(9);
    send(&mut emulator, Address::Lid { lid: LID_T, qp: 1 }, mad);
    assert_eq!(port_counters(&mut emulator, LID_S, 3).port_rcv_switch_relay_errors(), 2);
    let mut details = PortRcvErrorDetails::default();
    details.set_port_select(3);
    let details: PortRcvErrorDetails = ask(&mut emulator, LID_S, Method::GET, &details).attribute();
    assert_eq!((details.port_dlid_mapping_errors(), details.port_looping_errors(), details.port_local_physical_errors()), (2, 0, 0));
    assert_eq!(port_counters(&mut emulator, LID_S, 6).port_xmit_discards(), 1);
    let mut details = PortXmitDiscardDetails::default();
    details.set_port_select(6);
    let details: PortXmitDiscardDetails = ask(&mut emulator, LID_S, Method::GET, &details).attribute();
    assert_eq!((details.port_inactive_discards(), details.port_neighbor_mtu_discards()), (1, 0));
}

/// Service level 0 is on VL 0 out of reset; subnet management is on VL 15, and has no service level.
#[test]
fn data_is_counted_by_service_level_and_by_vl() {
    let mut emulator = managed();
    let select = |port_select| {
        let mut request = PortVLOpPackets::default();
        request.set_port_select(port_select);
        request.set_op_code(0x64); // unreliable datagrams
        request
    };
    let before: PortVLOpPackets = ask(&mut emulator, LID_S, Method::GET, &select(3)).attribute();
    get::<NodeInfo>(&mut emulator, TO_S, 0).unwrap();
    let after: PortVLOpPackets = ask(&mut emulator, LID_S, Method::GET, &select(3)).attribute();
    let change = |vl| after.port_vl_op_packets(vl) - before.port_vl_op_packets(vl);
    assert_eq!((0..16).map(change).collect::<Vec<_>>(), [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);

    let mut request = PortRcvDataSL::default();
    request.set_port_select(3);
    let data: PortRcvDataSL = ask(&mut emulator, LID_S, Method::GET, &request).attribute();
    assert_eq!(data.rcv_data_sl(0), 3 * MAD as u32);
    assert_eq!(data.all_rcv_data_sl()[1..], [0; 15]);
    let mut request = PortXmitDataSL::default();
    request.set_port_select(3);
    let data: PortXmitDataSL = ask(&mut emulator, LID_S, Method::GET, &request).attribute();
    assert_eq!(data.xmt_data_sl(0), 3 * MAD as u32);
}

#[test]
fn all_ports_of_a_switch_can_be_asked_and_cleared_at_once() {
    let mut emulator = managed();
    let single: u64 = (1..=8).map(|port| u64::from(port_counters(&mut emulator, LID_S, port).port_rcv_pkts())).sum();
    let all = u64::from(port_counters(&mut emulator, LID_S, ALL_PORTS).port_rcv_pkts());
    // The questions about ports 4 to 8 and the last came in by port 3 when that had been asked.
    assert_eq!(all, single + 6);
    let mut request = PortCounters::default();
    request.set_port_select(ALL_PORTS);
    request.set_counter_select(0xffff);
    let cleared: PortCounters = ask(&mut emulator, LID_S, Method::SET, &request).attribute();
    assert_eq!((cleared.port_rcv_pkts(), cleared.port_xmit_data()), (0, 0));
    assert_eq!(port_counters(&mut emulator, LID_S, 5).port_xmit_pkts(), 0);
}

#[test]
fn what_there_is_not_is_refused() {
    let mut emulator = managed();
    let status = |emulator: &mut Emulator, lid, port| {
        let mut request = PortCounters::default();
        request.set_port_select(port);
        ask(emulator, lid, Method::GET, &request).status()
    };
    for (lid, port, expected) in [
        (LID_S, 0, Status::BAD_FIELD), // not an enhanced port 0
        (LID_S, 8, Status::OK),
        (LID_S, 9, Status::BAD_FIELD),
        (LID_B, 0, Status::BAD_FIELD),
        (LID_B, 2, Status::OK), // the other port of the adapter
        (LID_B, 3, Status::BAD_FIELD),
        (LID_B, ALL_PORTS, Status::BAD_FIELD),
    ] {
        assert_eq!(status(&mut emulator, lid, port), expected, "LID {lid} port {port}");
    }
    let answer = ask(&mut emulator, LID_S, Method::SET, &PortSamplesControl::default());
    assert_eq!(answer.status(), Status::BAD_ATTRIBUTE);
    assert_eq!(ask(&mut emulator, LID_B, Method::GET, &SwPortVLCongestion::default()).status(), Status::BAD_ATTRIBUTE);
    for (class_version, method, id, expected) in [
        (1, Method::GET, 0x1234, Status::BAD_ATTRIBUTE),
        (1, Method(0x03), PortCounters::ID.0, Status::BAD_METHOD),
        (2, Method::GET, PortCounters::ID.0, Status::BAD_VERSION),
    ] {
        send(&mut emulator, Address::Lid { lid: LID_S, qp: 1 }, Mad::request(Class::PERF, class_version, method, AttributeId(id), 0));
        assert_eq!(receive(&mut emulator).unwrap().mad.status(), expected);
    }
}

#[test]
fn counters_do_not_survive_a_loss_of_power() {
    let mut emulator = managed();
    let mut request = PortCounters::default();
    request.set_port_select(2);
    request.set_counter_select(0xffff);
    ask(&mut emulator, LID_B, Method::SET, &request);
    emulator.world_mut().remove_node(B);
    emulator.world_mut().return_node(B);
    assert_eq!(emulator.world().tally(PortRef::new(B, 1)).unwrap().rcv_pkts, 0);
}

/// 100 packets of 256 bytes (NeighborMTU out of reset), with LRH, BTH and ICRC 280: 70 units of 4.
#[test]
fn traffic_through_the_data_plane_is_counted_too() {
    let mut emulator = managed();
    let mut flow = Flow::new(at(A, 1), LID_B);
    (flow.packets, flow.payload) = (100, 256);
    let before = extended(&mut emulator, LID_T, 2);
    assert_eq!(emulator.world_mut().carry(&[flow], &Options::default()).delivered, 100);
    let after = extended(&mut emulator, LID_T, 2);
    assert_eq!(after.port_xmit_pkts() - before.port_xmit_pkts(), 100);
    assert_eq!(after.port_xmit_data() - before.port_xmit_data(), 100 * 70);
    assert_eq!(after.port_rcv_data(), before.port_rcv_data());
}
