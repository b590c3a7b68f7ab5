//! Tables that somebody else made: they are taken as they are if they are for this fabric.

use crate::{Engine, Options, Refusal};
use heddle_fabric::{Fabric, NO_PORT, NodeIndex, SwitchIndex, Tables};

/// Fills the tables with those that `options` have.
pub(crate) fn fill(tables: &mut Tables, fabric: &Fabric, options: &Options) -> Result<(), Refusal> {
    let refusal = |reason: &str, culprits, remedy: &str| Refusal {
        engine: Engine::File,
        reason: reason.to_owned(),
        culprits,
        remedy: remedy.to_owned(),
    };
    let Some(given) = &options.tables else {
        return Err(refusal("there are no tables to take", Vec::new(), "Name a dump of forwarding tables (--lfts FILE)."));
    };
    let count = fabric.switch_count();
    let has_row = |switch: usize| given.block(SwitchIndex(switch as u32), 0).is_some();
    if given.row_len() != tables.row_len() || !has_row(count - 1) || has_row(count) {
        let remedy = "Read them again, together with the fabric.";
        return Err(refusal("the tables are for another number of switches or LIDs", Vec::new(), remedy));
    }
    let another = "If they are of another fabric, or of this one before it was changed, take an engine that computes routes.";
    for (reason, culprits) in [
        ("there are no tables of these switches", without_table(fabric, given)),
        ("the tables have no way to the LIDs of these nodes", without_way(fabric, given)),
        ("the tables of these switches send LIDs to ports without a cable to another node", with_dead_ends(fabric, given)),
        ("these nodes are not at the ports that the tables hand their LIDs to", elsewhere(fabric, given)),
    ] {
        if !culprits.is_empty() {
            return Err(refusal(reason, culprits, another));
        }
    }
    let vls = given.lanes().map_or(1, heddle_fabric::Lanes::vls);
    if vls > options.max_vls {
        return Err(crate::refusal::too_many_lanes(Engine::File, vls.into(), options.max_vls, Vec::new()));
    }
    for switch in switches(fabric) {
        tables.row_mut(switch).copy_from_slice(given.row(switch));
    }
    tables.set_lanes(given.lanes().cloned());
    Ok(())
}

fn switches(fabric: &Fabric) -> impl Iterator<Item = SwitchIndex> {
    (0..fabric.switch_count() as u32).map(SwitchIndex)
}

fn nodes(fabric: &Fabric, switches: impl Iterator<Item = SwitchIndex>) -> Vec<NodeIndex> {
    switches.map(|switch| fabric.switches()[switch.index()]).collect()
}

fn without_table(fabric: &Fabric, given: &Tables) -> Vec<NodeIndex> {
    nodes(fabric, switches(fabric).filter(|&switch| given.row(switch).iter().all(|&port| port == NO_PORT)))
}

fn without_way(fabric: &Fabric, given: &Tables) -> Vec<NodeIndex> {
    let mut has_way = vec![false; given.row_len()];
    for switch in switches(fabric) {
        has_way.iter_mut().zip(given.row(switch)).for_each(|(has_way, &port)| *has_way |= port != NO_PORT);
    }
    let lost = fabric.end_ports().iter().filter(|end| end.lids().any(|lid| !has_way[lid.index()]));
    lost.map(|end| end.at.node).collect()
}

fn with_dead_ends(fabric: &Fabric, given: &Tables) -> Vec<NodeIndex> {
    let has_dead_end = |&switch: &SwitchIndex| {
        let ports = fabric.node_ports(fabric.switches()[switch.index()]);
        let leads_on = |port: u8| port == 0 || port == NO_PORT || ports.get(usize::from(port)).is_some_and(|port| port.peer.is_some());
        given.row(switch).iter().any(|&port| !leads_on(port))
    };
    nodes(fabric, switches(fabric).filter(has_dead_end))
}

fn elsewhere(fabric: &Fabric, given: &Tables) -> Vec<NodeIndex> {
    let is_there = |port: u8, expected: u8| port == expected || port == NO_PORT;
    let moved = fabric.end_ports().iter().filter(|end| end.lids().any(|lid| !is_there(given.port(end.switch, lid), end.switch_port)));
    moved.map(|end| end.at.node).collect()
}
