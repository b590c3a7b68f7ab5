/// One field of an attribute: a number, or a row of equal numbers at equal distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The specification's name.
    pub name: &'static str,
    /// First bit of the first element, counted from the most significant bit of the first byte.
    pub bit: usize,
    /// Width of one element in bits, 1 to 64.
    pub width: usize,
    /// Number of elements; 1 for a plain number.
    pub count: usize,
    /// Distance in bits from one element to the next, at least the width.
    pub stride: usize,
    /// Whether the elements are the bytes of a text.
    pub text: bool,
}

impl Field {
    /// A number.
    pub const fn new(name: &'static str, bit: usize, width: usize) -> Self {
        Self { name, bit, width, count: 1, stride: width, text: false }
    }

    /// A row of `count` numbers, each `width` bits wide, `stride` bits from one to the next.
    pub const fn row(name: &'static str, bit: usize, width: usize, count: usize, stride: usize) -> Self {
        Self { name, bit, width, count, stride, text: false }
    }

    /// A text of `count` bytes.
    pub const fn text(name: &'static str, bit: usize, count: usize) -> Self {
        Self { name, bit, width: 8, count, stride: 8, text: true }
    }

    /// This field's (first) value in `bytes`.
    ///
    /// # Panics
    /// When the field does not lie within `bytes`; the tables of the attributes are checked at compile time.
    pub const fn read(&self, bytes: &[u8]) -> u64 {
        self.read_at(bytes, 0)
    }

    /// Sets this field's (first) value in `bytes` to the low bits of `value`; bits outside the field stay.
    ///
    /// # Panics
    /// As [`Field::read`].
    pub const fn write(&self, bytes: &mut [u8], value: u64) {
        self.write_at(bytes, 0, value);
    }

    /// Element `index` in `bytes`.
    ///
    /// # Panics
    /// When `index` is not below [`Field::count`], and as [`Field::read`].
    pub const fn read_at(&self, bytes: &[u8], index: usize) -> u64 {
        let (first, last, below) = self.place(index);
        let mut value: u128 = 0;
        let mut byte = first;
        while byte <= last {
            value = value << 8 | bytes[byte] as u128;
            byte += 1;
        }
        (value >> below) as u64 & self.max()
    }

    /// Sets element `index` in `bytes` to the low bits of `value`; bits outside the element stay.
    ///
    /// # Panics
    /// As [`Field::read_at`].
    pub const fn write_at(&self, bytes: &mut [u8], index: usize, value: u64) {
        let (first, last, below) = self.place(index);
        let mut mask = (self.max() as u128) << below;
        let mut value = ((value & self.max()) as u128) << below;
        let mut byte = last + 1;
        while byte > first {
            byte -= 1;
            bytes[byte] = bytes[byte] & !(mask as u8) | value as u8;
            mask >>= 8;
            value >>= 8;
        }
    }

    /// The largest value that an element can have.
    pub const fn max(&self) -> u64 {
        u64::MAX >> (64 - self.width)
    }

    /// The first and last byte of element `index`, and the number of bits below it in the last byte.
    const fn place(&self, index: usize) -> (usize, usize, usize) {
        assert!(index < self.count, "the index is below the field's count");
        let bit = self.bit + index * self.stride;
        let last = (bit + self.width - 1) / 8;
        (bit / 8, last, (last + 1) * 8 - (bit + self.width))
    }
}

/// Fails to compile (when called in a constant) unless the fields ascend by first bit, do not overlap and fit into `SIZE` bytes.
pub(crate) const fn check_fields<const SIZE: usize>(fields: &[Field]) {
    let mut used = [0; SIZE];
    let mut start = 0;
    let mut i = 0;
    while i < fields.len() {
        let field = &fields[i];
        assert!(field.width >= 1 && field.width <= 64, "an element is 1 to 64 bits wide");
        assert!(field.count >= 1 && field.stride >= field.width, "elements do not overlap");
        assert!(field.bit >= start, "fields ascend");
        start = field.bit;
        let mut index = 0;
        while index < field.count {
            assert!(field.read_at(&used, index) == 0, "fields do not overlap");
            field.write_at(&mut used, index, u64::MAX);
            index += 1;
        }
        i += 1;
    }
}
