//! The congestion control agent of a device (IBA annex A10): it keeps what the manager wrote. Nothing here marks packets.
//!
//! The CC_Key is taken to work as the B_Key of baseboard management does (IBA 16.2.4): who has it may do everything; anybody may ask for
//! CongestionKeyInfo, in which the key is hidden while its protect bit is set; all else from those without the key is discarded.

use crate::network::Network;
use crate::sma::Reply;
use heddle_fabric::PortRef;
use heddle_mad::Time;
use heddle_mad::wire::{
    Attribute, AttributeId, CaCongestionLog, CaCongestionSetting, ClassPortInfo, CongestionControlTable, CongestionInfo, CongestionKeyInfo,
    CongestionTimeStamp, Mad, Method, Status, SwitchCongestionLog, SwitchCongestionSetting, SwitchPortCongestionSetting,
};
use std::collections::BTreeMap;
use std::time::Duration;

/// What an end port keeps of congestion control.
#[derive(Debug, Default)]
pub(crate) struct Congestion {
    key: CongestionKeyInfo,
    /// When the lease of a violated CC_Key runs out.
    expiry: Option<Time>,
    /// Where traps were to be sent.
    traps: ClassPortInfo,
    /// Settings that were written, by attribute and block.
    blocks: BTreeMap<(AttributeId, u32), [u8; 192]>,
}

/// The version of the class (IBA A10.4.2).
const CLASS_VERSION: u8 = 2;
/// ControlTableCap, in blocks of 64 entries: as many as OpenSM can write.
const CONTROL_TABLE_CAP: u8 = 2;
/// How many ports a block of SwitchPortCongestionSetting has.
const PORTS_OF_BLOCK: u32 = 32;

/// Turns a Get or Set that came in through `at` into its answer.
pub(crate) fn answer(network: &mut Network, at: PortRef, now: Time, mad: &mut Mad) -> Reply {
    let end = network.end_port(at);
    let device = network.device_mut(end.node);
    let node = Node { is_switch: device.switch.is_some(), ports: device.num_ports(), resp_time_value: device.model.resp_time_value };
    let kept = device.congestion.entry(end.port).or_default();
    let outcome = if mad.base_version() != 1 || mad.class_version() != CLASS_VERSION {
        Err(Status::BAD_VERSION)
    } else if !matches!(mad.method(), Method::GET | Method::SET) {
        Err(Status::BAD_METHOD)
    } else {
        let has_key = kept.check_key(now, mad);
        let may_see = mad.method() == Method::GET && mad.attribute_id() == CongestionKeyInfo::ID;
        if !has_key && !may_see {
            return Reply::default();
        }
        let set = if mad.method() == Method::SET { kept.set(&node, mad) } else { Ok(()) };
        set.and_then(|()| kept.get(&node, has_key, now, mad))
    };
    mad.set_status(outcome.err().unwrap_or(Status::OK));
    mad.set_method(Method::GET_RESP);
    Reply { answered: true, effect: None }
}

/// What counts of the node.
struct Node {
    is_switch: bool,
    ports: u8,
    resp_time_value: u8,
}

impl Congestion {
    /// Whether the sender has the key, or there is none. If not, that is a violation.
    fn check_key(&mut self, now: Time, mad: &Mad) -> bool {
        if self.expiry.is_some_and(|expiry| expiry <= now) {
            self.expiry = None;
            self.key.set_cc_key_protect(false);
        }
        // The packets of the class have their key where those of subnet management have theirs.
        if self.key.cc_key() == 0 || self.key.cc_key() == mad.m_key() {
            self.expiry = None;
            return true;
        }
        if mad.attribute_id() == CongestionKeyInfo::ID && mad.method() == Method::GET {
            return false;
        }
        self.key.set_cc_key_violations(self.key.cc_key_violations().saturating_add(1));
        let lease = self.key.cc_key_lease_period();
        if lease != 0 && mad.attribute_id() == CongestionKeyInfo::ID {
            self.expiry.get_or_insert(now + Duration::from_secs(lease.into()));
        }
        false
    }

    fn get(&self, node: &Node, has_key: bool, now: Time, mad: &mut Mad) -> Result<(), Status> {
        let modifier = mad.modifier();
        // The clock of the class ticks every 1.024 µs.
        let ticks = (now.since(Time::ZERO).as_nanos() / 1024) as u32;
        match mad.attribute_id() {
            ClassPortInfo::ID => mad.set_attribute(&self.class_port_info(node)),
            CongestionInfo::ID => {
                let mut info = CongestionInfo::default();
                info.set_control_table_cap(if node.is_switch { 0 } else { CONTROL_TABLE_CAP });
                mad.set_attribute(&info);
            }
            CongestionKeyInfo::ID => {
                let mut info = self.key;
                if !has_key && info.cc_key_protect() {
                    info.set_cc_key(0);
                }
                mad.set_attribute(&info);
            }
            // The log of either kind: nothing was marked.
            SwitchCongestionLog::ID if node.is_switch => {
                let mut log = SwitchCongestionLog::default();
                log.set_log_type(1);
                log.set_current_time_stamp(ticks);
                mad.set_attribute(&log);
            }
            CaCongestionLog::ID => {
                let mut log = CaCongestionLog::default();
                log.set_log_type(2);
                log.set_current_time_stamp(ticks);
                mad.set_attribute(&log);
            }
            CongestionTimeStamp::ID => {
                let mut stamp = CongestionTimeStamp::default();
                stamp.set_time_stamp(ticks);
                mad.set_attribute(&stamp);
            }
            id => {
                node.check(id, modifier)?;
                let block = self.blocks.get(&(id, modifier)).copied().unwrap_or([0; 192]);
                mad.0[CongestionInfo::OFFSET..].copy_from_slice(&block);
            }
        }
        Ok(())
    }

    fn set(&mut self, node: &Node, mad: &Mad) -> Result<(), Status> {
        let id = mad.attribute_id();
        match id {
            ClassPortInfo::ID => self.traps = mad.attribute(),
            CongestionKeyInfo::ID => {
                let wanted: CongestionKeyInfo = mad.attribute();
                self.key.set_cc_key(wanted.cc_key());
                self.key.set_cc_key_protect(wanted.cc_key_protect());
                self.key.set_cc_key_lease_period(wanted.cc_key_lease_period());
                if wanted.cc_key_violations() == 0 {
                    self.key.set_cc_key_violations(0);
                }
            }
            _ => {
                node.check(id, mad.modifier())?;
                let block = match id {
                    SwitchCongestionSetting::ID => without_reserved::<SwitchCongestionSetting>(mad),
                    SwitchPortCongestionSetting::ID => without_reserved::<SwitchPortCongestionSetting>(mad),
                    CaCongestionSetting::ID => without_reserved::<CaCongestionSetting>(mad),
                    _ => without_reserved::<CongestionControlTable>(mad),
                };
                self.blocks.insert((id, mad.modifier()), block);
            }
        }
        Ok(())
    }

    fn class_port_info(&self, node: &Node) -> ClassPortInfo {
        let mut info = self.traps.traps_only();
        info.set_base_version(1);
        info.set_class_version(CLASS_VERSION);
        info.set_resp_time_value(node.resp_time_value);
        info
    }
}

impl Node {
    /// Whether there is such a setting, and such a block of it.
    fn check(&self, id: AttributeId, block: u32) -> Result<(), Status> {
        let blocks = match id {
            SwitchCongestionSetting::ID if self.is_switch => 1,
            SwitchPortCongestionSetting::ID if self.is_switch => u32::from(self.ports) / PORTS_OF_BLOCK + 1,
            CaCongestionSetting::ID if !self.is_switch => 1,
            CongestionControlTable::ID if !self.is_switch => CONTROL_TABLE_CAP.into(),
            _ => return Err(Status::BAD_ATTRIBUTE),
        };
        if block < blocks { Ok(()) } else { Err(Status::BAD_FIELD) }
    }
}

/// The fields of an attribute, and zeros between them.
fn without_reserved<A: Attribute<Bytes = [u8; 192]>>(mad: &Mad) -> [u8; 192] {
    let wanted = mad.attribute::<A>();
    let mut kept = [0; 192];
    for field in A::FIELDS {
        (0..field.count).for_each(|index| field.write_at(&mut kept, index, field.read_at(wanted.bytes(), index)));
    }
    kept
}
