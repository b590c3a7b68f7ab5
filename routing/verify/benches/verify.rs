//! `cargo bench -p heddle-verify`: how long proof, check and quality take on three-level trees.

#![allow(missing_docs, reason = "criterion's macros make public items")]

use criterion::{Criterion, criterion_group, criterion_main};
use heddle_fabric::{Fabric, SwitchIndex, Tables, generate};
use heddle_verify::{check_certificate, prove, quality};
use std::hint::black_box;
use std::sync::Arc;

/// D-mod-K by the generator's own port layout: up by the destination's number, down by its place.
fn d_mod_k(fabric: &Fabric, radix: usize) -> Tables {
    let half = radix / 2;
    let numbers = |description: &str| description.split('-').skip(1).map(|part| part.parse().unwrap()).collect::<Vec<usize>>();
    let switches = || (0..fabric.switch_count() as u32).map(SwitchIndex);
    let descriptions = switches().map(|switch| fabric.switch(switch).description.as_str());
    let places: Vec<_> = descriptions.map(|name| (name.split('-').next().unwrap(), numbers(name))).collect();
    let mut tables = Tables::new(fabric, "d-mod-k");
    for switch in switches() {
        let (level, at) = &places[switch.index()];
        for (number, end) in fabric.end_ports().iter().enumerate() {
            let to = &places[end.switch.index()];
            let (a, b) = (number % half, number / half % half);
            let up = half + 1 + if *level == "leaf" { a } else { b };
            let port = match (*level, to.0) {
                _ if end.switch == switch => usize::from(end.switch_port),
                ("leaf", "agg") => half + 1 + to.1[1],
                ("leaf", "spine") => half + 1 + to.1[0],
                ("leaf", _) => up,
                ("agg", "leaf") if at[0] == to.1[0] => to.1[1] + 1,
                ("agg", "agg") if at[0] == to.1[0] => 1,
                ("agg", "spine") if at[1] == to.1[0] => half + 1 + to.1[1],
                ("agg", "spine") => 1,
                ("agg", "agg") if at[1] != to.1[1] => 1 + a,
                ("agg", _) => up,
                (_, "spine") => 1,
                (_, _) => to.1[0] + 1,
            };
            tables.row_mut(switch)[end.lid.index()] = u8::try_from(port).unwrap();
        }
    }
    tables
}

fn measure(criterion: &mut Criterion) {
    for (spec, radix) in [("clos3:24", 24), ("clos3:36", 36), ("clos3:64,pods=44", 64)] {
        let mut builder = generate(spec).unwrap();
        builder.assign_lids().unwrap();
        let fabric = Arc::new(builder.build());
        let tables = d_mod_k(&fabric, radix);
        let proven = prove(fabric.clone(), tables.clone()).unwrap_or_else(|report| panic!("{report}"));
        let mut group = criterion.benchmark_group(spec);
        group.sample_size(10);
        group.bench_function("verify", |bencher| bencher.iter(|| heddle_verify::verify(black_box(&fabric), black_box(&tables))));
        group.bench_function("check_certificate", |bencher| {
            bencher.iter(|| check_certificate(black_box(&fabric), black_box(&tables), proven.certificate()));
        });
        group.bench_function("quality", |bencher| bencher.iter(|| quality(black_box(&fabric), black_box(&tables))));
        group.finish();
    }
}

criterion_group!(benches, measure);
criterion_main!(benches);
