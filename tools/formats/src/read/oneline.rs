//! Output of `ibnetdiscover -p`: a line a port, `CA 134 1 0x… 4x EDR - SW 1719 10 0x… ( 'name' - 'name' )`.

use super::assemble::{Peer, PortLine, Record, assemble};
use super::detect::no_node;
use super::ibnetdiscover::{speed_of, width_of};
use super::lines::{Cursor, shorten};
use super::{Fault, Format, Line, Lines, Loaded, WarningKind, Warnings};
use heddle_fabric::{Guid, Link, NodeKind};
use std::borrow::Cow;
use std::collections::BTreeMap;

pub(crate) fn read(bytes: &[u8], mut warnings: Warnings) -> Result<Loaded, Fault> {
    let mut nodes = Nodes::default();
    let mut first = None;
    for line in Lines::new(bytes) {
        let text = line.text.trim_ascii();
        if text.is_empty() {
            continue;
        }
        first = first.or(Some(line));
        if !is_port(text) {
            warnings.add(line.number, WarningKind::SkippedLine, format!("no part of the format: \"{}\"", shorten(text)));
            continue;
        }
        match port_line(line) {
            Ok(port) => nodes.add(line.number, port, &mut warnings),
            Err(fault) => {
                let kind = if line.complete { WarningKind::MalformedLine } else { WarningKind::Truncated };
                warnings.add(line.number, kind, format!("column {}: {}; line skipped", fault.column, fault.reason));
            }
        }
    }
    if nodes.records.is_empty() {
        return Err(no_node(first));
    }
    let builder = assemble(&nodes.records, &mut warnings)?.builder;
    Ok(Loaded { builder, format: Format::IbnetdiscoverPorts, warnings, sm_port: None })
}

/// Whether a line is of this format: a node type, LID, port and GUID.
pub(crate) fn is_port(text: &[u8]) -> bool {
    let mut words = text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let decimal = |word: Option<&[u8]>| word.is_some_and(|word| word.iter().all(u8::is_ascii_digit));
    let kind = words.next().and_then(kind_of);
    kind.is_some() && decimal(words.next()) && decimal(words.next()) && words.next().is_some_and(|word| word.starts_with(b"0x"))
}

fn kind_of(word: &[u8]) -> Option<NodeKind> {
    match word {
        b"CA" => Some(NodeKind::Ca),
        b"SW" => Some(NodeKind::Switch),
        b"RT" => Some(NodeKind::Router),
        _ => None,
    }
}

/// One end of a line.
#[derive(Clone, Copy)]
struct End<'a> {
    kind: NodeKind,
    lid: u32,
    port: u8,
    guid: Guid,
    description: &'a [u8],
}

struct OneLine<'a> {
    own: End<'a>,
    link: Link,
    peer: Option<End<'a>>,
}

fn port_line(line: Line<'_>) -> Result<OneLine<'_>, Fault> {
    let mut cursor = line.cursor();
    let mut own = end(&mut cursor)?;
    cursor.blanks();
    let width_at = cursor;
    let width = match cursor.decimal() {
        Some(lanes) => width_of(u64::from(lanes)),
        None => {
            cursor.take_while(|byte| byte == b'?');
            None
        }
    };
    if !cursor.eat(b"x") {
        return Err(width_at.expected("a width such as 4x"));
    }
    cursor.blanks();
    let speed = speed_of(cursor.take_while(|byte| !byte.is_ascii_whitespace()));
    cursor.blanks();
    if !cursor.eat(b"- ") {
        own.description = unquoted(cursor.rest().trim_ascii());
        return Ok(OneLine { own, link: Link::default(), peer: None });
    }
    let mut peer = end(&mut cursor)?;
    cursor.blanks();
    let names_at = cursor;
    let names = cursor.rest().trim_ascii().strip_prefix(b"(").and_then(|names| names.strip_suffix(b")"));
    let names = names.ok_or_else(|| names_at.expected("two names in parentheses"))?.trim_ascii();
    let between = |separator: &[u8]| names.windows(separator.len()).position(|part| part == separator);
    let quoted = between(b"' - '").map(|at| (&names[..=at], &names[at + 4..]));
    let plain = || between(b" - ").map(|at| (&names[..at], &names[at + 3..]));
    let (own_name, peer_name) = quoted.or_else(plain).ok_or_else(|| names_at.expected("two names with \" - \" between them"))?;
    own.description = unquoted(own_name);
    peer.description = unquoted(peer_name);
    Ok(OneLine { own, link: Link { width, speed }, peer: Some(peer) })
}

fn end<'a>(cursor: &mut Cursor<'a>) -> Result<End<'a>, Fault> {
    cursor.blanks();
    let start = *cursor;
    let kind = kind_of(cursor.take_while(|byte| byte.is_ascii_alphabetic())).ok_or_else(|| start.expected("CA, SW or RT"))?;
    cursor.blanks();
    let lid = cursor.decimal().ok_or_else(|| cursor.expected("a LID"))?;
    cursor.blanks();
    let port_at = *cursor;
    let port = cursor.decimal().and_then(|port| u8::try_from(port).ok()).filter(|port| (1..=254).contains(port));
    let port = port.ok_or_else(|| port_at.expected("a port number from 1 to 254"))?;
    cursor.blanks();
    let guid = if cursor.rest().starts_with(b"0x") { cursor.hex() } else { None };
    let guid = Guid(guid.ok_or_else(|| cursor.expected("a GUID"))?);
    Ok(End { kind, lid, port, guid, description: b"" })
}

fn unquoted(name: &[u8]) -> &[u8] {
    name.strip_prefix(b"'").and_then(|name| name.strip_suffix(b"'")).unwrap_or(name)
}

/// The nodes that the lines speak of, in order of appearance.
#[derive(Default)]
struct Nodes<'a> {
    records: Vec<Record<'a>>,
    /// By GUID and LID: where two nodes claim a GUID, their LIDs tell them apart.
    by_identity: BTreeMap<(Guid, u32), usize>,
    by_guid: BTreeMap<Guid, usize>,
}

impl<'a> Nodes<'a> {
    fn add(&mut self, line: usize, port: OneLine<'a>, warnings: &mut Warnings) {
        let own = self.node(line, port.own, warnings);
        let peer = port.peer.map(|end| {
            let peer = self.node(line, end, warnings);
            let id = self.records[peer].id.clone();
            Peer { id, port: u32::from(end.port), guid: None, description: None, lid: None }
        });
        self.records[own].ports.push(PortLine {
            line,
            port: u32::from(port.own.port),
            guid: None,
            lid: None,
            lmc: None,
            peer,
            link: port.link,
        });
    }

    /// The node at one end of a line, its port included.
    fn node(&mut self, line: usize, end: End<'a>, warnings: &mut Warnings) -> usize {
        let node = match self.by_identity.get(&(end.guid, end.lid)) {
            Some(&node) => node,
            None => self.new_node(line, end, warnings),
        };
        let record = &mut self.records[node];
        record.num_ports = record.num_ports.max(end.port);
        node
    }

    fn new_node(&mut self, line: usize, end: End<'a>, warnings: &mut Warnings) -> usize {
        let mut guid = Some(end.guid);
        let mut id = format!("{}", end.guid);
        if let Some(&other) = self.by_guid.get(&end.guid) {
            let other = &self.records[other];
            let text = format!(
                "GUID {} has LID {} here but LID {} in line {}; taken as a second node with a GUID of its own",
                end.guid,
                end.lid,
                other.lid.or(other.ports.first().and_then(|port| port.lid)).unwrap_or(0),
                other.line
            );
            warnings.add(line, WarningKind::ConflictingNode, text);
            guid = None;
            id = format!("{id} lid {}", end.lid);
        }
        let node = self.records.len();
        self.by_identity.insert((end.guid, end.lid), node);
        self.by_guid.entry(end.guid).or_insert(node);
        let is_switch = end.kind == NodeKind::Switch;
        let port = PortLine { line, port: u32::from(end.port), guid, lid: Some(end.lid), lmc: None, peer: None, link: Link::default() };
        self.records.push(Record {
            line,
            kind: end.kind,
            num_ports: end.port,
            id: Cow::Owned(id.into_bytes()),
            guid,
            port_guid: None,
            system_image_guid: Guid(0),
            vendor_id: 0,
            device_id: 0,
            description: end.description,
            lid: is_switch.then_some(end.lid),
            lmc: None,
            ports: if is_switch { Vec::new() } else { vec![port] },
        });
        node
    }
}
