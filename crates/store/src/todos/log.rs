//! The log of changes: which todos were changed, and by which agent if one did it.

use std::collections::BTreeMap;

use protocol::{TaskId, Todo, TodoId, TodoStatus, format_cycle};
use rusqlite::{Connection, OptionalExtension};

use super::cycle;
use super::rows::one;

/// Most changes that are read at once.
const CHUNK: i64 = 4096;

/// Most bytes of a todo's id.
const ID: usize = 200;

/// Todos that somebody changed since the runtime last looked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TodoChanges {
    /// Who did. Where several did, it is the one that may say least.
    pub by: TodoAuthor,
    /// Those that are there, as they are now, in the order that they were written.
    pub changed: Vec<Todo>,
    /// Those that are not.
    pub gone: Vec<TodoId>,
    /// The number of the last change that this covers.
    pub upto: u64,
}

/// Who changed a todo, those who may say least last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TodoAuthor {
    /// A person, or a program that acts for one.
    Person,
    /// The session's own agent.
    Root(TaskId),
    /// Another agent.
    Worker(TaskId),
    /// Whoever wrote to the file without being vouched for.
    Unverified,
}

/// The number of the last change that was ever noted. What is noted now gets a greater one than every row that is there,
/// whatever the engine's own table of numbers says.
pub(crate) fn last_recorded(conn: &Connection) -> rusqlite::Result<i64> {
    conn.prepare_cached(
        "SELECT max(coalesce((SELECT max(seq) FROM main.sqlite_sequence WHERE name = 'bosun_todo_log'), 0),
                    coalesce((SELECT max(n) FROM main.bosun_todo_log), 0))",
    )?
    .query_row([], |row| row.get(0))
}

/// The number of the last change that is noted and not taken over yet. Only the runtime removes notes, so within a
/// transaction of the model every later change has a greater one.
pub(crate) fn last_pending(conn: &Connection) -> rusqlite::Result<i64> {
    conn.prepare_cached("SELECT coalesce(max(n), 0) FROM main.bosun_todo_log")?.query_row([], |row| row.get(0))
}

/// What was changed since the runtime last looked, by whom; at most a chunk of it. A change without an author is a
/// person's, and one that is signed with the root's name is the root's, if `vouched` says so of its number: whatever can
/// write to the file can sign with any name.
pub(crate) fn changes(conn: &Connection, vouched: &dyn Fn(i64) -> bool) -> rusqlite::Result<Vec<TodoChanges>> {
    let mut authors: BTreeMap<TodoId, TodoAuthor> = BTreeMap::new();
    let root = root(conn)?;
    let mut upto: i64 = 0;
    let mut select =
        conn.prepare_cached("SELECT n, CAST(todo AS BLOB), author FROM bosun_todo_log ORDER BY n LIMIT ?1")?;
    let mut rows = select.query([CHUNK])?;
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
        // An id that is not text names nothing.
        if let Ok(id) = String::from_utf8(row.get(1)?) {
            let least = authors.entry(TodoId(id)).or_insert(author);
            *least = author.max(*least);
        }
    }
    by_author(conn, authors, upto.unsigned_abs())
}

fn by_author(
    conn: &Connection,
    authors: BTreeMap<TodoId, TodoAuthor>,
    upto: u64,
) -> rusqlite::Result<Vec<TodoChanges>> {
    let mut found: BTreeMap<TodoAuthor, AuthorChanges> = BTreeMap::new();
    for (id, author) in authors {
        let found = found.entry(author).or_default();
        match one(conn, &id)? {
            Some(row) => found.changed.push(row),
            None => found.gone.push(id),
        }
    }
    let told = found.into_iter().map(|(author, AuthorChanges { mut changed, gone })| {
        changed.sort_by_key(|(row, _)| *row);
        let changed = changed.into_iter().map(|(_, todo)| todo).collect();
        TodoChanges { by: author, changed, gone, upto }
    });
    Ok(told.collect())
}

/// What one author changed, each row with its place in the table.
#[derive(Default)]
struct AuthorChanges {
    changed: Vec<(i64, Todo)>,
    gone: Vec<TodoId>,
}

/// Puts the author to what was changed after `since`, in the transaction that changed it, and gives the todos as they
/// were written; says in words why they must not be changed like this.
pub(crate) fn sign(conn: &Connection, since: i64, author: Option<TaskId>) -> rusqlite::Result<SignResult> {
    if has_unnamed(conn)? {
        return Ok(Err("the id of a todo must be text".into()));
    }
    if last_pending(conn)? == since {
        return Ok(Ok(Vec::new()));
    }
    // The connection of the model's SQL takes no parameters, not even ours.
    let noted = format!(
        "SELECT DISTINCT CAST(todo AS BLOB), status FROM bosun_todo_log LEFT JOIN todos ON id = todo WHERE n > {since}"
    );
    let mut written: Vec<(TodoId, TodoStatus)> = Vec::new();
    let mut select = conn.prepare(&noted)?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let Ok(id) = String::from_utf8(row.get(0)?) else { return Ok(Err("the id of a todo must be text".into())) };
        if id.len() > ID {
            return Ok(Err(format!("the id of a todo may have {ID} bytes; put the rest into its title")));
        }
        if let Some(status) = row.get::<_, Option<String>>(1)?.and_then(|word| TodoStatus::from_name(&word)) {
            written.push((TodoId(id), status));
        }
    }
    if let Some(path) = cycle::from(conn, written.iter().map(|(id, _)| id))? {
        let circle = format_cycle(&path);
        return Ok(Err(format!("todos would wait for each other: {circle}; take one of these out of todo_deps")));
    }
    if let Some(author) = author {
        conn.execute(&format!("UPDATE bosun_todo_log SET author = '{author}' WHERE n > {since}"), [])?;
    }
    Ok(Ok(written))
}

/// Whether there is a todo without an id, of which no change could be noted.
fn has_unnamed(conn: &Connection) -> rusqlite::Result<bool> {
    let unnamed = "SELECT EXISTS (SELECT 1 FROM main.todos WHERE id IS NULL)";
    conn.prepare_cached(unnamed)?.query_row([], |row| row.get(0))
}

/// The todos that a call changed, or why it must not.
type SignResult = Result<Vec<(TodoId, TodoStatus)>, String>;

pub(super) fn root(conn: &Connection) -> rusqlite::Result<Option<String>> {
    conn.prepare_cached("SELECT id FROM bosun_tasks WHERE parent IS NULL")?.query_row([], |row| row.get(0)).optional()
}
