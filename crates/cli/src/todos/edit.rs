//! An edit reaches the session, and what it says then is told.

use host::Home;
use protocol::SessionId;
use protocol::TodoId;
use protocol::api::{Method, TodoEdit, TodoEdits, TodoIds, TodoView, TodosParams};
use serde::Serialize;
use store::{StoreError, TodoError, edit_todos};

use super::mark::TodoMark;
use super::session::TodoSession;
use crate::deliver::{call_owner, live_owner};
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::print;

/// What was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestedTodoEdit {
    Added,
    Done,
    Blocked,
    Reopened,
}

impl RequestedTodoEdit {
    fn word(self) -> &'static str {
        match self {
            RequestedTodoEdit::Added => "added",
            RequestedTodoEdit::Done => "done",
            RequestedTodoEdit::Blocked => "blocked",
            RequestedTodoEdit::Reopened => "open again",
        }
    }

    /// Whether a todo is as it was asked to be. What depends on something that is blocked is blocked itself.
    fn is_satisfied_by(self, todo: &TodoView) -> bool {
        match (self, TodoMark::of(todo)) {
            (RequestedTodoEdit::Added, _)
            | (RequestedTodoEdit::Done, TodoMark::Done)
            | (RequestedTodoEdit::Blocked, TodoMark::Blocked)
            // Somebody may work on it already.
            | (RequestedTodoEdit::Reopened, TodoMark::Ready | TodoMark::Waits | TodoMark::AtWork | TodoMark::NeedsYou | TodoMark::Interrupted) => true,
            (RequestedTodoEdit::Done | RequestedTodoEdit::Blocked | RequestedTodoEdit::Reopened, _) => false,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TodoEditReport<'a> {
    session: SessionId,
    /// Whether a process that runs the session has taken note.
    heard: bool,
    todos: &'a [TodoView],
}

pub(super) async fn edit(
    home: &Home,
    place: &TodoSession,
    change: RequestedTodoEdit,
    edits: Vec<TodoEdit>,
) -> Result<CommandExit, CliError> {
    let (ids, heard) = apply_edits(home, place, edits).await?;
    let todos = place.reader.todos_page(&TodosParams::all_todos())?.todos;
    let edited: Vec<TodoView> = ids.iter().filter_map(|id| todos.iter().find(|todo| todo.id == *id)).cloned().collect();
    let refused = edited.iter().find(|todo| !change.is_satisfied_by(todo));
    if place.json {
        print::json(&TodoEditReport { session: place.session, heard: heard == OwnerNotified::Yes, todos: &edited });
        return Ok(if refused.is_some() { CommandExit::Usage } else { CommandExit::Success });
    }
    if let Some(todo) = refused {
        return Err(fleet_holds_failure(todo));
    }
    for todo in &edited {
        print::output(format_args!("{} is {}", print::sanitize(&todo.id.0), change.word()));
    }
    Ok(CommandExit::Success)
}

/// Whether the session's owner knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OwnerNotified {
    Yes,
    /// Nobody runs it; the next owner takes note first.
    NoOwner,
}

async fn apply_edits(
    home: &Home,
    place: &TodoSession,
    edits: Vec<TodoEdit>,
) -> Result<(Vec<TodoId>, OwnerNotified), CliError> {
    loop {
        if let Some(pid) = live_owner(&place.reader)? {
            let edits = TodoEdits { edits: edits.clone() };
            let TodoIds { ids } = call_owner(home, place.session, pid, Method::TodosEdit, edits).await?;
            return Ok((ids, OwnerNotified::Yes));
        }
        match edit_todos(home, place.session, &edits) {
            Ok(ids) => return Ok((ids, OwnerNotified::NoOwner)),
            // It was opened meanwhile.
            Err(TodoError::Store(StoreError::Owned { .. })) => {}
            Err(error) => return Err(todo_failure(error)),
        }
    }
}

/// A fleet at work holds it.
fn fleet_holds_failure(todo: &TodoView) -> CliError {
    let (id, mark) = (print::sanitize(&todo.id.0), TodoMark::of(todo).label());
    match &todo.task {
        Some(task) => CliError::usage(format!("{id} stays {mark}: a fleet works on it, and says itself how far it is"))
            .with_hint(format!("stop whoever does: bosun tasks stop {}", print::sanitize(task))),
        None => CliError::usage(format!("{id} stays {mark}")).with_hint("`bosun todos` shows how things stand"),
    }
}

fn todo_failure(error: TodoError) -> CliError {
    match error {
        TodoError::Store(error) => error.into(),
        TodoError::Cycle(_) => CliError::usage(error).with_hint("`bosun todos graph` shows what depends on what"),
        TodoError::NoDependency { .. } | TodoError::Taken(_) | TodoError::Missing(_) | TodoError::Invalid(_) => {
            CliError::usage(error)
        }
    }
}
