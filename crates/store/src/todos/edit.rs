//! Edits of people and other programs: all of them, or none.

use host::Home;
use protocol::api::{NewTodo, TodoChange, TodoEdit};
use protocol::{SessionId, TodoId, TodoStatus, circle};
use rusqlite::types::Value;
use rusqlite::{Connection, TransactionBehavior, params, params_from_iter};

use super::cycle;
use super::rows::one;
use crate::StoreError;
use crate::error::fault;
use crate::session::open_current;

/// Most bytes of an id that somebody chooses.
const ID: usize = 100;

/// Most characters of an id that is made from a title.
const SLUG: usize = 32;

/// Most bytes of each text of a todo.
const TEXT: usize = 64 * 1024;

/// Why the todos were not edited.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TodoError {
    /// There is one with this id.
    #[error("there is a todo `{0}` already; choose another id")]
    Taken(TodoId),
    /// There is none with this id.
    #[error("there is no todo `{0}`; `bosun todos` lists them")]
    Missing(TodoId),
    /// It is to wait for one that is not there.
    #[error("`{todo}` cannot depend on `{on}`, which does not exist; add that one first")]
    NoDependency {
        /// The todo.
        todo: TodoId,
        /// What it was to depend on.
        on: TodoId,
    },
    /// Todos would wait for each other.
    #[error("todos would wait for each other: {}", circle(.0))]
    Cycle(Vec<TodoId>),
    /// A text cannot be used.
    #[error("{0}")]
    Unfit(String),
    /// The file failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Edits the todos of a session, whoever owns it; gives the ids, in the order of the edits.
pub fn edit_todos(home: &Home, id: SessionId, edits: &[TodoEdit]) -> Result<Vec<TodoId>, TodoError> {
    let path = home.session_db(id);
    let mut conn = open_current(home, id, &path)?;
    let broken = |error| TodoError::Store(fault(&path)(error));
    let change = conn.transaction_with_behavior(TransactionBehavior::Immediate).map_err(broken)?;
    let ids = apply(&change, edits).map_err(|error| match error {
        Failed::Edit(error) => error,
        Failed::Sql(error) => broken(error),
    })?;
    change.commit().map_err(broken)?;
    Ok(ids)
}

enum Failed {
    Edit(TodoError),
    Sql(rusqlite::Error),
}

impl From<TodoError> for Failed {
    fn from(error: TodoError) -> Failed {
        Failed::Edit(error)
    }
}

impl From<rusqlite::Error> for Failed {
    fn from(error: rusqlite::Error) -> Failed {
        Failed::Sql(error)
    }
}

fn apply(conn: &Connection, edits: &[TodoEdit]) -> Result<Vec<TodoId>, Failed> {
    let mut ids = Vec::new();
    // Rows first: a dependency may be named before the edit that makes it.
    for edit in edits {
        ids.push(match edit {
            TodoEdit::Add(new) => add(conn, new)?,
            TodoEdit::Change(change) => alter(conn, change)?,
        });
    }
    for (id, edit) in ids.iter().zip(edits) {
        match edit {
            TodoEdit::Add(new) => depend(conn, id, &new.depends_on)?,
            TodoEdit::Change(change) => {
                if let Some(on) = &change.depends_on {
                    conn.execute("DELETE FROM todo_deps WHERE todo_id = ?1", [&id.0])?;
                    depend(conn, id, on)?;
                }
            }
        }
    }
    match cycle::from(conn, ids.iter())? {
        Some(path) => Err(TodoError::Cycle(path).into()),
        None => Ok(ids),
    }
}

fn add(conn: &Connection, new: &NewTodo) -> Result<TodoId, Failed> {
    let id = match &new.id {
        Some(id) => chosen(id)?,
        None => unused(conn, &slug(&new.title))?,
    };
    if one(conn, &id)?.is_some() {
        return Err(TodoError::Taken(id).into());
    }
    let text = |what: &str, given: &Option<String>| given.as_deref().map(|given| words(what, given)).transpose();
    let row = params![
        id.0,
        title(&new.title)?,
        text("description", &new.description)?,
        text("agent", &new.agent_type)?,
        text("model", &new.model)?,
        files(&new.files)?,
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

fn alter(conn: &Connection, change: &TodoChange) -> Result<TodoId, Failed> {
    if one(conn, &change.id)?.is_none() {
        return Err(TodoError::Missing(change.id.clone()).into());
    }
    let mut set: Vec<(&str, Value)> = Vec::new();
    if let Some(given) = &change.title {
        set.push(("title", title(given)?.into()));
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
            set.push((column, words(column, given)?.into()));
        }
    }
    if let Some(given) = &change.files {
        set.push(("files", files(given)?.into()));
    }
    if let Some(status) = change.status {
        set.push(("status", status.word().to_owned().into()));
        set.push(("reason", reason(status, change.reason.as_deref())?.into()));
    }
    for (column, value) in set {
        let now = "strftime('%Y-%m-%dT%H:%M:%fZ')";
        conn.prepare_cached(&format!("UPDATE todos SET {column} = ?1, updated_at = {now} WHERE id = ?2"))?
            .execute(params_from_iter([value, change.id.0.clone().into()]))?;
    }
    Ok(change.id.clone())
}

fn depend(conn: &Connection, todo: &TodoId, on: &[TodoId]) -> Result<(), Failed> {
    for above in on {
        if one(conn, above)?.is_none() {
            return Err(TodoError::NoDependency { todo: todo.clone(), on: above.clone() }.into());
        }
        conn.prepare_cached("INSERT OR IGNORE INTO todo_deps (todo_id, depends_on) VALUES (?1, ?2)")?
            .execute([&todo.0, &above.0])?;
    }
    Ok(())
}

/// A reason goes with what is blocked; whatever else is said of a todo ends it.
fn reason(status: TodoStatus, given: Option<&str>) -> Result<Option<String>, TodoError> {
    match status {
        TodoStatus::Blocked => given.map(|given| words("reason", given)).transpose(),
        TodoStatus::Pending | TodoStatus::InProgress | TodoStatus::Done => Ok(None),
    }
}

fn chosen(id: &TodoId) -> Result<TodoId, TodoError> {
    let unfit = |what: &str| Err(TodoError::Unfit(format!("the id {:?} {what}", id.0)));
    match &*id.0 {
        "" => unfit("is empty; leave it out to have one made"),
        text if text.len() > ID => unfit(&format!("is longer than {ID} bytes")),
        text if text.chars().any(|c| c.is_control() || c.is_whitespace()) => {
            unfit("has blanks or control characters; use letters, digits and dashes")
        }
        _fit => Ok(id.clone()),
    }
}

/// An id that says what the title says.
fn slug(title: &str) -> String {
    let words = title.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let mut slug = String::new();
    for word in words {
        let longer = slug.chars().count() + 1 + word.chars().count();
        if !slug.is_empty() && longer > SLUG {
            break;
        }
        slug += if slug.is_empty() { "" } else { "-" };
        slug.extend(word.to_lowercase().chars().take(SLUG));
    }
    if slug.is_empty() { "todo".into() } else { slug }
}

fn unused(conn: &Connection, slug: &str) -> Result<TodoId, Failed> {
    let mut id = TodoId(slug.to_owned());
    for number in 2.. {
        if one(conn, &id)?.is_none() {
            break;
        }
        id = TodoId(format!("{slug}-{number}"));
    }
    Ok(id)
}

fn title(given: &str) -> Result<String, TodoError> {
    let title = words("title", given)?;
    if title.trim().is_empty() {
        return Err(TodoError::Unfit("the title is empty; say what is to be done".into()));
    }
    Ok(title)
}

fn words(what: &str, given: &str) -> Result<String, TodoError> {
    if given.len() > TEXT {
        return Err(TodoError::Unfit(format!("the {what} is longer than {TEXT} bytes; put it into a file")));
    }
    Ok(given.to_owned())
}

fn files(given: &[String]) -> Result<Option<String>, TodoError> {
    if given.is_empty() {
        return Ok(None);
    }
    let list = serde_json::to_string(given).map_err(|error| TodoError::Unfit(error.to_string()))?;
    words("list of files", &list).map(Some)
}

#[cfg(test)]
mod tests {
    use super::slug;

    #[test]
    fn an_id_is_made_of_the_title_s_first_words() {
        let slugs = ["Fix the tests!", "  ", "Größe prüfen", "…", &"x".repeat(99)].map(slug);
        assert_eq!(slugs[..4], ["fix-the-tests", "todo", "größe-prüfen", "todo"]);
        assert_eq!(slugs[4].len(), 32);
        assert_eq!(slug("one two three four five six seven eight nine"), "one-two-three-four-five-six");
    }
}
