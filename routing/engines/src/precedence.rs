//! Who is routed before whom, as far as the user says it.

use heddle_fabric::{EndPort, Fabric, Guid};
use std::collections::BTreeMap;

/// The order in which the user wants nodes and ports to be routed.
pub(crate) struct Precedence<'a> {
    fabric: &'a Fabric,
    place: BTreeMap<Guid, u32>,
}

impl<'a> Precedence<'a> {
    pub(crate) fn new(fabric: &'a Fabric, routing_order: &[Guid]) -> Self {
        let mut place = BTreeMap::new();
        routing_order.iter().zip(0..).for_each(|(&guid, number)| _ = place.entry(guid).or_insert(number));
        Self { fabric, place }
    }

    /// The place of a port, of its node, or of the switch that carries it, the first that is listed; `u32::MAX` for all others.
    pub(crate) fn of(&self, end: &EndPort) -> u32 {
        if self.place.is_empty() {
            return u32::MAX;
        }
        let port = self.fabric.port(end.at).map(|port| port.guid).filter(|&guid| guid != Guid(0));
        let names = port.into_iter().chain([self.fabric.node(end.at.node).guid, self.fabric.switch(end.switch).guid]);
        names.filter_map(|guid| self.place.get(&guid).copied()).next().unwrap_or(u32::MAX)
    }
}
