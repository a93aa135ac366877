//! The error object of a JSON-RPC response, and the codes that JSON-RPC defines.

use protocol::api::RefusalKind;
use protocol::{Hinted, Refusal};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Why a call failed, as sent to its caller. `data.hint` says what to do about it, if there is something.
#[derive(Debug, Clone, PartialEq, Deserialize, thiserror::Error)]
#[error("{} (code {code})", self.in_one_line())]
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

    /// The session refused the request for the reason of an error, which may say what to do about it.
    pub fn refused_for(kind: RefusalKind, error: &impl Hinted) -> ErrorObject {
        ErrorObject::refused_with(kind, error.refusal())
    }

    /// The session refused the request; the refusal may say what to do about it.
    pub fn refused_with(kind: RefusalKind, Refusal { message, hint }: Refusal) -> ErrorObject {
        let refused = ErrorObject::refused(kind, message);
        match hint {
            Some(hint) => ErrorObject { data: Some(json!({ "kind": kind, "hint": hint })), ..refused },
            None => refused,
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<&str> {
        self.data.as_ref()?.get("hint")?.as_str()
    }

    /// The message and the hint, for an edge that shows the hint on a line of its own.
    pub fn refusal(&self) -> Refusal {
        Refusal { message: self.message.clone(), hint: self.hint().map(str::to_owned) }
    }

    /// The message and the hint in one line.
    pub fn in_one_line(&self) -> String {
        self.refusal().in_one_line()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_travels_beside_the_message() {
        let refusal = Refusal::new("there is no agent `x`").with_hint("`bosun catalog list` lists them");
        let sent = Value::from(ErrorObject::refused_with(RefusalKind::Invalid, refusal.clone()));
        assert_eq!(sent["message"], "there is no agent `x`");
        assert_eq!(sent["data"], json!({ "kind": "invalid", "hint": "`bosun catalog list` lists them" }));
        let received: ErrorObject = serde_json::from_value(sent).unwrap();
        assert_eq!((received.refusal(), received.refusal_kind()), (refusal, Some(RefusalKind::Invalid)));
        assert_eq!(ErrorObject::refused(RefusalKind::Closed, "no").hint(), None);
    }
}
