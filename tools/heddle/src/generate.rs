use crate::Outcome;
use crate::fabric::{self, Output};
use crate::out::Out;
use anyhow::Context;

/// Print a made-up fabric: trees, tori, dragonflies and others, with faults if wanted
///
/// The same description always gives the same fabric. Its ports have LIDs.
#[derive(clap::Args)]
#[command(after_help = fabric::help(EXAMPLES))]
pub(crate) struct Arguments {
    /// The shape and its size, with or without `gen:` in front
    spec: String,

    /// The format to print
    #[arg(long, value_name = "FORMAT", default_value = "ibnetdiscover", value_parser = Output::parser())]
    format: Output,
}

const EXAMPLES: &str = "\
Examples:
  heddle generate clos2:36 > tree.topo
  heddle generate torus:6x6x6,hosts=2,fail-links=5,seed=7 --format ibsim > torus.net
";

impl Arguments {
    pub(crate) fn run(self, out: &mut Out) -> anyhow::Result<Outcome> {
        let mut builder = heddle_fabric::generate(&self.spec)?;
        builder.assign_lids().with_context(|| self.spec.clone())?;
        self.format.print(out, &builder.build(), None)?;
        Ok(Outcome::Fine)
    }
}
