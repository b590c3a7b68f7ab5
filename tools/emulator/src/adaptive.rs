//! Adaptive routing of a switch: attributes of NVIDIA, formerly Mellanox. What the subnet manager wrote, and where packets may go by it.
//!
//! Only what the attributes' layouts in `heddle_mad::wire` need no guess for: one table of groups, no private forwarding tables, no
//! notifications, no hashes. ArInfo says so.

use crate::models::AdaptiveModel;
use crate::network::Switch;
use crate::world::World;
use heddle_fabric::NodeIndex;
use heddle_mad::wire::{
    ArForwardingTable, ArGroupTable, ArGroupTableCopy, ArInfo, Attribute, AttributeId, LidState, PortMask, Status, unconfirmed,
};

/// How a switch sends a packet on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// By one port.
    Static {
        /// The port; 255 drops.
        port: u8,
        /// When the link in the port is down, by any of these. Mostly none.
        spare: PortMask,
    },
    /// By any port of a group.
    Group {
        /// The ports to choose from.
        primary: PortMask,
        /// The ports to choose from when no primary one can take the packet.
        secondary: PortMask,
        /// A flow keeps its port until it pauses for so many microseconds; `None`: each packet chooses anew.
        ageing: Option<u32>,
    },
}

/// The transport of a packet: adaptive routing can be off for some of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Unreliable datagrams, such as MADs of general services.
    Ud = 0,
    /// Reliable connections.
    Rc = 1,
    /// Unreliable connections.
    Uc = 2,
    /// Dynamic connections.
    Dc = 3,
    /// Subnet management, on VL 15: never routed adaptively.
    Smp = 4,
}

/// What a switch keeps of adaptive routing.
#[derive(Debug)]
pub(crate) struct Adaptive {
    model: &'static AdaptiveModel,
    info: ArInfo,
    /// GroupCap as it is while each group has one sub-group.
    groups: u16,
    /// Sub-groups, in the order of the group table, up to the last that was written.
    elements: Vec<PortMask>,
    /// Entries of the forwarding table by LID, as on the wire, up to the last block that was written.
    entries: Vec<[u8; 4]>,
}

/// An entry that nobody wrote: static, to no port.
const NO_ENTRY: [u8; 4] = [(LidState::Static as u8) << 6, 0xff, 0, 0];

impl World {
    /// How a switch sends on a packet that it got for a unicast LID; `None` if the node is no switch. `O(1)`.
    pub fn choice(&self, node: NodeIndex, dlid: u16, sl: u8, transport: Transport) -> Option<Choice> {
        Some(self.network.devices.get(node.index())?.switch.as_ref()?.choice(dlid, sl, transport))
    }

    /// Makes the group table of a switch with adaptive routing another size: `groups`, 1 to 4095, is the GroupCap of groups with one
    /// sub-group. It holds until it is changed again, also when the switch loses its power. What was written beyond is lost.
    pub fn set_group_cap(&mut self, node: NodeIndex, groups: u16) {
        let switch = self.network.devices.get_mut(node.index()).and_then(|device| device.switch.as_mut());
        if let Some(adaptive) = switch.and_then(|switch| switch.adaptive.as_mut()) {
            adaptive.set_groups(groups);
        }
    }
}

impl Switch {
    /// How a packet to a unicast LID is sent on, whether or not the LID is above LinearFDBTop. `O(1)`.
    pub(crate) fn choice(&self, dlid: u16, sl: u8, transport: Transport) -> Choice {
        match &self.adaptive {
            Some(adaptive) if adaptive.info.enabled() => adaptive.choice(dlid, sl, transport),
            _ => Choice::Static { port: self.lft.get(usize::from(dlid)).copied().unwrap_or(0xff), spare: PortMask::default() },
        }
    }
}

impl Adaptive {
    pub(crate) fn new(model: &'static AdaptiveModel) -> Self {
        let mut new = Self { model, info: ArInfo::default(), groups: model.groups, elements: Vec::new(), entries: Vec::new() };
        new.reset();
        new
    }

    /// Everything that was written is lost.
    pub(crate) fn reset(&mut self) {
        let mut info = ArInfo::default();
        info.set_by_sl_cap(true);
        info.set_by_transport_cap(true);
        info.set_group_table_cap(1);
        info.set_group_table_copy_sup(u8::from(self.model.group_copy));
        info.set_sub_grps_supported(self.model.sub_groups);
        info.set_fr_sup(self.model.fast_recovery);
        info.set_ar_version_cap(1);
        info.set_group_cap(self.groups);
        *self = Self { info, elements: Vec::new(), entries: Vec::new(), ..*self };
    }

    fn set_groups(&mut self, groups: u16) {
        self.groups = groups.clamp(1, 0xfff);
        let cap = self.group_cap(self.info.active_sub_groups());
        self.info.set_group_cap(cap);
        self.info.set_group_top(self.info.group_top().min(cap.saturating_sub(1)));
        self.elements.truncate(self.element_cap());
    }

    pub(crate) fn is_enabled(&self) -> bool {
        self.info.enabled()
    }

    pub(crate) fn fast_recovery(&self) -> bool {
        self.info.fr_sup()
    }

    /// A plain forwarding table block was written.
    pub(crate) fn plain_table_written(&mut self) {
        if self.model.plain_table_disables {
            self.info.set_enabled(false);
        }
    }

    /// The data of a Get; `lids` is the size of the forwarding table.
    pub(crate) fn get(&self, id: AttributeId, modifier: u32, lids: u16) -> Result<[u8; 64], Status> {
        match id {
            ArInfo::ID if modifier == 0 => Ok(*self.info.bytes()),
            ArInfo::ID => Err(Status::BAD_FIELD),
            ArGroupTable::ID => {
                let first = self.first_element(modifier)?;
                let mut table = ArGroupTable::default();
                for (element, index) in (first..).zip(0..ArGroupTable::ELEMENTS) {
                    table.set_ports(index, self.elements.get(element).copied().unwrap_or_default());
                }
                Ok(*table.bytes())
            }
            ArForwardingTable::ID => {
                let first = first_lid(modifier, lids)?;
                Ok(std::array::from_fn(|byte| self.entries.get(first + byte / 4).unwrap_or(&NO_ENTRY)[byte % 4]))
            }
            // ArGroupTableCopy can only be set; the others are not supported.
            _ => Err(Status::BAD_ATTRIBUTE),
        }
    }

    /// Takes over the data of a Set, all of it or nothing; `ports` is the number of the switch's ports.
    pub(crate) fn set(&mut self, id: AttributeId, modifier: u32, data: [u8; 64], lids: u16, ports: u8) -> Result<(), Status> {
        match id {
            ArInfo::ID if modifier == 0 => self.set_info(&ArInfo::from_bytes(data)),
            ArInfo::ID => Err(Status::BAD_FIELD),
            ArGroupTable::ID => self.set_group_table(modifier, &ArGroupTable::from_bytes(data), ports),
            ArForwardingTable::ID => self.set_forwarding_table(modifier, &data, lids),
            ArGroupTableCopy::ID if self.info.group_table_copy_sup() != 0 => self.copy(modifier, &ArGroupTableCopy::from_bytes(data)),
            _ => Err(Status::BAD_ATTRIBUTE),
        }
    }

    fn set_info(&mut self, wanted: &ArInfo) -> Result<(), Status> {
        let active = wanted.active_sub_groups();
        let cap = self.group_cap(active);
        if active > self.info.sub_grps_supported() || cap == 0 || wanted.group_top() >= cap {
            return Err(Status::BAD_FIELD);
        }
        let info = &mut self.info;
        info.set_enabled(wanted.enabled());
        info.set_sub_grps_active(wanted.sub_grps_active());
        info.set_group_cap(cap);
        info.set_group_top(wanted.group_top());
        info.set_ageing_time(wanted.ageing_time());
        info.set_by_sl_enabled(wanted.by_sl_enabled());
        info.set_enable_by_sl_mask(wanted.enable_by_sl_mask());
        info.set_by_transport_disable(wanted.by_transport_disable());
        info.set_fr_enabled(wanted.fr_enabled() && info.fr_sup());
        // What the switch cannot do stays off: notifications and hashes.
        self.elements.truncate(self.element_cap());
        Ok(())
    }

    fn set_group_table(&mut self, modifier: u32, table: &ArGroupTable, ports: u8) -> Result<(), Status> {
        let first = self.first_element(modifier)?;
        let end = self.element_cap().min(first + ArGroupTable::ELEMENTS);
        if self.elements.len() < end {
            self.elements.resize(end, PortMask::default());
        }
        for (element, index) in (first..end).zip(0..) {
            self.elements[element] = table.ports(index).iter().filter(|port| (1..=ports).contains(port)).collect();
        }
        Ok(())
    }

    fn set_forwarding_table(&mut self, modifier: u32, data: &[u8; 64], lids: u16) -> Result<(), Status> {
        let first = first_lid(modifier, lids)?;
        let table = ArForwardingTable::from_bytes(*data);
        for index in 0..ArForwardingTable::LIDS {
            let group_counts = table.state(index) != LidState::Static;
            if table.group_table(index) != 0 || (group_counts && table.group(index) >= self.info.group_cap()) {
                return Err(Status::BAD_FIELD);
            }
        }
        let end = first + ArForwardingTable::LIDS;
        if self.entries.len() < end {
            self.entries.resize(end, NO_ENTRY);
        }
        for (entry, bytes) in self.entries[first..end].iter_mut().zip(data.chunks_exact(4)) {
            entry.copy_from_slice(bytes);
        }
        Ok(())
    }

    fn copy(&mut self, modifier: u32, copy: &ArGroupTableCopy) -> Result<(), Status> {
        let cap = self.info.group_cap();
        let source = u16::try_from(modifier).ok().filter(|&group| group < cap).ok_or(Status::BAD_FIELD)?;
        if copy.ranges().any(|range| *range.end() >= cap) {
            return Err(Status::BAD_FIELD);
        }
        for group in copy.ranges().flatten() {
            for sub_group in 0..self.info.active_sub_groups() {
                let ports = self.element(source, sub_group);
                let index = self.index(group, sub_group);
                if self.elements.len() <= index {
                    self.elements.resize(index + 1, PortMask::default());
                }
                self.elements[index] = ports;
            }
        }
        Ok(())
    }

    fn choice(&self, dlid: u16, sl: u8, transport: Transport) -> Choice {
        let entry = self.entries.get(usize::from(dlid)).unwrap_or(&NO_ENTRY);
        let group = u16::from_be_bytes([entry[2], entry[3]]);
        let ports = |sub_group| if group <= self.info.group_top() { self.element(group, sub_group) } else { PortMask::default() };
        let (primary, secondary) = (ports(0), ports(1));
        let ageing = match entry[0] >> 6 {
            state if state == LidState::Bounded as u8 => Some(Some(self.info.ageing_time())),
            state if state == LidState::Free as u8 => Some(None),
            _ => None,
        };
        let disabled = self.info.by_transport_disable() | 1 << Transport::Smp as u8;
        let applies = self.info.applies_to_sl(sl) && disabled >> transport as u8 & 1 == 0;
        match ageing {
            Some(ageing) if applies && !(primary.is_empty() && secondary.is_empty()) => Choice::Group { primary, secondary, ageing },
            _ => Choice::Static { port: entry[1], spare: if self.info.fr_enabled() { primary } else { PortMask::default() } },
        }
    }

    /// The ports of a sub-group; none if it was not written, or is not active.
    fn element(&self, group: u16, sub_group: u8) -> PortMask {
        let is_active = sub_group < self.info.active_sub_groups();
        self.elements.get(self.index(group, sub_group)).copied().filter(|_| is_active).unwrap_or_default()
    }

    fn index(&self, group: u16, sub_group: u8) -> usize {
        usize::from(group) * usize::from(self.info.active_sub_groups()) + usize::from(sub_group)
    }

    /// The more sub-groups, the fewer groups.
    fn group_cap(&self, active_sub_groups: u8) -> u16 {
        self.groups / u16::from(active_sub_groups)
    }

    fn element_cap(&self) -> usize {
        self.index(self.info.group_cap(), 0)
    }

    fn first_element(&self, modifier: u32) -> Result<usize, Status> {
        let first = block(ArGroupTable::ID, modifier)?.saturating_mul(ArGroupTable::ELEMENTS);
        if first < self.element_cap() { Ok(first) } else { Err(Status::BAD_FIELD) }
    }
}

fn first_lid(modifier: u32, lids: u16) -> Result<usize, Status> {
    let first = block(ArForwardingTable::ID, modifier)?.saturating_mul(ArForwardingTable::LIDS);
    if first < usize::from(lids) { Ok(first) } else { Err(Status::BAD_FIELD) }
}

/// The block that a modifier means.
fn block(id: AttributeId, modifier: u32) -> Result<usize, Status> {
    if unconfirmed::BLOCK_NUMBERS.contains(&id) { Ok(modifier as usize) } else { Err(Status::BAD_FIELD) }
}
