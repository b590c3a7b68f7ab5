//! Multicast groups and their trees, offline.

use crate::fabric;
use crate::progress::Progress;
use anyhow::Context;
use heddle_engines::Options;
use heddle_fabric::{EndPort, Fabric, Group, MulticastTables, SwitchIndex, Tables};
use heddle_formats::Warnings;
use heddle_verify::{MulticastFault, MulticastReport, MulticastWitness, verify_multicast};
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

/// Reads a list of groups.
pub(crate) fn read_groups(path: &Path, fabric: &Fabric) -> anyhow::Result<(Vec<Group>, Warnings)> {
    let name = path.display().to_string();
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {name}"))?;
    let (groups, warnings) = heddle_formats::read_groups(&bytes, &name, fabric)?;
    fabric::tell_warnings(&name, &warnings);
    Ok((groups, warnings))
}

/// The groups that tables seem to be for. The members of each are the hosts and switches that the tables lead to; the hosts of a switch that
/// has an entry but is sent nothing send only.
pub(crate) fn groups_of(fabric: &Fabric, tables: &MulticastTables) -> Vec<Group> {
    let group = |mlid| {
        let is_sent = |at: SwitchIndex| fabric.arcs(at).iter().any(|arc| tables.contains(mlid, arc.peer, arc.peer_port));
        let ends = || fabric.end_ports().iter();
        let members: Vec<&EndPort> = ends().filter(|end| tables.contains(mlid, end.switch, end.switch_port)).collect();
        let with_members: BTreeSet<SwitchIndex> = members.iter().map(|end| end.switch).collect();
        let sources: BTreeSet<SwitchIndex> =
            tables.switches(mlid).iter().copied().filter(|&at| !is_sent(at) && !with_members.contains(&at)).collect();
        let senders = ends().filter(|end| end.is_host() && sources.contains(&end.switch));
        Group { mlid, sl: 0, members: members.iter().map(|end| end.at).collect(), senders: senders.map(|end| end.at).collect() }
    };
    tables.mlids().map(group).collect()
}

/// What became of groups beside unicast tables.
pub(crate) struct Trees {
    groups: usize,
    /// Why there are none.
    refused: Option<String>,
    report: Option<MulticastReport>,
    /// Those that are good.
    pub(crate) tables: Option<MulticastTables>,
    routing: Duration,
    proving: Duration,
}

impl Trees {
    /// Makes the trees of groups, and has them verified.
    pub(crate) fn make(fabric: &Fabric, unicast: &Tables, groups: &[Group], options: &Options, progress: &mut Progress) -> Self {
        progress.step("growing multicast trees");
        let begin = Instant::now();
        let made = heddle_engines::multicast(fabric, unicast, groups, options);
        let routing = begin.elapsed();
        let mut trees = Self { groups: groups.len(), refused: None, report: None, tables: None, routing, proving: Duration::ZERO };
        match made {
            Err(no_tree) => trees.refused = Some(no_tree.display(fabric)),
            Ok(tables) => {
                progress.step("proving the multicast trees");
                let begin = Instant::now();
                let report = verify_multicast(fabric, unicast, groups, &tables);
                trees.proving = begin.elapsed();
                trees.tables = report.is_good().then_some(tables);
                trees.report = Some(report);
            }
        }
        trees
    }

    /// What there is to tell; several lines.
    pub(crate) fn summary(&self) -> String {
        let found = match (&self.refused, &self.report) {
            (Some(reason), _) => format!("refused: {reason}"),
            (None, Some(report)) => report.to_string(),
            (None, None) => String::new(),
        };
        format!("multicast in {:.1?}, proven in {:.1?}: {found}", self.routing, self.proving)
    }
}

/// In JSON: what became of the groups.
#[derive(Serialize)]
pub(crate) struct Made<'a> {
    groups: usize,
    /// Why there are no trees.
    refused: Option<&'a str>,
    verified: Option<Checked<'a>>,
    /// Milliseconds.
    route_ms: f64,
    verify_ms: f64,
}

impl<'a> From<&'a Trees> for Made<'a> {
    fn from(trees: &'a Trees) -> Self {
        Self {
            groups: trees.groups,
            refused: trees.refused.as_deref(),
            verified: trees.report.as_ref().map(Checked::from),
            route_ms: crate::out::ms(trees.routing),
            verify_ms: crate::out::ms(trees.proving),
        }
    }
}

/// In JSON: what the verifier says.
#[derive(Serialize)]
pub(crate) struct Checked<'a> {
    groups: usize,
    /// Every member is sent each packet once, and nobody else is.
    trees: bool,
    deadlock_free: bool,
    /// The first faults.
    faults: &'a [MulticastFault],
    /// The circle of channels that wait for each other; null if there is none.
    deadlock: Option<&'a MulticastWitness>,
    unowned_mlids: u64,
}

impl<'a> From<&'a MulticastReport> for Checked<'a> {
    fn from(report: &'a MulticastReport) -> Self {
        Self {
            groups: report.groups,
            trees: report.fault_count == 0,
            deadlock_free: report.deadlock.is_ok(),
            faults: &report.faults,
            deadlock: report.deadlock.as_ref().err(),
            unowned_mlids: report.unowned_mlids,
        }
    }
}
