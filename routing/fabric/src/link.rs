use serde::Serialize;
use std::fmt;

/// How wide a link is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LinkWidth {
    /// One lane.
    X1,
    /// Two lanes.
    X2,
    /// Four lanes.
    X4,
    /// Eight lanes.
    X8,
    /// Twelve lanes.
    X12,
}

impl LinkWidth {
    /// All widths, narrow to wide.
    pub const ALL: [Self; 5] = [Self::X1, Self::X2, Self::X4, Self::X8, Self::X12];

    /// The number of lanes.
    pub const fn lanes(self) -> u32 {
        match self {
            Self::X1 => 1,
            Self::X2 => 2,
            Self::X4 => 4,
            Self::X8 => 8,
            Self::X12 => 12,
        }
    }
}

/// As the stock tools write it: `4x`.
impl fmt::Display for LinkWidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x", self.lanes())
    }
}

/// How fast each lane of a link is. FDR10 is a speed of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum LinkSpeed {
    /// 2.5 Gb/s a lane.
    Sdr,
    /// 5 Gb/s.
    Ddr,
    /// 10 Gb/s.
    Qdr,
    /// 10.3125 Gb/s with the efficient coding of FDR.
    Fdr10,
    /// 14.0625 Gb/s.
    Fdr,
    /// 25.78125 Gb/s.
    Edr,
    /// 53.125 Gb/s.
    Hdr,
    /// 106.25 Gb/s.
    Ndr,
    /// 212.5 Gb/s.
    Xdr,
}

impl LinkSpeed {
    /// All speeds, slow to fast.
    pub const ALL: [Self; 9] = [Self::Sdr, Self::Ddr, Self::Qdr, Self::Fdr10, Self::Fdr, Self::Edr, Self::Hdr, Self::Ndr, Self::Xdr];

    /// The data that one lane carries, in Mb/s: what is left of the signalling rate after line coding.
    pub const fn megabits(self) -> u32 {
        match self {
            Self::Sdr => 2_000,
            Self::Ddr => 4_000,
            Self::Qdr => 8_000,
            Self::Fdr10 => 10_000,
            Self::Fdr => 13_636,
            Self::Edr => 25_000,
            Self::Hdr => 50_000,
            Self::Ndr => 100_000,
            Self::Xdr => 200_000,
        }
    }

    /// The usual name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sdr => "SDR",
            Self::Ddr => "DDR",
            Self::Qdr => "QDR",
            Self::Fdr10 => "FDR10",
            Self::Fdr => "FDR",
            Self::Edr => "EDR",
            Self::Hdr => "HDR",
            Self::Ndr => "NDR",
            Self::Xdr => "XDR",
        }
    }
}

impl fmt::Display for LinkSpeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What is known of a cable. A dump without these loads; `None` is "not known".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Link {
    /// The active width.
    pub width: Option<LinkWidth>,
    /// The active speed.
    pub speed: Option<LinkSpeed>,
}

impl Link {
    /// The data that the link carries, in Mb/s; `None` if the width or the speed is not known.
    pub fn megabits(self) -> Option<u32> {
        Some(self.width?.lanes() * self.speed?.megabits())
    }
}
