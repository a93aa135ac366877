//! Headers of 2026-07-28 that repeat parts of the body, so that programs between client and server can route requests
//! without reading bodies. A request whose headers contradict its body is refused.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{HeaderMap, HeaderName};
use serde_json::{Map, Value};

use crate::mcp::McpFault;

/// The revision of a request.
pub(super) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// The session of a request, in older revisions.
pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// The keyword of a tool's schema that names the header of an argument.
const ARGUMENT_HEADER: &str = "x-mcp-header";

/// The value of a header that occurs at most once and is text.
pub(super) fn header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, McpFault> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    match (value.to_str(), values.next()) {
        (Ok(value), None) => Ok(Some(value.trim())),
        (Ok(_) | Err(_), _) => Err(McpFault::header_mismatch(format!("`{name}` is not text, or occurs twice"))),
    }
}

/// Checks the headers with the method and the name of what it is about.
pub(super) fn check_standard(headers: &HeaderMap, method: &str, params: &Map<String, Value>) -> Result<(), McpFault> {
    require_equal(headers, &METHOD, method)?;
    let named = match method {
        "tools/call" | "prompts/get" => params.get("name"),
        "resources/read" => params.get("uri"),
        "tasks/get" | "tasks/update" | "tasks/cancel" => params.get("taskId"),
        _other => None,
    };
    match named.and_then(Value::as_str) {
        Some(name) => require_equal(headers, &NAME, name),
        None => Ok(()),
    }
}

/// Checks the headers with arguments that a tool's schema names.
pub(super) fn check_arguments(headers: &HeaderMap, schema: &Value, arguments: Option<&Value>) -> Result<(), McpFault> {
    for (argument, property) in schema["properties"].as_object().into_iter().flatten() {
        let Some(suffix) = property[ARGUMENT_HEADER].as_str() else { continue };
        let Ok(name) = HeaderName::try_from(format!("mcp-param-{}", suffix.to_ascii_lowercase())) else { continue };
        let expected = match arguments.map(|arguments| &arguments[argument]) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text.clone()),
            Some(other) => Some(other.to_string()),
        };
        match expected {
            Some(expected) => require_equal(headers, &name, &expected)?,
            None if headers.contains_key(&name) => {
                return Err(McpFault::header_mismatch(format!("`{name}` is set, but the body has no `{argument}`")));
            }
            None => {}
        }
    }
    Ok(())
}

fn require_equal(headers: &HeaderMap, name: &HeaderName, expected: &str) -> Result<(), McpFault> {
    let value = header(headers, name)?;
    let value = value.ok_or_else(|| McpFault::header_mismatch(format!("the header `{name}` is missing")))?;
    match decode(value) {
        Some(value) if value == expected => Ok(()),
        Some(_) => Err(McpFault::header_mismatch(format!("the header `{name}` differs from the body"))),
        None => Err(McpFault::header_mismatch(format!("the header `{name}` is not valid base64"))),
    }
}

/// A header's text: `=?base64?…?=` wraps text that a header cannot hold.
fn decode(value: &str) -> Option<String> {
    let encoded = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="));
    match encoded {
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &str)| (HeaderName::from_static(name), value.parse().unwrap());
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn headers_must_repeat_the_method_and_the_name() {
        let params = Map::from_iter([("name".to_owned(), json!("grüße"))]);
        let check = |pairs: &[(&'static str, &str)]| check_standard(&headers(pairs), "tools/call", &params).is_ok();
        let method = ("mcp-method", "tools/call");
        assert!(check(&[method, ("mcp-name", "=?base64?Z3LDvMOfZQ==?=")]));
        assert!(!check(&[method]));
        assert!(!check(&[method, ("mcp-name", "other")]));
        assert!(!check(&[method, ("mcp-name", "=?base64?Z3LDvMOfZQ?=")]), "padding is missing");
        assert!(!check(&[("mcp-method", "TOOLS/CALL"), ("mcp-name", "=?base64?Z3LDvMOfZQ==?=")]));
        let nothing = Map::new();
        assert!(check_standard(&headers(&[("mcp-method", "tools/list")]), "tools/list", &nothing).is_ok());
        assert!(check_standard(&headers(&[]), "tools/list", &nothing).is_err());
        let mut twice = headers(&[("mcp-method", "tools/list")]);
        twice.append(METHOD, "tools/list".parse().unwrap());
        assert!(check_standard(&twice, "tools/list", &nothing).is_err());
    }

    #[test]
    fn headers_must_repeat_arguments_that_the_schema_names() {
        let schema = json!({ "properties": { "region": { "type": "string", "x-mcp-header": "Region" }, "n": {} } });
        let check = |pairs: &[(&'static str, &str)], arguments: Value| {
            check_arguments(&headers(pairs), &schema, Some(&arguments)).is_ok()
        };
        assert!(check(&[("mcp-param-region", "eu")], json!({ "region": "eu", "n": 5 })));
        assert!(check(&[("mcp-param-region", "=?base64?eu")], json!({ "region": "=?base64?eu" })));
        assert!(check(&[], json!({ "n": 5 })));
        assert!(!check(&[], json!({ "region": "eu" })));
        assert!(!check(&[("mcp-param-region", "us")], json!({ "region": "eu" })));
        assert!(!check(&[("mcp-param-region", "us")], json!({})));
    }
}
