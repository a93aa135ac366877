//! Converts a request to a Responses body. Fields that vary between turns come after the input.

use std::borrow::Cow;

use protocol::{CallId, ContentBlock, Image, ReasoningEffort, ToolCallRequest, ToolResult};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::phase::{MessagePhase, WIRE};
use crate::wire::account::short_digest;
use crate::wire::json_items::{self, JsonItems};
use crate::wire::reasoning::can_reason;
use crate::wire::safe_names::safe_name;
use crate::wire::verbatim;
use crate::{MessageFold, MessagePart, ModelMessage, ModelRequest, ToolCallPolicy, ToolSpec};

/// The fields before the input.
#[derive(Serialize)]
struct ResponsesRequestHead<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ResponsesTool<'a>>,
}

/// The fields after the input.
#[derive(Serialize)]
struct ResponsesRequestTail {
    max_output_tokens: u32,
    stream: bool,
    store: bool,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    include: &'static [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<ReasoningConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'static str>,
    prompt_cache_key: String,
}

#[derive(Serialize)]
struct ResponsesTool<'a> {
    r#type: &'static str,
    name: Cow<'a, str>,
    description: &'a str,
    parameters: &'a Value,
    strict: bool,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ResponsesInputItem<'a> {
    Message {
        role: &'static str,
        content: ResponsesMessageContent<'a>,
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
    /// An item with its own `type`.
    #[serde(untagged)]
    Verbatim(&'a RawValue),
}

/// A message's content: the model's text is plain, a user's message is a list.
#[derive(Serialize)]
#[serde(untagged)]
enum ResponsesMessageContent<'a> {
    PlainText(&'a str),
    Parts(Vec<ResponsesInputContent<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ResponsesInputContent<'a> {
    InputText { text: &'a str },
    InputImage { detail: &'static str, image_url: String },
}

#[derive(Serialize)]
struct ReasoningConfig {
    effort: &'static str,
    summary: &'static str,
}

/// The body of `request` to `model`.
pub(in crate::wire) fn body(model: &str, request: &ModelRequest, max_tokens: u32) -> serde_json::Result<Vec<u8>> {
    let may_not_call = request.call_policy == ToolCallPolicy::Forbidden && !request.tools.is_empty();
    let can_reason = can_reason(model);
    let head =
        ResponsesRequestHead { model, instructions: &request.system, tools: request.tools.iter().map(tool).collect() };
    let tail = ResponsesRequestTail {
        max_output_tokens: max_tokens,
        stream: true,
        store: false,
        // The reasoning comes encrypted and must be sent back, since nothing is stored at the provider.
        include: if can_reason { &["reasoning.encrypted_content"] } else { &[] },
        reasoning: request.effort.filter(|_| can_reason).map(reasoning),
        tool_choice: may_not_call.then_some("none"),
        prompt_cache_key: cache_key(request),
    };
    request.messages.fold(|sent: &ResponsesInput| json_items::object(&head, "input", &[&sent.0], &tail))
}

/// The messages as they are sent.
#[derive(Default)]
struct ResponsesInput(JsonItems);

impl MessageFold for ResponsesInput {
    fn add(&mut self, _at: usize, message: &ModelMessage) {
        items(message).iter().for_each(|item| self.0.push(item));
    }
}

/// A key that stays the same for a conversation, so that its requests share a cache.
fn cache_key(request: &ModelRequest) -> String {
    let first = request.messages.first().map(|message| format!("{message:?}")).unwrap_or_default();
    format!("bosun-{}", short_digest(&format!("{}\0{}\0{first}", request.path, request.system)))
}

fn tool(tool: &ToolSpec) -> ResponsesTool<'_> {
    let (name, description) = (safe_name(&tool.name), tool.description.as_str());
    ResponsesTool { r#type: "function", name, description, parameters: &tool.schema, strict: false }
}

fn reasoning(effort: ReasoningEffort) -> ReasoningConfig {
    let effort = match effort {
        ReasoningEffort::Low => "low",
        ReasoningEffort::Medium => "medium",
        ReasoningEffort::High => "high",
    };
    ReasoningConfig { effort, summary: "auto" }
}

fn items(message: &ModelMessage) -> Vec<ResponsesInputItem<'_>> {
    match message {
        ModelMessage::User { parts } => user(parts).into_iter().collect(),
        ModelMessage::Assistant { content } => assistant_items(content),
        ModelMessage::Answers { answers } => answers.iter().map(answer).collect(),
    }
}

fn user(parts: &[MessagePart]) -> Option<ResponsesInputItem<'_>> {
    let content: Vec<ResponsesInputContent<'_>> = parts.iter().filter_map(part).collect();
    let message = !content.is_empty();
    message.then_some(ResponsesInputItem::Message {
        role: "user",
        content: ResponsesMessageContent::Parts(content),
        phase: None,
    })
}

fn part(part: &MessagePart) -> Option<ResponsesInputContent<'_>> {
    match part {
        MessagePart::Text(text) => (!text.trim().is_empty()).then_some(ResponsesInputContent::InputText { text }),
        MessagePart::Image(Image { media, data }) => {
            Some(ResponsesInputContent::InputImage { detail: "auto", image_url: format!("data:{media};base64,{data}") })
        }
    }
}

/// The model's items. The provider rejects reasoning that nothing follows, so it is left out.
fn assistant_items(content: &[ContentBlock]) -> Vec<ResponsesInputItem<'_>> {
    let mut items = Vec::new();
    let mut phase = None;
    for block in content {
        match block {
            ContentBlock::Text { text } if text.trim().is_empty() => {}
            ContentBlock::Text { text } => {
                items.push(ResponsesInputItem::Message {
                    role: "assistant",
                    content: ResponsesMessageContent::PlainText(text),
                    phase: phase.take(),
                });
            }
            ContentBlock::Call(call) => items.push(function_call(call)),
            ContentBlock::Opaque { provider, json } if provider == WIRE => {
                match serde_json::from_str::<MessagePhase<'_>>(json) {
                    Ok(marked) => phase = Some(marked.phase),
                    Err(_) => items.extend(verbatim::raw_object(json).map(ResponsesInputItem::Verbatim)),
                }
            }
            // For display only; the provider's own form of it is in an opaque block.
            ContentBlock::Thinking { .. } | ContentBlock::Opaque { .. } => {}
        }
    }
    while let Some(ResponsesInputItem::Verbatim(_)) = items.last() {
        items.pop();
    }
    items
}

fn function_call(call: &ToolCallRequest) -> ResponsesInputItem<'_> {
    let (call_id, name) = (safe_name(&call.id.0), safe_name(&call.tool));
    ResponsesInputItem::FunctionCall { call_id, name, arguments: verbatim::raw_arguments(call).get() }
}

fn answer((id, answer): &(CallId, ToolResult)) -> ResponsesInputItem<'_> {
    ResponsesInputItem::FunctionCallOutput { call_id: safe_name(&id.0), output: &answer.text }
}
