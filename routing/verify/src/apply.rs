//! Proof of a change: only what changed is followed.
//!
//! The new tables are built here, from the old proven ones and a patch, so that nothing else can have changed in them; and the changes of the
//! fabric are found here. An entry is *touched* if the patch has it, if its port leads elsewhere than before, or if its LID has another
//! owner. Whatever packet fares otherwise than before comes by a touched entry. So all packets arrive if those from touched entries do;
//! and dependencies that were not there before are those into and out of touched entries.

use crate::kept::Kept;
use crate::traffic;
use heddle_fabric::{EndPort, Fabric, Lid, NO_PORT, Patch, SwitchIndex, Tables};

/// What a change came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Only what changed was looked at.
    Change {
        /// How many entries: those of the patch, those whose cable leads elsewhere, and those of LIDs with a new owner.
        touched: usize,
        /// How many times a channel was given a higher rank.
        raised: usize,
    },
    /// Everything was proven anew, and why.
    Everything(&'static str),
}

/// What is left of a proof after a change.
pub(crate) struct Step {
    pub(crate) extent: Extent,
    pub(crate) unowned_entries: u64,
}

/// Whether indices, channels and tables of `old` are good for `new`.
pub(crate) fn same_rows(old: &Fabric, new: &Fabric, tables: &Tables) -> bool {
    let same = |switch| {
        let (before, now) = (old.switch(switch), new.switch(switch));
        (before.guid, before.num_ports) == (now.guid, now.num_ports)
    };
    old.switch_count() == new.switch_count()
        && (0..new.switch_count() as u32).map(SwitchIndex).all(same)
        && new.top_lid().is_none_or(|lid| lid.index() < tables.row_len())
}

/// Follows a change from `old` to `new`, after which the tables are `tables`. `unowned` is how many entries for nobody's LIDs there were.
///
/// # Errors
/// Why the change alone is no proof.
pub(crate) fn follow(
    old: &Fabric,
    new: &Fabric,
    tables: &Tables,
    patch: &Patch,
    kept: &mut Kept,
    unowned: u64,
) -> Result<Step, &'static str> {
    if !kept.has_room(new) {
        return Err("switches have more ports than any had that led to another");
    }
    let mut touched: Vec<(Lid, SwitchIndex)> =
        patch.entries().iter().map(|entry| (entry.lid, entry.switch)).filter(|at| at.1.index() < new.switch_count()).collect();
    for channel in (0..new.channel_count()).filter(|&channel| old.channel_peer(channel) != new.channel_peer(channel)) {
        kept.leads_to(channel, new.channel_peer(channel).map(|(peer, _)| peer));
        let (switch, port) = new.channel_at(channel);
        let used = tables.row(switch).iter().zip(0..).filter(|(entry, _)| **entry == port).filter_map(|(_, at)| Lid::new(at));
        touched.extend(used.map(|lid| (lid, switch)));
    }
    let switches = || (0..new.switch_count() as u32).map(SwitchIndex);
    let place = |end: &EndPort| (end.switch, end.switch_port);
    for lid in new.end_ports().iter().flat_map(EndPort::lids) {
        if old.lid_owner(lid).map(place) != new.lid_owner(lid).map(place) {
            touched.extend(switches().map(|switch| (lid, switch)));
        }
    }
    // What switches that had no hosts send to switches' LIDs counts from now on.
    let (had_hosts, has_hosts) = (carriers(old), carriers(new));
    for switch in switches().filter(|switch| has_hosts[switch.index()] && !had_hosts[switch.index()]) {
        let switches_lids = new.end_ports().iter().filter(|end| !traffic::counts_from_everywhere(end)).flat_map(EndPort::lids);
        touched.extend(switches_lids.map(|lid| (lid, switch)));
    }
    touched.sort_unstable();
    touched.dedup();

    let budget = 4 * new.channel_count() + 1024;
    let mut walk = Walk { fabric: new, tables, kept, has_hosts, budget: Some(budget) };
    for &(lid, switch) in &touched {
        if let Some(owner) = new.lid_owner(lid) {
            walk.take(lid, owner, switch)?;
        }
    }
    let left = walk.budget.ok_or("the change closes a circle of dependencies, or one of dependencies that are past")?;
    let unowned_entries = if same_unowned(old, new, patch) { unowned } else { count_unowned(new, tables) };
    Ok(Step { extent: Extent::Change { touched: touched.len(), raised: budget - left }, unowned_entries })
}

/// By switch: whether it has hosts.
fn carriers(fabric: &Fabric) -> Vec<bool> {
    let mut has_hosts = vec![false; fabric.switch_count()];
    fabric.end_ports().iter().filter(|end| end.is_host()).for_each(|end| has_hosts[end.switch.index()] = true);
    has_hosts
}

fn same_unowned(old: &Fabric, new: &Fabric, patch: &Patch) -> bool {
    let lids = |fabric: &Fabric| fabric.end_ports().iter().map(|end| (end.lid, end.lmc)).collect::<Vec<_>>();
    lids(old) == lids(new) && patch.entries().iter().all(|entry| new.lid_owner(entry.lid).is_some())
}

fn count_unowned(fabric: &Fabric, tables: &Tables) -> u64 {
    let end = fabric.top_lid().map_or(0, |lid| (lid.index() + 1).next_multiple_of(Tables::BLOCK));
    let lids: Vec<Lid> = (1..end).filter_map(|lid| Lid::new(lid as u16)).filter(|&lid| fabric.lid_owner(lid).is_none()).collect();
    let used = |switch: u32| lids.iter().filter(|&&lid| tables.port(SwitchIndex(switch), lid) != NO_PORT).count() as u64;
    (0..fabric.switch_count() as u32).map(used).sum()
}

struct Walk<'a> {
    fabric: &'a Fabric,
    tables: &'a Tables,
    kept: &'a mut Kept,
    has_hosts: Vec<bool>,
    budget: Option<usize>,
}

impl Walk<'_> {
    /// Follows packets to a LID from a switch with a touched entry, and notes the dependencies.
    fn take(&mut self, lid: Lid, owner: &EndPort, switch: SwitchIndex) -> Result<(), &'static str> {
        let mut route = Vec::new();
        let mut at = switch;
        while let Some((channel, next)) = self.hop(lid, at) {
            if route.len() > self.fabric.switch_count() {
                return Err("packets go in circles");
            }
            route.push((channel, self.tables.port(at, lid)));
            at = next;
        }
        if (at, self.tables.port(at, lid)) != (owner.switch, owner.switch_port) {
            return Err("packets do not arrive");
        }
        let everywhere = traffic::counts_from_everywhere(owner);
        // To a switch's LID only packets from hosts count, which can be new on the whole route. It does no harm to count the others where
        // that fits the ranks.
        let rises = route.windows(2).all(|pair| self.kept.rises(pair[0].0, pair[1].0));
        if everywhere || rises || self.is_live(lid, switch) {
            let steps = if everywhere { route.len().min(2) } else { route.len() };
            for pair in route[..steps].windows(2) {
                self.kept.insert(self.fabric, pair[0].0, pair[1].1, pair[1].0, &mut self.budget);
            }
        }
        if let Some(&(channel, port)) = route.first() {
            for arc in self.fabric.arcs(switch).iter().filter(|arc| self.tables.port(arc.peer, lid) == arc.peer_port) {
                let before = self.fabric.channel(arc.peer, arc.peer_port);
                if everywhere || self.kept.rises(before, channel) || self.is_live(lid, arc.peer) {
                    self.kept.insert(self.fabric, before, port, channel, &mut self.budget);
                }
            }
        }
        Ok(())
    }

    fn hop(&self, lid: Lid, at: SwitchIndex) -> Option<(usize, SwitchIndex)> {
        let port = self.tables.port(at, lid);
        self.fabric.next(at, port).map(|(next, _)| (self.fabric.channel(at, port), next))
    }

    /// Whether packets from hosts come by a switch on their way to a LID.
    fn is_live(&self, lid: Lid, switch: SwitchIndex) -> bool {
        let mut seen = vec![false; self.fabric.switch_count()];
        seen[switch.index()] = true;
        let mut found = vec![switch];
        while let Some(switch) = found.pop() {
            if self.has_hosts[switch.index()] {
                return true;
            }
            for arc in self.fabric.arcs(switch) {
                if self.tables.port(arc.peer, lid) == arc.peer_port && !std::mem::replace(&mut seen[arc.peer.index()], true) {
                    found.push(arc.peer);
                }
            }
        }
        false
    }
}
