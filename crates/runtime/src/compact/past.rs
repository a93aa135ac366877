//! What is kept of messages that a digest stands for.

use model::{Message, Part};
use protocol::{Block, Call};

use super::cut::calls;
use super::gist::{gist, written};
use super::latest::Latest;
use super::words::{clip_lines, one_line};
use crate::prompt;

/// Most bytes kept of the first message, which is the task.
const FIRST: usize = 32 * 1024;

/// Most bytes kept of any other.
const HEARD: usize = 8 * 1024;

/// Most bytes kept of what came from other tasks, and of what the model said.
const LINE: usize = 400;

/// What is kept of messages that a digest stands for. It grows with each compaction, up to a bound.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Past {
    /// The first message, whoever wrote it.
    pub(super) first: Option<String>,
    /// The user's later ones.
    pub(super) heard: Latest<64>,
    /// What came from other tasks.
    pub(super) arrived: Latest<64>,
    pub(super) files: Latest<256>,
    pub(super) calls: Latest<512>,
    pub(super) said: Latest<64>,
}

impl Past {
    /// Takes in messages, which part no call from its answer.
    pub(super) fn absorb(&mut self, messages: &[Message]) {
        let mut asked: Vec<&Call> = Vec::new();
        for message in messages {
            match message {
                Message::User { parts } => self.hear(parts),
                Message::Assistant { content } => {
                    content.iter().for_each(|block| self.say(block));
                    asked = calls(message).collect();
                }
                Message::Answers { answers } => {
                    for (call, (_, answer)) in asked.iter().zip(answers) {
                        self.calls.push(format!("{}: {}", gist(call), answer.status.word()));
                        let files = if answer.status.is_error() { Vec::new() } else { written(call) };
                        files.into_iter().for_each(|file| self.files.push_once(file));
                    }
                }
            }
        }
    }

    fn hear(&mut self, parts: &[Part]) {
        let pictures = parts.iter().filter(|part| matches!(part, Part::Image(_))).count();
        for text in parts.iter().filter_map(words) {
            let (words, data) = prompt::unquote(text);
            if self.first.is_none() {
                self.first = Some(clip_lines(&shown(text, pictures), FIRST));
                continue;
            }
            data.iter().for_each(|data| self.arrived.push(one_line(data, LINE)));
            if !(words.is_empty() && pictures == 0 || prompt::is_notice(text)) {
                self.heard.push(clip_lines(&shown(&words, pictures), HEARD));
            }
        }
    }

    fn say(&mut self, block: &Block) {
        match block {
            Block::Text { text } if text.trim().is_empty() => {}
            Block::Text { text } => self.said.push(one_line(text, LINE)),
            Block::Thinking { .. } | Block::Call(_) | Block::Opaque { .. } => {}
        }
    }
}

fn words(part: &Part) -> Option<&str> {
    match part {
        Part::Text(text) => Some(text),
        Part::Image(_) => None,
    }
}

/// A message with a word on its pictures, which the model will not see again.
fn shown(text: &str, pictures: usize) -> String {
    match pictures {
        0 => text.to_owned(),
        1 => format!("{text}\n[a picture came with it]"),
        many => format!("{text}\n[{many} pictures came with it]"),
    }
}
