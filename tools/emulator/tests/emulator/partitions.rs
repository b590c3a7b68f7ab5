//! Partitions are enforced at end ports and, where that is switched on, at the cable ports of switches (IBA 10.9.3, 10.9.4).

use crate::support::*;
use heddle_emulator::{ClientId, Delivered, Emulator, Interest, Losses, LostWhy, Packet};
use heddle_mad::wire::*;
use std::time::Duration;

/// A class that no agent of the emulator answers.
const CLASS: Class = Class(0x30);

/// A fabric that is up, with a second client at B that takes the class.
fn up() -> (Emulator, ClientId) {
    let mut emulator = Emulator::new(&fabric_of([0x1021, 0xd2f2, 0xc738, 0x1003], 0x2c9), at(A, 1)).unwrap();
    bring_up(&mut emulator);
    receive_all(&mut emulator, Duration::from_secs(60)); // nobody represses the traps of the links
    let client = emulator.world_mut().attach(at(B, 1), Losses::Silent).unwrap();
    emulator.world_mut().set_interests(client, vec![Interest::all(CLASS.0, 1)]);
    (emulator, client)
}

/// Sends a packet from A to the client at B with a P_Key. What that client and the manager at A get within a second.
fn send_to_b(emulator: &mut Emulator, p_key: u16) -> Vec<Mad> {
    send_with_keys(emulator, p_key, 0x8001_0000)
}

fn send_with_keys(emulator: &mut Emulator, p_key: u16, q_key: u32) -> Vec<Mad> {
    let from = emulator.world_mut().attach(at(A, 1), Losses::Silent).unwrap();
    let packet =
        Packet { p_key, q_key, src_qp: 1, dst_qp: 1, ..Packet::smp(LID_B, Mad::request(CLASS, 1, Method::GET, AttributeId(0x10), 0)) };
    let world = emulator.world_mut();
    world.send(from, &packet);
    let until = world.now() + Duration::from_secs(1);
    world.handle_timeout(until);
    let mut got = Vec::new();
    while let Some((_, Delivered::Received(packet))) = world.poll_delivery() {
        got.push(packet.mad);
    }
    world.detach(from);
    got
}

fn p_keys(emulator: &mut Emulator, ports: &[u8], number: u8, keys: &[u16]) {
    let mut table = PKeyTable::default();
    keys.iter().enumerate().for_each(|(index, &key)| table.set_p_key(index, key));
    assert_eq!(set(emulator, ports, PKeyTable::modifier(number, 0), &table).status(), Status::OK);
}

/// The one notice among what the manager got.
fn notice(got: &[Mad]) -> Notice {
    let [trap] = got else { panic!("{got:?}") };
    assert_eq!(trap.method(), Method::TRAP);
    trap.attribute()
}

#[test]
fn the_default_partition_is_everybodys() {
    let (mut emulator, _) = up();
    for p_key in [0xffff, 0x7fff] {
        let got = send_to_b(&mut emulator, p_key);
        assert_eq!(got.len(), 1, "{p_key:#x}");
        assert_eq!(got[0].class(), CLASS);
    }
}

#[test]
fn an_end_port_takes_its_partitions_only_and_tells_of_others() {
    let (mut emulator, _) = up();
    p_keys(&mut emulator, TO_B, 0, &[0x7fff, 0, 0x8005]);
    let taken = |emulator: &mut Emulator, p_key| send_to_b(emulator, p_key).iter().any(|mad| mad.class() == CLASS);
    for (p_key, expected) in [(0xffff, true), (0x8005, true), (0x0005, true)] {
        assert_eq!(taken(&mut emulator, p_key), expected, "{p_key:#06x}");
    }
    let violations = |emulator: &Emulator| emulator.world().port_info(at(B, 1)).unwrap().p_key_violations();
    assert_eq!(violations(&emulator), 0);
    let got = send_to_b(&mut emulator, 0x7fff);
    assert_eq!(violations(&emulator), 1);
    let notice = notice(&got);
    assert_eq!((notice.kind(), notice.issuer_lid()), (Some(NoticeType::Security), LID_B));
    let (gid_1, gid_2) = (Gid::default(), Gid::default());
    let expected = TrapDetails::BadPKey { lid_1: LID_A, lid_2: LID_B, key: 0x7fff, sl: 0, qp_1: 1, qp_2: 1, gid_1, gid_2 };
    assert_eq!(notice.details(), Some(expected));
    for p_key in [0x8006, 0x8000, 0] {
        assert!(!taken(&mut emulator, p_key), "{p_key:#06x}");
    }
    assert_eq!(violations(&emulator), 4);
    assert_eq!(emulator.world().counters().lost[&LostWhy::WrongPKey], 4);
    change_port(&mut emulator, TO_B, 1, |info| info.set_p_key_violations(0));
    assert_eq!(violations(&emulator), 0);
}

#[test]
fn a_switch_enforces_where_it_is_told_to() {
    type Change = fn(&mut PortInfo);
    let cases: [(_, _, u8, Change, _); 2] = [
        (S, TO_S, 3, |info| info.set_partition_enforcement_inbound(true), LID_S),
        (T, TO_T, 2, |info| info.set_partition_enforcement_outbound(true), LID_T),
    ];
    for (node, ports, port, enforce, lid) in cases {
        let (mut emulator, _) = up();
        p_keys(&mut emulator, TO_B, 0, &[0xffff, 0x8005]);
        p_keys(&mut emulator, ports, port, &[0xffff, 0x8006]);
        assert_eq!(send_to_b(&mut emulator, 0x8005)[0].class(), CLASS, "nothing is enforced");
        assert_eq!(change_port(&mut emulator, ports, port, enforce).status(), Status::OK);
        assert_eq!(send_to_b(&mut emulator, 0xffff)[0].class(), CLASS);
        let got = send_to_b(&mut emulator, 0x8005);
        let Some(TrapDetails::BadPKeyAtSwitch { data_valid, lid_1, lid_2, p_key, qp_1, qp_2, switch_lid, port: told, .. }) =
            notice(&got).details()
        else {
            panic!("{got:?}")
        };
        assert_eq!((data_valid, lid_1, lid_2, p_key), (0x3f, LID_A, LID_B, 0x8005));
        assert_eq!((qp_1, qp_2, switch_lid, told), (1, 1, lid, port));
        assert_eq!(emulator.world().port_info(at(B, 1)).unwrap().p_key_violations(), 0);
        let tally = emulator.world().tally(at(node, port)).unwrap();
        let expected = if node == S { (1, 0) } else { (0, 1) };
        assert_eq!((tally.rcv_constraint_errors, tally.xmit_constraint_errors), expected);
    }
}

#[test]
fn a_wrong_q_key_is_refused_counted_and_told() {
    let (mut emulator, _) = up();
    let got = send_with_keys(&mut emulator, 0xffff, 0x1234_5678);
    let (gid_1, gid_2) = (Gid::default(), Gid::default());
    let expected = TrapDetails::BadQKey { lid_1: LID_A, lid_2: LID_B, key: 0x1234_5678, sl: 0, qp_1: 1, qp_2: 1, gid_1, gid_2 };
    assert_eq!((notice(&got).kind(), notice(&got).details()), (Some(NoticeType::Security), Some(expected)));
    let info = emulator.world().port_info(at(B, 1)).unwrap();
    assert_eq!((info.q_key_violations(), info.p_key_violations()), (1, 0));
}

/// Subnet management has no partitions.
#[test]
fn management_passes_everywhere() {
    let (mut emulator, _) = up();
    p_keys(&mut emulator, TO_B, 0, &[]);
    send(&mut emulator, to(LID_B), smp::<NodeInfo>(Method::GET, 0));
    assert_eq!(receive(&mut emulator).unwrap().mad.method(), Method::GET_RESP);
}

/// IBA 7.2.7: an ARMED port becomes ACTIVE by the first data packet that arrives, and sends none itself before.
#[test]
fn a_data_packet_makes_an_armed_port_active() {
    let (mut emulator, _) = up();
    change_port(&mut emulator, TO_B, 1, |info| info.set_state(PortState::Down));
    receive_all(&mut emulator, Duration::from_secs(60));
    assert_eq!(change_port(&mut emulator, TO_B, 1, |info| info.set_state(PortState::Armed)).status(), Status::OK);
    assert_eq!(send_to_b(&mut emulator, 0xffff), [], "the switch's port is in INIT");
    activate(&mut emulator, TO_T, 2);
    let state = |emulator: &Emulator| emulator.world().port_info(at(B, 1)).unwrap().state().unwrap();
    assert_eq!(state(&emulator), PortState::Armed);
    assert_eq!(send_to_b(&mut emulator, 0xffff).len(), 1);
    assert_eq!(state(&emulator), PortState::Active);
}
