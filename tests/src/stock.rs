//! What stock InfiniBand tools say of a fabric. All of this is read here by other code than Heddle's own, where Heddle has any.

use crate::{Running, Seat};
use heddle_fabric::Fabric;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;
use std::process::{Command, Stdio};

/// Forwarding tables: by the switch's node GUID, the port for each LID; 255 for none.
pub type Lfts = BTreeMap<u64, Vec<u8>>;

/// A port of a cable as `iblinkinfo` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkInfo {
    /// The base LID of the port; a switch's own.
    pub lid: u16,
    /// `Active`, `Down` and so on.
    pub state: String,
    /// `LinkUp`, `Polling` and so on.
    pub physical: String,
    /// GUID and port at the other end, if something is there.
    pub peer: Option<(u64, u8)>,
    /// All of it as printed.
    pub line: String,
}

/// A step of a way through the fabric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The port by which the packet leaves a node.
    pub out: u8,
    /// The GUID of the port to which it comes; a switch's own.
    pub guid: u64,
    /// The number of the port to which it comes.
    pub into: u8,
}

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Its exit status; `None` if a signal ended it.
    pub status: Option<i32>,
    /// What it printed.
    pub said: String,
    /// What it printed to standard error.
    pub errors: String,
}

/// Stock tools on a node of a simulated fabric.
#[derive(Debug)]
pub struct Stock {
    seat: Seat,
}

impl Stock {
    /// Tools that run there.
    pub const fn new(seat: Seat) -> Self {
        Self { seat }
    }

    /// What `ibnetdiscover` finds.
    ///
    /// # Panics
    /// As all of these: when the tool is missing or fails, or prints what cannot be read.
    pub fn fabric(&self) -> Fabric {
        let dump = self.run("ibnetdiscover", &[]);
        let loaded = heddle_formats::read(dump.as_bytes(), "ibnetdiscover", None).unwrap_or_else(|error| panic!("{error}\n{dump}"));
        // A port without a LID is what the caller will find.
        assert_eq!(loaded.format, heddle_formats::Format::Ibnetdiscover);
        loaded.builder.build()
    }

    /// What `iblinkinfo` says of every port, by the port's GUID (a switch's own) and number.
    pub fn links(&self) -> BTreeMap<(u64, u8), LinkInfo> {
        let text = self.run("iblinkinfo", &["-l"]);
        text.lines().map(|line| link(line).unwrap_or_else(|| panic!("iblinkinfo prints \"{line}\""))).collect()
    }

    /// The tables in the switches, read by `dump_fts` over directed routes.
    pub fn lfts(&self) -> Lfts {
        lfts(&self.run("dump_fts", &["-a", "-n"]))
    }

    /// The way that `ibtracert` finds from one LID to another, which asks each switch for its table's entry on the way.
    pub fn trace(&self, from: u16, to: u16) -> Vec<Hop> {
        let text = self.run("ibtracert", &[&from.to_string(), &to.to_string()]);
        let hops = text.lines().filter(|line| line.starts_with('['));
        hops.map(|line| hop(line).unwrap_or_else(|| panic!("ibtracert prints \"{line}\""))).collect()
    }

    /// What `smpquery portinfo` says, by the names it uses.
    pub fn port_info(&self, lid: u16, port: u8) -> BTreeMap<String, String> {
        fields(&self.run("smpquery", &["portinfo", &lid.to_string(), &port.to_string()]))
    }

    /// What a tool prints that succeeds.
    ///
    /// # Panics
    /// When it does not, or cannot be started, or does not end.
    pub fn run(&self, tool: &str, arguments: &[&str]) -> String {
        let ended = self.end(tool, arguments);
        assert_eq!(ended.status, Some(0), "{tool} {arguments:?}:\n{}\n{}", ended.said, ended.errors);
        ended.said
    }

    /// How a tool ends.
    ///
    /// # Panics
    /// When it cannot be started, or does not end.
    pub fn end(&self, tool: &str, arguments: &[&str]) -> Ended {
        let mut said = tempfile::tempfile().expect("a temporary file");
        let mut errors = tempfile::tempfile().expect("a temporary file");
        let share = |file: &File| Stdio::from(file.try_clone().expect("a file can be shared"));
        let mut command = self.seat.command(tool);
        let mut program = Running::start(command.args(arguments).stdin(Stdio::null()).stdout(share(&said)).stderr(share(&errors)));
        let status = program.wait(|| format!("{tool} {arguments:?} ends"));
        let (said, errors) = (content(&mut said), content(&mut errors));
        Ended { status: status.code(), said, errors }
    }
}

fn content(file: &mut File) -> String {
    let mut bytes = Vec::new();
    file.rewind().and_then(|()| file.read_to_end(&mut bytes)).expect("a temporary file can be read");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The fields in what `smpquery`, `saquery`, `perfquery` and others print: `Name:.....value`, with or without the colon.
pub fn fields(text: &str) -> BTreeMap<String, String> {
    let field = |line: &str| {
        let at = [":.", ".."].iter().filter_map(|dots| line.find(dots)).min()?;
        let value = line[at..].trim_start_matches(':').trim_start_matches('.');
        Some((line[..at].trim().to_owned(), value.trim_end().to_owned()))
    };
    text.lines().filter_map(field).collect()
}

/// The records that `saquery` prints, each with its fields.
pub fn records(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut records = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line.starts_with(|c: char| c.is_ascii_alphabetic()) && line.ends_with("dump:") {
            let mut record = String::new();
            while let Some(line) = lines.next_if(|line| line.starts_with('\t') || line.is_empty()) {
                record = record + line + "\n";
            }
            records.push(fields(&record));
        }
    }
    records
}

/// What ibdmchk says of the dump files in a folder: the number of CA pairs whose ways it followed, or what it finds wrong.
///
/// # Panics
/// When it is missing.
pub fn ibdmchk(folder: &Path) -> Result<u64, String> {
    let mut command = Command::new("ibdmchk");
    command.args(["-s", "opensm-subnet.lst", "-f", "opensm.fdbs", "-m", "opensm.mcfdbs"]);
    for (option, file) in [("-c", "opensm-path-sl.dump"), ("-d", "opensm-sl2vl.dump")] {
        if folder.join(file).exists() {
            command.args([option, file]);
        }
    }
    let output = command.current_dir(folder).stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| panic!("cannot start ibdmchk: {error}; install it with `apt-get install ibutils`"));
    // Its exit status says nothing: ibdmchk 1.5.7 crashes when it has said everything.
    let said = String::from_utf8_lossy(&output.stdout);
    let clean = said.contains("no credit loops found") && !said.lines().any(|line| line.starts_with("-E-"));
    let scanned = said.lines().find_map(|line| line.trim().strip_prefix("-I- Scanned:")?.strip_suffix(" CA to CA paths")?.parse().ok());
    scanned.filter(|_| clean).ok_or_else(|| {
        let (errors, rest): (Vec<&str>, Vec<&str>) = said.lines().filter(|line| !line.is_empty()).partition(|line| line.starts_with("-E-"));
        errors.iter().take(20).chain(rest.iter().rev().take(20).rev()).copied().collect::<Vec<_>>().join("\n")
    })
}

/// Reads the tables of `dump_fts`, of `opensm-lfts.dump`, and of whatever else looks like them.
///
/// # Panics
/// When an entry or a header cannot be read, or a switch has two tables.
pub fn lfts(text: &str) -> Lfts {
    let mut tables = Lfts::new();
    let mut current: Option<(u64, Vec<u8>)> = None;
    for line in text.lines() {
        if line.starts_with("Unicast lids") {
            let guid = line.split(" guid ").nth(1).and_then(|rest| hex(rest.split(' ').next()?));
            let guid = guid.unwrap_or_else(|| panic!("no GUID: \"{line}\""));
            if let Some((before, row)) = current.replace((guid, Vec::new())) {
                assert!(tables.insert(before, row).is_none(), "two tables of {before:#x}");
            }
        } else if line.starts_with("0x") {
            let mut words = line.split_ascii_whitespace();
            let lid = words.next().and_then(hex).map(|lid| lid as usize);
            let port = words.next().and_then(|port| port.parse::<u8>().ok());
            let (Some(lid), Some(port), Some((_, row))) = (lid, port, &mut current) else { panic!("no entry: \"{line}\"") };
            row.resize(row.len().max(lid + 1), 255);
            row[lid] = port;
        }
    }
    tables.extend(current);
    for row in tables.values_mut() {
        // What drops at the end is not told by all.
        row.truncate(row.iter().rposition(|&port| port != 255).map_or(0, |last| last + 1));
    }
    tables
}

/// `0x0200… "name" 12 1[ ] ==( 4X 53.125 Gbps Active/ LinkUp)==> 0x0200… 10 1[ ] "peer" (…)`.
fn link(line: &str) -> Option<((u64, u8), LinkInfo)> {
    let (own, rest) = line.split_once("==(")?;
    let (status, peer) = rest.split_once(")==>")?;
    let guid = hex(own.split_ascii_whitespace().next()?)?;
    let (lid, port) = lid_and_port(own.rsplit_once('"')?.1)?;
    let (state, physical) = status.split_once('/')?;
    let state = state.split_ascii_whitespace().next_back()?.to_owned();
    let peer = peer.trim_start();
    let peer = match peer.starts_with("0x") {
        true => {
            let (guid, rest) = peer.split_once(' ')?;
            Some((hex(guid)?, lid_and_port(rest)?.1))
        }
        false => None,
    };
    let physical = physical.trim().to_owned();
    Some(((guid, port), LinkInfo { lid, state, physical, peer, line: line.to_owned() }))
}

/// `12    1[  ] …`.
fn lid_and_port(text: &str) -> Option<(u16, u8)> {
    let (numbers, _) = text.split_once('[')?;
    let mut numbers = numbers.split_ascii_whitespace();
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// `[3] -> switch port {0x0200…}[4] lid 6-6 "name"`.
fn hop(line: &str) -> Option<Hop> {
    let (out, rest) = line.strip_prefix('[')?.split_once(']')?;
    let (guid, rest) = rest.split_once('{')?.1.split_once("}[")?;
    let (into, _) = rest.split_once(']')?;
    Some(Hop { out: out.parse().ok()?, guid: hex(guid)?, into: into.parse().ok()? })
}

fn hex(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}
