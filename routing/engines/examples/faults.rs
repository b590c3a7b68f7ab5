//! Faults one after another, each followed by rerouting and its proof: what that takes, and what it changes.
//!
//! `cargo run --release -p heddle-engines --example faults -- clos3:36 min-hop 100` loses 100 cables of each class (leaf to aggregation switch,
//! and so on), one after another, and gets them back in the same order.

#![expect(clippy::disallowed_methods, reason = "it measures times")]

use heddle_engines::{Engine, Options, Rerouter, route};
use heddle_fabric::{Fabric, NO_PORT, Patch, PortRef, SwitchIndex, Tables};
use heddle_verify::{Extent, Proven, prove, quality};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let spec = arguments.next().unwrap_or_else(|| "clos3:36".to_owned());
    let engine: Engine = arguments.next().as_deref().unwrap_or("min-hop").parse().expect("the name of an engine");
    let faults: usize = arguments.next().map_or(1, |count| count.parse().expect("a number of faults"));
    let mut builder = heddle_fabric::generate(&spec).unwrap_or_else(|error| panic!("{error}"));
    builder.assign_lids().expect("LIDs enough");
    let healthy = Arc::new(builder.build());
    let begin = Instant::now();
    let tables = route(engine, &healthy, &Options::default()).unwrap_or_else(|refusal| panic!("{}", refusal.display(&healthy)));
    println!("{spec} by {engine}: all routes in {:.1?}", begin.elapsed());
    let begin = Instant::now();
    let proven = prove(Arc::clone(&healthy), tables).unwrap_or_else(|report| panic!("{report}"));
    println!("proof of everything in {:.1?}", begin.elapsed());
    println!("busiest link over mean: {:.3}", imbalance(&healthy, proven.tables()));
    println!(
        "class, cable: time for routes + proof, changed entries in blocks (blocks with entries that lead nowhere), channels raised, busiest link over mean"
    );
    for (class, cables) in classes(&healthy) {
        let begin = Instant::now();
        let mut rerouter =
            Rerouter::new(engine, Arc::clone(&healthy), proven.tables()).unwrap_or_else(|refusal| panic!("{}", refusal.reason));
        println!("{class}: {} cables; loads and turns found in {:.1?}", cables.len(), begin.elapsed());
        // A copy of its own, to be changed in place.
        let mut now = prove(Arc::clone(&healthy), Tables::clone(proven.tables())).expect("proven before");
        let lost: Vec<PortRef> = (0..faults.min(cables.len())).map(|number| cables[number * 7919 % cables.len()]).collect();
        let mut fabrics = vec![Arc::clone(&healthy)];
        for number in 0..2 * lost.len() {
            let mut builder = healthy.to_builder();
            lost.iter().take(number + 1).skip((number + 1).saturating_sub(lost.len())).for_each(|&at| builder.disconnect(at));
            let fabric = Arc::new(builder.build());
            fabrics.push(Arc::clone(&fabric));
            let dead = dead_blocks(now.tables(), &fabric);
            let begin = Instant::now();
            let patch = match rerouter.reroute(now.tables(), &fabric) {
                Ok(patch) => patch,
                Err(refusal) => {
                    println!("{class} {number}: {}", refusal.display(&fabric));
                    break;
                }
            };
            let routed = begin.elapsed();
            let begin = Instant::now();
            let (proven, extent) = now.apply(Arc::clone(&fabric), &patch).unwrap_or_else(|report| panic!("{report}"));
            let proved = begin.elapsed();
            now = proven;
            let what = if number < lost.len() { "lost" } else { "back" };
            println!(
                "{class} {what} {number}: {routed:.2?} + {proved:.2?}, {} ({dead}), {}, {:.3}",
                size(&patch),
                raised(extent),
                imbalance(&fabric, now.tables())
            );
        }
        let same = if now.tables() == proven.tables() { "the same as" } else { "not quite" };
        println!("{class}: in the end the tables are {same} those before");
        check(&now);
    }
}

fn check(proven: &Proven) {
    assert!(heddle_verify::verify(proven.fabric(), proven.tables()).is_good());
}

fn size(patch: &Patch) -> String {
    format!("{} entries in {} blocks", patch.entries().len(), patch.blocks())
}

fn raised(extent: Extent) -> String {
    match extent {
        Extent::Change { raised, .. } => format!("{raised} raised"),
        Extent::Everything(why) => format!("everything proven anew: {why}"),
    }
}

fn imbalance(fabric: &Fabric, tables: &Tables) -> f64 {
    let quality = quality(fabric, tables);
    quality.max_link_load as f64 / quality.mean_link_load
}

/// The blocks with entries that lead nowhere.
fn dead_blocks(tables: &Tables, fabric: &Fabric) -> usize {
    let mut blocks = 0;
    for switch in (0..fabric.switch_count() as u32).map(SwitchIndex) {
        let mut dead = [false; 256];
        for port in 1..=fabric.switch(switch).num_ports {
            let at = PortRef::new(fabric.switches()[switch.index()], port);
            dead[usize::from(port)] = fabric.port(at).is_none_or(|port| port.peer.is_none());
        }
        dead[usize::from(NO_PORT)] = false;
        blocks += tables.row(switch).chunks(Tables::BLOCK).filter(|block| block.iter().any(|&port| dead[usize::from(port)])).count();
    }
    blocks
}

/// The cables between switches by the kinds of switches that they join, which the generators' names tell.
fn classes(fabric: &Fabric) -> BTreeMap<String, Vec<PortRef>> {
    let mut classes: BTreeMap<_, Vec<_>> = BTreeMap::new();
    let kind = |switch| fabric.switch(switch).description.split('-').next().unwrap_or_default();
    for switch in (0..fabric.switch_count() as u32).map(SwitchIndex) {
        for arc in fabric.arcs(switch).iter().filter(|arc| arc.peer > switch) {
            let class = format!("{}-{}", kind(switch), kind(arc.peer));
            classes.entry(class).or_default().push(PortRef::new(fabric.switches()[switch.index()], arc.port));
        }
    }
    classes
}
