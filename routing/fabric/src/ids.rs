use serde::{Serialize, Serializer};
use std::fmt;

/// A 64-bit GUID. Printed as `0x` and 16 digits.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Guid(pub u64);

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#018x}", self.0)
    }
}

impl fmt::Debug for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// As text, since JSON numbers lose bits beyond 53.
impl Serialize for Guid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A unicast LID, 0x0001 to 0xbfff (IBA 4.1.3): a number that can address a port.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Lid(u16);

impl Lid {
    /// The largest unicast LID.
    pub const MAX: Self = Self(0xbfff);

    /// `lid` as a unicast LID; `None` for 0, multicast and the permissive LID.
    pub const fn new(lid: u16) -> Option<Self> {
        if lid >= 1 && lid <= Self::MAX.0 { Some(Self(lid)) } else { None }
    }

    /// The number.
    pub const fn get(self) -> u16 {
        self.0
    }

    /// As an index into a forwarding table's row.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for Lid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Lid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LID {}", self.0)
    }
}

/// What kind of node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeKind {
    /// A host's channel adapter (or a switch's aggregation node, which is one too).
    Ca,
    /// A router between subnets: to routing an end port like a CA.
    Router,
    /// A switch.
    Switch,
}

/// A node of one fabric: an index into [`crate::Fabric::nodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeIndex(pub u32);

impl NodeIndex {
    /// As an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A switch of one fabric, dense from 0: a row of the forwarding tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SwitchIndex(pub u32);

impl SwitchIndex {
    /// As an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A port of a node. Port 0 is a switch's own management port; cables are at 1 to 254.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortRef {
    /// The node.
    pub node: NodeIndex,
    /// The port's number on it.
    pub port: u8,
}

impl PortRef {
    /// Port `port` of `node`.
    pub const fn new(node: NodeIndex, port: u8) -> Self {
        Self { node, port }
    }
}
