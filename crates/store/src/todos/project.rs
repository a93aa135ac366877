//! Projects the runtime's decisions about todos onto their rows.

use protocol::{Event, LogEntry, Todo, TodoId, TodoStatus};
use rusqlite::{Connection, named_params, params};

use super::log::last_recorded;
use super::rows::todo_with_number;
use crate::mail;

/// Applies an event to the table.
pub(crate) fn project(conn: &Connection, entry: &LogEntry) -> rusqlite::Result<()> {
    let before = last_recorded(conn)?;
    apply(conn, entry)?;
    // The runtime must not read its own writes as changes.
    conn.prepare_cached("DELETE FROM bosun_todo_log WHERE n > ?1")?.execute([before])?;
    Ok(())
}

fn apply(conn: &Connection, entry: &LogEntry) -> rusqlite::Result<()> {
    match &entry.event {
        Event::TodosChanged { changed, gone, upto, .. } => {
            changed.iter().try_for_each(|todo| settle_change(conn, todo, *upto))?;
            gone.iter().try_for_each(|todo| clear_changes(conn, todo, *upto))
        }
        Event::FleetBegan(config) => {
            mail::set_title(conn, entry.task, &config.goal)?;
            conn.prepare_cached("UPDATE todos SET status = 'pending' WHERE status = 'in_progress'")?.execute([])?;
            Ok(())
        }
        Event::TodoClaimed { todo, .. } => {
            conn.prepare_cached(
                "UPDATE todos SET status = 'in_progress', task = :task, attempts = attempts + 1 WHERE id = :id",
            )?
            .execute(named_params! {":task": entry.task.to_string(), ":id": todo.0})?;
            Ok(())
        }
        Event::TodoReturned { todo, failure, .. } => set_status(conn, todo, TodoStatus::Pending, failure.as_deref()),
        Event::TodoDone { todo, .. } => set_status(conn, todo, TodoStatus::Done, None),
        Event::TodoBlocked { todo, why } => set_status(conn, todo, TodoStatus::Blocked, Some(&why.to_string())),
        Event::TodoUnblocked { todo } => set_status(conn, todo, TodoStatus::Pending, None),
        _ => Ok(()),
    }
}

fn set_status(conn: &Connection, todo: &TodoId, status: TodoStatus, reason: Option<&str>) -> rusqlite::Result<()> {
    let now = "strftime('%Y-%m-%dT%H:%M:%fZ')";
    conn.prepare_cached(&format!(
        "UPDATE todos SET status = :status, reason = :reason, updated_at = {now} WHERE id = :id"
    ))?
    .execute(named_params! {":status": status.as_str(), ":reason": reason, ":id": todo.0})?;
    Ok(())
}

/// Removes a row from the change log and sets its effective status. A row that was changed again is left for the next
/// read.
fn settle_change(conn: &Connection, todo: &Todo, upto: u64) -> rusqlite::Result<()> {
    clear_changes(conn, &todo.id, upto)?;
    let changed_again: bool = conn
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM bosun_todo_log WHERE todo = ?1 AND n > ?2)")?
        .query_row(params![todo.id.0, upto], |row| row.get(0))?;
    match todo_with_number(conn, &todo.id)? {
        Some((_, current)) if !changed_again && current.status != todo.status => {
            set_status(conn, &todo.id, todo.status, todo.reason.as_deref())
        }
        Some(_) | None => Ok(()),
    }
}

fn clear_changes(conn: &Connection, todo: &TodoId, upto: u64) -> rusqlite::Result<()> {
    conn.prepare_cached("DELETE FROM bosun_todo_log WHERE todo = ?1 AND n <= ?2")?.execute(params![todo.0, upto])?;
    Ok(())
}
