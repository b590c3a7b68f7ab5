//! Reading of fabric dumps: what is common to all formats.

mod assemble;
mod detect;
mod ibnetdiscover;
mod lanes;
mod lfts;
mod lines;
mod lists;
mod multicast;
mod oneline;
mod warnings;

pub use lanes::{read_path_sl, read_sl2vl};
pub use lfts::read_lfts;
pub use lists::{PortWeights, read_guids, read_ids, read_port_orders, read_port_weights, read_ports};
pub use multicast::{read_groups, read_mfts};
pub use warnings::{Warning, WarningKind, Warnings};

use heddle_fabric::{FabricBuilder, PortRef};
use lines::{Line, Lines};
use std::fmt;
use std::str::FromStr;

/// A format that [`read`] takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// What `ibnetdiscover` prints, also with `-f` or `-g`.
    Ibnetdiscover,
    /// What `ibnetdiscover -p` prints: a port a line.
    ///
    /// Such a line names a switch by its GUID, but a CA only by the GUID of the port: each port of a CA becomes a node of its own with
    /// that GUID. Port counts are not told: a node has as many ports as the highest port named.
    IbnetdiscoverPorts,
    /// An ibsim netlist: as [`Format::Ibnetdiscover`], but GUIDs, LIDs and comments may be missing and node ids may be any words.
    ///
    /// A node without a GUID gets one that only depends on its id (an FNV-1a hash below `0x02` as first byte, the mark of locally made
    /// numbers), so that the same netlist always gives the same GUIDs.
    IbsimNetlist,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 3] = [Self::Ibnetdiscover, Self::IbnetdiscoverPorts, Self::IbsimNetlist];

    /// The name, as [`Format::from_str`] takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ibnetdiscover => "ibnetdiscover",
            Self::IbnetdiscoverPorts => "ibnetdiscover-p",
            Self::IbsimNetlist => "ibsim",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        Self::ALL.into_iter().find(|format| format.name() == name).ok_or_else(|| UnknownFormat(name.to_owned()))
    }
}

/// Not the name of a format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no format \"{0}\"; ibnetdiscover, ibnetdiscover-p and ibsim can be read")]
pub struct UnknownFormat(pub String);

/// A fabric that was read, and what was odd about the file.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The fabric, nodes in the order of the file. LIDs are those of the file; where none are valid,
    /// [`FabricBuilder::assign_lids`] gives some.
    pub builder: FabricBuilder,
    /// The format found.
    pub format: Format,
    /// What was odd.
    pub warnings: Warnings,
    /// Where a subnet manager would sit: the port that `ibnetdiscover` was started on, if the file says so; in a netlist the first
    /// port of the file.
    pub sm_port: Option<PortRef>,
}

/// Why a file is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}:{line}:{column}: {reason}")]
pub struct ReadError {
    /// The file's name, as given to the reader.
    pub name: String,
    /// The line, from 1.
    pub line: usize,
    /// The byte in the line, from 1.
    pub column: usize,
    /// What is wrong and what would be right.
    pub reason: String,
}

/// Where in a file something is wrong; becomes a [`ReadError`] when the file's name is known.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) reason: String,
}

impl Fault {
    pub(crate) fn in_file(self, name: &str) -> ReadError {
        ReadError { name: name.to_owned(), line: self.line, column: self.column, reason: self.reason }
    }
}

/// Reads a fabric. `name` is what messages call the file; without a `format` the content decides. `O(bytes · log nodes)`.
///
/// What loads with a warning and what is refused is listed at [`WarningKind`]; decisions of note:
/// - two records of one node: the first is kept;
/// - a cable that the two ends describe differently: the narrower and slower description is kept;
/// - a node that is named only by its neighbours is added, its kind taken from its id, with as many ports as are named.
///
/// # Errors
/// [`ReadError`] for an empty file, another format (named where it is recognised), a file without any node, a record whose first line
/// cannot be read, a node with no or more than 254 ports, more nodes than a subnet has unicast LIDs, and `include`.
pub fn read(bytes: &[u8], name: &str, format: Option<Format>) -> Result<Loaded, ReadError> {
    read_bytes(bytes, format).map_err(|fault| fault.in_file(name))
}

fn read_bytes(bytes: &[u8], format: Option<Format>) -> Result<Loaded, Fault> {
    let mut warnings = Warnings::default();
    let bytes = lines::without_mark(bytes, &mut warnings)?;
    let format = match format {
        Some(format) => format,
        None => detect::format(bytes)?,
    };
    match format {
        Format::IbnetdiscoverPorts => oneline::read(bytes, warnings),
        Format::Ibnetdiscover | Format::IbsimNetlist => ibnetdiscover::read(bytes, format, warnings),
    }
}
