//! From records to nodes and cables, whatever the format.

use super::lines::shorten;
use super::{Fault, WarningKind, Warnings};
use heddle_fabric::{BuildError, FabricBuilder, Guid, Lid, Link, NodeIndex, NodeKind, NodeSpec, PortRef};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// IBA 14.2.5.2.
const NODE_DESCRIPTION_BYTES: usize = 64;

/// A node as a file tells of it.
#[derive(Clone, Debug)]
pub(crate) struct Record<'a> {
    pub(crate) line: usize,
    pub(crate) kind: NodeKind,
    pub(crate) num_ports: u8,
    /// What ports of other records call it.
    pub(crate) id: Cow<'a, [u8]>,
    pub(crate) guid: Option<Guid>,
    /// Of a switch: port 0's.
    pub(crate) port_guid: Option<Guid>,
    pub(crate) system_image_guid: Guid,
    pub(crate) vendor_id: u32,
    pub(crate) device_id: u16,
    pub(crate) description: &'a [u8],
    /// Of a switch: port 0's.
    pub(crate) lid: Option<u32>,
    pub(crate) lmc: Option<u32>,
    pub(crate) ports: Vec<PortLine<'a>>,
}

/// A port as its node's record tells of it.
#[derive(Clone, Debug)]
pub(crate) struct PortLine<'a> {
    pub(crate) line: usize,
    pub(crate) port: u32,
    pub(crate) guid: Option<Guid>,
    pub(crate) lid: Option<u32>,
    pub(crate) lmc: Option<u32>,
    pub(crate) peer: Option<Peer<'a>>,
    pub(crate) link: Link,
}

/// The other end of a cable, as this end's record tells of it.
#[derive(Clone, Debug)]
pub(crate) struct Peer<'a> {
    pub(crate) id: Cow<'a, [u8]>,
    pub(crate) port: u32,
    pub(crate) guid: Option<Guid>,
    pub(crate) description: Option<&'a [u8]>,
    pub(crate) lid: Option<u32>,
}

pub(crate) struct Assembled {
    pub(crate) builder: FabricBuilder,
    /// By record; `None` for one that was left out.
    pub(crate) nodes: Vec<Option<NodeIndex>>,
}

/// Makes nodes and cables of records. `O(n log n)` in their size.
///
/// # Errors
/// More nodes than a subnet can have: a file of some megabytes would take gigabytes of memory.
pub(crate) fn assemble(records: &[Record<'_>], warnings: &mut Warnings) -> Result<Assembled, Fault> {
    let mut assembly = Assembly { builder: FabricBuilder::new(), by_id: BTreeMap::new(), told: Vec::new(), warnings };
    let nodes = assembly.add_nodes(records)?;
    assembly.add_unknown_nodes(records)?;
    let kept: Vec<(NodeIndex, &Record<'_>)> = nodes.iter().zip(records).filter_map(|(&node, record)| Some((node?, record))).collect();
    assembly.add_ports(&kept);
    assembly.add_cables(&kept);
    assembly.check_one_way(&kept);
    assembly.check_lids(&kept);
    Ok(Assembled { builder: assembly.builder, nodes })
}

struct Assembly<'a, 'w> {
    builder: FabricBuilder,
    /// The node that an id means; `None` for one that was left out.
    by_id: BTreeMap<&'a [u8], Option<NodeIndex>>,
    /// By node and port.
    told: Vec<Vec<Told>>,
    warnings: &'w mut Warnings,
}

/// What the file has said of a port so far.
#[derive(Clone, Copy, Default)]
struct Told {
    /// The line in the own record that tells of the cable; 0 for none.
    cable_line: usize,
    /// The LID as written.
    lid: Option<u32>,
    link: Link,
}

impl<'a> Assembly<'a, '_> {
    fn add_nodes(&mut self, records: &'a [Record<'_>]) -> Result<Vec<Option<NodeIndex>>, Fault> {
        let mut taken: BTreeSet<Guid> = records.iter().filter_map(|record| record.guid).collect();
        let mut by_guid: BTreeMap<Guid, usize> = BTreeMap::new();
        let mut by_id: BTreeMap<&[u8], usize> = BTreeMap::new();
        let mut nodes = Vec::with_capacity(records.len());
        for (index, record) in records.iter().enumerate() {
            if let Some(&other) = by_id.get(&*record.id) {
                self.warn_of_duplicate(record, &records[other]);
                nodes.push(None);
                continue;
            }
            by_id.insert(&record.id, index);
            if let Some(&other) = record.guid.filter(|&guid| guid != Guid(0)).and_then(|guid| by_guid.get(&guid)) {
                self.warn_of_duplicate(record, &records[other]);
                self.by_id.insert(&record.id, None);
                nodes.push(None);
                continue;
            }
            let guid = record.guid.filter(|&guid| guid != Guid(0)).unwrap_or_else(|| self.invent(record, &mut taken));
            by_guid.insert(guid, index);
            let description = self.text(record.line, record.description);
            let spec = NodeSpec {
                kind: record.kind,
                guid,
                system_image_guid: record.system_image_guid,
                vendor_id: record.vendor_id,
                device_id: record.device_id,
                num_ports: record.num_ports,
                description,
            };
            nodes.push(self.add_node(record.line, &record.id, spec)?);
        }
        Ok(nodes)
    }

    fn warn_of_duplicate(&mut self, record: &Record<'_>, first: &Record<'_>) {
        let id = String::from_utf8_lossy(&record.id);
        if says_the_same(record, first) {
            let text = format!("\"{id}\" is the same as in line {}; left out", first.line);
            self.warnings.add(record.line, WarningKind::RepeatedNode, text);
        } else {
            let text = format!(
                "\"{id}\" ({}) has the id or GUID of \"{}\" ({}) in line {} but differs from it; left out",
                String::from_utf8_lossy(record.description),
                String::from_utf8_lossy(&first.id),
                String::from_utf8_lossy(first.description),
                first.line
            );
            self.warnings.add(record.line, WarningKind::ConflictingNode, text);
        }
    }

    fn invent(&mut self, record: &Record<'_>, taken: &mut BTreeSet<Guid>) -> Guid {
        let guid = invented_guid(&record.id, taken);
        let kind = if record.guid.is_some() { WarningKind::ZeroGuid } else { WarningKind::InventedGuid };
        self.warnings.add(record.line, kind, format!("\"{}\" has no GUID; it gets {guid}", String::from_utf8_lossy(&record.id)));
        guid
    }

    fn add_node(&mut self, line: usize, id: &'a [u8], spec: NodeSpec) -> Result<Option<NodeIndex>, Fault> {
        let most = Lid::MAX.index();
        if self.builder.nodes().len() == most {
            let reason = format!("this is node {}, and a subnet has no more than {most} unicast LIDs", most + 1);
            return Err(Fault { line, column: 1, reason });
        }
        let ports = usize::from(spec.num_ports);
        let node = match self.builder.add_node(spec) {
            Ok(node) => {
                self.told.push(vec![Told::default(); ports + 1]);
                Some(node)
            }
            Err(error) => {
                self.warnings.add(line, WarningKind::ConflictingNode, format!("{error}; left out"));
                None
            }
        };
        self.by_id.insert(id, node);
        Ok(node)
    }

    /// Nodes that only their neighbours name.
    fn add_unknown_nodes(&mut self, records: &'a [Record<'_>]) -> Result<(), Fault> {
        struct Unknown<'a> {
            line: usize,
            ports: u8,
            description: Option<&'a [u8]>,
        }
        let mut unknown: BTreeMap<&'a [u8], Unknown<'a>> = BTreeMap::new();
        for port in records.iter().flat_map(|record| &record.ports) {
            let Some(peer) = port.peer.as_ref().filter(|peer| !self.by_id.contains_key(&*peer.id)) else { continue };
            let Some(number) = u8::try_from(peer.port).ok().filter(|number| (1..=254).contains(number)) else { continue };
            let node = unknown.entry(&peer.id).or_insert(Unknown { line: port.line, ports: number, description: peer.description });
            node.ports = node.ports.max(number);
        }
        let mut taken: BTreeSet<Guid> = self.builder.nodes().iter().map(|node| node.guid).collect();
        let mut in_order: Vec<_> = unknown.into_iter().collect();
        in_order.sort_by_key(|(_, node)| node.line);
        for (id, node) in in_order {
            let kind = match id {
                [b'S', b'-', ..] => NodeKind::Switch,
                [b'R', b'-', ..] => NodeKind::Router,
                _ => NodeKind::Ca,
            };
            let given = super::ibnetdiscover::guid_in_id(id).filter(|guid| *guid != Guid(0));
            let guid = given.unwrap_or_else(|| invented_guid(id, &mut taken));
            let description = node.description.map_or("unknown".to_owned(), |text| self.text(node.line, text));
            let text =
                format!("\"{}\" ({description}) has no record of its own; {} ports assumed", String::from_utf8_lossy(id), node.ports);
            self.warnings.add(node.line, WarningKind::UnknownNode, text);
            self.add_node(node.line, id, NodeSpec::new(kind, guid, node.ports, description))?;
        }
        Ok(())
    }

    /// GUIDs, LIDs and LMCs, as each node's own record has them.
    fn add_ports(&mut self, kept: &[(NodeIndex, &Record<'_>)]) {
        for &(node, record) in kept {
            if record.kind == NodeKind::Switch {
                let at = PortRef::new(node, 0);
                let guid = record.port_guid.unwrap_or(self.builder.nodes()[node.index()].guid);
                self.set_port(record.line, at, Some(guid), record.lid, record.lmc);
            }
            for line in &record.ports {
                let Some(at) = self.port_ref(node, line.port) else { continue };
                // A netlist does not tell port GUIDs; ibsim counts them up from the node's.
                let counted = || Guid(self.builder.nodes()[node.index()].guid.0.wrapping_add(u64::from(at.port)));
                let guid = if record.kind == NodeKind::Switch { None } else { Some(line.guid.unwrap_or_else(counted)) };
                self.set_port(line.line, at, guid, line.lid, line.lmc);
            }
        }
    }

    fn set_port(&mut self, line: usize, at: PortRef, guid: Option<Guid>, lid: Option<u32>, lmc: Option<u32>) {
        let mut known = *self.builder.port(at).expect("the port was checked");
        let told = &mut self.told[at.node.index()][usize::from(at.port)];
        if let Some(guid) = guid {
            known.guid = guid;
        }
        if let Some(lid) = lid.filter(|_| told.lid.is_none()) {
            told.lid = Some(lid);
            known.lid = self.valid_lid(line, at, lid);
        }
        if let Some(lmc) = lmc {
            known.lmc = u8::try_from(lmc).ok().filter(|lmc| *lmc <= 7).unwrap_or_else(|| {
                let text = format!("{} has LMC {lmc}; at most 7 is possible, 0 is used", self.name(at));
                self.warnings.add(line, WarningKind::InvalidLid, text);
                0
            });
        }
        *self.builder.port_mut(at).expect("the port was checked") = known;
    }

    fn valid_lid(&mut self, line: usize, at: PortRef, lid: u32) -> Option<Lid> {
        if lid == 0 || lid == 0xffff {
            self.warnings.add(line, WarningKind::UnassignedLid, format!("{} has LID {lid}, that is none", self.name(at)));
            return None;
        }
        let valid = u16::try_from(lid).ok().and_then(Lid::new);
        if valid.is_none() {
            let text = format!("{} has LID {lid}; at most {} is possible, taken as none", self.name(at), Lid::MAX);
            self.warnings.add(line, WarningKind::InvalidLid, text);
        }
        valid
    }

    fn add_cables(&mut self, kept: &[(NodeIndex, &'a Record<'_>)]) {
        for &(node, record) in kept {
            for line in &record.ports {
                let Some(peer) = &line.peer else { continue };
                let Some(&peer_node) = self.by_id.get(&*peer.id) else {
                    self.no_such_port(line.line, &String::from_utf8_lossy(&peer.id), peer.port);
                    continue;
                };
                let Some(peer_node) = peer_node else {
                    let text = format!("the cable to \"{}\" leads to a node that was left out", String::from_utf8_lossy(&peer.id));
                    self.warnings.add(line.line, WarningKind::CableLeftOut, text);
                    continue;
                };
                let (Some(a), Some(b)) = (self.port_ref(node, line.port), self.port_ref(peer_node, peer.port)) else {
                    let (culprit, port) = if self.port_ref(node, line.port).is_none() { (node, line.port) } else { (peer_node, peer.port) };
                    let name = self.builder.nodes()[culprit.index()].description.clone();
                    self.no_such_port(line.line, &name, port);
                    continue;
                };
                self.add_cable(line, a, b);
                self.learn_of_peer(line, peer, b);
            }
        }
    }

    fn no_such_port(&mut self, line: usize, name: &str, port: u32) {
        self.warnings.add(line, WarningKind::NoSuchPort, format!("\"{name}\" has no port {port}; the cable is left out"));
    }

    fn add_cable(&mut self, line: &PortLine<'_>, a: PortRef, b: PortRef) {
        let told = self.told[a.node.index()][usize::from(a.port)];
        let before = self.builder.peer(a);
        if told.cable_line != 0 {
            let same = before.is_some_and(|(peer, _)| peer == b) && told.link == line.link;
            let kind = if same { WarningKind::RepeatedPort } else { WarningKind::ConflictingCable };
            let text = format!("{} is also in line {}; left out here", self.name(a), told.cable_line);
            self.warnings.add(line.line, kind, text);
            return;
        }
        let mut link = line.link;
        if let Some((_, other)) = before.filter(|&(peer, _)| peer == b) {
            link = self.agree(line.line, a, b, line.link, other);
        }
        match self.builder.connect(a, b, link) {
            Ok(()) => {
                let told = &mut self.told[a.node.index()][usize::from(a.port)];
                told.cable_line = line.line;
                told.link = line.link;
            }
            Err(error @ BuildError::SelfLink { .. }) => {
                self.warnings.add(line.line, WarningKind::SelfCable, format!("{error}; left out"));
            }
            Err(error) => self.warnings.add(line.line, WarningKind::ConflictingCable, format!("{error}; left out here")),
        }
    }

    /// One description of a cable from its two ends': the lesser, and what only one of them knows.
    fn agree(&mut self, line: usize, a: PortRef, b: PortRef, here: Link, there: Link) -> Link {
        let differs = |x: Option<_>, y: Option<_>| x.is_some() && y.is_some() && x != y;
        let speeds_differ = here.speed.zip(there.speed).is_some_and(|(x, y)| x != y);
        if differs(here.width, there.width) || speeds_differ {
            let say = |link: Link| {
                let width = link.width.map_or("??x".to_owned(), |width| width.to_string());
                format!("{width}{}", link.speed.map_or("???", |speed| speed.name()))
            };
            let text = format!(
                "the cable between {} and {} is {} here but {} at the other end; the lesser is used",
                self.name(a),
                self.name(b),
                say(here),
                say(there)
            );
            self.warnings.add(line, WarningKind::LinkDiffers, text);
        }
        Link { width: here.width.into_iter().chain(there.width).min(), speed: here.speed.into_iter().chain(there.speed).min() }
    }

    /// What a port's line says of the port at the other end, where that one's own record does not.
    fn learn_of_peer(&mut self, line: &PortLine<'_>, peer: &Peer<'_>, b: PortRef) {
        let is_switch = self.builder.nodes()[b.node.index()].kind == NodeKind::Switch;
        let at = if is_switch { PortRef::new(b.node, 0) } else { b };
        let known = *self.builder.port(at).expect("the port was checked");
        if let Some(guid) = peer.guid.filter(|_| known.guid == Guid(0)) {
            self.builder.port_mut(at).expect("the port was checked").guid = guid;
        }
        let told = self.told[at.node.index()][usize::from(at.port)].lid;
        match (peer.lid, told) {
            (Some(lid), None) => {
                self.told[at.node.index()][usize::from(at.port)].lid = Some(lid);
                let lid = self.valid_lid(line.line, at, lid);
                self.builder.port_mut(at).expect("the port was checked").lid = lid;
            }
            (Some(lid), Some(told)) if lid != told => {
                let text = format!("{} has LID {told} but LID {lid} here; {told} is used", self.name(at));
                self.warnings.add(line.line, WarningKind::ConflictingLid, text);
            }
            _ => {}
        }
    }

    fn check_one_way(&mut self, kept: &[(NodeIndex, &Record<'_>)]) {
        let mut has_record = vec![false; self.builder.nodes().len()];
        for (node, _) in kept {
            has_record[node.index()] = true;
        }
        for &(node, record) in kept {
            for line in &record.ports {
                let Some(a) = self.port_ref(node, line.port) else { continue };
                let here = self.told[a.node.index()][usize::from(a.port)].cable_line == line.line;
                let Some((b, _)) = self.builder.peer(a).filter(|_| here) else { continue };
                if has_record[b.node.index()] && self.told[b.node.index()][usize::from(b.port)].cable_line == 0 {
                    let text = format!("{} has a cable to {}, which does not say so", self.name(a), self.name(b));
                    self.warnings.add(line.line, WarningKind::OneWayCable, text);
                }
            }
        }
    }

    fn check_lids(&mut self, kept: &[(NodeIndex, &Record<'_>)]) {
        let mut owners: Vec<Option<PortRef>> = vec![None; Lid::MAX.index() + 1];
        for &(node, record) in kept {
            for port in 0..=record.num_ports {
                let at = PortRef::new(node, port);
                let known = *self.builder.port(at).expect("the port is one of the node's");
                let Some(lid) = known.lid else { continue };
                let range = lid.index()..(lid.index() + (1 << known.lmc)).min(owners.len());
                match owners[range.clone()].iter().flatten().next() {
                    Some(&other) => {
                        let text = format!("{} and {} both have LID {lid}", self.name(other), self.name(at));
                        self.warnings.add(record.line, WarningKind::DuplicateLid, text);
                    }
                    None => owners[range].fill(Some(at)),
                }
            }
        }
    }

    /// A port that the node can have a cable in.
    fn port_ref(&self, node: NodeIndex, port: u32) -> Option<PortRef> {
        let most = u32::from(self.builder.nodes()[node.index()].num_ports);
        (1..=most).contains(&port).then(|| PortRef::new(node, port as u8))
    }

    fn name(&self, at: PortRef) -> String {
        let node = &self.builder.nodes()[at.node.index()];
        format!("port {} of \"{}\" ({})", at.port, node.description, node.guid)
    }

    /// A description, as a node can have it: ibsim and other readers of lines lose their place in longer ones.
    fn text(&mut self, line: usize, bytes: &[u8]) -> String {
        let text = String::from_utf8_lossy(bytes);
        if let Cow::Owned(text) = &text {
            let text = shorten(text.as_bytes());
            self.warnings.add(line, WarningKind::NotUtf8, format!("\"{text}\": bytes that are not UTF-8 were replaced"));
        }
        if bytes.len() > NODE_DESCRIPTION_BYTES {
            let text = format!("\"{}\": {} bytes; {NODE_DESCRIPTION_BYTES} are possible", shorten(bytes), bytes.len());
            self.warnings.add(line, WarningKind::LongDescription, text);
        }
        // Replaced bytes may have made it longer.
        let end = (0..=NODE_DESCRIPTION_BYTES.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        text[..end].to_owned()
    }
}

/// Whether two records agree in everything but their place.
fn says_the_same(a: &Record<'_>, b: &Record<'_>) -> bool {
    let facts = |r: &Record<'_>| (r.kind, r.num_ports, r.guid, r.port_guid, r.system_image_guid, r.lid, r.lmc);
    facts(a) == facts(b)
        && a.id == b.id
        && a.description == b.description
        && a.ports.len() == b.ports.len()
        && a.ports.iter().zip(&b.ports).all(|(a, b)| {
            let end = |port: &PortLine<'_>| port.peer.as_ref().map(|peer| (peer.id.clone().into_owned(), peer.port));
            (a.port, a.guid, a.lid, a.link) == (b.port, b.guid, b.lid, b.link) && end(a) == end(b)
        })
}

/// A GUID that only depends on the id, unless another node has it already: FNV-1a below `0x02`, the locally administered EUI-64.
fn invented_guid(id: &[u8], taken: &mut BTreeSet<Guid>) -> Guid {
    let hash = id.iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    let mut low = hash & 0x00ff_ffff_ffff_ffff;
    loop {
        let guid = Guid(0x0200_0000_0000_0000 | low);
        if taken.insert(guid) {
            return guid;
        }
        low = (low + 1) & 0x00ff_ffff_ffff_ffff;
    }
}
