use super::attribute::attribute;

attribute! {
    /// NodeInfo: who a node is, and by which port the question came in (IBA 14.2.5.3).
    pub struct NodeInfo = "NodeInfo" 0x0011 {
        base_version, set_base_version: u8 = "BaseVersion" @ 0, 8;
        class_version, set_class_version: u8 = "ClassVersion" @ 8, 8;
        /// See [`NodeInfo::kind`].
        node_type, set_node_type: u8 = "NodeType" @ 16, 8;
        num_ports, set_num_ports: u8 = "NumPorts" @ 24, 8;
        system_image_guid, set_system_image_guid: u64 = "SystemImageGUID" @ 32, 64;
        node_guid, set_node_guid: u64 = "NodeGUID" @ 96, 64;
        port_guid, set_port_guid: u64 = "PortGUID" @ 160, 64;
        partition_cap, set_partition_cap: u16 = "PartitionCap" @ 224, 16;
        device_id, set_device_id: u16 = "DeviceID" @ 240, 16;
        revision, set_revision: u32 = "Revision" @ 256, 32;
        local_port_num, set_local_port_num: u8 = "LocalPortNum" @ 288, 8;
        vendor_id, set_vendor_id: u32 = "VendorID" @ 296, 24;
    }
}

/// What kind of node it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeType {
    /// A host's adapter.
    ChannelAdapter = 1,
    /// A switch.
    Switch = 2,
    /// A router between subnets.
    Router = 3,
}

impl NodeInfo {
    /// The node type, where it is one that the specification knows.
    pub const fn kind(&self) -> Option<NodeType> {
        match self.node_type() {
            1 => Some(NodeType::ChannelAdapter),
            2 => Some(NodeType::Switch),
            3 => Some(NodeType::Router),
            _ => None,
        }
    }
}
