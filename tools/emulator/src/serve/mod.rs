//! A world for other programs: sockets on this machine, and the machine's time.
//!
//! One thread waits for all sockets. What they have to do with the world is the matter of *doors*, one for each way of speaking with it:
//! the protocol of ibsim, commands, and umad for the preload library. None of them ever blocks: what a program does not take waits in a
//! queue with a bound, and nobody else notices.

mod commands;
mod ibsim;
mod log;
mod programs;
mod protocol;
mod umad;
mod watch;

use crate::clients::{ClientId, Delivered};
use crate::world::World;
use commands::Commands;
pub use commands::command;
use heddle_mad::Time;
use heddle_mad::transport::Clock;
use ibsim::Ibsim;
use log::Log;
pub use programs::{Programs, ProgramsError, VisibleDevice};
use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use umad::Umad;
use watch::{Poller, Ready, Watch};

/// Why a world cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Somebody serves under this name already.
    #[error(
        "the name \"{name}\" is taken: an emulator or ibsim with this name runs on this machine (abstract socket @{socket}); \
         choose another one"
    )]
    NameTaken {
        /// The name.
        name: String,
        /// The socket that exists already.
        socket: String,
    },
    /// The name cannot be part of the name of a socket.
    #[error("\"{name}\" cannot be the name of an emulator: expected 1 to 80 characters, neither \":\" nor control characters")]
    BadName {
        /// The name.
        name: String,
    },
    /// The system refuses something.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// The system's reason.
        source: io::Error,
    },
}

/// Serves a [`World`] to the programs of this machine, in the machine's time.
///
/// Its sockets have abstract names that begin with its own, so that nothing is left of them when it is dropped, or killed:
///
/// - `NAME:ctl` and `NAME:outN`: the protocol of ibsim, for programs under its preload library and for [`heddle_mad::transport::Ibsim`];
/// - `NAME:heddle`: commands, a line for each, of which each gets a line as its answer ([`crate::control`]);
/// - `NAME:umad`: descriptors and files of programs under `heddle run`, with what the kernel does for them ([`crate::kernel`]).
///
/// A program that does not read is owed at most 16,384 datagrams (under `heddle run` 200,000, as in the kernel); what more comes for it is
/// lost, as at a full receive queue. One that dies is noticed within a second.
pub struct Server {
    hall: Hall,
    poller: Poller,
    doors: Vec<Box<dyn Door>>,
    clock: Clock,
}

/// What all doors share.
pub(crate) struct Hall {
    pub(crate) world: World,
    /// For whoever watches the server.
    pub(crate) log: Log,
}

/// A way for programs to come to the world.
pub(crate) trait Door {
    /// A socket is ready, which this door watches under the number `socket`.
    fn ready(&mut self, hall: &mut Hall, socket: u32, ready: Ready);

    /// Takes what the world has for a client. Gives false if the client came by another door.
    fn deliver(&mut self, hall: &mut Hall, client: ClientId, delivered: &Delivered) -> bool;

    /// Sends what has been waiting. Called after everything else.
    fn flush(&mut self, hall: &mut Hall);

    /// Does what is due at the world's present time.
    fn handle_timeout(&mut self, hall: &mut Hall);

    /// When something is due next.
    fn poll_timeout(&self) -> Option<Time>;
}

/// A signal is noticed within this time, should it not interrupt the waiting.
const GLANCE: Duration = Duration::from_millis(250);

impl Server {
    /// Opens the sockets of the server `name`. `tell` gets what whoever runs the server should know, mostly of what its clients do
    /// wrong: at most 20 lines in 10 seconds.
    ///
    /// # Errors
    /// When the name is taken, or none.
    pub fn open(world: World, name: &str, tell: impl FnMut(&str) + 'static) -> Result<Self, ServeError> {
        if name.is_empty() || name.len() > 80 || name.contains(|c: char| c == ':' || c.is_control()) {
            return Err(ServeError::BadName { name: name.into() });
        }
        let failed = |socket: &str| {
            let socket = format!("{name}:{socket}");
            move |source: io::Error| match source.kind() {
                ErrorKind::AddrInUse => ServeError::NameTaken { name: name.into(), socket },
                _ => ServeError::Io { what: format!("cannot open the abstract socket @{socket}"), source },
            }
        };
        let poller = Poller::new().map_err(|source| ServeError::Io { what: "cannot wait for sockets".into(), source })?;
        let watch = |door| Watch::new(&poller, door);
        let doors: Vec<Box<dyn Door>> = vec![
            Box::new(Ibsim::open(name, watch(0)).map_err(failed("ctl"))?),
            Box::new(Commands::open(name, watch(1)).map_err(failed("heddle"))?),
            Box::new(Umad::open(name, watch(2)).map_err(failed("umad"))?),
        ];
        Ok(Self { hall: Hall { world, log: Log::new(tell) }, poller, doors, clock: Clock::start() })
    }

    /// Serves until `stop` is set, best by a handler of signals.
    ///
    /// # Errors
    /// When the system does not let it wait for its sockets.
    pub fn run(&mut self, stop: &AtomicBool) -> Result<(), ServeError> {
        while !stop.load(Ordering::Relaxed) {
            self.turn().map_err(|source| ServeError::Io { what: "cannot wait for sockets".into(), source })?;
        }
        Ok(())
    }

    /// Waits for something to do, and does it.
    fn turn(&mut self) -> io::Result<()> {
        let now = self.clock.now();
        let next = self.doors.iter().filter_map(|door| door.poll_timeout()).chain(self.hall.world.poll_timeout()).min();
        let wait = next.map_or(GLANCE, |next| next.since(now).min(GLANCE));
        let ready = self.poller.wait(wait)?;
        self.pass_time();
        for (door, socket, ready) in ready {
            let Some(door) = self.doors.get_mut(door as usize) else { continue };
            door.ready(&mut self.hall, socket, ready);
            self.hand_over();
            self.pass_time();
        }
        Ok(())
    }

    /// Lets happen what is due by the machine's clock.
    fn pass_time(&mut self) {
        let now = self.clock.now();
        self.hall.world.handle_timeout(now);
        for door in &mut self.doors {
            if door.poll_timeout().is_some_and(|due| due <= now) {
                door.handle_timeout(&mut self.hall);
            }
        }
        self.hand_over();
    }

    /// Hands over what the world has for its clients, until it has nothing more: who is found to have gone makes news for others.
    fn hand_over(&mut self) {
        loop {
            let mut delivered_any = false;
            while let Some((client, delivered)) = self.hall.world.poll_delivery() {
                let _taken = self.doors.iter_mut().any(|door| door.deliver(&mut self.hall, client, &delivered));
                delivered_any = true;
            }
            for door in &mut self.doors {
                door.flush(&mut self.hall);
            }
            if !delivered_any {
                return;
            }
        }
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("world", &self.hall.world).finish_non_exhaustive()
    }
}
