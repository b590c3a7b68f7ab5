use crate::running::{WAIT_MAX, wait_until_within};
use crate::{Lfts, Running, Seat, lfts};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

/// A running OpenSM with a folder of its own for its log, dumps and what it remembers. Ends when dropped.
#[derive(Debug)]
pub struct OpenSm {
    program: Running,
    folder: tempfile::TempDir,
}

/// Errors, infos and routing, whose dump files hang on it, and what goes to the system's log.
const LOG_FLAGS: &str = "0xc3";

/// What it logs at the end of each sweep that changed something.
const UP: &str = "SUBNET UP";

impl OpenSm {
    /// Starts it with these arguments beside those for its log.
    ///
    /// # Panics
    /// When it is not installed.
    pub fn start(seat: &Seat, arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let out = File::create(folder.path().join("opensm.out")).expect("the output can be created");
        let mut command = seat.command("opensm");
        command
            .env("OSM_TMP_DIR", folder.path())
            .env("OSM_CACHE_DIR", folder.path())
            .args(["--erase_log_file", "--log_file", "opensm.log", "-D", LOG_FLAGS, "--debug", "2"])
            .args(arguments)
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stderr(out.try_clone().expect("the output can be shared"))
            .stdout(out);
        Self { program: Running::start(&mut command), folder }
    }

    /// Has it configure the fabric once, and waits for its end.
    ///
    /// # Panics
    /// When it is not installed or does not end.
    pub fn once(seat: &Seat, arguments: &[&str]) -> (Self, ExitStatus) {
        Self::once_within(WAIT_MAX, seat, arguments)
    }

    /// The same, for what takes long.
    ///
    /// # Panics
    /// When it is not installed or does not end within `limit`.
    pub fn once_within(limit: Duration, seat: &Seat, arguments: &[&str]) -> (Self, ExitStatus) {
        let mut opensm = Self::start(seat, &[arguments, &["--once"]].concat());
        let folder = opensm.folder.path().to_owned();
        let status = opensm.program.wait_within(limit, || format!("opensm ends\n{}", last_words(&folder)));
        (opensm, status)
    }

    /// Where its log and dumps are.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// What it logged so far.
    pub fn log(&self) -> String {
        log(self.folder())
    }

    /// How often it has said that the subnet is up.
    pub fn ups(&self) -> usize {
        self.log().matches(UP).count()
    }

    /// Waits until it has said more than `before` times that the subnet is up.
    ///
    /// # Panics
    /// When it ends, or does not say it.
    pub fn wait_until_up(&mut self, before: usize) {
        self.wait_for(UP, before + 1);
    }

    /// Waits until it has logged this text `times` times in all.
    ///
    /// # Panics
    /// When it ends, or does not log it.
    pub fn wait_for(&mut self, text: &str, times: usize) {
        self.wait_for_within(WAIT_MAX, text, times);
    }

    /// The same, for what takes long.
    ///
    /// # Panics
    /// When it ends, or does not log it within `limit`.
    pub fn wait_for_within(&mut self, limit: Duration, text: &str, times: usize) {
        let folder = self.folder.path().to_owned();
        let what = || format!("opensm says \"{text}\" {times} times\n{}", last_words(&folder));
        // Each byte is read once: logs of large fabrics are long, and OpenSM shall not have to share the machine with its reader.
        let (mut read, mut found) = (0, 0);
        wait_until_within(limit, what, || {
            let ended = self.program.ended();
            let new = log_from(&folder, read);
            let whole = new.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
            found += String::from_utf8_lossy(&new[..whole]).matches(text).count();
            read += whole as u64;
            let holds = found >= times;
            assert!(holds || ended.is_none(), "opensm ended ({ended:?}) before: {}", what());
            holds
        });
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
        let file = self.folder().join("opensm-lfts.dump");
        lfts(&std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}\n{}", file.display(), last_words(self.folder()))))
    }

    /// The number of its process.
    pub fn id(&self) -> u32 {
        self.program.id()
    }

    /// Ends it without giving it a chance to say so to anybody.
    pub fn kill(&mut self) {
        self.program.kill();
    }
}

fn log(folder: &Path) -> String {
    String::from_utf8_lossy(&log_from(folder, 0)).into_owned()
}

/// The log from a byte on.
fn log_from(folder: &Path, start: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Ok(mut file) = File::open(folder.join("opensm.log")) {
        // What cannot be read now is read the next time.
        let _ = file.seek(SeekFrom::Start(start)).and_then(|_| file.read_to_end(&mut bytes));
    }
    bytes
}

fn last_words(folder: &Path) -> String {
    let out = std::fs::read(folder.join("opensm.out")).unwrap_or_default();
    let said = format!("{}{}", String::from_utf8_lossy(&out), log(folder));
    let lines: Vec<&str> = said.lines().collect();
    lines[lines.len().saturating_sub(40)..].join("\n")
}
