use super::one_line;
use heddle_fabric::{Fabric, Guid, Lid, Link, Node, NodeIndex, NodeKind, PortRef};
use std::io::{self, Write};

/// Writes a fabric as `ibnetdiscover` prints it, nodes in the fabric's order.
///
/// `origin` is the port that the file says the discovery began at. [`crate::read`] gives the same fabric again, but for what the format
/// cannot hold: GUIDs and LIDs of ports without a cable, and control characters in descriptions, which become blanks. A port without a
/// LID is written with LID 0.
///
/// # Errors
/// Those of `out`.
pub fn write_ibnetdiscover(out: &mut dyn Write, fabric: &Fabric, origin: Option<PortRef>) -> io::Result<()> {
    writeln!(out, "#\n# Topology file: written by heddle\n#")?;
    if let Some(at) = origin {
        let port_guid = fabric.port(at).map_or(Guid(0), |port| port.guid);
        writeln!(out, "# Initiated from node {:016x} port {:016x}", fabric.node(at.node).guid.0, port_guid.0)?;
    }
    for (index, node) in fabric.nodes().iter().enumerate() {
        let index = NodeIndex(index as u32);
        writeln!(out, "\nvendid={:#x}\ndevid={:#x}", node.vendor_id, node.device_id)?;
        if node.system_image_guid != Guid(0) {
            writeln!(out, "sysimgguid={:#x}", node.system_image_guid.0)?;
        }
        write_node(out, fabric, index, "Ca", true)?;
    }
    Ok(())
}

/// Writes a fabric as ibsim and [`crate::read`] read it, nodes in the fabric's order.
///
/// Node GUIDs, LIDs, widths and speeds are given; port GUIDs of CAs are for Heddle only: ibsim counts them up from the node GUID. In
/// descriptions ibsim ends at a quote.
///
/// # Errors
/// Those of `out`.
pub fn write_netlist(out: &mut dyn Write, fabric: &Fabric) -> io::Result<()> {
    writeln!(out, "# ibsim netlist written by heddle")?;
    for (index, node) in fabric.nodes().iter().enumerate() {
        // ibsim keeps these from one node to the next, so zeros are written as well.
        let facts = (node.vendor_id, node.device_id, node.system_image_guid.0);
        writeln!(out, "\nvendid={:#x}\ndevid={:#x}\nsysimgguid={:#x}", facts.0, facts.1, facts.2)?;
        write_node(out, fabric, NodeIndex(index as u32), "Hca", false)?;
    }
    Ok(())
}

fn write_node(out: &mut dyn Write, fabric: &Fabric, index: NodeIndex, ca_word: &str, name_peers: bool) -> io::Result<()> {
    let node = fabric.node(index);
    let description = one_line(&node.description);
    match node.kind {
        NodeKind::Switch => {
            let own = fabric.port(PortRef::new(index, 0)).copied().unwrap_or_default();
            // An LMC needs an enhanced port 0 (IBA 18.2.4.2).
            let port_0 = if own.lmc > 0 { "enhanced" } else { "base" };
            writeln!(out, "switchguid={:#x}({:x})", node.guid.0, own.guid.0)?;
            write!(out, "Switch\t{} \"{}\"\t\t# \"{description}\" {port_0} port 0 ", node.num_ports, id(node))?;
            writeln!(out, "lid {} lmc {}", number(own.lid), own.lmc)?;
        }
        NodeKind::Ca => {
            writeln!(out, "caguid={:#x}", node.guid.0)?;
            writeln!(out, "{ca_word}\t{} \"{}\"\t\t# \"{description}\"", node.num_ports, id(node))?;
        }
        NodeKind::Router => {
            writeln!(out, "rtguid={:#x}", node.guid.0)?;
            writeln!(out, "Rt\t{} \"{}\"\t\t# \"{description}\"", node.num_ports, id(node))?;
        }
    }
    for port in 1..=node.num_ports {
        let Some(own) = fabric.port(PortRef::new(index, port)) else { continue };
        let Some(at) = own.peer else { continue };
        let peer = fabric.node(at.node);
        let peer_name = if name_peers { one_line(&peer.description) } else { String::new() };
        let peer_is_switch = peer.kind == NodeKind::Switch;
        let peer_port = fabric.port(if peer_is_switch { PortRef::new(at.node, 0) } else { at }).copied().unwrap_or_default();
        write!(out, "[{port}]")?;
        if node.kind != NodeKind::Switch {
            write!(out, "({:x}) ", own.guid.0)?;
        }
        write!(out, "\t\"{}\"[{}]", id(peer), at.port)?;
        if !peer_is_switch {
            write!(out, "({:x}) ", peer_port.guid.0)?;
        }
        write!(out, "\t\t# ")?;
        if node.kind != NodeKind::Switch {
            write!(out, "lid {} lmc {} ", number(own.lid), own.lmc)?;
        }
        writeln!(out, "\"{peer_name}\" lid {}{}", number(peer_port.lid), rate(own.link))?;
    }
    Ok(())
}

fn id(node: &Node) -> String {
    let kind = match node.kind {
        NodeKind::Switch => 'S',
        NodeKind::Ca => 'H',
        NodeKind::Router => 'R',
    };
    format!("{kind}-{:016x}", node.guid.0)
}

fn number(lid: Option<Lid>) -> u16 {
    lid.map_or(0, Lid::get)
}

/// ` 4xHDR`, or nothing where nothing is known.
fn rate(link: Link) -> String {
    if link == Link::default() {
        return String::new();
    }
    let width = link.width.map_or("??x".to_owned(), |width| width.to_string());
    format!(" {width}{}", link.speed.map_or("???", |speed| speed.name()))
}
