use crate::{Certificate, Violation};
use heddle_fabric::{Fabric, Lanes, Lid, SwitchIndex, Tables};

/// Checks a certificate, and with it that the tables are free of deadlock: every packet of the traffic that counts is followed, and each
/// channel that it takes must have a higher rank than the one before. Then no channels can wait for each other in a circle.
///
/// It builds no graph and shares no code with [`crate::verify`], so that this file and heddle-fabric are all that one has to trust.
/// `O(switches * LIDs)` for certificates of one VL, `O(hosts * LIDs * hops * SLs)` for others; one thread.
///
/// # Errors
/// [`Violation`], one of them.
pub fn check_certificate(fabric: &Fabric, tables: &Tables, certificate: &Certificate) -> Result<(), Violation> {
    let Certificate { vls, ref ranks, covers_switch_to_switch: all } = *certificate;
    if ranks.len() != fabric.channel_count() * usize::from(vls) {
        return Err(Violation::Size { ranks: ranks.len(), vls, channels: fabric.channel_count() });
    }
    // Ranks of channels alone hold for whatever VLs. Others hold for the VLs and SLs that the tables know.
    let lanes = if vls == 1 { None } else { Some(tables.lanes().filter(|lanes| lanes.vls() <= vls && !all).ok_or(Violation::Lanes(vls))?) };
    for source in (0..fabric.switch_count() as u32).map(SwitchIndex) {
        let here = fabric.end_ports().iter().filter(|end| end.is_host() && end.switch == source);
        let hosts: Vec<u8> = here.map(|end| end.switch_port).collect();
        for to in fabric.end_ports() {
            // From the switch itself, all packets to hosts count.
            let from_itself = all || to.is_host();
            for lid in to.lids() {
                let route = Route { fabric, tables, certificate, lid };
                if let Some(lanes) = lanes {
                    let levels_of = |from, to| lanes.levels_of(tables.row_len(), from, to);
                    let mut levels = levels_of(source, lid);
                    if levels == 0 && hosts.is_empty() {
                        // A switch without hosts answers, with the SL of the question.
                        let own = fabric.end_ports().iter().find(|end| !end.is_host() && end.switch == source);
                        levels = own.map_or(0, |own| levels_of(to.switch, own.lid));
                        levels = if levels == 0 { lanes.used_levels() } else { levels };
                    }
                    let entries = from_itself.then_some(0).into_iter().chain(hosts.iter().copied());
                    for (entry, sl) in entries.flat_map(|entry| (0..16).map(move |sl| (entry, sl))).filter(|(_, sl)| levels >> sl & 1 == 1)
                    {
                        route.check((source, entry), Some((lanes, sl)), usize::MAX)?;
                    }
                } else if from_itself {
                    // These come from every switch: each step of a route is also the first of one that begins there.
                    route.check((source, 0), None, 2)?;
                } else if !hosts.is_empty() {
                    route.check((source, 0), None, usize::MAX)?;
                }
            }
        }
    }
    Ok(())
}

/// The way of packets to a LID.
struct Route<'a> {
    fabric: &'a Fabric,
    tables: &'a Tables,
    certificate: &'a Certificate,
    lid: Lid,
}

impl Route<'_> {
    /// Follows a packet that comes to a switch by a port of entry (0: the switch's own) over so many channels at most. It ends, since ranks go
    /// up with every step.
    fn check(&self, from: (SwitchIndex, u8), level: Option<(&Lanes, usize)>, channels: usize) -> Result<(), Violation> {
        let (mut at, mut before) = (from, None);
        for _ in 0..channels {
            let (switch, entry) = at;
            let exit = self.tables.port(switch, self.lid);
            let vl = level.map_or(0, |(lanes, sl)| lanes.row(switch, entry, exit)[sl]);
            if exit > self.fabric.switch(switch).num_ports || vl >= self.certificate.vls {
                break; // no such port, or dropped
            }
            let channel = self.fabric.channel(switch, exit);
            let Some(next) = self.fabric.channel_peer(channel) else { break };
            let rank = self.certificate.ranks[channel * usize::from(self.certificate.vls) + usize::from(vl)];
            match before {
                Some((rank_before, from)) if rank <= rank_before => {
                    return Err(Violation::NotRising { lid: self.lid, from, to: (switch, exit) });
                }
                _ => (at, before) = (next, Some((rank, (switch, exit)))),
            }
        }
        Ok(())
    }
}
