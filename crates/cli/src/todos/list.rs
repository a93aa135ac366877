//! Prints todos as a table.

use client::AskingTasks;
use protocol::SessionId;
use protocol::api::{TodoView, TodosParams};
use serde::Serialize;
use tui::print;
use tui::todo_mark::TodoMark;
use unicode_width::UnicodeWidthStr;

use super::session::TodoSession;
use crate::error::CliError;
use crate::exit::CommandExit;

/// The maximum widths of an id and of a title.
const MAX_ID_COLUMNS: usize = 28;
const MAX_TITLE_COLUMNS: usize = 60;

#[derive(Serialize)]
struct TodoListReport<'a> {
    session: SessionId,
    todos: &'a [TodoView],
}

pub(super) fn list(session: &TodoSession, params: &TodosParams) -> Result<CommandExit, CliError> {
    let todos = session.handle.todos(params)?.todos;
    if session.json {
        print::json(&TodoListReport { session: session.session, todos: &todos });
        return Ok(CommandExit::Success);
    }
    if todos.is_empty() {
        let missing = match (params.ready, params.status) {
            (true, _) => "no ready todos",
            (false, Some(_)) => "no todos with this status",
            (false, None) => "no todos",
        };
        print::note(format_args!("{} has {missing}; `bosun todos add \"…\"` adds one", session.session));
        return Ok(CommandExit::Success);
    }
    let asking = AskingTasks::of_session(&session.handle)?;
    let rows: Vec<[String; 3]> = todos.iter().map(|todo| cells(todo, TodoMark::in_session(todo, &asking))).collect();
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

/// Why the todo is blocked or failed, or what it waits for.
fn remark(todo: &TodoView) -> String {
    let reason = todo.reason.as_deref().map(|reason| print::format_reason(reason, 80));
    match (TodoMark::of(todo), reason) {
        (TodoMark::Blocked, Some(reason)) => reason,
        (TodoMark::Ready | TodoMark::AtWork | TodoMark::Interrupted, Some(reason)) => format!("last attempt: {reason}"),
        (TodoMark::Waiting, _) => format!("after {}", dependency_names(todo)),
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

/// The dependencies of a todo on one line.
pub(super) fn dependency_names(todo: &TodoView) -> String {
    let names: Vec<&str> = todo.depends_on.iter().map(|id| id.0.as_str()).collect();
    print::sanitize(&print::one_line(&names.join(", "), 60))
}

/// The number of todos with each mark.
pub(super) fn summarize(todos: &[TodoView], asking: &AskingTasks) -> String {
    let count_of = |mark: TodoMark| todos.iter().filter(|todo| TodoMark::in_session(todo, asking) == mark).count();
    let parts = TodoMark::ALL.into_iter().map(|mark| (count_of(mark), mark)).filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts.map(|(count, mark)| format!("{count} {}", mark.label())).collect();
    format!("{}: {}", print::pluralize(todos.len(), "todo"), parts.join(", "))
}
