//! What a rule's answer may refer to, and how much it may grow to.

use protocol::{Answer, Block, CallId};

use super::pattern::Groups;
use crate::{Message, Reply, Request};

/// The request a rule answers, what its conditions captured, and the room left in the answer.
#[derive(Debug)]
pub(super) struct Scope<'a> {
    pub(super) request: &'a Request,
    pub(super) groups: Groups,
    room: usize,
}

impl<'a> Scope<'a> {
    pub(super) fn new(request: &'a Request, groups: Groups) -> Scope<'a> {
        Scope { request, groups, room: Reply::MAX_BYTES }
    }

    /// Counts `bytes` of the answer.
    pub(super) fn spend(&mut self, bytes: usize) -> Result<(), TooLong> {
        self.room = self.room.checked_sub(bytes).ok_or(TooLong)?;
        Ok(())
    }
}

/// An answer grew past what an answer may have.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the answer is larger than {max} bytes", max = Reply::MAX_BYTES)]
pub(super) struct TooLong;

/// The newest answers, each with the name of the tool that gave it: those to the calls of the last assistant message.
pub(super) fn answers(request: &Request) -> Vec<(&str, &Answer)> {
    let said = request.messages.iter().rposition(|message| matches!(message, Message::Assistant { .. }));
    let Some((Message::Assistant { content }, after)) = said.and_then(|at| request.messages[at..].split_first()) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for message in after {
        match message {
            Message::Answers { answers } => {
                found.extend(answers.iter().map(|(call, answer)| (tool(content, call), answer)));
            }
            Message::User { .. } | Message::Assistant { .. } => {}
        }
    }
    found
}

fn tool<'a>(content: &'a [Block], id: &CallId) -> &'a str {
    let name = |block: &'a Block| match block {
        Block::Call(call) if call.id == *id => Some(call.tool.as_str()),
        Block::Call(_) | Block::Text { .. } | Block::Thinking { .. } | Block::Opaque { .. } => None,
    };
    content.iter().find_map(name).unwrap_or_default()
}
