//! One statement.

use super::names::{NoNode, Site, cabled_ports, find, find_quietly, nodes, similar_words};
use super::vocabulary::{ATTRIBUTES, COUNTERS, QUERIES, STATUSES, TRAPS, VERBS, Verb, list, smp, value};
use super::{ScriptError, words::Word};
use crate::events::{CableFault, Event, Fault, Place, Subject};
use crate::random::Random;
use heddle_fabric::{Guid, LinkSpeed, LinkWidth, NodeIndex, NodeKind, PortRef};
use heddle_mad::wire::{AttributeId, Status};
use std::time::Duration;

pub(super) struct Statement<'a> {
    words: std::vec::IntoIter<Word>,
    line: usize,
    /// Whether it happens now, or is to be read with a time.
    is_command: bool,
    /// The column behind the last word that was read.
    at: usize,
    site: &'a dyn Site,
    random: &'a mut Random,
    /// What was read so far, by the time from the start.
    events: &'a mut Vec<(Duration, Event)>,
}

/// A NodeDescription has no more bytes (IBA 14.2.5.2).
const DESCRIPTION_MAX: usize = 64;
/// As often as a statement may be repeated.
const COUNT_MAX: u64 = 10_000;
/// As many events as all statements together may stand for: `mute all for 5s` in the largest fabric that there is.
const EVENTS_MAX: usize = 200_000;
const REBOOT: Duration = Duration::from_secs(1);
const TIME: &str = "a time such as 2s, 1.5s, 300ms, 50us or 1m";
const PORT: &str = "NODE:PORT, such as leaf-0:19";

impl<'a> Statement<'a> {
    pub(super) fn new(
        words: Vec<Word>,
        line: usize,
        is_command: bool,
        site: &'a dyn Site,
        random: &'a mut Random,
        events: &'a mut Vec<(Duration, Event)>,
    ) -> Self {
        Self { words: words.into_iter(), line, is_command, at: 1, site, random, events }
    }

    /// Reads it, if it is not empty.
    pub(super) fn read(&mut self) -> Result<(), ScriptError> {
        let Some(first) = self.words.as_slice().first().cloned() else { return Ok(()) };
        let column = first.column;
        let is_timed = !self.is_command || first.text.starts_with(|c: char| c.is_ascii_digit());
        let time = if first.is("seed") || !is_timed {
            None
        } else {
            self.skip();
            Some(self.range(&first)?)
        };
        let count = match self.words.as_slice().first().filter(|word| word.quoted.is_none()).cloned() {
            Some(word) => match word.text.strip_suffix('x').and_then(|count| count.parse().ok()) {
                Some(0) => return Err(self.unexpected(&word, "how often, such as 10x")),
                Some(count) if count > COUNT_MAX => return Err(self.unexpected(&word, "no more than 10000x")),
                Some(count) => {
                    self.skip();
                    count
                }
                None => 1,
            },
            None => 1,
        };
        let start = (self.words.clone(), self.at);
        for _ in 0..count {
            (self.words, self.at) = start.clone();
            let after = time.as_ref().map_or(Duration::ZERO, |&(from, to)| self.draw(from, to));
            self.once(after)?;
            if self.events.len() > EVENTS_MAX {
                let message = format!("with this statement, more than {EVENTS_MAX} events would happen; let there be fewer");
                return Err(ScriptError::new(self.line, column, message));
            }
        }
        Ok(())
    }

    /// Nothing follows.
    pub(super) fn end(&mut self) -> Result<(), ScriptError> {
        match self.words.next() {
            Some(word) => Err(self.unexpected(&word, "the end of the event (events are separated by ; or a new line)")),
            None => Ok(()),
        }
    }

    fn once(&mut self, after: Duration) -> Result<(), ScriptError> {
        // A command can ask, too.
        let queries: &[Verb] = if self.is_command { QUERIES } else { &[] };
        let names = || VERBS.iter().chain(queries).map(|verb| verb.name);
        let all = || names().collect::<Vec<_>>().join(", ");
        let word = self.next("an event", &all())?;
        let Some(verb) = VERBS.iter().find(|verb| word.is(verb.name)) else {
            let mut error = self.unexpected(&word, &format!("an event: {}", all()));
            error.similar = similar_words(names(), word.plain());
            return Err(error);
        };
        let mut events = self.verb(verb)?;
        if verb.ends && self.words.as_slice().first().is_some_and(|word| word.is("for")) {
            self.skip();
            let word = self.next("how long it lasts", TIME)?;
            let (from, to) = self.range(&word)?;
            self.end()?;
            for event in &mut events {
                let lasts = self.draw(from, to);
                let undo = self.undo(event, lasts);
                self.events.push((after, event.clone()));
                self.events.extend(undo.map(|undo| (after.saturating_add(lasts), undo)));
            }
        } else {
            self.end()?;
            self.events.extend(events.into_iter().map(|event| (after, event)));
        }
        Ok(())
    }

    /// What ends an event after a time. A reboot ends by itself.
    fn undo(&self, event: &mut Event, lasts: Duration) -> Option<Event> {
        Some(match event {
            Event::Cut(place) | Event::Cable(place, _) => Event::Restore(*place),
            Event::Move { from, to } => Event::Move { from: *to, to: *from },
            Event::Swap(one, other) => Event::Swap(*one, *other),
            Event::Split(nodes) => Event::Merge(nodes.clone()),
            Event::RemoveNode(node) => Event::ReturnNode(*node),
            Event::Fault(node, _) => Event::Heal(*node),
            Event::Rename(node, _) => Event::Rename(*node, self.site.description(*node).to_owned()),
            Event::Reboot(_, time) => {
                *time = lasts;
                return None;
            }
            _ => return None,
        })
    }

    fn verb(&mut self, verb: &Verb) -> Result<Vec<Event>, ScriptError> {
        let event = match verb.name {
            "cut" => Event::Cut(self.cables()?),
            "restore" => Event::Restore(self.cables()?),
            "degrade" => Event::Cable(self.cables()?, self.degraded()?),
            "loss" => Event::Cable(self.cables()?, CableFault::Loss(self.percent()?)),
            "corrupt" => Event::Cable(self.cables()?, CableFault::Corrupt(self.percent()?)),
            "delay" => Event::Cable(self.cables()?, CableFault::Delay(self.duration("how long packets take")?)),
            "reorder" => Event::Cable(self.cables()?, CableFault::Reorder(self.percent()?)),
            "repeat" => Event::Cable(self.cables()?, CableFault::Repeat(self.percent()?)),
            "move" => Event::Move { from: self.cabled_port()?, to: self.free_port()? },
            "swap" => Event::Swap(self.port(1)?, self.port(1)?),
            "split" => Event::Split(self.node_list()?),
            "merge" => Event::Merge(self.node_list()?),
            "remove" => return self.each(Event::RemoveNode),
            "return" => return self.each(Event::ReturnNode),
            "reboot" => return self.each(|node| Event::Reboot(node, REBOOT)),
            "heal" => return self.each(Event::Heal),
            "rename" => Event::Rename(self.node()?, self.new_name()?),
            "mkey" => {
                let nodes = self.nodes()?;
                let key = self.number("the M_Key", u64::MAX)?;
                let protect = self.optional(3, "M_KeyProtectBits")?.unwrap_or(1) as u8;
                return Ok(nodes.into_iter().map(|node| Event::MKey { node, key, protect }).collect());
            }
            "pkey" => Event::PKey {
                at: self.port(0)?,
                index: self.number("the index in the table", u16::MAX.into())? as u16,
                p_key: self.number("the P_Key", u16::MAX.into())? as u16,
            },
            "errors" => Event::Errors {
                at: self.port(0)?,
                counter: self.one_of("the counter", COUNTERS)?,
                count: self.number("by how much it rises", u32::MAX.into())? as u32,
            },
            "groups" => {
                let nodes = self.nodes()?;
                let groups = self.number("how many groups", 0xfff)?.max(1) as u16;
                return Ok(nodes.into_iter().map(|node| Event::Groups { node, groups }).collect());
            }
            "seed" => {
                let seed = self.number("the seed", u64::MAX)?;
                *self.random = Random(seed);
                Event::Seed(seed)
            }
            _ => return self.fault(verb),
        };
        Ok(vec![event])
    }

    fn fault(&mut self, verb: &Verb) -> Result<Vec<Event>, ScriptError> {
        if verb.name == "babble" {
            let at = self.port(1)?;
            let trouble = self.one_of("the trap", TRAPS)?;
            let every = self.duration("the time between traps")?;
            return Ok(vec![Event::Fault(at.node, Fault::Babble { port: at.port, trouble, every })]);
        }
        let nodes = if verb.name == "guid" { vec![self.node()?] } else { self.nodes()? };
        let fault = match verb.name {
            "mute" => Fault::Mute,
            "garbage" => Fault::Garbage { seed: self.optional(u64::MAX, "a seed")?.unwrap_or(0) },
            "duplicate" => Fault::Duplicate,
            "late" => Fault::Late(self.duration("how late the answers are")?),
            "slow" => Fault::Slow(self.duration("how long a request takes")?),
            "drop" => Fault::Drop { percent: self.percent()?, seed: self.optional(u64::MAX, "a seed")?.unwrap_or(0) },
            "queue" => Fault::Queue(self.number("how many requests may wait", u16::MAX.into())? as u16),
            "ignore" => Fault::Ignore(self.attribute()?),
            "refuse" => Fault::Refuse(self.attribute()?, self.status()?),
            "forget" => Fault::Forget(self.attribute()?),
            "guid" => Fault::Guid(self.guid()?),
            name => unreachable!("{name} is in the list of verbs"),
        };
        Ok(nodes.into_iter().map(|node| Event::Fault(node, fault)).collect())
    }

    fn each(&mut self, event: fn(NodeIndex) -> Event) -> Result<Vec<Event>, ScriptError> {
        Ok(self.nodes()?.into_iter().map(event).collect())
    }
}

/// Words and numbers.
impl Statement<'_> {
    pub(super) fn next(&mut self, what: &str, expected: &str) -> Result<Word, ScriptError> {
        let Some(word) = self.words.next() else {
            return Err(ScriptError::new(self.line, self.at, format!("{what} is missing; expected {expected}")));
        };
        self.at = word.end;
        Ok(word)
    }

    /// The next word, if there is one.
    pub(super) fn word(&mut self) -> Option<Word> {
        let word = self.words.next()?;
        self.at = word.end;
        Some(word)
    }

    /// Past the next word.
    fn skip(&mut self) {
        self.at = self.words.next().map_or(self.at, |word| word.end);
    }

    pub(super) fn unexpected(&self, word: &Word, expected: &str) -> ScriptError {
        ScriptError::new(self.line, word.column, format!("found \"{}\", expected {expected}", word.plain()))
    }

    pub(super) fn duration(&mut self, what: &str) -> Result<Duration, ScriptError> {
        let word = self.next(what, TIME)?;
        parse_duration(&word.text).filter(|_| word.quoted.is_none()).ok_or_else(|| self.unexpected(&word, TIME))
    }

    /// `TIME`, or `TIME..TIME`.
    fn range(&self, word: &Word) -> Result<(Duration, Duration), ScriptError> {
        let range = match word.text.split_once("..") {
            Some((from, to)) => parse_duration(from).zip(parse_duration(to)).filter(|(from, to)| from <= to),
            None => parse_duration(&word.text).map(|time| (time, time)),
        };
        range.filter(|_| word.quoted.is_none()).ok_or_else(|| self.unexpected(word, &format!("{TIME}, or a range of them such as 5s..60s")))
    }

    fn draw(&mut self, from: Duration, to: Duration) -> Duration {
        let micros = |time: Duration| time.as_micros() as u64;
        if from == to { from } else { Duration::from_micros(self.random.within(micros(from)..micros(to) + 1)) }
    }

    pub(super) fn number(&mut self, what: &str, max: u64) -> Result<u64, ScriptError> {
        let expected = format!("a whole number{}", if max == u64::MAX { String::new() } else { format!(" from 0 to {max}") });
        let word = self.next(what, &expected)?;
        parse_number(&word).filter(|&number| number <= max).ok_or_else(|| self.unexpected(&word, &format!("{what}, {expected}")))
    }

    /// A number, if the statement goes on with something else than `for`.
    fn optional(&mut self, max: u64, what: &str) -> Result<Option<u64>, ScriptError> {
        match self.words.as_slice().first() {
            Some(word) if !word.is("for") => self.number(what, max).map(Some),
            _ => Ok(None),
        }
    }

    fn percent(&mut self) -> Result<u8, ScriptError> {
        let expected = "a percentage from 0 to 100";
        let word = self.next("how many percent", expected)?;
        let percent = word.text.trim_end_matches('%').parse().ok().filter(|&percent| percent <= 100 && word.quoted.is_none());
        percent.ok_or_else(|| self.unexpected(&word, expected))
    }

    pub(super) fn one_of<T: Copy>(&mut self, what: &str, words: &[(&str, T)]) -> Result<T, ScriptError> {
        let word = self.next(what, &list(words))?;
        value(words, &word.text).filter(|_| word.quoted.is_none()).ok_or_else(|| {
            let mut error = self.unexpected(&word, &format!("{what}: {}", list(words)));
            error.similar = similar_words(words.iter().map(|&(name, _)| name), word.plain());
            error
        })
    }

    fn attribute(&mut self) -> Result<Subject, ScriptError> {
        match self.words.as_slice().first().and_then(parse_number).and_then(|id| u16::try_from(id).ok()) {
            Some(id) => {
                self.skip();
                Ok(smp(AttributeId(id)))
            }
            None => self.one_of("an attribute, or the number of one of subnet management", ATTRIBUTES),
        }
    }

    fn status(&mut self) -> Result<Status, ScriptError> {
        match self.words.as_slice().first().and_then(parse_number).and_then(|status| u16::try_from(status).ok()) {
            // Bit 15 is the direction of a directed-route SMP.
            Some(status) if status < 0x8000 => {
                self.skip();
                Ok(Status(status))
            }
            _ => self.one_of("a status, or its number", STATUSES),
        }
    }

    fn degraded(&mut self) -> Result<CableFault, ScriptError> {
        let widths: Vec<String> = LinkWidth::ALL.iter().map(ToString::to_string).collect();
        let widths = widths.iter().zip(LinkWidth::ALL).map(|(name, width)| (name.as_str(), CableFault::Width(width)));
        let speeds = LinkSpeed::ALL.map(|speed| (speed.name(), CableFault::Speed(speed)));
        let known: Vec<(&str, CableFault)> = widths.chain(speeds).collect();
        self.one_of("a width or a speed", &known)
    }

    fn new_name(&mut self) -> Result<String, ScriptError> {
        let word = self.next("the new name", "a name of up to 64 bytes")?;
        let name = word.plain();
        if name.len() > DESCRIPTION_MAX {
            let message = format!("a NodeDescription has up to {DESCRIPTION_MAX} bytes; this one has {}", name.len());
            return Err(ScriptError::new(self.line, word.column, message));
        }
        Ok(name.to_owned())
    }
}

/// Nodes, ports and cables.
impl Statement<'_> {
    fn find(&self, name: &str, column: usize) -> Result<NodeIndex, ScriptError> {
        find(self.site, name).map_err(|error| match error {
            NoNode::Unknown(similar) => {
                let message = format!("the fabric has no node with the name or GUID \"{name}\"");
                ScriptError { line: self.line, column, message, similar }
            }
            NoNode::Several(one, other) => {
                let message = format!("several nodes have the name \"{name}\"; name it by its GUID, such as {one} or {other}");
                ScriptError::new(self.line, column, message)
            }
        })
    }

    fn node_of(&self, word: &Word) -> Result<NodeIndex, ScriptError> {
        if word.quoted.is_some() && !word.text.is_empty() {
            return Err(ScriptError::new(self.line, word.column, "expected a blank after the quoted name of a node"));
        }
        self.find(word.plain(), word.column)
    }

    pub(super) fn node(&mut self) -> Result<NodeIndex, ScriptError> {
        let word = self.next("the node", "a node's name or GUID")?;
        if word.is("any") { self.any_node() } else { self.node_of(&word) }
    }

    fn nodes(&mut self) -> Result<Vec<NodeIndex>, ScriptError> {
        match self.words.as_slice().first() {
            Some(word) if word.is("all") => {
                self.skip();
                Ok(nodes(self.site).collect())
            }
            _ => self.node().map(|node| vec![node]),
        }
    }

    fn node_list(&mut self) -> Result<Vec<NodeIndex>, ScriptError> {
        let mut list = vec![self.node()?];
        while self.words.as_slice().first().is_some_and(|word| !word.is("for")) {
            list.push(self.node()?);
        }
        Ok(list)
    }

    /// What follows `any` where a node is wanted.
    fn any_node(&mut self) -> Result<NodeIndex, ScriptError> {
        let word = self.next("what it is any of", "switch, host or node")?;
        let wanted = |node: &NodeIndex| match word.plain() {
            "switch" => self.site.kind(*node) == NodeKind::Switch,
            "host" => self.site.kind(*node) != NodeKind::Switch,
            _ => true,
        };
        if !["switch", "host", "node"].contains(&word.plain()) {
            return Err(self.unexpected(&word, "switch, host or node"));
        }
        let found: Vec<NodeIndex> = nodes(self.site).filter(wanted).collect();
        self.one(found).ok_or_else(|| ScriptError::new(self.line, word.column, format!("the fabric has no {}", word.plain())))
    }

    fn any_link(&mut self) -> Result<PortRef, ScriptError> {
        let word = self.next("what it is any of", "link")?;
        if !word.is("link") {
            return Err(self.unexpected(&word, "link"));
        }
        // Each cable is there twice, by its ends.
        let found: Vec<PortRef> = nodes(self.site).flat_map(|node| cabled_ports(self.site, node)).collect();
        self.one(found).ok_or_else(|| ScriptError::new(self.line, word.column, "the fabric has no cable"))
    }

    fn one<T: Copy>(&mut self, found: Vec<T>) -> Option<T> {
        if found.is_empty() { None } else { Some(found[self.random.within(0..found.len() as u64) as usize]) }
    }

    fn cables(&mut self) -> Result<Place, ScriptError> {
        let word = self.next("the cable", &format!("{PORT}, or NODE for all its cables, or `all`, or `any link`"))?;
        if word.is("all") {
            return Ok(Place::Everywhere);
        }
        if word.is("any") {
            return self.any_link().map(Place::Port);
        }
        match self.place_of(&word, 1)? {
            Place::Port(at) => self.cabled(at, word.column).map(Place::Port),
            place => Ok(place),
        }
    }

    /// A node or a port, with a cable or without.
    pub(super) fn node_or_port(&mut self) -> Result<Place, ScriptError> {
        let word = self.next("the node or port", "NODE, or NODE:PORT such as leaf-0:19")?;
        self.place_of(&word, 0)
    }

    fn place_of(&self, word: &Word, first: u8) -> Result<Place, ScriptError> {
        match find_quietly(self.site, word.plain()) {
            Some(node) if word.quoted.is_none() || word.text.is_empty() => Ok(Place::Node(node)),
            _ if word.text.contains(':') => self.port_of(word, first).map(Place::Port),
            _ => self.node_of(word).map(Place::Node),
        }
    }

    fn port_of(&self, word: &Word, first: u8) -> Result<PortRef, ScriptError> {
        let split = match &word.quoted {
            Some(name) => word.text.strip_prefix(':').map(|port| (name.as_str(), port)),
            None => word.text.rsplit_once(':'),
        };
        let split = split.and_then(|(name, port)| Some((name, port.parse::<u8>().ok()?)));
        let Some((name, port)) = split else { return Err(self.unexpected(word, PORT)) };
        let node = self.find(name, word.column)?;
        let last = self.site.num_ports(node);
        let first = if self.site.kind(node) == NodeKind::Switch { first } else { 1 };
        if !(first..=last).contains(&port) {
            let message = format!("\"{name}\" has ports {first} to {last}, but not port {port}");
            return Err(ScriptError::new(self.line, word.column, message));
        }
        Ok(PortRef::new(node, port))
    }

    /// A port; port 0 only where `first` is 0.
    fn port(&mut self, first: u8) -> Result<PortRef, ScriptError> {
        let word = self.next("the port", PORT)?;
        self.port_of(&word, first)
    }

    fn cabled_port(&mut self) -> Result<PortRef, ScriptError> {
        let word = self.next("the port", PORT)?;
        if word.is("any") { self.any_link() } else { self.cabled(self.port_of(&word, 1)?, word.column) }
    }

    fn cabled(&self, at: PortRef, column: usize) -> Result<PortRef, ScriptError> {
        if self.site.peer(at).is_some() || self.is_moved(at) {
            return Ok(at);
        }
        let ports: Vec<String> = cabled_ports(self.site, at.node).map(|at| at.port.to_string()).collect();
        let others = if ports.is_empty() { String::new() } else { format!("; cables are in ports {}", ports.join(", ")) };
        let message = format!("no cable is in port {} of \"{}\"{others}", at.port, self.site.description(at.node));
        Err(ScriptError::new(self.line, column, message))
    }

    fn free_port(&mut self) -> Result<PortRef, ScriptError> {
        let word = self.next("where the cable is put", PORT)?;
        let at = self.port_of(&word, 1)?;
        if self.site.peer(at).is_some() && !self.is_moved(at) {
            let message =
                format!("port {} of \"{}\" has a cable already; `swap` exchanges cables", at.port, self.site.description(at.node));
            return Err(ScriptError::new(self.line, word.column, message));
        }
        Ok(at)
    }

    /// Whether an earlier statement moves a cable here or away from here.
    fn is_moved(&self, at: PortRef) -> bool {
        self.events.iter().any(|(_, event)| match event {
            Event::Move { from, to } => [*from, *to].contains(&at),
            Event::Swap(one, other) => [*one, *other].contains(&at),
            _ => false,
        })
    }

    fn guid(&mut self) -> Result<Guid, ScriptError> {
        let word = self.next("the GUID", "a GUID such as 0x0002c90000000010, or the node that has it")?;
        match parse_number(&word).filter(|_| word.text.starts_with("0x")) {
            Some(guid) => Ok(Guid(guid)),
            None => self.node_of(&word).map(|node| self.site.guid(node)),
        }
    }
}

/// Decimal, or hexadecimal with `0x`.
fn parse_number(word: &Word) -> Option<u64> {
    let number = match word.text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => word.text.parse(),
    };
    number.ok().filter(|_| word.quoted.is_none())
}

fn parse_duration(text: &str) -> Option<Duration> {
    let unit_at = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(unit_at);
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
}
