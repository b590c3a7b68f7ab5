//! M_Keys: who may read and write, violations, leases and traps (IBA 14.2.4).

use crate::support::*;
use heddle_emulator::Emulator;
use heddle_mad::transport::Address;
use heddle_mad::wire::*;
use std::time::Duration;

const KEY: u64 = 0x77;
const SECOND: Duration = Duration::from_secs(1);

/// A fabric in which B 1 has a key, at this level of protection and with this lease.
fn protected(level: u8, lease: u16) -> Emulator {
    let mut emulator = emulator();
    bring_up(&mut emulator);
    change_port(&mut emulator, TO_B, 1, |info| {
        info.set_m_key(KEY);
        info.set_m_key_protect_bits(level);
        info.set_m_key_lease_period(lease);
    });
    emulator
}

/// Sends a request for PortInfo with a key; the answer, if there is one.
fn ask(emulator: &mut Emulator, ports: &[u8], method: Method, number: u8, key: u64) -> Option<Mad> {
    let mut mad = Mad::directed(&path(ports), method, PortInfo::ID, number.into());
    let mut info = *emulator.world().port_info(at(B, number)).unwrap();
    info.set_port_state(0);
    info.set_port_physical_state(0);
    mad.set_smp_data(info.bytes());
    mad.set_m_key(key);
    send(emulator, Address::Directed, mad);
    let is_answer = |mad: &Mad| mad.method() == Method::GET_RESP;
    receive_all(emulator, SECOND / 100).into_iter().map(|envelope| envelope.mad).find(is_answer)
}

fn violations(emulator: &Emulator) -> u16 {
    emulator.world().port_info(at(B, 1)).unwrap().m_key_violations()
}

/// The whole table of IBA 14.2.4.1: for each level, method and key, whether there is an answer, and the key that it shows.
#[test]
fn levels_of_protection() {
    for level in 0..=3 {
        for (method, key) in
            [(Method::GET, KEY), (Method::GET, 0), (Method::GET, 1), (Method::SET, KEY), (Method::SET, 0), (Method::SET, 1)]
        {
            let mut emulator = protected(level, 0);
            let shown = match (level, method, key) {
                (_, _, KEY) => Some(KEY),
                (0, Method::GET, _) => Some(KEY),
                (1, Method::GET, _) => Some(0),
                _ => None,
            };
            let answer = ask(&mut emulator, TO_B, method, 1, key);
            let case = format!("level {level}, {method:?} with {key:#x}");
            assert_eq!(answer.map(|mad| mad.attribute::<PortInfo>().m_key()), shown, "{case}");
            assert_eq!(violations(&emulator), u16::from(shown.is_none()), "{case}");
        }
    }
}

#[test]
fn a_key_of_zero_protects_nothing() {
    let mut emulator = emulator();
    change_port(&mut emulator, TO_B, 1, |info| info.set_m_key_protect_bits(3));
    assert!(ask(&mut emulator, TO_B, Method::SET, 1, 0x1234).is_some());
    assert_eq!(violations(&emulator), 0);
}

#[test]
fn the_key_of_a_switch_counts_for_all_its_ports() {
    let mut emulator = emulator();
    change_port(&mut emulator, TO_S, 0, |info| info.set_m_key(KEY));
    let mut mad = Mad::directed(&path(TO_S), Method::SET, PortInfo::ID, 5);
    mad.set_smp_data(emulator.world().port_info(at(S, 5)).unwrap().bytes());
    send(&mut emulator, Address::Directed, mad);
    assert_eq!(receive(&mut emulator), None);
    assert_eq!(emulator.world().port_info(at(S, 0)).unwrap().m_key_violations(), 1);
}

/// As the kernel's qib does it: PortInfo of another port of the host needs that port's key as well.
#[test]
fn another_port_of_a_host_has_its_own_key() {
    let mut emulator = protected(2, 0);
    let through_2 = &[1, 5, 4];
    assert!(ask(&mut emulator, through_2, Method::GET, 2, 0).is_some());
    assert!(ask(&mut emulator, through_2, Method::GET, 1, 0).is_none());
    assert_eq!(violations(&emulator), 1);
    assert!(ask(&mut emulator, through_2, Method::GET, 1, KEY).is_some());
}

#[test]
fn a_lease_runs_out_after_the_first_violation_unless_somebody_shows_the_key() {
    let mut emulator = protected(2, 10);
    let wait = |emulator: &mut Emulator, duration| drop(receive_all(emulator, duration));
    assert!(ask(&mut emulator, TO_B, Method::GET, 1, 0).is_none());
    wait(&mut emulator, SECOND * 5);
    assert!(ask(&mut emulator, TO_B, Method::GET, 1, 0).is_none(), "a second violation does not begin the lease anew");
    wait(&mut emulator, SECOND * 4);
    assert!(ask(&mut emulator, TO_B, Method::GET, 1, KEY).is_some(), "the key stops the clock");
    wait(&mut emulator, SECOND * 60);
    assert!(ask(&mut emulator, TO_B, Method::GET, 1, 0).is_none(), "and so the protection stays");
    wait(&mut emulator, SECOND * 11);
    // Protection falls to 0: everybody can read the key, but writing needs it as ever.
    let info: PortInfo = ask(&mut emulator, TO_B, Method::GET, 1, 0).unwrap().attribute();
    assert_eq!((info.m_key(), info.m_key_protect_bits()), (KEY, 0));
    assert!(ask(&mut emulator, TO_B, Method::SET, 1, 0).is_none());
}

#[test]
fn a_lease_of_zero_never_runs_out() {
    let mut emulator = protected(2, 0);
    assert!(ask(&mut emulator, TO_B, Method::GET, 1, 0).is_none());
    receive_all(&mut emulator, SECOND * 100_000);
    assert!(ask(&mut emulator, TO_B, Method::GET, 1, 0).is_none());
}

/// The first notice that reaches the manager.
fn notice(emulator: &mut Emulator) -> (Notice, Mad) {
    let trap = receive_all(emulator, SECOND * 2).into_iter().map(|envelope| envelope.mad).find(|mad| mad.method() == Method::TRAP).unwrap();
    (trap.attribute(), trap)
}

#[test]
fn trap_256_tells_who_asked_what() {
    let mut emulator = protected(2, 0);
    let mut mad = Mad::directed(&path(TO_B), Method::SET, GuidInfo::ID, 0x12);
    mad.set_m_key(0x99);
    send(&mut emulator, Address::Directed, mad);
    let (notice, trap) = notice(&mut emulator);
    assert_eq!((notice.kind(), notice.trap_number(), notice.issuer_lid()), (Some(NoticeType::Security), 256, LID_B));
    assert_eq!(notice.producer_type(), 1, "an adapter");
    let mut dr_return_path = [0; 30];
    dr_return_path[1..4].copy_from_slice(&[3, 7, 1]); // the ports of entry
    let expected = TrapDetails::BadMKey {
        lid: 0xffff,
        dr_slid: 0xffff,
        method: 2,
        attribute_id: 0x14,
        modifier: 0x12,
        m_key: 0x99,
        dr_notice: true,
        dr_path_truncated: false,
        dr_hop_count: 3,
        dr_return_path,
    };
    assert_eq!(notice.details(), Some(expected));

    // The repression needs the key too, and ends the trap.
    let mut repress = smp::<Notice>(Method::TRAP_REPRESS, 0);
    repress.set_transaction(trap.transaction());
    send(&mut emulator, to(LID_B), repress);
    let traps = |emulator: &mut Emulator| receive_all(emulator, SECOND * 5).len();
    assert!(traps(&mut emulator) > 1, "a repression without the key is none");
    repress.set_m_key(KEY);
    let again = self::notice(&mut emulator).1;
    repress.set_transaction(again.transaction());
    send(&mut emulator, to(LID_B), repress);
    receive_all(&mut emulator, SECOND / 100);
    assert_eq!(traps(&mut emulator), 0);
}

#[test]
fn trap_256_of_a_request_by_lid_has_its_sender() {
    let mut emulator = protected(1, 0);
    let mut mad = smp::<PortInfo>(Method::SET, 1);
    mad.set_m_key(0x98);
    send(&mut emulator, to(LID_B), mad);
    let Some(TrapDetails::BadMKey { lid, m_key, dr_notice, dr_hop_count, .. }) = notice(&mut emulator).0.details() else { panic!() };
    assert_eq!((lid, m_key, dr_notice, dr_hop_count), (LID_A, 0x98, false, 0));
}

#[test]
fn a_violation_counter_stays_at_its_end_and_is_cleared_by_writing_zero() {
    let mut emulator = protected(2, 0);
    for _ in 0..3 {
        ask(&mut emulator, TO_B, Method::GET, 1, 0);
    }
    assert_eq!(violations(&emulator), 3);
    let mut write = |value| {
        let mut mad = Mad::directed(&path(TO_B), Method::SET, PortInfo::ID, 1);
        let mut info = *emulator.world().port_info(at(B, 1)).unwrap();
        info.set_port_state(0);
        info.set_port_physical_state(0);
        info.set_m_key_violations(value);
        mad.set_smp_data(info.bytes());
        mad.set_m_key(KEY);
        send(&mut emulator, Address::Directed, mad);
        receive_all(&mut emulator, SECOND / 100);
        violations(&emulator)
    };
    assert_eq!(write(9), 3, "nobody can make it up");
    assert_eq!(write(0), 0);
}

/// The notice has 30 bytes for the return path, the first of which is that of the path's unused entry 0.
#[test]
fn trap_256_cuts_a_path_that_is_too_long() {
    let told = |hops: usize| {
        let mut emulator = emulator();
        bring_up(&mut emulator);
        change_port(&mut emulator, TO_S, 0, |info| info.set_m_key(KEY));
        // To S, and then to and fro between S and T: hops are odd.
        let there: Vec<u8> = [1].into_iter().chain([5, 7].into_iter().cycle()).take(hops).collect();
        send(&mut emulator, Address::Directed, Mad::directed(&path(&there), Method::SET, SwitchInfo::ID, 0));
        let Some(TrapDetails::BadMKey { dr_path_truncated, dr_hop_count, dr_return_path, .. }) = notice(&mut emulator).0.details() else {
            panic!()
        };
        let entered: Vec<u8> = [0, 3].into_iter().chain([7, 5].into_iter().cycle()).take(1 + usize::from(dr_hop_count)).collect();
        assert_eq!(dr_return_path[..entered.len()], entered);
        (dr_path_truncated, dr_hop_count)
    };
    assert_eq!(told(29), (false, 29));
    assert_eq!(told(31), (true, 29));
}
