//! Which request a recorded answer belongs to.
//!
//! Roles, texts, tool names and inputs count. Call ids, provider items, the system prompt and times do
//! not: they change from run to run without the conversation being another.

use std::fmt;

use protocol::{Answer, Block, clip_middle};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{Fold, Message, Part, Request};

/// A conversation in short: the digest of all of it, and a trace of its newest messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Identity {
    /// How many messages it has.
    messages: usize,
    /// The digest of all of them.
    digest: String,
    /// The newest messages: the last one the model said, and all after it.
    tail: Vec<Trace>,
}

/// One message in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Trace {
    role: Role,
    digest: String,
    /// Its beginning and end, for people.
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Role {
    User,
    Assistant,
    Answers,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Answers => "answers",
        })
    }
}

impl Identity {
    /// The identity of a request's conversation.
    pub(super) fn of(request: &Request) -> Identity {
        let messages = &request.messages;
        let said = messages.iter().rposition(|message| matches!(message, Message::Assistant { .. }));
        Identity {
            messages: messages.len(),
            digest: messages.fold(|whole: &Whole| hex(whole.0.clone())),
            tail: messages[said.unwrap_or(0)..].iter().map(Trace::of).collect(),
        }
    }

    /// Whether both are the same conversation.
    pub(super) fn same(&self, other: &Identity) -> bool {
        self.digest == other.digest
    }

    /// What makes `asked` another conversation than this recorded one.
    pub(super) fn difference(&self, asked: &Identity) -> String {
        if self.messages != asked.messages {
            return format!("it was recorded with {} messages and is asked with {}", self.messages, asked.messages);
        }
        let first = self.messages.saturating_sub(self.tail.len()) + 1;
        let mut pairs = (first..).zip(self.tail.iter().zip(&asked.tail));
        match pairs.find(|(_, (recorded, asked))| recorded.digest != asked.digest) {
            Some((number, (recorded, asked))) => format!(
                "message {number} was recorded as {} {:?} and is asked as {} {:?}",
                recorded.role, recorded.text, asked.role, asked.text
            ),
            None => "a message before its last answer is another one".into(),
        }
    }
}

/// The digest of all messages.
#[derive(Default)]
struct Whole(Sha256);

impl Fold for Whole {
    fn add(&mut self, _at: usize, message: &Message) {
        hash(&mut self.0, message);
    }
}

impl Trace {
    fn of(message: &Message) -> Trace {
        const SHOWN: usize = 200;
        let mut digest = Sha256::new();
        hash(&mut digest, message);
        let texts: Vec<&str> = pieces(message).into_iter().map(|(_, text)| text).collect();
        Trace { role: Role::of(message), digest: hex(digest), text: clip_middle(&texts.join(" "), SHOWN) }
    }
}

impl Role {
    fn of(message: &Message) -> Role {
        match message {
            Message::User { .. } => Role::User,
            Message::Assistant { .. } => Role::Assistant,
            Message::Answers { .. } => Role::Answers,
        }
    }
}

/// Counts and lengths go in as well, so that no two different conversations feed the hash the same bytes.
fn hash(into: &mut Sha256, message: &Message) {
    let pieces = pieces(message);
    into.update(format!("{} {}\n", Role::of(message), pieces.len()));
    for (kind, text) in pieces {
        into.update(format!("{kind} {}\n", text.len()));
        into.update(text);
    }
}

fn pieces(message: &Message) -> Vec<(&'static str, &str)> {
    match message {
        Message::User { parts } => parts.iter().map(part).collect(),
        Message::Assistant { content } => content.iter().flat_map(block_pieces).collect(),
        Message::Answers { answers } => {
            answers.iter().map(|(_, Answer { status, text })| (status.word(), text.as_str())).collect()
        }
    }
}

fn part(part: &Part) -> (&'static str, &str) {
    match part {
        Part::Text(text) => ("text", text),
        Part::Image(image) => ("image", &image.data),
    }
}

fn block_pieces(block: &Block) -> Vec<(&'static str, &str)> {
    match block {
        Block::Text { text } => vec![("text", text)],
        Block::Thinking { text } => vec![("thinking", text)],
        Block::Call(call) => vec![("call", &call.tool), ("input", &call.input)],
        Block::Opaque { .. } => Vec::new(),
    }
}

fn hex(hash: Sha256) -> String {
    hash.finalize().iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"))
}
