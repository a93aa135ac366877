//! Code blocks: how one begins, and where one that is not a call ends.

use super::call::CallCertainty;

/// Minimum characters of a fence.
const MIN_FENCE_LENGTH: usize = 3;
/// Maximum length of a code block's language.
const MAX_LANGUAGE_BYTES: usize = 32;

/// A run of backticks or tildes around a code block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CodeFence {
    pub(super) mark: char,
    pub(super) length: usize,
}

/// A possible first line of a code block.
#[derive(Debug)]
pub(super) struct FenceLine {
    fence: CodeFence,
    language: String,
}

/// The effect of a character on the first line.
#[derive(Debug)]
pub(super) enum FenceOpening {
    /// The line continues.
    Partial,
    /// The line ended before this character: the code block may contain calls.
    Calls(CodeFence, CallCertainty),
    /// The line ended before it: the code block contains something else.
    OtherCode(CodeFence),
    /// The line ended before it: this is not a code block.
    Nothing,
}

impl FenceLine {
    pub(super) fn new(mark: char) -> FenceLine {
        FenceLine { fence: CodeFence { mark, length: 1 }, language: String::new() }
    }

    /// Parses one character.
    pub(super) fn push(&mut self, c: char) -> FenceOpening {
        if c == self.fence.mark && self.language.is_empty() {
            self.fence.length += 1;
            return FenceOpening::Partial;
        }
        if self.fence.length < MIN_FENCE_LENGTH {
            return FenceOpening::Nothing;
        }
        let named = c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+');
        if named && self.language.len() < MAX_LANGUAGE_BYTES {
            self.language.push(c);
            return FenceOpening::Partial;
        }
        match self.language.as_str() {
            "" | "json" | "JSON" | "json5" | "jsonc" => FenceOpening::Calls(self.fence, CallCertainty::WellFormed),
            "tool" | "tool_call" | "tool_calls" | "function_call" => {
                FenceOpening::Calls(self.fence, CallCertainty::Marked)
            }
            _code => FenceOpening::OtherCode(self.fence),
        }
    }
}

/// A code block that is passed on as text.
#[derive(Debug)]
pub(super) struct CodeBlock {
    fence: CodeFence,
    /// Characters of the closing fence so far.
    closing_length: usize,
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
    pub(super) fn after_text(border: CodeFence, text: &str) -> CodeBlock {
        let closable = match text.rsplit_once('\n') {
            None => FenceClosing::OnFirstLine,
            Some((_, line)) if line.trim().is_empty() => FenceClosing::AtLineStart,
            Some(_) => FenceClosing::No,
        };
        CodeBlock { fence: border, closing_length: 0, closable }
    }

    /// Parses one character; returns whether the code block ends with it.
    pub(super) fn push(&mut self, c: char) -> bool {
        if c == self.fence.mark && self.closable != FenceClosing::No {
            self.closing_length += 1;
            return self.closing_length == self.fence.length;
        }
        self.closing_length = 0;
        self.closable = match (self.closable, c) {
            (_, '\n') => FenceClosing::AtLineStart,
            (FenceClosing::AtLineStart, c) if !c.is_whitespace() => FenceClosing::No,
            (closable, _) => closable,
        };
        false
    }
}
