//! What a model is asked: the whole conversation and the tools it may call.

use std::sync::Arc;

use protocol::{Answer, At, Block, CallId, Effort, Image};
use serde_json::Value;

use crate::{Fold, Messages};

/// One request to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The agent definition that asks; `main` for the root.
    pub agent: String,
    /// The path of the task that asks, such as `/root/tests`.
    pub path: String,
    /// When it is asked; a fault that names a moment counts from here.
    pub at: At,
    /// The turn that the answer will be, from 1.
    pub turn: u32,
    /// Which try at this turn it is, from 1.
    pub attempt: u32,
    /// The instructions above the conversation.
    pub system: Arc<str>,
    /// The conversation, oldest first.
    pub messages: Messages,
    /// The tools it may call.
    pub tools: Arc<[ToolSpec]>,
    /// Whether it may call any now. What it is told of them stays, so that a provider's cache holds.
    pub calls: Calls,
    /// Most tokens the answer may have.
    pub max_output: Option<u32>,
    /// How hard to think; as the provider likes when absent.
    pub effort: Option<Effort>,
}

impl Request {
    /// The text of the newest user message; empty before the first.
    pub fn prompt(&self) -> String {
        let newest = self.messages.fold(|newest: &NewestUser| newest.0);
        newest.and_then(|at| self.messages.get(at)).and_then(Message::user_text).unwrap_or_default()
    }
}

/// Where the newest user message is: a long piece of work is one such message and thousands of others.
#[derive(Default)]
struct NewestUser(Option<usize>);

impl Fold for NewestUser {
    fn add(&mut self, at: usize, message: &Message) {
        if matches!(message, Message::User { .. }) {
            self.0 = Some(at);
        }
    }
}

/// Whether a model may call tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calls {
    /// It may.
    Allowed,
    /// It may not: this is its last word.
    Forbidden,
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
                let texts: Vec<&str> = parts.iter().filter_map(Part::text).collect();
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
    /// A picture.
    Image(Image),
}

impl Part {
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Part::Text(text) => Some(text),
            Part::Image(_) => None,
        }
    }
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
            turn: 1,
            attempt: 1,
            system: Arc::default(),
            messages: messages.into(),
            tools: Arc::default(),
            max_output: None,
            effort: None,
            calls: Calls::Allowed,
        }
    }

    #[test]
    fn the_prompt_is_the_newest_user_text() {
        let parts = vec![Part::Text("b".into()), Part::Text("c".into())];
        let said = Message::Assistant { content: Vec::new() };
        assert_eq!(request(vec![Message::user("a"), Message::User { parts }, said]).prompt(), "b\nc");
        assert_eq!(request(Vec::new()).prompt(), "");
    }
}
