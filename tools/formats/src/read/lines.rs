use super::{Fault, WarningKind, Warnings};

/// The file without a byte order mark.
///
/// # Errors
/// An empty file, and UTF-16, which some shells write.
pub(crate) fn without_mark<'a>(bytes: &'a [u8], warnings: &mut Warnings) -> Result<&'a [u8], Fault> {
    let fault = |reason: &str| Err(Fault { line: 1, column: 1, reason: reason.to_owned() });
    if bytes.is_empty() {
        return fault("the file is empty");
    }
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return fault("the file is UTF-16 text; convert it to UTF-8 first (iconv -f UTF-16 -t UTF-8)");
    }
    match bytes.strip_prefix(b"\xef\xbb\xbf") {
        Some(rest) => {
            warnings.add(1, WarningKind::ByteOrderMark, "byte order mark skipped");
            Ok(rest)
        }
        None => Ok(bytes),
    }
}

/// A line, or a part of one between carriage returns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    /// From 1. Line feeds count; in a file without any, carriage returns do.
    pub(crate) number: usize,
    /// The column of the first byte, from 1.
    pub(crate) column: usize,
    /// Without the line end.
    pub(crate) text: &'a [u8],
    /// Whether the line end is there.
    pub(crate) complete: bool,
}

impl<'a> Line<'a> {
    pub(crate) fn cursor(self) -> Cursor<'a> {
        Cursor { line: self, at: 0 }
    }
}

/// The lines of a file with any mixture of LF, CR LF, CR CR LF and CR as line ends.
pub(crate) struct Lines<'a> {
    rest: &'a [u8],
    line_feeds: bool,
    number: usize,
    column: usize,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, line_feeds: bytes.contains(&b'\n'), number: 1, column: 1 }
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        let end = self.rest.iter().position(|&byte| byte == b'\n' || byte == b'\r');
        let line =
            Line { number: self.number, column: self.column, text: &self.rest[..end.unwrap_or(self.rest.len())], complete: end.is_some() };
        let Some(end) = end else {
            self.rest = &[];
            return Some(line);
        };
        let mut next = end;
        if self.line_feeds {
            next += self.rest[end..].iter().take_while(|&&byte| byte == b'\r').count();
            if self.rest.get(next) == Some(&b'\n') {
                next += 1;
                self.number += 1;
                self.column = 1;
            } else {
                self.column += next;
            }
        } else {
            next += 1;
            self.number += 1;
        }
        self.rest = &self.rest[next..];
        Some(line)
    }
}

/// A place in a line, for reading it from left to right.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'a> {
    line: Line<'a>,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn rest(&self) -> &'a [u8] {
        &self.line.text[self.at..]
    }

    pub(crate) fn blanks(&mut self) {
        self.at += self.rest().iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    }

    pub(crate) fn skip(&mut self, bytes: usize) {
        self.at += bytes;
    }

    /// Goes past `word` if it is next.
    pub(crate) fn eat(&mut self, word: &[u8]) -> bool {
        let found = self.rest().starts_with(word);
        if found {
            self.at += word.len();
        }
        found
    }

    /// A decimal number; one beyond 32 bits is `u32::MAX`.
    pub(crate) fn decimal(&mut self) -> Option<u32> {
        let digits = self.take_while(|byte| byte.is_ascii_digit());
        number(digits, 10).map(|n| u32::try_from(n).unwrap_or(u32::MAX))
    }

    /// A hexadecimal number of up to 64 bits, with or without `0x`.
    pub(crate) fn hex(&mut self) -> Option<u64> {
        if !self.eat(b"0x") {
            self.eat(b"0X");
        }
        number(self.take_while(|byte| byte.is_ascii_hexdigit()), 16)
    }

    /// What is before the next `stop`, which is skipped as well; `None` if there is none.
    pub(crate) fn until(&mut self, stop: u8) -> Option<&'a [u8]> {
        let length = self.rest().iter().position(|&byte| byte == stop)?;
        let found = &self.rest()[..length];
        self.at += length + 1;
        Some(found)
    }

    pub(crate) fn take_while(&mut self, mut wanted: impl FnMut(u8) -> bool) -> &'a [u8] {
        let found = &self.rest()[..self.rest().iter().take_while(|&&byte| wanted(byte)).count()];
        self.at += found.len();
        found
    }

    /// A fault at this place: `wanted` is not there.
    pub(crate) fn expected(&self, wanted: &str) -> Fault {
        let rest = shorten(self.rest());
        let found = if rest.is_empty() { "the end of the line".to_owned() } else { format!("\"{rest}\"") };
        self.fault(format!("expected {wanted}, found {found}"))
    }

    pub(crate) fn fault(&self, reason: String) -> Fault {
        Fault { line: self.line.number, column: self.line.column + self.at, reason }
    }
}

/// A number of at most 64 bits; larger ones are `u64::MAX`.
pub(crate) fn number(digits: &[u8], radix: u32) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |value, &byte| {
        let digit = char::from(byte).to_digit(radix)?;
        Some(value.saturating_mul(u64::from(radix)).saturating_add(u64::from(digit)))
    })
}

/// The beginning of some text, for a message.
pub(crate) fn shorten(text: &[u8]) -> String {
    const MOST: usize = 60;
    let text = String::from_utf8_lossy(&text[..text.len().min(4 * MOST)]);
    let printable: String = text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if printable.chars().count() <= MOST { printable } else { printable.chars().take(MOST).chain(['…']).collect() }
}
