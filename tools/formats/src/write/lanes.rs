//! SLs and SL2VL tables in the forms that ibdmchk reads (`-c` and `-d`; ibutils 1.5.7, `Fabric.cpp`).

use heddle_fabric::{Fabric, Lanes, PortRef, Tables};
use std::io::{self, Write};

/// A line `0xGUID LID SL` for each host and each LID of another port. A node with several ports has the lines of each.
pub(super) fn write_path_sl(out: &mut dyn Write, fabric: &Fabric, tables: &Tables, lanes: &Lanes) -> io::Result<()> {
    for host in fabric.end_ports().iter().filter(|end| end.is_host()) {
        let guid = fabric.node(host.at.node).guid.0;
        for lid in fabric.end_ports().iter().filter(|end| end.at != host.at).flat_map(heddle_fabric::EndPort::lids) {
            let levels = lanes.levels_of(tables.row_len(), host.switch, lid);
            if levels != 0 {
                writeln!(out, "0x{guid:016x} {} {}", lid.get(), levels.trailing_zeros())?;
            }
        }
    }
    Ok(())
}

/// A line `0xGUID IN OUT 0x01 0x23 …` for each two cabled ports of each switch, and from its port 0.
pub(super) fn write_sl2vl(out: &mut dyn Write, fabric: &Fabric, lanes: &Lanes) -> io::Result<()> {
    for (switch, &node) in (0..).map(heddle_fabric::SwitchIndex).zip(fabric.switches()) {
        let spec = fabric.node(node);
        let cabled: Vec<u8> =
            (1..=spec.num_ports).filter(|&port| fabric.port(PortRef::new(node, port)).is_some_and(|port| port.peer.is_some())).collect();
        for &to in &cabled {
            for &from in std::iter::once(&0).chain(&cabled) {
                write!(out, "0x{:016x} {from} {to}", spec.guid.0)?;
                for pair in lanes.row(switch, from, to).chunks_exact(2) {
                    write!(out, " 0x{:x}{:x}", pair[0], pair[1])?;
                }
                writeln!(out)?;
            }
        }
    }
    Ok(())
}
