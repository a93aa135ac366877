//! Converts a request to an Anthropic body.
//!
//! Fields that vary between turns come after the messages. The cache mark that moves with the conversation is the last
//! key of the last block, so that a later body has the same bytes up to it.

use std::borrow::Cow;

use protocol::{CallId, ContentBlock, Image, ToolResult};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::effort::{OutputConfig, ThinkingConfig, ThinkingFields, thinking_fields};
use super::returned::WIRE;
use crate::wire::json_items::{self, JsonItems};
use crate::wire::safe_names::safe_name;
use crate::wire::verbatim;
use crate::{MessageFold, MessagePart, ModelMessage, ModelRequest, ToolCallPolicy, ToolSpec};

/// The fields before the messages.
#[derive(Serialize)]
struct AnthropicRequestHead<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<AnthropicContent<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<AnthropicTool<'a>>,
}

/// The fields after the messages.
#[derive(Serialize)]
struct AnthropicRequestTail {
    max_tokens: u32,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<ThinkingConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<TypeObject>,
}

#[derive(Serialize)]
struct AnthropicTool<'a> {
    name: Cow<'a, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    input_schema: &'a Value,
}

#[derive(Serialize)]
struct AnthropicMessage<'a> {
    role: &'static str,
    content: Vec<AnthropicContent<'a>>,
}

/// One block; its cache mark, if any, is its last key.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum AnthropicContent<'a> {
    Text {
        text: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<TypeObject>,
    },
    Image {
        source: ImageSource<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<TypeObject>,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        input: &'a RawValue,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<TypeObject>,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        #[serde(skip_serializing_if = "str::is_empty")]
        content: &'a str,
        is_error: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<TypeObject>,
    },
    /// A block with its own `type`.
    #[serde(untagged)]
    Verbatim(&'a RawValue),
}

#[derive(Serialize)]
struct ImageSource<'a> {
    r#type: &'static str,
    media_type: &'a str,
    data: &'a str,
}

#[derive(Serialize)]
struct TypeObject {
    r#type: &'static str,
}

/// The mark up to which the provider caches.
const CACHE_MARK: Option<TypeObject> = Some(TypeObject { r#type: "ephemeral" });

/// The body of `request` to `model`.
pub(in crate::wire) fn body(model: &str, request: &ModelRequest, max_tokens: u32) -> serde_json::Result<Vec<u8>> {
    let ThinkingFields { thinking, output_config } = thinking_fields(model, request.effort, max_tokens);
    let may_not_call = request.call_policy == ToolCallPolicy::Forbidden && !request.tools.is_empty();
    let head = AnthropicRequestHead {
        model,
        system: system(&request.system),
        tools: request.tools.iter().map(tool).collect(),
    };
    let tail = AnthropicRequestTail {
        max_tokens,
        stream: true,
        thinking,
        output_config,
        tool_choice: may_not_call.then_some(TypeObject { r#type: "none" }),
    };
    request.messages.fold(|sent: &AnthropicMessages| {
        let last = sent.last.as_ref().and_then(|(at, _)| request.messages.get(*at));
        json_items::object(&head, "messages", &[&sent.earlier, &with_cache_mark(last)], &tail)
    })
}

/// The messages as they are sent; the last one is separate, because it has the mark.
#[derive(Default)]
struct AnthropicMessages {
    earlier: JsonItems,
    /// The last message that is sent, without its mark, and its index.
    last: Option<(usize, JsonItems)>,
}

impl MessageFold for AnthropicMessages {
    fn add(&mut self, at: usize, message: &ModelMessage) {
        let Some(entry) = to_message(message) else { return };
        if let Some((_, last)) = self.last.take() {
            self.earlier.append(&last);
        }
        let mut last = JsonItems::default();
        last.push(&entry);
        self.last = Some((at, last));
    }
}

fn with_cache_mark(message: Option<&ModelMessage>) -> JsonItems {
    let mut items = JsonItems::default();
    if let Some(mut entry) = message.and_then(to_message) {
        entry.content.last_mut().into_iter().for_each(AnthropicContent::add_cache_mark);
        items.push(&entry);
    }
    items
}

fn system(text: &str) -> Vec<AnthropicContent<'_>> {
    let block = AnthropicContent::Text { text, cache_control: CACHE_MARK };
    if text.is_empty() { Vec::new() } else { vec![block] }
}

fn tool(tool: &ToolSpec) -> AnthropicTool<'_> {
    AnthropicTool { name: safe_name(&tool.name), description: &tool.description, input_schema: &tool.schema }
}

/// A message; none if nothing in it can be sent.
fn to_message(message: &ModelMessage) -> Option<AnthropicMessage<'_>> {
    let (role, content): (_, Vec<AnthropicContent<'_>>) = match message {
        ModelMessage::User { parts } => ("user", parts.iter().filter_map(part).collect()),
        ModelMessage::Assistant { content } => ("assistant", assistant_content(content)),
        ModelMessage::Answers { answers } => ("user", answers.iter().map(answer).collect()),
    };
    (!content.is_empty()).then_some(AnthropicMessage { role, content })
}

fn part(part: &MessagePart) -> Option<AnthropicContent<'_>> {
    match part {
        MessagePart::Text(text) => text_content(text),
        MessagePart::Image(Image { media, data }) => {
            let source = ImageSource { r#type: "base64", media_type: media, data };
            Some(AnthropicContent::Image { source, cache_control: None })
        }
    }
}

fn text_content(text: &str) -> Option<AnthropicContent<'_>> {
    (!text.trim().is_empty()).then_some(AnthropicContent::Text { text, cache_control: None })
}

/// The model's content. The provider rejects reasoning that nothing follows, so it is left out.
fn assistant_content(content: &[ContentBlock]) -> Vec<AnthropicContent<'_>> {
    let mut blocks: Vec<AnthropicContent<'_>> = content.iter().filter_map(block).collect();
    while let Some(AnthropicContent::Verbatim(_)) = blocks.last() {
        blocks.pop();
    }
    blocks
}

fn block(block: &ContentBlock) -> Option<AnthropicContent<'_>> {
    match block {
        ContentBlock::Text { text } => text_content(text),
        // For display only; the provider's own form of it is in an opaque block.
        ContentBlock::Thinking { .. } => None,
        ContentBlock::Call(call) => Some(AnthropicContent::ToolUse {
            id: safe_name(&call.id.0),
            name: safe_name(&call.tool),
            input: verbatim::raw_arguments(call),
            cache_control: None,
        }),
        ContentBlock::Opaque { provider, json } if provider == WIRE => {
            verbatim::raw_object(json).map(AnthropicContent::Verbatim)
        }
        ContentBlock::Opaque { .. } => None,
    }
}

fn answer((id, answer): &(CallId, ToolResult)) -> AnthropicContent<'_> {
    AnthropicContent::ToolResult {
        tool_use_id: safe_name(&id.0),
        content: &answer.text,
        is_error: answer.status.is_error(),
        cache_control: None,
    }
}

impl AnthropicContent<'_> {
    fn add_cache_mark(&mut self) {
        match self {
            AnthropicContent::Text { cache_control, .. }
            | AnthropicContent::Image { cache_control, .. }
            | AnthropicContent::ToolUse { cache_control, .. }
            | AnthropicContent::ToolResult { cache_control, .. } => *cache_control = CACHE_MARK,
            AnthropicContent::Verbatim(_) => {}
        }
    }
}
