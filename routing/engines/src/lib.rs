//! Routing engines: pure functions from a fabric to forwarding tables.
//!
//! [`route`] reads a [`Fabric`] and gives [`Tables`], or a [`Refusal`] that names what stands in the way. It does no I/O and knows no
//! clock; it works on all cores, and the tables are the same bytes at any number of threads. The names and numbers of nodes decide
//! nothing but ties, so that a fabric listed in another order gets the same routes.
//!
//! Most engines work per destination *switch*: the hosts of one switch share its set of ways, and only the last step, the choice among
//! equal ports, is made for each LID; `min-hop` and `up-down` find ways for 64 destination switches at once, one bit each. `sssp`, `dfsssp`
//! and `nue` choose for each LID by what the others use.
//!
//! A [`Rerouter`] goes on from proven tables when the fabric changes: it gives the few entries that have to change.
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

mod acyclic;
mod auto;
mod detours;
mod dfsssp;
mod dor;
mod dragonfly;
mod engine;
mod fat_tree;
mod file;
mod given;
mod graph;
mod heights;
mod lash;
mod layers;
mod links;
mod min_hop;
mod multicast;
mod nue;
mod numbers;
mod options;
mod order;
mod parts;
mod pieces;
mod precedence;
mod refusal;
mod reroute;
mod slots;
mod spread;
mod sssp;
mod up_down;
mod ways;

pub use auto::Chain;
pub use engine::{Description, Engine, UnknownEngine};
pub use multicast::{Multicast, NoTree, multicast};
pub use options::{Options, Throttled};
pub use refusal::Refusal;
pub use reroute::Rerouter;

use graph::Graph;
use heddle_fabric::{Fabric, SwitchIndex, Tables};
use heights::Heights;
use numbers::Numbers;
use order::Order;

/// Routes a fabric: each switch gets a port for each LID of [`Fabric::end_ports`].
///
/// The entry is 0 at the switch that has the LID itself, and the host's port at the switch that carries the host. All LIDs of a
/// range (LMC) reach their port, each over another way where there are several. A fabric without switches or LIDs gets tables
/// without entries. Where the switches are in parts without a cable between them, each part is routed as a fabric of its own; LIDs in
/// other parts have no entries.
///
/// For [`Engine::Auto`] this is the first engine of its [`Chain`], and the tables have its name.
///
/// # Errors
/// A [`Refusal`] if hosts are cabled to hosts beside the rest, if the fabric has not the shape that the engine needs, if the routes
/// need more VLs than `options` allow, or if what is listed in `options` does not fit the fabric.
pub fn route(engine: Engine, fabric: &Fabric, options: &Options) -> Result<Tables, Refusal> {
    let engine = if engine == Engine::Auto { Chain::new(&[engine], fabric, options).engines[0] } else { engine };
    let (options, _) = &options.heeded(engine);
    let usable = links::usable(engine, fabric, options)?;
    let fabric = usable.as_ref().unwrap_or(fabric);
    let mut tables = Tables::new(fabric, engine.name());
    let graph = Graph::heeding(fabric, options);
    if let Some(refusal) = refusal::if_hosts_are_apart(engine, fabric) {
        return Err(refusal);
    }
    given::check(engine, fabric, &graph, options)?;
    if tables.row_len() == 0 {
        return Ok(tables);
    }
    let parts = parts::parts(fabric, &graph);
    if parts.len() > 1 && engine != Engine::File {
        parts::route_each(&mut tables, fabric, &parts, options, |part, options| {
            let mut tables = Tables::new(part, engine.name());
            fill(engine, &mut tables, part, &Graph::heeding(part, options), options).map(|()| tables)
        })?;
    } else {
        fill(engine, &mut tables, fabric, &graph, options)?;
    }
    Ok(tables)
}

/// Fills the tables of a connected fabric; those of [`Engine::File`] are for any.
fn fill(engine: Engine, tables: &mut Tables, fabric: &Fabric, graph: &Graph, options: &Options) -> Result<(), Refusal> {
    if tables.row_len() == 0 {
        return Ok(());
    }
    match engine {
        Engine::Dor => return dor::fill(engine, tables, fabric, graph, options),
        Engine::Torus => {
            dor::fill(engine, tables, fabric, graph, options)?;
            let is_allowed = tables.lanes().is_none() || options.max_vls >= 2;
            return if is_allowed { Ok(()) } else { Err(refusal::too_many_lanes(engine, 2, options.max_vls, Vec::new())) };
        }
        Engine::Dragonfly => return dragonfly::fill(tables, fabric, graph, options),
        Engine::File => return file::fill(tables, fabric, options),
        _ => {}
    }
    let roots = given::roots(fabric, options);
    let heights = match engine {
        Engine::FatTree => fat_tree::heights(fabric, graph, options)?,
        Engine::DownUp => Heights::above_hosts(fabric, graph, options),
        Engine::UpDown if !roots.is_empty() => Heights::below(&roots, fabric, graph, options),
        _ => Heights::by_hosts(fabric, graph, options),
    };
    let order = Order::new(graph, heights);
    let numbers = || Numbers::new(fabric, &order, options);
    match engine {
        Engine::Dor | Engine::Torus | Engine::Dragonfly | Engine::File | Engine::Auto => {
            unreachable!("filled above, or another was chosen")
        }
        Engine::Lash => lash::fill(engine, tables, fabric, graph, &order, options)?,
        Engine::Sssp => sssp::fill(tables, fabric, graph, &order, options),
        Engine::Dfsssp => dfsssp::fill(engine, tables, fabric, graph, &order, options)?,
        Engine::Nue => nue::fill(tables, fabric, graph, &order, options),
        Engine::MinHop => spread::fill(tables, fabric, graph, &order, &numbers(), |targets, ways| min_hop::ways(graph, targets, ways)),
        Engine::UpDown | Engine::DownUp | Engine::FatTree => {
            let directions = up_down::Directions::new(graph, &order);
            spread::fill(tables, fabric, graph, &order, &numbers(), |targets, ways| up_down::ways(&directions, targets, ways));
        }
    }
    Ok(())
}

/// The switches that [`Engine::UpDown`] takes as the top of the fabric: those to which no neighbour is nearer to the hosts on average.
/// Ascending. `O(cables x switches x diameter / 64)`.
pub fn roots(fabric: &Fabric) -> Vec<SwitchIndex> {
    heights::roots(fabric, &Graph::new(fabric))
}
