//! New ways to one LID for the switches whose way is broken.

use super::turns::Turns;
use heddle_fabric::{Arc, EndPort, Entry, Fabric, Lid, NO_PORT, SwitchIndex, Tables};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What is to be done for one LID.
pub(crate) struct Task<'a> {
    pub(crate) lid: Lid,
    pub(crate) owner: &'a EndPort,
    /// Nobody had the LID, or somebody elsewhere: what the tables say of it can be wrong everywhere.
    pub(crate) is_new: bool,
    /// The switches whose entry leads elsewhere than it did.
    pub(crate) broken: &'a [SwitchIndex],
    /// Ports that switches had before a loss, to be taken again if that is possible.
    pub(crate) wishes: &'a [(SwitchIndex, u8)],
}

/// How many hops longer ways may get that no host uses; no InfiniBand way is so long (IBA 14.2.2: 63 hops on a directed route).
const DETOUR: u32 = 64;

/// Finds ways. What is by switch is kept from LID to LID and valid where `stamp` is that of the LID.
pub(crate) struct Search<'a> {
    /// The fabric that the tables are for; the new one where the rows of the tables are not the same.
    old: &'a Fabric,
    new: &'a Fabric,
    tables: &'a Tables,
    turns: &'a mut Turns,
    loads: &'a mut [u64],
    hosts: Vec<u32>,
    stamp: u32,
    sites: Vec<Site>,
    members: Vec<SwitchIndex>,
    heap: BinaryHeap<Reverse<(u32, u32)>>,
    /// What was added to loads for routes that are not all known yet.
    guessed: Vec<(usize, u64)>,
}

/// A switch that needs a new way.
#[derive(Clone, Copy, Default)]
struct Site {
    stamp: u32,
    /// Whether the new way is known, which is then `port` and so many `hops`.
    settled: bool,
    port: u8,
    hops: u32,
    /// How long the old way was. The new one need not be shorter: this keeps what can stay.
    limit: u32,
    wish: Option<u8>,
    /// The hosts whose packets came by.
    weight: u64,
}

impl<'a> Search<'a> {
    pub(crate) fn new(old: &'a Fabric, new: &'a Fabric, tables: &'a Tables, turns: &'a mut Turns, loads: &'a mut [u64]) -> Self {
        Self {
            old,
            new,
            tables,
            turns,
            loads,
            hosts: super::survey::hosts(new),
            stamp: 0,
            sites: vec![Site::default(); new.switch_count()],
            members: Vec::new(),
            heap: BinaryHeap::new(),
            guessed: Vec::new(),
        }
    }

    /// Adds the entries that have to change to `entries`.
    ///
    /// # Errors
    /// The switches from which there is no way that closes no circle of turns.
    pub(crate) fn run(&mut self, task: &Task<'_>, entries: &mut Vec<Entry>) -> Result<(), Vec<SwitchIndex>> {
        self.stamp += 1;
        self.members.clear();
        let Task { lid, owner, .. } = *task;
        if self.tables.port(owner.switch, lid) != owner.switch_port {
            entries.push(Entry { switch: owner.switch, lid, port: owner.switch_port });
        }
        if task.is_new {
            // Turns of routes to a LID that nobody had are not known, so that even those that arrive have to be looked at.
            (0..self.new.switch_count() as u32).for_each(|switch| self.add(SwitchIndex(switch), task));
        }
        task.broken.iter().for_each(|&switch| self.add(switch, task));
        for &(switch, port) in task.wishes {
            self.add(switch, task);
            self.sites[switch.index()].wish = Some(port);
        }
        self.add_all_behind(task);
        self.measure(task);
        self.settle(task);
        let lost: Vec<_> = self.members.iter().copied().filter(|&member| !self.sites[member.index()].settled).collect();
        if !lost.is_empty() {
            return Err(lost);
        }
        self.guessed.drain(..).for_each(|(channel, load)| self.loads[channel] -= load);
        for number in 0..self.members.len() {
            let switch = self.members[number];
            let port = self.sites[switch.index()].port;
            if port != self.tables.port(switch, lid) {
                entries.push(Entry { switch, lid, port });
            }
            let hosts = u64::from(self.hosts[switch.index()]);
            if owner.is_host() && hosts > 0 {
                let mut at = switch;
                while let Some((channel, next)) = self.hop(task, at) {
                    self.loads[channel] += hosts;
                    at = next;
                }
            }
        }
        Ok(())
    }

    fn is_member(&self, switch: SwitchIndex) -> bool {
        self.sites[switch.index()].stamp == self.stamp
    }

    fn add(&mut self, switch: SwitchIndex, task: &Task<'_>) {
        if switch != task.owner.switch && !self.is_member(switch) {
            self.sites[switch.index()] = Site { stamp: self.stamp, port: NO_PORT, ..Site::default() };
            self.members.push(switch);
        }
    }

    /// The entry of a switch: the new one where it is known.
    fn port(&self, task: &Task<'_>, switch: SwitchIndex) -> u8 {
        let site = &self.sites[switch.index()];
        match site.stamp == self.stamp {
            true => site.port,
            false if switch == task.owner.switch => task.owner.switch_port,
            false => self.tables.port(switch, task.lid),
        }
    }

    /// The next channel of a packet, and the switch at its end.
    fn hop(&self, task: &Task<'_>, at: SwitchIndex) -> Option<(usize, SwitchIndex)> {
        let port = self.port(task, at);
        self.new.next(at, port).map(|(next, _)| (self.new.channel(at, port), next))
    }

    /// Adds the switches whose packets come by those that need a new way.
    fn add_all_behind(&mut self, task: &Task<'_>) {
        let mut head = 0;
        while let Some(&switch) = self.members.get(head) {
            head += 1;
            for arc in self.new.arcs(switch) {
                if self.tables.port(arc.peer, task.lid) == arc.peer_port {
                    self.add(arc.peer, task);
                }
            }
        }
    }

    /// Finds how long the old ways were, and takes their loads off.
    fn measure(&mut self, task: &Task<'_>) {
        for number in 0..self.members.len() {
            let member = self.members[number];
            let hosts = u64::from(self.hosts[member.index()]);
            let is_counted = task.owner.is_host() && self.old.lid_owner(task.lid).is_some();
            let routes = if is_counted { hosts } else { 0 };
            let (mut at, mut hops) = (member, 0);
            // Ways that go in circles, which a new LID can have, end after so many hops.
            while hops <= self.new.switch_count() as u32 {
                if self.is_member(at) {
                    self.sites[at.index()].weight += hosts;
                }
                let port = self.tables.port(at, task.lid);
                let Some((next, _)) = self.old.next(at, port) else { break };
                let load = &mut self.loads[self.old.channel(at, port)];
                *load = load.saturating_sub(routes);
                (at, hops) = (next, hops + 1);
            }
            if task.is_new || !task.wishes.is_empty() {
                self.sites[member.index()].limit = self.wished_hops(task, member);
            } else if at == task.owner.switch {
                self.sites[member.index()].limit = hops;
            }
        }
        // What only switches send is subnet management: for it a detour is better than a change. These ways are found last.
        for &member in &self.members {
            let site = &mut self.sites[member.index()];
            if site.weight == 0 && site.limit > 0 && task.wishes.is_empty() {
                site.limit += DETOUR;
            }
        }
    }

    /// How long a way is if all wishes come true; 0 if it leads nowhere.
    fn wished_hops(&self, task: &Task<'_>, from: SwitchIndex) -> u32 {
        let (mut at, mut hops) = (from, 0);
        while at != task.owner.switch {
            let wish = self.sites[at.index()].wish.filter(|_| self.is_member(at));
            match self.new.next(at, wish.unwrap_or_else(|| self.tables.port(at, task.lid))) {
                Some((next, _)) if hops <= self.new.switch_count() as u32 => (at, hops) = (next, hops + 1),
                _ => return 0,
            }
        }
        hops
    }

    /// Settles the switches that need a new way.
    fn settle(&mut self, task: &Task<'_>) {
        self.heap.clear();
        for number in 0..self.members.len() {
            let member = self.members[number];
            match self.sites[member.index()].limit {
                0 => self.try_beyond(task, member, 0),
                limit => self.heap.push(Reverse((limit, member.0))),
            }
        }
        self.settle_shortest(task);
        let mut number = 0;
        while let Some(&member) = self.members.get(number) {
            number += 1;
            if !self.sites[member.index()].settled && self.sway(task, member) {
                self.settle_shortest(task);
                number = 0;
            }
        }
    }

    /// Settles those that have a way, the shortest ways first (Dijkstra).
    fn settle_shortest(&mut self, task: &Task<'_>) {
        while let Some(Reverse((hops, switch))) = self.heap.pop() {
            let switch = SwitchIndex(switch);
            if self.sites[switch.index()].settled {
                continue;
            }
            if let Some((arc, is_kept)) = self.choose(task, switch, hops) {
                let weight = if is_kept || !task.owner.is_host() { 0 } else { self.sites[switch.index()].weight };
                self.take(task, switch, &arc, weight);
            } else {
                self.try_beyond(task, switch, hops);
            }
        }
    }

    /// Puts a switch into the heap with the shortest of its ways of more than so many hops, if one is known.
    fn try_beyond(&mut self, task: &Task<'_>, switch: SwitchIndex, hops: u32) {
        let known = self.new.arcs(switch).iter().filter(|arc| self.is_known(arc.peer)).map(|arc| self.hops(task, arc.peer) + 1);
        if let Some(next) = known.filter(|&known| known > hops).min() {
            self.heap.push(Reverse((next, switch.0)));
        }
    }

    /// Gives a switch its way, with the load that it is expected to bring.
    fn take(&mut self, task: &Task<'_>, switch: SwitchIndex, arc: &Arc, weight: u64) {
        let hops = self.hops(task, arc.peer) + 1;
        let site = &mut self.sites[switch.index()];
        (site.settled, site.port, site.hops) = (true, arc.port, hops);
        let mut at = switch;
        while let Some((channel, next)) = self.hop(task, at).filter(|_| weight > 0) {
            self.loads[channel] += weight;
            self.guessed.push((channel, weight));
            at = next;
        }
        for arc in self.new.arcs(switch) {
            let peer = &self.sites[arc.peer.index()];
            if peer.stamp == self.stamp && !peer.settled {
                self.heap.push(Reverse((peer.limit.max(hops + 1), arc.peer.0)));
            }
        }
    }

    /// Finds a way for a switch from which every way closes a circle: by a neighbour that takes another way for its sake.
    fn sway(&mut self, task: &Task<'_>, switch: SwitchIndex) -> bool {
        let new = self.new;
        let mut ways = Vec::new();
        for first in new.arcs(switch).iter().filter(|first| self.is_known(first.peer) && first.peer != task.owner.switch) {
            let old = self.port(task, first.peer);
            for second in new.arcs(first.peer).iter().filter(|second| second.port != old && self.is_known(second.peer)) {
                if self.avoids(task, second.peer, first.peer) {
                    ways.push((self.cost(task, first.peer, second), (first.port, second.port), *first, *second));
                }
            }
        }
        ways.sort_unstable_by_key(|&(cost, ports, ..)| (cost, ports));
        for (_, _, first, second) in ways {
            let (from, through) = (new.channel(switch, first.port), new.channel(first.peer, second.port));
            let comes_by = |arc: &&Arc| self.is_known(arc.peer) && self.port(task, arc.peer) == arc.peer_port;
            let before: Vec<usize> =
                new.arcs(first.peer).iter().filter(comes_by).map(|arc| new.channel(arc.peer, arc.peer_port)).chain([from]).collect();
            if self.go_on(task, through, second.peer) && before.into_iter().all(|before| self.turns.insert(before, through, second.port)) {
                self.add(first.peer, task);
                self.take(task, first.peer, &second, 0);
                self.take(task, switch, &first, 0);
                return true;
            }
        }
        false
    }

    fn is_known(&self, switch: SwitchIndex) -> bool {
        !self.is_member(switch) || self.sites[switch.index()].settled
    }

    /// Whether the way from a switch does not come by another.
    fn avoids(&self, task: &Task<'_>, from: SwitchIndex, other: SwitchIndex) -> bool {
        let mut at = from;
        while at != other {
            match self.hop(task, at) {
                Some((_, next)) => at = next,
                None => return true,
            }
        }
        false
    }

    /// The hops of a way that is known.
    fn hops(&self, task: &Task<'_>, switch: SwitchIndex) -> u32 {
        let (mut at, mut hops) = (switch, 0);
        while !self.is_member(at) {
            match self.hop(task, at) {
                Some((_, next)) => (at, hops) = (next, hops + 1),
                None => return hops,
            }
        }
        hops + self.sites[at.index()].hops
    }

    /// The best way of at most so many hops, and whether it is the one that the switch has: the one wished for, the old one, or the one with
    /// the least load; and one that needs no new ranks rather than one that does.
    fn choose(&mut self, task: &Task<'_>, switch: SwitchIndex, limit: u32) -> Option<(Arc, bool)> {
        let new = self.new;
        let old = self.tables.port(switch, task.lid);
        for port in self.sites[switch.index()].wish.into_iter().chain([old]) {
            if let Some((peer, peer_port)) = new.next(switch, port) {
                let arc = Arc { port, peer, peer_port };
                if self.is_known(peer) && self.hops(task, peer) < limit && self.is_allowed(task, switch, &arc) {
                    return Some((arc, port == old));
                }
            }
        }
        let is_open = |arc: &&Arc| arc.port != old && self.is_known(arc.peer) && self.hops(task, arc.peer) < limit;
        let open = new.arcs(switch).iter().filter(is_open);
        let mut ways: Vec<_> = open.map(|arc| (self.cost(task, switch, arc), *arc)).collect();
        ways.sort_unstable_by_key(|&(cost, arc)| (cost, arc.port));
        ways.into_iter().map(|(_, arc)| arc).find(|arc| self.is_allowed(task, switch, arc)).map(|arc| (arc, false))
    }

    /// Of a way by an arc: the hops, whether it needs new ranks, the most loaded channel, and the load of the first.
    fn cost(&self, task: &Task<'_>, switch: SwitchIndex, arc: &Arc) -> (u32, bool, u64, u64) {
        let first = self.new.channel(switch, arc.port);
        let is_hard = self.hop(task, arc.peer).is_some_and(|(second, _)| !self.turns.is_easy(first, second));
        let (mut hops, mut most, mut at) = (1, self.loads[first], arc.peer);
        while let Some((channel, next)) = self.hop(task, at) {
            (hops, most, at) = (hops + 1, most.max(self.loads[channel]), next);
        }
        (hops, is_hard, most, self.loads[first])
    }

    /// Whether the turns of a way by an arc close no circle with those of all other routes. They are then noted.
    ///
    /// To a host's LID, whoever comes by, the turns after the first are there already. To a switch's LID only those from switches with
    /// hosts may count; then all turns on the way begin to, if they did not.
    fn is_allowed(&mut self, task: &Task<'_>, switch: SwitchIndex, arc: &Arc) -> bool {
        if !task.owner.is_host() && self.hosts[switch.index()] == 0 {
            return true;
        }
        self.go_on(task, self.new.channel(switch, arc.port), arc.peer)
    }

    /// The same for packets that come by a channel to a switch.
    fn go_on(&mut self, task: &Task<'_>, mut from: usize, mut at: SwitchIndex) -> bool {
        while let Some((to, next)) = self.hop(task, at) {
            if !self.turns.insert(from, to, self.port(task, at)) {
                return false;
            }
            if task.owner.is_host() {
                break;
            }
            (from, at) = (to, next);
        }
        true
    }
}
