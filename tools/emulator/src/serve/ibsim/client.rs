use super::bulk::Bulk;
use super::{Datagram, Delivered, Log, Ready, Watch};
use crate::clients::ClientId;
use crate::packet::Packet;
use heddle_fabric::PortRef;
use heddle_mad::Time;
use nix::errno::Errno;
use std::collections::VecDeque;
use std::io;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// A client of the ibsim protocol.
pub(super) struct Client {
    pub(super) at: PortRef,
    /// How it calls itself: mostly the number of its process.
    pub(super) process: u32,
    /// Where its control messages come from.
    control: SocketAddr,
    pub(super) socket: UnixDatagram,
    /// What it does not take yet.
    waiting: VecDeque<[u8; Datagram::SIZE]>,
    /// Its socket took no more when it was tried last.
    blocked: bool,
    pub(super) garbage: u64,
    pub(super) lost: u64,
}

/// What comes for a client that is owed so many datagrams is lost: 5 MB.
const WAITING_MAX: usize = 16_384;

impl Client {
    pub(super) fn new(at: PortRef, control: SocketAddr, process: u32, socket: UnixDatagram) -> Self {
        Self { at, process, control, socket, waiting: VecDeque::new(), blocked: false, garbage: 0, lost: 0 }
    }

    /// Whether control messages from this address are its own.
    pub(super) fn is(&self, sender: &SocketAddr) -> bool {
        use std::os::linux::net::SocketAddrExt;
        self.control.as_abstract_name().is_some_and(|name| sender.as_abstract_name() == Some(name))
    }

    pub(super) fn name(&self, id: ClientId) -> String {
        format!("client {} (process {})", id.0, self.process)
    }

    /// The packet in a datagram that it sent; `None` if that was none of this protocol.
    pub(super) fn packet(&mut self, id: ClientId, datagram: &[u8], log: &mut Log, now: Time) -> Option<Packet> {
        let Some(Datagram { dlid, slid, dst_qp, src_qp, mad, .. }) = Datagram::from_bytes(datagram) else {
            self.garbage += 1;
            if self.garbage == 1 {
                let name = self.name(id);
                let text = match datagram.len() {
                    size if size > Datagram::SIZE => format!("{name} sends datagrams of more than {} bytes", Datagram::SIZE),
                    size => format!("{name} sends datagrams of {size} bytes instead of {}", Datagram::SIZE),
                };
                log.tell(now, &format!("{text}; they are ignored"));
            }
            return None;
        };
        Some(Packet { slid, dlid, sl: 0, p_key: 0xffff, src_qp, dst_qp, q_key: Packet::Q_KEY, mad })
    }

    /// Keeps something for it. Gives whether it may be able to take it now.
    pub(super) fn owe(&mut self, id: ClientId, delivered: &Delivered, log: &mut Log, now: Time) -> bool {
        if self.waiting.len() >= WAITING_MAX {
            self.lost += 1;
            if self.lost == 1 {
                let text = format!("{} leaves {WAITING_MAX} datagrams unread; what comes from now on is lost", self.name(id));
                log.tell(now, &text);
            }
            return false;
        }
        let (packet, status) = match delivered {
            Delivered::Received(packet) => (packet, 0),
            Delivered::Lost(packet) => (packet, Datagram::UNDELIVERABLE),
        };
        let &Packet { dlid, slid, dst_qp, src_qp, mad, .. } = packet;
        self.waiting.push_back(Datagram { dlid, slid, dst_qp, src_qp, status, mad }.to_bytes());
        !self.blocked && self.waiting.len() == 1
    }

    /// Sends what it takes.
    pub(super) fn write(&mut self, id: ClientId, bulk: &mut Bulk, watch: &Watch) -> io::Result<()> {
        while !self.waiting.is_empty() {
            match bulk.send(&self.socket, self.waiting.iter()) {
                Ok(sent) => drop(self.waiting.drain(..sent)),
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return self.block(id, watch, true),
                Err(errno) => return Err(errno.into()),
            }
        }
        self.block(id, watch, false)
    }

    fn block(&mut self, id: ClientId, watch: &Watch, blocked: bool) -> io::Result<()> {
        if blocked != self.blocked {
            self.blocked = blocked;
            watch.change(&self.socket, u32::from(id.0), Ready { read: true, write: blocked })?;
        }
        Ok(())
    }
}
