//! Made-up fabrics of the usual shapes, for tests, measurements and people without hardware.

mod dragonfly;
mod faults;
mod grid;
mod random;
mod spec;
mod tree;

pub use spec::SpecError;

use crate::{FabricBuilder, Guid, Lid, Link, LinkSpeed, LinkWidth, NodeIndex, NodeKind, NodeSpec, PortRef};
use random::Random;
use spec::Spec;

/// The shapes that [`generate`] knows, and how each is written. What is in brackets may be left out.
pub const SHAPES: [(&str, &str); 11] = [
    ("clos2", "clos2:RADIX[,leaves=N]"),
    ("clos3", "clos3:RADIX[,pods=N]"),
    ("torus", "torus:8x8x8[,hosts=1][,links=1]"),
    ("mesh", "mesh:8x8x8[,hosts=1][,links=1]"),
    ("hypercube", "hypercube:DIMENSIONS[,hosts=1][,links=1]"),
    ("ring", "ring:SWITCHES[,hosts=1][,links=1]"),
    ("hyperx", "hyperx:12x8[,hosts=1][,links=1]"),
    ("dragonfly", "dragonfly:a=8,p=4,h=4[,groups=33]"),
    ("dragonfly-plus", "dragonfly-plus:leaves=8,spines=8,p=8,h=4[,groups=33]"),
    ("rail", "rail:pods=4[,servers=32][,rails=8][,spines=32][,links=1]"),
    ("random", "random:switches=60,degree=6[,hosts=1]"),
];

/// Makes the fabric that `spec` describes; a leading `gen:` is fine. The ports have no LIDs yet.
///
/// The same text always gives the same fabric: the same nodes in the same order (switches first, then hosts in the order of their
/// switches), GUIDs and cables. Every cable is 4x HDR. See [`SHAPES`] for how each shape is written:
///
/// - `clos2:K`: a tree of two levels of switches with K ports, K even. Each leaf has K/2 hosts at ports 1 to K/2, and port
///   K/2 + 1 + s goes to spine s. Up to K leaves; K is the default.
/// - `clos3:K`: three levels. Each pod has K/2 leaves and K/2 aggregation switches; leaf port K/2 + 1 + a goes to aggregation switch
///   a, whose port K/2 + 1 + s goes to spine a * K/2 + s, at the port of the pod's number (from 1). Up to K pods; K is the default.
/// - `torus`, `mesh`, `ring`: a grid with or without wrap-around. `links` parallel cables to each neighbour. A dimension of 2 has no
///   wrap-around, which would double the one cable.
/// - `hypercube:N`: 2^N switches, each cabled to the N whose number differs in one bit.
/// - `hyperx`: a grid where each switch is cabled to all others of its row in each dimension (J. H. Ahn et al., SC 2009).
/// - `dragonfly`: `groups` groups of `a` switches, all cabled to each other, with `p` hosts and `h` cables to other groups each
///   (J. Kim et al., ISCA 2008). Each pair of groups gets the same number of cables, as many as the ports allow; at most a * h + 1
///   groups, which is the default.
/// - `dragonfly-plus`: a group is a two-level tree whose spines have `h` cables to other groups each (A. Shpiner et al., HiPINEB 2017).
/// - `rail`: pods of servers that have one adapter for each of `rails` GPUs; adapter g of each server is cabled to leaf g of its pod, and
///   each leaf to each spine by `links` cables.
/// - `random`: each switch has `degree` cables to switches drawn at random, parallel ones allowed; always in one piece.
///
/// All take `fail-links=N` and `fail-switches=N`: exactly so many cables between switches, or switches, are taken away at random. A switch
/// takes its hosts along. What would cut the fabric in pieces is never taken; where too little else is left, that is an error. `seed=S`
/// decides all that is random.
///
/// `O(nodes + cables)`; with `fail-switches=N`, N times that.
///
/// # Errors
/// [`SpecError`] says at which column what was expected. A fabric with more nodes than the 49,151 unicast LIDs is refused before it is made.
///
/// ```
/// let fabric = heddle_fabric::generate("clos2:36")?.build();
/// assert_eq!((fabric.switch_count(), fabric.nodes().len()), (54, 54 + 648));
/// # Ok::<(), heddle_fabric::SpecError>(())
/// ```
pub fn generate(spec: &str) -> Result<FabricBuilder, SpecError> {
    let mut spec = Spec::parse(spec)?;
    let fail_links = spec.option("fail-links", 0..=1_000_000, Some(0))?;
    let fail_switches = spec.option("fail-switches", 0..=Plan::MAX_NODES, Some(0))?;
    let mut random = Random::new(spec.option("seed", 0..=u64::MAX, Some(1))?);
    let mut plan = match spec.shape() {
        "clos2" => tree::clos2(&mut spec),
        "clos3" => tree::clos3(&mut spec),
        "torus" => grid::torus(&mut spec),
        "mesh" => grid::mesh(&mut spec),
        "hypercube" => grid::hypercube(&mut spec),
        "ring" => grid::ring(&mut spec),
        "hyperx" => grid::hyperx(&mut spec),
        "dragonfly" => dragonfly::dragonfly(&mut spec),
        "dragonfly-plus" => dragonfly::dragonfly_plus(&mut spec),
        "rail" => tree::rail(&mut spec),
        "random" => random::random(&mut spec, &mut random),
        _ => Err(spec.unknown_shape()),
    }?;
    faults::fail_switches(&mut plan, &spec, fail_switches as usize, &mut random)?;
    faults::fail_links(&mut plan, &spec, fail_links as usize, &mut random)?;
    Ok(plan.finish())
}

/// A fabric on paper: faults can still take nodes away.
#[derive(Debug, Default)]
struct Plan {
    switches: Vec<Switch>,
    hosts: Vec<Host>,
    /// Between switches.
    cables: Vec<[(usize, u8); 2]>,
}

#[derive(Debug)]
struct Switch {
    name: String,
    num_ports: u8,
    failed: bool,
}

#[derive(Debug)]
struct Host {
    name: String,
    /// The switch and its port.
    at: (usize, u8),
}

impl Plan {
    const MAX_NODES: u64 = Lid::MAX.get() as u64;

    /// An empty plan, if a fabric of this size is possible.
    fn new(spec: &Spec<'_>, switches: u64, hosts: u64, ports: u64) -> Result<Self, SpecError> {
        if switches.saturating_add(hosts) > Self::MAX_NODES {
            let max = Self::MAX_NODES;
            return Err(spec.error(format!("{switches} switches and {hosts} hosts are more than the {max} unicast LIDs of a subnet")));
        }
        if ports > 254 {
            return Err(spec.error(format!("a switch would need {ports} ports; 254 are possible")));
        }
        Ok(Self::default())
    }

    fn switch(&mut self, name: String, num_ports: u64) -> usize {
        self.switches.push(Switch { name, num_ports: num_ports.max(1) as u8, failed: false });
        self.switches.len() - 1
    }

    fn host(&mut self, name: String, switch: usize, port: u64) {
        self.hosts.push(Host { name, at: (switch, port as u8) });
    }

    fn cable(&mut self, a: (usize, u64), b: (usize, u64)) {
        self.cables.push([(a.0, a.1 as u8), (b.0, b.1 as u8)]);
    }

    /// GUIDs follow from the place in the whole fabric, so that a fault changes nobody else's. Their second bit says that no maker gave
    /// them (EUI-64, locally administered).
    fn finish(self) -> FabricBuilder {
        const IMPOSSIBLE: &str = "a generator numbers its ports and nodes once each";
        let link = Link { width: Some(LinkWidth::X4), speed: Some(LinkSpeed::Hdr) };
        let mut builder = FabricBuilder::new();
        let add = |builder: &mut FabricBuilder, kind, guid, num_ports, name: &String, port: u8| {
            let mut node = NodeSpec::new(kind, Guid(guid), num_ports, name);
            node.system_image_guid = Guid(guid);
            let index = builder.add_node(node).expect(IMPOSSIBLE);
            builder.port_mut(PortRef::new(index, port)).expect(IMPOSSIBLE).guid = Guid(guid + u64::from(port));
            index
        };
        let mut node_of = vec![None::<NodeIndex>; self.switches.len()];
        for (number, switch) in self.switches.iter().enumerate().filter(|(_, switch)| !switch.failed) {
            let guid = 0x0200_0001_0000_0000 + 0x10 * number as u64;
            node_of[number] = Some(add(&mut builder, NodeKind::Switch, guid, switch.num_ports, &switch.name, 0));
        }
        for (number, host) in self.hosts.iter().enumerate() {
            let Some(switch) = node_of[host.at.0] else { continue };
            let guid = 0x0200_0002_0000_0000 + 0x10 * number as u64;
            let node = add(&mut builder, NodeKind::Ca, guid, 1, &host.name, 1);
            builder.connect(PortRef::new(node, 1), PortRef::new(switch, host.at.1), link).expect(IMPOSSIBLE);
        }
        for [a, b] in &self.cables {
            let (Some(from), Some(to)) = (node_of[a.0], node_of[b.0]) else { continue };
            builder.connect(PortRef::new(from, a.1), PortRef::new(to, b.1), link).expect(IMPOSSIBLE);
        }
        builder
    }
}
