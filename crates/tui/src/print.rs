//! Terminal output. The answer goes to stdout, everything else to stderr. A reader that has gone away is not an error:
//! the session holds the whole output. A stdout that cannot be written, such as a file on a full disk, is an error and
//! changes the exit code.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

pub use protocol::text::{one_line, pluralize, sanitize, shell_quote};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::style::{self, Style};

/// Whether some of the answer could not be written to stdout.
static OUTPUT_LOST: AtomicBool = AtomicBool::new(false);

/// Whether the reader of stdout has gone away.
static STDOUT_CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether the last line on the terminal is to be overwritten by the next.
static TRANSIENT_SHOWN: AtomicBool = AtomicBool::new(false);

/// Shows a line on a terminal until the next output.
pub fn show_transient(text: &str) {
    let mut out = io::stderr().lock();
    let columns = terminal_size::terminal_size_of(&out).map_or(80, |(width, _)| usize::from(width.0));
    TRANSIENT_SHOWN.store(true, Ordering::Relaxed);
    // A reader that has gone away is not an error.
    let _closed = write!(out, "{ERASE_LINE}{}", truncate(text, columns.saturating_sub(1))).and_then(|()| out.flush());
}

/// Removes the transient line.
pub fn clear_transient() {
    if TRANSIENT_SHOWN.swap(false, Ordering::Relaxed) {
        let mut out = io::stderr().lock();
        let _closed = write!(out, "{ERASE_LINE}").and_then(|()| out.flush());
    }
}

/// Returns to the start of the line and erases it.
const ERASE_LINE: &str = "\r\u{1b}[K";

/// The name of an agent or a command for people: its path below the main agent.
pub fn agent_name(path: &str) -> &str {
    match path.strip_prefix("/root") {
        Some("") => "main agent",
        Some(below) => below.strip_prefix('/').unwrap_or(path),
        None => path,
    }
}

/// Writes a line of the answer.
pub fn output(text: impl fmt::Display) {
    clear_transient();
    let written = write_line(&mut io::stdout().lock(), format_args!("{text}"));
    if let Err(cause) = written {
        stdout_failed(&cause);
    }
}

/// Records a failed write to stdout. Reports it once, unless the reader has gone away.
pub fn stdout_failed(cause: &io::Error) {
    if cause.kind() == io::ErrorKind::BrokenPipe {
        STDOUT_CLOSED.store(true, Ordering::Relaxed);
    } else if !OUTPUT_LOST.swap(true, Ordering::Relaxed) {
        error(&format!("cannot write to stdout: {cause}"));
    }
}

/// Whether stdout accepts no more output: a command that only prints can end.
pub fn is_stdout_closed() -> bool {
    is_output_lost() || STDOUT_CLOSED.load(Ordering::Relaxed)
}

/// Whether a part of the answer was lost although the reader was still there.
pub fn is_output_lost() -> bool {
    OUTPUT_LOST.load(Ordering::Relaxed)
}

/// Prints a note to stderr; on a terminal, wrapped between words.
pub fn note(text: impl fmt::Display) {
    clear_transient();
    let mut out = io::stderr().lock();
    let text = match terminal_width(&out) {
        Some(columns) => wrap_note(&text.to_string(), columns),
        None => text.to_string(),
    };
    let _closed = write_line(&mut out, format_args!("{text}"));
}

/// A note with its long lines wrapped between words, each under the start of its text.
fn wrap_note(text: &str, columns: usize) -> String {
    let wrap_line = |line: &str| {
        if line.width() <= columns {
            return line.to_owned();
        }
        let (indent, words) = line.split_at(line.len() - line.trim_start_matches(' ').len());
        let lines = wrap(words, Some(columns.saturating_sub(indent.len())));
        lines.into_iter().map(|line| format!("{indent}{line}")).collect::<Vec<_>>().join("\n")
    };
    text.split('\n').map(wrap_line).collect::<Vec<_>>().join("\n")
}

/// Prints an error to stderr.
pub fn error(text: &str) {
    note(format_args!("error: {text}"));
}

/// Writes a whole document unchanged.
pub fn document(bytes: &[u8]) {
    let mut out = io::stdout().lock();
    if let Err(cause) = out.write_all(bytes).and_then(|()| out.flush()) {
        stdout_failed(&cause);
    }
}

/// Writes a value as one line of JSON.
pub fn json(value: &impl serde::Serialize) {
    match serde_json::to_string(value) {
        Ok(line) => output(line),
        Err(cause) => error(&format!("cannot write JSON: {cause}")),
    }
}

fn write_line(out: &mut impl Write, text: fmt::Arguments<'_>) -> io::Result<()> {
    writeln!(out, "{text}")?;
    out.flush()
}

/// The width of stdout; `None` if it is not a terminal, where nothing is ever cut.
pub fn width() -> Option<usize> {
    terminal_width(&io::stdout())
}

fn terminal_width(out: &(impl IsTerminal + AsFd)) -> Option<usize> {
    let size = if out.is_terminal() { terminal_size::terminal_size_of(out) } else { None };
    size.map(|(width, _)| usize::from(width.0)).filter(|width| *width > 0)
}

/// Writes a table row, cut to the terminal's width, with its state in colour.
pub fn row(text: impl fmt::Display) {
    let text = text.to_string();
    match width() {
        Some(width) => output(colour_state(&truncate(&text, width), style())),
        None => output(colour_state(&text, style())),
    }
}

/// The style of stdout; plain until it is set.
static STYLE: OnceLock<Style> = OnceLock::new();

/// Sets the style of stdout, once.
pub fn set_style(style: Style) {
    STYLE.get_or_init(|| style);
}

/// The style of stdout.
pub fn style() -> Style {
    *STYLE.get().unwrap_or(&Style::Plain)
}

/// Colours the first cell that names a state. Cells are separated by at least two spaces.
pub fn colour_state(text: &str, style: Style) -> String {
    let mut offset = 0;
    for piece in text.split("  ") {
        let cell = piece.trim_matches(' ');
        // A sign may precede the state, and details may follow a comma.
        let word = cell.split(',').next().unwrap_or(cell);
        let without_sign =
            word.split_once(' ').filter(|(sign, _)| sign.chars().count() == 1).map_or(word, |(_, word)| word);
        if let Some(role) = style::role_of_state(word).or_else(|| style::role_of_state(without_sign)) {
            let begin = offset + piece.find(cell).unwrap_or(0);
            let end = begin + cell.len();
            return format!("{}{}{}", &text[..begin], style.paint(role, &text[begin..end]), &text[end..]);
        }
        offset += piece.len() + 2;
    }
    text.to_owned()
}

/// A reason on one line, without the quote marks that are meant for models.
pub fn format_reason(text: &str, max_chars: usize) -> String {
    sanitize(&one_line(&protocol::strip_quote_marks(text), max_chars))
}

/// A text padded or cut to exactly this many columns.
pub fn fit_cell(text: &str, columns: usize) -> String {
    let cut = truncate(text, columns);
    let padding = columns.saturating_sub(cut.width());
    cut + &" ".repeat(padding)
}

/// As much of a text as fits into this many columns.
pub(crate) fn truncate(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let (mut cut, mut used) = (String::new(), 0);
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used >= columns {
            break;
        }
        cut.push(c);
    }
    cut + "…"
}

/// A text wrapped between words to this many columns; one line without a limit.
pub fn wrap(text: &str, columns: Option<usize>) -> Vec<String> {
    let Some(columns) = columns.map(|columns| columns.max(10)) else { return vec![text.to_owned()] };
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let Some(line) = lines.last_mut() else { break };
        if line.is_empty() {
            line.push_str(word);
        } else if line.width() + 1 + word.width() <= columns {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_named_without_the_root() {
        let names = ["/root", "/root/readme", "/root/a/b", "/rooted"].map(agent_name);
        assert_eq!(names, ["main agent", "readme", "a/b", "/rooted"]);
    }

    #[test]
    fn rows_are_cut_by_display_width() {
        assert_eq!(truncate("abc", 3), "abc");
        assert_eq!(truncate("abcd", 3), "ab…");
        assert_eq!(truncate("日本語", 5), "日本…");
        assert_eq!(truncate("日本語", 6), "日本語");
        assert_eq!(truncate("日本語", 4), "日…");
    }

    #[test]
    fn only_the_state_of_a_row_is_coloured() {
        let shown = |text: &str| colour_state(text, Style::Colour);
        let bad = |word: &str| format!("\u{1b}[31m{word}\u{1b}[0m");
        assert_eq!(shown("a  failed, removed   done"), format!("a  {}   done", bad("failed, removed")));
        assert_eq!(shown("✗ blocked  id  failed it"), format!("{}  id  failed it", bad("✗ blocked")));
        assert_eq!(shown("fail  keys   one"), format!("{}  keys   one", bad("fail")));
        assert_eq!(shown("  lost"), format!("  {}", bad("lost")));
        assert_eq!(shown("task  state  agent"), "task  state  agent");
        assert_eq!(shown("a test that failed"), "a test that failed");
        assert_eq!(colour_state("a  failed", Style::Plain), "a  failed");
    }

    #[test]
    fn quote_marks_are_removed_from_a_reason() {
        let text = "`make` exited with 2:\n[data, not from the user]\n> no rule\n[end of data]";
        assert_eq!(format_reason(text, 80), "`make` exited with 2: no rule");
    }

    #[test]
    fn words_are_wrapped_and_never_broken() {
        assert_eq!(wrap("one two three", None), ["one two three"]);
        assert_eq!(wrap("one two three", Some(10)), ["one two", "three"]);
        assert_eq!(wrap("/a/very/long/path here", Some(10)), ["/a/very/long/path", "here"]);
    }

    #[test]
    fn long_notes_are_wrapped_under_the_start_of_their_text() {
        let hint = "hint: resume with: bosun --resume ses-1";
        assert_eq!(wrap_note(hint, 39), hint);
        assert_eq!(wrap_note(hint, 30), "hint: resume with: bosun\n--resume ses-1");
        assert_eq!(wrap_note("\n  ! one two three\nend", 12), "\n  ! one two\n  three\nend");
    }
}
