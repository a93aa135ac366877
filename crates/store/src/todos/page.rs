//! Todos for views.

use std::collections::BTreeSet;

use protocol::api::{TodoView, TodosPage, TodosParams};
use protocol::{TaskState, Todo, TodoId, TodoStatus};
use rusqlite::{Connection, OptionalExtension};

use super::rows::{TodoRow, all_rows};
use crate::event::from_json;
use crate::lease;

/// The default number of rows per page.
const DEFAULT_PAGE_ROWS: u64 = 100;

/// One page of the todos, in the order they were written.
pub(crate) fn page(conn: &Connection, params: &TodosParams) -> rusqlite::Result<TodosPage> {
    let rows = all_rows(conn)?;
    let done: BTreeSet<TodoId> =
        rows.iter().filter(|row| row.todo.status == TodoStatus::Done).map(|row| row.todo.id.clone()).collect();
    let is_selected =
        |view: &TodoView| params.status.is_none_or(|status| view.status == status) && (!params.ready || view.ready);
    let is_owned = lease::read(conn)?.is_some_and(|lease| lease.live_pid().is_some());
    let mut views: Vec<TodoView> = Vec::new();
    for row in rows {
        let interrupted = is_interrupted(conn, &row, is_owned)?;
        views.push(todo_view(row, &done, interrupted));
    }
    views.retain(is_selected);
    let total = views.len() as u64;
    let (offset, limit) = (to_usize(params.offset), to_usize(params.limit.unwrap_or(DEFAULT_PAGE_ROWS)));
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

fn todo_view(row: TodoRow, done: &BTreeSet<TodoId>, interrupted: bool) -> TodoView {
    let TodoRow { todo, task, attempts } = row;
    let ready =
        todo.status == TodoStatus::Pending && todo.depends_on.iter().all(|dependency| done.contains(dependency));
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

fn to_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
