//! Opening files.

use crate::descriptors::{Kind, set_kind, told};
use crate::paths::{self, Meant};
use crate::system::{Descriptor, Errno};
use crate::{attributes, environment, protocol, server};
use libc::{FILE, c_char, c_int, mode_t};
use std::ffi::CStr;

mod next {
    use crate::real::real;
    use libc::{FILE, c_char, c_int, mode_t};

    real! {
        open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int;
        open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int;
        openat(folder: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int;
        openat64(folder: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int;
        fopen(path: *const c_char, mode: *const c_char) -> *mut FILE;
        fopen64(path: *const c_char, mode: *const c_char) -> *mut FILE;
        fdopen(descriptor: c_int, mode: *const c_char) -> *mut FILE;
    }
}

/// Opens what a path means here; `Err` with the path to give to libc otherwise.
fn open_ours(meant: &Meant, flags: c_int) -> Option<Result<c_int, Errno>> {
    match meant {
        Meant::Other => None,
        Meant::Folder(_) => None,
        Meant::Umad(number) => Some(open_device(protocol::OPEN_UMAD, *number, flags)),
        Meant::Issm(number) => Some(open_device(protocol::OPEN_ISSM, *number, flags)),
        Meant::Attribute { node, name, .. } if flags & libc::O_DIRECTORY == 0 => match attributes::open(*node, name, flags) {
            // A folder, or nothing: as the folder of `heddle run` has it.
            Err(Errno(libc::ENOENT)) => None,
            opened => Some(opened.map(Descriptor::into_raw)),
        },
        Meant::Attribute { .. } => None,
    }
}

fn open_device(kind: u32, number: usize, flags: c_int) -> Result<c_int, Errno> {
    let (node, port) = environment::get().and_then(|environment| environment.port(number)).ok_or(Errno(libc::ENOENT))?;
    let (descriptor, number) = server::open(kind, node, port, flags)?;
    let kind = if kind == protocol::OPEN_UMAD { Kind::Umad(number) } else { Kind::Issm };
    if set_kind(descriptor.0, Some(kind)) { Ok(descriptor.into_raw()) } else { Err(Errno(libc::EMFILE)) }
}

/// Opens a path, or calls libc with the path that stands for it.
unsafe fn open_with(path: *const c_char, flags: c_int, libcs: impl FnOnce(*const c_char) -> c_int) -> c_int {
    // SAFETY: as the caller says.
    let meant = unsafe { paths::meant(path) };
    match open_ours(&meant, flags) {
        Some(result) => told(result),
        None => {
            let opened = meant.with_path(path, libcs);
            // The number may have been another's before, which was closed behind this library's back.
            set_kind(opened, None);
            opened
        }
    }
}

unsafe fn fopen_with(path: *const c_char, mode: *const c_char, libcs: impl FnOnce(*const c_char) -> *mut FILE) -> *mut FILE {
    // SAFETY: as the caller says.
    let meant = unsafe { paths::meant(path) };
    // SAFETY: as the caller says.
    let writes = unsafe { CStr::from_ptr(mode) }.to_bytes().iter().any(|byte| b"wa+".contains(byte));
    match open_ours(&meant, if writes { libc::O_RDWR } else { libc::O_RDONLY }) {
        // SAFETY: as the caller says.
        Some(Ok(descriptor)) => unsafe { next::fdopen(descriptor, mode) },
        Some(Err(Errno(errno))) => {
            crate::system::set_errno(errno);
            std::ptr::null_mut()
        }
        None => meant.with_path(path, libcs),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: as the caller says.
    unsafe { open_with(path, flags, |path| next::open(path, flags, mode)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: as the caller says.
    unsafe { open_with(path, flags, |path| next::open64(path, flags, mode)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn openat(folder: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: as the caller says.
    unsafe { open_with(path, flags, |path| next::openat(folder, path, flags, mode)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn openat64(folder: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: as the caller says.
    unsafe { open_with(path, flags, |path| next::openat64(folder, path, flags, mode)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __open_2(path: *const c_char, flags: c_int) -> c_int {
    // SAFETY: as the caller says; without O_CREAT there is no mode.
    unsafe { open(path, flags, 0) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __open64_2(path: *const c_char, flags: c_int) -> c_int {
    // SAFETY: as the caller says; without O_CREAT there is no mode.
    unsafe { open64(path, flags, 0) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __openat_2(folder: c_int, path: *const c_char, flags: c_int) -> c_int {
    // SAFETY: as the caller says; without O_CREAT there is no mode.
    unsafe { openat(folder, path, flags, 0) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __openat64_2(folder: c_int, path: *const c_char, flags: c_int) -> c_int {
    // SAFETY: as the caller says; without O_CREAT there is no mode.
    unsafe { openat64(folder, path, flags, 0) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn fopen(path: *const c_char, mode: *const c_char) -> *mut FILE {
    // SAFETY: as the caller says.
    unsafe { fopen_with(path, mode, |path| next::fopen(path, mode)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn fopen64(path: *const c_char, mode: *const c_char) -> *mut FILE {
    // SAFETY: as the caller says.
    unsafe { fopen_with(path, mode, |path| next::fopen64(path, mode)) }
}
