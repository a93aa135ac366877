//! Where a conversation may be cut.

use model::Message;
use protocol::{Block, Call};

/// The last place up to `wanted` that parts no call from its answer.
pub(super) fn whole(messages: &[Message], wanted: usize) -> usize {
    let mut cut = wanted.min(messages.len());
    while cut > 0 && parts(messages, cut) {
        cut -= 1;
    }
    cut
}

/// Where the last `turns` turns begin; nothing if there are no turns before them.
pub(super) fn before_last(messages: &[Message], turns: usize) -> Option<usize> {
    let mut answers = messages.iter().enumerate().rev().filter(|(_, message)| is_turn(message)).map(|(at, _)| at);
    let begin = answers.nth(turns.checked_sub(1)?)?;
    answers.next().map(|_earlier| begin)
}

/// Where the newest user message is, if there are turns before it.
pub(super) fn before_last_heard(messages: &[Message]) -> Option<usize> {
    let heard = messages.iter().rposition(|message| matches!(message, Message::User { .. }))?;
    messages[..heard].iter().any(is_turn).then_some(heard)
}

/// The calls of a message.
pub(super) fn calls(message: &Message) -> impl Iterator<Item = &Call> {
    let content = match message {
        Message::Assistant { content } => content.as_slice(),
        Message::User { .. } | Message::Answers { .. } => &[],
    };
    content.iter().filter_map(|block| match block {
        Block::Call(call) => Some(call),
        Block::Text { .. } | Block::Thinking { .. } | Block::Opaque { .. } => None,
    })
}

fn parts(messages: &[Message], cut: usize) -> bool {
    let answers_follow = matches!(messages.get(cut), Some(Message::Answers { .. }));
    answers_follow || calls(&messages[cut - 1]).next().is_some()
}

fn is_turn(message: &Message) -> bool {
    matches!(message, Message::Assistant { .. })
}
