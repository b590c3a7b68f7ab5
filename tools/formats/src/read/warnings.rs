use std::collections::BTreeMap;
use std::fmt;

/// What can be odd about a file that loads nevertheless.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WarningKind {
    /// The file begins with a byte order mark.
    ByteOrderMark,
    /// A line that is no part of the format, such as a terminal's banner or prompt; skipped.
    SkippedLine,
    /// An error message of the tool that made the dump; skipped. Something is missing from the dump.
    ToolError,
    /// A command to the simulator (`do`) or a setting of it (`width=`); skipped.
    Command,
    /// A port's line that cannot be read; skipped.
    MalformedLine,
    /// The last line has no end and is cut; what is left of it is used as far as it is certain.
    Truncated,
    /// A description that is not UTF-8; the wrong bytes are replaced.
    NotUtf8,
    /// A description longer than a NodeDescription can be; the rest is left out.
    LongDescription,
    /// A GUID that is zero; one is invented from the node's id.
    ZeroGuid,
    /// A node without a GUID; one is invented from its id.
    InventedGuid,
    /// The same record again; left out.
    RepeatedNode,
    /// Another record with the same id or GUID; the first one is kept.
    ConflictingNode,
    /// A node that only its neighbours name; added.
    UnknownNode,
    /// A port that the node cannot have; its cable is left out.
    NoSuchPort,
    /// A port's line again; left out.
    RepeatedPort,
    /// A port that two cables are said to be in; the first one is kept.
    ConflictingCable,
    /// A port that is cabled to itself; left out.
    SelfCable,
    /// A cable to a node that was left out; left out.
    CableLeftOut,
    /// A cable that only one end reports; used.
    OneWayCable,
    /// A cable that its ends give different widths or speeds; the lesser ones are used.
    LinkDiffers,
    /// LID 0 or 65535: the port has none yet.
    UnassignedLid,
    /// A LID or LMC that a port cannot have; ignored.
    InvalidLid,
    /// A port whose neighbour gives it another LID than its own record does; the own record is used.
    ConflictingLid,
    /// A LID that two ports have; both keep it until LIDs are assigned.
    DuplicateLid,
    /// A forwarding-table entry for a LID that nobody has; left out.
    UnknownLid,
    /// A switch without a forwarding table in the dump.
    MissingTable,
    /// A GUID in a list that nothing in the fabric has; left out.
    UnknownGuid,
    /// A GUID that a list has twice; the first one is used.
    RepeatedGuid,
    /// A list without any GUID.
    EmptyList,
}

impl WarningKind {
    /// What it is, in a word or a few, without the case at hand.
    pub const fn title(self) -> &'static str {
        match self {
            Self::ByteOrderMark => "byte order mark",
            Self::SkippedLine => "line skipped",
            Self::ToolError => "error message of the dump tool skipped",
            Self::Command => "simulator command skipped",
            Self::MalformedLine => "port line that cannot be read",
            Self::Truncated => "file cut off",
            Self::NotUtf8 => "description is not UTF-8",
            Self::LongDescription => "description too long",
            Self::ZeroGuid => "GUID is zero",
            Self::InventedGuid => "GUID invented",
            Self::RepeatedNode => "record repeated",
            Self::ConflictingNode => "two nodes with one id or GUID",
            Self::UnknownNode => "node without a record",
            Self::NoSuchPort => "port that the node does not have",
            Self::RepeatedPort => "port repeated",
            Self::ConflictingCable => "two cables in one port",
            Self::SelfCable => "port cabled to itself",
            Self::CableLeftOut => "cable to a node that was left out",
            Self::OneWayCable => "cable reported by one end only",
            Self::LinkDiffers => "ends of a cable disagree on width or speed",
            Self::UnassignedLid => "LID not assigned",
            Self::InvalidLid => "LID or LMC out of range",
            Self::ConflictingLid => "two LIDs for one port",
            Self::DuplicateLid => "one LID for two ports",
            Self::UnknownLid => "entry for a LID that nobody has",
            Self::MissingTable => "switch without a table",
            Self::UnknownGuid => "GUID that is not in the fabric",
            Self::RepeatedGuid => "GUID listed twice",
            Self::EmptyList => "list without any GUID",
        }
    }
}

/// Something odd in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The line, from 1.
    pub line: usize,
    /// What kind of oddity.
    pub kind: WarningKind,
    /// The case at hand, for people.
    pub text: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.text)
    }
}

/// Everything odd in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Warnings(Vec<Warning>);

impl Warnings {
    /// Whether nothing was odd.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them, in the order found.
    pub fn iter(&self) -> std::slice::Iter<'_, Warning> {
        self.0.iter()
    }

    /// How many there are of a kind.
    pub fn count(&self, kind: WarningKind) -> usize {
        self.iter().filter(|warning| warning.kind == kind).count()
    }

    /// A line for each kind: how often, and the first case in the file.
    pub fn summary(&self) -> Vec<String> {
        let mut kinds: BTreeMap<WarningKind, (usize, &Warning)> = BTreeMap::new();
        for warning in &self.0 {
            let (count, first) = kinds.entry(warning.kind).or_insert((0, warning));
            *count += 1;
            if warning.line < first.line {
                *first = warning;
            }
        }
        kinds.iter().map(|(kind, (count, first))| format!("{count} x {}, first at {first}", kind.title())).collect()
    }

    pub(crate) fn add(&mut self, line: usize, kind: WarningKind, text: impl Into<String>) {
        self.0.push(Warning { line, kind, text: text.into() });
    }
}

impl<'a> IntoIterator for &'a Warnings {
    type Item = &'a Warning;
    type IntoIter = std::slice::Iter<'a, Warning>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
