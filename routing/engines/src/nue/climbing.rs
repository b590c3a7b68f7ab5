//! Whether the routes of up-down will do.

use crate::graph::{Graph, bits};
use crate::order::Order;
use crate::up_down::{Directions, ways};
use rayon::prelude::*;

/// How much longer than the shortest they may be on average: the hundredth part, as where a tree lost a few cables.
const PARTS: u64 = 100;

/// Whether routes that climb and then descend are as short as any between the switches with hosts, or nearly.
pub(super) fn is_short(graph: &Graph, order: &Order, directions: &Directions<'_>) -> bool {
    let carriers: Vec<u32> = (0..graph.len() as u32).filter(|&switch| order.hosts[switch as usize] > 0).collect();
    carriers.par_chunks(64).all(|targets| {
        let shortest = total(graph, order, targets, &vec![u64::MAX; graph.edge_count()]);
        let mut climbing = vec![0; graph.edge_count()];
        ways(directions, targets, &mut climbing);
        total(graph, order, targets, &climbing) <= shortest + shortest / PARTS
    })
}

/// The hops of the ways between the hosts of all switches and those of up to 64 switches, all together. `ways` are by edge the targets that
/// have a way over it.
fn total(graph: &Graph, order: &Order, targets: &[u32], ways: &[u64]) -> u64 {
    let hosts = |switch: usize| u64::from(order.hosts[switch]);
    let mut total = 0;
    let mut front = vec![0u64; graph.len()];
    targets.iter().enumerate().for_each(|(bit, &target)| front[target as usize] |= 1 << bit);
    let all = u64::MAX >> (64 - targets.len());
    let mut found = front.clone();
    let mut next = vec![0; graph.len()];
    for distance in 1.. {
        for switch in 0..graph.len() {
            next[switch] = 0;
            if found[switch] != all {
                let over = |edge: usize| ways[edge] & front[graph.peer(edge)];
                let new = graph.edges(switch).fold(0, |new, edge| new | over(edge)) & !found[switch];
                let weight: u64 = bits(if hosts(switch) > 0 { new } else { 0 }).map(|bit| hosts(targets[bit] as usize)).sum();
                total += distance * hosts(switch) * weight;
                next[switch] = new;
                found[switch] |= new;
            }
        }
        if next.iter().all(|&new| new == 0) {
            break;
        }
        std::mem::swap(&mut front, &mut next);
    }
    total
}
