//! The data details of every trap, byte by byte.

use heddle_mad::wire::{Attribute, Gid, LocalChanges, NodeType, Notice, NoticeType, TrapDetails};

const LID: u16 = 0x1234;
const LID_2: u16 = 0x5678;
const PORT: u8 = 9;
const GUID: u64 = 0x0102_0304_0506_0708;

/// The bytes at some places of a Notice, whose data details begin at byte 10; all others are zero.
type Places = Vec<(usize, Vec<u8>)>;

fn gid(last: u8) -> Gid {
    Gid(u128::from_be_bytes(gid_bytes(last).try_into().unwrap()))
}

fn gid_bytes(last: u8) -> Vec<u8> {
    vec![0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 2, 0xc9, 3, 0, 1, 2, last]
}

fn return_path() -> [u8; 30] {
    std::array::from_fn(|hop| hop as u8 + 1)
}

/// Places from the structures in OpenSM's ib_types.h (`ib_mad_notice_attr_t`), counted by hand.
fn cases() -> Vec<(TrapDetails, Places)> {
    let some_gid: Places = vec![(16, gid_bytes(7))];
    let lid_and_port: Places = vec![(12, vec![0x12, 0x34]), (14, vec![9])];
    let bad_key: Places = vec![
        (12, vec![0x12, 0x34]),
        (14, vec![0x56, 0x78]),
        (16, vec![1, 2, 3, 4]),
        (20, vec![0x90, 0x0a, 0x0b, 0x0c]),
        (24, vec![0, 0x0d, 0x0e, 0x0f]),
        (28, gid_bytes(1)),
        (44, gid_bytes(2)),
    ];
    vec![
        (TrapDetails::GidInService { gid: gid(7) }, some_gid.clone()),
        (TrapDetails::GidOutOfService { gid: gid(7) }, some_gid.clone()),
        (TrapDetails::MulticastGroupCreated { gid: gid(7) }, some_gid.clone()),
        (TrapDetails::MulticastGroupDeleted { gid: gid(7) }, some_gid),
        (TrapDetails::LinkStateChange { lid: LID }, vec![(10, vec![0x12, 0x34])]),
        (TrapDetails::LocalLinkIntegrity { lid: LID, port: PORT }, lid_and_port.clone()),
        (TrapDetails::ExcessiveBufferOverrun { lid: LID, port: PORT }, lid_and_port.clone()),
        (TrapDetails::FlowControlUpdateWatchdog { lid: LID, port: PORT }, lid_and_port),
        (
            TrapDetails::LocalChange {
                lid: LID,
                other_local_changes: true,
                capability_mask: 0x0251_0a6a,
                changes: LocalChanges::NODE_DESCRIPTION | LocalChanges::CAPABILITY_MASK_2,
                capability_mask_2: 0x0421,
            },
            vec![(12, vec![0x12, 0x34]), (15, vec![1]), (16, vec![0x02, 0x51, 0x0a, 0x6a]), (20, vec![0, 0x21]), (22, vec![0x04, 0x21])],
        ),
        (
            TrapDetails::SystemImageGuidChange { lid: LID, system_image_guid: GUID },
            vec![(12, vec![0x12, 0x34]), (16, vec![1, 2, 3, 4, 5, 6, 7, 8])],
        ),
        (
            TrapDetails::BadMKey {
                lid: LID,
                dr_slid: 0xfffe,
                method: 2,
                attribute_id: 0x15,
                modifier: 3,
                m_key: GUID,
                dr_notice: true,
                dr_path_truncated: false,
                dr_hop_count: 30,
                dr_return_path: return_path(),
            },
            vec![
                (12, vec![0x12, 0x34]),
                (14, vec![0xff, 0xfe]),
                (16, vec![2]),
                (18, vec![0, 0x15]),
                (20, vec![0, 0, 0, 3]),
                (24, vec![1, 2, 3, 4, 5, 6, 7, 8]),
                (33, vec![0x80 | 30]),
                (34, return_path().to_vec()),
            ],
        ),
        (
            TrapDetails::BadPKey {
                lid_1: LID,
                lid_2: LID_2,
                key: 0x0102_0304,
                sl: 9,
                qp_1: 0x0a_0b0c,
                qp_2: 0x0d_0e0f,
                gid_1: gid(1),
                gid_2: gid(2),
            },
            bad_key.clone(),
        ),
        (
            TrapDetails::BadQKey {
                lid_1: LID,
                lid_2: LID_2,
                key: 0x0102_0304,
                sl: 9,
                qp_1: 0x0a_0b0c,
                qp_2: 0x0d_0e0f,
                gid_1: gid(1),
                gid_2: gid(2),
            },
            bad_key,
        ),
        (
            TrapDetails::BadPKeyAtSwitch {
                data_valid: 0x01ff,
                lid_1: LID,
                lid_2: LID_2,
                p_key: 0x8001,
                sl: 9,
                qp_1: 0x0a_0b0c,
                qp_2: 0x0d_0e0f,
                gid_1: gid(1),
                gid_2: gid(2),
                switch_lid: 0x9abc,
                port: PORT,
            },
            vec![
                (10, vec![0x01, 0xff]),
                (12, vec![0x12, 0x34]),
                (14, vec![0x56, 0x78]),
                (16, vec![0x80, 0x01]),
                (18, vec![0x90, 0x0a, 0x0b, 0x0c]),
                (22, vec![0, 0x0d, 0x0e, 0x0f]),
                (26, gid_bytes(1)),
                (42, gid_bytes(2)),
                (58, vec![0x9a, 0xbc]),
                (60, vec![9]),
            ],
        ),
    ]
}

#[test]
fn details_are_written_and_read() {
    let cases = cases();
    assert_eq!(cases.iter().map(|(details, _)| details.number()).collect::<Vec<_>>(), TrapDetails::NUMBERS);
    for (details, places) in cases {
        let mut expected = [0; 64];
        // Generic and urgent, produced by a switch, from LID 5.
        expected[0] = 0x81;
        expected[3] = 2;
        expected[4..6].copy_from_slice(&details.number().to_be_bytes());
        expected[7] = 5;
        for (place, bytes) in places {
            expected[place..place + bytes.len()].copy_from_slice(&bytes);
        }
        let notice = Notice::generic(NoticeType::Urgent, NodeType::Switch, 5, &details);
        assert_eq!(notice.bytes(), &expected, "{details:?}");
        assert_eq!(Notice::from_bytes(expected).details(), Some(details));
    }
}

/// Bits beside the details, set by whoever, do not leak into them.
#[test]
fn details_are_read_from_prefilled_bytes() {
    for (details, _) in cases() {
        let mut notice = Notice::from_bytes([0xa5; 64]);
        notice.set_is_generic(true);
        notice.set_trap_number(details.number());
        let read = notice.details().unwrap();
        let again = Notice::generic(NoticeType::Urgent, NodeType::Switch, 5, &read);
        assert_eq!(again.details(), Some(read));
        for field in TrapDetails::fields(details.number()).unwrap() {
            assert_eq!(field.read(again.bytes()), field.read(&[0xa5; 64]), "{field:?}");
        }
    }
}

#[test]
fn what_is_unknown_has_no_details() {
    let mut vendor = Notice::default();
    vendor.set_trap_number(128);
    assert_eq!(vendor.details(), None, "a vendor's notice 128 is not trap 128");
    let mut unknown = vendor;
    unknown.set_is_generic(true);
    unknown.set_trap_number(1000);
    assert_eq!(unknown.details(), None);
    unknown.set_notice_type(0x55);
    assert_eq!(unknown.kind(), None);
}
