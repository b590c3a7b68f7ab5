//! What the user decides about routes.

use heddle_fabric::Guid;
use std::collections::BTreeMap;

/// What the user decides about routes. Each engine heeds what has a meaning for it; the defaults ask for nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The virtual lanes that an engine may use, 1 to 15.
    pub max_vls: u8,
    /// The switches at the top, for engines that go up and down; found if there are none here.
    pub roots: Vec<Guid>,
    /// The hosts (nodes or ports) whose traffic with each other is balanced first; all hosts if there are none here.
    pub compute_nodes: Vec<Guid>,
    /// The hosts (nodes or ports) that are balanced apart from the others: storage and gateways.
    pub io_nodes: Vec<Guid>,
    /// Numbers that decide between equal switches, lower ones nearer to the top, in place of what the engine finds.
    pub ids: BTreeMap<Guid, u64>,
}

impl Default for Options {
    /// 8 VLs, which is what most switches have.
    fn default() -> Self {
        Self { max_vls: 8, roots: Vec::new(), compute_nodes: Vec::new(), io_nodes: Vec::new(), ids: BTreeMap::new() }
    }
}
