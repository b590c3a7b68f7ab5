//! The files of `/sys/class/infiniband`: what they say comes from the emulator.

use crate::descriptors::{Kind, set_kind};
use crate::system::{self, Descriptor, Errno};
use crate::{protocol, server};
use libc::c_int;

const DESCRIPTION: &[u8] = b"node_desc";

/// Opens an attribute: a file in memory with what it says now.
pub(crate) fn open(node: u32, name: &[u8], flags: c_int) -> Result<Descriptor, Errno> {
    let content = server::ask(&[protocol::READ_ATTRIBUTE, node], name)?;
    let writes = flags & libc::O_ACCMODE != libc::O_RDONLY;
    if writes && name != DESCRIPTION {
        return Err(Errno(libc::EACCES));
    }
    let file = system::memory_file(&content, flags & libc::O_CLOEXEC != 0)?;
    let kind = writes.then_some(Kind::Description(node));
    if set_kind(file.0, kind) || !writes { Ok(file) } else { Err(Errno(libc::EMFILE)) }
}

/// Gives a node another description.
///
/// # Safety
/// `text` must be readable for `size` bytes.
pub(crate) unsafe fn write_description(node: u32, text: *const u8, size: usize) -> Result<(), Errno> {
    if text.is_null() {
        return Err(Errno(libc::EFAULT));
    }
    // SAFETY: as the caller says. More than this would not be looked at.
    let text = unsafe { std::slice::from_raw_parts(text, size.min(4096)) };
    server::ask(&[protocol::WRITE_DESCRIPTION, node], text).map(drop)
}
