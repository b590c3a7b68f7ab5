//! What somebody asks a server who starts programs on it.

use super::protocol::{self, REQUEST_MAX};
use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, UnixAddr, connect, recv, send, socket};
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, OwnedFd};

/// A connection to the server of an emulator, for whoever starts programs under the preload library.
#[derive(Debug)]
pub struct Programs {
    name: String,
    socket: OwnedFd,
}

/// A node as programs see it: an adapter, or a switch's own port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VisibleDevice {
    /// The node's number.
    pub node: u32,
    /// The ports that are to be seen.
    pub ports: Vec<u8>,
    /// The names of its files in sysfs, its own and of the ports that are to be seen: `node_guid`, `ports/1/state` and so on.
    pub attributes: Vec<String>,
}

/// Why programs cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum ProgramsError {
    /// Nobody serves under this name.
    #[error(
        "no emulator is called \"{name}\"{}; start one with `heddle emulate FABRIC --name {name}`",
        if .running.is_empty() { " (none runs on this machine)".to_owned() } else { format!(" (there are: {})", .running.join(", ")) }
    )]
    NoServer {
        /// The name.
        name: String,
        /// Those that there are.
        running: Vec<String>,
    },
    /// The server does not know the node.
    #[error("emulator \"{name}\": {why}")]
    NoNode {
        /// The server's name.
        name: String,
        /// What it says.
        why: String,
    },
    /// The system refuses something, or the server does not answer.
    #[error("emulator \"{name}\": {source}")]
    Io {
        /// The server's name.
        name: String,
        /// The system's reason.
        source: io::Error,
    },
}

impl Programs {
    /// Connects to the server of this name.
    ///
    /// # Errors
    /// When there is none on this machine.
    pub fn connect(name: &str) -> Result<Self, ProgramsError> {
        let io = |source: Errno| ProgramsError::Io { name: name.into(), source: source.into() };
        let socket = socket(AddressFamily::Unix, SockType::SeqPacket, SockFlag::SOCK_CLOEXEC, None).map_err(io)?;
        let address = UnixAddr::new_abstract(protocol::socket_name(name).as_bytes()).map_err(io)?;
        connect(socket.as_raw_fd(), &address).map_err(|errno| match errno {
            Errno::ECONNREFUSED => ProgramsError::NoServer { name: name.into(), running: running() },
            errno => io(errno),
        })?;
        Ok(Self { name: name.into(), socket })
    }

    /// The node that a user calls so: by its description or GUID, perhaps with one of its ports; nothing for the first host.
    ///
    /// # Errors
    /// When there is no such node, or several.
    pub fn device(&self, node: &str) -> Result<VisibleDevice, ProgramsError> {
        let numbers =
            self.ask(&[protocol::RESOLVE], node.as_bytes())?.map_err(|why| ProgramsError::NoNode { name: self.name.clone(), why })?;
        let mut numbers = numbers.split_ascii_whitespace();
        let number = numbers.next().and_then(|node| node.parse().ok());
        let ports = numbers.map(|port| port.parse().ok()).collect::<Option<Vec<u8>>>();
        let (Some(node), Some(ports)) = (number, ports) else { return Err(self.garbage()) };
        // One port after another, so that each answer fits into a message.
        let mut attributes = Vec::new();
        for port in [None].into_iter().chain(ports.iter().map(|&port| Some(u32::from(port)))) {
            let head: Vec<u32> = [protocol::ATTRIBUTES, node].into_iter().chain(port).collect();
            let names = self.ask(&head, &[])?.map_err(|_| self.garbage())?;
            attributes.extend(names.lines().map(str::to_owned));
        }
        Ok(VisibleDevice { node, ports, attributes })
    }

    /// What the server answers, or (`Err`) what it says is wrong.
    fn ask(&self, head: &[u32], body: &[u8]) -> Result<Result<String, String>, ProgramsError> {
        let request = [&head.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<_>>()[..], body].concat();
        let io = |source: Errno| ProgramsError::Io { name: self.name.clone(), source: source.into() };
        send(self.socket.as_raw_fd(), &request, MsgFlags::MSG_NOSIGNAL).map_err(io)?;
        let mut answer = vec![0; REQUEST_MAX];
        let length = recv(self.socket.as_raw_fd(), &mut answer, MsgFlags::empty()).map_err(io)?;
        let Some((errno, text)) = answer[..length].split_at_checked(4) else { return Err(self.garbage()) };
        let text = String::from_utf8_lossy(text).into_owned();
        Ok(if errno == [0; 4] { Ok(text) } else { Err(text) })
    }

    fn garbage(&self) -> ProgramsError {
        let source = io::Error::new(ErrorKind::InvalidData, "it has ended, or is of another version");
        ProgramsError::Io { name: self.name.clone(), source }
    }
}

/// The emulators of this machine, by the names of their sockets.
fn running() -> Vec<String> {
    let sockets = std::fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let suffix = protocol::socket_name("");
    let mut names: Vec<String> =
        sockets.lines().filter_map(|line| line.split_once(" @")?.1.strip_suffix(&suffix).map(str::to_owned)).collect();
    names.sort_unstable();
    names.dedup();
    names
}
