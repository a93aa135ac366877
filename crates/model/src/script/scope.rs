//! The values that a rule's answer can refer to, and its size limit.

use protocol::{CallId, ContentBlock, ToolResult};

use super::pattern::CaptureGroups;
use crate::{ModelMessage, ModelReply, ModelRequest};

/// The request, the groups captured by the conditions, and the bytes left in the answer.
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

    /// Counts `bytes` towards the limit.
    pub(super) fn spend(&mut self, bytes: usize) -> Result<(), AnswerTooLong> {
        self.remaining_bytes = self.remaining_bytes.checked_sub(bytes).ok_or(AnswerTooLong)?;
        Ok(())
    }
}

/// The answer exceeds the limit.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the answer is larger than {max} bytes", max = ModelReply::MAX_BYTES)]
pub(super) struct AnswerTooLong;

/// The results of the calls in the last assistant message, each with the name of its tool.
pub(super) fn last_tool_results(request: &ModelRequest) -> Vec<(&str, &ToolResult)> {
    let last = request.messages.iter().rposition(|message| matches!(message, ModelMessage::Assistant { .. }));
    let Some((ModelMessage::Assistant { content }, after)) = last.and_then(|at| request.messages[at..].split_first())
    else {
        return Vec::new();
    };
    let mut results = Vec::new();
    for message in after {
        match message {
            ModelMessage::Answers { answers } => {
                results.extend(answers.iter().map(|(call, answer)| (tool_name(content, call), answer)));
            }
            ModelMessage::User { .. } | ModelMessage::Assistant { .. } => {}
        }
    }
    results
}

fn tool_name<'a>(content: &'a [ContentBlock], id: &CallId) -> &'a str {
    let name = |block: &'a ContentBlock| match block {
        ContentBlock::Call(call) if call.id == *id => Some(call.tool.as_str()),
        ContentBlock::Call(_)
        | ContentBlock::Text { .. }
        | ContentBlock::Thinking { .. }
        | ContentBlock::Opaque { .. } => None,
    };
    content.iter().find_map(name).unwrap_or_default()
}
