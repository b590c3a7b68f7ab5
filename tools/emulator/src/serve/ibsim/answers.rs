//! What a client can ask its own port over the control socket.

use crate::sma;
use crate::world::World;
use heddle_fabric::PortRef;
use heddle_mad::transport::ibsim::protocol::Kind;
use heddle_mad::wire::{Attribute, Mad, Method, NodeInfo, PKeyTable, Path, PortInfo, Status};

/// The data of an answer; `None` for a question that is none.
pub(super) fn answer(world: &mut World, at: PortRef, kind: Kind, data: &[u8; 64]) -> Option<Vec<u8>> {
    Some(match kind {
        Kind::GET_PORT => {
            let info = world.port_info(at)?;
            let [low, high] = info.lid().to_ne_bytes();
            vec![low, high, info.state().map_or(0, |state| state as u8)]
        }
        Kind::GET_VENDOR => {
            let info = world.network.node_info(at);
            // The firmware's version is 64 bits wide and begins at a multiple of 8.
            let words = [info.vendor_id(), info.device_id().into(), info.revision(), 0];
            [words.map(u32::to_ne_bytes).concat(), FIRMWARE_VERSION.to_ne_bytes().to_vec()].concat()
        }
        Kind::GET_GID => {
            let (prefix, guid) = (world.port_info(at)?.gid_prefix(), world.network.node_info(at).port_guid());
            [prefix.to_be_bytes(), guid.to_be_bytes()].concat()
        }
        Kind::GET_GUID => world.network.node_info(at).port_guid().to_be_bytes().to_vec(),
        Kind::GET_NODE_INFO => ask(world, at, NodeInfo::ID, 0)?.to_vec(),
        Kind::GET_PORT_INFO => ask(world, at, PortInfo::ID, if data[0] == 0 { at.port } else { data[0] }.into())?.to_vec(),
        Kind::GET_P_KEYS => ask(world, at, PKeyTable::ID, 0)?.to_vec(),
        _ => return None,
    })
}

/// As ibsim says it.
const FIRMWARE_VERSION: u64 = 1;

/// What the node's own agent says of it through this port.
fn ask(world: &mut World, at: PortRef, attribute: heddle_mad::wire::AttributeId, modifier: u32) -> Option<[u8; 64]> {
    let mut mad = Mad::directed(&Path::local(), Method::GET, attribute, modifier);
    mad.set_m_key(world.port_info(world.network.end_port(at))?.m_key());
    let reply = sma::answer(&mut world.network, at, None, world.now, &mut mad);
    (reply.answered && mad.status() == Status::OK).then(|| mad.smp_data())
}
