//! Random things that happen.

use crate::random::Random;
use crate::site::ports;
use heddle_emulator::{Event, Fault};
use heddle_fabric::{Fabric, NodeIndex, PortRef};
use std::time::Duration;

/// Things that happen shortly one after another.
pub(crate) struct Burst {
    /// After its begin.
    pub(crate) happenings: Vec<(Duration, Event)>,
    /// How long nothing happens afterwards. Either long enough for the subnet manager to come to rest, or not.
    pub(crate) calm: Duration,
}

impl Burst {
    /// What may happen is decided by what happened before, so that nodes come back and links are restored as often as not.
    pub(crate) fn random(fabric: &Fabric, random: &mut Random) -> Self {
        let cables: Vec<_> = ports(fabric).into_iter().filter(|&at| fabric.port(at).is_some_and(|port| port.peer.is_some())).collect();
        let mut happenings = Vec::new();
        for _ in 0..random.within(1..=5) {
            let at = short(random);
            let node = NodeIndex(random.within(0..=fabric.nodes().len() as u64 - 1) as u32);
            let cable = random.one_of(&cables).unwrap_or(PortRef::new(node, 1));
            let late = Duration::from_millis(random.within(1..=1200));
            let percent = random.within(1..=40) as u8;
            let seed = random.next();
            let event = match random.within(0..=15) {
                0 | 1 => Event::Cut(cable.into()),
                2 => Event::Restore(cable.into()),
                3 => Event::RemoveNode(node),
                4 => Event::ReturnNode(node),
                5 => Event::Fault(node, Fault::Mute),
                6 => Event::Heal(node),
                7 => Event::Fault(node, Fault::Garbage { seed }),
                8 => Event::Fault(node, Fault::Duplicate),
                9 => Event::Fault(node, Fault::Late(late)),
                10 => Event::Fault(node, Fault::Drop { percent, seed }),
                11 => Event::Rename(node, format!("renamed-{percent}")),
                12 | 13 => {
                    happenings.push((at + short(random), Event::Restore(cable.into())));
                    Event::Cut(cable.into())
                }
                _ => {
                    happenings.push((at + short(random), Event::ReturnNode(node)));
                    Event::RemoveNode(node)
                }
            };
            happenings.push((at, event));
        }
        let calm = if random.once_in(3) { short(random) } else { Duration::from_secs(60) };
        Self { happenings, calm }
    }

    /// Everything becomes whole.
    pub(crate) fn healing(fabric: &Fabric, random: &mut Random) -> Self {
        let nodes = || (0..fabric.nodes().len() as u32).map(NodeIndex);
        let restores = ports(fabric).into_iter().map(|at| Event::Restore(at.into()));
        let all = nodes().map(Event::Heal).chain(nodes().map(Event::ReturnNode)).chain(restores);
        let happenings = all.map(|event| (short(random) / 10, event)).collect();
        Self { happenings, calm: Duration::from_secs(90) }
    }
}

/// From a microsecond to ten seconds, each order of magnitude as often: a sweep takes milliseconds, a timeout a quarter of a second.
fn short(random: &mut Random) -> Duration {
    let magnitude = 10u64.pow(random.within(0..=6) as u32);
    Duration::from_micros(random.within(magnitude..=10 * magnitude))
}
