//! What a model is asked: the whole conversation and the tools it may call.

use std::sync::Arc;

use protocol::{Answer, At, Block, CallId};
use serde_json::Value;

/// One request to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The agent definition that asks; `main` for the root.
    pub agent: String,
    /// The path of the task that asks, such as `/root/tests`.
    pub path: String,
    /// When it is asked; a fault that names a moment counts from here.
    pub at: At,
    /// Which try at this turn it is, from 1.
    pub attempt: u32,
    /// The instructions above the conversation.
    pub system: Arc<str>,
    /// The conversation, oldest first. Shared, since it is long and asked with again and again.
    pub messages: Arc<Vec<Message>>,
    /// The tools it may call.
    pub tools: Arc<[ToolSpec]>,
    /// Most tokens the answer may have.
    pub max_output: Option<u32>,
}

impl Request {
    /// The turn that the answer will be: the assistant messages so far, plus one.
    pub fn turn(&self) -> u32 {
        let said = self.messages.iter().filter(|message| matches!(message, Message::Assistant { .. })).count();
        u32::try_from(said).unwrap_or(u32::MAX).saturating_add(1)
    }

    /// The text of the newest user message; empty before the first.
    pub fn prompt(&self) -> String {
        self.messages.iter().rev().find_map(Message::user_text).unwrap_or_default()
    }
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// From outside the agent: a prompt, or mail.
    User {
        /// What it consists of.
        parts: Vec<Part>,
    },
    /// From the model.
    Assistant {
        /// What it said.
        content: Vec<Block>,
    },
    /// The answers to the tool calls of the assistant message before it.
    Answers {
        /// Each call with its answer.
        answers: Vec<(CallId, Answer)>,
    },
}

impl Message {
    /// A user message of one text.
    pub fn user(text: impl Into<String>) -> Message {
        Message::User { parts: vec![Part::Text(text.into())] }
    }

    fn user_text(&self) -> Option<String> {
        match self {
            Message::User { parts } => {
                let texts: Vec<&str> = parts.iter().map(|Part::Text(text)| text.as_str()).collect();
                Some(texts.join("\n"))
            }
            Message::Assistant { .. } | Message::Answers { .. } => None,
        }
    }
}

/// One part of a user message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Words.
    Text(String),
}

/// A tool as a model is told of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What it does and when to use it.
    pub about: String,
    /// The JSON Schema of its arguments.
    pub schema: Value,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(messages: Vec<Message>) -> Request {
        Request {
            agent: "main".into(),
            path: "/root".into(),
            at: At(0),
            attempt: 1,
            system: Arc::default(),
            messages: Arc::new(messages),
            tools: Arc::default(),
            max_output: None,
        }
    }

    #[test]
    fn the_turn_counts_what_the_model_said() {
        assert_eq!(request(vec![Message::user("a")]).turn(), 1);
        let said = Message::Assistant { content: Vec::new() };
        assert_eq!(request(vec![Message::user("a"), said.clone(), said]).turn(), 3);
    }

    #[test]
    fn the_prompt_is_the_newest_user_text() {
        let parts = vec![Part::Text("b".into()), Part::Text("c".into())];
        let said = Message::Assistant { content: Vec::new() };
        assert_eq!(request(vec![Message::user("a"), Message::User { parts }, said]).prompt(), "b\nc");
        assert_eq!(request(Vec::new()).prompt(), "");
    }
}
