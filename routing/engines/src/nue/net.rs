//! The switches in the order of ties, so that the order of the nodes decides nothing, and the edges between them.

use crate::graph::Graph;
use crate::links;
use crate::order::Order;
use heddle_fabric::SwitchIndex;
use std::ops::Range;

/// No edge, or no switch.
pub(super) const NONE: u32 = u32::MAX;

/// The switches, and the edges (parallel cables are one) out of each.
pub(super) struct Net {
    /// By number: which switch of the fabric it is; and the reverse.
    pub(super) switch: Vec<SwitchIndex>,
    pub(super) number: Vec<u32>,
    /// By switch: how many hosts it carries.
    pub(super) hosts: Vec<u32>,
    /// By switch: its place in the total order; 0 is the top.
    pub(super) place: Vec<u32>,
    /// By switch: where its edges begin; one more entry at the end.
    pub(super) base: Vec<u32>,
    /// By edge: the switch at its end.
    pub(super) head: Vec<u32>,
    /// By edge: the one in the other direction.
    pub(super) back: Vec<u32>,
    /// By edge: where its cables begin in `ports`; one more entry at the end.
    pub(super) cables: Vec<u32>,
    pub(super) ports: Vec<u8>,
    /// By cable: what a route on it costs.
    pub(super) price: Vec<u64>,
    /// By edge: how many shares of the routes its cables should have.
    pub(super) shares: Vec<u64>,
}

impl Net {
    pub(super) fn new(graph: &Graph, order: &Order) -> Self {
        let mut switch: Vec<SwitchIndex> = (0..graph.len() as u32).map(SwitchIndex).collect();
        switch.sort_unstable_by_key(|&switch| graph.tie(switch.index()));
        let mut number = vec![0; switch.len()];
        switch.iter().zip(0..).for_each(|(switch, at)| number[switch.index()] = at);
        let mut net = Self {
            hosts: switch.iter().map(|switch| order.hosts[switch.index()]).collect(),
            place: switch.iter().map(|switch| order.place[switch.index()]).collect(),
            base: vec![0],
            head: Vec::with_capacity(graph.edge_count()),
            back: Vec::with_capacity(graph.edge_count()),
            cables: vec![0],
            ports: Vec::new(),
            price: Vec::new(),
            shares: Vec::new(),
            switch,
            number,
        };
        for &from in &net.switch {
            let mut edges: Vec<(u32, usize)> = graph.edges(from.index()).map(|edge| (net.number[graph.peer(edge)], edge)).collect();
            edges.sort_unstable();
            for (peer, edge) in edges {
                net.head.push(peer);
                let ports = graph.ports(edge);
                let share = |cable: usize| graph.shares(edge).map_or(1, |shares| shares[cable]);
                net.ports.extend(ports);
                net.price.extend((0..ports.len()).map(|cable| links::price(share(cable))));
                net.shares.push((0..ports.len()).map(|cable| u64::from(share(cable))).sum());
                net.cables.push(net.ports.len() as u32);
            }
            net.base.push(net.head.len() as u32);
        }
        for from in 0..net.len() as u32 {
            for edge in net.edges(from) {
                let peer = net.edges(net.head[edge as usize]);
                let at = net.head[peer.start as usize..peer.end as usize].partition_point(|&head| head < from);
                net.back.push(peer.start + at as u32);
            }
        }
        net
    }

    pub(super) fn len(&self) -> usize {
        self.switch.len()
    }

    pub(super) fn edge_count(&self) -> usize {
        self.head.len()
    }

    pub(super) fn edges(&self, switch: u32) -> Range<u32> {
        self.base[switch as usize]..self.base[switch as usize + 1]
    }

    /// The neighbours of a switch, in the order of its edges.
    pub(super) fn peers(&self, switch: u32) -> &[u32] {
        let edges = self.edges(switch);
        &self.head[edges.start as usize..edges.end as usize]
    }

    /// All edges in an arbitrary order: their numbers are scattered by the golden ratio (Knuth, "The art of computer programming", 6.4).
    pub(super) fn scattered(&self) -> Vec<u32> {
        let mut edges: Vec<u32> = (0..self.edge_count() as u32).collect();
        edges.sort_unstable_by_key(|&edge| (edge.wrapping_add(1).wrapping_mul(0x9e37_79b9), edge));
        edges
    }

    pub(super) fn head(&self, edge: u32) -> usize {
        self.head[edge as usize] as usize
    }

    pub(super) fn cables(&self, edge: u32) -> Range<usize> {
        self.cables[edge as usize] as usize..self.cables[edge as usize + 1] as usize
    }
}
