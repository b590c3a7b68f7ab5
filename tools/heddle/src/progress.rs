use std::fmt;
use std::io::{self, IsTerminal, Write};

/// One line on a terminal's standard error that says what is being done; nothing elsewhere. It is gone when this is dropped.
pub(crate) struct Progress {
    shown: bool,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self { shown: io::stderr().is_terminal() }
    }

    pub(crate) fn step(&mut self, what: impl fmt::Display) {
        if self.shown {
            let _ = write!(io::stderr(), "\r\x1b[K{what} ...");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
