//! What is kept of messages that a digest replaces.

use model::{MessagePart, ModelMessage};
use protocol::{ContentBlock, ToolCallRequest};

use super::bounded_text::{clip_lines, one_line};
use super::call_summary::{summarize_call, written_files};
use super::cut::calls;
use super::recent_lines::RecentLines;
use crate::prompt;

/// The most bytes kept of the first message, which is the task.
const MAX_FIRST_MESSAGE_BYTES: usize = 32 * 1024;

/// The most bytes kept of any other message.
const MAX_MESSAGE_BYTES: usize = 8 * 1024;

/// The most bytes kept of a message from another task, and of a text of the model.
const MAX_LINE_BYTES: usize = 400;

/// What is kept of messages that a digest replaces. It grows with each compaction, up to a bound.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CompactedHistory {
    /// The first message, from any sender.
    pub(super) first_message: Option<String>,
    /// The user's later messages.
    pub(super) user_messages: RecentLines<64>,
    /// Messages from other tasks.
    pub(super) task_messages: RecentLines<64>,
    /// The files that the agent wrote.
    pub(super) files: RecentLines<256>,
    /// The agent's calls, with their statuses.
    pub(super) calls: RecentLines<512>,
    /// The agent's own texts.
    pub(super) agent_texts: RecentLines<64>,
}

impl CompactedHistory {
    /// Adds messages. They must contain the answer to each of their calls.
    pub(super) fn add_messages(&mut self, messages: &[ModelMessage]) {
        let mut open_calls: Vec<&ToolCallRequest> = Vec::new();
        for message in messages {
            match message {
                ModelMessage::User { parts } => self.add_user_message(parts),
                ModelMessage::Assistant { content } => {
                    content.iter().for_each(|block| self.add_agent_text(block));
                    open_calls = calls(message).collect();
                }
                ModelMessage::Answers { answers } => {
                    for (call, (_, answer)) in open_calls.iter().zip(answers) {
                        self.calls.push(format!("{}: {}", summarize_call(call), answer.status.as_str()));
                        let files = if answer.status.is_error() { Vec::new() } else { written_files(call) };
                        files.into_iter().for_each(|file| self.files.push_once(file));
                    }
                }
            }
        }
    }

    fn add_user_message(&mut self, parts: &[MessagePart]) {
        let images = parts.iter().filter(|part| matches!(part, MessagePart::Image(_))).count();
        for text in parts.iter().filter_map(part_text) {
            let (unquoted, data) = prompt::unquote(text);
            if self.first_message.is_none() {
                self.first_message = Some(clip_lines(&with_image_note(text, images), MAX_FIRST_MESSAGE_BYTES));
                continue;
            }
            data.iter().for_each(|data| self.task_messages.push(one_line(data, MAX_LINE_BYTES)));
            if !(unquoted.is_empty() && images == 0 || prompt::is_notice(text)) {
                self.user_messages.push(clip_lines(&with_image_note(&unquoted, images), MAX_MESSAGE_BYTES));
            }
        }
    }

    fn add_agent_text(&mut self, block: &ContentBlock) {
        match block {
            ContentBlock::Text { text } if text.trim().is_empty() => {}
            ContentBlock::Text { text } => self.agent_texts.push(one_line(text, MAX_LINE_BYTES)),
            ContentBlock::Thinking { .. } | ContentBlock::Call(_) | ContentBlock::Opaque { .. } => {}
        }
    }
}

fn part_text(part: &MessagePart) -> Option<&str> {
    match part {
        MessagePart::Text(text) => Some(text),
        MessagePart::Image(_) => None,
    }
}

/// Adds a note on the images of a message, which the model will not see again.
fn with_image_note(text: &str, images: usize) -> String {
    match images {
        0 => text.to_owned(),
        1 => format!("{text}\n[with an image]"),
        many => format!("{text}\n[with {many} images]"),
    }
}
