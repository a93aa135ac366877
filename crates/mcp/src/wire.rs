//! JSON-RPC messages to a server, and its responses.

use serde_json::{Map, Value, json};

/// Maximum bytes of a server's error message.
const MAX_MESSAGE_BYTES: usize = 500;

/// A server's response.
#[derive(Debug, PartialEq)]
pub(crate) enum McpResponse {
    /// Success.
    Result(Map<String, Value>),
    /// The server reports an error.
    Error { code: i64, message: String },
    /// Not a valid response to the request.
    Malformed(String),
}

pub(crate) fn request(id: u64, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

pub(crate) fn notification(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

/// The response to a request of the server.
pub(crate) fn result(id: &Value, result: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

/// The refusal of a request of the server.
pub(crate) fn error(id: &Value, code: i64, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

/// Reads the response to the request with this id.
pub(crate) fn read_response(id: u64, mut message: Value) -> McpResponse {
    let Some(fields) = message.as_object_mut() else {
        return McpResponse::Malformed("it is not an object".into());
    };
    match fields.get("id") {
        Some(Value::Number(number)) if number.as_u64() == Some(id) => {}
        // A server that could not read the request does not know its id, or makes one up; ours are numbers.
        Some(Value::Null | Value::String(_)) | None if fields.contains_key("error") => {}
        _other => return McpResponse::Malformed("it is the answer to another request".into()),
    }
    match (fields.remove("result"), fields.remove("error")) {
        (Some(Value::Object(result)), None | Some(Value::Null)) => McpResponse::Result(result),
        (None | Some(Value::Null), Some(Value::Object(error))) => {
            let message = error.get("message").and_then(Value::as_str).unwrap_or("no message");
            let code = error.get("code").and_then(Value::as_i64).unwrap_or(0);
            McpResponse::Error { code, message: protocol::clip_middle(message, MAX_MESSAGE_BYTES) }
        }
        (Some(_), Some(_)) => McpResponse::Malformed("it has a result and an error".into()),
        (Some(_), None) => McpResponse::Malformed("its result is not an object".into()),
        (None, _) => McpResponse::Malformed("it has neither a result nor an error".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(message: Value) -> String {
        match read_response(7, message) {
            McpResponse::Result(result) => format!("result {}", Value::Object(result)),
            McpResponse::Error { code, message } => format!("error {code} {message}"),
            McpResponse::Malformed(what) => what,
        }
    }

    #[test]
    fn responses_are_results_errors_or_malformed() {
        assert_eq!(read(json!({ "jsonrpc": "2.0", "id": 7, "result": { "a": 1 } })), r#"result {"a":1}"#);
        assert_eq!(read(json!({ "id": 7, "result": {}, "error": null })), "result {}");
        assert_eq!(read(json!({ "id": 7, "error": { "code": -32601, "message": "no" } })), "error -32601 no");
        assert_eq!(read(json!({ "id": null, "error": {} })), "error 0 no message");
        assert_eq!(
            read(json!({ "id": "server-error", "error": { "code": -32600, "message": "no" } })),
            "error -32600 no"
        );
        assert_eq!(read(json!({ "id": 8, "error": {} })), "it is the answer to another request");
        assert_eq!(read(json!({ "id": 8, "result": {} })), "it is the answer to another request");
        assert_eq!(read(json!({ "id": "7", "result": {} })), "it is the answer to another request");
        assert_eq!(read(json!({ "result": {} })), "it is the answer to another request");
        assert_eq!(read(json!({ "id": 7 })), "it has neither a result nor an error");
        assert_eq!(read(json!({ "id": 7, "result": 5 })), "its result is not an object");
        assert_eq!(read(json!({ "id": 7, "error": "no" })), "it has neither a result nor an error");
        assert_eq!(read(json!({ "id": 7, "result": {}, "error": {} })), "it has a result and an error");
        assert_eq!(read(json!([])), "it is not an object");
        let long = read(json!({ "id": 7, "error": { "code": 1, "message": "x".repeat(1 << 20) } }));
        assert!(long.len() < 600);
    }
}
