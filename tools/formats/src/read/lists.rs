//! Lists that tell routing engines what the user wants: OpenSM's files of GUIDs, a node or port a line, some with numbers after it.

use super::lines::{self, Cursor};
use super::{Fault, Lines, ReadError, WarningKind, Warnings};
use heddle_fabric::{Fabric, Guid, Node, NodeIndex};
use std::collections::{BTreeMap, BTreeSet};

/// Reads a list of nodes or ports, a GUID a line: what OpenSM takes as `root_guid_file`, `cn_guid_file`, `io_guid_file` and
/// `guid_routing_order_file`. The GUIDs are in the order of the file.
///
/// In all lists of this kind `#` begins a comment. A GUID that is in no node or port of `fabric` is left out, and so is one that was
/// there before; both are counted in the [`Warnings`], as is a file without any GUID. `name` is what messages call the file.
/// `O(bytes · log nodes)`.
///
/// # Errors
/// [`ReadError`] for a line that is something else, and if no GUID is one of the fabric.
pub fn read_guids(bytes: &[u8], name: &str, fabric: &Fabric) -> Result<(Vec<Guid>, Warnings), ReadError> {
    let (rows, warnings) = read(bytes, name, Names::of_all(fabric), |row| Ok((0, row.end()?)))?;
    Ok((rows.into_iter().map(|(guid, ..)| guid).collect(), warnings))
}

/// Reads numbers of nodes, lines `GUID NUMBER`: what OpenSM takes as `ids_guid_file`.
///
/// # Errors
/// As [`read_guids`], and for a number that is not below 2^64.
pub fn read_ids(bytes: &[u8], name: &str, fabric: &Fabric) -> Result<(BTreeMap<Guid, u64>, Warnings), ReadError> {
    let (rows, warnings) = read(bytes, name, Names::of_all(fabric), |row| {
        let id = row.number("a number below 2^64", Some)?;
        row.end()?;
        Ok((0, id))
    })?;
    Ok((rows.into_iter().map(|(guid, _, id)| (guid, id)).collect(), warnings))
}

/// Reads a list of ports, lines `GUID PORT` with the GUID of a node: what OpenSM takes as `port_prof_ignore_file`.
///
/// # Errors
/// As [`read_guids`], and for a port that the node does not have.
pub fn read_ports(bytes: &[u8], name: &str, fabric: &Fabric) -> Result<(Vec<(Guid, u8)>, Warnings), ReadError> {
    let (rows, warnings) = read(bytes, name, Names::of_nodes(fabric), |row| {
        let port = row.port()?;
        row.end()?;
        Ok((port, ()))
    })?;
    Ok((rows.into_iter().map(|(guid, port, ())| (guid, port)).collect(), warnings))
}

/// Weights of the way out of ports, by the GUID of the switch and the port.
pub type PortWeights = BTreeMap<(Guid, u8), u8>;

/// Reads weights of the way out of ports, lines `GUID PORT WEIGHT` with the GUID of a switch and a weight of 1 to 255: what OpenSM takes
/// as `hop_weights_file`.
///
/// # Errors
/// As [`read_ports`], and for a weight out of range.
pub fn read_port_weights(bytes: &[u8], name: &str, fabric: &Fabric) -> Result<(PortWeights, Warnings), ReadError> {
    let (rows, warnings) = read(bytes, name, Names::of_switches(fabric), |row| {
        let port = row.port()?;
        let weight = row.number("a weight, 1 to 255", |weight| u8::try_from(weight).ok().filter(|&weight| weight > 0))?;
        row.end()?;
        Ok((port, weight))
    })?;
    Ok((rows.into_iter().map(|(guid, port, weight)| ((guid, port), weight)).collect(), warnings))
}

/// Reads in which order a switch's ports come, lines `GUID PORT PORT ...` with the GUID of a switch: what OpenSM takes as
/// `port_search_ordering_file`.
///
/// # Errors
/// As [`read_ports`], and for a line without a port or with one twice.
pub fn read_port_orders(bytes: &[u8], name: &str, fabric: &Fabric) -> Result<(BTreeMap<Guid, Vec<u8>>, Warnings), ReadError> {
    let (rows, warnings) = read(bytes, name, Names::of_switches(fabric), |row| {
        let mut ports = vec![row.port()?];
        while row.has_more() {
            let at = row.cursor;
            let port = row.port()?;
            if ports.contains(&port) {
                return Err(at.fault(format!("port {port} is in this line twice")));
            }
            ports.push(port);
        }
        Ok((0, ports))
    })?;
    Ok((rows.into_iter().map(|(guid, _, ports)| (guid, ports)).collect(), warnings))
}

/// What a line is about (0 for the node itself, or one of its ports), and what it says.
type Rows<T> = Vec<(Guid, u8, T)>;

/// Reads a list whose lines begin with a GUID. `rest` reads what is after it: a port or 0, and what the line says.
fn read<T>(
    bytes: &[u8],
    name: &str,
    names: Names<'_>,
    rest: impl FnMut(&mut Row<'_>) -> Result<(u8, T), Fault>,
) -> Result<(Rows<T>, Warnings), ReadError> {
    let mut warnings = Warnings::default();
    let rows = rows(bytes, &names, &mut warnings, rest).map_err(|fault| fault.in_file(name))?;
    Ok((rows, warnings))
}

fn rows<T>(
    bytes: &[u8],
    names: &Names<'_>,
    warnings: &mut Warnings,
    mut rest: impl FnMut(&mut Row<'_>) -> Result<(u8, T), Fault>,
) -> Result<Rows<T>, Fault> {
    let mut rows = Vec::new();
    let mut seen: BTreeMap<(Guid, u8), usize> = BTreeMap::new();
    let mut first_unknown = None;
    // An empty list is a list.
    let bytes = if bytes.is_empty() { bytes } else { lines::without_mark(bytes, warnings)? };
    for line in Lines::new(bytes) {
        let mut cursor = line.cursor();
        cursor.blanks();
        if matches!(cursor.rest().first(), None | Some(b'#')) {
            continue;
        }
        let at = cursor;
        let guid = guid(&mut cursor)?;
        let (port, value) = rest(&mut Row { cursor, node: names.node(guid) })?;
        if !names.known.contains(&guid) {
            let unknown = at.fault(format!("the fabric has {} with GUID {guid}", names.nobody));
            warnings.add(line.number, WarningKind::UnknownGuid, unknown.reason.clone());
            first_unknown.get_or_insert(unknown);
        } else if let Some(&before) = seen.get(&(guid, port)) {
            let port = if port == 0 { String::new() } else { format!("port {port} of ") };
            warnings.add(line.number, WarningKind::RepeatedGuid, format!("{port}{guid} is in line {before} already, which is used"));
        } else {
            seen.insert((guid, port), line.number);
            rows.push((guid, port, value));
        }
    }
    match first_unknown {
        Some(unknown) if rows.is_empty() => {
            Err(Fault { reason: format!("{}, nor any other of this file: is it for another fabric?", unknown.reason), ..unknown })
        }
        None if rows.is_empty() => {
            warnings.add(1, WarningKind::EmptyList, "no GUID in this file; it decides nothing");
            Ok(rows)
        }
        _ => Ok(rows),
    }
}

/// The GUIDs that a list may name.
struct Names<'f> {
    fabric: &'f Fabric,
    known: BTreeSet<Guid>,
    /// Who is not there, for a message.
    nobody: &'static str,
}

impl<'f> Names<'f> {
    /// Nodes and ports.
    fn of_all(fabric: &'f Fabric) -> Self {
        let nodes = (0..fabric.nodes().len() as u32).map(NodeIndex);
        let ports = nodes.flat_map(|node| fabric.node_ports(node)).map(|port| port.guid).filter(|&guid| guid != Guid(0));
        let known = fabric.nodes().iter().map(|node| node.guid).chain(ports).collect();
        Self { fabric, known, nobody: "no node or port" }
    }

    fn of_nodes(fabric: &'f Fabric) -> Self {
        Self { fabric, known: fabric.nodes().iter().map(|node| node.guid).collect(), nobody: "no node" }
    }

    fn of_switches(fabric: &'f Fabric) -> Self {
        let switches = fabric.switches().iter().map(|&switch| fabric.node(switch).guid);
        Self { fabric, known: switches.collect(), nobody: "no switch" }
    }

    /// The node with one of these GUIDs.
    fn node(&self, guid: Guid) -> Option<&'f Node> {
        self.fabric.node_by_guid(guid).filter(|_| self.known.contains(&guid)).map(|node| self.fabric.node(node))
    }
}

/// The part of a line after the GUID.
struct Row<'a> {
    cursor: Cursor<'a>,
    /// The node that the line begins with, if the fabric has it.
    node: Option<&'a Node>,
}

impl Row<'_> {
    fn number<T>(&mut self, wanted: &str, convert: impl FnOnce(u64) -> Option<T>) -> Result<T, Fault> {
        self.cursor.blanks();
        let at = self.cursor;
        let digits = self.cursor.take_while(|byte| byte.is_ascii_digit());
        let value = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
        value.filter(|_| self.is_at_end_of_word()).and_then(convert).ok_or_else(|| at.expected(wanted))
    }

    /// A port with a cable; any possible one where the node is not known.
    fn port(&mut self) -> Result<u8, Fault> {
        let (last, of) = self.node.map_or((254, String::new()), |node| (node.num_ports, format!(" of \"{}\"", node.description)));
        self.number(&format!("a port{of}, 1 to {last}"), |port| u8::try_from(port).ok().filter(|port| (1..=last).contains(port)))
    }

    fn is_at_end_of_word(&self) -> bool {
        self.cursor.rest().first().is_none_or(|byte| byte.is_ascii_whitespace() || *byte == b'#')
    }

    /// Nothing but a comment may follow.
    fn end(&mut self) -> Result<(), Fault> {
        if self.has_more() { Err(self.cursor.expected("the end of the line or a comment that begins with #")) } else { Ok(()) }
    }

    fn has_more(&mut self) -> bool {
        self.cursor.blanks();
        !matches!(self.cursor.rest().first(), None | Some(b'#'))
    }
}

/// `0x` and up to 16 digits.
fn guid(cursor: &mut Cursor<'_>) -> Result<Guid, Fault> {
    let at = *cursor;
    let digits = if cursor.eat(b"0x") || cursor.eat(b"0X") { cursor.take_while(|byte| byte.is_ascii_hexdigit()) } else { b"" };
    let fits = digits.iter().skip_while(|&&digit| digit == b'0').count() <= 16;
    let is_word = cursor.rest().first().is_none_or(|byte| byte.is_ascii_whitespace() || *byte == b'#');
    let value = lines::number(digits, 16).filter(|&value| fits && is_word && value != 0);
    value.map(Guid).ok_or_else(|| at.expected("a GUID such as 0x0002c90300a1b2c3"))
}
