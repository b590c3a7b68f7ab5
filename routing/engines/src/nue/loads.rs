use super::net::Net;
use super::ways::Ways;

/// What the routes over all cables cost.
pub(super) struct Loads {
    /// By cable.
    load: Vec<u64>,
    /// By edge: the least of its cables' loads.
    least: Vec<u64>,
    /// By switch, for the LID at hand: the sum of the loads on the least loaded way; the routes that come by; and the place from which on an
    /// edge is later than all by which they come.
    cost: Vec<u64>,
    routes: Vec<u32>,
    from: Vec<u32>,
}

impl Loads {
    pub(super) fn new(net: &Net) -> Self {
        let (load, least) = (vec![0; net.ports.len()], vec![0; net.edge_count()]);
        Self { load, least, cost: vec![0; net.len()], routes: Vec::new(), from: Vec::new() }
    }

    /// Chooses the least loaded ways for a LID of `target`. `write` is told the port of each switch. The routes are added to the loads if
    /// the LID `counts`.
    pub(super) fn choose(&mut self, net: &Net, ways: &Ways, target: u32, counts: bool, mut write: impl FnMut(u32, u8)) {
        self.cost[target as usize] = 0;
        for step in &ways.steps {
            let costs = ways.choices(step).iter().map(|choice| self.least[choice.edge as usize] + self.cost[choice.head as usize]);
            self.cost[step.switch as usize] = costs.min().expect("a switch that is reached has a way");
        }
        self.from.clear();
        self.from.resize(net.len(), 0);
        self.routes.clear();
        self.routes.extend(&net.hosts);
        for step in ways.steps.iter().rev() {
            let from = self.from[step.switch as usize];
            let later = ways.choices(step).iter().filter(|choice| choice.after > from);
            let cost = |choice: &&super::ways::Choice| self.least[choice.edge as usize] + self.cost[choice.head as usize];
            let choice = later.min_by_key(cost).expect("the latest edge is later than all by which routes come");
            let cables = net.cables(choice.edge);
            let cable = cables.clone().min_by_key(|&cable| self.load[cable]).expect("an edge has cables");
            write(step.switch, net.ports[cable]);
            let (edge, head) = (choice.edge as usize, choice.head as usize);
            self.from[head] = self.from[head].max(choice.after);
            let routes = self.routes[step.switch as usize];
            self.routes[head] += routes;
            if counts {
                self.load[cable] += u64::from(routes) * net.price[cable];
                self.least[edge] = self.load[cables].iter().copied().min().expect("an edge has cables");
            }
        }
    }
}
