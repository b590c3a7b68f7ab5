//! The simulator ibsim, by the protocol that its preload library speaks with it: datagrams on abstract Unix sockets, 80 bytes for
//! control, 288 bytes for a MAD with its addresses. Learnt from ibsim 0.10 (`sim_client.c`, `ibsim.h`) and tried with it.
//!
//! Names end with a NUL that counts: `<name>:ctl` and `<name>:out<slot>` are the simulator's, `<name>:ctl<id>` and `<name>:in<id>` ours.

use super::clock::Clock;
use super::{Address, Delivery, Envelope, Transport, TransportError};
use crate::Time;
use crate::wire::{Class, Mad};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// A connection to the simulator ibsim, at one of its nodes.
///
/// ibsim reports a datagram that it drops at once, as [`Delivery::Undeliverable`]. It loses nothing else, but it stops for all of its
/// clients while one of them leaves more than about 160 answers unread: keep fewer requests than that on the wire.
#[derive(Debug)]
pub struct Ibsim {
    name: String,
    control: UnixDatagram,
    data: UnixDatagram,
    slot: u32,
    is_sm: bool,
    /// Read while the simulator would take nothing more.
    arrived: VecDeque<Delivery>,
    clock: Clock,
}

impl Ibsim {
    /// The name that ibsim has without IBSIM_SOCKNAME in its environment.
    pub const DEFAULT_NAME: &'static str = "sim";

    /// Connects to the simulator called `name` (its IBSIM_SOCKNAME), at the node with the id or description `node`; without one, at the
    /// first node of its netlist. A host is entered by port 1, a switch by port 0.
    ///
    /// # Errors
    /// When no such simulator runs on this machine, when it does not know the node (of at most 31 characters), or when it has no room
    /// for another client (ibsim 0.10: ten).
    pub fn connect(name: &str, node: Option<&str>) -> Result<Self, TransportError> {
        let node = node.unwrap_or_default();
        if node.len() > 31 {
            return Err(TransportError::Other(format!("ibsim cannot attach to node {node:?}: a name has at most 31 characters")));
        }
        let (id, control, data) = bind(name)?;
        let at = |what: &str| format!("ibsim {name:?}: {what}");
        control.connect_addr(&address(name, "ctl")?).map_err(|source| TransportError::Io {
            what: at(&format!(
                "nothing listens on the abstract socket @{name}:ctl; start `IBSIM_SOCKNAME={name} ibsim -s NETLIST` on this machine first, \
                 or give the name of one that runs"
            )),
            source,
        })?;
        for limit in [UnixDatagram::set_read_timeout, UnixDatagram::set_write_timeout] {
            limit(&control, Some(CONTROL_TIMEOUT)).map_err(|source| TransportError::Io { what: at("socket"), source })?;
        }

        let mut ibsim =
            Self { name: name.to_owned(), control, data, slot: 0, is_sm: false, arrived: VecDeque::new(), clock: Clock::start() };
        let mut connect = [0; 44];
        connect[0..4].copy_from_slice(&id.to_ne_bytes());
        connect[12..12 + node.len()].copy_from_slice(node.as_bytes());
        let reply = ibsim.control(CONNECT, &connect)?.ok_or_else(|| {
            let place = if node.is_empty() { "its first node".to_owned() } else { format!("node {node:?}") };
            TransportError::Other(at(&format!(
                "refuses to attach a client to {place}: its netlist has no node of this name, or its ten places for clients are taken \
                 (its console's `Attached` shows them)"
            )))
        })?;
        ibsim.slot = u32::from_ne_bytes([reply[0], reply[1], reply[2], reply[3]]);
        let attach = |source| TransportError::Io { what: at("data socket"), source };
        ibsim.data.connect_addr(&address(name, &format!("out{}", ibsim.slot))?).map_err(attach)?;
        ibsim.data.set_nonblocking(true).map_err(attach)?;
        Ok(ibsim)
    }

    /// One control request; `None` when the simulator refuses.
    fn control(&self, kind: u32, data: &[u8]) -> Result<Option<[u8; 64]>, TransportError> {
        let failed = |source: io::Error| {
            let what = if matches!(source.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) {
                format!("ibsim {:?} does not answer within {CONTROL_TIMEOUT:?}", self.name)
            } else {
                format!("ibsim {:?}: control socket", self.name)
            };
            TransportError::Io { what, source }
        };
        let mut message = [0; CONTROL_SIZE];
        let words = [CONTROL_MAGIC, self.slot, kind, data.len() as u32];
        for (bytes, word) in message.chunks_exact_mut(4).zip(words) {
            bytes.copy_from_slice(&word.to_ne_bytes());
        }
        message[16..16 + data.len()].copy_from_slice(data);
        self.control.send(&message).map_err(failed)?;
        let read = self.control.recv(&mut message).map_err(failed)?;
        let refused = read < CONTROL_SIZE || message[8..12] == ERROR.to_ne_bytes();
        let mut reply = [0; 64];
        reply.copy_from_slice(&message[16..]);
        Ok((!refused).then_some(reply))
    }

    /// Moves what has arrived out of the socket.
    fn drain(&mut self) -> Result<(), TransportError> {
        let mut packet = [0; DATA_SIZE];
        loop {
            match self.data.recv(&mut packet) {
                Ok(DATA_SIZE) => self.arrived.push_back(decode(&packet)),
                Ok(_) => {} // Not of this protocol.
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(source) => return Err(self.gone(source)),
            }
        }
    }

    fn wait(&self, flags: PollFlags, timeout: PollTimeout) -> Result<(), TransportError> {
        match poll(&mut [PollFd::new(self.data.as_fd(), flags)], timeout) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
            Err(errno) => Err(self.gone(errno.into())),
        }
    }

    fn gone(&self, source: io::Error) -> TransportError {
        TransportError::Io { what: format!("ibsim {:?} is gone", self.name), source }
    }
}

impl Transport for Ibsim {
    fn now(&self) -> Time {
        self.clock.now()
    }

    fn send(&mut self, envelope: &Envelope) -> Result<(), TransportError> {
        let packet = encode(envelope);
        let give_up = self.now() + SEND_TIMEOUT;
        loop {
            match self.data.send(&packet) {
                Ok(_) => return Ok(()),
                // The simulator may itself wait for us to read: then it reads nothing.
                Err(error) if error.kind() == ErrorKind::WouldBlock && self.now() < give_up => {
                    self.drain()?;
                    self.wait(PollFlags::POLLIN | PollFlags::POLLOUT, PollTimeout::from(SEND_POLL_MS))?;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(source) if source.kind() == ErrorKind::WouldBlock => {
                    let what = format!("ibsim {:?} has taken nothing for {SEND_TIMEOUT:?}: it hangs or is stopped", self.name);
                    return Err(TransportError::Io { what, source });
                }
                Err(source) => return Err(self.gone(source)),
            }
        }
    }

    fn receive(&mut self, deadline: Option<Time>) -> Result<Option<Delivery>, TransportError> {
        loop {
            if self.arrived.is_empty() {
                self.drain()?;
            }
            if let Some(delivery) = self.arrived.pop_front() {
                return Ok(Some(delivery));
            }
            let Some(deadline) = deadline else {
                self.wait(PollFlags::POLLIN, PollTimeout::NONE)?;
                continue;
            };
            let left = deadline.since(self.now());
            if left.is_zero() {
                return Ok(None);
            }
            // Rounded up, so that the last part of a millisecond is not spent in turning round.
            let ms = u16::try_from(left.as_nanos().div_ceil(1_000_000)).unwrap_or(u16::MAX);
            self.wait(PollFlags::POLLIN, PollTimeout::from(ms))?;
        }
    }

    fn set_is_sm(&mut self, is_sm: bool) -> Result<(), TransportError> {
        self.control(SET_ISSM, &u32::from(is_sm).to_ne_bytes())?
            .ok_or_else(|| TransportError::Other(format!("ibsim {:?} refuses to set IsSM", self.name)))?;
        self.is_sm = is_sm;
        Ok(())
    }
}

impl Drop for Ibsim {
    /// Leaves the simulator as it was: it keeps IsSM and the place of a client that just goes.
    fn drop(&mut self) {
        let _ = self.control.set_read_timeout(Some(Duration::from_secs(1)));
        if self.is_sm {
            let _ = self.set_is_sm(false);
        }
        let _ = self.control(DISCONNECT, &[]);
    }
}

const CONTROL_MAGIC: u32 = 0xdead_beef;
const CONTROL_SIZE: usize = 80;
const ERROR: u32 = 0;
const CONNECT: u32 = 1;
const DISCONNECT: u32 = 2;
const SET_ISSM: u32 = 9;
/// ibsim answers control requests in turn with the datagrams of its clients, within milliseconds; but it listens before it has read
/// its netlist, which takes seconds with 10,000 nodes.
const CONTROL_TIMEOUT: Duration = Duration::from_secs(20);

const DATA_SIZE: usize = 288;
const DATA_MAD: usize = 32;
const PERMISSIVE_LID: u16 = 0xffff;
/// What `status` holds in the echo of a request that could not be delivered (ETIMEDOUT).
const STATUS_UNDELIVERABLE: u32 = 110;
/// A look at the socket now and then in case the simulator is gone: then nothing wakes the poll, and the next send fails.
const SEND_POLL_MS: u16 = 100;
/// Longer than any command of its console takes.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);

/// Both of our sockets, under an id that is free: the process id, as the preload library has it, or one no process has
/// (ids of Linux processes are below 2^22), because a process may have several connections.
fn bind(name: &str) -> Result<(u32, UnixDatagram, UnixDatagram), TransportError> {
    let mut last = None;
    for attempt in 0..64 {
        let id = std::process::id() | attempt << 22;
        let sockets = address(name, &format!("ctl{id}")).and_then(|control| {
            let data = address(name, &format!("in{id}"))?;
            let bind = |address: &SocketAddr| {
                UnixDatagram::bind_addr(address)
                    .map_err(|source| TransportError::Io { what: format!("ibsim {name:?}: socket for client {id}"), source })
            };
            Ok((bind(&control)?, bind(&data)?))
        });
        match sockets {
            Ok((control, data)) => return Ok((id, control, data)),
            Err(TransportError::Io { source, .. }) if source.kind() == ErrorKind::AddrInUse => last = Some(source),
            Err(error) => return Err(error),
        }
    }
    let source = last.unwrap_or_else(|| ErrorKind::AddrInUse.into());
    Err(TransportError::Io { what: format!("ibsim {name:?}: this process has too many connections"), source })
}

fn address(name: &str, part: &str) -> Result<SocketAddr, TransportError> {
    SocketAddr::from_abstract_name(format!("{name}:{part}\0"))
        .map_err(|source| TransportError::Io { what: format!("ibsim {name:?}: not usable as the name of a socket"), source })
}

/// ```text
///  0 destination LID, 2 bytes, then 2 zero bytes     16 status
///  4 source LID, likewise                            24 length of the MAD, 8 bytes
///  8 destination queue pair   12 source queue pair   32 the MAD
/// ```
fn encode(envelope: &Envelope) -> [u8; DATA_SIZE] {
    // A source LID of 0 is filled in by the simulator.
    let (dlid, slid, qp) = match envelope.address {
        Address::Directed => (PERMISSIVE_LID, PERMISSIVE_LID, 0),
        Address::Lid { lid, qp } => (lid, 0, qp),
    };
    let mut packet = [0; DATA_SIZE];
    packet[0..2].copy_from_slice(&dlid.to_be_bytes());
    packet[4..6].copy_from_slice(&slid.to_be_bytes());
    packet[8..12].copy_from_slice(&qp.to_be_bytes());
    packet[12..16].copy_from_slice(&qp.to_be_bytes());
    packet[24..32].copy_from_slice(&((DATA_SIZE - DATA_MAD) as u64).to_be_bytes());
    packet[DATA_MAD..].copy_from_slice(&envelope.mad.0);
    packet
}

fn decode(packet: &[u8; DATA_SIZE]) -> Delivery {
    let half = |at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
    let word = |at: usize| u32::from_be_bytes([packet[at], packet[at + 1], packet[at + 2], packet[at + 3]]);
    let mut mad = Mad([0; 256]);
    mad.0.copy_from_slice(&packet[DATA_MAD..]);
    let undeliverable = word(16) == STATUS_UNDELIVERABLE;
    let address = match (mad.class() == Class::SUBN_DIRECTED, undeliverable) {
        (true, _) => Address::Directed,
        (false, true) => Address::Lid { lid: half(0), qp: word(8) },
        (false, false) => Address::Lid { lid: half(4), qp: word(12) },
    };
    let envelope = Envelope { address, mad };
    if undeliverable { Delivery::Undeliverable(envelope) } else { Delivery::Received(envelope) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{AttributeId, Method};

    /// Bytes by hand, from the layout that ibsim's own preload library writes.
    #[test]
    fn data_packets_have_the_layout_of_ibsim() {
        let mad = Mad::request(Class::SUBN_LID, 1, Method::GET, AttributeId(0x11), 0);
        let packet = encode(&Envelope { address: Address::Lid { lid: 0x1234, qp: 1 }, mad });
        assert_eq!(packet[..32], [0x12, 0x34, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0]);
        assert_eq!(packet[32..], mad.0);

        let mut answer = [0; DATA_SIZE];
        answer[4..6].copy_from_slice(&[0x12, 0x34]);
        answer[15] = 1;
        answer[32..].copy_from_slice(&mad.0);
        let expected = Envelope { address: Address::Lid { lid: 0x1234, qp: 1 }, mad };
        assert_eq!(decode(&answer), Delivery::Received(expected.clone()));

        let mut echo = packet;
        echo[19] = 110;
        assert_eq!(decode(&echo), Delivery::Undeliverable(expected));
    }

    #[test]
    fn a_name_nobody_has_is_named_in_the_error() {
        let error = Ibsim::connect("heddle-nobody", None).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("@heddle-nobody:ctl") && text.contains("start"), "{text}");
    }
}
