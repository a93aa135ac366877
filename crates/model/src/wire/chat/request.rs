//! Converts a request to a Chat Completions body. Fields that vary between turns come after the messages.

use std::borrow::Cow;

use protocol::{CallId, ContentBlock, Image, ReasoningEffort, ToolCallRequest, ToolResult};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::returned::{ReturnedExtra, WIRE};
use crate::wire::json_items::{self, JsonItems};
use crate::wire::reasoning::can_reason;
use crate::wire::safe_names::safe_name;
use crate::wire::verbatim;
use crate::{MessageFold, MessagePart, ModelMessage, ModelRequest, ToolCallPolicy, ToolSpec};

/// The field for the maximum tokens of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::wire) enum MaxTokensField {
    /// `max_completion_tokens`, which OpenAI's reasoning models require.
    Completion,
    /// `max_tokens`, which every compatible server accepts.
    Tokens,
}

impl MaxTokensField {
    /// OpenAI itself gets the new name; any other address gets the common one.
    pub(in crate::wire) fn for_url(base_url: &str) -> MaxTokensField {
        let host = base_url.split("://").nth(1).unwrap_or_default().split(['/', ':']).next().unwrap_or_default();
        let host = host.to_ascii_lowercase();
        let is_openai =
            host == "api.openai.com" || host.ends_with(".api.openai.com") || host.ends_with(".openai.azure.com");
        if is_openai { MaxTokensField::Completion } else { MaxTokensField::Tokens }
    }
}

/// The fields before the messages.
#[derive(Serialize)]
struct ChatRequestHead<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ChatTool<'a>>,
}

/// The fields after the messages.
#[derive(Serialize)]
struct ChatRequestTail {
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
struct ChatTool<'a> {
    r#type: &'static str,
    function: ChatFunction<'a>,
}

#[derive(Serialize)]
struct ChatFunction<'a> {
    name: Cow<'a, str>,
    description: &'a str,
    parameters: &'a Value,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum ChatMessage<'a> {
    System {
        content: &'a str,
    },
    User {
        content: ChatUserContent<'a>,
    },
    Assistant {
        content: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<&'a RawValue>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ChatToolCall<'a>>,
    },
    Tool {
        tool_call_id: Cow<'a, str>,
        content: &'a str,
    },
}

/// A user's message; a list only if it is not only text, since not every server accepts lists.
#[derive(Serialize)]
#[serde(untagged)]
enum ChatUserContent<'a> {
    Plain(String),
    Parts(Vec<ChatContentPart<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ChatContentPart<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: ChatImageUrl },
}

#[derive(Serialize)]
struct ChatImageUrl {
    url: String,
}

#[derive(Serialize)]
struct ChatToolCall<'a> {
    id: Cow<'a, str>,
    r#type: &'static str,
    function: ChatFunctionCall<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct ChatFunctionCall<'a> {
    name: Cow<'a, str>,
    arguments: &'a str,
}

/// The body of `request` to `model`.
pub(in crate::wire) fn body(
    model: &str,
    request: &ModelRequest,
    max_tokens: u32,
    limit: MaxTokensField,
) -> serde_json::Result<Vec<u8>> {
    let mut system = JsonItems::default();
    if !request.system.is_empty() {
        system.push(&ChatMessage::System { content: &request.system });
    }
    let may_not_call = request.call_policy == ToolCallPolicy::Forbidden && !request.tools.is_empty();
    let head = ChatRequestHead { model, tools: request.tools.iter().map(tool).collect() };
    let tail = ChatRequestTail {
        max_completion_tokens: (limit == MaxTokensField::Completion).then_some(max_tokens),
        max_tokens: (limit == MaxTokensField::Tokens).then_some(max_tokens),
        stream: true,
        stream_options: StreamOptions { include_usage: true },
        reasoning_effort: request.effort.filter(|_| can_reason(model)).map(effort_name),
        tool_choice: may_not_call.then_some("none"),
    };
    request.messages.fold(|sent: &ChatMessages| json_items::object(&head, "messages", &[&system, &sent.0], &tail))
}

/// The messages as they are sent.
#[derive(Default)]
struct ChatMessages(JsonItems);

impl MessageFold for ChatMessages {
    fn add(&mut self, _at: usize, message: &ModelMessage) {
        entries(message).iter().for_each(|entry| self.0.push(entry));
    }
}

fn effort_name(effort: ReasoningEffort) -> &'static str {
    match effort {
        ReasoningEffort::Low => "low",
        ReasoningEffort::Medium => "medium",
        ReasoningEffort::High => "high",
    }
}

fn tool(tool: &ToolSpec) -> ChatTool<'_> {
    let function =
        ChatFunction { name: safe_name(&tool.name), description: &tool.description, parameters: &tool.schema };
    ChatTool { r#type: "function", function }
}

fn entries(message: &ModelMessage) -> Vec<ChatMessage<'_>> {
    match message {
        ModelMessage::User { parts } => user(parts).into_iter().collect(),
        ModelMessage::Assistant { content } => assistant_message(content).into_iter().collect(),
        ModelMessage::Answers { answers } => answers.iter().map(answer).collect(),
    }
}

fn user(parts: &[MessagePart]) -> Option<ChatMessage<'_>> {
    let parts: Vec<ChatContentPart<'_>> = parts.iter().filter_map(part).collect();
    let texts: Option<Vec<&str>> = parts.iter().map(ChatContentPart::text).collect();
    match texts {
        Some(texts) if texts.is_empty() => None,
        Some(texts) => Some(ChatMessage::User { content: ChatUserContent::Plain(texts.join("\n")) }),
        None => Some(ChatMessage::User { content: ChatUserContent::Parts(parts) }),
    }
}

fn part(part: &MessagePart) -> Option<ChatContentPart<'_>> {
    match part {
        MessagePart::Text(text) => (!text.trim().is_empty()).then_some(ChatContentPart::Text { text }),
        MessagePart::Image(Image { media, data }) => {
            Some(ChatContentPart::ImageUrl { image_url: ChatImageUrl { url: format!("data:{media};base64,{data}") } })
        }
    }
}

impl<'a> ChatContentPart<'a> {
    fn text(&self) -> Option<&'a str> {
        match self {
            ChatContentPart::Text { text } => Some(text),
            ChatContentPart::ImageUrl { .. } => None,
        }
    }
}

/// The model's message; none if nothing in it can be sent.
fn assistant_message(content: &[ContentBlock]) -> Option<ChatMessage<'_>> {
    let mut texts = Vec::new();
    let mut tool_calls = Vec::new();
    let mut extra = ReturnedExtra::default();
    let mut reasoning_content = None;
    for block in content {
        match block {
            ContentBlock::Text { text } if text.trim().is_empty() => {}
            ContentBlock::Text { text } => texts.push(text.as_str()),
            ContentBlock::Call(call) => tool_calls.push(tool_call(call, extra.extra_content.take())),
            ContentBlock::Opaque { provider, json } if provider == WIRE => {
                extra = serde_json::from_str(json).unwrap_or_default();
                reasoning_content = extra.reasoning_content.or(reasoning_content);
            }
            // For display only.
            ContentBlock::Thinking { .. } | ContentBlock::Opaque { .. } => {}
        }
    }
    // Reasoning is sent back only with the calls it led to.
    let reasoning_content = reasoning_content.filter(|_| !tool_calls.is_empty());
    let content = (!texts.is_empty()).then(|| texts.join("\n"));
    (content.is_some() || !tool_calls.is_empty()).then_some(ChatMessage::Assistant {
        content,
        reasoning_content,
        tool_calls,
    })
}

fn tool_call<'a>(call: &'a ToolCallRequest, extra_content: Option<&'a RawValue>) -> ChatToolCall<'a> {
    let function = ChatFunctionCall { name: safe_name(&call.tool), arguments: verbatim::raw_arguments(call).get() };
    ChatToolCall { id: safe_name(&call.id.0), r#type: "function", function, extra_content }
}

fn answer((id, answer): &(CallId, ToolResult)) -> ChatMessage<'_> {
    ChatMessage::Tool { tool_call_id: safe_name(&id.0), content: &answer.text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_openai_gets_its_own_name_for_the_limit() {
        assert_eq!(MaxTokensField::for_url("https://api.openai.com/v1"), MaxTokensField::Completion);
        assert_eq!(MaxTokensField::for_url("https://eu.API.OpenAI.com/v1"), MaxTokensField::Completion);
        assert_eq!(MaxTokensField::for_url("https://mine.openai.azure.com/openai/v1"), MaxTokensField::Completion);
        for other in ["http://127.0.0.1:8080/v1", "https://openrouter.ai/api/v1", "https://api.openai.com.evil/v1", ""]
        {
            assert_eq!(MaxTokensField::for_url(other), MaxTokensField::Tokens, "{other}");
        }
    }
}
