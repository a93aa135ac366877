//! The message that stands for a conversation's beginning.

use super::latest::Latest;
use super::past::Past;
use super::words::clip_lines;
use crate::prompt;

/// What holds now, whatever was said: it is looked up when a digest is made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Present {
    /// Open todos, one line each, what matters most first.
    pub(crate) todos: Vec<String>,
    /// Tasks that the agent started, one line each, what matters most first.
    pub(crate) tasks: Vec<String>,
}

/// The least that a digest needs.
pub(super) const LEAST: usize = 1024;

/// Writes a digest of at most `max` bytes, or [`LEAST`].
pub(super) fn write(past: &Past, present: &Present, max: usize) -> String {
    let room = max.max(LEAST) - prompt::COMPACTED.len() - FORM;
    let mut facts = Vec::new();
    facts.extend(newest("Files you wrote:", &past.files, room / 10));
    facts.extend(newest("Calls you made, and how they went:", &past.calls, room / 5));
    facts.extend(newest("What you said:", &past.said, room / 10));
    facts.extend(newest("Results and messages of other tasks:", &past.arrived, room / 10));
    facts.extend(first("Open todos, from the table `todos`:", &present.todos, room / 10));
    facts.extend(first("Tasks you started:", &present.tasks, room / 10));
    let mut parts = vec![prompt::COMPACTED.to_owned(), asked(past, room * 3 / 10)];
    if !facts.is_empty() {
        parts.push(prompt::quote(&facts.join("\n")));
    }
    parts.join("\n")
}

/// What the form takes: marks of data, empty lines.
const FORM: usize = 64;

/// What a title with its note takes besides its words, and each line.
const TITLE: usize = 48;
const EACH: usize = 5;

/// A title and the newest lines that there is room for, oldest first.
fn newest<const MAX: usize>(title: &str, lines: &Latest<MAX>, room: usize) -> Vec<String> {
    let mut shown: Vec<String> = fitting(title, lines.newest_first(), room);
    shown.reverse();
    titled(title, shown, lines.count(), "earlier")
}

/// A title and the first lines that there is room for.
fn first(title: &str, lines: &[String], room: usize) -> Vec<String> {
    let shown = fitting(title, lines.iter().map(String::as_str), room);
    titled(title, shown, lines.len(), "more")
}

fn fitting<'a>(title: &str, lines: impl Iterator<Item = &'a str>, room: usize) -> Vec<String> {
    let mut room = room.saturating_sub(title.len() + TITLE);
    let fits = |line: &&str| {
        let left = room.checked_sub(line.len() + EACH);
        room = left.unwrap_or(room);
        left.is_some()
    };
    lines.take_while(fits).map(|line| format!("- {line}")).collect()
}

fn titled(title: &str, shown: Vec<String>, count: usize, which: &str) -> Vec<String> {
    let title = match count - shown.len() {
        _ if count == 0 => return Vec::new(),
        0 => title.to_owned(),
        missing => format!("{title} ({missing} {which} left out)"),
    };
    [title].into_iter().chain(shown).collect()
}

/// What was asked: the first message, and the user's newest.
fn asked(past: &Past, room: usize) -> String {
    let Some(first) = &past.first else { return String::new() };
    let later = past.heard.count();
    let mut left = room.saturating_sub(3 * TITLE);
    let first = clip_lines(first, if later == 0 { left } else { left / 2 });
    left -= first.len();
    let mut shown = Vec::new();
    for text in past.heard.newest_first() {
        let text = clip_lines(text, left.saturating_sub(TITLE) / 2);
        if text.is_empty() {
            break;
        }
        left -= text.len() + TITLE;
        shown.push(format!("A later message of the user:\n{text}\n"));
    }
    let mut parts = vec![format!("The first message:\n{first}\n")];
    if later > shown.len() {
        parts.push(format!("({} later ones left out)\n", later - shown.len()));
    }
    parts.extend(shown.into_iter().rev());
    parts.join("\n")
}
