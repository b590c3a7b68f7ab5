//! What comes in: to which agent, whether anybody waits for it, and messages in segments.

use super::abi::Header;
use super::send::is_answer;
use super::{FileId, Kernel, ReceiverKey, Timer, local};
use crate::packet::Packet;
use crate::world::World;
use heddle_mad::rmpp::{self, Kind, Receiver, WINDOW};

/// The longest message that is put together: 64 MB, a PathRecord for each of a million pairs.
const MESSAGE_MAX: usize = 64 << 20;
/// Messages that come in segments at the same time to one file, or came so lately that their segments may be repeated.
const RECEPTIONS_MAX: usize = 1_024;

/// A message that comes in segments.
#[derive(Debug)]
pub(super) struct Reception {
    receiver: Receiver,
    /// How a packet to its sender looks.
    back: Packet,
}

impl Kernel {
    pub(super) fn receive(&mut self, world: &mut World, id: FileId, packet: &Packet) {
        let mad = &packet.mad;
        let Some(file) = self.files.get(&id) else { return };
        let index = if is_answer(mad) {
            // Bits 47 to 32 of the transaction.
            u8::try_from(mad.transaction() >> 32 & 0xffff).ok()
        } else {
            let takes = |agent: &Option<super::Agent>| agent.as_ref().is_some_and(|agent| agent.takes(mad));
            file.agents.iter().position(takes).and_then(|index| u8::try_from(index).ok())
        };
        let Some((index, agent)) = index.and_then(|index| Some((index, file.agent(index)?))) else { return };
        if mad.base_version() != 1 {
            return;
        }
        let active = rmpp::is_rmpp_class(mad.class()) && rmpp::Header::of(mad).active;
        if active && agent.kernel_rmpp() {
            return self.receive_segment(world, id, index, packet);
        }
        self.deliver(world, id, index, packet, mad.0.to_vec(), active);
    }

    /// Hands a message to the program, unless it is an answer that nobody waits for (`unasked`: also then).
    fn deliver(&mut self, world: &World, id: FileId, agent: u8, packet: &Packet, data: Vec<u8>, unasked: bool) {
        if is_answer(&packet.mad) {
            match self.request(id, agent, &packet.mad) {
                Some(key) => drop(self.finish(id, key)),
                None if unasked => {}
                None => return,
            }
        }
        let Some(file) = self.files.get(&id) else { return };
        let (paths, size) = (world.port_info(file.at).map_or(0, |port| (1_u16 << port.lmc()) - 1), file.header_size());
        let directed = packet.dlid == crate::packet::PERMISSIVE_LID;
        let path_bits = if directed { 0 } else { (packet.dlid & paths) as u8 };
        let mut header = Header::received();
        header.set_length(size + data.len());
        header.set_source(packet.src_qp, packet.slid, packet.sl, path_bits, local::p_key_index(world, file.at, packet));
        self.queue(id, agent, header, data);
    }

    fn receive_segment(&mut self, world: &mut World, id: FileId, agent: u8, packet: &Packet) {
        let rmpp = rmpp::Header::of(&packet.mad);
        let is_data = rmpp.version == rmpp::Header::VERSION && rmpp.kind == Kind::Data as u8;
        if !is_data && self.acknowledge(world, id, agent, packet) {
            return;
        }
        let mad = &packet.mad;
        let key: ReceiverKey = (agent, mad.transaction(), packet.src_qp, packet.slid, mad.class().0, mad.class_version(), mad.method().0);
        let Some(file) = self.files.get_mut(&id) else { return };
        let (now, count) = (world.now(), file.receptions.len());
        match file.receptions.get_mut(&key) {
            Some(reception) => reception.receiver.handle(now, mad),
            // Of a transfer that is over, or was never begun.
            None if !is_data || (rmpp.segment != 1 && !rmpp.first) => return,
            None => {
                if count >= RECEPTIONS_MAX {
                    // Many short messages: of those that are whole, the one of the lowest transaction is about the oldest.
                    let Some(&over) = file.receptions.iter().find(|(_, reception)| reception.receiver.is_over()).map(|(key, _)| key) else {
                        return;
                    };
                    file.receptions.remove(&over);
                }
                let back = Packet { slid: packet.dlid, dlid: packet.slid, src_qp: packet.dst_qp, dst_qp: packet.src_qp, ..*packet };
                file.receptions.insert(key, Reception { receiver: Receiver::new(now, mad, WINDOW, MESSAGE_MAX), back });
            }
        }
        if let Some(message) = self.drive_reception(world, id, key) {
            let mut first = *packet;
            first.mad.0[..rmpp::HEADER_END].copy_from_slice(&message[..rmpp::HEADER_END]);
            self.deliver(world, id, agent, &first, message, false);
        }
    }

    /// Sends what a receiver has to say, sets its timer, and gives its message when it becomes whole.
    fn drive_reception(&mut self, world: &mut World, id: FileId, key: ReceiverKey) -> Option<Vec<u8>> {
        let file = self.files.get_mut(&id)?;
        let Reception { receiver, back } = file.receptions.get_mut(&key)?;
        while let Some(mad) = receiver.poll_transmit() {
            world.send(id.0, &Packet { mad, ..*back });
        }
        let message = receiver.take_message();
        match receiver.poll_timeout() {
            // An earlier time that was set fires as well, and does nothing.
            Some(time) => drop(self.timers.insert((time, id, Timer::Receiver(key)))),
            None => drop(file.receptions.remove(&key)),
        }
        message
    }

    pub(super) fn reception_timeout(&mut self, world: &mut World, id: FileId, key: ReceiverKey) {
        let Some(reception) = self.files.get_mut(&id).and_then(|file| file.receptions.get_mut(&key)) else { return };
        reception.receiver.handle_timeout(world.now());
        self.drive_reception(world, id, key);
    }
}
