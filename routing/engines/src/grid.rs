//! Finds the coordinates of a fabric that is a grid: a mesh, a torus, a hypercube, or one of these with losses.
//!
//! Two cables of a switch belong to different dimensions if they are sides of a square, and opposite sides of a square belong to the same
//! dimension. Cables that meet and are sides of no square lie in a row. Losses take squares away, so whole classes of opposite sides vote.
//! A ring of four is a square itself and becomes two dimensions of two, which is as true.

use crate::graph::Graph;
use heddle_fabric::{Fabric, Guid, NodeIndex, SwitchIndex};
use std::collections::{BTreeMap, BTreeSet};

/// A grid, by switch and edge of the graph.
pub(crate) struct Grid {
    /// How long each dimension is, and whether its ends are joined.
    pub(crate) dimensions: Vec<Dimension>,
    /// By switch: a coordinate for each dimension.
    pub(crate) place: Vec<Vec<u32>>,
    /// By edge: its dimension, and whether it leads to the next coordinate, and not to the one before.
    pub(crate) edge: Vec<(u8, bool)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dimension {
    pub(crate) length: u32,
    pub(crate) is_ring: bool,
}

/// Why a fabric is no grid, and which switches show it.
pub(crate) struct NoGrid {
    pub(crate) reason: String,
    pub(crate) culprits: Vec<NodeIndex>,
}

impl Grid {
    /// `O(cables × ports)`, and a little more for what is lost.
    pub(crate) fn find(fabric: &Fabric, graph: &Graph) -> Result<Self, NoGrid> {
        let edges = Edges::new(graph);
        let dimension = dimensions(fabric, graph, &edges);
        let count = dimension.iter().max().map_or(0, |&most| most + 1);
        let mut grid = Self {
            dimensions: Vec::new(),
            place: vec![vec![0; count]; graph.len()],
            edge: dimension.iter().map(|&dimension| (dimension as u8, true)).collect(),
        };
        if count > usize::from(u8::MAX) {
            return Err(NoGrid { reason: format!("it would have {count} dimensions"), culprits: Vec::new() });
        }
        for number in 0..count {
            let found = grid.lay_out(fabric, graph, &edges, number)?;
            grid.dimensions.push(found);
        }
        grid.check(fabric, graph)?;
        Ok(grid)
    }

    /// Numbers the layers that the cables of a dimension lead between.
    fn lay_out(&mut self, fabric: &Fabric, graph: &Graph, edges: &Edges, number: usize) -> Result<Dimension, NoGrid> {
        // A layer: switches that other dimensions join.
        let mut layers = Pieces::new(graph.len());
        for edge in (0..graph.edge_count()).filter(|&edge| usize::from(self.edge[edge].0) != number) {
            layers.join(edges.from[edge] as usize, graph.peer(edge));
        }
        let layer: Vec<usize> = (0..graph.len()).map(|switch| layers.first(switch)).collect();
        let mut neighbours: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for edge in (0..graph.edge_count()).filter(|&edge| usize::from(self.edge[edge].0) == number) {
            neighbours.entry(layer[edges.from[edge] as usize]).or_default().insert(layer[graph.peer(edge)]);
        }
        let mut lowest: BTreeMap<usize, Guid> = BTreeMap::new();
        for (switch, &layer) in layer.iter().enumerate() {
            let guid = fabric.switch(SwitchIndex(switch as u32)).guid;
            let known = lowest.entry(layer).or_insert(guid);
            *known = guid.min(*known);
        }
        let no_line = |wrong: usize, why: String| {
            let culprits = fabric.switches().iter().zip(&layer).filter(|(_, layer)| **layer == wrong).map(|(&node, _)| node);
            Err(NoGrid { reason: why, culprits: culprits.collect() })
        };
        for (&layer, peers) in &neighbours {
            if peers.len() > 2 || peers.contains(&layer) {
                return no_line(layer, "some switches have neighbours that lie in no row with the others".to_owned());
            }
        }
        let ends: Vec<usize> = neighbours.iter().filter(|(_, peers)| peers.len() == 1).map(|(&layer, _)| layer).collect();
        let is_ring = ends.is_empty();
        let candidates = if is_ring { neighbours.keys().copied().collect() } else { ends };
        let Some(start) = candidates.into_iter().min_by_key(|layer| lowest[layer]) else {
            return Ok(Dimension { length: 1, is_ring: false });
        };
        let mut position = BTreeMap::from([(start, 0)]);
        let mut here = start;
        while let Some(&next) = neighbours[&here].iter().filter(|next| !position.contains_key(next)).min_by_key(|next| lowest[next]) {
            position.insert(next, position.len() as u32);
            here = next;
        }
        for (switch, layer) in layer.iter().enumerate() {
            match position.get(layer) {
                Some(&position) => self.place[switch][number] = position,
                None => return no_line(*layer, "some switches are in no row with the others".to_owned()),
            }
        }
        let length = position.len() as u32;
        let own: Vec<usize> = (0..graph.edge_count()).filter(|&edge| usize::from(self.edge[edge].0) == number).collect();
        for edge in own {
            let (from, to) = (self.place[edges.from[edge] as usize][number], self.place[graph.peer(edge)][number]);
            self.edge[edge].1 = (from + 1) % length == to && (length > 2 || from == 0);
        }
        Ok(Dimension { length, is_ring })
    }

    /// No two switches are at one place.
    fn check(&self, fabric: &Fabric, graph: &Graph) -> Result<(), NoGrid> {
        let mut places: BTreeMap<&[u32], usize> = BTreeMap::new();
        for switch in 0..graph.len() {
            if let Some(other) = places.insert(&self.place[switch], switch) {
                let culprits = [other, switch].map(|switch| fabric.switches()[switch]).to_vec();
                return Err(NoGrid { reason: "two switches would be at the same place".to_owned(), culprits });
            }
        }
        Ok(())
    }
}

/// What the graph does not tell of its edges.
struct Edges {
    /// By edge: the switch that it leaves.
    from: Vec<u32>,
    /// By edge: the same in the other direction.
    back: Vec<u32>,
}

impl Edges {
    fn new(graph: &Graph) -> Self {
        let mut from = vec![0; graph.edge_count()];
        let mut numbers = BTreeMap::new();
        for switch in 0..graph.len() {
            for edge in graph.edges(switch) {
                from[edge] = switch as u32;
                numbers.insert((switch, graph.peer(edge)), edge as u32);
            }
        }
        let back = (0..graph.edge_count()).map(|edge| numbers[&(graph.peer(edge), from[edge] as usize)]).collect();
        Self { from, back }
    }
}

/// By edge: its dimension, numbered by the edges of the switch with the lowest GUID.
fn dimensions(fabric: &Fabric, graph: &Graph, edges: &Edges) -> Vec<usize> {
    let mut classes = Pieces::new(graph.edge_count());
    let mut corners: Vec<(usize, usize, bool)> = Vec::new();
    for edge in 0..graph.edge_count() {
        classes.join(edge, edges.back[edge] as usize);
    }
    for switch in 0..graph.len() {
        for a in graph.edges(switch) {
            for b in a + 1..graph.edges(switch).end {
                let mut is_square = false;
                for far in graph.edges(graph.peer(a)).filter(|&far| graph.peer(far) != switch) {
                    let corner = graph.peer(far);
                    let other = graph.edges(graph.peer(b)).find(|&other| graph.peer(other) == corner);
                    if let Some(other) = other {
                        is_square = true;
                        classes.join(a, other);
                        classes.join(b, far);
                    }
                }
                corners.push((a, b, is_square));
            }
        }
    }
    // By two classes that meet: at how many switches they make a square, and at how many none.
    let mut votes: BTreeMap<(usize, usize), (u32, u32)> = BTreeMap::new();
    for (a, b, is_square) in corners {
        let (a, b) = (classes.first(a), classes.first(b));
        if a != b {
            let (square, row) = votes.entry((a.min(b), a.max(b))).or_default();
            *if is_square { square } else { row } += 1;
        }
    }
    for ((a, b), (square, row)) in votes {
        if row > square {
            classes.join(a, b);
        }
    }
    let mut by_guid: Vec<usize> = (0..graph.len()).collect();
    by_guid.sort_unstable_by_key(|&switch| fabric.switch(SwitchIndex(switch as u32)).guid);
    let mut numbers = BTreeMap::new();
    for switch in by_guid {
        let mut edges: Vec<usize> = graph.edges(switch).collect();
        edges.sort_unstable_by_key(|&edge| graph.ports(edge)[0]);
        for edge in edges {
            let next = numbers.len();
            numbers.entry(classes.first(edge)).or_insert(next);
        }
    }
    (0..graph.edge_count()).map(|edge| numbers[&classes.first(edge)]).collect()
}

/// Disjoint sets.
struct Pieces(Vec<usize>);

impl Pieces {
    fn new(count: usize) -> Self {
        Self((0..count).collect())
    }

    fn first(&mut self, mut member: usize) -> usize {
        while self.0[member] != member {
            self.0[member] = self.0[self.0[member]];
            member = self.0[member];
        }
        member
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.first(a), self.first(b));
        self.0[a.max(b)] = a.min(b);
    }
}
