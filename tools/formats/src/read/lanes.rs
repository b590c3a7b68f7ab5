//! Dumps of service levels and SL2VL tables.

use super::lines::{self, Cursor, shorten};
use super::{Fault, Line, Lines, ReadError, WarningKind, Warnings};
use heddle_fabric::{Fabric, Guid, Lanes, Levels, Lid, SwitchIndex, Tables};

/// Reads the SLs of routes: lines `0xGUID LID SL` with the GUID of the sending host's node, as ibdmchk reads them (`-c`). `tables` are the
/// forwarding tables that they go with; `name` is what messages call the file.
///
/// # Errors
/// [`ReadError`] for an empty file, one without such a line, a node that is not in the fabric, a LID that is none, and an SL above 15.
pub fn read_path_sl(bytes: &[u8], name: &str, fabric: &Fabric, tables: &Tables) -> Result<(Levels, Warnings), ReadError> {
    let mut warnings = Warnings::default();
    let masks = path_sl(bytes, fabric, tables.row_len(), &mut warnings).map_err(|fault| fault.in_file(name))?;
    Ok((Levels::Several(masks), warnings))
}

/// Reads SL2VL tables: `opensm-sl2vl.dump` as OpenSM writes it, or lines `0xGUID IN OUT 0x01 0x23 …` as ibdmchk reads them (`-d`). Ports
/// of switches that the file does not name map each SL to the VL of its number.
///
/// # Errors
/// [`ReadError`] for an empty file, one without such a line, a switch or port that is not in the fabric, and rows that are not 16 VLs.
pub fn read_sl2vl(bytes: &[u8], name: &str, fabric: &Fabric, levels: Levels) -> Result<(Lanes, Warnings), ReadError> {
    let mut warnings = Warnings::default();
    let lanes = sl2vl(bytes, fabric, levels, &mut warnings).map_err(|fault| fault.in_file(name))?;
    Ok((lanes, warnings))
}

fn path_sl(bytes: &[u8], fabric: &Fabric, row_len: usize, warnings: &mut Warnings) -> Result<Vec<u16>, Fault> {
    let bytes = lines::without_mark(bytes, warnings)?;
    let mut masks = vec![0; fabric.switch_count() * row_len];
    // The switches of a node's ports.
    let mut switches: Vec<Vec<SwitchIndex>> = vec![Vec::new(); fabric.nodes().len()];
    for end in fabric.end_ports().iter().filter(|end| end.is_host()) {
        switches[end.at.node.index()].push(end.switch);
    }
    let mut any = false;
    for line in Lines::new(bytes) {
        let mut cursor = line.cursor();
        cursor.blanks();
        if !cursor.rest().starts_with(b"0x") {
            skip(line, warnings);
            continue;
        }
        let guid_at = cursor;
        let guid = Guid(cursor.hex().ok_or_else(|| guid_at.expected("the GUID of a host's node"))?);
        let node = fabric
            .node_by_guid(guid)
            .ok_or_else(|| guid_at.fault(format!("the fabric has no node with GUID {guid}: is this a dump of another fabric?")))?;
        let lid = small(&mut cursor, "a unicast LID", |lid| u16::try_from(lid).ok().and_then(Lid::new))?;
        let sl = small(&mut cursor, "an SL, 0 to 15", |sl| u8::try_from(sl).ok().filter(|&sl| sl < 16))?;
        any = true;
        if lid.index() >= row_len {
            warnings.add(line.number, WarningKind::UnknownLid, format!("nobody in the fabric has LID {lid}"));
            continue;
        }
        for switch in &switches[node.index()] {
            masks[switch.index() * row_len + lid.index()] |= 1 << sl;
        }
    }
    if any { Ok(masks) } else { Err(Fault { line: 1, column: 1, reason: "no line of the form \"0xGUID LID SL\" found".to_owned() }) }
}

fn sl2vl(bytes: &[u8], fabric: &Fabric, levels: Levels, warnings: &mut Warnings) -> Result<Lanes, Fault> {
    let bytes = lines::without_mark(bytes, warnings)?;
    let mut lanes = Lanes::by_ports(fabric, levels, Lanes::IDENTITY);
    let mut current = None;
    let mut any = false;
    for line in Lines::new(bytes) {
        let mut cursor = line.cursor();
        cursor.blanks();
        if cursor.eat(b"Switch ") {
            current = Some(switch(&mut cursor, fabric)?);
        } else if cursor.rest().starts_with(b"0x") {
            let switch = switch(&mut cursor, fabric)?;
            let ports = ports(&mut cursor, fabric, switch)?;
            let mut row = [0; 16];
            for pair in row.chunks_exact_mut(2) {
                cursor.blanks();
                let at = cursor;
                let both =
                    cursor.hex().and_then(|both| u8::try_from(both).ok()).ok_or_else(|| at.expected("the VLs of two SLs, such as 0x01"))?;
                pair.copy_from_slice(&[both >> 4, both & 0xf]);
            }
            lanes.set_row(switch, ports.0, ports.1, row);
            any = true;
        } else if cursor.rest().first().is_some_and(u8::is_ascii_digit) {
            let Some(switch) = current else { return Err(cursor.fault("a row before any switch".to_owned())) };
            let ports = ports(&mut cursor, fabric, switch)?;
            cursor.blanks();
            if !cursor.eat(b":") {
                return Err(cursor.expected("\":\""));
            }
            let mut row = [0; 16];
            for vl in &mut row {
                *vl = small(&mut cursor, "a VL, 0 to 15", |vl| u8::try_from(vl).ok().filter(|&vl| vl < 16))?;
            }
            lanes.set_row(switch, ports.0, ports.1, row);
            any = true;
        } else {
            skip(line, warnings);
        }
    }
    if any { Ok(lanes) } else { Err(Fault { line: 1, column: 1, reason: "no row of an SL2VL table found".to_owned() }) }
}

fn skip(line: Line<'_>, warnings: &mut Warnings) {
    let text = line.text.trim_ascii();
    if !text.is_empty() && text[0] != b'#' {
        warnings.add(line.number, WarningKind::SkippedLine, format!("no part of the format: \"{}\"", shorten(text)));
    }
}

fn switch(cursor: &mut Cursor<'_>, fabric: &Fabric) -> Result<SwitchIndex, Fault> {
    let at = *cursor;
    let guid = Guid(cursor.hex().ok_or_else(|| at.expected("a switch's GUID"))?);
    fabric
        .node_by_guid(guid)
        .and_then(|node| fabric.switch_index(node))
        .ok_or_else(|| at.fault(format!("the fabric has no switch with GUID {guid}: is this a dump of another fabric?")))
}

/// Port of entry and port of exit.
fn ports(cursor: &mut Cursor<'_>, fabric: &Fabric, switch: SwitchIndex) -> Result<(u8, u8), Fault> {
    let node = fabric.switch(switch);
    let mut port = || {
        small(cursor, &format!("a port, 0 to {}", node.num_ports), |port| u8::try_from(port).ok().filter(|&port| port <= node.num_ports))
    };
    Ok((port()?, port()?))
}

fn small<T>(cursor: &mut Cursor<'_>, wanted: &str, convert: impl FnOnce(u32) -> Option<T>) -> Result<T, Fault> {
    cursor.blanks();
    let at = *cursor;
    cursor.decimal().and_then(convert).ok_or_else(|| at.expected(wanted))
}
