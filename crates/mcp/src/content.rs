//! Converts the result of a server's tool into text for a model.

use serde_json::{Map, Value};

/// The result of a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolCallResult {
    pub(crate) text: String,
    /// Whether the tool reports that it failed.
    pub(crate) failed: bool,
}

/// Reads the result of a call, up to about `max` bytes. The error text says what is wrong with it.
pub(crate) fn read_result(result: &Map<String, Value>, max: usize) -> Result<ToolCallResult, String> {
    let failed = result.get("isError") == Some(&Value::Bool(true));
    let blocks = match result.get("content") {
        Some(Value::Array(blocks)) => blocks.as_slice(),
        Some(Value::Null) | None => &[],
        Some(_) => return Err("its content is not a list".into()),
    };
    let mut text = String::new();
    for block in blocks {
        if text.len() > max {
            break;
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&block_text(block));
    }
    if let (true, Some(structured)) = (text.is_empty(), result.get("structuredContent")) {
        text = structured.to_string();
    }
    Ok(ToolCallResult { text: protocol::clip_middle(&text, max), failed })
}

/// One block as text. Content that is not text is named, so that nothing is lost without a note.
pub(crate) fn block_text(block: &Value) -> String {
    let field = |name: &str| block[name].as_str().unwrap_or_default();
    match field("type") {
        "text" => field("text").to_owned(),
        kind @ ("image" | "audio") => {
            format!("[{kind} of type {}, {} bytes in base64, not shown]", field("mimeType"), field("data").len())
        }
        "resource" => resource_text(&block["resource"]),
        "resource_link" => format!("[resource {} at {}]", field("name"), field("uri")),
        other => format!("[content of the unknown type `{}`, not shown]", protocol::clip_middle(other, 100)),
    }
}

pub(crate) fn resource_text(resource: &Value) -> String {
    let field = |name: &str| resource[name].as_str().unwrap_or_default();
    match resource["text"].as_str() {
        Some(text) => format!("[resource {}]\n{text}", field("uri")),
        None => format!(
            "[resource {} of type {}, {} bytes in base64, not shown]",
            field("uri"),
            field("mimeType"),
            field("blob").len()
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(result: Value) -> Result<ToolCallResult, String> {
        read_result(result.as_object().unwrap(), 1000)
    }

    #[test]
    fn every_content_type_becomes_text() {
        let blocks = json!([
            { "type": "text", "text": "one" },
            { "type": "image", "data": "AAAA", "mimeType": "image/png" },
            { "type": "audio", "data": "AA", "mimeType": "audio/wav" },
            { "type": "resource", "resource": { "uri": "file:///a", "text": "two" } },
            { "type": "resource", "resource": { "uri": "file:///b", "blob": "AAA", "mimeType": "x/y" } },
            { "type": "resource_link", "uri": "file:///c", "name": "c" },
            { "type": "hologram" },
            7,
        ]);
        let result = read(json!({ "content": blocks })).unwrap();
        assert!(!result.failed);
        let lines = [
            "one",
            "[image of type image/png, 4 bytes in base64, not shown]",
            "[audio of type audio/wav, 2 bytes in base64, not shown]",
            "[resource file:///a]",
            "two",
            "[resource file:///b of type x/y, 3 bytes in base64, not shown]",
            "[resource c at file:///c]",
            "[content of the unknown type `hologram`, not shown]",
            "[content of the unknown type ``, not shown]",
        ];
        assert_eq!(result.text.lines().collect::<Vec<_>>(), lines);
    }

    #[test]
    fn structured_content_replaces_missing_text() {
        let text = |result| read(result).unwrap().text;
        assert_eq!(text(json!({ "content": [], "structuredContent": { "sum": 3 } })), r#"{"sum":3}"#);
        let both = json!({ "content": [{ "type": "text", "text": "3" }], "structuredContent": { "sum": 3 } });
        assert_eq!(text(both), "3");
        assert_eq!(text(json!({})), "");
    }

    #[test]
    fn failures_and_invalid_results_are_distinguished() {
        let failed = read(json!({ "isError": true, "content": [{ "type": "text", "text": "no" }] })).unwrap();
        assert_eq!(failed, ToolCallResult { text: "no".into(), failed: true });
        assert_eq!(read(json!({ "content": "text" })), Err("its content is not a list".into()));
        let many: Vec<Value> = (0..10_000).map(|_| json!({ "type": "text", "text": "x".repeat(100) })).collect();
        assert!(read(json!({ "content": many })).unwrap().text.len() <= 1000);
    }
}
