//! Many clients of one world: who gets what.

use crate::support::*;
use heddle_emulator::{ClientId, Delivered, EmulatorError, Event, Fault, Interest, Losses, Packet, Timing, World};
use heddle_fabric::PortRef;
use heddle_mad::wire::*;
use std::time::Duration;

const DIRECTED: u16 = 0xffff;
const SECOND: Duration = Duration::from_secs(1);

/// The fabric after [`bring_up`], without time.
fn world() -> World {
    let mut emulator = emulator();
    bring_up(&mut emulator);
    let mut world = World::new(&fabric());
    std::mem::swap(&mut world, emulator.world_mut());
    world.set_timing(Timing::Instant);
    world.detach(ClientId(1));
    world
}

fn client(world: &mut World, at: PortRef) -> ClientId {
    world.attach(at, Losses::Silent).unwrap()
}

fn told(world: &mut World, at: PortRef) -> ClientId {
    world.attach(at, Losses::Told).unwrap()
}

fn ask(transaction: u64) -> Mad {
    let mut mad = smp::<NodeInfo>(Method::GET, 0);
    mad.set_transaction(transaction);
    mad
}

/// A packet of general services.
fn general(dlid: u16, class: u8, version: u8, method: Method) -> Packet {
    let mad = Mad::request(Class(class), version, method, AttributeId(0x11), 0);
    Packet { src_qp: 1, dst_qp: 1, ..Packet::smp(dlid, mad) }
}

fn deliveries(world: &mut World) -> Vec<(ClientId, Delivered)> {
    std::iter::from_fn(|| world.poll_delivery()).collect()
}

/// What was delivered, if it is one packet.
fn received(world: &mut World, to: ClientId) -> Packet {
    match deliveries(world)[..] {
        [(client, Delivered::Received(packet))] if client == to => packet,
        ref other => panic!("not one packet for {to:?}: {other:?}"),
    }
}

/// A standby that hears nothing of a request to the master that died waits for ever under ibsim's library, which has no timeouts.
#[test]
fn who_asked_a_client_that_goes_without_an_answer_is_told() {
    let mut world = world();
    let (asking, server) = (told(&mut world, at(A, 1)), client(&mut world, at(B, 1)));
    world.set_interests(server, vec![Interest::all(3, 2)]);
    for transaction in [1, 2] {
        let mut question = general(LID_B, 3, 2, Method::GET);
        question.mad.set_transaction(transaction);
        world.send(asking, &question);
    }
    let requests = deliveries(&mut world);
    let [(_, Delivered::Received(first)), (_, Delivered::Received(_))] = requests[..] else { panic!("{requests:?}") };
    let mut answer = Packet { slid: first.dlid, dlid: first.slid, ..first };
    answer.mad.set_method(Method::GET_RESP);
    world.send(server, &answer);
    assert_eq!(received(&mut world, asking).mad.transaction() & 0xffff, 1);

    world.detach(server);
    match deliveries(&mut world)[..] {
        [(to, Delivered::Lost(request))] => assert_eq!((to, request.mad.transaction() & 0xffff), (asking, 2)),
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn clients_of_one_port_get_their_own_answers_in_the_order_of_sending() {
    let mut world = world();
    let (one, two) = (client(&mut world, at(A, 1)), client(&mut world, at(A, 1)));
    let began = world.now();
    for (transaction, who) in [(5, two), (6, one), (7, two)] {
        world.send(who, &Packet::smp(LID_B, ask(0xffff_0000_0000_0000 | transaction)));
    }
    let got = deliveries(&mut world).into_iter().map(|(to, delivered)| match delivered {
        Delivered::Received(packet) => (to, packet.mad.transaction(), packet.slid, packet.dlid),
        Delivered::Lost(_) => panic!("nothing is lost"),
    });
    let expected = [(two, 5), (one, 6), (two, 7)].map(|(to, low)| (to, u64::from(to.0) << 48 | low, LID_B, LID_A));
    assert_eq!(got.collect::<Vec<_>>(), expected);
    assert_eq!(world.now(), began);
}

#[test]
fn requests_of_smp_go_to_the_agent_but_sm_info_to_a_manager() {
    let mut world = world();
    let (manager, asker) = (client(&mut world, at(B, 1)), client(&mut world, at(A, 1)));
    let take_all = [Class::SUBN_LID, Class::SUBN_DIRECTED].map(|class| Interest { class: class.0, version: 1, methods: u128::MAX });
    world.set_interests(manager, take_all.to_vec());
    world.send(asker, &Packet::smp(LID_B, ask(1)));
    assert_eq!(received(&mut world, asker).mad.method(), Method::GET_RESP);

    // By directed route: A 1, S 5, T 2. The hop pointer is one beyond the hop count when the request has arrived (IBA 14.2.2.2).
    world.send(asker, &Packet::smp(DIRECTED, Mad::directed(&path(TO_B), Method::GET, SmInfo::ID, 0)));
    let mut request = received(&mut world, manager);
    let mad = &request.mad;
    assert_eq!((mad.hop_pointer(), mad.hop_count(), mad.is_returning()), (4, 3, false));
    assert_eq!((request.slid, request.dlid, mad.return_path()[1..=3].to_vec()), (DIRECTED, DIRECTED, vec![3, 7, 1]));
    // The answer as the kernel wants it: method and direction changed, all else as it came.
    request.mad.set_method(Method::GET_RESP);
    request.mad.set_returning(true);
    world.send(manager, &request);
    let answer = received(&mut world, asker);
    assert_eq!((answer.mad.hop_pointer(), answer.mad.method()), (0, Method::GET_RESP));
    assert_eq!(answer.mad.transaction() >> 48, u64::from(asker.0));

    // With a hop pointer of its own making it is lost.
    request.mad.set_hop_pointer(3);
    world.send(manager, &request);
    assert_eq!(deliveries(&mut world), []);

    // And without a manager the agent answers that it does not know SMInfo.
    world.detach(manager);
    world.send(asker, &Packet::smp(LID_B, smp::<SmInfo>(Method::GET, 0)));
    assert_eq!(received(&mut world, asker).mad.status(), Status::BAD_ATTRIBUTE);
}

#[test]
fn interests_are_by_class_version_and_method() {
    let mut world = world();
    let (server, asker) = (client(&mut world, at(B, 1)), client(&mut world, at(A, 1)));
    world.set_interests(server, vec![Interest { class: 0x32, version: 1, methods: 1 << 1 | 1 << 5 }]);
    for (class, version, method, takes) in [
        (0x32, 1, 0x01, true),
        (0x32, 1, 0x05, true),
        (0x32, 1, 0x02, false),
        (0x32, 2, 0x01, false),
        (0x33, 1, 0x01, false),
        (0x32, 1, 0x7f, false),
    ] {
        world.send(asker, &general(LID_B, class, version, Method(method)));
        let taken = deliveries(&mut world).iter().filter(|(to, _)| *to == server).count();
        assert_eq!(taken, usize::from(takes), "{class:#x} {version} {method:#x}");
    }
    // The answer finds its way by the transaction, whatever the class.
    world.send(asker, &general(LID_B, 0x32, 1, Method::GET));
    let request = received(&mut world, server);
    assert_eq!((request.slid, request.dlid, request.src_qp, request.dst_qp), (LID_A, LID_B, 1, 1));
    let mut answer = Packet { slid: 0, dlid: request.slid, ..request };
    answer.mad.set_method(Method::GET_RESP);
    world.send(server, &answer);
    assert_eq!(received(&mut world, asker).slid, LID_B);
    // Subnet management at the queue pair of general services, and the other way round, has nobody who takes it.
    for packet in [Packet { dst_qp: 1, ..Packet::smp(LID_B, ask(1)) }, Packet { dst_qp: 0, ..general(LID_B, 0x32, 1, Method::GET) }] {
        world.send(asker, &packet);
        assert_eq!(deliveries(&mut world), []);
    }
}

#[test]
fn each_port_of_a_host_has_its_own_clients() {
    let mut world = world();
    let (first, second, asker) = (client(&mut world, at(B, 1)), client(&mut world, at(B, 2)), client(&mut world, at(A, 1)));
    for who in [first, second] {
        world.set_interests(who, vec![Interest::all(Class::SUBN_DIRECTED.0, 1)]);
    }
    for (way, who) in [(&[1, 5, 2], first), (&[1, 5, 4], second)] {
        world.send(asker, &Packet::smp(DIRECTED, Mad::directed(&path(way), Method::GET, SmInfo::ID, 0)));
        let mut answer = received(&mut world, who);
        answer.mad.set_method(Method::GET_RESP);
        answer.mad.set_returning(true);
        // Nobody can answer for the other port.
        world.send(if who == first { second } else { first }, &answer);
        assert_eq!(deliveries(&mut world), []);
        world.send(who, &answer);
        received(&mut world, asker);
    }
    // The second port reaches the first one through T.
    world.send(second, &Packet::smp(DIRECTED, Mad::directed(&path(&[2, 2]), Method::GET, NodeInfo::ID, 0)));
    let info: NodeInfo = received(&mut world, second).mad.attribute();
    assert_eq!((info.node_guid(), info.port_guid(), info.local_port_num()), (0xb0, 0xb1, 1));
}

#[test]
fn who_wants_to_be_told_hears_of_each_loss_with_what_was_asked() {
    let mut world = world();
    let asker = told(&mut world, at(A, 1));
    let mut number = 0;
    let mut lost = |world: &mut World, dlid, mut mad: Mad| {
        number += 1;
        mad.set_transaction(u64::from(asker.0) << 48 | number);
        let slid = if dlid == DIRECTED { DIRECTED } else { LID_A };
        let packet = Packet { slid, ..Packet::smp(dlid, mad) };
        world.send(asker, &packet);
        match deliveries(world)[..] {
            [(to, Delivered::Lost(heard))] => to == asker && heard == packet,
            _ => false,
        }
    };
    let get = |ports: &[u8]| Mad::directed(&path(ports), Method::GET, NodeInfo::ID, 0);
    assert!(!lost(&mut world, LID_B, ask(0)), "an answer is no loss");
    assert!(lost(&mut world, 9, ask(0)), "no such LID");
    assert!(lost(&mut world, DIRECTED, get(&[1, 1])), "no cable");
    assert!(lost(&mut world, DIRECTED, smp::<NodeInfo>(Method::GET, 0)), "no route");
    for fault in [Fault::Mute, Fault::Drop { percent: 100, seed: 0 }] {
        world.apply(Event::Fault(T, fault));
        assert!(lost(&mut world, DIRECTED, get(TO_T)), "swallowed");
        world.apply(Event::Heal(T));
    }
    world.apply(Event::Fault(T, Fault::Late(SECOND)));
    assert!(!lost(&mut world, DIRECTED, get(TO_T)), "late is not lost");
    assert_eq!(deliveries(&mut world), []);
    world.handle_timeout(world.now() + SECOND);
    received(&mut world, asker);
    world.apply(Event::Heal(T));

    // S wants an M_Key of who writes, and says nothing to others (IBA 14.2.4).
    let mut info = *world.port_info(at(S, 0)).unwrap();
    info.set_m_key(7);
    info.set_port_state(0);
    let mut set = Mad::directed(&path(TO_S), Method::SET, PortInfo::ID, 0);
    set.set_attribute(&info);
    world.send(asker, &Packet::smp(DIRECTED, set));
    received(&mut world, asker);
    assert!(lost(&mut world, DIRECTED, set), "not admitted");

    // B's answer is lost: T has no entry for A.
    let mut block = [0xff; 64];
    block[usize::from(LID_B)] = 2;
    let mut set = Mad::directed(&path(TO_T), Method::SET, LinearForwardingTable::ID, 0);
    set.set_smp_data(&block);
    world.send(asker, &Packet::smp(DIRECTED, set));
    received(&mut world, asker);
    assert!(lost(&mut world, LID_B, ask(0)), "the answer is lost");

    // On its way when the cable breaks: what was under way arrives, but nobody is there any more.
    world.set_timing(Timing::Hardware { seed: 1 });
    world.send(asker, &Packet::smp(DIRECTED, get(TO_T)));
    world.remove_node(T);
    world.handle_timeout(world.now() + SECOND);
    assert!(matches!(deliveries(&mut world)[..], [(to, Delivered::Lost(_))] if to == asker));

    // Who did not ask for it hears nothing.
    let silent = client(&mut world, at(A, 1));
    world.send(silent, &Packet::smp(9, ask(1)));
    assert_eq!(deliveries(&mut world), []);
}

#[test]
fn what_a_client_left_behind_goes_with_it() {
    let mut world = world();
    let is_sm = |world: &World| world.port_info(at(A, 1)).unwrap().capabilities().contains(CapabilityMask::SM);
    let (one, two) = (client(&mut world, at(A, 1)), client(&mut world, at(A, 1)));
    world.set_is_sm(one, true);
    world.set_is_sm(two, true);
    deliveries(&mut world);
    world.detach(one);
    assert!(is_sm(&world), "the other is one too");
    world.send(two, &Packet::smp(LID_B, ask(1)));
    world.detach(two);
    assert!(!is_sm(&world));
    assert_eq!(deliveries(&mut world), []);
    // An answer that is under way when its client goes does not reach the next one.
    world.set_timing(Timing::Hardware { seed: 0 });
    let old = client(&mut world, at(A, 1));
    world.send(old, &Packet::smp(LID_B, ask(1)));
    world.detach(old);
    let new = client(&mut world, at(A, 1));
    assert_ne!(old, new);
    world.handle_timeout(world.now() + SECOND);
    assert_eq!(deliveries(&mut world), []);
    for method in [Method::GET, Method::TRAP] {
        world.send(old, &Packet::smp(LID_B, smp::<NodeInfo>(method, 0)));
    }
    assert_eq!(deliveries(&mut world), []);
}

#[test]
fn a_node_that_returns_has_its_clients_still() {
    let mut world = world();
    let is_sm = |world: &World| world.port_info(at(B, 1)).unwrap().capabilities().contains(CapabilityMask::SM);
    let manager = client(&mut world, at(B, 1));
    world.set_is_sm(manager, true);
    world.remove_node(B);
    world.send(manager, &Packet::smp(DIRECTED, Mad::directed(&path(&[]), Method::GET, NodeInfo::ID, 0)));
    assert_eq!(deliveries(&mut world), []);
    world.return_node(B);
    assert!(is_sm(&world), "the node forgot it, its clients did not");
    world.send(manager, &Packet::smp(DIRECTED, Mad::directed(&path(&[]), Method::GET, NodeInfo::ID, 0)));
    assert_eq!(received(&mut world, manager).mad.attribute::<NodeInfo>().node_guid(), 0xb0);
}

#[test]
fn there_are_65535_clients() {
    let mut world = World::new(&fabric());
    let ids: std::collections::BTreeSet<ClientId> = (0..65_535).map(|_| client(&mut world, at(B, 2))).collect();
    assert_eq!((ids.len(), ids.first(), ids.last()), (65_535, Some(&ClientId(1)), Some(&ClientId(65_535))));
    assert_eq!(world.attach(at(A, 1), Losses::Told), Err(EmulatorError::TooManyClients));
    world.detach(ClientId(77));
    assert_eq!(world.attach(at(A, 1), Losses::Told), Ok(ClientId(77)));
    assert_eq!((world.client_port(ClientId(77)), world.client_port(ClientId(0))), (Some(at(A, 1)), None));
}

/// 256 bytes and the headers LRH 8, BTH 12, DETH 8 and ICRC 4 are 288 bytes, 72 units of 4.
#[test]
fn ports_count_what_crosses_them() {
    let mut world = world();
    let asker = client(&mut world, at(A, 1));
    let ends = [at(A, 1), at(S, 3), at(S, 5), at(T, 7), at(T, 2), at(B, 1), at(S, 6)];
    let before = ends.map(|end| world.tally(end).unwrap().clone());
    world.send(asker, &Packet::smp(LID_B, ask(1)));
    world.send(asker, &Packet::smp(DIRECTED, Mad::directed(&path(TO_T), Method::GET, NodeInfo::ID, 0)));
    let counted = |world: &World, index: usize| {
        let (now, then) = (world.tally(ends[index]).unwrap(), &before[index]);
        let packets = (now.xmit_pkts - then.xmit_pkts, now.rcv_pkts - then.rcv_pkts);
        assert_eq!((now.xmit_data - then.xmit_data, now.rcv_data - then.rcv_data), (72 * packets.0, 72 * packets.1));
        packets
    };
    let all: Vec<_> = (0..ends.len()).map(|index| counted(&world, index)).collect();
    assert_eq!(all, [(2, 2), (2, 2), (2, 2), (2, 2), (1, 1), (1, 1), (0, 0)]);

    // What is lost counts where it is lost: at the exit whose link is down, at the entry that the table leads nowhere from.
    let errors = |world: &World, end| {
        let tally = world.tally(end).unwrap();
        (tally.xmit_discards, tally.rcv_switch_relay_errors, tally.rcv_errors)
    };
    world.send(asker, &Packet::smp(DIRECTED, Mad::directed(&path(&[1, 1]), Method::GET, NodeInfo::ID, 0)));
    assert_eq!(errors(&world, at(S, 1)), (1, 0, 0));
    world.send(asker, &Packet::smp(9, ask(1)));
    assert_eq!(errors(&world, at(S, 3)), (0, 1, 0));
    assert_eq!(world.deliver(at(A, 1), lid(LID_B)).unwrap().len(), 6);
    assert_eq!(counted(&world, 5), (1, 1), "a question about the way is no packet");
    world.remove_node(T);
    world.return_node(T);
    assert_eq!(world.tally(at(T, 7)).unwrap().rcv_pkts, 0);
}
