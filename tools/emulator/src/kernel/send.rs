//! What programs write: checks, repetitions, timeouts.

use super::abi::{Header, TIMED_OUT};
use super::{Errno, FileId, Kernel, Timer, local};
use crate::packet::{PERMISSIVE_LID, Packet};
use crate::world::World;
use heddle_fabric::PortRef;
use heddle_mad::Time;
use heddle_mad::rmpp::{self, Sender, Stopped};
use heddle_mad::wire::{Class, Mad, Method};
use std::time::Duration;

/// Something that was sent and is not over: it waits for an answer, or for acknowledgements.
#[derive(Debug)]
pub(super) struct Send {
    pub(super) agent: u8,
    /// As written.
    header: Header,
    pub(super) packet: Packet,
    /// A message in segments that is not acknowledged yet.
    transfer: Option<Box<Sender>>,
    retries_left: u32,
    timer: Option<Time>,
}

/// Transaction, class, whether it is an answer, and where an answer goes to; then a number to tell apart what is alike in all of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SendKey {
    pub(super) transaction: u64,
    class: u8,
    is_answer: bool,
    lid: u16,
    number: u64,
}

impl SendKey {
    fn new(packet: &Packet, number: u64) -> Self {
        let is_answer = is_answer(&packet.mad);
        Self {
            transaction: packet.mad.transaction(),
            class: packet.mad.class().0,
            is_answer,
            lid: if is_answer { packet.dlid } else { 0 },
            number,
        }
    }
}

/// The size of a MAD's common header: what is left of one that timed out.
const MAD_HEADER: usize = 24;

/// Answers carry the transaction of whoever asked (`ib_response_mad`).
pub(super) fn is_answer(mad: &Mad) -> bool {
    const BASEBOARD: Class = Class(0x05);
    mad.method().is_response() || mad.method() == Method::TRAP_REPRESS || (mad.class() == BASEBOARD && mad.modifier() & 1 != 0)
}

impl Kernel {
    /// write(2) on a file: a header and a MAD, or a message to be sent in segments.
    ///
    /// # Errors
    /// EINVAL when it is too short or too long, for an agent's number of 32 and more, a directed route that does not begin at this port,
    /// and a request with the transaction and class of one that still waits; EIO without such an agent.
    pub fn write(&mut self, world: &mut World, id: FileId, bytes: &[u8]) -> Result<(), Errno> {
        let file = self.files.get(&id).ok_or(Errno::EIO)?;
        let header_size = file.header_size();
        if bytes.len() < header_size + rmpp::HEADER_END {
            return Err(Errno::EINVAL);
        }
        let header = Header::of(bytes, header_size);
        let message = &bytes[header_size..];
        let index = u8::try_from(header.agent()).ok().filter(|&index| usize::from(index) < super::AGENTS_MAX).ok_or(Errno::EINVAL)?;
        let agent = file.agent(index).ok_or(Errno::EIO)?;

        let mut mad = Mad([0; 256]);
        let start = message.len().min(256);
        mad.0[..start].copy_from_slice(&message[..start]);
        let is_rmpp_class = rmpp::is_rmpp_class(mad.class());
        if agent.registration.rmpp_version != 0 && !is_rmpp_class {
            return Err(Errno::EINVAL);
        }
        let rmpp = rmpp::Header::of(&mad);
        let in_segments = is_rmpp_class && agent.kernel_rmpp() && rmpp.active;
        let own_segments = is_rmpp_class && !agent.kernel_rmpp() && rmpp.active;
        if !in_segments && message.len() > 256 {
            return Err(Errno::EINVAL);
        }
        if !is_answer(&mad) {
            let own = u64::from(id.0.0) << 48 | u64::from(index) << 32;
            mad.set_transaction(own | mad.transaction() & 0xffff_ffff);
        }
        let at = file.at;
        let packet = packet(world, at, &header, agent.registration.qpn, mad);
        let key = SendKey::new(&packet, self.sent);
        let alike = SendKey { number: 0, ..key }..=SendKey { number: u64::MAX, ..key };
        if !own_segments && file.sends.range(alike).next().is_some() {
            return Err(Errno::EINVAL);
        }
        if mad.class() == Class::SUBN_DIRECTED && !may_leave(at.port, &mad) {
            return Err(Errno::EINVAL);
        }
        self.sent += 1;
        let timeout = header.timeout_ms();
        let mut send = Send { agent: index, header, packet, transfer: None, retries_left: header.retries(), timer: None };
        if in_segments {
            // Of the RMPP header that the program wrote, only that it is active counts.
            let mut message = message.to_vec();
            message[..MAD_HEADER].copy_from_slice(&mad.0[..MAD_HEADER]);
            let timeout = Some(Duration::from_millis(timeout.into()));
            send.transfer = Some(Box::new(Sender::new(world.now(), &message, timeout, header.retries())));
            self.insert(id, key, send);
            self.drive_transfer(world, id, key);
            return Ok(());
        }
        if timeout != 0 {
            send.timer = Some(world.now() + Duration::from_millis(timeout.into()));
            self.insert(id, key, send);
        }
        world.send(id.0, &packet);
        Ok(())
    }

    fn insert(&mut self, id: FileId, key: SendKey, send: Send) {
        if let Some(time) = send.timer {
            self.timers.insert((time, id, Timer::Send(key)));
        }
        if let Some(file) = self.files.get_mut(&id) {
            file.sends.insert(key, send);
        }
    }

    /// Takes a send that is over out of the books.
    pub(super) fn finish(&mut self, id: FileId, key: SendKey) -> Option<Send> {
        let send = self.files.get_mut(&id)?.sends.remove(&key)?;
        if let Some(time) = send.timer {
            self.timers.remove(&(time, id, Timer::Send(key)));
        }
        Some(send)
    }

    /// The request that an answer belongs to.
    pub(super) fn request(&self, id: FileId, agent: u8, answer: &Mad) -> Option<SendKey> {
        let key = |number| SendKey { transaction: answer.transaction(), class: answer.class().0, is_answer: false, lid: 0, number };
        let mut alike = self.files.get(&id)?.sends.range(key(0)..=key(u64::MAX));
        alike.find(|(_, send)| send.agent == agent).map(|(&key, _)| key)
    }

    /// Gives a transfer an acknowledgement, or whatever else its receiver sends. Whether there is such a transfer.
    pub(super) fn acknowledge(&mut self, world: &mut World, id: FileId, agent: u8, packet: &Packet) -> bool {
        let is_answer = !packet.mad.method().is_response();
        let lid = if is_answer { packet.slid } else { 0 };
        let key = |number| SendKey { transaction: packet.mad.transaction(), class: packet.mad.class().0, is_answer, lid, number };
        let Some(file) = self.files.get_mut(&id) else { return false };
        let mut alike = file.sends.range_mut(key(0)..=key(u64::MAX));
        let Some((&key, send)) = alike.find(|(_, send)| send.agent == agent && send.transfer.is_some()) else { return false };
        if let Some(transfer) = &mut send.transfer {
            transfer.handle(world.now(), &packet.mad);
        }
        self.drive_transfer(world, id, key);
        true
    }

    /// Sends what a transfer has to send, and sees whether it is over.
    fn drive_transfer(&mut self, world: &mut World, id: FileId, key: SendKey) {
        let now = world.now();
        let Some(send) = self.files.get_mut(&id).and_then(|file| file.sends.get_mut(&key)) else { return };
        let Some(transfer) = &mut send.transfer else { return };
        while let Some(mad) = transfer.poll_transmit(now) {
            world.send(id.0, &Packet { mad, ..send.packet });
        }
        let timer = match transfer.result() {
            None => transfer.poll_timeout(),
            Some(Ok(())) if send.header.timeout_ms() != 0 => {
                // All of it is there; now for the answer.
                send.transfer = None;
                send.retries_left = 0;
                Some(now + Duration::from_millis(send.header.timeout_ms().into()))
            }
            Some(result) => {
                if let Some(send) = self.finish(id, key)
                    && result == Err(Stopped::TOO_MANY_RETRIES)
                {
                    self.give_back(id, &send);
                }
                return;
            }
        };
        let before = std::mem::replace(&mut send.timer, timer);
        if before != timer {
            self.timers.extend(timer.map(|time| (time, id, Timer::Send(key))));
            if let Some(before) = before {
                self.timers.remove(&(before, id, Timer::Send(key)));
            }
        }
    }

    /// No answer came in time: the request goes out again, or comes back with status 110.
    pub(super) fn send_timeout(&mut self, world: &mut World, id: FileId, key: SendKey) {
        let now = world.now();
        let Some(send) = self.files.get_mut(&id).and_then(|file| file.sends.get_mut(&key)) else { return };
        send.timer = None;
        if let Some(transfer) = &mut send.transfer {
            transfer.handle_timeout(now);
            return self.drive_transfer(world, id, key);
        }
        if send.retries_left == 0 {
            if let Some(send) = self.finish(id, key) {
                self.give_back(id, &send);
            }
            return;
        }
        send.retries_left -= 1;
        let time = now + Duration::from_millis(send.header.timeout_ms().into());
        send.timer = Some(time);
        let packet = send.packet;
        self.timers.insert((time, id, Timer::Send(key)));
        world.send(id.0, &packet);
    }

    fn give_back(&mut self, id: FileId, send: &Send) {
        let mut header = send.header;
        header.set_status(TIMED_OUT);
        self.queue(id, send.agent, header, send.packet.mad.0[..MAD_HEADER].to_vec());
    }
}

fn packet(world: &World, at: PortRef, header: &Header, src_qp: u32, mad: Mad) -> Packet {
    let directed = mad.class() == Class::SUBN_DIRECTED;
    let slid = world.port_info(at).map_or(0, |port| {
        let paths = (1_u16 << port.lmc()) - 1;
        port.lid() | u16::from(header.path_bits()) & paths
    });
    Packet {
        slid: if directed && header.lid() == PERMISSIVE_LID { 0 } else { slid },
        dlid: header.lid(),
        sl: header.sl() & 0xf,
        p_key: local::p_key(world, at, src_qp, header.p_key_index()),
        src_qp,
        dst_qp: header.qpn(),
        // Whatever the program says: the queue pair's own goes out (IB_QP_SET_QKEY).
        q_key: Packet::Q_KEY,
        mad,
    }
}

/// Whether a directed-route SMP may leave by the port of a channel adapter (IBA 14.2.2; `smi_handle_dr_smp_send`). A part by forwarding
/// tables in front is none of the port's business.
fn may_leave(port: u8, mad: &Mad) -> bool {
    let (pointer, count) = (mad.hop_pointer(), mad.hop_count());
    if port == 0 {
        return true; // A switch goes any way.
    }
    if !mad.is_returning() {
        return mad.dr_slid() != PERMISSIVE_LID
            || match pointer {
                0 if count != 0 => mad.initial_path().is_some_and(|path| path.ports().first() == Some(&port)),
                pointer if pointer == count => mad.dr_dlid() == PERMISSIVE_LID,
                pointer => u16::from(pointer) == u16::from(count) + 1,
            };
    }
    mad.dr_dlid() != PERMISSIVE_LID
        || match pointer {
            pointer if count != 0 && u16::from(pointer) == u16::from(count) + 1 => mad.return_path().get(usize::from(count)) == Some(&port),
            1 => mad.dr_slid() == PERMISSIVE_LID,
            pointer => pointer == 0,
        }
}
