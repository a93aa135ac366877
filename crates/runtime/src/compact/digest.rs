//! The message that stands for a conversation's beginning.

use super::latest::Latest;
use super::past::Past;
use super::words::clip_lines;
use crate::prompt;

/// What holds now, whatever was said: it is looked up when a digest is made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Present {
    /// Who the agent is, one line each.
    pub(crate) own: Vec<String>,
    /// Open todos, one line each, what matters most first.
    pub(crate) todos: Vec<String>,
    /// Tasks that the agent started, one line each, what matters most first.
    pub(crate) tasks: Vec<String>,
}

/// The least that a digest needs.
pub(super) const LEAST: usize = 2 * 1024;

/// Writes a digest of at most `max` bytes, or [`LEAST`].
pub(super) fn write(past: &Past, present: &Present, max: usize) -> String {
    let room = max.max(LEAST) - prompt::COMPACTED.len() - FORM;
    let asked = asked(past, room / 2);
    let mut facts = Facts { lines: Vec::new(), room: room - asked.len() };
    facts.add("You are:", Kept::first(&present.own), 4);
    facts.add("Open todos, from the table `todos`:", Kept::first(&present.todos), 4);
    facts.add("Tasks you started:", Kept::first(&present.tasks), 3);
    facts.add("Files you wrote:", Kept::newest(&past.files), 4);
    facts.add("Calls you made, and how they went:", Kept::newest(&past.calls), 2);
    facts.add("What you said:", Kept::newest(&past.said), 2);
    facts.add("Results and messages of other tasks:", Kept::newest(&past.arrived), 1);
    let mut parts = vec![prompt::COMPACTED.to_owned(), asked];
    if !facts.lines.is_empty() {
        parts.push(prompt::quote(&facts.lines.join("\n")));
    }
    parts.join("\n")
}

/// What the form takes: marks of data, line ends.
const FORM: usize = 64;

/// What a title takes besides its words.
const TITLE: usize = 48;

/// What a line takes besides its words.
const EACH: usize = 5;

/// Lines that may be shown, the most important first.
struct Kept<'a> {
    lines: Box<dyn Iterator<Item = &'a str> + 'a>,
    count: usize,
    order: Order,
}

/// In which order lines came.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    AsGiven,
    NewestFirst,
}

impl<'a> Kept<'a> {
    fn first(lines: &'a [String]) -> Kept<'a> {
        let count = lines.len();
        Kept { lines: Box::new(lines.iter().map(String::as_str)), count, order: Order::AsGiven }
    }

    fn newest<const MAX: usize>(lines: &'a Latest<MAX>) -> Kept<'a> {
        Kept { lines: Box::new(lines.newest_first()), count: lines.count(), order: Order::NewestFirst }
    }
}

/// The part of a digest that nobody should take for words of the user.
struct Facts {
    lines: Vec<String>,
    room: usize,
}

impl Facts {
    /// Adds a title and the lines that fit into one part of so many of the room that is left, in the order they came.
    fn add(&mut self, title: &str, kept: Kept<'_>, parts: usize) {
        let Some(mut room) = (self.room / parts).checked_sub(title.len() + TITLE).filter(|_room| kept.count > 0) else {
            return;
        };
        self.room -= title.len() + TITLE;
        let mut shown = Vec::new();
        for line in kept.lines {
            let taken = line.len() + EACH;
            let Some(left) = room.checked_sub(taken) else { break };
            (room, self.room) = (left, self.room - taken);
            shown.push(format!("- {line}"));
        }
        let missing = match (kept.count - shown.len(), kept.order) {
            (0, _) => String::new(),
            (missing, Order::AsGiven) => format!(" ({missing} more left out)"),
            (missing, Order::NewestFirst) => format!(" ({missing} earlier left out)"),
        };
        if kept.order == Order::NewestFirst {
            shown.reverse();
        }
        self.lines.push(format!("{title}{missing}"));
        self.lines.append(&mut shown);
    }
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
