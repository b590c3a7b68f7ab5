//! The routes of `sssp`, on as many virtual lanes as they need to be free of deadlock (after J. Domke, T. Hoefler and W. Nagel,
//! "Deadlock-free oblivious routing for arbitrary topologies", IPDPS 2011).

use crate::graph::Graph;
use crate::layers::Layers;
use crate::order::Order;
use crate::refusal::too_many_lanes;
use crate::sssp::Routes;
use crate::{Engine, Options, Refusal};
use heddle_fabric::{DROP_VL, Fabric, Lanes, Levels, Tables};

/// The most layers that are tried: one more than there can be VLs.
const LAYERS: usize = DROP_VL as usize + 1;

/// Fewer than one of so many routes are searched for again.
const FEW: u64 = 4;

/// Fills the tables of a connected fabric.
///
/// Once most routes have room in the layers that there are, the others are searched for again, along the turns of these layers; only what
/// then has no room asks for another layer.
pub(crate) fn fill(
    engine: Engine,
    tables: &mut Tables,
    fabric: &Fabric,
    graph: &Graph,
    order: &Order,
    options: &Options,
) -> Result<(), Refusal> {
    let mut routes = Routes::new(fabric, graph, order, options);
    routes.spread(tables);
    let mut layers = Layers::new(fabric, &routes.cables);
    let mut left = layers.left(fabric, &mut routes, tables);
    while left.routes.0 > 0 && layers.count < LAYERS && !layers.add(fabric, &routes, &left) {
        left = layers.left(fabric, &mut routes, tables);
        if 0 < left.routes.0 && left.routes.0 * FEW < left.routes.1 {
            routes.search(tables, &layers.allowed, |tree| left.trees[tree], true);
            left = layers.left(fabric, &mut routes, tables);
        }
    }
    let max_vls = options.max_vls.min(DROP_VL);
    if layers.count > usize::from(max_vls) {
        let culprits = layers.begin_beyond(fabric, &mut routes, tables, max_vls);
        return Err(too_many_lanes(engine, layers.count, options.max_vls, culprits));
    }
    routes.finish(tables);
    if layers.count > 1 {
        let levels = layers.levels(fabric, &mut routes, tables);
        tables.set_lanes(Some(Lanes::uniform(Levels::ByPair(levels), Lanes::IDENTITY)));
    }
    Ok(())
}
