//! Waiting for many sockets at once.

use heddle_mad::Time;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use std::io;
use std::os::fd::AsFd;
use std::rc::Rc;
use std::thread::yield_now;
use std::time::{Duration, Instant};

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

/// A socket that clients connect to. When there are no descriptors for another one it rests: until it has accepted whoever waits it is
/// ready all the time.
pub(crate) struct Listener<S> {
    socket: S,
    watch: Watch,
    number: u32,
    rests_until: Option<Time>,
}

/// Nothing tells that there are descriptors again: it is tried.
const REST: Duration = Duration::from_secs(1);

/// Whoever was answered often asks again at once. To sleep, and to be woken by him, would cost both of them more than to look some times.
const LINGER: Duration = Duration::from_micros(50);

impl Poller {
    pub(crate) fn new() -> io::Result<Self> {
        let epoll = Rc::new(Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?);
        Ok(Self { epoll, events: vec![EpollEvent::empty(); 64] })
    }

    /// Waits at most so long, to the microsecond. Gives the doors and sockets that are ready: none when time is up, or a signal came.
    pub(crate) fn wait(&mut self, at_most: Duration) -> io::Result<Vec<(u32, u32, Ready)>> {
        let began = Instant::now();
        let linger = LINGER.min(at_most);
        let mut found = self.look(0)?;
        while found == 0 && began.elapsed() < linger {
            yield_now();
            found = self.look(0)?;
        }
        if found == 0 {
            found = self.sleep(at_most.saturating_sub(linger))?;
        }
        let both = EpollFlags::EPOLLERR | EpollFlags::EPOLLHUP;
        let ready = |event: &EpollEvent| Ready {
            read: event.events().intersects(EpollFlags::EPOLLIN | both),
            write: event.events().intersects(EpollFlags::EPOLLOUT | both),
        };
        Ok(self.events[..found].iter().map(|event| ((event.data() >> 32) as u32, event.data() as u32, ready(event))).collect())
    }

    fn sleep(&mut self, at_most: Duration) -> io::Result<usize> {
        // epoll counts in milliseconds: the rest of one is waited for in another way.
        let whole = u16::try_from(at_most.as_millis()).unwrap_or(u16::MAX);
        if whole == 0 && !at_most.is_zero() {
            let mut epoll = [PollFd::new(self.epoll.0.as_fd(), PollFlags::POLLIN)];
            match ppoll(&mut epoll, Some(at_most.into()), None) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        self.look(whole)
    }

    fn look(&mut self, milliseconds: u16) -> io::Result<usize> {
        match self.epoll.wait(&mut self.events, EpollTimeout::from(milliseconds)) {
            Err(Errno::EINTR) => Ok(0),
            found => Ok(found?),
        }
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

impl<S: AsFd> Listener<S> {
    pub(crate) fn new(socket: S, watch: &Watch, number: u32) -> io::Result<Self> {
        watch.add(&socket, number)?;
        Ok(Self { socket, watch: watch.clone(), number, rests_until: None })
    }

    pub(crate) fn socket(&self) -> &S {
        &self.socket
    }

    /// Nobody can be accepted for want of descriptors.
    pub(crate) fn rest(&mut self, now: Time) {
        self.rests_until = Some(now + REST);
        self.show(false);
    }

    /// Somebody may be accepted again.
    pub(crate) fn wake(&mut self) {
        if self.rests_until.take().is_some() {
            self.show(true);
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Time) {
        if self.rests_until.is_some_and(|until| until <= now) {
            self.wake();
        }
    }

    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        self.rests_until
    }

    fn show(&self, read: bool) {
        // It is watched already: for a change nothing is needed that may be wanting.
        let _ = self.watch.change(self.socket.as_fd(), self.number, Ready { read, write: false });
    }
}
