//! From old tables and a change of the fabric to new tables: few entries are touched, and the work follows the change.
//!
//! Only routes that are broken get new ways. For each LID these are the switches that sent over what was lost, and those whose packets came
//! by them; most of the latter keep their entries, since a way round the loss that begins further on is as long for them. The others take
//! the shortest way that is left, of those equally long the one whose busiest channel has the least load.
//!
//! A way may only turn where that closes no circle of turns with all other routes ([`turns::Turns`]), so that the new tables are again free
//! of deadlock on one VL, whatever engine made the old ones. Routes that stay and routes that come are so free of deadlock together, too.
//!
//! What a lost cable displaced is remembered, and takes its old ways again when the cable comes back. A cable that was never there before gets
//! routes only as later losses displace some to it.

mod column;
mod survey;
mod turns;

use crate::graph::Graph;
use crate::{Engine, Refusal, refusal};
use column::{Search, Task};
use heddle_fabric::{Change, Entry, Fabric, Guid, Lid, Patch, SwitchIndex, Tables};
use std::collections::BTreeMap;
use std::sync::Arc;
use turns::Turns;

/// Follows a fabric through its changes, with the loads and turns of its tables.
pub struct Rerouter {
    engine: Engine,
    fabric: Arc<Fabric>,
    turns: Turns,
    /// By channel: how many routes go over it. Hosts that come or go are not counted until the next [`Rerouter::new`].
    loads: Vec<u64>,
    /// By number.
    displaced: Vec<Displaced>,
    losses: usize,
}

/// A port of a switch.
type End = (Guid, u8);

/// What a loss displaced.
struct Displaced {
    /// Later losses have larger numbers.
    number: usize,
    /// The cables that were lost, from either end.
    cables: Vec<(End, End)>,
    /// Entries before.
    entries: Vec<(Guid, Lid, u8)>,
}

impl Rerouter {
    /// Begins with tables that were proven for a fabric; `engine` made them, and is named in refusals. `O(switches * LIDs)`.
    ///
    /// # Errors
    /// A [`Refusal`] of tables that need SLs, or that are not free of deadlock on one VL.
    pub fn new(engine: Engine, fabric: Arc<Fabric>, tables: &Tables) -> Result<Self, Refusal> {
        Self::begin(engine, fabric, tables).map(|(rerouter, _)| rerouter)
    }

    /// Begins with tables of which some entries do not lead to their LID: tables for the same nodes and LIDs with other cables. The entries
    /// to be changed so that all do; those that do already stay, unless a neighbour has to take another way so that a switch has one at all.
    /// `O(switches * LIDs)`.
    ///
    /// # Errors
    /// A [`Refusal`] of tables that need SLs, or whose routes are not free of deadlock on one VL; if the fabric is in several parts; or if no
    /// way is left that fits in with the routes that stay.
    pub fn mend(engine: Engine, fabric: Arc<Fabric>, tables: &Tables) -> Result<(Self, Patch), Refusal> {
        let (mut rerouter, astray) = Self::begin(engine, Arc::clone(&fabric), tables)?;
        let patch = rerouter.find(&fabric, &fabric, tables, &Work::of(&astray))?;
        Ok((rerouter, patch))
    }

    /// Finds the loads and turns of tables, and where packets do not arrive.
    fn begin(engine: Engine, fabric: Arc<Fabric>, tables: &Tables) -> Result<(Self, Vec<(Lid, SwitchIndex)>), Refusal> {
        let refusal = |reason: &str| Refusal {
            engine,
            reason: format!("{reason}, and no order is known in which new routes could be fitted in"),
            culprits: Vec::new(),
            remedy: "Compute all routes from nothing.".to_owned(),
        };
        if tables.lanes().is_some() {
            return Err(refusal("the old tables are free of deadlock only with several virtual lanes"));
        }
        let found = survey::survey(&fabric, tables);
        let survey::Survey { loads, turns, astray } = found.ok_or_else(|| {
            refusal("the routes of the old tables close a circle, so that they are not free of deadlock on one virtual lane")
        })?;
        Ok((Self { engine, fabric, turns, loads, displaced: Vec::new(), losses: 0 }, astray))
    }

    /// The entries to be changed so that `tables`, which are those of the last fabric, are good for `new`. Where the switches are not the
    /// same, they are entries of [`Tables::carried`] ([`Change::same_rows`] tells).
    ///
    /// LIDs that nobody has any more keep their entries. The work is that of following the changed LIDs' routes, and `O(ports)` comparisons.
    ///
    /// # Errors
    /// A [`Refusal`] if the fabric is in several parts, or if no way for a broken route is left that fits in with the others. The state is
    /// then of no use any more, nor is it when the patch is not applied.
    pub fn reroute(&mut self, tables: &Tables, new: &Arc<Fabric>) -> Result<Patch, Refusal> {
        let old = std::mem::replace(&mut self.fabric, Arc::clone(new));
        let change = Change::between(&old, new);
        let carried = (!change.same_rows).then(|| tables.carried(&old, new));
        let original = tables;
        let tables = carried.as_ref().unwrap_or(tables);
        self.turns.carry(&old, new, &change);
        if !change.same_rows {
            let mut loads = vec![0; new.channel_count()];
            turns::kept_channels(&old, new, &change).into_iter().for_each(|(from, to)| loads[to] = self.loads[from]);
            self.loads = loads;
        }
        let mut work = Work::default();
        work.find_broken(tables, new, &change);
        work.find_first_hosts(&old, new, &change);
        let back = self.take_back(new, &change);
        // Of several, the wish from before the first loss counts: it is noted last.
        for displaced in back.iter().rev().flat_map(|displaced| &displaced.entries) {
            work.wish(tables, new, *displaced);
        }
        let walked = if change.same_rows { &old } else { new };
        let patch = match self.find(walked, new, tables, &work) {
            Ok(patch) => patch,
            Err(refusal) => self.find_anew(tables, new).ok_or(refusal)?,
        };
        self.remember((&old, original), (new, tables), &change, &patch, back);
        Ok(patch)
    }

    /// Finds the entries to be changed. `walked` is the fabric that the old routes were for.
    fn find(&mut self, walked: &Fabric, new: &Fabric, tables: &Tables, work: &Work) -> Result<Patch, Refusal> {
        let mut search = Search::new(walked, new, tables, &mut self.turns, &mut self.loads);
        let mut entries = Vec::new();
        // Switches' LIDs first: they leave less choice.
        let mut columns: Vec<_> = work.columns.iter().filter_map(|(&lid, column)| Some((lid, new.lid_owner(lid)?, column))).collect();
        columns.sort_by_key(|(_, owner, _)| owner.is_host());
        for (lid, owner, column) in columns {
            let is_counted = owner.is_host() && !column.is_astray && walked.lid_owner(lid).is_some();
            let task = Task { lid, owner, is_new: column.is_new, is_counted, broken: &column.broken, wishes: &column.wishes };
            if let Err(from) = search.run(&task, &mut entries) {
                return Err(self.refusal(new, lid, &from));
            }
        }
        Ok(Patch::new(entries))
    }

    /// The same without the turns that no route takes any more, which can be in the way, and without wishes.
    fn find_anew(&mut self, tables: &Tables, new: &Arc<Fabric>) -> Option<Patch> {
        let (begun, astray) = Self::begin(self.engine, Arc::clone(new), tables).ok()?;
        (self.turns, self.loads) = (begun.turns, begun.loads);
        self.find(new, new, tables, &Work::of(&astray)).ok()
    }

    fn refusal(&self, fabric: &Fabric, lid: Lid, from: &[SwitchIndex]) -> Refusal {
        refusal::if_disconnected(self.engine, fabric, &Graph::new(fabric)).unwrap_or_else(|| Refusal {
            engine: self.engine,
            reason: format!("to LID {lid} no way is left that fits in with the routes that stay, without deadlock, from these switches"),
            culprits: from.iter().map(|&switch| fabric.switches()[switch.index()]).collect(),
            remedy: "Compute all routes from nothing.".to_owned(),
        })
    }

    /// What the cables that are back had displaced.
    fn take_back(&mut self, new: &Fabric, change: &Change) -> Vec<Displaced> {
        let mut there: Vec<(End, End)> = change.channels.iter().filter_map(|&channel| cable(new, channel as usize)).collect();
        there.sort_unstable();
        let is_back = |displaced: &Displaced| displaced.cables.iter().any(|cable| there.binary_search(cable).is_ok());
        let (back, away) = std::mem::take(&mut self.displaced).into_iter().partition(is_back);
        self.displaced = away;
        back
    }

    /// Remembers what this change displaced, and what is still displaced of `back`.
    fn remember(&mut self, old: (&Fabric, &Tables), new: (&Fabric, &Tables), change: &Change, patch: &Patch, back: Vec<Displaced>) {
        let guid = |fabric: &Fabric, switch: SwitchIndex| fabric.switch(switch).guid;
        let now: BTreeMap<(Guid, Lid), u8> =
            patch.entries().iter().map(|entry| ((guid(new.0, entry.switch), entry.lid), entry.port)).collect();
        let is_restored = |&(guid, lid, port): &(Guid, Lid, u8)| now.get(&(guid, lid)) == Some(&port);
        let mut restored: BTreeMap<(Guid, Lid), usize> = BTreeMap::new();
        for mut displaced in back {
            for &(guid, lid, _) in displaced.entries.iter().filter(|entry| is_restored(entry)) {
                restored.entry((guid, lid)).or_insert(displaced.number);
            }
            displaced.cables.retain(|cable| !is_there(new.0, cable));
            displaced.entries.retain(|entry| !is_restored(entry));
            self.displaced.push(displaced);
        }
        self.displaced.sort_by_key(|displaced| displaced.number);
        // What a later loss displaced had itself been displaced by the earlier one.
        for displaced in &mut self.displaced {
            displaced.entries.retain(|entry| restored.get(&(entry.0, entry.1)).is_none_or(|&since| since >= displaced.number));
        }
        self.displaced.retain(|displaced| !displaced.cables.is_empty() && !displaced.entries.is_empty());

        let channels: Vec<usize> = if change.same_rows {
            change.channels.iter().map(|&channel| channel as usize).collect()
        } else {
            (0..old.0.channel_count()).collect()
        };
        let lost: Vec<(End, End)> =
            channels.into_iter().filter_map(|channel| cable(old.0, channel)).filter(|cable| !is_there(new.0, cable)).collect();
        if lost.is_empty() {
            return;
        }
        let changed = patch.entries().iter().map(|&Entry { switch, lid, .. }| (guid(new.0, switch), lid, new.1.port(switch, lid)));
        let mut entries: Vec<_> = changed.collect();
        let mut stays = vec![false; old.0.switch_count()];
        change.before.iter().flatten().for_each(|before| stays[before.index()] = true);
        for switch in (0..).map(SwitchIndex).zip(stays).filter(|(_, stays)| !stays).map(|(switch, _)| switch) {
            let lids = old.0.end_ports().iter().flat_map(|end| end.lids());
            entries.extend(lids.map(|lid| (guid(old.0, switch), lid, old.1.port(switch, lid))));
        }
        self.losses += 1;
        self.displaced.push(Displaced { number: self.losses, cables: lost, entries });
    }
}

/// The cable of a channel; `None` if it leads to no other switch.
fn cable(fabric: &Fabric, channel: usize) -> Option<(End, End)> {
    let (peer, entry) = fabric.channel_peer(channel)?;
    let (switch, port) = fabric.channel_at(channel);
    Some(((fabric.switch(switch).guid, port), (fabric.switch(peer).guid, entry)))
}

fn is_there(fabric: &Fabric, &((guid, port), far): &(End, End)) -> bool {
    let next = switch_of(fabric, guid).and_then(|switch| fabric.next(switch, port));
    next.is_some_and(|(peer, entry)| (fabric.switch(peer).guid, entry) == far)
}

fn switch_of(fabric: &Fabric, guid: Guid) -> Option<SwitchIndex> {
    fabric.switch_index(fabric.node_by_guid(guid)?)
}

/// The LIDs whose routes are to be changed.
#[derive(Default)]
struct Work {
    columns: BTreeMap<Lid, Column>,
}

#[derive(Default)]
struct Column {
    is_new: bool,
    /// The broken routes are in no loads.
    is_astray: bool,
    broken: Vec<SwitchIndex>,
    wishes: Vec<(SwitchIndex, u8)>,
}

impl Work {
    /// Where packets do not arrive.
    fn of(astray: &[(Lid, SwitchIndex)]) -> Self {
        let mut work = Self::default();
        for &(lid, switch) in astray {
            let column = work.columns.entry(lid).or_default();
            column.is_astray = true;
            column.broken.push(switch);
        }
        work
    }

    /// Finds the entries that lead elsewhere than they did. `O(LIDs)` for each port that does.
    fn find_broken(&mut self, tables: &Tables, new: &Fabric, change: &Change) {
        for &lid in &change.lids {
            self.columns.entry(lid).or_default().is_new = true;
        }
        let mut switches: Vec<(SwitchIndex, [bool; 256])> = Vec::new();
        for &channel in &change.channels {
            let (switch, port) = new.channel_at(channel as usize);
            if switches.last().is_none_or(|last| last.0 != switch) {
                switches.push((switch, [false; 256]));
            }
            if let Some((_, ports)) = switches.last_mut() {
                ports[usize::from(port)] = true;
            }
        }
        for (switch, mut leads_elsewhere) in switches {
            leads_elsewhere[usize::from(heddle_fabric::NO_PORT)] = change.before[switch.index()].is_none();
            for (at, _) in tables.row(switch).iter().enumerate().filter(|(_, port)| leads_elsewhere[usize::from(**port)]) {
                let lid = u16::try_from(at).ok().and_then(Lid::new);
                if let Some(lid) = lid.filter(|&lid| new.lid_owner(lid).is_some()) {
                    self.columns.entry(lid).or_default().broken.push(switch);
                }
            }
        }
    }

    /// Finds the switches that have hosts and had none. What they send to switches' LIDs did not count for deadlock, and does now.
    fn find_first_hosts(&mut self, old: &Fabric, new: &Fabric, change: &Change) {
        if change.lids.is_empty() {
            return;
        }
        let (had, has) = (survey::hosts(old), survey::hosts(new));
        let first =
            |&switch: &SwitchIndex| has[switch.index()] > 0 && change.before[switch.index()].is_none_or(|before| had[before.index()] == 0);
        for switch in (0..has.len() as u32).map(SwitchIndex).filter(first) {
            for lid in new.end_ports().iter().filter(|end| !end.is_host()).flat_map(|end| end.lids()) {
                self.columns.entry(lid).or_default().broken.push(switch);
            }
        }
    }

    /// Notes that a switch had another port for a LID.
    fn wish(&mut self, tables: &Tables, new: &Fabric, (guid, lid, port): (Guid, Lid, u8)) {
        if let Some(switch) = switch_of(new, guid).filter(|&switch| new.lid_owner(lid).is_some() && tables.port(switch, lid) != port) {
            self.columns.entry(lid).or_default().wishes.push((switch, port));
        }
    }
}
