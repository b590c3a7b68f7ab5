//! The fabric, laid out for loops over blocks of 64 LIDs.

use crate::{parts, traffic};
use heddle_fabric::{Fabric, Lid, NO_PORT, PortRef, SwitchIndex, Tables};

/// No switch at the end of a channel.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// Where a channel leads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hop {
    /// The switch at its end, or [`NOWHERE`].
    pub(crate) peer: u32,
    /// Where its successors begin in a set of dependencies.
    pub(crate) set: u32,
    /// How many words of 64 successors it has there.
    pub(crate) words: u32,
}

/// A LID that somebody has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    pub(crate) lid: Lid,
    /// Its place in the block.
    pub(crate) at: u8,
    /// The owner's switch, and its port to the owner.
    pub(crate) owner: (u32, u8),
    pub(crate) counts_from_everywhere: bool,
}

#[derive(Debug)]
pub(crate) struct Net<'a> {
    pub(crate) fabric: &'a Fabric,
    /// Those that have hosts, and how many.
    pub(crate) host_switches: Vec<(SwitchIndex, u32)>,
    hops: Vec<Hop>,
    /// Where each switch's hops begin; one more entry at the end.
    base: Vec<u32>,
    /// By switch: the ports that lead to hosts with LIDs.
    host_ports: Vec<Vec<u8>>,
    /// By switch: its own LID.
    own_lids: Vec<Option<Lid>>,
    /// The words of a set of dependencies.
    pub(crate) set_words: usize,
    /// By block.
    columns: Vec<Vec<Column>>,
    /// By switch: its part of the fabric.
    part_of: Vec<u32>,
}

impl<'a> Net<'a> {
    pub(crate) fn new(fabric: &'a Fabric) -> Self {
        let switches = (0..fabric.switch_count() as u32).map(SwitchIndex);
        let mut base: Vec<u32> = switches.map(|switch| fabric.channel(switch, 0) as u32).collect();
        base.push(fabric.channel_count() as u32);
        let mut set = 0;
        let hops = (0..fabric.channel_count())
            .map(|channel| {
                let peer = fabric.channel_peer(channel).map(|(peer, _)| peer);
                let words = peer.map_or(0, |peer| u32::from(fabric.switch(peer).num_ports).div_ceil(64));
                set += words;
                Hop { peer: peer.map_or(NOWHERE, |peer| peer.0), set: set - words, words }
            })
            .collect();
        let blocks = fabric.top_lid().map_or(0, |lid| lid.index() / Tables::BLOCK + 1);
        let mut columns = vec![Vec::new(); blocks];
        for end in fabric.end_ports() {
            for lid in end.lids() {
                columns[lid.index() / Tables::BLOCK].push(Column {
                    lid,
                    at: (lid.index() % Tables::BLOCK) as u8,
                    owner: (end.switch.0, end.switch_port),
                    counts_from_everywhere: traffic::counts_from_everywhere(end),
                });
            }
        }
        let host_switches = traffic::host_switches(fabric);
        let mut host_ports = vec![Vec::new(); fabric.switch_count()];
        for end in fabric.end_ports().iter().filter(|end| end.is_host()) {
            host_ports[end.switch.index()].push(end.switch_port);
        }
        let mut own_lids = vec![None; fabric.switch_count()];
        fabric.end_ports().iter().filter(|end| !end.is_host()).for_each(|end| own_lids[end.switch.index()] = Some(end.lid));
        Self {
            fabric,
            host_switches,
            host_ports,
            own_lids,
            hops,
            base,
            set_words: set as usize,
            columns,
            part_of: parts::of_switches(fabric),
        }
    }

    /// The LIDs that somebody has, by block.
    pub(crate) fn columns(&self) -> impl ExactSizeIterator<Item = &[Column]> {
        self.columns.iter().map(Vec::as_slice)
    }

    /// The LIDs that somebody has in a block, ascending.
    pub(crate) fn columns_of(&self, block: usize) -> &[Column] {
        &self.columns[block]
    }

    pub(crate) fn blocks(&self) -> usize {
        self.columns.len()
    }

    pub(crate) fn switches(&self) -> usize {
        self.base.len() - 1
    }

    pub(crate) fn channels(&self) -> usize {
        self.hops.len()
    }

    /// A switch's hops by port, port 0 included.
    pub(crate) fn hops_of(&self, switch: u32) -> &[Hop] {
        &self.hops[self.base[switch as usize] as usize..self.base[switch as usize + 1] as usize]
    }

    pub(crate) fn hop(&self, channel: usize) -> Hop {
        self.hops[channel]
    }

    /// Whether there is no way from a switch to the owner of a LID, since no cables join their parts of the fabric.
    pub(crate) fn apart(&self, switch: u32, column: &Column) -> bool {
        self.are_apart(SwitchIndex(switch), SwitchIndex(column.owner.0))
    }

    /// Whether no cables join the parts of the fabric that two switches are in.
    pub(crate) fn are_apart(&self, a: SwitchIndex, b: SwitchIndex) -> bool {
        self.part_of[a.index()] != self.part_of[b.index()]
    }

    /// Whether nothing is at the end of a switch's port, or the switch has no such port, so that packets which leave by it are gone.
    pub(crate) fn is_dead_end(&self, switch: u32, port: u8) -> bool {
        let cable = self.fabric.port(PortRef::new(self.fabric.switches()[switch as usize], port));
        port != 0 && cable.is_none_or(|port| port.peer.is_none())
    }

    /// The ports of a switch that lead to hosts with LIDs.
    pub(crate) fn ports_of_hosts(&self, switch: u32) -> &[u8] {
        &self.host_ports[switch as usize]
    }

    /// A switch's own LID, if it has one.
    pub(crate) fn own_lid(&self, switch: u32) -> Option<Lid> {
        self.own_lids[switch as usize]
    }

    /// The port by which a packet comes in that `switch` sent out by `port`; 0 if it comes to no switch.
    pub(crate) fn entry(&self, switch: u32, port: u8) -> u8 {
        self.fabric.channel_peer(self.first_channel(switch) + usize::from(port)).map_or(0, |(_, entry)| entry)
    }

    /// The first channel of a switch.
    pub(crate) fn first_channel(&self, switch: u32) -> usize {
        self.base[switch as usize] as usize
    }

    /// The next switch of a packet that `switch` sends out by `port`.
    pub(crate) fn next(&self, switch: u32, port: u8) -> Option<u32> {
        self.hops_of(switch).get(usize::from(port)).map(|hop| hop.peer).filter(|&peer| peer != NOWHERE)
    }
}

/// A block of the tables of all switches, copied together so that it stays in the cache.
#[derive(Clone, Debug, Default)]
pub(crate) struct Block(Vec<[u8; Tables::BLOCK]>);

impl Block {
    pub(crate) fn load(&mut self, net: &Net<'_>, tables: &Tables, block: usize) {
        self.0.clear();
        let rows = (0..net.switches() as u32).map(|switch| tables.block(SwitchIndex(switch), block));
        self.0.extend(rows.map(|row| row.copied().unwrap_or([NO_PORT; Tables::BLOCK])));
    }

    pub(crate) fn row(&self, switch: u32) -> &[u8; Tables::BLOCK] {
        &self.0[switch as usize]
    }

    /// The port by which a switch sends packets to a LID of this block.
    #[inline]
    pub(crate) fn port(&self, switch: u32, column: &Column) -> u8 {
        self.0[switch as usize][usize::from(column.at) % Tables::BLOCK]
    }
}
