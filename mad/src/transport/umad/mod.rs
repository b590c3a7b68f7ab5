//! A port of this machine, through the kernel's user-space management datagrams (`/dev/infiniband/umadN`).
//!
//! The caller's thread writes; one thread waits with `poll(2)` and reads. So a request never waits for a thread to wake up, and reading
//! goes on while the caller computes. `poll` in ibsim's preload library knows one descriptor only: nothing can wake it but a datagram
//! or its timeout, which is how the thread learns of its end.

mod abi;
mod device;
mod sysfs;

use super::Clock;
use super::{Address, Delivery, Envelope, Transport, TransportError};
use crate::Time;
use crate::exchange::Limits;
use crate::wire::{Class, Method};
use abi::Layout;
use crossbeam::channel::{Receiver, RecvTimeoutError, Sender, bounded};
use device::Device;
use nix::errno::Errno;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// A port of an InfiniBand adapter of this machine, for subnet management: SMPs on queue pair 0.
///
/// Requests that the kernel could not send, or got no answer to within [`Umad::TIMEOUT`], come back as [`Delivery::Undeliverable`].
/// Runs under ibsim's preload library (`LD_PRELOAD=libumad2sim.so`) too, with a limit of 1,024 open files at most.
#[derive(Debug)]
pub struct Umad {
    /// `DEVICE:PORT`, for messages.
    name: String,
    device: Arc<Device>,
    layout: Layout,
    directed_agent: u32,
    lid_agent: u32,
    issm_path: String,
    issm: Option<Device>,
    /// Found undeliverable when sending.
    returned: VecDeque<Delivery>,
    arrived: Receiver<Result<Delivery, TransportError>>,
    stop: Arc<AtomicBool>,
    reader: Option<JoinHandle<()>>,
    clock: Clock,
}

impl Umad {
    /// How long the kernel waits for an answer; without a limit, it would not let any answer in. Shorter than
    /// [`crate::exchange::Limits::TIMEOUT`]: as long as the kernel waits, it refuses the same transaction id.
    pub const TIMEOUT: Duration = Duration::from_millis(200);

    /// Opens the port named `DEVICE` or `DEVICE:PORT` (as in `mlx5_0:1`). Without a name, or with a device of several ports, the one
    /// that can be used for subnet management; of several, the one whose link is up.
    ///
    /// # Errors
    /// When there is no such port or more than one, when it is not InfiniBand, when this user may not open it, or when another
    /// program is already registered for the requests that a subnet manager gets.
    pub fn open(device: Option<&str>) -> Result<Self, TransportError> {
        let port = sysfs::find(device)?;
        let name = format!("{}:{}", port.device, port.port);
        let path = format!("/dev/infiniband/umad{}", port.number);
        let device = Device::open(&path).map_err(|source| TransportError::Io {
            what: format!("{name}: {path}{}", if source.kind() == io::ErrorKind::PermissionDenied { " (root may)" } else { "" }),
            source,
        })?;
        let enabled = device.enable_pkey().is_ok();
        let (second, directed_agent) = register(&device, &name, Class::SUBN_DIRECTED)?;
        let (_, lid_agent) = register(&device, &name, Class::SUBN_LID)?;
        // ibsim's preload library grants the request for the new layout, but keeps to the old one. It refuses REGISTER_AGENT2.
        let layout = if second || enabled && port.hca_type != "simulator" { Layout::New } else { Layout::Old };

        let device = Arc::new(device);
        let stop = Arc::new(AtomicBool::new(false));
        let (sender, arrived) = bounded(ARRIVED_MAX);
        let reader = Reader { name: name.clone(), device: Arc::clone(&device), layout, stop: Arc::clone(&stop), sender };
        let reader = std::thread::Builder::new()
            .name("umad".to_owned())
            .spawn(move || reader.run())
            .map_err(|source| TransportError::Io { what: format!("{name}: reader thread"), source })?;
        Ok(Self {
            name,
            device,
            layout,
            directed_agent,
            lid_agent,
            issm_path: format!("/dev/infiniband/issm{}", port.number),
            issm: None,
            returned: VecDeque::new(),
            arrived,
            stop,
            reader: Some(reader),
            clock: Clock::start(),
        })
    }
}

impl Transport for Umad {
    fn now(&self) -> Time {
        self.clock.now()
    }

    fn send(&mut self, envelope: &Envelope) -> Result<(), TransportError> {
        let agent = match envelope.address {
            Address::Directed => self.directed_agent,
            Address::Lid { .. } => self.lid_agent,
        };
        let method = envelope.mad.method();
        let wants_answer = !method.is_response() && method != Method::TRAP_REPRESS;
        let timeout_ms = if wants_answer { Self::TIMEOUT.as_millis() as u32 } else { 0 };
        match self.device.write(&abi::encode(envelope, self.layout, agent, timeout_ms)) {
            Ok(()) => Ok(()),
            // A directed route that does not begin at this port, or a transaction id that the kernel still waits for; or no memory.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ENOMEM | libc::EAGAIN)) => {
                self.returned.push_back(Delivery::Undeliverable(envelope.clone()));
                Ok(())
            }
            Err(source) => Err(TransportError::Io { what: format!("{}: sending", self.name), source }),
        }
    }

    fn receive(&mut self, deadline: Option<Time>) -> Result<Option<Delivery>, TransportError> {
        if let Some(delivery) = self.returned.pop_front() {
            return Ok(Some(delivery));
        }
        let received = match deadline {
            None => self.arrived.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(deadline) => self.arrived.recv_timeout(deadline.since(self.now())),
        };
        match received {
            Ok(delivery) => delivery.map(Some),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(TransportError::Other(format!("{}: nothing reads the device any more", self.name))),
        }
    }

    fn set_is_sm(&mut self, is_sm: bool) -> Result<(), TransportError> {
        // The kernel keeps IsSM set for as long as the file is open.
        if !is_sm {
            self.issm = None;
        } else if self.issm.is_none() {
            let issm = Device::open(&self.issm_path).map_err(|source| TransportError::Io {
                what: if source.kind() == io::ErrorKind::WouldBlock {
                    format!("{}: another subnet manager runs on this port (it holds {})", self.name, self.issm_path)
                } else {
                    format!("{}: {}", self.name, self.issm_path)
                },
                source,
            })?;
            self.issm = Some(issm);
        }
        Ok(())
    }
}

impl Drop for Umad {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // A reader that waits for room in the channel goes on when the channel has no receiver.
        let (_, none) = bounded(0);
        self.arrived = none;
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

/// Registers for a class. Whether REGISTER_AGENT2 was there (Linux 3.18 has it), and the agent's id.
fn register(device: &Device, name: &str, class: Class) -> Result<(bool, u32), TransportError> {
    let mut argument2 = abi::registration2(class, METHODS);
    if device.register_agent2(&mut argument2).is_ok() {
        return Ok((true, abi::agent_id(&argument2)));
    }
    // EINVAL may mean either: no such request, or methods that another agent has. The older request tells.
    let mut argument = abi::registration(class, METHODS);
    match device.register_agent(&mut argument) {
        Ok(()) => Ok((false, abi::agent_id(&argument))),
        Err(errno) => {
            let why = match errno {
                Errno::EINVAL => {
                    ": another program gets the requests of subnet management on this port; is another subnet manager running?"
                }
                Errno::EPROTONOSUPPORT => ": the port has no queue pair 0 (a virtual function?)",
                _ => "",
            };
            Err(TransportError::Io { what: format!("{name}: registering for {class:?}{why}"), source: errno.into() })
        }
    }
}

// As the documentation of `Umad::TIMEOUT` says.
const _: () = assert!(Umad::TIMEOUT.as_millis() < Limits::TIMEOUT.as_millis());

/// What a subnet manager is asked and told by others: Get and Set of SMInfo, Trap, and TrapRepress.
const METHODS: u64 = 1 << Method::GET.0 | 1 << Method::SET.0 | 1 << Method::TRAP.0 | 1 << Method::TRAP_REPRESS.0;
/// Far more than are ever on the wire; beyond it the reader waits, and the kernel queues.
const ARRIVED_MAX: usize = 4096;
/// How soon the reader learns that it is to stop.
const POLL_MS: i32 = 50;

struct Reader {
    name: String,
    device: Arc<Device>,
    layout: Layout,
    stop: Arc<AtomicBool>,
    sender: Sender<Result<Delivery, TransportError>>,
}

impl Reader {
    fn run(self) {
        while !self.stop.load(Ordering::Relaxed) {
            if let Err(source) = self.device.wait(POLL_MS).and_then(|()| self.read_all()) {
                let what = format!("{}: reading; is the device gone?", self.name);
                // Without a receiver there is nobody left to tell.
                let _ = self.sender.send(Err(TransportError::Io { what, source }));
                return;
            }
        }
    }

    fn read_all(&self) -> io::Result<()> {
        let mut packet = [0; abi::PACKET_MAX];
        while let Some(length) = self.device.read(&mut packet)? {
            let Some((status, envelope)) = abi::decode(&packet[..length], self.layout) else { continue };
            let delivery = if status == 0 { Delivery::Received(envelope) } else { Delivery::Undeliverable(envelope) };
            if self.sender.send(Ok(delivery)).is_err() {
                return Ok(());
            }
        }
        Ok(())
    }
}
