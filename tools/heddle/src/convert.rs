use crate::Outcome;
use crate::fabric::{self, FabricArguments, Output};
use crate::out::Out;

/// Print a fabric in another format
///
/// LIDs stay as they are in the input; ports without one have none in the output either.
#[derive(clap::Args)]
#[command(after_help = fabric::help(EXAMPLES))]
pub(crate) struct Arguments {
    #[command(flatten)]
    fabric: FabricArguments,

    /// The format to print
    #[arg(long, value_name = "FORMAT", value_parser = Output::parser())]
    to: Output,
}

const EXAMPLES: &str = "\
Examples:
  heddle convert site.ibnetdiscover --to ibsim > site.net && ibsim -s site.net
  heddle convert site.ibnetdiscover --to json | jq '.nodes[].description'
";

impl Arguments {
    pub(crate) fn run(self, out: &mut Out) -> anyhow::Result<Outcome> {
        let loaded = self.fabric.load()?;
        self.to.print(out, &loaded.builder.build(), loaded.sm_port)?;
        Ok(Outcome::Fine)
    }
}
