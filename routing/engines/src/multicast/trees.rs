//! One group's tree: from nothing, from tables, with a switch more or less, and into tables.

use super::Needed;
use super::ways::Ways;
use heddle_fabric::{Fabric, Mlid, MulticastTables, SwitchIndex};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The switches of a tree, each with the port of its cable up; none at the root.
pub(super) struct Tree {
    up: BTreeMap<u32, Option<u8>>,
}

/// How many trees use what.
pub(super) struct Loads {
    /// By channel up: those with this cable.
    cables: Vec<u32>,
    /// By switch.
    switches: Vec<u32>,
}

impl Loads {
    pub(super) fn new(fabric: &Fabric) -> Self {
        Self { cables: vec![0; fabric.channel_count()], switches: vec![0; fabric.switch_count()] }
    }

    /// Those of tables, whatever these are. Both channels of a cable that is used both ways are counted.
    pub(super) fn of(fabric: &Fabric, tables: &MulticastTables) -> Self {
        let mut loads = Self::new(fabric);
        for mlid in tables.mlids() {
            for &switch in tables.switches(mlid).iter().filter(|switch| switch.index() < fabric.switch_count()) {
                loads.switches[switch.index()] += 1;
                let ports = tables.ports(mlid, switch).filter(|&port| port <= fabric.switch(switch).num_ports);
                ports.for_each(|port| loads.cables[fabric.channel(switch, port)] += 1);
            }
        }
        loads
    }

    pub(super) fn add(&mut self, fabric: &Fabric, tree: &Tree) {
        for (&switch, port) in &tree.up {
            self.switches[switch as usize] += 1;
            if let Some(port) = port {
                self.cables[fabric.channel(SwitchIndex(switch), *port)] += 1;
            }
        }
    }

    fn of_cable(&self, fabric: &Fabric, switch: SwitchIndex, up: u8) -> u32 {
        self.cables[fabric.channel(switch, up)]
    }
}

impl Tree {
    /// A tree that joins these switches; `None` if there is none.
    pub(super) fn fresh(fabric: &Fabric, ways: &Ways, switches: &[SwitchIndex], loads: &Loads) -> Option<Self> {
        let mut tree = Self { up: BTreeMap::new() };
        if switches.is_empty() {
            return Some(tree);
        }
        let (root, above) = root(ways, switches, loads)?;
        // How far each switch is below the root, as far as there are members below it.
        let mut depth = BTreeMap::from([(root, 0u32)]);
        let mut queue = VecDeque::from([root]);
        while let Some(switch) = queue.pop_front() {
            for below in ways.down[switch as usize].iter().map(|arc| arc.peer.0) {
                if above[below as usize] && !depth.contains_key(&below) {
                    depth.insert(below, depth[&switch] + 1);
                    queue.push_back(below);
                }
            }
        }
        // From the lowest level to the root, each switch of the tree finds one above it.
        let mut levels: BTreeMap<u32, BTreeSet<(u32, u32)>> = BTreeMap::new();
        let key = |switch: u32| (ways.place[switch as usize], switch);
        for switch in switches {
            levels.entry(*depth.get(&switch.0)?).or_default().insert(key(switch.0));
        }
        while let Some((level, members)) = levels.pop_last() {
            let Some(next) = level.checked_sub(1) else { break };
            let parents = levels.entry(next).or_default();
            for (_, switch) in members {
                let nearer = ways.up[switch as usize].iter().filter(|arc| depth.get(&arc.peer.0) == Some(&next));
                let choice = nearer.map(|arc| {
                    let (parent, load) = (key(arc.peer.0), loads.of_cable(fabric, SwitchIndex(switch), arc.port));
                    (!parents.contains(&parent), load, loads.switches[arc.peer.index()], parent, arc.port)
                });
                let (.., parent, port) = choice.min().expect("what has a depth hangs below one that has one less");
                parents.insert(parent);
                tree.up.insert(switch, Some(port));
            }
        }
        tree.up.insert(root, None);
        Some(tree)
    }

    /// The tree that tables have; `None` if it is none, or goes other ways than it may.
    pub(super) fn read(fabric: &Fabric, ways: &Ways, tables: &MulticastTables, mlid: Mlid) -> Option<Self> {
        let mut tree = Self { up: BTreeMap::new() };
        for &switch in tables.switches(mlid) {
            if switch.index() >= fabric.switch_count() {
                return None;
            }
            tree.up.entry(switch.0).or_insert(None);
            for port in tables.ports(mlid, switch).filter(|&port| port <= fabric.switch(switch).num_ports) {
                let Some((peer, peer_port)) = fabric.channel_peer(fabric.channel(switch, port)) else { continue };
                let is_up = ways.place[peer.index()] < ways.place[switch.index()];
                let (below, up_port, above) = if is_up { (switch, port, peer) } else { (peer, peer_port, switch) };
                let known = tree.up.entry(below.0).or_insert(None);
                let allowed = ways.up[below.index()].iter().any(|arc| arc.port == up_port);
                if !allowed || known.is_some_and(|known| known != up_port) {
                    return None;
                }
                *known = Some(up_port);
                tree.up.entry(above.0).or_insert(None);
            }
        }
        (tree.up.values().filter(|up| up.is_none()).count() <= 1).then_some(tree)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.up.is_empty()
    }

    fn root(&self) -> u32 {
        *self.up.iter().find(|(_, up)| up.is_none()).expect("a tree has a root").0
    }

    /// Joins a switch by the shortest way to the tree: up to a switch that is in it, or to one from which it is down to the root, which then
    /// is the root. False if there is none.
    pub(super) fn attach(&mut self, fabric: &Fabric, ways: &Ways, switch: SwitchIndex, loads: &Loads) -> bool {
        if self.up.contains_key(&switch.0) {
            return true;
        }
        let from_root = climb(ways, self.root());
        let from_new = climb(ways, switch.0);
        let meetings = from_new.iter().filter_map(|(&at, &hops)| {
            let more = if self.up.contains_key(&at) { 0 } else { *from_root.get(&at)? };
            Some((hops + more, loads.switches[at as usize], ways.place[at as usize], at))
        });
        let Some((.., meeting)) = meetings.min() else { return false };
        if !self.up.contains_key(&meeting) {
            self.hang(fabric, ways, &from_root, meeting, loads);
            self.up.insert(meeting, None);
        }
        self.hang(fabric, ways, &from_new, meeting, loads);
        true
    }

    /// Adds the way down from a switch to that from which `climbed` began.
    fn hang(&mut self, fabric: &Fabric, ways: &Ways, climbed: &BTreeMap<u32, u32>, top: u32, loads: &Loads) {
        let mut at = top;
        while let Some(next) = climbed[&at].checked_sub(1) {
            let nearer = ways.down[at as usize].iter().filter(|arc| climbed.get(&arc.peer.0) == Some(&next));
            let choice = nearer.map(|arc| {
                let load = loads.of_cable(fabric, arc.peer, arc.peer_port);
                (load, loads.switches[arc.peer.index()], ways.place[arc.peer.index()], arc.peer.0, arc.peer_port)
            });
            let (.., below, port) = choice.min().expect("a climb passed by");
            self.up.insert(below, Some(port));
            at = below;
        }
    }

    /// Cuts off what is not on the way between two of these switches.
    pub(super) fn prune(&mut self, fabric: &Fabric, switches: &[SwitchIndex]) {
        let mut below: BTreeMap<u32, usize> = BTreeMap::new();
        for above in self.up.iter().filter_map(|(&switch, &up)| parent(fabric, switch, up?)) {
            *below.entry(above.0.0).or_default() += 1;
        }
        let needed = |switch: u32| switches.binary_search(&SwitchIndex(switch)).is_ok();
        let has_below = |below: &BTreeMap<u32, usize>, switch: u32| below.get(&switch).is_some_and(|&count| count > 0);
        let mut ends: Vec<u32> = self.up.keys().copied().filter(|&switch| !needed(switch) && !has_below(&below, switch)).collect();
        while let Some(end) = ends.pop() {
            let above = self.up.remove(&end).flatten().and_then(|up| parent(fabric, end, up));
            if let Some((above, _)) = above {
                *below.get_mut(&above.0).expect("it was counted") -= 1;
                if !needed(above.0) && !has_below(&below, above.0) {
                    ends.push(above.0);
                }
            }
        }
        // A root with one cable only is an end as well.
        while !self.up.is_empty() {
            let root = self.root();
            if needed(root) || below.get(&root) != Some(&1) {
                break;
            }
            self.up.remove(&root);
            let is_child = |(&switch, &up): (&u32, &Option<u8>)| {
                up.and_then(|up| parent(fabric, switch, up)).is_some_and(|(above, _)| above.0 == root)
            };
            let child = self.up.iter().find(|&(switch, up)| is_child((switch, up))).map(|(&switch, _)| switch);
            self.up.insert(child.expect("it has one below"), None);
        }
    }

    /// Enters the masks: at each switch the members, and the cables beyond which there are any.
    pub(super) fn write(&self, fabric: &Fabric, ways: &Ways, needed: &Needed, mlid: Mlid, tables: &mut MulticastTables) {
        let mut members: BTreeMap<u32, usize> = BTreeMap::new();
        let mut entries: BTreeSet<(SwitchIndex, u8)> = needed.members.iter().copied().collect();
        needed.members.iter().for_each(|(switch, _)| *members.entry(switch.0).or_default() += 1);
        let mut from_below: Vec<(u32, u8)> = self.up.iter().filter_map(|(&switch, &up)| Some((switch, up?))).collect();
        from_below.sort_unstable_by_key(|&(switch, _)| std::cmp::Reverse(ways.place[switch as usize]));
        for (switch, up) in from_below {
            let Some((above, port)) = parent(fabric, switch, up) else { continue };
            let below = members.get(&switch).copied().unwrap_or(0);
            *members.entry(above.0).or_default() += below;
            if below > 0 {
                entries.insert((above, port));
            }
            if below < needed.members.len() {
                entries.insert((SwitchIndex(switch), up));
            }
        }
        entries.into_iter().for_each(|(switch, port)| _ = tables.insert(mlid, switch, port));
    }
}

/// The upper end of a cable up.
fn parent(fabric: &Fabric, switch: u32, up: u8) -> Option<(SwitchIndex, u8)> {
    fabric.channel_peer(fabric.channel(SwitchIndex(switch), up))
}

/// How many hops up it is at least from a switch to each that it can climb to.
fn climb(ways: &Ways, from: u32) -> BTreeMap<u32, u32> {
    let mut hops = BTreeMap::from([(from, 0)]);
    let mut queue = VecDeque::from([from]);
    while let Some(switch) = queue.pop_front() {
        for above in ways.up[switch as usize].iter().map(|arc| arc.peer.0) {
            if !hops.contains_key(&above) {
                hops.insert(above, hops[&switch] + 1);
                queue.push_back(above);
            }
        }
    }
    hops
}

/// The best root of a tree that joins these switches, and by switch whether any of them is at or below it; `None` if there is no root.
fn root(ways: &Ways, switches: &[SwitchIndex], loads: &Loads) -> Option<(u32, Vec<bool>)> {
    // By switch: how many of them it reaches, and the farthest and all hops to them.
    let mut reached = vec![(0usize, 0u32, 0u64); ways.place.len()];
    let mut last = vec![u32::MAX; ways.place.len()];
    let mut queue = Vec::new();
    for (number, switch) in switches.iter().enumerate() {
        queue.clear();
        queue.push((switch.0, 0));
        last[switch.index()] = number as u32;
        let mut head = 0;
        while let Some(&(at, hops)) = queue.get(head) {
            head += 1;
            let (count, farthest, sum) = &mut reached[at as usize];
            (*count, *farthest, *sum) = (*count + 1, (*farthest).max(hops), *sum + u64::from(hops));
            for above in ways.up[at as usize].iter().map(|arc| arc.peer) {
                if std::mem::replace(&mut last[above.index()], number as u32) != number as u32 {
                    queue.push((above.0, hops + 1));
                }
            }
        }
    }
    let candidates = reached.iter().enumerate().filter(|(_, (count, ..))| *count == switches.len());
    let best = candidates.min_by_key(|&(switch, &(_, farthest, sum))| (farthest, sum, loads.switches[switch], ways.place[switch]))?.0;
    Some((best as u32, reached.into_iter().map(|(count, ..)| count > 0).collect()))
}
