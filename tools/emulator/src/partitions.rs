//! Partitions: who may speak with whom (IBA 10.9). And Q_Keys, whose violations are told in the same way.

use crate::network::Network;
use crate::packet::Packet;
use crate::travel::{Lost, LostWhy};
use heddle_fabric::PortRef;
use heddle_mad::wire::{Attribute, Gid, PKeyTable, TrapDetails};

/// In a P_Key: full member of the partition.
const FULL: u16 = 0x8000;

/// Trap 259's DataValid: the LIDs, the P_Key, the SL and the queue pairs are told, the GIDs are not.
const TOLD_BY_SWITCH: u16 = 0b11_1111;

/// Whether the bearers of two P_Keys may speak with each other: members of one partition, at least one of them a full one (IBA 10.9.3).
/// Partition 0 is none.
pub(crate) fn p_keys_match(a: u16, b: u16) -> bool {
    let partition = a & !FULL;
    partition != 0 && partition == b & !FULL && (a | b) & FULL != 0
}

/// Which way a packet passes a cable port of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passing {
    In,
    Out,
}

impl Network {
    /// Whether a packet with `p_key` may pass a port with a cable: only switches look, and only where PartitionEnforcementInbound or
    /// PartitionEnforcementOutbound says so. `O(P_Keys)`.
    pub(crate) fn lets_pass(&self, at: PortRef, passing: Passing, p_key: u16) -> bool {
        let Some(port) = self.port(at) else { return false };
        let enforces = match passing {
            Passing::In => port.info.partition_enforcement_inbound(),
            Passing::Out => port.info.partition_enforcement_outbound(),
        };
        !enforces || self.takes(at, p_key)
    }

    /// Whether an end port takes a packet with `p_key`. `O(P_Keys)`.
    pub(crate) fn takes(&self, at: PortRef, p_key: u16) -> bool {
        self.p_keys(at).any(|own| p_keys_match(own, p_key))
    }

    /// The P_Keys of a port, in the order of their indices, empty entries included.
    pub(crate) fn p_keys(&self, at: PortRef) -> impl Iterator<Item = u16> {
        let entries = usize::from(self.p_key_cap(at));
        let blocks = (0..entries.div_ceil(PKeyTable::P_KEYS) as u32).map(move |block| PKeyTable::from_bytes(self.p_key_block(at, block)));
        blocks.flat_map(|block| block.p_keys()).take(entries)
    }

    /// Counts a packet that goes no further for its P_Key, where it is refused.
    pub(crate) fn wrong_p_key(&mut self, at: PortRef, passing: Passing) -> Lost {
        let is_end = self.end_port(at) == at;
        if let Some(port) = self.port_mut(at) {
            match passing {
                _ if is_end => port.info.set_p_key_violations(port.info.p_key_violations().saturating_add(1)),
                Passing::In => port.tally.rcv_constraint_errors += 1,
                Passing::Out => port.tally.xmit_constraint_errors += 1,
            }
        }
        Lost { at, why: LostWhy::WrongPKey }
    }

    /// Counts a packet that goes no further for its Q_Key.
    pub(crate) fn wrong_q_key(&mut self, at: PortRef) -> Lost {
        if let Some(port) = self.port_mut(at) {
            port.info.set_q_key_violations(port.info.q_key_violations().saturating_add(1));
        }
        Lost { at, why: LostWhy::WrongQKey }
    }

    /// What a lost packet gives cause to tell, if it had a wrong key: trap 257 of an end port, 258, or 259 of a cable port of a switch
    /// (IBA 14.2.5.1).
    pub(crate) fn violation(&self, lost: &Lost, packet: &Packet) -> Option<TrapDetails> {
        let Packet { slid: lid_1, dlid: lid_2, sl, p_key, q_key, src_qp: qp_1, dst_qp: qp_2, .. } = *packet;
        let (gid_1, gid_2) = (Gid::default(), Gid::default()); // there is no GRH
        let at = lost.at;
        Some(match lost.why {
            LostWhy::WrongQKey => TrapDetails::BadQKey { lid_1, lid_2, key: q_key, sl, qp_1, qp_2, gid_1, gid_2 },
            LostWhy::WrongPKey if self.end_port(at) == at => {
                TrapDetails::BadPKey { lid_1, lid_2, key: p_key.into(), sl, qp_1, qp_2, gid_1, gid_2 }
            }
            LostWhy::WrongPKey => {
                let (data_valid, switch_lid, port) = (TOLD_BY_SWITCH, self.lid(self.end_port(at)), at.port);
                TrapDetails::BadPKeyAtSwitch { data_valid, lid_1, lid_2, p_key, sl, qp_1, qp_2, gid_1, gid_2, switch_lid, port }
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of IBA 10.9.3.
    #[test]
    fn two_limited_members_do_not_speak_and_zero_is_no_partition() {
        for (a, b, expected) in [
            (0xffff, 0xffff, true),
            (0xffff, 0x7fff, true),
            (0x7fff, 0xffff, true),
            (0x7fff, 0x7fff, false),
            (0x8001, 0x0001, true),
            (0x8001, 0x8002, false),
            (0x8001, 0xffff, false),
            (0x8000, 0x8000, false),
            (0x0000, 0x8000, false),
            (0x0000, 0x0000, false),
        ] {
            assert_eq!(p_keys_match(a, b), expected, "{a:#06x} and {b:#06x}");
        }
    }
}
