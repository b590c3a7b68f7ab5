//! What others send on their own: traps, and the questions of other subnet managers.

use heddle_mad::transport::{Address, Envelope};
use heddle_mad::wire::{Attribute, Class, Mad, Method, Notice, SmInfo, Status};

/// Traps after which the fabric must be looked at again: a link of a switch changed (128), or a port's capabilities (144).
const CHANGES: [u16; 2] = [128, 144];

/// Reads a datagram as a trap of subnet management.
pub(crate) fn trap(mad: &Mad) -> Option<Notice> {
    (mad.method() == Method::TRAP && mad.attribute_id() == Notice::ID).then(|| mad.attribute())
}

/// Whether something changed that routes may depend on. What a vendor's trap says, only the vendor knows.
pub(crate) fn is_change(notice: &Notice) -> bool {
    notice.is_generic() && CHANGES.contains(&notice.trap_number())
}

/// What tells the sender of a trap to stop repeating it (IBA 13.4.9: a TrapRepress has the trap's attribute, modifier and transaction).
pub(crate) fn repress(envelope: &Envelope) -> Envelope {
    let mut mad = envelope.mad;
    mad.set_method(Method::TRAP_REPRESS);
    Envelope { address: envelope.address, mad }
}

/// The answer to a question about this subnet manager; `None` if it is something else.
pub(crate) fn sm_info(envelope: &Envelope, own: &SmInfo) -> Option<Envelope> {
    let asked = &envelope.mad;
    if asked.method() != Method::GET || asked.attribute_id() != SmInfo::ID {
        return None;
    }
    let mut mad = *asked;
    mad.set_method(Method::GET_RESP);
    mad.set_status(Status::OK);
    mad.set_returning(asked.class() == Class::SUBN_DIRECTED);
    mad.set_smp_data(own.bytes());
    Some(Envelope { address: answer_address(envelope), mad })
}

fn answer_address(envelope: &Envelope) -> Address {
    if envelope.mad.class() == Class::SUBN_DIRECTED { Address::Directed } else { envelope.address }
}
