//! An edit reaches the session, and what it says then is told.

use host::Home;
use protocol::SessionId;
use protocol::TodoId;
use protocol::api::{Method, TodoEdit, TodoEdits, TodoIds, TodoView, TodosParams};
use serde::Serialize;
use store::{StoreError, TodoError, edit_todos};

use super::mark::Mark;
use super::place::Place;
use crate::deliver::{ask, live_owner};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print;

/// What was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Added,
    Done,
    Blocked,
    Reopened,
}

impl Change {
    fn word(self) -> &'static str {
        match self {
            Change::Added => "added",
            Change::Done => "done",
            Change::Blocked => "blocked",
            Change::Reopened => "open again",
        }
    }

    /// Whether a todo is as it was asked to be. What depends on something that is blocked is blocked itself.
    fn holds(self, todo: &TodoView) -> bool {
        match (self, Mark::of(todo)) {
            (Change::Added, _)
            | (Change::Done, Mark::Done)
            | (Change::Blocked, Mark::Blocked)
            // Somebody may work on it already.
            | (Change::Reopened, Mark::Ready | Mark::Waits | Mark::AtWork | Mark::NeedsYou | Mark::Interrupted) => true,
            (Change::Done | Change::Blocked | Change::Reopened, _) => false,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Edited<'a> {
    session: SessionId,
    /// Whether a process that runs the session has taken note.
    heard: bool,
    todos: &'a [TodoView],
}

pub(super) async fn edit(home: &Home, place: &Place, change: Change, edits: Vec<TodoEdit>) -> Result<Exit, Failure> {
    let (ids, heard) = give(home, place, edits).await?;
    let todos = place.reader.todos_page(&TodosParams::every())?.todos;
    let edited: Vec<TodoView> = ids.iter().filter_map(|id| todos.iter().find(|todo| todo.id == *id)).cloned().collect();
    let refused = edited.iter().find(|todo| !change.holds(todo));
    if place.json {
        print::json(&Edited { session: place.session, heard: heard == Heard::Yes, todos: &edited });
        return Ok(if refused.is_some() { Exit::Usage } else { Exit::Success });
    }
    if let Some(todo) = refused {
        return Err(held(todo));
    }
    for todo in &edited {
        print::answer(format_args!("{} is {}", print::plain(&todo.id.0), change.word()));
    }
    Ok(Exit::Success)
}

/// Whether the session's owner knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heard {
    Yes,
    /// Nobody runs it; the next owner takes note first.
    Nobody,
}

async fn give(home: &Home, place: &Place, edits: Vec<TodoEdit>) -> Result<(Vec<TodoId>, Heard), Failure> {
    loop {
        if let Some(pid) = live_owner(&place.reader)? {
            let edits = TodoEdits { edits: edits.clone() };
            let TodoIds { ids } = ask(home, place.session, pid, Method::TodosEdit, edits).await?;
            return Ok((ids, Heard::Yes));
        }
        match edit_todos(home, place.session, &edits) {
            Ok(ids) => return Ok((ids, Heard::Nobody)),
            // It was opened meanwhile.
            Err(TodoError::Store(StoreError::Owned { .. })) => {}
            Err(error) => return Err(failure(error)),
        }
    }
}

/// A fleet at work holds it.
fn held(todo: &TodoView) -> Failure {
    let (id, mark) = (print::plain(&todo.id.0), Mark::of(todo).word());
    match &todo.task {
        Some(task) => Failure::usage(format!("{id} stays {mark}: a fleet works on it, and says itself how far it is"))
            .hint(format!("stop whoever does: bosun tasks stop {}", print::plain(task))),
        None => Failure::usage(format!("{id} stays {mark}")).hint("`bosun todos` shows how things stand"),
    }
}

fn failure(error: TodoError) -> Failure {
    match error {
        TodoError::Store(error) => error.into(),
        TodoError::Cycle(_) => Failure::usage(error).hint("`bosun todos graph` shows what depends on what"),
        TodoError::NoDependency { .. } | TodoError::Taken(_) | TodoError::Missing(_) | TodoError::Unfit(_) => {
            Failure::usage(error)
        }
    }
}
