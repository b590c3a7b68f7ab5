//! How many requests of subnet management a second a simulator answers to one client: `smp-rate FABRIC WAY [NAME]` for `tests/beside-ibsim`.
//!
//! FABRIC is what the simulator simulates, as `gen:SHAPE`; WAY is `ibsim` for the protocol of ibsim, with the simulator's NAME, or `umad`
//! for the kernel's interface, under whatever preload library. The client is at the first host and asks nodes six hops away for NodeInfo.

use heddle_fabric::{Fabric, NodeIndex, NodeKind, PortRef};
use heddle_mad::transport::{Address, Delivery, Envelope, Ibsim, Transport, Umad};
use heddle_mad::wire::{Attribute, Mad, Method, NodeInfo, Path, Status};
use std::time::{Duration, Instant};

const HOPS: usize = 6;
const LASTS: Duration = Duration::from_secs(2);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (spec, way, name) = match arguments[..] {
        [spec, "umad"] => (spec, "umad", ""),
        [spec, "ibsim", name] => (spec, "ibsim", name),
        _ => panic!("usage: smp-rate FABRIC umad | smp-rate FABRIC ibsim NAME"),
    };
    let fabric = heddle_fabric::generate(spec).unwrap_or_else(|error| panic!("{error}")).build();
    let host = fabric.nodes().iter().position(|node| node.kind == NodeKind::Ca).expect("a host for the client");
    let paths = walks(&fabric, PortRef::new(NodeIndex(host as u32), 1));
    let mut transport: Box<dyn Transport> = match way {
        "umad" => Box::new(Umad::open(None).unwrap_or_else(|error| panic!("{error}"))),
        _ => Box::new(Ibsim::connect(name, Some(&fabric.nodes()[host].description)).unwrap_or_else(|error| panic!("{error}"))),
    };
    let rates = [16, 64, 128].map(|in_flight| format!("{:.0}", rate(&mut *transport, &paths, in_flight)));
    println!("{}", rates.join(" "));
}

/// Asks for a while, always so many requests under way.
fn rate(transport: &mut dyn Transport, paths: &[Path], in_flight: u64) -> f64 {
    let (began, mut sent, mut answered, mut more) = (Instant::now(), 0, 0, true);
    loop {
        if answered % 1024 == 0 {
            more = began.elapsed() < LASTS;
        }
        while more && sent < answered + in_flight {
            let mut mad = Mad::directed(&paths[sent as usize % paths.len()], Method::GET, NodeInfo::ID, 0);
            mad.set_transaction(sent);
            transport.send(&Envelope { address: Address::Directed, mad }).unwrap_or_else(|error| panic!("{error}"));
            sent += 1;
        }
        if sent == answered {
            return answered as f64 / began.elapsed().as_secs_f64();
        }
        let deadline = transport.now() + Duration::from_secs(10);
        match transport.receive(Some(deadline)).unwrap_or_else(|error| panic!("{error}")) {
            Some(Delivery::Received(answer)) => assert_eq!(answer.mad.status(), Status::OK),
            other => panic!("no answer: {other:?}"),
        }
        answered += 1;
    }
}

/// A thousand random walks of [`HOPS`] hops from a host.
fn walks(fabric: &Fabric, from: PortRef) -> Vec<Path> {
    let mut seed = 1_u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    let mut walk = || {
        let (mut path, mut out) = (Path::local(), from);
        for hop in 1..=HOPS {
            let peer = fabric.port(out)?.peer?;
            path = path.then(out.port)?;
            let next = fabric.node(peer.node);
            if hop < HOPS && next.kind != NodeKind::Switch {
                return None;
            }
            out = PortRef::new(peer.node, 1 + random(next.num_ports.into()) as u8);
        }
        Some(path)
    };
    let found: Vec<Path> = (0..1_000_000).filter_map(|_| walk()).take(1_000).collect();
    assert!(!found.is_empty(), "no way of {HOPS} hops in this fabric");
    found
}
