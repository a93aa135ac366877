//! The marks that a call may begin with.

use super::candidate::CallSyntax;

pub(super) const CALL_START: &str = "<tool_call>";
pub(super) const CALL_END: &str = "</tool_call>";
pub(super) const FUNCTION_START: &str = "<function=";
const BRACKET: &str = "[TOOL_CALLS]";
const THOUGHT_START: &str = "<think>";
const THOUGHT_ENDS: [&str; 2] = ["</think>", "</thinking>"];
const RESPONSE: &str = "<tool_response>";

/// Where in an answer a character stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum AnswerPosition {
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
pub(super) enum MarkKind {
    Thought,
    Call(CallSyntax),
    /// Nothing: the end of thoughts that did not begin as such, so that everything before it was one.
    ThoughtEnd,
    /// What the model pretends that a call was answered with.
    Response,
    /// Nothing: the end of a call that never began.
    Stray,
    /// Nothing yet.
    Partial,
    /// Nothing: it is not a mark.
    Nothing,
}

impl MarkKind {
    /// What a text that begins with `<` or `[` opens.
    pub(super) fn of(text: &str, position: AnswerPosition) -> MarkKind {
        let marks = [
            (CALL_START, MarkKind::Call(CallSyntax::Tag)),
            (FUNCTION_START, MarkKind::Call(CallSyntax::Function)),
            (BRACKET, MarkKind::Call(CallSyntax::Bracket)),
            (CALL_END, MarkKind::Stray),
            (THOUGHT_START, MarkKind::Thought),
            (THOUGHT_ENDS[0], MarkKind::ThoughtEnd),
            (THOUGHT_ENDS[1], MarkKind::ThoughtEnd),
            (RESPONSE, MarkKind::Response),
        ];
        for (mark, opening) in marks {
            let misplaced =
                opening == MarkKind::Thought && matches!(position, AnswerPosition::Middle | AnswerPosition::Unmarked);
            if mark == text && !misplaced {
                return opening;
            }
            if mark.starts_with(text) && !misplaced {
                return MarkKind::Partial;
            }
        }
        MarkKind::Nothing
    }
}
