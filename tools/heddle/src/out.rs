use std::borrow::Cow;
use std::fmt;
use std::io::{self, BufWriter, Stdout, Write};
use std::time::Duration;

/// Standard output. A reader that has seen enough (`| head`) ends the program with success, not with an error.
pub(crate) struct Out {
    to: BufWriter<Stdout>,
}

/// Nobody reads standard output any longer.
#[derive(Debug)]
pub(crate) struct ReaderGone;

impl fmt::Display for ReaderGone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nobody reads the output any longer")
    }
}

impl std::error::Error for ReaderGone {}

impl Out {
    pub(crate) fn new() -> Self {
        Self { to: BufWriter::new(io::stdout()) }
    }

    pub(crate) fn line(&mut self, line: impl fmt::Display) -> anyhow::Result<()> {
        check(writeln!(self.to, "{}", printable(&line.to_string())))
    }

    /// Whatever `content` writes.
    pub(crate) fn write(&mut self, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<()> {
        check(content(&mut self.to))
    }

    /// A value as indented JSON.
    pub(crate) fn json(&mut self, value: &impl serde::Serialize) -> anyhow::Result<()> {
        check(writeln!(self.to, "{}", serde_json::to_string_pretty(value)?))
    }

    /// Lets the reader see what was written so far.
    pub(crate) fn flush(&mut self) -> anyhow::Result<()> {
        check(self.to.flush())
    }
}

fn check(result: io::Result<()>) -> anyhow::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(ReaderGone.into()),
        Err(error) => Err(anyhow::Error::new(error).context("cannot write to standard output")),
        Ok(()) => Ok(()),
    }
}

/// Milliseconds, for JSON.
pub(crate) fn ms(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}

/// Tells the user something that is not a result, on standard error. A closed standard error is no reason to stop.
pub(crate) fn tell(message: impl fmt::Display) {
    let _ = writeln!(io::stderr(), "heddle: {}", printable(&message.to_string()));
}

/// What a terminal shows and does not obey: node descriptions and names of files come from strangers. Lines stay lines.
fn printable(text: &str) -> Cow<'_, str> {
    let obeyed = |c: char| c.is_control() && c != '\n';
    if !text.contains(obeyed) {
        return Cow::Borrowed(text);
    }
    text.chars()
        .fold(String::new(), |mut shown, c| {
            if obeyed(c) {
                shown.extend(c.escape_default())
            } else {
                shown.push(c)
            }
            shown
        })
        .into()
}
