//! Parses the body of an error, in any of the usual forms.

use std::time::Duration;

use protocol::Timestamp;
use serde_json::Value;

/// A provider's report of an error.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ErrorReport {
    /// The provider's message.
    pub(super) message: String,
    /// The status, if it is in the report instead of the response.
    pub(super) status: Option<u16>,
    /// When a used-up quota resets.
    pub(super) quota_until: Option<Timestamp>,
    /// Its type and code.
    kinds: Vec<String>,
}

impl ErrorReport {
    /// Parses a body; a body that is not JSON is the message.
    pub(super) fn from_body(body: &str, at: Timestamp) -> ErrorReport {
        match serde_json::from_str(body) {
            Ok(value) => ErrorReport::from_value(&value, at),
            Err(_) => ErrorReport { message: body.to_owned(), ..ErrorReport::default() },
        }
    }

    /// Parses a JSON report.
    pub(super) fn from_value(value: &Value, at: Timestamp) -> ErrorReport {
        let value = error_object(value);
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        let number = |key: &str| value.get(key).and_then(Value::as_u64);
        let message = value.as_str().or_else(|| text("message")).or_else(|| text("detail"));
        let resets_in = number("resets_in_seconds").map(|seconds| at.plus(Duration::from_secs(seconds)));
        let resets_at = number("resets_at").map(|seconds| Timestamp(seconds.saturating_mul(1000)));
        ErrorReport {
            message: message.map_or_else(|| value.to_string(), str::to_owned),
            status: parse_status(value.get("code")),
            quota_until: resets_at.or(resets_in).filter(|until| *until > at),
            kinds: ["type", "code"].iter().filter_map(|key| text(key)).map(str::to_owned).collect(),
        }
    }

    /// Whether its kind or message contains one of these phrases.
    pub(super) fn mentions(&self, phrases: &[&str]) -> bool {
        let message = self.message.to_lowercase();
        phrases.iter().any(|phrase| message.contains(phrase) || self.kinds.iter().any(|kind| kind.contains(phrase)))
    }
}

/// A code as a status, also when it is written as text.
fn parse_status(code: Option<&Value>) -> Option<u16> {
    let code = code?;
    let number = code.as_u64().or_else(|| code.as_str()?.parse().ok())?;
    u16::try_from(number).ok().filter(|status| (400..600).contains(status))
}

/// The error object inside lists, whole responses and wrappers.
fn error_object(value: &Value) -> &Value {
    let value = value.get(0).unwrap_or(value);
    let value = value.get("response").unwrap_or(value);
    value.get("error").filter(|error| !error.is_null()).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_usual_form_is_read() {
        for (body, message) in [
            (json!({ "type": "error", "error": { "type": "api_error", "message": "a" } }), "a"),
            (json!({ "error": "b" }), "b"),
            (json!([{ "error": { "message": "c" } }]), "c"),
            (json!({ "detail": "d" }), "d"),
            (json!({ "type": "response.failed", "response": { "error": { "code": "x", "message": "e" } } }), "e"),
            (json!({ "error": null, "message": "f" }), "f"),
            (json!("g"), "g"),
            (json!({ "odd": 1 }), "{\"odd\":1}"),
        ] {
            assert_eq!(ErrorReport::from_body(&body.to_string(), Timestamp(0)).message, message);
        }
        assert_eq!(ErrorReport::from_body("<html>no</html>", Timestamp(0)).message, "<html>no</html>");
    }

    #[test]
    fn quota_reset_times_are_parsed() {
        let until = |error: Value| ErrorReport::from_value(&json!({ "error": error }), Timestamp(5_000)).quota_until;
        assert_eq!(until(json!({ "resets_at": 9 })), Some(Timestamp(9_000)));
        assert_eq!(until(json!({ "resets_in_seconds": 9 })), Some(Timestamp(14_000)));
        assert_eq!(until(json!({ "resets_at": 5 })), None);
        assert_eq!(until(json!({ "resets_at": u64::MAX })), Some(Timestamp(u64::MAX)));
        assert_eq!(until(json!({ "resets_at": "soon" })), None);
    }
}
