//! What `heddle run` says in the environment, and what is done once as the program starts.

use crate::{server, system, umad};
use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering};

/// Which emulator, and what of it the program sees.
#[derive(Debug)]
pub(crate) struct Environment {
    /// The name of the emulator's socket.
    pub(crate) socket: Vec<u8>,
    /// The folder that stands for `/`.
    pub(crate) root: PathBuf,
    pub(crate) devices: Vec<Device>,
}

/// A device; its place in the list is the number in its name.
#[derive(Debug)]
pub(crate) struct Device {
    pub(crate) node: u32,
    pub(crate) ports: Vec<u32>,
}

const NAME: &CStr = c"HEDDLE_UMAD_NAME";
const ROOT: &CStr = c"HEDDLE_UMAD_ROOT";
/// `12 1 2;15 1`: a node and its ports, for each device.
const DEVICES: &CStr = c"HEDDLE_UMAD_DEVICES";

static ENVIRONMENT: OnceLock<Option<Environment>> = OnceLock::new();

/// `None` in a program that `heddle run` did not start.
pub(crate) fn get() -> Option<&'static Environment> {
    ENVIRONMENT.get_or_init(read).as_ref()
}

impl Environment {
    /// Node and port of `umadN` and `issmN`.
    pub(crate) fn port(&self, number: usize) -> Option<(u32, u32)> {
        self.devices.iter().flat_map(|device| device.ports.iter().map(|&port| (device.node, port))).nth(number)
    }
}

fn read() -> Option<Environment> {
    let name = String::from_utf8(system::variable(NAME)?.to_vec()).ok()?;
    let devices = std::str::from_utf8(system::variable(DEVICES)?).ok()?;
    let device = |text: &str| {
        let mut numbers = text.split_ascii_whitespace().map(|number| number.parse::<u32>().ok());
        Some(Device { node: numbers.next()??, ports: numbers.collect::<Option<_>>()? })
    };
    Some(Environment {
        socket: crate::protocol::socket_name(&name).into_bytes(),
        root: PathBuf::from(OsStr::from_bytes(system::variable(ROOT)?)),
        devices: devices.split(';').map(device).collect::<Option<_>>()?,
    })
}

/// Whose memory this is.
static PROCESS: AtomicI32 = AtomicI32::new(0);

fn process() -> i32 {
    // SAFETY: no pointers.
    unsafe { libc::getpid() }
}

/// Whether this is the child of a vfork, which has its parent's memory but descriptors of its own: what it does to these must not be noted.
pub(crate) fn is_guest() -> bool {
    process() != PROCESS.load(Ordering::Relaxed)
}

/// Called by the loader before the program's own code.
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

extern "C" fn start() {
    get();
    PROCESS.store(process(), Ordering::Relaxed);
    // SAFETY: the functions do nothing but acquire and release this library's locks, and live as long as the program.
    unsafe { libc::pthread_atfork(Some(before_fork), Some(in_parent), Some(in_child)) };
}

unsafe extern "C" fn before_fork() {
    umad::READING.acquire();
    server::REQUESTS.acquire();
}

unsafe extern "C" fn in_parent() {
    // SAFETY: this thread acquired both before the fork.
    unsafe {
        server::REQUESTS.release();
        umad::READING.release();
    }
}

unsafe extern "C" fn in_child() {
    // SAFETY: this thread is a copy of the one that acquired both.
    unsafe {
        server::REQUESTS.release();
        umad::READING.release();
    }
    server::forget_connection();
    PROCESS.store(process(), Ordering::Relaxed);
}
