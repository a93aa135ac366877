//! Changes of files as lines that went and lines that came.

use std::fmt::Write as _;

use protocol::{Call, clip_middle};
use serde_json::Value;

use super::escape::text;
use crate::diff::{Line, lines};

/// Most bytes shown of either side.
const SHOWN: usize = 16 * 1024;

/// The change that a call of `edit`, `create` or `apply_patch` makes; none for other calls.
pub(super) fn html(call: &Call) -> Option<String> {
    let input: Value = serde_json::from_str(&call.input).ok()?;
    let said = |key: &str| input.get(key).and_then(Value::as_str);
    match call.tool.as_str() {
        "edit" => {
            let (old, new) = (clip_middle(said("old")?, SHOWN), clip_middle(said("new")?, SHOWN));
            Some(shown(said("path")?, &lines(&old, &new)))
        }
        "create" => {
            let content = clip_middle(said("content")?, SHOWN);
            Some(shown(said("path")?, &lines("", &content)))
        }
        "apply_patch" => {
            let patch = clip_middle(said("patch")?, SHOWN);
            Some(shown("", &patch.lines().map(patched).collect::<Vec<_>>()))
        }
        _other => None,
    }
}

fn patched(line: &str) -> Line<'_> {
    match line.chars().next() {
        Some('+') => Line::Added(line.get(1..).unwrap_or_default()),
        Some('-') => Line::Removed(line.get(1..).unwrap_or_default()),
        Some(' ') => Line::Same(line.get(1..).unwrap_or_default()),
        Some(_) | None => Line::Same(line),
    }
}

fn shown(path: &str, lines: &[Line<'_>]) -> String {
    let mut html = String::new();
    if !path.is_empty() {
        // Writing to a string cannot fail.
        let _always = writeln!(html, "<p>{}</p>", text(path));
    }
    html.push_str("<pre class=\"diff\">");
    for line in lines {
        let _always = match line {
            Line::Removed(line) => writeln!(html, "<del>- {}</del>", text(line)),
            Line::Added(line) => writeln!(html, "<ins>+ {}</ins>", text(line)),
            Line::Same(line) => writeln!(html, "  {}", text(line)),
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
        html(&Call { id: CallId("c".into()), tool: name.into(), input: input.to_string() })
    }

    #[test]
    fn edits_are_shown_as_lines_that_went_and_came() {
        let edit = shown("edit", &json!({"path": "a.rs", "old": "a\nb\nc\nd", "new": "a\nx\nc\n<y>\nd"})).unwrap();
        let wanted = "<p>a.rs</p>\n<pre class=\"diff\">  a\n<del>- b</del>\n<ins>+ x</ins>\n  c\n\
                      <ins>+ &lt;y&gt;</ins>\n  d\n</pre>\n";
        assert_eq!(edit, wanted);
        let create = shown("create", &json!({"path": "a", "content": "x\ny"})).unwrap();
        assert!(create.contains("<ins>+ x</ins>\n<ins>+ y</ins>"), "{create}");
        let patch = shown("apply_patch", &json!({"patch": "*** Update File: a\n@@\n-b\n+c\n d"})).unwrap();
        assert!(patch.contains("  *** Update File: a\n  @@\n<del>- b</del>\n<ins>+ c</ins>\n  d\n"), "{patch}");
        assert_eq!(shown("shell", &json!({"command": "ls"})), None);
        assert_eq!(shown("edit", &json!({"path": 3})), None);
    }
}
