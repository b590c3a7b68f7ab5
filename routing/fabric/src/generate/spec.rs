use super::SHAPES;
use std::ops::RangeInclusive;

/// What is wrong with a description of a fabric.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{spec}\", column {column}: {message}")]
pub struct SpecError {
    /// The whole description.
    pub spec: String,
    /// Where in it, from 1, in characters.
    pub column: usize,
    /// What is wrong there, and what was expected.
    pub message: String,
}

/// `SHAPE:VALUE,KEY=VALUE,...`, taken apart; the generators ask for what they know.
#[derive(Debug)]
pub(super) struct Spec<'a> {
    text: &'a str,
    shape: &'a str,
    fields: Vec<Field<'a>>,
    /// The keys that were asked for.
    known: Vec<&'static str>,
}

#[derive(Debug)]
struct Field<'a> {
    key: Option<&'a str>,
    value: &'a str,
}

impl<'a> Spec<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, SpecError> {
        let rest = text.strip_prefix("gen:").unwrap_or(text);
        let (shape, list) = rest.split_once(':').unwrap_or((rest, ""));
        let mut spec = Self { text, shape, fields: Vec::new(), known: Vec::new() };
        for (number, field) in list.split(',').enumerate().filter(|_| !list.is_empty()) {
            let (key, value) = field.split_once('=').map_or((None, field), |(key, value)| (Some(key), value));
            if value.is_empty() {
                return Err(spec.error_at(value, format!("a value is missing; {}", spec.usage())));
            }
            if key.is_none() && number > 0 {
                return Err(spec.error_at(field, format!("expected KEY=VALUE instead of \"{field}\"; {}", spec.usage())));
            }
            if key.is_some() && spec.fields.iter().any(|other| other.key == key) {
                return Err(spec.error_at(field, format!("\"{field}\" says the same option again")));
            }
            spec.fields.push(Field { key, value });
        }
        Ok(spec)
    }

    pub(super) const fn shape(&self) -> &'a str {
        self.shape
    }

    /// The value that has no key.
    pub(super) fn value(&self, what: &str) -> Result<&'a str, SpecError> {
        match self.fields.first() {
            Some(field) if field.key.is_none() => Ok(field.value),
            Some(field) => Err(self.error_at(field.key.unwrap_or(field.value), format!("expected {what} first; {}", self.usage()))),
            None => Err(self.error_at(&self.text[self.text.len()..], format!("expected {what}; {}", self.usage()))),
        }
    }

    /// A number with a key. Without a default it must be there.
    pub(super) fn option(&mut self, key: &'static str, range: RangeInclusive<u64>, default: Option<u64>) -> Result<u64, SpecError> {
        self.known.push(key);
        match self.fields.iter().find(|field| field.key == Some(key)) {
            Some(field) => self.number(field.value, key, range),
            None => default.ok_or_else(|| self.error(format!("{key}= is missing; {}", self.usage()))),
        }
    }

    /// Reads a number that is a part of the description.
    pub(super) fn number(&self, text: &str, what: &str, range: RangeInclusive<u64>) -> Result<u64, SpecError> {
        let number = text.parse().ok().filter(|number| range.contains(number));
        let [low, high] = [range.start(), range.end()];
        number.ok_or_else(|| self.error_at(text, format!("\"{text}\" is not a possible value for {what}: a number from {low} to {high}")))
    }

    /// An error if there is something that nobody asked for. A generator calls this when it has asked for all.
    pub(super) fn finish(&self, takes_value: bool) -> Result<(), SpecError> {
        for field in &self.fields {
            match field.key {
                Some(key) if !self.known.contains(&key) => {
                    let known = self.known.join("=, ");
                    return Err(self.error_at(key, format!("{} does not take \"{key}=\"; it takes {known}=", self.shape)));
                }
                None if !takes_value => {
                    return Err(self.error_at(field.value, format!("expected KEY=VALUE instead of \"{}\"; {}", field.value, self.usage())));
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn unknown_shape(&self) -> SpecError {
        let shapes = SHAPES.map(|(name, _)| name).join(", ");
        self.error_at(self.shape, format!("\"{}\" is not a shape; the shapes are {shapes}", self.shape))
    }

    /// An error about the description as a whole.
    pub(super) fn error(&self, message: String) -> SpecError {
        self.error_at(self.shape, message)
    }

    /// An error at `part`, which must be a slice of the description.
    pub(super) fn error_at(&self, part: &str, message: String) -> SpecError {
        let offset = (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        let column = self.text.char_indices().take_while(|&(at, _)| at < offset).count() + 1;
        SpecError { spec: self.text.to_owned(), column, message }
    }

    fn usage(&self) -> String {
        let usage = SHAPES.iter().find(|(name, _)| *name == self.shape);
        usage.map_or_else(|| self.unknown_shape().message, |(_, usage)| format!("as in {usage}"))
    }
}
