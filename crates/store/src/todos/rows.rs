//! Rows of the `todos` table, with their dependencies.

use std::collections::BTreeMap;

use protocol::{Todo, TodoId, TodoStatus};
use rusqlite::{Connection, OptionalExtension, Row};

/// The columns that `read_row` reads, in its order: finding them by name took longer than reading them.
const COLUMNS: &str =
    "id, title, description, status, agent_type, model, files, check_command, expects, reason, task, attempts";

/// The column after those.
const ROW_NUMBER: usize = 12;

/// A row of the table with the runtime's own columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TodoRow {
    /// The todo.
    pub todo: Todo,
    /// The id of the task that works or last worked on it.
    pub task: Option<String>,
    /// How often work on it was started.
    pub attempts: u32,
}

/// All todos, in the order they were written.
pub(crate) fn all_rows(conn: &Connection) -> rusqlite::Result<Vec<TodoRow>> {
    let deps = dependencies(conn)?;
    let mut select = conn.prepare_cached(&format!("SELECT {COLUMNS} FROM todos ORDER BY rowid"))?;
    let rows = select.query_map([], read_row)?;
    rows.map(|row| {
        let mut row = row?;
        row.todo.depends_on = deps.get(&row.todo.id).cloned().unwrap_or_default();
        Ok(row)
    })
    .collect()
}

/// One todo, with its row number.
pub(super) fn todo_with_number(conn: &Connection, id: &TodoId) -> rusqlite::Result<Option<(i64, Todo)>> {
    Ok(row_with_number(conn, id)?.map(|(number, row)| (number, row.todo)))
}

/// One todo.
pub(crate) fn row(conn: &Connection, id: &TodoId) -> rusqlite::Result<Option<TodoRow>> {
    Ok(row_with_number(conn, id)?.map(|(_, row)| row))
}

fn row_with_number(conn: &Connection, id: &TodoId) -> rusqlite::Result<Option<(i64, TodoRow)>> {
    let mut select = conn.prepare_cached(&format!("SELECT {COLUMNS}, rowid FROM todos WHERE id = ?1"))?;
    let found = select.query_row([&id.0], |row| Ok((row.get(ROW_NUMBER)?, read_row(row)?))).optional()?;
    let Some((number, mut row)) = found else { return Ok(None) };
    let mut select = conn.prepare_cached("SELECT depends_on FROM todo_deps WHERE todo_id = ?1 ORDER BY depends_on")?;
    row.todo.depends_on = select.query_map([&id.0], |row| row.get(0).map(TodoId))?.collect::<rusqlite::Result<_>>()?;
    Ok(Some((number, row)))
}

/// The todos that were changed after `last_change`, and the existing rows of them, without dependencies.
pub(super) fn changed_since(conn: &Connection, last_change: i64) -> rusqlite::Result<(Vec<TodoId>, Vec<Todo>)> {
    // The connection of the model's SQL accepts no parameters.
    let ids = format!("SELECT DISTINCT CAST(todo AS TEXT) FROM bosun_todo_log WHERE n > {last_change}");
    let rows = format!("SELECT {COLUMNS} FROM todos WHERE id IN ({ids})");
    let rows = conn.prepare(&rows)?.query_map([], |row| Ok(read_row(row)?.todo))?.collect::<rusqlite::Result<_>>()?;
    let todo_id = |row: &Row<'_>| Ok(TodoId(String::from_utf8_lossy(row.get_ref(0)?.as_bytes()?).into_owned()));
    let ids = conn.prepare(&ids)?.query_map([], todo_id)?.collect::<rusqlite::Result<_>>()?;
    Ok((ids, rows))
}

pub(super) fn dependencies(conn: &Connection) -> rusqlite::Result<BTreeMap<TodoId, Vec<TodoId>>> {
    let mut select = conn.prepare_cached("SELECT todo_id, depends_on FROM todo_deps ORDER BY todo_id, depends_on")?;
    let mut deps: BTreeMap<TodoId, Vec<TodoId>> = BTreeMap::new();
    for row in select.query_map([], |row| Ok((TodoId(row.get(0)?), TodoId(row.get(1)?))))? {
        let (todo, dependency) = row?;
        deps.entry(todo).or_default().push(dependency);
    }
    Ok(deps)
}

/// Reads a row; a value of another type is converted to text.
fn read_row(row: &Row<'_>) -> rusqlite::Result<TodoRow> {
    let text = |column: usize| -> rusqlite::Result<Option<String>> {
        Ok(match row.get_ref(column)? {
            rusqlite::types::ValueRef::Null => None,
            rusqlite::types::ValueRef::Integer(number) => Some(number.to_string()),
            rusqlite::types::ValueRef::Real(number) => Some(number.to_string()),
            rusqlite::types::ValueRef::Text(bytes) | rusqlite::types::ValueRef::Blob(bytes) => {
                Some(String::from_utf8_lossy(bytes).into_owned())
            }
        })
    };
    let non_empty = |column: usize| text(column).map(|text| text.filter(|text| !text.trim().is_empty()));
    let status = text(3)?.and_then(|name| TodoStatus::from_name(&name)).unwrap_or_default();
    let todo = Todo {
        id: TodoId(text(0)?.unwrap_or_default()),
        title: text(1)?.unwrap_or_default(),
        description: non_empty(2)?,
        status,
        depends_on: Vec::new(),
        agent_type: non_empty(4)?,
        model: non_empty(5)?,
        files: non_empty(6)?.map(|text| file_patterns(&text)).unwrap_or_default(),
        check: non_empty(7)?,
        expects: non_empty(8)?,
        reason: non_empty(9)?,
    };
    Ok(TodoRow { todo, task: non_empty(10)?, attempts: row.get::<_, i64>(11).unwrap_or(0).try_into().unwrap_or(0) })
}

/// The patterns of a `files` column: a JSON list, or lines.
fn file_patterns(text: &str) -> Vec<String> {
    serde_json::from_str(text)
        .unwrap_or_else(|_| text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect())
}
