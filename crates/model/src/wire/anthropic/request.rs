//! Our request as an Anthropic body.
//!
//! What varies between turns comes after the messages. The mark that moves with the conversation is the last key of
//! the last block, so that a later body has the same bytes up to it.

use std::borrow::Cow;

use protocol::{Answer, Block, CallId, Image};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::effort::{OutputConfig, Thinking, Thought, thought};
use super::kept::WIRE;
use crate::wire::names::safe;
use crate::wire::verbatim;
use crate::wire::written::{self, Items};
use crate::{Calls, Fold, Message, Part, Request, ToolSpec};

/// What comes before the messages.
#[derive(Serialize)]
struct Head<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Content<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
}

/// What comes after them.
#[derive(Serialize)]
struct Tail {
    max_tokens: u32,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Thinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Kind>,
}

#[derive(Serialize)]
struct Tool<'a> {
    name: Cow<'a, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    input_schema: &'a Value,
}

#[derive(Serialize)]
struct Entry<'a> {
    role: &'static str,
    content: Vec<Content<'a>>,
}

/// One block; its mark, if it has one, is its last key.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Content<'a> {
    Text {
        text: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Kind>,
    },
    Image {
        source: Source<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Kind>,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        input: &'a RawValue,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Kind>,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        #[serde(skip_serializing_if = "str::is_empty")]
        content: &'a str,
        is_error: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Kind>,
    },
    /// A block that says itself what it is.
    #[serde(untagged)]
    Verbatim(&'a RawValue),
}

#[derive(Serialize)]
struct Source<'a> {
    r#type: &'static str,
    media_type: &'a str,
    data: &'a str,
}

#[derive(Serialize)]
struct Kind {
    r#type: &'static str,
}

/// Where the provider's cache should reach to.
const MARK: Option<Kind> = Some(Kind { r#type: "ephemeral" });

/// The body of `request` to `model`.
pub(in crate::wire) fn body(model: &str, request: &Request, max_tokens: u32) -> serde_json::Result<Vec<u8>> {
    let Thought { thinking, output_config } = thought(model, request.effort, max_tokens);
    let may_not_call = request.calls == Calls::Forbidden && !request.tools.is_empty();
    let head = Head { model, system: system(&request.system), tools: request.tools.iter().map(tool).collect() };
    let tail = Tail {
        max_tokens,
        stream: true,
        thinking,
        output_config,
        tool_choice: may_not_call.then_some(Kind { r#type: "none" }),
    };
    request.messages.fold(|sent: &Sent| {
        let last = sent.last.as_ref().and_then(|(at, _)| request.messages.get(*at));
        written::object(&head, "messages", &[&sent.before, &marked(last)], &tail)
    })
}

/// The messages as they are sent, the last one apart: it has the mark.
#[derive(Default)]
struct Sent {
    before: Items,
    /// The last one that is sent, without its mark, and which message it is.
    last: Option<(usize, Items)>,
}

impl Fold for Sent {
    fn add(&mut self, at: usize, message: &Message) {
        let Some(entry) = entry(message) else { return };
        if let Some((_, last)) = self.last.take() {
            self.before.append(&last);
        }
        let mut last = Items::default();
        last.push(&entry);
        self.last = Some((at, last));
    }
}

fn marked(message: Option<&Message>) -> Items {
    let mut items = Items::default();
    if let Some(mut entry) = message.and_then(entry) {
        entry.content.last_mut().into_iter().for_each(Content::mark);
        items.push(&entry);
    }
    items
}

fn system(text: &str) -> Vec<Content<'_>> {
    let block = Content::Text { text, cache_control: MARK };
    if text.is_empty() { Vec::new() } else { vec![block] }
}

fn tool(tool: &ToolSpec) -> Tool<'_> {
    Tool { name: safe(&tool.name), description: &tool.about, input_schema: &tool.schema }
}

/// A message; none if nothing in it can be sent.
fn entry(message: &Message) -> Option<Entry<'_>> {
    let (role, content): (_, Vec<Content<'_>>) = match message {
        Message::User { parts } => ("user", parts.iter().filter_map(part).collect()),
        Message::Assistant { content } => ("assistant", said(content)),
        Message::Answers { answers } => ("user", answers.iter().map(answer).collect()),
    };
    (!content.is_empty()).then_some(Entry { role, content })
}

fn part(part: &Part) -> Option<Content<'_>> {
    match part {
        Part::Text(text) => words(text),
        Part::Image(Image { media, data }) => {
            let source = Source { r#type: "base64", media_type: media, data };
            Some(Content::Image { source, cache_control: None })
        }
    }
}

fn words(text: &str) -> Option<Content<'_>> {
    (!text.trim().is_empty()).then_some(Content::Text { text, cache_control: None })
}

/// What the model said. Reasoning that nothing follows is refused by the provider, and so is left out.
fn said(content: &[Block]) -> Vec<Content<'_>> {
    let mut blocks: Vec<Content<'_>> = content.iter().filter_map(block).collect();
    while let Some(Content::Verbatim(_)) = blocks.last() {
        blocks.pop();
    }
    blocks
}

fn block(block: &Block) -> Option<Content<'_>> {
    match block {
        Block::Text { text } => words(text),
        // For people; what the provider needs of it is in an opaque block.
        Block::Thinking { .. } => None,
        Block::Call(call) => Some(Content::ToolUse {
            id: safe(&call.id.0),
            name: safe(&call.tool),
            input: verbatim::arguments(call),
            cache_control: None,
        }),
        Block::Opaque { provider, json } if provider == WIRE => verbatim::object(json).map(Content::Verbatim),
        Block::Opaque { .. } => None,
    }
}

fn answer((id, answer): &(CallId, Answer)) -> Content<'_> {
    Content::ToolResult {
        tool_use_id: safe(&id.0),
        content: &answer.text,
        is_error: answer.status.is_error(),
        cache_control: None,
    }
}

impl Content<'_> {
    fn mark(&mut self) {
        match self {
            Content::Text { cache_control, .. }
            | Content::Image { cache_control, .. }
            | Content::ToolUse { cache_control, .. }
            | Content::ToolResult { cache_control, .. } => *cache_control = MARK,
            Content::Verbatim(_) => {}
        }
    }
}
