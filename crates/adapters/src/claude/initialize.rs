//! The client's first request, `initialize`.

use serde_json::Value;

/// The client's `initialize` request.
#[derive(Debug, Clone, Default)]
pub(super) struct InitializeRequest {
    /// The raw request.
    pub(super) request: Value,
    /// Its hooks: for each event, a list of matchers with the ids of callbacks.
    pub(super) hooks: Value,
    /// The root's system prompt.
    pub(super) system_prompt: Option<String>,
    /// Text appended to the system prompt.
    pub(super) append_system_prompt: Option<String>,
    /// Whether the client wants the text of subagents, not only their calls.
    pub(super) forwards_subagent_text: bool,
}

impl InitializeRequest {
    /// Parses the request.
    pub(super) fn parse(request: Value) -> InitializeRequest {
        InitializeRequest {
            hooks: request["hooks"].clone(),
            system_prompt: joined_text(&request["systemPrompt"]),
            append_system_prompt: joined_text(&request["appendSystemPrompt"]),
            forwards_subagent_text: request["forwardSubagentText"].as_bool().unwrap_or(false),
            request,
        }
    }
}

/// A string or a list of strings; `None` if it is blank.
fn joined_text(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n\n"),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return None,
    };
    Some(text).filter(|text| !text.trim().is_empty())
}
