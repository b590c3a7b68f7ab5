use super::net::{NONE, Net};

/// The ways to one destination switch along edges of rising place, on which any choice leads there.
///
/// A switch may take an edge to one that is a hop nearer if that has a later edge to go on by. In what order the choices are made matters: a
/// switch must go on by a later edge than all that come to it by. So they are made from the farthest switch on, and the latest edge
/// of each is always left.
pub(super) struct Ways {
    /// The switches, the nearest first; without the destination.
    pub(super) steps: Vec<Step>,
    choices: Vec<Choice>,
}

pub(super) struct Step {
    pub(super) switch: u32,
    /// Its choices.
    begin: u32,
    end: u32,
}

/// An edge that a switch may take.
pub(super) struct Choice {
    pub(super) edge: u32,
    pub(super) head: u32,
    /// The place of the edge plus one.
    pub(super) after: u32,
}

impl Ways {
    /// `place` is by edge; `tree` by switch the edge of a way that rises. What finds no other way is bound to the tree.
    pub(super) fn new(net: &Net, place: &[u32], tree: &[u32], target: u32) -> Self {
        let mut search = Search { hops: Vec::new(), last: Vec::new(), reached: Vec::new(), bound: vec![NONE; net.len()] };
        loop {
            search.run(net, place, target);
            let lost = (0..net.len()).find(|&switch| search.hops[switch] == NONE && search.bound[switch] != tree[switch]);
            let Some(lost) = lost else { return search.ways(net, place) };
            let mut at = lost;
            while tree[at] != NONE {
                search.bound[at] = tree[at];
                at = net.head(tree[at]);
            }
        }
    }

    pub(super) fn choices(&self, step: &Step) -> &[Choice] {
        &self.choices[step.begin as usize..step.end as usize]
    }
}

struct Search {
    hops: Vec<u32>,
    /// By switch: the place of the latest edge that it may take.
    last: Vec<u32>,
    /// The nearest first.
    reached: Vec<u32>,
    /// By switch: the only edge that it may take; [`NONE`] where all do.
    bound: Vec<u32>,
}

impl Search {
    fn run(&mut self, net: &Net, place: &[u32], target: u32) {
        self.hops.clear();
        self.hops.resize(net.len(), NONE);
        self.last.clear();
        self.last.resize(net.len(), 0);
        self.hops[target as usize] = 0;
        self.last[target as usize] = u32::MAX;
        self.reached.clear();
        self.reached.push(target);
        let mut at = 0;
        while let Some(&switch) = self.reached.get(at) {
            at += 1;
            let hops = self.hops[switch as usize] + 1;
            let last = self.last[switch as usize];
            for edge in net.edges(switch) {
                let (peer, towards) = (net.head(edge), net.back[edge as usize]);
                let place = place[towards as usize];
                if self.hops[peer] < hops || place >= last || self.is_barred(peer, towards) {
                    continue;
                }
                if self.hops[peer] == NONE {
                    self.hops[peer] = hops;
                    self.reached.push(peer as u32);
                }
                self.last[peer] = self.last[peer].max(place);
            }
        }
    }

    fn ways(&self, net: &Net, place: &[u32]) -> Ways {
        let mut ways = Ways { steps: Vec::with_capacity(self.reached.len()), choices: Vec::with_capacity(2 * self.reached.len()) };
        for &switch in &self.reached[1..] {
            let nearer = self.hops[switch as usize] - 1;
            let begin = ways.choices.len() as u32;
            for edge in net.edges(switch) {
                let (head, place) = (net.head(edge), place[edge as usize]);
                if self.hops[head] == nearer && place < self.last[head] && !self.is_barred(switch as usize, edge) {
                    ways.choices.push(Choice { edge, head: head as u32, after: place + 1 });
                }
            }
            ways.steps.push(Step { switch, begin, end: ways.choices.len() as u32 });
        }
        ways
    }

    fn is_barred(&self, switch: usize, edge: u32) -> bool {
        self.bound[switch] != NONE && self.bound[switch] != edge
    }
}
