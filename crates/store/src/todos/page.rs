//! The todos as views show them.

use std::collections::BTreeSet;

use protocol::api::{TodoView, TodosPage, TodosParams};
use protocol::{Todo, TodoId, TodoStatus};
use rusqlite::Connection;

use super::rows::{TodoRow, all};

/// How many rows a page has when nobody says.
const PAGE: u64 = 100;

/// One page of the todos, in the order that they were written.
pub(crate) fn page(conn: &Connection, wanted: &TodosParams) -> rusqlite::Result<TodosPage> {
    let rows = all(conn)?;
    let done: BTreeSet<TodoId> =
        rows.iter().filter(|row| row.todo.status == TodoStatus::Done).map(|row| row.todo.id.clone()).collect();
    let fits =
        |view: &TodoView| wanted.status.is_none_or(|status| view.status == status) && (!wanted.ready || view.ready);
    let views: Vec<TodoView> = rows.into_iter().map(|row| view(row, &done)).filter(fits).collect();
    let total = views.len() as u64;
    let (offset, limit) = (short(wanted.offset), short(wanted.limit.unwrap_or(PAGE)));
    Ok(TodosPage { todos: views.into_iter().skip(offset).take(limit).collect(), total })
}

fn view(row: TodoRow, done: &BTreeSet<TodoId>) -> TodoView {
    let TodoRow { todo, task, attempts } = row;
    let ready = todo.status == TodoStatus::Pending && todo.depends_on.iter().all(|above| done.contains(above));
    let Todo { id, title, description, status, depends_on, agent_type, model, files, check, expects, reason } = todo;
    TodoView {
        id,
        title,
        description,
        status,
        ready,
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
