mod names;
mod statement;
mod text;
mod traffic;
mod vocabulary;
mod words;

pub use names::Site;
pub(crate) use names::{NoNode, cabled_ports, find, nodes};
pub(crate) use text::port_name;
pub use vocabulary::{QUERIES, VERBS, Verb};

use crate::events::{Event, Place};
use crate::random::Random;
use crate::traffic::Job;
use heddle_mad::Time;
use statement::Statement;
use std::fmt;
use std::time::Duration;

/// Why a statement, or a script of them, cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ScriptError {
    /// The line, from 1.
    pub line: usize,
    /// The character in the line, from 1, where the part that is wrong begins.
    pub column: usize,
    /// What is wrong, and what was expected.
    pub message: String,
    /// Words that would be right and are similar to the one that is wrong, the most similar first.
    pub similar: Vec<String>,
}

impl ScriptError {
    pub(crate) fn new(line: usize, column: usize, message: impl Into<String>) -> Self {
        Self { line, column, message: message.into(), similar: Vec::new() }
    }
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event script, line {}, column {}: {}", self.line, self.column, self.message)?;
        if !self.similar.is_empty() {
            write!(f, "; similar names: {}", self.similar.join(", "))?;
        }
        Ok(())
    }
}

/// Reads a script of events: a statement a line, or several in a line with `;` between them. [`VERBS`] are all that can happen.
///
/// ```text
/// # TIME [COUNTx] EVENT [for TIME]
/// seed 42                              # what is random comes from it; 0 if it is left out
/// 2s      cut leaf-0:19                # both ends of the cable see it
/// 4s      restore leaf-0:19
/// 5s      cut spine-1 for 500ms        # all its cables; restored after half a second
/// 6.5s    remove "a name with blanks"
/// 8s      return 0x0002c90000000010    # a GUID names a node too
/// 10s     mute spine-1 for 5s          # forwards, but answers nothing, and heals
/// 12s     loss all 10                  # every cable loses 10 percent of the packets
/// 14s     degrade "leaf 1":7 1x        # trains again with one lane
/// 16s     ignore spine-1 PortInfo      # never answers requests for it
/// 20s..60s 10x cut any link for 1s..5s # ten times, at a random time each
/// 20s..60s 2x reboot any switch
/// ```
///
/// What lasts `for` a time ends as by `restore`, `merge`, `return` or `heal`, with all else that is wrong there; a move, a swap and a
/// new name are taken back.
///
/// Times count from the emulator's start and have a unit: `us`, `ms`, `s`, `m`. Where a time is a range, and for `any`, chance decides
/// while the script is read: the same script and the same fabric give the same events. The events come in the order of the text, which
/// need not be that of their times.
///
/// # Errors
/// The first statement that is not understood, with its place and, where a name is not found, names that are similar.
pub fn parse_script(text: &str, site: &dyn Site) -> Result<Vec<(Time, Event)>, ScriptError> {
    let events = read(text, site, &mut Random(0), false)?;
    Ok(events.into_iter().map(|(after, event)| (Time::ZERO + after, event)).collect())
}

/// What is said over the control socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// What happens, so long from now.
    Events(Vec<(Duration, Event)>),
    Status,
    Nodes,
    /// What is known of a node, or of a port.
    Show(Place),
    Counters,
    Plan,
    Traffic(Job),
}

/// Reads a command: one of [`QUERIES`], or statements as in a script. The time of a statement counts from now, and may be left out.
pub(crate) fn parse_command(text: &str, site: &dyn Site, random: &mut Random) -> Result<Command, ScriptError> {
    let mut line = words::statements(text.lines().next().unwrap_or_default(), 1)?.into_iter();
    let mut first = line.next().unwrap_or_default();
    let query = first.first().and_then(|word| QUERIES.iter().find(|query| word.is(query.name)));
    let mut nothing = Vec::new();
    match query {
        None => read(text, site, random, true).map(Command::Events),
        Some(query) => {
            let asked = first.remove(0);
            if line.any(|more| !more.is_empty()) || text.lines().skip(1).any(|more| !more.trim().is_empty()) {
                return Err(ScriptError::new(1, asked.column, format!("\"{}\" is a question: ask it alone", query.name)));
            }
            let mut statement = Statement::new(first, 1, true, site, random, &mut nothing);
            let command = match query.name {
                "nodes" => Command::Nodes,
                "show" => Command::Show(statement.node_or_port()?),
                "counters" => Command::Counters,
                "plan" => Command::Plan,
                "traffic" => Command::Traffic(statement.traffic()?),
                _ => Command::Status,
            };
            statement.end().map(|()| command)
        }
    }
}

fn read(text: &str, site: &dyn Site, random: &mut Random, is_command: bool) -> Result<Vec<(Duration, Event)>, ScriptError> {
    let mut events = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        for words in words::statements(line, number)? {
            Statement::new(words, number, is_command, site, random, &mut events).read()?;
        }
    }
    Ok(events)
}
