//! Dump formats, in and out.
//!
//! [`read`] takes what `ibnetdiscover`, `ibnetdiscover -p` or a writer of ibsim netlists left in a file and makes a
//! [`heddle_fabric::FabricBuilder`] of it. Files as they come from terminals, mails and manuals load as well: whatever is odd but
//! harmless is counted in [`Warnings`] with its line; whatever would make the fabric a guess is refused by a [`ReadError`] with file,
//! line and column.
//!
//! [`read_lfts`] takes dumps of forwarding tables, [`read_path_sl`] and [`read_sl2vl`] those of the SLs and VLs that go with them,
//! [`read_mfts`] those of multicast; [`read_groups`] reads which groups there are.
//! [`read_guids`] and its like take the lists that tell an engine what to do.
//!
//! The writers: [`write_ibnetdiscover`], [`write_netlist`] and [`write_json`] for a fabric, [`write_opensm_dumps`] for its forwarding
//! tables as well. [`write_file`] leaves no half-written file.
//!
//! ```
//! let dump = br#"
//! switchguid=0x10(10)
//! Switch  8 "S-0000000000000010"  # "leaf" base port 0 lid 1 lmc 0
//! [3]     "H-0000000000000020"[1](21)  # "host" lid 2 4xHDR
//!
//! caguid=0x20
//! Ca      1 "H-0000000000000020"  # "host"
//! [1](21)     "S-0000000000000010"[3]  # lid 2 lmc 0 "leaf" lid 1 4xHDR
//! "#;
//! let loaded = heddle_formats::read(dump, "site.dump", None).unwrap();
//! assert!(loaded.warnings.is_empty());
//! let fabric = loaded.builder.build();
//! assert_eq!((fabric.switch_count(), fabric.nodes().len()), (1, 2));
//!
//! let refused = heddle_formats::read(b"TOPSYSTEM director\n", "director.ibnl", None).unwrap_err();
//! assert_eq!(refused.to_string(), "director.ibnl:1:1: this is an IBDM system file (.ibnl), which is not supported; ibnetdiscover, \
//!     ibnetdiscover-p and ibsim can be read");
//! ```
#![forbid(unsafe_code)]

mod read;
mod write;

pub use read::{
    Format, Loaded, PortWeights, ReadError, UnknownFormat, Warning, WarningKind, Warnings, read, read_groups, read_guids, read_ids,
    read_lfts, read_mfts, read_path_sl, read_port_orders, read_port_weights, read_ports, read_sl2vl,
};
pub use write::{WriteError, write_file, write_ibnetdiscover, write_json, write_netlist, write_opensm_dumps};
