//! A request to a model: the whole conversation and the tools it may call.

use std::sync::Arc;

use protocol::{CallId, ContentBlock, Image, ReasoningEffort, Timestamp, ToolResult};
use serde_json::Value;

use crate::{MessageFold, Messages};

/// One request to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    /// The requesting agent's definition; `main` for the root.
    pub agent: String,
    /// The path of the requesting task, such as `/root/tests`.
    pub path: String,
    /// The time of the request; durations in a fault count from it.
    pub requested_at: Timestamp,
    /// The turn of the answer, from 1.
    pub turn: u32,
    /// The number of this try at the turn, from 1.
    pub attempt: u32,
    /// The system prompt.
    pub system: Arc<str>,
    /// The conversation, oldest first.
    pub messages: Messages,
    /// The tools it may call.
    pub tools: Arc<[ToolSpec]>,
    /// Whether it may call them now. The tools stay in the request, so that the provider's cache stays valid.
    pub call_policy: ToolCallPolicy,
    /// Maximum tokens of the answer.
    pub max_output_tokens: Option<u32>,
    /// The reasoning effort; the provider's default when absent.
    pub effort: Option<ReasoningEffort>,
}

impl ModelRequest {
    /// The text of the newest user message; empty before the first.
    pub fn prompt(&self) -> String {
        let newest = self.messages.fold(|newest: &NewestUserMessage| newest.0);
        newest.and_then(|at| self.messages.get(at)).and_then(ModelMessage::user_text).unwrap_or_default()
    }
}

/// The index of the newest user message: a long task is one such message and thousands of others.
#[derive(Default)]
struct NewestUserMessage(Option<usize>);

impl MessageFold for NewestUserMessage {
    fn add(&mut self, at: usize, message: &ModelMessage) {
        if matches!(message, ModelMessage::User { .. }) {
            self.0 = Some(at);
        }
    }
}

/// Whether a model may call tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolCallPolicy {
    /// It may.
    Allowed,
    /// It may not: this is its last turn.
    Forbidden,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelMessage {
    /// From outside the agent: a prompt, or mail.
    User {
        /// Its parts.
        parts: Vec<MessagePart>,
    },
    /// From the model.
    Assistant {
        /// Its content.
        content: Vec<ContentBlock>,
    },
    /// The results of the tool calls in the previous assistant message.
    Answers {
        /// Each call with its result.
        answers: Vec<(CallId, ToolResult)>,
    },
}

impl ModelMessage {
    /// A user message of one text.
    pub fn user(text: impl Into<String>) -> ModelMessage {
        ModelMessage::User { parts: vec![MessagePart::Text(text.into())] }
    }

    fn user_text(&self) -> Option<String> {
        match self {
            ModelMessage::User { parts } => {
                let texts: Vec<&str> = parts.iter().filter_map(MessagePart::text).collect();
                Some(texts.join("\n"))
            }
            ModelMessage::Assistant { .. } | ModelMessage::Answers { .. } => None,
        }
    }
}

/// One part of a user message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessagePart {
    /// Text.
    Text(String),
    /// An image.
    Image(Image),
}

impl MessagePart {
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            MessagePart::Text(text) => Some(text),
            MessagePart::Image(_) => None,
        }
    }
}

/// A tool as a model sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub schema: Value,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(messages: Vec<ModelMessage>) -> ModelRequest {
        ModelRequest {
            agent: "main".into(),
            path: "/root".into(),
            requested_at: Timestamp(0),
            turn: 1,
            attempt: 1,
            system: Arc::default(),
            messages: messages.into(),
            tools: Arc::default(),
            max_output_tokens: None,
            effort: None,
            call_policy: ToolCallPolicy::Allowed,
        }
    }

    #[test]
    fn the_prompt_is_the_newest_user_text() {
        let parts = vec![MessagePart::Text("b".into()), MessagePart::Text("c".into())];
        let assistant = ModelMessage::Assistant { content: Vec::new() };
        assert_eq!(request(vec![ModelMessage::user("a"), ModelMessage::User { parts }, assistant]).prompt(), "b\nc");
        assert_eq!(request(Vec::new()).prompt(), "");
    }
}
