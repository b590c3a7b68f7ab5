//! Routes on several virtual lanes: each layer takes those that close no circle in it.
//!
//! A layer holds the dependencies between channels of the routes that are in it, and an order of all channels in which each dependency
//! goes up. A new dependency that does not go up moves the channels between its ends, unless these are connected the other way round
//! already: then it would close a circle (D. J. Pearce and P. H. J. Kelly, "A dynamic topological sort algorithm for directed acyclic
//! graphs", ACM JEA 11, 2007).

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
    let channels = Channels::new(fabric);
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

const NOWHERE: u32 = u32::MAX;

/// The ports of exit of all switches.
struct Channels {
    /// By channel: where its dependencies begin in a layer, as bits for the ports of the switch at its end.
    begin: Vec<u32>,
    /// By channel: the first channel of the switch at its end; [`NOWHERE`] if there is none.
    next: Vec<u32>,
    words: usize,
}

impl Channels {
    fn new(fabric: &Fabric) -> Self {
        let mut channels = Self { begin: Vec::new(), next: Vec::new(), words: 0 };
        for channel in 0..fabric.channel_count() {
            channels.begin.push(channels.words as u32);
            let peer = fabric.channel_peer(channel).map(|(peer, _)| peer);
            channels.next.push(peer.map_or(NOWHERE, |peer| fabric.channel(peer, 0) as u32));
            channels.words += peer.map_or(0, |peer| usize::from(fabric.switch(peer).num_ports) / 64 + 1);
        }
        channels
    }

    /// The word and bit of a dependency.
    fn place(&self, from: u32, to: u32) -> (usize, u64) {
        let port = to - self.next[from as usize];
        ((self.begin[from as usize] + port / 64) as usize, 1 << (port % 64))
    }
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
                if let Some((peer, _)) = fabric.channel_peer(channel).filter(|_| channels.next[channel] != NOWHERE) {
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

/// The dependencies of one layer, without a circle.
struct Layer {
    bits: Vec<u64>,
    /// By channel: its place in the order; and the reverse.
    place: Vec<u32>,
    channel_at: Vec<u32>,
    /// Dependencies that would close a circle, as far as is known; like `bits`.
    forbidden: Vec<u64>,
    /// By switch: what is known of its route to the LID at hand.
    routes: Vec<Route>,
    /// Room for one route and for searches.
    way: Vec<u32>,
    seen: Vec<bool>,
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
        let count = channels.begin.len();
        Self {
            bits: vec![0; channels.words],
            place: (0..count as u32).collect(),
            channel_at: (0..count as u32).collect(),
            forbidden: vec![0; channels.words],
            routes: Vec::new(),
            way: Vec::new(),
            seen: vec![false; count],
        }
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
            refused = refused || to != NOWHERE && !self.add(channels, from, to);
            if refused {
                self.routes[switch as usize] = Route::Refused;
            }
        }
        if !refused {
            self.way.iter().for_each(|&switch| self.routes[switch as usize] = Route::Taken);
        }
        !refused
    }

    /// Adds a dependency if that closes no circle.
    fn add(&mut self, channels: &Channels, from: u32, to: u32) -> bool {
        let (word, bit) = channels.place(from, to);
        if self.bits[word] & bit != 0 {
            return true;
        }
        if self.forbidden[word] & bit != 0 {
            return false;
        }
        if !self.order(channels, from, to) {
            self.forbidden[word] |= bit;
            return false;
        }
        self.bits[word] |= bit;
        true
    }

    /// Makes `from` come before `to`; false if `to` leads to `from`.
    fn order(&mut self, channels: &Channels, from: u32, to: u32) -> bool {
        let (low, high) = (self.place[to as usize], self.place[from as usize]);
        if high < low {
            return true;
        }
        if from == to {
            return false;
        }
        // What `to` leads to, as far as it is not beyond `from`.
        let mut after = vec![to];
        self.seen[to as usize] = true;
        let mut head = 0;
        let mut circle = false;
        while let Some(&channel) = after.get(head) {
            head += 1;
            let first = channels.next[channel as usize];
            if first == NOWHERE {
                continue;
            }
            let begin = channels.begin[channel as usize] as usize;
            let end = channels.begin.get(channel as usize + 1).map_or(channels.words, |&end| end as usize);
            for (number, &word) in self.bits[begin..end].iter().enumerate() {
                for bit in crate::graph::bits(word) {
                    let next = first + number as u32 * 64 + bit as u32;
                    circle |= next == from;
                    if self.place[next as usize] < high && !self.seen[next as usize] {
                        self.seen[next as usize] = true;
                        after.push(next);
                    }
                }
            }
            if circle {
                break;
            }
        }
        if circle {
            after.iter().for_each(|&channel| self.seen[channel as usize] = false);
            return false;
        }
        // All of these move behind `from`; what was between keeps its order before them.
        let between = low as usize..high as usize + 1;
        let (moved, kept): (Vec<u32>, Vec<u32>) =
            self.channel_at[between.clone()].iter().partition(|&&channel| self.seen[channel as usize]);
        for (place, channel) in between.zip(kept.into_iter().chain(moved)) {
            self.channel_at[place] = channel;
            self.place[channel as usize] = place as u32;
        }
        after.iter().for_each(|&channel| self.seen[channel as usize] = false);
        true
    }
}
