//! A cable of a tree of 11,664 hosts is lost and comes back, again and again: `cargo bench -p heddle-engines --bench reroute`. The example
//! `faults` shows the changes themselves.
#![allow(missing_docs, reason = "criterion's macros")]

use criterion::{Criterion, criterion_group, criterion_main};
use heddle_engines::{Engine, Options, Rerouter, route};
use heddle_fabric::{Fabric, PortRef, SwitchIndex};
use heddle_verify::prove;
use std::sync::Arc;

/// The first cable between switches of two kinds, as the generator names them.
fn cable(fabric: &Fabric, kinds: [&str; 2]) -> PortRef {
    let is = |switch: SwitchIndex, kind: &str| fabric.switch(switch).description.starts_with(kind);
    let mut switches = (0..fabric.switch_count() as u32).map(SwitchIndex).filter(|&switch| is(switch, kinds[0]));
    let found = switches.find_map(|switch| {
        let arc = fabric.arcs(switch).iter().find(|arc| is(arc.peer, kinds[1]))?;
        Some(PortRef::new(fabric.switches()[switch.index()], arc.port))
    });
    found.expect("a tree of three levels has both kinds")
}

fn lost_and_back(criterion: &mut Criterion) {
    let mut builder = heddle_fabric::generate("clos3:36").expect("a shape that generate knows");
    builder.assign_lids().expect("there are LIDs enough");
    let healthy = Arc::new(builder.build());
    let tables = route(Engine::MinHop, &healthy, &Options::default()).expect("a tree is no trouble");
    let mut group = criterion.benchmark_group("clos3:36, one cable lost and back");
    group.sample_size(20);
    for kinds in [["agg", "spine"], ["leaf", "agg"]] {
        let mut builder = healthy.to_builder();
        builder.disconnect(cable(&healthy, kinds));
        let lost = Arc::new(builder.build());
        let mut rerouter = Rerouter::new(Engine::MinHop, Arc::clone(&healthy), &tables).expect("trees need one VL");
        let mut proven = Some(prove(Arc::clone(&healthy), tables.clone()).expect("a tree has no circles"));
        group.bench_function(kinds.join("-"), |bencher| {
            bencher.iter(|| {
                for fabric in [&lost, &healthy] {
                    let before = proven.take().expect("put back below");
                    let patch = rerouter.reroute(before.tables(), fabric).expect("there are other ways");
                    proven = Some(before.apply(Arc::clone(fabric), &patch).expect("proven").0);
                }
            });
        });
    }
    group.finish();
}

criterion_group!(benches, lost_and_back);
criterion_main!(benches);
