use crate::traffic;
use heddle_fabric::{EndPort, Fabric, Lid, SwitchIndex, Tables};

/// Proof that tables are free of deadlock: a rank for each channel, such that every dependency goes up in rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// By [`Fabric::channel`].
    pub ranks: Vec<u32>,
    /// Whether it holds for packets from switches to switches too, and not only for traffic that has a host at one end.
    pub covers_switch_to_switch: bool,
}

/// Where a certificate does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// It is for another fabric.
    #[error("the certificate has {ranks} ranks, but the fabric has {channels} channels")]
    Size {
        /// The ranks there are.
        ranks: usize,
        /// The channels there are.
        channels: usize,
    },
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

/// Checks a certificate, and with it that the tables are free of deadlock. It builds no graph and shares no code with [`crate::verify`]
/// but for the definition of the traffic that counts. `O(switches * LIDs)`, one thread.
///
/// # Errors
/// [`Violation`], one of them.
pub fn check_certificate(fabric: &Fabric, tables: &Tables, certificate: &Certificate) -> Result<(), Violation> {
    let (ranks, channels) = (certificate.ranks.len(), fabric.channel_count());
    if ranks != channels {
        return Err(Violation::Size { ranks, channels });
    }
    let lids_that = |everywhere: bool| -> Vec<Lid> {
        let counts = |end: &&EndPort| (certificate.covers_switch_to_switch || traffic::counts_from_everywhere(end)) == everywhere;
        fabric.end_ports().iter().filter(counts).flat_map(EndPort::lids).collect()
    };
    // In blocks, since a table's row is one after another in memory.
    for lids in lids_that(true).chunks(64) {
        for switch in (0..fabric.switch_count() as u32).map(SwitchIndex) {
            for &lid in lids {
                step(fabric, tables, certificate, lid, switch)?;
            }
        }
    }
    let sources = traffic::host_switches(fabric);
    for lid in lids_that(false) {
        for &(source, _) in &sources {
            let mut at = Some(source);
            // Ranks go up with each step, so this ends.
            while let Some(switch) = at {
                at = step(fabric, tables, certificate, lid, switch)?;
            }
        }
    }
    Ok(())
}

/// Checks one step of a packet on its way, and gives the switch that it comes to, if any.
fn step(
    fabric: &Fabric,
    tables: &Tables,
    certificate: &Certificate,
    lid: Lid,
    switch: SwitchIndex,
) -> Result<Option<SwitchIndex>, Violation> {
    let from = (switch, tables.port(switch, lid));
    let Some((channel, next)) = channel(fabric, from) else { return Ok(None) };
    let to = (next, tables.port(next, lid));
    match self::channel(fabric, to) {
        Some((after, _)) if certificate.ranks[channel] >= certificate.ranks[after] => Err(Violation::NotRising { lid, from, to }),
        _ => Ok(Some(next)),
    }
}

/// A port's channel and the switch at its end; `None` if the port is not there, or leads to no other switch.
fn channel(fabric: &Fabric, (switch, port): (SwitchIndex, u8)) -> Option<(usize, SwitchIndex)> {
    let channel = (port <= fabric.switch(switch).num_ports).then(|| fabric.channel(switch, port))?;
    fabric.channel_peer(channel).map(|(peer, _)| (channel, peer))
}
