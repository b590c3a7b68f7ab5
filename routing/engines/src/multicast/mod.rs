//! Multicast: a tree of cables for each group, free of deadlock together with the unicast routes.
//!
//! **Why there is no deadlock.** A packet stays in the buffer by which it came until a copy has left by each port of the mask, so it waits
//! for all of these at once. An InfiniBand switch has room for the whole packet (credits are for whole packets, IBA 7.9), and a copy that
//! has left waits for none of the others. So the channel by which it came depends on each of the channels by which it leaves, and where
//! unicast and multicast dependencies together have no circle, the channels can be emptied one after another, the last in the order
//! first (the argument of W. J. Dally and C. L. Seitz, IEEE Trans. Computers C-36, 1987, for one channel, holds for several). Without such
//! buffers more would be needed (X. Lin, P. K. McKinley and L. M. Ni, IEEE Trans. Parallel and Distributed Systems 5(8), 1994).
//!
//! Any host may send, so a tree is used in both directions, and each pair of its cables at a switch is a dependency each way. Trees
//! that *hang down* from their root along an order of the switches have none that goes down and up again, as long as no switch has two
//! neighbours above it in one tree. Unicast routes that climb and then descend along the same order have none either, and so there is no
//! circle however many trees there are. [`ways`] finds the order, and for unicast routes of other kinds those cables that trees may use:
//! dependencies are added to those of the unicast routes one after another, and what would close a circle is left out.
//!
//! **Which tree.** The root is the switch from which the farthest member is nearest; of equals the one that fewest trees use. From
//! there each member is reached as shortly as the order allows. Where parts can be shared they are, else the cables that fewest trees use are
//! taken. Branches on which nobody is sent anything carry packets only towards the members.

mod trees;
mod ways;

use crate::graph::Graph;
use crate::heights::Heights;
use crate::order::Order;
use crate::refusal::Explained;
use crate::{Engine, Options, Refusal, links};
use heddle_fabric::{Fabric, Group, Mlid, MulticastTables, NodeIndex, PortRef, SwitchIndex, Tables};
use std::borrow::Cow;
use std::sync::OnceLock;
use trees::{Loads, Tree};
use ways::{Ground, Lane, Ways};

/// Makes the multicast tables of all `groups`: [`Multicast::new`] for their service levels and [`Multicast::route`].
///
/// # Errors
/// [`NoTree`] as those have it.
pub fn multicast(fabric: &Fabric, unicast: &Tables, groups: &[Group], options: &Options) -> Result<MulticastTables, NoTree> {
    let levels: Vec<u8> = groups.iter().map(|group| group.sl).collect();
    Multicast::new(fabric, unicast, &levels, options)?.route(groups)
}

/// Where multicast trees may go, beside given unicast tables.
///
/// Keep it while the fabric and the unicast tables stay the same: then groups can change one after another, and no change can be in the way
/// of a later one, since all trees keep to the same cables and directions.
pub struct Multicast<'f> {
    fabric: &'f Fabric,
    unicast: &'f Tables,
    options: &'f Options,
    /// Nothing without switches or levels.
    ground: Option<Ground<'f>>,
    /// By service level: which of `classes` its packets are of.
    class_of: [Option<usize>; 16],
    classes: Vec<Class>,
}

/// The ways of packets that share virtual lanes.
struct Class {
    levels: Vec<u8>,
    ways: Ways,
    /// For groups that those cannot join: ways beside them. Found when they are needed; nothing where there are none.
    spare: OnceLock<Option<Ways>>,
}

impl<'f> Multicast<'f> {
    /// For groups with these service levels. Of the options, trees heed the cables not to be used.
    ///
    /// Where the unicast routes climb and then descend, `O(switches * LIDs)`; else the dependencies of all routes are followed one by
    /// one, and the cables are tried one by one.
    ///
    /// # Errors
    /// [`NoTree`] if the unicast routes themselves can wait for each other in a circle on the VL of one of the levels, and if the cables not
    /// to be used are needed.
    pub fn new(fabric: &'f Fabric, unicast: &'f Tables, levels: &[u8], options: &'f Options) -> Result<Self, NoTree> {
        let mut found = Self { fabric, unicast, options, ground: None, class_of: [None; 16], classes: Vec::new() };
        let mut levels: Vec<u8> = levels.iter().copied().filter(|&level| level < 16).collect();
        levels.sort_unstable();
        levels.dedup();
        if fabric.switch_count() == 0 || levels.is_empty() {
            return Ok(found);
        }
        let usable = links::usable(Engine::UpDown, fabric, options).map_err(NoTree::from)?.map_or(Cow::Borrowed(fabric), Cow::Owned);
        let graph = Graph::heeding(&usable, options);
        let order = Order::new(&graph, Heights::by_hosts(&usable, &graph, options));
        let ground = Ground { fabric, usable, unicast, graph, order };
        let by_levels = Ways::by_levels(&ground);
        let has_spare = by_levels.is_some();
        let climbing = by_levels.or_else(|| Ways::by_place(&ground));
        while let Some(&first) = levels.first() {
            let lane = Lane::of(unicast.lanes(), first);
            let (class, others) = levels.into_iter().partition(|&level| lane.is_shared_with(level));
            levels = others;
            for &level in &class {
                found.class_of[usize::from(level)] = Some(found.classes.len());
            }
            let ways = climbing.clone().or_else(|| Ways::that_fit(&ground, &lane, &class, None));
            let ways = ways.ok_or_else(|| NoTree {
                mlid: None,
                reason: format!("the unicast routes of {} are not free of deadlock on the virtual lane of SL {first}", unicast.engine()),
                culprits: Vec::new(),
                remedy: "Use an engine whose routes are; `heddle verify` shows the circle.".to_owned(),
            })?;
            let spare = if has_spare { OnceLock::new() } else { OnceLock::from(None) };
            found.classes.push(Class { levels: class, ways, spare });
        }
        found.ground = Some(ground);
        Ok(found)
    }

    /// The first tree that can be made along the ways of a class, and those ways.
    fn first_tree<'a>(&'a self, class: &'a Class, make: impl Fn(&Ways) -> Option<Tree>) -> Option<(Tree, &'a Ways)> {
        if let Some(tree) = make(&class.ways) {
            return Some((tree, &class.ways));
        }
        let ground = self.ground.as_ref()?;
        let lane = Lane::of(self.unicast.lanes(), class.levels[0]);
        let find = || Ways::that_fit(ground, &lane, &class.levels, Some(&class.ways));
        let spare = class.spare.get_or_init(find).as_ref()?;
        Some((make(spare)?, spare))
    }

    /// Tables with a tree for each group, in the order of the MLIDs. A group without members has no entries, and one with members on one
    /// switch has entries there only, unless there are senders elsewhere.
    ///
    /// Each group takes `O(switches with members * switches and cables above them)`.
    ///
    /// # Errors
    /// [`NoTree`] if two groups have the same MLID, and as [`Multicast::change`].
    pub fn route(&self, groups: &[Group]) -> Result<MulticastTables, NoTree> {
        let mut ordered: Vec<&Group> = groups.iter().collect();
        ordered.sort_by_key(|group| group.mlid);
        if let Some(twice) = ordered.windows(2).find(|pair| pair[0].mlid == pair[1].mlid) {
            return Err(NoTree {
                mlid: Some(twice[0].mlid),
                reason: "two groups have this MLID".to_owned(),
                culprits: Vec::new(),
                remedy: "Make one group of them, with the members of both.".to_owned(),
            });
        }
        let mut tables = MulticastTables::new(self.fabric);
        let mut loads = Loads::new(self.fabric);
        for group in ordered {
            let (class, needed) = self.check(group)?;
            let switches = needed.switches();
            let tree = self.first_tree(class, |ways| Tree::fresh(self.fabric, ways, &switches, &loads));
            let (tree, ways) = tree.ok_or_else(|| self.apart(group))?;
            loads.add(self.fabric, &tree);
            tree.write(self.fabric, ways, &needed, group.mlid, &mut tables);
        }
        Ok(tables)
    }

    /// Changes the tree of one group to what it is now: ports that joined are connected to the nearest switch of the tree, and branches
    /// that nobody needs any more are cut off. Nothing else changes, neither the tree of this group nor any other.
    ///
    /// So a tree can become less good than a new one: up to its highest switch and down again is the longest that its ways can be, in a
    /// tree of `n` levels `2 * (n - 1)` hops. The tree is made anew if there is none, or if the one there is goes other ways than those
    /// allowed. `O(entries of all tables)`, for the loads.
    ///
    /// # Errors
    /// [`NoTree`] if a port of the group is not there, if the level is not one of those that this was made for or a VL drops it, and if
    /// no tree can reach all members. The tables are then as they were.
    pub fn change(&self, tables: &mut MulticastTables, group: &Group) -> Result<(), NoTree> {
        let (class, needed) = self.check(group)?;
        let switches = needed.switches();
        let loads = Loads::of(self.fabric, tables);
        let changed = |ways: &Ways| {
            let mut tree = Tree::read(self.fabric, ways, tables, group.mlid).filter(|tree| !tree.is_empty() && !switches.is_empty())?;
            let joined = switches.iter().all(|&switch| tree.attach(self.fabric, ways, switch, &loads));
            tree.prune(self.fabric, &switches);
            joined.then_some(tree)
        };
        let known = self.first_tree(class, changed);
        let tree = known.or_else(|| self.first_tree(class, |ways| Tree::fresh(self.fabric, ways, &switches, &loads)));
        let (tree, ways) = tree.ok_or_else(|| self.apart(group))?;
        tables.clear(group.mlid);
        tree.write(self.fabric, ways, &needed, group.mlid, tables);
        Ok(())
    }

    /// The class of a group, and where its ports are.
    fn check(&self, group: &Group) -> Result<(&Class, Needed), NoTree> {
        let refuse =
            |reason: String, culprits, remedy: &str| NoTree { mlid: Some(group.mlid), reason, culprits, remedy: remedy.to_owned() };
        let mut needed = Needed::default();
        let mut lost = Vec::new();
        for (ports, members) in [(&group.members, true), (&group.senders, false)] {
            for &at in ports {
                match self.fabric.attachment(at) {
                    Some((switch, port)) if members => needed.members.push((switch, port)),
                    Some((switch, _)) => needed.senders.push(switch),
                    None => lost.push(at.node),
                }
            }
        }
        if !lost.is_empty() {
            lost.sort_by_key(|&node| self.fabric.node(node).guid);
            lost.dedup();
            return Err(refuse("ports of these nodes belong to it, but no switch carries them".to_owned(), lost, "Leave them out."));
        }
        needed.members.sort_unstable();
        needed.members.dedup();
        let class = self.class_of.get(usize::from(group.sl)).copied().flatten();
        let Some(class) = class.and_then(|class| self.classes.get(class)) else {
            let reason = format!("nothing was prepared for its SL {}", group.sl);
            return Err(refuse(reason, Vec::new(), "SLs are 0 to 15; name all that groups have."));
        };
        if Lane::of(self.unicast.lanes(), group.sl).drops() {
            return Err(refuse(format!("the switches drop packets of its SL {}", group.sl), Vec::new(), "Give it another SL."));
        }
        Ok((class, needed))
    }

    /// The refusal of a group that no tree can join.
    fn apart(&self, group: &Group) -> NoTree {
        let graph = Graph::new(self.ground.as_ref().map_or(self.fabric, |ground| &ground.usable));
        let attached = |at: &PortRef| self.fabric.attachment(*at).map(|(switch, _)| switch.index());
        let ports: Vec<(PortRef, usize)> = group.members.iter().chain(&group.senders).filter_map(|at| Some((*at, attached(at)?))).collect();
        let reachable = graph.hops(ports.first().map(|&(_, switch)| switch));
        let is_far = |&(_, switch): &(PortRef, usize)| reachable[switch] == u32::MAX;
        let by_guid = |mut nodes: Vec<NodeIndex>| {
            nodes.sort_by_key(|&node| self.fabric.node(node).guid);
            nodes.dedup();
            nodes
        };
        let far: Vec<NodeIndex> = ports.iter().filter(|port| is_far(port)).map(|(at, _)| at.node).collect();
        if !far.is_empty() {
            return NoTree {
                mlid: Some(group.mlid),
                reason: "its members are in parts of the fabric without a cable between them; from the first, there is no way to these"
                    .to_owned(),
                culprits: by_guid(far),
                remedy: "Repair the cables between the parts, or have a group for each.".to_owned(),
            };
        }
        let levels: Vec<String> = (0..16).filter(|&level| self.has_tree(group, level)).map(|level| level.to_string()).collect();
        NoTree {
            mlid: Some(group.mlid),
            reason: format!(
                "on the virtual lane of its SL {}, any tree of its members would close a circle of waiting with the unicast routes of {}",
                group.sl,
                self.unicast.engine()
            ),
            culprits: by_guid(ports.into_iter().map(|(at, _)| at.node).collect()),
            remedy: match &levels[..] {
                [] => "Use up-down, beside which there is always a tree.".to_owned(),
                levels => format!("Give it one of these SLs if the switches have the lanes: {}; or use up-down.", levels.join(", ")),
            },
        }
    }

    /// Whether the group would have a tree with this SL, were there no groups with others.
    fn has_tree(&self, group: &Group, sl: u8) -> bool {
        let with = Group { sl, ..group.clone() };
        let alone = Multicast::new(self.fabric, self.unicast, &[sl], self.options);
        alone.is_ok_and(|alone| {
            let checked = alone.check(&with).ok();
            let fresh = |switches: &[SwitchIndex], ways: &Ways| Tree::fresh(self.fabric, ways, switches, &Loads::new(self.fabric));
            checked.is_some_and(|(class, needed)| alone.first_tree(class, |ways| fresh(&needed.switches(), ways)).is_some())
        })
    }
}

/// Where the ports of a group are.
#[derive(Default)]
struct Needed {
    /// Switch and port, ascending, each once.
    members: Vec<(SwitchIndex, u8)>,
    senders: Vec<SwitchIndex>,
}

impl Needed {
    /// The switches that the tree must join, ascending. None without members, as packets then go nowhere.
    fn switches(&self) -> Vec<SwitchIndex> {
        if self.members.is_empty() {
            return Vec::new();
        }
        let mut switches: Vec<SwitchIndex> = self.members.iter().map(|&(switch, _)| switch).chain(self.senders.iter().copied()).collect();
        switches.sort_unstable();
        switches.dedup();
        switches
    }
}

/// Why there is no tree for a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoTree {
    /// The group's; `None` if it would be the same with any.
    pub mlid: Option<Mlid>,
    /// What is wrong, in words.
    pub reason: String,
    /// The nodes that are in the way; there can be thousands.
    pub culprits: Vec<NodeIndex>,
    /// What to do.
    pub remedy: String,
}

impl NoTree {
    /// The refusal as text, with names and GUIDs of the first culprits. `fabric` is the one that the trees were to be in.
    pub fn display(&self, fabric: &Fabric) -> String {
        let group = self.mlid.map_or(String::new(), |mlid| format!("group {mlid}: "));
        format!("{group}{}", Explained { reason: &self.reason, culprits: &self.culprits, remedy: &self.remedy, fabric })
    }
}

impl From<Refusal> for NoTree {
    fn from(Refusal { reason, culprits, remedy, .. }: Refusal) -> Self {
        Self { mlid: None, reason, culprits, remedy }
    }
}
