//! Refuses changes of existing todos that only the root and the user may make: to the worker's type, model, files and
//! expectations, and deleting a todo. Otherwise an agent with few permissions could direct agents with more.

use std::collections::BTreeMap;

use protocol::{TaskId, Todo, TodoId};
use rusqlite::Connection;

use super::log::root_id;
use super::rows::{changed_since, todo_with_number};

/// Returns why an agent may not make the changes after `last_change`, if it may not. `open_previous` opens a connection
/// that shows the rows before the changes.
pub(crate) fn find_violation(
    conn: &Connection,
    open_previous: impl FnOnce() -> rusqlite::Result<Connection>,
    last_change: i64,
    author: Option<TaskId>,
) -> rusqlite::Result<Option<String>> {
    let Some(author) = author.map(|author| author.to_string()) else { return Ok(None) };
    if super::last_pending(conn)? == last_change || root_id(conn)?.is_none_or(|root| root == author) {
        return Ok(None);
    }
    let (ids, rows) = changed_since(conn, last_change)?;
    let current_rows: BTreeMap<&TodoId, &Todo> = rows.iter().map(|todo| (&todo.id, todo)).collect();
    let previous_rows = open_previous()?;
    for id in &ids {
        let Some((_, previous)) = todo_with_number(&previous_rows, id)? else { continue };
        match current_rows.get(id) {
            None => return Ok(Some(format!("only the main agent may delete the todo `{id}`"))),
            Some(current) if !has_same_plan(&previous, current) => {
                let columns = "agent_type, model, files, check_command and expects";
                return Ok(Some(format!("only the main agent may change {columns} of the todo `{id}`")));
            }
            Some(_) => {}
        }
    }
    Ok(None)
}

/// Whether two rows of a todo have the same plan: worker type, model, files, check and expectations.
fn has_same_plan(previous: &Todo, current: &Todo) -> bool {
    fn columns(todo: &Todo) -> [&Option<String>; 4] {
        [&todo.agent_type, &todo.model, &todo.check, &todo.expects]
    }
    columns(previous) == columns(current) && previous.files == current.files
}
