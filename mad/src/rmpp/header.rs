use crate::wire::{Field, Mad, Method};
use std::fmt;

/// The RMPP header of a MAD, bytes 24 to 35 (IBA 13.6.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The version of the protocol; 1.
    pub version: u8,
    /// What the segment is, as a [`Kind`] where it is one.
    pub kind: u8,
    /// RRespTime, 5 bits.
    pub response_time: u8,
    /// The RMPP header means something.
    pub active: bool,
    /// The first segment of a message.
    pub first: bool,
    /// The last segment of a message.
    pub last: bool,
    /// Why a transfer ends; 0 when it does not.
    pub status: u8,
    /// The number of the segment, from 1; in an acknowledgement the last one that arrived without a gap before it.
    pub segment: u32,
    /// Data: the length of the message (first segment) or of the last segment, the headers behind this one counted in each segment.
    /// Acknowledgement: the last segment that may be sent.
    pub length_or_window: u32,
}

/// What a segment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A piece of the message.
    Data = 1,
    /// Says what arrived and how far the sender may go.
    Ack = 2,
    /// The receiver has no room.
    Stop = 3,
    /// The transfer ends.
    Abort = 4,
}

/// Why a transfer ended before its end (IBA 13.6.2.1, table of RMPPStatus).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stopped(pub u8);

impl Stopped {
    /// The receiver has no room.
    pub const NO_RESOURCES: Self = Self(1);
    /// The transfer took too long.
    pub const TOO_LONG: Self = Self(118);
    /// The length told is not that of the segments.
    pub const BAD_LENGTH: Self = Self(119);
    /// The number of a segment contradicts its flags.
    pub const BAD_SEGMENT: Self = Self(120);
    /// There is no such kind of segment.
    pub const BAD_KIND: Self = Self(121);
    /// The window ends before what was acknowledged.
    pub const WINDOW_TOO_SMALL: Self = Self(122);
    /// A segment was acknowledged that was never sent.
    pub const SEGMENT_TOO_BIG: Self = Self(123);
    /// The status does not belong to the kind of segment.
    pub const BAD_STATUS: Self = Self(124);
    /// The version of the protocol is not supported.
    pub const BAD_VERSION: Self = Self(125);
    /// No acknowledgement came, in all the tries.
    pub const TOO_MANY_RETRIES: Self = Self(126);
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match *self {
            Self::NO_RESOURCES => "the receiver has no room",
            Self::TOO_LONG => "it took too long",
            Self::BAD_LENGTH => "the length told is not that of the segments",
            Self::BAD_SEGMENT => "the number of a segment contradicts its flags",
            Self::BAD_KIND => "there is no such kind of segment",
            Self::WINDOW_TOO_SMALL => "the window ends before what was acknowledged",
            Self::SEGMENT_TOO_BIG => "a segment was acknowledged that was never sent",
            Self::BAD_STATUS => "the status does not belong to the kind of segment",
            Self::BAD_VERSION => "the version of the protocol is not supported",
            Self::TOO_MANY_RETRIES => "no acknowledgement came",
            Self(other) => return write!(f, "status {other}"),
        })
    }
}

impl fmt::Debug for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Stopped {}

const VERSION: Field = Field::new("RMPPVersion", 192, 8);
const KIND: Field = Field::new("RMPPType", 200, 8);
const RESPONSE_TIME: Field = Field::new("RRespTime", 208, 5);
const LAST: Field = Field::new("Last", 213, 1);
const FIRST: Field = Field::new("First", 214, 1);
const ACTIVE: Field = Field::new("Active", 215, 1);
const STATUS: Field = Field::new("RMPPStatus", 216, 8);
const SEGMENT: Field = Field::new("SegmentNumber", 224, 32);
const LENGTH: Field = Field::new("PayloadLength", 256, 32);

impl Header {
    /// The only version of the protocol.
    pub const VERSION: u8 = 1;

    /// The header of a MAD. Whether the MAD has one is for the caller to know, by its class.
    pub fn of(mad: &Mad) -> Self {
        let read = |field: Field| field.read(&mad.0);
        Self {
            version: read(VERSION) as u8,
            kind: read(KIND) as u8,
            response_time: read(RESPONSE_TIME) as u8,
            active: read(ACTIVE) != 0,
            first: read(FIRST) != 0,
            last: read(LAST) != 0,
            status: read(STATUS) as u8,
            segment: read(SEGMENT) as u32,
            length_or_window: read(LENGTH) as u32,
        }
    }

    /// Writes it into a MAD.
    pub fn write(&self, mad: &mut Mad) {
        let mut write = |field: Field, value: u64| field.write(&mut mad.0, value);
        write(VERSION, u64::from(self.version));
        write(KIND, u64::from(self.kind));
        write(RESPONSE_TIME, u64::from(self.response_time));
        write(ACTIVE, u64::from(self.active));
        write(FIRST, u64::from(self.first));
        write(LAST, u64::from(self.last));
        write(STATUS, u64::from(self.status));
        write(SEGMENT, u64::from(self.segment));
        write(LENGTH, u64::from(self.length_or_window));
    }
}

/// What goes back to the sender of `mad`: its headers up to `offset`, the method turned, and an RMPP header of this kind.
pub(super) fn reply(mad: &Mad, offset: usize, kind: Kind, status: u8, segment: u32, window: u32) -> Mad {
    let mut reply = Mad([0; 256]);
    reply.0[..offset].copy_from_slice(&mad.0[..offset]);
    // Bit 7 says response; the other direction of a transfer is the other one (IBA 13.6.2).
    reply.set_method(Method(mad.method().0 ^ 0x80));
    let header = Header {
        version: Header::VERSION,
        kind: kind as u8,
        response_time: Header::of(mad).response_time,
        active: true,
        status,
        segment,
        length_or_window: window,
        ..Header::default()
    };
    header.write(&mut reply);
    reply
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes by hand, from IBA 13.6.2: version, type, response time and flags, status, segment, length.
    #[test]
    fn bytes_of_a_header() {
        let mut mad = Mad([0; 256]);
        let header = Header {
            version: 1,
            kind: Kind::Data as u8,
            response_time: 0x1f,
            active: true,
            first: true,
            last: false,
            status: 0x7e,
            segment: 0x0102_0304,
            length_or_window: 0x0506_0708,
        };
        header.write(&mut mad);
        assert_eq!(mad.0[24..36], [1, 1, 0xfb, 0x7e, 1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(Header::of(&mad), header);
        mad.0[26] = 0x05;
        assert!(Header::of(&mad).last && Header::of(&mad).active && !Header::of(&mad).first);
    }
}
