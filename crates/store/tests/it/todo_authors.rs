//! The recorded author of a todo change does not depend on anything that an agent's SQL can write: each row that a
//! worker changes is recorded as its own, and it cannot change what only the main agent may change.

use std::collections::{BTreeMap, BTreeSet};

use protocol::{Event, LogEntry};
use store::{OwnedSession, SqlConnection, SqlError, SqlLimits, TodoAuthor};

use crate::support::*;

struct TodoAuthorFixture {
    fixture: StoreFixture,
    opened: OwnedSession,
    space: SqlConnection,
}

/// A main agent, task 1, with a plan, and a worker, task 2.
fn scene() -> TodoAuthorFixture {
    let fixture = fixture();
    let opened = create(&fixture.home, session(1));
    commit(&opened.writer, first_entries()).unwrap();
    let below = Event::TaskCreated(Box::new(spec(Some(task(1)), "worker")));
    commit(&opened.writer, vec![LogEntry { task: task(2), ..entry(20, below) }]).unwrap();
    let space = SqlConnection::open(&fixture.home.session_db(session(1)), SqlLimits::default()).unwrap();
    let plan = "INSERT INTO todos (id, title, check_command) VALUES ('own', 'mine', 'true'), ('victim', 'v', 'make test'), ('low', 'l', NULL);
                INSERT INTO todo_deps VALUES ('low', 'victim')";
    space.run_by(task(1), plan, || false).unwrap();
    let scene = TodoAuthorFixture { fixture, opened, space };
    scene.record_changes();
    scene
}

impl TodoAuthorFixture {
    /// Records the changes in events, as the runtime does.
    fn record_changes(&self) {
        for batch in reader(&self.fixture.home, session(1)).todo_changes(&|_n| true).unwrap() {
            let by = match batch.by {
                TodoAuthor::Root(id) | TodoAuthor::Worker(id) => protocol::Principal::Task { id },
                TodoAuthor::Person | TodoAuthor::Unverified => protocol::Principal::User,
            };
            let event = Event::TodosChanged { by, changed: batch.changed, gone: batch.gone, upto: batch.upto };
            commit(&self.opened.writer, vec![entry(30, event)]).unwrap();
        }
    }

    /// All columns and dependencies of every todo, by id.
    fn rows(&self) -> BTreeMap<String, String> {
        let conn = raw_connection(&self.fixture.home.session_db(session(1)));
        let deps = "(SELECT group_concat(quote(depends_on)) FROM (SELECT * FROM todo_deps WHERE todo_id IS t.id ORDER BY depends_on))";
        let row =
            "quote(title) || quote(status) || quote(description) || quote(reason) || quote(task) || quote(attempts)";
        let orders = "quote(agent_type) || quote(model) || quote(files) || quote(check_command) || quote(expects)";
        let sql = format!("SELECT quote(id), {row} || {orders} || ifnull({deps}, '') FROM todos t");
        let mut select = conn.prepare(&sql).unwrap();
        let rows = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.map(Result::unwrap).collect()
    }

    /// The columns that a worker may not change.
    fn guarded_columns(&self) -> Vec<String> {
        let conn = raw_connection(&self.fixture.home.session_db(session(1)));
        let column = |name| format!("quote(nullif(trim({name}), ''))");
        let orders = ["agent_type", "model", "files", "check_command", "expects"].map(column).join(" || ");
        strings(
            &conn,
            &format!("SELECT quote(id) || {orders} FROM todos WHERE id IN ('own', 'victim', 'low') ORDER BY 1"),
        )
    }

    /// The changed todos. Asserts that only the worker is recorded as their author.
    fn signed(&self) -> BTreeSet<String> {
        let mut signed = BTreeSet::new();
        for batch in reader(&self.fixture.home, session(1)).todo_changes(&|_n| true).unwrap() {
            assert_eq!(batch.by, TodoAuthor::Worker(task(2)), "another author is recorded: {batch:?}");
            let ids = batch.changed.into_iter().map(|todo| todo.id).chain(batch.gone);
            signed.extend(ids.map(|id| format!("'{}'", id.0.replace('\'', "''"))));
        }
        signed
    }
}

#[rustfmt::skip]
const ATTACKS: &[&str] = &[
    // SQLite's table of assigned numbers.
    "CREATE TEMP TABLE k AS SELECT seq FROM sqlite_sequence WHERE name = 'bosun_todo_log'; UPDATE todos SET status = 'done' WHERE id = 'victim'; UPDATE sqlite_sequence SET seq = (SELECT seq FROM k) WHERE name = 'bosun_todo_log'",
    "UPDATE todos SET status = 'done'; DELETE FROM sqlite_sequence",
    "UPDATE todos SET status = 'done'; DELETE FROM main.\"SQLITE_Sequence\"",
    "INSERT INTO sqlite_sequence VALUES ('bosun_todo_log', 9223372036854775807)",
    "UPDATE sqlite_sequence SET seq = 9223372036854775807",
    "UPDATE sqlite_sequence SET name = 'other'",
    "REPLACE INTO sqlite_sequence (rowid, name, seq) VALUES (1, 'x', 1)",
    "INSERT INTO sqlite_sequence SELECT 'bosun_todo_log', -5 RETURNING 1",
    "WITH x AS (SELECT 1) DELETE FROM sqlite_sequence WHERE name IN (SELECT name FROM sqlite_sequence)",
    "UPDATE todos SET status = 'done'; CREATE TABLE t (x INTEGER PRIMARY KEY AUTOINCREMENT); DROP TABLE t; UPDATE sqlite_sequence SET seq = 0",
    "CREATE TABLE t (x INTEGER PRIMARY KEY AUTOINCREMENT); ALTER TABLE t RENAME TO u; DELETE FROM sqlite_sequence",
    "CREATE TABLE sqlite_stat1 (tbl, idx, stat)",
    // Rows that are replaced instead of deleted.
    "INSERT OR REPLACE INTO todos (rowid, id, title) SELECT rowid, 'new', 'x' FROM todos WHERE id = 'victim'",
    "REPLACE INTO todos (_rowid_, id, title) SELECT rowid, 'own', 'x' FROM todos WHERE id = 'victim'",
    "UPDATE OR REPLACE todos SET rowid = (SELECT rowid FROM todos WHERE id = 'victim') WHERE id = 'own'",
    "UPDATE OR REPLACE todos SET oid = (SELECT oid FROM todos WHERE id = 'victim'), status = 'done' WHERE id = 'low'",
    "UPDATE OR REPLACE todos SET id = 'victim' WHERE id = 'own'",
    "INSERT INTO todos (id, title) VALUES ('victim', 'x') ON CONFLICT DO UPDATE SET status = 'done', check_command = 'true'",
    "INSERT INTO todos (id, title) VALUES ('victim', 'x') ON CONFLICT (id) DO UPDATE SET id = 'gone'",
    "INSERT OR REPLACE INTO todo_deps (rowid, todo_id, depends_on) SELECT rowid, 'own', 'low' FROM todo_deps WHERE todo_id = 'low'",
    "UPDATE OR REPLACE todo_deps SET todo_id = 'own'",
    "UPDATE OR IGNORE todos SET id = NULL WHERE id = 'victim'",
    "INSERT OR IGNORE INTO todos (id, title, status) VALUES (NULL, 'x', 'done')",
    "UPDATE OR IGNORE todos SET status = 'done' WHERE id = 'victim'",
    "UPDATE OR FAIL todos SET status = 'done'",
    "UPDATE OR ROLLBACK todos SET status = 'done'; UPDATE todos SET status = 'nonsense'",
    "UPDATE todos SET rowid = rowid + 1000",
    "UPDATE todos SET id = CAST(id AS BLOB)",
    "INSERT INTO todos (id, title, status) VALUES (x'76696374696d', 'as bytes', 'done')",
    "DELETE FROM todos",
    "DELETE FROM todos WHERE id = 'victim' RETURNING id",
    "DELETE FROM todos WHERE rowid IN (SELECT rowid FROM todos WHERE id = 'victim')",
    // Names that shadow the real tables.
    "CREATE TEMP TABLE todos (id, title, status)",
    "CREATE TEMP TABLE x (id, title, status); ALTER TABLE x RENAME TO todos; UPDATE main.todos SET status = 'done'",
    "CREATE TEMP TABLE x (n, todo, author); ALTER TABLE x RENAME TO bosun_todo_log; UPDATE todos SET status = 'done'",
    "CREATE TEMP TABLE x (name, seq); ALTER TABLE x RENAME TO sqlite_sequence; UPDATE todos SET status = 'done'",
    "CREATE TEMP VIEW todos AS SELECT * FROM main.todos",
    "CREATE TEMP VIEW bosun_tasks AS SELECT 'x' AS id, NULL AS parent",
    "CREATE VIEW v AS SELECT * FROM todos; UPDATE v SET status = 'done'",
    "WITH todos AS (SELECT 1) UPDATE main.todos SET status = 'done' WHERE id = 'victim'",
    "UPDATE main.\"ToDos\" SET status = 'done' WHERE id = 'victim'",
    "CREATE TEMP TABLE sqlite_sequence (name, seq)",
    // Triggers, definitions and pragmas.
    "CREATE TRIGGER t AFTER INSERT ON bosun_todo_log BEGIN DELETE FROM bosun_todo_log; END",
    "CREATE TEMP TRIGGER t AFTER UPDATE ON main.todos BEGIN SELECT RAISE(IGNORE); END",
    "CREATE TEMP TRIGGER bosun_t AFTER UPDATE ON main.todos BEGIN INSERT INTO bosun_todo_log (todo, author) VALUES ('victim', NULL); END",
    "DROP TRIGGER bosun_todo_changed",
    "DROP TRIGGER IF EXISTS main.bosun_todo_gone; DELETE FROM todos",
    "PRAGMA recursive_triggers = OFF",
    "PRAGMA writable_schema = 1; DELETE FROM sqlite_schema WHERE type = 'trigger'",
    "PRAGMA defer_foreign_keys = ON; DELETE FROM todos WHERE id = 'victim'",
    "PRAGMA foreign_keys = OFF; DELETE FROM todos WHERE id = 'victim'",
    "DELETE FROM sqlite_schema WHERE name LIKE 'bosun_todo%'",
    "UPDATE sqlite_master SET sql = NULL WHERE type = 'trigger'",
    "SELECT * FROM pragma_recursive_triggers",
    "ALTER TABLE todos DISABLE TRIGGER ALL",
    "ALTER TABLE todos RENAME COLUMN id TO name",
    "CREATE VIRTUAL TABLE f USING fts5 (id, content = 'todos')",
    "CREATE TABLE todos AS SELECT * FROM todos",
    "DROP TABLE todos; CREATE TABLE todos (id, title)",
    // Indexes that would prevent the runtime's writes.
    "CREATE UNIQUE INDEX u ON todos (status)",
    "CREATE INDEX e ON todos (json(title))",
    "CREATE INDEX e ON todo_deps (abs(-9223372036854775807 - 1 + length(todo_id)))",
    "CREATE UNIQUE INDEX p ON todos ((1)) WHERE status = 'done'",
    // Transactions that end before the change is signed.
    "UPDATE todos SET status = 'done'; COMMIT; SELECT 1",
    "UPDATE todos SET status = 'done'; END; BEGIN; SELECT 1",
    "SAVEPOINT s; UPDATE todos SET status = 'done'; RELEASE s",
    "UPDATE todos SET status = 'done'; ROLLBACK",
    // Changing the recorded author.
    "UPDATE bosun_todo_log SET author = NULL",
    "INSERT INTO bosun_todo_log (todo, author) VALUES ('victim', NULL)",
    "DELETE FROM bosun_todo_log",
    "UPDATE todos SET task = 'task-00000000-0000-0000-0000-000000000001', attempts = 99 WHERE id = 'victim'",
    "UPDATE todos SET status = 'done', check_command = check_command WHERE id = 'victim'",
    "UPDATE todos SET files = '', agent_type = ' ' WHERE id = 'victim'",
    "DELETE FROM todo_deps",
    "UPDATE todo_deps SET depends_on = 'own'",
];

#[test]
fn every_change_of_a_worker_is_signed_with_its_id_or_refused() {
    for sql in ATTACKS {
        let scene = scene();
        let (rows, orders) = (scene.rows(), scene.guarded_columns());
        let answer = scene.space.run_by(task(2), sql, || false);
        assert!(matches!(answer, Ok(_) | Err(SqlError::Refused(_))), "{sql}\n{answer:?}");
        let after = scene.rows();
        assert_eq!(scene.guarded_columns(), orders, "{sql}");
        let changed: BTreeSet<String> =
            rows.keys().chain(after.keys()).filter(|id| rows.get(*id) != after.get(*id)).cloned().collect();
        if answer.is_err() {
            assert_eq!(changed, BTreeSet::new(), "{sql}\nwas refused but changed something");
        }
        let signed = scene.signed();
        assert!(changed.is_subset(&signed), "{sql}\nchanged {changed:?}, signed {signed:?}");
        // The user's next change is recorded as the user's only, and the runtime can still write.
        scene.record_changes();
        store::edit_todos(
            &scene.fixture.home,
            session(1),
            &[protocol::api::TodoEdit::Add(protocol::api::NewTodo {
                id: Some("after".into()),
                title: "t".into(),
                ..protocol::api::NewTodo::default()
            })],
        )
        .unwrap();
        let changes = reader(&scene.fixture.home, session(1)).todo_changes(&|_n| true).unwrap();
        assert_eq!(
            changes.iter().map(|batch| (batch.by, batch.changed.len())).collect::<Vec<_>>(),
            [(TodoAuthor::Person, 1)],
            "{sql}"
        );
        for id in ["own", "victim", "low"] {
            let done = Event::TodoDone { todo: id.into(), fence: None, reused: None };
            commit(&scene.opened.writer, vec![entry(40, done)]).unwrap();
        }
    }
}

#[test]
fn tables_with_autoincrement_can_be_created_renamed_and_dropped() {
    let scene = scene();
    let own = "CREATE TABLE t (x INTEGER PRIMARY KEY AUTOINCREMENT, y); INSERT INTO t (y) VALUES (1), (2);
               ALTER TABLE t RENAME TO u; INSERT INTO u (y) VALUES (3); CREATE INDEX i ON u (y); DROP TABLE u";
    scene.space.run_by(task(2), own, || false).unwrap();
    scene.space.run_by(task(2), "CREATE TEMP TABLE v AS SELECT 1 AS x; DROP TABLE v", || false).unwrap();
}
