//! Congestion control (IBA annex A10), the class 0x0a, and classes that nobody answers.

use crate::support::*;
use heddle_emulator::Emulator;
use heddle_mad::transport::Address;
use heddle_mad::wire::*;
use std::time::Duration;

fn request(class: Class, version: u8, method: Method, id: AttributeId, modifier: u32) -> Mad {
    Mad::request(class, version, method, id, modifier)
}

fn ask(emulator: &mut Emulator, lid: u16, mad: Mad) -> Option<Mad> {
    send(emulator, Address::Lid { lid, qp: 1 }, mad);
    receive(emulator).map(|answer| answer.mad)
}

/// A congestion control agent, asked with a CC_Key. `None` if it does not answer.
fn control<A: Attribute>(emulator: &mut Emulator, lid: u16, key: u64, modifier: u32, set: Option<&A>) -> Option<Result<A, Status>> {
    let method = if set.is_some() { Method::SET } else { Method::GET };
    let mut mad = request(Class::CONGESTION, 2, method, A::ID, modifier);
    mad.set_m_key(key);
    if let Some(attribute) = set {
        mad.set_attribute(attribute);
    }
    ask(emulator, lid, mad).map(|mad| if mad.status() == Status::OK { Ok(mad.attribute()) } else { Err(mad.status()) })
}

fn read<A: Attribute>(emulator: &mut Emulator, lid: u16) -> A {
    control(emulator, lid, 0, 0, None).unwrap().unwrap()
}

fn managed(devices: [u16; 4], vendor: u32) -> Emulator {
    let mut emulator = Emulator::new(&fabric_of(devices, vendor), at(A, 1)).unwrap();
    bring_up(&mut emulator);
    emulator
}

#[test]
fn settings_of_congestion_control_are_kept_without_reserved_bits() {
    let mut emulator = managed([0; 4], 0);
    let full = SwitchCongestionSetting::from_bytes([0xff; 192]);
    let kept = control(&mut emulator, LID_S, 0, 0, Some(&full)).unwrap().unwrap();
    // 4 bytes and two masks of 32 are full; behind them, the reserved bits are not.
    let mut expected = [0; 192];
    expected[..76].copy_from_slice(&[0xff; 76]);
    (expected[68], expected[70], expected[71]) = (0xf0, 0xf0, 0);
    assert_eq!(kept.bytes(), &expected);
    assert_eq!(read::<SwitchCongestionSetting>(&mut emulator, LID_S), kept);

    let mut table = CongestionControlTable::default();
    table.set_ccti_limit(64);
    table.set_cct_multiplier(0, 7);
    table.set_cct_shift(63, 3);
    assert_eq!(control(&mut emulator, LID_B, 0, 1, Some(&table)), Some(Ok(table)));
    assert_eq!(read::<CongestionControlTable>(&mut emulator, LID_B), CongestionControlTable::default(), "block 0 is another");
    assert_eq!(read::<CongestionInfo>(&mut emulator, LID_B).control_table_cap(), 2);
    assert_eq!(control(&mut emulator, LID_B, 0, 2, Some(&table)), Some(Err(Status::BAD_FIELD)));
    // Switches and adapters have settings of their own kind only.
    assert_eq!(control(&mut emulator, LID_S, 0, 0, Some(&table)), Some(Err(Status::BAD_ATTRIBUTE)));
    assert_eq!(control(&mut emulator, LID_B, 0, 0, Some(&full)), Some(Err(Status::BAD_ATTRIBUTE)));
    assert_eq!(control(&mut emulator, LID_S, 0, 0, Some(&SwitchPortCongestionSetting::default())).map(|answer| answer.is_ok()), Some(true));
    assert_eq!(control(&mut emulator, LID_S, 0, 1, Some(&SwitchPortCongestionSetting::default())), Some(Err(Status::BAD_FIELD)));
    assert_eq!(read::<CaCongestionLog>(&mut emulator, LID_B).log_type(), 2);
    assert_eq!(read::<SwitchCongestionLog>(&mut emulator, LID_S).log_type(), 1);
    // The class has version 2.
    let old = request(Class::CONGESTION, 1, Method::GET, CongestionInfo::ID, 0);
    assert_eq!(ask(&mut emulator, LID_B, old).unwrap().status(), Status::BAD_VERSION);
}

#[test]
fn the_clock_of_congestion_control_ticks_every_1024_nanoseconds() {
    let mut emulator = managed([0; 4], 0);
    let before = read::<CongestionTimeStamp>(&mut emulator, LID_B).time_stamp();
    receive_all(&mut emulator, Duration::from_millis(1024));
    let passed = read::<CongestionTimeStamp>(&mut emulator, LID_B).time_stamp() - before;
    assert!((1_000_000..1_001_000).contains(&passed), "{passed} ticks, and an answer on its way");
}

#[test]
fn only_who_has_the_cc_key_controls_congestion() {
    let mut emulator = managed([0; 4], 0);
    let mut info = CongestionKeyInfo::default();
    info.set_cc_key(77);
    info.set_cc_key_protect(true);
    info.set_cc_key_lease_period(10);
    info.set_cc_key_violations(5); // not for others to raise
    let kept = control(&mut emulator, LID_B, 0, 0, Some(&info)).unwrap().unwrap();
    assert_eq!((kept.cc_key(), kept.cc_key_violations()), (77, 0), "the sender had the right to it");

    assert_eq!(control::<CongestionInfo>(&mut emulator, LID_B, 0, 0, None), None);
    assert_eq!(control(&mut emulator, LID_B, 78, 0, Some(&CaCongestionSetting::default())), None);
    assert!(control::<CongestionInfo>(&mut emulator, LID_B, 77, 0, None).unwrap().is_ok());
    let seen = |emulator: &mut Emulator, key| {
        let info = control::<CongestionKeyInfo>(emulator, LID_B, key, 0, None).unwrap().unwrap();
        (info.cc_key(), info.cc_key_protect(), info.cc_key_violations())
    };
    assert_eq!(seen(&mut emulator, 0), (0, true, 2));
    assert_eq!(seen(&mut emulator, 77), (77, true, 2));

    // A Set of the key itself without it starts the lease; nobody who has it comes: protection ends after ten seconds.
    assert_eq!(control(&mut emulator, LID_B, 1, 0, Some(&CongestionKeyInfo::default())), None);
    receive_all(&mut emulator, Duration::from_secs(8));
    assert_eq!(seen(&mut emulator, 0), (0, true, 3));
    receive_all(&mut emulator, Duration::from_secs(2));
    assert_eq!(seen(&mut emulator, 0), (77, false, 3));
}

/// What vendstat prints: the device, and a version.
#[test]
fn mellanox_devices_tell_what_they_are() {
    let mut emulator = managed([0x101b, 0xd2f0, 0xd2f0, 0x101b], 0x2c9);
    let general = request(Class::MELLANOX, 1, Method::GET, VendorGeneralInfo::ID, 0);
    for (lid, device) in [(LID_S, 0xd2f0), (LID_B, 0x101b)] {
        let answer = ask(&mut emulator, lid, general).unwrap();
        assert_eq!(answer.status(), Status::OK);
        // hw_info follows a key of 8 bytes and a revision of 2 (infiniband-diags, vendstat.c).
        assert_eq!(answer.0[24 + 8 + 2..][..2], u16::to_be_bytes(device));
        let class = ask(&mut emulator, lid, request(Class::MELLANOX, 1, Method::GET, ClassPortInfo::ID, 0)).unwrap();
        assert_eq!((class.status(), class.0[32]), (Status::OK, 1));
        let counter_groups = request(Class::MELLANOX, 1, Method::GET, AttributeId(0x90), 1);
        assert_eq!(ask(&mut emulator, lid, counter_groups).unwrap().status(), Status::BAD_ATTRIBUTE);
    }
}

#[test]
fn classes_without_an_agent_are_refused() {
    let mut emulator = managed([0; 4], 0);
    for class in [Class::MELLANOX, Class(0x05), Class(0x32)] {
        let mad = request(class, 1, Method::GET, AttributeId(0x17), 0);
        assert_eq!(ask(&mut emulator, LID_S, mad).unwrap().status(), Status::BAD_VERSION, "{class:?}");
        assert_eq!(ask(&mut emulator, LID_B, mad).unwrap().status(), Status::BAD_ATTRIBUTE, "{class:?}");
        assert_eq!(ask(&mut emulator, LID_B, request(class, 1, Method(0x03), AttributeId(0x17), 0)), None);
    }
    // An adapter of before congestion control.
    let mut emulator = managed([0x6340, 0, 0, 0x6340], 0x2c9);
    assert_eq!(control::<CongestionInfo>(&mut emulator, LID_B, 0, 0, None), Some(Err(Status::BAD_ATTRIBUTE)));
}
