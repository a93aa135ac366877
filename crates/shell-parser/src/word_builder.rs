//! A word under construction.

use super::raw_command::RawWord;
use super::{ShellWord, braces};

/// A word under construction.
#[derive(Debug, Default)]
pub(super) struct WordBuilder {
    /// The text so far, without quotes.
    text: String,
    /// Where the part that is not literal begins.
    literal_end: Option<usize>,
    unknown: bool,
    pub(super) splits: bool,
    pub(super) quoted: bool,
    /// Whether it contains an unquoted glob character, and whether it contains a quoted one.
    glob: bool,
    quoted_glob: bool,
    /// The position of an unquoted open bracket, which is a glob if it is closed.
    bracket: Option<usize>,
    /// Whether it contains unquoted braces.
    brace: bool,
}

impl WordBuilder {
    /// Adds literal characters.
    pub(super) fn push_literal(&mut self, text: &str) {
        self.quoted = true;
        self.quoted_glob |= text.contains(is_glob);
        self.text.push_str(text);
    }

    /// Marks everything from here on as not literal.
    pub(super) fn end_literal(&mut self) {
        self.literal_end.get_or_insert(self.text.len());
    }

    pub(super) fn mark_unknown(&mut self) {
        self.end_literal();
        self.unknown = true;
    }

    /// Adds a process substitution, which becomes the name of a descriptor.
    pub(super) fn push_process_substitution(&mut self) {
        if self.text.is_empty() && !self.unknown {
            self.text.push_str("/dev/fd/");
        }
        self.mark_unknown();
    }

    pub(super) fn push_unquoted(&mut self, c: char) {
        let tilde = c == '~' && (self.text.is_empty() && !self.quoted || self.text.ends_with(['=', ':']));
        if tilde {
            self.mark_unknown();
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
            self.literal_end = Some(self.literal_end.map_or(open, |literal| literal.min(open)));
            self.glob = true;
        }
    }

    pub(super) fn finish(self, written: &str) -> Vec<RawWord> {
        let prefix = self.text.get(..self.literal_end.unwrap_or(self.text.len())).unwrap_or_default();
        let plain = !self.quoted && !self.unknown;
        if self.brace && braces::may_expand(&self.text) {
            let prefix = prefix.split('{').next().unwrap_or_default();
            let expanded = if plain && !self.glob { braces::expand(&self.text) } else { None };
            let known = |words: Vec<String>| words.iter().map(|word| RawWord::known(word)).collect();
            return expanded
                .map(known)
                .unwrap_or_else(|| vec![RawWord { splits: true, ..RawWord::unknown(written, prefix) }]);
        }
        let safe_glob = !self.quoted_glob && !prefix.is_empty() && !prefix.starts_with('-');
        let word = match (self.unknown, self.glob) {
            (false, false) => ShellWord::Known(self.text.clone()),
            (false, true) if safe_glob => ShellWord::Glob(self.text.clone()),
            (false | true, true) | (true, false) => ShellWord::Unknown(written.to_owned()),
        };
        let splits = self.splits || self.glob && !safe_glob;
        vec![RawWord { word, prefix: prefix.to_owned(), splits, plain }]
    }
}

fn is_glob(c: char) -> bool {
    matches!(c, '*' | '?' | '[' | ']')
}
