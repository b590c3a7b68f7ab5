//! The performance management agent of a device (IBA 16.1): counters as the attributes have them, cut out of each port's [`Tally`].
//!
//! A counter is cleared by remembering what the tally was then. So each attribute counts on its own, as narrow as it is.

use crate::network::{Device, Network};
use crate::sma::Reply;
use crate::tally::{Lanes, Tally};
use heddle_fabric::PortRef;
use heddle_mad::wire::*;
use std::collections::BTreeMap;

/// What a device keeps of performance management.
#[derive(Debug, Default)]
pub(crate) struct Performance {
    /// What the counters stood at when they were cleared, by attribute, port and opcode.
    cleared: BTreeMap<(AttributeId, u8, u8), Vec<u64>>,
    /// Where traps were to be sent, by end port.
    traps: BTreeMap<u8, ClassPortInfo>,
}

/// Opcode of an unreliable datagram (IBA 9.2.1): of all MADs. What the data plane carries has no opcode, and counts as such.
const UD_SEND_ONLY: u8 = 0x64;
/// Code of counters of 32 bits in PortSamplesControl (IBA 16.1.3.2).
const WIDTH_32: u8 = 4;

/// Turns a Get or Set that came in through `at` into its answer.
pub(crate) fn answer(network: &mut Network, at: PortRef, mad: &mut Mad) -> Reply {
    let outcome = if mad.base_version() != 1 || mad.class_version() != 1 {
        Err(Status::BAD_VERSION)
    } else {
        match mad.method() {
            Method::GET => get(network, at, mad),
            Method::SET => set(network, at, mad),
            _ => Err(Status::BAD_METHOD),
        }
    };
    mad.set_status(outcome.err().unwrap_or(Status::OK));
    mad.set_method(Method::GET_RESP);
    Reply { answered: true, effect: None }
}

fn get(network: &Network, at: PortRef, mad: &mut Mad) -> Result<(), Status> {
    match mad.attribute_id() {
        ClassPortInfo::ID => mad.set_attribute(&class_port_info(network, at)),
        PortSamplesControl::ID => {
            let port_select = mad.attribute::<PortSamplesControl>().port_select();
            one_port(network.device(at.node), port_select)?;
            // Nothing can be sampled: there are no counters to select, and a Set is refused.
            let mut control = PortSamplesControl::default();
            control.set_port_select(port_select);
            control.set_counter_width(WIDTH_32);
            mad.set_attribute(&control);
        }
        PortSamplesResult::ID => mad.set_attribute(&PortSamplesResult::default()),
        PortSamplesResultExtended::ID => mad.set_attribute(&PortSamplesResultExtended::default()),
        id => {
            let table = table(network.device(at.node), id).ok_or(Status::BAD_ATTRIBUTE)?;
            let block = table.read(network, at, id, &mad.0[PortCounters::OFFSET..])?;
            mad.0[PortCounters::OFFSET..].copy_from_slice(&block);
        }
    }
    Ok(())
}

fn set(network: &mut Network, at: PortRef, mad: &mut Mad) -> Result<(), Status> {
    match mad.attribute_id() {
        ClassPortInfo::ID => {
            let end = network.end_port(at).port;
            network.device_mut(at.node).performance.traps.insert(end, mad.attribute());
        }
        id => {
            let table = table(network.device(at.node), id).ok_or(Status::BAD_ATTRIBUTE)?;
            table.clear(network, at, id, &mad.0[PortCounters::OFFSET..])?;
        }
    }
    get(network, at, mad)
}

fn class_port_info(network: &Network, at: PortRef) -> ClassPortInfo {
    let device = network.device(at.node);
    let traps = device.performance.traps.get(&network.end_port(at).port);
    let mut info = traps.map_or_else(ClassPortInfo::default, ClassPortInfo::traps_only);
    info.set_base_version(1);
    info.set_class_version(1);
    let mut capabilities = PerformanceCapabilities::EXTENDED_WIDTH | PerformanceCapabilities::XMIT_WAIT;
    capabilities.set(PerformanceCapabilities::ALL_PORT_SELECT, device.switch.is_some());
    info.set_capability_mask(capabilities.bits());
    info.set_capability_mask_2(ClassPortInfo::ADDITIONAL_EXTENDED_COUNTERS);
    info.set_resp_time_value(device.model.resp_time_value);
    info
}

/// An attribute that consists of counters.
struct Table {
    fields: &'static [Field],
    /// The counters that a port's tally gives, in the order of the fields.
    values: fn(&Tally, u8) -> Vec<u64>,
}

/// The counters of an attribute; `None` if it has none, or the device does not have it.
fn table(device: &Device, id: AttributeId) -> Option<Table> {
    let (fields, values): (_, fn(&Tally, u8) -> Vec<u64>) = match id {
        PortCounters::ID => (PortCounters::FIELDS, |tally, _| {
            let last = [tally.qp1_dropped, tally.vl15_dropped, tally.xmit_data, tally.rcv_data, tally.xmit_pkts, tally.rcv_pkts];
            [&errors(tally)[..], &last, &[tally.xmit_wait]].concat()
        }),
        PortCountersExtended::ID => (PortCountersExtended::FIELDS, |tally, _| {
            let (sent, received) = (tally.xmit_multicast_pkts, tally.rcv_multicast_pkts);
            let traffic = [tally.xmit_data, tally.rcv_data, tally.xmit_pkts, tally.rcv_pkts];
            let casts = [tally.xmit_pkts.saturating_sub(sent), tally.rcv_pkts.saturating_sub(received), sent, received];
            [&traffic[..], &casts, &errors(tally), &[tally.vl15_dropped, tally.xmit_wait, tally.qp1_dropped]].concat()
        }),
        PortRcvErrorDetails::ID => (PortRcvErrorDetails::FIELDS, |tally, _| {
            let overruns = tally.excessive_buffer_overruns;
            vec![tally.rcv_errors, 0, overruns, tally.dlid_mapping_errors, tally.vl_mapping_errors, tally.looping_errors]
        }),
        PortXmitDiscardDetails::ID => (PortXmitDiscardDetails::FIELDS, |tally, _| {
            vec![tally.inactive_discards, tally.mtu_discards, tally.lifetime_discards, tally.hoq_discards]
        }),
        PortOpRcvCounters::ID => {
            (PortOpRcvCounters::FIELDS, |tally, code| if code == UD_SEND_ONLY { vec![tally.rcv_pkts, tally.rcv_data] } else { vec![0; 2] })
        }
        PortVLOpPackets::ID => (PortVLOpPackets::FIELDS, |tally, code| by_vl(tally, code, tally.rcv_pkts, |lanes| &lanes.vl_rcv_pkts)),
        PortVLOpData::ID => (PortVLOpData::FIELDS, |tally, code| by_vl(tally, code, tally.rcv_data, |lanes| &lanes.vl_rcv_data)),
        PortVLXmitWaitCounters::ID => (PortVLXmitWaitCounters::FIELDS, |tally, _| row(tally, |lanes| &lanes.vl_xmit_wait)),
        PortXmitDataSL::ID => (PortXmitDataSL::FIELDS, |tally, _| row(tally, |lanes| &lanes.sl_xmit_data)),
        PortRcvDataSL::ID => (PortRcvDataSL::FIELDS, |tally, _| row(tally, |lanes| &lanes.sl_rcv_data)),
        // Links here carry no flow control packets, and correct no errors; nobody marks packets.
        PortFlowCtlCounters::ID => (PortFlowCtlCounters::FIELDS, |_, _| Vec::new()),
        PortVLXmitFlowCtlUpdateErrors::ID => (PortVLXmitFlowCtlUpdateErrors::FIELDS, |_, _| Vec::new()),
        PortExtendedSpeedsCounters::ID => (PortExtendedSpeedsCounters::FIELDS, |_, _| Vec::new()),
        SwPortVLCongestion::ID if device.switch.is_some() => (SwPortVLCongestion::FIELDS, |_, _| Vec::new()),
        PortRcvConCtrl::ID => (PortRcvConCtrl::FIELDS, |_, _| Vec::new()),
        PortSLRcvFECN::ID => (PortSLRcvFECN::FIELDS, |_, _| Vec::new()),
        PortSLRcvBECN::ID => (PortSLRcvBECN::FIELDS, |_, _| Vec::new()),
        PortXmitConCtrl::ID => (PortXmitConCtrl::FIELDS, |_, _| Vec::new()),
        PortVLXmitTimeCong::ID => (PortVLXmitTimeCong::FIELDS, |_, _| Vec::new()),
        _ => return None,
    };
    Some(Table { fields, values })
}

/// From SymbolErrorCounter to ExcessiveBufferOverrunErrors.
fn errors(tally: &Tally) -> [u64; 11] {
    [
        tally.symbol_errors,
        tally.link_error_recoveries,
        tally.link_downed,
        tally.rcv_errors,
        tally.rcv_remote_physical_errors,
        tally.rcv_switch_relay_errors,
        tally.xmit_discards,
        tally.xmit_constraint_errors,
        tally.rcv_constraint_errors,
        tally.local_link_integrity_errors,
        tally.excessive_buffer_overruns,
    ]
}

fn row(tally: &Tally, row: fn(&Lanes) -> &[u64; 16]) -> Vec<u64> {
    tally.lanes.as_deref().map_or_else(Vec::new, |lanes| row(lanes).to_vec())
}

/// What came in, by VL: on VL 15 what is missing in the others.
fn by_vl(tally: &Tally, op_code: u8, all: u64, lane: fn(&Lanes) -> &[u64; 16]) -> Vec<u64> {
    if op_code != UD_SEND_ONLY {
        return Vec::new();
    }
    let mut row = row(tally, lane);
    row.resize(16, 0);
    row[15] = all.saturating_sub(row[..15].iter().sum());
    row
}

impl Table {
    /// The block that answers a request for it.
    fn read(&self, network: &Network, at: PortRef, id: AttributeId, request: &[u8]) -> Result<[u8; 192], Status> {
        let mut block = [0; 192];
        for field in self.fields.iter().filter(|field| is_select(field)) {
            field.write(&mut block, field.read(request));
        }
        let op_code = self.select(request, "OpCode") as u8;
        let device = network.device(at.node);
        for port in ports(device, self.select(request, "PortSelect") as u8)? {
            let values = self.values(network, PortRef::new(at.node, port), op_code);
            let cleared = device.performance.cleared.get(&(id, port, op_code));
            for (place, (field, index)) in self.counters().enumerate() {
                let value = values.get(place).copied().unwrap_or(0);
                let counted = value.wrapping_sub(cleared.and_then(|cleared| cleared.get(place)).copied().unwrap_or(0));
                // The widest wrap, the others stop (IBA 16.1.3.5, 16.1.4).
                let sum = field.read_at(&block, index);
                let sum = if field.width == 64 { sum.wrapping_add(counted) } else { sum.saturating_add(counted).min(field.max()) };
                field.write_at(&mut block, index, sum);
            }
        }
        Ok(block)
    }

    /// Clears what the request selects.
    fn clear(&self, network: &mut Network, at: PortRef, id: AttributeId, request: &[u8]) -> Result<(), Status> {
        // The sixteen bits of CounterSelect are followed by those of CounterSelect2.
        let mask = self.select(request, "CounterSelect") | self.select(request, "CounterSelect2") << 16;
        let op_code = self.select(request, "OpCode") as u8;
        for port in ports(network.device(at.node), self.select(request, "PortSelect") as u8)? {
            let values = self.values(network, PortRef::new(at.node, port), op_code);
            let cleared = network.device_mut(at.node).performance.cleared.entry((id, port, op_code)).or_default();
            cleared.resize(self.counters().count(), 0);
            for (place, cleared) in cleared.iter_mut().enumerate().filter(|(place, _)| mask >> bit(id, *place) & 1 == 1) {
                *cleared = values.get(place).copied().unwrap_or(0);
            }
        }
        Ok(())
    }

    fn values(&self, network: &Network, at: PortRef, op_code: u8) -> Vec<u64> {
        network.port(at).map_or_else(Vec::new, |port| (self.values)(&port.tally, op_code))
    }

    /// The counters in the order of the fields, rows entry by entry.
    fn counters(&self) -> impl Iterator<Item = (&'static Field, usize)> {
        self.fields.iter().filter(|field| !is_select(field)).flat_map(|field| (0..field.count).map(move |index| (field, index)))
    }

    /// The value of a field that selects; 0 if the attribute does not have it.
    fn select(&self, request: &[u8], name: &str) -> u64 {
        self.fields.iter().find(|field| field.name == name).map_or(0, |field| field.read(request))
    }
}

fn is_select(field: &Field) -> bool {
    matches!(field.name, "OpCode" | "PortSelect" | "CounterSelect" | "CounterSelect2")
}

/// The bit that clears a counter, CounterSelect2 counted from 16.
fn bit(id: AttributeId, place: usize) -> usize {
    match (id, place) {
        // QP1Dropped lies before VL15Dropped and has bit 1 of CounterSelect2; PortXmitWait has bit 0.
        (PortCounters::ID, 11) => 17,
        (PortCounters::ID, 12..) => place - 1,
        // Bits 8 to 15 are reserved.
        (PortCountersExtended::ID, 8..) => place + 8,
        _ => place,
    }
}

/// The ports that a PortSelect means.
fn ports(device: &Device, select: u8) -> Result<std::ops::RangeInclusive<u8>, Status> {
    if select == ALL_PORTS && device.switch.is_some() {
        return Ok(1..=device.num_ports());
    }
    one_port(device, select).map(|port| port..=port)
}

/// Port 0 of a switch counts only if it is an enhanced one.
fn one_port(device: &Device, select: u8) -> Result<u8, Status> {
    let first = if device.switch.as_ref().is_some_and(|switch| switch.info.enhanced_port0()) { 0 } else { 1 };
    if (first..=device.num_ports()).contains(&select) { Ok(select) } else { Err(Status::BAD_FIELD) }
}
