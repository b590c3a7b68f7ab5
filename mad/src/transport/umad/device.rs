//! The system calls on `/dev/infiniband/umadN` and `issmN`: the only unsafe code of this crate.
//!
//! Only functions of libc, because ibsim's preload library redirects those. A descriptor of its making is a number that the kernel
//! does not know, so it must never be an `OwnedFd`, which checks with the kernel when it is dropped.
#![allow(unsafe_code)]

use super::abi::{Registration, Registration2, enable_pkey, register_agent, register_agent2};
use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;
use std::io;
use std::os::fd::{IntoRawFd, RawFd};

/// An open device file. Never blocks in `read`.
#[derive(Debug)]
pub(super) struct Device(RawFd);

impl Device {
    pub(super) fn open(path: &str) -> io::Result<Self> {
        let descriptor = open(path, OFlag::O_RDWR | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC, Mode::empty())?;
        Ok(Self(descriptor.into_raw_fd()))
    }

    /// Asks for the 64-byte header. Must come before any registration.
    pub(super) fn enable_pkey(&self) -> nix::Result<()> {
        // SAFETY: this request has no argument.
        unsafe { enable_pkey(self.0) }.map(drop)
    }

    pub(super) fn register_agent(&self, argument: &mut Registration) -> nix::Result<()> {
        // SAFETY: the kernel reads and writes 28 bytes, which is the size of the argument, and the number of the request says so.
        unsafe { register_agent(self.0, argument) }.map(drop)
    }

    pub(super) fn register_agent2(&self, argument: &mut Registration2) -> nix::Result<()> {
        // SAFETY: as above, with 40 bytes.
        unsafe { register_agent2(self.0, argument) }.map(drop)
    }

    /// Writes one packet.
    pub(super) fn write(&self, packet: &[u8]) -> io::Result<()> {
        // SAFETY: the pointer and the length are those of a slice.
        let written = unsafe { libc::write(self.0, packet.as_ptr().cast(), packet.len()) };
        let written = count(written)?;
        if written == packet.len() { Ok(()) } else { Err(io::Error::other(format!("only {written} bytes were taken"))) }
    }

    /// Reads one packet; `None` when there is none.
    pub(super) fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        // SAFETY: the pointer and the length are those of a slice that nobody else has.
        let read = unsafe { libc::read(self.0, buffer.as_mut_ptr().cast(), buffer.len()) };
        match count(read) {
            Ok(0) => Ok(None),
            Ok(read) => Ok(Some(read.min(buffer.len()))),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Waits until there is something to read, or an error to find by reading, or the time is over.
    pub(super) fn wait(&self, timeout_ms: i32) -> io::Result<()> {
        let mut poll = libc::pollfd { fd: self.0, events: libc::POLLIN, revents: 0 };
        // SAFETY: one element, as the count says.
        let ready = unsafe { libc::poll(&raw mut poll, 1, timeout_ms) };
        match count(ready as isize) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
            _ => Ok(()),
        }
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // SAFETY: the descriptor is ours and is not used afterwards.
        unsafe { libc::close(self.0) };
    }
}

/// The kernel's -1 with `errno`, or ibsim's negative error number in place of it.
fn count(returned: isize) -> io::Result<usize> {
    match returned {
        -1 => Err(io::Error::last_os_error()),
        error if error < 0 => Err(io::Error::from_raw_os_error(i32::try_from(-error).unwrap_or(libc::EIO))),
        count => Ok(count as usize),
    }
}
