use crate::Outcome;
use crate::chain::Verified;
use crate::fabric::{self, FabricArguments};
use crate::multicast::{self, Checked};
use crate::out::Out;
use crate::progress::Progress;
use anyhow::Context;
use heddle_fabric::{Fabric, Group, Lanes, Levels, MulticastTables, Tables};
use heddle_formats::Warnings;
use heddle_verify::{
    Deadlock, Effort, MixedDrop, MixedLoop, MixedWitness, MulticastReport, Patterns, Quality, Report, Transition, Unreachable, Witness,
};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Prove forwarding tables of whatever origin, or say what is wrong with them
///
/// Exit status 1, with the pairs that do not reach each other, the loops and the circle of waiting channels in names, if the tables
/// are not good, or (--from) if there is an order of the switches in which packets meet such things on the way. The fabric's own LIDs are used; ports without one get one.
#[derive(clap::Args)]
#[command(after_help = fabric::help(EXAMPLES))]
pub(crate) struct Arguments {
    #[command(flatten)]
    fabric: FabricArguments,

    /// The forwarding tables: opensm-lfts.dump, opensm.fdbs, or what dump_fts (dump_lfts) prints
    #[arg(long, value_name = "FILE")]
    lfts: PathBuf,

    /// The SLs of the routes, lines "0xGUID LID SL" as ibdmchk -c reads them; without, SL 0
    #[arg(long, value_name = "FILE")]
    sl: Option<PathBuf>,

    /// The SL2VL tables: opensm-sl2vl.dump, or lines as ibdmchk -d reads them; without, each SL is the VL of its number
    #[arg(long, value_name = "FILE")]
    sl2vl: Option<PathBuf>,

    /// The multicast forwarding tables beside them: opensm.mcfdbs
    #[arg(long, value_name = "FILE")]
    mfts: Option<PathBuf>,

    /// The multicast groups, as `heddle route --groups` reads them; without, the members of each are the hosts and switches that the
    /// multicast tables lead to, the hosts of switches that forward but are sent nothing send only, and packets have SL 0
    #[arg(long, value_name = "FILE", requires = "mfts")]
    groups: Option<PathBuf>,

    /// The tables that the switches have now: say also what can happen to packets while the switches get the new ones, in whatever order
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,

    /// The SLs of the routes by those tables
    #[arg(long, value_name = "FILE", requires = "from")]
    from_sl: Option<PathBuf>,

    /// The SL2VL tables beside those tables
    #[arg(long, value_name = "FILE", requires = "from")]
    from_sl2vl: Option<PathBuf>,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  heddle verify site.ibnetdiscover --lfts opensm-lfts.dump
  heddle verify site.ibnetdiscover --lfts opensm-lfts.dump --sl path-sl --sl2vl opensm-sl2vl.dump
  heddle verify site.ibnetdiscover --lfts opensm-lfts.dump --mfts opensm.mcfdbs
  heddle verify site.ibnetdiscover --lfts new/opensm-lfts.dump --from old/opensm-lfts.dump
  heddle route gen:clos2:8 --engine min-hop --out routes && heddle verify gen:clos2:8 --lfts routes/opensm-lfts.dump
";

impl Arguments {
    pub(crate) fn run(self, out: &mut Out) -> anyhow::Result<Outcome> {
        let mut progress = Progress::new();
        progress.step("reading");
        let (fabric, fabric_warnings, lids) = self.fabric.load()?.with_lids(None)?;
        let mut all_warnings = vec![fabric_warnings];
        let tables = read_tables(&fabric, &self.lfts, self.sl.as_deref(), self.sl2vl.as_deref(), &mut all_warnings)?;
        let multicast = match &self.mfts {
            Some(path) => Some(read_multicast(&fabric, path, self.groups.as_deref(), &mut all_warnings)?),
            None => None,
        };
        let old = match &self.from {
            Some(path) => Some(read_tables(&fabric, path, self.from_sl.as_deref(), self.from_sl2vl.as_deref(), &mut all_warnings)?),
            None => None,
        };
        progress.step("proving");
        let report = heddle_verify::verify(&fabric, &tables);
        let transition = old.map(|old| heddle_verify::verify_transition(&fabric, &old, &tables));
        let trees = multicast.map(|(mfts, groups)| heddle_verify::verify_multicast(&fabric, &tables, &groups, &mfts));
        progress.step("measuring the routes");
        let quality = heddle_verify::quality(&fabric, &tables);
        let patterns = heddle_verify::patterns(&fabric, &tables, Effort::default());
        drop(progress);

        if self.json {
            out.json(&Json::new(&report, transition.as_ref(), trees.as_ref(), quality, patterns, &all_warnings))?;
        } else {
            out.line(format_args!("{}; LIDs: {lids}", fabric::size(&fabric)))?;
            out.line(&report)?;
            if let (Some(transition), Some(path)) = (&transition, &self.from) {
                out.line(format_args!("from {}: {transition}", path.display()))?;
            }
            if let Some(trees) = &trees {
                out.line(trees)?;
            }
            out.line(fabric::quality(&quality))?;
            if let Some(patterns) = patterns {
                out.line(format_args!("bandwidth: {}", fabric::bandwidth(&patterns)))?;
            }
        }
        let fine =
            report.is_good() && transition.is_none_or(|transition| transition.any_order()) && trees.is_none_or(|trees| trees.is_good());
        Ok(if fine { Outcome::Fine } else { Outcome::Finding })
    }
}

/// Tables from files, with their SLs and VLs if there are files for these.
pub(crate) fn read_tables(
    fabric: &Fabric,
    lfts: &Path,
    sl: Option<&Path>,
    sl2vl: Option<&Path>,
    all_warnings: &mut Vec<Warnings>,
) -> anyhow::Result<Tables> {
    let (name, bytes) = read(lfts)?;
    let (mut tables, warnings) = heddle_formats::read_lfts(&bytes, &name, fabric)?;
    fabric::tell_warnings(&name, &warnings);
    all_warnings.push(warnings);
    if sl.is_none() && sl2vl.is_none() {
        return Ok(tables);
    }
    let mut levels = Levels::ByDestination(vec![0; tables.row_len()]);
    if let Some(path) = sl {
        let (name, bytes) = read(path)?;
        let (read, warnings) = heddle_formats::read_path_sl(&bytes, &name, fabric, &tables)?;
        fabric::tell_warnings(&name, &warnings);
        all_warnings.push(warnings);
        levels = read;
    }
    let lanes = match sl2vl {
        Some(path) => {
            let (name, bytes) = read(path)?;
            let (lanes, warnings) = heddle_formats::read_sl2vl(&bytes, &name, fabric, levels)?;
            fabric::tell_warnings(&name, &warnings);
            all_warnings.push(warnings);
            lanes
        }
        None => Lanes::uniform(levels, Lanes::IDENTITY),
    };
    tables.set_lanes(Some(lanes));
    Ok(tables)
}

/// Multicast tables, and the groups that they are for.
fn read_multicast(
    fabric: &Fabric,
    mfts: &Path,
    groups: Option<&Path>,
    all_warnings: &mut Vec<Warnings>,
) -> anyhow::Result<(MulticastTables, Vec<Group>)> {
    let (name, bytes) = read(mfts)?;
    let (tables, warnings) = heddle_formats::read_mfts(&bytes, &name, fabric)?;
    fabric::tell_warnings(&name, &warnings);
    all_warnings.push(warnings);
    let Some(path) = groups else {
        let groups = multicast::groups_of(fabric, &tables);
        return Ok((tables, groups));
    };
    let (groups, warnings) = multicast::read_groups(path, fabric)?;
    all_warnings.push(warnings);
    Ok((tables, groups))
}

fn read(path: &Path) -> anyhow::Result<(String, Vec<u8>)> {
    let name = path.display().to_string();
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {name}"))?;
    Ok((name, bytes))
}

/// What `--json` prints; an interface.
#[derive(Serialize)]
struct Json<'a> {
    switches: usize,
    endports: usize,
    lids: usize,
    verified: Verified,
    /// The first pairs that do not reach each other.
    unreachable: &'a [Unreachable],
    /// The circle of channels that wait for each other; null if there is none.
    deadlock: Option<&'a Witness>,
    /// Only with `--from`.
    #[serde(skip_serializing_if = "Option::is_none")]
    transition: Option<TransitionJson<'a>>,
    /// Only with `--mfts`.
    #[serde(skip_serializing_if = "Option::is_none")]
    multicast: Option<Checked<'a>>,
    /// Of the routes that arrive.
    quality: Quality,
    /// What share of a link flows get; null with fewer than two hosts.
    bandwidth: Option<Patterns>,
    warnings: Vec<String>,
}

impl<'a> Json<'a> {
    fn new(
        report: &'a Report,
        transition: Option<&'a Transition>,
        trees: Option<&'a MulticastReport>,
        quality: Quality,
        bandwidth: Option<Patterns>,
        warnings: &[Warnings],
    ) -> Self {
        Self {
            switches: report.switches,
            endports: report.end_ports,
            lids: report.lids,
            verified: Verified::from(report),
            unreachable: &report.unreachable,
            deadlock: match &report.deadlock {
                Deadlock::Free(_) => None,
                Deadlock::Cyclic(witness) => Some(witness),
            },
            transition: transition.map(TransitionJson::from),
            multicast: trees.map(Checked::from),
            quality,
            bandwidth,
            warnings: warnings.iter().flat_map(Warnings::iter).map(ToString::to_string).collect(),
        }
    }
}

/// What can happen on the way from the tables of `--from`.
#[derive(Serialize)]
struct TransitionJson<'a> {
    /// Whether switches can be written in any order: without what follows.
    any_order: bool,
    changed_entries: u64,
    changed_lids: u64,
    looping_lids: u64,
    #[serde(rename = "loop")]
    a_loop: Option<&'a MixedLoop>,
    dropping_lids: u64,
    drop: Option<&'a MixedDrop>,
    lost_before: u64,
    rounds: Option<u32>,
    deadlock: Option<&'a MixedWitness>,
}

impl<'a> From<&'a Transition> for TransitionJson<'a> {
    fn from(transition: &'a Transition) -> Self {
        Self {
            any_order: transition.any_order(),
            changed_entries: transition.changed_entries,
            changed_lids: transition.changed_lids,
            looping_lids: transition.looping_lids,
            a_loop: transition.a_loop.as_ref(),
            dropping_lids: transition.dropping_lids,
            drop: transition.a_drop.as_ref(),
            lost_before: transition.lost_before,
            rounds: transition.rounds,
            deadlock: transition.deadlock.as_ref().err(),
        }
    }
}
