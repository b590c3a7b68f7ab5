//! What others reported of subnet managers, as far as it concerns the switches' and ports' settings that routing stands on: R19, R20 and
//! R21 of the collection (linux-rdma/rdma-core#1398, linux-rdma/opensm#38 and linux-rdma/opensm 78f262a).

use heddle_emulator::Emulator;
use heddle_fabric::{Fabric, Link, NodeIndex, NodeKind, PortRef, generate};
use heddle_mad::Time;
use heddle_mad::transport::{Address, Delivery, Envelope, Transport, TransportError};
use heddle_mad::wire::{Attribute, LinkSpeed, LinkWidth, Method, Mtu, PortState, SlToVlMapping, VlArbitration};
use heddle_sm::{Config, Event, SubnetManager, drive};

/// Quantum-2 switches of 64 ports and ConnectX-7 hosts, all NDR.
fn ndr() -> Fabric {
    let mut builder = generate("clos2:8").unwrap();
    for node in (0..builder.nodes().len() as u32).map(NodeIndex) {
        let spec = builder.node_mut(node);
        spec.vendor_id = 0x2c9;
        spec.device_id = if spec.kind == NodeKind::Switch { 0xd2f2 } else { 0x1021 };
    }
    let fabric = builder.build();
    let mut builder = fabric.to_builder();
    let ndr = Link { width: Some(heddle_fabric::LinkWidth::X4), speed: Some(heddle_fabric::LinkSpeed::Ndr) };
    for node in (0..fabric.nodes().len() as u32).map(NodeIndex) {
        for (number, port) in fabric.node_ports(node).iter().enumerate() {
            if let Some(peer) = port.peer {
                builder.connect(PortRef::new(node, number as u8), peer, ndr).unwrap();
            }
        }
    }
    builder.build()
}

/// An emulated fabric, and the packets that went to it by LID.
struct Watched {
    emulator: Emulator,
    by_lid: usize,
}

impl Transport for Watched {
    fn now(&self) -> Time {
        self.emulator.now()
    }

    fn send(&mut self, envelope: &Envelope) -> Result<(), TransportError> {
        self.by_lid += usize::from(envelope.address != Address::Directed);
        self.emulator.send(envelope)
    }

    fn receive(&mut self, deadline: Option<Time>) -> Result<Option<Delivery>, TransportError> {
        self.emulator.receive(deadline)
    }

    fn set_is_sm(&mut self, is_sm: bool) -> Result<(), TransportError> {
        self.emulator.set_is_sm(is_sm)
    }
}

/// The fabric once the subnet is up, without any finding.
fn up(fabric: &Fabric) -> Watched {
    let host = fabric.nodes().iter().position(|node| node.kind == NodeKind::Ca).unwrap();
    let mut watched = Watched { emulator: Emulator::new(fabric, PortRef::new(NodeIndex(host as u32), 1)).unwrap(), by_lid: 0 };
    let mut sm = SubnetManager::new(Config::default(), watched.now());
    drive(&mut sm, &mut watched, |event| match event {
        Event::Up { findings, .. } => {
            assert!(findings.is_empty(), "{findings:?}");
            false
        }
        Event::Finding(_) | Event::Refused { .. } | Event::NotRouted(_) => panic!("{event:?}"),
        _ => true,
    })
    .unwrap();
    watched
}

/// On fabrics of several planes, subnet management by LID is not valid.
#[test]
fn r19_subnet_management_goes_by_directed_routes_alone() {
    assert_eq!(up(&ndr()).by_lid, 0);
}

/// Packets of some hundred bytes failed where MTU and extended speed were set for what OpenSM knew.
#[test]
fn r20_ndr_links_come_up_with_their_speed_and_mtu_at_both_ends() {
    let fabric = ndr();
    let world = up(&fabric).emulator;
    let mut cables = 0;
    for (index, node) in fabric.nodes().iter().enumerate() {
        for port in 1..=node.num_ports {
            let at = PortRef::new(NodeIndex(index as u32), port);
            let Some(peer) = fabric.port(at).unwrap().peer else { continue };
            let info = world.world().port_info(at).unwrap();
            assert_eq!(
                (info.state(), info.active_speed(), info.active_width()),
                (Some(PortState::Active), Some(LinkSpeed::Ndr), Some(LinkWidth::X4))
            );
            assert_eq!(info.neighbor_mtu(), Mtu::B4096 as u8);
            // As many as the end with fewer has.
            assert_eq!(info.operational_vls(), info.vl_cap().min(world.world().port_info(peer).unwrap().vl_cap()), "{}", node.description);
            cables += 1;
        }
    }
    assert_eq!(cables, 2 * (32 + 32));
}

/// Port 0 of a switch has one data VL, though it has room for VL arbitration.
#[test]
fn r21_no_port_is_sent_tables_for_lanes() {
    let world = up(&ndr()).emulator;
    let requests = &world.world().counters().requests;
    assert!(requests.iter().any(|((method, _), _)| *method == Method::SET));
    assert!([VlArbitration::ID, SlToVlMapping::ID].iter().all(|&table| !requests.contains_key(&(Method::SET, table))));
}
