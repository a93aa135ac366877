//! Todos as a table.

use protocol::SessionId;
use protocol::api::{TodoView, TodosParams};
use serde::Serialize;
use unicode_width::UnicodeWidthStr;

use super::awaiting_decision::AwaitingDecision;
use super::mark::TodoMark;
use super::session::TodoSession;
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::print;

/// An id keeps so many columns at most, and a title.
const MAX_ID_COLUMNS: usize = 28;
const MAX_TITLE_COLUMNS: usize = 60;

#[derive(Serialize)]
struct TodoListReport<'a> {
    session: SessionId,
    todos: &'a [TodoView],
}

pub(super) fn list(place: &TodoSession, wanted: &TodosParams) -> Result<CommandExit, CliError> {
    let todos = place.reader.todos_page(wanted)?.todos;
    if place.json {
        print::json(&TodoListReport { session: place.session, todos: &todos });
        return Ok(CommandExit::Success);
    }
    if todos.is_empty() {
        print::note(format_args!("{} has no such todos; `bosun todos add \"…\"` adds one", place.session));
        return Ok(CommandExit::Success);
    }
    let asking = AwaitingDecision::read(&place.reader)?;
    let rows: Vec<[String; 3]> = todos.iter().map(|todo| cells(todo, asking.mark(todo))).collect();
    let width = |column: usize| rows.iter().map(|cells| cells[column].width()).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2)];
    for (cells, todo) in rows.iter().zip(&todos) {
        let cells: Vec<String> = cells.iter().zip(widths).map(|(cell, width)| print::fit_cell(cell, width)).collect();
        print::row(format!("{}  {}", cells.join("  "), remark(todo)).trim_end());
    }
    print::note(summarize(&todos, &asking));
    Ok(CommandExit::Success)
}

fn cells(todo: &TodoView, mark: TodoMark) -> [String; 3] {
    [
        format!("{} {}", mark.sign(), mark.label()),
        print::sanitize(&print::one_line(&todo.id.0, MAX_ID_COLUMNS)),
        print::sanitize(&print::one_line(&todo.title, MAX_TITLE_COLUMNS)),
    ]
}

/// What else there is to know of it: why it is blocked or went wrong, or what it waits for.
fn remark(todo: &TodoView) -> String {
    let reason = todo.reason.as_deref().map(|reason| print::reason(reason, 80));
    match (TodoMark::of(todo), reason) {
        (TodoMark::Blocked, Some(reason)) => reason,
        (TodoMark::Ready | TodoMark::AtWork | TodoMark::Interrupted, Some(reason)) => format!("last time: {reason}"),
        (TodoMark::Waits, _) => format!("after {}", dependency_names(todo)),
        (
            TodoMark::Done
            | TodoMark::NeedsYou
            | TodoMark::Ready
            | TodoMark::AtWork
            | TodoMark::Interrupted
            | TodoMark::Blocked,
            _,
        ) => String::new(),
    }
}

/// What a todo depends on, in a few words.
pub(super) fn dependency_names(todo: &TodoView) -> String {
    let names: Vec<&str> = todo.depends_on.iter().map(|id| id.0.as_str()).collect();
    print::sanitize(&print::one_line(&names.join(", "), 60))
}

/// How many there are of each.
pub(super) fn summarize(todos: &[TodoView], asking: &AwaitingDecision) -> String {
    let of = |mark: TodoMark| todos.iter().filter(|todo| asking.mark(todo) == mark).count();
    let parts = TodoMark::ALL.into_iter().map(|mark| (of(mark), mark)).filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts.map(|(count, mark)| format!("{count} {}", mark.label())).collect();
    format!("{}: {}", print::pluralize(todos.len(), "todo"), parts.join(", "))
}
