//! Edits the todos of a session and reports the result.

use client::{EditedTodos, SessionHandle};
use host::Home;
use protocol::SessionId;
use protocol::api::{TodoEdit, TodoView, TodosParams};
use serde::Serialize;
use tui::print;
use tui::todo_mark::TodoMark;

use super::session::TodoSession;
use crate::error::CliError;
use crate::exit::CommandExit;

/// The requested edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestedTodoEdit {
    Added,
    Done,
    Blocked,
    Reopened,
}

impl RequestedTodoEdit {
    fn label(self) -> &'static str {
        match self {
            RequestedTodoEdit::Added => "added",
            RequestedTodoEdit::Done => "done",
            RequestedTodoEdit::Blocked => "blocked",
            RequestedTodoEdit::Reopened => "open again",
        }
    }

    /// Whether a todo has the requested state. A todo that depends on a blocked one is blocked too.
    fn is_satisfied_by(self, todo: &TodoView) -> bool {
        match (self, TodoMark::of(todo)) {
            (RequestedTodoEdit::Added, _)
            | (RequestedTodoEdit::Done, TodoMark::Done)
            | (RequestedTodoEdit::Blocked, TodoMark::Blocked)
            // A worker may have claimed it already.
            | (RequestedTodoEdit::Reopened, TodoMark::Ready | TodoMark::Waiting | TodoMark::AtWork | TodoMark::NeedsYou | TodoMark::Interrupted) => true,
            (RequestedTodoEdit::Done | RequestedTodoEdit::Blocked | RequestedTodoEdit::Reopened, _) => false,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TodoEditReport<'a> {
    session: SessionId,
    /// Whether a process that runs the session has applied it.
    applied: bool,
    todos: &'a [TodoView],
}

pub(super) async fn edit(
    home: &Home,
    session: &TodoSession,
    change: RequestedTodoEdit,
    edits: Vec<TodoEdit>,
) -> Result<CommandExit, CliError> {
    let EditedTodos { ids, is_applied } = SessionHandle::new(home, session.session).edit_todos(edits).await?;
    let todos = session.handle.todos(&TodosParams::all_todos())?.todos;
    let edited: Vec<TodoView> = ids.iter().filter_map(|id| todos.iter().find(|todo| todo.id == *id)).cloned().collect();
    let refused = edited.iter().find(|todo| !change.is_satisfied_by(todo));
    if session.json {
        print::json(&TodoEditReport { session: session.session, applied: is_applied, todos: &edited });
        return Ok(if refused.is_some() { CommandExit::Usage } else { CommandExit::Success });
    }
    if let Some(todo) = refused {
        return Err(held_by_fleet_failure(todo));
    }
    for todo in &edited {
        print::output(format_args!("{} is {}", print::sanitize(&todo.id.0), change.label()));
    }
    Ok(CommandExit::Success)
}

/// The error for a todo that a running fleet works on.
fn held_by_fleet_failure(todo: &TodoView) -> CliError {
    let (id, mark) = (print::sanitize(&todo.id.0), TodoMark::of(todo).label());
    match &todo.task {
        Some(task) => CliError::usage(format!("{id} stays {mark}: a fleet works on it and sets its status itself"))
            .with_hint(format!("stop its worker: bosun tasks stop {}", print::sanitize(task))),
        None => CliError::usage(format!("{id} stays {mark}")).with_hint("`bosun todos` shows the current state"),
    }
}
