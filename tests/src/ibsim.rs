use crate::{Preload, Seat};
use heddle_fabric::Fabric;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A running ibsim with a name and a directory of its own. Ends when dropped.
#[derive(Debug)]
pub struct Ibsim {
    name: String,
    child: Child,
    /// Open for as long as ibsim runs: at the end of its input it would spin.
    console: ChildStdin,
    directory: tempfile::TempDir,
}

/// A netlist of 13,000 nodes is read in less than two seconds; the rest is for a busy machine.
const START_MAX: Duration = Duration::from_secs(60);

impl Ibsim {
    /// Starts ibsim on a netlist of this text and waits until it serves it.
    ///
    /// # Panics
    /// When ibsim is not installed, or does not come up: with its output.
    pub fn start(netlist: &str) -> Self {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let name = format!("heddle-{}-{}", std::process::id(), STARTED.fetch_add(1, Ordering::Relaxed));
        let directory = tempfile::tempdir().expect("a temporary directory");
        let file = directory.path().join("netlist");
        std::fs::write(&file, netlist).expect("the netlist can be written");
        let log = File::create(directory.path().join("ibsim.log")).expect("the log can be created");
        let size = Size::of(netlist);
        let mut child = Command::new("ibsim")
            .env("IBSIM_SOCKNAME", &name)
            .current_dir(directory.path())
            .args(["-s", "-N", &size.nodes.to_string(), "-S", &size.switches.to_string(), "-P", &size.ports.to_string()])
            // Unless told, ibsim 0.10 has room for 30,720 LIDs and writes beyond it.
            .args(["-L", "49152"])
            .arg(&file)
            .stdin(Stdio::piped())
            .stderr(log.try_clone().expect("the log can be shared"))
            .stdout(log)
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start ibsim: {error}; install it with `apt-get install ibsim-utils`"));
        let console = child.stdin.take().expect("stdin is a pipe");
        let mut ibsim = Self { name, child, console, directory };
        ibsim.wait_for("sim>", START_MAX);
        ibsim
    }

    /// Its IBSIM_SOCKNAME.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A directory that goes when this is dropped.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// What ibsim printed.
    pub fn log(&self) -> String {
        let bytes = std::fs::read(self.directory.path().join("ibsim.log")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Gives a command to the console, such as `Unlink "S1"[2]`.
    ///
    /// # Panics
    /// When ibsim has ended.
    pub fn console(&mut self, command: &str) {
        writeln!(self.console, "{command}").unwrap_or_else(|error| panic!("ibsim takes no command ({error}):\n{}", self.log()));
    }

    /// Whether anyone is attached, as its console says.
    ///
    /// # Panics
    /// When it does not say.
    pub fn has_clients(&mut self) -> bool {
        let told = self.log().len();
        self.console("Attached");
        let start = Instant::now();
        loop {
            let log = self.log();
            let answer = &log[told..];
            // The prompt comes after the answer.
            if answer.contains("sim>") {
                return answer.contains("Client ");
            }
            assert!(start.elapsed() < START_MAX, "ibsim does not say who is attached:\n{log}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The preload library that lets a program see this simulator as the kernel's umad.
    ///
    /// # Panics
    /// When it is not installed.
    pub fn preload() -> PathBuf {
        let directories = std::fs::read_dir("/usr/lib").into_iter().flatten().flatten();
        directories
            .map(|entry| entry.path().join("umad2sim/libumad2sim.so"))
            .find(|path| path.exists())
            .expect("no /usr/lib/*/umad2sim/libumad2sim.so; install it with `apt-get install ibsim-utils`")
    }

    /// The node of this id.
    pub fn seat(&self, node: impl Into<String>) -> Seat {
        Seat { simulator: self.name.clone(), node: node.into(), directory: self.directory().to_owned(), preload: Preload::Ibsim }
    }

    fn wait_for(&mut self, text: &str, at_most: Duration) {
        let start = Instant::now();
        while !self.log().contains(text) {
            let ended = self.child.try_wait().expect("the child can be waited for");
            assert!(ended.is_none(), "ibsim ended ({ended:?}):\n{}", self.log());
            assert!(start.elapsed() < at_most, "ibsim is not ready after {at_most:?}:\n{}", self.log());
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Ibsim {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A fabric as ibsim reads it, its GUIDs included.
pub fn netlist(fabric: &Fabric) -> String {
    let mut text = Vec::new();
    heddle_formats::write_netlist(&mut text, fabric).expect("memory can be written");
    String::from_utf8(text).expect("a netlist is text")
}

/// What ibsim must make room for.
#[derive(Debug, Default)]
struct Size {
    nodes: usize,
    switches: usize,
    ports: usize,
}

impl Size {
    fn of(netlist: &str) -> Self {
        // ibsim counts a port 0 for each node.
        let mut size = Self { nodes: 16, switches: 16, ports: 256 };
        for line in netlist.lines() {
            let mut words = line.split_whitespace();
            let kind = words.next().unwrap_or_default();
            if !["Switch", "Hca", "Ca", "Rt"].contains(&kind) {
                continue;
            }
            size.nodes += 1;
            size.switches += usize::from(kind == "Switch");
            size.ports += 1 + words.next().and_then(|ports| ports.parse::<usize>().ok()).unwrap_or(255);
        }
        size
    }
}
