//! The error object of a JSON-RPC response, and the codes that JSON-RPC defines.

use protocol::api::RefusalKind;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Why a call failed, as sent to its caller.
#[derive(Debug, Clone, PartialEq, Deserialize, thiserror::Error)]
#[error("{message} (code {code})")]
pub struct ErrorObject {
    /// One of the codes below, or an application code outside -32768 to -32000.
    pub code: i64,
    /// What happened, for people.
    pub message: String,
    /// Details for programs.
    #[serde(default)]
    pub data: Option<Value>,
}

impl ErrorObject {
    /// The frame is not JSON.
    pub const PARSE: i64 = -32700;
    /// The JSON is not a request.
    pub const INVALID: i64 = -32600;
    /// There is no method with that name.
    pub const UNKNOWN_METHOD: i64 = -32601;
    /// The parameters are not valid for the method.
    pub const BAD_PARAMS: i64 = -32602;
    /// The server failed.
    pub const INTERNAL: i64 = -32603;
    /// The session refused the request, which changed nothing; `data.kind` says why.
    pub const REFUSED: i64 = 1;
    /// The peer did not read fast enough, so the connection is closed.
    pub const TOO_SLOW: i64 = -32001;

    /// An error with a code and a message.
    pub fn new(code: i64, message: impl Into<String>) -> ErrorObject {
        ErrorObject { code, message: message.into(), data: None }
    }

    /// The frame is not JSON.
    pub fn parse(why: impl std::fmt::Display) -> ErrorObject {
        ErrorObject::new(ErrorObject::PARSE, format!("not JSON: {why}"))
    }

    /// The JSON is not a request.
    pub fn invalid(why: impl Into<String>) -> ErrorObject {
        ErrorObject::new(ErrorObject::INVALID, why)
    }

    /// There is no method with that name.
    pub fn unknown_method(name: &str) -> ErrorObject {
        ErrorObject::new(ErrorObject::UNKNOWN_METHOD, format!("unknown method `{name}`"))
    }

    /// The parameters are not valid for the method.
    pub fn bad_params(why: impl std::fmt::Display) -> ErrorObject {
        ErrorObject::new(ErrorObject::BAD_PARAMS, format!("invalid parameters: {why}"))
    }

    /// The session refused the request, which changed nothing.
    pub fn refused(kind: RefusalKind, why: impl std::fmt::Display) -> ErrorObject {
        let data = Some(json!({ "kind": kind }));
        ErrorObject { data, ..ErrorObject::new(ErrorObject::REFUSED, why.to_string()) }
    }

    /// Why the session refused the request, if it did.
    pub fn refusal_kind(&self) -> Option<RefusalKind> {
        serde_json::from_value(self.data.as_ref()?.get("kind")?.clone()).ok()
    }

    /// The server failed.
    pub fn internal(why: impl std::fmt::Display) -> ErrorObject {
        ErrorObject::new(ErrorObject::INTERNAL, why.to_string())
    }
}

impl From<ErrorObject> for Value {
    fn from(error: ErrorObject) -> Value {
        let mut fields = Map::new();
        fields.insert("code".into(), error.code.into());
        fields.insert("message".into(), error.message.into());
        if let Some(data) = error.data {
            fields.insert("data".into(), data);
        }
        Value::Object(fields)
    }
}
