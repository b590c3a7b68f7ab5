use super::*;
use std::fmt;

/// A management class (IBA 13.4.4).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Class(pub u8);

impl Class {
    /// Subnet management, LID-routed.
    pub const SUBN_LID: Self = Self(0x01);
    /// Subnet administration.
    pub const SUBN_ADM: Self = Self(0x03);
    /// Performance management.
    pub const PERF: Self = Self(0x04);
    /// A vendor's: diagnosis of Mellanox devices.
    pub const MELLANOX: Self = Self(0x0a);
    /// Congestion control.
    pub const CONGESTION: Self = Self(0x21);
    /// Subnet management, directed route.
    pub const SUBN_DIRECTED: Self = Self(0x81);
}

impl fmt::Debug for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "class {:#04x}", self.0)
    }
}

/// A method; the top bit says response (IBA 13.4.5).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Method(pub u8);

impl Method {
    /// Asks for an attribute.
    pub const GET: Self = Self(0x01);
    /// Sets an attribute and asks for the result.
    pub const SET: Self = Self(0x02);
    /// Notifies the subnet manager.
    pub const TRAP: Self = Self(0x05);
    /// Tells the sender of a trap to stop repeating it.
    pub const TRAP_REPRESS: Self = Self(0x07);
    /// The answer to Get and to Set.
    pub const GET_RESP: Self = Self(0x81);

    /// Whether the response bit is set.
    pub const fn is_response(self) -> bool {
        self.0 & 0x80 != 0
    }
}

impl fmt::Debug for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::GET => f.write_str("Get"),
            Self::SET => f.write_str("Set"),
            Self::TRAP => f.write_str("Trap"),
            Self::TRAP_REPRESS => f.write_str("TrapRepress"),
            Self::GET_RESP => f.write_str("GetResp"),
            Self(other) => write!(f, "method {other:#04x}"),
        }
    }
}

/// An attribute id (IBA 14.2.5); numbers of attributes with a table of their own are [`super::Attribute::ID`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttributeId(pub u16);

/// The names of attributes, by class.
macro_rules! names {
    ($id:expr, $class:expr, $($($group:ident)|+: $($name:ident)+;)+) => {
        match $class {
            $($(Class::$group)|+ => match $id {
                $($name::ID => Some($name::NAME),)+
                _ => None,
            },)+
            _ => None,
        }
    };
}

impl AttributeId {
    /// The specification's name in a class, if it has a table here.
    pub fn name_in(self, class: Class) -> Option<&'static str> {
        names! { self, class,
            SUBN_LID | SUBN_DIRECTED: Notice NodeDescription NodeInfo SwitchInfo GuidInfo PortInfo PKeyTable SlToVlMapping VlArbitration LinearForwardingTable MulticastForwardingTable SmInfo PrivateLftInfo PrivateLftDef PrivateLftMap PortSlToPrivateLftMap GeneralInfo ArInfo ArGroupTable ArForwardingTable HbfConfig PfrnConfig ExtendedPortInfo RnGenString RnRcvString RnSubGroupDirection RnXmitPortMask ArGroupTableCopy RnGenBySubGroupPriority;
            PERF: ClassPortInfo PortSamplesControl PortSamplesResult PortCounters PortRcvErrorDetails PortXmitDiscardDetails PortOpRcvCounters PortFlowCtlCounters PortVLOpPackets PortVLOpData PortVLXmitFlowCtlUpdateErrors PortVLXmitWaitCounters PortCountersExtended PortSamplesResultExtended PortExtendedSpeedsCounters SwPortVLCongestion PortRcvConCtrl PortSLRcvFECN PortSLRcvBECN PortXmitConCtrl PortVLXmitTimeCong PortXmitDataSL PortRcvDataSL;
            CONGESTION: ClassPortInfo CongestionInfo CongestionKeyInfo SwitchCongestionLog SwitchCongestionSetting SwitchPortCongestionSetting CaCongestionSetting CongestionControlTable CongestionTimeStamp;
            MELLANOX: VendorGeneralInfo;
        }
    }
}

/// As an attribute of subnet management.
impl fmt::Debug for AttributeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name_in(Class::SUBN_LID) {
            Some(name) => f.write_str(name),
            None => write!(f, "attribute {:#06x}", self.0),
        }
    }
}

/// The status of a response (IBA 13.4.7), without the direction bit of directed-route SMPs.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Status(pub u16);

impl Status {
    /// Success.
    pub const OK: Self = Self(0);
    /// The node had no time for the request and dropped it; it may be asked again.
    pub const BUSY: Self = Self(0x01);
    /// The class or its version is not supported.
    pub const BAD_VERSION: Self = Self(0x04);
    /// The method is not supported.
    pub const BAD_METHOD: Self = Self(0x08);
    /// The method is not supported for this attribute.
    pub const BAD_ATTRIBUTE: Self = Self(0x0c);
    /// A field of the attribute, or its modifier, has a value that is not allowed.
    pub const BAD_FIELD: Self = Self(0x1c);
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::OK => f.write_str("ok"),
            Self::BUSY => f.write_str("busy"),
            Self::BAD_VERSION => f.write_str("class or version not supported"),
            Self::BAD_METHOD => f.write_str("method not supported"),
            Self::BAD_ATTRIBUTE => f.write_str("attribute not supported"),
            Self::BAD_FIELD => f.write_str("invalid field or modifier"),
            Self(other) => write!(f, "status {other:#06x}"),
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
