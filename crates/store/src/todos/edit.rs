//! Todo edits by people and other programs, applied all or none.

use host::Home;
use protocol::api::{NewTodo, TodoChange, TodoEdit};
use protocol::{SessionId, TodoId, format_cycle};
use rusqlite::types::Value;
use rusqlite::{Connection, TransactionBehavior, params, params_from_iter};

use super::rows::todo_with_number;
use super::validation::{checked_files, checked_id, checked_text, checked_title, slug, stored_reason};
use super::{cycle, last_recorded};
use crate::StoreError;
use crate::commands::edit_unowned;
use crate::error::sqlite_error;
use crate::session::open_current;

/// Why the todos were not edited.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TodoError {
    /// A todo with this id already exists.
    #[error("todo `{0}` already exists; choose another id")]
    Taken(TodoId),
    /// There is no todo with this id.
    #[error("there is no todo `{0}`; `bosun todos` lists them")]
    Missing(TodoId),
    /// It would depend on a todo that does not exist.
    #[error("`{todo}` cannot depend on `{on}`, which does not exist; add that one first")]
    NoDependency {
        /// The todo.
        todo: TodoId,
        /// The missing dependency.
        on: TodoId,
    },
    /// The todos would form a cycle.
    #[error("todos would wait for each other: {}", format_cycle(.0))]
    Cycle(Vec<TodoId>),
    /// A text is not valid.
    #[error("{0}")]
    Invalid(String),
    /// The file failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The numbers of the changes of one edit in the change log.
pub type ChangeNumbers = std::ops::RangeInclusive<i64>;

/// Edits the todos of a session without an owner; returns the ids, in the order of the edits.
pub fn edit_todos(home: &Home, id: SessionId, edits: &[TodoEdit]) -> Result<Vec<TodoId>, TodoError> {
    // An invalid edit must not be reported as an error of the file.
    let mut refused = None;
    let edited = edit_unowned(home, id, |conn| match apply(conn, edits) {
        Ok(ids) => Ok(ids),
        Err(EditFailure::Sql(error)) => Err(error),
        Err(EditFailure::Refused(error)) => {
            refused = Some(error);
            Err(rusqlite::Error::StatementChangedRows(0))
        }
    });
    match refused {
        Some(error) => Err(error),
        None => Ok(edited?),
    }
}

/// Edits the todos of a session for its owner, which vouches for the changes before they become visible.
pub fn edit_own_todos(
    home: &Home,
    id: SessionId,
    edits: &[TodoEdit],
    vouch: impl FnOnce(ChangeNumbers),
) -> Result<Vec<TodoId>, TodoError> {
    let path = home.session_db(id);
    let mut conn = open_current(home, id, &path)?;
    let broken = |error| TodoError::Store(sqlite_error(&path)(error));
    let transaction = conn.transaction_with_behavior(TransactionBehavior::Immediate).map_err(broken)?;
    let before = last_recorded(&transaction).map_err(broken)?;
    let ids = apply(&transaction, edits).map_err(|error| match error {
        EditFailure::Refused(error) => error,
        EditFailure::Sql(error) => broken(error),
    })?;
    vouch(before + 1..=last_recorded(&transaction).map_err(broken)?);
    transaction.commit().map_err(broken)?;
    Ok(ids)
}

enum EditFailure {
    Refused(TodoError),
    Sql(rusqlite::Error),
}

impl From<TodoError> for EditFailure {
    fn from(error: TodoError) -> EditFailure {
        EditFailure::Refused(error)
    }
}

impl From<rusqlite::Error> for EditFailure {
    fn from(error: rusqlite::Error) -> EditFailure {
        EditFailure::Sql(error)
    }
}

fn apply(conn: &Connection, edits: &[TodoEdit]) -> Result<Vec<TodoId>, EditFailure> {
    let mut ids = Vec::new();
    // Write the rows first: an edit may name a dependency that a later edit adds.
    for edit in edits {
        ids.push(match edit {
            TodoEdit::Add(new) => add(conn, new)?,
            TodoEdit::Change(change) => change_row(conn, change)?,
        });
    }
    for (id, edit) in ids.iter().zip(edits) {
        match edit {
            TodoEdit::Add(new) => add_dependencies(conn, id, &new.depends_on)?,
            TodoEdit::Change(change) => {
                if let Some(dependencies) = &change.depends_on {
                    conn.execute("DELETE FROM todo_deps WHERE todo_id = ?1", [&id.0])?;
                    add_dependencies(conn, id, dependencies)?;
                }
            }
        }
    }
    match cycle::find_cycle(conn, ids.iter())? {
        Some(path) => Err(TodoError::Cycle(path).into()),
        None => Ok(ids),
    }
}

fn add(conn: &Connection, new: &NewTodo) -> Result<TodoId, EditFailure> {
    let id = match &new.id {
        Some(id) => checked_id(id)?,
        None => unused_id(conn, &slug(&new.title))?,
    };
    if todo_with_number(conn, &id)?.is_some() {
        return Err(TodoError::Taken(id).into());
    }
    let text =
        |field: &str, given: &Option<String>| given.as_deref().map(|given| checked_text(field, given)).transpose();
    let row = params![
        id.0,
        checked_title(&new.title)?,
        text("description", &new.description)?,
        text("agent", &new.agent_type)?,
        text("model", &new.model)?,
        checked_files(&new.files)?,
        text("check", &new.check)?,
        text("expects", &new.expects)?,
    ];
    conn.prepare_cached(
        "INSERT INTO todos (id, title, description, agent_type, model, files, check_command, expects)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute(row)?;
    Ok(id)
}

fn change_row(conn: &Connection, change: &TodoChange) -> Result<TodoId, EditFailure> {
    if todo_with_number(conn, &change.id)?.is_none() {
        return Err(TodoError::Missing(change.id.clone()).into());
    }
    let mut updates: Vec<(&str, Value)> = Vec::new();
    if let Some(given) = &change.title {
        updates.push(("title", checked_title(given)?.into()));
    }
    let texts = [
        ("description", &change.description),
        ("agent_type", &change.agent_type),
        ("model", &change.model),
        ("check_command", &change.check),
        ("expects", &change.expects),
    ];
    for (column, given) in texts {
        if let Some(given) = given {
            updates.push((column, checked_text(column, given)?.into()));
        }
    }
    if let Some(given) = &change.files {
        updates.push(("files", checked_files(given)?.into()));
    }
    if let Some(status) = change.status {
        updates.push(("status", status.as_str().to_owned().into()));
        updates.push(("reason", stored_reason(status, change.reason.as_deref())?.into()));
    }
    for (column, value) in updates {
        let now = "strftime('%Y-%m-%dT%H:%M:%fZ')";
        conn.prepare_cached(&format!("UPDATE todos SET {column} = ?1, updated_at = {now} WHERE id = ?2"))?
            .execute(params_from_iter([value, change.id.0.clone().into()]))?;
    }
    Ok(change.id.clone())
}

fn add_dependencies(conn: &Connection, todo: &TodoId, dependencies: &[TodoId]) -> Result<(), EditFailure> {
    for dependency in dependencies {
        if todo_with_number(conn, dependency)?.is_none() {
            return Err(TodoError::NoDependency { todo: todo.clone(), on: dependency.clone() }.into());
        }
        conn.prepare_cached("INSERT OR IGNORE INTO todo_deps (todo_id, depends_on) VALUES (?1, ?2)")?
            .execute([&todo.0, &dependency.0])?;
    }
    Ok(())
}

fn unused_id(conn: &Connection, slug: &str) -> Result<TodoId, EditFailure> {
    let mut id = TodoId(slug.to_owned());
    for number in 2.. {
        if todo_with_number(conn, &id)?.is_none() {
            break;
        }
        id = TodoId(format!("{slug}-{number}"));
    }
    Ok(id)
}
