//! Estimates the usage of a scripted answer: four bytes per token, so that budgets have something to count.

use protocol::{ContentBlock, Usage};

use crate::{MessageFold, MessagePart, ModelMessage, ModelRequest};

/// The usage of `request` with an answer of `answer_bytes`.
pub(super) fn usage(request: &ModelRequest, answer_bytes: usize) -> Usage {
    Usage { input: tokens(request_bytes(request)), output: tokens(answer_bytes), ..Usage::default() }
}

fn tokens(bytes: usize) -> u64 {
    u64::try_from(bytes.div_ceil(4)).unwrap_or(u64::MAX)
}

fn request_bytes(request: &ModelRequest) -> usize {
    let tool = |tool: &crate::ToolSpec| tool.name.len() + tool.description.len() + tool.schema.to_string().len();
    let tools: usize = request.tools.iter().map(tool).sum();
    request.system.len() + tools + request.messages.fold(|bytes: &MessageBytes| bytes.0)
}

/// The bytes of all messages.
#[derive(Default)]
struct MessageBytes(usize);

impl MessageFold for MessageBytes {
    fn add(&mut self, _at: usize, message: &ModelMessage) {
        self.0 += message_bytes(message);
    }
}

fn message_bytes(message: &ModelMessage) -> usize {
    match message {
        ModelMessage::User { parts } => parts.iter().map(part_bytes).sum(),
        ModelMessage::Assistant { content } => content.iter().map(block_bytes).sum(),
        ModelMessage::Answers { answers } => answers.iter().map(|(_, answer)| answer.text.len()).sum(),
    }
}

fn part_bytes(part: &MessagePart) -> usize {
    match part {
        MessagePart::Text(text) => text.len(),
        MessagePart::Image(image) => image.data.len(),
    }
}

fn block_bytes(block: &ContentBlock) -> usize {
    match block {
        ContentBlock::Text { text } | ContentBlock::Thinking { text } => text.len(),
        ContentBlock::Call(call) => call.tool.len() + call.input.len(),
        ContentBlock::Opaque { json, .. } => json.len(),
    }
}
