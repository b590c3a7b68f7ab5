//! The bytes on the wire: MAD headers, and the attributes of subnet management, performance management and congestion control.
//!
//! Each attribute is declared once, as a table of name, bit offset and width (`attribute!`); getters, setters, `Debug`, JSON and the
//! generators of the property tests come from that table. A view never fails and never panics: values from hardware we do not know
//! stay readable and survive a round trip. Where only some values make sense, a typed accessor beside the raw one says so.
//!
//! ```
//! use heddle_mad::wire::{Attribute, PortInfo, PortState};
//!
//! let mut port = PortInfo::default();
//! port.set_lid(7);
//! port.set_state(PortState::Armed);
//! let received = PortInfo::from_bytes(*port.bytes());
//! assert_eq!(received.state(), Some(PortState::Armed));
//! ```

mod adaptive_routing;
mod attribute;
mod class_port_info;
mod congestion;
mod extended_port_info;
mod field;
mod forwarding;
mod header;
mod ids;
mod json;
mod layout;
mod link;
mod node_description;
mod node_info;
mod notice;
mod path;
mod performance;
mod port_info;
mod port_mask;
mod private_lft;
mod sm_info;
mod switch_info;
mod tables;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod trap;
mod vendor;

pub use adaptive_routing::{
    ArForwardingTable, ArGroupTable, ArGroupTableCopy, ArInfo, Capability, GeneralInfo, HbfConfig, LidState, PfrnConfig, unconfirmed,
};
pub use attribute::Attribute;
pub use class_port_info::ClassPortInfo;
pub use congestion::{
    CaCongestionLog, CaCongestionSetting, CongestionControlTable, CongestionInfo, CongestionKeyInfo, CongestionTimeStamp,
    SwitchCongestionLog, SwitchCongestionSetting, SwitchPortCongestionSetting,
};
pub use extended_port_info::ExtendedPortInfo;
pub use field::Field;
pub use forwarding::{LinearForwardingTable, MulticastForwardingTable};
pub use header::Mad;
pub use ids::{AttributeId, Class, Method, Status};
pub use link::{CapabilityMask, CapabilityMask2, LinkSpeed, LinkWidth, Mtu, PhysicalState, PortState};
pub use node_description::NodeDescription;
pub use node_info::{NodeInfo, NodeType};
pub use notice::{Notice, NoticeType};
pub use path::Path;
pub use performance::{
    ALL_PORTS, PerformanceCapabilities, PortCounters, PortCountersExtended, PortExtendedSpeedsCounters, PortFlowCtlCounters,
    PortOpRcvCounters, PortRcvConCtrl, PortRcvDataSL, PortRcvErrorDetails, PortSLRcvBECN, PortSLRcvFECN, PortSamplesControl,
    PortSamplesResult, PortSamplesResultExtended, PortVLOpData, PortVLOpPackets, PortVLXmitFlowCtlUpdateErrors, PortVLXmitTimeCong,
    PortVLXmitWaitCounters, PortXmitConCtrl, PortXmitDataSL, PortXmitDiscardDetails, SwPortVLCongestion,
};
pub use port_info::{PortInfo, data_vls};
pub use port_mask::PortMask;
pub use private_lft::{
    PortSlToPrivateLftMap, PrivateLftDef, PrivateLftInfo, PrivateLftMap, RnGenBySubGroupPriority, RnGenString, RnRcvString,
    RnSubGroupDirection, RnXmitPortMask,
};
pub use sm_info::{SmInfo, SmState};
pub use switch_info::SwitchInfo;
pub use tables::{GuidInfo, PKeyTable, SlToVlMapping, VlArbitration, VlArbitrationPart};
pub use trap::{Gid, LocalChanges, TrapDetails};
pub use vendor::VendorGeneralInfo;

/// A text's bytes without the zeros at its end.
fn without_padding(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    &text[..end]
}
