//! Faults that the emulator cannot have: between it and the subnet manager, answers are changed on their way.

use heddle_emulator::{Emulator, Event as Happening};
use heddle_fabric::{Fabric, LinkSpeed, NodeIndex, NodeKind, PortRef, generate};
use heddle_mad::Time;
use heddle_mad::transport::{Delivery, Envelope, Transport, TransportError};
use heddle_mad::wire::{
    self, Attribute, CapabilityMask, LinearForwardingTable, Mad, Method, NodeInfo, Path, PortInfo, PortState, SmInfo, SmState, Status,
    SwitchInfo,
};
use heddle_sm::{Config, Event, Problem, SubnetManager, Why, drive};
use std::collections::{BTreeMap, BTreeSet};

/// Changes answers on their way.
struct Lying<F> {
    emulator: Emulator,
    lie: F,
    sent: Vec<Mad>,
}

impl<F: FnMut(&mut Mad)> Lying<F> {
    fn new(fabric: &Fabric, lie: F) -> Self {
        let host = fabric.nodes().iter().position(|node| node.kind == NodeKind::Ca).unwrap();
        let emulator = Emulator::new(fabric, PortRef::new(NodeIndex(host as u32), 1)).unwrap();
        Self { emulator, lie, sent: Vec::new() }
    }

    fn until_up(&mut self) -> Vec<Event> {
        self.run(up)
    }

    /// Runs a subnet manager until `until` holds for an event, at most a thousand events.
    fn run(&mut self, mut until: impl FnMut(&Event) -> bool) -> Vec<Event> {
        let mut sm = SubnetManager::new(Config::default(), self.now());
        let mut events = Vec::new();
        drive(&mut sm, self, |event| {
            events.push(event.clone());
            !until(event) && events.len() < 1000
        })
        .unwrap();
        assert!(events.len() < 1000, "no end: {:?}", &events[990..]);
        events
    }

    fn sets(&self) -> impl Iterator<Item = &Mad> {
        self.sent.iter().filter(|mad| mad.method() == Method::SET)
    }

    /// Path, modifier and data of the Sets of PortInfo.
    fn port_sets(&self) -> impl Iterator<Item = (Path, u32, PortInfo)> {
        let sets = self.sets().filter(|mad| mad.attribute_id() == PortInfo::ID);
        sets.map(|mad| (mad.initial_path().unwrap(), mad.modifier(), mad.attribute()))
    }
}

impl<F: FnMut(&mut Mad)> Transport for Lying<F> {
    fn now(&self) -> Time {
        self.emulator.now()
    }

    fn send(&mut self, envelope: &Envelope) -> Result<(), TransportError> {
        self.sent.push(envelope.mad);
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

fn run(fabric: &Fabric, lie: impl FnMut(&mut Mad), until: impl FnMut(&Event) -> bool) -> Vec<Event> {
    Lying::new(fabric, lie).run(until)
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
    let lie = |mad: &mut Mad| {
        if let Some(mut info) = answers::<PortInfo>(mad) {
            info.set_capability_mask(info.capability_mask() | CapabilityMask::SM.bits());
            mad.set_attribute(&info);
        }
        // Even the change bits are the other's: it has not seen them yet.
        if let Some(mut info) = answers::<SwitchInfo>(mad) {
            info.set_port_state_change(true);
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
    let mut transport = Lying::new(&fabric, lie);
    let events = transport.run(|event| matches!(event, Event::SweepBegan(Why::Incomplete)));
    assert_eq!(transport.sets().count(), 0);
    assert!(events.iter().any(|event| matches!(event, Event::Standby(finding) if finding.problem == Problem::OtherMaster(7))));
}

#[test]
fn change_bits_are_cleared_before_the_ports_are_read() {
    let fabric = fabric();
    let lie = |mad: &mut Mad| {
        if let Some(mut info) = answers::<SwitchInfo>(mad) {
            info.set_port_state_change(true);
            mad.set_attribute(&info);
        }
    };
    let mut transport = Lying::new(&fabric, lie);
    transport.run(|event| matches!(event, Event::Routed(_)));
    let is_clear = |mad: &Mad| mad.method() == Method::SET && mad.attribute_id() == SwitchInfo::ID;
    let clears: Vec<_> = transport.sent.iter().enumerate().filter(|(_, mad)| is_clear(mad)).collect();
    assert_eq!(clears.len(), fabric.switch_count());
    for (at, clear) in clears {
        assert!(clear.attribute::<SwitchInfo>().port_state_change());
        let after = transport.sent[at..].iter().filter(|mad| mad.initial_path() == clear.initial_path());
        let read: BTreeSet<u32> = after.filter(|mad| mad.attribute_id() == PortInfo::ID).map(|mad| mad.modifier() & 0xff).collect();
        assert_eq!(read, (0..=8).collect());
    }
}

#[test]
fn a_port_that_became_active_by_itself_is_active() {
    let fabric = fabric();
    let mut refused = 0;
    let lie = |mad: &mut Mad| {
        let becomes_active = answers::<PortInfo>(mad).is_some_and(|info| info.state() == Some(PortState::Active));
        if becomes_active && mad.modifier() & 0xff == 5 && mad.hop_count() == 1 && refused < 1 {
            mad.set_status(Status::BAD_FIELD);
            refused += 1;
        }
    };
    let events = run(&fabric, lie, up);
    assert_eq!(refused, 1);
    let Some(Event::Up { written, findings, .. }) = events.last() else { unreachable!() };
    assert_eq!(findings, &[]);
    // 32 cables to hosts and 32 between leaves and spines, each with two ends.
    assert_eq!(written.activated, 128);
}

/// OpenSM asks such ports with bit 31 of the modifier (SMSupportExtendedSpeeds); without it they tell what an old manager understands.
#[test]
fn extended_speeds_that_are_hidden_are_asked_for() {
    let fabric = fabric(); // all cables HDR
    let lie = |mad: &mut Mad| {
        if let Some(mut info) = answers::<PortInfo>(mad).filter(|_| mad.modifier() >> 31 == 0) {
            info.set_active_speed(wire::LinkSpeed::Qdr);
            mad.set_attribute(&info);
        }
    };
    let mut transport = Lying::new(&fabric, lie);
    let events = transport.until_up();
    let Some(Event::Up { proven, .. }) = events.last() else { unreachable!() };
    for (index, node) in proven.fabric().nodes().iter().enumerate() {
        for port in proven.fabric().node_ports(NodeIndex(index as u32)).iter().filter(|port| port.peer.is_some()) {
            assert_eq!(port.link.speed, Some(LinkSpeed::Hdr), "{}", node.description);
        }
    }
    assert!(transport.port_sets().all(|(_, modifier, _)| modifier >> 31 == 1));
}

#[test]
fn an_enhanced_port_0_is_brought_up_as_a_host_is() {
    let fabric = fabric();
    let lie = |mad: &mut Mad| {
        if let Some(mut info) = answers::<SwitchInfo>(mad) {
            info.set_enhanced_port0(mad.hop_count() == 1);
            mad.set_attribute(&info);
        }
        if let Some(mut info) = answers::<PortInfo>(mad).filter(|_| mad.modifier() & 0xff == 0) {
            info.set_state(PortState::Init);
            info.set_neighbor_mtu(1);
            mad.set_attribute(&info);
        }
    };
    let mut transport = Lying::new(&fabric, lie);
    let events = transport.until_up();
    let Some(Event::Up { findings, .. }) = events.last() else { unreachable!() };
    assert_eq!(findings, &[]);
    let mut states = Vec::new();
    for (path, _, info) in transport.port_sets().filter(|(_, modifier, _)| modifier & 0xff == 0) {
        // A base port 0 has no state to set.
        let enhanced = path.hops() == 1;
        assert_eq!(info.state().is_some(), enhanced, "{path}");
        if enhanced {
            states.push((info.state(), info.max_mtu() == info.active_mtu()));
        }
    }
    assert_eq!(states, [(Some(PortState::Armed), true)]);
}

#[test]
fn who_can_is_told_to_register_again() {
    let fabric = fabric();
    // The three other hosts of the first leaf are two hops away.
    let lie = |mad: &mut Mad| {
        if let Some(mut info) = answers::<PortInfo>(mad).filter(|_| mad.hop_count() == 2) {
            info.set_capability_mask(info.capability_mask() & !CapabilityMask::CLIENT_REREGISTRATION.bits());
            mad.set_attribute(&info);
        }
    };
    let mut transport = Lying::new(&fabric, lie);
    transport.until_up();
    let told: BTreeSet<String> =
        transport.port_sets().filter(|(_, _, info)| info.client_reregister()).map(|(path, ..)| path.to_string()).collect();
    assert_eq!(told.len(), 32 - 3, "{told:?}");
    assert!(told.iter().all(|path| path.matches(',').count() != 2), "{told:?}");
}

#[test]
fn the_top_of_a_table_is_written_before_the_table() {
    let fabric = fabric();
    let mut transport = Lying::new(&fabric, |_| ());
    transport.until_up();
    let place = |id| transport.sets().map(Mad::attribute_id).enumerate().filter(move |&(_, other)| other == id).map(|(at, _)| at);
    let (last_top, first_block) = (place(SwitchInfo::ID).max().unwrap(), place(LinearForwardingTable::ID).min().unwrap());
    assert!(last_top < first_block);
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
        let is_port = mad.initial_path() == path_of_leaf && mad.modifier() & 0xff == 5;
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
    let lie = |mad: &mut Mad| {
        if let Some(mut info) = answers::<PortInfo>(mad) {
            info.set_m_key(0xdead_beef);
            info.set_m_key_protect_bits(3);
            info.set_link_width_enabled(1);
            mad.set_attribute(&info);
        }
    };
    let mut transport = Lying::new(&fabric, lie);
    transport.until_up();
    for (index, node) in fabric.nodes().iter().enumerate() {
        let at = PortRef::new(NodeIndex(index as u32), u8::from(node.kind == NodeKind::Ca));
        let info = transport.emulator.world().port_info(at).unwrap();
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

#[test]
fn switches_with_tables_too_small_are_left_out_smallest_first() {
    // LIDs 1 to 44: without its two spines of 10 entries, the fabric needs 42, which 43 entries hold.
    let fabric = fabric();
    let small = ["spine-0", "spine-1"].map(|name| fabric.node(node(&fabric, name)).guid.0);
    let mut guids = BTreeMap::new();
    let lie = |mad: &mut Mad| {
        if let Some(info) = answers::<NodeInfo>(mad) {
            guids.insert(mad.initial_path().unwrap().to_string(), info.node_guid());
        }
        if let Some(mut info) = answers::<SwitchInfo>(mad) {
            let is_small = small.contains(&guids[&mad.initial_path().unwrap().to_string()]);
            info.set_linear_fdb_cap(if is_small { 10 } else { 43 });
            mad.set_attribute(&info);
        }
    };
    let events = run(&fabric, lie, up);
    let found = events.iter().find_map(|event| if let Event::Found(found) = event { Some(found) } else { None }).unwrap();
    let too_small: BTreeSet<u64> =
        found.findings.iter().filter(|finding| finding.problem == Problem::TableTooSmall(10)).map(|finding| finding.place.guid.0).collect();
    assert_eq!(too_small, BTreeSet::from(small));
    assert_eq!((found.findings.len(), found.fabric.nodes().len()), (2, 42));
}

#[test]
fn another_master_for_a_while_costs_no_port_its_lid() {
    let fabric = fabric();
    let (away, reset) = (node(&fabric, "leaf-1"), node(&fabric, "leaf-3"));
    let liar = fabric.node(node(&fabric, "host-5-1")).guid.0;
    let claims = std::cell::Cell::new(false);
    let mut path_of_liar = None;
    let lie = |mad: &mut Mad| {
        if answers::<NodeInfo>(mad).is_some_and(|info| info.node_guid() == liar) {
            path_of_liar = mad.initial_path();
        }
        if !claims.get() || mad.initial_path() != path_of_liar {
            return;
        }
        if let Some(mut info) = answers::<PortInfo>(mad) {
            info.set_capability_mask(info.capability_mask() | CapabilityMask::SM.bits());
            mad.set_attribute(&info);
        }
        if mad.method() == Method::GET_RESP && mad.attribute_id() == SmInfo::ID {
            let mut info = SmInfo::default();
            info.set_state(SmState::Master);
            mad.set_status(Status::OK);
            mad.set_attribute(&info);
        }
    };
    let mut transport = Lying::new(&fabric, lie);
    // A leaf with lower LIDs goes and another forgets its own, while a third node says that it is the master.
    for event in [Happening::RemoveNode(away), Happening::RemoveNode(reset), Happening::ReturnNode(reset)] {
        transport.emulator.world_mut().schedule(Time(10_000_000_000), event);
    }
    transport.emulator.world_mut().schedule(Time(60_000_000_000), Happening::ReturnNode(away));
    // Its trap 144 marks the end.
    transport.emulator.world_mut().schedule(Time(120_000_000_000), Happening::Rename(away, "the end".to_owned()));
    let mut sm = SubnetManager::new(Config::default(), transport.now());
    let mut addresses = Vec::new();
    let mut standby = 0;
    let mut is_end = false;
    drive(&mut sm, &mut transport, |event| {
        match event {
            Event::SweepBegan(Why::Trap { number: 144, .. }) => is_end = true,
            Event::Standby(_) => {
                standby += 1;
                claims.set(false);
            }
            Event::Up { proven, .. } => {
                let fabric = proven.fabric();
                claims.set(addresses.is_empty());
                addresses.push(fabric.end_ports().iter().map(|end| (fabric.node(end.at.node).guid, end.lid)).collect::<Vec<_>>());
            }
            _ => {}
        }
        !(is_end && matches!(event, Event::Up { .. }))
    })
    .unwrap();
    assert_eq!((standby, addresses.last()), (1, addresses.first()));
    for partial in &addresses {
        assert!(partial.iter().all(|address| addresses[0].contains(address)), "{partial:?}");
    }
}
