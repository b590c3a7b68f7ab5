//! The largest fabric of the measurements.

use heddle_emulator::Emulator;
use heddle_fabric::{NodeKind, PortRef};
use heddle_mad::transport::{Address, Envelope, Transport};
use heddle_mad::wire::{Attribute, Mad, Method, NodeInfo, Path};

/// A walk over a fabric of 11,664 hosts, breadth first from the manager's port, finds every node by directed routes.
#[test]
fn every_node_of_a_large_fabric_answers() {
    let fabric = heddle_fabric::generate("clos3:36").unwrap().build();
    let host = fabric.nodes().iter().position(|node| node.kind == NodeKind::Ca).unwrap();
    let mut emulator = Emulator::new(&fabric, PortRef::new(heddle_fabric::NodeIndex(host as u32), 1)).unwrap();
    let mut known = std::collections::BTreeSet::new();
    emulator.send(&Envelope { address: Address::Directed, mad: Mad::directed(&Path::local(), Method::GET, NodeInfo::ID, 0) }).unwrap();
    while let Ok(Some(heddle_mad::transport::Delivery::Received(envelope))) = emulator.receive(None) {
        let info: NodeInfo = envelope.mad.attribute();
        if !known.insert(info.node_guid()) {
            continue;
        }
        let path = envelope.mad.initial_path().unwrap();
        let ports = if path.hops() == 0 { 1..=1 } else { 1..=info.num_ports() };
        if path.hops() == 0 || info.node_type() == 2 {
            for path in ports.filter_map(|port| path.then(port)) {
                emulator.send(&Envelope { address: Address::Directed, mad: Mad::directed(&path, Method::GET, NodeInfo::ID, 0) }).unwrap();
            }
        }
    }
    assert_eq!(known.len(), fabric.nodes().len());
}
