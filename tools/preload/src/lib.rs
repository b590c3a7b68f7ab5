//! The preload library of `heddle run`: lets a program take an emulated fabric for the InfiniBand of its machine.
//!
//! It stands between a program and libc. `/dev/infiniband/umadN` and `issmN` become sockets to the emulator, real descriptors, so that
//! poll, select, epoll, fcntl and fork need nothing of it; `/sys/class/infiniband/DEVICE` becomes a folder that `heddle run` has made, and
//! what its files say comes from the emulator at each open. All else goes on to libc, untouched. The kernel's logic (agents, timeouts,
//! RMPP) is not here but in the emulator.
//!
//! Programs that do not call libc (static, or with system calls of their own) are not reached by any preload library. Paths have to be
//! absolute: what a program opens relative to a folder of `/sys/class/infiniband` is an empty file.
//!
//! The functions here have the names of libc's. They are `C-unwind` and own nothing that must be dropped while they are in libc, since a
//! thread may be cancelled there, which unwinds through them. Variadic ones are declared with the one argument that they may have: on the
//! machines of Linux it is passed in the same place.
#![deny(unsafe_op_in_unsafe_fn)]
#![allow(unsafe_code, reason = "everything here takes pointers from C and calls C")]
#![allow(clippy::missing_safety_doc, missing_docs, reason = "the functions are libc's and documented there")]

mod attributes;
mod descriptors;
mod environment;
mod files;
mod lock;
mod paths;
#[path = "../../emulator/src/serve/protocol.rs"]
#[allow(dead_code, reason = "some of it is for the server and for `heddle run`")]
mod protocol;
mod real;
mod server;
mod system;
mod umad;

pub use descriptors::{__read_chk, close, close_range, closefrom, dup, dup2, dup3, fcntl, fcntl64, ioctl, read, write};
pub use files::{__open_2, __open64_2, __openat_2, __openat64_2, fopen, fopen64, open, open64, openat, openat64};
pub use paths::{
    __lxstat, __lxstat64, __xstat, __xstat64, access, faccessat, fstatat, fstatat64, getxattr, lgetxattr, lstat, lstat64, opendir,
    readlink, scandir, scandir64, stat, stat64, statx,
};
