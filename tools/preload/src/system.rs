//! System calls of this library's own. Not by libc's functions: these would come back to this library, and a thread may be cancelled in
//! them, which must not happen while it holds a lock.

use libc::{c_int, c_long, c_void};
use std::ffi::CStr;

/// An error number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Errno(pub(crate) c_int);

pub(crate) fn set_errno(errno: c_int) {
    // SAFETY: this is the thread's own errno.
    unsafe { *libc::__errno_location() = errno };
}

pub(crate) fn errno() -> c_int {
    // SAFETY: this is the thread's own errno.
    unsafe { *libc::__errno_location() }
}

fn check(result: c_long) -> Result<usize, Errno> {
    if result < 0 { Err(Errno(errno())) } else { Ok(result as usize) }
}

/// A descriptor that is closed when dropped.
#[derive(Debug)]
pub(crate) struct Descriptor(pub(crate) c_int);

impl Descriptor {
    pub(crate) fn into_raw(self) -> c_int {
        let descriptor = self.0;
        std::mem::forget(self);
        descriptor
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        let before = errno();
        // SAFETY: the descriptor is ours and is not used afterwards.
        unsafe { libc::syscall(libc::SYS_close, self.0) };
        set_errno(before);
    }
}

pub(crate) fn socket(flags: c_int) -> Result<Descriptor, Errno> {
    // SAFETY: no pointers.
    let socket = check(unsafe { libc::syscall(libc::SYS_socket, libc::AF_UNIX, libc::SOCK_SEQPACKET | flags, 0) })?;
    Ok(Descriptor(socket as c_int))
}

fn unix_address(name: &[u8]) -> Option<(libc::sockaddr_un, usize)> {
    let mut address = libc::sockaddr_un { sun_family: libc::AF_UNIX as libc::sa_family_t, sun_path: [0; 108] };
    // An abstract name begins with a zero.
    for (to, &from) in address.sun_path.get_mut(1..=name.len())?.iter_mut().zip(name) {
        *to = from as libc::c_char;
    }
    Some((address, size_of::<libc::sa_family_t>() + 1 + name.len()))
}

/// Binds a socket to a name that the system chooses. The number that this is.
pub(crate) fn bind_anywhere(socket: &Descriptor) -> Result<u32, Errno> {
    let family = libc::AF_UNIX as libc::sa_family_t;
    // SAFETY: the address is a family only, of the size given.
    check(unsafe { libc::syscall(libc::SYS_bind, socket.0, &raw const family, size_of_val(&family)) })?;
    let mut address = libc::sockaddr_un { sun_family: 0, sun_path: [0; 108] };
    let mut length = size_of_val(&address) as libc::socklen_t;
    // SAFETY: at most `length` bytes are written, which is the size of the address.
    check(unsafe { libc::syscall(libc::SYS_getsockname, socket.0, &raw mut address, &raw mut length) })?;
    let digits = (length as usize).saturating_sub(size_of::<libc::sa_family_t>() + 1).min(8);
    let digit = |&byte: &libc::c_char| (byte as u8 as char).to_digit(16);
    address.sun_path[1..=digits].iter().try_fold(0, |number, byte| Some(number << 4 | digit(byte)?)).ok_or(Errno(libc::EIO))
}

/// Connects to an abstract name.
pub(crate) fn connect(socket: &Descriptor, name: &[u8]) -> Result<(), Errno> {
    let (address, length) = unix_address(name).ok_or(Errno(libc::ENAMETOOLONG))?;
    // SAFETY: the address has the length given.
    check(unsafe { libc::syscall(libc::SYS_connect, socket.0, &raw const address, length) }).map(drop)
}

/// Sends one message.
pub(crate) fn send(socket: c_int, message: &[u8]) -> Result<(), Errno> {
    let null = std::ptr::null::<c_void>();
    loop {
        // SAFETY: the pointer and the length are those of a slice.
        let sent = unsafe { libc::syscall(libc::SYS_sendto, socket, message.as_ptr(), message.len(), libc::MSG_NOSIGNAL, null, 0) };
        match check(sent) {
            Err(Errno(libc::EINTR)) => {}
            sent => return sent.map(drop),
        }
    }
}

/// Waits for a message. Its length; 0 when the other end is closed.
pub(crate) fn receive(socket: c_int, buffer: &mut [u8], interruptible: bool) -> Result<usize, Errno> {
    let null = std::ptr::null_mut::<c_void>();
    loop {
        // SAFETY: the pointer and the length are those of a slice that nobody else has.
        let received = unsafe { libc::syscall(libc::SYS_recvfrom, socket, buffer.as_mut_ptr(), buffer.len(), 0, null, null) };
        match check(received) {
            Err(Errno(libc::EINTR)) if !interruptible => {}
            received => return received,
        }
    }
}

/// Room for the one descriptor that comes with a message.
#[repr(C, align(8))]
struct Ancillary([u8; 64]);

/// Looks at the next message of a socket (or takes it), without waiting: the first bytes into `head`, the rest into the buffer. The bytes
/// copied, and the descriptor that came along when it was taken.
///
/// # Safety
/// `buffer` must be writable for `size` bytes.
pub(crate) unsafe fn receive_into(
    socket: c_int,
    head: &mut [u8],
    buffer: *mut c_void,
    size: usize,
    take: bool,
) -> Result<(usize, Option<Descriptor>), Errno> {
    let mut pieces =
        [libc::iovec { iov_base: head.as_mut_ptr().cast(), iov_len: head.len() }, libc::iovec { iov_base: buffer, iov_len: size }];
    let mut ancillary = Ancillary([0; 64]);
    // SAFETY: a header of zeros is a valid one.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = pieces.as_mut_ptr();
    header.msg_iovlen = pieces.len() as _;
    if take {
        header.msg_control = (&raw mut ancillary).cast();
        header.msg_controllen = size_of::<Ancillary>() as _;
    }
    let flags = libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC | if take { 0 } else { libc::MSG_PEEK };
    // SAFETY: the header points to two pieces of memory of the lengths given: a slice that nobody else has, and what the caller says.
    let received = check(unsafe { libc::syscall(libc::SYS_recvmsg, socket, &raw mut header, flags) })?;
    // SAFETY: the kernel filled the header in.
    let control = unsafe { libc::CMSG_FIRSTHDR(&raw const header).as_ref() };
    let descriptor =
        control.filter(|control| (control.cmsg_level, control.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_RIGHTS)).map(|control| {
            // SAFETY: a message with SCM_RIGHTS holds at least one descriptor, not necessarily aligned; it is ours from now on.
            Descriptor(unsafe { libc::CMSG_DATA(control).cast::<c_int>().read_unaligned() })
        });
    Ok((received, descriptor))
}

/// A file in memory with this content, to be read from its start.
pub(crate) fn memory_file(content: &[u8], close_on_exec: bool) -> Result<Descriptor, Errno> {
    let flags = if close_on_exec { libc::MFD_CLOEXEC } else { 0 };
    // SAFETY: the name ends with a zero.
    let file = Descriptor(check(unsafe { libc::syscall(libc::SYS_memfd_create, c"heddle-umad".as_ptr(), flags) })? as c_int);
    // SAFETY: the pointer and the length are those of a slice. At offset 0, so that reading begins there.
    let written = check(unsafe { libc::syscall(libc::SYS_pwrite64, file.0, content.as_ptr(), content.len(), 0_i64) })?;
    if written == content.len() { Ok(file) } else { Err(Errno(libc::EIO)) }
}

/// Reads a file from its start.
///
/// # Safety
/// `buffer` must be writable for `size` bytes.
pub(crate) unsafe fn read_all(file: &Descriptor, buffer: *mut u8, size: usize) -> Result<(), Errno> {
    let mut done = 0;
    while done < size {
        // SAFETY: what is left of what the caller says.
        match check(unsafe { libc::syscall(libc::SYS_pread64, file.0, buffer.add(done), size - done, done as i64) })? {
            0 => return Err(Errno(libc::EIO)),
            read => done += read,
        }
    }
    Ok(())
}

/// Whether reads of the descriptor do not wait.
pub(crate) fn is_nonblocking(descriptor: c_int) -> bool {
    // SAFETY: no pointers.
    check(unsafe { libc::syscall(libc::SYS_fcntl, descriptor, libc::F_GETFL) }).is_ok_and(|flags| flags as c_int & libc::O_NONBLOCK != 0)
}

pub(crate) fn set_nonblocking(descriptor: &Descriptor) {
    // SAFETY: no pointers.
    unsafe { libc::syscall(libc::SYS_fcntl, descriptor.0, libc::F_SETFL, libc::O_RDWR | libc::O_NONBLOCK) };
}

/// The descriptor under a high number, where programs that count on low ones do not meet it.
pub(crate) fn moved_high(descriptor: Descriptor) -> Descriptor {
    // SAFETY: no pointers.
    match check(unsafe { libc::syscall(libc::SYS_fcntl, descriptor.0, libc::F_DUPFD_CLOEXEC, 600) }) {
        Ok(high) => Descriptor(high as c_int),
        Err(_) => descriptor,
    }
}

/// A text of the environment.
pub(crate) fn variable(name: &CStr) -> Option<&'static [u8]> {
    // SAFETY: the name ends with a zero.
    let value = unsafe { libc::getenv(name.as_ptr()) };
    // SAFETY: a value ends with a zero. It is copied before the program can change its environment, since this is called as it starts.
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) }.to_bytes())
}
