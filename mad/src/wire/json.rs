//! Attributes as JSON, from their tables of fields. [`Attribute`] documents the form.

use super::{Attribute, Field};
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::{fmt, marker::PhantomData};

/// The key under which bits outside every field stand.
const RESERVED: &str = "reserved";

pub(super) fn serialize<A: Attribute, S: Serializer>(attribute: &A, serializer: S) -> Result<S::Ok, S::Error> {
    let fields = A::FIELDS.iter().map(|field| (field.name, Value::read(field, attribute.bytes().as_ref())));
    let reserved = reserved_bits(attribute);
    let reserved = reserved.as_ref();
    let reserved = reserved.iter().any(|&byte| byte != 0).then(|| (RESERVED, Value::Text(to_hex(reserved))));
    serializer.collect_map(fields.chain(reserved))
}

pub(super) fn deserialize<'de, A: Attribute, D: Deserializer<'de>>(deserializer: D) -> Result<A, D::Error> {
    deserializer.deserialize_map(AttributeVisitor(PhantomData))
}

/// What a field looks like in JSON.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Value {
    Number(u64),
    Text(String),
    List(Vec<Self>),
}

impl Value {
    fn read(field: &Field, bytes: &[u8]) -> Self {
        let values: Vec<u64> = (0..field.count).map(|index| field.read_at(bytes, index)).collect();
        if field.text {
            let text: Vec<u8> = values.iter().map(|&byte| byte as u8).collect();
            if let Ok(text) = String::from_utf8(super::without_padding(&text).to_vec()) {
                return Self::Text(text);
            }
        }
        let number = |&value: &u64| if field.width > 32 { Self::Text(format!("{value:#018x}")) } else { Self::Number(value) };
        match &values[..] {
            [value] => number(value),
            values => Self::List(values.iter().map(number).collect()),
        }
    }

    /// Sets `field` in `bytes`. The error says what was expected.
    fn write(&self, field: &Field, bytes: &mut [u8]) -> Result<(), String> {
        match self {
            Self::Text(text) if field.text => {
                if text.len() > field.count {
                    return Err(format!("the text has {} bytes, at most {} fit", text.len(), field.count));
                }
                let padded = text.bytes().chain(std::iter::repeat(0));
                (0..field.count).zip(padded).for_each(|(index, byte)| field.write_at(bytes, index, u64::from(byte)));
                Ok(())
            }
            Self::List(list) if field.count > 1 => {
                if list.len() != field.count {
                    return Err(format!("the list has {} entries instead of {}", list.len(), field.count));
                }
                list.iter().enumerate().try_for_each(|(index, value)| {
                    field.write_at(bytes, index, value.number(field)?);
                    Ok(())
                })
            }
            value if field.count == 1 => {
                field.write(bytes, value.number(field)?);
                Ok(())
            }
            _ => Err(format!("expected a list of {} numbers", field.count)),
        }
    }

    fn number(&self, field: &Field) -> Result<u64, String> {
        let number = match self {
            Self::Number(number) => *number,
            Self::Text(text) => text
                .strip_prefix("0x")
                .and_then(|digits| u64::from_str_radix(digits, 16).ok())
                .ok_or_else(|| format!("{text:?} is not a number; expected digits, or 0x and at most 16 hexadecimal digits as text"))?,
            Self::List(_) => return Err("expected a number instead of a list".into()),
        };
        if number > field.max() {
            return Err(format!("{number} is beyond {}, the most that {} bits hold", field.max(), field.width));
        }
        Ok(number)
    }
}

/// The block with the bits of all fields cleared.
fn reserved_bits<A: Attribute>(attribute: &A) -> A::Bytes {
    let mut rest = *attribute.bytes();
    for field in A::FIELDS {
        (0..field.count).for_each(|index| field.write_at(rest.as_mut(), index, 0));
    }
    rest
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Fills `bytes`, if the text has exactly their digits.
fn from_hex(text: &str, bytes: &mut [u8]) -> Option<()> {
    if text.len() != 2 * bytes.len() || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * index..2 * index + 2], 16).ok()?;
    }
    Some(())
}

struct AttributeVisitor<A>(PhantomData<A>);

impl<'de, A: Attribute> Visitor<'de> for AttributeVisitor<A> {
    type Value = A;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a map with the fields of {}", A::NAME)
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<A, M::Error> {
        let mut bytes = *A::default().bytes();
        let mut reserved = bytes;
        while let Some(name) = map.next_key::<String>()? {
            if name == RESERVED {
                let text: String = map.next_value()?;
                let digits = 2 * reserved.as_ref().len();
                from_hex(&text, reserved.as_mut())
                    .ok_or_else(|| M::Error::custom(format!("{} {RESERVED}: expected {digits} hexadecimal digits", A::NAME)))?;
                continue;
            }
            let Some(field) = A::FIELDS.iter().find(|field| field.name == name) else {
                return Err(M::Error::custom(format!("{} has no field {name:?}", A::NAME)));
            };
            let value: Value = map.next_value().map_err(|error| M::Error::custom(format!("{} {name}: {error}", A::NAME)))?;
            value.write(field, bytes.as_mut()).map_err(|reason| M::Error::custom(format!("{} {name}: {reason}", A::NAME)))?;
        }
        let reserved = reserved_bits(&A::from_bytes(reserved));
        bytes.as_mut().iter_mut().zip(reserved.as_ref()).for_each(|(byte, rest)| *byte |= rest);
        Ok(A::from_bytes(bytes))
    }
}
