use super::Datagram;
use nix::sys::socket::{MsgFlags, MultiHeaders, recvmmsg, sendmmsg};
use std::io::{IoSlice, IoSliceMut};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixDatagram;

/// Reads and writes many datagrams by one system call: the calls are most of what a datagram costs.
pub(super) struct Bulk {
    headers: MultiHeaders<()>,
    /// A byte more shows what is too long.
    received: Box<[[u8; Datagram::SIZE + 1]; Self::MANY]>,
}

impl Bulk {
    /// So many at once; then it is another socket's turn. With more, a client with few requests under way would wait for all of its
    /// answers while the server works, and the other way round.
    const MANY: usize = 16;

    pub(super) fn new() -> Self {
        Self { headers: MultiHeaders::preallocate(Self::MANY, None), received: Box::new([[0; Datagram::SIZE + 1]; Self::MANY]) }
    }

    /// Datagrams that are there; of one that is too long, a byte more than it may have.
    pub(super) fn receive(&mut self, socket: &UnixDatagram) -> nix::Result<impl Iterator<Item = &[u8]> + use<'_>> {
        let mut lengths = [0; Self::MANY];
        let mut slices = self.received.each_mut().map(|bytes| [IoSliceMut::new(bytes)]);
        let found = recvmmsg(socket.as_raw_fd(), &mut self.headers, slices.iter_mut(), MsgFlags::MSG_DONTWAIT, None)?;
        let received = found.zip(&mut lengths).map(|(message, length)| *length = message.bytes).count();
        Ok(self.received.iter().zip(lengths).take(received).map(|(bytes, length)| &bytes[..length]))
    }

    /// Sends the first of these. Gives how many.
    pub(super) fn send<'a>(
        &mut self,
        socket: &UnixDatagram,
        datagrams: impl Iterator<Item = &'a [u8; Datagram::SIZE]>,
    ) -> nix::Result<usize> {
        let mut slices: [_; Self::MANY] = std::array::from_fn(|_| [IoSlice::new(&[])]);
        let count = slices.iter_mut().zip(datagrams).map(|(slice, datagram)| slice[0] = IoSlice::new(datagram)).count();
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
        Ok(sendmmsg(socket.as_raw_fd(), &mut self.headers, &slices[..count], [None; Self::MANY], [], flags)?.count())
    }
}
