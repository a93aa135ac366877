//! The todos as the runtime sees them: rows of the model's own table, and the log of who changed which.
//!
//! Whoever changes a row leaves its id in the log by a trigger. The runtime reads the rows, says in an event what they
//! are now, and the projection of that event empties the log, unless a row was changed again meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use protocol::{Entry, Event, Todo, TodoId, TodoStatus};
use rusqlite::{Connection, OptionalExtension, Row, named_params};

const COLUMNS: &str =
    "id, title, description, status, agent_type, model, files, check_command, expects, reason, task, attempts";

/// A row of the table with what the runtime notes beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TodoRow {
    /// The todo.
    pub todo: Todo,
    /// The task that works or last worked on it, in its id's words.
    pub task: Option<String>,
    /// How often somebody began to work on it.
    pub attempts: u32,
}

/// Todos that were changed since the runtime last looked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TodoChanges {
    /// Those that are there, as they are now.
    pub changed: Vec<Todo>,
    /// Those that are not.
    pub gone: Vec<TodoId>,
}

impl TodoChanges {
    /// Whether nothing was.
    pub fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.gone.is_empty()
    }
}

/// Every todo, in the order that they were written.
pub(crate) fn all(conn: &Connection) -> rusqlite::Result<Vec<TodoRow>> {
    let deps = dependencies(conn)?;
    let mut select = conn.prepare_cached(&format!("SELECT {COLUMNS} FROM todos ORDER BY rowid"))?;
    let rows = select.query_map([], read)?;
    rows.map(|row| {
        let mut row = row?;
        row.todo.depends_on = deps.get(&row.todo.id).cloned().unwrap_or_default();
        Ok(row)
    })
    .collect()
}

/// What was changed since the runtime last looked, in the order that it was written.
pub(crate) fn changes(conn: &Connection) -> rusqlite::Result<TodoChanges> {
    let mut select = conn.prepare_cached("SELECT DISTINCT todo FROM bosun_todo_log")?;
    let ids = select.query_map([], |row| row.get(0).map(TodoId))?.collect::<rusqlite::Result<BTreeSet<_>>>()?;
    if ids.is_empty() {
        return Ok(TodoChanges::default());
    }
    let mut changed: Vec<(i64, Todo)> = Vec::new();
    let mut gone = Vec::new();
    for id in ids {
        match one(conn, &id)? {
            Some(found) => changed.push(found),
            None => gone.push(id),
        }
    }
    changed.sort_by_key(|(row, _)| *row);
    Ok(TodoChanges { changed: changed.into_iter().map(|(_, todo)| todo).collect(), gone })
}

/// Writes to the table what the runtime decided.
pub(crate) fn project(conn: &Connection, entry: &Entry) -> rusqlite::Result<()> {
    let before: i64 = conn
        .prepare_cached("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'bosun_todo_log'")?
        .query_row([], |row| row.get(0))?;
    decided(conn, entry)?;
    // What the runtime itself wrote is no news to it.
    conn.prepare_cached("DELETE FROM bosun_todo_log WHERE n > ?1")?.execute([before])?;
    Ok(())
}

fn decided(conn: &Connection, entry: &Entry) -> rusqlite::Result<()> {
    match &entry.event {
        Event::TodosChanged { changed, gone, .. } => {
            changed.iter().try_for_each(|todo| note(conn, todo))?;
            gone.iter()
                .filter_map(|id| one(conn, id).map(|found| found.is_none().then_some(id)).transpose())
                .try_for_each(|id| forget(conn, id?))
        }
        Event::FleetBegan(_) => {
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
        Event::TodoReturned { todo, failure, .. } => stand(conn, todo, TodoStatus::Pending, failure.as_deref()),
        Event::TodoDone { todo, .. } => stand(conn, todo, TodoStatus::Done, None),
        Event::TodoBlocked { todo, why } => stand(conn, todo, TodoStatus::Blocked, Some(&why.to_string())),
        Event::TodoFreed { todo } => stand(conn, todo, TodoStatus::Pending, None),
        _ => Ok(()),
    }
}

fn stand(conn: &Connection, todo: &TodoId, status: TodoStatus, reason: Option<&str>) -> rusqlite::Result<()> {
    let now = "strftime('%Y-%m-%dT%H:%M:%fZ')";
    conn.prepare_cached(&format!(
        "UPDATE todos SET status = :status, reason = :reason, updated_at = {now} WHERE id = :id"
    ))?
    .execute(named_params! {":status": status.word(), ":reason": reason, ":id": todo.0})?;
    Ok(())
}

/// Takes a row that the log now has off the list of changes, with the status that holds. One that was changed again
/// since stays on it.
fn note(conn: &Connection, todo: &Todo) -> rusqlite::Result<()> {
    let Some((_, found)) = one(conn, &todo.id)? else { return Ok(()) };
    if found == (Todo { status: found.status, ..todo.clone() }) {
        if found.status != todo.status {
            stand(conn, &todo.id, todo.status, todo.reason.as_deref())?;
        }
        forget(conn, &todo.id)?;
    }
    Ok(())
}

fn forget(conn: &Connection, id: &TodoId) -> rusqlite::Result<()> {
    conn.prepare_cached("DELETE FROM bosun_todo_log WHERE todo = ?1")?.execute([&id.0])?;
    Ok(())
}

fn one(conn: &Connection, id: &TodoId) -> rusqlite::Result<Option<(i64, Todo)>> {
    let mut select = conn.prepare_cached(&format!("SELECT {COLUMNS}, rowid FROM todos WHERE id = ?1"))?;
    let found = select.query_row([&id.0], |row| Ok((row.get("rowid")?, read(row)?.todo))).optional()?;
    let Some((row, mut todo)) = found else { return Ok(None) };
    let mut select = conn.prepare_cached("SELECT depends_on FROM todo_deps WHERE todo_id = ?1 ORDER BY depends_on")?;
    todo.depends_on = select.query_map([&id.0], |row| row.get(0).map(TodoId))?.collect::<rusqlite::Result<_>>()?;
    Ok(Some((row, todo)))
}

fn dependencies(conn: &Connection) -> rusqlite::Result<BTreeMap<TodoId, Vec<TodoId>>> {
    let mut select = conn.prepare_cached("SELECT todo_id, depends_on FROM todo_deps ORDER BY todo_id, depends_on")?;
    let mut deps: BTreeMap<TodoId, Vec<TodoId>> = BTreeMap::new();
    for row in select.query_map([], |row| Ok((TodoId(row.get(0)?), TodoId(row.get(1)?))))? {
        let (todo, above) = row?;
        deps.entry(todo).or_default().push(above);
    }
    Ok(deps)
}

/// Reads a row; what the model wrote where another type was meant is taken as its words.
fn read(row: &Row<'_>) -> rusqlite::Result<TodoRow> {
    let text = |name: &str| -> rusqlite::Result<Option<String>> {
        Ok(match row.get_ref(name)? {
            rusqlite::types::ValueRef::Null => None,
            rusqlite::types::ValueRef::Integer(number) => Some(number.to_string()),
            rusqlite::types::ValueRef::Real(number) => Some(number.to_string()),
            rusqlite::types::ValueRef::Text(bytes) | rusqlite::types::ValueRef::Blob(bytes) => {
                Some(String::from_utf8_lossy(bytes).into_owned())
            }
        })
    };
    let filled = |name: &str| text(name).map(|found| found.filter(|text| !text.trim().is_empty()));
    let status = text("status")?.and_then(|word| TodoStatus::named(&word)).unwrap_or_default();
    let todo = Todo {
        id: TodoId(text("id")?.unwrap_or_default()),
        title: text("title")?.unwrap_or_default(),
        description: filled("description")?,
        status,
        depends_on: Vec::new(),
        agent_type: filled("agent_type")?,
        model: filled("model")?,
        files: filled("files")?.map(|text| patterns(&text)).unwrap_or_default(),
        check: filled("check_command")?,
        expects: filled("expects")?,
        reason: filled("reason")?,
    };
    Ok(TodoRow {
        todo,
        task: filled("task")?,
        attempts: row.get::<_, i64>("attempts").unwrap_or(0).try_into().unwrap_or(0),
    })
}

/// The patterns of a `files` column: a JSON list, or lines.
fn patterns(text: &str) -> Vec<String> {
    serde_json::from_str(text)
        .unwrap_or_else(|_| text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect())
}
