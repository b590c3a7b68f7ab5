use heddle_fabric::{Lid, SwitchIndex};

/// Proof that tables are free of deadlock: a rank for each channel, such that every dependency goes up in rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// How many virtual lanes it tells apart. With 1, the channels themselves are ranked, which holds for whatever SLs and VLs.
    pub vls: u8,
    /// By [`heddle_fabric::Fabric::channel`] and VL: channel * `vls` + VL.
    pub ranks: Vec<u32>,
    /// Whether it holds for packets from switches to switches too, and not only for traffic that has a host at one end.
    pub covers_switch_to_switch: bool,
}

/// Where a certificate does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// It is for another fabric.
    #[error("the certificate has {ranks} ranks for {vls} VLs, but the fabric has {channels} channels")]
    Size {
        /// The ranks there are.
        ranks: usize,
        /// The VLs that it tells apart.
        vls: u8,
        /// The channels there are.
        channels: usize,
    },
    /// It tells VLs apart, but the tables do not say which SLs their routes have, or use VLs that it does not know.
    #[error("the certificate is for {0} VLs, which is not what the tables use")]
    Lanes(u8),
    /// A dependency does not go up in rank.
    #[error(
        "packets to LID {lid} go from port {} of switch {} on to port {} of switch {}, which has no higher rank",
        .from.1, .from.0.0, .to.1, .to.0.0
    )]
    NotRising {
        /// Their LID.
        lid: Lid,
        /// The channel by which they come.
        from: (SwitchIndex, u8),
        /// The channel by which they go on.
        to: (SwitchIndex, u8),
    },
}
