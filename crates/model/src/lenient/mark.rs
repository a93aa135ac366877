//! The marks that a call may begin with.

use super::candidate::Form;

pub(super) const OPENED: &str = "<tool_call>";
pub(super) const CLOSED: &str = "</tool_call>";
pub(super) const FUNCTION: &str = "<function=";
const BRACKET: &str = "[TOOL_CALLS]";
const THINK: &str = "<think>";
const THOUGHT: [&str; 2] = ["</think>", "</thinking>"];
const RESPONSE: &str = "<tool_response>";

/// Where in an answer a character stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Position {
    /// Nothing but white space came before it.
    Start,
    /// Nothing but white space came after the model's thoughts.
    Thought,
    /// The same, but the thoughts did not begin as such, and have been passed on as words.
    Unmarked,
    Middle,
}

/// What a mark opens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Opening {
    Thought,
    Call(Form),
    /// Nothing: the end of thoughts that did not begin as such, so that everything before it was one.
    ThoughtEnd,
    /// What the model pretends that a call was answered with.
    Response,
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
            (THOUGHT[0], Opening::ThoughtEnd),
            (THOUGHT[1], Opening::ThoughtEnd),
            (RESPONSE, Opening::Response),
        ];
        for (mark, opening) in marks {
            let misplaced = opening == Opening::Thought && matches!(position, Position::Middle | Position::Unmarked);
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
