use heddle_tests::{Dump, Emulate, Graph, OpenSm, Preload, Seat, Stock, dual_ported_tree};

/// A fabric with hosts of two ports that OpenSM on one host brought up, and stock tools on another host.
pub(crate) struct Bench {
    pub(crate) graph: Graph,
    /// What OpenSM wrote.
    pub(crate) dump: Dump,
    pub(crate) stock: Stock,
    /// The node GUID of the host on which the tools run.
    pub(crate) host: u64,
    /// The GUID of the port on which OpenSM runs.
    pub(crate) sm_port: u64,
    pub(crate) opensm: OpenSm,
    simulator: Emulate,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with(&[])
    }

    /// With more arguments for OpenSM.
    pub(crate) fn with(arguments: &[&str]) -> Self {
        let fabric = dual_ported_tree();
        let graph = Graph::of(&fabric);
        let simulator = Emulate::start(&fabric);
        let (sm_host, sm_port) = graph.first_host();
        let mut opensm = OpenSm::start(&simulator.seat(sm_host, Preload::Heddle), arguments);
        opensm.wait_until_up(0);
        let host = graph.node("host-5");
        let stock = Stock::new(simulator.seat(format!("H-{host:016x}"), Preload::Heddle));
        Self { dump: Dump::read(opensm.folder()), graph, stock, host, sm_port, opensm, simulator }
    }

    /// A node of the fabric for other programs.
    pub(crate) fn seat(&self, description: &str) -> Seat {
        self.simulator.seat(format!("H-{:016x}", self.graph.node(description)), Preload::Heddle)
    }

    /// The LID of a port, as a tool is told it.
    pub(crate) fn lid(&self, port_guid: u64) -> String {
        self.dump.lids[&port_guid].to_string()
    }

    /// The LID of a switch.
    pub(crate) fn switch_lid(&self, description: &str) -> String {
        self.lid(self.graph.node(description))
    }

    /// The GUIDs and LIDs of the ports of the tools' host.
    pub(crate) fn own_ports(&self) -> Vec<(u64, u16)> {
        [1, 2].map(|number| self.graph.host_ports[&(self.host, number)]).map(|guid| (guid, self.dump.lids[&guid])).to_vec()
    }

    /// A cable from a leaf to a spine that no packet takes between the leaf and the tools.
    pub(crate) fn unused_uplink(&self, leaf: &str) -> (u64, u8) {
        let leaf = self.graph.node(leaf);
        let (own, own_lid) = self.own_ports()[0];
        let there = self.graph.walk(&self.dump.lfts, own, leaf, self.dump.lids[&leaf]).expect("a way");
        let back = self.graph.walk(&self.dump.lfts, leaf, own, own_lid).expect("a way");
        let used = |spine: u64| there.iter().chain(&back).any(|hop| hop.guid == spine);
        let mut uplinks = self.graph.cables.range((leaf, 0)..=(leaf, 255)).filter(|(_, peer)| self.graph.is_switch(peer.0));
        *uplinks.find(|(_, peer)| !used(peer.0)).expect("three spines").0
    }

    /// By the tables that are in the switches, every port reaches every other over these cables.
    pub(crate) fn assert_all_reached(&self, graph: &Graph) {
        let tables = self.stock.lfts();
        for from in graph.end_ports() {
            for (&to, &lid) in &self.dump.lids {
                graph.walk(&tables, from, to, lid).unwrap_or_else(|error| panic!("from {from:#x}: {error}"));
            }
        }
    }
}
