//! The server of the preload library: descriptors that programs take for `/dev/infiniband/umadN` and `issmN`, and what they ask about them.
//!
//! This knows sockets, but what the kernel does behind them is the matter of [`crate::kernel`].

use super::protocol::{self, INLINE_MAX, REQUEST_MAX, WRITE_MAX};
use super::watch::Listener;
use super::{Door, Hall, Ready, Watch};
use crate::clients::{ClientId, Delivered};
use crate::events::Event;
use crate::kernel::{Errno, FileId, IssmId, Kernel, Message, Registration, sysfs};
use crate::places::PlaceError;
use crate::world::World;
use heddle_fabric::{NodeIndex, PortRef};
use heddle_mad::Time;
use nix::errno::Errno as Error;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::socket::{
    AddressFamily, Backlog, ControlMessage, MsgFlags, SockFlag, SockType, UnixAddr, accept4, bind, getpeername, listen, recv, send,
    sendmsg, socket,
};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// The door of the preload library.
pub(crate) struct Umad {
    watch: Watch,
    listener: Listener<OwnedFd>,
    kernel: Kernel,
    /// By the number under which they are watched.
    connections: BTreeMap<u32, Connection>,
    last: u32,
    /// The connection of an open umad, by the number under which its client asks about it.
    files: BTreeMap<u32, u32>,
    by_file: BTreeMap<FileId, u32>,
}

#[derive(Debug)]
struct Connection {
    socket: OwnedFd,
    /// The number that the client's socket has for a name.
    number: u32,
    role: Role,
}

#[derive(Debug)]
enum Role {
    /// Asks, and is answered; what was written so far of something long.
    Requests {
        written: Vec<u8>,
    },
    Umad {
        file: FileId,
        stalled: Option<Outgoing>,
    },
    Issm(IssmId),
    /// Waits until whoever has the port's issm closes it.
    WaitsForIssm(PortRef),
}

/// A message for a program's read, and the file with its data if that is long.
#[derive(Debug)]
struct Outgoing {
    bytes: Vec<u8>,
    file: Option<File>,
}

/// The listener's number among those that the door watches; connections have others.
const LISTENER: u32 = 0;
/// Connections that wait to be accepted.
const BACKLOG: i32 = 128;
/// Requests of one connection that are answered before it is another's turn.
const BATCH: usize = 64;
/// The beginning of long data.
const SHOWN: usize = 256;
const ENOENT: Errno = Errno(Error::ENOENT as i32);
const FLAGS: MsgFlags = MsgFlags::MSG_DONTWAIT.union(MsgFlags::MSG_NOSIGNAL);

impl Door for Umad {
    fn ready(&mut self, hall: &mut Hall, socket: u32, ready: Ready) {
        match self.connections.get(&socket).map(|connection| &connection.role) {
            None if socket == LISTENER => self.accept(hall),
            None => {}
            Some(Role::Requests { .. }) => self.requests(&mut hall.world, socket),
            Some(&Role::Umad { file, .. }) => {
                let ended = self.has_ended(&mut hall.world, socket);
                if ready.write && !ended {
                    self.pass_on(file, socket);
                }
            }
            Some(Role::Issm(_) | Role::WaitsForIssm(_)) => drop(self.has_ended(&mut hall.world, socket)),
        }
    }

    fn deliver(&mut self, hall: &mut Hall, client: ClientId, delivered: &Delivered) -> bool {
        self.kernel.handle(&mut hall.world, client, delivered)
    }

    fn flush(&mut self, _hall: &mut Hall) {
        while let Some(file) = self.kernel.poll_readable() {
            if let Some(&socket) = self.by_file.get(&file) {
                self.pass_on(file, socket);
            }
        }
    }

    fn handle_timeout(&mut self, hall: &mut Hall) {
        self.listener.handle_timeout(hall.world.now());
        self.kernel.handle_timeout(&mut hall.world);
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.kernel.poll_timeout().into_iter().chain(self.listener.poll_timeout()).min()
    }
}

impl Umad {
    /// Listens for the programs that run on the emulator of this name.
    pub(crate) fn open(name: &str, watch: Watch) -> io::Result<Self> {
        let listener = socket(AddressFamily::Unix, SockType::SeqPacket, SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK, None)?;
        bind(listener.as_raw_fd(), &UnixAddr::new_abstract(protocol::socket_name(name).as_bytes())?)?;
        listen(&listener, Backlog::new(BACKLOG)?)?;
        Ok(Self {
            listener: Listener::new(listener, &watch, LISTENER)?,
            watch,
            kernel: Kernel::default(),
            connections: BTreeMap::new(),
            last: LISTENER,
            files: BTreeMap::new(),
            by_file: BTreeMap::new(),
        })
    }

    fn accept(&mut self, hall: &mut Hall) {
        loop {
            let socket = match accept4(self.listener.socket(), SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK) {
                Ok(socket) => socket,
                Err(Error::EINTR | Error::ECONNABORTED) => continue,
                Err(Error::EMFILE | Error::ENFILE) => {
                    // Nobody is let in until one is free.
                    hall.log.tell(hall.world.now(), "programs have to wait: this process may not have more open files (`ulimit -n`)");
                    self.listener.rest(hall.world.now());
                    return;
                }
                Err(_) => return,
            };
            loop {
                self.last = self.last.wrapping_add(1);
                if self.last != LISTENER && !self.connections.contains_key(&self.last) {
                    break;
                }
            }
            if self.watch.add(&socket, self.last).is_ok() {
                let number = number_of(&socket);
                self.connections.insert(self.last, Connection { socket, number, role: Role::Requests { written: Vec::new() } });
            }
        }
    }

    /// Answers what a connection asks.
    fn requests(&mut self, world: &mut World, number: u32) {
        let mut buffer = [0; REQUEST_MAX];
        for _ in 0..BATCH {
            let Some(Connection { socket, role: Role::Requests { .. }, .. }) = self.connections.get(&number) else { return };
            let socket = socket.as_raw_fd();
            let length = match recv(socket, &mut buffer, MsgFlags::MSG_DONTWAIT) {
                Ok(0) => return self.close(world, number),
                Ok(length) => length,
                Err(Error::EAGAIN | Error::EINTR) => return,
                Err(_) => return self.close(world, number),
            };
            let Some(answer) = self.request(world, number, &buffer[..length]) else { continue };
            // Who does not read answers gets no more.
            if send(socket, &answer, FLAGS).is_err() {
                return self.close(world, number);
            }
        }
    }

    /// The answer to a request, unless it comes later.
    fn request(&mut self, world: &mut World, connection: u32, request: &[u8]) -> Option<Vec<u8>> {
        let word = |index: usize| Some(u32::from_ne_bytes(request.get(index * 4..index * 4 + 4)?.try_into().ok()?));
        let Some(kind) = word(0) else { return Some(error(Errno::EINVAL)) };
        let node = NodeIndex(word(1).unwrap_or(u32::MAX));
        let at = PortRef::new(node, word(2).and_then(|port| u8::try_from(port).ok()).unwrap_or(u8::MAX));
        let rest = |from: usize| request.get(from * 4..).unwrap_or_default();
        let answer = match kind {
            protocol::OPEN_UMAD => self.open_umad(world, connection, at).map(|()| Vec::new()),
            protocol::OPEN_ISSM => {
                let waits = word(3) != Some(1);
                match self.open_issm(world, connection, at) {
                    Err(Errno::EAGAIN) if waits => {
                        self.connections.get_mut(&connection)?.role = Role::WaitsForIssm(at);
                        return None;
                    }
                    opened => opened.map(|()| Vec::new()),
                }
            }
            protocol::IOCTL => {
                let (number, argument) = (word(2).unwrap_or(0), rest(3));
                match self.ioctl(world, node.0, number, argument) {
                    Err(Errno::EINVAL) if number == protocol::REGISTER_AGENT2 => {
                        return Some([&error(Errno::EINVAL)[..], &with_known_flags(argument)].concat());
                    }
                    answer => answer,
                }
            }
            protocol::WRITE => return self.write(world, connection, node.0, word(2).unwrap_or(0) as usize, rest(3)),
            protocol::READ_ATTRIBUTE => {
                let name = std::str::from_utf8(rest(2)).ok();
                name.and_then(|name| sysfs::read(world, node, name)).map(String::into_bytes).ok_or(ENOENT)
            }
            protocol::WRITE_DESCRIPTION => {
                world.apply(Event::Rename(node, description(rest(2))));
                Ok(Vec::new())
            }
            protocol::RESOLVE => match ports(world, &String::from_utf8_lossy(rest(1))) {
                Ok(ports) => Ok(ports.into_bytes()),
                Err(why) => return Some([&error(ENOENT)[..], why.to_string().as_bytes()].concat()),
            },
            protocol::ATTRIBUTES => Ok(sysfs::attributes(world, node, word(2).map(|_| at.port)).join("\n").into_bytes()),
            _ => Err(Errno::EINVAL),
        };
        Some(match answer {
            Ok(answer) => [&0_u32.to_ne_bytes()[..], &answer].concat(),
            Err(errno) => error(errno),
        })
    }

    fn open_umad(&mut self, world: &mut World, number: u32, at: PortRef) -> Result<(), Errno> {
        let connection = self.connections.get_mut(&number).ok_or(Errno::EIO)?;
        let file = self.kernel.open(world, at).ok_or(Errno::ENODEV)?;
        connection.role = Role::Umad { file, stalled: None };
        self.files.insert(connection.number, number);
        self.by_file.insert(file, number);
        Ok(())
    }

    fn open_issm(&mut self, world: &mut World, number: u32, at: PortRef) -> Result<(), Errno> {
        if world.port_info(at).is_none() {
            return Err(Errno::ENODEV);
        }
        let mut issm = self.kernel.open_issm(world, at);
        if issm.is_none() {
            self.close_ended(world);
            issm = self.kernel.open_issm(world, at);
        }
        self.connections.get_mut(&number).ok_or(Errno::EIO)?.role = Role::Issm(issm.ok_or(Errno::EAGAIN)?);
        Ok(())
    }

    fn file(&self, number: u32) -> Result<FileId, Errno> {
        let connection = self.files.get(&number).and_then(|connection| self.connections.get(connection));
        match connection.map(|connection| &connection.role) {
            Some(&Role::Umad { file, .. }) => Ok(file),
            _ => Err(Errno::EIO),
        }
    }

    fn ioctl(&mut self, world: &mut World, number: u32, request: u32, argument: &[u8]) -> Result<Vec<u8>, Errno> {
        let file = self.file(number)?;
        let (registration, second) = match request {
            protocol::ENABLE_PKEY => return self.kernel.enable_p_key(file).map(|()| Vec::new()),
            protocol::UNREGISTER_AGENT => {
                let agent = u32::from_ne_bytes(argument.try_into().map_err(|_| Errno::EINVAL)?);
                return self.kernel.unregister(world, file, agent).map(|()| argument.to_vec());
            }
            protocol::REGISTER_AGENT => (argument.try_into().map(Registration::from_argument), false),
            protocol::REGISTER_AGENT2 => (argument.try_into().map(Registration::from_argument_2), true),
            _ => return Err(Errno::ENOTTY),
        };
        let registration = registration.map_err(|_| Errno::EINVAL)?;
        let mut agent = self.kernel.register(world, file, registration, second);
        if agent == Err(Errno::EINVAL) {
            // What stands in the way may belong to a program that has just ended.
            self.close_ended(world);
            agent = self.kernel.register(world, file, registration, second);
        }
        let mut argument = argument.to_vec();
        argument[..4].copy_from_slice(&agent?.to_ne_bytes());
        Ok(argument)
    }

    /// Takes a piece of what a program writes; answers after the last one.
    fn write(&mut self, world: &mut World, connection: u32, number: u32, length: usize, piece: &[u8]) -> Option<Vec<u8>> {
        let Role::Requests { written } = &mut self.connections.get_mut(&connection)?.role else { return None };
        let answer = if written.is_empty() && piece.len() == length {
            self.file(number).and_then(|file| self.kernel.write(world, file, piece))
        } else {
            written.extend_from_slice(piece);
            if written.len() < length.min(WRITE_MAX) && !piece.is_empty() {
                return None;
            }
            let written = std::mem::take(written);
            self.file(number).and_then(|file| self.kernel.write(world, file, &written))
        };
        Some(match answer {
            Ok(()) => 0_u32.to_ne_bytes().to_vec(),
            Err(errno) => error(errno),
        })
    }

    /// Puts into a connection what it takes.
    fn pass_on(&mut self, file: FileId, number: u32) {
        let Some(Connection { socket, role: Role::Umad { stalled, .. }, .. }) = self.connections.get_mut(&number) else { return };
        let had_stalled = stalled.is_some();
        while let Some(outgoing) = stalled.take().or_else(|| self.kernel.read(file).map(Outgoing::new)) {
            match outgoing.send(socket) {
                Err(Error::EAGAIN | Error::EINTR | Error::ENOBUFS | Error::ENOMEM) => {
                    *stalled = Some(outgoing);
                    break;
                }
                // Sent; or lost, because there is no descriptor for the file that it needs.
                Ok(()) | Err(Error::EMSGSIZE | Error::ETOOMANYREFS) => {}
                // Gone: the poll will say so.
                Err(_) => break,
            }
        }
        if stalled.is_some() != had_stalled {
            // Whether it is watched for room is all that may fail here: then what waits goes with the next message.
            let _ = self.watch.change(socket, number, Ready { read: true, write: stalled.is_some() });
        }
    }

    /// Closes a connection if its other end is closed; whether it did. A program that writes something into it is not heard.
    fn has_ended(&mut self, world: &mut World, number: u32) -> bool {
        let Some(connection) = self.connections.get(&number) else { return true };
        let ended = match recv(connection.socket.as_raw_fd(), &mut [0; 1], MsgFlags::MSG_DONTWAIT) {
            Ok(length) => length == 0,
            Err(Error::EAGAIN | Error::EINTR) => false,
            Err(_) => true,
        };
        if ended {
            self.close(world, number);
        }
        ended
    }

    /// Closes all whose other end is closed. Closing takes effect at once in the kernel, but here it is news among others.
    fn close_ended(&mut self, world: &mut World) {
        let open = self.connections.iter().filter(|(_, connection)| !matches!(connection.role, Role::Requests { .. }));
        let mut polled: Vec<(u32, PollFd<'_>)> =
            open.map(|(&number, connection)| (number, PollFd::new(connection.socket.as_fd(), PollFlags::empty()))).collect();
        let mut ended = Vec::new();
        for (number, socket) in &mut polled {
            let found = poll(std::slice::from_mut(socket), PollTimeout::ZERO).is_ok();
            if found && socket.revents().is_some_and(|events| events.intersects(PollFlags::POLLHUP | PollFlags::POLLERR)) {
                ended.push(*number);
            }
        }
        for number in ended {
            self.close(world, number);
        }
    }

    fn close(&mut self, world: &mut World, number: u32) {
        let Some(connection) = self.connections.remove(&number) else { return };
        match connection.role {
            Role::Umad { file, .. } => {
                self.files.remove(&connection.number);
                self.by_file.remove(&file);
                self.kernel.close(world, file);
            }
            Role::Issm(issm) => {
                self.kernel.close_issm(world, issm);
                self.let_in(world);
            }
            Role::Requests { .. } | Role::WaitsForIssm(_) => {}
        }
        drop(connection.socket);
        self.listener.wake();
    }

    /// Gives an issm that was closed to who waits for it.
    fn let_in(&mut self, world: &mut World) {
        for connection in self.connections.values_mut() {
            let Role::WaitsForIssm(at) = connection.role else { continue };
            if let Some(issm) = self.kernel.open_issm(world, at) {
                connection.role = Role::Issm(issm);
                // One that is gone in the meantime gives it back when that is noticed.
                let _ = send(connection.socket.as_raw_fd(), &0_u32.to_ne_bytes(), FLAGS);
            }
        }
    }
}

impl Outgoing {
    fn new(message: Message) -> Self {
        let Message { header, data } = message;
        let lengths = [header.len() as u32, data.len() as u32].map(u32::to_ne_bytes).concat();
        let file = if data.len() <= INLINE_MAX { None } else { in_memory(&data).ok() };
        let shown = if file.is_some() { &data[..SHOWN] } else { &data[..] };
        Self { bytes: [&lengths, &header[..], shown].concat(), file }
    }

    fn send(&self, socket: &OwnedFd) -> nix::Result<()> {
        let (socket, pieces) = (socket.as_raw_fd(), [IoSlice::new(&self.bytes)]);
        match &self.file {
            None => sendmsg::<()>(socket, &pieces, &[], FLAGS, None),
            Some(file) => sendmsg::<()>(socket, &pieces, &[ControlMessage::ScmRights(&[file.as_raw_fd()])], FLAGS, None),
        }
        .map(drop)
    }
}

fn in_memory(data: &[u8]) -> io::Result<File> {
    let mut file = File::from(memfd_create("heddle-umad", MFdFlags::MFD_CLOEXEC)?);
    file.write_all(data)?;
    Ok(file)
}

/// A node and its ports that programs see, as numbers; one port only if the name says which.
fn ports(world: &World, name: &str) -> Result<String, PlaceError> {
    let at = world.place(name)?;
    // Only behind a name without a port can one be put.
    let whole = name.is_empty() || world.place(&format!("{name}:{}", at.port)).is_ok();
    let ports = if whole { sysfs::ports(world, at.node) } else { at.port..=at.port };
    Ok(ports.fold(at.node.0.to_string(), |line, port| format!("{line} {port}")))
}

/// A NodeDescription as a program writes it: a line, of which 64 bytes count.
fn description(bytes: &[u8]) -> String {
    let line = bytes.split(|&byte| byte == b'\n' || byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(&line[..line.len().min(64)]).into_owned()
}

fn error(errno: Errno) -> Vec<u8> {
    errno.0.to_ne_bytes().to_vec()
}

/// The argument of a REGISTER_AGENT2 that failed: of flags that are not all known, the kernel says which are.
fn with_known_flags(argument: &[u8]) -> Vec<u8> {
    let mut argument = argument.to_vec();
    if let Ok(bytes) = <&mut [u8; Registration::SIZE_2]>::try_from(&mut argument[..]) {
        let Registration { qpn, flags, .. } = Registration::from_argument_2(bytes);
        if qpn <= 1 && flags & !Registration::FLAGS != 0 {
            bytes[Registration::FLAGS_2..][..4].copy_from_slice(&Registration::FLAGS.to_ne_bytes());
        }
    }
    argument
}

/// The number that a client's socket has for a name; 0 if it has none.
fn number_of(socket: &OwnedFd) -> u32 {
    let address = getpeername::<UnixAddr>(socket.as_raw_fd()).ok();
    let digits = address.as_ref().and_then(UnixAddr::as_abstract).and_then(|name| std::str::from_utf8(name).ok());
    digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()).unwrap_or(0)
}
