//! The flags that say how routes should be, and the files that they name.

use crate::out::tell;
use crate::{fabric, verify};
use anyhow::{Context, bail};
use heddle_engines::{Chain, Engine, Options};
use heddle_fabric::{Fabric, PortSpec};
use heddle_formats::{ReadError, Warnings};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How routes should be. The files are OpenSM's.
#[derive(clap::Args)]
#[command(next_help_heading = "How routes should be (`#` begins a comment in files; GUIDs with 0x)")]
pub(crate) struct RoutingOptions {
    /// How many virtual lanes the engines may use
    #[arg(long, value_name = "N", default_value_t = Options::default().max_vls, value_parser = clap::value_parser!(u8).range(1..=15))]
    max_vls: u8,

    /// The switches at the top of the tree, a node GUID a line; without, engines find them
    #[arg(long, value_name = "FILE")]
    roots: Option<PathBuf>,

    /// The hosts whose traffic with each other is balanced first, a port or node GUID a line; without, all
    #[arg(long, value_name = "FILE")]
    compute_nodes: Option<PathBuf>,

    /// The hosts that are balanced apart from the others (storage, gateways), a port or node GUID a line
    #[arg(long, value_name = "FILE")]
    io_nodes: Option<PathBuf>,

    /// Numbers of switches, lines `GUID NUMBER`: among equals, lower ones are nearer to the top
    #[arg(long, value_name = "FILE")]
    ids: Option<PathBuf>,

    /// How many hops the way out of a port counts for, lines `GUID PORT WEIGHT`, 1 to 255; without, 1
    #[arg(long, value_name = "FILE")]
    hop_weights: Option<PathBuf>,

    /// Which ports of a switch are taken first, lines `GUID PORT PORT ...`
    #[arg(long, value_name = "FILE")]
    port_order: Option<PathBuf>,

    /// What is routed first, a port or node GUID a line; a switch stands for its hosts, too
    #[arg(long, value_name = "FILE")]
    routing_order: Option<PathBuf>,

    /// Cables that no route may use, lines `GUID PORT` for one of their ends
    #[arg(long, value_name = "FILE")]
    ignore_links: Option<PathBuf>,

    /// What to do about cables between switches that are narrower or slower than is usual at both their ends
    #[arg(long, value_name = "HOW", value_enum, default_value_t)]
    throttled: Throttled,

    /// Another number, other routes that are as good: it decides where nothing else does
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    /// Each host port has 2^N LIDs, 0 to 7, whose routes take different cables and switches where they can; without, as in the file
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=i64::from(PortSpec::MAX_LMC)))]
    pub(crate) lmc: Option<u8>,

    /// The forwarding tables that the engine `file` takes: opensm-lfts.dump, opensm.fdbs, or what dump_fts prints
    #[arg(long, value_name = "FILE")]
    lfts: Option<PathBuf>,

    /// The SLs that go with --lfts, lines `GUID LID SL` as ibdmchk -c reads them
    #[arg(long, value_name = "FILE", requires = "lfts")]
    sl: Option<PathBuf>,

    /// The SL2VL tables that go with --lfts: opensm-sl2vl.dump, or lines as ibdmchk -d reads them
    #[arg(long, value_name = "FILE", requires = "lfts")]
    sl2vl: Option<PathBuf>,
}

/// What slow cables are good for.
#[derive(Clone, Copy, Default, clap::ValueEnum)]
enum Throttled {
    /// Use them like others
    #[default]
    Use,
    /// Give every cable routes in proportion to its width and speed
    Weigh,
    /// Use them only where there is no other way
    Avoid,
}

impl From<Throttled> for heddle_engines::Throttled {
    fn from(throttled: Throttled) -> Self {
        match throttled {
            Throttled::Use => Self::Use,
            Throttled::Weigh => Self::Weigh,
            Throttled::Avoid => Self::Avoid,
        }
    }
}

/// What the flags and their files say.
pub(crate) struct Read {
    pub(crate) options: Options,
    /// What was odd about the files, and which options say nothing to an engine.
    pub(crate) warnings: Vec<String>,
}

impl RoutingOptions {
    /// Reads the files. Tells what is odd on standard error.
    ///
    /// # Errors
    /// A file that cannot be read, and options that none of the engines heeds.
    pub(crate) fn read(&self, fabric: &Fabric, engines: &[Engine]) -> anyhow::Result<Read> {
        if engines.contains(&Engine::File) && self.lfts.is_none() {
            bail!("the engine file needs the tables that it takes: --lfts FILE");
        }
        let mut warnings = Vec::new();
        let mut of_tables = Vec::new();
        let tables = |path: &PathBuf| verify::read_tables(fabric, path, self.sl.as_deref(), self.sl2vl.as_deref(), &mut of_tables);
        let tables = self.lfts.as_ref().map(tables).transpose()?;
        warnings.extend(of_tables.iter().flatten().map(ToString::to_string));
        let options = Options {
            max_vls: self.max_vls,
            roots: read(self.roots.as_deref(), fabric, heddle_formats::read_guids, &mut warnings)?,
            compute_nodes: read(self.compute_nodes.as_deref(), fabric, heddle_formats::read_guids, &mut warnings)?,
            io_nodes: read(self.io_nodes.as_deref(), fabric, heddle_formats::read_guids, &mut warnings)?,
            ids: read(self.ids.as_deref(), fabric, heddle_formats::read_ids, &mut warnings)?,
            hop_weights: read(self.hop_weights.as_deref(), fabric, heddle_formats::read_port_weights, &mut warnings)?,
            port_order: read(self.port_order.as_deref(), fabric, heddle_formats::read_port_orders, &mut warnings)?,
            routing_order: read(self.routing_order.as_deref(), fabric, heddle_formats::read_guids, &mut warnings)?,
            ignored_links: read(self.ignore_links.as_deref(), fabric, heddle_formats::read_ports, &mut warnings)?,
            throttled: self.throttled.into(),
            seed: self.seed,
            tables: tables.map(Arc::new),
        };
        // What auto takes is known here, and may take less than auto.
        let first = |&engine: &Engine| Chain::new(&[engine], fabric, &options).engines[0];
        let taken: Vec<Engine> = engines.iter().map(first).collect();
        for &engine in &taken {
            for option in options.unheeded(engine) {
                if engines.iter().all(|&engine| options.unheeded(engine).contains(&option)) {
                    let names: Vec<_> = engines.iter().map(|engine| engine.name()).collect();
                    bail!("--{option} says nothing to {}", names.join(", "));
                }
                let text = format!("--{option} says nothing to {engine}");
                tell(&text);
                warnings.push(text);
            }
        }
        Ok(Read { options, warnings })
    }
}

/// What a file says; the default without a file.
fn read<T: Default>(
    path: Option<&Path>,
    fabric: &Fabric,
    reader: impl FnOnce(&[u8], &str, &Fabric) -> Result<(T, Warnings), ReadError>,
    warnings: &mut Vec<String>,
) -> anyhow::Result<T> {
    let Some(path) = path else { return Ok(T::default()) };
    let name = path.display().to_string();
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {name}"))?;
    let (value, odd) = reader(&bytes, &name, fabric)?;
    fabric::tell_warnings(&name, &odd);
    warnings.extend(odd.iter().map(|warning| format!("{name}: {warning}")));
    Ok(value)
}
