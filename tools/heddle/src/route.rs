use crate::chain::{self, Chain, Changed, Refused, Verified};
use crate::fabric::{self, FabricArguments};
use crate::multicast::{self, Made, Trees};
use crate::out::{Out, ms, tell};
use crate::progress::Progress;
use crate::routing_options::{self, RoutingOptions};
use crate::{Outcome, engines, live, verify};
use heddle_engines::Engine;
use heddle_fabric::Fabric;
use heddle_verify::{Effort, Patterns, Quality, patterns, quality};
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Compute routes offline, prove them, and write them as OpenSM dump files
///
/// The engines are tried in order; the tables of the first whose tables are proven (every LID reached from everywhere, no loop, no deadlock)
/// are the result. Tables that are not proven are never written.
#[derive(clap::Args)]
#[command(after_help = fabric::help(EXAMPLES))]
pub(crate) struct Arguments {
    #[command(flatten)]
    fabric: FabricArguments,

    /// Engines to try, in order; `heddle engines` lists them
    #[arg(long, value_name = "E[,E...]", required_unless_present = "from", value_delimiter = ',', value_parser = engines::parser())]
    engine: Vec<Engine>,

    /// Start from these tables (opensm-lfts.dump, or what dump_lfts.sh prints), made for the same nodes and LIDs, perhaps with other cables:
    /// entries that still lead to their LID stay, unless another switch has no way then, and the others change. Engines and their options
    /// have a say only where this is refused
    #[arg(long, value_name = "LFTS")]
    from: Option<PathBuf>,

    /// Write opensm-subnet.lst, opensm.fdbs, opensm-lfts.dump and opensm.mcfdbs into this folder, where the routes need SLs also
    /// opensm-path-sl.dump and opensm-sl2vl.dump; made if missing
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Grow a tree for each multicast group of this list: lines `MLID SL GUID GUID ... [send GUID ...]` with the GUIDs of ports or nodes, or
    /// `all` for all hosts; what is after `send` sends only. Nothing is written unless all trees are proven beside the routes
    #[arg(long, value_name = "FILE")]
    groups: Option<PathBuf>,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    options: RoutingOptions,
}

const EXAMPLES: &str = "\
Examples:
  heddle route site.ibnetdiscover --engine up-down --out routes
  heddle route gen:torus:4x4x4,hosts=2 --engine min-hop,up-down
  heddle route site.ibnetdiscover --engine up-down --groups groups.txt --out routes
  heddle route site.ibnetdiscover --from old/opensm-lfts.dump --out routes
  ibnetdiscover | heddle route - --engine up-down --json
";

impl Arguments {
    pub(crate) fn run(self, out: &mut Out) -> anyhow::Result<Outcome> {
        let mut progress = Progress::new();
        progress.step("reading the fabric");
        let begin = Instant::now();
        let loaded = self.fabric.load()?;
        let name = loaded.name.clone();
        let (fabric, warnings, lids) = loaded.with_lids(self.options.lmc)?;
        let mut warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
        let fabric = Arc::new(fabric);
        let parse = begin.elapsed();

        let routing_options::Read { options, warnings: odd } = self.options.read(&fabric, &self.engine)?;
        warnings.extend(odd);
        let groups = match &self.groups {
            Some(path) => {
                let (groups, odd) = multicast::read_groups(path, &fabric)?;
                warnings.extend(odd.iter().map(ToString::to_string));
                Some(groups)
            }
            None => None,
        };
        let old = match &self.from {
            Some(path) => {
                let mut odd = Vec::new();
                let tables = verify::read_tables(&fabric, path, None, None, &mut odd)?;
                warnings.extend(odd.iter().flat_map(|warnings| warnings.iter()).map(ToString::to_string));
                Some(tables)
            }
            None => None,
        };
        let chain = chain::run(old, &self.engine, &options, &fabric, &mut progress);
        let measured = chain.proven.as_ref().map(|proven| {
            progress.step("measuring the routes");
            Measured { quality: quality(&fabric, proven.tables()), patterns: patterns(&fabric, proven.tables(), Effort::default()) }
        });
        let trees = match (&chain.proven, &groups) {
            (Some(proven), Some(groups)) => Some(Trees::make(&fabric, proven.tables(), groups, &options, &mut progress)),
            _ => None,
        };
        let lacks_trees = trees.as_ref().is_some_and(|trees| trees.tables.is_none());
        let begin = Instant::now();
        if let (Some(directory), Some(proven), false) = (&self.out, &chain.proven, lacks_trees) {
            progress.step("writing");
            // Large files half written beside their places would stay there.
            live::signals()?;
            heddle_formats::write_opensm_dumps(
                directory,
                &fabric,
                proven.tables(),
                trees.as_ref().and_then(|trees| trees.tables.as_ref()),
            )?;
        }
        let write = if self.out.is_some() { begin.elapsed() } else { Duration::ZERO };
        drop(progress);

        if self.json {
            out.json(&Json::new(&fabric, &chain, measured, trees.as_ref(), warnings, parse, write))?;
        } else {
            self.summary(out, &name, &fabric, &lids, &chain, measured)?;
            if let Some(trees) = &trees {
                out.line(trees.summary())?;
            }
            if let (Some(directory), Some(_), false) = (&self.out, &chain.proven, lacks_trees) {
                out.line(format_args!("written to {}", directory.display()))?;
            }
        }
        if chain.proven.is_some() && !lacks_trees {
            return Ok(Outcome::Fine);
        }
        out.flush()?;
        if lacks_trees {
            tell("the multicast groups have no trees that can be proven; nothing was written");
            return Ok(Outcome::Finding);
        }
        let names: Vec<_> = chain.refused.iter().map(|refused| refused.engine).collect();
        tell(format_args!("no engine ({}) gave tables that can be proven; nothing was written", names.join(", ")));
        Ok(Outcome::Finding)
    }

    fn summary(
        &self,
        out: &mut Out,
        name: &str,
        fabric: &Fabric,
        lids: &str,
        chain: &Chain,
        measured: Option<Measured>,
    ) -> anyhow::Result<()> {
        out.line(format_args!("{name}: {}", fabric::size(fabric)))?;
        out.line(format_args!("LIDs: {lids}"))?;
        if let Some(why) = &chain.auto {
            out.line(format_args!("auto: {why}"))?;
        }
        for refused in &chain.refused {
            out.line(format_args!("{} refused: {}", refused.engine, refused.reason.replace('\n', "\n  ")))?;
        }
        let (Some(proven), Some(Measured { quality, patterns })) = (&chain.proven, measured) else { return Ok(()) };
        out.line(format_args!("routed by {} in {:.1?}, proven in {:.1?}", proven.tables().engine(), chain.routing, chain.proving))?;
        if let Some(changed) = &chain.changed {
            out.line(changed)?;
        }
        let parts = &proven.report().parts;
        if parts.len() > 1 {
            out.line(parts)?;
        }
        out.line(format_args!("proof: {}", fabric::proof(proven)))?;
        out.line(fabric::quality(&quality))?;
        if let Some(patterns) = patterns {
            out.line(format_args!("bandwidth: {}", fabric::bandwidth(&patterns)))?;
        }
        Ok(())
    }
}

/// How good routes are; one map in JSON.
#[derive(Clone, Serialize)]
struct Measured {
    #[serde(flatten)]
    quality: Quality,
    /// Not there with fewer than two hosts.
    #[serde(flatten)]
    patterns: Option<Patterns>,
}

/// What `--json` prints; an interface.
#[derive(Serialize)]
struct Json<'a> {
    /// Whose tables `verified` speaks of; null if no engine made any.
    engine: Option<&'a str>,
    switches: usize,
    endports: usize,
    lids: usize,
    timing_ms: Timing,
    verified: Option<Verified>,
    /// Of proven tables only.
    quality: Option<Measured>,
    /// With --groups only, and only beside proven tables.
    multicast: Option<Made<'a>>,
    /// With --from only, and only if the old tables could be mended.
    changed: Option<Changed>,
    refused: &'a [Refused],
    /// What auto chose and why; null if it was not asked.
    auto: Option<&'a str>,
    warnings: Vec<String>,
}

/// Milliseconds.
#[derive(Serialize)]
struct Timing {
    parse: f64,
    route: f64,
    verify: f64,
    write: f64,
}

impl<'a> Json<'a> {
    fn new(
        fabric: &Fabric,
        chain: &'a Chain,
        measured: Option<Measured>,
        trees: Option<&'a Trees>,
        warnings: Vec<String>,
        parse: Duration,
        write: Duration,
    ) -> Self {
        Self {
            engine: chain.report.as_deref().map(|report| report.engine.as_str()),
            switches: fabric.switch_count(),
            endports: fabric.end_ports().len(),
            lids: fabric.end_ports().iter().map(|end| 1 << end.lmc).sum(),
            timing_ms: Timing { parse: ms(parse), route: ms(chain.routing), verify: ms(chain.proving), write: ms(write) },
            verified: chain.report.as_deref().map(Verified::from),
            quality: measured,
            multicast: trees.map(Made::from),
            changed: chain.changed,
            refused: &chain.refused,
            auto: chain.auto.as_deref(),
            warnings,
        }
    }
}
