//! A fleet as plain lines for files and programs: one line for each change.

use std::collections::BTreeSet;

use protocol::{Envelope, Event, FLEET_DEPLOYED, FleetEnd, TodoId};

use super::amounts::{format_count, format_elapsed};
use super::board::FleetBoard;
use crate::money::Money;
use crate::print;

/// The maximum length of a reason.
const MAX_REASON_CHARS: usize = 160;

/// Describes a session's fleet line by line, for views that show more than the fleet.
#[derive(Debug, Default)]
pub struct FleetLines {
    board: FleetBoard,
    warned: BTreeSet<String>,
}

impl FleetLines {
    /// Lines for a fleet whose state so far is on the board.
    pub fn new(board: FleetBoard) -> FleetLines {
        FleetLines { board, warned: BTreeSet::new() }
    }

    /// Applies an event, and returns the lines that it needs.
    pub fn apply(&mut self, envelope: &Envelope) -> Vec<String> {
        self.board.apply(envelope);
        let line = event_line(&self.board, envelope);
        line.into_iter().chain(new_conflict_warnings(&self.board, envelope, &mut self.warned)).collect()
    }
}

/// The line for an event, if it needs one. The board has already applied the event.
pub(super) fn event_line(board: &FleetBoard, envelope: &Envelope) -> Option<String> {
    let at = envelope.entry.at;
    Some(match &envelope.entry.event {
        Event::FleetBegan(terms) => {
            let todos = print::pluralize(board.done_and_total().1, "todo");
            match terms.goal.trim() {
                "" => format!("{FLEET_DEPLOYED} ({todos})"),
                goal => format!("{FLEET_DEPLOYED}: {} ({todos})", short(goal)),
            }
        }
        Event::TodoClaimed { todo, .. } => format!("claimed {}", todo_label(board, todo)),
        Event::TodoDone { todo, fence, .. } => {
            let (done, total) = board.done_and_total();
            let verb = if fence.is_some() { "done" } else { "reused" };
            format!("{verb} {} ({done}/{total})", todo_label(board, todo))
        }
        Event::TodoReturned { todo, failure: Some(failure), .. } => {
            format!("retried {}: {}", todo_label(board, todo), short(failure))
        }
        Event::TodoReturned { todo, failure: None, .. } => format!("returned {}", todo_label(board, todo)),
        Event::TodoBlocked { todo, why } => format!("blocked {}: {}", todo_label(board, todo), short(&why.to_string())),
        Event::TodoUnblocked { todo } => format!("unblocked {}", todo_label(board, todo)),
        Event::WorkMerged { todo, commit } => {
            format!("merged {} as {}", todo_label(board, todo), commit.get(..12).unwrap_or(commit))
        }
        Event::FleetEnded { end, .. } => {
            let progress = match board.done_and_total() {
                (_, 0) => "no todos after".to_owned(),
                (done, total) => format!("{done}/{total} done in"),
            };
            let micros = board.spent.micros;
            let cost =
                if board.unpriced || micros == 0 { String::new() } else { format!(", {}", Money::Known(micros)) };
            format!(
                "fleet {}: {progress} {}, {} tokens{cost}",
                fleet_end_word(*end),
                format_elapsed(board.elapsed(at)),
                format_count(board.spent.tokens)
            )
        }
        _other => return None,
    })
}

/// Warnings about possible conflicts, each given once, when the fleet starts or the plan changes.
pub(super) fn new_conflict_warnings(
    board: &FleetBoard,
    envelope: &Envelope,
    warned: &mut BTreeSet<String>,
) -> Vec<String> {
    let is_due = match &envelope.entry.event {
        Event::FleetBegan(_) => true,
        Event::TodosChanged { .. } => board.is_working(),
        _other => false,
    };
    let warnings = board
        .conflicts()
        .iter()
        .filter(|_| is_due)
        .map(|shared| format!("may conflict: {}", short(&shared.describe())));
    warnings.filter(|warning| warned.insert(warning.clone())).collect()
}

fn fleet_end_word(end: FleetEnd) -> &'static str {
    match end {
        FleetEnd::Done => "done",
        FleetEnd::Blocked => "blocked",
        FleetEnd::Stopped => "stopped",
    }
}

fn todo_label(board: &FleetBoard, todo: &TodoId) -> String {
    match board.title(todo) {
        "" => short(&todo.0),
        title => format!("{} ({})", short(&todo.0), short(title)),
    }
}

fn short(text: &str) -> String {
    print::format_reason(text, MAX_REASON_CHARS)
}
