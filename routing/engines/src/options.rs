//! What the user decides about routes.

use crate::Engine;
use heddle_fabric::{Guid, Tables};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the user decides about routes. Each engine heeds what has a meaning for it; the defaults ask for nothing.
///
/// Roots, compute and I/O nodes that are not in the fabric are refused; other GUIDs that are not say nothing.
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
    /// How long the way out of a switch's port is, 1 to 255 hops; 1 if it is not here.
    pub hop_weights: BTreeMap<(Guid, u8), u8>,
    /// By switch: the order in which ports are taken where several are as good; for [`Engine::Dor`] and [`Engine::Torus`] also the order of
    /// the dimensions. Ports that are not here come after those that are.
    pub port_order: BTreeMap<Guid, Vec<u8>>,
    /// Nodes or ports that are routed before the others, in this order. A switch stands for the hosts that it carries, too.
    pub routing_order: Vec<Guid>,
    /// Cables, each by one of its ends (node and port), that no route may use.
    pub ignored_links: Vec<(Guid, u8)>,
    /// What slow cables are good for.
    pub throttled: Throttled,
    /// Where nothing else decides between equals, this does: another number, other routes that are as good. 0 goes by GUID.
    pub seed: u64,
    /// What [`Engine::File`] takes.
    pub tables: Option<Arc<Tables>>,
}

/// What to do about throttled cables: cables between switches that are narrower or slower than is usual at both their ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Throttled {
    /// They are used like others.
    #[default]
    Use,
    /// Every cable between switches, throttled or not, gets routes in proportion to its data rate where there is a choice.
    Weigh,
    /// They are used only where there is no other way.
    Avoid,
}

impl Default for Options {
    /// 8 VLs, which is what most switches have.
    fn default() -> Self {
        Self {
            max_vls: 8,
            roots: Vec::new(),
            compute_nodes: Vec::new(),
            io_nodes: Vec::new(),
            ids: BTreeMap::new(),
            hop_weights: BTreeMap::new(),
            port_order: BTreeMap::new(),
            routing_order: Vec::new(),
            ignored_links: Vec::new(),
            throttled: Throttled::default(),
            seed: 0,
            tables: None,
        }
    }
}

impl Options {
    /// The options that are given here but say nothing to an engine: the names of their flags, without dashes.
    pub fn unheeded(&self, engine: Engine) -> Vec<&'static str> {
        self.heeded(engine).1
    }

    /// What of these options an engine heeds, and the names of the others that are given.
    pub(crate) fn heeded(&self, engine: Engine) -> (Cow<'_, Self>, Vec<&'static str>) {
        let default = Self::default();
        let mut heeded = Cow::Borrowed(self);
        let mut others = Vec::new();
        macro_rules! only_if_heeded {
            ($($field:ident $name:expr;)*) => {$(
                if self.$field != default.$field && !engine.options().contains(&$name) {
                    heeded.to_mut().$field = default.$field;
                    others.push($name);
                }
            )*};
        }
        only_if_heeded! {
            roots "roots";
            compute_nodes "compute-nodes";
            io_nodes "io-nodes";
            ids "ids";
            hop_weights "hop-weights";
            port_order "port-order";
            routing_order "routing-order";
            ignored_links "ignore-links";
            throttled if self.throttled == Throttled::Avoid { "throttled avoid" } else { "throttled weigh" };
            seed "seed";
            tables "lfts";
        }
        (heeded, others)
    }
}
