//! A call as it is, every argument of it, for somebody who decides on it.

use serde_json::Value;

use super::text::{Lead, Row, Span, cut};
use crate::exact::exact;
use crate::style::Role;

/// All of a call in rows.
pub(super) fn rows(input: &str, columns: usize) -> Vec<Row> {
    let Ok(Value::Object(arguments)) = serde_json::from_str(input) else {
        return block(input, Mark::None, columns);
    };
    let mut arguments: Vec<(String, Value)> = arguments.into_iter().collect();
    arguments.sort_by_key(|(name, _)| place(name));
    arguments.iter().flat_map(|(name, value)| argument(name, value, columns)).collect()
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
    use crate::style::Style;
    use crate::talk::text::paint;

    fn shown(input: &str) -> Vec<String> {
        rows(input, 30).iter().map(|row| paint(row, Style::Plain)).collect()
    }

    #[test]
    fn every_argument_is_shown() {
        assert_eq!(shown(r#"{"timeout_secs":3,"command":"cd a\nls"}"#), ["  $ cd a", "    ls", "  timeout_secs: 3"]);
        assert_eq!(shown(r#"{"new":"b","old":"a","path":"x.rs"}"#), ["  path: x.rs", "  - a", "  + b"]);
        assert_eq!(shown(r#"{"patch":"*** a\n+b\n-c"}"#), ["  *** a", "  +b", "  -c"]);
        assert_eq!(shown("not json"), ["  not json"]);
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
