//! Engines offline: the first of a chain whose tables are proven; before them, old tables that are mended.

use heddle_engines::{Engine, Options, Refusal, Rerouter};
use heddle_fabric::{Fabric, Guid, Tables};
use heddle_verify::{Proven, Report, prove};
use serde::Serialize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::progress::Progress;

/// What became of a chain of engines.
pub(crate) struct Chain {
    /// What the engine auto chose and why, if it was asked.
    pub(crate) auto: Option<String>,
    /// What changed in old tables, if these are proven.
    pub(crate) changed: Option<Changed>,
    /// The tables of the first engine whose tables are proven.
    pub(crate) proven: Option<Proven>,
    /// The engines before it, in order.
    pub(crate) refused: Vec<Refused>,
    /// What the verifier said last; nothing if no engine made tables.
    pub(crate) report: Option<Arc<Report>>,
    /// Time spent in engines.
    pub(crate) routing: Duration,
    /// Time spent in the verifier.
    pub(crate) proving: Duration,
}

/// What changed in old tables: entries, and the blocks of 64 that they are in.
#[derive(Clone, Copy, Serialize)]
pub(crate) struct Changed {
    entries: usize,
    blocks: usize,
}

impl std::fmt::Display for Changed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "changed: {} entries in {} blocks of 64; all others are as they were", self.entries, self.blocks)
    }
}

/// An engine that was passed over, and why.
#[derive(Serialize)]
pub(crate) struct Refused {
    pub(crate) engine: &'static str,
    /// Several lines where the verifier found something wrong.
    pub(crate) reason: String,
    /// All the nodes that are in the way; none where the verifier refused.
    nodes: Vec<Culprit>,
}

#[derive(Serialize)]
struct Culprit {
    guid: Guid,
    description: String,
}

/// Mends the old tables if there are any, and runs a chain of engines where that is refused.
pub(crate) fn run(old: Option<Tables>, engines: &[Engine], options: &Options, fabric: &Arc<Fabric>, progress: &mut Progress) -> Chain {
    let begin = Instant::now();
    let heddle_engines::Chain { engines, why } = heddle_engines::Chain::new(engines, fabric, options);
    let mut chain = Chain {
        auto: why,
        changed: None,
        proven: None,
        refused: Vec::new(),
        report: None,
        routing: begin.elapsed(),
        proving: Duration::ZERO,
    };
    if let Some(mut tables) = old {
        progress.step("mending the old tables");
        let begin = Instant::now();
        let mended = Rerouter::mend(Engine::File, Arc::clone(fabric), &tables).map(|(_, patch)| patch);
        let changed = mended.as_ref().ok().map(|patch| Changed { entries: patch.entries().len(), blocks: patch.blocks() });
        let mended = mended.map(|patch| {
            tables.apply(&patch);
            tables
        });
        if chain.judge(Engine::File, mended, begin, fabric, progress) {
            chain.changed = changed;
            return chain;
        }
    }
    for engine in engines {
        progress.step(format_args!("{engine} computes routes"));
        let begin = Instant::now();
        let routed = heddle_engines::route(engine, fabric, options);
        if chain.judge(engine, routed, begin, fabric, progress) {
            break;
        }
    }
    chain
}

impl Chain {
    /// Proves what an engine, which began then, has to say. Whether it is proven.
    fn judge(
        &mut self,
        engine: Engine,
        routed: Result<Tables, Refusal>,
        begin: Instant,
        fabric: &Arc<Fabric>,
        progress: &mut Progress,
    ) -> bool {
        self.routing += begin.elapsed();
        let (reason, culprits) = match routed {
            Ok(tables) => {
                progress.step(format_args!("proving the tables of {engine}"));
                let begin = Instant::now();
                let proven = prove(Arc::clone(fabric), tables);
                self.proving += begin.elapsed();
                match proven {
                    Ok(proven) => {
                        self.report = Some(Arc::clone(proven.report()));
                        self.proven = Some(proven);
                        return true;
                    }
                    Err(report) => {
                        let reason = format!("its tables are not proven\n{}", report.verdicts());
                        self.report = Some(Arc::new(*report));
                        (reason, Vec::new())
                    }
                }
            }
            Err(refusal) => {
                let reason = refusal.display(fabric).to_string();
                (reason, refusal.culprits)
            }
        };
        let nodes = culprits.into_iter().map(|node| fabric.node(node));
        let nodes = nodes.map(|node| Culprit { guid: node.guid, description: node.description.clone() }).collect();
        self.refused.push(Refused { engine: engine.name(), reason, nodes });
        false
    }
}

/// The verdict in the form of `--json`.
#[derive(Serialize)]
pub(crate) struct Verified {
    connected: bool,
    loop_free: bool,
    deadlock_free: bool,
    vls: u8,
    unreachable_pairs: u64,
    /// Parts of the fabric without a cable between them.
    parts: usize,
    /// Pairs of a switch and a LID in different parts.
    pairs_apart: u64,
}

impl From<&Report> for Verified {
    fn from(report: &Report) -> Self {
        Self {
            connected: report.connected(),
            loop_free: report.loop_free(),
            deadlock_free: report.deadlock_free(),
            vls: report.vls(),
            unreachable_pairs: report.unreachable_from_switches,
            parts: report.parts.len(),
            pairs_apart: report.parts.apart_from_switches(),
        }
    }
}
