//! Speaks with the emulator.

use crate::environment;
use crate::lock::Lock;
use crate::protocol::{self, PIECE_MAX, REQUEST_MAX, WRITE_MAX};
use crate::system::{self, Descriptor, Errno};
use libc::c_int;
use std::sync::atomic::{AtomicI32, Ordering};

/// The connection for requests, which are answered one after another.
pub(crate) static REQUESTS: Lock<Option<Descriptor>> = Lock::new(None);
/// Its descriptor, to be known without the lock: programs call close and dup2 in signal handlers, and while a request takes its time.
static CONNECTION: AtomicI32 = AtomicI32::new(-1);

/// In the child of a fork: the connection is the parent's.
pub(crate) fn forget_connection() {
    REQUESTS.with(drop_connection);
}

/// Whether the descriptor is this library's own.
pub(crate) fn is_connection(descriptor: c_int) -> bool {
    descriptor >= 0 && CONNECTION.load(Ordering::Relaxed) == descriptor
}

/// The program has closed the connection without knowing, or is about to.
pub(crate) fn lose_connection(descriptors: std::ops::RangeInclusive<c_int>) {
    let is_meant = || descriptors.contains(&CONNECTION.load(Ordering::Relaxed));
    if is_meant() {
        REQUESTS.with(|connection| {
            if is_meant() {
                drop_connection(connection);
            }
        });
    }
}

fn drop_connection(connection: &mut Option<Descriptor>) {
    CONNECTION.store(-1, Ordering::Relaxed);
    *connection = None;
}

/// Opens a umad or an issm: a socket whose other end is the file. Its descriptor, and its number in requests.
pub(crate) fn open(kind: u32, node: u32, port: u32, flags: c_int) -> Result<(Descriptor, u32), Errno> {
    let environment = environment::get().ok_or(Errno(libc::ENODEV))?;
    let socket = system::socket(if flags & libc::O_CLOEXEC != 0 { libc::SOCK_CLOEXEC } else { 0 })?;
    let number = system::bind_anywhere(&socket)?;
    // A device whose driver is gone has no file either.
    system::connect(&socket, &environment.socket).map_err(|_| Errno(libc::ENODEV))?;
    let at_once = u32::from(flags & libc::O_NONBLOCK != 0);
    system::send(socket.0, &words(&[kind, node, port, at_once]))?;
    let mut answer = [0; 4];
    if system::receive(socket.0, &mut answer, true)? != answer.len() {
        return Err(Errno(libc::EIO));
    }
    match i32::from_ne_bytes(answer) {
        0 => {}
        errno => return Err(Errno(errno)),
    }
    if flags & libc::O_NONBLOCK != 0 {
        system::set_nonblocking(&socket);
    }
    Ok((socket, number))
}

/// A request and its answer.
pub(crate) fn ask(head: &[u32], body: &[u8]) -> Result<Vec<u8>, Errno> {
    match answer_to(head, body)? {
        (0, answer) => Ok(answer),
        (errno, _) => Err(Errno(errno)),
    }
}

/// A request; the error number that it is answered with, 0 for none, and what else the answer says.
pub(crate) fn answer_to(head: &[u32], body: &[u8]) -> Result<(c_int, Vec<u8>), Errno> {
    let request = [&words(head)[..], body].concat();
    exchange(|socket| system::send(socket, &request))
}

/// Writes to a umad what a program writes.
///
/// # Safety
/// `data` must be readable for `size` bytes.
pub(crate) unsafe fn write(number: u32, data: *const u8, size: usize) -> Result<(), Errno> {
    // A null pointer is no slice, not even of nothing.
    let length = u32::try_from(size).ok().filter(|_| 0 < size && size <= WRITE_MAX).ok_or(Errno(libc::EINVAL))?;
    if data.is_null() {
        return Err(Errno(libc::EFAULT));
    }
    let head = words(&[protocol::WRITE, number, length]);
    let answer = exchange(|socket| {
        let mut done = 0;
        loop {
            let piece = (size - done).min(PIECE_MAX);
            // SAFETY: a part of what the caller says.
            let bytes = unsafe { std::slice::from_raw_parts(data.add(done), piece) };
            system::send(socket, &[&head[..], bytes].concat())?;
            done += piece;
            if done == size {
                return Ok(());
            }
        }
    });
    match answer? {
        (0, _) => Ok(()),
        (errno, _) => Err(Errno(errno)),
    }
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

fn exchange(send: impl Fn(c_int) -> Result<(), Errno>) -> Result<(c_int, Vec<u8>), Errno> {
    REQUESTS.with(|connection| {
        let socket = match connection {
            Some(socket) => socket.0,
            None => connection.insert(connect()?).0,
        };
        let mut answer = vec![0; REQUEST_MAX];
        let received = send(socket).and_then(|()| system::receive(socket, &mut answer, false));
        let length = match received {
            Ok(length) if length >= 4 => length,
            // The emulator has ended: as if the device had been taken out.
            _ => {
                drop_connection(connection);
                return Err(Errno(libc::EIO));
            }
        };
        answer.truncate(length);
        let body = answer.split_off(4);
        Ok((c_int::from_ne_bytes([answer[0], answer[1], answer[2], answer[3]]), body))
    })
}

fn connect() -> Result<Descriptor, Errno> {
    let environment = environment::get().ok_or(Errno(libc::ENODEV))?;
    let socket = system::moved_high(system::socket(libc::SOCK_CLOEXEC)?);
    system::connect(&socket, &environment.socket).map_err(|_| Errno(libc::EIO))?;
    CONNECTION.store(socket.0, Ordering::Relaxed);
    Ok(socket)
}
