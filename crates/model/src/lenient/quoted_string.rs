//! Parses a string in any kind of quotes.

use super::parser::ParseProgress;

/// A string while it is parsed, from after its opening quote.
#[derive(Debug)]
pub(super) struct QuotedString {
    /// The text so far, escaped as in a JSON string.
    inside: String,
    end: char,
    escaped: bool,
}

impl QuotedString {
    /// A string that starts with this quote; none if it is not a quote.
    pub(super) fn begin(quote: char) -> Option<QuotedString> {
        let end = match quote {
            '"' | '\'' => quote,
            '“' => '”',
            '‘' => '’',
            _other => return None,
        };
        Some(QuotedString { inside: String::new(), end, escaped: false })
    }

    /// Parses one character.
    pub(super) fn push(&mut self, c: char) -> ParseProgress<String> {
        match c {
            // Not an escape in JSON, but every language that has it means the same.
            '\'' if self.escaped => {
                self.inside.pop();
                self.inside.push('\'');
            }
            c if self.escaped => self.inside.push(c),
            c if c == self.end => {
                return serde_json::from_str(&format!("\"{}\"", self.inside))
                    .map_or(ParseProgress::Invalid, ParseProgress::Complete);
            }
            '"' => self.inside.push_str("\\\""),
            c if c.is_control() => self.inside.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => self.inside.push(c),
        }
        self.escaped = c == '\\' && !self.escaped;
        ParseProgress::More
    }
}
