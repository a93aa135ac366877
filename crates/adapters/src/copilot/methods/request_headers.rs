//! Headers that a message adds to the requests of the turns that it starts.

use net::{RequestHeader, Secret};
use rpc::ErrorObject;
use serde_json::Value;

/// Maximum number of headers.
const MAX_HEADERS: usize = 32;

/// Maximum bytes of a header's value.
const MAX_VALUE_BYTES: usize = 8 << 10;

/// Headers that Bosun sets itself.
const OWN_HEADERS: [&str; 9] = [
    "accept",
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "host",
    "transfer-encoding",
    "user-agent",
    "x-api-key",
];

/// Reads `requestHeaders` of a message.
pub(super) fn read(input: &Value) -> Result<Vec<(String, Secret)>, ErrorObject> {
    let invalid = |why: String| ErrorObject::bad_params(format!("`requestHeaders`: {why}"));
    let headers = match input {
        Value::Null => return Ok(Vec::new()),
        Value::Object(headers) if headers.len() <= MAX_HEADERS => headers,
        Value::Object(_) => return Err(invalid(format!("there are more than {MAX_HEADERS}"))),
        _other => return Err(invalid("it is not an object".into())),
    };
    let mut read = Vec::new();
    for (name, value) in headers {
        let name = name.to_ascii_lowercase();
        let is_visible = |text: &&str| text.bytes().all(|byte| byte == b'\t' || (b' '..=b'~').contains(&byte));
        let value = value.as_str().filter(|text| text.len() <= MAX_VALUE_BYTES).filter(is_visible);
        // The value may be a key, so it is not shown.
        let value = value.ok_or_else(|| invalid(format!("the value of {name} is not a text for a header")))?;
        if OWN_HEADERS.contains(&name.as_str()) {
            return Err(invalid(format!("{name} is set by Bosun itself")));
        }
        let secret = Secret::new(value);
        RequestHeader::user_defined(&name, secret.clone()).map_err(|error| invalid(error.to_string()))?;
        read.push((name, secret));
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn headers_of_a_message_are_read_or_refused_without_showing_a_value() {
        assert_eq!(read(&Value::Null).unwrap(), []);
        assert_eq!(read(&json!({ "X-Team": "blue" })).unwrap(), [("x-team".to_owned(), Secret::new("blue"))]);
        for invalid in [
            json!([]),
            json!({ "x": 1 }),
            json!({ "x": "hidden\r\ny: 1" }),
            json!({ "a b": "hidden" }),
            json!({ "Authorization": "hidden" }),
        ] {
            let error = read(&invalid).unwrap_err().message;
            assert!(error.contains("requestHeaders") && !error.contains("hidden"), "{error}");
        }
    }
}
