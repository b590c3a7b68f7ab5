//! Waiting for many sockets at once.

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use std::io;
use std::os::fd::AsFd;
use std::rc::Rc;
use std::time::Duration;

/// Waits for the sockets of all doors.
pub(crate) struct Poller {
    epoll: Rc<Epoll>,
    events: Vec<EpollEvent>,
}

/// What a socket is ready for. An error or a hang-up counts as both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ready {
    pub(crate) read: bool,
    pub(crate) write: bool,
}

/// A door's part of the waiting: it names its sockets by numbers.
#[derive(Clone)]
pub(crate) struct Watch {
    epoll: Rc<Epoll>,
    door: u32,
}

impl Poller {
    pub(crate) fn new() -> io::Result<Self> {
        let epoll = Rc::new(Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?);
        Ok(Self { epoll, events: vec![EpollEvent::empty(); 64] })
    }

    /// Waits at most so long, to the microsecond. Gives the doors and sockets that are ready: none when time is up, or a signal came.
    pub(crate) fn wait(&mut self, at_most: Duration) -> io::Result<Vec<(u32, u32, Ready)>> {
        // epoll counts in milliseconds: the rest of one is waited for in another way.
        let whole = u16::try_from(at_most.as_millis()).unwrap_or(u16::MAX);
        if whole == 0 && !at_most.is_zero() {
            let mut epoll = [PollFd::new(self.epoll.0.as_fd(), PollFlags::POLLIN)];
            match ppoll(&mut epoll, Some(at_most.into()), None) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        let found = match self.epoll.wait(&mut self.events, EpollTimeout::from(whole)) {
            Err(Errno::EINTR) => 0,
            found => found?,
        };
        let both = EpollFlags::EPOLLERR | EpollFlags::EPOLLHUP;
        let ready = |event: &EpollEvent| Ready {
            read: event.events().intersects(EpollFlags::EPOLLIN | both),
            write: event.events().intersects(EpollFlags::EPOLLOUT | both),
        };
        Ok(self.events[..found].iter().map(|event| ((event.data() >> 32) as u32, event.data() as u32, ready(event))).collect())
    }
}

impl Watch {
    pub(crate) fn new(poller: &Poller, door: u32) -> Self {
        Self { epoll: Rc::clone(&poller.epoll), door }
    }

    /// Watches a socket until it is closed: whether it can be read, for the time being.
    pub(crate) fn add(&self, socket: impl AsFd, number: u32) -> io::Result<()> {
        Ok(self.epoll.add(socket, self.event(number, Ready { read: true, write: false }))?)
    }

    /// Changes what a socket is watched for.
    pub(crate) fn change(&self, socket: impl AsFd, number: u32, wanted: Ready) -> io::Result<()> {
        Ok(self.epoll.modify(socket, &mut self.event(number, wanted))?)
    }

    fn event(&self, number: u32, wanted: Ready) -> EpollEvent {
        let mut flags = EpollFlags::empty();
        flags.set(EpollFlags::EPOLLIN, wanted.read);
        flags.set(EpollFlags::EPOLLOUT, wanted.write);
        EpollEvent::new(flags, u64::from(self.door) << 32 | u64::from(number))
    }
}
