//! Route computation on 3-level trees, without and with the proof: `cargo bench -p heddle-engines`.
#![allow(missing_docs, reason = "criterion's macros")]

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use heddle_engines::{Engine, Options, route};

fn trees(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("route");
    group.sample_size(20);
    for k in [16, 24, 36] {
        let mut builder = heddle_fabric::generate(&format!("clos3:{k}")).expect("a shape that generate knows");
        builder.assign_lids().expect("there are LIDs enough");
        let fabric = builder.build();
        // Some engines are for other shapes.
        for engine in Engine::ALL.into_iter().filter(|&engine| route(engine, &fabric, &Options::default()).is_ok()) {
            group.bench_with_input(BenchmarkId::new(engine.name(), format!("clos3:{k}")), &fabric, |bencher, fabric| {
                bencher.iter(|| route(engine, fabric, &Options::default()).unwrap());
            });
            group.bench_with_input(BenchmarkId::new(format!("{engine} and verify"), format!("clos3:{k}")), &fabric, |bencher, fabric| {
                bencher.iter(|| {
                    let tables = route(engine, fabric, &Options::default()).unwrap();
                    assert!(heddle_verify::verify(fabric, &tables).connected());
                    tables
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, trees);
criterion_main!(benches);
