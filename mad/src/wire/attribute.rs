use std::fmt;

/// One field of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The specification's name.
    pub name: &'static str,
    /// First bit, counted from the most significant bit of the first byte.
    pub bit: usize,
    /// Width in bits, 1 to 64.
    pub width: usize,
}

impl Field {
    /// This field's value in `bytes`.
    ///
    /// # Panics
    /// When the field does not lie within `bytes`; the tables that `attribute!` makes are checked at compile time.
    pub const fn read(&self, bytes: &[u8]) -> u64 {
        let last = (self.bit + self.width - 1) / 8;
        let mut value: u128 = 0;
        let mut byte = self.bit / 8;
        while byte <= last {
            value = value << 8 | bytes[byte] as u128;
            byte += 1;
        }
        let below = (last + 1) * 8 - (self.bit + self.width);
        (value >> below) as u64 & Self::mask(self.width)
    }

    /// Sets this field in `bytes` to the low bits of `value`; bits outside the field stay.
    ///
    /// # Panics
    /// As [`Field::read`].
    pub const fn write(&self, bytes: &mut [u8], value: u64) {
        let last = (self.bit + self.width - 1) / 8;
        let below = (last + 1) * 8 - (self.bit + self.width);
        let mut mask = (Self::mask(self.width) as u128) << below;
        let mut value = ((value & Self::mask(self.width)) as u128) << below;
        let mut byte = last + 1;
        while byte > self.bit / 8 {
            byte -= 1;
            bytes[byte] = bytes[byte] & !(mask as u8) | value as u8;
            mask >>= 8;
            value >>= 8;
        }
    }

    const fn mask(width: usize) -> u64 {
        u64::MAX >> (64 - width)
    }
}

/// An attribute: a block of 64 bytes of SMP data with a table of its fields.
pub trait Attribute: Copy + fmt::Debug + Sized {
    /// The attribute id that requests it.
    const ID: super::AttributeId;
    /// The specification's name.
    const NAME: &'static str;
    /// All fields, ascending.
    const FIELDS: &'static [Field];

    /// A view of received bytes. Never fails: every value is kept.
    fn from_bytes(bytes: [u8; 64]) -> Self;

    /// The bytes to send.
    fn bytes(&self) -> &[u8; 64];
}

/// Fails to compile (when called in a constant) unless the fields ascend, do not overlap and fit into `bits`.
pub(crate) const fn check_fields(fields: &[Field], bits: usize) {
    let mut end = 0;
    let mut i = 0;
    while i < fields.len() {
        assert!(fields[i].width >= 1 && fields[i].width <= 64, "a field is 1 to 64 bits wide");
        assert!(fields[i].bit >= end, "fields ascend and do not overlap");
        end = fields[i].bit + fields[i].width;
        assert!(end <= bits, "fields fit");
        i += 1;
    }
}

/// Declares an attribute: `getter, setter: type = "Name" @ bit, width;` for each field.
macro_rules! attribute {
    (
        $(#[$doc:meta])*
        pub struct $name:ident = $id:literal {
            $( $(#[$field_doc:meta])* $get:ident, $set:ident: $type:ty = $label:literal @ $bit:literal, $width:literal; )*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq)]
        pub struct $name([u8; 64]);

        impl $crate::wire::Attribute for $name {
            const ID: $crate::wire::AttributeId = $crate::wire::AttributeId($id);
            const NAME: &'static str = stringify!($name);
            const FIELDS: &'static [$crate::wire::Field] =
                &[$($crate::wire::Field { name: $label, bit: $bit, width: $width }),*];

            fn from_bytes(bytes: [u8; 64]) -> Self {
                Self(bytes)
            }

            fn bytes(&self) -> &[u8; 64] {
                &self.0
            }
        }

        const _: () = $crate::wire::attribute::check_fields(<$name as $crate::wire::Attribute>::FIELDS, 512);

        impl $name {
            $(
                $(#[$field_doc])*
                #[doc = concat!("`", $label, "`, ", $width, " bits.")]
                pub const fn $get(&self) -> $type {
                    $crate::wire::Field { name: $label, bit: $bit, width: $width }.read(&self.0) as $type
                }

                #[doc = concat!("Sets `", $label, "` to the low ", $width, " bits of `value`.")]
                pub const fn $set(&mut self, value: $type) {
                    $crate::wire::Field { name: $label, bit: $bit, width: $width }.write(&mut self.0, value as u64);
                }
            )*
        }

        impl Default for $name {
            /// All bits zero.
            fn default() -> Self {
                Self([0; 64])
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                $crate::wire::attribute::debug(self, f)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $crate::wire::attribute::serialize(self, serializer)
            }
        }
    };
}
pub(crate) use attribute;

pub(crate) fn debug<A: Attribute>(attribute: &A, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut out = f.debug_struct(A::NAME);
    for field in A::FIELDS {
        out.field(field.name, &format_args!("{:#x}", field.read(attribute.bytes())));
    }
    out.finish()
}

pub(crate) fn serialize<A: Attribute, S: serde::Serializer>(attribute: &A, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(A::FIELDS.iter().map(|field| (field.name, field.read(attribute.bytes()))))
}
