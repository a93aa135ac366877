//! JSON that is sent back to a provider unchanged.

use protocol::ToolCallRequest;
use serde_json::value::RawValue;

/// `json` byte for byte, if it is an object.
pub(super) fn raw_object(json: &str) -> Option<&RawValue> {
    let raw: &RawValue = serde_json::from_str(json).ok()?;
    raw.get().starts_with('{').then_some(raw)
}

/// Whether `json` is a whole object.
pub(super) fn is_object(json: &str) -> bool {
    raw_object(json).is_some()
}

/// A call's arguments as the model wrote them. Arguments that are not an object are sent back as an empty one in every
/// wire format, since some providers reject such conversations; the call's result reports the error.
pub(super) fn raw_arguments(call: &ToolCallRequest) -> &RawValue {
    raw_object(&call.input).unwrap_or_else(empty_object)
}

fn empty_object<'a>() -> &'a RawValue {
    serde_json::from_str("{}").unwrap_or(RawValue::NULL)
}

#[cfg(test)]
mod tests {
    use protocol::CallId;

    use super::*;

    #[test]
    fn arguments_are_sent_unchanged_or_as_an_empty_object() {
        for (input, sent) in [
            (r#" {"b": 1,"a":1.0} "#, r#"{"b": 1,"a":1.0}"#),
            ("", "{}"),
            ("[1]", "{}"),
            ("{\"a\":", "{}"),
            ("null", "{}"),
        ] {
            let call = ToolCallRequest { id: CallId("1".into()), tool: "t".into(), input: input.into() };
            assert_eq!(raw_arguments(&call).get(), sent);
        }
    }
}
