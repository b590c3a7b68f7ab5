//! Dumps of forwarding tables.

use super::lines::{Cursor, shorten};
use super::{Fault, Line, Lines, ReadError, WarningKind, Warnings};
use crate::read::lines;
use heddle_fabric::{Fabric, Guid, Lid, NO_PORT, SwitchIndex, Tables};

/// Reads forwarding tables of `fabric`: `opensm-lfts.dump`, `opensm.fdbs`, or what `dump_fts` (formerly `dump_lfts`) prints. `name` is
/// what messages call the file. `O(bytes)`, but for the logarithm of the number of switches.
///
/// LIDs mean what they mean in `fabric`; where the dump tells the port GUID of a LID, it must be the same one. A switch without a table
/// in the dump drops everything, and so do entries for LIDs that nobody in the fabric has; both are counted in the [`Warnings`].
///
/// # Errors
/// [`ReadError`] for an empty file, a file without tables, a table of a switch that is not in the fabric, a second table of a switch, a
/// port that the switch does not have (255, the drop entry, excepted), a LID of another port and an entry that cannot be read.
pub fn read_lfts(bytes: &[u8], name: &str, fabric: &Fabric) -> Result<(Tables, Warnings), ReadError> {
    let mut reader = LftReader {
        fabric,
        tables: Tables::new(fabric, name),
        warnings: Warnings::default(),
        current: None,
        header_lines: vec![0; fabric.switch_count()],
    };
    reader.read(bytes).map_err(|fault| fault.in_file(name))?;
    Ok((reader.tables, reader.warnings))
}

struct LftReader<'f> {
    fabric: &'f Fabric,
    tables: Tables,
    warnings: Warnings,
    current: Option<SwitchIndex>,
    /// By switch: where its table begins; 0 for none.
    header_lines: Vec<usize>,
}

impl LftReader<'_> {
    fn read(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let bytes = lines::without_mark(bytes, &mut self.warnings)?;
        let mut last = 1;
        for line in Lines::new(bytes) {
            last = line.number;
            self.line(line)?;
        }
        if self.header_lines.iter().all(|&line| line == 0) {
            let reason = "no forwarding table found: this is no opensm-lfts.dump, no opensm.fdbs and no dump_fts output".to_owned();
            return Err(Fault { line: 1, column: 1, reason });
        }
        for (switch, _) in self.header_lines.iter().enumerate().filter(|(_, line)| **line == 0) {
            let node = self.fabric.switch(SwitchIndex(switch as u32));
            let text = format!("no table for switch \"{}\" ({}); it drops everything", node.description, node.guid);
            self.warnings.add(last, WarningKind::MissingTable, text);
        }
        Ok(())
    }

    fn line(&mut self, line: Line<'_>) -> Result<(), Fault> {
        let text = line.text.trim_ascii();
        let begins = |word: &str| text.starts_with(word.as_bytes());
        if begins("Unicast lids") || begins("dump_ucast_routes:") {
            return if line.complete { self.header(line) } else { self.cut(line) };
        }
        if begins("0x") {
            return if line.complete || ends_with_port(text) { self.entry(line) } else { self.cut(line) };
        }
        let known = text.is_empty()
            || ["Lid ", "LID ", "Port "].iter().any(|word| begins(word))
            || text.ends_with(b"lids dumped")
            || text[0] == b'#';
        if !known {
            self.warnings.add(line.number, WarningKind::SkippedLine, format!("no part of the format: \"{}\"", shorten(text)));
        }
        Ok(())
    }

    fn cut(&mut self, line: Line<'_>) -> Result<(), Fault> {
        self.warnings.add(line.number, WarningKind::Truncated, "the file ends within a line; line skipped");
        Ok(())
    }

    /// `Unicast lids [0-5] of switch Lid 3 guid 0x… ('name'):`, `… of switch DR path … guid 0x… (name):` or
    /// `dump_ucast_routes: Switch 0x…`.
    fn header(&mut self, line: Line<'_>) -> Result<(), Fault> {
        let mut cursor = line.cursor();
        for marker in [&b" guid "[..], b" Switch "] {
            if let Some(at) = line.text.windows(marker.len()).position(|part| part == marker) {
                cursor.skip(at + marker.len());
                break;
            }
        }
        let guid_at = cursor;
        let Some(guid) = cursor.hex().map(Guid).filter(|_| guid_at.rest().starts_with(b"0x")) else {
            return Err(guid_at.expected("a switch's GUID"));
        };
        let Some(switch) = self.fabric.node_by_guid(guid).and_then(|node| self.fabric.switch_index(node)) else {
            return Err(guid_at.fault(format!("the fabric has no switch with GUID {guid}: is this a dump of another fabric?")));
        };
        let before = std::mem::replace(&mut self.header_lines[switch.index()], line.number);
        if before != 0 {
            return Err(guid_at.fault(format!("a second table for switch {guid}; the first is in line {before}")));
        }
        self.current = Some(switch);
        Ok(())
    }

    /// `0x0001 001 # Switch portguid 0x…: 'name'`, `0x0001 005 : (Switch portguid …)` or `0x0001 : 001  : 02   : yes`.
    fn entry(&mut self, line: Line<'_>) -> Result<(), Fault> {
        let mut cursor = line.cursor();
        cursor.blanks();
        let lid_at = cursor;
        let lid = cursor.hex().and_then(|lid| u16::try_from(lid).ok());
        let Some(switch) = self.current else { return Err(lid_at.fault("an entry before any switch".to_owned())) };
        cursor.blanks();
        if cursor.eat(b":") {
            cursor.blanks();
            if cursor.rest().starts_with(b"UNREACHABLE") {
                return Ok(());
            }
        }
        let port_at = cursor;
        let port = cursor.decimal().ok_or_else(|| port_at.expected("a port number"))?;
        if lid == Some(0) || port == u32::from(NO_PORT) {
            return Ok(());
        }
        let lid = lid.and_then(Lid::new).ok_or_else(|| lid_at.expected("a unicast LID"))?;
        let node = self.fabric.switch(switch);
        let Some(port) = u8::try_from(port).ok().filter(|&port| port <= node.num_ports) else {
            let (name, ports) = (&node.description, node.num_ports);
            return Err(port_at.fault(format!("LID {lid} goes to port {port}, but \"{name}\" ({}) has ports 0 to {ports}", node.guid)));
        };
        let Some(owner) = self.fabric.lid_owner(lid) else {
            let text = format!("nobody in the fabric has LID {lid}, which \"{}\" ({}) sends to port {port}", node.description, node.guid);
            self.warnings.add(line.number, WarningKind::UnknownLid, text);
            return Ok(());
        };
        let known = self.fabric.port(owner.at).map_or(Guid(0), |port| port.guid);
        if let Some(told) = port_guid(&mut cursor).filter(|&told| known != Guid(0) && told != known) {
            let reason = format!(
                "LID {lid} is the port with GUID {told} here, but that of \"{}\" with GUID {known} in the fabric: the LIDs are not the same",
                self.fabric.node(owner.at.node).description
            );
            return Err(cursor.fault(reason));
        }
        self.tables.row_mut(switch)[lid.index()] = port;
        Ok(())
    }
}

/// Whether an entry at the end of a file without a line end is whole: LID and three digits, at least.
fn ends_with_port(text: &[u8]) -> bool {
    let mut words = text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty() && *word != b":");
    words.nth(1).is_some_and(|port| port.len() == 3 && port.iter().all(u8::is_ascii_digit)) && words.next().is_some()
}

/// The destination's port GUID, where the entry tells it.
fn port_guid(cursor: &mut Cursor<'_>) -> Option<Guid> {
    const MARKER: &[u8] = b"portguid ";
    // Types are the first thing after the port, so a description that contains the word is not mistaken.
    let at = cursor.rest().windows(MARKER.len()).position(|part| part == MARKER)?;
    cursor.skip(at + MARKER.len());
    let start = *cursor;
    let guid = cursor.hex().map(Guid);
    *cursor = start;
    guid
}
