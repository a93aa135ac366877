//! Listings, as code is shown: how one begins, and where one that is no call ends.

use super::call::Sign;

/// The fewest characters of a border.
const LEAST: usize = 3;
/// The longest language of a listing.
const MAX_LANGUAGE: usize = 32;

/// A run of backticks or tildes around a listing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Border {
    pub(super) mark: char,
    pub(super) length: usize,
}

/// What may be the first line of a listing.
#[derive(Debug)]
pub(super) struct FirstLine {
    border: Border,
    language: String,
}

/// What a character makes of the first line.
#[derive(Debug)]
pub(super) enum Opened {
    /// It goes on.
    Partly,
    /// This character does not belong to it any more: the listing may hold calls.
    Calls(Border, Sign),
    /// The same: it holds something else.
    Listing(Border),
    /// The same: it is no listing.
    Nothing,
}

impl FirstLine {
    pub(super) fn new(mark: char) -> FirstLine {
        FirstLine { border: Border { mark, length: 1 }, language: String::new() }
    }

    /// Takes one character.
    pub(super) fn push(&mut self, c: char) -> Opened {
        if c == self.border.mark && self.language.is_empty() {
            self.border.length += 1;
            return Opened::Partly;
        }
        if self.border.length < LEAST {
            return Opened::Nothing;
        }
        let named = c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+');
        if named && self.language.len() < MAX_LANGUAGE {
            self.language.push(c);
            return Opened::Partly;
        }
        match self.language.as_str() {
            "" | "json" | "JSON" | "json5" | "jsonc" => Opened::Calls(self.border, Sign::Formed),
            "tool" | "tool_call" | "tool_calls" | "function_call" => Opened::Calls(self.border, Sign::Marked),
            _code => Opened::Listing(self.border),
        }
    }
}

/// A listing that is shown as it is.
#[derive(Debug)]
pub(super) struct Listing {
    border: Border,
    /// Characters of the closing border so far.
    run: usize,
    closable: Closable,
}

/// Whether a border would close the listing: anywhere on its first line, then at the beginning of one.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Closable {
    OnFirstLine,
    AtLineStart,
    No,
}

impl Listing {
    /// A listing of which `text` was read.
    pub(super) fn after(border: Border, text: &str) -> Listing {
        let closable = match text.rsplit_once('\n') {
            None => Closable::OnFirstLine,
            Some((_, line)) if line.trim().is_empty() => Closable::AtLineStart,
            Some(_) => Closable::No,
        };
        Listing { border, run: 0, closable }
    }

    /// Takes one character; whether the listing ends with it.
    pub(super) fn push(&mut self, c: char) -> bool {
        if c == self.border.mark && self.closable != Closable::No {
            self.run += 1;
            return self.run == self.border.length;
        }
        self.run = 0;
        self.closable = match (self.closable, c) {
            (_, '\n') => Closable::AtLineStart,
            (Closable::AtLineStart, c) if !c.is_whitespace() => Closable::No,
            (closable, _) => closable,
        };
        false
    }
}
