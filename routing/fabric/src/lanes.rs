use crate::{Fabric, Lid, SwitchIndex};
use std::collections::BTreeMap;

/// Service levels and virtual lanes: which SL a route's packets have, and which VL that is on each hop.
///
/// A packet keeps its SL all the way. Each switch maps it to the VL on which the packet leaves, by the port of entry, the port of exit and
/// the SL (SL2VL, IBA 7.6.6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lanes {
    levels: Levels,
    /// The different rows of SL2VL, each the VLs by SL.
    rows: Vec<[u8; 16]>,
    /// By switch, port of entry and port of exit: the row; empty if all have the first.
    row_of: Vec<u32>,
    /// The numbers of the rows.
    number_of: BTreeMap<[u8; 16], u32>,
    /// Where each switch's part of `row_of` begins, and its ports with port 0.
    parts: Vec<(u32, u32)>,
}

/// The service levels of routes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Levels {
    /// By destination LID: the same from everywhere.
    ByDestination(Vec<u8>),
    /// By source switch and destination LID, in rows as long as those of the tables.
    ByPair(Vec<u8>),
    /// The same, as a mask of SLs where routes of several hosts of the switch differ: what another subnet manager's dump may say.
    Several(Vec<u16>),
}

/// A VL number that drops the packet in SL2VL (IBA 7.6.6).
pub const DROP_VL: u8 = 15;

impl Lanes {
    /// The row in which each SL is the VL of its number; SL 15, whose VL would drop the packet, is the last data VL.
    pub const IDENTITY: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 14];

    /// Every switch maps SLs to VLs by the same row.
    pub fn uniform(levels: Levels, row: [u8; 16]) -> Self {
        Self { levels, rows: vec![row], row_of: Vec::new(), number_of: BTreeMap::from([(row, 0)]), parts: Vec::new() }
    }

    /// Each pair of ports has a row of its own; at first all have `row`.
    pub fn by_ports(fabric: &Fabric, levels: Levels, row: [u8; 16]) -> Self {
        let mut parts = Vec::with_capacity(fabric.switch_count());
        let mut begin = 0;
        for switch in (0..fabric.switch_count() as u32).map(SwitchIndex) {
            let ports = u32::from(fabric.switch(switch).num_ports) + 1;
            parts.push((begin, ports));
            begin += ports * ports;
        }
        Self { levels, rows: vec![row], row_of: vec![0; begin as usize], number_of: BTreeMap::from([(row, 0)]), parts }
    }

    /// Sets the VLs of packets that come to `switch` by one port and leave by another.
    ///
    /// # Panics
    /// When the lanes are uniform, or the switch does not have the ports.
    pub fn set_row(&mut self, switch: SwitchIndex, from: u8, to: u8, row: [u8; 16]) {
        let (begin, ports) = self.parts[switch.index()];
        assert!(u32::from(from) < ports && u32::from(to) < ports, "no such port");
        let number = *self.number_of.entry(row).or_insert_with(|| {
            self.rows.push(row);
            self.rows.len() as u32 - 1
        });
        self.row_of[(begin + u32::from(from) * ports + u32::from(to)) as usize] = number;
    }

    /// The VLs by SL of packets that come to `switch` by one port and leave by another. Ports that the switch does not have get the first
    /// row.
    pub fn row(&self, switch: SwitchIndex, from: u8, to: u8) -> &[u8; 16] {
        let number = self.parts.get(switch.index()).and_then(|&(begin, ports)| {
            let known = u32::from(from) < ports && u32::from(to) < ports;
            known.then(|| self.row_of[(begin + u32::from(from) * ports + u32::from(to)) as usize] as usize)
        });
        &self.rows[number.unwrap_or(0)]
    }

    /// The one row, where all switches have the same everywhere.
    pub fn uniform_row(&self) -> Option<&[u8; 16]> {
        self.row_of.iter().all(|&row| row == 0).then(|| &self.rows[0])
    }

    /// The service levels.
    pub const fn levels(&self) -> &Levels {
        &self.levels
    }

    /// The SLs, as a mask, that packets from the hosts of a switch to a LID may have. `row_len` is that of the tables. 0 if none are known.
    pub fn levels_of(&self, row_len: usize, from: SwitchIndex, to: Lid) -> u16 {
        let pair = || if to.index() < row_len { Some(from.index() * row_len + to.index()) } else { None };
        let bit = |sl: Option<&u8>| sl.filter(|&&sl| sl < 16).map_or(0, |&sl| 1 << sl);
        match &self.levels {
            Levels::ByDestination(levels) => bit(levels.get(to.index())),
            Levels::ByPair(levels) => bit(pair().and_then(|pair| levels.get(pair))),
            Levels::Several(levels) => pair().and_then(|pair| levels.get(pair)).copied().unwrap_or(0),
        }
    }

    /// The SLs, as a mask, that some route has.
    pub fn used_levels(&self) -> u16 {
        match &self.levels {
            Levels::ByDestination(levels) | Levels::ByPair(levels) => {
                levels.iter().filter(|&&sl| sl < 16).fold(0, |mask, sl| mask | 1 << sl)
            }
            Levels::Several(levels) => levels.iter().fold(0, |mask, levels| mask | levels),
        }
    }

    /// How many VLs there must be: one more than the largest that a row has for an SL in use, [`DROP_VL`] excepted.
    pub fn vls(&self) -> u8 {
        self.vls_of(self.used_levels())
    }

    /// The same, if these SLs were in use.
    pub fn vls_of(&self, levels: u16) -> u8 {
        let vls = self.rows.iter().flat_map(|row| row.iter().enumerate()).filter(|(sl, vl)| levels >> sl & 1 == 1 && **vl < DROP_VL);
        vls.map(|(_, &vl)| vl + 1).max().unwrap_or(1)
    }
}
