//! Code blocks: how one begins, and where one that is not a call ends.

use super::call::CallCertainty;

/// Minimum characters of a fence.
const LEAST: usize = 3;
/// Maximum length of a code block's language.
const MAX_LANGUAGE: usize = 32;

/// A run of backticks or tildes around a code block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CodeFence {
    pub(super) mark: char,
    pub(super) length: usize,
}

/// A possible first line of a code block.
#[derive(Debug)]
pub(super) struct FenceLine {
    border: CodeFence,
    language: String,
}

/// The effect of a character on the first line.
#[derive(Debug)]
pub(super) enum FenceOpening {
    /// The line continues.
    Partly,
    /// The line ended before this character: the code block may contain calls.
    Calls(CodeFence, CallCertainty),
    /// The line ended before it: the code block contains something else.
    Listing(CodeFence),
    /// The line ended before it: this is not a code block.
    Nothing,
}

impl FenceLine {
    pub(super) fn new(mark: char) -> FenceLine {
        FenceLine { border: CodeFence { mark, length: 1 }, language: String::new() }
    }

    /// Parses one character.
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
            "" | "json" | "JSON" | "json5" | "jsonc" => FenceOpening::Calls(self.border, CallCertainty::WellFormed),
            "tool" | "tool_call" | "tool_calls" | "function_call" => {
                FenceOpening::Calls(self.border, CallCertainty::Marked)
            }
            _code => FenceOpening::Listing(self.border),
        }
    }
}

/// A code block that is passed on as text.
#[derive(Debug)]
pub(super) struct CodeBlock {
    border: CodeFence,
    /// Characters of the closing fence so far.
    run: usize,
    closable: FenceClosing,
}

/// Whether a fence would close the code block: anywhere on its first line, then at the start of a line.
#[derive(Debug, Clone, Copy, PartialEq)]
enum FenceClosing {
    OnFirstLine,
    AtLineStart,
    No,
}

impl CodeBlock {
    /// A code block of which `text` has been read.
    pub(super) fn after(border: CodeFence, text: &str) -> CodeBlock {
        let closable = match text.rsplit_once('\n') {
            None => FenceClosing::OnFirstLine,
            Some((_, line)) if line.trim().is_empty() => FenceClosing::AtLineStart,
            Some(_) => FenceClosing::No,
        };
        CodeBlock { border, run: 0, closable }
    }

    /// Parses one character; returns whether the code block ends with it.
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
