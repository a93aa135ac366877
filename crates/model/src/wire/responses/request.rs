//! Our request as a Responses body. What varies between turns comes after the input.

use std::borrow::Cow;

use protocol::{Answer, Block, Call, CallId, Effort, Image};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::phase::{Phase, WIRE};
use crate::wire::account::digest;
use crate::wire::names::safe;
use crate::wire::thinks::can_reason;
use crate::wire::verbatim;
use crate::wire::written::{self, Items};
use crate::{Calls, Fold, Message, Part, Request, ToolSpec};

/// What comes before the input.
#[derive(Serialize)]
struct Head<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
}

/// What comes after it.
#[derive(Serialize)]
struct Tail {
    max_output_tokens: u32,
    stream: bool,
    store: bool,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    include: &'static [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Reasoning>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'static str>,
    prompt_cache_key: String,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    name: Cow<'a, str>,
    description: &'a str,
    parameters: &'a Value,
    strict: bool,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item<'a> {
    Message {
        role: &'static str,
        content: Words<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<Cow<'a, str>>,
    },
    FunctionCall {
        call_id: Cow<'a, str>,
        name: Cow<'a, str>,
        arguments: &'a str,
    },
    FunctionCallOutput {
        call_id: Cow<'a, str>,
        output: &'a str,
    },
    /// An item that says itself what it is.
    #[serde(untagged)]
    Verbatim(&'a RawValue),
}

/// A message's content: the model's own words are plain, a user's are a list.
#[derive(Serialize)]
#[serde(untagged)]
enum Words<'a> {
    Said(&'a str),
    Parts(Vec<Content<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Content<'a> {
    InputText { text: &'a str },
    InputImage { detail: &'static str, image_url: String },
}

#[derive(Serialize)]
struct Reasoning {
    effort: &'static str,
    summary: &'static str,
}

/// The body of `request` to `model`.
pub(in crate::wire) fn body(model: &str, request: &Request, max_tokens: u32) -> serde_json::Result<Vec<u8>> {
    let may_not_call = request.calls == Calls::Forbidden && !request.tools.is_empty();
    let can_reason = can_reason(model);
    let head = Head { model, instructions: &request.system, tools: request.tools.iter().map(tool).collect() };
    let tail = Tail {
        max_output_tokens: max_tokens,
        stream: true,
        store: false,
        // What the model thought comes encrypted, to be sent back, since nothing is stored there.
        include: if can_reason { &["reasoning.encrypted_content"] } else { &[] },
        reasoning: request.effort.filter(|_| can_reason).map(reasoning),
        tool_choice: may_not_call.then_some("none"),
        prompt_cache_key: cache_key(request),
    };
    request.messages.fold(|sent: &Sent| written::object(&head, "input", &[&sent.0], &tail))
}

/// The messages as they are sent.
#[derive(Default)]
struct Sent(Items);

impl Fold for Sent {
    fn add(&mut self, _at: usize, message: &Message) {
        items(message).iter().for_each(|item| self.0.push(item));
    }
}

/// A key that one conversation keeps, so that its requests meet the same cache.
fn cache_key(request: &Request) -> String {
    let first = request.messages.first().map(|message| format!("{message:?}")).unwrap_or_default();
    format!("bosun-{}", digest(&format!("{}\0{}\0{first}", request.path, request.system)))
}

fn tool(tool: &ToolSpec) -> Tool<'_> {
    let (name, description) = (safe(&tool.name), tool.about.as_str());
    Tool { r#type: "function", name, description, parameters: &tool.schema, strict: false }
}

fn reasoning(effort: Effort) -> Reasoning {
    let effort = match effort {
        Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
    };
    Reasoning { effort, summary: "auto" }
}

fn items(message: &Message) -> Vec<Item<'_>> {
    match message {
        Message::User { parts } => user(parts).into_iter().collect(),
        Message::Assistant { content } => said(content),
        Message::Answers { answers } => answers.iter().map(answer).collect(),
    }
}

fn user(parts: &[Part]) -> Option<Item<'_>> {
    let content: Vec<Content<'_>> = parts.iter().filter_map(part).collect();
    let message = !content.is_empty();
    message.then_some(Item::Message { role: "user", content: Words::Parts(content), phase: None })
}

fn part(part: &Part) -> Option<Content<'_>> {
    match part {
        Part::Text(text) => (!text.trim().is_empty()).then_some(Content::InputText { text }),
        Part::Image(Image { media, data }) => {
            Some(Content::InputImage { detail: "auto", image_url: format!("data:{media};base64,{data}") })
        }
    }
}

/// What the model said. Reasoning that nothing follows is refused by the provider, and so is left out.
fn said(content: &[Block]) -> Vec<Item<'_>> {
    let mut items = Vec::new();
    let mut phase = None;
    for block in content {
        match block {
            Block::Text { text } if text.trim().is_empty() => {}
            Block::Text { text } => {
                items.push(Item::Message { role: "assistant", content: Words::Said(text), phase: phase.take() });
            }
            Block::Call(call) => items.push(function_call(call)),
            Block::Opaque { provider, json } if provider == WIRE => match serde_json::from_str::<Phase<'_>>(json) {
                Ok(marked) => phase = Some(marked.phase),
                Err(_) => items.extend(verbatim::object(json).map(Item::Verbatim)),
            },
            // For people; what the provider needs of it is in an opaque block.
            Block::Thinking { .. } | Block::Opaque { .. } => {}
        }
    }
    while let Some(Item::Verbatim(_)) = items.last() {
        items.pop();
    }
    items
}

fn function_call(call: &Call) -> Item<'_> {
    let (call_id, name) = (safe(&call.id.0), safe(&call.tool));
    Item::FunctionCall { call_id, name, arguments: verbatim::arguments(call).get() }
}

fn answer((id, answer): &(CallId, Answer)) -> Item<'_> {
    Item::FunctionCallOutput { call_id: safe(&id.0), output: &answer.text }
}
