use crate::{Preload, Running, Seat, heddle, netlist, wait_until};
use heddle_fabric::Fabric;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// A running `heddle emulate` with a name and a directory of its own. Ends when dropped.
#[derive(Debug)]
pub struct Emulate {
    name: String,
    program: Running,
    directory: tempfile::TempDir,
}

impl Emulate {
    /// Starts it on a fabric and waits until it serves it.
    ///
    /// # Panics
    /// When it does not come up: with what it said.
    pub fn start(fabric: &Fabric) -> Self {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let name = format!("heddle-emulate-{}-{}", std::process::id(), STARTED.fetch_add(1, Ordering::Relaxed));
        let directory = tempfile::tempdir().expect("a temporary directory");
        let file = directory.path().join("netlist");
        std::fs::write(&file, netlist(fabric)).expect("the netlist can be written");
        let log = File::create(directory.path().join("emulate.log")).expect("the log can be created");
        let mut command = Command::new(heddle());
        command.arg("emulate").arg(&file).args(["--name", &name]).current_dir(directory.path()).stdin(Stdio::null());
        command.stderr(log.try_clone().expect("the log can be shared")).stdout(log);
        let mut program = Running::start(&mut command);
        let said = || std::fs::read_to_string(directory.path().join("emulate.log")).unwrap_or_default();
        wait_until(
            || format!("heddle emulate is ready\n{}", said()),
            || {
                let ended = program.ended();
                assert!(ended.is_none(), "heddle emulate ended ({ended:?}):\n{}", said());
                said().contains("ready")
            },
        );
        Self { name, program, directory }
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it printed.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("emulate.log")).unwrap_or_default()
    }

    /// Its process.
    pub fn program(&mut self) -> &mut Running {
        &mut self.program
    }

    /// A directory that goes when this is dropped.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The node of this id, for programs with this library.
    pub fn seat(&self, node: impl Into<String>, preload: Preload) -> Seat {
        Seat { simulator: self.name.clone(), node: node.into(), directory: self.directory().to_owned(), preload }
    }
}
