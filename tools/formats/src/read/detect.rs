use super::ibnetdiscover::is_header;
use super::lines::shorten;
use super::{Fault, Format, Line, Lines, oneline};

/// Which format a file has: the first line that only one format can have decides.
pub(crate) fn format(bytes: &[u8]) -> Result<Format, Fault> {
    let mut first = None;
    for line in Lines::new(bytes) {
        let text = line.text.trim_ascii();
        if is_header(text) || is_attribute(text) || is_port(text) {
            return Ok(Format::Ibnetdiscover);
        }
        if oneline::is_port(text) {
            return Ok(Format::IbnetdiscoverPorts);
        }
        if let Some(other) = other_format(text) {
            let reason = format!("this is {other}, which is not supported; ibnetdiscover, ibnetdiscover-p and ibsim can be read");
            return Err(Fault { line: line.number, column: line.column, reason });
        }
        if !text.is_empty() && first.is_none() {
            first = Some(line);
        }
    }
    Err(no_node(first))
}

/// The fault of a file without any node, `first` being its first line that is not blank.
pub(crate) fn no_node(first: Option<Line<'_>>) -> Fault {
    let (line, column) = first.map_or((1, 1), |first| (first.number, first.column));
    let found = first.map_or("the file is blank".to_owned(), |first| format!("the first line is \"{}\"", shorten(first.text)));
    Fault { line, column, reason: format!("no node found: this is no ibnetdiscover output and no ibsim netlist; {found}") }
}

/// The GUID and id lines before a node.
fn is_attribute(text: &[u8]) -> bool {
    ["vendid=", "devid=", "sysimgguid=", "switchguid=", "caguid=", "rtguid=", "hcaguids"]
        .iter()
        .any(|name| text.starts_with(name.as_bytes()))
}

/// `[port]` and a quoted id somewhere after it.
fn is_port(text: &[u8]) -> bool {
    text.starts_with(b"[") && text.get(1).is_some_and(u8::is_ascii_digit) && text.contains(&b'"')
}

/// Formats of other tools that a user may well try, by what their first line of note looks like.
fn other_format(text: &[u8]) -> Option<&'static str> {
    let begins = |word: &str| text.starts_with(word.as_bytes());
    let has = |word: &str| text.windows(word.len()).any(|part| part == word.as_bytes());
    let json = begins("{") || begins("[{") || begins("[\"") || text == b"[";
    if begins("{ ") && has("Ports:") {
        Some("an ibdiagnet or OpenSM subnet list (.lst)")
    } else if json && has("\"network_type\"") {
        Some("a netloc file (JSON)")
    } else if json {
        Some("JSON")
    } else if begins("TOPSYSTEM") {
        Some("an IBDM system file (.ibnl)")
    } else if has("-> ") && (begins("P") || has("/P")) {
        Some("an IBDM topology file (.topo)")
    } else if has("StartDevice,") || has("EndDevice,") {
        Some("a wiring plan (.ndt or CSV)")
    } else if begins("SwitchName=") {
        Some("a Slurm topology file")
    } else if begins("graph ") || begins("digraph ") || begins("strict ") {
        Some("a Graphviz drawing")
    } else if begins("Unicast lids [") || begins("dump_ucast_routes:") || begins("Multicast mlids [") {
        Some("a dump of forwarding tables and not of a fabric")
    } else if begins("CA: ") || begins("Switch: 0x") || begins("Switch 0x") {
        Some("output of iblinkinfo")
    } else if (begins("Ca") || begins("Switch") || begins("Rt")) && has(": 0x") && has(" ports ") {
        Some("a node list of ibnetdiscover (-l, -H, -S or -R) without cables")
    } else {
        None
    }
}
