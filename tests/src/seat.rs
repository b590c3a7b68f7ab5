use crate::{Ibsim, heddle};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A node of a simulated fabric on which programs run, and what makes them believe that they are on it.
#[derive(Clone, Debug)]
pub struct Seat {
    pub(crate) simulator: String,
    pub(crate) node: String,
    pub(crate) directory: PathBuf,
    pub(crate) preload: Preload,
}

/// The library that programs see instead of the kernel's umad.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preload {
    /// That of Debian's ibsim.
    Ibsim,
    /// Heddle's own, by `heddle run`.
    Heddle,
}

impl Seat {
    /// The name of the simulator's sockets.
    pub fn simulator(&self) -> &str {
        &self.simulator
    }

    /// The id of the node.
    pub fn node(&self) -> &str {
        &self.node
    }

    /// Where [`Seat::command`] runs its programs: ibsim's library leaves files there.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// A command that will run on the node.
    ///
    /// # Panics
    /// When ibsim's library is not installed, or Heddle cannot be built.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = match self.preload {
            Preload::Ibsim => {
                let mut command = Command::new(program);
                command.env("LD_PRELOAD", Ibsim::preload()).env("IBSIM_SOCKNAME", &self.simulator).env("SIM_HOST", &self.node);
                command
            }
            Preload::Heddle => {
                let mut command = Command::new(heddle());
                command.args(["run", "--on", &self.simulator, "--node", &self.node, "--"]).arg(program);
                command
            }
        };
        command.current_dir(&self.directory);
        command
    }
}
