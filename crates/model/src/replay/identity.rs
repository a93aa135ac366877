//! Identifies the request that a recorded answer belongs to.
//!
//! Roles, texts, tool names and inputs count. Call ids, provider items, the system prompt and times do not: they change
//! from run to run while the conversation stays the same.

use std::fmt;

use data_encoding::HEXLOWER;
use protocol::{ContentBlock, ToolResult, clip_middle};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{MessageFold, MessagePart, ModelMessage, ModelRequest};

/// A summary of a conversation: the digest of all messages, and a trace of the newest ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ConversationIdentity {
    /// The number of messages.
    messages: usize,
    /// The digest of all of them.
    digest: String,
    /// The newest messages: the model's last one, and all after it.
    tail: Vec<MessageTrace>,
}

/// A summary of one message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct MessageTrace {
    role: MessageRole,
    digest: String,
    /// Its beginning and end, for error messages.
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum MessageRole {
    User,
    Assistant,
    Answers,
}

impl fmt::Display for MessageRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MessageRole::User => "user",
            MessageRole::Assistant => "assistant",
            MessageRole::Answers => "answers",
        })
    }
}

impl ConversationIdentity {
    /// The identity of a request's conversation.
    pub(super) fn of(request: &ModelRequest) -> ConversationIdentity {
        let messages = &request.messages;
        let last_answer = messages.iter().rposition(|message| matches!(message, ModelMessage::Assistant { .. }));
        ConversationIdentity {
            messages: messages.len(),
            digest: messages.fold(|whole: &ConversationHash| hex(whole.0.clone())),
            tail: messages[last_answer.unwrap_or(0)..].iter().map(MessageTrace::of).collect(),
        }
    }

    /// Whether both are the same conversation.
    pub(super) fn is_same(&self, other: &ConversationIdentity) -> bool {
        self.digest == other.digest
    }

    /// How `requested` differs from this recorded conversation.
    pub(super) fn difference(&self, requested: &ConversationIdentity) -> String {
        if self.messages != requested.messages {
            return format!("the recording has {} messages, the request {}", self.messages, requested.messages);
        }
        let first = self.messages.saturating_sub(self.tail.len()) + 1;
        let mut pairs = (first..).zip(self.tail.iter().zip(&requested.tail));
        match pairs.find(|(_, (recorded, requested))| recorded.digest != requested.digest) {
            Some((number, (recorded, requested))) => format!(
                "message {number}: recorded {} {:?}, requested {} {:?}",
                recorded.role, recorded.text, requested.role, requested.text
            ),
            None => "a message before the last answer differs".into(),
        }
    }
}

/// The digest of all messages.
#[derive(Default)]
struct ConversationHash(Sha256);

impl MessageFold for ConversationHash {
    fn add(&mut self, _at: usize, message: &ModelMessage) {
        hash_message(&mut self.0, message);
    }
}

impl MessageTrace {
    fn of(message: &ModelMessage) -> MessageTrace {
        const MAX_SHOWN_BYTES: usize = 200;
        let mut digest = Sha256::new();
        hash_message(&mut digest, message);
        let texts: Vec<&str> = hashed_pieces(message).into_iter().map(|(_, text)| text).collect();
        MessageTrace {
            role: MessageRole::of(message),
            digest: hex(digest),
            text: clip_middle(&texts.join(" "), MAX_SHOWN_BYTES),
        }
    }
}

impl MessageRole {
    fn of(message: &ModelMessage) -> MessageRole {
        match message {
            ModelMessage::User { .. } => MessageRole::User,
            ModelMessage::Assistant { .. } => MessageRole::Assistant,
            ModelMessage::Answers { .. } => MessageRole::Answers,
        }
    }
}

/// Hashes a message. Counts and lengths are included, so that no two different conversations feed the hash the same
/// bytes.
fn hash_message(into: &mut Sha256, message: &ModelMessage) {
    let pieces = hashed_pieces(message);
    into.update(format!("{} {}\n", MessageRole::of(message), pieces.len()));
    for (kind, text) in pieces {
        into.update(format!("{kind} {}\n", text.len()));
        into.update(text);
    }
}

fn hashed_pieces(message: &ModelMessage) -> Vec<(&'static str, &str)> {
    match message {
        ModelMessage::User { parts } => parts.iter().map(hashed_part).collect(),
        ModelMessage::Assistant { content } => content.iter().flat_map(block_pieces).collect(),
        ModelMessage::Answers { answers } => {
            answers.iter().map(|(_, ToolResult { status, text })| (status.as_str(), text.as_str())).collect()
        }
    }
}

fn hashed_part(part: &MessagePart) -> (&'static str, &str) {
    match part {
        MessagePart::Text(text) => ("text", text),
        MessagePart::Image(image) => ("image", &image.data),
    }
}

fn block_pieces(block: &ContentBlock) -> Vec<(&'static str, &str)> {
    match block {
        ContentBlock::Text { text } => vec![("text", text)],
        ContentBlock::Thinking { text } => vec![("thinking", text)],
        ContentBlock::Call(call) => vec![("call", &call.tool), ("input", &call.input)],
        ContentBlock::Opaque { .. } => Vec::new(),
    }
}

fn hex(hash: Sha256) -> String {
    HEXLOWER.encode(&hash.finalize())
}
