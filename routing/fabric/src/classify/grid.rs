//! Finds the coordinates of a fabric that is a grid: a mesh, a torus, a hypercube, a HyperX, or one of these with losses.
//!
//! Two cables of a switch belong to different dimensions if they are sides of a square, and opposite sides of a square belong to the same
//! dimension; so do the sides of a triangle. Cables that meet and are sides of no square lie in a row. Losses take squares away, so whole
//! classes of opposite sides vote. A ring of four is a square itself and becomes two dimensions of two, which is as true.

use super::neighbours::{Neighbours, Pieces};
use crate::{Fabric, NodeIndex, SwitchIndex};
use std::collections::{BTreeMap, BTreeSet};

/// The coordinates of the switches of a grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    /// How long each dimension is, and which of its coordinates are neighbours.
    pub dimensions: Vec<Dimension>,
    /// By switch: a coordinate for each dimension.
    place: Vec<Vec<u32>>,
}

/// A dimension of a [`Grid`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dimension {
    /// How many coordinates it has.
    pub length: u32,
    /// Which of them are neighbours.
    pub row: Row,
}

/// Which coordinates of a dimension are neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    /// Each and the next.
    Line,
    /// The last and the first too; three or more.
    Ring,
    /// All of four or more. (Three that are all neighbours are a ring.)
    Full,
}

/// Why a fabric is no grid, and which switches show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoGrid {
    /// What does not fit.
    pub reason: String,
    /// The switches where it does not.
    pub culprits: Vec<NodeIndex>,
}

/// Of the pairs of coordinates of a full row, at least so many of four are neighbours still.
const JOINED_OF_FOUR: usize = 3;

impl Grid {
    /// The coordinates of all switches. Which dimension is the first, and where each begins, is decided by GUIDs and ports.
    /// `O(switches × neighbours³)`.
    ///
    /// # Errors
    /// [`NoGrid`] if the fabric is something else, or has lost too much to tell.
    pub fn find(fabric: &Fabric) -> Result<Self, NoGrid> {
        let graph = Neighbours::new(fabric, (0..fabric.switch_count() as u32).map(SwitchIndex).collect());
        let found = Layout::find(&graph)?;
        let mut place = vec![Vec::new(); graph.len()];
        for (switch, at) in found.place.into_iter().enumerate() {
            place[graph.index(switch).index()] = at;
        }
        Ok(Self { dimensions: found.dimensions, place })
    }

    /// A switch's coordinates.
    pub fn place(&self, switch: SwitchIndex) -> &[u32] {
        &self.place[switch.index()]
    }

    /// The dimension in which two neighbours differ, and whether the second has the next coordinate (in a full row: a later one) and not one
    /// before. `None` for switches at the same place.
    pub fn step(&self, from: SwitchIndex, to: SwitchIndex) -> Option<(usize, bool)> {
        let (from, to) = (self.place(from), self.place(to));
        let dimension = (0..from.len()).find(|&dimension| from[dimension] != to[dimension])?;
        let (from, to, Dimension { length, row }) = (from[dimension], to[dimension], self.dimensions[dimension]);
        let forward = if row == Row::Ring { (from + 1) % length == to } else { from < to };
        Some((dimension, forward))
    }
}

/// A grid, by the numbers of switches within their part.
pub(super) struct Layout {
    pub(super) dimensions: Vec<Dimension>,
    pub(super) place: Vec<Vec<u32>>,
}

impl Layout {
    pub(super) fn find(graph: &Neighbours<'_>) -> Result<Self, NoGrid> {
        let dimension = dimensions(graph);
        let count = dimension.iter().max().map_or(0, |&most| most + 1);
        if count > usize::from(u8::MAX) {
            return Err(NoGrid { reason: format!("it would have {count} dimensions"), culprits: Vec::new() });
        }
        let mut layout = Self { dimensions: Vec::new(), place: vec![vec![0; count]; graph.len()] };
        for number in 0..count {
            let found = layout.lay_out(graph, &dimension, number)?;
            layout.dimensions.push(found);
        }
        layout.check(graph)?;
        Ok(layout)
    }

    /// How many places there are, those without a switch too.
    pub(super) fn places(&self) -> usize {
        self.dimensions.iter().fold(1, |all, dimension| all.saturating_mul(dimension.length as usize))
    }

    /// Numbers the layers that the cables of a dimension lead between.
    fn lay_out(&mut self, graph: &Neighbours<'_>, dimension: &[usize], number: usize) -> Result<Dimension, NoGrid> {
        // A layer: switches that other dimensions join. Its number is that of its switch with the lowest GUID.
        let mut layers = Pieces::new(graph.len());
        for edge in (0..graph.edge_count()).filter(|&edge| dimension[edge] != number) {
            layers.join(graph.from(edge), graph.peer(edge));
        }
        let own: Vec<usize> = (0..graph.edge_count()).filter(|&edge| dimension[edge] == number).collect();
        let mut neighbours = neighbours(graph, &mut layers, &own);
        while !is_full(&neighbours) && join_halves(graph, &mut layers, &own, &neighbours) {
            neighbours = self::neighbours(graph, &mut layers, &own);
        }
        let layer: Vec<usize> = (0..graph.len()).map(|switch| layers.first(switch)).collect();
        let no_row = |wrong: usize, why: &str| {
            let culprits = (0..graph.len()).filter(|&switch| layer[switch] == wrong).map(|switch| graph.node(switch));
            Err(NoGrid { reason: why.to_owned(), culprits: culprits.collect() })
        };
        if let Some((&layer, _)) = neighbours.iter().find(|(layer, peers)| peers.contains(layer)) {
            return no_row(layer, "some switches have neighbours that lie in no row with the others");
        }
        let mut position: BTreeMap<usize, u32> = BTreeMap::new();
        let row = match neighbours.iter().find(|(_, peers)| peers.len() > 2) {
            Some(_) if is_full(&neighbours) => {
                position.extend(neighbours.keys().copied().zip(0..));
                Row::Full
            }
            Some((&layer, _)) => return no_row(layer, "some switches have neighbours that lie in no row with the others"),
            None => {
                let end = neighbours.iter().find(|(_, peers)| peers.len() == 1).map(|(&layer, _)| layer);
                let mut next = end.or_else(|| neighbours.keys().next().copied());
                while let Some(here) = next {
                    position.insert(here, position.len() as u32);
                    next = neighbours[&here].iter().copied().find(|next| !position.contains_key(next));
                }
                if end.is_some() { Row::Line } else { Row::Ring }
            }
        };
        for (switch, layer) in layer.iter().enumerate() {
            match position.get(layer) {
                Some(&position) => self.place[switch][number] = position,
                None => return no_row(*layer, "some switches are in no row with the others"),
            }
        }
        Ok(Dimension { length: position.len() as u32, row })
    }

    /// No two switches are at one place, and few places are empty.
    fn check(&self, graph: &Neighbours<'_>) -> Result<(), NoGrid> {
        let all = self.places();
        if all - graph.len().min(all) > all / 4 {
            return Err(NoGrid { reason: format!("of {all} places only {} would have a switch", graph.len()), culprits: Vec::new() });
        }
        let mut places: BTreeMap<&[u32], usize> = BTreeMap::new();
        for switch in 0..graph.len() {
            if let Some(other) = places.insert(&self.place[switch], switch) {
                let culprits = [other, switch].map(|switch| graph.node(switch)).to_vec();
                return Err(NoGrid { reason: "two switches would be at the same place".to_owned(), culprits });
            }
        }
        Ok(())
    }
}

/// By layer: which layers are neighbours by some edges.
type Layers = BTreeMap<usize, BTreeSet<usize>>;

fn neighbours(graph: &Neighbours<'_>, layers: &mut Pieces, edges: &[usize]) -> Layers {
    let mut neighbours = Layers::new();
    for &edge in edges {
        let ends = [graph.from(edge), graph.peer(edge)].map(|switch| layers.first(switch));
        neighbours.entry(ends[0]).or_default().insert(ends[1]);
    }
    neighbours
}

fn is_full(neighbours: &Layers) -> bool {
    let joined: usize = neighbours.values().map(BTreeSet::len).sum();
    neighbours.len() > 3 && 4 * joined >= JOINED_OF_FOUR * neighbours.len() * (neighbours.len() - 1)
}

/// Losses can leave a layer in pieces, which then are all neighbours of the next layer. Two neighbours that a switch has both are on two
/// sides of it; so where a layer has more than two, those on one side are one layer. Whether there were any.
fn join_halves(graph: &Neighbours<'_>, layers: &mut Pieces, edges: &[usize], neighbours: &Layers) -> bool {
    let Some((&layer, peers)) = neighbours.iter().find(|(layer, peers)| peers.len() > 2 && !peers.contains(layer)) else { return false };
    // By switch of the layer: the layers beside it.
    let mut beside = Layers::new();
    for &edge in edges {
        if layers.first(graph.from(edge)) == layer {
            beside.entry(graph.from(edge)).or_default().insert(layers.first(graph.peer(edge)));
        }
    }
    let mut side = BTreeMap::<usize, bool>::new();
    for &start in peers {
        let mut open = vec![(start, false)];
        while let Some((peer, is_left)) = open.pop() {
            if let Some(&known) = side.get(&peer) {
                if known != is_left && peer != start {
                    return false;
                }
                continue;
            }
            side.insert(peer, is_left);
            for both in beside.values().filter(|both| both.contains(&peer)) {
                open.extend(both.iter().filter(|&&other| other != peer).map(|&other| (other, !is_left)));
            }
        }
    }
    let mut any = false;
    for is_left in [false, true] {
        let mut same = side.iter().filter(|&(_, &side)| side == is_left).map(|(&peer, _)| peer);
        if let Some(first) = same.next() {
            same.for_each(|peer| any |= layers.join(first, peer));
        }
    }
    any
}

/// By edge: its dimension, numbered by the edges of the switch with the lowest GUID.
fn dimensions(graph: &Neighbours<'_>) -> Vec<usize> {
    const NONE: usize = usize::MAX;
    let mut classes = Pieces::new(graph.edge_count());
    (0..graph.edge_count()).for_each(|edge| _ = classes.join(edge, graph.back(edge)));
    let mut corners: Vec<(usize, usize, bool)> = Vec::new();
    // By switch: the edge of the neighbour at hand that leads there.
    let mut leads = vec![NONE; graph.len()];
    for switch in 0..graph.len() {
        for b in graph.edges(switch) {
            graph.edges(graph.peer(b)).for_each(|edge| leads[graph.peer(edge)] = edge);
            for a in graph.edges(switch).start..b {
                let side = leads[graph.peer(a)];
                if side != NONE {
                    classes.join(a, b);
                    classes.join(b, side);
                    continue;
                }
                let mut is_square = false;
                for far in graph.edges(graph.peer(a)).filter(|&far| graph.peer(far) != switch) {
                    let other = leads[graph.peer(far)];
                    if other != NONE {
                        is_square = true;
                        classes.join(a, other);
                        classes.join(b, far);
                    }
                }
                corners.push((a, b, is_square));
            }
            graph.edges(graph.peer(b)).for_each(|edge| leads[graph.peer(edge)] = NONE);
        }
    }
    // By two classes that meet: at how many switches they make a square, and at how many none.
    let mut votes: BTreeMap<(usize, usize), (u32, u32)> = BTreeMap::new();
    let class: Vec<usize> = (0..graph.edge_count()).map(|edge| classes.first(edge)).collect();
    // Where opposite sides are at both ends of a cable, it is the third side of a square whose fourth is lost.
    let is_side = |edge: usize, opposite: usize| graph.edges(graph.peer(edge)).any(|other| class[other] == class[opposite]);
    for (a, b, is_square) in corners.into_iter().filter(|&(a, b, _)| class[a] != class[b]) {
        let (square, row) = votes.entry((class[a].min(class[b]), class[a].max(class[b]))).or_default();
        *if is_square || is_side(a, b) || is_side(b, a) { square } else { row } += 1;
    }
    join_rows(graph, &mut classes, votes);
    let mut numbers = BTreeMap::new();
    for switch in 0..graph.len() {
        let mut edges: Vec<usize> = graph.edges(switch).collect();
        edges.sort_unstable_by_key(|&edge| graph.port(edge));
        for edge in edges {
            let next = numbers.len();
            numbers.entry(classes.first(edge)).or_insert(next);
        }
    }
    (0..graph.edge_count()).map(|edge| numbers[&classes.first(edge)]).collect()
}

/// Joins classes that lie in a row by most votes, the clearest first. A row has two cables at a switch at most, and so decides for those that
/// lost all their squares.
fn join_rows(graph: &Neighbours<'_>, classes: &mut Pieces, votes: BTreeMap<(usize, usize), (u32, u32)>) {
    // By class: how many of its edges leave each switch.
    let mut ends: Vec<BTreeMap<usize, usize>> = vec![BTreeMap::new(); graph.edge_count()];
    for edge in 0..graph.edge_count() {
        *ends[classes.first(edge)].entry(graph.from(edge)).or_default() += 1;
    }
    let mut rows: Vec<_> = votes.into_iter().filter(|(_, (square, row))| row > square).collect();
    rows.sort_by_key(|&(_, (square, row))| std::cmp::Reverse(row - square));
    for ((a, b), _) in rows {
        let (a, b) = (classes.first(a), classes.first(b));
        let (few, many) = if ends[a].len() < ends[b].len() { (a, b) } else { (b, a) };
        let fits = ends[few].iter().all(|(switch, count)| ends[many].get(switch).is_none_or(|other| count + other <= 2));
        if a != b && fits {
            classes.join(a, b);
            let moved = std::mem::take(&mut ends[few]);
            let mut all = std::mem::take(&mut ends[many]);
            moved.into_iter().for_each(|(switch, count)| *all.entry(switch).or_default() += count);
            ends[classes.first(a)] = all;
        }
    }
}
