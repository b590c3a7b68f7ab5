use crate::traffic;
use heddle_fabric::{EndPort, Fabric, Lanes, Lid, SwitchIndex, Tables};

/// Proof that tables are free of deadlock: a rank for each channel, such that every dependency goes up in rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// How many virtual lanes it tells apart. With 1, the channels themselves are ranked, which holds for whatever SLs and VLs.
    pub vls: u8,
    /// By [`Fabric::channel`] and VL: channel * `vls` + VL.
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

/// Checks a certificate, and with it that the tables are free of deadlock. It builds no graph and shares no code with [`crate::verify`]
/// but for the definition of the traffic that counts. `O(switches * LIDs)`, one thread.
///
/// # Errors
/// [`Violation`], one of them.
pub fn check_certificate(fabric: &Fabric, tables: &Tables, certificate: &Certificate) -> Result<(), Violation> {
    let (ranks, vls, channels) = (certificate.ranks.len(), certificate.vls, fabric.channel_count());
    if ranks != channels * usize::from(vls) {
        return Err(Violation::Size { ranks, vls, channels });
    }
    if vls != 1 {
        let lanes =
            tables.lanes().filter(|lanes| lanes.vls() <= vls && !certificate.covers_switch_to_switch).ok_or(Violation::Lanes(vls))?;
        return check_lanes(fabric, tables, certificate, lanes);
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

/// Follows every route from every port of a host with every SL that it may have, and to hosts from switches too.
fn check_lanes(fabric: &Fabric, tables: &Tables, certificate: &Certificate, lanes: &Lanes) -> Result<(), Violation> {
    let rank = |channel: usize, vl: u8| certificate.ranks[channel * usize::from(certificate.vls) + usize::from(vl)];
    let own = (0..fabric.switch_count() as u32).map(|switch| (SwitchIndex(switch), 0));
    let hosts = fabric.end_ports().iter().filter(|end| end.is_host()).map(|end| (end.switch, end.switch_port));
    for (source, first) in own.chain(hosts) {
        for end in fabric.end_ports().iter().filter(|end| first != 0 || traffic::counts_from_everywhere(end)) {
            for lid in end.lids() {
                let levels = lanes.levels_of(tables.row_len(), source, lid);
                for sl in (0..16).filter(|sl| levels >> sl & 1 == 1) {
                    let mut at = (source, first);
                    let mut before: Option<((SwitchIndex, u8), usize, u8)> = None;
                    // Ranks go up with each step, so this ends.
                    loop {
                        let to = (at.0, tables.port(at.0, lid));
                        let vl = lanes.row(at.0, at.1, to.1)[sl];
                        let Some((channel, _)) = channel(fabric, to).filter(|_| vl < certificate.vls) else { break };
                        if let Some((from, passed, vl_before)) = before
                            && rank(passed, vl_before) >= rank(channel, vl)
                        {
                            return Err(Violation::NotRising { lid, from, to });
                        }
                        before = Some((to, channel, vl));
                        let Some(next) = fabric.channel_peer(channel) else { break };
                        at = next;
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
