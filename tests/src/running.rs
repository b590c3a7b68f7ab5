use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// A program that runs beside a test. Ends when dropped.
#[derive(Debug)]
pub struct Running(Child);

impl Running {
    /// Starts it.
    ///
    /// # Panics
    /// When it is not installed.
    pub fn start(command: &mut Command) -> Self {
        let program = command.get_program().to_string_lossy().into_owned();
        let child = command.spawn();
        Self(child.unwrap_or_else(|error| panic!("cannot start {program}: {error}; tests/install-debian-packages installs what has it")))
    }

    /// The number of its process.
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Its exit status, if it has ended.
    ///
    /// # Panics
    /// When the system does not say.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.0.try_wait().expect("a child can be waited for")
    }

    /// Its exit status, once it has ended.
    ///
    /// # Panics
    /// When it does not end.
    pub fn wait(&mut self, what: impl Fn() -> String) -> ExitStatus {
        self.wait_within(WAIT_MAX, what)
    }

    /// The same, for what takes long.
    ///
    /// # Panics
    /// When it does not end within `limit`.
    pub fn wait_within(&mut self, limit: Duration, what: impl Fn() -> String) -> ExitStatus {
        let mut status = None;
        wait_until_within(limit, what, || {
            status = self.ended();
            status.is_some()
        });
        status.expect("it ended")
    }

    /// Ends it without giving it a chance to say so to anybody.
    pub fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What tests wait for takes seconds at most; the rest is for a busy machine.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(120);

/// Waits for a condition.
///
/// # Panics
/// When it does not come to hold: with what the test says of it.
pub fn wait_until(what: impl Fn() -> String, holds: impl FnMut() -> bool) {
    wait_until_within(WAIT_MAX, what, holds);
}

pub(crate) fn wait_until_within(limit: Duration, what: impl Fn() -> String, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < limit, "this does not happen: {}", what());
        // What may take long is not asked as often.
        std::thread::sleep(limit / 60_000);
    }
}
