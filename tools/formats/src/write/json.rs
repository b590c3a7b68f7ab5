use heddle_fabric::{Fabric, Guid, Lid, NodeIndex, NodeKind, PortRef};
use serde::Serialize;
use std::io::{self, Write};

/// Writes a fabric as JSON.
///
/// ```json
/// {
///   "nodes": [
///     {
///       "guid": "0x0000000000000010",
///       "kind": "switch",
///       "description": "leaf",
///       "system_image_guid": "0x0000000000000000",
///       "vendor_id": 713,
///       "device_id": 53952,
///       "num_ports": 8,
///       "ports": [{ "port": 0, "guid": "0x0000000000000010", "lid": 1, "lmc": 0 }]
///     }
///   ],
///   "links": [
///     {
///       "a": { "guid": "0x0000000000000010", "port": 3 },
///       "b": { "guid": "0x0000000000000020", "port": 1 },
///       "width": "4x",
///       "speed": "HDR"
///     }
///   ]
/// }
/// ```
///
/// `kind` is `switch`, `ca` or `router`. GUIDs are strings of `0x` and 16 digits, zero where not known. `ports` has the ports of which a
/// GUID or LID is known; `lid` is the base LID or `null`. Each cable is in `links` once, `a` being the end of the earlier node (or the
/// lower port); `width` and `speed` are `null` where not known.
///
/// # Errors
/// Those of `out`.
pub fn write_json(out: &mut dyn Write, fabric: &Fabric) -> io::Result<()> {
    let nodes = (0..fabric.nodes().len()).map(|index| node(fabric, NodeIndex(index as u32))).collect();
    serde_json::to_writer_pretty(&mut *out, &JsonFabric { nodes, links: links(fabric) })?;
    writeln!(out)
}

#[derive(Serialize)]
struct JsonFabric<'a> {
    nodes: Vec<JsonNode<'a>>,
    links: Vec<JsonLink>,
}

#[derive(Serialize)]
struct JsonNode<'a> {
    guid: Guid,
    kind: NodeKind,
    description: &'a str,
    system_image_guid: Guid,
    vendor_id: u32,
    device_id: u16,
    num_ports: u8,
    ports: Vec<JsonPort>,
}

#[derive(Serialize)]
struct JsonPort {
    port: usize,
    guid: Guid,
    lid: Option<Lid>,
    lmc: u8,
}

#[derive(Serialize)]
struct JsonLink {
    a: JsonEnd,
    b: JsonEnd,
    width: Option<String>,
    speed: Option<&'static str>,
}

#[derive(Serialize)]
struct JsonEnd {
    guid: Guid,
    port: u8,
}

fn node(fabric: &Fabric, index: NodeIndex) -> JsonNode<'_> {
    let node = fabric.node(index);
    let known = fabric.node_ports(index).iter().enumerate().filter(|(_, port)| port.guid != Guid(0) || port.lid.is_some());
    JsonNode {
        guid: node.guid,
        kind: node.kind,
        description: &node.description,
        system_image_guid: node.system_image_guid,
        vendor_id: node.vendor_id,
        device_id: node.device_id,
        num_ports: node.num_ports,
        ports: known.map(|(number, port)| JsonPort { port: number, guid: port.guid, lid: port.lid, lmc: port.lmc }).collect(),
    }
}

fn links(fabric: &Fabric) -> Vec<JsonLink> {
    let mut links = Vec::new();
    for index in 0..fabric.nodes().len() {
        let index = NodeIndex(index as u32);
        for (number, port) in fabric.node_ports(index).iter().enumerate() {
            let a = PortRef::new(index, number as u8);
            let Some(b) = port.peer.filter(|b| (a.node, a.port) < (b.node, b.port)) else { continue };
            let end = |at: PortRef| JsonEnd { guid: fabric.node(at.node).guid, port: at.port };
            let width = port.link.width.map(|width| width.to_string());
            links.push(JsonLink { a: end(a), b: end(b), width, speed: port.link.speed.map(|speed| speed.name()) });
        }
    }
    links
}
