use crate::support::*;
use heddle_mad::transport::ibsim::protocol::{self, Control, Datagram, Kind};
use heddle_mad::transport::{Address, Delivery, Envelope, Ibsim, Transport};
use heddle_mad::wire::*;
use std::os::unix::net::UnixDatagram;

#[test]
fn sixty_four_clients_are_served_at_once() {
    let server = Running::start();
    let mut clients: Vec<Ibsim> = (0..64).map(|index| server.client(&format!("host-{}-{}", index % 8, index % 4))).collect();
    for round in 0..20 {
        for (index, client) in (0..).zip(&mut clients) {
            ask(client, node_info(round * 64 + index));
        }
        for (index, client) in (0..).zip(&mut clients) {
            assert_eq!(answer(client).0, round * 64 + index, "client {index} gets its own answers");
        }
    }
    assert_eq!(server.told(), "");
}

/// ibsim stops for ever when 512 are under way.
#[test]
fn two_thousand_requests_are_under_way() {
    let server = Running::start();
    let client = Raw::connect(&server.name, "host-0-0", false).unwrap();
    for transaction in 0..2000 {
        client.send(node_info(transaction));
    }
    for transaction in 0..2000 {
        let answer = client.receive().unwrap();
        assert_eq!((answer.status, answer.mad.transaction() as u32), (0, transaction));
        assert_eq!(answer.mad.transaction() >> 48, u64::from(client.slot), "the upper bits name the client");
    }
}

/// As one that is stopped by a signal, or by a debugger.
#[test]
fn a_client_that_never_reads_disturbs_nobody() {
    let server = Running::start();
    let deaf = Raw::connect(&server.name, "host-0-0", false).unwrap();
    let mut other = server.client("host-0-1");
    for transaction in 0..20_000 {
        deaf.send(node_info(transaction));
        if transaction % 5000 == 0 {
            assert_served(&mut other);
        }
    }
    server.wait_until_told("leaves 16384 datagrams unread");
    assert_served(&mut other);

    // What it is owed comes as it begins to read: the oldest, in their order.
    for transaction in 0..16_384 {
        assert_eq!(deaf.receive().unwrap().mad.transaction() as u32, transaction);
    }
}

#[test]
fn a_client_that_dies_takes_its_is_sm_with_it() {
    let server = Running::start();
    let mut watcher = server.client("host-0-0");
    let is_sm = |watcher: &mut Ibsim| {
        ask(watcher, Mad::directed(&Path::local(), Method::GET, PortInfo::ID, 1));
        answer(watcher).1.attribute::<PortInfo>().capabilities().contains(CapabilityMask::SM)
    };
    for is_sm_from_the_start in [false, true] {
        let dying = Raw::connect(&server.name, "host-0-0", is_sm_from_the_start).unwrap();
        if !is_sm_from_the_start {
            assert!(!is_sm(&mut watcher));
            assert_eq!(dying.control(Kind::SET_IS_SM, &1u32.to_ne_bytes()).kind, Kind::SET_IS_SM);
        }
        assert!(is_sm(&mut watcher));
        // Its sockets close, as those of a killed program do; it says nothing.
        drop(dying);
        wait_until(|| "IsSM is taken back".into(), || !is_sm(&mut watcher));
    }
    server.wait_until_told("is gone: it died");

    // One that says that it goes is not missed.
    let leaving = Raw::connect(&server.name, "host-0-0", true).unwrap();
    assert_eq!(leaving.control(Kind::DISCONNECT, &[]).kind, Kind::DISCONNECT);
    assert!(!is_sm(&mut watcher));
}

#[test]
fn garbage_is_refused_and_told_once() {
    let server = Running::start();
    let mut other = server.client("host-0-1");
    let vandal = Raw::connect(&server.name, "host-0-0", false).unwrap();
    for size in [0, 1, 79, 81, 1000] {
        vandal.control.send(&vec![0xa5; size]).unwrap();
        let mut bytes = [0; 200];
        let read = vandal.control.recv(&mut bytes).unwrap();
        assert_eq!(Control::from_bytes(&bytes[..read]).unwrap().kind, Kind::ERROR, "{size} bytes");
    }
    assert_eq!(vandal.control(Kind(77), &[]).kind, Kind::ERROR);
    for size in [0, 1, 287, 289, 4000] {
        vandal.data.send(&vec![0xa5; size]).unwrap();
    }
    // The right size, and no sense in it: an echo at most.
    vandal.data.send(&[0xa5; Datagram::SIZE]).unwrap();
    vandal.send(node_info(9));
    let answer = std::iter::from_fn(|| Some(vandal.receive().unwrap())).find(|datagram| datagram.status == 0).unwrap();
    assert_eq!(answer.mad.transaction() as u32, 9);
    assert_served(&mut other);

    assert_eq!(server.told().matches("control messages").count(), 1, "{}", server.told());
    assert_eq!(server.told().matches("datagrams of 0 bytes instead of 288").count(), 1, "{}", server.told());
    assert_eq!(vandal.control(Kind::DISCONNECT, &[]).kind, Kind::DISCONNECT);
    server.wait_until_told("it sent 5 datagrams that are none");
}

/// Nobody else's number can be used, and a socket without a name harms nobody.
#[test]
fn control_messages_are_for_the_client_itself() {
    let server = Running::start();
    let mut victim = server.client("host-0-1");
    let vandal = Raw::connect(&server.name, "host-0-0", false).unwrap();
    for client in 0..100 {
        if client != vandal.slot {
            let other = Raw { slot: client, control: vandal.control.try_clone().unwrap(), data: vandal.data.try_clone().unwrap() };
            assert_eq!(other.control(Kind::DISCONNECT, &[]).kind, Kind::ERROR);
        }
    }
    let nameless = UnixDatagram::unbound().unwrap();
    nameless.send_to_addr(&[0; 80], &protocol::address(&server.name, "ctl").unwrap()).unwrap();
    assert_served(&mut victim);
}

#[test]
fn what_gets_lost_comes_back_as_ibsim_does_it() {
    let server = Running::start();
    let mut client = server.client("host-0-0");
    // Nobody has LIDs yet.
    let mad = Mad::request(Class::SUBN_LID, 1, Method::GET, NodeInfo::ID, 0);
    client.send(&Envelope { address: Address::Lid { lid: 5, qp: 0 }, mad }).unwrap();
    let deadline = client.now() + PATIENCE;
    match client.receive(Some(deadline)).unwrap() {
        Some(Delivery::Undeliverable(echo)) => assert_eq!(echo.address, Address::Lid { lid: 5, qp: 0 }),
        other => panic!("{other:?}"),
    }
}

/// NodeInfo's NodeGUID is at byte 12, PortInfo's LocalPortNum at byte 28 (IBA 14.2.5.3, 14.2.5.6).
#[test]
fn a_client_learns_of_its_own_port() {
    let server = Running::start();
    let client = Raw::connect(&server.name, "host-0-3", false).unwrap();
    let fabric = heddle_fabric::generate("clos2:8").unwrap().build();
    let node = fabric.nodes().iter().find(|node| node.description == "host-0-3").unwrap();

    let info = client.control(Kind::GET_NODE_INFO, &[0; 64]).data;
    assert_eq!((info[2], &info[12..20]), (1, &node.guid.0.to_be_bytes()[..]));
    assert_eq!(client.control(Kind::GET_PORT_INFO, &[0; 64]).data[28], 1);
    assert_eq!(client.control(Kind::GET_P_KEYS, &[0; 64]).data[..4], [0xff, 0xff, 0, 0]);
    let vendor = client.control(Kind::GET_VENDOR, &[0; 24]).data;
    assert_eq!(vendor[..4], node.vendor_id.to_ne_bytes());
    let port = client.control(Kind::GET_PORT, &[0; 4]).data;
    // No LID, INIT.
    assert_eq!(port[..3], [0, 0, 2]);
}
