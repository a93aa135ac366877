//! A tool call with all its arguments, for the user who decides on it.

use serde_json::Value;

use super::text::{LinePrefix, StyledRow, StyledSpan, clip, hard_wrap, paint};
use crate::escape::escape_invisible;
use crate::style::{Style, TextRole};
use protocol::diff::{self, DiffLine};

/// The whole call in rows.
pub(super) fn call_rows(input: &str, columns: usize) -> Vec<StyledRow> {
    let Ok(Value::Object(arguments)) = serde_json::from_str(input) else {
        return text_block(input, ArgumentMark::None, columns);
    };
    let mut arguments: Vec<(String, Value)> = arguments.into_iter().collect();
    arguments.sort_by_key(|(name, _)| argument_order(name));
    let text = |wanted: &str| arguments.iter().find(|(name, _)| name == wanted).and_then(|(_, value)| value.as_str());
    let edit = text("old").zip(text("new"));
    let rows_of = |(name, value): &(String, Value)| match (name.as_str(), edit) {
        ("old", Some((old, new))) => edit_rows(old, new, columns),
        ("new", Some(_)) => Vec::new(),
        _other => argument_rows(name, value, columns),
    };
    arguments.iter().flat_map(rows_of).collect()
}

/// The first `max_chars` characters of a call in lines, and the number of omitted bytes.
pub fn call_lines(input: &str, columns: usize, max_chars: usize, style: Style) -> (Vec<String>, usize) {
    let (rows, rest) = clip(call_rows(input, columns), max_chars);
    (rows.iter().map(|row| paint(row, style)).collect(), rest)
}

/// The diff of an edit.
fn edit_rows(old: &str, new: &str, columns: usize) -> Vec<StyledRow> {
    let row = |line: DiffLine<'_>| match line {
        DiffLine::Same(text) => text_block(text, ArgumentMark::Same, columns),
        DiffLine::Removed(text) => text_block(text, ArgumentMark::Removed, columns),
        DiffLine::Added(text) => text_block(text, ArgumentMark::Added, columns),
    };
    diff::diff_lines(old, new).into_iter().flat_map(row).collect()
}

/// A text in rows, with invisible characters escaped.
pub(super) fn text_rows(text: &str, columns: usize) -> Vec<StyledRow> {
    text_block(text, ArgumentMark::None, columns)
}

/// The prefix of the rows of a text.
#[derive(Debug, Clone, Copy)]
enum ArgumentMark {
    None,
    Command,
    Same,
    Removed,
    Added,
    Patch,
}

/// The sort key of an argument: important ones first.
fn argument_order(name: &str) -> usize {
    const FIRST: [&str; 3] = ["path", "command", "old"];
    FIRST.iter().position(|first| *first == name).unwrap_or(FIRST.len())
}

fn argument_rows(name: &str, value: &Value, columns: usize) -> Vec<StyledRow> {
    let mark = match name {
        "command" => ArgumentMark::Command,
        "old" => ArgumentMark::Removed,
        "new" | "content" => ArgumentMark::Added,
        "patch" => ArgumentMark::Patch,
        _other => ArgumentMark::None,
    };
    match (value, mark) {
        (Value::String(text), ArgumentMark::None) if !text.contains('\n') => {
            text_block(&format!("{name}: {text}"), ArgumentMark::None, columns)
        }
        (Value::String(text), ArgumentMark::None) => [
            text_block(&format!("{name}:"), ArgumentMark::None, columns),
            text_block(text, ArgumentMark::None, columns),
        ]
        .concat(),
        // The line feed at the end of a file does not begin another line.
        (Value::String(text), ArgumentMark::Added | ArgumentMark::Removed) => {
            text_block(text.strip_suffix('\n').unwrap_or(text), mark, columns)
        }
        (Value::String(text), mark) => text_block(text, mark, columns),
        (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_), _) => {
            text_block(&format!("{name}: {value}"), ArgumentMark::None, columns)
        }
    }
}

fn text_block(text: &str, mark: ArgumentMark, columns: usize) -> Vec<StyledRow> {
    let text = escape_invisible(text);
    text.split('\n').enumerate().flat_map(|(index, line)| marked_rows(line, mark, index, columns)).collect()
}

fn marked_rows(line: &str, mark: ArgumentMark, index: usize, columns: usize) -> Vec<StyledRow> {
    let (lead, role) = match mark {
        ArgumentMark::None => ("  ", TextRole::Plain),
        ArgumentMark::Command if index == 0 => ("  $ ", TextRole::Strong),
        ArgumentMark::Command => ("    ", TextRole::Strong),
        ArgumentMark::Same => ("    ", TextRole::Dim),
        ArgumentMark::Removed => ("  - ", TextRole::Bad),
        ArgumentMark::Added => ("  + ", TextRole::Good),
        ArgumentMark::Patch if line.starts_with('+') => ("  ", TextRole::Good),
        ArgumentMark::Patch if line.starts_with('-') => ("  ", TextRole::Bad),
        ArgumentMark::Patch => ("  ", TextRole::Plain),
    };
    hard_wrap(&[StyledSpan::new(role, line)], columns, &LinePrefix::hanging(StyledSpan::new(role, lead)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(input: &str) -> Vec<String> {
        call_rows(input, 30).iter().map(|row| paint(row, Style::Plain)).collect()
    }

    #[test]
    fn every_argument_is_shown() {
        assert_eq!(shown(r#"{"timeout_secs":3,"command":"cd a\nls"}"#), ["  $ cd a", "    ls", "  timeout_secs: 3"]);
        assert_eq!(shown(r#"{"new":"b","old":"a","path":"x.rs"}"#), ["  path: x.rs", "  - a", "  + b"]);
        let edit = r#"{"new":"fn a() {\n    2\n}","old":"fn a() {\n    1\n}","all":true,"path":"x.rs"}"#;
        let diff = ["  path: x.rs", "    fn a() {", "  -     1", "  +     2", "    }", "  all: true"];
        assert_eq!(shown(edit), diff);
        assert_eq!(shown(r#"{"new":"b","path":"x.rs"}"#), ["  path: x.rs", "  + b"]);
        assert_eq!(shown(r#"{"content":"a\n\nb\n","path":"x"}"#), ["  path: x", "  + a", "  + ", "  + b"]);
        assert_eq!(shown(r#"{"patch":"*** a\n+b\n-c"}"#), ["  *** a", "  +b", "  -c"]);
        assert_eq!(shown("not json"), ["  not json"]);
    }

    #[test]
    fn long_call_is_clipped_and_counts_the_rest() {
        let input = format!(r#"{{"path":"x.rs","content":"{}"}}"#, "one line\\n".repeat(100));
        let (lines, rest) = call_lines(&input, 40, 60, Style::Plain);
        assert_eq!(lines[..3], ["  path: x.rs", "  + one line", "  + one line"]);
        assert!(lines.len() < 8 && rest > 1_000, "{lines:?} {rest}");
        assert_eq!(call_lines(&input, 40, usize::MAX, Style::Plain).1, 0);
    }

    #[test]
    fn invisible_characters_are_escaped() {
        assert_eq!(escape_invisible("rm \u{202e}x\u{1b}[8m\u{200b}"), "rm \\u{202e}x\\u{1b}[8m\\u{200b}");
        assert_eq!(escape_invisible("漢 é 👍"), "漢 é 👍");
        assert_eq!(shown(r#"{"command":"ls\u001b[2K\rrm"}"#), ["  $ ls\\u{1b}[2K\\u{d}rm"]);
    }

    #[test]
    fn long_command_is_shown_in_full() {
        let rows = shown(&format!(r#"{{"command":"{}"}}"#, "x".repeat(100)));
        assert_eq!(rows.iter().map(|row| row.matches('x').count()).sum::<usize>(), 100);
    }
}
