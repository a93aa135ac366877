//! Words for people. The answer goes to stdout, everything else to stderr. A reader that has gone away is not an
//! error: the session holds everything that was said.

use std::fmt;
use std::io::{self, Write};

/// Writes a line of the answer.
pub(crate) fn answer(text: impl fmt::Display) {
    to(&mut io::stdout().lock(), format_args!("{text}"));
}

/// Tells something in passing.
pub(crate) fn note(text: impl fmt::Display) {
    to(&mut io::stderr().lock(), format_args!("{text}"));
}

/// Tells what went wrong.
pub(crate) fn error(text: &str) {
    note(format_args!("error: {text}"));
}

/// Writes a value as one line of JSON.
pub(crate) fn json(value: &impl serde::Serialize) {
    match serde_json::to_string(value) {
        Ok(line) => answer(line),
        Err(cause) => error(&format!("cannot be written as JSON: {cause}")),
    }
}

fn to(out: &mut impl Write, text: fmt::Arguments<'_>) {
    let _closed = writeln!(out, "{text}").and_then(|()| out.flush());
}

/// The first line of a text, at most `max` characters of it.
pub(crate) fn one_line(text: &str, max: usize) -> String {
    let mut words = text.split_whitespace();
    let mut line = String::new();
    for word in words.by_ref() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.chars().count() > max {
            break;
        }
    }
    if line.chars().count() <= max {
        return line;
    }
    let cut: String = line.chars().take(max.saturating_sub(1)).collect();
    format!("{cut}…")
}

/// Takes control characters out of words that a model or a file wrote, so that they cannot drive the terminal.
pub(crate) fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_is_one_line_and_short() {
        assert_eq!(one_line("  a\n b\tc ", 10), "a b c");
        assert_eq!(one_line("abcdef ghijkl", 8), "abcdef …");
        assert_eq!(one_line(&"é".repeat(20), 5), "éééé…");
    }

    #[test]
    fn escape_sequences_do_not_reach_the_terminal() {
        assert_eq!(plain("a\u{1b}[31mb\r\n"), "a[31mb\n");
    }
}
