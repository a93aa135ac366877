//! A call as it is, every argument of it, for somebody who decides on it.

use serde_json::Value;

use super::text::{Lead, Row, Span, clip, cut, paint};
use crate::diff::{self, Line};
use crate::exact::exact;
use crate::style::{Role, Style};

/// All of a call in rows.
pub(super) fn rows(input: &str, columns: usize) -> Vec<Row> {
    let Ok(Value::Object(arguments)) = serde_json::from_str(input) else {
        return block(input, Mark::None, columns);
    };
    let mut arguments: Vec<(String, Value)> = arguments.into_iter().collect();
    arguments.sort_by_key(|(name, _)| place(name));
    let text = |wanted: &str| arguments.iter().find(|(name, _)| name == wanted).and_then(|(_, value)| value.as_str());
    let edit = text("old").zip(text("new"));
    let shown = |(name, value): &(String, Value)| match (name.as_str(), edit) {
        ("old", Some((old, new))) => changes(old, new, columns),
        ("new", Some(_)) => Vec::new(),
        _other => argument(name, value, columns),
    };
    arguments.iter().flat_map(shown).collect()
}

/// A call in lines, at most so many characters of it, and how many bytes are left out.
pub(crate) fn call_lines(input: &str, columns: usize, most: usize, style: Style) -> (Vec<String>, usize) {
    let (rows, rest) = clip(rows(input, columns), most);
    (rows.iter().map(|row| paint(row, style)).collect(), rest)
}

/// What an edit changes, line by line.
fn changes(old: &str, new: &str, columns: usize) -> Vec<Row> {
    let row = |line: Line<'_>| match line {
        Line::Same(text) => block(text, Mark::Same, columns),
        Line::Removed(text) => block(text, Mark::Removed, columns),
        Line::Added(text) => block(text, Mark::Added, columns),
    };
    diff::lines(old, new).into_iter().flat_map(row).collect()
}

/// A text in rows, with everything in it that cannot be seen.
pub(super) fn text_rows(text: &str, columns: usize) -> Vec<Row> {
    block(text, Mark::None, columns)
}

/// What rows of a text begin with.
#[derive(Debug, Clone, Copy)]
enum Mark {
    None,
    Command,
    Same,
    Removed,
    Added,
    Patch,
}

/// Where an argument is first looked for.
fn place(name: &str) -> usize {
    const FIRST: [&str; 3] = ["path", "command", "old"];
    FIRST.iter().position(|first| *first == name).unwrap_or(FIRST.len())
}

fn argument(name: &str, value: &Value, columns: usize) -> Vec<Row> {
    let mark = match name {
        "command" => Mark::Command,
        "old" => Mark::Removed,
        "new" | "content" => Mark::Added,
        "patch" => Mark::Patch,
        _other => Mark::None,
    };
    match (value, mark) {
        (Value::String(text), Mark::None) if !text.contains('\n') => {
            block(&format!("{name}: {text}"), Mark::None, columns)
        }
        (Value::String(text), Mark::None) => {
            [block(&format!("{name}:"), Mark::None, columns), block(text, Mark::None, columns)].concat()
        }
        (Value::String(text), mark) => block(text, mark, columns),
        (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_), _) => {
            block(&format!("{name}: {value}"), Mark::None, columns)
        }
    }
}

fn block(text: &str, mark: Mark, columns: usize) -> Vec<Row> {
    let text = exact(text);
    text.split('\n').enumerate().flat_map(|(at, line)| marked(line, mark, at, columns)).collect()
}

fn marked(line: &str, mark: Mark, at: usize, columns: usize) -> Vec<Row> {
    let (lead, role) = match mark {
        Mark::None => ("  ", Role::Plain),
        Mark::Command if at == 0 => ("  $ ", Role::Strong),
        Mark::Command => ("    ", Role::Strong),
        Mark::Same => ("    ", Role::Dim),
        Mark::Removed => ("  - ", Role::Bad),
        Mark::Added => ("  + ", Role::Good),
        Mark::Patch if line.starts_with('+') => ("  ", Role::Good),
        Mark::Patch if line.starts_with('-') => ("  ", Role::Bad),
        Mark::Patch => ("  ", Role::Plain),
    };
    cut(&[Span::new(role, line)], columns, &Lead::hanging(Span::new(role, lead)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(input: &str) -> Vec<String> {
        rows(input, 30).iter().map(|row| paint(row, Style::Plain)).collect()
    }

    #[test]
    fn every_argument_is_shown() {
        assert_eq!(shown(r#"{"timeout_secs":3,"command":"cd a\nls"}"#), ["  $ cd a", "    ls", "  timeout_secs: 3"]);
        assert_eq!(shown(r#"{"new":"b","old":"a","path":"x.rs"}"#), ["  path: x.rs", "  - a", "  + b"]);
        let edit = r#"{"new":"fn a() {\n    2\n}","old":"fn a() {\n    1\n}","all":true,"path":"x.rs"}"#;
        let diff = ["  path: x.rs", "    fn a() {", "  -     1", "  +     2", "    }", "  all: true"];
        assert_eq!(shown(edit), diff);
        assert_eq!(shown(r#"{"new":"b","path":"x.rs"}"#), ["  path: x.rs", "  + b"]);
        assert_eq!(shown(r#"{"patch":"*** a\n+b\n-c"}"#), ["  *** a", "  +b", "  -c"]);
        assert_eq!(shown("not json"), ["  not json"]);
    }

    #[test]
    fn a_long_call_is_cut_and_says_how_much_is_missing() {
        let input = format!(r#"{{"path":"x.rs","content":"{}"}}"#, "one line\\n".repeat(100));
        let (lines, rest) = call_lines(&input, 40, 60, Style::Plain);
        assert_eq!(lines[..3], ["  path: x.rs", "  + one line", "  + one line"]);
        assert!(lines.len() < 8 && rest > 1_000, "{lines:?} {rest}");
        assert_eq!(call_lines(&input, 40, usize::MAX, Style::Plain).1, 0);
    }

    #[test]
    fn nothing_hides() {
        assert_eq!(exact("rm \u{202e}x\u{1b}[8m\u{200b}"), "rm \\u{202e}x\\u{1b}[8m\\u{200b}");
        assert_eq!(exact("漢 é 👍"), "漢 é 👍");
        assert_eq!(shown(r#"{"command":"ls\u001b[2K\rrm"}"#), ["  $ ls\\u{1b}[2K\\u{d}rm"]);
    }

    #[test]
    fn a_long_command_is_whole() {
        let rows = shown(&format!(r#"{{"command":"{}"}}"#, "x".repeat(100)));
        assert_eq!(rows.iter().map(|row| row.matches('x').count()).sum::<usize>(), 100);
    }
}
