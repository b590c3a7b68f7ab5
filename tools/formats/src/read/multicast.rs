//! Multicast: dumps of forwarding tables, and lists of groups.

use super::lines::{self, Cursor, shorten};
use super::{Fault, Line, Lines, ReadError, WarningKind, Warnings};
use heddle_fabric::{Fabric, Group, Guid, Mlid, MulticastTables, PortRef, SwitchIndex};
use std::collections::BTreeMap;

/// Reads multicast forwarding tables of `fabric`: `opensm.mcfdbs`. `name` is what messages call the file. `O(bytes)`, but for the logarithm
/// of the number of switches.
///
/// A switch that the file does not name drops all multicast packets; so an empty file is one without groups.
///
/// # Errors
/// [`ReadError`] for a switch that is not in the fabric or has a second table, an MLID that is none or is twice in a table, a port that the
/// switch does not have, and an entry that cannot be read.
pub fn read_mfts(bytes: &[u8], name: &str, fabric: &Fabric) -> Result<(MulticastTables, Warnings), ReadError> {
    let mut warnings = Warnings::default();
    let tables = mfts(bytes, fabric, &mut warnings).map_err(|fault| fault.in_file(name))?;
    Ok((tables, warnings))
}

/// Reads multicast groups, lines `MLID SL PORT PORT ... [send PORT PORT ...]`.
///
/// `MLID` is a number from 0xc000 to 0xfffe and `SL` one from 0 to 15. `PORT` is the GUID of a port, or of a node: a switch itself, or a
/// host with one cabled port. `all` stands for the ports of all hosts. What is after `send` sends to the group and is sent nothing. `#`
/// begins a comment. The groups are in the order of the file.
///
/// # Errors
/// [`ReadError`] for a line that is something else, a GUID that is not in the fabric, or that of a host with several cabled ports or none,
/// and an MLID that is there twice.
pub fn read_groups(bytes: &[u8], name: &str, fabric: &Fabric) -> Result<(Vec<Group>, Warnings), ReadError> {
    let mut warnings = Warnings::default();
    let groups = groups(bytes, fabric, &mut warnings).map_err(|fault| fault.in_file(name))?;
    Ok((groups, warnings))
}

fn mfts(bytes: &[u8], fabric: &Fabric, warnings: &mut Warnings) -> Result<MulticastTables, Fault> {
    let mut tables = MulticastTables::new(fabric);
    let bytes = if bytes.is_empty() { bytes } else { lines::without_mark(bytes, warnings)? };
    let mut current = None;
    // By switch: where its table begins; 0 for none.
    let mut header_lines = vec![0; fabric.switch_count()];
    for line in Lines::new(bytes) {
        let text = line.text.trim_ascii();
        if text.is_empty() || text.starts_with(b"LID ") {
            continue;
        }
        if !line.complete {
            // The last number may be a part of one.
            warnings.add(line.number, WarningKind::Truncated, "the file ends within a line; line skipped");
        } else if text.starts_with(b"Switch ") {
            current = Some(header(line, fabric, &mut header_lines)?);
        } else if text.starts_with(b"0x") {
            entry(line, fabric, current, &mut tables)?;
        } else {
            warnings.add(line.number, WarningKind::SkippedLine, format!("no part of the format: \"{}\"", shorten(text)));
        }
    }
    if current.is_none() && bytes.iter().any(|byte| !byte.is_ascii_whitespace()) {
        let reason = "no multicast forwarding table found: this is no opensm.mcfdbs".to_owned();
        return Err(Fault { line: 1, column: 1, reason });
    }
    Ok(tables)
}

/// `Switch 0x…`
fn header(line: Line<'_>, fabric: &Fabric, header_lines: &mut [usize]) -> Result<SwitchIndex, Fault> {
    let mut cursor = line.cursor();
    cursor.blanks();
    cursor.eat(b"Switch");
    cursor.blanks();
    let at = cursor;
    let guid = cursor.hex().map(Guid).ok_or_else(|| at.expected("a switch's GUID"))?;
    let switch = fabric.node_by_guid(guid).and_then(|node| fabric.switch_index(node));
    let switch = switch.ok_or_else(|| at.fault(format!("the fabric has no switch with GUID {guid}: is this a dump of another fabric?")))?;
    let before = std::mem::replace(&mut header_lines[switch.index()], line.number);
    if before != 0 {
        return Err(at.fault(format!("a second table for switch {guid}; the first is in line {before}")));
    }
    Ok(switch)
}

/// `0xC000 : 0x001  0x002`
fn entry(line: Line<'_>, fabric: &Fabric, switch: Option<SwitchIndex>, tables: &mut MulticastTables) -> Result<(), Fault> {
    let mut cursor = line.cursor();
    cursor.blanks();
    let start = cursor;
    let Some(switch) = switch else { return Err(start.fault("an entry before any switch".to_owned())) };
    let mlid = mlid(&mut cursor)?;
    if tables.ports(mlid, switch).next().is_some() {
        return Err(start.fault(format!("a second entry for MLID {mlid} of this switch")));
    }
    cursor.blanks();
    if !cursor.eat(b":") {
        return Err(cursor.expected("\":\" and ports"));
    }
    loop {
        cursor.blanks();
        if cursor.rest().is_empty() {
            return Ok(());
        }
        let at = cursor;
        let port = cursor.hex().filter(|_| at.rest().starts_with(b"0x")).ok_or_else(|| at.expected("a port as 0x and digits"))?;
        let node = fabric.switch(switch);
        let Some(port) = u8::try_from(port).ok().filter(|&port| port <= node.num_ports) else {
            let (name, ports) = (&node.description, node.num_ports);
            return Err(at.fault(format!("MLID {mlid} goes to port {port}, but \"{name}\" ({}) has ports 0 to {ports}", node.guid)));
        };
        tables.insert(mlid, switch, port);
    }
}

fn mlid(cursor: &mut Cursor<'_>) -> Result<Mlid, Fault> {
    let at = *cursor;
    let number = cursor.hex().and_then(|number| Mlid::new(u16::try_from(number).ok()?));
    number.filter(|_| at.rest().starts_with(b"0x")).ok_or_else(|| at.expected("a multicast LID, 0xc000 to 0xfffe"))
}

fn groups(bytes: &[u8], fabric: &Fabric, warnings: &mut Warnings) -> Result<Vec<Group>, Fault> {
    let bytes = if bytes.is_empty() { bytes } else { lines::without_mark(bytes, warnings)? };
    let mut groups: Vec<Group> = Vec::new();
    let mut first_lines: BTreeMap<Mlid, usize> = BTreeMap::new();
    let by_guid = ports_by_guid(fabric);
    for line in Lines::new(bytes) {
        let end = line.text.iter().position(|&byte| byte == b'#').unwrap_or(line.text.len());
        let mut cursor = Line { text: &line.text[..end], ..line }.cursor();
        cursor.blanks();
        if cursor.rest().is_empty() {
            continue;
        }
        let at = cursor;
        let mlid = mlid(&mut cursor)?;
        if let Some(before) = first_lines.insert(mlid, line.number) {
            return Err(at.fault(format!("a second group with MLID {mlid}; the first is in line {before}")));
        }
        cursor.blanks();
        let at = cursor;
        let sl =
            cursor.decimal().and_then(|sl| u8::try_from(sl).ok()).filter(|&sl| sl < 16).ok_or_else(|| at.expected("an SL, 0 to 15"))?;
        let mut group = Group { mlid, sl, members: Vec::new(), senders: Vec::new() };
        let mut ports = &mut group.members;
        let mut may_send_only = true;
        loop {
            cursor.blanks();
            let at = cursor;
            match cursor.take_while(|byte| !byte.is_ascii_whitespace()) {
                b"" => break,
                b"all" => ports.extend(fabric.end_ports().iter().filter(|end| end.is_host()).map(|end| end.at)),
                b"send" if std::mem::take(&mut may_send_only) => ports = &mut group.senders,
                _ => ports.push(port(at, &by_guid)?),
            }
        }
        groups.push(group);
    }
    Ok(groups)
}

/// What a GUID stands for.
fn port(at: Cursor<'_>, by_guid: &BTreeMap<Guid, Vec<PortRef>>) -> Result<PortRef, Fault> {
    let mut cursor = at;
    let guid = cursor.hex().map(Guid).filter(|_| at.rest().starts_with(b"0x"));
    let is_whole = cursor.rest().first().is_none_or(u8::is_ascii_whitespace);
    let guid = guid.filter(|_| is_whole).ok_or_else(|| at.expected("a GUID as 0x and digits, \"all\" or \"send\""))?;
    match by_guid.get(&guid).map(Vec::as_slice) {
        None => Err(at.fault(format!("the fabric has no node or port with GUID {guid}"))),
        Some([port]) => Ok(*port),
        Some([]) => Err(at.fault(format!("no switch carries a port of {guid}"))),
        Some(ports) => Err(at.fault(format!("{guid} has {} ports that switches carry: give the GUID of one of them", ports.len()))),
    }
}

/// The ports that can be members, by their own GUIDs and, where that is no port's, by those of their nodes.
fn ports_by_guid(fabric: &Fabric) -> BTreeMap<Guid, Vec<PortRef>> {
    let mut own = BTreeMap::new();
    let mut of_nodes: BTreeMap<Guid, Vec<PortRef>> = BTreeMap::new();
    for (&guid, node) in fabric.nodes().iter().map(|node| &node.guid).zip((0..).map(heddle_fabric::NodeIndex)) {
        let ports = of_nodes.entry(guid).or_default();
        for number in 0..=fabric.node(node).num_ports {
            let at = PortRef::new(node, number);
            if fabric.attachment(at).is_some() {
                ports.push(at);
                if let Some(port) = fabric.port(at).filter(|port| port.guid != Guid(0)) {
                    own.insert(port.guid, vec![at]);
                }
            }
        }
    }
    of_nodes.extend(own);
    of_nodes
}
