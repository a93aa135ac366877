//! Listings, as code is shown: how one begins, and where one that is not a call ends.

use super::call::CallCertainty;

/// The fewest characters of a border.
const LEAST: usize = 3;
/// The longest language of a listing.
const MAX_LANGUAGE: usize = 32;

/// A run of backticks or tildes around a listing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CodeFence {
    pub(super) mark: char,
    pub(super) length: usize,
}

/// What may be the first line of a listing.
#[derive(Debug)]
pub(super) struct FenceLine {
    border: CodeFence,
    language: String,
}

/// What a character makes of the first line.
#[derive(Debug)]
pub(super) enum FenceOpening {
    /// It goes on.
    Partly,
    /// This character does not belong to it any more: the listing may hold calls.
    Calls(CodeFence, CallCertainty),
    /// The same: it holds something else.
    Listing(CodeFence),
    /// The same: it is not a listing.
    Nothing,
}

impl FenceLine {
    pub(super) fn new(mark: char) -> FenceLine {
        FenceLine { border: CodeFence { mark, length: 1 }, language: String::new() }
    }

    /// Takes one character.
    pub(super) fn push(&mut self, c: char) -> FenceOpening {
        if c == self.border.mark && self.language.is_empty() {
            self.border.length += 1;
            return FenceOpening::Partly;
        }
        if self.border.length < LEAST {
            return FenceOpening::Nothing;
        }
        let named = c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+');
        if named && self.language.len() < MAX_LANGUAGE {
            self.language.push(c);
            return FenceOpening::Partly;
        }
        match self.language.as_str() {
            "" | "json" | "JSON" | "json5" | "jsonc" => FenceOpening::Calls(self.border, CallCertainty::Formed),
            "tool" | "tool_call" | "tool_calls" | "function_call" => {
                FenceOpening::Calls(self.border, CallCertainty::Marked)
            }
            _code => FenceOpening::Listing(self.border),
        }
    }
}

/// A listing that is shown as it is.
#[derive(Debug)]
pub(super) struct CodeBlock {
    border: CodeFence,
    /// Characters of the closing border so far.
    run: usize,
    closable: FenceClosing,
}

/// Whether a border would close the listing: anywhere on its first line, then at the beginning of one.
#[derive(Debug, Clone, Copy, PartialEq)]
enum FenceClosing {
    OnFirstLine,
    AtLineStart,
    No,
}

impl CodeBlock {
    /// A listing of which `text` was read.
    pub(super) fn after(border: CodeFence, text: &str) -> CodeBlock {
        let closable = match text.rsplit_once('\n') {
            None => FenceClosing::OnFirstLine,
            Some((_, line)) if line.trim().is_empty() => FenceClosing::AtLineStart,
            Some(_) => FenceClosing::No,
        };
        CodeBlock { border, run: 0, closable }
    }

    /// Takes one character; whether the listing ends with it.
    pub(super) fn push(&mut self, c: char) -> bool {
        if c == self.border.mark && self.closable != FenceClosing::No {
            self.run += 1;
            return self.run == self.border.length;
        }
        self.run = 0;
        self.closable = match (self.closable, c) {
            (_, '\n') => FenceClosing::AtLineStart,
            (FenceClosing::AtLineStart, c) if !c.is_whitespace() => FenceClosing::No,
            (closable, _) => closable,
        };
        false
    }
}
