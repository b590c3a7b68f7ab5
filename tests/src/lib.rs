//! Suites that cross crates, and what they share: real tools started by the tests, each found by its Debian package.
#![forbid(unsafe_code)]

mod agreement;
mod conversation;
mod emulate;
mod graph;
mod heddle;
mod ibsim;
mod opensm;
mod running;
mod seat;
mod stock;

pub use agreement::{assert_agreement, assert_clean_routes, assert_same};
pub use conversation::{READY, converse};
pub use emulate::Emulate;
pub use graph::{Cables, Dump, Graph, dual_ported_tree, lids, subnet};
pub use heddle::{Way, heddle, umad_client};
pub use ibsim::{Ibsim, netlist};
pub use opensm::OpenSm;
pub use running::{Running, wait_until};
pub use seat::{Preload, Seat};
pub use stock::{Ended, Hop, Lfts, LinkInfo, Stock, fields, ibdmchk, lfts, records};
