//! A short summary of a call.

use protocol::{ToolCallRequest, ToolClass, find_tool, tool_name};
use serde_json::Value;

use super::bounded_text::one_line;

/// The most bytes of a summary.
pub(super) const MAX_SUMMARY_BYTES: usize = 160;

/// The arguments that describe a call best, in order of preference.
const SUMMARY_ARGUMENTS: [&str; 7] = ["path", "command", "pattern", "query", "name", "intent", "prompt"];

/// The lines of a patch that name files.
const PATCH_FILE_MARKERS: [&str; 4] = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];

/// The tool and its most descriptive argument.
pub(super) fn summarize_call(call: &ToolCallRequest) -> String {
    let input = serde_json::from_str(&call.input).unwrap_or(Value::Null);
    let patched = patched_files(&input);
    let argument = SUMMARY_ARGUMENTS.iter().find_map(|key| input.get(key)?.as_str());
    let about = match argument {
        _ if !patched.is_empty() => patched.join(", "),
        Some(text) => text.to_owned(),
        None if call.input == "{}" => String::new(),
        None => call.input.clone(),
    };
    one_line(&format!("{} {about}", one_line(&call.tool, MAX_SUMMARY_BYTES / 2)), MAX_SUMMARY_BYTES)
}

/// The files that a call writes, if any.
pub(super) fn written_files(call: &ToolCallRequest) -> Vec<String> {
    let input = || serde_json::from_str(&call.input).unwrap_or(Value::Null);
    let path = |input: Value| input.get("path").and_then(Value::as_str).map(str::to_owned);
    let files = match find_tool(&call.tool).map(|tool| (tool.class, tool.name)) {
        Some((ToolClass::Edit, tool_name::APPLY_PATCH)) => patched_files(&input()),
        Some((ToolClass::Edit, _one_file)) => path(input()).into_iter().collect(),
        Some(_) | None => Vec::new(),
    };
    files.iter().map(|path| one_line(path, MAX_SUMMARY_BYTES)).collect()
}

fn patched_files(input: &Value) -> Vec<String> {
    let patch = input.get("patch").and_then(Value::as_str).unwrap_or_default();
    let files = patch.lines().filter_map(|line| PATCH_FILE_MARKERS.iter().find_map(|marker| line.strip_prefix(marker)));
    files.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use protocol::CallId;

    use super::*;

    fn call(tool: &str, input: &str) -> ToolCallRequest {
        ToolCallRequest { id: CallId("1".into()), tool: tool.into(), input: input.into() }
    }

    #[test]
    fn a_summary_has_the_most_descriptive_argument() {
        let summary = |tool, input| summarize_call(&call(tool, input));
        assert_eq!(summary("view", r#"{"offset":3,"path":"a.rs"}"#), "view a.rs");
        assert_eq!(summary("shell", "{\"command\":\"make\\n  test\"}"), "shell make test");
        assert_eq!(summary("list_shells", "{}"), "list_shells");
        assert_eq!(summary("view", "{ not json"), "view { not json");
        assert_eq!(summary("odd", r#"{"path":7,"x":1}"#), r#"odd {"path":7,"x":1}"#);
        assert!(summary(&"t".repeat(999), &"x".repeat(9_999)).len() <= MAX_SUMMARY_BYTES);
    }

    #[test]
    fn writing_calls_name_their_files() {
        let patch = r#"{"patch":"*** Begin Patch\n*** Update File: a\n*** Move to: b\n+x\n*** Add File: c\n"}"#;
        assert_eq!(written_files(&call("apply_patch", patch)), ["a", "b", "c"]);
        assert_eq!(summarize_call(&call("apply_patch", patch)), "apply_patch a, b, c");
        assert_eq!(written_files(&call("edit", r#"{"path":"a.rs"}"#)), ["a.rs"]);
        assert!(written_files(&call("view", r#"{"path":"a.rs"}"#)).is_empty());
        assert!(written_files(&call("edit", "nonsense")).is_empty());
    }
}
