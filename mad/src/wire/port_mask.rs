use std::fmt;

/// A set of ports, 0 to 255, as switches write it: a number of 256 bits whose lowest is port 0, most significant byte first.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortMask([u64; 4]);

impl PortMask {
    /// The set of received bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        let word = |index: usize| bytes[24 - 8 * index..][..8].iter().fold(0, |word, &byte| word << 8 | u64::from(byte));
        Self(std::array::from_fn(word))
    }

    /// The bytes to send.
    pub fn to_bytes(self) -> [u8; 32] {
        std::array::from_fn(|byte| self.0[3 - byte / 8].to_be_bytes()[byte % 8])
    }

    /// Whether the port is in the set.
    pub const fn contains(&self, port: u8) -> bool {
        self.0[port as usize / 64] >> (port % 64) & 1 == 1
    }

    /// Adds a port.
    pub const fn insert(&mut self, port: u8) {
        self.0[port as usize / 64] |= 1 << (port % 64);
    }

    /// Whether there is no port in the set.
    pub fn is_empty(&self) -> bool {
        self.0 == [0; 4]
    }

    /// The ports, ascending. `O(1)` a port.
    pub fn iter(&self) -> impl Iterator<Item = u8> + use<> {
        (0u8..).zip(self.0).flat_map(|(index, word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let low = rest.trailing_zeros() as u8;
                rest &= rest.wrapping_sub(1);
                (low < 64).then(|| 64 * index + low)
            })
        })
    }
}

impl FromIterator<u8> for PortMask {
    fn from_iter<I: IntoIterator<Item = u8>>(ports: I) -> Self {
        let mut mask = Self::default();
        ports.into_iter().for_each(|port| mask.insert(port));
        mask
    }
}

/// As a list of ports.
impl fmt::Debug for PortMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bytes_round_trip(bytes: [u8; 32]) {
            let mask = PortMask::from_bytes(bytes);
            prop_assert_eq!(mask.to_bytes(), bytes);
            let by_bit: Vec<u8> = (0..=255).filter(|&port: &u8| bytes[31 - usize::from(port / 8)] >> (port % 8) & 1 == 1).collect();
            prop_assert_eq!(mask.iter().collect::<Vec<_>>(), by_bit.clone());
            prop_assert_eq!(by_bit.iter().copied().collect::<PortMask>(), mask);
            prop_assert_eq!(mask.is_empty(), by_bit.is_empty());
            prop_assert!((0..=255).all(|port| mask.contains(port) == by_bit.contains(&port)));
        }
    }
}
