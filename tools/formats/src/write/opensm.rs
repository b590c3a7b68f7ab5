//! The dump files of OpenSM 3.3.23 (`opensm/osm_dump.c`), which ibdmchk, dump readers and OpenSM's own `file` engine read.

use super::files::{FileSet, WriteError};
use super::lanes::{write_path_sl, write_sl2vl};
use super::multicast::write_mfts;
use super::one_line;
use heddle_fabric::{EndPort, Fabric, Lid, LinkSpeed, MulticastTables, NO_PORT, NodeIndex, NodeKind, Port, PortRef, SwitchIndex, Tables};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes what OpenSM writes of a routed fabric into a folder, which is made if need be: `opensm-subnet.lst`, `opensm.fdbs`,
/// `opensm-lfts.dump` and `opensm.mcfdbs` (empty without `multicast` groups, as OpenSM's is); for tables with SLs also
/// `opensm-path-sl.dump` and `opensm-sl2vl.dump`, in the form that ibdmchk reads. Returns their paths.
///
/// All files are written before the first one appears under its name, and each appears whole. Braces in descriptions become
/// parentheses in `opensm-subnet.lst`, since its readers take the first closing brace as the end. `O(switches · (LIDs + cables))`,
/// and so are the files: some 100 bytes for each switch and LID.
///
/// # Errors
/// [`WriteError`]: the folder or a file in it cannot be written.
pub fn write_opensm_dumps(
    folder: &Path,
    fabric: &Fabric,
    tables: &Tables,
    multicast: Option<&MulticastTables>,
) -> Result<Vec<PathBuf>, WriteError> {
    let mut files = FileSet::new(folder);
    files.add("opensm-subnet.lst", |out| write_subnet(out, fabric))?;
    let hops = Hops::of(fabric, tables);
    files.add("opensm.fdbs", |out| write_routes(out, fabric, tables, &hops))?;
    files.add("opensm-lfts.dump", |out| write_lfts(out, fabric, tables))?;
    files.add("opensm.mcfdbs", |out| multicast.map_or(Ok(()), |multicast| write_mfts(out, fabric, multicast)))?;
    if let Some(lanes) = tables.lanes() {
        files.add("opensm-path-sl.dump", |out| write_path_sl(out, fabric, tables, lanes))?;
        files.add("opensm-sl2vl.dump", |out| write_sl2vl(out, fabric, lanes))?;
    } else {
        // With those of other tables beside them, ibdmchk would judge neither.
        files.remove("opensm-path-sl.dump");
        files.remove("opensm-sl2vl.dump");
    }
    files.commit()
}

/// A line for each end of each cable.
fn write_subnet(out: &mut dyn Write, fabric: &Fabric) -> io::Result<()> {
    for index in 0..fabric.nodes().len() {
        let index = NodeIndex(index as u32);
        for (number, port) in fabric.node_ports(index).iter().enumerate() {
            let Some(peer) = port.peer else { continue };
            write_end(out, fabric, PortRef::new(index, number as u8), 6, 0)?;
            // OpenSM writes the far end's vendor with two digits more and the device as the upper half of eight digits.
            write_end(out, fabric, peer, 8, 4)?;
            let width = port.link.width.map_or("??".to_owned(), |width| width.to_string());
            writeln!(out, "PHY={width} LOG=ACT SPD={}", port.link.speed.map_or("??", speed))?;
        }
    }
    Ok(())
}

fn write_end(out: &mut dyn Write, fabric: &Fabric, at: PortRef, vendor_digits: usize, device_zeros: usize) -> io::Result<()> {
    let node = fabric.node(at.node);
    let is_switch = node.kind == NodeKind::Switch;
    let kind = match node.kind {
        NodeKind::Switch => "SW",
        NodeKind::Ca => "CA",
        NodeKind::Router => "Rt",
    };
    let own: Port = fabric.port(if is_switch { PortRef::new(at.node, 0) } else { at }).copied().unwrap_or_default();
    let description = one_line(&node.description).replace('{', "(").replace('}', ")");
    write!(
        out,
        "{{ {kind} Ports:{:02X} SystemGUID:{:016x} NodeGUID:{:016x} PortGUID:{:016x} VenID:{:0vendor_digits$X} DevID:{:04X}{:0<device_zeros$} \
         Rev:00000000 {{{description}}} LID:{:04X} PN:{:02X} }} ",
        node.num_ports,
        node.system_image_guid.0,
        node.guid.0,
        own.guid.0,
        node.vendor_id,
        node.device_id,
        "",
        own.lid.map_or(0, Lid::get),
        at.port
    )
}

const fn speed(speed: LinkSpeed) -> &'static str {
    match speed {
        LinkSpeed::Sdr => "2.5",
        LinkSpeed::Ddr => "5",
        LinkSpeed::Qdr => "10",
        LinkSpeed::Fdr10 => "FDR10",
        LinkSpeed::Fdr => "14",
        LinkSpeed::Edr => "25",
        LinkSpeed::Hdr => "50",
        LinkSpeed::Ndr => "100",
        LinkSpeed::Xdr => "200",
    }
}

fn write_routes(out: &mut dyn Write, fabric: &Fabric, tables: &Tables, hops: &Hops) -> io::Result<()> {
    for switch in switches(fabric) {
        let guid = fabric.switch(switch).guid.0;
        writeln!(out, "dump_ucast_routes: Switch 0x{guid:016x}\nLID    : Port : Hops : Optimal")?;
        for lid in lids(fabric) {
            let port = tables.port(switch, lid);
            let Some(end) = fabric.lid_owner(lid).filter(|_| port != NO_PORT) else {
                writeln!(out, "0x{:04X} : UNREACHABLE", lid.get())?;
                continue;
            };
            let Some(found) = hops.by_tables(switch, lid) else {
                writeln!(out, "0x{:04X} : {port:03}  : HOPS UNKNOWN", lid.get())?;
                continue;
            };
            let host = u8::from(end.is_host());
            match hops.least(switch, end.switch).map(|least| least.saturating_add(host)) {
                Some(least) if least < found => {
                    let better = hops.least_port(fabric, switch, end);
                    writeln!(out, "0x{:04X} : {port:03}  : {found:02}   : No {least} hop path possible via port {better}!", lid.get())?;
                }
                _ => writeln!(out, "0x{:04X} : {port:03}  : {found:02}   : yes", lid.get())?,
            }
        }
    }
    Ok(())
}

fn write_lfts(out: &mut dyn Write, fabric: &Fabric, tables: &Tables) -> io::Result<()> {
    let top = fabric.top_lid().map_or(0, Lid::get);
    for switch in switches(fabric) {
        let node = fabric.switch(switch);
        let own = fabric.port(PortRef::new(fabric.switches()[switch.index()], 0)).and_then(|port| port.lid).map_or(0, Lid::get);
        writeln!(out, "Unicast lids [0-{top}] of switch Lid {own} guid 0x{:016x} ('{}'):", node.guid.0, one_line(&node.description))?;
        for lid in lids(fabric) {
            let port = tables.port(switch, lid);
            if port > node.num_ports {
                continue;
            }
            write!(out, "0x{:04x} {port:03} # ", lid.get())?;
            match fabric.lid_owner(lid) {
                Some(end) => {
                    let node = fabric.node(end.at.node);
                    let kind = match node.kind {
                        NodeKind::Switch => "Switch",
                        NodeKind::Ca => "Channel Adapter",
                        NodeKind::Router => "Router",
                    };
                    let guid = fabric.port(end.at).map_or(0, |port| port.guid.0);
                    writeln!(out, "{kind} portguid 0x{guid:016x}: '{}'", one_line(&node.description))?;
                }
                None => writeln!(out, "unknown node and type")?,
            }
        }
        writeln!(out, "{top} lids dumped")?;
    }
    Ok(())
}

/// By GUID, so that the same routes give the same files in whatever order a fabric was found.
pub(super) fn switches(fabric: &Fabric) -> Vec<SwitchIndex> {
    let mut switches: Vec<SwitchIndex> = (0..fabric.switch_count() as u32).map(SwitchIndex).collect();
    switches.sort_by_key(|&switch| fabric.switch(switch).guid);
    switches
}

/// All LIDs to the top one, owned or not.
fn lids(fabric: &Fabric) -> impl Iterator<Item = Lid> + use<> {
    (1..=fabric.top_lid().map_or(0, Lid::get)).filter_map(Lid::new)
}

/// How far it is from each switch, by the tables and at best.
struct Hops {
    switches: usize,
    row: usize,
    /// By switch, then LID; [`Hops::NONE`] where a packet does not arrive.
    by_tables: Vec<u8>,
    /// By switch of destination, then switch.
    least: Vec<u8>,
}

impl Hops {
    const NONE: u8 = u8::MAX;
    const NOT_YET: u8 = u8::MAX - 1;

    fn of(fabric: &Fabric, tables: &Tables) -> Self {
        let switches = fabric.switch_count();
        let row = fabric.top_lid().map_or(0, |lid| lid.index() + 1);
        let mut hops = Self { switches, row, by_tables: vec![Self::NONE; switches * row], least: vec![Self::NONE; switches * switches] };
        let mut to_lid = vec![0; switches];
        for end in fabric.end_ports() {
            for lid in end.lids() {
                walk(fabric, tables, end, lid, &mut to_lid);
                for (switch, &count) in to_lid.iter().enumerate() {
                    hops.by_tables[switch * row + lid.index()] = count;
                }
            }
        }
        for (target, least) in hops.least.chunks_exact_mut(switches.max(1)).enumerate() {
            breadth_first(fabric, SwitchIndex(target as u32), least);
        }
        hops
    }

    fn by_tables(&self, switch: SwitchIndex, lid: Lid) -> Option<u8> {
        Some(self.by_tables[switch.index() * self.row + lid.index()]).filter(|&hops| hops != Self::NONE)
    }

    fn least(&self, switch: SwitchIndex, target: SwitchIndex) -> Option<u8> {
        Some(self.least[target.index() * self.switches + switch.index()]).filter(|&hops| hops != Self::NONE)
    }

    /// The lowest port that begins a shortest path.
    fn least_port(&self, fabric: &Fabric, switch: SwitchIndex, end: &EndPort) -> u8 {
        if switch == end.switch {
            return end.switch_port;
        }
        let best = fabric.arcs(switch).iter().min_by_key(|arc| self.least(arc.peer, end.switch).unwrap_or(Self::NONE));
        best.map_or(NO_PORT, |arc| arc.port)
    }
}

/// Fills in how many hops each switch is from `lid` by the tables: every switch once, since what follows it is known when it is.
fn walk(fabric: &Fabric, tables: &Tables, end: &EndPort, lid: Lid, hops: &mut [u8]) {
    hops.fill(Hops::NOT_YET);
    let mut path = Vec::new();
    for start in 0..hops.len() {
        let mut at = SwitchIndex(start as u32);
        let mut count = loop {
            let known = hops[at.index()];
            if known != Hops::NOT_YET {
                break known;
            }
            let port = tables.port(at, lid);
            if at == end.switch && port == end.switch_port {
                hops[at.index()] = u8::from(end.is_host());
                break hops[at.index()];
            }
            // A loop that comes back here ends here.
            hops[at.index()] = Hops::NONE;
            path.push(at);
            let next = if port > fabric.switch(at).num_ports { None } else { fabric.channel_peer(fabric.channel(at, port)) };
            match next {
                Some((next, _)) => at = next,
                None => break Hops::NONE,
            }
        };
        while let Some(switch) = path.pop() {
            // 253 hops and more are none: a valid path is far shorter.
            count = if count < Hops::NOT_YET - 1 { count + 1 } else { Hops::NONE };
            hops[switch.index()] = count;
        }
    }
}

fn breadth_first(fabric: &Fabric, target: SwitchIndex, hops: &mut [u8]) {
    hops[target.index()] = 0;
    let mut queue = std::collections::VecDeque::from([target]);
    while let Some(switch) = queue.pop_front() {
        let next = hops[switch.index()].saturating_add(1).min(Hops::NOT_YET);
        for arc in fabric.arcs(switch) {
            if hops[arc.peer.index()] == Hops::NONE {
                hops[arc.peer.index()] = next;
                queue.push_back(arc.peer);
            }
        }
    }
}
