//! What statements can name.

use heddle_fabric::{Fabric, Guid, NodeIndex, NodeKind, PortRef};

/// The nodes and cables that statements speak of: a [`Fabric`] for those that are yet to happen, a [`crate::World`] for those of now.
pub trait Site {
    /// How many nodes there are; their indices are all numbers below.
    fn node_count(&self) -> usize;
    /// A node's NodeDescription.
    fn description(&self, node: NodeIndex) -> &str;
    /// A node's GUID.
    fn guid(&self, node: NodeIndex) -> Guid;
    /// What a node is.
    fn kind(&self, node: NodeIndex) -> NodeKind;
    /// A node's ports, port 0 not counted.
    fn num_ports(&self, node: NodeIndex) -> u8;
    /// The other end of the cable in a port.
    fn peer(&self, at: PortRef) -> Option<PortRef>;
}

impl Site for Fabric {
    fn node_count(&self) -> usize {
        self.nodes().len()
    }

    fn description(&self, node: NodeIndex) -> &str {
        &self.node(node).description
    }

    fn guid(&self, node: NodeIndex) -> Guid {
        self.node(node).guid
    }

    fn kind(&self, node: NodeIndex) -> NodeKind {
        self.node(node).kind
    }

    fn num_ports(&self, node: NodeIndex) -> u8 {
        self.node(node).num_ports
    }

    fn peer(&self, at: PortRef) -> Option<PortRef> {
        self.port(at)?.peer
    }
}

pub(crate) fn nodes(site: &dyn Site) -> impl Iterator<Item = NodeIndex> {
    (0..site.node_count() as u32).map(NodeIndex)
}

/// The ports that have a cable.
pub(crate) fn cabled_ports(site: &dyn Site, node: NodeIndex) -> impl Iterator<Item = PortRef> {
    (1..=site.num_ports(node)).map(move |port| PortRef::new(node, port)).filter(|&at| site.peer(at).is_some())
}

/// Why a name means no node.
pub(crate) enum NoNode {
    /// None has it. Similar names, the most similar first.
    Unknown(Vec<String>),
    /// Several have it.
    Several(Guid, Guid),
}

/// The node of a GUID (`0x...`, or as ibnetdiscover has it `H-...` and `S-...`) or NodeDescription. `O(nodes)`.
pub(crate) fn find(site: &dyn Site, name: &str) -> Result<NodeIndex, NoNode> {
    find_or(site, name, || NoNode::Unknown(similar_names(site, name)))
}

/// The same, where it does not matter why there is none: to look for similar names takes long.
pub(super) fn find_quietly(site: &dyn Site, name: &str) -> Option<NodeIndex> {
    find_or(site, name, || NoNode::Unknown(Vec::new())).ok()
}

fn find_or(site: &dyn Site, name: &str, unknown: impl FnOnce() -> NoNode) -> Result<NodeIndex, NoNode> {
    let digits = ["0x", "H-", "S-", "R-"].iter().find_map(|prefix| name.strip_prefix(prefix));
    let guid = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    if let Some(node) = guid.and_then(|guid| nodes(site).find(|&node| site.guid(node) == Guid(guid))) {
        return Ok(node);
    }
    let mut named = nodes(site).filter(|&node| site.description(node) == name);
    match (named.next(), named.next()) {
        (Some(node), None) => Ok(node),
        (Some(first), Some(second)) => Err(NoNode::Several(site.guid(first), site.guid(second))),
        (None, _) => Err(unknown()),
    }
}

/// Up to three names, switches first where names are equally similar.
fn similar_names(site: &dyn Site, name: &str) -> Vec<String> {
    let length = name.chars().count();
    let far = 2.max(length / 3);
    let mut found: Vec<(usize, bool, &str)> = nodes(site)
        // Comparing takes the product of both lengths.
        .filter(|&node| site.description(node).chars().count().abs_diff(length) <= far)
        .map(|node| (distance(name, site.description(node)), site.kind(node) != NodeKind::Switch, site.description(node)))
        .filter(|&(distance, ..)| distance <= far)
        .collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().take(3).map(|(_, _, name)| name.to_owned()).collect()
}

/// The words of a list that are similar to one that is not in it.
pub(super) fn similar_words<'a>(words: impl Iterator<Item = &'a str>, word: &str) -> Vec<String> {
    let mut found: Vec<(usize, &str)> = words.map(|known| (distance(word, known), known)).filter(|&(distance, _)| distance <= 2).collect();
    found.sort_unstable();
    found.into_iter().take(3).map(|(_, known)| known.to_owned()).collect()
}

/// How many characters must be inserted, removed or replaced to turn `a` into `b` (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &cb) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(ca != cb);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
