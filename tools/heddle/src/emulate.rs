use crate::fabric::{self, FabricArguments, Loaded};
use crate::out::{Out, tell};
use crate::{Outcome, live};
use anyhow::{Context, bail};
use heddle_emulator::serve::Server;
use heddle_emulator::{Timing, World, parse_script};
use heddle_formats::WarningKind;
use heddle_mad::transport::Ibsim;
use std::path::PathBuf;

/// Emulate a fabric for other programs: OpenSM, infiniband-diags, ibutils and Heddle itself
///
/// Programs come to it by `heddle run --on NAME`, by ibsim's preload library (libumad2sim.so, with IBSIM_SOCKNAME and SIM_HOST in the
/// environment), or by `heddle sm --ibsim NAME`. `heddle fabric NAME` cuts cables, lets nodes misbehave, and tells how things are. It runs
/// until SIGINT or SIGTERM and leaves nothing behind.
#[derive(clap::Args)]
#[command(after_help = fabric::help(EXAMPLES))]
pub(crate) struct Arguments {
    #[command(flatten)]
    fabric: FabricArguments,

    /// What the emulator is called, as ibsim by IBSIM_SOCKNAME
    #[arg(long, value_name = "NAME", default_value = Ibsim::DEFAULT_NAME)]
    name: String,

    /// How long packets and agents take: nothing, or as hardware (0.2 us a hop, 20 to 230 us a request)
    #[arg(long, value_name = "TIMING", default_value = "instant")]
    timing: TimingName,

    /// A script of what happens when; `heddle sm --help` lists the events
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum TimingName {
    Instant,
    Hardware,
}

const EXAMPLES: &str = "\
Examples:
  heddle emulate gen:clos2:8 --name site &
  heddle run --on site -- opensm -o -f opensm.log
  heddle run --on site --node host-2-1 -- ibnetdiscover
  heddle fabric site cut leaf-0:5 for 10s
  heddle emulate site.ibnetdiscover --timing hardware --plan faults.txt
";

impl Arguments {
    pub(crate) fn run(self, out: &mut Out) -> anyhow::Result<Outcome> {
        let loaded = self.fabric.load()?;
        refuse_contradictions(&loaded)?;
        let fabric = loaded.builder.build();
        let mut world = World::new(&fabric);
        world.set_timing(match self.timing {
            TimingName::Instant => Timing::Instant,
            TimingName::Hardware => Timing::Hardware { seed: 0 },
        });
        if let Some(path) = &self.plan {
            let name = path.display().to_string();
            let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
            for (time, event) in parse_script(&text, &fabric).with_context(|| name.clone())? {
                world.schedule(time, event);
            }
        }
        let stop = live::signals()?;
        let mut server = Server::open(world, &self.name, |line| tell(line))?;
        out.line(format_args!(
            "{}: {}; ready as \"{name}\" (heddle run --on {name} -- COMMAND, or ibsim's preload library with IBSIM_SOCKNAME={name})",
            loaded.name,
            fabric::size(&fabric),
            name = self.name
        ))?;
        out.flush()?;
        server.run(&stop)?;
        Ok(Outcome::Fine)
    }
}

/// What contradicts itself is no fabric: whoever emulates it shall not look for a cable that was left out.
fn refuse_contradictions(loaded: &Loaded) -> anyhow::Result<()> {
    use WarningKind::{ConflictingCable, ConflictingNode, NoSuchPort, SelfCable, UnknownNode};
    let impossible = [ConflictingCable, ConflictingNode, NoSuchPort, SelfCable, UnknownNode];
    match loaded.warnings.iter().filter(|warning| impossible.contains(&warning.kind)).min_by_key(|warning| warning.line) {
        None => Ok(()),
        Some(warning) => bail!(
            "{name}:{}: {}. No hardware is like this: mend the file, or emulate what `heddle convert {name} --to ibsim` makes of it",
            warning.line,
            warning.text,
            name = loaded.name
        ),
    }
}
