//! Generators for property tests.

use super::{Attribute, Field};
use proptest::prelude::*;

/// Any attribute whose fields hold values that fit; the bits outside every field are zero. Extremes are frequent.
pub(crate) fn attribute<A: Attribute>() -> impl Strategy<Value = A> {
    let values: Vec<_> = A::FIELDS.iter().map(|field| prop::collection::vec(value(field), field.count)).collect();
    values.prop_map(|values| {
        let mut bytes = *A::default().bytes();
        for (field, values) in A::FIELDS.iter().zip(values) {
            values.into_iter().enumerate().for_each(|(index, value)| field.write_at(bytes.as_mut(), index, value));
        }
        A::from_bytes(bytes)
    })
}

/// An attribute of any bytes, whether or not they make sense.
pub(crate) fn block<A: Attribute>() -> impl Strategy<Value = A> {
    let size = A::default().bytes().as_ref().len();
    prop::collection::vec(any::<u8>(), size).prop_map(|random| {
        let mut bytes = *A::default().bytes();
        bytes.as_mut().copy_from_slice(&random);
        A::from_bytes(bytes)
    })
}

/// Any value that fits into an element of `field`.
pub(crate) fn value(field: &Field) -> impl Strategy<Value = u64> + use<> {
    let max = field.max();
    prop_oneof![1 => Just(0), 1 => Just(max), 4 => 0..=max]
}
