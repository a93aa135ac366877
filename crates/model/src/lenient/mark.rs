//! The marks that can start a call.

use super::candidate::CallSyntax;

pub(super) const CALL_START: &str = "<tool_call>";
pub(super) const CALL_END: &str = "</tool_call>";
pub(super) const FUNCTION_START: &str = "<function=";
const BRACKET: &str = "[TOOL_CALLS]";
const THOUGHT_START: &str = "<think>";
const THOUGHT_ENDS: [&str; 2] = ["</think>", "</thinking>"];
const RESPONSE: &str = "<tool_response>";

/// The position of a character in an answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum AnswerPosition {
    /// Only white space precedes it.
    Start,
    /// Only white space follows the model's thoughts.
    AfterThought,
    /// Like `Thought`, but the thoughts had no start mark and have been passed on as text.
    AfterUnmarkedThought,
    Middle,
}

/// What a mark opens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum MarkKind {
    Thought,
    Call(CallSyntax),
    /// Nothing: the end of thoughts without a start mark; all text before it was thoughts.
    ThoughtEnd,
    /// A tool result that the model made up.
    Response,
    /// Nothing: the end mark of a call without a start.
    StrayCallEnd,
    /// Undecided: the beginning of a mark.
    Partial,
    /// Nothing: it is not a mark.
    Nothing,
}

impl MarkKind {
    /// Classifies a text that starts with `<` or `[`.
    pub(super) fn classify(text: &str, position: AnswerPosition) -> MarkKind {
        let marks = [
            (CALL_START, MarkKind::Call(CallSyntax::Tag)),
            (FUNCTION_START, MarkKind::Call(CallSyntax::Function)),
            (BRACKET, MarkKind::Call(CallSyntax::Bracket)),
            (CALL_END, MarkKind::StrayCallEnd),
            (THOUGHT_START, MarkKind::Thought),
            (THOUGHT_ENDS[0], MarkKind::ThoughtEnd),
            (THOUGHT_ENDS[1], MarkKind::ThoughtEnd),
            (RESPONSE, MarkKind::Response),
        ];
        for (mark, kind) in marks {
            let misplaced = kind == MarkKind::Thought
                && matches!(position, AnswerPosition::Middle | AnswerPosition::AfterUnmarkedThought);
            if mark == text && !misplaced {
                return kind;
            }
            if mark.starts_with(text) && !misplaced {
                return MarkKind::Partial;
            }
        }
        MarkKind::Nothing
    }
}
