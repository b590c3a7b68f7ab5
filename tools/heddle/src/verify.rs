use crate::Outcome;
use crate::chain::Verified;
use crate::fabric::{self, FabricArguments};
use crate::out::Out;
use crate::progress::Progress;
use anyhow::Context;
use heddle_formats::Warnings;
use heddle_verify::{Deadlock, Effort, Patterns, Report, Unreachable, Witness};
use serde::Serialize;
use std::path::PathBuf;

/// Prove forwarding tables of whatever origin, or say what is wrong with them
///
/// Exit status 1, with the pairs that do not reach each other, the loops and the circle of waiting channels in names, if the tables
/// are not good. The fabric's own LIDs are used; ports without one get one.
#[derive(clap::Args)]
#[command(after_help = fabric::help(EXAMPLES))]
pub(crate) struct Arguments {
    #[command(flatten)]
    fabric: FabricArguments,

    /// The forwarding tables: opensm-lfts.dump, opensm.fdbs, or what dump_fts (dump_lfts) prints
    #[arg(long, value_name = "FILE")]
    lfts: PathBuf,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  heddle verify site.ibnetdiscover --lfts opensm-lfts.dump
  heddle route gen:clos2:8 --engine min-hop --out routes && heddle verify gen:clos2:8 --lfts routes/opensm-lfts.dump
";

impl Arguments {
    pub(crate) fn run(self, out: &mut Out) -> anyhow::Result<Outcome> {
        let mut progress = Progress::new();
        progress.step("reading");
        let (fabric, fabric_warnings, lids) = self.fabric.load()?.with_lids()?;
        let name = self.lfts.display().to_string();
        let bytes = std::fs::read(&self.lfts).with_context(|| format!("cannot read {name}"))?;
        let (tables, warnings) = heddle_formats::read_lfts(&bytes, &name, &fabric)?;
        fabric::tell_warnings(&name, &warnings);
        progress.step("proving");
        let report = heddle_verify::verify(&fabric, &tables);
        progress.step("measuring the routes");
        let patterns = heddle_verify::patterns(&fabric, &tables, Effort::default());
        drop(progress);

        if self.json {
            out.json(&Json::new(&report, patterns, [&fabric_warnings, &warnings]))?;
        } else {
            out.line(format_args!("{}; LIDs: {lids}", fabric::size(&fabric)))?;
            out.line(&report)?;
            if let Some(patterns) = patterns {
                out.line(format_args!("bandwidth: {}", fabric::bandwidth(&patterns)))?;
            }
        }
        Ok(if report.is_good() { Outcome::Fine } else { Outcome::Finding })
    }
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
    /// What share of a link flows get; null with fewer than two hosts.
    bandwidth: Option<Patterns>,
    warnings: Vec<String>,
}

impl<'a> Json<'a> {
    fn new(report: &'a Report, bandwidth: Option<Patterns>, warnings: [&Warnings; 2]) -> Self {
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
            bandwidth,
            warnings: warnings.into_iter().flat_map(Warnings::iter).map(ToString::to_string).collect(),
        }
    }
}
