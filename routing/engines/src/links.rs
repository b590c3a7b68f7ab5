//! Which cables between switches may be used, and how much each can carry.

use crate::options::Throttled;
use crate::pieces::Pieces;
use crate::{Engine, Options, Refusal};
use heddle_fabric::{Fabric, FabricBuilder, Link, NodeIndex, NodeKind, PortRef, SwitchIndex};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The fabric without the cables that `options` say not to use; `None` if they leave all. Nodes, ports and LIDs stay as they are.
///
/// # Errors
/// A refusal if the cables to be ignored are the only ones of a host, or the only ones between some switches.
pub(crate) fn usable(engine: Engine, fabric: &Fabric, options: &Options) -> Result<Option<Fabric>, Refusal> {
    let ignored = if_ignored(fabric, options);
    let avoids = options.throttled == Throttled::Avoid;
    if ignored.is_empty() && !avoids {
        return Ok(None);
    }
    let mut builder = fabric.to_builder();
    ignored.iter().for_each(|&at| builder.disconnect(at));
    if !ignored.is_empty() {
        if_needed(engine, fabric, &ignored, &builder)?;
    }
    if avoids {
        without_throttled(&mut builder);
    }
    Ok(Some(builder.build()))
}

/// The ports of the cables to be ignored, one for each.
fn if_ignored(fabric: &Fabric, options: &Options) -> Vec<PortRef> {
    let known = options.ignored_links.iter().filter_map(|&(guid, port)| Some(PortRef::new(fabric.node_by_guid(guid)?, port)));
    known.filter(|&at| fabric.port(at).is_some_and(|port| port.peer.is_some())).collect()
}

/// Refuses if something hangs on the cables that `builder` lacks.
fn if_needed(engine: Engine, fabric: &Fabric, ignored: &[PortRef], builder: &FabricBuilder) -> Result<(), Refusal> {
    let mut pieces = pieces(builder);
    let mut culprits = Vec::new();
    for &at in ignored {
        let Some(peer) = fabric.port(at).and_then(|port| port.peer) else { continue };
        let ends = [at.node, peer.node];
        let hosts = ends.iter().filter(|&&end| fabric.switch_index(end).is_none());
        if hosts.clone().count() > 0 {
            culprits.extend(hosts);
        } else if pieces.first(at.node.index()) != pieces.first(peer.node.index()) {
            culprits.extend(ends);
        }
    }
    culprits.sort_by_key(|&node| fabric.node(node).guid);
    culprits.dedup();
    if culprits.is_empty() {
        return Ok(());
    }
    let reason = "the ignored links are the only ways to or between these".to_owned();
    let remedy = "Take one of their links out of the list (--ignore-links).".to_owned();
    Err(Refusal { engine, reason, culprits, remedy })
}

/// Pulls the throttled cables out, but for those without which the fabric would fall apart: of these, the fastest stay.
fn without_throttled(builder: &mut FabricBuilder) {
    let mut throttled = throttled(builder);
    throttled.iter().for_each(|cable| builder.disconnect(cable.at));
    throttled.sort_by_key(|cable| (Reverse(cable.rate), cable.at));
    let mut pieces = pieces(builder);
    for equals in throttled.chunk_by(|a, b| a.rate == b.rate) {
        let needed: Vec<&Cable> =
            equals.iter().filter(|cable| pieces.first(cable.at.node.index()) != pieces.first(cable.peer.node.index())).collect();
        for cable in needed {
            builder.connect(cable.at, cable.peer, cable.link).expect("the cable was there");
            pieces.join(cable.at.node.index(), cable.peer.node.index());
        }
    }
}

/// A cable between two switches whose width and speed are known.
#[derive(Clone, Copy)]
struct Cable {
    at: PortRef,
    peer: PortRef,
    link: Link,
    /// In Mb/s.
    rate: u32,
}

/// The cables that are slower than the usual one at both their ends: a switch of an older generation has slow cables, but these are usual
/// for it. The usual one of a switch is the median of its cables to switches, the faster one of two.
fn throttled(builder: &FabricBuilder) -> Vec<Cable> {
    let known = |(at, peer, link): (PortRef, PortRef, Link)| Some(Cable { at, peer, link, rate: link.megabits()? });
    let cables: Vec<Cable> = cables(builder).filter_map(known).collect();
    let mut rates: BTreeMap<NodeIndex, Vec<u32>> = BTreeMap::new();
    for cable in &cables {
        rates.entry(cable.at.node).or_default().push(cable.rate);
        rates.entry(cable.peer.node).or_default().push(cable.rate);
    }
    rates.values_mut().for_each(|rates| rates.sort_unstable());
    let usual = |node: NodeIndex| rates[&node][rates[&node].len() / 2];
    // A switch with this cable alone has no usual one.
    let is_slow = |cable: &Cable, node: NodeIndex| cable.rate < usual(node) || rates[&node].len() == 1;
    let both = |cable: &&Cable| is_slow(cable, cable.at.node) && is_slow(cable, cable.peer.node);
    cables.iter().filter(both).copied().collect()
}

/// The cables between switches.
fn cables(builder: &FabricBuilder) -> impl Iterator<Item = (PortRef, PortRef, Link)> {
    let is_switch = |node: NodeIndex| builder.nodes()[node.index()].kind == NodeKind::Switch;
    let switches = (0..builder.nodes().len() as u32).map(NodeIndex).filter(move |&node| is_switch(node));
    let ports = switches.flat_map(|node| (1..=builder.nodes()[node.index()].num_ports).map(move |port| PortRef::new(node, port)));
    ports.filter_map(move |at| {
        let (peer, link) = builder.peer(at).filter(|(peer, _)| at < *peer && at.node != peer.node && is_switch(peer.node))?;
        Some((at, peer, link))
    })
}

/// The most shares that a cable has.
const MOST: u32 = 24;

/// By switch and arc: how many shares of the routes its cable should have beside others, in proportion to its rate, 1 to 24. Empty where all
/// should have the same. A cable whose rate is not known counts as one of the fastest. The shares of the usual ratios are exact: 12x, 4x, 2x
/// and 1x, and doubled speeds.
pub(crate) fn shares(fabric: &Fabric) -> Vec<Vec<u8>> {
    let switches = (0..fabric.switch_count() as u32).map(SwitchIndex);
    let rate = |switch: SwitchIndex, port: u8| {
        let at = PortRef::new(fabric.switches()[switch.index()], port);
        fabric.port(at).and_then(|port| port.link.megabits())
    };
    let rates: Vec<Vec<Option<u32>>> =
        switches.map(|switch| fabric.arcs(switch).iter().map(|arc| rate(switch, arc.port)).collect()).collect();
    let Some(fastest) = rates.iter().flatten().flatten().copied().max() else { return Vec::new() };
    let share = |rate: Option<u32>| rate.map_or(MOST, |rate| ((MOST * (rate / 1000) + fastest / 2000) / (fastest / 1000)).max(1)) as u8;
    let mut shares: Vec<Vec<u8>> = rates.into_iter().map(|rates| rates.into_iter().map(share).collect()).collect();
    let common = shares.iter().flatten().fold(0, |common, &share| greatest_common_divisor(share, common));
    shares.iter_mut().flatten().for_each(|share| *share /= common);
    if shares.iter().flatten().all(|&share| share == 1) { Vec::new() } else { shares }
}

/// What a route costs on a cable with this many shares, so that cables cost the same if they have routes in proportion to their shares.
pub(crate) fn price(share: u8) -> u64 {
    // Divisible by all up to 16; 4 milliards of routes cost less than 2^52.
    720_720 / u64::from(share)
}

fn greatest_common_divisor(a: u8, b: u8) -> u8 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// By node: which switches are in one piece; every host is one of its own, since hosts forward nothing.
fn pieces(builder: &FabricBuilder) -> Pieces {
    let mut pieces = Pieces::new(builder.nodes().len());
    cables(builder).for_each(|(at, peer, _)| _ = pieces.join(at.node.index(), peer.node.index()));
    pieces
}
