//! Where a conversation may be cut.

use model::ModelMessage;
use protocol::{ContentBlock, ToolCallRequest};

/// The last position up to `wanted` that separates no call from its answer.
pub(super) fn cut_at_boundary(messages: &[ModelMessage], wanted: usize) -> usize {
    let mut cut = wanted.min(messages.len());
    while cut > 0 && splits_call(messages, cut) {
        cut -= 1;
    }
    cut
}

/// The start of the last `turns` turns; nothing if there are no turns before them.
pub(super) fn start_of_last_turns(messages: &[ModelMessage], turns: usize) -> Option<usize> {
    let mut answers =
        messages.iter().enumerate().rev().filter(|(_, message)| is_assistant_message(message)).map(|(index, _)| index);
    let start = answers.nth(turns.checked_sub(1)?)?;
    answers.next().map(|_earlier| start)
}

/// The position of the newest user message, if there are turns before it.
pub(super) fn last_user_message(messages: &[ModelMessage]) -> Option<usize> {
    let last = messages.iter().rposition(|message| matches!(message, ModelMessage::User { .. }))?;
    messages[..last].iter().any(is_assistant_message).then_some(last)
}

/// The calls of a message.
pub(super) fn calls(message: &ModelMessage) -> impl Iterator<Item = &ToolCallRequest> {
    let content = match message {
        ModelMessage::Assistant { content } => content.as_slice(),
        ModelMessage::User { .. } | ModelMessage::Answers { .. } => &[],
    };
    content.iter().filter_map(|block| match block {
        ContentBlock::Call(call) => Some(call),
        ContentBlock::Text { .. } | ContentBlock::Thinking { .. } | ContentBlock::Opaque { .. } => None,
    })
}

fn splits_call(messages: &[ModelMessage], cut: usize) -> bool {
    let answers_follow = matches!(messages.get(cut), Some(ModelMessage::Answers { .. }));
    answers_follow || calls(&messages[cut - 1]).next().is_some()
}

fn is_assistant_message(message: &ModelMessage) -> bool {
    matches!(message, ModelMessage::Assistant { .. })
}
