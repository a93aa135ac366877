//! Parses requests as strictly as the provider.

use model::{MessagePart, ModelMessage, ModelRequest, ToolCallPolicy, ToolSpec};
use protocol::{CallId, ContentBlock, ToolCallRequest, ToolResult, ToolResultStatus};
use serde_json::Value;

use crate::server::wire::field::{self, BodyProblem};
use crate::server::wire::question::{self, ConversationQuestion};
use crate::server::wire::seal::seal;
use crate::server::wire::{AnswerForm, Extras, ParsedRequest};

/// Maximum number of cache marks in a request.
const MAX_MARKS: usize = 4;
/// Minimum thinking budget, in tokens.
const MIN_THINKING: u32 = 1024;

/// Parses a body of `POST /v1/messages`.
pub(in crate::server::wire) fn read(body: &Value) -> Result<ParsedRequest, BodyProblem> {
    let model = field::text(body, "model")?.to_owned();
    let max_output = field::count(body, "max_tokens")?;
    check_thinking(body, max_output.ok_or_else(|| BodyProblem::new("field required").within("max_tokens"))?)?;
    if marks(body) > MAX_MARKS {
        return Err(BodyProblem::new(format!("at most {MAX_MARKS} blocks may have cache_control")));
    }
    let messages: Vec<ModelMessage> = field::each(body, "messages", message)?.into_iter().flatten().collect();
    if !matches!(messages.first(), Some(ModelMessage::User { .. })) {
        return Err(BodyProblem::new("the first message must be the user's").within("messages"));
    }
    let tools = field::each_if_given(body, "tools", tool)?;
    let question = ConversationQuestion { system: system(body)?, messages, tools, calls: calls(body)?, max_output };
    let form = if field::is_on(body, "stream")? { AnswerForm::Stream } else { AnswerForm::Whole };
    Ok(ParsedRequest { request: ModelRequest::from(question), model, form, extras: Extras::default() })
}

fn check_thinking(body: &Value, max: u32) -> Result<(), BodyProblem> {
    let Some(thinking) = body.get("thinking") else {
        return Ok(());
    };
    let within = |wrong: BodyProblem| wrong.within("thinking");
    match field::text(thinking, "type").map_err(within)? {
        "disabled" | "adaptive" | "between_tools" => Ok(()),
        "enabled" => match field::count(thinking, "budget_tokens").map_err(within)? {
            Some(budget) if budget >= MIN_THINKING && budget < max => Ok(()),
            Some(_) | None => Err(within(
                BodyProblem::new(format!("must be at least {MIN_THINKING} and less than max_tokens"))
                    .within("budget_tokens"),
            )),
        },
        other => Err(within(field::unknown("type", other))),
    }
}

fn marks(value: &Value) -> usize {
    match value {
        Value::Object(fields) => {
            let own = usize::from(fields.get("cache_control").is_some_and(|mark| !mark.is_null()));
            own + fields.values().map(marks).sum::<usize>()
        }
        Value::Array(list) => list.iter().map(marks).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

fn system(body: &Value) -> Result<String, BodyProblem> {
    match body.get("system") {
        None => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => Ok(field::each(body, "system", |block| typed(block, "text"))?.join("\n")),
    }
}

/// The text of a block that must be of this type.
fn typed<'a>(block: &'a Value, kind: &str) -> Result<&'a str, BodyProblem> {
    match field::text(block, "type")? {
        found if found == kind => field::words(block, "text"),
        other => Err(field::unknown("type", other)),
    }
}

fn message(message: &Value) -> Result<Vec<ModelMessage>, BodyProblem> {
    match field::text(message, "role")? {
        "user" => user(message),
        "assistant" => Ok(vec![ModelMessage::Assistant { content: blocks(message, assistant_block)? }]),
        other => Err(field::unknown("role", other)),
    }
}

/// The blocks of a message; a plain text is one block.
fn blocks<T>(message: &Value, read: impl Fn(&Value) -> Result<T, BodyProblem>) -> Result<Vec<T>, BodyProblem> {
    if message.get("content").is_some_and(Value::is_string) {
        let text = field::words(message, "content")?;
        return Ok(vec![read(&serde_json::json!({ "type": "text", "text": text }))?]);
    }
    let blocks = field::each(message, "content", read)?;
    if blocks.is_empty() {
        return Err(BodyProblem::new("content must not be empty").within("content"));
    }
    Ok(blocks)
}

fn assistant_block(block: &Value) -> Result<ContentBlock, BodyProblem> {
    match field::text(block, "type")? {
        "text" => Ok(ContentBlock::Text { text: field::words(block, "text")?.into() }),
        "thinking" => {
            let text = field::text(block, "thinking")?;
            if field::text(block, "signature")? != seal(text) {
                return Err(BodyProblem::new("invalid `signature` in `thinking` block"));
            }
            Ok(ContentBlock::Thinking { text: text.into() })
        }
        "tool_use" => {
            let id = call_id(block, "id")?;
            let tool = field::tool_name(block, "name")?.into();
            Ok(ContentBlock::Call(ToolCallRequest { id, tool, input: field::object(block, "input")?.to_string() }))
        }
        other => Err(field::unknown("type", other)),
    }
}

fn call_id(block: &Value, key: &str) -> Result<CallId, BodyProblem> {
    let id = field::text(block, key)?;
    if id.is_empty() || !field::is_plain(id) {
        return Err(BodyProblem::new(format!("`{id}` does not match ^[a-zA-Z0-9_-]+$")).within(key));
    }
    Ok(CallId(id.into()))
}

/// A block of a user message.
enum UserBlock {
    Part(MessagePart),
    Answer(CallId, ToolResult),
}

/// Parses a user message. Tool results must come before everything else in it.
fn user(message: &Value) -> Result<Vec<ModelMessage>, BodyProblem> {
    let (mut answers, mut parts) = (Vec::new(), Vec::new());
    for block in blocks(message, user_block)? {
        match block {
            UserBlock::Answer(id, answer) if parts.is_empty() => answers.push((id, answer)),
            UserBlock::Answer(id, _) => {
                return Err(BodyProblem::new(format!("the tool_result of `{id}` must come first in its message")));
            }
            UserBlock::Part(part) => parts.push(part),
        }
    }
    let answers = (!answers.is_empty()).then_some(ModelMessage::Answers { answers });
    let parts = (!parts.is_empty()).then_some(ModelMessage::User { parts });
    Ok(answers.into_iter().chain(parts).collect())
}

fn user_block(block: &Value) -> Result<UserBlock, BodyProblem> {
    match field::text(block, "type")? {
        "text" => Ok(UserBlock::Part(MessagePart::Text(field::words(block, "text")?.into()))),
        "image" => image(block).map(UserBlock::Part),
        "tool_result" => {
            let id = call_id(block, "tool_use_id")?;
            let text = result(block)?;
            let status =
                if field::is_on(block, "is_error")? { ToolResultStatus::Refused } else { ToolResultStatus::Done };
            if status.is_error() && text.is_empty() {
                return Err(BodyProblem::new("must not be empty if `is_error` is true").within("content"));
            }
            Ok(UserBlock::Answer(id, ToolResult { status, text }))
        }
        other => Err(field::unknown("type", other)),
    }
}

fn image(block: &Value) -> Result<MessagePart, BodyProblem> {
    let source = field::object(block, "source")?;
    let read = || match field::text(source, "type")? {
        "base64" => question::image(field::text(source, "media_type")?, field::text(source, "data")?),
        other => Err(field::unknown("type", other)),
    };
    read().map_err(|wrong: BodyProblem| wrong.within("source"))
}

fn result(block: &Value) -> Result<String, BodyProblem> {
    match block.get("content") {
        None => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => Ok(field::each(block, "content", |block| typed(block, "text"))?.join("\n")),
    }
}

fn tool(tool: &Value) -> Result<ToolSpec, BodyProblem> {
    let schema = field::object(tool, "input_schema")?;
    if field::text(schema, "type").map_err(|wrong| wrong.within("input_schema"))? != "object" {
        return Err(BodyProblem::new("must be `object`").within("type").within("input_schema"));
    }
    let description = tool.get("description").and_then(Value::as_str).unwrap_or_default().into();
    Ok(ToolSpec { name: field::tool_name(tool, "name")?.into(), description, schema: schema.clone() })
}

fn calls(body: &Value) -> Result<ToolCallPolicy, BodyProblem> {
    let Some(choice) = body.get("tool_choice") else {
        return Ok(ToolCallPolicy::Allowed);
    };
    match field::text(choice, "type").map_err(|wrong| wrong.within("tool_choice"))? {
        "auto" | "any" | "tool" => Ok(ToolCallPolicy::Allowed),
        "none" => Ok(ToolCallPolicy::Forbidden),
        other => Err(field::unknown("type", other).within("tool_choice")),
    }
}
