//! What the preload library and the server say to each other. Both are built from this file.
//!
//! All goes over SOCK_SEQPACKET sockets to the abstract name [`socket_name`]; numbers are 32 bits in the order of the machine. The first
//! message of a connection says what it becomes:
//!
//! - [`OPEN_UMAD`] or [`OPEN_ISSM`], with the node and the port, for a descriptor that a program holds. The answer is an error number. What
//!   a program reads then comes as messages of their own: two numbers (the length of the header, the length of the data), the header, and
//!   the data; of data that is longer than [`INLINE_MAX`] the first 256 bytes only, and with the message a descriptor of a file with all
//!   of it. An issm answers when it is open, which may be late.
//! - anything else: requests, each with one answer, which begins with an error number.
//!
//! Before it connects, a client binds to a name that the system chooses, which identifies an open umad in requests: five hexadecimal
//! digits, sent as a number.

/// The server's name among the abstract sockets: `NAME:umad`.
pub(crate) fn socket_name(name: &str) -> String {
    format!("{name}:umad")
}

/// Node, port.
pub(crate) const OPEN_UMAD: u32 = 1;
/// Node, port, 1 not to wait for whoever has it.
pub(crate) const OPEN_ISSM: u32 = 2;
/// umad, number of the ioctl, its argument; the argument comes back.
pub(crate) const IOCTL: u32 = 3;
/// umad, length of all, then a piece of what a program writes, at most [`PIECE_MAX`]; further pieces have the same form. The answer
/// comes after the last one.
pub(crate) const WRITE: u32 = 4;
/// Node, name of an attribute in sysfs; what it says comes back.
pub(crate) const READ_ATTRIBUTE: u32 = 5;
/// Node, then the new NodeDescription.
pub(crate) const WRITE_DESCRIPTION: u32 = 6;
/// A node's description or GUID as a user wrote it; a line `NODE PORT...` of numbers comes back, or, with error ENOENT, why not.
pub(crate) const RESOLVE: u32 = 7;
/// Node, and perhaps one of its ports; the names of the node's own attributes, or of the port's, come back, a line each.
pub(crate) const ATTRIBUTES: u32 = 8;

/// The longest data that is in a message itself.
pub(crate) const INLINE_MAX: usize = 32 << 10;
/// The longest piece of a [`WRITE`].
pub(crate) const PIECE_MAX: usize = 32 << 10;
/// The longest message that a program may write: more than any answer of subnet administration.
pub(crate) const WRITE_MAX: usize = 64 << 20;
/// The longest message of a client.
pub(crate) const REQUEST_MAX: usize = PIECE_MAX + 64;

/// ioctls of umad, as their numbers are in `ib_user_mad.h`.
pub(crate) const REGISTER_AGENT: u32 = 0xc01c_1b01;
pub(crate) const UNREGISTER_AGENT: u32 = 0x4004_1b02;
pub(crate) const ENABLE_PKEY: u32 = 0x1b03;
pub(crate) const REGISTER_AGENT2: u32 = 0xc028_1b04;
