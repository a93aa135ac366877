//! The message that replaces a conversation's beginning.

use super::bounded_text::clip_lines;
use super::history::CompactedHistory;
use super::recent_lines::RecentLines;
use crate::prompt;

/// The current state, looked up when a digest is made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CurrentState {
    /// The identity of the agent, in lines.
    pub(crate) identity: Vec<String>,
    /// Open todos, one line each, the most important first.
    pub(crate) todos: Vec<String>,
    /// Tasks that the agent started, one line each, the most important first.
    pub(crate) tasks: Vec<String>,
}

/// The minimum size of a digest.
pub(super) const MIN_DIGEST_BYTES: usize = 2 * 1024;

/// Writes a digest of at most `max` bytes, or [`MIN_DIGEST_BYTES`].
pub(super) fn write_digest(history: &CompactedHistory, current: &CurrentState, max: usize) -> String {
    let room = max.max(MIN_DIGEST_BYTES) - prompt::COMPACTED.len() - FRAMING_BYTES;
    let requests = request_section(history, room / 2);
    let mut facts = DigestFacts { lines: Vec::new(), bytes_left: room - requests.len() };
    facts.add("You are:", DigestLines::in_order(&current.identity), 4);
    facts.add("Open todos, from the table `todos`:", DigestLines::in_order(&current.todos), 4);
    facts.add("Tasks you started:", DigestLines::in_order(&current.tasks), 3);
    facts.add("Files you wrote:", DigestLines::newest_first(&history.files), 4);
    facts.add("Calls you made, and how they went:", DigestLines::newest_first(&history.calls), 2);
    facts.add("What you said:", DigestLines::newest_first(&history.agent_texts), 2);
    facts.add("Results and messages of other tasks:", DigestLines::newest_first(&history.task_messages), 1);
    let mut parts = vec![prompt::COMPACTED.to_owned(), requests];
    if !facts.lines.is_empty() {
        parts.push(prompt::quote(&facts.lines.join("\n")));
    }
    parts.join("\n")
}

/// The size of the framing: data marks and line ends.
const FRAMING_BYTES: usize = 64;

/// The overhead of a title besides its text.
const TITLE_BYTES: usize = 48;

/// The overhead of a line besides its text.
const LINE_BYTES: usize = 5;

/// Lines that may be shown, the most important first.
struct DigestLines<'a> {
    lines: Box<dyn Iterator<Item = &'a str> + 'a>,
    count: usize,
    order: LineOrder,
}

/// The order of lines.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineOrder {
    AsGiven,
    NewestFirst,
}

impl<'a> DigestLines<'a> {
    fn in_order(lines: &'a [String]) -> DigestLines<'a> {
        let count = lines.len();
        DigestLines { lines: Box::new(lines.iter().map(String::as_str)), count, order: LineOrder::AsGiven }
    }

    fn newest_first<const MAX: usize>(lines: &'a RecentLines<MAX>) -> DigestLines<'a> {
        DigestLines { lines: Box::new(lines.newest_first()), count: lines.count(), order: LineOrder::NewestFirst }
    }
}

/// The part of a digest that must not be mistaken for text of the user.
struct DigestFacts {
    lines: Vec<String>,
    bytes_left: usize,
}

impl DigestFacts {
    /// Adds a title and the lines that fit into 1/`parts` of the remaining bytes, in their original order.
    fn add(&mut self, title: &str, candidates: DigestLines<'_>, parts: usize) {
        let Some(mut room) =
            (self.bytes_left / parts).checked_sub(title.len() + TITLE_BYTES).filter(|_room| candidates.count > 0)
        else {
            return;
        };
        self.bytes_left -= title.len() + TITLE_BYTES;
        let mut fitting = Vec::new();
        for line in candidates.lines {
            let size = line.len() + LINE_BYTES;
            let Some(rest) = room.checked_sub(size) else { break };
            (room, self.bytes_left) = (rest, self.bytes_left - size);
            fitting.push(format!("- {line}"));
        }
        let missing = match (candidates.count - fitting.len(), candidates.order) {
            (0, _) => String::new(),
            (missing, LineOrder::AsGiven) => format!(" ({missing} more left out)"),
            (missing, LineOrder::NewestFirst) => format!(" ({missing} earlier left out)"),
        };
        if candidates.order == LineOrder::NewestFirst {
            fitting.reverse();
        }
        self.lines.push(format!("{title}{missing}"));
        self.lines.append(&mut fitting);
    }
}

/// The section with the requests: the first message, and the user's newest messages.
fn request_section(history: &CompactedHistory, room: usize) -> String {
    let Some(first) = &history.first_message else { return String::new() };
    let later_count = history.user_messages.count();
    let mut remaining = room.saturating_sub(3 * TITLE_BYTES);
    let first = clip_lines(first, if later_count == 0 { remaining } else { remaining / 2 });
    remaining -= first.len();
    let mut later = Vec::new();
    for text in history.user_messages.newest_first() {
        let text = clip_lines(text, remaining.saturating_sub(TITLE_BYTES) / 2);
        if text.is_empty() {
            break;
        }
        remaining -= text.len() + TITLE_BYTES;
        later.push(format!("A later message from the user:\n{text}\n"));
    }
    let mut parts = vec![format!("The first message:\n{first}\n")];
    if later_count > later.len() {
        parts.push(format!("({} later ones left out)\n", later_count - later.len()));
    }
    parts.extend(later.into_iter().rev());
    parts.join("\n")
}
