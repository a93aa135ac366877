//! Parses a string in any kind of quotes.

use super::parser::ParseProgress;

/// A string while it is parsed, from after its opening quote.
#[derive(Debug)]
pub(super) struct QuotedString {
    /// The text so far, escaped as in a JSON string.
    escaped_text: String,
    end: char,
    is_after_backslash: bool,
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
        Some(QuotedString { escaped_text: String::new(), end, is_after_backslash: false })
    }

    /// Parses one character.
    pub(super) fn push(&mut self, c: char) -> ParseProgress<String> {
        match c {
            // Not an escape in JSON, but every language that has it means the same.
            '\'' if self.is_after_backslash => {
                self.escaped_text.pop();
                self.escaped_text.push('\'');
            }
            c if self.is_after_backslash => self.escaped_text.push(c),
            c if c == self.end => {
                return serde_json::from_str(&format!("\"{}\"", self.escaped_text))
                    .map_or(ParseProgress::Invalid, ParseProgress::Complete);
            }
            '"' => self.escaped_text.push_str("\\\""),
            c if c.is_control() => self.escaped_text.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => self.escaped_text.push(c),
        }
        self.is_after_backslash = c == '\\' && !self.is_after_backslash;
        ParseProgress::More
    }
}
