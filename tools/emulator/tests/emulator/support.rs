//! A fabric small enough to check by hand, and a manager that does by hand what it is told.

use heddle_emulator::Emulator;
use heddle_fabric::{Fabric, FabricBuilder, Guid, Lid, Link, NodeIndex, NodeKind, NodeSpec, PortRef};
use heddle_mad::transport::{Address, Delivery, Envelope, Transport};
use heddle_mad::wire::{Attribute, Class, LinearForwardingTable, Mad, Method, Path, PortInfo, PortState, Status, SwitchInfo};
use std::time::Duration;

pub(crate) const A: NodeIndex = NodeIndex(0);
pub(crate) const S: NodeIndex = NodeIndex(1);
pub(crate) const T: NodeIndex = NodeIndex(2);
pub(crate) const B: NodeIndex = NodeIndex(3);

/// The LIDs that [`bring_up`] gives.
pub(crate) const LID_A: u16 = 1;
pub(crate) const LID_S: u16 = 2;
pub(crate) const LID_T: u16 = 3;
pub(crate) const LID_B: u16 = 4;

pub(crate) fn at(node: NodeIndex, port: u8) -> PortRef {
    PortRef::new(node, port)
}

pub(crate) fn lid(lid: u16) -> Lid {
    Lid::new(lid).unwrap()
}

/// `A 1 -- 3 S 5 -- 7 T 2 -- 1 B`, and a second cable `S 6 -- 8 T`. Hosts have two ports; B's second one is at T 4.
pub(crate) fn fabric() -> Fabric {
    fabric_of([0; 4], 0)
}

/// The same, of a vendor's devices.
pub(crate) fn fabric_of(devices: [u16; 4], vendor: u32) -> Fabric {
    let mut builder = FabricBuilder::new();
    let nodes =
        [(NodeKind::Ca, 0xa0, 2, "A"), (NodeKind::Switch, 0x50, 8, "S"), (NodeKind::Switch, 0x70, 8, "T"), (NodeKind::Ca, 0xb0, 2, "B")];
    for ((kind, guid, ports, name), device) in nodes.into_iter().zip(devices) {
        let mut spec = NodeSpec::new(kind, Guid(guid), ports, name);
        spec.vendor_id = vendor;
        spec.device_id = device;
        builder.add_node(spec).unwrap();
    }
    for (one, other) in [(at(A, 1), at(S, 3)), (at(S, 5), at(T, 7)), (at(S, 6), at(T, 8)), (at(T, 2), at(B, 1)), (at(T, 4), at(B, 2))] {
        builder.connect(one, other, Link::default()).unwrap();
    }
    builder.build()
}

/// The manager is on host A.
pub(crate) fn emulator() -> Emulator {
    Emulator::new(&fabric(), at(A, 1)).unwrap()
}

pub(crate) fn path(ports: &[u8]) -> Path {
    Path::from_ports(ports).unwrap()
}

pub(crate) fn send(emulator: &mut Emulator, address: Address, mad: Mad) {
    emulator.send(&Envelope { address, mad }).unwrap();
}

/// What arrives within a second.
pub(crate) fn receive(emulator: &mut Emulator) -> Option<Envelope> {
    let deadline = emulator.now() + Duration::from_secs(1);
    emulator.receive(Some(deadline)).unwrap().map(|delivery| match delivery {
        Delivery::Received(envelope) => envelope,
        Delivery::Undeliverable(_) => panic!("the emulator loses packets in silence"),
    })
}

/// All that arrives while `duration` passes.
pub(crate) fn receive_all(emulator: &mut Emulator, duration: Duration) -> Vec<Envelope> {
    let deadline = emulator.now() + duration;
    let mut all = Vec::new();
    while let Some(delivery) = emulator.receive(Some(deadline)).unwrap() {
        let Delivery::Received(envelope) = delivery else { panic!("the emulator loses packets in silence") };
        all.push(envelope);
    }
    all
}

/// The answer to a directed-route Get; `None` if there is none within a second.
pub(crate) fn get<T: Attribute>(emulator: &mut Emulator, ports: &[u8], modifier: u32) -> Option<Mad> {
    send(emulator, Address::Directed, Mad::directed(&path(ports), Method::GET, T::ID, modifier));
    receive(emulator).map(|envelope| envelope.mad)
}

/// The answer to a directed-route Set.
pub(crate) fn set<T: Attribute>(emulator: &mut Emulator, ports: &[u8], modifier: u32, attribute: &T) -> Mad {
    let mut mad = Mad::directed(&path(ports), Method::SET, T::ID, modifier);
    mad.set_attribute(attribute);
    send(emulator, Address::Directed, mad);
    receive(emulator).expect("a Set is answered").mad
}

/// Reads PortInfo, changes it and writes it.
pub(crate) fn change_port(emulator: &mut Emulator, ports: &[u8], number: u8, change: impl FnOnce(&mut PortInfo)) -> Mad {
    let mut info: PortInfo = get::<PortInfo>(emulator, ports, number.into()).unwrap().attribute();
    info.set_port_state(0);
    info.set_port_physical_state(0);
    change(&mut info);
    set(emulator, ports, number.into(), &info)
}

pub(crate) fn activate(emulator: &mut Emulator, ports: &[u8], number: u8) {
    for state in [PortState::Armed, PortState::Active] {
        assert_eq!(change_port(emulator, ports, number, |info| info.set_state(state)).status(), Status::OK);
    }
}

/// Writes the first block of a forwarding table: these LIDs by these ports.
pub(crate) fn set_lft(emulator: &mut Emulator, ports: &[u8], entries: &[(u16, u8)]) {
    let mut block = [0xff; 64];
    for &(lid, port) in entries {
        block[usize::from(lid)] = port;
    }
    assert_eq!(set(emulator, ports, 0, &LinearForwardingTable::from_bytes(block)).status(), Status::OK);
    let mut info: SwitchInfo = get::<SwitchInfo>(emulator, ports, 0).unwrap().attribute();
    info.set_linear_fdb_top(LID_B);
    info.set_port_state_change(true);
    assert_eq!(set(emulator, ports, 0, &info).status(), Status::OK);
}

/// The ways to the nodes, from A.
pub(crate) const TO_S: &[u8] = &[1];
pub(crate) const TO_T: &[u8] = &[1, 5];
pub(crate) const TO_B: &[u8] = &[1, 5, 2];

/// LIDs, tables and ACTIVE links along A, S, T, B; the second cable between S and T stays in INIT.
pub(crate) fn bring_up(emulator: &mut Emulator) {
    for (ports, number, lid) in [(&[][..], 1, LID_A), (TO_S, 0, LID_S), (TO_T, 0, LID_T), (TO_B, 1, LID_B)] {
        let answer = change_port(emulator, ports, number, |info| {
            info.set_lid(lid);
            info.set_master_sm_lid(LID_A);
            info.set_subnet_timeout(18);
        });
        assert_eq!(answer.status(), Status::OK);
    }
    set_lft(emulator, TO_S, &[(LID_A, 3), (LID_S, 0), (LID_T, 5), (LID_B, 5)]);
    set_lft(emulator, TO_T, &[(LID_A, 7), (LID_S, 7), (LID_T, 0), (LID_B, 2)]);
    for (ports, number) in [(&[][..], 1), (TO_S, 3), (TO_S, 5), (TO_T, 7), (TO_T, 2), (TO_B, 1)] {
        activate(emulator, ports, number);
    }
}

/// A LID-routed SMP.
pub(crate) fn smp<T: Attribute>(method: Method, modifier: u32) -> Mad {
    Mad::request(Class::SUBN_LID, 1, method, T::ID, modifier)
}

pub(crate) const fn to(lid: u16) -> Address {
    Address::Lid { lid, qp: 0 }
}
