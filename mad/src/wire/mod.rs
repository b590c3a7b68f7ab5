//! The bytes on the wire: MAD headers and the attributes of subnet management.
//!
//! Each attribute is declared once, as a table of name, bit offset and width (`attribute!`); getters, setters, `Debug`, JSON and the
//! generators of the property tests come from that table. A view never fails and never panics: values from hardware we do not know
//! stay readable and survive a round trip. Where only some values make sense, a typed accessor beside the raw one says so.

mod attribute;
mod header;
mod ids;
mod node_info;
mod path;

pub use attribute::{Attribute, Field};
pub use header::Mad;
pub use ids::{AttributeId, Class, Method, Status};
pub use node_info::{NodeInfo, NodeType};
pub use path::Path;
