//! Our request as a Chat Completions body. What varies between turns comes after the messages.

use std::borrow::Cow;

use protocol::{Answer, Block, Call, CallId, Effort, Image};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::extra::{Extra, WIRE};
use crate::wire::names::safe;
use crate::wire::thinks::can_reason;
use crate::wire::verbatim;
use crate::wire::written::{self, Items};
use crate::{Calls, Fold, Message, Part, Request, ToolSpec};

/// What a server calls the most tokens of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::wire) enum Limit {
    /// `max_completion_tokens`, which OpenAI's reasoning models insist on.
    Completion,
    /// `max_tokens`, which every compatible server knows.
    Tokens,
}

impl Limit {
    /// OpenAI itself knows the new name; any other address gets the one that everybody knows.
    pub(in crate::wire) fn of(base_url: &str) -> Limit {
        let host = base_url.split("://").nth(1).unwrap_or_default().split(['/', ':']).next().unwrap_or_default();
        let host = host.to_ascii_lowercase();
        let is_openai =
            host == "api.openai.com" || host.ends_with(".api.openai.com") || host.ends_with(".openai.azure.com");
        if is_openai { Limit::Completion } else { Limit::Tokens }
    }
}

/// What comes before the messages.
#[derive(Serialize)]
struct Head<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
}

/// What comes after them.
#[derive(Serialize)]
struct Tail {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    stream: bool,
    stream_options: StreamOptions,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'static str>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: Cow<'a, str>,
    description: &'a str,
    parameters: &'a Value,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Entry<'a> {
    System {
        content: &'a str,
    },
    User {
        content: Words<'a>,
    },
    Assistant {
        content: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<&'a RawValue>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall<'a>>,
    },
    Tool {
        tool_call_id: Cow<'a, str>,
        content: &'a str,
    },
}

/// A user's words; a list only if there is more than words, since not every server reads one.
#[derive(Serialize)]
#[serde(untagged)]
enum Words<'a> {
    Plain(String),
    Parts(Vec<Content<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Content<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: Url },
}

#[derive(Serialize)]
struct Url {
    url: String,
}

#[derive(Serialize)]
struct ToolCall<'a> {
    id: Cow<'a, str>,
    r#type: &'static str,
    function: Arguments<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct Arguments<'a> {
    name: Cow<'a, str>,
    arguments: &'a str,
}

/// The body of `request` to `model`.
pub(in crate::wire) fn body(
    model: &str,
    request: &Request,
    max_tokens: u32,
    limit: Limit,
) -> serde_json::Result<Vec<u8>> {
    let mut system = Items::default();
    if !request.system.is_empty() {
        system.push(&Entry::System { content: &request.system });
    }
    let may_not_call = request.calls == Calls::Forbidden && !request.tools.is_empty();
    let head = Head { model, tools: request.tools.iter().map(tool).collect() };
    let tail = Tail {
        max_completion_tokens: (limit == Limit::Completion).then_some(max_tokens),
        max_tokens: (limit == Limit::Tokens).then_some(max_tokens),
        stream: true,
        stream_options: StreamOptions { include_usage: true },
        reasoning_effort: request.effort.filter(|_| can_reason(model)).map(word),
        tool_choice: may_not_call.then_some("none"),
    };
    request.messages.fold(|sent: &Sent| written::object(&head, "messages", &[&system, &sent.0], &tail))
}

/// The messages as they are sent.
#[derive(Default)]
struct Sent(Items);

impl Fold for Sent {
    fn add(&mut self, _at: usize, message: &Message) {
        entries(message).iter().for_each(|entry| self.0.push(entry));
    }
}

fn word(effort: Effort) -> &'static str {
    match effort {
        Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
    }
}

fn tool(tool: &ToolSpec) -> Tool<'_> {
    let function = Function { name: safe(&tool.name), description: &tool.about, parameters: &tool.schema };
    Tool { r#type: "function", function }
}

fn entries(message: &Message) -> Vec<Entry<'_>> {
    match message {
        Message::User { parts } => user(parts).into_iter().collect(),
        Message::Assistant { content } => said(content).into_iter().collect(),
        Message::Answers { answers } => answers.iter().map(answer).collect(),
    }
}

fn user(parts: &[Part]) -> Option<Entry<'_>> {
    let parts: Vec<Content<'_>> = parts.iter().filter_map(part).collect();
    let texts: Option<Vec<&str>> = parts.iter().map(Content::text).collect();
    match texts {
        Some(texts) if texts.is_empty() => None,
        Some(texts) => Some(Entry::User { content: Words::Plain(texts.join("\n")) }),
        None => Some(Entry::User { content: Words::Parts(parts) }),
    }
}

fn part(part: &Part) -> Option<Content<'_>> {
    match part {
        Part::Text(text) => (!text.trim().is_empty()).then_some(Content::Text { text }),
        Part::Image(Image { media, data }) => {
            Some(Content::ImageUrl { image_url: Url { url: format!("data:{media};base64,{data}") } })
        }
    }
}

impl<'a> Content<'a> {
    fn text(&self) -> Option<&'a str> {
        match self {
            Content::Text { text } => Some(text),
            Content::ImageUrl { .. } => None,
        }
    }
}

/// What the model said; none if nothing of it can be sent.
fn said(content: &[Block]) -> Option<Entry<'_>> {
    let mut texts = Vec::new();
    let mut tool_calls = Vec::new();
    let mut extra = Extra::default();
    let mut reasoning_content = None;
    for block in content {
        match block {
            Block::Text { text } if text.trim().is_empty() => {}
            Block::Text { text } => texts.push(text.as_str()),
            Block::Call(call) => tool_calls.push(tool_call(call, extra.extra_content.take())),
            Block::Opaque { provider, json } if provider == WIRE => {
                extra = serde_json::from_str(json).unwrap_or_default();
                reasoning_content = extra.reasoning_content.or(reasoning_content);
            }
            // For people.
            Block::Thinking { .. } | Block::Opaque { .. } => {}
        }
    }
    // Reasoning is only wanted back while its calls are being answered.
    let reasoning_content = reasoning_content.filter(|_| !tool_calls.is_empty());
    let content = (!texts.is_empty()).then(|| texts.join("\n"));
    (content.is_some() || !tool_calls.is_empty()).then_some(Entry::Assistant { content, reasoning_content, tool_calls })
}

fn tool_call<'a>(call: &'a Call, extra_content: Option<&'a RawValue>) -> ToolCall<'a> {
    let function = Arguments { name: safe(&call.tool), arguments: verbatim::arguments(call).get() };
    ToolCall { id: safe(&call.id.0), r#type: "function", function, extra_content }
}

fn answer((id, answer): &(CallId, Answer)) -> Entry<'_> {
    Entry::Tool { tool_call_id: safe(&id.0), content: &answer.text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_openai_gets_its_own_name_for_the_limit() {
        assert_eq!(Limit::of("https://api.openai.com/v1"), Limit::Completion);
        assert_eq!(Limit::of("https://eu.API.OpenAI.com/v1"), Limit::Completion);
        assert_eq!(Limit::of("https://mine.openai.azure.com/openai/v1"), Limit::Completion);
        for other in ["http://127.0.0.1:8080/v1", "https://openrouter.ai/api/v1", "https://api.openai.com.evil/v1", ""]
        {
            assert_eq!(Limit::of(other), Limit::Tokens, "{other}");
        }
    }
}
