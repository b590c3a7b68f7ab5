use crate::traffic;
use heddle_fabric::{Fabric, Lid, SwitchIndex, Tables};

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
/// [`Violation`], the first one by LID.
pub fn check_certificate(fabric: &Fabric, tables: &Tables, certificate: &Certificate) -> Result<(), Violation> {
    let (ranks, channels) = (certificate.ranks.len(), fabric.channel_count());
    if ranks != channels {
        return Err(Violation::Size { ranks, channels });
    }
    let all_switches: Vec<SwitchIndex> = (0..fabric.switch_count() as u32).map(SwitchIndex).collect();
    let host_switches: Vec<SwitchIndex> = traffic::host_switches(fabric).into_iter().map(|(switch, _)| switch).collect();
    for end in fabric.end_ports() {
        for lid in end.lids() {
            if certificate.covers_switch_to_switch || traffic::counts_from_everywhere(end) {
                for &switch in &all_switches {
                    step(fabric, tables, certificate, lid, switch)?;
                }
            } else {
                for &source in &host_switches {
                    let mut at = Some(source);
                    // Ranks go up with each step, so this ends.
                    while let Some(switch) = at {
                        at = step(fabric, tables, certificate, lid, switch)?;
                    }
                }
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
    match channel_ranks(fabric, certificate, channel, to) {
        Some((own, after)) if own >= after => Err(Violation::NotRising { lid, from, to }),
        _ => Ok(Some(next)),
    }
}

/// A port's channel and the switch at its end; `None` if the port is not there, or leads to no other switch.
fn channel(fabric: &Fabric, (switch, port): (SwitchIndex, u8)) -> Option<(usize, SwitchIndex)> {
    let channel = (port <= fabric.switch(switch).num_ports).then(|| fabric.channel(switch, port))?;
    fabric.channel_peer(channel).map(|(peer, _)| (channel, peer))
}

/// The ranks of a channel and of the one after it, if that leads to another switch.
fn channel_ranks(fabric: &Fabric, certificate: &Certificate, own: usize, to: (SwitchIndex, u8)) -> Option<(u32, u32)> {
    channel(fabric, to).map(|(after, _)| (certificate.ranks[own], certificate.ranks[after]))
}
