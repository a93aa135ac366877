//! What the headers of a request say about its message.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;

/// What a request is about, for programs between client and server that do not read its body.
pub(super) fn subject(method: &str, params: &Value) -> Option<String> {
    let field = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _other => return None,
    };
    params[field].as_str().map(header_value)
}

/// A value as a header can carry it.
pub(super) fn header_value(text: &str) -> String {
    let is_plain = text.chars().all(|c| (' '..='~').contains(&c)) && text.trim() == text && !text.starts_with("=?");
    if is_plain { text.to_owned() } else { format!("=?base64?{}?=", BASE64_STANDARD.encode(text)) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn subjects_are_encoded_when_a_header_cannot_carry_them() {
        let subject = |method: &str, params: Value| subject(method, &params);
        assert_eq!(subject("tools/call", json!({ "name": "add" })), Some("add".into()));
        assert_eq!(subject("tasks/get", json!({ "taskId": " 7" })), Some("=?base64?IDc=?=".into()));
        assert_eq!(subject("resources/read", json!({ "uri": "ü" })), Some("=?base64?w7w=?=".into()));
        assert_eq!(subject("tools/list", json!({})), None);
        assert_eq!(subject("tools/call", json!({ "name": 3 })), None);
    }
}
