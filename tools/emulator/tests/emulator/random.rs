//! No bytes, and no order of events, make the emulator panic or hang.

use crate::support::*;
use heddle_emulator::{CableFault, ClientId, Delivered, Event, Fault, Interest, Losses, Packet, Place, Timing, World};
use heddle_fabric::{LinkSpeed, LinkWidth, NodeIndex};
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

fn cable_fault() -> impl Strategy<Value = CableFault> {
    prop_oneof![
        prop::sample::select(LinkWidth::ALL.to_vec()).prop_map(CableFault::Width),
        prop::sample::select(LinkSpeed::ALL.to_vec()).prop_map(CableFault::Speed),
        (0u8..101).prop_map(CableFault::Loss),
        (0u8..101).prop_map(CableFault::Corrupt),
        (0u64..10_000_000).prop_map(|time| CableFault::Delay(Duration::from_nanos(time))),
        (0u8..101).prop_map(CableFault::Reorder),
        (0u8..101).prop_map(CableFault::Repeat),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let node = || (0u32..5).prop_map(NodeIndex);
    let port = || (node(), 0u8..10).prop_map(|(node, port)| at(node, port));
    prop_oneof![
        port().prop_map(|at| Event::Cut(at.into())),
        port().prop_map(|at| Event::Restore(at.into())),
        (port(), cable_fault()).prop_map(|(at, fault)| Event::Cable(at.into(), fault)),
        cable_fault().prop_map(|fault| Event::Cable(Place::Everywhere, fault)),
        Just(Event::Restore(Place::Everywhere)),
        (port(), port()).prop_map(|(from, to)| Event::Move { from, to }),
        (port(), port()).prop_map(|(one, other)| Event::Swap(one, other)),
        prop::collection::vec(node(), 0..4).prop_map(Event::Split),
        prop::collection::vec(node(), 0..4).prop_map(Event::Merge),
        (node(), 0u64..2_000_000_000).prop_map(|(node, off)| Event::Reboot(node, Duration::from_nanos(off))),
        (node(), 0u64..3, 0u8..4).prop_map(|(node, key, protect)| Event::MKey { node, key, protect }),
        (port(), 0u16..40, any::<u16>()).prop_map(|(at, index, p_key)| Event::PKey { at, index, p_key }),
        (node(), 0u64..10_000_000).prop_map(|(node, time)| Event::Fault(node, Fault::Late(Duration::from_nanos(time)))),
        (node(), 0u64..10_000_000).prop_map(|(node, time)| Event::Fault(node, Fault::Slow(Duration::from_nanos(time)))),
        (node(), 0u8..101, any::<u64>()).prop_map(|(node, percent, seed)| Event::Fault(node, Fault::Drop { percent, seed })),
        node().prop_map(Event::RemoveNode),
        node().prop_map(Event::ReturnNode),
        node().prop_map(|node| Event::Fault(node, Fault::Mute)),
        (node(), any::<u64>()).prop_map(|(node, seed)| Event::Fault(node, Fault::Garbage { seed })),
        node().prop_map(|node| Event::Fault(node, Fault::Duplicate)),
        node().prop_map(Event::Heal),
        node().prop_map(|node| Event::Rename(node, "é".repeat(40))),
    ]
}

/// What clients do at once or later.
#[derive(Clone, Debug)]
enum Deed {
    Send(usize, Box<Packet>),
    Happen(Event),
    Pass(u64),
}

fn deed() -> impl Strategy<Value = Deed> {
    let mixed = (likely(), 0u16..6, 0u16..6, any::<bool>(), any::<bool>()).prop_map(|(mut mad, first, last, by_first, by_last)| {
        if by_first {
            mad.set_dr_slid(first);
        }
        if by_last {
            mad.0[34..36].copy_from_slice(&last.to_be_bytes());
        }
        mad
    });
    let mad = prop_oneof![likely(), mixed, bytes().prop_map(Mad)];
    let lid = prop_oneof![Just(0xffff), 0u16..6, any::<u16>()];
    let packet = (mad, lid, any::<u16>(), 0u32..3, 0u32..3).prop_map(|(mad, dlid, slid, src_qp, dst_qp)| {
        let dst_qp = if matches!(mad.class(), Class::SUBN_LID | Class::SUBN_DIRECTED) && dst_qp < 2 { 0 } else { dst_qp };
        Box::new(Packet { slid, src_qp, dst_qp, ..Packet::smp(dlid, mad) })
    });
    prop_oneof![
        8 => (0usize..6, packet).prop_map(|(who, packet)| Deed::Send(who, packet)),
        1 => event().prop_map(Deed::Happen),
        1 => (0u64..100_000_000).prop_map(Deed::Pass),
    ]
}

/// The fabric after [`bring_up`], and clients at all its end ports, two of them at one.
fn crowd(timing: Timing, losses: Losses) -> (World, Vec<ClientId>) {
    let mut emulator = emulator();
    bring_up(&mut emulator);
    let mut world = World::new(&fabric());
    std::mem::swap(&mut world, emulator.world_mut());
    world.detach(ClientId(1));
    world.set_timing(timing);
    let ends = [at(A, 1), at(A, 2), at(S, 0), at(T, 0), at(B, 1), at(B, 1)];
    let clients = ends.map(|end| world.attach(end, losses).unwrap());
    (world, clients.to_vec())
}

fn do_all(world: &mut World, clients: &[ClientId], deeds: &[Deed], mut each: impl FnMut(&mut World)) {
    for deed in deeds {
        match deed {
            Deed::Send(who, packet) => world.send(clients[*who], packet),
            Deed::Happen(event) => world.apply(event.clone()),
            Deed::Pass(nanoseconds) => world.handle_timeout(Time(world.now().0 + nanoseconds)),
        }
        each(world);
    }
    // Traps go on for a while; then all is at rest.
    while let Some(next) = world.poll_timeout() {
        world.handle_timeout(next);
        each(world);
    }
}

fn timing() -> impl Strategy<Value = Timing> {
    prop_oneof![Just(Timing::Instant), any::<u64>().prop_map(|seed| Timing::Hardware { seed })]
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
    fn the_same_deeds_of_many_clients_have_the_same_outcome(timing in timing(), deeds in prop::collection::vec(deed(), 1..60)) {
        let run = || {
            let (mut world, clients) = crowd(timing, Losses::Told);
            for &client in &clients[..3] {
                let classes = [Class::SUBN_LID, Class::SUBN_DIRECTED, Class::SUBN_ADM];
                world.set_interests(client, classes.map(|class| Interest::all(class.0, 1)).to_vec());
            }
            let mut heard = Vec::new();
            do_all(&mut world, &clients, &deeds, |world| heard.extend(std::iter::from_fn(|| world.poll_delivery())));
            (heard, world.now(), world.counters().clone())
        };
        prop_assert_eq!(run(), run());
        // Who did not ask for it is not told.
        let (mut world, clients) = crowd(timing, Losses::Silent);
        do_all(&mut world, &clients, &deeds, |_| {});
        prop_assert!(std::iter::from_fn(|| world.poll_delivery()).all(|(_, delivered)| matches!(delivered, Delivered::Received(_))));
    }

    /// A client that is told of losses hears of each request: an answer, perhaps several times, or that there is none.
    #[test]
    fn who_wants_to_be_told_hears_of_every_request(timing in timing(), deeds in prop::collection::vec(deed(), 1..60)) {
        let (mut world, clients) = crowd(timing, Losses::Told);
        let mut number = 0;
        let mut asked = Vec::new();
        let mut deeds = deeds;
        for deed in &mut deeds {
            let Deed::Send(who, packet) = deed else { continue };
            let mad = &mut packet.mad;
            let is_request = !mad.method().is_response() && mad.method() != Method::TRAP_REPRESS;
            // Answers of nobody's asking would pass for answers to these.
            number += 1;
            mad.set_transaction(number);
            if is_request {
                asked.push((clients[*who], number));
            }
        }
        let mut heard = std::collections::BTreeMap::new();
        do_all(&mut world, &clients, &deeds, |world| {
            for (client, delivered) in std::iter::from_fn(|| world.poll_delivery()) {
                let (Delivered::Received(packet) | Delivered::Lost(packet)) = &delivered;
                assert_eq!(packet.mad.transaction() >> 48, u64::from(client.0));
                let answers: &mut (u32, u32) = heard.entry((client, packet.mad.transaction() & 0xffff_ffff_ffff)).or_default();
                match delivered {
                    Delivered::Received(_) => answers.0 += 1,
                    Delivered::Lost(_) => answers.1 += 1,
                }
            }
        });
        for who in &asked {
            let answers = heard.get(who).copied();
            prop_assert!(matches!(answers, Some((1.., 0) | (_, 1))), "{:?}: {:?}", who, answers);
        }
        prop_assert_eq!(heard.len(), asked.len());
    }
}
