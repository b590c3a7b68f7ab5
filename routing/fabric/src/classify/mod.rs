//! What shape a fabric has.

mod grid;
mod groups;
mod neighbours;
mod tree;

pub use grid::{Dimension, Grid, NoGrid, Row};
pub use groups::Groups;

use crate::{Fabric, NodeIndex, SwitchIndex};
use grid::Layout;
use groups::Cut;
use neighbours::{Neighbours, Pieces};
use std::collections::BTreeMap;
use std::fmt;
use tree::Tree;

/// What shape a fabric has: that of each of its parts, the largest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    /// What cables hold together. Hosts without a cable are none.
    pub parts: Vec<Part>,
}

/// Switches that cables hold together, or hosts that are cabled to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its shape.
    pub shape: Shape,
    /// Its switches, or without any the hosts, by GUID.
    pub nodes: Vec<NodeIndex>,
    /// What is missing or odd; for [`Shape::Irregular`] why it is none of the others.
    pub findings: Vec<Finding>,
}

/// A shape. See [`classify`] for what has several names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Hosts cabled to each other.
    BackToBack,
    /// One switch.
    OneSwitch,
    /// A tree: how many switches each level has, from the bottom.
    Tree(Vec<usize>),
    /// A circle of so many switches, four or more.
    Ring(usize),
    /// A grid with open ends: how long each dimension is; with one, a chain.
    Mesh(Vec<usize>),
    /// A grid of rings: how long each dimension is, and whether it is a ring; one dimension at least is.
    Torus(Vec<(usize, bool)>),
    /// So many dimensions of two switches; three or more.
    Hypercube(usize),
    /// A grid in which all switches of a row are neighbours (J. H. Ahn et al., SC 2009): how long each dimension is. With one, all switches
    /// are neighbours.
    HyperX(Vec<usize>),
    /// Groups of switches that are all neighbours, every two groups joined.
    Dragonfly {
        /// How many groups.
        groups: usize,
        /// Switches of a whole group.
        size: usize,
    },
    /// Groups that are trees of two levels, every two groups joined at the top.
    DragonflyPlus {
        /// How many groups.
        groups: usize,
        /// Lower switches of a whole group.
        leaves: usize,
        /// Upper switches of a whole group.
        spines: usize,
    },
    /// None of these.
    Irregular,
}

/// Something that is missing or odd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What.
    pub what: String,
    /// The nodes where it is; none where it cannot be said.
    pub nodes: Vec<NodeIndex>,
}

/// Recognises the shape of a fabric, with losses too, by its cables and by which switches have hosts; no name or number matters.
///
/// Small fabrics are several shapes at once, and these have the first name that fits:
///
/// 1. a tree, where switches with hosts (the bottom) and switches without are there, cables lead from level to level, and nearly all
///    bottom switches have ways up and down to each other. So two leaves below two spines are a tree, not a ring of four;
/// 2. a dragonfly-plus, where the bottom switches are so joined within groups only;
/// 3. a tree, if there is no circle of switches, wherever the hosts are; a chain, if no switch has more than two neighbours. A chain is a
///    ring of two as well, or one that lost a cable;
/// 4. a ring of four, which is a 2x2 mesh too; a hypercube, if every dimension has two switches: a torus of 4x4 is one. Two dimensions of
///    two beside rings are one of four;
/// 5. a mesh or torus; three switches that are all neighbours are a ring, so a HyperX of 3x3 is a torus;
/// 6. a HyperX, if a dimension of four or more is full. That is a dragonfly too where all the cables of a switch to other groups go to
///    switches of the same place in them; but rather a dragonfly than a HyperX that lacks more switches;
/// 7. a dragonfly, if groups have three switches or more.
///
/// A torus whose hosts are on so few switches that to them it looks like a tree is called one. In a fabric that lost more than about an
/// eighth of its cables the shape can be lost too, and so can that of a plane mesh that lost something at its rim. `O(switches × neighbours³)` at most, for trees `O(cables × bottom switches / 64)`.
pub fn classify(fabric: &Fabric) -> Class {
    let hosts = Hosts::new(fabric);
    let mut parts: Vec<Part> = parts(fabric).into_iter().map(|switches| part(&Neighbours::new(fabric, switches), &hosts)).collect();
    let back_to_back = back_to_back(fabric);
    if !back_to_back.is_empty() {
        parts.push(Part { shape: Shape::BackToBack, nodes: back_to_back, findings: Vec::new() });
    }
    parts.sort_by_key(|part| (part.shape == Shape::BackToBack, std::cmp::Reverse(part.nodes.len()), fabric.node(part.nodes[0]).guid));
    Class { parts }
}

impl Class {
    /// The shape, if there is one part.
    pub fn shape(&self) -> Option<&Shape> {
        if let [part] = &self.parts[..] { Some(&part.shape) } else { None }
    }

    /// The class with its evidence, one line each, and the names of the first nodes that contradict. `fabric` is the one that was classified.
    pub fn display<'a>(&'a self, fabric: &'a Fabric) -> impl fmt::Display + 'a {
        Explained { class: self, fabric }
    }
}

struct Explained<'a> {
    class: &'a Class,
    fabric: &'a Fabric,
}

impl fmt::Display for Explained<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// How many nodes are named.
        const NAMED: usize = 4;
        write!(f, "{}", self.class)?;
        for Finding { what, nodes } in self.class.parts.iter().flat_map(|part| &part.findings) {
            write!(f, "\n  {what}")?;
            for (number, &node) in nodes.iter().take(NAMED).enumerate() {
                let node = self.fabric.node(node);
                write!(f, "{}\"{}\" ({})", if number == 0 { ": " } else { ", " }, node.description, node.guid)?;
            }
            if nodes.len() > NAMED {
                write!(f, " and {} more", nodes.len() - NAMED)?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// How many parts are told of.
        const TOLD: usize = 4;
        match &self.parts[..] {
            [] => f.write_str("nothing is cabled"),
            [part] => write!(f, "{part}"),
            parts => {
                write!(f, "{} parts without a cable between them: ", parts.len())?;
                for (number, part) in parts.iter().take(TOLD).enumerate() {
                    write!(f, "{}{part}", if number == 0 { "" } else { ", " })?;
                }
                if parts.len() > TOLD { write!(f, " and {} more", parts.len() - TOLD) } else { Ok(()) }
            }
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.shape)?;
        match self.shape {
            Shape::BackToBack => write!(f, " ({} hosts)", self.nodes.len()),
            Shape::Torus(_) | Shape::Mesh(_) | Shape::Hypercube(_) | Shape::HyperX(_) | Shape::Irregular => {
                write!(f, " ({} switches)", self.nodes.len())
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes = |sizes: &[usize]| sizes.iter().map(usize::to_string).collect::<Vec<_>>().join("x");
        match self {
            Self::BackToBack => f.write_str("hosts cabled to each other"),
            Self::OneSwitch => f.write_str("one switch"),
            Self::Tree(levels) => {
                let counts: Vec<_> = levels.iter().map(usize::to_string).collect();
                write!(f, "a tree of {} levels ({} switches from the bottom)", levels.len(), counts.join(" + "))
            }
            Self::Ring(count) => write!(f, "a ring of {count} switches"),
            Self::Mesh(lengths) if lengths.len() == 1 => write!(f, "a chain of {}", lengths[0]),
            Self::Mesh(lengths) => write!(f, "a mesh of {}", sizes(lengths)),
            Self::Torus(dimensions) => {
                write!(f, "a torus of {}", sizes(&dimensions.iter().map(|&(length, _)| length).collect::<Vec<_>>()))?;
                let open = (1..).zip(dimensions).filter(|(_, (_, is_ring))| !is_ring).map(|(number, _)| number.to_string());
                let open: Vec<String> = open.collect();
                if open.is_empty() { Ok(()) } else { write!(f, ", open in dimension {}", open.join(" and ")) }
            }
            Self::Hypercube(dimensions) => write!(f, "a hypercube of {dimensions} dimensions"),
            Self::HyperX(lengths) if lengths.len() == 1 => f.write_str("a full mesh"),
            Self::HyperX(lengths) => write!(f, "a HyperX of {}", sizes(lengths)),
            Self::Dragonfly { groups, size } => write!(f, "a dragonfly of {groups} groups of {size} switches"),
            Self::DragonflyPlus { groups, leaves, spines } => {
                write!(f, "a dragonfly-plus of {groups} groups of {leaves} leaves and {spines} spines")
            }
            Self::Irregular => f.write_str("a fabric of no known shape"),
        }
    }
}

/// How many hosts' cables each switch has. The aggregation nodes that come with switches are no hosts.
struct Hosts(Vec<usize>);

impl Hosts {
    fn new(fabric: &Fabric) -> Self {
        let count = |&switch: &NodeIndex| {
            let peers = fabric.node_ports(switch).iter().filter_map(|port| port.peer);
            peers.filter(|peer| fabric.node(peer.node).is_host()).count()
        };
        Self(fabric.switches().iter().map(count).collect())
    }

    fn count(&self, graph: &Neighbours<'_>, switch: usize) -> usize {
        self.0[graph.index(switch).index()]
    }
}

/// The switches of each connected part.
fn parts(fabric: &Fabric) -> Vec<Vec<SwitchIndex>> {
    let mut pieces = Pieces::new(fabric.switch_count());
    let mut members = BTreeMap::<usize, Vec<SwitchIndex>>::new();
    let switches = || (0..fabric.switch_count() as u32).map(SwitchIndex);
    switches().for_each(|switch| fabric.arcs(switch).iter().for_each(|arc| _ = pieces.join(switch.index(), arc.peer.index())));
    switches().for_each(|switch| members.entry(pieces.first(switch.index())).or_default().push(switch));
    members.into_values().collect()
}

/// The hosts that are cabled to hosts, by GUID.
fn back_to_back(fabric: &Fabric) -> Vec<NodeIndex> {
    let is_switch = |node: NodeIndex| fabric.switch_index(node).is_some();
    let is_joined = |&node: &NodeIndex| {
        !is_switch(node) && fabric.node_ports(node).iter().filter_map(|port| port.peer).any(|peer| !is_switch(peer.node))
    };
    let mut nodes: Vec<NodeIndex> = (0..fabric.nodes().len() as u32).map(NodeIndex).filter(is_joined).collect();
    nodes.sort_unstable_by_key(|&node| fabric.node(node).guid);
    nodes
}

fn part(graph: &Neighbours<'_>, hosts: &Hosts) -> Part {
    let nodes = graph.nodes();
    let as_part = |shape, findings| Part { shape, nodes: nodes.clone(), findings };
    if graph.len() == 1 {
        return as_part(Shape::OneSwitch, Vec::new());
    }
    let as_tree = |tree: Tree| as_part(Shape::Tree(tree.levels), tree.findings);
    let plus = Cut::plus(graph, hosts).map(|cut| {
        let shape = Shape::DragonflyPlus { groups: cut.groups.len(), leaves: cut.size() - cut.spines, spines: cut.spines };
        as_part(shape, cut.findings)
    });
    if let Some(part) = plus.or_else(|| Tree::find(graph, hosts).map(as_tree)) {
        return part;
    }
    let is_chain = (0..graph.len()).all(|switch| graph.edges(switch).len() <= 2);
    if let Some(tree) = Tree::without_circles(graph, hosts).filter(|_| !is_chain) {
        return as_tree(tree);
    }
    let dragonfly = |cut: Cut| as_part(Shape::Dragonfly { groups: cut.groups.len(), size: cut.size() }, cut.findings);
    let reason = match Layout::find(graph) {
        Ok(layout) => {
            let grid = as_part(grid_shape(&layout.dimensions), missing(graph, &layout));
            // Rather a dragonfly than a HyperX that lacks more switches.
            let is_doubtful = matches!(grid.shape, Shape::HyperX(_)) && layout.places() > graph.len();
            let better = || Cut::direct(graph).filter(|cut| cut.groups.len() * cut.size() < layout.places());
            return if is_doubtful { better().map_or(grid, dragonfly) } else { grid };
        }
        Err(reason) => reason,
    };
    if let Some(cut) = Cut::direct(graph) {
        return dragonfly(cut);
    }
    let finding = Finding { what: format!("no grid: {}", reason.reason), nodes: reason.culprits };
    as_part(Shape::Irregular, vec![finding])
}

fn grid_shape(dimensions: &[Dimension]) -> Shape {
    let mut lengths: Vec<(usize, Row)> = dimensions.iter().map(|dimension| (dimension.length as usize, dimension.row)).collect();
    let plain = |lengths: &[(usize, Row)]| lengths.iter().map(|&(length, _)| length).collect::<Vec<_>>();
    if let [(length, Row::Ring)] = lengths[..] {
        return Shape::Ring(length);
    }
    if lengths.iter().any(|&(_, row)| row == Row::Full) {
        return Shape::HyperX(plain(&lengths));
    }
    if lengths.len() > 1 && lengths.iter().all(|&(length, _)| length == 2) {
        return if lengths.len() == 2 { Shape::Ring(4) } else { Shape::Hypercube(lengths.len()) };
    }
    if lengths.iter().all(|&(_, row)| row == Row::Line) {
        return Shape::Mesh(plain(&lengths));
    }
    // Two dimensions of two switches are a ring of four.
    let twos: Vec<usize> = (0..lengths.len()).filter(|&number| lengths[number].0 == 2).collect();
    for pair in twos.chunks_exact(2).rev() {
        lengths[pair[0]] = (4, Row::Ring);
        lengths.remove(pair[1]);
    }
    Shape::Torus(lengths.into_iter().map(|(length, row)| (length, row == Row::Ring || length == 2)).collect())
}

/// Which switches and cables of a grid are not there.
fn missing(graph: &Neighbours<'_>, layout: &Layout) -> Vec<Finding> {
    let mut findings = Vec::new();
    let at: BTreeMap<&[u32], usize> = layout.place.iter().map(Vec::as_slice).zip(0..).collect();
    let places = layout.places();
    let usual = graph.usual_cables();
    let (mut lost, mut ends, mut beside) = (0, Vec::new(), Vec::new());
    for (switch, place) in layout.place.iter().enumerate() {
        for (number, &Dimension { length, row }) in layout.dimensions.iter().enumerate() {
            let here = place[number];
            let later: Vec<u32> = match row {
                Row::Line => (here + 1..length.min(here + 2)).collect(),
                Row::Ring => vec![(here + 1) % length],
                Row::Full => (here + 1..length).collect(),
            };
            for coordinate in later {
                let mut other = place.clone();
                other[number] = coordinate;
                let Some(&other) = at.get(&other[..]) else {
                    beside.push(switch);
                    continue;
                };
                let cables = graph.edge(switch, other).map_or(0, |edge| graph.cables(edge));
                if cables < usual {
                    lost += usual - cables;
                    ends.extend([switch, other]);
                }
            }
        }
    }
    let mut tell = |what: String, mut switches: Vec<usize>| {
        switches.sort_unstable();
        switches.dedup();
        findings.push(Finding { what, nodes: switches.into_iter().map(|switch| graph.node(switch)).collect() });
    };
    if places > graph.len() {
        tell(format!("{} switches are missing; beside", places - graph.len()), beside);
    }
    if lost > 0 {
        tell(format!("{lost} cables are missing; at"), ends);
    }
    findings
}
