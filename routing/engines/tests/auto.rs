//! What the engine auto chooses, and what becomes of it.

mod support;

use heddle_engines::{Chain, Engine, Options, route};
use heddle_fabric::{Fabric, generate};
use heddle_verify::verify;
use proptest::prelude::*;
use support::judge;

fn fabric(spec: &str) -> Fabric {
    let mut builder = generate(spec).unwrap();
    builder.assign_lids().unwrap();
    builder.build()
}

#[test]
fn the_engine_goes_by_the_shape_and_the_lanes() {
    for (spec, max_vls, engine, why) in [
        ("clos3:4", 8, Engine::FatTree, "a tree of 3 levels (8 + 8 + 4 switches from the bottom), so fat-tree"),
        ("torus:6x5x5", 8, Engine::Torus, "a torus of 6x5x5 (150 switches), so torus"),
        (
            "torus:6x5",
            1,
            Engine::Nue,
            "a torus of 6x5 (30 switches), for which torus would need 2 virtual lanes or more, but 1 is allowed, so nue",
        ),
        ("torus:3x4", 1, Engine::Torus, "a torus of 3x4 (12 switches), so torus"),
        ("ring:6", 2, Engine::Torus, "a ring of 6 switches, so torus"),
        ("mesh:4x5", 1, Engine::Dor, "a mesh of 4x5 (20 switches), so dor"),
        ("hyperx:4x5", 1, Engine::Dor, "a HyperX of 4x5 (20 switches), so dor"),
        ("dragonfly:a=4,p=2,h=2", 2, Engine::Dragonfly, "a dragonfly of 9 groups of 4 switches, so dragonfly"),
        ("random:switches=20,degree=4,seed=3", 8, Engine::Dfsssp, "a fabric of no known shape (20 switches), so dfsssp"),
        ("ring:1", 1, Engine::UpDown, "one switch, so up-down"),
    ] {
        let fabric = fabric(spec);
        let options = Options { max_vls, ..Options::default() };
        let chain = Chain::new(&[Engine::Auto], &fabric, &options);
        assert_eq!((chain.engines[0], chain.why.as_deref()), (engine, Some(why)), "{spec}");
        let tables = route(Engine::Auto, &fabric, &options).unwrap();
        assert_eq!(tables.engine(), engine.name());
        let report = verify(&fabric, &tables);
        assert!(report.is_good() && report.vls() <= max_vls, "{spec}: {report}");
    }
}

#[test]
fn a_chain_has_each_engine_once() {
    let fabric = fabric("torus:5x5");
    let chain = Chain::new(&[Engine::Auto, Engine::UpDown, Engine::MinHop], &fabric, &Options::default());
    assert_eq!(chain.engines, [Engine::Torus, Engine::Nue, Engine::UpDown, Engine::MinHop]);
    let chain = Chain::new(&[Engine::MinHop, Engine::UpDown], &fabric, &Options::default());
    assert_eq!((&chain.engines[..], chain.why), (&[Engine::MinHop, Engine::UpDown][..], None));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Some engine of the chain gives tables that the verifier accepts, on as many VLs as are allowed; the others say why not.
    #[test]
    fn auto_ends_with_proven_tables(
        shape in prop::sample::select(vec![
            "clos2:8", "clos3:4", "rail:pods=2,servers=4,rails=3,spines=4", "torus:5x5,hosts=2", "torus:4x3x5", "mesh:4x4x3", "ring:7",
            "hypercube:5", "hyperx:5x4", "dragonfly:a=6,p=2,h=3,groups=9", "dragonfly:a=4,p=2,h=2",
            "dragonfly-plus:leaves=4,spines=4,p=2,h=1", "random:switches=18,degree=4,hosts=2",
        ]),
        links in 0u64..4, switches in 0u64..2, max_vls in 1u8..5, seed in any::<u32>()
    ) {
        let links = if shape.starts_with("ring") { links.min(1 - switches.min(1)) } else { links };
        let Ok(mut builder) = generate(&format!("{shape},fail-links={links},fail-switches={switches},seed={seed}")) else { return Ok(()) };
        builder.assign_lids().unwrap();
        let fabric = builder.build();
        let options = Options { max_vls, ..Options::default() };
        let mut proven = false;
        for engine in Chain::new(&[Engine::Auto], &fabric, &options).engines {
            match route(engine, &fabric, &options) {
                Ok(tables) => {
                    judge(&fabric, &tables);
                    let report = verify(&fabric, &tables);
                    proven = report.is_good() && report.vls() <= max_vls;
                }
                Err(refusal) => prop_assert!(!refusal.reason.is_empty() && !refusal.remedy.is_empty()),
            }
            if proven {
                break;
            }
        }
        prop_assert!(proven, "{} {} {} {}", shape, links, switches, seed);
    }
}
