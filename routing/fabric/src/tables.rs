use crate::{Fabric, Lanes, Lid, SwitchIndex};

/// A forwarding-table entry that drops the packet.
pub const NO_PORT: u8 = 0xff;

/// Forwarding tables of all switches of a fabric: for each switch and LID the port of exit, in one allocation.
///
/// A row is as long as the fabric's LIDs need, rounded up to whole blocks of 64, as switches are programmed. Entries of LIDs that
/// nobody has are [`NO_PORT`].
#[derive(Clone, PartialEq, Eq)]
pub struct Tables {
    engine: String,
    row: usize,
    lft: Vec<u8>,
    lanes: Option<Lanes>,
}

impl Tables {
    /// The entries of a block, as `LinearForwardingTable` MADs carry them.
    pub const BLOCK: usize = 64;

    /// Tables for `fabric` that drop everything, to be filled by `engine`.
    pub fn new(fabric: &Fabric, engine: impl Into<String>) -> Self {
        let row = fabric.top_lid().map_or(0, |lid| (lid.index() + 1).next_multiple_of(Self::BLOCK));
        Self { engine: engine.into(), row, lft: vec![NO_PORT; row * fabric.switch_count()], lanes: None }
    }

    /// Who made these tables: an engine's name, or where they were read from.
    pub fn engine(&self) -> &str {
        &self.engine
    }

    /// The SLs and VLs that the routes need; `None` where any will do, as the routes are free of deadlock on one VL.
    pub const fn lanes(&self) -> Option<&Lanes> {
        self.lanes.as_ref()
    }

    /// Sets the SLs and VLs.
    pub fn set_lanes(&mut self, lanes: Option<Lanes>) {
        self.lanes = lanes;
    }

    /// The length of a row: a multiple of [`Tables::BLOCK`]; 0 in a fabric without LIDs.
    pub const fn row_len(&self) -> usize {
        self.row
    }

    /// A switch's table, indexed by LID.
    pub fn row(&self, switch: SwitchIndex) -> &[u8] {
        &self.lft[switch.index() * self.row..(switch.index() + 1) * self.row]
    }

    /// A switch's table, to be filled.
    pub fn row_mut(&mut self, switch: SwitchIndex) -> &mut [u8] {
        &mut self.lft[switch.index() * self.row..(switch.index() + 1) * self.row]
    }

    /// All rows one after another, by [`SwitchIndex`]; for filling them in parallel.
    pub fn rows_mut(&mut self) -> &mut [u8] {
        &mut self.lft
    }

    /// Block `block` of a switch's table: the entries of the LIDs from 64 * `block` on. `None` beyond the end of these tables, which may
    /// have been made for another fabric.
    #[inline]
    pub fn block(&self, switch: SwitchIndex, block: usize) -> Option<&[u8; Self::BLOCK]> {
        let in_row = block.checked_mul(Self::BLOCK).filter(|&start| start < self.row)?;
        let start = switch.index() * self.row + in_row;
        self.lft.get(start..start + Self::BLOCK)?.try_into().ok()
    }

    /// The port by which `switch` sends packets to `lid`; [`NO_PORT`] if it drops them, or is beyond the end of these tables.
    #[inline]
    pub fn port(&self, switch: SwitchIndex, lid: Lid) -> u8 {
        self.block(switch, lid.index() / Self::BLOCK).map_or(NO_PORT, |block| block[lid.index() % Self::BLOCK])
    }
}

impl std::fmt::Debug for Tables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tables by {} ({} entries, {} a switch)", self.engine, self.lft.len(), self.row)
    }
}
