use super::{AttributeId, Class, Field};
use serde::{Serialize, de::DeserializeOwned};
use std::fmt;

/// An attribute: a block of a MAD's data with a table of its fields.
///
/// As JSON it is a map from field names to numbers, lists and texts. Values wider than 32 bits are hexadecimal text, since many JSON
/// readers keep no more than 53 bits. Bits outside every field, where any is set, stand under `reserved` as the hexadecimal text of the
/// whole block, so nothing is lost. When reading, fields not named are zero, and every number may be given as hexadecimal text.
pub trait Attribute: Copy + fmt::Debug + Default + PartialEq + Serialize + DeserializeOwned {
    /// The management class that has it; for subnet management the LID-routed one.
    const CLASS: Class;
    /// The attribute id that requests it, within the class.
    const ID: AttributeId;
    /// The specification's name.
    const NAME: &'static str;
    /// All fields, ascending by their first bit.
    const FIELDS: &'static [Field];
    /// Where the block begins in a MAD, in bytes.
    const OFFSET: usize;
    /// The block: an array of as many bytes as it has.
    type Bytes: Copy + AsRef<[u8]> + AsMut<[u8]> + PartialEq + fmt::Debug;

    /// A view of received bytes. Never fails: every value is kept.
    fn from_bytes(bytes: Self::Bytes) -> Self;

    /// The bytes to send.
    fn bytes(&self) -> &Self::Bytes;
}

/// Declares an attribute by type, specification's name, id and (unless it is one of subnet management) the constant of `layout.rs`, and
/// a line for each field:
///
/// - `getter, setter: type = "Name" @ bit, width;` is a number, or a flag if the type is `bool`;
/// - `getter, setter, all: [type; count] = "Name" @ bit, width / stride;` is a row of numbers, the stride given where it is not the width;
/// - `getter, setter: [text; count] = "Name" @ bit, 8;` is a text.
macro_rules! attribute {
    (
        $(#[$doc:meta])*
        pub struct $name:ident = $spec_name:literal $id:literal $(in $class:ident)? {
            $(
                $(#[$field_doc:meta])*
                $get:ident, $set:ident $(, $all:ident)?: $type:tt = $label:literal @ $bit:literal, $width:literal $(/ $stride:literal)?;
            )*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq)]
        pub struct $name(attribute!(@bytes $($class)?));

        impl $crate::wire::Attribute for $name {
            const CLASS: $crate::wire::Class = attribute!(@layout $($class)?).class;
            const ID: $crate::wire::AttributeId = $crate::wire::AttributeId($id);
            const NAME: &'static str = $spec_name;
            const FIELDS: &'static [$crate::wire::Field] =
                &[$(attribute!(@field $type, $label, $bit, $width $(, $stride)?)),*];

            const OFFSET: usize = attribute!(@layout $($class)?).offset;
            type Bytes = attribute!(@bytes $($class)?);

            fn from_bytes(bytes: Self::Bytes) -> Self {
                Self(bytes)
            }

            fn bytes(&self) -> &Self::Bytes {
                &self.0
            }
        }

        const _: () = $crate::wire::field::check_fields::<{ attribute!(@layout $($class)?).size }>(
            <$name as $crate::wire::Attribute>::FIELDS,
        );

        impl $name {
            $(
                attribute!(
                    @access [$(#[$field_doc])*] $get, $set $(, $all)?: $type, $label, $width,
                    attribute!(@field $type, $label, $bit, $width $(, $stride)?)
                );
            )*
        }

        impl Default for $name {
            /// All bits zero.
            fn default() -> Self {
                Self([0; attribute!(@layout $($class)?).size])
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                $crate::wire::attribute::debug(self, f)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $crate::wire::json::serialize(self, serializer)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::wire::json::deserialize(deserializer)
            }
        }
    };

    (@layout) => {
        $crate::wire::layout::SUBNET_MANAGEMENT
    };
    (@layout $class:ident) => {
        $crate::wire::layout::$class
    };
    (@bytes $($class:ident)?) => {
        [u8; attribute!(@layout $($class)?).size]
    };

    (@field [text; $count:literal], $label:literal, $bit:literal, $width:literal) => {
        $crate::wire::Field::text($label, $bit, $count)
    };
    (@field [$type:tt; $count:literal], $label:literal, $bit:literal, $width:literal) => {
        $crate::wire::Field::row($label, $bit, $width, $count, $width)
    };
    (@field [$type:tt; $count:literal], $label:literal, $bit:literal, $width:literal, $stride:literal) => {
        $crate::wire::Field::row($label, $bit, $width, $count, $stride)
    };
    (@field $type:tt, $label:literal, $bit:literal, $width:literal) => {
        $crate::wire::Field::new($label, $bit, $width)
    };

    (@access [$($doc:tt)*] $get:ident, $set:ident: [text; $count:literal], $label:literal, $width:literal, $field:expr) => {
        $($doc)*
        #[doc = concat!("`", $label, "`, ", $count, " bytes.")]
        pub const fn $get(&self) -> [u8; $count] {
            attribute!(@read_all self.0, $field, u8, $count)
        }

        #[doc = concat!("Sets `", $label, "`.")]
        pub const fn $set(&mut self, value: [u8; $count]) {
            let mut index = 0;
            while index < $count {
                $field.write_at(&mut self.0, index, value[index] as u64);
                index += 1;
            }
        }
    };
    (@access [$($doc:tt)*] $get:ident, $set:ident, $all:ident: [$type:tt; $count:literal], $label:literal, $width:literal, $field:expr) => {
        $($doc)*
        #[doc = concat!("Entry `index` of `", $label, "`, ", $width, " bits.")]
        ///
        /// # Panics
        #[doc = concat!("When `index` is not below ", $count, ".")]
        pub const fn $get(&self, index: usize) -> $type {
            $field.read_at(&self.0, index) as $type
        }

        #[doc = concat!("Sets entry `index` of `", $label, "` to the low ", $width, " bits of `value`.")]
        ///
        /// # Panics
        #[doc = concat!("When `index` is not below ", $count, ".")]
        pub const fn $set(&mut self, index: usize, value: $type) {
            $field.write_at(&mut self.0, index, value as u64);
        }

        #[doc = concat!("All ", $count, " entries of `", $label, "`.")]
        pub const fn $all(&self) -> [$type; $count] {
            attribute!(@read_all self.0, $field, $type, $count)
        }
    };
    (@access [$($doc:tt)*] $get:ident, $set:ident: bool, $label:literal, $width:literal, $field:expr) => {
        $($doc)*
        #[doc = concat!("`", $label, "`.")]
        pub const fn $get(&self) -> bool {
            $field.read(&self.0) != 0
        }

        #[doc = concat!("Sets `", $label, "`.")]
        pub const fn $set(&mut self, value: bool) {
            $field.write(&mut self.0, value as u64);
        }
    };
    (@access [$($doc:tt)*] $get:ident, $set:ident: $type:tt, $label:literal, $width:literal, $field:expr) => {
        $($doc)*
        #[doc = concat!("`", $label, "`, ", $width, " bits.")]
        pub const fn $get(&self) -> $type {
            $field.read(&self.0) as $type
        }

        #[doc = concat!("Sets `", $label, "` to the low ", $width, " bits of `value`.")]
        pub const fn $set(&mut self, value: $type) {
            $field.write(&mut self.0, value as u64);
        }
    };

    (@read_all $bytes:expr, $field:expr, $type:tt, $count:literal) => {{
        let mut all = [0; $count];
        let mut index = 0;
        while index < $count {
            all[index] = $field.read_at(&$bytes, index) as $type;
            index += 1;
        }
        all
    }};
}
pub(crate) use attribute;

pub(crate) fn debug<A: Attribute>(attribute: &A, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut out = f.debug_struct(A::NAME);
    for field in A::FIELDS {
        let values = (0..field.count).map(|index| field.read_at(attribute.bytes().as_ref(), index));
        if field.text {
            let text: Vec<u8> = values.map(|byte| byte as u8).collect();
            out.field(field.name, &format_args!("\"{}\"", super::without_padding(&text).escape_ascii()));
        } else if field.count > 1 {
            out.field(field.name, &values.collect::<Vec<_>>());
        } else {
            out.field(field.name, &format_args!("{:#x}", field.read(attribute.bytes().as_ref())));
        }
    }
    out.finish()
}
