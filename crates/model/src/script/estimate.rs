//! Usage of a scripted answer: four bytes to the token, so that budgets have something to count.

use protocol::{Block, Usage};

use crate::{Fold, Message, Part, Request};

/// The usage of `request` with an answer of `answer_bytes`.
pub(super) fn usage(request: &Request, answer_bytes: usize) -> Usage {
    Usage { input: tokens(request_bytes(request)), output: tokens(answer_bytes), ..Usage::default() }
}

fn tokens(bytes: usize) -> u64 {
    u64::try_from(bytes.div_ceil(4)).unwrap_or(u64::MAX)
}

fn request_bytes(request: &Request) -> usize {
    let tool = |tool: &crate::ToolSpec| tool.name.len() + tool.about.len() + tool.schema.to_string().len();
    let tools: usize = request.tools.iter().map(tool).sum();
    request.system.len() + tools + request.messages.fold(|bytes: &Bytes| bytes.0)
}

/// How many bytes all messages have.
#[derive(Default)]
struct Bytes(usize);

impl Fold for Bytes {
    fn add(&mut self, _at: usize, message: &Message) {
        self.0 += message_bytes(message);
    }
}

fn message_bytes(message: &Message) -> usize {
    match message {
        Message::User { parts } => parts.iter().map(part_bytes).sum(),
        Message::Assistant { content } => content.iter().map(block_bytes).sum(),
        Message::Answers { answers } => answers.iter().map(|(_, answer)| answer.text.len()).sum(),
    }
}

fn part_bytes(part: &Part) -> usize {
    match part {
        Part::Text(text) => text.len(),
        Part::Image(image) => image.data.len(),
    }
}

fn block_bytes(block: &Block) -> usize {
    match block {
        Block::Text { text } | Block::Thinking { text } => text.len(),
        Block::Call(call) => call.tool.len() + call.input.len(),
        Block::Opaque { json, .. } => json.len(),
    }
}
