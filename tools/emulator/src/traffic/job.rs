use super::adversary::Attack;
use super::flows::{Flow, Pattern};
use super::outcome::{End, Outcome};
use super::plane::Options;
use super::programmed::Programmed;
use crate::World;
use heddle_fabric::NodeIndex;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Traffic as the control socket's `traffic` asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Job {
    pub(crate) what: What,
    /// By each flow.
    pub(crate) packets: u32,
    pub(crate) payload: u16,
    pub(crate) options: Options,
    /// The SL by the LIDs of both ends, as the subnet administration gives it; 0 for all if there is none.
    pub(crate) path_sl: BTreeMap<(u16, u16), u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Pattern(Pattern),
    /// All hosts to the first one of a node.
    Incast(NodeIndex),
    Attack,
}

/// Larger jobs would keep everybody else waiting for too long: these take a second.
const PACKETS_MAX: u64 = 1_000_000;
/// For a search for traffic that stops: LIDs times switches.
const SEARCH_MAX: u64 = 5_000_000;

impl Job {
    /// Does it, and tells what came of it.
    ///
    /// # Errors
    /// What is too much, or missing.
    pub(crate) fn run(self, world: &mut World) -> Result<Value, String> {
        let mut programmed = world.programmed();
        programmed.path_sl = self.path_sl;
        let hosts = programmed.hosts();
        let pattern = match self.what {
            What::Attack => return attack(world, &programmed, &self.options),
            What::Pattern(pattern) => pattern,
            What::Incast(node) => {
                let to = hosts.iter().position(|(at, _)| at.node == node);
                let nobody = || format!("\"{}\" has no port with a LID to which hosts could send", programmed.description(node));
                Pattern::Incast { to: to.ok_or_else(nobody)? }
            }
        };
        check_size(hosts.len() as u64, pattern, self.packets)?;
        let flows = pattern.flows(&programmed, self.packets).into_iter().map(|flow| Flow { payload: self.payload, ..flow });
        let outcome = world.carry(&flows.collect::<Vec<_>>(), &self.options);
        Ok(told(&outcome, ""))
    }
}

fn check_size(hosts: u64, pattern: Pattern, packets: u32) -> Result<(), String> {
    let flows = if pattern == Pattern::AllToAll { hosts * hosts.saturating_sub(1) } else { hosts };
    // A flow takes memory as well, whether or not it has packets.
    match flows * u64::from(packets.max(1)) {
        all if all > PACKETS_MAX => {
            Err(format!("{flows} flows of {packets} packets are more than {PACKETS_MAX} packets, the most at a time"))
        }
        _ => Ok(()),
    }
}

fn attack(world: &mut World, programmed: &Programmed, options: &Options) -> Result<Value, String> {
    let size = programmed.owner.len() as u64 * programmed.nodes.iter().filter(|node| node.switch.is_some()).count() as u64;
    if size > SEARCH_MAX {
        return Err(format!(
            "the fabric is too large to look for a deadlock here: {size} entries of forwarding tables, {SEARCH_MAX} at most"
        ));
    }
    Ok(match programmed.attack(options) {
        Attack::Free => {
            json!({ "end": "free", "text": "no traffic that has a host at one end can stop: no buffer waits for itself in any number of steps" })
        }
        Attack::Stopped { flows, outcome } => {
            // Once more on the hardware, so that its ports count.
            world.carry(&flows, options);
            told(&outcome, &format!("traffic was found that stops, of {} flows\n", flows.len()))
        }
        Attack::Resisted { circle, runs } => {
            let text = format!("{circle} channels depend on each other in a circle, but no traffic stopped in {runs} runs");
            json!({ "end": "resisted", "text": text })
        }
    })
}

fn told(outcome: &Outcome, before: &str) -> Value {
    let stop = outcome.stopped();
    json!({
        "end": match outcome.end {
            End::Done => "done",
            End::Stopped(_) => "stopped",
            End::OutOfTime => "out of time",
        },
        "after": outcome.at.as_secs_f64(),
        "sent": outcome.sent,
        "delivered": outcome.delivered,
        "underway": outcome.underway,
        "discarded": outcome.discarded.iter().map(|(why, count)| (why.to_string(), *count)).collect::<BTreeMap<_, _>>(),
        "latency": outcome.latency.map(|latency| json!({
            "min": latency.min.as_secs_f64(),
            "mean": latency.mean.as_secs_f64(),
            "max": latency.max.as_secs_f64(),
        })),
        "stuck": stop.map_or(0, |stop| stop.stuck),
        "circle": stop.map(|stop| stop.circle.iter().map(|wait| json!({
            "node": wait.description,
            "port": wait.at.port,
            "vl": wait.vl,
            "waits_for_port": wait.exit,
            "waits_for_vl": wait.exit_vl,
            "from": wait.from_description,
            "dlid": wait.dlid,
            "sl": wait.sl,
        })).collect::<Vec<_>>()),
        "dot": stop.map(super::Stop::dot),
        "text": format!("{before}{outcome}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1000 * 999 is the last product below a million.
    #[test]
    fn jobs_that_take_too_long_or_too_much_memory_are_refused() {
        for (hosts, pattern, packets, fits) in [
            (1000, Pattern::AllToAll, 1, true),
            (1001, Pattern::AllToAll, 1, false),
            (1001, Pattern::AllToAll, 0, false),
            (45_056, Pattern::AllToAll, 0, false),
            (45_056, Pattern::Shift { by: 1 }, 22, true),
            (45_056, Pattern::Shift { by: 1 }, 23, false),
            (0, Pattern::AllToAll, u32::MAX, true),
        ] {
            assert_eq!(check_size(hosts, pattern, packets).is_ok(), fits, "{hosts} {pattern:?} {packets}");
        }
    }
}
