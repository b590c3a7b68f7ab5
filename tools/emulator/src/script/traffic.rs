//! The question for traffic.

use super::ScriptError;
use super::statement::Statement;
use crate::traffic::{Job, Options, Pattern, What};
use std::collections::BTreeMap;

const SETTINGS: &str = "packets COUNT, payload BYTES, buffer PACKETS, within TIME, hoq, or sl SLID:DLID:SL...";
const LEVEL: &str = "SLID:DLID:SL, such as 4:17:1";
/// The largest payload (IBA 7.7.8).
const PAYLOAD_MAX: u64 = 4096;

impl Statement<'_> {
    /// What follows `traffic`.
    pub(super) fn traffic(&mut self) -> Result<Job, ScriptError> {
        let what = match self.one_of("who sends to whom", PATTERNS)? {
            Kind::AllToAll => What::Pattern(Pattern::AllToAll),
            Kind::Permutation => What::Pattern(Pattern::Permutation { seed: self.number("the seed", u64::MAX)? }),
            Kind::Shift => What::Pattern(Pattern::Shift { by: self.number("how many hosts further", 0xffff)? as usize }),
            Kind::Incast => What::Incast(self.node()?),
            Kind::Attack => What::Attack,
        };
        // Enough to fill the buffers; to each of many receivers, fewer will do.
        let packets = if what == What::Pattern(Pattern::AllToAll) { 10 } else { 100 };
        let mut job = Job { what, packets, payload: 2048, options: Options::default(), path_sl: BTreeMap::new() };
        while let Some(word) = self.word() {
            match word.text.as_str() {
                "packets" => job.packets = self.number("how many packets", u64::from(u32::MAX))? as u32,
                "payload" => job.payload = self.number("how many bytes", PAYLOAD_MAX)? as u16,
                "buffer" => job.options.buffer = self.number("how many packets", 0x7fff)? as u16,
                "within" => job.options.until = self.duration("the time")?,
                "hoq" => job.options.hoq_life = true,
                "sl" => {
                    while let Some(word) = self.word() {
                        let level = parse_level(&word.text).ok_or_else(|| self.unexpected(&word, LEVEL))?;
                        job.path_sl.insert((level.0, level.1), level.2);
                    }
                }
                _ => return Err(self.unexpected(&word, SETTINGS)),
            }
        }
        Ok(job)
    }
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    AllToAll,
    Permutation,
    Shift,
    Incast,
    Attack,
}

const PATTERNS: &[(&str, Kind)] = &[
    ("all-to-all", Kind::AllToAll),
    ("permutation", Kind::Permutation),
    ("shift", Kind::Shift),
    ("incast", Kind::Incast),
    ("attack", Kind::Attack),
];

fn parse_level(text: &str) -> Option<(u16, u16, u8)> {
    let mut parts = text.split(':');
    let level = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    (parts.next().is_none() && level.2 < 16).then_some(level)
}
