//! The door for commands: a line asks, a line answers.

use super::watch::Listener;
use super::{Delivered, Door, Hall, Ready, Watch};
use crate::clients::ClientId;
use crate::control;
use heddle_mad::Time;
use nix::errno::Errno;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

/// Everybody who gives commands.
pub(super) struct Commands {
    listener: Listener<UnixListener>,
    watch: Watch,
    /// By number of socket.
    speakers: BTreeMap<u32, Speaker>,
    last: u32,
}

struct Speaker {
    stream: UnixStream,
    /// What is not answered yet: lines, and the beginning of one.
    asked: Vec<u8>,
    /// The rest of a line that is too long is not looked at.
    skips: bool,
    /// What it has not read yet. As long as there is something, no further line is answered.
    answer: Vec<u8>,
    /// It sends nothing more, and goes when it has its answers.
    ended: bool,
}

const LISTENER: u32 = 0;
/// The longest command, in bytes.
const LINE_MAX: usize = 64 << 10;
/// So often is somebody read from, or answered, before it is another one's turn.
const BATCH: usize = 16;

/// The address of the socket for the commands of a server.
pub(super) fn address(name: &str) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("{name}:heddle"))
}

impl Commands {
    pub(super) fn open(name: &str, watch: Watch) -> io::Result<Self> {
        let listener = UnixListener::bind_addr(&address(name)?)?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener: Listener::new(listener, &watch, LISTENER)?, watch, speakers: BTreeMap::new(), last: LISTENER })
    }

    fn accept(&mut self, hall: &mut Hall) {
        loop {
            let stream = match self.listener.socket().accept() {
                Ok((stream, _)) => stream,
                Err(error) => match error.raw_os_error().map(Errno::from_raw) {
                    Some(Errno::EINTR | Errno::ECONNABORTED) => continue,
                    Some(Errno::EMFILE | Errno::ENFILE) => {
                        hall.log.tell(hall.world.now(), "commands have to wait: this process may not have more open files (`ulimit -n`)");
                        return self.listener.rest(hall.world.now());
                    }
                    _ => return,
                },
            };
            loop {
                self.last = self.last.wrapping_add(1);
                if self.last != LISTENER && !self.speakers.contains_key(&self.last) {
                    break;
                }
            }
            // Whoever could not be taken in sees the end of the connection.
            if stream.set_nonblocking(true).is_ok() && self.watch.add(&stream, self.last).is_ok() {
                let speaker = Speaker { stream, asked: Vec::new(), skips: false, answer: Vec::new(), ended: false };
                self.speakers.insert(self.last, speaker);
            }
        }
    }
}

impl Speaker {
    /// Reads, answers and sends for a while. Gives what it waits for then; `None` if all is said. An error ends the connection.
    fn converse(&mut self, hall: &mut Hall) -> io::Result<Option<Ready>> {
        for _ in 0..BATCH {
            if !self.speak()? {
                return Ok(Some(Ready { read: false, write: true }));
            }
            if let Some(line) = self.line() {
                self.answer(hall, &line);
            } else if self.ended {
                return Ok(None);
            } else if !self.listen()? {
                return Ok(Some(Ready { read: true, write: false }));
            }
        }
        // There may be more: it can be written to when it is its turn again.
        Ok(Some(Ready { read: false, write: true }))
    }

    /// Sends what it takes. Whether all is sent.
    fn speak(&mut self) -> io::Result<bool> {
        while !self.answer.is_empty() {
            match self.stream.write(&self.answer) {
                Ok(written) => drop(self.answer.drain(..written)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// The next whole line.
    fn line(&mut self) -> Option<Vec<u8>> {
        let end = self.asked.iter().position(|&byte| byte == b'\n')?;
        Some(self.asked.drain(..=end).collect())
    }

    fn answer(&mut self, hall: &mut Hall, line: &[u8]) {
        if !std::mem::take(&mut self.skips) && !line.trim_ascii().is_empty() {
            self.answer.extend(control(&mut hall.world, &String::from_utf8_lossy(line)).as_bytes());
            self.answer.push(b'\n');
        }
    }

    /// Reads some bytes. Whether there were any, or their end.
    fn listen(&mut self) -> io::Result<bool> {
        let mut bytes = [0; 4096];
        match self.stream.read(&mut bytes) {
            Ok(0) => {
                self.ended = true;
                // Half a command may mean something else.
                if !self.skips && !self.asked.trim_ascii().is_empty() {
                    self.refuse("the command has no end: a line was expected");
                }
            }
            Ok(read) => self.asked.extend(&bytes[..read]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        }
        if self.asked.len() > LINE_MAX && !self.asked.contains(&b'\n') {
            self.asked.clear();
            if !std::mem::replace(&mut self.skips, true) {
                self.refuse(&format!("the command is too long: a line may have {LINE_MAX} bytes"));
            }
        }
        Ok(true)
    }

    fn refuse(&mut self, why: &str) {
        self.answer = format!("{}\n", serde_json::json!({ "error": why })).into_bytes();
    }
}

impl Door for Commands {
    fn ready(&mut self, hall: &mut Hall, socket: u32, _: Ready) {
        if socket == LISTENER {
            return self.accept(hall);
        }
        let Some(speaker) = self.speakers.get_mut(&socket) else { return };
        let waits_for = speaker.converse(hall).unwrap_or(None);
        if waits_for.is_none_or(|wanted| self.watch.change(&speaker.stream, socket, wanted).is_err()) {
            self.speakers.remove(&socket);
            self.listener.wake();
        }
    }

    fn deliver(&mut self, _: &mut Hall, _: ClientId, _: &Delivered) -> bool {
        false
    }

    fn flush(&mut self, _: &mut Hall) {}

    fn handle_timeout(&mut self, hall: &mut Hall) {
        self.listener.handle_timeout(hall.world.now());
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.listener.poll_timeout()
    }
}

/// Gives the server of this name a command, and gives its answer: both a line of JSON ([`crate::control`]), without the line's end.
///
/// # Errors
/// When no server has the name, or it goes away before it has answered.
pub fn command(name: &str, line: &str) -> io::Result<String> {
    let mut stream = UnixStream::connect_addr(&address(name)?)?;
    stream.write_all(line.as_bytes())?;
    stream.write_all(b"\n")?;
    stream.shutdown(std::net::Shutdown::Write)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    match answer.strip_suffix('\n') {
        Some(answer) => Ok(answer.to_owned()),
        None => Err(ErrorKind::UnexpectedEof.into()),
    }
}
