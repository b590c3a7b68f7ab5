//! What ibsim and its clients say to each other: datagrams on abstract Unix sockets, 80 bytes for control, 288 bytes for a MAD with its
//! addresses. Learnt from ibsim 0.10 (`sim_client.c`, `ibsim.h`) and tried with it.

use crate::wire::Mad;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::SocketAddr;

/// The name of a simulator that was given none.
pub const DEFAULT_NAME: &str = "sim";

/// The longest name of a node that a client can ask for, in bytes.
pub const NODE_NAME_MAX: usize = 31;

/// The address of a socket. Names end with a NUL that counts: `<name>:ctl` and `<name>:out<client>` are the simulator's,
/// `<name>:ctl<id>` and `<name>:in<id>` those of the client that calls itself `id`.
///
/// # Errors
/// When the name is too long for a socket, about 100 bytes.
pub fn address(name: &str, part: &str) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("{name}:{part}\0"))
}

/// What a control message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind(pub u32);

#[expect(missing_docs, reason = "the names are ibsim's")]
impl Kind {
    /// As an answer: the simulator refuses.
    pub const ERROR: Self = Self(0);
    /// [`Connect`].
    pub const CONNECT: Self = Self(1);
    pub const DISCONNECT: Self = Self(2);
    pub const GET_PORT: Self = Self(3);
    pub const GET_VENDOR: Self = Self(4);
    pub const GET_GID: Self = Self(5);
    pub const GET_GUID: Self = Self(6);
    pub const GET_NODE_INFO: Self = Self(7);
    pub const GET_PORT_INFO: Self = Self(8);
    /// The data is a number in the machine's byte order, as wide as an `int`: 0 or 1.
    pub const SET_IS_SM: Self = Self(9);
    pub const GET_P_KEYS: Self = Self(10);
}

/// A control message: a request, or its answer, which every request gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    /// The client's number, which the answer to its [`Kind::CONNECT`] told; 0 until then.
    pub client: u32,
    /// What it is about.
    pub kind: Kind,
    /// So many bytes of the data mean something.
    pub len: u32,
    /// What goes with it.
    pub data: [u8; 64],
}

impl Control {
    /// Bytes of a control message.
    pub const SIZE: usize = 80;
    const MAGIC: u32 = 0xdead_beef;

    /// A message with this data, of which 64 bytes count.
    pub fn new(client: u32, kind: Kind, data: &[u8]) -> Self {
        let len = data.len().min(64);
        let mut message = Self { client, kind, len: len as u32, data: [0; 64] };
        message.data[..len].copy_from_slice(&data[..len]);
        message
    }

    /// The bytes to send.
    pub fn to_bytes(&self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        for (bytes, word) in bytes.chunks_exact_mut(4).zip([Self::MAGIC, self.client, self.kind.0, self.len]) {
            bytes.copy_from_slice(&word.to_ne_bytes());
        }
        bytes[16..].copy_from_slice(&self.data);
        bytes
    }

    /// A message as received; `None` if it is none.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; Self::SIZE] = bytes.try_into().ok()?;
        let word = |at| u32::from_ne_bytes(part(bytes, at));
        (word(0) == Self::MAGIC).then(|| Self { client: word(4), kind: Kind(word(8)), len: word(12), data: part(bytes, 16) })
    }
}

/// The data of [`Kind::CONNECT`]. In the answer, `id` is the number that the client has from then on, and `node` the node's own name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connect {
    /// How the client calls itself: the end of its sockets' names. The preload library takes the process id.
    pub id: u32,
    /// Whether it is a subnet manager.
    pub is_sm: bool,
    /// The node it wants to be at, at most [`NODE_NAME_MAX`] bytes; empty for the simulator's choice.
    pub node: Vec<u8>,
}

impl Connect {
    /// The data to send; what is too long of the node's name is cut off.
    pub fn to_data(&self) -> [u8; 44] {
        let mut data = [0; 44];
        data[0..4].copy_from_slice(&self.id.to_ne_bytes());
        data[8..12].copy_from_slice(&u32::from(self.is_sm).to_ne_bytes());
        let len = self.node.len().min(NODE_NAME_MAX);
        data[12..12 + len].copy_from_slice(&self.node[..len]);
        data
    }

    /// The data as received.
    pub fn from_data(data: &[u8; 64]) -> Self {
        let word = |at| u32::from_ne_bytes(part(data, at));
        let node = data[12..44].split(|&byte| byte == 0).next().unwrap_or_default();
        Self { id: word(0), is_sm: word(8) != 0, node: node.to_vec() }
    }
}

/// A MAD and its addresses.
///
/// ```text
///  0 destination LID, 2 zero bytes     4 source LID, 2 zero bytes    16 status, 4 unused bytes    24 size of the MAD: 256
///  8 destination queue pair           12 source queue pair           32 the MAD
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// 0xffff for a directed route.
    pub dlid: u16,
    /// From a client: 0xffff for a directed route, otherwise 0, to be filled in.
    pub slid: u16,
    /// The receiver's queue pair: 0 or 1.
    pub dst_qp: u32,
    /// The sender's.
    pub src_qp: u32,
    /// 0, or [`Datagram::UNDELIVERABLE`] for a request that comes back to its sender.
    pub status: u32,
    /// The 256 bytes.
    pub mad: Mad,
}

impl Datagram {
    /// Bytes of a datagram.
    pub const SIZE: usize = 288;
    /// The status of a request that got lost: ETIMEDOUT.
    pub const UNDELIVERABLE: u32 = 110;
    const MAD: usize = 32;

    /// The bytes to send.
    pub fn to_bytes(&self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        bytes[0..2].copy_from_slice(&self.dlid.to_be_bytes());
        bytes[4..6].copy_from_slice(&self.slid.to_be_bytes());
        bytes[8..12].copy_from_slice(&self.dst_qp.to_be_bytes());
        bytes[12..16].copy_from_slice(&self.src_qp.to_be_bytes());
        bytes[16..20].copy_from_slice(&self.status.to_be_bytes());
        bytes[24..32].copy_from_slice(&((Self::SIZE - Self::MAD) as u64).to_be_bytes());
        bytes[Self::MAD..].copy_from_slice(&self.mad.0);
        bytes
    }

    /// A datagram as received; `None` if it is of another size.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; Self::SIZE] = bytes.try_into().ok()?;
        let half = |at| u16::from_be_bytes(part(bytes, at));
        let word = |at| u32::from_be_bytes(part(bytes, at));
        let mad = Mad(part(bytes, Self::MAD));
        Some(Self { dlid: half(0), slid: half(4), dst_qp: word(8), src_qp: word(12), status: word(16), mad })
    }
}

fn part<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes[at..at + N].try_into().expect("the part has this size")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{AttributeId, Class, Method};

    /// Bytes by hand, from the layout that ibsim's own preload library writes.
    #[test]
    fn datagrams_have_the_layout_of_ibsim() {
        let mad = Mad::request(Class::SUBN_LID, 1, Method::GET, AttributeId(0x11), 0);
        let datagram = Datagram { dlid: 0x1234, slid: 0x0506, dst_qp: 1, src_qp: 2, status: 110, mad };
        let bytes = datagram.to_bytes();
        assert_eq!(bytes[..8], [0x12, 0x34, 0, 0, 5, 6, 0, 0]);
        assert_eq!(bytes[8..24], [0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 110, 0, 0, 0, 0]);
        assert_eq!(bytes[24..32], [0, 0, 0, 0, 0, 0, 1, 0]);
        assert_eq!(bytes[32..], mad.0);
        assert_eq!(Datagram::from_bytes(&bytes), Some(datagram));
        assert_eq!(Datagram::from_bytes(&bytes[1..]), None);
    }

    /// Bytes by hand, as a little-endian machine has them.
    #[test]
    #[cfg(target_endian = "little")]
    fn control_messages_have_the_layout_of_ibsim() {
        let connect = Connect { id: 0x0102, is_sm: true, node: b"host-1".to_vec() };
        let message = Control::new(3, Kind::CONNECT, &connect.to_data());
        let bytes = message.to_bytes();
        assert_eq!(bytes[..16], [0xef, 0xbe, 0xad, 0xde, 3, 0, 0, 0, 1, 0, 0, 0, 44, 0, 0, 0]);
        assert_eq!(bytes[16..35], *b"\x02\x01\0\0\0\0\0\0\x01\0\0\0host-1\0");
        assert_eq!(bytes[35..], [0; 45]);
        assert_eq!(Control::from_bytes(&bytes), Some(message));
        assert_eq!(Connect::from_data(&message.data), connect);

        assert_eq!(Control::from_bytes(&bytes[1..]), None);
        assert_eq!(Control::from_bytes(&[0; 80]), None);
    }
}
