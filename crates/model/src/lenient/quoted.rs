//! A text in quotes, of any kind.

use super::parser::Progress;

/// A text under way, from behind its first quote.
#[derive(Debug)]
pub(super) struct Quoted {
    /// The text so far, as the inside of a JSON string.
    inside: String,
    end: char,
    escaped: bool,
}

impl Quoted {
    /// A text that begins with this quote; none if it is no quote.
    pub(super) fn begin(quote: char) -> Option<Quoted> {
        let end = match quote {
            '"' | '\'' => quote,
            '“' => '”',
            '‘' => '’',
            _other => return None,
        };
        Some(Quoted { inside: String::new(), end, escaped: false })
    }

    /// Takes one character.
    pub(super) fn push(&mut self, c: char) -> Progress<String> {
        match c {
            // No escape in JSON, but every language that has it means the same.
            '\'' if self.escaped => {
                self.inside.pop();
                self.inside.push('\'');
            }
            c if self.escaped => self.inside.push(c),
            c if c == self.end => {
                return serde_json::from_str(&format!("\"{}\"", self.inside)).map_or(Progress::Broken, Progress::Whole);
            }
            '"' => self.inside.push_str("\\\""),
            c if c.is_control() => self.inside.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => self.inside.push(c),
        }
        self.escaped = c == '\\' && !self.escaped;
        Progress::More
    }
}
