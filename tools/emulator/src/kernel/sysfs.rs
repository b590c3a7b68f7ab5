//! What the kernel says of a device in `/sys/class/infiniband/DEVICE`, in its own formats (`drivers/infiniband/core/sysfs.c`).

use super::local;
use crate::vendor;
use crate::world::World;
use heddle_fabric::{NodeIndex, NodeKind, PortRef};
use heddle_mad::wire::{NodeType, PortCounters, PortCountersExtended};

/// The names of a node's own attributes (`node_guid` and so on), or of those of a port (`ports/1/state`). Empty if programs see no such node
/// or port.
pub fn attributes(world: &World, node: NodeIndex, port: Option<u8>) -> Vec<String> {
    match port {
        None if ports(world, node).is_empty() => Vec::new(),
        None => OF_DEVICE.map(str::to_owned).to_vec(),
        Some(port) if !ports(world, node).contains(&port) => Vec::new(),
        Some(port) => {
            let of_port = OF_PORT.iter().map(|name| (*name).to_owned());
            let gids = (0..GIDS).map(|index| format!("gids/{index}"));
            let p_keys = (0..world.network.p_keys(PortRef::new(node, port)).count().min(P_KEYS_MAX)).map(|index| format!("pkeys/{index}"));
            let counters = COUNTERS.iter().map(|(name, _)| format!("counters/{name}"));
            of_port.chain(gids).chain(p_keys).chain(counters).map(|name| format!("ports/{port}/{name}")).collect()
        }
    }
}

/// The ports of a node that programs see: those of an adapter, or port 0 of a switch.
pub fn ports(world: &World, node: NodeIndex) -> std::ops::RangeInclusive<u8> {
    match world.network.devices.get(node.index()) {
        Some(device) if device.kind == NodeKind::Switch => 0..=0,
        Some(device) => 1..=device.num_ports(),
        None => std::ops::RangeInclusive::new(1, 0),
    }
}

/// What an attribute says now, its newline included; `None` if there is no such attribute.
pub fn read(world: &mut World, node: NodeIndex, name: &str) -> Option<String> {
    let device = world.network.devices.get(node.index())?;
    if let Some(rest) = name.strip_prefix("ports/") {
        let (port, name) = rest.split_once('/')?;
        let at = PortRef::new(node, port.parse().ok().filter(|port| ports(world, node).contains(port))?);
        return of_port(world, at, name).map(|text| text + "\n");
    }
    let info = world.network.node_info(PortRef::new(node, *ports(world, node).start()));
    let text = match name {
        "node_type" => match info.kind() {
            Some(NodeType::Switch) => "2: switch".to_owned(),
            Some(NodeType::Router) => "3: router".to_owned(),
            _ => "1: CA".to_owned(),
        },
        "node_guid" => groups(info.node_guid()),
        "sys_image_guid" => groups(info.system_image_guid()),
        "node_desc" => device.description.clone(),
        "hca_type" => format!("MT{}", info.device_id()),
        "hw_rev" => format!("{:x}", info.revision()),
        "fw_ver" => vendor::version().map(|number| number.to_string()).join("."),
        "board_id" => vendor::BOARD.to_owned(),
        _ => return None,
    };
    Some(text + "\n")
}

const OF_DEVICE: [&str; 8] = ["node_type", "node_guid", "sys_image_guid", "node_desc", "hca_type", "hw_rev", "fw_ver", "board_id"];
const OF_PORT: [&str; 9] = ["state", "phys_state", "lid", "lid_mask_count", "sm_lid", "sm_sl", "cap_mask", "rate", "link_layer"];
/// Of a port that no subnet manager has given another one (IBA 4.1.1).
const DEFAULT_GID_PREFIX: u64 = 0xfe80 << 48;
/// As many as mlx5 has.
const GIDS: u8 = 8;
/// As many as anybody looks at; more only make the folder large.
const P_KEYS_MAX: usize = 128;

fn of_port(world: &mut World, at: PortRef, name: &str) -> Option<String> {
    let port = *world.port_info(at)?;
    if let Some(index) = name.strip_prefix("gids/") {
        let guid = index.parse().ok().filter(|&index| index < GIDS).map(|index| local::guid_at(world, at, index).unwrap_or(0))?;
        let prefix = match (guid, port.gid_prefix()) {
            (0, _) => 0, // Without an entry there is no prefix either.
            (_, 0) => DEFAULT_GID_PREFIX,
            (_, prefix) => prefix,
        };
        return Some(format!("{}:{}", groups(prefix), groups(guid)));
    }
    if let Some(index) = name.strip_prefix("pkeys/") {
        return Some(format!("{:#06x}", local::p_key_at(world, at, index.parse().ok()?)?));
    }
    if let Some(name) = name.strip_prefix("counters/") {
        let (_, counter) = COUNTERS.iter().find(|(counter, _)| *counter == name)?;
        return Some(counter.read(world, at).unwrap_or(0).to_string());
    }
    Some(match name {
        "state" => {
            let name = ["NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER"].get(usize::from(port.port_state())).unwrap_or(&"UNKNOWN");
            format!("{}: {name}", port.port_state())
        }
        "phys_state" => {
            let names =
                ["<unknown>", "Sleep", "Polling", "Disabled", "PortConfigurationTraining", "LinkUp", "LinkErrorRecovery", "Phy Test"];
            let state = port.port_physical_state();
            format!("{state}: {}", names.get(usize::from(state)).unwrap_or(&"<unknown>"))
        }
        "lid" => format!("{:#x}", port.lid()),
        "lid_mask_count" => port.lmc().to_string(),
        "sm_lid" => format!("{:#x}", port.master_sm_lid()),
        "sm_sl" => port.master_sm_sl().to_string(),
        "cap_mask" => format!("{:#010x}", port.capability_mask()),
        "rate" => rate(world, at),
        "link_layer" => "InfiniBand".to_owned(),
        _ => return None,
    })
}

/// `0123:4567:89ab:cdef`.
fn groups(guid: u64) -> String {
    format!("{:04x}:{:04x}:{:04x}:{:04x}", guid >> 48, guid >> 32 & 0xffff, guid >> 16 & 0xffff, guid & 0xffff)
}

/// `400 Gb/sec (4X NDR)`, from what the link runs at: `rate_show`, whose rates are nominal, in tenths of Gb/s a lane.
fn rate(world: &World, at: PortRef) -> String {
    use heddle_mad::wire::{LinkSpeed, LinkWidth};
    let Some(port) = world.network.port(at) else { return String::new() };
    let (speed, tenths) = match port.info.active_speed() {
        _ if port.fdr10_active => ("FDR10", 100),
        Some(LinkSpeed::Ddr) => ("DDR", 50),
        Some(LinkSpeed::Qdr) => ("QDR", 100),
        Some(LinkSpeed::Fdr) => ("FDR", 140),
        Some(LinkSpeed::Edr) => ("EDR", 250),
        Some(LinkSpeed::Hdr) => ("HDR", 500),
        Some(LinkSpeed::Ndr) => ("NDR", 1000),
        Some(LinkSpeed::Xdr) => ("XDR", 2000),
        _ => ("SDR", 25),
    };
    let lanes = match port.info.active_width() {
        Some(LinkWidth::X1) => 1,
        Some(LinkWidth::X2) => 2,
        Some(LinkWidth::X8) => 8,
        Some(LinkWidth::X12) => 12,
        _ => 4,
    };
    let rate = tenths * lanes;
    format!("{}{} Gb/sec ({lanes}X {speed})", rate / 10, if rate % 10 == 5 { ".5" } else { "" })
}

/// A counter of PortCounters, or of PortCountersExtended where the kernel takes that.
enum Counter {
    Narrow(fn(&PortCounters) -> u32),
    Wide(fn(&PortCountersExtended) -> u64),
}

const COUNTERS: [(&str, Counter); 21] = [
    ("symbol_error", Counter::Narrow(|counters| counters.symbol_error_counter().into())),
    ("link_error_recovery", Counter::Narrow(|counters| counters.link_error_recovery_counter().into())),
    ("link_downed", Counter::Narrow(|counters| counters.link_downed_counter().into())),
    ("port_rcv_errors", Counter::Narrow(|counters| counters.port_rcv_errors().into())),
    ("port_rcv_remote_physical_errors", Counter::Narrow(|counters| counters.port_rcv_remote_physical_errors().into())),
    ("port_rcv_switch_relay_errors", Counter::Narrow(|counters| counters.port_rcv_switch_relay_errors().into())),
    ("port_xmit_discards", Counter::Narrow(|counters| counters.port_xmit_discards().into())),
    ("port_xmit_constraint_errors", Counter::Narrow(|counters| counters.port_xmit_constraint_errors().into())),
    ("port_rcv_constraint_errors", Counter::Narrow(|counters| counters.port_rcv_constraint_errors().into())),
    ("local_link_integrity_errors", Counter::Narrow(|counters| counters.local_link_integrity_errors().into())),
    ("excessive_buffer_overrun_errors", Counter::Narrow(|counters| counters.excessive_buffer_overrun_errors().into())),
    ("VL15_dropped", Counter::Narrow(|counters| counters.vl15_dropped().into())),
    ("port_xmit_wait", Counter::Narrow(|counters| counters.port_xmit_wait())),
    ("port_xmit_data", Counter::Wide(PortCountersExtended::port_xmit_data)),
    ("port_rcv_data", Counter::Wide(PortCountersExtended::port_rcv_data)),
    ("port_xmit_packets", Counter::Wide(PortCountersExtended::port_xmit_pkts)),
    ("port_rcv_packets", Counter::Wide(PortCountersExtended::port_rcv_pkts)),
    ("unicast_xmit_packets", Counter::Wide(PortCountersExtended::port_unicast_xmit_pkts)),
    ("unicast_rcv_packets", Counter::Wide(PortCountersExtended::port_unicast_rcv_pkts)),
    ("multicast_xmit_packets", Counter::Wide(PortCountersExtended::port_multicast_xmit_pkts)),
    ("multicast_rcv_packets", Counter::Wide(PortCountersExtended::port_multicast_rcv_pkts)),
];

impl Counter {
    /// `None` where the device has no counters, as at port 0 of most switches.
    fn read(&self, world: &mut World, at: PortRef) -> Option<u64> {
        Some(match self {
            Self::Narrow(value) => {
                let mut asked = PortCounters::default();
                asked.set_port_select(at.port);
                value(&local::performance(world, at, &asked)?).into()
            }
            Self::Wide(value) => {
                let mut asked = PortCountersExtended::default();
                asked.set_port_select(at.port);
                value(&local::performance(world, at, &asked)?)
            }
        })
    }
}
