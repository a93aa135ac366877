//! A plan is written into a session's table of todos: all of it, or nothing.

use host::Home;
use protocol::{SessionId, Todo};
use rusqlite::{Connection, TransactionBehavior, named_params, params};

use crate::error::fault;
use crate::session::open_current;
use crate::{StoreError, event};

/// Writes todos into a session's table in one transaction, whoever owns it. One that is there is made anew; the runtime
/// finds them among the changes.
pub fn write_todos(home: &Home, id: SessionId, todos: &[Todo]) -> Result<(), StoreError> {
    let path = home.session_db(id);
    let mut conn = open_current(home, id, &path)?;
    let mut write = || -> rusqlite::Result<()> {
        let change = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        todos.iter().try_for_each(|todo| row(&change, todo))?;
        // What a todo depends on may stand below it.
        todos.iter().try_for_each(|todo| dependencies(&change, todo))?;
        change.commit()
    };
    write().map_err(fault(&path))
}

fn row(conn: &Connection, todo: &Todo) -> rusqlite::Result<()> {
    let Todo { id, title, description, status, depends_on: _, agent_type, model, files, check, expects, reason } = todo;
    let files = if files.is_empty() { None } else { Some(event::json(files)?) };
    conn.prepare_cached(
        "INSERT INTO todos (id, title, description, status, agent_type, model, files, check_command, expects, reason)
         VALUES (:id, :title, :description, :status, :agent, :model, :files, :check, :expects, :reason)
         ON CONFLICT (id) DO UPDATE SET title = :title, description = :description, status = :status,
             agent_type = :agent, model = :model, files = :files, check_command = :check, expects = :expects,
             reason = :reason",
    )?
    .execute(named_params! {
        ":id": id.0, ":title": title, ":description": description, ":status": status.word(), ":agent": agent_type,
        ":model": model, ":files": files, ":check": check, ":expects": expects, ":reason": reason,
    })?;
    Ok(())
}

fn dependencies(conn: &Connection, todo: &Todo) -> rusqlite::Result<()> {
    conn.prepare_cached("DELETE FROM todo_deps WHERE todo_id = ?1")?.execute([&todo.id.0])?;
    let mut insert = conn.prepare_cached("INSERT OR IGNORE INTO todo_deps (todo_id, depends_on) VALUES (?1, ?2)")?;
    todo.depends_on.iter().try_for_each(|above| insert.execute(params![todo.id.0, above.0]).map(|_rows| ()))
}
