//! What the data details of a trap mean, by trap number (IBA 14.2.5.1 and 14.3; layout also in OpenSM's ib_types.h).

use super::Field;
use bitflags::bitflags;
use std::fmt;

/// Declares [`TrapDetails`]: for each variant its trap numbers and its fields as `name: type = "Name" @ bit, width;`, the bit counted from
/// the start of the Notice.
macro_rules! trap_details {
    ($(
        $(#[$doc:meta])*
        $variant:ident = $number:literal {
            $( $(#[$field_doc:meta])* $field:ident: $type:ty = $label:literal @ $bit:literal, $width:literal; )*
        }
    )*) => {
        /// What happened, by trap number.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum TrapDetails {
            $(
                $(#[$doc])*
                #[doc = concat!("Trap ", $number, ".")]
                $variant {
                    $(
                        $(#[$field_doc])*
                        #[doc = concat!("`", $label, "`.")]
                        $field: $type,
                    )*
                },
            )*
        }

        impl TrapDetails {
            /// All trap numbers that have details, ascending.
            pub const NUMBERS: &'static [u16] = &[$($number),*];

            /// The fields of a trap's details, as bits of the Notice; the wider ones in pieces of at most 64 bits.
            pub fn fields(number: u16) -> Option<Vec<Field>> {
                match number {
                    $( $number => Some([$(pieces($label, $bit, $width)),*].concat()), )*
                    _ => None,
                }
            }

            /// The trap number.
            pub const fn number(&self) -> u16 {
                match self {
                    $( Self::$variant { .. } => $number, )*
                }
            }

            pub(super) fn read(number: u16, notice: &[u8; 64]) -> Option<Self> {
                match number {
                    $( $number => Some(Self::$variant { $($field: Detail::read(&pieces($label, $bit, $width), notice),)* }), )*
                    _ => None,
                }
            }

            pub(super) fn write(&self, notice: &mut [u8; 64]) {
                match self {
                    $( Self::$variant { $($field),* } => {
                        $( Detail::write($field, &pieces($label, $bit, $width), notice); )*
                    } )*
                }
            }
        }
    };
}

trap_details! {
    /// A port's GID can be reached now.
    GidInService = 64 {
        gid: Gid = "GIDADDR" @ 128, 128;
    }
    /// A port's GID cannot be reached any more.
    GidOutOfService = 65 {
        gid: Gid = "GIDADDR" @ 128, 128;
    }
    /// A multicast group was created.
    MulticastGroupCreated = 66 {
        gid: Gid = "GIDADDR" @ 128, 128;
    }
    /// A multicast group was deleted.
    MulticastGroupDeleted = 67 {
        gid: Gid = "GIDADDR" @ 128, 128;
    }
    /// The state of some port of a switch changed.
    LinkStateChange = 128 {
        /// The switch.
        lid: u16 = "LIDADDR" @ 80, 16;
    }
    /// Too many errors on the local link.
    LocalLinkIntegrity = 129 {
        lid: u16 = "LIDADDR" @ 96, 16;
        port: u8 = "PORTNO" @ 112, 8;
    }
    /// Too many times more packets than the buffers hold.
    ExcessiveBufferOverrun = 130 {
        lid: u16 = "LIDADDR" @ 96, 16;
        port: u8 = "PORTNO" @ 112, 8;
    }
    /// The partner on the link stopped to grant credits.
    FlowControlUpdateWatchdog = 131 {
        lid: u16 = "LIDADDR" @ 96, 16;
        port: u8 = "PORTNO" @ 112, 8;
    }
    /// The capability mask or something else about a port changed.
    LocalChange = 144 {
        lid: u16 = "LIDADDR" @ 96, 16;
        /// Whether `changes` means anything.
        other_local_changes: bool = "OtherLocalChanges" @ 127, 1;
        /// The capability mask as it is now.
        capability_mask: u32 = "CAPABILITYMASK" @ 128, 32;
        changes: LocalChanges = "ChangeFlags" @ 160, 16;
        /// The second capability mask as it is now, where `changes` says that it changed.
        capability_mask_2: u16 = "CAPABILITYMASK2" @ 176, 16;
    }
    /// The system image GUID changed.
    SystemImageGuidChange = 145 {
        lid: u16 = "LIDADDR" @ 96, 16;
        /// The GUID as it is now.
        system_image_guid: u64 = "SYSTEMIMAGEGUID" @ 128, 64;
    }
    /// A subnet management packet with a wrong M_Key.
    BadMKey = 256 {
        /// Where the packet came from.
        lid: u16 = "LIDADDR" @ 96, 16;
        dr_slid: u16 = "DRSLID" @ 112, 16;
        method: u8 = "METHOD" @ 128, 8;
        attribute_id: u16 = "ATTRIBUTEID" @ 144, 16;
        modifier: u32 = "ATTRIBUTEMODIFIER" @ 160, 32;
        m_key: u64 = "MKEY" @ 192, 64;
        /// Whether the packet came by directed route.
        dr_notice: bool = "DRNotice" @ 264, 1;
        /// Whether the return path was too long for this notice.
        dr_path_truncated: bool = "DRPathTruncated" @ 265, 1;
        dr_hop_count: u8 = "DRHopCount" @ 266, 6;
        dr_return_path: [u8; 30] = "DRNoticeReturnPath" @ 272, 240;
    }
    /// A packet with a wrong P_Key at an adapter's port.
    BadPKey = 257 {
        /// The sender.
        lid_1: u16 = "LIDADDR1" @ 96, 16;
        /// The receiver.
        lid_2: u16 = "LIDADDR2" @ 112, 16;
        key: u32 = "KEY" @ 128, 32;
        sl: u8 = "SL" @ 160, 4;
        qp_1: u32 = "QP1" @ 168, 24;
        qp_2: u32 = "QP2" @ 200, 24;
        gid_1: Gid = "GIDADDR1" @ 224, 128;
        gid_2: Gid = "GIDADDR2" @ 352, 128;
    }
    /// A packet with a wrong Q_Key.
    BadQKey = 258 {
        /// The sender.
        lid_1: u16 = "LIDADDR1" @ 96, 16;
        /// The receiver.
        lid_2: u16 = "LIDADDR2" @ 112, 16;
        key: u32 = "KEY" @ 128, 32;
        sl: u8 = "SL" @ 160, 4;
        qp_1: u32 = "QP1" @ 168, 24;
        qp_2: u32 = "QP2" @ 200, 24;
        gid_1: Gid = "GIDADDR1" @ 224, 128;
        gid_2: Gid = "GIDADDR2" @ 352, 128;
    }
    /// A packet with a wrong P_Key at a switch's external port.
    BadPKeyAtSwitch = 259 {
        /// Which of the following fields mean something.
        data_valid: u16 = "DataValid" @ 80, 16;
        /// The sender.
        lid_1: u16 = "LIDADDR1" @ 96, 16;
        /// The receiver.
        lid_2: u16 = "LIDADDR2" @ 112, 16;
        p_key: u16 = "PKEY" @ 128, 16;
        sl: u8 = "SL" @ 144, 4;
        qp_1: u32 = "QP1" @ 152, 24;
        qp_2: u32 = "QP2" @ 184, 24;
        gid_1: Gid = "GIDADDR1" @ 208, 128;
        gid_2: Gid = "GIDADDR2" @ 336, 128;
        /// The switch.
        switch_lid: u16 = "SWLIDADDR" @ 464, 16;
        port: u8 = "PORTNO" @ 480, 8;
    }
}

bitflags! {
    /// What changed, in trap 144.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct LocalChanges: u16 {
        /// The node description.
        const NODE_DESCRIPTION = 0x01;
        /// The link widths enabled.
        const LINK_WIDTH_ENABLED = 0x02;
        /// The link speeds enabled.
        const LINK_SPEED_ENABLED = 0x04;
        /// The priority of the subnet manager behind the port.
        const SM_PRIORITY = 0x08;
        /// HierarchyInfo.
        const HIERARCHY_INFO = 0x10;
        /// The second capability mask.
        const CAPABILITY_MASK_2 = 0x20;
    }
}

/// A port's or a multicast group's global address.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gid(pub u128);

/// As IPv6 addresses are written.
impl fmt::Display for Gid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&std::net::Ipv6Addr::from_bits(self.0), f)
    }
}

impl fmt::Debug for Gid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A run of `width` bits in pieces of at most 64.
fn pieces(name: &'static str, bit: usize, width: usize) -> Vec<Field> {
    (0..width).step_by(64).map(|start| Field::new(name, bit + start, (width - start).min(64))).collect()
}

/// A value of some pieces of the Notice.
trait Detail: Sized {
    fn read(pieces: &[Field], notice: &[u8; 64]) -> Self;
    fn write(&self, pieces: &[Field], notice: &mut [u8; 64]);
}

macro_rules! numbers {
    ($($type:ty),*) => { $(
        impl Detail for $type {
            fn read(pieces: &[Field], notice: &[u8; 64]) -> Self {
                pieces[0].read(notice) as Self
            }

            fn write(&self, pieces: &[Field], notice: &mut [u8; 64]) {
                pieces[0].write(notice, u64::from(*self));
            }
        }
    )* };
}
numbers!(u8, u16, u32, u64);

impl Detail for bool {
    fn read(pieces: &[Field], notice: &[u8; 64]) -> Self {
        pieces[0].read(notice) != 0
    }

    fn write(&self, pieces: &[Field], notice: &mut [u8; 64]) {
        pieces[0].write(notice, u64::from(*self));
    }
}

impl Detail for LocalChanges {
    fn read(pieces: &[Field], notice: &[u8; 64]) -> Self {
        Self::from_bits_retain(Detail::read(pieces, notice))
    }

    fn write(&self, pieces: &[Field], notice: &mut [u8; 64]) {
        self.bits().write(pieces, notice);
    }
}

impl Detail for Gid {
    fn read(pieces: &[Field], notice: &[u8; 64]) -> Self {
        Self(pieces.iter().fold(0, |gid, piece| gid << 64 | u128::from(piece.read(notice))))
    }

    fn write(&self, pieces: &[Field], notice: &mut [u8; 64]) {
        pieces.iter().rev().fold(self.0, |rest, piece| {
            piece.write(notice, rest as u64);
            rest >> 64
        });
    }
}

/// Whole bytes.
impl<const N: usize> Detail for [u8; N] {
    fn read(pieces: &[Field], notice: &[u8; 64]) -> Self {
        let start = pieces[0].bit / 8;
        std::array::from_fn(|index| notice[start + index])
    }

    fn write(&self, pieces: &[Field], notice: &mut [u8; 64]) {
        let start = pieces[0].bit / 8;
        notice[start..start + N].copy_from_slice(self);
    }
}
