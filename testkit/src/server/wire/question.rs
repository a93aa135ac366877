//! The conversation of a request, assembled piece by piece from a body.

use host::{Clock, SystemClock};
use model::{MessagePart, ModelMessage, ModelRequest, ToolCallPolicy, ToolSpec};
use protocol::{CallId, ContentBlock, Image, ToolResult, ToolResultStatus};
use serde_json::Value;

use super::field::{self, BodyProblem};

/// The conversation in a body.
#[derive(Debug)]
pub(super) struct ConversationQuestion {
    pub(super) system: String,
    pub(super) messages: Vec<ModelMessage>,
    pub(super) tools: Vec<ToolSpec>,
    pub(super) calls: ToolCallPolicy,
    pub(super) max_output: Option<u32>,
}

impl From<ConversationQuestion> for ModelRequest {
    fn from(ConversationQuestion { system, messages, tools, calls, max_output }: ConversationQuestion) -> ModelRequest {
        let spoken = messages.iter().filter(|message| matches!(message, ModelMessage::Assistant { .. })).count();
        ModelRequest {
            agent: "main".into(),
            path: "/root".into(),
            requested_at: SystemClock.now(),
            turn: u32::try_from(spoken + 1).unwrap_or(u32::MAX),
            attempt: 1,
            system: system.into(),
            messages: messages.into(),
            tools: tools.into(),
            call_policy: calls,
            max_output_tokens: max_output,
            effort: None,
        }
    }
}

/// Adds a tool result; adjacent ones form one message.
pub(super) fn push_answer(messages: &mut Vec<ModelMessage>, id: &str, answer: ToolResult) {
    let pair = (CallId(id.into()), answer);
    if let Some(ModelMessage::Answers { answers }) = messages.last_mut() {
        answers.push(pair);
    } else {
        messages.push(ModelMessage::Answers { answers: vec![pair] });
    }
}

/// Adds the model's output; adjacent blocks form one message.
pub(super) fn push_output(messages: &mut Vec<ModelMessage>, mut blocks: Vec<ContentBlock>) {
    if let Some(ModelMessage::Assistant { content }) = messages.last_mut() {
        content.append(&mut blocks);
    } else {
        messages.push(ModelMessage::Assistant { content: blocks });
    }
}

/// A tool result in a wire format without a status.
pub(super) fn done(text: impl Into<String>) -> ToolResult {
    ToolResult { status: ToolResultStatus::Done, text: text.into() }
}

/// Adds a line to the system prompt.
pub(super) fn push_line(system: &mut String, more: &str) {
    if !system.is_empty() {
        system.push('\n');
    }
    system.push_str(more);
}

/// An image from a `data:` address.
pub(super) fn image_from_url(address: &str) -> Result<MessagePart, BodyProblem> {
    let wrong = || BodyProblem::new("only data:image/…;base64,… addresses are served");
    let (media, data) = address.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,")).ok_or_else(wrong)?;
    image(media, data)
}

/// An image of a known type.
pub(super) fn image(media: &str, data: &str) -> Result<MessagePart, BodyProblem> {
    if !["image/png", "image/jpeg", "image/gif", "image/webp"].contains(&media) {
        return Err(BodyProblem::new(format!("unknown media type `{media}`")));
    }
    if data.is_empty() {
        return Err(BodyProblem::new("the image is empty"));
    }
    Ok(MessagePart::Image(Image { media: media.into(), data: data.into() }))
}

/// A function in OpenAI's wire formats.
pub(super) fn function(function: &Value) -> Result<ToolSpec, BodyProblem> {
    let about = function.get("description").and_then(Value::as_str).unwrap_or_default().into();
    let schema = field::object(function, "parameters")?.clone();
    Ok(ToolSpec { name: field::tool_name(function, "name")?.into(), description: about, schema })
}

/// Whether tools may be called, in OpenAI's wire formats.
pub(super) fn choice(body: &Value) -> Result<ToolCallPolicy, BodyProblem> {
    match body.get("tool_choice") {
        None | Some(Value::Object(_)) => Ok(ToolCallPolicy::Allowed),
        Some(_) => match field::text(body, "tool_choice")? {
            "auto" | "required" => Ok(ToolCallPolicy::Allowed),
            "none" => Ok(ToolCallPolicy::Forbidden),
            other => Err(field::unknown("choice", other).within("tool_choice")),
        },
    }
}
