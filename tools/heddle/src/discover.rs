use crate::Outcome;
use crate::attach::{Attached, Attachment};
use crate::fabric::Output;
use crate::live::{self, Pace};
use crate::out::{Out, tell};
use anyhow::bail;
use heddle_mad::transport::Transport;
use heddle_sm::{Config, Event};

/// Look at a live fabric and print it as ibnetdiscover does; nothing is written to it
///
/// What is odd (nodes that do not answer, GUIDs that two nodes have, and so on) goes to standard error.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    attachment: Attachment,
}

const EXAMPLES: &str = "\
Examples:
  heddle discover > site.ibnetdiscover        by the first InfiniBand port of this host
  heddle discover --ibsim                     a simulator that `ibsim -s NETLIST` runs
  heddle discover --emulate gen:ring:4
";

impl Arguments {
    pub(crate) fn run(self, out: &mut Out) -> anyhow::Result<Outcome> {
        match self.attachment.open()? {
            Attached::Outside(mut transport) => look(&mut *transport, Pace::Machine, out),
            Attached::Emulator { mut emulator, .. } => look(&mut *emulator, Pace::Virtual, out),
        }
    }
}

fn look(transport: &mut dyn Transport, pace: Pace, out: &mut Out) -> anyhow::Result<Outcome> {
    let config = Config { read_only: true, ..Config::default() };
    let found = live::run(config, transport, pace, |_, event| match event {
        Some(Event::Found(found)) => Ok(Some(found.clone())),
        Some(Event::NoFabric) => bail!("there is no fabric: the local port does not answer"),
        Some(Event::NotRouted(why)) => bail!("{why}"),
        _ => Ok(None),
    })?;
    let Some(found) = found else { bail!("interrupted before the end of the sweep") };
    for finding in &found.findings {
        tell(finding);
    }
    Output::Ibnetdiscover.print(out, &found.fabric, Some(found.local))?;
    Ok(Outcome::Fine)
}
