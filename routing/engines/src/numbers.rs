//! The numbers of the destinations: their digits choose among equal ports.

use crate::Options;
use crate::order::{Order, is_real_host};
use crate::precedence::Precedence;
use heddle_fabric::{EndPort, Fabric};
use std::collections::{BTreeMap, BTreeSet};

/// The number of a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Number {
    /// Its place among the destinations of its kind.
    pub(crate) index: u32,
    /// From which level on the number has digits: the level of the switch that carries the host. Routes to it descend from above that.
    pub(crate) level: u32,
    /// Whether the host is one of those whose traffic with each other is balanced first: of the first kind, and on a leaf.
    pub(crate) in_shifts: bool,
}

impl Number {
    pub(crate) const fn plus(self, more: u32) -> Self {
        Self { index: self.index + more, ..self }
    }
}

/// The numbers of all destinations.
pub(crate) struct Numbers {
    /// By end port of the fabric.
    pub(crate) of: Vec<Number>,
    /// How many hosts take part in shifts. They have the first numbers.
    pub(crate) in_shifts: u32,
}

/// Which hosts are numbered first and which apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Compute,
    Other,
    Io,
}

impl Numbers {
    /// Hosts are numbered in the user's order, then by leaf and port: the compute nodes, then all others but the I/O nodes, which have numbers of their own. So have
    /// hosts on higher levels. What comes with a switch is numbered by the switch. Thus neither disturbs the numbers of the hosts on the
    /// leaves.
    pub(crate) fn new(fabric: &Fabric, order: &Order, options: &Options) -> Self {
        let kinds = kinds(fabric, options);
        let ends = fabric.end_ports();
        let mut in_order: Vec<usize> = (0..ends.len()).collect();
        let precedence = Precedence::new(fabric, &options.routing_order);
        in_order.sort_by_cached_key(|&end| {
            (kinds[end], precedence.of(&ends[end]), order.rank[ends[end].switch.index()], ends[end].switch_port)
        });
        let first_kind = if options.compute_nodes.is_empty() { Kind::Other } else { Kind::Compute };
        let mut counted = BTreeMap::<(bool, u32), u32>::new();
        let mut numbers = Self { of: vec![Number { index: 0, level: 0, in_shifts: false }; ends.len()], in_shifts: 0 };
        for end in in_order {
            let switch = ends[end].switch.index();
            if !is_real_host(fabric, &ends[end]) {
                numbers.of[end].index = order.rank[switch];
                continue;
            }
            let level = order.level[switch];
            let next = counted.entry((kinds[end] == Kind::Io, level)).or_default();
            let in_shifts = kinds[end] == first_kind && level == 0;
            numbers.of[end] = Number { index: *next, level, in_shifts };
            *next += 1;
            numbers.in_shifts += u32::from(in_shifts);
        }
        numbers
    }
}

fn kinds(fabric: &Fabric, options: &Options) -> Vec<Kind> {
    let is_in = |list: &BTreeSet<_>, end: &EndPort| {
        let port = fabric.port(end.at).map(|port| port.guid);
        list.contains(&fabric.node(end.at.node).guid) || port.is_some_and(|guid| list.contains(&guid))
    };
    let [compute, io] = [&options.compute_nodes, &options.io_nodes].map(|list| list.iter().copied().collect());
    let kind = |end| match (is_in(&io, end), is_in(&compute, end)) {
        (true, _) => Kind::Io,
        (_, true) => Kind::Compute,
        _ => Kind::Other,
    };
    fabric.end_ports().iter().map(kind).collect()
}
