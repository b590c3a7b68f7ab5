use crate::attach::{Attached, Attachment};
use crate::live::{self, Pace};
use crate::narrate::Narrator;
use crate::out::Out;
use crate::script::{self, Script};
use crate::{Outcome, engines};
use anyhow::bail;
use heddle_engines::Engine;
use heddle_mad::transport::Transport;
use heddle_sm::{Config, Event, Problem};
use heddle_verify::Proven;
use std::path::PathBuf;

/// Manage a subnet: find it, address it, route it, prove the routes, program them, and keep them right
///
/// Runs until it is interrupted (or, with --once, until the subnet is up). Nothing is ever programmed that was not proven: if no engine
/// of the chain gives proven tables, the fabric keeps the tables it has.
#[derive(clap::Args)]
#[command(after_help = format!("{EXAMPLES}{}", script::verbs()))]
pub(crate) struct Arguments {
    #[command(flatten)]
    attachment: Attachment,

    /// Engines to try, in order; `heddle engines` lists them
    #[arg(long, value_name = "E[,E...]", default_value = "up-down", value_delimiter = ',', value_parser = engines::parser())]
    engine: Vec<Engine>,

    /// End when the subnet is up: exit status 0; 1 if it cannot be routed, 2 if there is no fabric
    #[arg(long)]
    once: bool,

    /// Write the tables as OpenSM dump files into this folder each time the subnet is up
    #[arg(long, value_name = "DIR")]
    dump: Option<PathBuf>,

    /// With --emulate: what happens to the fabric, `TIME EVENT; ...` or @FILE; then time is virtual, and the run ends with the script
    #[arg(long, value_name = "SCRIPT", requires = "emulate", conflicts_with_all = ["once", "umad", "ibsim"])]
    events: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  heddle sm                                     the first InfiniBand port of this host
  heddle sm --umad mlx5_0:1 --engine min-hop,up-down
  heddle sm --ibsim --once --dump routes        a simulator that `ibsim -s NETLIST` runs
  heddle sm --emulate gen:clos2:8 --events '2s cut leaf-0:5; 4s restore leaf-0:5'

An event script has one event a line, or several with `;` between; times count from the start:
  2s    cut leaf-0:5             # the cable in port 5 of leaf-0 breaks
  4s    restore leaf-0:5         # it is whole again
  6s    remove \"spine-2\"         # a node loses its power; quotes for a name with blanks
  8s    return spine-2           # it is back and has forgotten everything
  10s   mute 0x0200000100000090  # it (spine-1, by its GUID) answers nothing
  30s   heal spine-1             # it does everything right again
  40s   rename spine-1 new-name  # the script goes on to call it spine-1
  seed 42                        # what is random comes from it:
  50s..90s 10x cut any link for 1s..5s
What no trap tells of, such as silence, is noticed at the next light sweep: every 10 seconds.

";

impl Arguments {
    pub(crate) fn run(self, out: &mut Out) -> anyhow::Result<Outcome> {
        match self.attachment.open()? {
            Attached::Outside(mut transport) => self.manage(&mut *transport, Pace::Machine, None, out),
            Attached::Emulator { mut emulator, fabric } => {
                let script = self.events.as_deref().map(|text| Script::load(text, &fabric, &mut emulator)).transpose()?;
                let pace = if self.once || script.is_some() { Pace::Virtual } else { Pace::slowed(emulator.now()) };
                self.manage(&mut *emulator, pace, script, out)
            }
        }
    }

    fn manage(&self, transport: &mut dyn Transport, pace: Pace, mut script: Option<Script>, out: &mut Out) -> anyhow::Result<Outcome> {
        let config = Config { engines: self.engine.clone(), ..Config::default() };
        // Long enough for a light sweep that finds nothing to do.
        let quiet = config.sweep_interval * 5 / 2;
        let mut narrator = Narrator::new(out, transport.now());
        let mut last = (Outcome::Finding, transport.now());
        let mut has_link = false;
        transport.set_is_sm(true)?;
        let ended = live::run(config, transport, pace, |now, event| {
            if let Some(script) = &mut script {
                script.announce(now, &mut narrator)?;
            }
            let Some(event) = event else {
                if script.as_ref().is_none_or(|script| !script.is_over(now, last.1, quiet)) {
                    return Ok(None);
                }
                narrator.say(now, "the script is over")?;
                return Ok(Some(last.0));
            };
            // Who reads that the subnet is up will look at the files.
            let dumped = if let Event::Up { proven, .. } = event { self.dump(proven) } else { Ok(()) };
            narrator.tell(now, event)?;
            last = (last.0, now);
            match event {
                Event::Found(found) => {
                    has_link = found.findings.iter().all(|finding| finding.problem != Problem::LocalLinkDown);
                    return Ok(None);
                }
                Event::Up { .. } => {
                    last = (if has_link { Outcome::Fine } else { Outcome::Finding }, now);
                    if let Err(error) = dumped {
                        if self.once || script.is_some() {
                            return Err(error);
                        }
                        narrator.say(now, &error)?;
                    }
                }
                Event::NotRouted(_) | Event::Standby(_) => last = (Outcome::Finding, now),
                Event::NoFabric if self.once => bail!("there is no fabric: the local port does not answer"),
                Event::NoFabric => last = (Outcome::Finding, now),
                _ => return Ok(None),
            }
            Ok(self.once.then_some(last.0))
        })?;
        transport.set_is_sm(false)?;
        match ended {
            Some(outcome) => Ok(outcome),
            None => {
                narrator.say(transport.now(), "stopped; the fabric keeps its tables")?;
                Ok(Outcome::Fine)
            }
        }
    }

    fn dump(&self, proven: &Proven) -> anyhow::Result<()> {
        if let Some(directory) = &self.dump {
            heddle_formats::write_opensm_dumps(directory, proven.fabric(), proven.tables(), None)?;
        }
        Ok(())
    }
}
