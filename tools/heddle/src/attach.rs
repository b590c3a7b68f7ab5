//! Where a command meets a live fabric: the kernel, ibsim, or the embedded emulator.

use crate::fabric;
use anyhow::{Context, bail};
use heddle_emulator::Emulator;
use heddle_fabric::{Fabric, Guid, NodeIndex, NodeKind, PortRef};
use heddle_mad::transport::{Ibsim, Transport, Umad};

/// Where the fabric is. Without any of these: the first InfiniBand port of this host.
#[derive(clap::Args)]
pub(crate) struct Attachment {
    /// Through the kernel, by this device and port (mlx5_0:1), or by the first InfiniBand port
    #[arg(long, value_name = "DEV[:PORT]", num_args = 0..=1, default_missing_value = "", group = "attachment")]
    umad: Option<String>,

    /// To an ibsim simulator on this host with this socket name [default: $IBSIM_SOCKNAME, or sim]
    #[arg(long, value_name = "NAME", num_args = 0..=1, group = "attachment")]
    ibsim: Option<Option<String>>,

    /// To an embedded emulator of this fabric, which needs no hardware; `heddle route --help` explains FABRIC
    #[arg(long, value_name = "FABRIC", group = "attachment")]
    emulate: Option<String>,

    /// The node to attach to, by description or GUID, of a simulated fabric [default: the first host; for ibsim $SIM_HOST]
    #[arg(long, value_name = "NODE[:PORT]", conflicts_with = "umad")]
    node: Option<String>,
}

/// An open attachment.
pub(crate) enum Attached {
    /// Lives in the machine's time.
    Outside(Box<dyn Transport>),
    /// Lives in virtual time.
    Emulator { emulator: Box<Emulator>, fabric: Box<Fabric> },
}

impl Attachment {
    pub(crate) fn open(&self) -> anyhow::Result<Attached> {
        if let Some(argument) = &self.emulate {
            let loaded = fabric::load(argument, None)?;
            let (name, sm_port) = (loaded.name, loaded.sm_port);
            let fabric = loaded.builder.build();
            let at = match &self.node {
                Some(node) => find(&fabric, node)?,
                None => sm_port.or_else(|| first_end_port(&fabric)).with_context(|| format!("{name} has no port to attach to"))?,
            };
            return Ok(Attached::Emulator { emulator: Box::new(Emulator::new(&fabric, at)?), fabric: Box::new(fabric) });
        }
        if let Some(name) = &self.ibsim {
            let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
            let name = name.clone().or_else(|| variable("IBSIM_SOCKNAME")).unwrap_or_else(|| Ibsim::DEFAULT_NAME.into());
            let node = self.node.clone().or_else(|| variable("SIM_HOST"));
            return Ok(Attached::Outside(Box::new(Ibsim::connect(&name, node.as_deref())?)));
        }
        let device = self.umad.as_deref().filter(|device| !device.is_empty());
        let umad = Umad::open(device).context("no way to an InfiniBand fabric (without hardware, try --emulate gen:clos2:8 or --ibsim)")?;
        Ok(Attached::Outside(Box::new(umad)))
    }
}

/// The port that the user means: a node's description or GUID, and perhaps a port.
fn find(fabric: &Fabric, text: &str) -> anyhow::Result<PortRef> {
    let whole = matches(fabric, text);
    let (nodes, port) = match text.rsplit_once(':') {
        Some((node, port)) if whole.is_empty() => {
            (matches(fabric, node), Some(port.parse::<u8>().with_context(|| format!("--node {text}: \"{port}\" is not a port number"))?))
        }
        _ => (whole, None),
    };
    let [node] = nodes[..] else {
        bail!("--node {text}: the fabric has {} nodes with this description or GUID; expected one", nodes.len());
    };
    let usual = || {
        let cabled = |port: &u8| fabric.port(PortRef::new(node, *port)).is_some_and(|port| port.peer.is_some());
        if fabric.node(node).kind == NodeKind::Switch { 0 } else { (1..=fabric.node(node).num_ports).find(cabled).unwrap_or(1) }
    };
    Ok(PortRef::new(node, port.unwrap_or_else(usual)))
}

fn matches(fabric: &Fabric, text: &str) -> Vec<NodeIndex> {
    let guid = text.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok()).map(Guid);
    let is_meant = |node: &heddle_fabric::Node| node.description == text || Some(node.guid) == guid;
    (0..).zip(fabric.nodes()).filter(|(_, node)| is_meant(node)).map(|(index, _)| NodeIndex(index)).collect()
}

/// The first cabled port of a host; else any host's; else the first switch itself.
fn first_end_port(fabric: &Fabric) -> Option<PortRef> {
    let hosts = || (0..).map(NodeIndex).zip(fabric.nodes()).filter(|(_, node)| node.kind != NodeKind::Switch);
    let mut ports = hosts().flat_map(|(index, node)| (1..=node.num_ports).map(move |port| PortRef::new(index, port)));
    ports
        .find(|&at| fabric.port(at).is_some_and(|port| port.peer.is_some()))
        .or_else(|| hosts().next().map(|(index, _)| PortRef::new(index, 1)))
        .or_else(|| fabric.switches().first().map(|&switch| PortRef::new(switch, 0)))
}
