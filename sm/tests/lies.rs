//! Faults that the emulator cannot have: between it and the subnet manager, answers are changed on their way.

use heddle_emulator::Emulator;
use heddle_fabric::{Fabric, NodeIndex, NodeKind, PortRef, generate};
use heddle_mad::Time;
use heddle_mad::transport::{Delivery, Envelope, Transport, TransportError};
use heddle_mad::wire::{
    Attribute, CapabilityMask, LinearForwardingTable, Mad, Method, NodeInfo, PortInfo, PortState, SmInfo, SmState, Status,
};
use heddle_sm::{Config, Event, Problem, SubnetManager, Why, drive};

/// Changes answers on their way.
struct Lying<F> {
    emulator: Emulator,
    lie: F,
}

impl<F: FnMut(&mut Mad)> Transport for Lying<F> {
    fn now(&self) -> Time {
        self.emulator.now()
    }

    fn send(&mut self, envelope: &Envelope) -> Result<(), TransportError> {
        self.emulator.send(envelope)
    }

    fn receive(&mut self, deadline: Option<Time>) -> Result<Option<Delivery>, TransportError> {
        let mut delivery = self.emulator.receive(deadline)?;
        if let Some(Delivery::Received(envelope)) = &mut delivery {
            (self.lie)(&mut envelope.mad);
        }
        Ok(delivery)
    }

    fn set_is_sm(&mut self, is_sm: bool) -> Result<(), TransportError> {
        self.emulator.set_is_sm(is_sm)
    }
}

fn fabric() -> Fabric {
    generate("clos2:8").unwrap().build()
}

fn node(fabric: &Fabric, name: &str) -> NodeIndex {
    NodeIndex(fabric.nodes().iter().position(|node| node.description == name).unwrap() as u32)
}

/// Runs a subnet manager under a lie until `until` holds for an event, at most a thousand events.
fn run(fabric: &Fabric, lie: impl FnMut(&mut Mad), mut until: impl FnMut(&Event) -> bool) -> Vec<Event> {
    let host = fabric.nodes().iter().position(|node| node.kind == NodeKind::Ca).unwrap();
    let emulator = Emulator::new(fabric, PortRef::new(NodeIndex(host as u32), 1)).unwrap();
    let mut transport = Lying { emulator, lie };
    let mut sm = SubnetManager::new(Config::default(), transport.now());
    let mut events = Vec::new();
    drive(&mut sm, &mut transport, |event| {
        events.push(event.clone());
        !until(event) && events.len() < 1000
    })
    .unwrap();
    assert!(events.len() < 1000, "no end: {:?}", &events[990..]);
    events
}

fn up(event: &Event) -> bool {
    matches!(event, Event::Up { .. })
}

fn answers<A: Attribute>(mad: &Mad) -> Option<A> {
    (mad.method() == Method::GET_RESP && mad.attribute_id() == A::ID && mad.status() == Status::OK).then(|| mad.attribute())
}

#[test]
fn of_two_nodes_with_one_guid_the_second_is_left_out() {
    let fabric = fabric();
    let (one, other) = (fabric.node(node(&fabric, "host-1-0")).guid.0, fabric.node(node(&fabric, "host-6-3")).guid.0);
    let lie = |mad: &mut Mad| {
        if let Some(mut info) = answers::<NodeInfo>(mad).filter(|info| info.node_guid() == other) {
            info.set_node_guid(one);
            mad.set_attribute(&info);
        }
    };
    let events = run(&fabric, lie, up);
    let found = events.iter().rev().find_map(|event| if let Event::Found(found) = event { Some(found) } else { None }).unwrap();
    assert_eq!(found.fabric.nodes().len(), fabric.nodes().len() - 1);
    let [finding] = &found.findings[..] else { panic!("{:?}", found.findings) };
    assert_eq!(finding.place.guid.0, one);
    assert!(matches!(&finding.problem, Problem::DuplicateGuid(first) if first.contains("host-1-0") || first.contains("host-6-3")));
}

#[test]
fn a_port_wired_to_itself_is_left_out() {
    let fabric = fabric();
    let leaf = fabric.node(node(&fabric, "leaf-2")).clone();
    let host = fabric.node(node(&fabric, "host-2-1")).guid.0;
    // What is behind the leaf's second port answers as that very port would.
    let lie = |mad: &mut Mad| {
        if let Some(mut info) = answers::<NodeInfo>(mad).filter(|info| info.node_guid() == host) {
            info.set_node_type(2);
            info.set_num_ports(leaf.num_ports);
            info.set_node_guid(leaf.guid.0);
            info.set_local_port_num(2);
            mad.set_attribute(&info);
        }
    };
    let events = run(&fabric, lie, up);
    let findings: Vec<_> =
        events.iter().filter_map(|event| if let Event::Found(found) = event { Some(&found.findings) } else { None }).collect();
    let [finding] = &findings[0][..] else { panic!("{findings:?}") };
    assert_eq!((&finding.problem, finding.place.port, finding.place.guid), (&Problem::SelfLink, Some(2), leaf.guid));
}

#[test]
fn nothing_is_written_beside_another_master() {
    let fabric = fabric();
    let mut sets = 0;
    let lie = |mad: &mut Mad| {
        if let Some(mut info) = answers::<PortInfo>(mad) {
            info.set_capability_mask(info.capability_mask() | CapabilityMask::SM.bits());
            mad.set_attribute(&info);
        }
        if mad.method() == Method::GET_RESP && mad.attribute_id() == SmInfo::ID {
            let mut info = SmInfo::default();
            info.set_priority(7);
            info.set_state(SmState::Master);
            mad.set_status(Status::OK);
            mad.set_attribute(&info);
        }
    };
    let events = run(&fabric, lie, |event| {
        sets += usize::from(matches!(event, Event::Up { .. } | Event::Routed(_)));
        matches!(event, Event::SweepBegan(Why::Incomplete))
    });
    assert_eq!(sets, 0);
    assert!(events.iter().any(|event| matches!(event, Event::Standby(finding) if finding.problem == Problem::OtherMaster(7))));
}

#[test]
fn a_table_that_reads_back_different_is_written_again() {
    let fabric = fabric();
    let mut spoiled = false;
    let lie = |mad: &mut Mad| {
        if !spoiled && answers::<LinearForwardingTable>(mad).is_some() {
            let mut data = mad.smp_data();
            data[5] ^= 1;
            mad.set_smp_data(&data);
            spoiled = true;
        }
    };
    let mut ups = Vec::new();
    run(&fabric, lie, |event| {
        if let Event::Up { written, findings, .. } = event {
            ups.push((*written, findings.clone()));
        }
        ups.len() == 2
    });
    assert!(matches!(ups[0].1[..], [ref finding] if finding.problem == Problem::TableDiffers(0)), "{:?}", ups[0]);
    assert_eq!((ups[1].0.lft_blocks, ups[1].1.len()), (1, 0), "the one block is written again");
}

#[test]
fn a_port_that_keeps_its_own_lid_is_not_routed_to() {
    let fabric = fabric();
    let stubborn = fabric.node(node(&fabric, "host-3-2")).guid;
    let mut path_of_stubborn = None;
    let lie = |mad: &mut Mad| {
        if answers::<NodeInfo>(mad).is_some_and(|info| info.node_guid() == stubborn.0) {
            path_of_stubborn = mad.initial_path();
        }
        if let Some(mut info) = answers::<PortInfo>(mad).filter(|_| mad.initial_path() == path_of_stubborn) {
            info.set_lid(0);
            mad.set_attribute(&info);
        }
    };
    let events = run(&fabric, lie, up);
    assert!(events.iter().any(|event| matches!(event, Event::Finding(finding)
        if finding.place.guid == stubborn && matches!(finding.problem, Problem::LidRefused(_)))));
    let Some(Event::Up { proven, .. }) = events.last() else { unreachable!() };
    assert_eq!(proven.fabric().node_by_guid(stubborn), None);
    assert_eq!(proven.fabric().end_ports().len(), fabric.nodes().len() - 1);
}

#[test]
fn a_port_that_cannot_be_set_is_routed_around() {
    let fabric = fabric();
    let leaf = fabric.node(node(&fabric, "leaf-3")).guid;
    let mut path_of_leaf = None;
    let lie = |mad: &mut Mad| {
        if answers::<NodeInfo>(mad).is_some_and(|info| info.node_guid() == leaf.0) {
            path_of_leaf = path_of_leaf.or(mad.initial_path());
        }
        let is_port = mad.initial_path() == path_of_leaf && mad.modifier() == 5;
        if answers::<PortInfo>(mad).is_some_and(|info| is_port && info.state() == Some(PortState::Armed)) {
            mad.set_status(Status::BAD_FIELD);
        }
    };
    let events = run(&fabric, lie, up);
    let Some(Event::Up { proven, .. }) = events.last() else { unreachable!() };
    let routed = proven.fabric();
    let switch = routed.node_by_guid(leaf).unwrap();
    assert_eq!(routed.port(PortRef::new(switch, 5)).unwrap().peer, None);
    assert!(routed.port(PortRef::new(switch, 6)).unwrap().peer.is_some());
    assert_eq!(routed.nodes().len(), fabric.nodes().len());
}

#[test]
fn a_local_port_that_refuses_its_lid_is_no_fabric_and_no_harm() {
    let fabric = fabric();
    let lie = |mad: &mut Mad| {
        if let Some(mut info) = answers::<PortInfo>(mad).filter(|_| mad.hop_count() == 0) {
            info.set_lid(0);
            mad.set_attribute(&info);
        }
    };
    let mut sweeps = 0;
    run(&fabric, lie, |event| {
        sweeps += usize::from(matches!(event, Event::SweepBegan(_)));
        sweeps == 5
    });
}

#[test]
fn what_a_node_says_is_not_written_back_as_its_key() {
    let fabric = fabric();
    let host = fabric.nodes().iter().position(|node| node.kind == NodeKind::Ca).unwrap();
    let emulator = Emulator::new(&fabric, PortRef::new(NodeIndex(host as u32), 1)).unwrap();
    let lie = |mad: &mut Mad| {
        if let Some(mut info) = answers::<PortInfo>(mad) {
            info.set_m_key(0xdead_beef);
            info.set_m_key_protect_bits(3);
            info.set_link_width_enabled(1);
            mad.set_attribute(&info);
        }
    };
    let mut transport = Lying { emulator, lie };
    let mut sm = SubnetManager::new(Config::default(), transport.now());
    drive(&mut sm, &mut transport, |event| !up(event)).unwrap();
    for (index, node) in fabric.nodes().iter().enumerate() {
        let at = PortRef::new(NodeIndex(index as u32), u8::from(node.kind == NodeKind::Ca));
        let info = transport.emulator.port_info(at).unwrap();
        assert_eq!((info.m_key(), info.m_key_protect_bits()), (0, 0), "{at:?}");
        assert!(at.port == 0 || info.link_width_enabled() == info.link_width_supported(), "{at:?}");
    }
}

#[test]
fn a_switch_that_has_fewer_ports_than_before_is_no_harm() {
    let fabric = fabric();
    let leaf = fabric.node(node(&fabric, "leaf-2")).guid;
    let mut spoiled = false;
    let lie = |mad: &mut Mad| {
        if !spoiled && answers::<LinearForwardingTable>(mad).is_some() {
            mad.set_status(Status::BAD_FIELD); // brings another sweep
            spoiled = true;
        }
        if let Some(mut info) = answers::<NodeInfo>(mad).filter(|info| spoiled && info.node_guid() == leaf.0) {
            info.set_num_ports(6);
            mad.set_attribute(&info);
        }
    };
    let mut ups = 0;
    run(&fabric, lie, |event| {
        ups += usize::from(up(event));
        ups == 2
    });
}
