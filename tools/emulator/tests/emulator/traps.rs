//! What devices tell of their own accord: traps 129 to 131, 144, 145 (128 is among the events, 256 among the keys).

use crate::support::*;
use heddle_emulator::{Emulator, LinkTrouble};
use heddle_fabric::{Guid, NodeIndex};
use heddle_mad::transport::Envelope;
use heddle_mad::wire::*;
use std::collections::BTreeSet;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// The notices that reach the manager, and whose traps nobody represses.
fn notices(emulator: &mut Emulator) -> Vec<Notice> {
    let all = receive_all(emulator, SECOND / 2).into_iter().map(|envelope| envelope.mad);
    all.filter(|mad| mad.method() == Method::TRAP).map(|mad| mad.attribute()).collect()
}

fn up() -> Emulator {
    let mut emulator = emulator();
    bring_up(&mut emulator);
    emulator
}

/// IBA 14.2.5.1: the LID of the port that notices, which at a switch is port 0's, and the number of the port with the trouble.
#[test]
fn links_in_trouble_are_told() {
    for trouble in [LinkTrouble::Integrity, LinkTrouble::BufferOverrun, LinkTrouble::FlowControl] {
        for (node, port, lid, producer) in [(T, 7, LID_T, 2), (B, 1, LID_B, 1)] {
            let expected = match trouble {
                LinkTrouble::Integrity => TrapDetails::LocalLinkIntegrity { lid, port },
                LinkTrouble::BufferOverrun => TrapDetails::ExcessiveBufferOverrun { lid, port },
                LinkTrouble::FlowControl => TrapDetails::FlowControlUpdateWatchdog { lid, port },
            };
            let mut emulator = up();
            emulator.world_mut().trouble_link(at(node, port), trouble);
            let [notice] = notices(&mut emulator)[..] else { panic!("{trouble:?} is told once") };
            assert_eq!((notice.kind(), notice.details()), (Some(NoticeType::Urgent), Some(expected)));
            assert_eq!((notice.issuer_lid(), notice.producer_type()), (lid, producer));
        }
    }
}

/// A port that babbles is told at the distance of the subnet timeout (18: 1.07 s), not as often as it babbles (IBA 13.4.9).
#[test]
fn a_babbling_port_is_no_flood() {
    let mut emulator = up();
    for _ in 0..1000 {
        emulator.world_mut().trouble_link(at(T, 7), LinkTrouble::BufferOverrun);
    }
    assert_eq!(notices(&mut emulator).len(), 1);
    let later = receive_all(&mut emulator, SECOND * 3).len();
    assert!((2..=3).contains(&later), "{later}");
}

/// Both ports of a host are end ports of their own: neither silences the other.
#[test]
fn each_port_of_a_host_speaks_for_itself() {
    let mut emulator = up();
    const OTHER: u16 = 9;
    let answer = change_port(&mut emulator, TO_B, 2, |info| {
        info.set_lid(OTHER);
        info.set_master_sm_lid(LID_A);
    });
    assert_eq!(answer.status(), Status::OK);
    set_lft(&mut emulator, TO_S, &[(LID_A, 3), (LID_S, 0), (LID_T, 5), (LID_B, 5), (OTHER, 5)]);
    set_lft(&mut emulator, TO_T, &[(LID_A, 7), (LID_S, 7), (LID_T, 0), (LID_B, 2), (OTHER, 4)]);
    for port in [1, 2] {
        emulator.world_mut().announce(at(B, port), LocalChanges::NODE_DESCRIPTION);
    }
    let mut heard = receive_all(&mut emulator, SECOND * 3);
    let from = |heard: &[Envelope]| heard.iter().map(|envelope| envelope.mad.attribute::<Notice>().issuer_lid()).collect::<BTreeSet<_>>();
    assert_eq!(from(&heard), BTreeSet::from([LID_B, OTHER]), "both are repeated until they are repressed");
    heard.retain(|envelope| envelope.mad.attribute::<Notice>().issuer_lid() == OTHER);
    let mut repress = heard[0].mad;
    repress.set_method(Method::TRAP_REPRESS);
    send(&mut emulator, to(OTHER), repress);
    receive_all(&mut emulator, SECOND / 2);
    assert_eq!(from(&receive_all(&mut emulator, SECOND * 3)), BTreeSet::from([LID_B]));
}

#[test]
fn each_local_change_is_told() {
    for change in LocalChanges::all().iter() {
        let mut emulator = up();
        emulator.world_mut().announce(at(B, 1), change);
        let [notice] = notices(&mut emulator)[..] else { panic!("{change:?} is told once") };
        let info = *emulator.world().port_info(at(B, 1)).unwrap();
        let expected = TrapDetails::LocalChange {
            lid: LID_B,
            other_local_changes: true,
            capability_mask: info.capability_mask(),
            changes: change,
            capability_mask_2: if change == LocalChanges::CAPABILITY_MASK_2 { info.capability_mask_2() } else { 0 },
        };
        assert_eq!((notice.kind(), notice.details()), (Some(NoticeType::Informational), Some(expected)));
    }
}

#[test]
fn a_new_system_image_guid_is_told() {
    let mut emulator = up();
    emulator.world_mut().change_system_image_guid(B, Guid(0x1234));
    let [notice] = notices(&mut emulator)[..] else { panic!() };
    let expected = TrapDetails::SystemImageGuidChange { lid: LID_B, system_image_guid: 0x1234 };
    assert_eq!((notice.kind(), notice.details()), (Some(NoticeType::Informational), Some(expected)));
    let info: NodeInfo = get::<NodeInfo>(&mut emulator, TO_B, 0).unwrap().attribute();
    assert_eq!(info.system_image_guid(), 0x1234);
    emulator.world_mut().change_system_image_guid(NodeIndex(99), Guid(1));
}

/// The mask of ConnectX-3 does not have IsOtherLocalChangesNoticeSupported.
#[test]
fn what_the_mask_does_not_claim_is_not_told() {
    let mut emulator = Emulator::new(&fabric_of([0x1021, 0xd2f2, 0xc738, 0x1003], 0x2c9), at(A, 1)).unwrap();
    bring_up(&mut emulator);
    notices(&mut emulator);
    emulator.world_mut().announce(at(B, 1), LocalChanges::NODE_DESCRIPTION);
    assert_eq!(notices(&mut emulator), []);
    emulator.world_mut().announce(at(B, 1), LocalChanges::empty());
    assert_eq!(notices(&mut emulator).len(), 1);
}
