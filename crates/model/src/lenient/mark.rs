//! The marks that a call may begin with.

use super::candidate::Form;

pub(super) const OPENED: &str = "<tool_call>";
pub(super) const CLOSED: &str = "</tool_call>";
pub(super) const FUNCTION: &str = "<function=";
const BRACKET: &str = "[TOOL_CALLS]";
const THINK: &str = "<think>";

/// Where in an answer a character stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Position {
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
    pub(super) fn of(text: &str, position: Position) -> Opening {
        let marks = [
            (OPENED, Opening::Call(Form::Tag)),
            (FUNCTION, Opening::Call(Form::Function)),
            (BRACKET, Opening::Call(Form::Bracket)),
            (CLOSED, Opening::Stray),
            (THINK, Opening::Thought),
        ];
        for (mark, opening) in marks {
            let misplaced = opening == Opening::Thought && position == Position::Middle;
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
