use heddle_fabric::{Fabric, MulticastTables};
use std::io::{self, Write};

/// `opensm.mcfdbs`: for each switch that has any, lines of an MLID and its ports. ibdmchk stops reading at a line of 1,024 bytes: at
/// an MLID with 146 ports.
pub(super) fn write_mfts(out: &mut dyn Write, fabric: &Fabric, tables: &MulticastTables) -> io::Result<()> {
    for switch in super::opensm::switches(fabric) {
        let mut is_first = true;
        for mlid in tables.mlids().filter(|&mlid| tables.switches(mlid).binary_search(&switch).is_ok()) {
            if std::mem::take(&mut is_first) {
                write!(out, "\nSwitch 0x{:016x}\nLID    : Out Port(s)\n", fabric.switch(switch).guid.0)?;
            }
            write!(out, "0x{:04X} :", mlid.get())?;
            for port in tables.ports(mlid, switch) {
                write!(out, " 0x{port:03X} ")?;
            }
            writeln!(out)?;
        }
    }
    Ok(())
}
