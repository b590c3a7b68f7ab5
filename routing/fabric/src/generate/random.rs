use super::Plan;
use super::faults::pieces;
use super::spec::{Spec, SpecError};

/// SplitMix64 (G. L. Steele Jr., D. Lea and C. H. Flood, OOPSLA 2014): small, and the same on every machine.
#[derive(Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which must not be 0.
    fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }

    /// All numbers below `count`, in random order.
    pub(super) fn permutation(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for last in (1..count).rev() {
            order.swap(last, self.below(last + 1));
        }
        order
    }
}

/// Ports: hosts, then cables in the order they were drawn.
pub(super) fn random(spec: &mut Spec<'_>, random: &mut Random) -> Result<Plan, SpecError> {
    const TRIES: usize = 1000;
    let switches = spec.option("switches", 2..=Plan::MAX_NODES, None)?;
    let degree = spec.option("degree", 1..=254, None)?;
    let hosts = spec.option("hosts", 0..=254, Some(1))?;
    spec.finish(false)?;

    let mut plan = Plan::new(spec, switches, switches * hosts, hosts + degree)?;
    for n in 0..switches {
        let switch = plan.switch(format!("switch-{n}"), hosts + degree);
        for h in 0..hosts {
            plan.host(format!("host-{n}-{h}"), switch, 1 + h);
        }
    }
    if (switches - 1).saturating_mul(2) > switches * degree {
        return Err(spec.error(format!("{switches} switches cannot hold together with {degree} cable each")));
    }
    for _ in 0..TRIES {
        let Some(pairs) = drawn(switches as usize, degree as usize, random) else { continue };
        let mut next_port = vec![hosts + 1; switches as usize];
        plan.cables.clear();
        for pair in pairs {
            let [a, b] = pair.map(|switch| {
                next_port[switch] += 1;
                (switch, next_port[switch] - 1)
            });
            plan.cable(a, b);
        }
        if pieces(&plan) == 1 {
            return Ok(plan);
        }
    }
    Err(spec.error(format!("{TRIES} random fabrics of degree {degree} were all in pieces; a larger degree= or another seed= helps")))
}

/// Cables that use each switch `degree` times (but for one time if that is an odd number of ends); none from a switch to itself. `None` if
/// the draw ended with one that could not be exchanged.
fn drawn(switches: usize, degree: usize, random: &mut Random) -> Option<Vec<[usize; 2]>> {
    let ends = random.permutation(switches * degree);
    let mut pairs: Vec<[usize; 2]> = ends.chunks_exact(2).map(|pair| [pair[0] / degree, pair[1] / degree]).collect();
    for at in 0..pairs.len() {
        let mut tries = 0;
        while pairs[at][0] == pairs[at][1] {
            let other = random.below(pairs.len());
            let [own, their] = [pairs[at][0], pairs[other][0]];
            // Both new pairs must be between two switches, or the repair would undo an earlier one.
            if their != pairs[at][1] && own != pairs[other][1] {
                pairs[at][0] = their;
                pairs[other][0] = own;
            }
            tries += 1;
            if tries > 1000 {
                return None;
            }
        }
    }
    Some(pairs)
}
