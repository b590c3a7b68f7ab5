//! Traps: sent again and again until the manager represses them (IBA 13.4.9).

use crate::Emulator;
use crate::emulator::{HOP, Happening};
use crate::travel::Lane;
use heddle_fabric::{NodeIndex, NodeKind, PortRef};
use heddle_mad::wire::{Attribute, Class, LocalChanges, Mad, Method, NodeType, Notice, NoticeType, TrapDetails};
use std::time::Duration;

/// A trap that nobody represses is sent so many times.
const TRAP_TRIES: u32 = 16;

#[derive(Debug)]
pub(crate) struct Trap {
    from: PortRef,
    pub(crate) transaction: u64,
    details: TrapKind,
    tries: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TrapKind {
    LinkState,
    LocalChange(LocalChanges),
    /// A key was violated.
    Security(TrapDetails),
}

impl Emulator {
    /// Begins to send a trap. One of the same number that is under way is replaced: its repression would not speak of the new change.
    pub(crate) fn start_trap(&mut self, from: PortRef, details: TrapKind) {
        let number = match details {
            TrapKind::LinkState => 128,
            TrapKind::LocalChange(_) => 144,
            TrapKind::Security(details) => details.number(),
        };
        let unknown = |at| self.network.port(at).is_none_or(|port| port.info.lid() == 0 || port.info.master_sm_lid() == 0);
        if unknown(from) {
            return; // no manager made itself known yet
        }
        self.last_trap += 1;
        self.traps.insert((from.node, number), Trap { from, transaction: self.last_trap, details, tries: 0 });
        self.send_trap(from.node, number);
    }

    pub(crate) fn send_trap(&mut self, node: NodeIndex, number: u16) {
        let Some(trap) = self.traps.get_mut(&(node, number)) else { return };
        trap.tries += 1;
        let (from, transaction, tries) = (trap.from, trap.transaction, trap.tries);
        let Some(info) = self.network.port(from).map(|port| port.info) else { return };
        let (kind, details) = match trap.details {
            TrapKind::LinkState => (NoticeType::Urgent, TrapDetails::LinkStateChange { lid: info.lid() }),
            TrapKind::LocalChange(changes) => {
                let other_local_changes = !changes.is_empty();
                let capability_mask = info.capability_mask();
                let details =
                    TrapDetails::LocalChange { lid: info.lid(), other_local_changes, capability_mask, changes, capability_mask_2: 0 };
                (NoticeType::Informational, details)
            }
            TrapKind::Security(details) => (NoticeType::Security, details),
        };
        let producer = match self.network.device(node).kind {
            NodeKind::Ca => NodeType::ChannelAdapter,
            NodeKind::Switch => NodeType::Switch,
            NodeKind::Router => NodeType::Router,
        };
        let notice = Notice::generic(kind, producer, info.lid(), &details);
        let mut mad = Mad::request(Class::SUBN_LID, 1, Method::TRAP, Notice::ID, 0);
        mad.set_transaction(transaction);
        mad.set_smp_data(notice.bytes());

        let muted = self.faults.get(&node).is_some_and(|faults| faults.mute);
        self.counters.traps += u64::from(!muted);
        match self.network.forward(from, info.master_sm_lid(), Lane::Management, |_| {}) {
            _ if muted => {}
            Ok(arrival) => {
                let happening = Happening::Arrive { at: arrival.at, slid: Some(info.lid()), qp: 0, mad: Box::new(mad) };
                self.plan(self.now + HOP * arrival.hops, happening);
            }
            Err(lost) => self.count_lost(lost),
        }
        if tries < TRAP_TRIES {
            // Traps keep a distance of the subnet timeout (IBA 13.4.9); neither a flood nor silence where nobody set that sensibly.
            let distance = Duration::from_nanos(4096 << info.subnet_timeout().min(31));
            let distance = distance.clamp(Duration::from_millis(100), Duration::from_secs(10));
            self.plan(self.now + distance, Happening::RepeatTrap { node, number, transaction });
        } else {
            self.traps.remove(&(node, number));
        }
    }
}
