//! Packets: a MAD and the headers around it.

use crate::travel::Lane;
use heddle_mad::wire::{Class, Mad, Method};

/// "Permissive": no LID; the packet goes by directed route (IBA 4.1.3).
pub(crate) const PERMISSIVE_LID: u16 = 0xffff;

/// A MAD on its way, and what the headers around it say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Where it comes from. Of a packet to be sent: 0, or one of the port's LIDs; any other is replaced by the port's base LID.
    pub slid: u16,
    /// Where it goes to: a LID, or 0xffff for a directed-route SMP that starts at the sender's port.
    pub dlid: u16,
    /// Service level, 0 to 15.
    pub sl: u8,
    /// The P_Key itself, not its index in a table. Packets of queue pair 0 have none on the wire; this is 0xffff then, and means nothing.
    pub p_key: u16,
    /// The sender's queue pair: 0 or 1.
    pub src_qp: u32,
    /// The receiver's queue pair: 0 for subnet management, 1 for all other classes.
    pub dst_qp: u32,
    /// [`Packet::Q_KEY`], or else queue pair 1 refuses the packet. Means nothing to queue pair 0.
    pub q_key: u32,
    /// The datagram.
    pub mad: Mad,
}

impl Packet {
    /// The Q_Key of queue pair 1, which all of them have (the Linux kernel calls it IB_QP1_QKEY).
    pub const Q_KEY: u32 = 0x8001_0000;

    /// A packet of subnet management, to a LID or (0xffff) by directed route.
    pub fn smp(dlid: u16, mad: Mad) -> Self {
        Self { slid: 0, dlid, sl: 0, p_key: 0xffff, src_qp: 0, dst_qp: 0, q_key: Self::Q_KEY, mad }
    }

    pub(crate) fn lane(&self) -> Lane {
        if self.dst_qp == 0 { Lane::Management } else { Lane::Data }
    }

    /// The LID that it came from; `None` if it came by directed route.
    pub(crate) fn routed_from(&self) -> Option<u16> {
        (self.slid != PERMISSIVE_LID).then_some(self.slid)
    }

    pub(crate) fn is_smp(&self) -> bool {
        matches!(self.mad.class(), Class::SUBN_LID | Class::SUBN_DIRECTED)
    }

    /// Whether it belongs to a transaction that its receiver began: an answer, or the repression of a trap.
    pub(crate) fn is_response(&self) -> bool {
        self.mad.method().is_response() || self.mad.method() == Method::TRAP_REPRESS
    }

    /// Turns a request that arrived around: its MAD is an answer already, now the way leads back.
    pub(crate) fn turn(&mut self) {
        std::mem::swap(&mut self.slid, &mut self.dlid);
        std::mem::swap(&mut self.src_qp, &mut self.dst_qp);
        if self.mad.class() == Class::SUBN_DIRECTED {
            self.mad.set_returning(true);
        }
    }
}
