use crate::net::Net;
use heddle_fabric::{EndPort, Fabric, SwitchIndex, Tables};
use rayon::prelude::*;
use serde::Serialize;

/// How much hosts can send at the same time, by the model that is usual for static routes (ORCS; Schneider, Hoefler and Lumsdaine, 2009):
/// every flow gets the share that the busiest link on its route leaves it, `1 / flows on that link`.
///
/// Only links between switches count. Hosts take part by their first LID, in the order of the fabric's nodes and ports; flows whose
/// packets do not arrive count as 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Patterns {
    /// The mean share where one random half of the hosts sends to the other (effective bisection bandwidth), 0 to 1.
    pub bisection: f64,
    /// The mean share where every host sends to one other and gets from one, at random.
    pub permutation: f64,
    /// The mean share where every host sends to the one a fixed number of places after it.
    pub shift: f64,
    /// The most flows on one link in any of these shifts; 1 is without contention.
    pub shift_contention: u32,
}

/// How many traffic patterns [`patterns`] tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Random bisections.
    pub bisections: usize,
    /// Random permutations.
    pub permutations: usize,
    /// Shifts: all there are if they are fewer, else drawn.
    pub shifts: usize,
}

/// Enough for two digits.
impl Default for Effort {
    fn default() -> Self {
        Self { bisections: 100, permutations: 100, shifts: 100 }
    }
}

/// Tries random and regular traffic between the hosts; `None` if there are fewer than two. The same fabric and tables always give the
/// same figures. `O(patterns * hosts * hops)`.
pub fn patterns(fabric: &Fabric, tables: &Tables, effort: Effort) -> Option<Patterns> {
    let net = Net::new(fabric);
    let mut hosts: Vec<EndPort> = fabric.end_ports().iter().filter(|end| end.is_host()).copied().collect();
    hosts.sort_unstable_by_key(|end| end.at);
    let count = hosts.len();
    if count < 2 {
        return None;
    }
    let routes = Routes { net: &net, tables, hosts: &hosts };
    let mut draw = Draw::new(count);
    let half = count / 2;
    let bisection = routes.mean(effort.bisections, || {
        draw.shuffle();
        (0..half).map(|at| (draw.order[at], draw.order[at + half])).collect()
    });
    let permutation = routes.mean(effort.permutations, || {
        draw.shuffle();
        (0..count).map(|at| (draw.order[at], draw.order[(at + 1) % count])).collect()
    });
    let mut next = 0;
    let all = effort.shifts >= count - 1;
    let shift = routes.mean(effort.shifts.min(count - 1), || {
        next = if all { next + 1 } else { 1 + draw.below(count - 1) };
        (0..count).map(|at| (at as u32, ((at + next) % count) as u32)).collect()
    });
    Some(Patterns { bisection: bisection.share, permutation: permutation.share, shift: shift.share, shift_contention: shift.contention })
}

type Flows = Vec<(u32, u32)>;

struct Routes<'a> {
    net: &'a Net<'a>,
    tables: &'a Tables,
    hosts: &'a [EndPort],
}

#[derive(Clone, Copy, Default)]
struct Outcome {
    share: f64,
    contention: u32,
}

impl Routes<'_> {
    /// The mean share and the worst contention over `count` patterns. They are drawn one after another and tried on all cores.
    fn mean(&self, count: usize, mut pattern: impl FnMut() -> Flows) -> Outcome {
        const TOGETHER: usize = 32; // bounds the memory
        let mut shares = 0.0;
        let mut contention = 0;
        for first in (0..count).step_by(TOGETHER) {
            let drawn: Vec<Flows> = (first..count.min(first + TOGETHER)).map(|_| pattern()).collect();
            let outcomes: Vec<Outcome> =
                drawn.into_par_iter().map_init(Scratch::default, |scratch, flows| self.attempt(&flows, scratch)).collect();
            for outcome in outcomes {
                shares += outcome.share;
                contention = contention.max(outcome.contention);
            }
        }
        Outcome { share: shares / count.max(1) as f64, contention }
    }

    fn attempt(&self, flows: &[(u32, u32)], scratch: &mut Scratch) -> Outcome {
        scratch.load.clear();
        scratch.load.resize(self.net.channels(), 0);
        scratch.links.clear();
        scratch.ends.clear();
        for &(from, to) in flows {
            let arrives = self.follow(self.hosts[from as usize].switch, &self.hosts[to as usize], &mut scratch.links);
            scratch.ends.push((scratch.links.len(), arrives));
        }
        for &link in &scratch.links {
            scratch.load[link as usize] += 1;
        }
        let mut start = 0;
        let mut shares = 0.0;
        for &(end, arrives) in &scratch.ends {
            let busiest = scratch.links[start..end].iter().map(|&link| scratch.load[link as usize]).max().unwrap_or(1);
            shares += if arrives { 1.0 / f64::from(busiest) } else { 0.0 };
            start = end;
        }
        Outcome { share: shares / flows.len() as f64, contention: scratch.load.iter().copied().max().unwrap_or(0) }
    }

    /// Notes the channels of a route. Whether it arrives; one that does not has none.
    fn follow(&self, from: SwitchIndex, to: &EndPort, links: &mut Vec<u32>) -> bool {
        let start = links.len();
        let mut at = from.0;
        for _ in 0..=self.net.switches() {
            let port = self.tables.port(SwitchIndex(at), to.lid);
            match self.net.next(at, port) {
                Some(next) => {
                    links.push((self.net.first_channel(at) + usize::from(port)) as u32);
                    at = next;
                }
                None if (to.switch.0, to.switch_port) == (at, port) => return true,
                None => break,
            }
        }
        links.truncate(start);
        false
    }
}

/// Room for one pattern.
#[derive(Default)]
struct Scratch {
    /// By channel.
    load: Vec<u32>,
    /// The channels of all routes, one route after another.
    links: Vec<u32>,
    /// Where each route's channels end, and whether it arrives.
    ends: Vec<(usize, bool)>,
}

/// One order of the hosts, shuffled again and again (Fisher and Yates) by the generator xorshift64 (Marsaglia, 2003).
struct Draw {
    order: Vec<u32>,
    state: u64,
}

impl Draw {
    fn new(count: usize) -> Self {
        Self { order: (0..count as u32).collect(), state: 88_172_645_463_325_252 }
    }

    fn below(&mut self, bound: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state % bound as u64) as usize
    }

    fn shuffle(&mut self) {
        for last in (1..self.order.len()).rev() {
            let other = self.below(last + 1);
            self.order.swap(last, other);
        }
    }
}
