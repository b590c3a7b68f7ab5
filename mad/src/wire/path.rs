use std::fmt;

/// A directed route: the ports by which a packet leaves each node, from the local one on. At most 63 hops (IBA 14.2.2).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Path {
    hops: u8,
    ports: [u8; 64],
}

impl Path {
    /// The most hops a directed route can have.
    pub const MAX_HOPS: usize = 63;

    /// The route of no hops: the local node itself.
    pub const fn local() -> Self {
        Self { hops: 0, ports: [0; 64] }
    }

    /// This route and one more hop out of `port`; `None` beyond 63 hops.
    #[must_use]
    pub const fn then(mut self, port: u8) -> Option<Self> {
        if self.hops as usize == Self::MAX_HOPS {
            return None;
        }
        self.hops += 1;
        self.ports[self.hops as usize] = port;
        Some(self)
    }

    /// A route out of the ports given; `None` beyond 63 hops.
    pub fn from_ports(ports: &[u8]) -> Option<Self> {
        ports.iter().try_fold(Self::local(), |path, &port| path.then(port))
    }

    /// The ports of exit, in order.
    pub fn ports(&self) -> &[u8] {
        &self.ports[1..=usize::from(self.hops)]
    }

    /// The number of hops.
    pub const fn hops(&self) -> u8 {
        self.hops
    }
}

impl fmt::Debug for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// As the stock tools write it: `0,1,5`.
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("0")?;
        self.ports().iter().try_for_each(|port| write!(f, ",{port}"))
    }
}
