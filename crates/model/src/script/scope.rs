//! What a rule's answer may refer to, and how much it may grow to.

use protocol::{CallId, ContentBlock, ToolResult};

use super::pattern::CaptureGroups;
use crate::{ModelMessage, ModelReply, ModelRequest};

/// The request a rule answers, what its conditions captured, and the room left in the answer.
#[derive(Debug)]
pub(super) struct TemplateScope<'a> {
    pub(super) request: &'a ModelRequest,
    pub(super) groups: CaptureGroups,
    remaining_bytes: usize,
}

impl<'a> TemplateScope<'a> {
    pub(super) fn new(request: &'a ModelRequest, groups: CaptureGroups) -> TemplateScope<'a> {
        TemplateScope { request, groups, remaining_bytes: ModelReply::MAX_BYTES }
    }

    /// Counts `bytes` of the answer.
    pub(super) fn spend(&mut self, bytes: usize) -> Result<(), AnswerTooLong> {
        self.remaining_bytes = self.remaining_bytes.checked_sub(bytes).ok_or(AnswerTooLong)?;
        Ok(())
    }
}

/// An answer grew past what an answer may have.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the answer is larger than {max} bytes", max = ModelReply::MAX_BYTES)]
pub(super) struct AnswerTooLong;

/// The newest answers, each with the name of the tool that gave it: those to the calls of the last assistant message.
pub(super) fn answers(request: &ModelRequest) -> Vec<(&str, &ToolResult)> {
    let said = request.messages.iter().rposition(|message| matches!(message, ModelMessage::Assistant { .. }));
    let Some((ModelMessage::Assistant { content }, after)) = said.and_then(|at| request.messages[at..].split_first())
    else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for message in after {
        match message {
            ModelMessage::Answers { answers } => {
                found.extend(answers.iter().map(|(call, answer)| (tool(content, call), answer)));
            }
            ModelMessage::User { .. } | ModelMessage::Assistant { .. } => {}
        }
    }
    found
}

fn tool<'a>(content: &'a [ContentBlock], id: &CallId) -> &'a str {
    let name = |block: &'a ContentBlock| match block {
        ContentBlock::Call(call) if call.id == *id => Some(call.tool.as_str()),
        ContentBlock::Call(_)
        | ContentBlock::Text { .. }
        | ContentBlock::Thinking { .. }
        | ContentBlock::Opaque { .. } => None,
    };
    content.iter().find_map(name).unwrap_or_default()
}
