//! Typed values of the fields that say what a link is and does.

use bitflags::bitflags;
use std::fmt;

/// The logical state of a port (IBA 14.2.5.6, PortState).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PortState {
    /// No link.
    Down = 1,
    /// A link that carries subnet management only.
    Init = 2,
    /// Ready; becomes active by a Set or by the first data packet that arrives.
    Armed = 3,
    /// Carries data.
    Active = 4,
}

impl PortState {
    /// The state of a code.
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::Down),
            2 => Some(Self::Init),
            3 => Some(Self::Armed),
            4 => Some(Self::Active),
            _ => None,
        }
    }
}

/// The state of a port's physical link (IBA 14.2.5.6, PortPhysicalState).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PhysicalState {
    /// Asleep.
    Sleep = 1,
    /// Looking for a partner.
    Polling = 2,
    /// Switched off.
    Disabled = 3,
    /// Agreeing on width and speed.
    Training = 4,
    /// There is a link.
    LinkUp = 5,
    /// Recovering from errors.
    LinkErrorRecovery = 6,
    /// Under test.
    PhyTest = 7,
}

impl PhysicalState {
    /// The state of a code.
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::Sleep),
            2 => Some(Self::Polling),
            3 => Some(Self::Disabled),
            4 => Some(Self::Training),
            5 => Some(Self::LinkUp),
            6 => Some(Self::LinkErrorRecovery),
            7 => Some(Self::PhyTest),
            _ => None,
        }
    }
}

/// The largest payload of a packet (IBA 14.2.5.6, MTUCap and NeighborMTU).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mtu {
    /// 256 bytes.
    B256 = 1,
    /// 512 bytes.
    B512 = 2,
    /// 1024 bytes.
    B1024 = 3,
    /// 2048 bytes.
    B2048 = 4,
    /// 4096 bytes.
    B4096 = 5,
}

impl Mtu {
    /// The MTU of a code.
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::B256),
            2 => Some(Self::B512),
            3 => Some(Self::B1024),
            4 => Some(Self::B2048),
            5 => Some(Self::B4096),
            _ => None,
        }
    }

    /// In bytes.
    pub const fn bytes(self) -> u16 {
        128 << self as u16
    }
}

/// The number of lanes of a link. The codes are bits of a mask in LinkWidthSupported and LinkWidthEnabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LinkWidth {
    /// One lane.
    X1 = 1,
    /// Two lanes.
    X2 = 16,
    /// Four lanes.
    X4 = 2,
    /// Eight lanes.
    X8 = 4,
    /// Twelve lanes.
    X12 = 8,
}

impl LinkWidth {
    /// The width of a code of LinkWidthActive.
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::X1),
            2 => Some(Self::X4),
            4 => Some(Self::X8),
            8 => Some(Self::X12),
            16 => Some(Self::X2),
            _ => None,
        }
    }

    /// The number of lanes.
    pub const fn lanes(self) -> u8 {
        match self {
            Self::X1 => 1,
            Self::X2 => 2,
            Self::X4 => 4,
            Self::X8 => 8,
            Self::X12 => 12,
        }
    }
}

/// As the stock tools write it: `4X`.
impl fmt::Display for LinkWidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}X", self.lanes())
    }
}

/// The speed of a lane, ascending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LinkSpeed {
    /// 2.5 Gb/s.
    Sdr,
    /// 5 Gb/s.
    Ddr,
    /// 10 Gb/s.
    Qdr,
    /// 10.3125 Gb/s, a vendor's speed.
    Fdr10,
    /// 14.0625 Gb/s.
    Fdr,
    /// 25.78125 Gb/s.
    Edr,
    /// 53.125 Gb/s.
    Hdr,
    /// 106.25 Gb/s.
    Ndr,
    /// 212.5 Gb/s.
    Xdr,
}

/// As the stock tools write it: `FDR10`.
impl fmt::Display for LinkSpeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sdr => "SDR",
            Self::Ddr => "DDR",
            Self::Qdr => "QDR",
            Self::Fdr10 => "FDR10",
            Self::Fdr => "FDR",
            Self::Edr => "EDR",
            Self::Hdr => "HDR",
            Self::Ndr => "NDR",
            Self::Xdr => "XDR",
        })
    }
}

bitflags! {
    /// PortInfo's CapabilityMask (IBA 14.2.5.6; bits as in OpenSM's ib_types.h).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct CapabilityMask: u32 {
        /// A subnet manager runs behind the port.
        const SM = 1 << 1;
        /// Keeps notices.
        const NOTICE = 1 << 2;
        /// Sends traps.
        const TRAP = 1 << 3;
        /// Has optional inter-packet delays.
        const OPTIONAL_IPD = 1 << 4;
        /// Migrates paths automatically.
        const AUTOMATIC_MIGRATION = 1 << 5;
        /// Has an SL to VL mapping table.
        const SL_MAPPING = 1 << 6;
        /// The M_Key survives a loss of power.
        const M_KEY_NVRAM = 1 << 7;
        /// The P_Keys survive a loss of power.
        const P_KEY_NVRAM = 1 << 8;
        /// Has LedInfo.
        const LED_INFO = 1 << 9;
        /// The subnet manager behind the port is disabled.
        const SM_DISABLED = 1 << 10;
        /// Has a system image GUID.
        const SYSTEM_IMAGE_GUID = 1 << 11;
        /// Sends the P_Key trap of a switch's external port.
        const P_KEY_SWITCH_EXTERNAL_PORT_TRAP = 1 << 12;
        /// Has CableInfo.
        const CABLE_INFO = 1 << 13;
        /// Has the extended speeds, FDR and above.
        const EXTENDED_SPEEDS = 1 << 14;
        /// Has CapabilityMask2.
        const CAPABILITY_MASK_2 = 1 << 15;
        /// Has communication management.
        const COMMUNICATION_MANAGEMENT = 1 << 16;
        /// Has SNMP tunneling.
        const SNMP_TUNNELING = 1 << 17;
        /// Keeps state over a re-initialization.
        const REINIT = 1 << 18;
        /// Has device management.
        const DEVICE_MANAGEMENT = 1 << 19;
        /// Has vendor-specific management.
        const VENDOR_CLASS = 1 << 20;
        /// Traps 256 and 257 hold a directed route.
        const DR_NOTICE = 1 << 21;
        /// Sends a trap when the capability mask changes.
        const CAPABILITY_MASK_NOTICE = 1 << 22;
        /// Has boot management.
        const BOOT_MANAGEMENT = 1 << 23;
        /// Measures the round trip of its link.
        const LINK_ROUND_TRIP_LATENCY = 1 << 24;
        /// Can be told to register its clients anew.
        const CLIENT_REREGISTRATION = 1 << 25;
        /// Sends a trap upon other local changes.
        const OTHER_LOCAL_CHANGES_NOTICE = 1 << 26;
        /// Has a table of the pairs of speed and width.
        const LINK_SPEED_WIDTH_PAIRS_TABLE = 1 << 27;
        /// Has a table of vendor-specific MADs.
        const VENDOR_SPECIFIC_MADS_TABLE = 1 << 28;
        /// Can suppress P_Key traps of multicast packets.
        const MULTICAST_P_KEY_TRAP_SUPPRESSION = 1 << 29;
        /// SwitchInfo has MulticastFDBTop.
        const MULTICAST_FDB_TOP = 1 << 30;
        /// Has HierarchyInfo.
        const HIERARCHY_INFO = 1 << 31;
    }
}

bitflags! {
    /// PortInfo's CapabilityMask2 (bits as in libibmad's dump.c; the last two as in the vendor's ib_types.h).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct CapabilityMask2: u16 {
        /// NodeDescription can be set.
        const SET_NODE_DESCRIPTION = 1 << 0;
        /// Has PortInfoExtended.
        const PORT_INFO_EXTENDED = 1 << 1;
        /// Has virtual ports.
        const VIRTUALIZATION = 1 << 2;
        /// Has SwitchPortStateTable.
        const SWITCH_PORT_STATE_TABLE = 1 << 3;
        /// Can be two lanes wide.
        const LINK_WIDTH_2X = 1 << 4;
        /// Can do HDR.
        const LINK_SPEED_HDR = 1 << 5;
        /// Has extended M_Key protection.
        const M_KEY_PROTECT_BITS_EXT = 1 << 6;
        /// Trap 128 says which port changed.
        const ENHANCED_TRAP_128 = 1 << 7;
        /// Has PartitionTop.
        const PARTITION_TOP = 1 << 8;
        /// Has the enhanced QoS arbiter.
        const ENHANCED_QOS_ARBITER = 1 << 9;
        /// Can do NDR.
        const LINK_SPEED_NDR = 1 << 10;
        /// Has the second extended speed fields.
        const EXTENDED_SPEEDS_2 = 1 << 11;
        /// Can do XDR.
        const LINK_SPEED_XDR = 1 << 12;
    }
}
