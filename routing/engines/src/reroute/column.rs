//! New ways to one LID for the switches whose way is broken.

use super::turns::Turns;
use heddle_fabric::{Arc, EndPort, Entry, Fabric, Lid, NO_PORT, SwitchIndex, Tables};

/// What is to be done for one LID.
pub(crate) struct Task<'a> {
    pub(crate) lid: Lid,
    pub(crate) owner: &'a EndPort,
    /// Nobody had the LID, or somebody elsewhere: what the tables say of it can be wrong everywhere.
    pub(crate) is_new: bool,
    /// Whether the loads count its old routes.
    pub(crate) is_counted: bool,
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
    /// The switches whose way is broken or gets another port, and those that may have to give way to that.
    members: Vec<SwitchIndex>,
    /// The switches with hosts whose packets came by the first members, these included.
    behind: Vec<SwitchIndex>,
    /// Members by the hops at which they are looked at next.
    queue: Vec<Vec<SwitchIndex>>,
    shortest: usize,
    /// How many members are neither settled nor in the queue.
    waiting: usize,
    /// What was added to loads for routes that are not all known yet.
    guessed: Vec<(usize, u64)>,
    open: Vec<(Cost, Arc)>,
}

/// Of a way: the hops, whether it needs new ranks, the most loaded channel, and the load of the first.
type Cost = (u32, bool, u64, u64);

/// What is known of a switch.
#[derive(Clone, Copy, Default)]
struct Site {
    stamp: u32,
    /// The port of the tables; read once, as each switch's table is somewhere else in memory.
    old: u8,
    /// The port now; [`NO_PORT`] as long as a new one is sought.
    port: u8,
    is_member: bool,
    settled: bool,
    queued: bool,
    /// Whether those that send by it were looked for: when its hosts were counted, and when it found no way of its old length.
    is_counted: bool,
    is_expanded: bool,
    wish: Option<u8>,
    /// How long the old way was. The new one need not be shorter: this keeps what can stay.
    limit: u32,
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
            behind: Vec::new(),
            queue: Vec::new(),
            shortest: 0,
            waiting: 0,
            guessed: Vec::new(),
            open: Vec::new(),
        }
    }

    /// Adds the entries that have to change to `entries`.
    ///
    /// # Errors
    /// The switches from which there is no way that closes no circle of turns.
    pub(crate) fn run(&mut self, task: &Task<'_>, entries: &mut Vec<Entry>) -> Result<(), Vec<SwitchIndex>> {
        self.stamp += 1;
        self.members.clear();
        self.behind.clear();
        self.waiting = 0;
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
        self.find_behind(task);
        self.measure(task);
        self.settle(task);
        self.guessed.drain(..).for_each(|(channel, load)| self.loads[channel] -= load);
        let lost: Vec<_> = self.members.iter().copied().filter(|&member| !self.sites[member.index()].settled).collect();
        if !lost.is_empty() {
            return Err(lost);
        }
        let changed = self.members.iter().map(|&switch| (switch, &self.sites[switch.index()])).filter(|(_, site)| site.port != site.old);
        entries.extend(changed.map(|(switch, site)| Entry { switch, lid, port: site.port }));
        for number in 0..self.behind.len() {
            let switch = self.behind[number];
            self.load(task, switch, u64::from(self.hosts[switch.index()]), false);
        }
        Ok(())
    }

    /// What is known of a switch.
    fn site(&mut self, task: &Task<'_>, switch: SwitchIndex) -> &mut Site {
        let site = &mut self.sites[switch.index()];
        if site.stamp != self.stamp {
            let old = self.tables.port(switch, task.lid);
            let port = if switch == task.owner.switch { task.owner.switch_port } else { old };
            *site = Site { stamp: self.stamp, old, port, ..Site::default() };
        }
        site
    }

    /// Makes a switch look for a new way.
    fn add(&mut self, switch: SwitchIndex, task: &Task<'_>) {
        if switch != task.owner.switch && !self.site(task, switch).is_member {
            let site = &mut self.sites[switch.index()];
            (site.is_member, site.port) = (true, NO_PORT);
            self.members.push(switch);
            self.waiting += 1;
        }
    }

    /// The next channel of a packet, and the switch at its end.
    fn hop(&mut self, task: &Task<'_>, at: SwitchIndex) -> Option<(usize, SwitchIndex)> {
        let port = self.site(task, at).port;
        self.new.next(at, port).map(|(next, _)| (self.new.channel(at, port), next))
    }

    /// Adds a load to the way from a switch; as a guess if it will be taken off again.
    fn load(&mut self, task: &Task<'_>, from: SwitchIndex, load: u64, is_guess: bool) {
        let mut at = from;
        while let Some((channel, next)) = self.hop(task, at).filter(|_| load > 0 && task.owner.is_host()) {
            self.loads[channel] += load;
            if is_guess {
                self.guessed.push((channel, load));
            }
            at = next;
        }
    }

    /// Finds the switches with hosts whose packets come by the members.
    fn find_behind(&mut self, task: &Task<'_>) {
        let mut found = self.members.clone();
        found.iter().for_each(|member| self.sites[member.index()].is_counted = true);
        while let Some(switch) = found.pop() {
            if self.hosts[switch.index()] > 0 {
                self.behind.push(switch);
            }
            for arc in self.new.arcs(switch) {
                let site = self.site(task, arc.peer);
                if site.old != arc.peer_port || std::mem::replace(&mut site.is_counted, true) {
                    continue;
                }
                // Most are leaves, by which nobody sends: there is no need to ask all neighbours.
                if self.turns.is_entered(self.new.channel(arc.peer, arc.peer_port)) {
                    found.push(arc.peer);
                } else if self.hosts[arc.peer.index()] > 0 {
                    self.behind.push(arc.peer);
                }
            }
        }
    }

    /// Finds how long the old ways were and how many hosts used them, and takes their loads off.
    fn measure(&mut self, task: &Task<'_>) {
        let (old, most) = (self.old, self.new.switch_count() as u32);
        for number in 0..self.behind.len() {
            let (mut at, mut hops) = (self.behind[number], 0);
            let hosts = u64::from(self.hosts[at.index()]);
            // Ways that go in circles, which a new LID can have, end after so many hops.
            while hops <= most {
                let site = self.site(task, at);
                site.weight += hosts;
                let port = site.old;
                let Some((next, _)) = old.next(at, port) else { break };
                if task.is_counted {
                    let load = &mut self.loads[old.channel(at, port)];
                    *load = load.saturating_sub(hosts);
                }
                (at, hops) = (next, hops + 1);
            }
        }
        for number in 0..self.members.len() {
            let member = self.members[number];
            let limit = if task.is_new || !task.wishes.is_empty() { self.wished_hops(task, member) } else { self.old_hops(task, member) };
            let site = &mut self.sites[member.index()];
            // What only switches send is subnet management: for it a detour is better than a change. These ways are found last.
            site.limit = if site.weight == 0 && limit > 0 && task.wishes.is_empty() { limit + DETOUR } else { limit };
        }
    }

    /// How long a way was; 0 if it led nowhere.
    fn old_hops(&mut self, task: &Task<'_>, from: SwitchIndex) -> u32 {
        let (mut at, mut hops) = (from, 0);
        while at != task.owner.switch {
            let port = self.site(task, at).old;
            match self.old.next(at, port) {
                Some((next, _)) if hops <= self.new.switch_count() as u32 => (at, hops) = (next, hops + 1),
                _ => return 0,
            }
        }
        hops
    }

    /// How long a way is if all wishes come true; 0 if it leads nowhere.
    fn wished_hops(&mut self, task: &Task<'_>, from: SwitchIndex) -> u32 {
        let (mut at, mut hops) = (from, 0);
        while at != task.owner.switch {
            let site = self.site(task, at);
            let port = site.wish.unwrap_or(site.old);
            match self.new.next(at, port) {
                Some((next, _)) if hops <= self.new.switch_count() as u32 => (at, hops) = (next, hops + 1),
                _ => return 0,
            }
        }
        hops
    }

    /// Settles the switches that need a new way.
    fn settle(&mut self, task: &Task<'_>) {
        for number in 0..self.members.len() {
            let member = self.members[number];
            match self.sites[member.index()].limit {
                0 => {
                    self.expand(task, member);
                    self.try_beyond(task, member, 0);
                }
                limit => self.put(limit, member),
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

    fn put(&mut self, hops: u32, switch: SwitchIndex) {
        self.sites[switch.index()].queued = true;
        self.waiting -= 1;
        let hops = hops as usize;
        self.queue.resize_with(self.queue.len().max(hops + 1), Vec::new);
        self.queue[hops].push(switch);
        self.shortest = self.shortest.min(hops);
    }

    /// Settles those that have a way, the shortest ways first (Dijkstra).
    fn settle_shortest(&mut self, task: &Task<'_>) {
        while let Some(bucket) = self.queue.get_mut(self.shortest) {
            let (hops, Some(switch)) = (self.shortest as u32, bucket.pop()) else {
                self.shortest += 1;
                continue;
            };
            self.waiting += 1;
            self.sites[switch.index()].queued = false;
            if self.sites[switch.index()].settled {
                self.waiting -= 1;
            } else if let Some((arc, is_kept)) = self.choose(task, switch, hops) {
                let weight = if is_kept { 0 } else { self.sites[switch.index()].weight };
                self.take(task, switch, &arc, weight);
            } else {
                self.expand(task, switch);
                self.try_beyond(task, switch, hops);
            }
        }
    }

    /// Makes those that send by a switch look for other ways, since this one's gets longer.
    fn expand(&mut self, task: &Task<'_>, switch: SwitchIndex) {
        let Site { is_expanded, limit, weight, .. } = *self.site(task, switch);
        if is_expanded {
            return;
        }
        self.sites[switch.index()].is_expanded = true;
        for arc in self.new.arcs(switch) {
            let site = self.site(task, arc.peer);
            if site.port == arc.peer_port && !site.is_member {
                let more = if weight > 0 && site.weight == 0 && task.wishes.is_empty() { DETOUR } else { 0 };
                self.add_within(task, arc.peer, limit + 1 + more);
            }
        }
    }

    fn add_within(&mut self, task: &Task<'_>, switch: SwitchIndex, limit: u32) {
        self.add(switch, task);
        if self.sites[switch.index()].is_member {
            self.sites[switch.index()].limit = limit;
            self.put(limit, switch);
        }
    }

    /// Queues a switch for the shortest of its ways of more than so many hops, if one is known.
    fn try_beyond(&mut self, task: &Task<'_>, switch: SwitchIndex, hops: u32) {
        let new = self.new;
        let known = new.arcs(switch).iter().filter_map(|arc| Some(self.cost(task, switch, arc)?.0));
        if let Some(next) = known.filter(|&known| known > hops).min() {
            self.put(next, switch);
        }
    }

    /// Gives a switch its way, with the load that it is expected to bring.
    fn take(&mut self, task: &Task<'_>, switch: SwitchIndex, arc: &Arc, weight: u64) {
        let site = self.site(task, switch);
        let was_settled = std::mem::replace(&mut site.settled, true);
        (site.port, site.is_member) = (arc.port, true);
        if !was_settled && !site.queued {
            self.waiting -= 1;
        }
        self.load(task, switch, weight, true);
        let hops = self.length(task, switch);
        for behind in self.new.arcs(switch) {
            let site = *self.site(task, behind.peer);
            if !site.is_member && site.port == behind.peer_port && (task.owner.is_host() || site.weight > 0) {
                let from = self.new.channel(behind.peer, behind.peer_port);
                if !self.go_on(task, from, switch) {
                    self.add_within(task, behind.peer, hops + 1);
                }
            } else if site.is_member && !site.settled && !site.queued && self.waiting > 0 {
                self.put(site.limit.max(hops + 1), behind.peer);
            }
        }
    }

    /// Finds a way for a switch from which every way closes a circle: by a neighbour that takes another way for its sake.
    fn sway(&mut self, task: &Task<'_>, switch: SwitchIndex) -> bool {
        let new = self.new;
        let mut ways = Vec::new();
        for first in new.arcs(switch).iter().filter(|first| first.peer != task.owner.switch) {
            if self.cost(task, switch, first).is_none() {
                continue;
            }
            let old = self.site(task, first.peer).port;
            for second in new.arcs(first.peer).iter().filter(|second| second.port != old) {
                if let Some(cost) = self.cost(task, first.peer, second).filter(|_| self.avoids(task, second.peer, first.peer)) {
                    ways.push((cost, (first.port, second.port), *first, *second));
                }
            }
        }
        ways.sort_unstable_by_key(|&(cost, ports, ..)| (cost, ports));
        for (_, _, first, second) in ways {
            let (from, through) = (new.channel(switch, first.port), new.channel(first.peer, second.port));
            let mut before = vec![from];
            for arc in new.arcs(first.peer) {
                if self.site(task, arc.peer).port == arc.peer_port {
                    before.push(new.channel(arc.peer, arc.peer_port));
                }
            }
            if self.go_on(task, through, second.peer) && before.into_iter().all(|before| self.turns.insert(before, through, second.port)) {
                if !self.site(task, first.peer).is_member {
                    self.add(first.peer, task);
                }
                self.take(task, first.peer, &second, 0);
                self.take(task, switch, &first, 0);
                return true;
            }
        }
        false
    }

    /// Whether the way from a switch does not come by another.
    fn avoids(&mut self, task: &Task<'_>, from: SwitchIndex, other: SwitchIndex) -> bool {
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
    fn length(&mut self, task: &Task<'_>, switch: SwitchIndex) -> u32 {
        let (mut at, mut hops) = (switch, 0);
        while let Some((_, next)) = self.hop(task, at) {
            (at, hops) = (next, hops + 1);
        }
        hops
    }

    /// The best way of at most so many hops, and whether it is the one that the switch has: the one wished for, the old one, or the one with
    /// the least load; and one that needs no new ranks rather than one that does.
    fn choose(&mut self, task: &Task<'_>, switch: SwitchIndex, limit: u32) -> Option<(Arc, bool)> {
        let new = self.new;
        let Site { old, wish, .. } = *self.site(task, switch);
        for port in wish.into_iter().chain([old]) {
            if let Some((peer, peer_port)) = new.next(switch, port) {
                let arc = Arc { port, peer, peer_port };
                let fits = self.cost(task, switch, &arc).is_some_and(|(hops, ..)| hops <= limit);
                if fits && self.is_allowed(task, switch, &arc) {
                    return Some((arc, port == old));
                }
            }
        }
        let mut open = std::mem::take(&mut self.open);
        open.clear();
        for arc in new.arcs(switch).iter().filter(|arc| arc.port != old) {
            open.extend(self.cost(task, switch, arc).filter(|&(hops, ..)| hops <= limit).map(|cost| (cost, *arc)));
        }
        let mut best = None;
        while let Some(at) = (0..open.len()).min_by_key(|&at| (open[at].0, open[at].1.port)).filter(|_| best.is_none()) {
            let (_, arc) = open.swap_remove(at);
            best = self.is_allowed(task, switch, &arc).then_some((arc, false));
        }
        self.open = open;
        best
    }

    /// What a way by an arc costs; `None` if it is not known, or comes back to the switch.
    fn cost(&mut self, task: &Task<'_>, switch: SwitchIndex, arc: &Arc) -> Option<Cost> {
        let first = self.new.channel(switch, arc.port);
        let (mut hops, mut most, mut at, mut is_hard) = (1, self.loads[first], arc.peer, false);
        while let Some((channel, next)) = self.hop(task, at).filter(|_| hops as usize <= self.sites.len()) {
            if hops == 1 {
                is_hard = !self.turns.is_easy(first, channel);
            }
            (hops, most, at) = (hops + 1, most.max(self.loads[channel]), next);
        }
        (at == task.owner.switch).then_some((hops, is_hard, most, self.loads[first]))
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
            let port = self.sites[at.index()].port;
            if !self.turns.insert(from, to, port) {
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
