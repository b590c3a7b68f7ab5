//! Routes through a dragonfly: a local cable, a global one to the other group, a local one (J. Kim et al., "Technology-driven, highly-scalable
//! dragonfly topology", ISCA 2008), on one SL and two VLs.
//!
//! The groups have an order, and a global cable leads *up*, to an earlier group, or *down*. A route goes up first and then down, mostly by one
//! global cable; the local cables of the groups where it begins and climbs are taken on VL 0, those of the groups where it descends on VL 1.
//! The switches tell that by the ports (SL2VL): what comes by a cable down leaves by a local cable on VL 1, else on VL 0. So packets keep one
//! SL, and no host has to be told of it. (This is the scheme of Kim and Dally, as arXiv 2502.01214 has it for InfiniBand, but for the order of
//! groups: there, every local cable after a global one is on VL 1. With the order, routes can pass through third groups round lost cables.)
//!
//! Inside a group the switches have an order as well, for routes round a lost local cable over a third switch: on one VL, they lead to earlier
//! switches first and then to later ones. The third switch does not know on which VL a packet came, so every other one keeps VL 0, and
//! the rest VL 1.
//!
//! **Why there is no deadlock.** Channels have *ranks*, and routes only go on to higher ones. From the last group to the first, its local
//! channels on VL 0, and then its global ones up; after these, from the first group to the last, its local channels on VL 1, and then its global
//! ones down.

use crate::graph::Graph;
use crate::order::is_real_host;
use crate::{Engine, Options, Refusal, refusal};
use heddle_fabric::{EndPort, Fabric, Groups, Lanes, Levels, NO_PORT, NodeIndex, SwitchIndex, Tables, classify};
use std::cmp::Reverse;
use std::collections::BTreeSet;

const ENGINE: Engine = Engine::Dragonfly;

/// Fills the tables of a connected fabric. `O(cables × switches)`.
pub(crate) fn fill(tables: &mut Tables, fabric: &Fabric, graph: &Graph, options: &Options) -> Result<(), Refusal> {
    let groups = Groups::find(fabric).ok_or_else(|| no_dragonfly(fabric))?;
    if options.max_vls < 2 {
        return Err(refusal::too_many_lanes(ENGINE, 2, options.max_vls, Vec::new()));
    }
    let channels = Channels::new(graph, &Places::new(graph, &groups));
    let row_len = tables.row_len();
    let mut ends: Vec<Vec<&EndPort>> = vec![Vec::new(); graph.len()];
    fabric.end_ports().iter().for_each(|end| ends[end.switch.index()].push(end));
    let hosts: Vec<u64> = ends.iter().map(|ends| ends.iter().filter(|end| is_real_host(fabric, end)).count() as u64).collect();
    let mut targets: Vec<usize> = (0..graph.len()).filter(|&switch| !ends[switch].is_empty()).collect();
    targets.sort_unstable_by_key(|&switch| graph.tie(switch));
    let mut search = Search::new(graph);
    let mut ports = Vec::new();
    for target in targets {
        if !search.run(graph, &channels, target, false) && !search.run(graph, &channels, target, true) {
            return Err(cut_off(fabric, &search, target));
        }
        search.add(graph, &hosts, hosts[target]);
        for &switch in &search.order[1..] {
            graph.turns(&[search.edge[switch]], &mut ports);
            let lids =
                ends[target].iter().enumerate().flat_map(|(turn, end)| end.lids().enumerate().map(move |(at, lid)| (turn + at, lid)));
            for (turn, lid) in lids {
                tables.rows_mut()[switch * row_len + lid.index()] = ports.get(turn % ports.len().max(1)).copied().unwrap_or(NO_PORT);
            }
        }
        for end in &ends[target] {
            end.lids().for_each(|lid| tables.row_mut(end.switch)[lid.index()] = end.switch_port);
        }
    }
    tables.set_lanes(Some(lanes(fabric, graph, &channels, row_len)));
    Ok(())
}

/// Where each switch is.
struct Places {
    /// By switch: the place of its group in the order of groups, those joined to most others first.
    group: Vec<u64>,
    groups: u64,
    /// By switch: its place in its group. Each but the first has a neighbour with a lower one, if the group is in one piece.
    place: Vec<u64>,
}

impl Places {
    fn new(graph: &Graph, groups: &Groups) -> Self {
        let mut group_of = vec![0; graph.len()];
        for (number, members) in groups.members.iter().enumerate() {
            members.iter().for_each(|switch| group_of[switch.index()] = number);
        }
        let joined = |members: &Vec<SwitchIndex>| {
            let peers = members.iter().flat_map(|switch| graph.peers(switch.index()));
            let mut others: Vec<usize> = peers.map(|&peer| group_of[peer as usize]).collect();
            others.sort_unstable();
            others.dedup();
            others.len()
        };
        let mut order: Vec<usize> = (0..groups.members.len()).collect();
        order.sort_by_key(|&number| Reverse(joined(&groups.members[number])));
        let mut places = Self { group: vec![0; graph.len()], groups: order.len() as u64, place: vec![u64::MAX; graph.len()] };
        for (number, place) in order.into_iter().zip(0..) {
            let members = &groups.members[number];
            members.iter().for_each(|switch| places.group[switch.index()] = place);
            let local = |switch: usize| graph.peers(switch).iter().map(|&peer| peer as usize).filter(|&peer| group_of[peer] == number);
            // Those that lost cables come late, so that the others, of both kinds, can stand in for them.
            let precedence = |switch: usize| (Reverse(local(switch).count()), graph.tie(switch), switch);
            let mut open = BTreeSet::new();
            let mut left: BTreeSet<_> = members.iter().map(|switch| precedence(switch.index())).collect();
            let mut next = 0;
            while let Some(first) = open.pop_first().or_else(|| left.first().copied()) {
                let (.., switch) = first;
                if left.remove(&first) {
                    places.place[switch] = next;
                    next += 1;
                    open.extend(local(switch).map(precedence));
                }
            }
        }
        places
    }
}

/// What must be known of the edges.
struct Channels {
    way: Vec<Way>,
    /// By edge: its rank on VL 0 and on VL 1. Global ones are on VL 0 only.
    rank: Vec<[u64; 2]>,
    /// By edge: the same in the other direction.
    back: Vec<usize>,
    /// By switch: the VL of what goes through from one local cable to another.
    through: Vec<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Local,
    Up,
    Down,
}

impl Channels {
    fn new(graph: &Graph, places: &Places) -> Self {
        let through = places.place.iter().map(|place| (place % 2) as usize).collect();
        let mut channels = Self { way: Vec::new(), rank: Vec::new(), back: Vec::new(), through };
        let size = graph.len() as u64;
        // The ranks of a group on a VL: local channels to earlier switches and to later ones, then the global ones.
        let ranks = |step: u64, inside: u64| step * (2 * size + 1) + inside;
        for from in 0..graph.len() {
            for edge in graph.edges(from) {
                let to = graph.peer(edge);
                let (group, other) = (places.group[from], places.group[to]);
                let (climbing, descending) = (places.groups - 1 - group, places.groups + group);
                let (way, rank) = if group == other {
                    let (place, next) = (places.place[from], places.place[to]);
                    let inside = if next < place { size - 1 - place } else { size + place };
                    (Way::Local, [ranks(climbing, inside), ranks(descending, inside)])
                } else if other < group {
                    (Way::Up, [ranks(climbing, 2 * size); 2])
                } else {
                    (Way::Down, [ranks(descending, 2 * size); 2])
                };
                channels.way.push(way);
                channels.rank.push(rank);
                channels.back.push(graph.edges(to).find(|&back| graph.peer(back) == from).unwrap_or(edge));
            }
        }
        channels
    }

    /// The VL of what comes to a switch by one edge and leaves by another.
    fn vl(&self, first: usize, switch: usize, second: usize) -> usize {
        match (self.way[first], self.way[second]) {
            (_, Way::Up | Way::Down) | (Way::Up, Way::Local) => 0,
            (Way::Down, Way::Local) => 1,
            (Way::Local, Way::Local) => self.through[switch],
        }
    }

    /// How few channels a packet can come from that goes to `switch` by one edge and on by another: less is better.
    fn rise(&self, first: usize, switch: usize, second: usize) -> u8 {
        match self.way[first] {
            Way::Down => 0,
            Way::Local if second == NONE => 1,
            Way::Local => match self.way[second] {
                Way::Down => 1,
                Way::Local => 2 - self.through[switch] as u8,
                Way::Up => 3,
            },
            Way::Up => 4,
        }
    }
}

const NONE: usize = usize::MAX;

/// The ways to one switch, from it backward, and the routes that all ways so far have brought.
struct Search {
    /// By switch: the edge that it takes.
    edge: Vec<usize>,
    /// By switch: the routes on the way.
    cost: Vec<u64>,
    is_done: Vec<bool>,
    /// All switches that have a way, the nearest first.
    order: Vec<usize>,
    /// By edge: its routes for each of its cables.
    load: Vec<u64>,
    routes: Vec<u64>,
}

impl Search {
    fn new(graph: &Graph) -> Self {
        let count = graph.len();
        Self {
            edge: vec![NONE; count],
            cost: vec![0; count],
            is_done: vec![false; count],
            order: Vec::new(),
            load: vec![0; graph.edge_count()],
            routes: vec![0; count],
        }
    }

    /// Hop by hop, each switch takes of the ways that are as short and allowed the one with the fewest routes; if that leaves a switch without
    /// a way, it helps to prefer, with `descend`, those that can be taken after most others. Whether all switches have a way.
    fn run(&mut self, graph: &Graph, channels: &Channels, target: usize, descend: bool) -> bool {
        self.edge.fill(NONE);
        self.is_done.fill(false);
        self.order.clear();
        self.order.push(target);
        self.is_done[target] = true;
        self.cost[target] = 0;
        // By switch: the best way found from it at this distance.
        let none = (0, u64::MAX, 0, NONE);
        let mut found = vec![none; graph.len()];
        let mut next = Vec::new();
        let mut done = 0;
        while done < self.order.len() {
            for &peer in &self.order[done..] {
                for back in graph.edges(peer) {
                    let (switch, edge) = (graph.peer(back), channels.back[back]);
                    if self.is_done[switch] || !self.is_allowed(graph, channels, edge, peer) {
                        continue;
                    }
                    let rise = if descend { channels.rise(edge, peer, self.edge[peer]) } else { 0 };
                    let way = (rise, self.cost[peer] + self.load[edge], graph.tie(peer), edge);
                    if found[switch].3 == NONE {
                        next.push(switch);
                        found[switch] = way;
                    }
                    found[switch] = found[switch].min(way);
                }
            }
            done = self.order.len();
            for switch in next.drain(..) {
                let (_, cost, _, edge) = std::mem::replace(&mut found[switch], none);
                (self.cost[switch], self.edge[switch], self.is_done[switch]) = (cost, edge, true);
                self.order.push(switch);
            }
        }
        self.order.len() == graph.len()
    }

    /// Whether ranks go up for what comes by `first` to `peer` and goes on from there: up to the channel after next, from where on it is as for
    /// what begins at `peer`.
    fn is_allowed(&self, graph: &Graph, channels: &Channels, first: usize, peer: usize) -> bool {
        let second = self.edge[peer];
        if second == NONE {
            return true;
        }
        let next = graph.peer(second);
        let after = channels.rank[second][channels.vl(first, peer, second)];
        let third = self.edge[next];
        channels.rank[first][0] < after && (third == NONE || after < channels.rank[third][channels.vl(second, next, third)])
    }

    /// Adds the routes from all hosts to those of the target.
    fn add(&mut self, graph: &Graph, hosts: &[u64], here: u64) {
        self.routes.copy_from_slice(hosts);
        for &switch in self.order[1..].iter().rev() {
            let (edge, routes) = (self.edge[switch], self.routes[switch]);
            self.load[edge] += routes * here / graph.ports(edge).len().max(1) as u64;
            self.routes[graph.peer(edge)] += routes;
        }
    }
}

/// One SL; SL2VL as [`Channels::vl`] says, VL 0 for what comes from hosts.
fn lanes(fabric: &Fabric, graph: &Graph, channels: &Channels, row_len: usize) -> Lanes {
    let mut lanes = Lanes::by_ports(fabric, Levels::ByDestination(vec![0; row_len]), [0; 16]);
    for switch in 0..graph.len() {
        for (back, to) in graph.edges(switch).flat_map(|back| graph.edges(switch).map(move |to| (back, to))) {
            if channels.vl(channels.back[back], switch, to) == 1 {
                for (&entry, &exit) in graph.ports(back).iter().flat_map(|entry| graph.ports(to).iter().map(move |exit| (entry, exit))) {
                    lanes.set_row(SwitchIndex(switch as u32), entry, exit, [1; 16]);
                }
            }
        }
    }
    lanes
}

fn no_dragonfly(fabric: &Fabric) -> Refusal {
    let class = classify(fabric);
    let nodes = class.parts.iter().flat_map(|part| part.findings.iter().flat_map(|finding| &finding.nodes).chain(&part.nodes));
    let mut culprits: Vec<NodeIndex> = Vec::new();
    nodes.for_each(|&node| {
        if !culprits.contains(&node) && culprits.len() < 8 {
            culprits.push(node)
        }
    });
    Refusal {
        engine: ENGINE,
        reason: format!("no groups of switches that are all neighbours and all joined with each other can be told: this is {class}; in it"),
        culprits,
        remedy: "Use auto, which goes by the shape, or dfsssp, nue or up-down, which route any.".to_owned(),
    }
}

fn cut_off(fabric: &Fabric, search: &Search, target: usize) -> Refusal {
    let node = |switch: usize| fabric.switches()[switch];
    let mut culprits: Vec<NodeIndex> = (0..search.is_done.len()).filter(|&switch| !search.is_done[switch]).map(node).collect();
    culprits.sort_unstable_by_key(|&switch| fabric.node(switch).guid);
    culprits.insert(0, node(target));
    Refusal {
        engine: ENGINE,
        reason: "so many cables are lost that two virtual lanes leave no way to the first of these switches from the others".to_owned(),
        culprits,
        remedy: "Repair cables between groups, or use dfsssp, nue or up-down.".to_owned(),
    }
}
