//! A tool as its server describes it.

use protocol::clip_middle;
use serde_json::{Map, Value, json};

use crate::McpLimits;
use crate::http::ParamHeader;

/// A tool as its server describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct McpToolDescription {
    /// The server's name for it.
    pub name: String,
    /// When and how to use it.
    pub description: String,
    /// The JSON Schema of its input.
    pub schema: Value,
    /// Whether the server claims that the tool only reads. This is not verified.
    pub read_only: bool,
    /// Whether the server runs its calls only as tasks, in the form of 2025-11-25.
    pub requires_task: bool,
    /// The arguments that are repeated in headers.
    pub(crate) param_headers: Vec<ParamHeader>,
}

/// Maximum bytes of a tool's name.
const NAME: usize = 256;

impl McpToolDescription {
    /// Reads one entry of a server's list. The error text says why the tool cannot be used.
    pub(crate) fn read(entry: &Value, limits: &McpLimits) -> Result<McpToolDescription, String> {
        let name = entry["name"].as_str().filter(|name| !name.is_empty()).ok_or("a tool has no name")?;
        if name.len() > NAME {
            return Err(format!("the name of a tool has {} bytes; at most {NAME} are allowed", name.len()));
        }
        let schema = normalized_schema(&entry["inputSchema"])
            .ok_or_else(|| format!("the schema of `{name}` is not an object"))?;
        let size = schema.to_string().len();
        if size > limits.max_schema_bytes {
            return Err(format!(
                "the schema of `{name}` has {size} bytes; at most {} are allowed",
                limits.max_schema_bytes
            ));
        }
        let param_headers = ParamHeader::read_all(&schema).map_err(|why| format!("`{name}` is not valid: {why}"))?;
        let about = ["description", "title"].into_iter().find_map(|field| entry[field].as_str()).unwrap_or(name);
        Ok(McpToolDescription {
            name: name.to_owned(),
            description: clip_middle(about, limits.max_description_bytes),
            schema,
            read_only: entry["annotations"]["readOnlyHint"] == Value::Bool(true),
            requires_task: entry["execution"]["taskSupport"] == "required",
            param_headers,
        })
    }
}

/// Normalizes the schema for providers: type object, with properties.
fn normalized_schema(input: &Value) -> Option<Value> {
    let mut schema = match input {
        Value::Null => Map::new(),
        Value::Object(fields) => fields.clone(),
        _other => return None,
    };
    schema.remove("$schema");
    if schema.get("type").is_some_and(|kind| kind != "object") {
        return None;
    }
    schema.insert("type".into(), "object".into());
    schema.entry("properties").or_insert_with(|| json!({}));
    Some(Value::Object(schema))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_are_normalized_for_providers() {
        let entry = json!({ "name": "add", "title": "Adds", "inputSchema": { "$schema": "x", "required": ["a"] },
            "annotations": { "readOnlyHint": true } });
        let tool = McpToolDescription::read(&entry, &McpLimits::default()).unwrap();
        assert_eq!((tool.name.as_str(), tool.description.as_str(), tool.read_only), ("add", "Adds", true));
        assert_eq!(tool.schema, json!({ "type": "object", "properties": {}, "required": ["a"] }));
    }

    #[test]
    fn unusable_entries_say_why() {
        let limits = McpLimits { max_schema_bytes: 100, ..McpLimits::default() };
        let why = |entry: Value| McpToolDescription::read(&entry, &limits).unwrap_err();
        assert_eq!(why(json!(null)), "a tool has no name");
        assert_eq!(why(json!({ "name": "" })), "a tool has no name");
        assert_eq!(why(json!({ "name": 3 })), "a tool has no name");
        assert_eq!(why(json!({ "name": "a", "inputSchema": [] })), "the schema of `a` is not an object");
        assert_eq!(
            why(json!({ "name": "a", "inputSchema": { "type": "string" } })),
            "the schema of `a` is not an object"
        );
        assert!(why(json!({ "name": "a".repeat(1000) })).contains("1000 bytes"));
        let wide = json!({ "name": "a", "inputSchema": { "title": "x".repeat(1000) } });
        assert!(why(wide).contains("at most 100 are allowed"));
    }
}
