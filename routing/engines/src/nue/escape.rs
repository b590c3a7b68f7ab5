use super::net::{NONE, Net};

/// A spanning tree (of each part of the fabric). Whatever ways routes take in it, they close no circle, since none turns back.
pub(super) struct Escape {
    /// By switch: the edge to its parent; [`NONE`] at the top.
    up: Vec<u32>,
    depth: Vec<u32>,
    /// By switch: the top of its part.
    top: Vec<u32>,
}

impl Escape {
    /// The tree of shortest ways from the highest switch.
    pub(super) fn new(net: &Net) -> Self {
        let mut by_place: Vec<u32> = (0..net.len() as u32).collect();
        by_place.sort_unstable_by_key(|&switch| net.place[switch as usize]);
        let mut escape = Self { up: vec![NONE; net.len()], depth: vec![0; net.len()], top: vec![NONE; net.len()] };
        let mut queue = Vec::with_capacity(net.len());
        for top in by_place {
            if escape.top[top as usize] != NONE {
                continue;
            }
            escape.top[top as usize] = top;
            let mut at = queue.len();
            queue.push(top);
            while let Some(&switch) = queue.get(at) {
                at += 1;
                for edge in net.edges(switch) {
                    let peer = net.head(edge);
                    if escape.top[peer] == NONE {
                        escape.top[peer] = top;
                        escape.depth[peer] = escape.depth[switch as usize] + 1;
                        escape.up[peer] = net.back[edge as usize];
                        queue.push(peer as u32);
                    }
                }
            }
        }
        escape
    }

    /// The edges of the tree, in both directions, out of a switch.
    pub(super) fn edges<'a>(&'a self, net: &'a Net, switch: u32) -> impl Iterator<Item = u32> + Clone + 'a {
        net.edges(switch).filter(move |&edge| self.up[switch as usize] == edge || self.up[net.head(edge)] == net.back[edge as usize])
    }

    /// Binds the first switch of `target`'s part that is not reached, and is not bound yet, to its way in the tree, and all on this way.
    /// `reached` and `bound` are by switch; unbound switches have [`NONE`]. False if there is no such switch.
    ///
    /// As all ways to a target in the tree agree, those that are bound are of one tree and do not hinder each other.
    pub(super) fn bind(&self, net: &Net, target: u32, reached: impl Fn(usize) -> bool, bound: &mut [u32]) -> bool {
        let part = self.top[target as usize];
        let lost = (0..net.len()).find(|&switch| self.top[switch] == part && !reached(switch) && bound[switch] == NONE);
        let Some(lost) = lost else { return false };
        let (mut at, mut end) = (lost as u32, target);
        let mut descent = Vec::new();
        while at != end {
            if self.depth[at as usize] >= self.depth[end as usize] {
                let edge = self.up[at as usize];
                bound[at as usize] = edge;
                at = net.head(edge) as u32;
            } else {
                let edge = self.up[end as usize];
                end = net.head(edge) as u32;
                descent.push((end, net.back[edge as usize]));
            }
        }
        descent.into_iter().for_each(|(switch, edge)| bound[switch as usize] = edge);
        true
    }

    /// Whether all switches of `target`'s part are reached.
    pub(super) fn is_complete(&self, target: u32, reached: impl Fn(usize) -> bool) -> bool {
        let part = self.top[target as usize];
        (0..self.top.len()).all(|switch| self.top[switch] != part || reached(switch))
    }
}
