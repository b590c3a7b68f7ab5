//! What the subnet manager does, told to a person.

use crate::fabric;
use crate::out::Out;
use heddle_fabric::{Fabric, Guid, Lid, NodeIndex, PortRef, Tables};
use heddle_mad::Time;
use heddle_sm::{Event, Finding, Found, Why, Written};
use heddle_verify::Proven;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// At most so many findings, and so many changes, are told of a sweep.
const SHOWN: usize = 20;

/// Tells events, each with its time since the start.
pub(crate) struct Narrator<'a> {
    out: &'a mut Out,
    start: Time,
    /// What was found last.
    fabric: Option<Arc<Fabric>>,
    /// What was told last of what the sweeps find, and of what goes wrong while writing.
    found: BTreeSet<Finding>,
    unwritten: BTreeSet<Finding>,
    /// The tables that were told of last.
    tables: Option<Arc<Tables>>,
}

impl<'a> Narrator<'a> {
    pub(crate) fn new(out: &'a mut Out, start: Time) -> Self {
        Self { out, start, fabric: None, found: BTreeSet::new(), unwritten: BTreeSet::new(), tables: None }
    }

    /// A line of its own.
    pub(crate) fn say(&mut self, now: Time, what: impl fmt::Display) -> anyhow::Result<()> {
        // To the microsecond: a reaction takes less than a millisecond on a small fabric.
        let time = format!("[{:.6} s]", now.since(self.start).as_secs_f64());
        self.out.line(format_args!("{time:>15} {what}"))
    }

    pub(crate) fn tell(&mut self, now: Time, event: &Event) -> anyhow::Result<()> {
        match event {
            Event::SweepBegan(why) => self.say(now, format_args!("sweep: {why}{}", self.owner(why))),
            Event::Found(found) => self.found(now, found),
            Event::Chosen(why) => self.say(now, format_args!("auto: {why}")),
            Event::Refused { engine, why } => self.say(now, format_args!("{engine} refused: {}", indent(why))),
            Event::Routed(proven) => self.routed(now, proven),
            Event::NotRouted(why) => self.say(now, format_args!("NOT ROUTED: {why}; nothing is written")),
            Event::Finding(finding) => self.say(now, format_args!("finding: {finding}")),
            Event::Up { written, findings, .. } => self.up(now, *written, findings),
            Event::Standby(finding) => self.say(now, format_args!("STANDBY: {finding}")),
            Event::NoFabric => self.say(now, "NO FABRIC: the local port does not answer"),
        }?;
        self.out.flush()
    }

    /// Who has the LID that a trap came from, as far as it is known.
    fn owner(&self, why: &Why) -> String {
        let Why::Trap { lid, .. } = *why else { return String::new() };
        let owner = self.fabric.as_ref().and_then(|fabric| Some((fabric, fabric.lid_owner(Lid::new(lid)?)?)));
        owner.map_or_else(String::new, |(fabric, owner)| format!(" (\"{}\")", fabric.node(owner.at.node).description))
    }

    fn found(&mut self, now: Time, found: &Found) -> anyhow::Result<()> {
        let size = fabric::size(&found.fabric);
        let before = self.fabric.replace(Arc::clone(&found.fabric));
        let changes = before.as_ref().map(|before| changes(before, &found.fabric)).unwrap_or_default();
        let before = before.map(|before| fabric::size(&before)).filter(|before| *before != size);
        let before = before.map(|before| format!(" (before: {before})"));
        let lids = if found.new_lids > 0 { format!("; LIDs: {} new", found.new_lids) } else { String::new() };
        self.say(now, format_args!("found {size}{lids}{}", before.unwrap_or_default()))?;
        for change in changes.iter().take(SHOWN) {
            self.say(now, change)?;
        }
        if changes.len() > SHOWN {
            self.say(now, format_args!("and {} changes more", changes.len() - SHOWN))?;
        }
        let last = std::mem::replace(&mut self.found, found.findings.iter().cloned().collect());
        self.findings(now, &last, &found.findings)
    }

    fn routed(&mut self, now: Time, proven: &Proven) -> anyhow::Result<()> {
        if self.tables.replace(Arc::clone(proven.tables())).is_some_and(|before| before == *proven.tables()) {
            return self.say(now, "routes and proof as before");
        }
        let engine = proven.tables().engine();
        let tops = if engine == heddle_engines::Engine::UpDown.name() { tops(proven.fabric()) } else { String::new() };
        self.say(now, format_args!("routed by {engine}: {} LIDs{tops}", proven.report().lids))?;
        self.say(now, format_args!("proof: {}", fabric::proof(proven)))
    }

    fn up(&mut self, now: Time, written: Written, findings: &[Finding]) -> anyhow::Result<()> {
        let Written { lft_blocks, switches, ports, activated } = written;
        let parts = [
            (lft_blocks, format!("{lft_blocks} forwarding-table blocks of 64 LIDs in {switches} switches")),
            (ports, format!("{ports} port settings")),
            (activated, format!("{activated} ports became ACTIVE")),
        ];
        let parts: Vec<_> = parts.into_iter().filter(|&(number, _)| number > 0).map(|(_, text)| text).collect();
        if !parts.is_empty() {
            self.say(now, format_args!("written: {}", parts.join(", ")))?;
        }
        let last = std::mem::replace(&mut self.unwritten, findings.iter().cloned().collect());
        self.findings(now, &last, findings)?;
        self.say(now, if parts.is_empty() { "SUBNET UP, nothing had to be written" } else { "SUBNET UP" })
    }

    /// Those that were not told last time; the others are only counted.
    fn findings(&mut self, now: Time, last: &BTreeSet<Finding>, findings: &[Finding]) -> anyhow::Result<()> {
        let new: Vec<_> = findings.iter().filter(|finding| !last.contains(finding)).collect();
        for finding in new.iter().take(SHOWN) {
            self.say(now, format_args!("finding: {finding}"))?;
        }
        if new.len() > SHOWN {
            self.say(now, format_args!("and {} findings more", new.len() - SHOWN))?;
        }
        let known = findings.len() - new.len();
        if known > 0 {
            self.say(now, format_args!("{known} findings as before"))?;
        }
        Ok(())
    }
}

fn indent(text: &str) -> String {
    text.replace('\n', "\n             ")
}

/// The nodes that came or went between two sweeps, and the cables between nodes that did neither.
fn changes(before: &Fabric, now: &Fabric) -> Vec<String> {
    let mut changes = Vec::new();
    for (what, this, other) in [("gone", before, now), ("new", now, before)] {
        let is_in_both = |guid| this.node_by_guid(guid).is_some() && other.node_by_guid(guid).is_some();
        let name = |guid| this.node_by_guid(guid).map_or("", |node| &this.node(node).description);
        let nodes = this.nodes().iter().filter(|node| !is_in_both(node.guid));
        changes.extend(nodes.map(|node| format!("{what}: \"{}\" ({})", node.description, node.guid)));
        let cables = cables(this).into_iter().filter(|[(a, _), (b, _)]| is_in_both(*a) && is_in_both(*b));
        let elsewhere = self::cables(other);
        changes.extend(cables.filter(|cable| !elsewhere.contains(cable)).map(|[(a, a_port), (b, b_port)]| {
            format!("{what}: the cable between port {a_port} of \"{}\" and port {b_port} of \"{}\"", name(a), name(b))
        }));
    }
    changes
}

/// Each cable by the GUIDs and ports of its ends, the smaller first.
fn cables(fabric: &Fabric) -> BTreeSet<[(Guid, u8); 2]> {
    let end = |at: PortRef| (fabric.node(at.node).guid, at.port);
    let ports =
        (0..).map(NodeIndex).zip(fabric.nodes()).flat_map(|(node, known)| (1..=known.num_ports).map(move |port| PortRef::new(node, port)));
    let cables = ports.filter_map(|at| Some([end(at), end(fabric.port(at)?.peer?)]));
    cables.filter(|[a, b]| a <= b).collect()
}

/// The switches that `up-down` takes as the top, by name, to be appended; nothing where there are none.
fn tops(fabric: &Fabric) -> String {
    const NAMED: usize = 8;
    let roots = heddle_engines::roots(fabric);
    let names: Vec<_> = roots.iter().take(NAMED).map(|&root| format!("\"{}\"", fabric.switch(root).description)).collect();
    match roots.len() {
        0 => String::new(),
        // As in a ring: which are higher is a matter of numbers.
        many if many > 1 && many == fabric.switch_count() => "; no switch is nearer to the hosts than others".into(),
        1..=NAMED => format!("; top switches: {}", names.join(", ")),
        many => format!("; top switches: {} and {} more", names.join(", "), many - NAMED),
    }
}
