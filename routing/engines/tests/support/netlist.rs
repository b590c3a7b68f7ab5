use heddle_fabric::Fabric;
use std::fmt;
use std::ops::Deref;

/// A fabric that a property test shows as an ibsim netlist: what proptest has shrunk to can be given to `heddle route FILE`, ibsim and OpenSM as
/// it is.
#[derive(Clone)]
pub struct Netlist(pub Fabric);

impl Deref for Netlist {
    type Target = Fabric;

    fn deref(&self) -> &Fabric {
        &self.0
    }
}

impl fmt::Debug for Netlist {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Vec::new();
        heddle_formats::write_netlist(&mut text, self).map_err(|_| fmt::Error)?;
        write!(f, "this netlist:\n{}", String::from_utf8_lossy(&text))
    }
}
