//! Calls on an open umad.

use crate::lock::Lock;
use crate::system::{self, Errno};
use crate::{protocol, server};
use libc::{c_int, c_void, size_t, ssize_t};

/// Held while a message is looked at and then taken, so that two threads do not take each other's.
pub(crate) static READING: Lock<()> = Lock::new(());

/// The emulator has ended: as if the device had been taken out.
pub(crate) const GONE: Errno = Errno(libc::EIO);
/// The smaller of the two headers.
const HEADER_MIN: usize = 56;
/// What the kernel hands out of a long message for which there is no room.
const SHOWN: usize = 256;

/// read(2), without waiting: EAGAIN when there is nothing.
///
/// # Safety
/// `buffer` must be writable for `size` bytes.
pub(crate) unsafe fn read(descriptor: c_int, buffer: *mut c_void, size: size_t) -> Result<ssize_t, Errno> {
    if size < HEADER_MIN {
        return Err(Errno(libc::EINVAL));
    }
    READING.with(|()| {
        let mut head = [0; 8];
        // SAFETY: as the caller says.
        let (seen, _) = unsafe { system::receive_into(descriptor, &mut head, buffer, size, false) }?;
        if seen < head.len() {
            return Err(GONE);
        }
        let [header, data] = [0, 4].map(|at| u32::from_ne_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]) as usize);
        if size < header + data.min(SHOWN) {
            return Err(Errno(libc::EINVAL));
        }
        if size < header + data {
            return Err(Errno(libc::ENOSPC));
        }
        // SAFETY: as the caller says.
        let (_, file) = unsafe { system::receive_into(descriptor, &mut head, buffer, size, true) }?;
        if let Some(file) = file {
            // SAFETY: the buffer is as long as header and data together.
            unsafe { system::read_all(&file, buffer.cast::<u8>().add(header), data) }?;
        }
        Ok((header + data) as ssize_t)
    })
}

/// ioctl(2) with one of umad's own requests; `None` for others.
///
/// # Safety
/// `argument` must be what the request wants.
pub(crate) unsafe fn ioctl(number: u32, request: u32, argument: *mut c_void) -> Option<Result<(), Errno>> {
    let size = match request {
        protocol::ENABLE_PKEY => 0,
        protocol::UNREGISTER_AGENT | protocol::REGISTER_AGENT | protocol::REGISTER_AGENT2 => request as usize >> 16 & 0x3fff,
        _ => return None,
    };
    if size != 0 && argument.is_null() {
        return Some(Err(Errno(libc::EFAULT)));
    }
    let body = match size {
        0 => &[][..],
        // SAFETY: the number of the request says how large its argument is, and the caller that it is there.
        _ => unsafe { std::slice::from_raw_parts(argument.cast::<u8>(), size) },
    };
    Some(server::answer_to(&[protocol::IOCTL, number, request], body).and_then(|(errno, answer)| {
        // SAFETY: as above; requests with an answer write to their argument.
        unsafe { std::ptr::copy_nonoverlapping(answer.as_ptr(), argument.cast(), answer.len().min(size)) };
        if errno == 0 { Ok(()) } else { Err(Errno(errno)) }
    }))
}
