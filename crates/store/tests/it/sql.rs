//! Ordinary use of the model's SQL.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use store::{OwnedSession, SqlConnection, SqlError, SqlLimits, SqlOutput};

use crate::support::*;

struct SqlFixture {
    fixture: StoreFixture,
    opened: OwnedSession,
    space: SqlConnection,
}

fn context(limits: SqlLimits) -> SqlFixture {
    let fixture = fixture();
    let opened = create(&fixture.home, session(1));
    commit(&opened.writer, first_entries()).unwrap();
    let space = SqlConnection::open(&fixture.home.session_db(session(1)), limits).unwrap();
    SqlFixture { fixture, opened, space }
}

impl SqlFixture {
    fn run(&self, sql: &str) -> Result<SqlOutput, SqlError> {
        self.space.run(sql, || false)
    }

    #[track_caller]
    fn text(&self, sql: &str) -> String {
        self.run(sql).unwrap().text.into_string()
    }

    #[track_caller]
    fn refusal(&self, sql: &str) -> String {
        match self.run(sql) {
            Err(SqlError::Refused(text)) => text,
            other => panic!("{other:?}"),
        }
    }
}

const PLAN: &str = "
    INSERT INTO todos (id, title, status) VALUES ('a', 'read', 'done'), ('b', 'write', 'pending'), ('c', 'ship', 'pending');
    INSERT INTO todo_deps VALUES ('b', 'a'), ('c', 'b');";

const READY: &str = "
    SELECT id, title FROM todos t WHERE status = 'pending' AND NOT EXISTS (
        SELECT 1 FROM todo_deps d JOIN todos p ON p.id = d.depends_on WHERE d.todo_id = t.id AND p.status <> 'done')
    ORDER BY id";

#[test]
fn a_plan_can_be_written_and_its_ready_todos_found() {
    let context = context(SqlLimits::default());
    assert_eq!(context.text(PLAN), "3 rows changed\n2 rows changed");
    assert_eq!(context.text(READY), "id | title\nb | write\n(1 row)");
    let moved = context.text("UPDATE todos SET status = 'done' WHERE id = 'b' RETURNING id, status");
    assert_eq!(moved, "id | status\nb | done\n(1 row)");
    assert_eq!(context.text(READY), "id | title\nc | ship\n(1 row)");
    assert_eq!(context.run("DELETE FROM todos WHERE id = 'a'").unwrap().changed, 1);
    assert_eq!(context.text("SELECT count(*) AS n FROM todo_deps"), "n\n1\n(1 row)");
}

#[test]
fn the_model_can_create_tables_views_and_indexes_in_one_call() {
    let context = context(SqlLimits::default());
    let text = context.text(
        "-- a comment; with a semicolon
         CREATE TABLE finding (n INTEGER PRIMARY KEY AUTOINCREMENT, file TEXT NOT NULL, score REAL, raw BLOB);
         INSERT INTO finding (file, score, raw) VALUES ('a.rs', 1.5, x'00ff'), ('b''s.rs', NULL, NULL);
         CREATE INDEX finding_file ON finding (file);
         CREATE VIEW worst AS SELECT file FROM finding WHERE score > 1;
         CREATE TEMP TABLE scratch AS SELECT * FROM worst;
         ALTER TABLE finding ADD COLUMN note TEXT;
         ALTER TABLE finding RENAME COLUMN note TO remark;
         SELECT * FROM finding ORDER BY n; /* and */ ;;
         DROP VIEW worst; DROP INDEX finding_file; SELECT file FROM scratch",
    );
    let table = "n | file | score | raw | remark\n1 | a.rs | 1.5 | x'00ff' | NULL\n2 | b's.rs | NULL | NULL | NULL";
    assert!(text.contains(table), "{text}");
    assert!(text.ends_with("file\na.rs\n(1 row)"), "{text}");
    context.text("DROP TABLE finding");
}

#[test]
fn recursive_queries_windows_and_json_work() {
    let context = context(SqlLimits::default());
    let text = context.text(
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 4)
         SELECT x, sum(x) OVER (ORDER BY x) AS running FROM n",
    );
    assert_eq!(text, "x | running\n1 | 1\n2 | 3\n3 | 6\n4 | 10\n(4 rows)");
    let text = context.text(r#"SELECT value ->> 'a' AS a FROM json_each('[{"a":1},{"a":"two"}]')"#);
    assert_eq!(text, "a\n1\ntwo\n(2 rows)");
    let text = context.text("SELECT instr('häuser', 'user') i, replace('a-b-c', '-', '+') r, trim('xxaxx', 'x') t");
    assert_eq!(text, "i | r | t\n3 | a+b+c | a\n(1 row)");
    let text = context
        .text("SELECT instr(x'0102ff', x'ff'), instr(NULL, 'a'), rtrim('ab ', ' '), instr(123, 2), trim('  a ')");
    assert!(text.contains("\n3 | NULL | ab | 2 | a\n"), "{text}");
}

#[test]
fn a_call_is_one_transaction_even_with_begin_and_commit() {
    let context = context(SqlLimits::default());
    context.text("BEGIN; CREATE TABLE t (x); INSERT INTO t VALUES (1); COMMIT; INSERT INTO t VALUES (2); END");
    assert_eq!(context.text("SELECT count(*) AS n FROM t"), "n\n2\n(1 row)");

    let refusal = context.refusal("INSERT INTO t VALUES (3); SELECT * FROM nowhere");
    assert_eq!(refusal, "statement 2: no such table: nowhere; the call changed nothing");
    assert_eq!(context.text("SELECT count(*) AS n FROM t"), "n\n2\n(1 row)");

    let refusal = context.refusal("INSERT INTO t VALUES (3); ROLLBACK");
    assert!(refusal.starts_with("statement 2: ROLLBACK is not available"), "{refusal}");
    assert!(context.refusal("SAVEPOINT a").contains("one transaction"));
    assert!(context.refusal("INSERT OR ROLLBACK INTO todos (id) VALUES ('x')").contains("NOT NULL"));
    context.text("BEGIN");
    commit(&context.opened.writer, vec![intent(30)]).unwrap();
}

#[test]
fn invalid_sql_is_refused_with_sqlite_s_message() {
    let context = context(SqlLimits::default());
    context.text(PLAN);
    assert!(context.refusal("UPDATE todos SET status = 'finished'").contains("CHECK constraint failed"));
    assert!(context.refusal("INSERT INTO todo_deps VALUES ('b', 'zzz')").contains("FOREIGN KEY constraint failed"));
    assert!(context.refusal("SELECT 'unterminated").contains("unrecognized token"));
    assert!(context.refusal("SELEC 1").contains("syntax error"));
    assert!(context.refusal("SELECT \"no_such_column\" FROM todos").contains("no such column"));
    assert!(context.refusal("SELECT ?").contains("statement 1"));
    assert_eq!(context.text(""), "");
    assert_eq!(context.text("  -- nothing"), "");
}

#[test]
fn one_statement_can_insert_a_thousand_rows() {
    let context = context(SqlLimits::default());
    let rows = (0..1000).map(|n| format!("('t{n}', 'do {n}')")).collect::<Vec<_>>().join(", ");
    assert_eq!(context.text(&format!("INSERT INTO todos (id, title) VALUES {rows}")), "1000 rows changed");
}

#[test]
fn rows_and_text_are_limited_with_a_note() {
    let context = context(SqlLimits { rows: 3, output: 300, ..SqlLimits::default() });
    let many = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 50) SELECT x FROM n";
    let text = context.text(many);
    assert!(text.starts_with("x\n1\n2\n3\n(3 rows shown, there are more"), "{text}");
    let wide = context.text("SELECT printf('%.1000c', 'w')");
    assert!(wide.len() <= 300 && wide.contains("bytes left out"), "{wide}");
}

#[test]
fn a_query_does_not_wait_for_the_writer() {
    let context = context(SqlLimits::default());
    let lock = raw_connection(&context.fixture.home.session_db(session(1)));
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(context.text("SELECT count(*) AS n FROM todos"), "n\n0\n(1 row)");
}

#[test]
fn a_call_can_be_cancelled_from_outside() {
    let context = context(SqlLimits { deadline: Duration::from_secs(60), ..SqlLimits::default() });
    let cancelled = Arc::new(AtomicBool::new(false));
    let cancel_flag = cancelled.clone();
    let began = Instant::now();
    let endless = "INSERT INTO todos (id, title) VALUES ('x', 'y');
                   WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n";
    let answer = context.space.run(endless, move || {
        // The first check comes before the work, later ones during it.
        cancel_flag.load(Ordering::SeqCst) || began.elapsed() > Duration::from_millis(50)
    });
    cancelled.store(true, Ordering::SeqCst);
    assert_eq!(answer, Err(SqlError::Cancelled));
    assert_eq!(context.text("SELECT count(*) AS n FROM todos"), "n\n0\n(1 row)");
}

#[test]
fn the_growth_of_the_file_is_limited_over_all_calls() {
    let context = context(SqlLimits { growth: 1024 * 1024, ..SqlLimits::default() });
    context.text("CREATE TABLE t (x)");
    let insert = "INSERT INTO t VALUES (zeroblob(300000))";
    let refusal = (0..10).map(|_| context.run(insert)).find_map(Result::err).unwrap();
    assert!(matches!(&refusal, SqlError::Refused(text) if text.contains("at most 1 MiB")), "{refusal:?}");
    assert!(std::fs::metadata(context.fixture.home.session_db(session(1))).unwrap().len() < 2 * 1024 * 1024);
    context.text("CREATE TEMP TABLE own (x)");
    let refusal =
        (0..10).map(|_| context.run("INSERT INTO own VALUES (zeroblob(300000))")).find_map(Result::err).unwrap();
    assert!(matches!(&refusal, SqlError::Refused(text) if text.contains("at most 1 MiB")), "{refusal:?}");
    // The limit does not apply to the runtime's own events.
    commit(&context.opened.writer, (0..5000).map(intent).collect()).unwrap();
    context.text("DELETE FROM t");
    context.text(insert);
}
