//! The door for commands: a line asks, a line answers.

use super::{Delivered, Door, Hall, Ready, Watch};
use crate::clients::ClientId;
use crate::control;
use heddle_mad::Time;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

/// Everybody who gives commands.
pub(super) struct Commands {
    listener: UnixListener,
    watch: Watch,
    /// By number of socket.
    speakers: BTreeMap<u32, Speaker>,
    next: u32,
}

struct Speaker {
    stream: UnixStream,
    /// A line that has no end yet.
    asked: Vec<u8>,
    /// What it has not read yet.
    answers: Vec<u8>,
    /// It sends nothing more, and goes when it has its answers.
    ended: bool,
}

const LISTENER: u32 = 0;
/// The longest command. One that is longer, or many that nobody reads the answers of, end the connection.
const LINE_MAX: usize = 64 * 1024;
const ANSWERS_MAX: usize = 64 * 1024 * 1024;

/// The address of the socket for the commands of a server.
pub(super) fn address(name: &str) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("{name}:heddle"))
}

impl Commands {
    pub(super) fn open(name: &str, watch: Watch) -> io::Result<Self> {
        let listener = UnixListener::bind_addr(&address(name)?)?;
        listener.set_nonblocking(true)?;
        watch.add(&listener, LISTENER)?;
        Ok(Self { listener, watch, speakers: BTreeMap::new(), next: LISTENER })
    }

    fn accept(&mut self) {
        // Whoever could not be taken in sees the end of the connection.
        while let Ok((stream, _)) = self.listener.accept() {
            self.next = self.next.checked_add(1).unwrap_or(LISTENER + 1);
            if stream.set_nonblocking(true).is_ok() && self.watch.add(&stream, self.next).is_ok() {
                self.speakers.insert(self.next, Speaker { stream, asked: Vec::new(), answers: Vec::new(), ended: false });
            }
        }
    }
}

impl Speaker {
    /// Reads and answers what is there. An error ends the connection.
    fn listen(&mut self, hall: &mut Hall) -> io::Result<()> {
        let mut bytes = [0; 4096];
        loop {
            match self.stream.read(&mut bytes) {
                Ok(0) => {
                    self.ended = true;
                    break;
                }
                Ok(read) => self.asked.extend(&bytes[..read]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
            if self.asked.len() > LINE_MAX && !self.asked.contains(&b'\n') {
                return Err(ErrorKind::InvalidData.into());
            }
        }
        let whole = self.asked.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let lines: Vec<u8> = self.asked.drain(..whole).collect();
        for line in lines.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
            self.answers.extend(control(&mut hall.world, &String::from_utf8_lossy(line)).as_bytes());
            self.answers.push(b'\n');
            if self.answers.len() > ANSWERS_MAX {
                return Err(ErrorKind::OutOfMemory.into());
            }
        }
        Ok(())
    }

    /// Sends what it takes. Whether all is sent.
    fn speak(&mut self) -> io::Result<bool> {
        while !self.answers.is_empty() {
            match self.stream.write(&self.answers) {
                Ok(written) => drop(self.answers.drain(..written)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

impl Door for Commands {
    fn ready(&mut self, hall: &mut Hall, socket: u32, ready: Ready) {
        if socket == LISTENER {
            return self.accept();
        }
        let Some(speaker) = self.speakers.get_mut(&socket) else { return };
        let outcome = (if ready.read && !speaker.ended { speaker.listen(hall) } else { Ok(()) }).and_then(|()| speaker.speak());
        let stays = match outcome {
            Ok(all_sent) => {
                let wanted = Ready { read: !speaker.ended, write: !all_sent };
                !(all_sent && speaker.ended) && self.watch.change(&speaker.stream, socket, wanted).is_ok()
            }
            Err(_) => false,
        };
        if !stays {
            self.speakers.remove(&socket);
        }
    }

    fn deliver(&mut self, _: &mut Hall, _: ClientId, _: &Delivered) -> bool {
        false
    }

    fn flush(&mut self, _: &mut Hall) {}

    fn handle_timeout(&mut self, _: &mut Hall) {}

    fn poll_timeout(&self) -> Option<Time> {
        None
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
