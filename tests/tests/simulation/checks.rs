//! What must be true of the fabric, asked of the emulated hardware alone.

use crate::site::ports;
use crate::world::World;
use heddle_fabric::{Lid, NodeIndex, NodeKind, PortRef};
use heddle_mad::wire::PortState;
use petgraph::algo::is_cyclic_directed;
use petgraph::graphmap::DiGraphMap;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::RandomState;

/// Says what is wrong.
type Verdict = Result<(), String>;

/// All that holds when the fabric is whole and nothing happens.
pub(crate) fn all(world: &World) -> Verdict {
    let part = Part::of(world);
    hosts_reach_each_other(world, &part)?;
    nothing_can_deadlock(world, &part)?;
    cabled_ports_are_active(world, &part)?;
    no_lid_has_two_ports(world)?;
    everyone_knows_the_subnet_manager(world, &part)?;
    switches_have_the_proven_tables(world, &part)?;
    tables_lead_in_no_circle(world, &part)
}

/// What holds among healthy nodes while others are not.
pub(crate) fn healthy_part(world: &World) -> Verdict {
    let part = Part::of(world);
    hosts_reach_each_other(world, &part)?;
    nothing_can_deadlock(world, &part)?;
    cabled_ports_are_active(world, &part)?;
    everyone_knows_the_subnet_manager(world, &part)
}

/// The part of the fabric that the subnet manager can reach over healthy nodes.
struct Part {
    nodes: BTreeSet<NodeIndex>,
    /// Both ends of each cable by which they are connected.
    cabled: BTreeSet<PortRef>,
    /// Ports with an address.
    ends: BTreeSet<PortRef>,
}

impl Part {
    fn of(world: &World) -> Self {
        let (fabric, truth, attach) = (&world.fabric, &world.truth, world.emulator.attach());
        let is_healthy = |node: NodeIndex| !truth.removed.contains(&node) && !truth.faulty.contains_key(&node);
        let mut part = Self { nodes: BTreeSet::new(), cabled: BTreeSet::new(), ends: BTreeSet::new() };
        if !is_healthy(attach.node) {
            return part;
        }
        part.ends.insert(attach);
        let mut exits = vec![];
        part.enter(world, attach, &mut exits);
        if attach.port != 0 {
            exits.push(attach);
        }
        while let Some(exit) = exits.pop() {
            let peer = fabric.port(exit).and_then(|port| port.peer);
            let Some(peer) = peer.filter(|peer| !truth.cut.contains(&exit) && is_healthy(peer.node)) else { continue };
            part.cabled.extend([exit, peer]);
            part.enter(world, peer, &mut exits);
        }
        part
    }

    fn enter(&mut self, world: &World, at: PortRef, exits: &mut Vec<PortRef>) {
        let node = world.fabric.node(at.node);
        let is_switch = node.kind == NodeKind::Switch;
        self.ends.insert(if is_switch { PortRef::new(at.node, 0) } else { at });
        if self.nodes.insert(at.node) && is_switch {
            exits.extend((1..=node.num_ports).map(|port| PortRef::new(at.node, port)));
        }
    }

    fn hosts<'a>(&'a self, world: &'a World) -> impl Iterator<Item = PortRef> + 'a {
        self.ends.iter().copied().filter(|at| world.fabric.node(at.node).kind != NodeKind::Switch && self.cabled.contains(at))
    }

    fn switches<'a>(&'a self, world: &'a World) -> impl Iterator<Item = NodeIndex> + 'a {
        self.nodes.iter().copied().filter(|&node| world.fabric.node(node).kind == NodeKind::Switch)
    }
}

fn lid(world: &World, at: PortRef) -> Result<Lid, String> {
    world.emulator.world().port_info(at).and_then(|info| Lid::new(info.lid())).ok_or_else(|| format!("{at:?} has no LID"))
}

/// The LIDs that ports have.
pub(crate) fn lids(world: &World) -> BTreeMap<PortRef, u16> {
    let ends = ports(&world.fabric).into_iter().chain(world.fabric.switches().iter().map(|&node| PortRef::new(node, 0)));
    ends.filter_map(|at| Some((at, world.emulator.world().port_info(at)?.lid()))).filter(|&(_, lid)| lid != 0).collect()
}

pub(crate) fn no_lid_has_two_ports(world: &World) -> Verdict {
    let mut owners = BTreeMap::new();
    for (at, lid) in lids(world) {
        if let Some(other) = owners.insert(lid, at) {
            return Err(format!("LID {lid} is that of {at:?} and of {other:?}"));
        }
    }
    Ok(())
}

fn hosts_reach_each_other(world: &World, part: &Part) -> Verdict {
    for from in part.hosts(world) {
        for to in part.hosts(world).filter(|&to| to != from) {
            let way = world.emulator.world().deliver(from, lid(world, to)?).map_err(|lost| format!("{from:?} to {to:?}: {lost}"))?;
            if way.last() != Some(&to) {
                return Err(format!("{from:?} to {to:?} ends at {:?}", way.last()));
            }
        }
    }
    Ok(())
}

/// The channels are the ports by which packets leave; a packet that has one waits for the next on its way (Dally and Seitz, 1987).
fn nothing_can_deadlock(world: &World, part: &Part) -> Verdict {
    let mut dependencies = DiGraphMap::<(u32, u8), (), RandomState>::default();
    for from in part.hosts(world) {
        for to in part.hosts(world).filter(|&to| to != from) {
            let Ok(way) = world.emulator.world().deliver(from, lid(world, to)?) else { continue };
            let exits: Vec<_> = way.iter().step_by(2).map(|exit| (exit.node.0, exit.port)).collect();
            for pair in exits.windows(2) {
                dependencies.add_edge(pair[0], pair[1], ());
            }
        }
    }
    if is_cyclic_directed(&dependencies) { Err("the channels depend on each other in a circle".to_owned()) } else { Ok(()) }
}

fn cabled_ports_are_active(world: &World, part: &Part) -> Verdict {
    for &at in &part.cabled {
        let info = world.emulator.world().port_info(at).ok_or("no such port")?;
        if info.state() != Some(PortState::Active) {
            return Err(format!("{at:?} is {:?}", info.state()));
        }
        let peer_at = world.fabric.port(at).and_then(|port| port.peer).ok_or("no cable")?;
        let peer = world.emulator.world().port_info(peer_at).ok_or("no such port")?;
        let mtu = info.mtu_cap().min(peer.mtu_cap());
        let is_doubtful = [at, peer_at].iter().any(|end| world.truth.doubtful.contains(&end.node));
        if info.neighbor_mtu() != mtu && !is_doubtful {
            return Err(format!("{at:?} has MTU code {}, not {mtu}", info.neighbor_mtu()));
        }
    }
    Ok(())
}

fn everyone_knows_the_subnet_manager(world: &World, part: &Part) -> Verdict {
    let Some(master) = world.emulator.world().port_info(world.emulator.attach()).map(|info| info.lid()) else { return Ok(()) };
    for &at in &part.ends {
        let known = world.emulator.world().port_info(at).map(|info| info.master_sm_lid());
        if known != Some(master) {
            return Err(format!("{at:?} knows {known:?} as the LID of the subnet manager, not {master}"));
        }
    }
    Ok(())
}

fn switches_have_the_proven_tables(world: &World, part: &Part) -> Verdict {
    let Some(proven) = &world.proven else { return Err("nothing was proven".to_owned()) };
    let fabric = proven.fabric();
    if fabric.nodes().len() != part.nodes.len() {
        return Err(format!("{} nodes are there, {} were routed", part.nodes.len(), fabric.nodes().len()));
    }
    for node in part.switches(world) {
        let known = fabric.node_by_guid(world.fabric.node(node).guid).and_then(|known| fabric.switch_index(known));
        let Some(switch) = known else { return Err(format!("no tables were made for {node:?}")) };
        let row = proven.tables().row(switch);
        if world.emulator.world().lft(node).get(..row.len()) != Some(row) {
            return Err(format!("{node:?} has another table than was proven"));
        }
        let top = world.emulator.world().switch_info(node).map(|info| info.linear_fdb_top());
        if top != fabric.top_lid().map(Lid::get) {
            return Err(format!("the table of {node:?} counts up to {top:?}"));
        }
    }
    Ok(())
}

/// Follows every LID from every switch, cable by cable.
fn tables_lead_in_no_circle(world: &World, part: &Part) -> Verdict {
    for from in part.switches(world) {
        for &to in &part.ends {
            let lid = lid(world, to)?;
            let mut at = from;
            let mut left = part.nodes.len();
            loop {
                let port = *world.emulator.world().lft(at).get(lid.index()).unwrap_or(&0xff);
                let peer = world.fabric.port(PortRef::new(at, port)).and_then(|port| port.peer);
                let next = match peer {
                    _ if port == 0 => PortRef::new(at, 0),
                    Some(peer) => peer,
                    None => return Err(format!("LID {lid} has no way on from {at:?}")),
                };
                if next == to || (next.node == to.node && to.port == 0) {
                    break;
                }
                left -= 1;
                if left == 0 || world.fabric.node(next.node).kind != NodeKind::Switch || port == 0 {
                    return Err(format!("LID {lid}, from {from:?}, does not come to {to:?} but by {next:?}"));
                }
                at = next.node;
            }
        }
    }
    Ok(())
}
