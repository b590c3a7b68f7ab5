//! Events as statements.

use super::names::{Site, find_quietly};
use super::vocabulary::{ATTRIBUTES, COUNTERS, STATUSES, TRAPS, name};
use crate::events::{CableFault, Event, Fault, Place, Subject};
use heddle_fabric::{NodeIndex, PortRef};
use std::fmt::{self, Display};
use std::time::Duration;

impl Event {
    /// The statement that means this event, without a time. Where a statement cannot say it (a name with a `"`), it comes close.
    pub fn statement(&self, site: &dyn Site) -> String {
        let node = |node: &NodeIndex| node_name(site, *node);
        let port = |at: &PortRef| port_name(site, *at);
        let nodes = |list: &[NodeIndex]| list.iter().map(node).collect::<Vec<_>>().join(" ");
        let cables = |place: &Place| match place {
            Place::Everywhere => "all".to_owned(),
            Place::Node(one) => node(one),
            Place::Port(at) => port(at),
        };
        match self {
            Self::Cut(place) => format!("cut {}", cables(place)),
            Self::Restore(place) => format!("restore {}", cables(place)),
            Self::Cable(place, fault) => {
                let place = cables(place);
                match fault {
                    CableFault::Width(width) => format!("degrade {place} {width}"),
                    CableFault::Speed(speed) => format!("degrade {place} {speed}"),
                    CableFault::Loss(percent) => format!("loss {place} {percent}"),
                    CableFault::Corrupt(percent) => format!("corrupt {place} {percent}"),
                    CableFault::Delay(delay) => format!("delay {place} {}", Micros(*delay)),
                    CableFault::Reorder(percent) => format!("reorder {place} {percent}"),
                    CableFault::Repeat(percent) => format!("repeat {place} {percent}"),
                }
            }
            Self::Move { from, to } => format!("move {} {}", port(from), port(to)),
            Self::Swap(one, other) => format!("swap {} {}", port(one), port(other)),
            Self::Split(list) => format!("split {}", nodes(list)),
            Self::Merge(list) => format!("merge {}", nodes(list)),
            Self::RemoveNode(one) => format!("remove {}", node(one)),
            Self::ReturnNode(one) => format!("return {}", node(one)),
            Self::Reboot(one, time) => format!("reboot {} for {}", node(one), Micros(*time)),
            Self::Fault(one, Fault::Babble { port: number, trouble, every }) => {
                let trap = name(TRAPS, trouble).unwrap_or_default();
                format!("babble {} {trap} {}", port(&PortRef::new(*one, *number)), Micros(*every))
            }
            Self::Fault(one, fault) => {
                let one = node(one);
                match fault {
                    Fault::Mute => format!("mute {one}"),
                    Fault::Garbage { seed } => format!("garbage {one} {seed}"),
                    Fault::Duplicate => format!("duplicate {one}"),
                    Fault::Late(time) => format!("late {one} {}", Micros(*time)),
                    Fault::Slow(time) => format!("slow {one} {}", Micros(*time)),
                    Fault::Drop { percent, seed } => format!("drop {one} {percent} {seed}"),
                    Fault::Queue(count) => format!("queue {one} {count}"),
                    Fault::Ignore(subject) => format!("ignore {one} {}", attribute(subject)),
                    Fault::Refuse(subject, status) => {
                        let status = name(STATUSES, status).map_or_else(|| format!("{:#x}", status.0), str::to_owned);
                        format!("refuse {one} {} {status}", attribute(subject))
                    }
                    Fault::Forget(subject) => format!("forget {one} {}", attribute(subject)),
                    Fault::Guid(guid) => format!("guid {one} {guid}"),
                    Fault::Babble { .. } => unreachable!("it is above"),
                }
            }
            Self::Heal(one) => format!("heal {}", node(one)),
            Self::Rename(one, new) => format!("rename {} {}", node(one), quoted(new)),
            Self::MKey { node: one, key, protect } => format!("mkey {} {key:#x} {protect}", node(one)),
            Self::PKey { at, index, p_key } => format!("pkey {} {index} {p_key:#06x}", port(at)),
            Self::Errors { at, counter, count } => {
                format!("errors {} {} {count}", port(at), name(COUNTERS, counter).unwrap_or_default())
            }
            Self::Groups { node: one, groups } => format!("groups {} {groups}", node(one)),
            Self::Seed(seed) => format!("seed {seed}"),
        }
    }
}

fn attribute(subject: &Subject) -> String {
    name(ATTRIBUTES, subject).map_or_else(|| format!("{:#x}", subject.attribute.0), str::to_owned)
}

/// How statements name a node: its NodeDescription, in quotes where it needs them; its GUID where no other way is clear.
fn node_name(site: &dyn Site, node: NodeIndex) -> String {
    if node.index() >= site.node_count() {
        return format!("node-{}", node.0); // there is none
    }
    let description = site.description(node);
    let is_clear = !description.contains(['"', '\n', '\r']) && find_quietly(site, description) == Some(node);
    if is_clear { quoted(description) } else { site.guid(node).to_string() }
}

/// How statements name a port: `NODE:PORT`.
pub(crate) fn port_name(site: &dyn Site, at: PortRef) -> String {
    format!("{}:{}", node_name(site, at.node), at.port)
}

fn quoted(name: &str) -> String {
    let is_word =
        !name.is_empty() && !["all", "any", "for"].contains(&name) && !name.contains(|c: char| c.is_whitespace() || ";:\"#".contains(c));
    if is_word { name.to_owned() } else { format!("\"{name}\"") }
}

/// A time in the largest unit that it has a whole number of.
struct Micros(Duration);

impl Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.0.as_micros();
        match micros {
            _ if micros.is_multiple_of(1_000_000) => write!(f, "{}s", micros / 1_000_000),
            _ if micros.is_multiple_of(1000) => write!(f, "{}ms", micros / 1000),
            _ => write!(f, "{micros}us"),
        }
    }
}
