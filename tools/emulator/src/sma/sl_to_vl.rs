//! SLtoVLMappingTable, plain and optimised (IBA 14.2.5.8).

use super::Outcome;
use crate::network::{Device, Network};
use heddle_fabric::{NodeKind, PortRef};
use heddle_mad::wire::{Status, data_vls};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Bit 16 of the modifier: for all output ports.
const ALL_OUTPUTS: u32 = 1 << 16;
/// Bit 17 of the modifier: for all input ports.
const ALL_INPUTS: u32 = 1 << 17;

/// The rows of a device, each a VL for each SL.
#[derive(Debug, Default)]
pub(crate) struct SlToVl {
    /// What was written for all pairs of ports at once. The rows below count more.
    pub(crate) all: Option<[u8; 8]>,
    /// By output port and input port; of a host by port, and 0.
    pub(crate) rows: BTreeMap<(u8, u8), [u8; 8]>,
}

impl Device {
    /// The row for packets from port `input` to port `output` of a switch, or out of port `output` of a host, whose port 0 is no input.
    pub(crate) fn sl_to_vl(&self, input: u8, output: u8) -> Option<[u8; 8]> {
        let input = if self.kind == NodeKind::Switch { input } else { 0 };
        self.sl_to_vl.rows.get(&(output, input)).copied().or(self.sl_to_vl.all)
    }
}

impl Network {
    /// The VL of a packet of general services or data that came in at `input` (at the same port, if it begins here) and leaves by `output`;
    /// `None` if the port has no such VL: the packet is dropped (IBA 7.6.6).
    pub(crate) fn vl(&self, input: PortRef, output: PortRef, sl: u8) -> Option<u8> {
        let row = self.device(output.node).sl_to_vl(input.port, output.port).unwrap_or_else(|| cold_row(self, output));
        let vl = row[usize::from(sl & 15) / 2] >> (4 * (1 - sl % 2)) & 15;
        let vls = data_vls(self.port(output)?.info.operational_vls()).unwrap_or(1);
        (vl < vls).then_some(vl)
    }
}

pub(super) fn get(network: &Network, at: PortRef, modifier: u32) -> Outcome {
    let (inputs, outputs) = ports_of(network, at, modifier)?;
    if inputs.start() != inputs.end() || outputs.start() != outputs.end() {
        return Err(Status::BAD_FIELD); // which of the rows?
    }
    let output = PortRef::new(at.node, *outputs.start());
    let row = network.device(at.node).sl_to_vl(*inputs.start(), output.port).unwrap_or_else(|| cold_row(network, output));
    Ok(block(&row))
}

pub(super) fn set(network: &mut Network, at: PortRef, modifier: u32, data: &[u8; 64]) -> Outcome {
    let (inputs, outputs) = ports_of(network, at, modifier)?;
    let row = std::array::from_fn(|i| data[i]);
    let table = &mut network.device_mut(at.node).sl_to_vl;
    if modifier & ALL_INPUTS != 0 && modifier & ALL_OUTPUTS != 0 {
        *table = SlToVl { all: Some(row), rows: BTreeMap::new() };
    } else {
        for output in outputs {
            table.rows.extend(inputs.clone().map(|input| ((output, input), row)));
        }
    }
    Ok(block(&row))
}

/// The input and output ports that a modifier means. Those of a host are 0 and the port asked through, whatever the modifier.
fn ports_of(network: &Network, at: PortRef, modifier: u32) -> Result<(RangeInclusive<u8>, RangeInclusive<u8>), Status> {
    let device = network.device(at.node);
    let Some(model) = &device.model.switch else { return Ok((0..=0, at.port..=at.port)) };
    let all = ALL_INPUTS | ALL_OUTPUTS;
    let allowed = 0xffff | if model.optimized_sl_to_vl { all } else { 0 };
    if modifier & !allowed != 0 {
        return Err(Status::BAD_FIELD);
    }
    let last = device.num_ports();
    let first_output = if model.enhanced_port0 { 0 } else { 1 };
    let [.., input, output] = modifier.to_be_bytes();
    let inputs = if modifier & ALL_INPUTS != 0 { 0..=last } else { input..=input };
    let outputs = if modifier & ALL_OUTPUTS != 0 { first_output..=last } else { output..=output };
    if *inputs.end() <= last && *outputs.start() >= first_output && *outputs.end() <= last {
        Ok((inputs, outputs))
    } else {
        Err(Status::BAD_FIELD)
    }
}

/// Out of reset each SL has the VL of its number, as far as there are VLs, and then begins anew.
pub(crate) fn cold_row(network: &Network, output: PortRef) -> [u8; 8] {
    let vls = network.port(output).and_then(|port| data_vls(port.info.vl_cap())).unwrap_or(1);
    std::array::from_fn(|i| (2 * i as u8 % vls) << 4 | ((2 * i as u8 + 1) % vls))
}

fn block(row: &[u8; 8]) -> [u8; 64] {
    let mut data = [0; 64];
    data[..8].copy_from_slice(row);
    data
}
