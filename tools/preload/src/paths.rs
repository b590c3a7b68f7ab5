//! Paths: which of them mean something here, and calls that take one.

use crate::environment;
use libc::{DIR, c_char, c_int, c_uint, c_void, size_t, ssize_t, stat as Stat, stat64 as Stat64, statx as Statx};
use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;

/// What a path means.
#[derive(Debug)]
pub(crate) enum Meant {
    /// Nothing here.
    Other,
    /// `/dev/infiniband/umadN`.
    Umad(usize),
    /// `/dev/infiniband/issmN`.
    Issm(usize),
    /// Something below the folder of a device in `/sys/class/infiniband`: an attribute, or a folder of them.
    Attribute {
        node: u32,
        name: Vec<u8>,
        /// Where it is in the folder of `heddle run`.
        path: CString,
    },
    /// Another file or folder, as it is in the folder of `heddle run`.
    Folder(CString),
}

/// The folders that this library puts its own in place of.
const FOLDERS: [&[u8]; 3] = [DEVICES, b"/sys/class/infiniband_mad", FILES];
const DEVICES: &[u8] = b"/sys/class/infiniband";
const FILES: &[u8] = b"/dev/infiniband";
/// Devices are called mlx5_0, mlx5_1 and so on.
const DEVICE: &[u8] = b"mlx5_";

/// What a path means here.
///
/// # Safety
/// `path` must be null or end with a zero.
pub(crate) unsafe fn meant(path: *const c_char) -> Meant {
    if path.is_null() {
        return Meant::Other;
    }
    // SAFETY: as the caller says.
    let path = unsafe { CStr::from_ptr(path) }.to_bytes();
    // Nearly all paths end here.
    if !path.starts_with(b"/sys/") && !path.starts_with(b"/dev/") && !path.starts_with(b"//") {
        return Meant::Other;
    }
    let Some(environment) = environment::get() else { return Meant::Other };
    let path = tidy(path);
    let below = |folder: &[u8]| path.strip_prefix(folder).filter(|rest| rest.is_empty() || rest[0] == b'/');
    if !FOLDERS.iter().any(|folder| below(folder).is_some()) {
        return Meant::Other;
    }
    let Ok(ours) = CString::new([environment.root.as_os_str().as_bytes(), &path].concat()) else { return Meant::Other };
    let number = |text: &[u8]| std::str::from_utf8(text).ok()?.parse::<usize>().ok();
    if let Some(file) = below(FILES).and_then(|rest| rest.strip_prefix(b"/")) {
        if let Some(number) = file.strip_prefix(b"umad").and_then(number) {
            return Meant::Umad(number);
        }
        if let Some(number) = file.strip_prefix(b"issm").and_then(number) {
            return Meant::Issm(number);
        }
    }
    let attribute = below(DEVICES).and_then(|rest| {
        let rest = rest.strip_prefix(b"/")?.strip_prefix(DEVICE)?;
        let slash = rest.iter().position(|&byte| byte == b'/')?;
        let device = environment.devices.get(number(&rest[..slash])?)?;
        Some((device.node, rest[slash + 1..].to_vec()))
    });
    match attribute {
        Some((node, name)) => Meant::Attribute { node, name, path: ours },
        None => Meant::Folder(ours),
    }
}

impl Meant {
    /// Calls libc with the path that stands for this one.
    pub(crate) fn with_path<T>(self, path: *const c_char, libcs: impl FnOnce(*const c_char) -> T) -> T {
        let ours = match self {
            // Not for a cancelled thread to unwind through something that it would have to drop.
            Self::Other => return libcs(path),
            Self::Attribute { path, .. } | Self::Folder(path) => path,
            Self::Umad(number) => device_file("umad", number),
            Self::Issm(number) => device_file("issm", number),
        };
        libcs(ours.as_ptr())
    }
}

fn device_file(kind: &str, number: usize) -> CString {
    let root = environment::get().map(|environment| environment.root.as_os_str().as_bytes()).unwrap_or_default();
    CString::new([root, FILES, format!("/{kind}{number}").as_bytes()].concat()).unwrap_or_default()
}

/// The path without slashes that mean nothing.
fn tidy(path: &[u8]) -> Vec<u8> {
    let parts = path.split(|&byte| byte == b'/').filter(|part| !part.is_empty() && part != b".");
    parts.flat_map(|part| [b"/", part]).flatten().copied().collect()
}

/// A file of a device has the number that the kernel gives it, for whoever looks.
fn device_number(meant: &Meant) -> Option<u64> {
    // `drivers/infiniband/core/user_mad.c`: major 231; issm is 64 above umad.
    match *meant {
        Meant::Umad(number) => Some(libc::makedev(231, number as c_uint)),
        Meant::Issm(number) => Some(libc::makedev(231, 64 + number as c_uint)),
        _ => None,
    }
}

const DEVICE_MODE: libc::mode_t = libc::S_IFCHR | 0o600;

mod next {
    use crate::real::real;
    use libc::{DIR, c_char, c_int, c_uint, c_void, size_t, ssize_t, stat as Stat, stat64 as Stat64, statx as Statx};

    real! {
        access(path: *const c_char, mode: c_int) -> c_int;
        faccessat(folder: c_int, path: *const c_char, mode: c_int, flags: c_int) -> c_int;
        stat(path: *const c_char, result: *mut Stat) -> c_int;
        lstat(path: *const c_char, result: *mut Stat) -> c_int;
        stat64(path: *const c_char, result: *mut Stat64) -> c_int;
        lstat64(path: *const c_char, result: *mut Stat64) -> c_int;
        fstatat(folder: c_int, path: *const c_char, result: *mut Stat, flags: c_int) -> c_int;
        fstatat64(folder: c_int, path: *const c_char, result: *mut Stat64, flags: c_int) -> c_int;
        statx(folder: c_int, path: *const c_char, flags: c_int, mask: c_uint, result: *mut Statx) -> c_int;
        readlink(path: *const c_char, buffer: *mut c_char, size: size_t) -> ssize_t;
        getxattr(path: *const c_char, name: *const c_char, value: *mut c_void, size: size_t) -> ssize_t;
        lgetxattr(path: *const c_char, name: *const c_char, value: *mut c_void, size: size_t) -> ssize_t;
        opendir(path: *const c_char) -> *mut DIR;
        scandir(path: *const c_char, list: *mut c_void, filter: *const c_void, order: *const c_void) -> c_int;
        scandir64(path: *const c_char, list: *mut c_void, filter: *const c_void, order: *const c_void) -> c_int;
    }
}

/// Defines functions that take a path and a place for what is known of the file.
macro_rules! stat_functions {
    ($($name:ident($($before:ident: $kind:ty),*; $result:ty; $($after:ident: $after_kind:ty),*) by $next:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($before: $kind,)* path: *const c_char, result: *mut $result $(, $after: $after_kind)*) -> c_int {
            // SAFETY: as the caller says.
            let meant = unsafe { meant(path) };
            let device = device_number(&meant);
            // SAFETY: as the caller says.
            let told = meant.with_path(path, |path| unsafe { next::$next($($before,)* path, result $(, $after)*) });
            if let Some(device) = device.filter(|_| told == 0) {
                // SAFETY: libc has filled it in.
                unsafe {
                    (*result).st_mode = DEVICE_MODE;
                    (*result).st_rdev = device;
                }
            }
            told
        }
    )*};
}

stat_functions! {
    stat(; Stat;) by stat;
    lstat(; Stat;) by lstat;
    stat64(; Stat64;) by stat64;
    lstat64(; Stat64;) by lstat64;
    fstatat(folder: c_int; Stat; flags: c_int) by fstatat;
    fstatat64(folder: c_int; Stat64; flags: c_int) by fstatat64;
}

/// Defines what programs call that were linked with glibc before 2.33: the same with the version of the structure in front, of which there
/// is one.
macro_rules! old_stat_functions {
    ($($name:ident: $result:ty, by $next:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(_version: c_int, path: *const c_char, result: *mut $result) -> c_int {
            // SAFETY: as the caller says.
            unsafe { $next(path, result) }
        }
    )*};
}

old_stat_functions! {
    __xstat: Stat, by stat;
    __lxstat: Stat, by lstat;
    __xstat64: Stat64, by stat64;
    __lxstat64: Stat64, by lstat64;
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn statx(folder: c_int, path: *const c_char, flags: c_int, mask: c_uint, result: *mut Statx) -> c_int {
    // SAFETY: as the caller says.
    let meant = unsafe { meant(path) };
    let device = device_number(&meant);
    // SAFETY: as the caller says.
    let told = meant.with_path(path, |path| unsafe { next::statx(folder, path, flags, mask, result) });
    if let Some(device) = device.filter(|_| told == 0) {
        // SAFETY: libc has filled it in.
        unsafe {
            (*result).stx_mode = DEVICE_MODE as u16;
            (*result).stx_rdev_major = libc::major(device);
            (*result).stx_rdev_minor = libc::minor(device);
        }
    }
    told
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn access(path: *const c_char, mode: c_int) -> c_int {
    // SAFETY: as the caller says.
    unsafe { meant(path).with_path(path, |path| next::access(path, mode)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn faccessat(folder: c_int, path: *const c_char, mode: c_int, flags: c_int) -> c_int {
    // SAFETY: as the caller says.
    unsafe { meant(path).with_path(path, |path| next::faccessat(folder, path, mode, flags)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn readlink(path: *const c_char, buffer: *mut c_char, size: size_t) -> ssize_t {
    // SAFETY: as the caller says.
    unsafe { meant(path).with_path(path, |path| next::readlink(path, buffer, size)) }
}

// `ls -l` asks whether there are access lists.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn getxattr(path: *const c_char, name: *const c_char, value: *mut c_void, size: size_t) -> ssize_t {
    // SAFETY: as the caller says.
    unsafe { meant(path).with_path(path, |path| next::getxattr(path, name, value, size)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn lgetxattr(path: *const c_char, name: *const c_char, value: *mut c_void, size: size_t) -> ssize_t {
    // SAFETY: as the caller says.
    unsafe { meant(path).with_path(path, |path| next::lgetxattr(path, name, value, size)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn opendir(path: *const c_char) -> *mut DIR {
    // SAFETY: as the caller says.
    unsafe { meant(path).with_path(path, |path| next::opendir(path)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn scandir(path: *const c_char, list: *mut c_void, filter: *const c_void, order: *const c_void) -> c_int {
    // SAFETY: as the caller says.
    unsafe { meant(path).with_path(path, |path| next::scandir(path, list, filter, order)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn scandir64(path: *const c_char, list: *mut c_void, filter: *const c_void, order: *const c_void) -> c_int {
    // SAFETY: as the caller says.
    unsafe { meant(path).with_path(path, |path| next::scandir64(path, list, filter, order)) }
}
