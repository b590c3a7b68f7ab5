use crate::{Event, SubnetManager};
use heddle_mad::transport::{Transport, TransportError};

/// Runs a subnet manager on a transport until `watch`, which is told every event, returns false.
///
/// # Errors
/// When the transport ends.
pub fn drive(sm: &mut SubnetManager, transport: &mut dyn Transport, mut watch: impl FnMut(&Event) -> bool) -> Result<(), TransportError> {
    loop {
        let now = transport.now();
        sm.handle_timeout(now);
        while let Some(envelope) = sm.poll_transmit(now) {
            transport.send(&envelope)?;
        }
        while let Some(event) = sm.poll_event() {
            if !watch(&event) {
                return Ok(());
            }
        }
        if let Some(delivery) = transport.receive(sm.poll_timeout())? {
            sm.handle(transport.now(), delivery);
        }
    }
}
