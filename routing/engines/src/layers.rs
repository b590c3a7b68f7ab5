//! Routes on several virtual lanes: each layer takes those that close no circle in it.

use crate::acyclic::{Acyclic, Channels, NOWHERE};
use heddle_fabric::{EndPort, Fabric, Lid, NO_PORT, NodeIndex, SwitchIndex, Tables};

/// The service level of no route.
pub(crate) const NO_LEVEL: u8 = u8::MAX;

/// For each switch and LID, in rows as long as those of the tables, the layer of the route; [`NO_LEVEL`] where no packets go. Also how many
/// layers there are.
///
/// Routes to hosts count from all switches, routes to switches from those with hosts.
pub(crate) fn assign(fabric: &Fabric, tables: &Tables) -> (Vec<u8>, usize) {
    let count = fabric.switch_count();
    let row_len = tables.row_len();
    let mut has_hosts = vec![false; count];
    fabric.end_ports().iter().filter(|end| end.is_host()).for_each(|end| has_hosts[end.switch.index()] = true);
    // Ties go by GUID, so that the order of the nodes decides nothing.
    let mut by_guid: Vec<u32> = (0..count as u32).collect();
    by_guid.sort_unstable_by_key(|&switch| fabric.switch(SwitchIndex(switch)).guid);
    let channels = Channels::of_ports(fabric);
    let mut layers: Vec<Layer> = Vec::new();
    let mut levels = vec![NO_LEVEL; count * row_len];
    let mut tree = Tree::default();
    let mut left = Vec::new();
    for end in fabric.end_ports() {
        for lid in end.lids() {
            tree.build(fabric, &channels, tables, &by_guid, end, lid);
            levels[end.switch.index() * row_len + lid.index()] = 0;
            left.clear();
            left.extend(tree.order.iter().copied().filter(|&switch| end.is_host() || has_hosts[switch as usize]));
            for number in 0.. {
                if left.is_empty() {
                    break;
                }
                if number == layers.len() {
                    layers.push(Layer::new(&channels));
                }
                let layer = &mut layers[number];
                layer.begin(count, end.switch.0);
                left.retain(|&source| {
                    let fits = layer.take(&channels, &tree, source);
                    if fits {
                        levels[source as usize * row_len + lid.index()] = number as u8;
                    }
                    !fits
                });
            }
        }
    }
    (levels, layers.len().max(1))
}

/// The switches with a route in a layer beyond the first `allowed`.
pub(crate) fn begin_beyond(fabric: &Fabric, levels: &[u8], allowed: u8) -> Vec<NodeIndex> {
    let row_len = levels.len() / fabric.switch_count().max(1);
    let beyond = |row: &[u8]| row.iter().any(|&level| level != NO_LEVEL && level >= allowed);
    let rows = levels.chunks(row_len.max(1)).zip(fabric.switches());
    rows.filter(|(row, _)| beyond(row)).map(|(_, &node)| node).collect()
}

/// The routes to one LID.
#[derive(Default)]
struct Tree {
    /// By switch: the channel by which it sends; [`NOWHERE`] at the switch of destination, and where packets are lost.
    channel: Vec<u32>,
    /// By switch: the next on the way.
    next: Vec<u32>,
    /// All that reach the destination, the nearest first, that of destination left out.
    order: Vec<u32>,
}

impl Tree {
    fn build(&mut self, fabric: &Fabric, channels: &Channels, tables: &Tables, by_guid: &[u32], end: &EndPort, lid: Lid) {
        let count = fabric.switch_count();
        self.channel.clear();
        self.channel.resize(count, NOWHERE);
        self.next.clear();
        self.next.resize(count, NOWHERE);
        let mut hops = vec![u32::MAX; count];
        hops[end.switch.index()] = 0;
        for switch in 0..count {
            let index = SwitchIndex(switch as u32);
            let port = tables.port(index, lid);
            if port != NO_PORT && port <= fabric.switch(index).num_ports && index != end.switch {
                let channel = fabric.channel(index, port);
                if let Some((peer, _)) = fabric.channel_peer(channel).filter(|_| channels.next(channel) != NOWHERE) {
                    self.channel[switch] = channel as u32;
                    self.next[switch] = peer.0;
                }
            }
        }
        let mut route = Vec::new();
        self.order.clear();
        for source in 0..count {
            let mut at = source;
            while hops[at] == u32::MAX && self.next[at] != NOWHERE && route.len() <= count {
                route.push(at);
                at = self.next[at] as usize;
            }
            let mut known = hops[at];
            for switch in route.drain(..).rev() {
                known = known.saturating_add(1);
                hops[switch] = known;
            }
        }
        self.order.extend(by_guid.iter().copied().filter(|&switch| hops[switch as usize] < u32::MAX && switch != end.switch.0));
        self.order.sort_by_key(|&switch| hops[switch as usize]);
    }
}

/// One layer.
struct Layer {
    dependencies: Acyclic,
    /// By switch: what is known of its route to the LID at hand.
    routes: Vec<Route>,
    /// Room for one route.
    way: Vec<u32>,
}

/// Whether a route is in a layer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Route {
    Open,
    Taken,
    /// It would close a circle.
    Refused,
}

impl Layer {
    fn new(channels: &Channels) -> Self {
        Self { dependencies: Acyclic::new(channels), routes: Vec::new(), way: Vec::new() }
    }

    /// Goes on to another LID.
    fn begin(&mut self, switches: usize, target: u32) {
        self.routes.clear();
        self.routes.resize(switches, Route::Open);
        self.routes[target as usize] = Route::Taken;
    }

    /// Takes the route from `source` if it closes no circle.
    fn take(&mut self, channels: &Channels, tree: &Tree, source: u32) -> bool {
        self.way.clear();
        let mut at = source;
        while self.routes[at as usize] == Route::Open {
            self.way.push(at);
            at = tree.next[at as usize];
        }
        let mut refused = self.routes[at as usize] == Route::Refused;
        // From the destination's end, so that what is refused is known for all who come by.
        for step in (0..self.way.len()).rev() {
            let switch = self.way[step];
            let (from, to) = (tree.channel[switch as usize], tree.channel[tree.next[switch as usize] as usize]);
            refused = refused || to != NOWHERE && !self.dependencies.add(channels, from, to);
            if refused {
                self.routes[switch as usize] = Route::Refused;
            }
        }
        if !refused {
            self.way.iter().for_each(|&switch| self.routes[switch as usize] = Route::Taken);
        }
        !refused
    }
}
