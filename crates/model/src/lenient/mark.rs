//! The marks that a call may begin with.

use super::body::Form;
use super::call::Sign;

pub(super) const OPENED: &str = "<tool_call>";
pub(super) const CLOSED: &str = "</tool_call>";
pub(super) const FUNCTION: &str = "<function=";
const BRACKET: &str = "[TOOL_CALLS]";
const THINK: &str = "<think>";

/// Where in an answer a character stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Place {
    /// Nothing but white space came before it.
    Start,
    /// Nothing but white space came after the model's thoughts.
    Thought,
    Middle,
}

/// What a mark opens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Opening {
    Thought,
    Call(Form),
    /// Nothing: the end of a call that never began.
    Stray,
    /// Nothing yet.
    Partial,
    /// Nothing: it is no mark.
    Nothing,
}

impl Opening {
    /// What a text that begins with `<` or `[` opens.
    pub(super) fn of(text: &str, place: Place) -> Opening {
        let marks = [
            (OPENED, Opening::Call(Form::Tag)),
            (FUNCTION, Opening::Call(Form::Function)),
            (BRACKET, Opening::Call(Form::Bracket)),
            (CLOSED, Opening::Stray),
            (THINK, Opening::Thought),
        ];
        for (mark, opening) in marks {
            let misplaced = opening == Opening::Thought && place == Place::Middle;
            if mark == text && !misplaced {
                return opening;
            }
            if mark.starts_with(text) && !misplaced {
                return Opening::Partial;
            }
        }
        Opening::Nothing
    }
}

/// A run of backticks or tildes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Fence {
    pub(super) mark: char,
    pub(super) length: usize,
}

impl Fence {
    /// The fewest characters of one.
    pub(super) const LEAST: usize = 3;
}

/// How plainly a block of this language says that it holds calls; none if it is code.
pub(super) fn sign_of(language: &str) -> Option<Sign> {
    match language {
        "" | "json" | "JSON" | "json5" | "jsonc" => Some(Sign::Formed),
        "tool" | "tool_call" | "tool_calls" | "function_call" => Some(Sign::Marked),
        _code => None,
    }
}

/// A code block that is shown as it is.
#[derive(Debug)]
pub(super) struct Code {
    fence: Fence,
    /// Characters of the closing fence so far.
    run: usize,
    /// Whether a fence here would close the block: at the beginning of a line, and on the block's first.
    closable: Closable,
}

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
