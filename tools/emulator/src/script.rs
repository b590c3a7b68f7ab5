use crate::{Event, Fault};
use heddle_fabric::{Fabric, Guid, NodeIndex, NodeKind, PortRef};
use heddle_mad::Time;
use std::fmt;
use std::time::Duration;

/// Why a script of events cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ScriptError {
    /// The line, from 1.
    pub line: usize,
    /// The character in the line, from 1, where the part that is wrong begins.
    pub column: usize,
    /// What is wrong, and what was expected.
    pub message: String,
    /// Names of the fabric that are similar to the one that it does not have, the most similar first.
    pub similar: Vec<String>,
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

/// Reads a script of events: one a line, or several in a line with `;` between them.
///
/// ```text
/// # TIME EVENT
/// 2s    cut leaf-0:19              # both ends of the cable see it
/// 4s    restore leaf-0:19
/// 6.5s  remove "a name with blanks"
/// 8s    return 0x0002c90000000010  # a GUID names a node too
/// 10s   mute spine-1               # forwards, but answers nothing
/// 12s   garbage spine-1 42         # answers with random bytes, from seed 42
/// 14s   duplicate spine-1          # answers twice
/// 16s   late spine-1 300ms         # answers so much later
/// 18s   drop spine-1 30 7          # answers all but 30 percent, from seed 7
/// 20s   heal spine-1               # ends all of these
/// 22s   rename spine-1 new-name
/// ```
///
/// Times count from the emulator's start and have a unit: `us`, `ms`, `s`, `m`. Seeds may be left out (0). The events come in the
/// order of the text, which need not be that of their times.
///
/// # Errors
/// The first statement that is not understood, with its place and, where a node is not found, names that are similar.
pub fn parse_script(text: &str, fabric: &Fabric) -> Result<Vec<(Time, Event)>, ScriptError> {
    let mut events = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for words in statements(line, index + 1)? {
            let mut statement = Statement { words: words.into_iter(), line: index + 1, end: 1, fabric };
            events.extend(statement.event()?);
        }
    }
    Ok(events)
}

/// A word and where it begins. Of a quoted word, `quoted` is what stood between the quotes, `text` what follows them.
#[derive(Debug)]
struct Word {
    quoted: Option<String>,
    text: String,
    column: usize,
    /// The column behind its last character.
    end: usize,
}

/// The words of a line, statement by statement.
fn statements(line: &str, number: usize) -> Result<Vec<Vec<Word>>, ScriptError> {
    let mut statements = vec![Vec::new()];
    let mut chars = line.chars().zip(1..).peekable();
    while let Some(&(c, column)) = chars.peek() {
        match c {
            '#' => break,
            ';' => {
                statements.push(Vec::new());
                chars.next();
            }
            c if c.is_whitespace() => {
                chars.next();
            }
            _ => {
                let quoted = if c == '"' {
                    chars.next();
                    let mut name = String::new();
                    loop {
                        match chars.next() {
                            Some(('"', _)) => break,
                            Some((c, _)) => name.push(c),
                            None => return Err(error(number, column, "a quoted name has no closing quote (\") in its line")),
                        }
                    }
                    Some(name)
                } else {
                    None
                };
                let mut text = String::new();
                while let Some((c, _)) = chars.next_if(|&(c, _)| !c.is_whitespace() && c != ';') {
                    text.push(c);
                }
                let quotes = quoted.as_ref().map_or(0, |name| name.chars().count() + 2);
                let end = column + quotes + text.chars().count();
                statements.last_mut().expect("never empty").push(Word { quoted, text, column, end });
            }
        }
    }
    Ok(statements)
}

fn error(line: usize, column: usize, message: impl Into<String>) -> ScriptError {
    ScriptError { line, column, message: message.into(), similar: Vec::new() }
}

struct Statement<'a> {
    words: std::vec::IntoIter<Word>,
    line: usize,
    /// The column behind the last word that was read.
    end: usize,
    fabric: &'a Fabric,
}

const VERBS: &str = "cut, restore, remove, return, mute, garbage, duplicate, late, drop, heal, rename";

impl Statement<'_> {
    fn event(&mut self) -> Result<Option<(Time, Event)>, ScriptError> {
        let Some(word) = self.words.next() else { return Ok(None) };
        self.end = word.end;
        let time = Time::ZERO + self.duration(&word)?;
        let verb = self.next("an event", VERBS)?;
        let event = match verb.text.as_str() {
            "cut" => Event::Cut(self.cabled_port()?),
            "restore" => Event::Restore(self.cabled_port()?),
            "remove" => Event::RemoveNode(self.node()?),
            "return" => Event::ReturnNode(self.node()?),
            "mute" => Event::Fault(self.node()?, Fault::Mute),
            "garbage" => Event::Fault(self.node()?, Fault::Garbage { seed: self.seed()? }),
            "duplicate" => Event::Fault(self.node()?, Fault::Duplicate),
            "late" => {
                let node = self.node()?;
                let word = self.next("how late the answers are", "a time such as 300ms")?;
                Event::Fault(node, Fault::Late(self.duration(&word)?))
            }
            "drop" => {
                let node = self.node()?;
                let word = self.next("how many percent are dropped", "a number from 0 to 100")?;
                let percent = word.text.trim_end_matches('%').parse().ok().filter(|&percent| percent <= 100);
                let Some(percent) = percent else {
                    return Err(self.unexpected(&word, "a percentage from 0 to 100"));
                };
                Event::Fault(node, Fault::Drop { percent, seed: self.seed()? })
            }
            "heal" => Event::Heal(self.node()?),
            "rename" => {
                let node = self.node()?;
                let word = self.next("the new name", "a name of up to 64 bytes")?;
                let name = word.quoted.clone().unwrap_or_else(|| word.text.clone());
                if name.len() > 64 {
                    return Err(error(
                        self.line,
                        word.column,
                        format!("a NodeDescription has up to 64 bytes; this one has {}", name.len()),
                    ));
                }
                Event::Rename(node, name)
            }
            _ => return Err(self.unexpected(&verb, &format!("an event: {VERBS}"))),
        };
        match self.words.next() {
            Some(word) => Err(self.unexpected(&word, "the end of the event (events are separated by ; or a new line)")),
            None => Ok(Some((time, event))),
        }
    }

    fn next(&mut self, what: &str, expected: &str) -> Result<Word, ScriptError> {
        let Some(word) = self.words.next() else {
            return Err(error(self.line, self.end, format!("{what} is missing; expected {expected}")));
        };
        self.end = word.end;
        Ok(word)
    }

    fn unexpected(&self, word: &Word, expected: &str) -> ScriptError {
        let found = word.quoted.as_deref().unwrap_or(&word.text);
        error(self.line, word.column, format!("found \"{found}\", expected {expected}"))
    }

    fn duration(&self, word: &Word) -> Result<Duration, ScriptError> {
        let parsed = || {
            let unit_at = word.text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
            let (number, unit) = word.text.split_at(unit_at);
            let scale = match unit {
                "us" => 1e-6,
                "ms" => 1e-3,
                "s" => 1.0,
                "m" => 60.0,
                _ => return None,
            };
            // Rounded to microseconds, so that 0.3s is 300 ms exactly.
            let micros = (number.parse::<f64>().ok()? * scale * 1e6).round();
            (micros <= 1e15).then(|| Duration::from_micros(micros as u64))
        };
        parsed().filter(|_| word.quoted.is_none()).ok_or_else(|| self.unexpected(word, "a time such as 2s, 1.5s, 300ms, 50us or 1m"))
    }

    fn seed(&mut self) -> Result<u64, ScriptError> {
        let Some(word) = self.words.next() else { return Ok(0) };
        word.text.parse().map_err(|_| self.unexpected(&word, "a seed, which is a whole number"))
    }

    fn node(&mut self) -> Result<NodeIndex, ScriptError> {
        let word = self.next("the node", "a node's name or GUID")?;
        match &word.quoted {
            Some(_) if !word.text.is_empty() => Err(error(self.line, word.column, "expected a blank after the quoted name of a node")),
            Some(name) => self.find(name, word.column),
            None => self.find(&word.text, word.column),
        }
    }

    /// A port with a cable.
    fn cabled_port(&mut self) -> Result<PortRef, ScriptError> {
        let word = self.next("the port", "NODE:PORT, such as leaf-0:19")?;
        let split = match &word.quoted {
            Some(name) => word.text.strip_prefix(':').map(|port| (name.as_str(), port)),
            None => word.text.rsplit_once(':'),
        };
        let split = split.and_then(|(name, port)| Some((name, port.parse::<u8>().ok()?)));
        let Some((name, port)) = split else {
            return Err(self.unexpected(&word, "NODE:PORT, such as leaf-0:19"));
        };
        let at = PortRef::new(self.find(name, word.column)?, port);
        let node = self.fabric.node(at.node);
        match self.fabric.port(at) {
            None => Err(error(self.line, word.column, format!("\"{name}\" has ports 1 to {}, but not port {port}", node.num_ports))),
            Some(known) if known.peer.is_none() => {
                Err(error(self.line, word.column, format!("no cable is in port {port} of \"{name}\"{}", self.cabled_ports(at.node))))
            }
            Some(_) => Ok(at),
        }
    }

    fn cabled_ports(&self, node: NodeIndex) -> String {
        let cabled = self.fabric.node_ports(node).iter().zip(0..).filter(|(port, _)| port.peer.is_some());
        let ports: Vec<String> = cabled.map(|(_, number): (_, u32)| number.to_string()).collect();
        if ports.is_empty() { String::new() } else { format!("; cables are in ports {}", ports.join(", ")) }
    }

    fn find(&self, name: &str, column: usize) -> Result<NodeIndex, ScriptError> {
        let guid = name.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
        if let Some(node) = guid.and_then(|guid| self.fabric.node_by_guid(Guid(guid))) {
            return Ok(node);
        }
        let named = |wanted: &str| -> Vec<usize> {
            let nodes = self.fabric.nodes().iter().enumerate();
            nodes.filter(|(_, node)| node.description == wanted).map(|(index, _)| index).collect()
        };
        match named(name)[..] {
            [node] => Ok(NodeIndex(node as u32)),
            [] => {
                let message = format!("the fabric has no node with the name or GUID \"{name}\"");
                Err(ScriptError { line: self.line, column, message, similar: self.similar(name) })
            }
            [first, second, ..] => {
                let nodes = self.fabric.nodes();
                let message = format!(
                    "several nodes have the name \"{name}\"; name it by its GUID, such as {} or {}",
                    nodes[first].guid, nodes[second].guid
                );
                Err(error(self.line, column, message))
            }
        }
    }

    /// Up to three names, switches first where names are equally similar.
    fn similar(&self, name: &str) -> Vec<String> {
        let far = 2.max(name.chars().count() / 3);
        let mut found: Vec<(usize, bool, &str)> = (self.fabric.nodes().iter())
            .map(|node| (distance(name, &node.description), node.kind != NodeKind::Switch, node.description.as_str()))
            .filter(|&(distance, ..)| distance <= far)
            .collect();
        found.sort_unstable();
        found.dedup();
        found.into_iter().take(3).map(|(_, _, name)| name.to_owned()).collect()
    }
}

/// How many characters must be inserted, removed or replaced to turn `a` into `b` (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &cb) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(ca != cb);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
