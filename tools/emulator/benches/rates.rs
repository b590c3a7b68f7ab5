//! How long the largest fabric takes to load, what it needs, and how many requests and hops of data a second it does in process on one core:
//! `cargo bench -p heddle-emulator --bench rates [FABRIC]`. Times are those of the processor, so that other programs count less.

use heddle_emulator::traffic::{Options, Pattern, Programmed};
use heddle_emulator::{ClientId, Delivered, Losses, Packet, Timing, World};
use heddle_fabric::{Fabric, NodeIndex, NodeKind, PortRef};
use heddle_mad::wire::{Attribute, LinearForwardingTable, Mad, Method, NodeInfo, Path, PortInfo};
use std::time::Duration;

/// 45,056 hosts and 3,840 switches.
const LARGEST: &str = "clos3:64,pods=44";
const HOPS: usize = 6;
const DIRECTED: u16 = 0xffff;

fn main() {
    let spec = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_else(|| LARGEST.to_owned());
    let began = processor_time();
    let fabric = match heddle_fabric::generate(&spec) {
        Ok(builder) => builder.build(),
        Err(error) => panic!("{spec}: {error}"),
    };
    let generated = processor_time() - began;
    let mut world = World::new(&fabric);
    let loaded = processor_time() - began;
    let hosts = fabric.nodes().len() - fabric.switches().len();
    println!("{spec}: {hosts} hosts, {} switches", fabric.switches().len());
    println!("  generated in {:.2} s, loaded in {:.2} s, peak memory {}", generated.as_secs_f64(), loaded.as_secs_f64(), peak_memory());

    let host = fabric.nodes().iter().position(|node| node.kind == NodeKind::Ca).expect("a host for the client");
    let at = PortRef::new(NodeIndex(host as u32), 1);
    let client = world.attach(at, Losses::Silent).expect("a host's port");
    let to_hosts = walks(&fabric, at, |kind| kind == NodeKind::Ca);
    let to_switches = walks(&fabric, at, |kind| kind == NodeKind::Switch);
    let get = |path: &Path, id, modifier| Mad::directed(path, Method::GET, id, modifier);
    rate(&mut world, client, "Get NodeInfo of hosts", &to_hosts, |path, _| get(path, NodeInfo::ID, 0));
    rate(&mut world, client, "Get NodeInfo of switches", &to_switches, |path, _| get(path, NodeInfo::ID, 0));
    rate(&mut world, client, "Get PortInfo of hosts", &to_hosts, |path, _| get(path, PortInfo::ID, 1));
    rate(&mut world, client, "Get PortInfo of switches", &to_switches, |path, turn| get(path, PortInfo::ID, 1 + turn % 8));
    let block = LinearForwardingTable::from_bytes([1; 64]);
    rate(&mut world, client, "Set LinearForwardingTable", &to_switches, |path, turn| {
        let mut mad = Mad::directed(path, Method::SET, LinearForwardingTable::ID, turn % 768);
        mad.set_attribute(&block);
        mad
    });
    crowd(&mut world, client, &to_hosts);
    data();
    println!("  peak memory in the end {}", peak_memory());
}

/// Hops of data packets, by up*/down* routes: everyone in a tree of 648 hosts to one other, and everyone to everyone.
fn data() {
    let mut builder = heddle_fabric::generate("clos2:36").expect("a tree");
    builder.assign_lids().expect("enough LIDs");
    let fabric = builder.build();
    let tables = heddle_engines::route(heddle_engines::Engine::UpDown, &fabric, &heddle_engines::Options::default());
    let programmed = Programmed::of_tables(&fabric, &tables.expect("any connected fabric is routed"));
    for (name, pattern, packets) in [("a permutation", Pattern::Permutation { seed: 1 }, 1000), ("all to all", Pattern::AllToAll, 1)] {
        let flows = pattern.flows(&programmed, packets);
        let began = processor_time();
        let outcome = programmed.run(&flows, &Options::default());
        let took = processor_time() - began;
        println!("  data, {name}: {:.2} million hops a second", outcome.hops as f64 / took.as_secs_f64() / 1e6);
    }
}

/// A thousand random walks of [`HOPS`] hops from a host to a node of the kind wanted.
fn walks(fabric: &Fabric, from: PortRef, wanted: impl Fn(NodeKind) -> bool) -> Vec<Path> {
    let mut seed = 1u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    let mut found = Vec::new();
    for _ in 0..1_000_000 {
        let (mut path, mut out) = (Path::local(), from);
        let end = (1..=HOPS).try_fold(from.node, |_, hop| {
            let peer = fabric.port(out)?.peer?;
            path = path.then(out.port)?;
            let next = fabric.node(peer.node);
            out = PortRef::new(peer.node, 1 + random(next.num_ports.into()) as u8);
            (hop == HOPS || next.kind == NodeKind::Switch).then_some(peer.node)
        });
        if end.is_some_and(|end| wanted(fabric.node(end).kind)) {
            found.push(path);
        }
        if found.len() == 1000 {
            break;
        }
    }
    assert!(!found.is_empty(), "no way of {HOPS} hops leads to such a node");
    found
}

/// Asks for two seconds, each time after the answer before.
fn rate(world: &mut World, client: ClientId, what: &str, paths: &[Path], mad: impl Fn(&Path, u32) -> Mad) {
    let (began, mut asked) = (processor_time(), 0u32);
    while processor_time() - began < Duration::from_secs(2) {
        for path in paths {
            world.send(client, &Packet::smp(DIRECTED, mad(path, asked)));
            match world.poll_delivery() {
                Some((_, Delivered::Received(answer))) => assert_eq!(answer.mad.status().0, 0, "{answer:?}"),
                other => panic!("{other:?}"),
            }
            asked += 1;
        }
    }
    println!("  {what}, {HOPS} hops: {:.0} SMP/s", f64::from(asked) / (processor_time() - began).as_secs_f64());
}

/// Asks for two seconds, a thousand requests at a time under way, while packets and agents take their time.
fn crowd(world: &mut World, client: ClientId, paths: &[Path]) {
    world.set_timing(Timing::Hardware { seed: 0 });
    let (began, mut answered) = (processor_time(), 0u32);
    while processor_time() - began < Duration::from_secs(2) {
        for path in paths {
            world.send(client, &Packet::smp(DIRECTED, Mad::directed(path, Method::GET, NodeInfo::ID, 0)));
        }
        while let Some(next) = world.poll_timeout() {
            world.handle_timeout(next);
            answered += std::iter::from_fn(|| world.poll_delivery()).count() as u32;
        }
    }
    println!(
        "  {} at a time, in the time of hardware: {:.0} SMP/s",
        paths.len(),
        f64::from(answered) / (processor_time() - began).as_secs_f64()
    );
}

/// What this thread had of a processor.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux counts the time of threads");
    Duration::from_nanos(text.split(' ').next().and_then(|first| first.parse().ok()).expect("nanoseconds first"))
}

fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse::<f64>().ok());
    kilobytes.map_or_else(|| "unknown".to_owned(), |kilobytes| format!("{:.0} MB", kilobytes / 1e3))
}
