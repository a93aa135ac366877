//! Todos for views.

use std::collections::BTreeSet;

use protocol::api::{TodoView, TodosPage, TodosParams};
use protocol::{TaskState, Todo, TodoId, TodoStatus};
use rusqlite::{Connection, OptionalExtension};

use super::rows::{TodoRow, all};
use crate::event::from_json;
use crate::lease;

/// The default number of rows per page.
const PAGE: u64 = 100;

/// One page of the todos, in the order they were written.
pub(crate) fn page(conn: &Connection, params: &TodosParams) -> rusqlite::Result<TodosPage> {
    let rows = all(conn)?;
    let done: BTreeSet<TodoId> =
        rows.iter().filter(|row| row.todo.status == TodoStatus::Done).map(|row| row.todo.id.clone()).collect();
    let fits =
        |view: &TodoView| params.status.is_none_or(|status| view.status == status) && (!params.ready || view.ready);
    let owned = lease::read(conn)?.is_some_and(|lease| lease.live_pid().is_some());
    let mut views: Vec<TodoView> = Vec::new();
    for row in rows {
        let interrupted = is_interrupted(conn, &row, owned)?;
        views.push(view(row, &done, interrupted));
    }
    views.retain(fits);
    let total = views.len() as u64;
    let (offset, limit) = (short(params.offset), short(params.limit.unwrap_or(PAGE)));
    Ok(TodosPage { todos: views.into_iter().skip(offset).take(limit).collect(), total })
}

/// Whether a todo in progress has no worker: its session has no living owner, or its task has not been resumed.
fn is_interrupted(conn: &Connection, row: &TodoRow, owned: bool) -> rusqlite::Result<bool> {
    match (row.todo.status, &row.task) {
        (TodoStatus::Pending | TodoStatus::Done | TodoStatus::Blocked, _) => Ok(false),
        (TodoStatus::InProgress, _) if !owned => Ok(true),
        (TodoStatus::InProgress, None) => Ok(false),
        (TodoStatus::InProgress, Some(task)) => {
            let mut select = conn.prepare_cached("SELECT state FROM bosun_tasks WHERE id = ?1")?;
            let state: Option<String> = select.query_row([task], |row| row.get(0)).optional()?;
            let state = state.map(|state| from_json::<TaskState>(&state)).transpose()?;
            Ok(state == Some(TaskState::Interrupted))
        }
    }
}

fn view(row: TodoRow, done: &BTreeSet<TodoId>, interrupted: bool) -> TodoView {
    let TodoRow { todo, task, attempts } = row;
    let ready = todo.status == TodoStatus::Pending && todo.depends_on.iter().all(|above| done.contains(above));
    let Todo { id, title, description, status, depends_on, agent_type, model, files, check, expects, reason } = todo;
    TodoView {
        id,
        title,
        description,
        status,
        ready,
        interrupted,
        depends_on,
        reason,
        agent_type,
        model,
        files,
        check,
        expects,
        task,
        attempts,
    }
}

fn short(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
