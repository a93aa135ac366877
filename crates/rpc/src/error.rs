//! The error that a peer is answered with, and the codes JSON-RPC fixes.

use serde::Deserialize;
use serde_json::{Map, Value};

/// Why a call was not performed, as its caller gets it.
#[derive(Debug, Clone, PartialEq, Deserialize, thiserror::Error)]
#[error("{message} (code {code})")]
pub struct ErrorObject {
    /// One of the codes below, or one of the application's own outside -32768 to -32000.
    pub code: i64,
    /// What happened, for people.
    pub message: String,
    /// What a program can act on.
    #[serde(default)]
    pub data: Option<Value>,
}

impl ErrorObject {
    /// The frame is not JSON.
    pub const PARSE: i64 = -32700;
    /// The JSON is not a request.
    pub const INVALID: i64 = -32600;
    /// No method has that name.
    pub const UNKNOWN_METHOD: i64 = -32601;
    /// The parameters do not fit the method.
    pub const BAD_PARAMS: i64 = -32602;
    /// The callee broke.
    pub const INTERNAL: i64 = -32603;
    /// The peer did not read fast enough and is closed.
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

    /// No method has that name.
    pub fn unknown_method(name: &str) -> ErrorObject {
        ErrorObject::new(ErrorObject::UNKNOWN_METHOD, format!("no method is called `{name}`"))
    }

    /// The parameters do not fit the method.
    pub fn bad_params(why: impl std::fmt::Display) -> ErrorObject {
        ErrorObject::new(ErrorObject::BAD_PARAMS, format!("the parameters do not fit: {why}"))
    }

    /// The callee broke.
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
