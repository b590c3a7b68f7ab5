//! Chooses engines by the shape of the fabric.

use crate::{Engine, Options, links};
use heddle_fabric::{Class, Fabric, Shape, classify};

/// A chain of engines in which nobody is left to choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// The engines, each once, in the order in which to try them.
    pub engines: Vec<Engine>,
    /// What [`Engine::Auto`] chose and why, if it was asked.
    pub why: Option<String>,
}

impl Chain {
    /// Puts in the place of [`Engine::Auto`] what it chooses for a fabric: the engine for its shape, and after it those that route any
    /// shape. `O(`[`classify`]`)` if it is there.
    pub fn new(engines: &[Engine], fabric: &Fabric, options: &Options) -> Self {
        let mut chain = Self { engines: Vec::new(), why: None };
        for &engine in engines {
            let chosen = if engine == Engine::Auto {
                // If what is left of it hangs together no more, the engines say so.
                let usable = links::usable(engine, fabric, options).unwrap_or_default();
                let (why, chosen) = choose(&classify(usable.as_ref().unwrap_or(fabric)), options.max_vls);
                chain.why = Some(why);
                chosen
            } else {
                vec![engine]
            };
            chosen.into_iter().for_each(|engine| {
                if !chain.engines.contains(&engine) {
                    chain.engines.push(engine);
                }
            });
        }
        chain
    }
}

/// The first is the engine for the shape.
fn choose(class: &Class, max_vls: u8) -> (String, Vec<Engine>) {
    // Rings of five or more wait for each other on one VL.
    let is_long = |&(length, is_ring): &(usize, bool)| is_ring && length > 4;
    let (best, vls) = match class.shape() {
        Some(Shape::Tree(_)) => (Engine::FatTree, 1),
        Some(Shape::OneSwitch | Shape::BackToBack) | None => (Engine::UpDown, 1),
        Some(Shape::Torus(dimensions)) => (Engine::Torus, if dimensions.iter().any(is_long) { 2 } else { 1 }),
        Some(Shape::Ring(length)) => (Engine::Torus, if is_long(&(*length, true)) { 2 } else { 1 }),
        Some(Shape::Mesh(_) | Shape::Hypercube(_) | Shape::HyperX(_)) => (Engine::Dor, 1),
        Some(Shape::Dragonfly { .. }) => (Engine::Dragonfly, 2),
        // How many it needs, it finds out; with two there is a chance.
        Some(Shape::DragonflyPlus { .. } | Shape::Irregular) => (Engine::Dfsssp, 2),
    };
    let mut engines = vec![Engine::Nue, Engine::UpDown];
    if vls <= max_vls {
        engines.retain(|&engine| engine != best);
        engines.insert(0, best);
        return (format!("{class}, so {best}"), engines);
    }
    (format!("{class}, for which {best} would need {vls} virtual lanes or more, but {max_vls} is allowed, so {}", engines[0]), engines)
}
