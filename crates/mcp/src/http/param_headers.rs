//! Arguments that a server wants to have in headers too, for programs between client and server that do not read
//! bodies: `x-mcp-header` in the schema of a tool.

use serde_json::{Map, Value};

/// The annotation in a schema.
const ANNOTATION: &str = "x-mcp-header";

/// Maximum bytes of a header's name.
const MAX_NAME_BYTES: usize = 64;

/// The most annotations of one tool.
const MAX_HEADERS: usize = 64;

/// How deep arguments with annotations may be nested.
const MAX_DEPTH: usize = 16;

/// An argument that is repeated in a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParamHeader {
    /// The names of the properties that lead to it.
    path: Vec<String>,
    /// The header's name, after `Mcp-Param-`.
    name: String,
}

impl ParamHeader {
    /// The annotations of a tool's schema; the error text says what is wrong with one.
    pub(crate) fn read_all(schema: &Value) -> Result<Vec<ParamHeader>, String> {
        let mut headers = Vec::new();
        collect(schema, &mut Vec::new(), &mut headers)?;
        Ok(headers)
    }

    /// The header's whole name, and its value for these arguments; `None` if the argument is absent.
    pub(crate) fn of(&self, arguments: &Value) -> Option<(String, String)> {
        let value = self.path.iter().try_fold(arguments, |value, name| value.get(name))?;
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Bool(value) => value.to_string(),
            Value::Number(number) => number.to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
        };
        Some((format!("mcp-param-{}", self.name.to_ascii_lowercase()), text))
    }
}

fn collect(schema: &Value, path: &mut Vec<String>, headers: &mut Vec<ParamHeader>) -> Result<(), String> {
    let Some(properties) = schema["properties"].as_object().filter(|_| path.len() < MAX_DEPTH) else { return Ok(()) };
    for (name, property) in properties {
        path.push(name.clone());
        if let Some(annotation) = property.as_object().and_then(|fields| fields.get(ANNOTATION)) {
            let header = read(annotation, property.as_object().unwrap_or(&Map::new()), headers)?;
            headers.push(ParamHeader { path: path.clone(), name: header });
        }
        collect(property, path, headers)?;
        path.pop();
    }
    Ok(())
}

fn read(annotation: &Value, property: &Map<String, Value>, others: &[ParamHeader]) -> Result<String, String> {
    let invalid = |why: &str| {
        let shown = protocol::clip_middle(&annotation.to_string(), 100);
        Err(format!("its annotation `{ANNOTATION}` {shown} {why}"))
    };
    let Some(name) = annotation.as_str().filter(|name| is_header_name(name)) else {
        return invalid("is not the name of a header");
    };
    let kind = property.get("type").and_then(Value::as_str);
    if !matches!(kind, Some("string" | "integer" | "boolean")) {
        return invalid("is at an argument that is not a text, an integer or a boolean");
    }
    if others.iter().any(|other| other.name.eq_ignore_ascii_case(name)) {
        return invalid("occurs twice");
    }
    if others.len() == MAX_HEADERS {
        return invalid("is one of too many");
    }
    Ok(name.to_owned())
}

fn is_header_name(name: &str) -> bool {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    (1..=MAX_NAME_BYTES).contains(&name.len()) && name.bytes().all(is_token)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema(properties: Value) -> Result<Vec<ParamHeader>, String> {
        ParamHeader::read_all(&json!({ "type": "object", "properties": properties }))
    }

    #[test]
    fn annotated_arguments_become_headers() {
        let headers = schema(json!({
            "region": { "type": "string", ANNOTATION: "Region" },
            "query": { "type": "string" },
            "place": { "type": "object", "properties": { "floor": { "type": "integer", ANNOTATION: "Floor" } } },
            "loud": { "type": "boolean", ANNOTATION: "Loud" },
        }))
        .unwrap();
        let of = |arguments: Value| {
            let mut all: Vec<_> = headers.iter().filter_map(|header| header.of(&arguments)).collect();
            all.sort();
            all.into_iter().map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>()
        };
        assert_eq!(
            of(json!({ "region": "eu", "query": "q", "place": { "floor": 3 }, "loud": false })),
            ["mcp-param-floor: 3", "mcp-param-loud: false", "mcp-param-region: eu"]
        );
        assert_eq!(of(json!({ "region": null, "place": 5, "loud": [] })), [""; 0]);
        assert_eq!(of(json!("text")), [""; 0]);
    }

    #[test]
    fn invalid_annotations_are_errors() {
        for (annotation, kind, why) in [
            (json!(""), "string", "is not the name of a header"),
            (json!(5), "string", "is not the name of a header"),
            (json!("a b"), "string", "is not the name of a header"),
            (json!("a:b"), "string", "is not the name of a header"),
            (json!("Région"), "string", "is not the name of a header"),
            (json!("a\r\nb"), "string", "is not the name of a header"),
            (json!("x".repeat(100)), "string", "is not the name of a header"),
            (json!("a"), "number", "is not a text"),
            (json!("a"), "object", "is not a text"),
            (json!("a"), "null", "is not a text"),
        ] {
            let error = schema(json!({ "p": { "type": kind, ANNOTATION: annotation } })).unwrap_err();
            assert!(error.contains(why), "{annotation} {kind}: {error}");
        }
        let twice = json!({ "type": "string", ANNOTATION: "Me" });
        let again = json!({ "type": "string", ANNOTATION: "me" });
        assert!(schema(json!({ "a": twice, "b": again })).unwrap_err().contains("occurs twice"));
    }
}
