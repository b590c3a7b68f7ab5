use crate::Outcome;
use crate::chain::Verified;
use crate::fabric::{self, FabricArguments};
use crate::out::Out;
use crate::progress::Progress;
use anyhow::Context;
use heddle_fabric::{Lanes, Levels};
use heddle_formats::Warnings;
use heddle_verify::{Deadlock, Effort, Patterns, Quality, Report, Unreachable, Witness};
use serde::Serialize;
use std::path::{Path, PathBuf};

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

    /// The SLs of the routes, lines "0xGUID LID SL" as ibdmchk -c reads them; without, SL 0
    #[arg(long, value_name = "FILE")]
    sl: Option<PathBuf>,

    /// The SL2VL tables: opensm-sl2vl.dump, or lines as ibdmchk -d reads them; without, each SL is the VL of its number
    #[arg(long, value_name = "FILE")]
    sl2vl: Option<PathBuf>,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  heddle verify site.ibnetdiscover --lfts opensm-lfts.dump
  heddle verify site.ibnetdiscover --lfts opensm-lfts.dump --sl path-sl --sl2vl opensm-sl2vl.dump
  heddle route gen:clos2:8 --engine min-hop --out routes && heddle verify gen:clos2:8 --lfts routes/opensm-lfts.dump
";

impl Arguments {
    pub(crate) fn run(self, out: &mut Out) -> anyhow::Result<Outcome> {
        let mut progress = Progress::new();
        progress.step("reading");
        let (fabric, fabric_warnings, lids) = self.fabric.load()?.with_lids()?;
        let (name, bytes) = read(&self.lfts)?;
        let (mut tables, warnings) = heddle_formats::read_lfts(&bytes, &name, &fabric)?;
        fabric::tell_warnings(&name, &warnings);
        let mut all_warnings = vec![fabric_warnings, warnings];
        if self.sl.is_some() || self.sl2vl.is_some() {
            let mut levels = Levels::ByDestination(vec![0; tables.row_len()]);
            if let Some(path) = &self.sl {
                let (name, bytes) = read(path)?;
                let (read, warnings) = heddle_formats::read_path_sl(&bytes, &name, &fabric, &tables)?;
                fabric::tell_warnings(&name, &warnings);
                all_warnings.push(warnings);
                levels = read;
            }
            let lanes = match &self.sl2vl {
                Some(path) => {
                    let (name, bytes) = read(path)?;
                    let (lanes, warnings) = heddle_formats::read_sl2vl(&bytes, &name, &fabric, levels)?;
                    fabric::tell_warnings(&name, &warnings);
                    all_warnings.push(warnings);
                    lanes
                }
                None => Lanes::uniform(levels, Lanes::IDENTITY),
            };
            tables.set_lanes(Some(lanes));
        }
        progress.step("proving");
        let report = heddle_verify::verify(&fabric, &tables);
        progress.step("measuring the routes");
        let quality = heddle_verify::quality(&fabric, &tables);
        let patterns = heddle_verify::patterns(&fabric, &tables, Effort::default());
        drop(progress);

        if self.json {
            out.json(&Json::new(&report, quality, patterns, &all_warnings))?;
        } else {
            out.line(format_args!("{}; LIDs: {lids}", fabric::size(&fabric)))?;
            out.line(&report)?;
            out.line(fabric::quality(&quality))?;
            if let Some(patterns) = patterns {
                out.line(format_args!("bandwidth: {}", fabric::bandwidth(&patterns)))?;
            }
        }
        Ok(if report.is_good() { Outcome::Fine } else { Outcome::Finding })
    }
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
    /// Of the routes that arrive.
    quality: Quality,
    /// What share of a link flows get; null with fewer than two hosts.
    bandwidth: Option<Patterns>,
    warnings: Vec<String>,
}

impl<'a> Json<'a> {
    fn new(report: &'a Report, quality: Quality, bandwidth: Option<Patterns>, warnings: &[Warnings]) -> Self {
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
            quality,
            bandwidth,
            warnings: warnings.iter().flat_map(Warnings::iter).map(ToString::to_string).collect(),
        }
    }
}
