//! Routing engines: pure functions from a fabric to forwarding tables.
//!
//! [`route`] reads a [`Fabric`] and gives [`Tables`], or a [`Refusal`] that names what stands in the way. It does no I/O and knows no
//! clock; it works on all cores, and the tables are the same bytes at any number of threads. The names and numbers of nodes decide
//! nothing but ties, so that a fabric listed in another order gets the same routes.
//!
//! Most engines work per destination *switch*: the hosts of one switch share its set of ways, and only the last step, the choice among
//! equal ports, is made for each LID; `min-hop` and `up-down` find ways for 64 destination switches at once, one bit each. `sssp` chooses
//! for each LID by what the others use already.
//!
//! ```
//! use heddle_engines::{Engine, Options, route};
//! use heddle_fabric::{FabricBuilder, Guid, Link, NodeKind, NodeSpec, PortRef};
//!
//! // Two leaves with a host each, joined by two spines.
//! let mut builder = FabricBuilder::new();
//! let mut add = |kind, guid, ports| builder.add_node(NodeSpec::new(kind, Guid(guid), ports, "")).unwrap();
//! let spines = [add(NodeKind::Switch, 1, 2), add(NodeKind::Switch, 2, 2)];
//! let leaves = [add(NodeKind::Switch, 3, 3), add(NodeKind::Switch, 4, 3)];
//! let hosts = [add(NodeKind::Ca, 5, 1), add(NodeKind::Ca, 6, 1)];
//! for (number, &leaf) in leaves.iter().enumerate() {
//!     builder.connect(PortRef::new(hosts[number], 1), PortRef::new(leaf, 1), Link::default()).unwrap();
//!     for (port, &spine) in spines.iter().enumerate() {
//!         builder.connect(PortRef::new(leaf, port as u8 + 2), PortRef::new(spine, number as u8 + 1), Link::default()).unwrap();
//!     }
//! }
//! builder.assign_lids().unwrap();
//! let fabric = builder.build();
//!
//! let tables = route("up-down".parse::<Engine>().unwrap(), &fabric, &Options::default()).unwrap();
//! let host = fabric.end_ports().iter().find(|end| end.at.node == hosts[1]).unwrap();
//! assert_eq!(tables.port(host.switch, host.lid), 1);
//! assert!(matches!(tables.port(fabric.switch_index(leaves[0]).unwrap(), host.lid), 2 | 3));
//! ```
#![forbid(unsafe_code)]

mod digits;
mod dor;
mod gaps;
mod graph;
mod grid;
mod layers;
mod min_hop;
mod order;
mod refusal;
mod slots;
mod spread;
mod sssp;
mod up_down;

pub use refusal::Refusal;

use graph::Graph;
use heddle_fabric::{Fabric, Lanes, Levels, SwitchIndex, Tables};
use order::Order;
use std::fmt;
use std::str::FromStr;

/// A way to route a fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Engine {
    /// Every route is a shortest one, on any connected fabric; nothing is promised about deadlock.
    MinHop,
    /// Every route climbs, then descends, so that no deadlock is possible on any connected fabric.
    ///
    /// Up*/down* routing needs a direction for each cable such that no cycle of cables points one way. Here it comes from a total
    /// order of the switches, and *up* is towards the earlier one. The order grows from one switch, and each later switch is a
    /// neighbour of an earlier one; so every switch can climb to the first, the first can descend to every switch, and a way that
    /// climbs and then descends exists between any two, links between equals and lost cables included. (Where several roots are held
    /// to be equals, as is usual, there is none between two of them, nor where failures leave two leaves without a common root.)
    /// Since no route turns up after it went down, the channel dependency graph is acyclic over all sources and destinations,
    /// switches included, on one virtual lane.
    ///
    /// Switches that are nearer to the hosts on average come first: in a tree these are the cores, then the switches below them, and
    /// the shortest ways between hosts are all allowed, in trees that lost cables nearly all. No list of roots is needed; [`roots`]
    /// tells which switches are the tops.
    ///
    /// A switch that can descend to the destination does so if a route comes down to it. Others take the shorter of the ways up and
    /// down. Among ways of equal length, cables are taken in turn by the destination's number.
    UpDown,
    /// Every route is a shortest one, over the cables that the fewest routes use; nothing is promised about deadlock.
    Sssp,
    /// The routes of [`Engine::Sssp`], on as many virtual lanes as they need to be free of deadlock: the service level says which.
    Dfsssp,
    /// Dimension by dimension through a mesh or hypercube, which it recognises by its squares; on a torus deadlock is possible.
    Dor,
    /// Dimension by dimension through a torus, on two virtual lanes: service levels say which rings' datelines a route crosses.
    Torus,
}

/// What one must know to choose an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Description {
    /// What it asks of the fabric.
    pub needs: &'static str,
    /// What its routes are sure to be.
    pub guarantees: &'static str,
    /// The virtual lanes that it uses.
    pub virtual_lanes: &'static str,
    /// What the computation takes.
    pub cost: &'static str,
}

/// What the user decides about routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The virtual lanes that an engine may use, 1 to 15.
    pub max_vls: u8,
}

impl Default for Options {
    /// 8 VLs, which is what most switches have.
    fn default() -> Self {
        Self { max_vls: 8 }
    }
}

impl Engine {
    /// All engines.
    pub const ALL: [Self; 6] = [Self::MinHop, Self::UpDown, Self::Sssp, Self::Dfsssp, Self::Dor, Self::Torus];

    /// The name by which it is chosen.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MinHop => "min-hop",
            Self::UpDown => "up-down",
            Self::Sssp => "sssp",
            Self::Dfsssp => "dfsssp",
            Self::Dor => "dor",
            Self::Torus => "torus",
        }
    }

    /// What it needs, guarantees and costs.
    pub const fn description(self) -> Description {
        match self {
            Self::MinHop => Description {
                needs: "a connected fabric of any shape",
                guarantees: "every route is as short as possible; deadlock is possible on shapes with rings, so verify the tables",
                virtual_lanes: "1",
                cost: "O(cables x switches x diameter / 64 + switches x LIDs)",
            },
            Self::UpDown => Description {
                needs: "a connected fabric of any shape; finds the roots itself",
                guarantees: "no deadlock, switch-to-switch traffic included; shortest routes between the hosts of a tree, \
                             longer ones and crowded cables near the top elsewhere",
                virtual_lanes: "1",
                cost: "O(cables x switches x diameter / 64 + switches x LIDs)",
            },
            Self::Sssp => Description {
                needs: "a connected fabric of any shape",
                guarantees: "shortest routes, evenly spread; deadlock is possible on shapes with rings",
                virtual_lanes: "1",
                cost: "O(cables x LIDs)",
            },
            Self::Dfsssp => Description {
                needs: "a connected fabric of any shape; switches with as many VLs as it finds to be needed",
                guarantees: "shortest routes, evenly spread; no deadlock",
                virtual_lanes: "as many as it finds to be needed, up to --max-vls",
                cost: "O(cables x LIDs + routes)",
            },
            Self::Dor => Description {
                needs: "a mesh, torus or hypercube, with losses too",
                guarantees: "shortest routes in the order of the dimensions; no deadlock on meshes and hypercubes",
                virtual_lanes: "1",
                cost: "O(cables x switches + switches x LIDs)",
            },
            Self::Torus => Description {
                needs: "a torus, mesh or hypercube, with up to four dimensions that are rings of five switches or more, with losses too",
                guarantees: "shortest routes in the order of the dimensions; no deadlock, but round a lost switch the proof can fail",
                virtual_lanes: "2 where a ring has five switches or more, else 1",
                cost: "O(cables x switches + switches x LIDs)",
            },
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// There is no engine of this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no engine \"{0}\"; there are: {names}", names = Engine::ALL.map(Engine::name).join(", "))]
pub struct UnknownEngine(pub String);

impl FromStr for Engine {
    type Err = UnknownEngine;

    fn from_str(name: &str) -> Result<Self, UnknownEngine> {
        Self::ALL.into_iter().find(|engine| engine.name() == name).ok_or_else(|| UnknownEngine(name.to_owned()))
    }
}

/// Routes a fabric: each switch gets a port for each LID of [`Fabric::end_ports`].
///
/// The entry is 0 at the switch that has the LID itself, and the host's port at the switch that carries the host. All LIDs of a
/// range (LMC) reach their port, each over another way where there are several. A fabric without switches or LIDs gets tables
/// without entries.
///
/// # Errors
/// A [`Refusal`] if the switches are in parts without a cable between them, if hosts are cabled to hosts beside the rest, or if the routes
/// need more VLs than `options` allow.
pub fn route(engine: Engine, fabric: &Fabric, options: &Options) -> Result<Tables, Refusal> {
    let mut tables = Tables::new(fabric, engine.name());
    let graph = Graph::new(fabric);
    if let Some(refusal) = refusal::if_disconnected(engine, fabric, &graph) {
        return Err(refusal);
    }
    if tables.row_len() == 0 {
        return Ok(tables);
    }
    let order = Order::new(fabric, &graph);
    match engine {
        Engine::Dor => dor::fill(engine, &mut tables, fabric, &graph)?,
        Engine::Torus => {
            dor::fill(engine, &mut tables, fabric, &graph)?;
            if tables.lanes().is_some() && options.max_vls < 2 {
                return Err(refusal::too_many_lanes(engine, 2, options.max_vls, Vec::new()));
            }
        }
        Engine::Sssp => sssp::fill(&mut tables, fabric, &graph, &order),
        Engine::Dfsssp => {
            sssp::fill(&mut tables, fabric, &graph, &order);
            let (levels, count) = layers::assign(fabric, &tables);
            if count > usize::from(options.max_vls.min(heddle_fabric::DROP_VL)) {
                let culprits = layers::begin_beyond(fabric, &levels, options.max_vls);
                return Err(refusal::too_many_lanes(engine, count, options.max_vls, culprits));
            }
            if count > 1 {
                tables.set_lanes(Some(Lanes::uniform(Levels::ByPair(levels), Lanes::IDENTITY)));
            }
        }
        Engine::MinHop => spread::fill(&mut tables, fabric, &graph, &order, |targets, ways| min_hop::ways(&graph, targets, ways)),
        Engine::UpDown => {
            let directions = up_down::Directions::new(&graph, &order);
            spread::fill(&mut tables, fabric, &graph, &order, |targets, ways| up_down::ways(&directions, targets, ways));
        }
    }
    Ok(tables)
}

/// The switches that [`Engine::UpDown`] takes as the top of the fabric: those to which no neighbour is nearer to the hosts on average.
/// Ascending. `O(cables x switches x diameter / 64)`.
pub fn roots(fabric: &Fabric) -> Vec<SwitchIndex> {
    order::roots(fabric, &Graph::new(fabric))
}
