//! What the Linux kernel's `ib_umad` does for the programs on a host, on top of a [`World`]: agents, transaction ids, timeouts and
//! repetitions, RMPP, and the errors of each call. Without I/O and without a clock.
//!
//! Facts are from Linux 6.12, `drivers/infiniband/core/{user_mad,mad,mad_rmpp,smi}.c`. A file is a client of the world; where the kernel
//! numbers agents (`hi_tid`, bits 63 to 32 of transaction ids), this uses the client's number and, in the lower half, the agent's.

mod abi;
mod agent;
mod local;
mod receive;
mod send;
pub mod sysfs;

pub use abi::{Errno, Registration};

use crate::clients::{ClientId, Delivered, Interest, Losses};
use crate::world::World;
use abi::{HEADER, Header, OLD_HEADER};
use agent::Agent;
use heddle_fabric::PortRef;
use heddle_mad::Time;
use receive::Reception;
use send::{Send, SendKey};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// An open `/dev/infiniband/umadN`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(ClientId);

/// An open `/dev/infiniband/issmN`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IssmId(ClientId);

/// What a program reads in one piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The header, of 56 or 64 bytes.
    pub header: Vec<u8>,
    /// A MAD, the 24 bytes of the header of one that timed out, or a whole message of many segments.
    pub data: Vec<u8>,
}

/// All open files of all programs.
#[derive(Debug, Default)]
pub struct Kernel {
    files: BTreeMap<FileId, File>,
    /// The one that holds IsSM at a port.
    issm: BTreeMap<PortRef, IssmId>,
    timers: BTreeSet<(Time, FileId, Timer)>,
    /// Files that got something to read since the last [`Kernel::poll_readable`].
    readable: BTreeSet<FileId>,
    /// Distinguishes sends that are alike otherwise.
    sent: u64,
}

/// What a file waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    Send(SendKey),
    Receiver(ReceiverKey),
}

/// A message that comes in segments: the agent, transaction, queue pair and LID of the sender, class, version and method.
type ReceiverKey = (u8, u64, u32, u16, u8, u8, u8);

#[derive(Debug)]
struct File {
    at: PortRef,
    /// Whether headers have 64 bytes.
    p_key_index: bool,
    /// Whether an agent was ever registered.
    used: bool,
    agents: [Option<Agent>; AGENTS_MAX],
    sends: BTreeMap<SendKey, Send>,
    receptions: BTreeMap<ReceiverKey, Reception>,
    queue: VecDeque<Message>,
    queued_bytes: usize,
}

/// Agents a file can have.
const AGENTS_MAX: usize = 32;
/// What a file holds that nobody reads; beyond, packets are lost.
const QUEUE_MAX: usize = 200_000;
/// The same in bytes. (The kernel has no such limit, but it is not the emulator's memory there.)
const QUEUE_BYTES_MAX: usize = 256 << 20;

impl Kernel {
    /// Opens `umadN` of a port. `None` when there is no such end port, or there are too many clients.
    pub fn open(&mut self, world: &mut World, at: PortRef) -> Option<FileId> {
        let id = FileId(world.attach(at, Losses::Silent).ok()?);
        let file = File {
            at,
            p_key_index: false,
            used: false,
            agents: [const { None }; AGENTS_MAX],
            sends: BTreeMap::new(),
            receptions: BTreeMap::new(),
            queue: VecDeque::new(),
            queued_bytes: 0,
        };
        self.files.insert(id, file);
        Some(id)
    }

    /// Closes a file: its agents are gone, and what it waited for.
    pub fn close(&mut self, world: &mut World, file: FileId) {
        world.detach(file.0);
        self.files.remove(&file);
        self.readable.remove(&file);
        self.timers.retain(|&(_, other, _)| other != file);
    }

    /// Opens `issmN` of a port, which sets IsSM there. `None` when somebody else has it open (or there is no such port, or too many
    /// clients): the kernel then waits, or says EAGAIN to who does not want to wait.
    pub fn open_issm(&mut self, world: &mut World, at: PortRef) -> Option<IssmId> {
        if self.issm.contains_key(&at) {
            return None;
        }
        let id = IssmId(world.attach(at, Losses::Silent).ok()?);
        world.set_is_sm(id.0, true);
        self.issm.insert(at, id);
        Some(id)
    }

    /// Closes it, which takes IsSM back.
    pub fn close_issm(&mut self, world: &mut World, issm: IssmId) {
        self.issm.retain(|_, other| *other != issm);
        world.detach(issm.0);
    }

    /// ENABLE_PKEY: headers have 64 bytes from now on.
    ///
    /// # Errors
    /// EINVAL once an agent was registered.
    pub fn enable_p_key(&mut self, file: FileId) -> Result<(), Errno> {
        let file = self.files.get_mut(&file).ok_or(Errno::EIO)?;
        if file.used {
            return Err(Errno::EINVAL);
        }
        file.p_key_index = true;
        Ok(())
    }

    /// REGISTER_AGENT, or (`second`) REGISTER_AGENT2, with which headers have 64 bytes from then on. The agent's number.
    ///
    /// # Errors
    /// EINVAL for what does not fit together, or is taken by another agent of the port; ENOMEM for more than 32 agents; EPROTONOSUPPORT
    /// where there is no subnet management.
    pub fn register(&mut self, world: &mut World, file: FileId, registration: Registration, second: bool) -> Result<u32, Errno> {
        let at = self.files.get(&file).ok_or(Errno::EIO)?.at;
        let agent = Agent::new(registration)?;
        let free = self.files[&file].agents.iter().position(Option::is_none).ok_or(Errno::ENOMEM)?;
        agent::check_port(world, at, &registration)?;
        let here = self.files.values().filter(|file| file.at == at);
        if here.flat_map(|file| file.agents.iter().flatten()).any(|other| agent.overlaps(other)) {
            return Err(Errno::EINVAL);
        }
        let Some(open) = self.files.get_mut(&file) else { return Err(Errno::EIO) };
        open.agents[free] = Some(agent);
        open.p_key_index |= second && !open.used;
        open.used = true;
        world.set_interests(file.0, open.interests());
        Ok(free as u32)
    }

    /// UNREGISTER_AGENT: the agent is gone, and what it waited for.
    ///
    /// # Errors
    /// EINVAL without such an agent.
    pub fn unregister(&mut self, world: &mut World, file: FileId, agent: u32) -> Result<(), Errno> {
        let open = self.files.get_mut(&file).ok_or(Errno::EIO)?;
        let index = u8::try_from(agent).map_err(|_| Errno::EINVAL)?;
        open.agents.get_mut(usize::from(index)).and_then(Option::take).ok_or(Errno::EINVAL)?;
        open.sends.retain(|_, send| send.agent != index);
        open.receptions.retain(|key, _| key.0 != index);
        world.set_interests(file.0, open.interests());
        Ok(())
    }

    /// Takes what comes for one of the world's clients; whether that is a file of this.
    pub fn handle(&mut self, world: &mut World, client: ClientId, delivered: &Delivered) -> bool {
        if !self.files.contains_key(&FileId(client)) {
            return self.issm.values().any(|issm| issm.0 == client);
        }
        if let Delivered::Received(packet) = delivered {
            self.receive(world, FileId(client), packet);
        }
        true
    }

    /// To be called when the time of [`Kernel::poll_timeout`] has come: requests are sent again, or end.
    pub fn handle_timeout(&mut self, world: &mut World) {
        let now = world.now();
        while let Some(&(time, id, timer)) = self.timers.first()
            && time <= now
        {
            self.timers.pop_first();
            match timer {
                Timer::Send(key) => self.send_timeout(world, id, key),
                Timer::Receiver(key) => self.reception_timeout(world, id, key),
            }
        }
    }

    /// When to call [`Kernel::handle_timeout`]. May change with every call.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.timers.first().map(|&(time, ..)| time)
    }

    /// A file that has something to read, once for each time that something was added.
    pub fn poll_readable(&mut self) -> Option<FileId> {
        self.readable.pop_first()
    }

    /// The next thing to read from a file.
    pub fn read(&mut self, file: FileId) -> Option<Message> {
        let file = self.files.get_mut(&file)?;
        let message = file.queue.pop_front()?;
        file.queued_bytes -= message.data.len();
        Some(message)
    }

    /// Gives a file something to read.
    fn queue(&mut self, id: FileId, agent: u8, mut header: Header, data: Vec<u8>) {
        let Some(file) = self.files.get_mut(&id) else { return };
        if file.queue.len() >= QUEUE_MAX || file.queued_bytes + data.len() > QUEUE_BYTES_MAX {
            return;
        }
        header.set_agent(agent.into());
        file.queued_bytes += data.len();
        file.queue.push_back(Message { header: header.0[..file.header_size()].to_vec(), data });
        self.readable.insert(id);
    }
}

impl File {
    fn header_size(&self) -> usize {
        if self.p_key_index { HEADER } else { OLD_HEADER }
    }

    fn agent(&self, index: u8) -> Option<&Agent> {
        self.agents.get(usize::from(index))?.as_ref()
    }

    fn interests(&self) -> Vec<Interest> {
        let agents = self.agents.iter().flatten().map(|agent| agent.registration);
        agents
            .filter(|registration| registration.methods != 0)
            .map(|Registration { class, version, methods, .. }| Interest { class, version, methods })
            .collect()
    }
}
