//! A word while it is read.

use super::raw::Spelled;
use super::{Word, braces};

/// A word as it grows.
#[derive(Debug, Default)]
pub(super) struct Growing {
    /// What is known of it so far, without quotes.
    text: String,
    /// Where the part begins that is not literal.
    literal: Option<usize>,
    unknown: bool,
    pub(super) splits: bool,
    pub(super) quoted: bool,
    /// Whether an unquoted glob character stands in it, and whether a quoted one does.
    glob: bool,
    quoted_glob: bool,
    /// Where an unquoted bracket was opened, which is a glob if it is closed.
    bracket: Option<usize>,
    /// Whether unquoted braces stand in it.
    brace: bool,
}

impl Growing {
    /// Adds characters that stand for themselves.
    pub(super) fn quote(&mut self, text: &str) {
        self.quoted = true;
        self.quoted_glob |= text.contains(is_glob);
        self.text.push_str(text);
    }

    /// Notes that what follows is not literal.
    pub(super) fn end_literal(&mut self) {
        self.literal.get_or_insert(self.text.len());
    }

    pub(super) fn expand(&mut self) {
        self.end_literal();
        self.unknown = true;
    }

    /// A process becomes the name of a descriptor.
    pub(super) fn process(&mut self) {
        if self.text.is_empty() && !self.unknown {
            self.text.push_str("/dev/fd/");
        }
        self.expand();
    }

    pub(super) fn unquoted(&mut self, c: char) {
        let tilde = c == '~' && (self.text.is_empty() && !self.quoted || self.text.ends_with(['=', ':']));
        if tilde {
            self.expand();
        }
        match c {
            '*' | '?' => {
                self.end_literal();
                self.glob = true;
            }
            '[' => {
                self.bracket.get_or_insert(self.text.len());
            }
            ']' => self.close_bracket(),
            _ => {}
        }
        self.brace |= c == '{';
        self.text.push(c);
    }

    pub(super) fn close_bracket(&mut self) {
        if let Some(open) = self.bracket {
            self.literal = Some(self.literal.map_or(open, |literal| literal.min(open)));
            self.glob = true;
        }
    }

    pub(super) fn finish(self, written: &str) -> Vec<Spelled> {
        let prefix = self.text.get(..self.literal.unwrap_or(self.text.len())).unwrap_or_default();
        let plain = !self.quoted && !self.unknown;
        if self.brace && braces::may_expand(&self.text) {
            let prefix = prefix.split('{').next().unwrap_or_default();
            let expanded = if plain && !self.glob { braces::expand(&self.text) } else { None };
            let known = |words: Vec<String>| words.iter().map(|word| Spelled::known(word)).collect();
            return expanded
                .map(known)
                .unwrap_or_else(|| vec![Spelled { splits: true, ..Spelled::unknown(written, prefix) }]);
        }
        let safe_glob = !self.quoted_glob && !prefix.is_empty() && !prefix.starts_with('-');
        let word = match (self.unknown, self.glob) {
            (false, false) => Word::Known(self.text.clone()),
            (false, true) if safe_glob => Word::Glob(self.text.clone()),
            (false | true, true) | (true, false) => Word::Unknown(written.to_owned()),
        };
        let splits = self.splits || self.glob && !safe_glob;
        vec![Spelled { word, prefix: prefix.to_owned(), splits, plain }]
    }
}

fn is_glob(c: char) -> bool {
    matches!(c, '*' | '?' | '[' | ']')
}
