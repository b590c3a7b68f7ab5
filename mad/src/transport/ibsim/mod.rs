//! The simulator ibsim, and whoever serves its [`protocol`].

pub mod protocol;

use super::{Address, Clock, Delivery, Envelope, Transport, TransportError};
use crate::Time;
use crate::wire::Class;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use protocol::{Connect, Control, Datagram, Kind, NODE_NAME_MAX};
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
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
    pub const DEFAULT_NAME: &'static str = protocol::DEFAULT_NAME;

    /// Connects to the simulator called `name` (its IBSIM_SOCKNAME), at the node with the id or description `node`; without one, at the
    /// first node of its netlist. A host is entered by port 1, a switch by port 0.
    ///
    /// # Errors
    /// When no such simulator runs on this machine, when it does not know the node (of at most 31 characters), or when it has no room
    /// for another client (ibsim 0.10: ten).
    pub fn connect(name: &str, node: Option<&str>) -> Result<Self, TransportError> {
        let node = node.unwrap_or_default();
        if node.len() > NODE_NAME_MAX {
            return Err(TransportError::Other(format!(
                "ibsim cannot attach to node {node:?}: a name has at most {NODE_NAME_MAX} characters"
            )));
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
        let connect = Connect { id, is_sm: false, node: node.into() };
        let reply = ibsim.control(Kind::CONNECT, &connect.to_data())?.ok_or_else(|| {
            let place = if node.is_empty() { "its first node".to_owned() } else { format!("node {node:?}") };
            TransportError::Other(at(&format!(
                "refuses to attach a client to {place}: its netlist has no node of this name, or its ten places for clients are taken \
                 (its console's `Attached` shows them)"
            )))
        })?;
        ibsim.slot = Connect::from_data(&reply).id;
        let attach = |source| TransportError::Io { what: at("data socket"), source };
        ibsim.data.connect_addr(&address(name, &format!("out{}", ibsim.slot))?).map_err(attach)?;
        ibsim.data.set_nonblocking(true).map_err(attach)?;
        Ok(ibsim)
    }

    /// One control request; `None` when the simulator refuses.
    fn control(&self, kind: Kind, data: &[u8]) -> Result<Option<[u8; 64]>, TransportError> {
        let failed = |source: io::Error| {
            let what = if matches!(source.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) {
                format!("ibsim {:?} does not answer within {CONTROL_TIMEOUT:?}", self.name)
            } else {
                format!("ibsim {:?}: control socket", self.name)
            };
            TransportError::Io { what, source }
        };
        self.control.send(&Control::new(self.slot, kind, data).to_bytes()).map_err(failed)?;
        let mut reply = [0; Control::SIZE];
        let read = self.control.recv(&mut reply).map_err(failed)?;
        let reply = Control::from_bytes(&reply[..read]).filter(|reply| reply.kind != Kind::ERROR);
        Ok(reply.map(|reply| reply.data))
    }

    /// Moves what has arrived out of the socket.
    fn drain(&mut self) -> Result<(), TransportError> {
        let mut bytes = [0; Datagram::SIZE];
        loop {
            match self.data.recv(&mut bytes) {
                // Of another size, it is not of this protocol.
                Ok(read) => self.arrived.extend(Datagram::from_bytes(&bytes[..read]).map(decode)),
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
        let packet = encode(envelope).to_bytes();
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
        self.control(Kind::SET_IS_SM, &u32::from(is_sm).to_ne_bytes())?
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
        let _ = self.control(Kind::DISCONNECT, &[]);
    }
}

/// ibsim answers control requests in turn with the datagrams of its clients, within milliseconds; but it listens before it has read
/// its netlist, which takes seconds with 10,000 nodes.
const CONTROL_TIMEOUT: Duration = Duration::from_secs(20);

const PERMISSIVE_LID: u16 = 0xffff;
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
    protocol::address(name, part)
        .map_err(|source| TransportError::Io { what: format!("ibsim {name:?}: not usable as the name of a socket"), source })
}

fn encode(envelope: &Envelope) -> Datagram {
    // A source LID of 0 is filled in by the simulator.
    let (dlid, slid, qp) = match envelope.address {
        Address::Directed => (PERMISSIVE_LID, PERMISSIVE_LID, 0),
        Address::Lid { lid, qp } => (lid, 0, qp),
    };
    Datagram { dlid, slid, dst_qp: qp, src_qp: qp, status: 0, mad: envelope.mad }
}

fn decode(datagram: Datagram) -> Delivery {
    let Datagram { mad, .. } = datagram;
    let undeliverable = datagram.status == Datagram::UNDELIVERABLE;
    let address = match (mad.class() == Class::SUBN_DIRECTED, undeliverable) {
        (true, _) => Address::Directed,
        (false, true) => Address::Lid { lid: datagram.dlid, qp: datagram.dst_qp },
        (false, false) => Address::Lid { lid: datagram.slid, qp: datagram.src_qp },
    };
    let envelope = Envelope { address, mad };
    if undeliverable { Delivery::Undeliverable(envelope) } else { Delivery::Received(envelope) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{AttributeId, Mad, Method};

    #[test]
    fn an_answer_comes_from_its_source_and_an_echo_names_its_destination() {
        let mad = Mad::request(Class::SUBN_LID, 1, Method::GET, AttributeId(0x11), 0);
        let envelope = Envelope { address: Address::Lid { lid: 0x1234, qp: 1 }, mad };
        let sent = encode(&envelope);
        assert_eq!(sent, Datagram { dlid: 0x1234, slid: 0, dst_qp: 1, src_qp: 1, status: 0, mad });
        let answer = Datagram { dlid: 7, slid: 0x1234, dst_qp: 1, src_qp: 1, status: 0, mad };
        assert_eq!(decode(answer), Delivery::Received(envelope.clone()));
        assert_eq!(decode(Datagram { status: 110, ..sent }), Delivery::Undeliverable(envelope));
    }

    #[test]
    fn a_name_nobody_has_is_named_in_the_error() {
        let error = Ibsim::connect("heddle-nobody", None).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("@heddle-nobody:ctl") && text.contains("start"), "{text}");
    }
}
