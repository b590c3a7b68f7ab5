//! Text as statements of words.

use super::ScriptError;

/// A word and where it begins. Of a quoted word, `quoted` is what stood between the quotes, `text` what follows them.
#[derive(Clone, Debug)]
pub(super) struct Word {
    pub(super) quoted: Option<String>,
    pub(super) text: String,
    pub(super) column: usize,
    /// The column behind its last character.
    pub(super) end: usize,
}

impl Word {
    /// Whether it is this word of the grammar, which a name in quotes never is.
    pub(super) fn is(&self, text: &str) -> bool {
        self.quoted.is_none() && self.text == text
    }

    /// As it was written, without the quotes.
    pub(super) fn plain(&self) -> &str {
        self.quoted.as_deref().unwrap_or(&self.text)
    }
}

/// The words of a line, statement by statement.
pub(super) fn statements(line: &str, number: usize) -> Result<Vec<Vec<Word>>, ScriptError> {
    let mut statements = vec![Vec::new()];
    let mut chars = line.chars().zip(1..).peekable();
    while let Some(&(c, column)) = chars.peek() {
        match c {
            '#' => break,
            ';' => {
                statements.push(Vec::new());
                chars.next();
            }
            c if c.is_whitespace() => {
                chars.next();
            }
            _ => {
                let quoted = if c == '"' {
                    chars.next();
                    let mut name = String::new();
                    loop {
                        match chars.next() {
                            Some(('"', _)) => break,
                            Some((c, _)) => name.push(c),
                            None => {
                                return Err(ScriptError::new(number, column, "a quoted name has no closing quote (\") in its line"));
                            }
                        }
                    }
                    Some(name)
                } else {
                    None
                };
                let mut text = String::new();
                while let Some((c, _)) = chars.next_if(|&(c, _)| !c.is_whitespace() && c != ';') {
                    text.push(c);
                }
                let quotes = quoted.as_ref().map_or(0, |name| name.chars().count() + 2);
                let end = column + quotes + text.chars().count();
                statements.last_mut().expect("never empty").push(Word { quoted, text, column, end });
            }
        }
    }
    Ok(statements)
}
