//! Multicast groups, and the tables by which switches copy their packets.

use crate::{Fabric, PortRef, SwitchIndex};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;

/// A multicast LID, 0xc000 to 0xfffe (IBA 4.1.3). Printed as `0x` and four digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mlid(u16);

impl Mlid {
    /// The smallest multicast LID.
    pub const MIN: Self = Self(0xc000);
    /// The largest multicast LID.
    pub const MAX: Self = Self(0xfffe);

    /// `mlid` as a multicast LID; `None` for 0, unicast and the permissive LID.
    pub const fn new(mlid: u16) -> Option<Self> {
        if mlid >= Self::MIN.0 && mlid <= Self::MAX.0 { Some(Self(mlid)) } else { None }
    }

    /// The number.
    pub const fn get(self) -> u16 {
        self.0
    }

    /// As an index into a multicast forwarding table: 0 is [`Mlid::MIN`].
    pub const fn index(self) -> usize {
        (self.0 - Self::MIN.0) as usize
    }
}

impl fmt::Display for Mlid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#06x}", self.0)
    }
}

impl fmt::Debug for Mlid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MLID {self}")
    }
}

/// As text, as it is written everywhere else.
impl Serialize for Mlid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// What packets of one multicast LID are to do: several groups of the subnet administrator that share an MLID are one here.
///
/// The ports are hosts' ports or port 0 of switches ([`Fabric::attachment`] tells which are possible); their order, and a port that is
/// named twice, mean nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The address.
    pub mlid: Mlid,
    /// The service level of the packets, 0 to 15.
    pub sl: u8,
    /// The ports that send and are sent every packet of others: full members and non-members (IBA 15.2.5.17, JoinState).
    pub members: Vec<PortRef>,
    /// The ports that only send: send-only members. A port that is a member as well is one.
    pub senders: Vec<PortRef>,
}

/// The multicast forwarding tables of all switches: for each MLID and switch, the set of ports by which packets leave.
///
/// A switch copies a packet to each port of the set but the one by which it came (IBA 18.2.4.3.3). Port 0 is the switch itself.
/// Only the switches of a tree take memory: some `4 + ports / 8` bytes each.
#[derive(Clone, PartialEq, Eq)]
pub struct MulticastTables {
    switches: usize,
    /// Words of 16 ports that a mask takes: enough for the largest switch.
    words: usize,
    trees: BTreeMap<Mlid, Tree>,
}

/// The masks of one MLID that are not empty.
#[derive(Clone, Default, PartialEq, Eq)]
struct Tree {
    /// Ascending.
    switches: Vec<SwitchIndex>,
    /// By place in `switches`: so many words each.
    masks: Vec<u16>,
}

impl MulticastTables {
    /// The MLIDs of a block, as `MulticastForwardingTable` MADs carry them (IBA 14.2.5.12).
    pub const BLOCK: usize = 32;
    /// The ports of a mask in such a block.
    pub const POSITION: usize = 16;

    /// Tables for `fabric` that drop everything.
    pub fn new(fabric: &Fabric) -> Self {
        let ports = fabric.switches().iter().map(|&node| fabric.node_ports(node).len()).max().unwrap_or(0);
        Self { switches: fabric.switch_count(), words: ports.div_ceil(Self::POSITION), trees: BTreeMap::new() }
    }

    /// The MLIDs that have an entry at any switch, ascending.
    pub fn mlids(&self) -> impl Iterator<Item = Mlid> + '_ {
        self.trees.keys().copied()
    }

    /// The switches that have an entry for `mlid`, ascending.
    pub fn switches(&self, mlid: Mlid) -> &[SwitchIndex] {
        self.trees.get(&mlid).map_or(&[], |tree| &tree.switches)
    }

    /// The ports by which `switch` sends packets to `mlid`, ascending; none if it drops them, or is beyond the end of these tables.
    pub fn ports(&self, mlid: Mlid, switch: SwitchIndex) -> impl Iterator<Item = u8> + '_ {
        let mask = self.mask(mlid, switch).unwrap_or(&[]);
        (0..=u8::MAX)
            .zip(mask.iter().flat_map(|&word| (0..16).map(move |bit| word >> bit & 1 == 1)))
            .filter_map(|(port, set)| set.then_some(port))
    }

    /// Whether `switch` sends packets to `mlid` by `port`. `O(log switches)`.
    pub fn contains(&self, mlid: Mlid, switch: SwitchIndex, port: u8) -> bool {
        let (word, bit) = place(port);
        self.mask(mlid, switch).and_then(|mask| mask.get(word)).is_some_and(|mask| mask & bit != 0)
    }

    /// Has `switch` send packets to `mlid` by `port` as well. Returns whether that is new. `O(switches of the tree)`, but `O(1)` where
    /// the switch is beyond all that have an entry: fill in ascending order.
    ///
    /// # Panics
    /// When the fabric has no such switch, or no switch as large.
    pub fn insert(&mut self, mlid: Mlid, switch: SwitchIndex, port: u8) -> bool {
        let (word, bit) = place(port);
        assert!(switch.index() < self.switches && word < self.words, "port {port} of switch {} is not one of the fabric's", switch.0);
        let tree = self.trees.entry(mlid).or_default();
        let at = tree.find(switch).unwrap_or_else(|at| {
            tree.switches.insert(at, switch);
            let begin = at * self.words;
            tree.masks.splice(begin..begin, std::iter::repeat_n(0, self.words));
            at
        });
        let mask = &mut tree.masks[at * self.words + word];
        let new = *mask & bit == 0;
        *mask |= bit;
        new
    }

    /// Has `switch` send packets to `mlid` no longer by `port`. Returns whether it did. `O(switches of the tree)`.
    pub fn remove(&mut self, mlid: Mlid, switch: SwitchIndex, port: u8) -> bool {
        if !self.contains(mlid, switch, port) {
            return false;
        }
        let (word, bit) = place(port);
        let tree = self.trees.get_mut(&mlid).expect("it contains the port");
        let at = tree.find(switch).expect("it contains the port");
        let range = at * self.words..(at + 1) * self.words;
        tree.masks[range.start + word] &= !bit;
        if tree.masks[range.clone()].iter().all(|&mask| mask == 0) {
            tree.masks.drain(range);
            tree.switches.remove(at);
        }
        if tree.switches.is_empty() {
            self.trees.remove(&mlid);
        }
        true
    }

    /// Drops the packets of `mlid` everywhere.
    pub fn clear(&mut self, mlid: Mlid) {
        self.trees.remove(&mlid);
    }

    /// The masks of ports 16 * `position` to 16 * `position` + 15 at a switch, lowest port in the lowest bit, for the MLIDs from 0xc000 + 32 * `block`
    /// on: what a `MulticastForwardingTable` MAD with this block and position carries (IBA 14.2.5.12). Zeros beyond the end of these tables.
    pub fn block(&self, switch: SwitchIndex, block: usize, position: usize) -> [u16; Self::BLOCK] {
        let mut masks = [0; Self::BLOCK];
        let base = block.saturating_mul(Self::BLOCK).saturating_add(Mlid::MIN.0.into());
        for (offset, mask) in masks.iter_mut().enumerate() {
            let mlid = u16::try_from(base.saturating_add(offset)).ok().and_then(Mlid::new);
            *mask = mlid.and_then(|mlid| self.mask(mlid, switch)?.get(position).copied()).unwrap_or(0);
        }
        masks
    }

    /// How many positions the largest switch has; a smaller one has `ports / 16 + 1`, port 0 not counted.
    pub const fn positions(&self) -> usize {
        self.words
    }

    fn mask(&self, mlid: Mlid, switch: SwitchIndex) -> Option<&[u16]> {
        let tree = self.trees.get(&mlid)?;
        let at = tree.find(switch).ok()?;
        tree.masks.get(at * self.words..(at + 1) * self.words)
    }
}

impl Tree {
    /// Where the switch is, or belongs.
    fn find(&self, switch: SwitchIndex) -> Result<usize, usize> {
        if self.switches.last().is_none_or(|&last| last < switch) {
            return Err(self.switches.len());
        }
        self.switches.binary_search(&switch)
    }
}

/// A port's word in a mask, and its bit there.
const fn place(port: u8) -> (usize, u16) {
    (port as usize / MulticastTables::POSITION, 1 << (port % 16))
}

impl fmt::Debug for MulticastTables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries: usize = self.trees.values().map(|tree| tree.switches.len()).sum();
        write!(f, "MulticastTables ({} MLIDs, {entries} entries of switches)", self.trees.len())
    }
}
