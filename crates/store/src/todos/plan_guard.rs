//! What only those who plan may change of a todo that is there: what its worker is, what must hold of its work, and
//! whether it is there at all. An agent that may do little would otherwise order what others may do.

use std::collections::BTreeMap;

use protocol::{TaskId, Todo, TodoId};
use rusqlite::Connection;

use super::log::root;
use super::rows::{one, since};

/// Says in words why an agent must not change the todos like this, if it must not. `before` sees them as they were.
pub(crate) fn find_violation(
    conn: &Connection,
    before: impl FnOnce() -> rusqlite::Result<Connection>,
    noted: i64,
    author: Option<TaskId>,
) -> rusqlite::Result<Option<String>> {
    let Some(author) = author.map(|author| author.to_string()) else { return Ok(None) };
    if super::last_pending(conn)? == noted || root(conn)?.is_none_or(|root| root == author) {
        return Ok(None);
    }
    let (ids, rows) = since(conn, noted)?;
    let now: BTreeMap<&TodoId, &Todo> = rows.iter().map(|todo| (&todo.id, todo)).collect();
    let before = before()?;
    for id in &ids {
        let Some((_, was)) = one(&before, id)? else { continue };
        match now.get(id) {
            None => return Ok(Some(format!("only the main agent may take the todo `{id}` away"))),
            Some(is) if !has_same_plan(&was, is) => {
                let columns = "agent_type, model, files, check_command and expects";
                return Ok(Some(format!("only the main agent may change {columns} of the todo `{id}`")));
            }
            Some(_) => {}
        }
    }
    Ok(None)
}

/// Whether two rows of a todo order the same: who does it, with what, on which files, and what must hold at the end.
fn has_same_plan(was: &Todo, is: &Todo) -> bool {
    fn words(todo: &Todo) -> [&Option<String>; 4] {
        [&todo.agent_type, &todo.model, &todo.check, &todo.expects]
    }
    words(was) == words(is) && was.files == is.files
}
