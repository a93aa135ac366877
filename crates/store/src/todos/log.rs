//! The change log of todos: which todos were changed, and by which agent if any.

use std::collections::BTreeMap;

use protocol::{TaskId, Todo, TodoId, TodoStatus, format_cycle};
use rusqlite::{Connection, OptionalExtension};

use super::cycle;
use super::rows::todo_with_number;

/// Maximum number of changes that are read at once.
const MAX_CHANGES_PER_READ: i64 = 4096;

/// Maximum bytes of a todo's id.
const ID: usize = 200;

/// Todos that one author changed since the runtime last read the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TodoChanges {
    /// The author; for a todo with several authors, the least trusted one.
    pub by: TodoAuthor,
    /// The changed todos as they are now, in the order they were written.
    pub changed: Vec<Todo>,
    /// The removed todos.
    pub gone: Vec<TodoId>,
    /// The number of the last change that this covers.
    pub upto: u64,
}

/// Who changed a todo, from most to least trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TodoAuthor {
    /// A person, or a program that acts for one.
    Person,
    /// The session's root.
    Root(TaskId),
    /// Another agent.
    Worker(TaskId),
    /// An unknown writer to the file, for which the owner does not vouch.
    Unverified,
}

/// The number of the last change that was ever recorded. It is at least the number of every existing row, even if
/// SQLite's own table of numbers is wrong.
pub(crate) fn last_recorded(conn: &Connection) -> rusqlite::Result<i64> {
    conn.prepare_cached(
        "SELECT max(coalesce((SELECT max(seq) FROM main.sqlite_sequence WHERE name = 'bosun_todo_log'), 0),
                    coalesce((SELECT max(n) FROM main.bosun_todo_log), 0))",
    )?
    .query_row([], |row| row.get(0))
}

/// The number of the last change that is recorded and not processed yet. Only the runtime removes entries, so within
/// a transaction of the model every later change has a greater number.
pub(crate) fn last_pending(conn: &Connection) -> rusqlite::Result<i64> {
    conn.prepare_cached("SELECT coalesce(max(n), 0) FROM main.bosun_todo_log")?.query_row([], |row| row.get(0))
}

/// The todos that were changed since the runtime last read the log, by author; at most one chunk. A change without an
/// author counts as the user's, and one signed by the root as the root's, only if `vouched` confirms its number: any
/// program that can write to the file can sign with any name.
pub(crate) fn changes(conn: &Connection, vouched: &dyn Fn(i64) -> bool) -> rusqlite::Result<Vec<TodoChanges>> {
    let mut authors: BTreeMap<TodoId, TodoAuthor> = BTreeMap::new();
    let root = root_id(conn)?;
    let mut upto: i64 = 0;
    let mut select =
        conn.prepare_cached("SELECT n, CAST(todo AS BLOB), author FROM bosun_todo_log ORDER BY n LIMIT ?1")?;
    let mut rows = select.query([MAX_CHANGES_PER_READ])?;
    while let Some(row) = rows.next()? {
        upto = row.get(0)?;
        let author = match row.get::<_, Option<String>>(2)? {
            None if vouched(upto) => TodoAuthor::Person,
            None => TodoAuthor::Unverified,
            Some(text) if Some(&text) == root.as_ref() && vouched(upto) => {
                text.parse().map_or(TodoAuthor::Unverified, TodoAuthor::Root)
            }
            Some(text) if Some(&text) == root.as_ref() => TodoAuthor::Unverified,
            Some(text) => text.parse().map_or(TodoAuthor::Unverified, TodoAuthor::Worker),
        };
        // An id that is not text is ignored.
        if let Ok(id) = String::from_utf8(row.get(1)?) {
            let least_trusted = authors.entry(TodoId(id)).or_insert(author);
            *least_trusted = author.max(*least_trusted);
        }
    }
    by_author(conn, authors, upto.unsigned_abs())
}

fn by_author(
    conn: &Connection,
    authors: BTreeMap<TodoId, TodoAuthor>,
    upto: u64,
) -> rusqlite::Result<Vec<TodoChanges>> {
    let mut changes: BTreeMap<TodoAuthor, AuthorChanges> = BTreeMap::new();
    for (id, author) in authors {
        let of_author = changes.entry(author).or_default();
        match todo_with_number(conn, &id)? {
            Some(row) => of_author.changed.push(row),
            None => of_author.gone.push(id),
        }
    }
    let changes = changes.into_iter().map(|(author, AuthorChanges { mut changed, gone })| {
        changed.sort_by_key(|(row, _)| *row);
        let changed = changed.into_iter().map(|(_, todo)| todo).collect();
        TodoChanges { by: author, changed, gone, upto }
    });
    Ok(changes.collect())
}

/// What one author changed, each row with its position in the table.
#[derive(Default)]
struct AuthorChanges {
    changed: Vec<(i64, Todo)>,
    gone: Vec<TodoId>,
}

/// Records the author of the changes after `since`, in the transaction that made them. Returns the changed todos, or
/// the reason why the changes are not allowed.
pub(crate) fn sign(conn: &Connection, since: i64, author: Option<TaskId>) -> rusqlite::Result<SignResult> {
    if has_todo_without_id(conn)? {
        return Ok(Err("the id of a todo must be text".into()));
    }
    if last_pending(conn)? == since {
        return Ok(Ok(Vec::new()));
    }
    // The connection of the model's SQL accepts no parameters, not even from the runtime.
    let sql = format!(
        "SELECT DISTINCT CAST(todo AS BLOB), status FROM bosun_todo_log LEFT JOIN todos ON id = todo WHERE n > {since}"
    );
    let mut written: Vec<(TodoId, TodoStatus)> = Vec::new();
    let mut select = conn.prepare(&sql)?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let Ok(id) = String::from_utf8(row.get(0)?) else { return Ok(Err("the id of a todo must be text".into())) };
        if id.len() > ID {
            return Ok(Err(format!("the id of a todo may have at most {ID} bytes; put the rest into its title")));
        }
        if let Some(status) = row.get::<_, Option<String>>(1)?.and_then(|name| TodoStatus::from_name(&name)) {
            written.push((TodoId(id), status));
        }
    }
    if let Some(path) = cycle::find_cycle(conn, written.iter().map(|(id, _)| id))? {
        let cycle = format_cycle(&path);
        return Ok(Err(format!("todos would wait for each other: {cycle}; remove one of these from todo_deps")));
    }
    if let Some(author) = author {
        conn.execute(&format!("UPDATE bosun_todo_log SET author = '{author}' WHERE n > {since}"), [])?;
    }
    Ok(Ok(written))
}

/// Whether there is a todo without an id, whose changes could not be recorded.
fn has_todo_without_id(conn: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM main.todos WHERE id IS NULL)";
    conn.prepare_cached(sql)?.query_row([], |row| row.get(0))
}

/// The todos that a call changed, or why the change is not allowed.
type SignResult = Result<Vec<(TodoId, TodoStatus)>, String>;

pub(super) fn root_id(conn: &Connection) -> rusqlite::Result<Option<String>> {
    conn.prepare_cached("SELECT id FROM bosun_tasks WHERE parent IS NULL")?.query_row([], |row| row.get(0)).optional()
}
