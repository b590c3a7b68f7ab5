use crate::Outcome;
use crate::out::Out;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use heddle_engines::Engine;

/// List the routing engines: what each needs, guarantees and costs
#[derive(clap::Args)]
#[command(after_help = "Each can be named in `heddle route --engine` and `heddle sm --engine`.")]
pub(crate) struct Arguments {}

impl Arguments {
    pub(crate) fn run(self, out: &mut Out) -> anyhow::Result<Outcome> {
        for engine in Engine::ALL {
            let description = engine.description();
            out.line(engine)?;
            out.line(format_args!("  needs       {}", description.needs))?;
            out.line(format_args!("  guarantees  {}", description.guarantees))?;
            out.line(format_args!("  VLs         {}", description.virtual_lanes))?;
            out.line(format_args!("  cost        {}", description.cost))?;
        }
        out.line("")?;
        out.line(
            "Whatever an engine guarantees, its tables are proven before they are used; where the proof fails, the next engine of the",
        )?;
        out.line("chain is tried (--engine min-hop,up-down).")?;
        Ok(Outcome::Fine)
    }
}

/// Parses the name of an engine.
pub(crate) fn parser() -> impl TypedValueParser<Value = Engine> {
    PossibleValuesParser::new(Engine::ALL.map(Engine::name)).try_map(|name| name.parse::<Engine>())
}
