//! Shortest ways that spread over the least used cables (T. Hoefler, T. Schneider and A. Lumsdaine, "Optimized routing for large-scale
//! InfiniBand networks", HOTI 2009): one destination after another, each takes of all shortest ways those over the cables with the
//! fewest routes so far.

use crate::graph::Graph;
use crate::order::{Order, is_real_host};
use heddle_fabric::{EndPort, Fabric, NO_PORT, SwitchIndex, Tables};

/// Fills the tables of a connected fabric.
pub(crate) fn fill(tables: &mut Tables, fabric: &Fabric, graph: &Graph, order: &Order) {
    let row_len = tables.row_len();
    let mut hosts = vec![0u64; fabric.switch_count()];
    fabric.end_ports().iter().filter(|end| is_real_host(fabric, end)).for_each(|end| hosts[end.switch.index()] += 1);
    let ends = in_turn(fabric, graph, &hosts, order);

    let cables = Cables::new(fabric, graph);
    let mut load = vec![0u64; cables.port.len()];
    let mut search = Search::default();
    for end in ends {
        for lid in end.lids() {
            search.run(graph, &cables, end.switch.index(), &load);
            for &switch in search.order.iter().rev() {
                let cable = search.cable[switch as usize];
                let port = if cable == NONE { NO_PORT } else { cables.port[cable as usize] };
                tables.rows_mut()[switch as usize * row_len + lid.index()] = port;
            }
            search.add(&cables, &hosts, &mut load);
            tables.row_mut(end.switch)[lid.index()] = end.switch_port;
        }
    }
}

/// The order in which the destinations are routed. Where some switches have no hosts, as in a tree, one switch's hosts after another's: they
/// then take one way up after another, and those of all switches the same. Where all have, one host of each switch after another, so that
/// no switch's hosts get only what the others left.
fn in_turn<'a>(fabric: &'a Fabric, graph: &Graph, hosts: &[u64], order: &Order) -> Vec<&'a EndPort> {
    let by_switch = hosts.contains(&0);
    let place = |switch: SwitchIndex| if by_switch { u64::from(order.rank[switch.index()]) } else { graph.tie(switch.index()) };
    let mut seen = vec![0u32; hosts.len()];
    let ends = fabric.end_ports().iter().map(|end| {
        let turn = &mut seen[end.switch.index()];
        *turn += 1;
        ((!is_real_host(fabric, end), if by_switch { 0 } else { *turn }, place(end.switch), *turn), end)
    });
    let mut ends: Vec<_> = ends.collect();
    ends.sort_unstable_by_key(|&(key, _)| key);
    ends.into_iter().map(|(_, end)| end).collect()
}

const NONE: u32 = u32::MAX;

/// The cables out of each switch.
struct Cables {
    /// By switch; one more entry at the end.
    base: Vec<u32>,
    port: Vec<u8>,
    peer: Vec<u32>,
}

impl Cables {
    fn new(fabric: &Fabric, graph: &Graph) -> Self {
        let mut cables = Self { base: vec![0], port: Vec::new(), peer: Vec::new() };
        for switch in (0..graph.len() as u32).map(SwitchIndex) {
            for arc in fabric.arcs(switch) {
                cables.port.push(arc.port);
                cables.peer.push(arc.peer.0);
            }
            cables.base.push(cables.port.len() as u32);
        }
        cables
    }

    fn of(&self, switch: u32) -> std::ops::Range<usize> {
        self.base[switch as usize] as usize..self.base[switch as usize + 1] as usize
    }
}

/// The ways to one destination.
#[derive(Default)]
struct Search {
    hops: Vec<u32>,
    /// The sum of the loads on the way.
    cost: Vec<u64>,
    /// By switch: the cable that it takes.
    cable: Vec<u32>,
    /// All switches, the nearest first.
    order: Vec<u32>,
    routes: Vec<u64>,
}

impl Search {
    fn run(&mut self, graph: &Graph, cables: &Cables, target: usize, load: &[u64]) {
        let count = graph.len();
        self.hops.clear();
        self.hops.resize(count, u32::MAX);
        self.cost.clear();
        self.cost.resize(count, 0);
        self.cable.clear();
        self.cable.resize(count, NONE);
        self.order.clear();
        self.hops[target] = 0;
        self.order.push(target as u32);
        let mut head = 0;
        while let Some(&switch) = self.order.get(head) {
            head += 1;
            let hops = self.hops[switch as usize];
            if hops > 0 {
                let nearer = cables.of(switch).filter(|&cable| self.hops[cables.peer[cable] as usize] < hops);
                let best = nearer.min_by_key(|&cable| load[cable] + self.cost[cables.peer[cable] as usize]);
                if let Some(cable) = best {
                    self.cost[switch as usize] = load[cable] + self.cost[cables.peer[cable] as usize];
                    self.cable[switch as usize] = cable as u32;
                }
            }
            for &peer in graph.peers(switch as usize) {
                if self.hops[peer as usize] == u32::MAX {
                    self.hops[peer as usize] = hops + 1;
                    self.order.push(peer);
                }
            }
        }
    }

    /// Adds the routes of all hosts to the loads.
    fn add(&mut self, cables: &Cables, hosts: &[u64], load: &mut [u64]) {
        self.routes.clear();
        self.routes.extend(hosts);
        for &switch in self.order[1..].iter().rev() {
            let cable = self.cable[switch as usize] as usize;
            let routes = self.routes[switch as usize];
            load[cable] += routes;
            self.routes[cables.peer[cable] as usize] += routes;
        }
    }
}
