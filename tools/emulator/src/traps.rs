//! Traps: sent again and again until the manager represses them (IBA 13.4.9).

use crate::World;
use crate::packet::Packet;
use crate::world::Happening;
use heddle_fabric::{Guid, NodeIndex, PortRef};
use heddle_mad::wire::{Attribute, CapabilityMask, Class, LocalChanges, Mad, Method, NodeType, Notice, NoticeType, TrapDetails};
use std::time::Duration;

/// A trap that nobody represses is sent so many times.
const TRAP_TRIES: u32 = 16;

#[derive(Debug)]
pub(crate) struct Trap {
    pub(crate) transaction: u64,
    details: TrapKind,
    tries: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TrapKind {
    /// 128: a port of the switch came up or went down.
    LinkState,
    /// 129, 130 or 131: what is wrong with the link in the port.
    LinkTrouble(LinkTrouble, u8),
    /// 144: the capability mask, or what the flags say.
    LocalChange(LocalChanges),
    /// 145
    SystemImageGuid,
    /// 256 to 259: a key was violated.
    Security(TrapDetails),
}

/// What can be wrong with a link so that a port tells the manager (IBA 14.2.5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkTrouble {
    /// Trap 129: more errors than LocalPhyErrors allows.
    Integrity,
    /// Trap 130: the buffers ran over more often than OverrunErrors allows.
    BufferOverrun,
    /// Trap 131: the partner grants no credits.
    FlowControl,
}

impl TrapKind {
    fn number(&self) -> u16 {
        match self {
            Self::LinkState => 128,
            Self::LinkTrouble(LinkTrouble::Integrity, _) => 129,
            Self::LinkTrouble(LinkTrouble::BufferOverrun, _) => 130,
            Self::LinkTrouble(LinkTrouble::FlowControl, _) => 131,
            Self::LocalChange(_) => 144,
            Self::SystemImageGuid => 145,
            Self::Security(details) => details.number(),
        }
    }

    /// Whether ports with these capabilities send it.
    fn is_sent_by(&self, capabilities: CapabilityMask) -> bool {
        use CapabilityMask as C;
        let needed = match self {
            Self::LocalChange(changes) if changes.is_empty() => C::CAPABILITY_MASK_NOTICE,
            Self::LocalChange(_) => C::OTHER_LOCAL_CHANGES_NOTICE,
            Self::SystemImageGuid => C::SYSTEM_IMAGE_GUID,
            Self::Security(TrapDetails::BadPKeyAtSwitch { .. }) => C::P_KEY_SWITCH_EXTERNAL_PORT_TRAP,
            _ => C::empty(),
        };
        capabilities.contains(needed | C::TRAP)
    }
}

impl World {
    /// Begins to send a trap of an end port that knows its manager. One of the same number that is under way is replaced: its repression
    /// would not speak of the new change. But keys can be violated at any rate, and links be in trouble, so that those wait for their turn
    /// (IBA 13.4.9).
    pub(crate) fn start_trap(&mut self, from: PortRef, details: TrapKind) {
        let Some(port) = self.network.port(from) else { return };
        if port.info.lid() == 0 || port.info.master_sm_lid() == 0 || !details.is_sent_by(port.info.capabilities()) {
            return;
        }
        let key = (from, details.number());
        if let Some(trap) = self.traps.get_mut(&key)
            && matches!(details, TrapKind::Security(_) | TrapKind::LinkTrouble(..))
        {
            trap.details = details;
            return;
        }
        self.last_trap += 1;
        self.traps.insert(key, Trap { transaction: self.last_trap, details, tries: 0 });
        self.send_trap(from, key.1);
    }

    /// Something is wrong with the link in a port, and the manager is told (trap 129, 130 or 131).
    pub fn trouble_link(&mut self, at: PortRef, trouble: LinkTrouble) {
        if self.network.port(at).is_some() {
            self.start_trap(self.network.end_port(at), TrapKind::LinkTrouble(trouble, at.port));
        }
    }

    /// Something about an end port changed, and the manager is told (trap 144).
    pub fn announce(&mut self, at: PortRef, changes: LocalChanges) {
        self.start_trap(at, TrapKind::LocalChange(changes));
    }

    /// The node becomes a part of another system, and the manager is told (trap 145), once, though a host has several ports.
    pub fn change_system_image_guid(&mut self, node: NodeIndex, guid: Guid) {
        if self.network.change_system_image_guid(node, guid)
            && let Some(from) = self.network.speaker(node)
        {
            self.start_trap(from, TrapKind::SystemImageGuid);
        }
    }

    pub(crate) fn send_trap(&mut self, from: PortRef, number: u16) {
        let Some(trap) = self.traps.get_mut(&(from, number)) else { return };
        trap.tries += 1;
        let (transaction, tries, details) = (trap.transaction, trap.tries, trap.details);
        self.emit(from, transaction, details);
        if tries < TRAP_TRIES {
            // Traps keep a distance of the subnet timeout (IBA 13.4.9); neither a flood nor silence where nobody set that sensibly.
            let timeout = self.network.port(from).map_or(0, |port| port.info.subnet_timeout());
            let distance = Duration::from_nanos(4096 << timeout.min(31));
            let distance = distance.clamp(Duration::from_millis(100), Duration::from_secs(10));
            self.plan(self.now + distance, Happening::RepeatTrap { from, number, transaction });
        } else {
            self.traps.remove(&(from, number));
        }
    }

    /// Sends a trap that is not repeated, whatever other traps are under way.
    pub(crate) fn send_once(&mut self, from: PortRef, details: TrapKind) {
        self.last_trap += 1;
        self.emit(from, self.last_trap, details);
    }

    fn emit(&mut self, from: PortRef, transaction: u64, details: TrapKind) {
        let Some(info) = self.network.port(from).map(|port| port.info) else { return };
        let is_mute = self.faults.get(&from.node).is_some_and(|faults| faults.mute);
        if is_mute || info.lid() == 0 || info.master_sm_lid() == 0 {
            return;
        }
        let lid = info.lid();
        let (kind, details) = match details {
            TrapKind::LinkState => (NoticeType::Urgent, TrapDetails::LinkStateChange { lid }),
            TrapKind::LinkTrouble(trouble, port) => {
                let details = match trouble {
                    LinkTrouble::Integrity => TrapDetails::LocalLinkIntegrity { lid, port },
                    LinkTrouble::BufferOverrun => TrapDetails::ExcessiveBufferOverrun { lid, port },
                    LinkTrouble::FlowControl => TrapDetails::FlowControlUpdateWatchdog { lid, port },
                };
                (NoticeType::Urgent, details)
            }
            TrapKind::LocalChange(changes) => {
                let other_local_changes = !changes.is_empty();
                let capability_mask = info.capability_mask();
                let changed_2 = changes.contains(LocalChanges::CAPABILITY_MASK_2);
                let capability_mask_2 = if changed_2 { info.capability_mask_2() } else { 0 };
                let details = TrapDetails::LocalChange { lid, other_local_changes, capability_mask, changes, capability_mask_2 };
                (NoticeType::Informational, details)
            }
            TrapKind::SystemImageGuid => {
                let system_image_guid = self.network.node_info(from).system_image_guid();
                (NoticeType::Informational, TrapDetails::SystemImageGuidChange { lid, system_image_guid })
            }
            TrapKind::Security(details) => (NoticeType::Security, details),
        };
        let producer = self.network.node_info(from).kind().unwrap_or(NodeType::ChannelAdapter);
        let notice = Notice::generic(kind, producer, info.lid(), &details);
        let mut mad = Mad::request(Class::SUBN_LID, 1, Method::TRAP, Notice::ID, 0);
        mad.set_transaction(transaction);
        mad.set_smp_data(notice.bytes());

        self.counters.traps += 1;
        let mut packet = Packet::smp(info.master_sm_lid(), mad);
        packet.slid = info.lid();
        packet.sl = info.master_sm_sl();
        self.launch(self.now, from, &mut packet, None);
    }
}
