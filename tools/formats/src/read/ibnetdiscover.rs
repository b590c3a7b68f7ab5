//! Output of `ibnetdiscover`, and ibsim netlists: one grammar, in which a netlist leaves more out.
//!
//! Sources: rdma-core `infiniband-diags/ibnetdiscover.c` for what is printed, ibsim `ibsim/sim_net.c` for what a netlist may be.

use super::assemble::{Peer, PortLine, Record, assemble};
use super::detect::no_node;
use super::lines::{Cursor, number, shorten};
use super::{Fault, Format, Line, Lines, Loaded, WarningKind, Warnings};
use heddle_fabric::{Guid, Link, LinkSpeed, LinkWidth, NodeKind, PortRef};
use std::borrow::Cow;

const KEYWORDS: [(&str, NodeKind); 4] =
    [("Switch", NodeKind::Switch), ("Hca", NodeKind::Ca), ("Ca", NodeKind::Ca), ("Rt", NodeKind::Router)];

pub(crate) fn read(bytes: &[u8], format: Format, warnings: Warnings) -> Result<Loaded, Fault> {
    let mut reader = Reader { warnings, ..Reader::default() };
    let mut first = None;
    for line in Lines::new(bytes) {
        if first.is_none() && !line.text.trim_ascii().is_empty() {
            first = Some(line);
        }
        reader.line(line)?;
    }
    if reader.records.is_empty() {
        return Err(no_node(first));
    }
    let format = if reader.netlist { Format::IbsimNetlist } else { format };
    let mut warnings = reader.warnings;
    let assembled = assemble(&reader.records, &mut warnings)?;
    let builder = assembled.builder;
    let sm_port = if format == Format::IbsimNetlist {
        let first = &reader.records[0];
        let first_port =
            first.ports.iter().filter_map(|line| u8::try_from(line.port).ok()).find(|port| (1..=first.num_ports).contains(port));
        let port = if first.kind == NodeKind::Switch { Some(0) } else { first_port };
        assembled.nodes[0].zip(port).map(|(node, port)| PortRef::new(node, port))
    } else {
        reader.origin.and_then(|(node, port_guid)| {
            let node = builder.node_by_guid(node)?;
            let ports = builder.nodes()[node.index()].num_ports;
            let mut at = (0..=ports).map(|port| PortRef::new(node, port));
            at.find(|&at| builder.port(at).is_ok_and(|port| port.guid == port_guid))
        })
    };
    Ok(Loaded { builder, format, warnings, sm_port })
}

/// Whether a line is a record's first: `Switch 36 "…"`, the blanks left out at will.
pub(crate) fn is_header(text: &[u8]) -> bool {
    let Some(rest) = KEYWORDS.iter().find_map(|(word, _)| text.strip_prefix(word.as_bytes())) else { return false };
    let rest = rest.trim_ascii_start();
    let after = rest.trim_ascii_start_digits();
    after.len() < rest.len() && after.first().is_none_or(|&byte| byte.is_ascii_whitespace() || byte == b'"')
}

trait TrimDigits {
    fn trim_ascii_start_digits(&self) -> &[u8];
}

impl TrimDigits for [u8] {
    fn trim_ascii_start_digits(&self) -> &[u8] {
        &self[self.iter().take_while(|byte| byte.is_ascii_digit()).count()..]
    }
}

#[derive(Default)]
struct Reader<'a> {
    records: Vec<Record<'a>>,
    attributes: Attributes,
    /// What `# Initiated from node … port …` says.
    origin: Option<(Guid, Guid)>,
    /// Whether something was found that `ibnetdiscover` never prints.
    netlist: bool,
    warnings: Warnings,
}

/// What the lines before a record say of it.
#[derive(Default)]
struct Attributes {
    vendor_id: u32,
    device_id: u16,
    system_image_guid: Guid,
    guid: Option<Guid>,
    port_guid: Option<Guid>,
}

impl<'a> Reader<'a> {
    fn line(&mut self, line: Line<'a>) -> Result<(), Fault> {
        let mut cursor = line.cursor();
        cursor.blanks();
        let text = cursor.rest();
        if text.is_empty() {
            return Ok(());
        }
        if text[0] == b'#' {
            self.comment(text);
        } else if is_header(text) {
            match self.header(cursor, line) {
                Err(fault) if !line.complete => self.cut(line, &fault),
                result => return result,
            }
        } else if text[0] == b'[' && text.get(1).is_some_and(u8::is_ascii_digit) {
            match self.port(cursor, line) {
                Ok(()) => {}
                Err(fault) if !line.complete => self.cut(line, &fault),
                Err(fault) => {
                    let text = format!("column {}: {}; line skipped", fault.column, fault.reason);
                    self.warnings.add(line.number, WarningKind::MalformedLine, text);
                }
            }
        } else if !self.attribute(text) {
            return self.other(text, cursor, line);
        }
        Ok(())
    }

    fn cut(&mut self, line: Line<'_>, fault: &Fault) {
        let text = format!("the file ends within a line, {}; line skipped", fault.reason);
        self.warnings.add(line.number, WarningKind::Truncated, text);
    }

    fn comment(&mut self, text: &[u8]) {
        let mut words = text[1..].split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        if words.next() == Some(b"Initiated") && words.next() == Some(b"from") && words.next() == Some(b"node") {
            let node = words.next().and_then(|word| number(word, 16));
            let port = words.nth(1).and_then(|word| number(word, 16));
            self.origin = node.zip(port).map(|(node, port)| (Guid(node), Guid(port)));
        }
    }

    /// Takes a line `name=value` or `name=value(value)`.
    fn attribute(&mut self, text: &'a [u8]) -> bool {
        let Some(equals) = text.iter().position(|&byte| byte == b'=') else { return false };
        let mut cursor = Line { number: 0, column: 1, text: &text[equals + 1..], complete: true }.cursor();
        let value = cursor.hex();
        match text[..equals].trim_ascii() {
            b"vendid" => self.attributes.vendor_id = value.unwrap_or(0) as u32 & 0xff_ffff,
            b"devid" => self.attributes.device_id = value.unwrap_or(0) as u16,
            b"sysimgguid" => self.attributes.system_image_guid = Guid(value.unwrap_or(0)),
            b"switchguid" | b"caguid" | b"rtguid" => {
                self.attributes.guid = value.map(Guid);
                self.attributes.port_guid = if cursor.eat(b"(") { cursor.hex().map(Guid) } else { None };
            }
            _ => return false,
        }
        true
    }

    /// Takes a record's first line: `Switch 36 "id" # "description" base port 0 lid 1 lmc 0`.
    fn header(&mut self, mut cursor: Cursor<'a>, line: Line<'a>) -> Result<(), Fault> {
        let (word, kind) = KEYWORDS.into_iter().find(|(word, _)| cursor.eat(word.as_bytes())).expect("the line is a header");
        cursor.blanks();
        let count_at = cursor;
        let count = cursor.decimal().expect("the line is a header");
        cursor.blanks();
        let Some(num_ports) = u8::try_from(count).ok().filter(|ports| (1..=254).contains(ports)) else {
            return Err(count_at.fault(format!("a node has 1 to 254 ports, not {count}")));
        };
        let id = quoted(&mut cursor)?;
        let attributes = std::mem::take(&mut self.attributes);
        self.netlist |= word == "Hca" || guid_in_id(id).is_none();

        let (description, _, tail) = comment(&mut cursor);
        let tail = Tail::of(tail);
        let (lid, lmc) = if line.complete || tail.lmc.is_some() { (tail.lid, tail.lmc) } else { (None, None) };
        if !line.complete && tail.lmc.is_none() {
            self.warnings.add(line.number, WarningKind::Truncated, "the file ends within a node's first line; its LID is not used");
        }
        self.records.push(Record {
            line: line.number,
            kind,
            num_ports,
            id: Cow::Borrowed(id),
            guid: attributes.guid.or_else(|| guid_in_id(id)),
            port_guid: attributes.port_guid,
            system_image_guid: attributes.system_image_guid,
            vendor_id: attributes.vendor_id,
            device_id: attributes.device_id,
            description: description.unwrap_or(id),
            lid: lid.filter(|_| kind == NodeKind::Switch),
            lmc,
            ports: Vec::new(),
        });
        Ok(())
    }

    /// Takes a port's line: `[1](guid) "id"[2](guid) # lid 1 lmc 0 "description" lid 2 4xHDR`.
    fn port(&mut self, mut cursor: Cursor<'a>, line: Line<'a>) -> Result<(), Fault> {
        let Some(record) = self.records.last() else { return Err(cursor.fault("a port before any node".to_owned())) };
        let kind = record.kind;
        let (port, guid) = port_number(&mut cursor)?;
        cursor.blanks();
        let id = quoted(&mut cursor)?;
        let (peer_port, peer_guid) = port_number(&mut cursor)?;

        let (description, before, after) = comment(&mut cursor);
        let (own, mut tail) = (Tail::of(before), Tail::of(after));
        if !line.complete && tail.link.speed.is_none() {
            tail.lid = None;
            self.warnings.add(line.number, WarningKind::Truncated, "the file ends within a port's line; the neighbour's LID is not used");
        }
        let has_lid = kind != NodeKind::Switch;
        let peer = Peer { id: Cow::Borrowed(id), port: peer_port, guid: peer_guid, description, lid: tail.lid };
        let port = PortLine {
            line: line.number,
            port,
            guid,
            lid: own.lid.filter(|_| has_lid),
            lmc: own.lmc.filter(|_| has_lid),
            peer: Some(peer),
            link: tail.link,
        };
        self.records.last_mut().expect("there is a node").ports.push(port);
        Ok(())
    }

    /// Takes a line that is none of a record's.
    fn other(&mut self, text: &[u8], cursor: Cursor<'_>, line: Line<'_>) -> Result<(), Fault> {
        let begins = |word: &str| text.starts_with(word.as_bytes());
        let has = |word: &str| text.windows(word.len()).any(|part| part == word.as_bytes());
        // With -g, headings of chassis; in netlists, settings of the simulator.
        if begins("Non-Chassis Nodes") || begins("Chassis ") {
            return Ok(());
        }
        if begins("include ") {
            return Err(cursor.fault("\"include\" is not followed; put that file's text in its place".to_owned()));
        }
        let short = shorten(text);
        if ["do ", "module", "width=", "speed=", "extspeed=", "pdebug"].iter().any(|word| begins(word)) {
            self.warnings.add(line.number, WarningKind::Command, format!("for the simulator only: \"{short}\""));
        } else if begins("src/") || begins("ibwarn:") || begins("ibpanic:") || has("umad (") || has("bad status ") {
            self.warnings.add(line.number, WarningKind::ToolError, format!("the dump tool reported an error: \"{short}\""));
        } else {
            self.warnings.add(line.number, WarningKind::SkippedLine, format!("no part of the format: \"{short}\""));
        }
        Ok(())
    }
}

fn quoted<'a>(cursor: &mut Cursor<'a>) -> Result<&'a [u8], Fault> {
    let start = *cursor;
    if !cursor.eat(b"\"") {
        return Err(start.expected("a node id in quotes"));
    }
    cursor.until(b'"').ok_or_else(|| start.expected("a node id with a quote at its end"))
}

/// `[4]`, `[4](guid)`, or `[4][ext 3](guid)` in a chassis.
fn port_number(cursor: &mut Cursor<'_>) -> Result<(u32, Option<Guid>), Fault> {
    let start = *cursor;
    if !cursor.eat(b"[") {
        return Err(start.expected("a port number in brackets"));
    }
    cursor.blanks();
    let port = cursor.decimal().ok_or_else(|| start.expected("a port number in brackets"))?;
    cursor.blanks();
    if !cursor.eat(b"]") {
        return Err(cursor.expected("\"]\" after the port number"));
    }
    if cursor.eat(b"[ext ") {
        cursor.until(b']').ok_or_else(|| cursor.expected("\"]\" after the external port number"))?;
    }
    if !cursor.eat(b"(") {
        return Ok((port, None));
    }
    let guid = cursor.hex().ok_or_else(|| cursor.expected("a port GUID"))?;
    if !cursor.eat(b")") {
        return Err(cursor.expected("\")\" after the port GUID"));
    }
    Ok((port, Some(Guid(guid))))
}

/// What a line says after its `#`: the description, and what is before and after that. Quotes and `#` within a description are part of
/// it, since nothing else of a comment is ever quoted.
fn comment<'a>(cursor: &mut Cursor<'a>) -> (Option<&'a [u8]>, &'a [u8], &'a [u8]) {
    let text = cursor.rest();
    let Some(hash) = text.iter().position(|&byte| byte == b'#') else { return (None, &[], text) };
    let text = text[hash + 1..].trim_ascii();
    let first = text.iter().position(|&byte| byte == b'"');
    let last = text.iter().rposition(|&byte| byte == b'"');
    match first.zip(last) {
        Some((first, last)) if first < last => (Some(&text[first + 1..last]), &text[..first], &text[last + 1..]),
        _ => (None, &[], text),
    }
}

/// The facts at the end of a comment.
#[derive(Default)]
struct Tail {
    lid: Option<u32>,
    lmc: Option<u32>,
    link: Link,
}

impl Tail {
    fn of(text: &[u8]) -> Self {
        let mut tail = Self::default();
        let mut words = text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let next = |word: Option<&[u8]>| word.and_then(|word| number(word, 10)).map(|n| u32::try_from(n).unwrap_or(u32::MAX));
        let mut enabled = Link::default();
        while let Some(word) = words.next() {
            match word {
                b"lid" => tail.lid = next(words.next()),
                b"lmc" => tail.lmc = next(words.next()),
                _ => match rate(word) {
                    Some(link) => tail.link = link,
                    None => enable(word, &mut enabled),
                },
            }
        }
        // What the link is tells more than what it may be (`w=`, `s=`, `e=` of -f and of netlists).
        if tail.link == Link::default() {
            tail.link = enabled;
        }
        tail
    }
}

/// `4xHDR`; `??` stands for what is not known.
fn rate(word: &[u8]) -> Option<Link> {
    let x = word.iter().position(|&byte| byte == b'x')?;
    let (width, speed) = (&word[..x], &word[x + 1..]);
    let unknown = |text: &[u8]| !text.is_empty() && text.iter().all(|&byte| byte == b'?');
    let width = match number(width, 10) {
        Some(lanes) => Some(width_of(lanes)?),
        None if unknown(width) => None,
        None => return None,
    };
    let speed = if unknown(speed) { None } else { Some(speed_of(speed)?) };
    Some(Link { width, speed })
}

pub(crate) fn width_of(lanes: u64) -> Option<LinkWidth> {
    LinkWidth::ALL.into_iter().find(|width| u64::from(width.lanes()) == lanes)
}

pub(crate) fn speed_of(name: &[u8]) -> Option<LinkSpeed> {
    LinkSpeed::ALL.into_iter().find(|speed| speed.name().as_bytes() == name)
}

/// `w=3`, `s=7`, `e=1`: masks of enabled widths, speeds and extended speeds (PortInfo's, IBA 14.2.5.6); the highest counts.
fn enable(word: &[u8], enabled: &mut Link) {
    let (Some(option), Some(mask)) = (word.first(), word.get(2..).and_then(|mask| number(mask, 10))) else { return };
    if word.get(1) != Some(&b'=') {
        return;
    }
    let has = |bit: u32| mask >> bit & 1 == 1;
    let widths = [(0, LinkWidth::X1), (4, LinkWidth::X2), (1, LinkWidth::X4), (2, LinkWidth::X8), (3, LinkWidth::X12)];
    let speeds = [(0, LinkSpeed::Sdr), (1, LinkSpeed::Ddr), (2, LinkSpeed::Qdr)];
    let extended = [(0, LinkSpeed::Fdr), (1, LinkSpeed::Edr), (2, LinkSpeed::Hdr), (3, LinkSpeed::Ndr)];
    let fastest = |table: &[(u32, LinkSpeed)]| table.iter().rev().find(|(bit, _)| has(*bit)).map(|&(_, speed)| speed);
    match option {
        b'w' => enabled.width = widths.into_iter().rev().find(|(bit, _)| has(*bit)).map(|(_, width)| width),
        b's' => enabled.speed = enabled.speed.max(fastest(&speeds)),
        b'e' => enabled.speed = enabled.speed.max(fastest(&extended)),
        _ => {}
    }
}

/// The GUID in an id such as `S-0002c90300000001`.
pub(crate) fn guid_in_id(id: &[u8]) -> Option<Guid> {
    let digits = [&b"S-"[..], b"H-", b"R-"].iter().find_map(|prefix| id.strip_prefix(*prefix))?;
    if digits.len() != 16 {
        return None;
    }
    number(digits, 16).map(Guid)
}
