//! A script of events for the emulator.

use crate::narrate::Narrator;
use anyhow::Context;
use heddle_emulator::{Emulator, Event, Fault, parse_script};
use heddle_fabric::{Fabric, NodeIndex, PortRef};
use heddle_mad::Time;
use std::collections::VecDeque;
use std::time::Duration;

/// What is still to be announced of a script, and when it ends.
pub(crate) struct Script {
    announcements: VecDeque<(Time, String)>,
    end: Time,
}

/// A fabric that does not come to rest is given up so long after the last event.
const PATIENCE: Duration = Duration::from_secs(120);

impl Script {
    /// Hands a script to the emulator. `text` is the script, or `@FILE`.
    pub(crate) fn load(text: &str, fabric: &Fabric, emulator: &mut Emulator) -> anyhow::Result<Self> {
        let (events, name) = match text.strip_prefix('@') {
            None => (parse_script(text, fabric), "--events"),
            Some(file) => {
                let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?;
                (parse_script(&text, fabric), file)
            }
        };
        let mut events = events.with_context(|| name.to_owned())?;
        events.sort_by_key(|&(time, _)| time);
        let end = events.last().map_or(Time::ZERO, |&(time, _)| time);
        let announcements = events.iter().map(|(time, event)| (*time, describe(fabric, event))).collect();
        for (time, event) in events {
            emulator.world_mut().schedule(time, event);
        }
        Ok(Self { announcements, end })
    }

    /// Tells what has happened until now.
    pub(crate) fn announce(&mut self, now: Time, narrator: &mut Narrator<'_>) -> anyhow::Result<()> {
        while let Some((time, text)) = self.announcements.front().filter(|(time, _)| *time <= now) {
            narrator.say(*time, format_args!("--- {text}"))?;
            self.announcements.pop_front();
        }
        Ok(())
    }

    /// Whether all has happened and the subnet manager has nothing to do any longer; `last` is when it last told something.
    pub(crate) fn is_over(&self, now: Time, last: Time, quiet: Duration) -> bool {
        now >= self.end + PATIENCE || now >= self.end.max(last) + quiet
    }
}

fn describe(fabric: &Fabric, event: &Event) -> String {
    let node = |node: NodeIndex| format!("\"{}\"", fabric.node(node).description);
    let port = |at: PortRef| format!("port {} of {}", at.port, node(at.node));
    let cable = |at: PortRef| match fabric.port(at).and_then(|port| port.peer) {
        Some(peer) => format!("the cable between {} and {}", port(at), port(peer)),
        None => format!("the cable in {}", port(at)),
    };
    match event {
        Event::Cut(at) => format!("{} breaks", cable(*at)),
        Event::Restore(at) => format!("{} is whole again", cable(*at)),
        Event::RemoveNode(gone) => format!("{} loses its power", node(*gone)),
        Event::ReturnNode(back) => format!("{} has its power back and has forgotten everything", node(*back)),
        Event::Rename(renamed, name) => format!("{} is called \"{name}\" from now on", node(*renamed)),
        Event::Heal(healed) => format!("{} does everything right again", node(*healed)),
        Event::Fault(faulty, fault) => match fault {
            Fault::Mute => format!("{} answers nothing any longer", node(*faulty)),
            Fault::Garbage { .. } => format!("{} answers with garbage", node(*faulty)),
            Fault::Duplicate => format!("{} answers twice", node(*faulty)),
            Fault::Late(delay) => format!("{} answers {delay:?} late", node(*faulty)),
            Fault::Drop { percent, .. } => format!("{} drops {percent} percent of its answers", node(*faulty)),
        },
    }
}
