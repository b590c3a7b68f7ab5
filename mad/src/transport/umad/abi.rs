//! The kernel's binary interface (`include/uapi/rdma/ib_user_mad.h`), as bytes at offsets.

use crate::transport::{Address, Envelope};
use crate::wire::{Class, Mad};

/// The size of the header before a MAD. The 56-byte form lacks the P_Key index at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// Since ENABLE_PKEY, or any registration by REGISTER_AGENT2.
    New = 64,
    /// Before, and in ibsim's preload library.
    Old = 56,
}

/// Enough for a header and a MAD in either layout.
pub(super) const PACKET_MAX: usize = Layout::New as usize + 256;

/// A MAD's common header: what the kernel gives back of a request that timed out.
const MAD_HEADER: usize = 24;

const AGENT: usize = 0;
const STATUS: usize = 4;
const TIMEOUT_MS: usize = 8;
const LENGTH: usize = 16;
const QPN: usize = 20;
const QKEY: usize = 24;
const LID: usize = 28;

const PERMISSIVE_LID: u16 = 0xffff;
/// The Q_Key of every queue pair 1 (IBA 10.2.5); queue pair 0 has none.
const QP1_QKEY: u32 = 0x8001_0000;

/// A packet to write: the header of this layout, then the MAD. Host byte order except for what goes on the wire.
pub(super) fn encode(envelope: &Envelope, layout: Layout, agent: u32, timeout_ms: u32) -> Vec<u8> {
    let (lid, qp) = match envelope.address {
        Address::Directed => (PERMISSIVE_LID, 0),
        Address::Lid { lid, qp } => (lid, qp),
    };
    let qkey = if qp == 0 { 0 } else { QP1_QKEY };
    let mut packet = vec![0; layout as usize];
    packet[AGENT..][..4].copy_from_slice(&agent.to_ne_bytes());
    packet[TIMEOUT_MS..][..4].copy_from_slice(&timeout_ms.to_ne_bytes());
    packet[LENGTH..][..4].copy_from_slice(&(envelope.mad.0.len() as u32).to_ne_bytes());
    packet[QPN..][..4].copy_from_slice(&qp.to_be_bytes());
    packet[QKEY..][..4].copy_from_slice(&qkey.to_be_bytes());
    packet[LID..][..2].copy_from_slice(&lid.to_be_bytes());
    packet.extend_from_slice(&envelope.mad.0);
    packet
}

/// A packet that was read: the status (0, or an error number for a request that came back) and what it holds. `None` when there is not
/// even a MAD header. The kernel returns the header of a timed-out MAD only; the missing bytes are zero.
pub(super) fn decode(packet: &[u8], layout: Layout) -> Option<(u32, Envelope)> {
    let mad_bytes = packet.get(layout as usize..).filter(|bytes| bytes.len() >= MAD_HEADER)?;
    let word = |at: usize| [packet[at], packet[at + 1], packet[at + 2], packet[at + 3]];
    let mut mad = Mad([0; 256]);
    let length = mad_bytes.len().min(mad.0.len());
    mad.0[..length].copy_from_slice(&mad_bytes[..length]);
    let address = if mad.class() == Class::SUBN_DIRECTED {
        Address::Directed
    } else {
        Address::Lid { lid: u16::from_be_bytes([packet[LID], packet[LID + 1]]), qp: u32::from_be_bytes(word(QPN)) }
    };
    Some((u32::from_ne_bytes(word(STATUS)), Envelope { address, mad }))
}

/// The argument of REGISTER_AGENT.
pub(super) type Registration = [u8; 28];
/// The argument of REGISTER_AGENT2.
pub(super) type Registration2 = [u8; 40];

/// Registers for a class on queue pair 0, to receive requests with these methods (bit n: method n). The id is at offset 0 of the answer.
pub(super) fn registration(class: Class, methods: u64) -> Registration {
    let mut argument = [0; 28];
    // The kernel takes an array of longs for what the header calls 32-bit words: on little-endian machines the same bits.
    argument[4..12].copy_from_slice(&methods.to_ne_bytes());
    argument[21] = class.0;
    argument[22] = CLASS_VERSION;
    argument
}

/// The same for REGISTER_AGENT2.
pub(super) fn registration2(class: Class, methods: u64) -> Registration2 {
    let mut argument = [0; 40];
    argument[8] = class.0;
    argument[9] = CLASS_VERSION;
    argument[16..24].copy_from_slice(&methods.to_ne_bytes());
    argument
}

/// The agent's id in the answer to either registration.
pub(super) fn agent_id(argument: &[u8]) -> u32 {
    u32::from_ne_bytes([argument[0], argument[1], argument[2], argument[3]])
}

/// Of subnet management (IBA 14.2.1).
const CLASS_VERSION: u8 = 1;

/// ioctl group of umad.
const MAGIC: u8 = 0x1b;
nix::ioctl_readwrite!(register_agent, MAGIC, 1, Registration);
nix::ioctl_none!(enable_pkey, MAGIC, 3);
nix::ioctl_readwrite!(register_agent2, MAGIC, 4, Registration2);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{AttributeId, Method, Path};
    use proptest::prelude::*;

    /// As printed by a C program from the system's `rdma/ib_user_mad.h`.
    #[test]
    fn ioctl_numbers() {
        assert_eq!(nix::request_code_readwrite!(MAGIC, 1, size_of::<Registration>()), 0xc01c_1b01);
        assert_eq!(nix::request_code_none!(MAGIC, 3), 0x1b03);
        assert_eq!(nix::request_code_readwrite!(MAGIC, 4, size_of::<Registration2>()), 0xc028_1b04);
    }

    #[test]
    fn registrations() {
        let mut expected = [0; 28];
        expected[4] = 0b110;
        expected[21..23].copy_from_slice(&[0x81, 1]);
        assert_eq!(registration(Class::SUBN_DIRECTED, 0b110), expected);
        let mut expected = [0; 40];
        expected[8..10].copy_from_slice(&[1, 1]);
        expected[16] = 0b110;
        assert_eq!(registration2(Class::SUBN_LID, 0b110), expected);
    }

    #[test]
    fn packets() {
        let mad = Mad::request(Class::SUBN_LID, 1, Method::GET, AttributeId(0x11), 0);
        let envelope = Envelope { address: Address::Lid { lid: 0x1234, qp: 1 }, mad };
        for (layout, size) in [(Layout::Old, 56), (Layout::New, 64)] {
            let packet = encode(&envelope, layout, 3, 200);
            let mut expected = vec![0; size];
            expected[0..4].copy_from_slice(&3_u32.to_ne_bytes());
            expected[8..12].copy_from_slice(&200_u32.to_ne_bytes());
            expected[16..20].copy_from_slice(&256_u32.to_ne_bytes());
            expected[20..30].copy_from_slice(&[0, 0, 0, 1, 0x80, 1, 0, 0, 0x12, 0x34]);
            expected.extend_from_slice(&mad.0);
            assert_eq!(packet, expected);
            assert_eq!(decode(&packet, layout), Some((0, envelope.clone())));
        }
        let mad = Mad::directed(&Path::local(), Method::GET, AttributeId(0x11), 0);
        let packet = encode(&Envelope { address: Address::Directed, mad }, Layout::New, 0, 0);
        assert_eq!(packet[20..30], [0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]);
    }

    /// The kernel's report of a request that timed out: status 110 and 24 bytes of MAD.
    #[test]
    fn a_short_report_of_a_timeout() {
        let mad = Mad::directed(&Path::local(), Method::GET, AttributeId(0x11), 7);
        let mut packet = encode(&Envelope { address: Address::Directed, mad }, Layout::New, 0, 0);
        packet[4..8].copy_from_slice(&110_u32.to_ne_bytes());
        packet.truncate(64 + 24);
        let (status, envelope) = decode(&packet, Layout::New).unwrap();
        assert_eq!((status, envelope.address, &envelope.mad.0[..24]), (110, Address::Directed, &mad.0[..24]));
        packet.truncate(64 + 23);
        assert_eq!(decode(&packet, Layout::New), None);
    }

    proptest! {
        #[test]
        fn any_bytes_decode_or_do_not(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            for layout in [Layout::Old, Layout::New] {
                let enough = bytes.len() >= layout as usize + MAD_HEADER;
                prop_assert_eq!(decode(&bytes, layout).is_some(), enough);
            }
        }
    }
}
