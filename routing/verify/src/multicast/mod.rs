//! Multicast tables: the trees of groups, and deadlock beside the unicast routes.

mod flood;
mod report;

pub use report::{MulticastFault, MulticastReport, MulticastStep, MulticastWitness, Packets};

use crate::dependencies::{self, Set};
use crate::net::Net;
use crate::{Certificate, Place, cycle, lanes, witness};
use flood::{Flood, Turn};
use heddle_fabric::{Fabric, Group, Lanes, Mlid, MulticastTables, PortRef, SwitchIndex, Tables};
use rayon::prelude::*;
use std::collections::BTreeSet;

/// Verifies multicast tables beside the unicast tables that are to be programmed with them.
///
/// Of each group: a packet from each member and sender comes to each other member of the same part of the fabric exactly once, to nobody
/// else, and to no switch twice, so that nothing goes in circles; and no entry is without use. Every switch copies a packet to all ports
/// of its mask but the one by which it came (IBA 18.2.4.3.3).
///
/// **Deadlock.** A packet waits in the buffer by which it came for all ports of its mask, so that channel depends on each of those channels.
/// Copies that have left wait for none of the others: credits are for whole packets (IBA 7.9), and a copy that was begun ends. So siblings
/// do not depend on each other, as they would where a blocked branch stops the others in the middle of a packet (X. Lin, P. K. McKinley and
/// L. M. Ni, IEEE Trans. Parallel and Distributed Systems 5(8), 1994); and where unicast and multicast dependencies together have no circle,
/// the channel that is last in rank can always be emptied, and then the one before. This does not hold for switches that keep the credits
/// of some branches while they wait for those of others. As elsewhere, channels alone are looked at first, and then the VLs that the SLs of
/// routes and groups are mapped to, if the unicast tables tell.
///
/// `O(switches * LIDs)` for the unicast routes, and for each group `O(switches that send * entries of its tree)`.
#[must_use]
pub fn verify_multicast(fabric: &Fabric, unicast: &Tables, groups: &[Group], tables: &MulticastTables) -> MulticastReport {
    let net = Net::new(fabric);
    let of_groups: Vec<Vec<MulticastFault>> = groups.par_iter().map(|group| check(&net, unicast.lanes(), group, tables)).collect();
    let mut faults: Vec<MulticastFault> = of_groups.into_iter().flatten().collect();
    let known: BTreeSet<Mlid> = groups.iter().map(|group| group.mlid).collect();
    let nobodys: Vec<Group> = tables
        .mlids()
        .filter(|mlid| !known.contains(mlid))
        .map(|mlid| Group { mlid, sl: 0, members: Vec::new(), senders: Vec::new() })
        .collect();
    faults.extend(nobodys.iter().flat_map(|group| circles(&net, group, tables)));
    let fault_count = faults.len() as u64;
    faults.truncate(MulticastReport::KEPT);
    MulticastReport {
        groups: groups.len(),
        faults,
        fault_count,
        unowned_mlids: nobodys.len() as u64,
        deadlock: rank(&net, unicast, groups, &nobodys, tables),
    }
}

/// The ports of a switch, or behind it, by which a group's packets come in: who may send there.
fn senders(fabric: &Fabric, group: &Group) -> BTreeSet<(SwitchIndex, u8)> {
    group.members.iter().chain(&group.senders).filter_map(|&at| fabric.attachment(at)).collect()
}

/// Switches with senders, and the senders' ports there.
type Sources = Vec<(SwitchIndex, Vec<u8>)>;

fn sources(fabric: &Fabric, group: &Group) -> Sources {
    let all: Vec<_> = senders(fabric, group).into_iter().collect();
    all.chunk_by(|a, b| a.0 == b.0).map(|here| (here[0].0, here.iter().map(|&(_, port)| port).collect())).collect()
}

fn check(net: &Net<'_>, lanes: Option<&Lanes>, group: &Group, tables: &MulticastTables) -> Vec<MulticastFault> {
    let mut faults = Vec::new();
    let (fabric, mlid) = (net.fabric, group.mlid);
    let place = |switch: SwitchIndex, port: u8| Place::new(fabric, switch, port);
    let members: BTreeSet<(SwitchIndex, u8)> = group.members.iter().filter_map(|&at| fabric.attachment(at)).collect();
    let at_switches: BTreeSet<SwitchIndex> = members.iter().map(|&(switch, _)| switch).collect();
    let all_are_told = members.iter().all(|&(switch, port)| tables.contains(mlid, switch, port));
    // The ports to switches by which some sender's packets leave.
    let mut used = BTreeSet::new();
    for (source, ports) in sources(fabric, group) {
        let flood = Flood::new(net, lanes, group, tables, (source, &ports));
        let from = place(source, ports[0]);
        faults.extend(flood.twice.map(|(at, entry)| MulticastFault::Twice { mlid, from: from.clone(), at: place(at, entry) }));
        faults.extend(flood.dropped.map(|(at, exit)| MulticastFault::DroppedBySl { mlid, from: from.clone(), at: place(at, exit) }));
        used.extend(flood.useful(&members));
        if all_are_told && at_switches.iter().all(|&switch| flood.reaches(switch)) {
            continue;
        }
        let is_reached = |&(switch, port): &(SwitchIndex, u8)| flood.reaches(switch) && tables.contains(mlid, switch, port);
        for &to in members.iter().filter(|to| !is_reached(to) && !net.are_apart(source, to.0)) {
            // Nobody sends to oneself.
            if let Some(&sender) = ports.iter().find(|&&port| (source, port) != to) {
                faults.push(MulticastFault::Missed { mlid, from: place(source, sender), to: place(to.0, to.1) });
            }
        }
    }
    for &switch in tables.switches(mlid) {
        for port in tables.ports(mlid, switch).filter(|&port| !members.contains(&(switch, port)) && !used.contains(&(switch, port))) {
            let end = fabric.port(PortRef::new(fabric.switches()[switch.index()], port)).and_then(|port| port.peer);
            let leads_to = end.map(|end| Place::of_port(fabric, end));
            faults.push(MulticastFault::Stray { mlid, at: place(switch, port), leads_to });
        }
    }
    faults
}

/// Where packets to an MLID of nobody, which somebody may still send, come to a switch twice.
fn circles(net: &Net<'_>, group: &Group, tables: &MulticastTables) -> Option<MulticastFault> {
    let place = |(switch, port)| Place::new(net.fabric, switch, port);
    let twice = |source: SwitchIndex| {
        let flood = Flood::new(net, None, group, tables, (source, &[0]));
        flood.twice.map(|at| MulticastFault::Twice { mlid: group.mlid, from: place((source, 0)), at: place(at) })
    };
    tables.switches(group.mlid).iter().find_map(|&source| twice(source))
}

fn rank(
    net: &Net<'_>,
    unicast: &Tables,
    groups: &[Group],
    nobodys: &[Group],
    tables: &MulticastTables,
) -> Result<Certificate, MulticastWitness> {
    // Packets to an MLID of nobody can come in anywhere.
    let anywhere = |group: &Group| tables.switches(group.mlid).iter().map(|&switch| (switch, vec![0])).collect();
    let flows: Vec<(&Group, Sources)> = groups
        .iter()
        .map(|group| (group, sources(net.fabric, group)))
        .chain(nobodys.iter().map(|group| (group, anywhere(group))))
        .collect();
    let turns = |lanes: Option<&Lanes>, tell: &mut dyn FnMut(&Group, Turn)| {
        for &(group, ref sources) in &flows {
            for &(source, ref ports) in sources {
                Flood::new(net, lanes, group, tables, (source, ports)).turns(|turn| tell(group, turn));
            }
        }
    };
    let witness = |set: &Set, lanes: Option<&Lanes>| {
        let cycle = cycle::short_cycle(net, set);
        let steps = cycle.iter().zip(cycle.iter().cycle().skip(1)).filter_map(|(&node, &next)| {
            let packets = match witness::a_lid_between(net, unicast, set, node, next) {
                Some(lid) => Packets::Unicast { lid, owner: Place::of_port(net.fabric, net.fabric.lid_owner(lid)?.at) },
                None => {
                    let mut mlid = None;
                    turns(lanes, &mut |group, turn| {
                        if turn.nodes(net, set.vls).any(|pair| pair == (node, next)) {
                            mlid.get_or_insert(group.mlid);
                        }
                    });
                    Packets::Multicast { mlid: mlid? }
                }
            };
            let (switch, port) = net.fabric.channel_at(node / set.vls);
            let vl = lanes.map(|_| (node % set.vls) as u8);
            Some(MulticastStep { channel: Place::new(net.fabric, switch, port), vl, packets })
        });
        MulticastWitness { steps: steps.collect() }
    };
    let with = |mut set: Set, lanes: Option<&Lanes>| {
        turns(lanes, &mut |_, turn| turn.insert(net, &mut set));
        set
    };

    let set = with(dependencies::collect(net, unicast).counted, None);
    if let Some(ranks) = cycle::ranks(net, &set) {
        return Ok(Certificate { vls: 1, ranks, covers_switch_to_switch: false });
    }
    let Some(lanes) = unicast.lanes() else { return Err(witness(&set, None)) };
    let levels = groups.iter().fold(lanes.used_levels(), |levels, group| levels | 1u16.checked_shl(group.sl.into()).unwrap_or(0));
    let vls = lanes.vls_of(levels);
    let set = with(lanes::collect(net, unicast, lanes, vls).set, Some(lanes));
    match cycle::ranks(net, &set) {
        Some(ranks) => Ok(Certificate { vls, ranks, covers_switch_to_switch: false }),
        None => Err(witness(&set, Some(lanes))),
    }
}
