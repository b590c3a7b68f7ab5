use crate::clients::{ClientId, Delivered, Interest, Losses};
use crate::packet::{PERMISSIVE_LID, Packet};
use crate::timing::Timing;
use crate::world::{EmulatorError, World};
use heddle_fabric::{Fabric, PortRef};
use heddle_mad::Time;
use heddle_mad::transport::{Address, Delivery, Envelope, Transport, TransportError};
use heddle_mad::wire::Class;

/// A [`World`] in virtual time, with one client: a subnet manager in the same process.
///
/// Time moves only in [`Transport::receive`]: it jumps to the next thing that happens, or to the deadline. Packets and agents take as
/// long as on hardware ([`Timing::Hardware`]). A packet that is lost gets no answer; the sender's timeout has to notice. Of a transaction
/// id the low 48 bits come back as they were, as with the Linux kernel, which owns even more of them.
#[derive(Debug)]
pub struct Emulator {
    world: World,
    client: ClientId,
    attach: PortRef,
}

impl Emulator {
    /// Powers the fabric on, with the subnet manager at `attach`: a port of a host, or port 0 of a switch. LIDs that the fabric brings
    /// are not used. `O(nodes + ports)`.
    ///
    /// # Errors
    /// [`EmulatorError`] when the manager cannot be there.
    pub fn new(fabric: &Fabric, attach: PortRef) -> Result<Self, EmulatorError> {
        let mut world = World::new(fabric);
        world.set_timing(Timing::Hardware { seed: 0 });
        let client = world.attach(attach, Losses::Silent)?;
        let classes = [(Class::SUBN_LID, 1), (Class::SUBN_DIRECTED, 1), (Class::SUBN_ADM, 2)];
        world.set_interests(client, classes.map(|(class, version)| Interest::all(class.0, version)).to_vec());
        Ok(Self { world, client, attach })
    }

    /// The fabric, to be looked at.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The fabric, to let something happen to it.
    pub fn world_mut(&mut self) -> &mut World {
        &mut self.world
    }

    /// Where the subnet manager is.
    pub fn attach(&self) -> PortRef {
        self.attach
    }
}

impl Transport for Emulator {
    fn now(&self) -> Time {
        self.world.now()
    }

    fn send(&mut self, envelope: &Envelope) -> Result<(), TransportError> {
        let (dlid, qp) = match envelope.address {
            Address::Directed => (PERMISSIVE_LID, 0),
            Address::Lid { lid, qp } => (lid, qp),
        };
        let packet = Packet { src_qp: qp, dst_qp: qp, ..Packet::smp(dlid, envelope.mad) };
        self.world.send(self.client, &packet);
        Ok(())
    }

    /// As [`Transport::receive`]. Without a deadline and with nothing that will ever happen it is an error, not a wait without end.
    fn receive(&mut self, deadline: Option<Time>) -> Result<Option<Delivery>, TransportError> {
        loop {
            if let Some((_, delivered)) = self.world.poll_delivery() {
                let envelope = |packet: &Packet, lid, qp| {
                    let address = if lid == PERMISSIVE_LID { Address::Directed } else { Address::Lid { lid, qp } };
                    Envelope { address, mad: packet.mad }
                };
                return Ok(Some(match delivered {
                    Delivered::Received(packet) => Delivery::Received(envelope(&packet, packet.slid, packet.src_qp)),
                    Delivered::Lost(packet) => Delivery::Undeliverable(envelope(&packet, packet.dlid, packet.dst_qp)),
                }));
            }
            match (self.world.poll_timeout(), deadline) {
                (Some(next), _) if deadline.is_none_or(|deadline| next <= deadline.max(self.now())) => self.world.handle_timeout(next),
                (_, Some(deadline)) => {
                    self.world.handle_timeout(deadline);
                    return Ok(None);
                }
                (_, None) => {
                    return Err(TransportError::Other(
                        "the emulated fabric is at rest: no packet is under way, no event is scheduled, and no deadline was given"
                            .to_owned(),
                    ));
                }
            }
        }
    }

    fn set_is_sm(&mut self, is_sm: bool) -> Result<(), TransportError> {
        self.world.set_is_sm(self.client, is_sm);
        Ok(())
    }
}
