//! Calls on descriptors: those that are an open umad are told from all others by a table.

use crate::system::{self, Errno, set_errno};
use crate::{attributes, environment, server, umad};
use libc::{c_int, c_uint, c_ulong, c_void, size_t, ssize_t};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU32, Ordering};

/// What a descriptor of this library's making is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A umad; its number in requests.
    Umad(u32),
    /// An issm.
    Issm,
    /// The node_desc of a device, which can be written.
    Description(u32),
}

/// Descriptors above this are never of this library's making.
pub(crate) const DESCRIPTORS: usize = 1 << 16;
static TABLE: [AtomicU32; DESCRIPTORS] = [const { AtomicU32::new(0) }; DESCRIPTORS];
const KIND: u32 = 24;

pub(crate) fn kind_of(descriptor: c_int) -> Option<Kind> {
    let entry = TABLE.get(usize::try_from(descriptor).ok()?)?.load(Ordering::Relaxed);
    let number = entry & ((1 << KIND) - 1);
    match entry >> KIND {
        1 => Some(Kind::Umad(number)),
        2 => Some(Kind::Issm),
        3 => Some(Kind::Description(number)),
        _ => None,
    }
}

/// Says what a descriptor is; false if its number is too high.
pub(crate) fn set_kind(descriptor: c_int, kind: Option<Kind>) -> bool {
    let entry = match kind {
        None => 0,
        Some(Kind::Umad(number)) => 1 << KIND | number,
        Some(Kind::Issm) => 2 << KIND,
        Some(Kind::Description(number)) => 3 << KIND | number,
    };
    let place = usize::try_from(descriptor).ok().and_then(|index| TABLE.get(index));
    if let Some(place) = place {
        place.store(entry, Ordering::Relaxed);
    }
    place.is_some()
}

fn forget(descriptors: RangeInclusive<c_int>) {
    if environment::is_guest() {
        return;
    }
    let last = (*descriptors.end()).min(DESCRIPTORS as c_int - 1);
    for descriptor in *descriptors.start()..=last {
        set_kind(descriptor, None);
    }
    server::lose_connection(descriptors);
}

/// A result in the words of C.
pub(crate) fn told<T: From<i8>>(result: Result<T, Errno>) -> T {
    result.unwrap_or_else(|Errno(errno)| {
        set_errno(errno);
        T::from(-1)
    })
}

/// libc's.
pub(crate) mod next {
    use crate::real::real;
    use libc::{c_int, c_uint, c_ulong, c_void, size_t, ssize_t};

    real! {
        read(descriptor: c_int, buffer: *mut c_void, size: size_t) -> ssize_t;
        __read_chk(descriptor: c_int, buffer: *mut c_void, size: size_t, room: size_t) -> ssize_t;
        write(descriptor: c_int, buffer: *const c_void, size: size_t) -> ssize_t;
        ioctl(descriptor: c_int, request: c_ulong, argument: *mut c_void) -> c_int;
        close(descriptor: c_int) -> c_int;
        dup(descriptor: c_int) -> c_int;
        dup2(descriptor: c_int, new: c_int) -> c_int;
        dup3(descriptor: c_int, new: c_int, flags: c_int) -> c_int;
        fcntl(descriptor: c_int, command: c_int, argument: *mut c_void) -> c_int;
        close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int;
        poll(descriptors: *mut libc::pollfd, count: libc::nfds_t, timeout: c_int) -> c_int;
    }
}

/// What a read takes when the emulator has ended: OpenSM tries again at once, for ever, and writes a line into its log each time.
const PATIENCE_MS: c_int = 100;

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn read(descriptor: c_int, buffer: *mut c_void, size: size_t) -> ssize_t {
    match kind_of(descriptor) {
        Some(Kind::Umad(_)) => {}
        Some(Kind::Issm) => return told(Err(Errno(libc::EINVAL))),
        // SAFETY: as the caller says.
        Some(Kind::Description(_)) | None => return unsafe { next::read(descriptor, buffer, size) },
    }
    loop {
        // SAFETY: as the caller says.
        match unsafe { umad::read(descriptor, buffer, size) } {
            Err(Errno(libc::EAGAIN)) if !system::is_nonblocking(descriptor) => {}
            Err(umad::GONE) => {
                // SAFETY: no elements.
                unsafe { next::poll(std::ptr::null_mut(), 0, PATIENCE_MS) };
                return told(Err(umad::GONE));
            }
            result => return told(result),
        }
        let mut waits = libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 };
        // SAFETY: one element, as the count says. A signal ends the wait, and a thread may be cancelled in it.
        if unsafe { next::poll(&raw mut waits, 1, -1) } < 0 {
            return -1;
        }
    }
}

/// What programs call that were built with _FORTIFY_SOURCE: the same, with the room in the buffer, which the compiler knows.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __read_chk(descriptor: c_int, buffer: *mut c_void, size: size_t, room: size_t) -> ssize_t {
    match kind_of(descriptor) {
        // SAFETY: as the caller says.
        Some(_) if size <= room => unsafe { read(descriptor, buffer, size) },
        // SAFETY: as the caller says. It also ends the program for which there is no room.
        _ => unsafe { next::__read_chk(descriptor, buffer, size, room) },
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn write(descriptor: c_int, buffer: *const c_void, size: size_t) -> ssize_t {
    let result = match kind_of(descriptor) {
        // SAFETY: as the caller says.
        None => return unsafe { next::write(descriptor, buffer, size) },
        Some(Kind::Issm) => Err(Errno(libc::EINVAL)),
        // SAFETY: as the caller says.
        Some(Kind::Umad(number)) => unsafe { server::write(number, buffer.cast(), size) },
        // SAFETY: as the caller says.
        Some(Kind::Description(node)) => unsafe { attributes::write_description(node, buffer.cast(), size) },
    };
    told(result.map(|()| size as ssize_t))
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ioctl(descriptor: c_int, request: c_ulong, argument: *mut c_void) -> c_int {
    if let Some(Kind::Umad(number)) = kind_of(descriptor)
        // SAFETY: as the caller says.
        && let Some(result) = unsafe { umad::ioctl(number, request as u32, argument) }
    {
        return told(result.map(|()| 0));
    }
    // SAFETY: as the caller says.
    unsafe { next::ioctl(descriptor, request, argument) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn close(descriptor: c_int) -> c_int {
    if !environment::is_guest() {
        if server::is_connection(descriptor) {
            // Of a program that closes whatever there may be: it knows nothing of this one.
            return told(Err(Errno(libc::EBADF)));
        }
        set_kind(descriptor, None);
    }
    // SAFETY: as the caller says.
    unsafe { next::close(descriptor) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dup(descriptor: c_int) -> c_int {
    // SAFETY: as the caller says.
    copied(descriptor, unsafe { next::dup(descriptor) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dup2(descriptor: c_int, new: c_int) -> c_int {
    make_way(new);
    // SAFETY: as the caller says.
    copied(descriptor, unsafe { next::dup2(descriptor, new) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dup3(descriptor: c_int, new: c_int, flags: c_int) -> c_int {
    make_way(new);
    // SAFETY: as the caller says.
    copied(descriptor, unsafe { next::dup3(descriptor, new, flags) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn fcntl(descriptor: c_int, command: c_int, argument: *mut c_void) -> c_int {
    // SAFETY: as the caller says.
    let result = unsafe { next::fcntl(descriptor, command, argument) };
    if command == libc::F_DUPFD || command == libc::F_DUPFD_CLOEXEC { copied(descriptor, result) } else { result }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn fcntl64(descriptor: c_int, command: c_int, argument: *mut c_void) -> c_int {
    // SAFETY: as the caller says; it is the same function.
    unsafe { fcntl(descriptor, command, argument) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    if flags as c_uint & libc::CLOSE_RANGE_CLOEXEC == 0 {
        let end = |number| c_int::try_from(number).unwrap_or(c_int::MAX);
        forget(end(first)..=end(last));
    }
    // SAFETY: as the caller says.
    unsafe { next::close_range(first, last, flags) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn closefrom(first: c_int) {
    // SAFETY: as the caller says.
    unsafe { close_range(first.max(0) as c_uint, c_uint::MAX, 0) };
}

fn copied(from: c_int, to: c_int) -> c_int {
    if to >= 0 && !environment::is_guest() {
        set_kind(to, kind_of(from));
    }
    to
}

/// Another descriptor is about to have this number.
fn make_way(descriptor: c_int) {
    if !environment::is_guest() {
        server::lose_connection(descriptor..=descriptor);
    }
}
