//! Where the data blocks of the management classes lie in a MAD.

use super::Class;

/// A data block's place.
pub(crate) struct Layout {
    pub(crate) class: Class,
    /// The first byte.
    pub(crate) offset: usize,
    /// In bytes.
    pub(crate) size: usize,
}

/// IBA 14.2.1: the same for LID-routed and directed packets.
pub(crate) const SUBNET_MANAGEMENT: Layout = Layout { class: Class::SUBN_LID, offset: 64, size: 64 };
/// IBA 16.1.2.
pub(crate) const PERFORMANCE: Layout = Layout { class: Class::PERF, offset: 64, size: 192 };
/// IBA A10.4.2: the CC_Key at 24, then 32 bytes of log data, then management data.
pub(crate) const CONGESTION: Layout = Layout { class: Class::CONGESTION, offset: 64, size: 192 };
/// The congestion log fills both the log data and the management data.
pub(crate) const CONGESTION_LOG: Layout = Layout { class: Class::CONGESTION, offset: 32, size: 224 };
/// Behind the common header (IBA 16.5.1); Mellanox begins with a key of 8 bytes.
pub(crate) const MELLANOX: Layout = Layout { class: Class::MELLANOX, offset: 24, size: 232 };
