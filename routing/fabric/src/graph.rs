//! petgraph's view of a fabric: its traits on our own sparse rows, so that its algorithms run without a copy.

use crate::{Arc, Fabric, SwitchIndex};
use petgraph::visit::{
    Data, EdgeRef, GraphBase, GraphProp, GraphRef, IntoEdgeReferences, IntoEdges, IntoNeighbors, IntoNodeIdentifiers, NodeCount,
    NodeIndexable, VisitMap, Visitable,
};

/// The switches of a fabric, and an edge for each direction of each cable between two of them. Parallel cables are parallel edges.
#[derive(Clone, Copy, Debug)]
pub struct SwitchGraph<'a> {
    fabric: &'a Fabric,
}

impl<'a> SwitchGraph<'a> {
    pub(crate) const fn new(fabric: &'a Fabric) -> Self {
        Self { fabric }
    }
}

/// An edge: the switch it leaves, and the arc.
#[derive(Clone, Copy, Debug)]
pub struct Edge<'a> {
    from: SwitchIndex,
    arc: &'a Arc,
}

impl EdgeRef for Edge<'_> {
    type NodeId = SwitchIndex;
    type EdgeId = (SwitchIndex, u8);
    type Weight = Arc;

    fn source(&self) -> SwitchIndex {
        self.from
    }

    fn target(&self) -> SwitchIndex {
        self.arc.peer
    }

    fn weight(&self) -> &Arc {
        self.arc
    }

    fn id(&self) -> Self::EdgeId {
        (self.from, self.arc.port)
    }
}

/// Which switches an algorithm has seen.
#[derive(Clone, Debug, Default)]
pub struct Visited(Vec<bool>);

impl VisitMap<SwitchIndex> for Visited {
    fn visit(&mut self, switch: SwitchIndex) -> bool {
        !std::mem::replace(&mut self.0[switch.index()], true)
    }

    fn is_visited(&self, switch: &SwitchIndex) -> bool {
        self.0[switch.index()]
    }

    fn unvisit(&mut self, switch: SwitchIndex) -> bool {
        std::mem::replace(&mut self.0[switch.index()], false)
    }
}

impl GraphBase for SwitchGraph<'_> {
    type NodeId = SwitchIndex;
    type EdgeId = (SwitchIndex, u8);
}

impl GraphRef for SwitchGraph<'_> {}

impl Data for SwitchGraph<'_> {
    type NodeWeight = ();
    type EdgeWeight = Arc;
}

impl GraphProp for SwitchGraph<'_> {
    type EdgeType = petgraph::Directed;
}

impl NodeCount for SwitchGraph<'_> {
    fn node_count(&self) -> usize {
        self.fabric.switch_count()
    }
}

impl NodeIndexable for SwitchGraph<'_> {
    fn node_bound(&self) -> usize {
        self.fabric.switch_count()
    }

    fn to_index(&self, switch: SwitchIndex) -> usize {
        switch.index()
    }

    fn from_index(&self, index: usize) -> SwitchIndex {
        SwitchIndex(index as u32)
    }
}

impl Visitable for SwitchGraph<'_> {
    type Map = Visited;

    fn visit_map(&self) -> Visited {
        Visited(vec![false; self.fabric.switch_count()])
    }

    fn reset_map(&self, map: &mut Visited) {
        *map = self.visit_map();
    }
}

impl IntoNodeIdentifiers for SwitchGraph<'_> {
    type NodeIdentifiers = std::iter::Map<std::ops::Range<u32>, fn(u32) -> SwitchIndex>;

    fn node_identifiers(self) -> Self::NodeIdentifiers {
        (0..self.fabric.switch_count() as u32).map(SwitchIndex)
    }
}

impl<'a> IntoNeighbors for SwitchGraph<'a> {
    type Neighbors = std::iter::Map<std::slice::Iter<'a, Arc>, fn(&Arc) -> SwitchIndex>;

    fn neighbors(self, switch: SwitchIndex) -> Self::Neighbors {
        self.fabric.arcs(switch).iter().map(|arc| arc.peer)
    }
}

/// The edges out of one switch.
#[derive(Clone, Debug)]
pub struct Edges<'a> {
    from: SwitchIndex,
    arcs: std::slice::Iter<'a, Arc>,
}

impl<'a> Iterator for Edges<'a> {
    type Item = Edge<'a>;

    fn next(&mut self) -> Option<Edge<'a>> {
        Some(Edge { from: self.from, arc: self.arcs.next()? })
    }
}

impl<'a> IntoEdgeReferences for SwitchGraph<'a> {
    type EdgeRef = Edge<'a>;
    type EdgeReferences = std::vec::IntoIter<Edge<'a>>;

    fn edge_references(self) -> Self::EdgeReferences {
        self.node_identifiers().flat_map(|switch| self.edges(switch)).collect::<Vec<_>>().into_iter()
    }
}

impl<'a> IntoEdges for SwitchGraph<'a> {
    type Edges = Edges<'a>;

    fn edges(self, switch: SwitchIndex) -> Edges<'a> {
        Edges { from: switch, arcs: self.fabric.arcs(switch).iter() }
    }
}
