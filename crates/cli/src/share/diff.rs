//! File changes as removed and added lines.

use std::fmt::Write as _;

use protocol::diff::{DiffLine, diff_lines};
use protocol::{ToolCallRequest, clip_middle, tool_name};
use serde_json::Value;

use super::escape::escape_html;

/// The maximum number of bytes shown of the old and of the new text.
const MAX_SHOWN_BYTES: usize = 16 * 1024;

/// The change made by a call of `edit`, `create` or `apply_patch`; `None` for other calls.
pub(super) fn call_diff_html(call: &ToolCallRequest) -> Option<String> {
    let input: Value = serde_json::from_str(&call.input).ok()?;
    let field = |key: &str| input.get(key).and_then(Value::as_str);
    match call.tool.as_str() {
        tool_name::EDIT => {
            let (old, new) = (clip_middle(field("old")?, MAX_SHOWN_BYTES), clip_middle(field("new")?, MAX_SHOWN_BYTES));
            Some(diff_html(field("path")?, &diff_lines(&old, &new)))
        }
        tool_name::CREATE => {
            let content = clip_middle(field("content")?, MAX_SHOWN_BYTES);
            Some(diff_html(field("path")?, &diff_lines("", &content)))
        }
        tool_name::APPLY_PATCH => {
            let patch = clip_middle(field("patch")?, MAX_SHOWN_BYTES);
            Some(diff_html("", &patch.lines().map(patch_line).collect::<Vec<_>>()))
        }
        _other => None,
    }
}

fn patch_line(line: &str) -> DiffLine<'_> {
    match line.chars().next() {
        Some('+') => DiffLine::Added(line.get(1..).unwrap_or_default()),
        Some('-') => DiffLine::Removed(line.get(1..).unwrap_or_default()),
        Some(' ') => DiffLine::Same(line.get(1..).unwrap_or_default()),
        Some(_) | None => DiffLine::Same(line),
    }
}

fn diff_html(path: &str, lines: &[DiffLine<'_>]) -> String {
    let mut html = String::new();
    if !path.is_empty() {
        // Writing to a string cannot fail.
        let _always = writeln!(html, "<p>{}</p>", escape_html(path));
    }
    html.push_str("<pre class=\"diff\">");
    for line in lines {
        let _always = match line {
            DiffLine::Removed(line) => writeln!(html, "<del>- {}</del>", escape_html(line)),
            DiffLine::Added(line) => writeln!(html, "<ins>+ {}</ins>", escape_html(line)),
            DiffLine::Same(line) => writeln!(html, "  {}", escape_html(line)),
        };
    }
    html.push_str("</pre>\n");
    html
}

#[cfg(test)]
mod tests {
    use protocol::CallId;
    use serde_json::json;

    use super::*;

    fn shown(name: &str, input: &Value) -> Option<String> {
        call_diff_html(&ToolCallRequest { id: CallId("c".into()), tool: name.into(), input: input.to_string() })
    }

    #[test]
    fn edits_are_shown_as_removed_and_added_lines() {
        let edit = shown("edit", &json!({"path": "a.rs", "old": "a\nb\nc\nd", "new": "a\nx\nc\n<y>\nd"})).unwrap();
        let expected = "<p>a.rs</p>\n<pre class=\"diff\">  a\n<del>- b</del>\n<ins>+ x</ins>\n  c\n\
                      <ins>+ &lt;y&gt;</ins>\n  d\n</pre>\n";
        assert_eq!(edit, expected);
        let create = shown("create", &json!({"path": "a", "content": "x\ny"})).unwrap();
        assert!(create.contains("<ins>+ x</ins>\n<ins>+ y</ins>"), "{create}");
        let patch = shown("apply_patch", &json!({"patch": "*** Update File: a\n@@\n-b\n+c\n d"})).unwrap();
        assert!(patch.contains("  *** Update File: a\n  @@\n<del>- b</del>\n<ins>+ c</ins>\n  d\n"), "{patch}");
        assert_eq!(shown("shell", &json!({"command": "ls"})), None);
        assert_eq!(shown("edit", &json!({"path": 3})), None);
    }
}
