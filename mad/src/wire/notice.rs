use super::attribute::attribute;
use super::{NodeType, TrapDetails};

attribute! {
    /// Notice: what a trap says (IBA 13.4.8.2, 14.2.5.1).
    pub struct Notice = "Notice" 0x0002 {
        /// Whether the specification says what trap number and details mean, or a vendor.
        is_generic, set_is_generic: bool = "IsGeneric" @ 0, 1;
        /// See [`Notice::kind`].
        notice_type, set_notice_type: u8 = "Type" @ 1, 7;
        /// A node type, or 4 for a class manager; of a vendor's notice the vendor id.
        producer_type, set_producer_type: u32 = "ProducerType" @ 8, 24;
        /// The trap number; of a vendor's notice the device id.
        trap_number, set_trap_number: u16 = "TrapNumber" @ 32, 16;
        /// The LID of the port that noticed.
        issuer_lid, set_issuer_lid: u16 = "IssuerLID" @ 48, 16;
        notice_toggle, set_notice_toggle: bool = "NoticeToggle" @ 64, 1;
        notice_count, set_notice_count: u16 = "NoticeCount" @ 65, 15;
        /// See [`Notice::details`].
        data_detail, set_data_detail, data_details: [u8; 54] = "DataDetails" @ 80, 8;
    }
}

/// How grave a notice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NoticeType {
    /// Something does not work any more.
    Fatal = 0,
    /// Something needs attention.
    Urgent = 1,
    /// A key was violated.
    Security = 2,
    /// For the subnet manager.
    SubnetManagement = 3,
    /// Good to know.
    Informational = 4,
    /// No notice at all: the answer to a Get when there is none.
    Empty = 0x7f,
}

impl Notice {
    /// A generic notice of these details.
    pub fn generic(kind: NoticeType, producer: NodeType, issuer_lid: u16, details: &TrapDetails) -> Self {
        let mut notice = Self::default();
        notice.set_is_generic(true);
        notice.set_notice_type(kind as u8);
        notice.set_producer_type(producer as u32);
        notice.set_issuer_lid(issuer_lid);
        notice.set_trap_number(details.number());
        details.write(&mut notice.0);
        notice
    }

    /// How grave it is; `None` for unknown codes.
    pub const fn kind(&self) -> Option<NoticeType> {
        match self.notice_type() {
            0 => Some(NoticeType::Fatal),
            1 => Some(NoticeType::Urgent),
            2 => Some(NoticeType::Security),
            3 => Some(NoticeType::SubnetManagement),
            4 => Some(NoticeType::Informational),
            0x7f => Some(NoticeType::Empty),
            _ => None,
        }
    }

    /// What happened; `None` for a vendor's notice and for unknown trap numbers.
    pub fn details(&self) -> Option<TrapDetails> {
        self.is_generic().then(|| TrapDetails::read(self.trap_number(), &self.0)).flatten()
    }
}
