//! Changes: of forwarding tables, and of the fabric that they are for.

use crate::{Fabric, Guid, Lid, SwitchIndex, Tables};
use std::collections::BTreeMap;

/// An entry of a forwarding table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Entry {
    /// The switch whose table it is in.
    pub switch: SwitchIndex,
    /// The LID that it is for.
    pub lid: Lid,
    /// The port of exit, or [`crate::NO_PORT`].
    pub port: u8,
}

/// Entries that make new tables from old ones; each at most once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    entries: Vec<Entry>,
}

impl Patch {
    /// A patch of these entries. Of several for one switch and LID, the first in the order of ports stays.
    pub fn new(mut entries: Vec<Entry>) -> Self {
        entries.sort_unstable();
        entries.dedup_by_key(|entry| (entry.switch, entry.lid));
        Self { entries }
    }

    /// The entries, by switch, then LID.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// How many blocks of 64 entries they are in: the `LinearForwardingTable` MADs that it takes to program them.
    pub fn blocks(&self) -> usize {
        self.entries.chunk_by(|a, b| block(a) == block(b)).count()
    }
}

fn block(entry: &Entry) -> (SwitchIndex, usize) {
    (entry.switch, entry.lid.index() / Tables::BLOCK)
}

impl Tables {
    /// Changes entries. Those beyond the end of these tables are left out. `O(entries)`.
    pub fn apply(&mut self, patch: &Patch) {
        let (row_len, rows) = (self.row_len(), self.rows_mut());
        for entry in patch.entries().iter().filter(|entry| entry.lid.index() < row_len) {
            if let Some(port) = rows.get_mut(entry.switch.index() * row_len + entry.lid.index()) {
                *port = entry.port;
            }
        }
    }

    /// These tables, which are for `old`, as tables for `new`: each switch that both have keeps its entries, and new switches drop
    /// everything. SLs and VLs are left out. `O(switches * LIDs)`.
    pub fn carried(&self, old: &Fabric, new: &Fabric) -> Self {
        let mut tables = Self::new(new, self.engine());
        let len = self.row_len().min(tables.row_len());
        let old_index: BTreeMap<Guid, SwitchIndex> = guids(old).zip((0..).map(SwitchIndex)).collect();
        for (guid, switch) in guids(new).zip((0..).map(SwitchIndex)) {
            if let Some(&before) = old_index.get(&guid) {
                tables.row_mut(switch)[..len].copy_from_slice(&self.row(before)[..len]);
            }
        }
        tables
    }
}

fn guids(fabric: &Fabric) -> impl Iterator<Item = Guid> {
    fabric.switches().iter().map(|&node| fabric.node(node).guid)
}

/// What decides about routes and is other in one fabric than in another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Whether both have the same switches, with as many ports, in the same order, and tables of the old one have room for all LIDs of the
    /// new one: then indices, channels and tables of the old fabric are good for the new one as they are.
    pub same_rows: bool,
    /// By switch of the new fabric: its index in the old one; `None` for a new switch.
    pub before: Vec<Option<SwitchIndex>>,
    /// The channels ([`Fabric::channel`], of the new fabric) that lead to another port than before, ascending; all those of new switches.
    pub channels: Vec<u32>,
    /// The LIDs that nobody had before, or that are at another port of a switch now, ascending.
    pub lids: Vec<Lid>,
}

impl Change {
    /// What is other in `new`. LIDs stand for the end ports that have them: a host that is another one at the same place with the same LID
    /// is no change. `O(ports)`.
    pub fn between(old: &Fabric, new: &Fabric) -> Self {
        let top = |fabric: &Fabric| fabric.top_lid().map_or(0, |lid| lid.index() / Tables::BLOCK + 1);
        let ports = |fabric: &Fabric, switch: usize| fabric.switch(SwitchIndex(switch as u32)).num_ports;
        let same_switches = old.switch_count() == new.switch_count()
            && guids(old).eq(guids(new))
            && (0..new.switch_count()).all(|switch| ports(old, switch) == ports(new, switch));
        let before: Vec<_> = if same_switches {
            (0..new.switch_count() as u32).map(|switch| Some(SwitchIndex(switch))).collect()
        } else {
            let known: BTreeMap<Guid, SwitchIndex> = guids(old).zip((0..).map(SwitchIndex)).collect();
            guids(new).map(|guid| known.get(&guid).copied()).collect()
        };
        let channels = if same_switches {
            let differs = |&channel: &usize| old.channel_peer(channel) != new.channel_peer(channel);
            (0..new.channel_count()).filter(differs).map(|channel| channel as u32).collect()
        } else {
            channels_by_guid(old, new, &before)
        };
        let as_before = |lid: &Lid| match (old.lid_owner(*lid), new.lid_owner(*lid)) {
            (Some(was), Some(is)) => before[is.switch.index()] == Some(was.switch) && was.switch_port == is.switch_port,
            _ => false,
        };
        let lids = new.end_ports().iter().flat_map(|end| end.lids()).filter(|lid| !as_before(lid)).collect();
        Self { same_rows: same_switches && top(new) <= top(old), before, channels, lids }
    }
}

fn channels_by_guid(old: &Fabric, new: &Fabric, before: &[Option<SwitchIndex>]) -> Vec<u32> {
    let mut channels = Vec::new();
    for (switch, before) in (0..).map(SwitchIndex).zip(before) {
        for port in 0..=new.switch(switch).num_ports {
            let peer = |fabric: &Fabric, switch| fabric.next(switch, port).map(|(peer, entry)| (fabric.switch(peer).guid, entry));
            if before.is_none_or(|before| peer(old, before) != peer(new, switch)) {
                channels.push(new.channel(switch, port) as u32);
            }
        }
    }
    channels
}
