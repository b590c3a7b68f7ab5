//! Agents: who may register for what.

use super::{Errno, Registration};
use crate::world::World;
use heddle_fabric::PortRef;
use heddle_mad::rmpp;
use heddle_mad::wire::{CapabilityMask, Class, Mad};

/// One registration of a file.
#[derive(Debug)]
pub(super) struct Agent {
    /// Of class 0 it has no methods.
    pub(super) registration: Registration,
}

/// Versions of classes are below this (`MAX_MGMT_VERSION`).
const VERSIONS: u8 = 0x83;
/// Where the OUI is in MADs of the vendor classes 0x30 to 0x4f.
const OUI: usize = 37;

impl Agent {
    /// Checks that a registration makes sense by itself.
    pub(super) fn new(mut registration: Registration) -> Result<Self, Errno> {
        let Registration { qpn, class, version, oui, rmpp_version, flags, .. } = registration;
        let is_smp = is_smp(class);
        let sensible = qpn <= 1
            && flags & !Registration::FLAGS == 0
            && rmpp_version <= 1
            && if class == 0 {
                flags == 0
            } else {
                version < VERSIONS
                    && (class < 0x50 || class == Class::SUBN_DIRECTED.0)
                    && (!has_oui(class) || oui != [0; 3])
                    && (rmpp_version == 0 || rmpp::is_rmpp_class(Class(class)))
                    && is_smp == (qpn == 0)
            };
        if class == 0 {
            registration.methods = 0;
        }
        if sensible { Ok(Self { registration }) } else { Err(Errno::EINVAL) }
    }

    /// Whether another agent takes some of the same requests.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        let (ours, theirs) = (&self.registration, &other.registration);
        (ours.class, ours.version) == (theirs.class, theirs.version)
            && ours.methods & theirs.methods != 0
            && (!has_oui(ours.class) || ours.oui == theirs.oui)
    }

    /// Whether it takes a request.
    pub(super) fn takes(&self, mad: &Mad) -> bool {
        let Registration { class, version, methods, oui, .. } = self.registration;
        (class, version) == (mad.class().0, mad.class_version())
            && methods >> (mad.method().0 & 0x7f) & 1 != 0
            && (!has_oui(class) || mad.0[OUI..OUI + 3] == oui)
    }

    /// Whether the kernel segments and reassembles for it (`ib_mad_kernel_rmpp_agent`); otherwise it does so itself.
    pub(super) fn kernel_rmpp(&self) -> bool {
        self.registration.rmpp_version != 0 && self.registration.flags & Registration::USER_RMPP == 0
    }
}

/// Whether the port lets a program on queue pair 0.
pub(super) fn check_port(world: &World, at: PortRef, registration: &Registration) -> Result<(), Errno> {
    let port = world.port_info(at).ok_or(Errno::ENODEV)?;
    // As of a virtual function: IsSMdisabled (IBA 14.2.5.6).
    if registration.qpn == 0 && port.capabilities().contains(CapabilityMask::SM_DISABLED) {
        return Err(Errno::EPROTONOSUPPORT);
    }
    Ok(())
}

fn is_smp(class: u8) -> bool {
    class == Class::SUBN_LID.0 || class == Class::SUBN_DIRECTED.0
}

fn has_oui(class: u8) -> bool {
    matches!(class, 0x30..=0x4f)
}
