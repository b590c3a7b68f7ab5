//! Writing of fabrics and forwarding tables.

mod files;
mod ibnetdiscover;
mod json;
mod lanes;
mod multicast;
mod opensm;

pub use files::{WriteError, write_file};
pub use ibnetdiscover::{write_ibnetdiscover, write_netlist};
pub use json::write_json;
pub use opensm::write_opensm_dumps;

/// A description as these formats can hold it: one line without control characters, as the stock tools print it.
fn one_line(description: &str) -> String {
    description.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
