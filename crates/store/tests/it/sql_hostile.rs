//! Hostile SQL: each statement is refused or limited, the runtime's tables do not change, and the writer still commits.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use store::{SqlConnection, SqlError, SqlLimits};

use crate::support::*;

/// The expected result of a statement.
#[derive(Debug, Clone, Copy)]
enum HostileSqlResult {
    /// It is refused with a message that contains this text.
    Refused(&'static str),
    /// It succeeds or is refused, within the limits.
    Bounded,
}
use HostileSqlResult::{Bounded, Refused};

const RUNTIME_TABLE: HostileSqlResult = Refused("belong to the runtime");
const PRAGMA: HostileSqlResult = Refused("pragma");
const FIXED_SCHEMA: HostileSqlResult = Refused("must keep its schema");

#[rustfmt::skip]
const CORPUS: &[(&str, HostileSqlResult)] = &[
    // Reading the runtime's tables.
    ("SELECT * FROM bosun_events", RUNTIME_TABLE),
    ("SELECT count(*) FROM main.bosun_events", RUNTIME_TABLE),
    ("SELECT body FROM \"BOSUN_Events\"", RUNTIME_TABLE),
    ("SELECT 1 FROM [bosun_lease] /* harmless */", RUNTIME_TABLE),
    ("SELECT (SELECT max(body) FROM/**/bosun_mail)", RUNTIME_TABLE),
    ("SELECT id FROM todos WHERE EXISTS (SELECT 1 FROM bosun_meta)", RUNTIME_TABLE),
    ("SELECT t.id FROM todos t LEFT JOIN bosun_tasks b ON b.id = t.id", RUNTIME_TABLE),
    ("WITH e AS (SELECT * FROM bosun_events) SELECT * FROM e", RUNTIME_TABLE),
    ("CREATE TABLE t AS SELECT * FROM bosun_events", RUNTIME_TABLE),
    ("CREATE VIEW v AS SELECT * FROM bosun_events; SELECT * FROM v", RUNTIME_TABLE),
    ("CREATE TEMP VIEW v AS SELECT * FROM bosun_meta; SELECT * FROM temp.v", RUNTIME_TABLE),
    ("CREATE TABLE m (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID; INSERT INTO m SELECT * FROM bosun_meta", RUNTIME_TABLE),
    ("INSERT INTO todos (id, title) SELECT seq, body FROM bosun_events", RUNTIME_TABLE),
    ("UPDATE todos SET title = (SELECT body FROM bosun_events)", RUNTIME_TABLE),
    ("UPDATE todos SET title = e.body FROM bosun_events e", RUNTIME_TABLE),
    ("CREATE TABLE f (x INTEGER REFERENCES bosun_events (seq)); INSERT INTO f VALUES (1)", RUNTIME_TABLE),
    ("EXPLAIN SELECT * FROM bosun_events", RUNTIME_TABLE),
    ("SELECT (1, 2) IN bosun_meta", RUNTIME_TABLE),
    ("SELECT * FROM json_each((SELECT body FROM bosun_events))", RUNTIME_TABLE),
    ("INSERT INTO todos (id, title) VALUES (1, 2) RETURNING (SELECT max(body) FROM bosun_events)", RUNTIME_TABLE),
    ("INSERT INTO todos (id, title) VALUES (1, 2) ON CONFLICT DO UPDATE SET title = (SELECT max(body) FROM bosun_events)", RUNTIME_TABLE),
    ("WITH bosun_events (x) AS (SELECT 1) SELECT x FROM bosun_events", Bounded),

    // Writing to the runtime's tables, or using their names.
    ("DELETE FROM bosun_events", RUNTIME_TABLE),
    ("UPDATE bosun_lease SET fence = 99", RUNTIME_TABLE),
    ("UPDATE bosun_asks SET open = 0", RUNTIME_TABLE),
    ("INSERT INTO bosun_commands (at, body) VALUES (1, '{\"type\":\"stop\"}')", RUNTIME_TABLE),
    ("REPLACE INTO bosun_meta VALUES ('cwd', '/')", RUNTIME_TABLE),
    ("DROP TABLE bosun_events", RUNTIME_TABLE),
    ("ALTER TABLE bosun_tasks RENAME TO mine", RUNTIME_TABLE),
    ("ALTER TABLE bosun_tasks ADD COLUMN x", RUNTIME_TABLE),
    ("CREATE INDEX mine ON bosun_events (body)", RUNTIME_TABLE),
    ("CREATE UNIQUE INDEX bosun_mine ON todos (title)", RUNTIME_TABLE),
    ("DROP INDEX bosun_commands_pending", RUNTIME_TABLE),
    ("CREATE TABLE bosun_new (x)", RUNTIME_TABLE),
    ("CREATE TEMP TABLE Bosun_events (x)", RUNTIME_TABLE),
    ("CREATE VIEW bosun_view AS SELECT 1", RUNTIME_TABLE),
    ("CREATE TABLE t (x); ALTER TABLE t RENAME TO bosun_next", RUNTIME_TABLE),
    ("REINDEX", RUNTIME_TABLE),
    ("REINDEX bosun_tasks", RUNTIME_TABLE),

    // Changing the schema of the shared tables.
    ("DROP TABLE todos", FIXED_SCHEMA),
    ("ALTER TABLE todos RENAME TO done", FIXED_SCHEMA),
    ("ALTER TABLE \"Todo_Deps\" ADD COLUMN x", FIXED_SCHEMA),
    ("ALTER TABLE main.todos DROP COLUMN description", FIXED_SCHEMA),
    ("CREATE TEMP TABLE todos (id)", FIXED_SCHEMA),
    ("CREATE TABLE t (x); ALTER TABLE t RENAME TO todos", Refused("already another table")),
    ("CREATE TEMP TABLE t (x); ALTER TABLE t RENAME TO Todos; INSERT INTO todos VALUES (1)", Refused("must keep their schema")),
    ("CREATE TEMP TABLE t (x); ALTER TABLE temp.t RENAME TO bosun_x", RUNTIME_TABLE),

    // The engine's own tables.
    ("ATTACH '/tmp/bosun-hostile.db' AS other", Refused("ATTACH")),
    ("ATTACH ':memory:' AS other", Refused("ATTACH")),
    ("DETACH main", Refused("DETACH")),
    ("VACUUM", Refused("")),
    ("VACUUM INTO '/tmp/bosun-hostile.db'", Refused("")),
    ("PRAGMA writable_schema = ON", PRAGMA),
    ("PRAGMA journal_mode = DELETE", PRAGMA),
    ("PRAGMA main.max_page_count = 1000000", PRAGMA),
    ("PRAGMA foreign_keys = OFF; DELETE FROM todos", PRAGMA),
    ("PRAGMA table_info(todos)", PRAGMA),
    ("SELECT * FROM pragma_table_info('bosun_events')", PRAGMA),
    ("SELECT * FROM pragma_database_list", PRAGMA),
    ("SELECT * FROM dbstat", Refused("not available")),
    ("UPDATE sqlite_schema SET sql = 'x'", Refused("may not be modified")),
    ("DELETE FROM sqlite_master", Refused("may not be modified")),
    ("CREATE TABLE sqlite_mine (x)", Refused("reserved")),
    ("ANALYZE", Refused("ANALYZE")),
    ("CREATE TRIGGER t AFTER INSERT ON todos BEGIN DELETE FROM todos; END", Refused("triggers")),
    ("CREATE TEMP TRIGGER t AFTER INSERT ON bosun_events BEGIN DELETE FROM todos; END", Refused("triggers")),
    ("CREATE VIRTUAL TABLE f USING fts5 (x)", Refused("virtual tables")),
    ("CREATE VIRTUAL TABLE d USING dbstat", Refused("virtual tables")),
    ("SELECT load_extension('/tmp/evil.so')", Refused("load_extension")),
    ("SELECT fts3_tokenizer('simple', x'4141414141414141')", Refused("fts3_tokenizer")),
    ("SELECT rtreecheck('main', 'bosun_events')", Refused("rtreecheck")),
    ("SAVEPOINT s", Refused("one transaction")),
    ("ROLLBACK; DELETE FROM todos", Refused("one transaction")),
    ("BEGIN EXCLUSIVE", Bounded),

    // Too much time, memory or output.
    ("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n", Refused("longer than")),
    ("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n", Bounded),
    ("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) INSERT INTO todos (id, title) SELECT x, x FROM n", Refused("statement 1")),
    ("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) INSERT INTO todos (id, title) SELECT x, randomblob(500000) FROM n", Refused("statement 1")),
    ("CREATE TABLE mine (x, y); WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) INSERT INTO mine SELECT x, randomblob(500000) FROM n", Refused("at most 8 MiB")),
    ("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT randomblob(900000) AS b FROM n ORDER BY b", Refused("statement 1")),
    ("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT DISTINCT zeroblob(100000 + x) FROM n LIMIT 1 OFFSET 100000", Refused("statement 1")),
    ("WITH RECURSIVE n(x) AS (SELECT zeroblob(900000) UNION ALL SELECT randomblob(900000) FROM n) SELECT sum(length(x)) FROM n, n m", Refused("statement 1")),
    ("CREATE TEMP TABLE big AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT randomblob(900000) FROM n", Refused("statement 1")),
    ("SELECT zeroblob(2000000000)", Refused("too big")),
    ("SELECT randomblob(2000000000)", Refused("too big")),
    ("SELECT printf('%.*c', 2000000000, 'x')", Refused("too big")),
    ("SELECT hex(zeroblob(900000))", Refused("too big")),
    ("SELECT replace(printf('%.*c', 1000000, 'x'), 'x', printf('%.*c', 1000000, 'y'))", Refused("too big")),
    ("SELECT group_concat(b) FROM (WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 100000) SELECT printf('%.*c', 1000, 'x') AS b FROM n)", Refused("too big")),
    ("SELECT json_group_array(b) FROM (WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 100000) SELECT printf('%.*c', 1000, 'x') AS b FROM n)", Refused("too")),
    ("SELECT count(*) FROM json_each(printf('[%.*c0]', 999990, '1')) a, json_each('[1,2,3]') b", Bounded),
    ("WITH j(x) AS (SELECT '[' || replace(printf('%.*c', 200000, 'x'), 'x', '1,') || '1]') SELECT count(*) FROM j, json_each(j.x) a, json_each(j.x) b", Refused("longer than")),
    ("SELECT json(printf('%.*c', 900000, '['))", Refused("malformed JSON")),
    ("SELECT count(*) FROM sqlite_schema a, sqlite_schema b, sqlite_schema c, sqlite_schema d, sqlite_schema e, sqlite_schema f, sqlite_schema g, sqlite_schema h", Refused("longer than")),
    ("SELECT instr(printf('%.*c', 1000000, 'a'), printf('%.*c', 500000, 'a') || 'b')", Bounded),
    ("SELECT replace(printf('%.*c', 1000000, 'a'), printf('%.*c', 500000, 'a') || 'b', '')", Bounded),
    ("SELECT length(trim(printf('%.*c', 1000000, 'b'), printf('%.*c', 80000, 'a') || 'b'))", Bounded),
    ("SELECT printf('%.*c', 1000000, 'a') LIKE printf('%.*c', 1000, '%') || 'b'", Refused("pattern too complex")),
    ("SELECT printf('%.*c', 1000000, 'a') GLOB '*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b'", Bounded),
    ("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 60000), j AS (SELECT json_group_object(printf('k%06d', x), 1) a, json_group_object(printf('q%06d', x), 1) b FROM n) SELECT length(json_patch(a, b)) FROM j", Refused("json_patch")),
    ("SELECT length(json_pretty(printf('%.*c', 900, '[') || printf('%.*c', 900, ']'), printf('%.*c', 1000000, ' ')))", Refused("json_pretty")),
    ("CREATE VIEW a AS SELECT 1 x FROM todos, todos t; CREATE VIEW b AS SELECT a.x FROM a, a y; CREATE VIEW c AS SELECT b.x FROM b, b y; CREATE VIEW d AS SELECT c.x FROM c, c y; CREATE VIEW e AS SELECT d.x FROM d, d y; CREATE VIEW f AS SELECT e.x FROM e, e y; CREATE VIEW g AS SELECT f.x FROM f, f y; CREATE VIEW h AS SELECT g.x FROM g, g y; CREATE VIEW i AS SELECT h.x FROM h, h y; CREATE VIEW j AS SELECT i.x FROM i, i y; CREATE VIEW k AS SELECT j.x FROM j, j y; CREATE VIEW l AS SELECT k.x FROM k, k y; CREATE VIEW m AS SELECT l.x FROM l, l y; CREATE VIEW n AS SELECT m.x FROM m, m y; CREATE VIEW o AS SELECT n.x FROM n, n y; CREATE VIEW p AS SELECT o.x FROM o, o y; CREATE VIEW q AS SELECT p.x FROM p, p y; CREATE VIEW r AS SELECT q.x FROM q, q y; SELECT * FROM r", Refused("statement")),

    // Malformed text.
    ("SELECT 'unterminated", Refused("unrecognized token")),
    ("SELECT 1\0; DELETE FROM todos", Refused("NUL")),
    ("/* unterminated", Bounded),
    (";;;;;;;;", Bounded),
];

/// Memory is measured for the whole process, so these tests run one at a time.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

struct HostileSqlFixture {
    fixture: StoreFixture,
    opened: store::OwnedSession,
    space: SqlConnection,
}

/// Limits with which the corpus runs quickly.
const TIGHT: SqlLimits = SqlLimits {
    deadline: Duration::from_secs(1),
    rows: 500,
    output: 32 * 1024,
    growth: 8 * 1024 * 1024,
    memory: 64 * 1024 * 1024,
};

/// Limits with which a busy machine does not run into the deadline.
const PATIENT: SqlLimits = SqlLimits { deadline: Duration::from_secs(120), ..TIGHT };

fn scene(limits: SqlLimits) -> HostileSqlFixture {
    let fixture = fixture();
    let opened = create(&fixture.home, session(1));
    commit(&opened.writer, first_entries()).unwrap();
    commit(&opened.writer, (20..100).map(intent).collect()).unwrap();
    let space = SqlConnection::open(&fixture.home.session_db(session(1)), limits).unwrap();
    HostileSqlFixture { fixture, opened, space }
}

/// Asserts that the connection still accepts a todo. Retries if the deadline passed on a busy machine.
fn check_still_usable(space: &SqlConnection, after: &str) {
    let began = Instant::now();
    loop {
        match space.run("INSERT INTO todos (id, title) VALUES ('after', 'all')", || false) {
            Ok(_) => return,
            Err(SqlError::Refused(text)) if text.contains("took longer") && began.elapsed() < PATIENT.deadline => {}
            refused => panic!("{after}\n{refused:?}"),
        }
    }
}

#[test]
fn every_statement_of_the_corpus_is_refused_or_bounded() {
    let _turn = turn();
    for (sql, fate) in CORPUS {
        let scene = scene(match fate {
            Bounded | Refused("longer than" | "statement" | "statement 1") => TIGHT,
            // A statement that is refused for another reason must not run into the deadline on a busy machine.
            Refused(_) => PATIENT,
        });
        let before = runtime_rows(&scene.fixture.home, session(1));
        let began = Instant::now();
        let answer = scene.space.run(sql, || false);
        let took = began.elapsed();
        match (fate, &answer) {
            (Refused(text_part), Err(SqlError::Refused(text))) => assert!(text.contains(text_part), "{sql}\n{text}"),
            (Bounded, Ok(_) | Err(SqlError::Refused(_))) => {}
            (Refused(_) | Bounded, _) => panic!("{sql}\n{answer:?}"),
        }
        if let Ok(answer) = &answer {
            assert!(answer.text.as_str().len() <= TIGHT.output, "{sql}");
        }
        assert!(took < Duration::from_secs(10), "{sql}\ntook {took:?}");
        assert_eq!(runtime_rows(&scene.fixture.home, session(1)), before, "{sql}");
        let size = std::fs::metadata(scene.fixture.home.session_db(session(1))).unwrap().len();
        assert!(size < 10 * 1024 * 1024, "{sql}\nleft {size} bytes");
        assert_eq!(commit(&scene.opened.writer, vec![intent(200)]).unwrap().last_seq, 84, "{sql}");
        check_still_usable(&scene.space, sql);
    }
    assert!(!std::path::Path::new("/tmp/bosun-hostile.db").exists());
}

#[test]
fn many_statements_and_long_texts_are_limited() {
    let _turn = turn();
    let scene = scene(PATIENT);
    let many = scene.space.run(&"SELECT 1;".repeat(11_000), || false);
    assert!(many.is_ok_and(|answer| answer.text.as_str().len() <= PATIENT.output));
    assert!(scene.space.run(&";".repeat(100_000), || false).is_ok());
    let refused = scene.space.run(&"SELECT 1;".repeat(100_000), || false).unwrap_err();
    assert!(refused.to_string().contains("longer than"), "{refused}");
    let deep = scene.space.run(&format!("SELECT {}1", "NOT ".repeat(2000)), || false);
    assert!(deep.unwrap_err().to_string().contains("depth"));
    let wide = scene.space.run(&format!("SELECT {}1", "1,".repeat(3000)), || false);
    assert!(wide.unwrap_err().to_string().contains("too many columns"));
}

#[test]
fn intermediate_results_are_limited_before_the_deadline() {
    let _turn = turn();
    let space = scene(PATIENT).space;
    let swollen = [
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT randomblob(900000) AS b FROM n ORDER BY b",
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(DISTINCT x) FROM n",
    ];
    for sql in swollen {
        let refused = space.run(sql, || false).unwrap_err();
        assert!(refused.to_string().contains("intermediate results are too large"), "{sql}\n{refused}");
    }
}

#[test]
fn a_foreign_key_to_a_runtime_table_does_not_stop_the_runtime() {
    let _turn = turn();
    let scene = scene(PATIENT);
    // The parent key is not unique: with foreign keys on, every update of the parent would fail as a mismatch.
    scene
        .space
        .run("CREATE TABLE f (x TEXT REFERENCES bosun_tasks (path), y REFERENCES bosun_lease (fence))", || false)
        .unwrap();
    commit(&scene.opened.writer, vec![intent(200)]).unwrap();
    adopt(&scene.fixture.home, session(1));
}

#[test]
fn a_schema_that_is_too_large_is_refused() {
    let _turn = turn();
    let scene = scene(PATIENT);
    let views = |from: usize| (from..from + 1000).map(|n| format!("CREATE VIEW v{n} AS SELECT 1;")).collect::<String>();
    let outcomes: Vec<_> = (0..5).map(|n| scene.space.run(&views(n * 1000), || false)).collect();
    assert!(outcomes[0].is_ok(), "{:?}", outcomes[0]);
    assert!(
        outcomes[4].as_ref().is_err_and(|error| error.to_string().contains("too many tables")),
        "{:?}",
        outcomes[4]
    );
}

#[test]
fn a_row_with_thousands_of_function_calls_is_refused() {
    let _turn = turn();
    let space = scene(TIGHT).space;
    let group = format!("max({}0), ", "json_valid(h), ".repeat(48));
    let hay = "WITH h (h) AS MATERIALIZED (SELECT '[' || printf('%.*c', 900000, '1') || ']')";
    let refused = space.run(&format!("{hay} SELECT {}1 FROM h", group.repeat(100)), || false).unwrap_err();
    assert!(refused.to_string().contains("too large; split it"), "{refused}");
}

#[test]
fn a_row_with_many_slow_columns_ends_at_the_deadline() {
    let _turn = turn();
    let space = scene(TIGHT).space;
    for column in [format!("h LIKE '%{}b', ", "a".repeat(190)), format!("h GLOB '*{}b', ", "a".repeat(190))] {
        let hay = "WITH h (h) AS MATERIALIZED (SELECT printf('%.*c', 1000000, 'a'))";
        let began = Instant::now();
        let refused = space.run(&format!("{hay} SELECT {}1 FROM h", column.repeat(100)), || false).unwrap_err();
        assert!(refused.to_string().contains("longer than 1 s"), "{refused}");
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    }
}
