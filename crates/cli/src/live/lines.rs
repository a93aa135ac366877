//! A fleet in lines, for files and programs that read along: one for each change.

use std::collections::BTreeSet;

use protocol::{Envelope, Event, FLEET_DEPLOYED, FleetEnd, TodoId};

use super::amounts::{format_count, format_elapsed};
use super::board::FleetBoard;
use crate::money::Money;
use crate::print;

/// Most letters of a reason.
const REASON: usize = 160;

/// The line that an event is worth; the board has read it.
pub(super) fn event_line(board: &FleetBoard, envelope: &Envelope) -> Option<String> {
    let at = envelope.entry.at;
    Some(match &envelope.entry.event {
        Event::FleetBegan(terms) => {
            let todos = print::pluralize(board.tally().1, "todo");
            format!("{FLEET_DEPLOYED}: {} ({todos})", short(&terms.goal))
        }
        Event::TodoClaimed { todo, .. } => format!("claimed {}", todo_label(board, todo)),
        Event::TodoDone { todo, fence, .. } => {
            let (done, total) = board.tally();
            let how = if fence.is_some() { "done" } else { "reused" };
            format!("{how} {} ({done}/{total})", todo_label(board, todo))
        }
        Event::TodoReturned { todo, failure: Some(failure), .. } => {
            format!("retried {}: {}", todo_label(board, todo), short(failure))
        }
        Event::TodoReturned { todo, failure: None, .. } => format!("returned {}", todo_label(board, todo)),
        Event::TodoBlocked { todo, why } => format!("blocked {}: {}", todo_label(board, todo), short(&why.to_string())),
        Event::TodoUnblocked { todo } => format!("freed {}", todo_label(board, todo)),
        Event::WorkMerged { todo, commit } => {
            format!("merged {} as {}", todo_label(board, todo), commit.get(..12).unwrap_or(commit))
        }
        Event::FleetEnded { end } => {
            let (done, total) = board.tally();
            let cost = if board.unpriced { String::new() } else { format!(", {}", Money::Known(board.spent.micros)) };
            format!(
                "fleet {}: {done}/{total} done in {}, {} tokens{cost}",
                fleet_end_word(*end),
                format_elapsed(board.elapsed(at)),
                format_count(board.spent.tokens)
            )
        }
        _other => return None,
    })
}

/// What may not fit together, told once, when the fleet begins or the plan changes.
pub(super) fn new_conflict_warnings(
    board: &FleetBoard,
    envelope: &Envelope,
    told: &mut BTreeSet<String>,
) -> Vec<String> {
    let is_planned = match &envelope.entry.event {
        Event::FleetBegan(_) => true,
        Event::TodosChanged { .. } => board.is_working(),
        _other => false,
    };
    let words = board
        .conflicts()
        .iter()
        .filter(|_| is_planned)
        .map(|shared| format!("may conflict: {}", short(&shared.describe())));
    words.filter(|words| told.insert(words.clone())).collect()
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
    print::reason(text, REASON)
}
