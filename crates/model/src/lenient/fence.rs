//! Code blocks: how one begins, and where one that is no call ends.

use super::call::Sign;

/// The fewest characters of a fence.
const LEAST: usize = 3;
/// The longest language of a block.
const MAX_LANGUAGE: usize = 32;

/// A run of backticks or tildes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Fence {
    pub(super) mark: char,
    pub(super) length: usize,
}

/// What may be the first line of a block.
#[derive(Debug)]
pub(super) struct FirstLine {
    fence: Fence,
    language: String,
}

/// What a character makes of the first line.
#[derive(Debug)]
pub(super) enum Opened {
    /// It goes on.
    Partly,
    /// This character does not belong to it any more: the block may hold calls.
    Calls(Fence, Sign),
    /// The same: it holds something else.
    Code(Fence),
    /// The same: it is no block.
    Nothing,
}

impl FirstLine {
    pub(super) fn new(mark: char) -> FirstLine {
        FirstLine { fence: Fence { mark, length: 1 }, language: String::new() }
    }

    /// Takes one character.
    pub(super) fn push(&mut self, c: char) -> Opened {
        if c == self.fence.mark && self.language.is_empty() {
            self.fence.length += 1;
            return Opened::Partly;
        }
        if self.fence.length < LEAST {
            return Opened::Nothing;
        }
        let named = c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+');
        if named && self.language.len() < MAX_LANGUAGE {
            self.language.push(c);
            return Opened::Partly;
        }
        match self.language.as_str() {
            "" | "json" | "JSON" | "json5" | "jsonc" => Opened::Calls(self.fence, Sign::Formed),
            "tool" | "tool_call" | "tool_calls" | "function_call" => Opened::Calls(self.fence, Sign::Marked),
            _code => Opened::Code(self.fence),
        }
    }
}

/// A block that is shown as it is.
#[derive(Debug)]
pub(super) struct Code {
    fence: Fence,
    /// Characters of the closing fence so far.
    run: usize,
    closable: Closable,
}

/// Whether a fence would close the block: anywhere on its first line, then at the beginning of one.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Closable {
    OnFirstLine,
    AtLineStart,
    No,
}

impl Code {
    /// A block of which `text` was read.
    pub(super) fn after(fence: Fence, text: &str) -> Code {
        let closable = match text.rsplit_once('\n') {
            None => Closable::OnFirstLine,
            Some((_, line)) if line.trim().is_empty() => Closable::AtLineStart,
            Some(_) => Closable::No,
        };
        Code { fence, run: 0, closable }
    }

    /// Takes one character; whether the block ends with it.
    pub(super) fn push(&mut self, c: char) -> bool {
        if c == self.fence.mark && self.closable != Closable::No {
            self.run += 1;
            return self.run == self.fence.length;
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
