//! No bytes, and no order of events, make the emulator panic or hang.

use crate::support::*;
use heddle_emulator::{Event, Fault, parse_script};
use heddle_fabric::NodeIndex;
use heddle_mad::Time;
use heddle_mad::transport::{Address, Envelope, Transport};
use heddle_mad::wire::{AttributeId, Class, Mad, Method};
use proptest::prelude::*;
use std::time::Duration;

fn bytes() -> impl Strategy<Value = [u8; 256]> {
    prop::collection::vec(any::<u8>(), 256).prop_map(|bytes| bytes.try_into().unwrap())
}

fn address() -> impl Strategy<Value = Address> {
    prop_oneof![
        Just(Address::Directed),
        (0u16..8, 0u32..3).prop_map(|(lid, qp)| Address::Lid { lid, qp }),
        (any::<u16>(), any::<u32>()).prop_map(|(lid, qp)| Address::Lid { lid, qp }),
    ]
}

/// Random data under a header that leads somewhere.
fn likely() -> impl Strategy<Value = Mad> {
    let ways = prop::sample::select(vec![&[][..], TO_S, TO_T, TO_B]);
    let attributes = prop::sample::select(vec![0x02, 0x10, 0x11, 0x12, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1b, 0x20, 0xff90]);
    let modifiers = prop_oneof![0u32..10, (0u32..10).prop_map(|port| port << 16), any::<u32>()];
    (bytes(), ways, attributes, any::<bool>(), modifiers, prop::bool::weighted(0.8)).prop_map(
        |(bytes, way, attribute, set, modifier, directed)| {
            let method = if set { Method::SET } else { Method::GET };
            let mut mad = if directed {
                Mad::directed(&path(way), method, AttributeId(attribute), modifier)
            } else {
                Mad::request(Class::SUBN_LID, 1, method, AttributeId(attribute), modifier)
            };
            mad.0[64..128].copy_from_slice(&bytes[64..128]);
            mad
        },
    )
}

fn event() -> impl Strategy<Value = Event> {
    let node = || (0u32..5).prop_map(NodeIndex);
    let port = || (node(), 0u8..10).prop_map(|(node, port)| at(node, port));
    prop_oneof![
        port().prop_map(Event::Cut),
        port().prop_map(Event::Restore),
        node().prop_map(Event::RemoveNode),
        node().prop_map(Event::ReturnNode),
        node().prop_map(|node| Event::Fault(node, Fault::Mute)),
        (node(), any::<u64>()).prop_map(|(node, seed)| Event::Fault(node, Fault::Garbage { seed })),
        node().prop_map(|node| Event::Fault(node, Fault::Duplicate)),
        node().prop_map(Event::Heal),
        node().prop_map(|node| Event::Rename(node, "é".repeat(40))),
    ]
}

proptest! {
    #[test]
    fn any_bytes_are_survived(mads in prop::collection::vec((address(), bytes()), 1..20), is_up: bool) {
        let mut emulator = emulator();
        if is_up {
            bring_up(&mut emulator);
        }
        for (address, bytes) in mads {
            emulator.send(&Envelope { address, mad: Mad(bytes) }).unwrap();
        }
        receive_all(&mut emulator, Duration::from_secs(100));
    }

    #[test]
    fn any_events_are_survived_and_have_the_same_outcome_again(
        steps in prop::collection::vec((event(), likely(), address(), 0u64..3_000_000_000), 1..40),
    ) {
        let run = || {
            let mut emulator = emulator();
            bring_up(&mut emulator);
            let mut heard = Vec::new();
            for (event, mad, address, time) in steps.clone() {
                emulator.world_mut().schedule(Time(time), event);
                emulator.send(&Envelope { address, mad }).unwrap();
                emulator.send(&Envelope { address: Address::Directed, mad }).unwrap();
                heard.extend(receive_all(&mut emulator, Duration::from_millis(100)));
            }
            heard.extend(receive_all(&mut emulator, Duration::from_secs(300)));
            prop_assert!(emulator.receive(None).is_err(), "at rest in the end");
            Ok((heard, emulator.world().counters().clone()))
        };
        prop_assert_eq!(run()?, run()?);
    }

    #[test]
    fn any_script_is_survived(text in "([0-9a-z.:;#\" \n]|2s|cut|late|\\PC){0,40}") {
        let fabric = fabric();
        if let Err(error) = parse_script(&text, &fabric) {
            prop_assert!(error.line >= 1 && error.column >= 1);
        }
    }
}
