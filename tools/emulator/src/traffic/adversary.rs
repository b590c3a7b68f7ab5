use super::dependencies::{Dependencies, Dependency};
use super::flows::Flow;
use super::outcome::Outcome;
use super::plane::{HOP, Options};
use super::programmed::Programmed;
use crate::random::Random;
use std::time::Duration;

/// Whether traffic can be driven into a stop.
#[derive(Clone, Debug)]
pub enum Attack {
    /// No channel depends on itself, by any number of steps: no traffic that counts ever stops (W. J. Dally and C. L. Seitz, IEEE Trans.
    /// Computers C-36, 1987).
    Free,
    /// These flows stop.
    Stopped {
        /// Who sends what, and when.
        flows: Vec<Flow>,
        /// What the run did.
        outcome: Outcome,
    },
    /// There are circles of dependencies, and no traffic that was tried stopped.
    Resisted {
        /// How many channels the shortest of these circles has.
        circle: usize,
        /// How many runs were made.
        runs: usize,
    },
}

/// So many circles of dependencies are tried.
const CIRCLES: usize = 8;
/// So many times, for each circle.
const DRAWS: u64 = 16;

impl Programmed {
    /// Looks for traffic that stops: all unicast traffic that has a host at one end counts, and packets from switches that have no hosts
    /// of their own to hosts with it.
    ///
    /// A stop is a circle of full buffers, so there is none without a circle of dependencies. For each dependency of a circle some flow
    /// uses both its channels. If each of these flows begins at the switch of the first channel, and a buffer holds one packet, they stop
    /// at once when all send at the same moment: each packet takes the only place behind its first channel before the one that wants it
    /// next is there. With larger buffers, bursts fill them faster than they drain as soon as several sources push at each switch.
    /// Where flows have to pass other channels first, or adaptive switches may choose, it is not certain that the circle can be filled; then
    /// bursts are drawn by chance.
    pub fn attack(&self, options: &Options) -> Attack {
        let dependencies = self.dependencies();
        let circles = [true, false].into_iter().flat_map(|near| dependencies.circles(near, CIRCLES));
        let circles: Vec<_> = circles.collect();
        let Some(shortest) = circles.first() else { return Attack::Free };
        let mut runs = 0;
        for circle in &circles {
            for draw in 0..DRAWS {
                let flows = volley(&dependencies, circle, options.buffer.max(1), draw);
                let outcome = self.run(&flows, options);
                runs += 1;
                if outcome.stopped().is_some() {
                    return Attack::Stopped { flows, outcome };
                }
            }
        }
        Attack::Resisted { circle: shortest.len(), runs }
    }
}

/// Flows that may fill a circle: first as many packets as the buffers hold, one source for each, all at the same moment; then more and more
/// of all sources, later by chance.
fn volley(dependencies: &Dependencies, circle: &[u32], buffer: u16, draw: u64) -> Vec<Flow> {
    let mut random = Random(draw);
    let makers: Vec<&Vec<Dependency>> =
        circle.iter().zip(circle.iter().cycle().skip(1)).map(|(channel, next)| &dependencies.of[channel][next]).collect();
    let chosen: Vec<Dependency> = if draw == 0 { distinct(&makers) } else { makers.into_iter().flatten().copied().collect() };
    let last = chosen.iter().map(|maker| maker.before).max().unwrap_or(0);
    let flows = chosen.iter().map(|maker| {
        // So that all are at their first channel of the circle at the same moment.
        let start = u64::from(last - maker.before) * HOP;
        let late = if draw < 2 { 0 } else { random.below(4 * HOP * u64::from(buffer)) };
        let payload = if draw < 2 { 64 } else { [64, 256, 1024, 2048][random.below(4) as usize] };
        let packets = u32::from(buffer) * if draw == 0 { 1 } else { 64 };
        Flow { packets, payload, start: Duration::from_nanos((start + late) / 1000), ..maker.flow }
    });
    flows.collect()
}

/// A flow for each dependency, from different sources as far as there are.
fn distinct(makers: &[&Vec<Dependency>]) -> Vec<Dependency> {
    let mut chosen: Vec<Dependency> = Vec::new();
    for makers in makers {
        let uses = |maker: &&Dependency| chosen.iter().filter(|other| other.flow.from == maker.flow.from).count();
        chosen.extend(makers.iter().min_by_key(|maker| (maker.before, uses(maker))).copied());
    }
    chosen
}
