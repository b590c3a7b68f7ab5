//! A script of events for the emulator.

use crate::narrate::Narrator;
use anyhow::Context;
use heddle_emulator::{Emulator, VERBS, parse_script};
use heddle_fabric::Fabric;
use heddle_mad::Time;
use std::collections::VecDeque;
use std::time::Duration;

/// All that can happen, as a help text.
pub(crate) fn verbs() -> String {
    let mut text = "\
All events. CABLES are NODE:PORT (either end), NODE (all its cables), `all` or `any link`; NODES are
NODE, `all`, `any switch`, `any host` or `any node`. Those with a * can last `for TIME`.
"
    .to_owned();
    for verb in VERBS {
        let star = if verb.ends { "*" } else { " " };
        let statement = format!("{} {}", verb.name, verb.arguments);
        text += &format!("  {star} {statement:<40} {}\n", verb.meaning);
    }
    text
}

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
        let announcements = events.iter().map(|(time, event)| (*time, event.statement(fabric))).collect();
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
