use crate::{Lfts, Seat, lfts};
use std::fs::File;
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A running OpenSM with a folder of its own for its log, dumps and what it remembers. Ends when dropped.
#[derive(Debug)]
pub struct OpenSm {
    child: Child,
    folder: tempfile::TempDir,
}

/// Errors, infos and routing, whose dump files hang on it, and what goes to the system's log.
const LOG_FLAGS: &str = "0xc3";

/// The fabrics of the tests take it less than a second; the rest is for a busy machine.
const WAIT_MAX: Duration = Duration::from_secs(120);

impl OpenSm {
    /// Starts it with these arguments beside those for its log.
    ///
    /// # Panics
    /// When it is not installed.
    pub fn start(seat: &Seat, arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let out = File::create(folder.path().join("opensm.out")).expect("the output can be created");
        let child = seat
            .command("opensm")
            .env("OSM_TMP_DIR", folder.path())
            .env("OSM_CACHE_DIR", folder.path())
            .args(["--erase_log_file", "--log_file", "opensm.log", "-D", LOG_FLAGS, "--debug", "2"])
            .args(arguments)
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stderr(out.try_clone().expect("the output can be shared"))
            .stdout(out)
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start opensm: {error}; install it with `apt-get install opensm`"));
        Self { child, folder }
    }

    /// Has it configure the fabric once, and waits for its end.
    ///
    /// # Panics
    /// When it is not installed or does not end.
    pub fn once(seat: &Seat, arguments: &[&str]) -> (Self, ExitStatus) {
        let mut opensm = Self::start(seat, &[arguments, &["--once"]].concat());
        let start = Instant::now();
        loop {
            if let Some(status) = opensm.child.try_wait().expect("the child can be waited for") {
                return (opensm, status);
            }
            assert!(start.elapsed() < WAIT_MAX, "opensm does not end:\n{}", opensm.last_words());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Where its log and dumps are.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// What it logged so far.
    pub fn log(&self) -> String {
        let bytes = std::fs::read(self.folder().join("opensm.log")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Waits until it has logged this text `times` times in all.
    ///
    /// # Panics
    /// When it ends, or does not log it.
    pub fn wait_for(&mut self, text: &str, times: usize) {
        let start = Instant::now();
        while self.log().matches(text).count() < times {
            let ended = self.child.try_wait().expect("the child can be waited for");
            assert!(ended.is_none(), "opensm ended ({ended:?}) before \"{text}\":\n{}", self.last_words());
            assert!(start.elapsed() < WAIT_MAX, "no \"{text}\" from opensm:\n{}", self.last_words());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Of the engines that routed, the last: `ftree` and so on.
    pub fn engine(&self) -> Option<String> {
        let log = self.log();
        let line = log.lines().rfind(|line| line.contains(" tables configured on all switches"))?;
        Some(line.split(" tables configured").next()?.rsplit(' ').next()?.to_owned())
    }

    /// The tables in its dump.
    ///
    /// # Panics
    /// When there are none.
    pub fn lfts(&self) -> Lfts {
        lfts(&self.dump("opensm-lfts.dump"))
    }

    /// One of its dump files.
    ///
    /// # Panics
    /// When there is none.
    pub fn dump(&self, name: &str) -> String {
        let file = self.folder().join(name);
        std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}\n{}", file.display(), self.last_words()))
    }

    /// Ends it without giving it a chance to say so to anybody.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn last_words(&self) -> String {
        let out = std::fs::read(self.folder().join("opensm.out")).unwrap_or_default();
        let said = format!("{}{}", String::from_utf8_lossy(&out), self.log());
        let lines: Vec<&str> = said.lines().collect();
        lines[lines.len().saturating_sub(40)..].join("\n")
    }
}

impl Drop for OpenSm {
    fn drop(&mut self) {
        self.kill();
    }
}
