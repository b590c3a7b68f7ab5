//! Generators for property tests.

use super::{Attribute, Field};
use proptest::prelude::*;

/// Any attribute whose fields hold values that fit; the bits outside every field are zero. Extremes are frequent.
pub(crate) fn attribute<A: Attribute>() -> impl Strategy<Value = A> {
    let values: Vec<_> = A::FIELDS.iter().map(|field| prop::collection::vec(value(field), field.count)).collect();
    values.prop_map(|values| {
        let mut bytes = [0; 64];
        for (field, values) in A::FIELDS.iter().zip(values) {
            values.into_iter().enumerate().for_each(|(index, value)| field.write_at(&mut bytes, index, value));
        }
        A::from_bytes(bytes)
    })
}

/// Any block of 64 bytes, whether or not it makes sense.
pub(crate) fn block() -> impl Strategy<Value = [u8; 64]> {
    any::<[[u8; 32]; 2]>().prop_map(|halves| std::array::from_fn(|index| halves[index / 32][index % 32]))
}

/// Any value that fits into an element of `field`.
pub(crate) fn value(field: &Field) -> impl Strategy<Value = u64> + use<> {
    let max = field.max();
    prop_oneof![1 => Just(0), 1 => Just(max), 4 => 0..=max]
}
