use super::deadlock::Stop;
use crate::Tally;
use heddle_fabric::{NodeIndex, PortRef};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// Why a packet was discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Discard {
    /// The switch's tables have no port for the LID.
    NoEntry,
    /// The switch's table leads to a port that it does not have, or whose link carries no data.
    LinkDown,
    /// The switch's table leads back to the port by which the packet came.
    TurnsBack,
    /// The packet came to an end port that does not have the LID.
    WrongPort,
    /// SL-to-VL mapping leads to VL 15, or to one that the link does not have.
    NoVl,
    /// The end port does not have the P_Key.
    PKey,
    /// A switch's port does not let the P_Key in.
    PKeyInbound,
    /// A switch's port does not let the P_Key out.
    PKeyOutbound,
    /// The packet is longer than the MTU of the link.
    TooLong,
    /// The packet was at the head of its queue longer than HOQLife.
    HeadOfQueue,
    /// The VL is in neither of the port's arbitration tables, so that the packet would wait for ever.
    NoTurn,
}

impl fmt::Display for Discard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoEntry => "no entry for the LID",
            Self::LinkDown => "the link is not ACTIVE",
            Self::TurnsBack => "the table leads back",
            Self::WrongPort => "wrong end port",
            Self::NoVl => "no such VL",
            Self::PKey => "P_Key not at the end port",
            Self::PKeyInbound => "P_Key not let in",
            Self::PKeyOutbound => "P_Key not let out",
            Self::TooLong => "longer than the MTU",
            Self::HeadOfQueue => "HOQ life over",
            Self::NoTurn => "VL arbitration gives the VL no turn",
        })
    }
}

/// How long packets took from the first bit sent to the last one received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latency {
    /// The shortest.
    pub min: Duration,
    /// The mean.
    pub mean: Duration,
    /// The longest.
    pub max: Duration,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// Every packet arrived or was discarded.
    Done,
    /// Packets wait that can never move again.
    Stopped(Stop),
    /// The time is over.
    OutOfTime,
}

/// What a run of traffic did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// How it ended.
    pub end: End,
    /// When, from the start of the run.
    pub at: Duration,
    /// Packets that end ports sent.
    pub sent: u64,
    /// Packets, or copies of them, that arrived.
    pub delivered: u64,
    /// Packets, or copies of them, that were discarded.
    pub discarded: BTreeMap<Discard, u64>,
    /// Packets that are on the way.
    pub underway: u64,
    /// How often a packet crossed a link.
    pub hops: u64,
    /// Of the packets that arrived; `None` if none did.
    pub latency: Option<Latency>,
    /// By port; those that counted nothing are left out. A switch's port 0 has what its manager sent and received.
    pub ports: BTreeMap<(NodeIndex, u8), Tally>,
}

impl Outcome {
    /// Whether packets wait that can never move again.
    pub fn stopped(&self) -> Option<&Stop> {
        if let End::Stopped(stop) = &self.end { Some(stop) } else { None }
    }

    /// What a port counted.
    pub fn port(&self, at: PortRef) -> Tally {
        self.ports.get(&(at.node, at.port)).cloned().unwrap_or_default()
    }
}

/// Several lines.
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, sent, delivered, underway, .. } = self;
        let end = match self.end {
            End::Done => "done",
            End::Stopped(_) => "stopped",
            End::OutOfTime => "out of time",
        };
        write!(f, "{end} after {at:?}: {sent} packets sent, {delivered} delivered, {underway} on the way")?;
        for (why, count) in &self.discarded {
            write!(f, ", {count} discarded ({why})")?;
        }
        if let Some(Latency { min, mean, max }) = self.latency {
            write!(f, "\nlatency {min:?} to {max:?}, {mean:?} on average")?;
        }
        if let End::Stopped(stop) = &self.end { write!(f, "\n{stop}") } else { Ok(()) }
    }
}
