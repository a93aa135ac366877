//! The client's first request, `initialize`: what it brings along.

use serde_json::Value;

/// What the client brings along.
#[derive(Debug, Clone, Default)]
pub(super) struct InitializeRequest {
    /// The request as it came.
    pub(super) request: Value,
    /// Its hooks: for each event, a list of matchers with the ids of callbacks.
    pub(super) hooks: Value,
    /// What the session's own agent is told first.
    pub(super) system: Option<String>,
    /// What it is told besides.
    pub(super) append: Option<String>,
    /// Whether what agents below the session's own say is wanted, and not only what they do.
    pub(super) forwards_text: bool,
}

impl InitializeRequest {
    /// Reads the request.
    pub(super) fn read(request: Value) -> InitializeRequest {
        InitializeRequest {
            hooks: request["hooks"].clone(),
            system: joined(&request["systemPrompt"]),
            append: joined(&request["appendSystemPrompt"]),
            forwards_text: request["forwardSubagentText"].as_bool().unwrap_or(false),
            request,
        }
    }
}

/// A text, or a list of them; nothing if there is nothing in it.
fn joined(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n\n"),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return None,
    };
    Some(text).filter(|text| !text.trim().is_empty())
}
