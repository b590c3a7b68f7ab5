//! The binary interface (`include/uapi/rdma/ib_user_mad.h`), as bytes at offsets: what a program passes to the kernel and gets from it.

/// An error number of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(pub i32);

impl Errno {
    /// Input/output error: no agent of this number.
    pub const EIO: Self = Self(5);
    /// Try again: somebody else has it.
    pub const EAGAIN: Self = Self(11);
    /// Out of memory: all places for agents are taken.
    pub const ENOMEM: Self = Self(12);
    /// No such device.
    pub const ENODEV: Self = Self(19);
    /// Invalid argument.
    pub const EINVAL: Self = Self(22);
    /// Inappropriate ioctl for device.
    pub const ENOTTY: Self = Self(25);
    /// Protocol not supported: the port has no such queue pair.
    pub const EPROTONOSUPPORT: Self = Self(93);
}

/// The status of a request that got no answer (ETIMEDOUT).
pub(super) const TIMED_OUT: u32 = 110;

/// The size of the header with the P_Key index.
pub(super) const HEADER: usize = 64;
/// The size of the header of a file that never asked for the P_Key index.
pub(super) const OLD_HEADER: usize = 56;

/// The header before each MAD, `struct ib_user_mad_hdr`. Numbers in the order of the machine, but for what goes on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header(pub(super) [u8; HEADER]);

const ID: usize = 0;
const STATUS: usize = 4;
const TIMEOUT_MS: usize = 8;
const RETRIES: usize = 12;
const LENGTH: usize = 16;
const QPN: usize = 20;
const LID: usize = 28;
const SL: usize = 30;
const PATH_BITS: usize = 31;
const P_KEY_INDEX: usize = 56;

impl Header {
    /// The header in front of what was written; zeros where the old form has nothing. `bytes` are at least as long as that.
    pub(super) fn of(bytes: &[u8], size: usize) -> Self {
        let mut header = [0; HEADER];
        header[..size].copy_from_slice(&bytes[..size]);
        Self(header)
    }

    pub(super) fn received() -> Self {
        Self([0; HEADER])
    }

    fn word(&self, at: usize) -> u32 {
        u32::from_ne_bytes([self.0[at], self.0[at + 1], self.0[at + 2], self.0[at + 3]])
    }

    fn set_word(&mut self, at: usize, value: u32) {
        self.0[at..at + 4].copy_from_slice(&value.to_ne_bytes());
    }

    pub(super) fn agent(&self) -> u32 {
        self.word(ID)
    }

    pub(super) fn timeout_ms(&self) -> u32 {
        self.word(TIMEOUT_MS)
    }

    pub(super) fn retries(&self) -> u32 {
        self.word(RETRIES)
    }

    pub(super) fn qpn(&self) -> u32 {
        u32::from_be(self.word(QPN))
    }

    pub(super) fn lid(&self) -> u16 {
        u16::from_be_bytes([self.0[LID], self.0[LID + 1]])
    }

    pub(super) fn sl(&self) -> u8 {
        self.0[SL]
    }

    pub(super) fn path_bits(&self) -> u8 {
        self.0[PATH_BITS]
    }

    pub(super) fn p_key_index(&self) -> u16 {
        u16::from_ne_bytes([self.0[P_KEY_INDEX], self.0[P_KEY_INDEX + 1]])
    }

    pub(super) fn set_agent(&mut self, agent: u32) {
        self.set_word(ID, agent);
    }

    pub(super) fn set_status(&mut self, status: u32) {
        self.set_word(STATUS, status);
    }

    pub(super) fn set_length(&mut self, length: usize) {
        self.set_word(LENGTH, u32::try_from(length).unwrap_or(u32::MAX));
    }

    pub(super) fn set_source(&mut self, qp: u32, lid: u16, sl: u8, path_bits: u8, p_key_index: u16) {
        self.set_word(QPN, qp.to_be());
        self.0[LID..LID + 2].copy_from_slice(&lid.to_be_bytes());
        self.0[SL] = sl;
        self.0[PATH_BITS] = path_bits;
        self.0[P_KEY_INDEX..P_KEY_INDEX + 2].copy_from_slice(&p_key_index.to_ne_bytes());
    }
}

/// What an agent registers for: the argument of REGISTER_AGENT or REGISTER_AGENT2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registration {
    /// Queue pair, 0 or 1.
    pub qpn: u32,
    /// Management class; 0 for an agent that takes no requests.
    pub class: u8,
    /// Version of the class.
    pub version: u8,
    /// Bit `n`: takes requests with method `n`.
    pub methods: u128,
    /// Of the vendor classes 0x30 to 0x4f.
    pub oui: [u8; 3],
    /// 1 to let the kernel do RMPP.
    pub rmpp_version: u8,
    /// Of REGISTER_AGENT2; bit 0: the program does RMPP itself.
    pub flags: u32,
}

impl Registration {
    /// The size of the argument of REGISTER_AGENT.
    pub const SIZE: usize = 28;
    /// The size of the argument of REGISTER_AGENT2.
    pub const SIZE_2: usize = 40;
    /// The flags there are.
    pub const FLAGS: u32 = Self::USER_RMPP;
    /// The program does RMPP itself.
    pub const USER_RMPP: u32 = 1;
    /// Where REGISTER_AGENT2 has its flags, which the kernel overwrites with [`Self::FLAGS`] when some are unknown.
    pub const FLAGS_2: usize = 12;

    /// Reads the argument of REGISTER_AGENT. Its method mask is an array of longs whatever its type says: on little-endian machines one
    /// number of 128 bits.
    pub fn from_argument(bytes: &[u8; Self::SIZE]) -> Self {
        Self {
            methods: u128::from_le_bytes(std::array::from_fn(|index| bytes[4 + index])),
            qpn: bytes[20].into(),
            class: bytes[21],
            version: bytes[22],
            oui: [bytes[23], bytes[24], bytes[25]],
            rmpp_version: bytes[26],
            flags: 0,
        }
    }

    /// Reads the argument of REGISTER_AGENT2.
    pub fn from_argument_2(bytes: &[u8; Self::SIZE_2]) -> Self {
        let word = |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let [_, oui @ ..] = word(32).to_be_bytes();
        Self {
            qpn: word(4),
            class: bytes[8],
            version: bytes[9],
            flags: word(Self::FLAGS_2),
            methods: u128::from_le_bytes(std::array::from_fn(|index| bytes[16 + index])),
            oui,
            rmpp_version: bytes[36],
        }
    }
}
