//! The places for the cables that lead up from a switch, lost cables included.

use crate::graph::Graph;
use crate::numbers::Number;
use crate::order::Order;
use heddle_fabric::NO_PORT;
use std::collections::BTreeMap;

/// For each switch the cables up that it has, at the places where its equals have theirs.
///
/// Switches of one level and plane are equals: they should lead to the same seats above by as many cables. What one of them has, all have a
/// place for, so that the loss of a cable leaves a gap and moves no other. A cable has a place for each of its shares of the routes.
pub(crate) struct Slots {
    base: Vec<u32>,
    ports: Vec<u8>,
    /// By level: the divisor for the digit that chooses a place.
    divisor: Vec<u32>,
    /// By switch: the number of its pod among those of its equals.
    turn: Vec<u32>,
}

/// A cable up.
#[derive(Clone, Copy)]
struct Cable {
    port: u8,
    shares: u8,
}

/// A switch as those below see it: its plane, and its seat there.
type Seat = (u32, u32);

impl Slots {
    pub(crate) fn new(graph: &Graph, order: &Order) -> Self {
        let mut equals: BTreeMap<(u32, u32), Vec<usize>> = BTreeMap::new();
        for switch in 0..graph.len() {
            equals.entry((order.level[switch], order.plane[switch])).or_default().push(switch);
        }
        let mut cables_up = vec![BTreeMap::<Seat, Vec<Cable>>::new(); graph.len()];
        for (switch, seats) in cables_up.iter_mut().enumerate() {
            for edge in graph.edges(switch) {
                let peer = graph.peer(edge);
                if order.level[peer] > order.level[switch] {
                    let shares = graph.shares(edge);
                    let share = |cable: usize| shares.map_or(1, |shares| shares[cable]);
                    let cable = |(number, &port): (usize, &u8)| Cable { port, shares: share(number) };
                    let cables = graph.ports(edge).iter().enumerate().map(cable);
                    seats.entry((order.plane[peer], order.seat[peer])).or_default().extend(cables);
                }
            }
        }
        let mut turn = vec![0; graph.len()];
        let mut rows = vec![Vec::new(); graph.len()];
        let mut radix = vec![Vec::new(); order.level.iter().max().map_or(0, |&top| top as usize + 1)];
        for ((level, _), mut switches) in equals {
            switches.sort_unstable_by_key(|&switch| order.rank[switch]);
            // By seat: the most cables, and the most shares of one.
            let mut most: BTreeMap<Seat, (usize, u8)> = BTreeMap::new();
            for (&seat, cables) in switches.iter().flat_map(|&switch| &cables_up[switch]) {
                let most = most.entry(seat).or_default();
                *most = (cables.len().max(most.0), cables.iter().map(|cable| cable.shares).fold(most.1, u8::max));
            }
            let longest = most.values().fold((0, 0), |most, seat| (seat.0.max(most.0), seat.1.max(most.1)));
            for (number, pod) in switches.chunk_by(|&a, &b| order.pod[a] == order.pod[b]).enumerate() {
                pod.iter().for_each(|&switch| turn[switch] = number as u32);
            }
            for &switch in &switches {
                let mut seats: Vec<(&Seat, (usize, u8))> = most.iter().map(|(seat, &most)| (seat, most)).collect();
                let first_port = |seat: &Seat| cables_up[switch].get(seat).map_or(NO_PORT, |cables| cables[0].port);
                seats.sort_by_key(|(seat, _)| graph.port_place(switch, first_port(seat)));
                // The first cable to each switch above, then the second, and so on; then the same again for each further share.
                for share in 0..longest.1 {
                    for cable in 0..longest.0 {
                        for (seat, _) in seats.iter().filter(|(_, (cables, shares))| cable < *cables && share < *shares) {
                            let known = cables_up[switch].get(seat).and_then(|cables| cables.get(cable));
                            rows[switch].push(known.filter(|cable| share < cable.shares).map_or(NO_PORT, |cable| cable.port));
                        }
                    }
                }
                // Where all have the same shares, the places repeat.
                let repeated = most.values().all(|&(_, shares)| shares == longest.1);
                radix[level as usize].push(rows[switch].len() / if repeated { usize::from(longest.1.max(1)) } else { 1 });
            }
        }
        let mut slots = Self { base: vec![0], ports: Vec::new(), divisor: vec![1], turn };
        for row in rows {
            slots.ports.extend(row);
            slots.base.push(slots.ports.len() as u32);
        }
        for (below, radix) in radix.into_iter().enumerate() {
            slots.divisor.push(median(radix).saturating_mul(slots.divisor[below]));
        }
        slots
    }

    /// The ports at the places; [`NO_PORT`] where a cable is missing.
    pub(crate) fn of(&self, switch: usize) -> &[u8] {
        &self.ports[self.base[switch] as usize..self.base[switch + 1] as usize]
    }

    /// The place, of `count`, that a number says on a level.
    pub(crate) fn place(&self, level: u32, number: Number, count: usize) -> usize {
        (number.index / self.divisor(level, number)) as usize % count
    }

    /// What a number is divided by to get its digit for a level: the product of the places on the levels from its first on.
    pub(crate) fn divisor(&self, level: u32, number: Number) -> u32 {
        (self.divisor[level as usize] / self.divisor[number.level as usize]).max(1)
    }

    /// The distance of numbers that begin at the bottom after which the places on a level repeat.
    pub(crate) fn period(&self, level: u32) -> u32 {
        self.divisor[level as usize + 1]
    }

    pub(crate) fn turn(&self, switch: usize) -> u32 {
        self.turn[switch]
    }
}

/// The median, at least 1.
fn median(mut values: Vec<usize>) -> u32 {
    values.sort_unstable();
    values.get(values.len() / 2).map_or(1, |&value| value.max(1) as u32)
}
