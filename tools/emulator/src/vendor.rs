//! The agent of the class 0x0a, by which Mellanox devices tell what they are: what `vendstat -N` asks for. They have more attributes, whose
//! layouts are not public or which only switches of the third and fourth generation had.

use crate::network::Network;
use crate::sma::Reply;
use heddle_fabric::PortRef;
use heddle_mad::Time;
use heddle_mad::wire::{Attribute, ClassPortInfo, Mad, Method, Status, VendorGeneralInfo};

/// A key of 8 bytes comes before the data.
const DATA: usize = VendorGeneralInfo::OFFSET + 8;

/// What it says that it is: the board, or PSID, of at most 16 bytes.
pub(crate) const BOARD: &str = "HEDDLE_EMULATED";

/// Turns a Get or Set that came in through `at` into its answer.
pub(crate) fn answer(network: &Network, at: PortRef, now: Time, mad: &mut Mad) -> Reply {
    let status = if mad.base_version() != 1 || mad.class_version() != 1 {
        Status::BAD_VERSION
    } else if !matches!(mad.method(), Method::GET | Method::SET) {
        Status::BAD_METHOD
    } else {
        match (mad.method(), mad.attribute_id()) {
            (Method::GET, ClassPortInfo::ID) => {
                let mut info = ClassPortInfo::default();
                info.set_base_version(1);
                info.set_class_version(1);
                info.set_resp_time_value(network.device(at.node).model.resp_time_value);
                mad.0[DATA..DATA + info.bytes().len()].copy_from_slice(&info.bytes()[..]);
                Status::OK
            }
            (Method::GET, VendorGeneralInfo::ID) => {
                let mut info = VendorGeneralInfo::default();
                info.set_device_id(network.node_info(at).device_id());
                info.set_uptime(now.since(Time::ZERO).as_secs() as u32);
                let [major, minor, patch] = version();
                info.set_fw_major(major);
                info.set_fw_minor(minor);
                info.set_fw_sub_minor(patch);
                info.set_extended_fw_major(major.into());
                info.set_extended_fw_minor(minor.into());
                info.set_extended_fw_sub_minor(patch.into());
                let mut psid = [0; 16];
                psid[..BOARD.len()].copy_from_slice(BOARD.as_bytes());
                info.set_fw_psid(psid);
                mad.set_attribute(&info);
                Status::OK
            }
            _ => Status::BAD_ATTRIBUTE,
        }
    };
    mad.set_status(status);
    mad.set_method(Method::GET_RESP);
    Reply { answered: true, effect: None }
}

/// Of the firmware: that of this crate.
pub(crate) fn version() -> [u8; 3] {
    [env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"), env!("CARGO_PKG_VERSION_PATCH")]
        .map(|number| number.parse().unwrap_or(u8::MAX))
}
