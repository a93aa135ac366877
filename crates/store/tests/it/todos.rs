//! Todos that agents, people and the runtime change.

use protocol::api::{NewTodo, TodoChange, TodoEdit, TodosParams};
use protocol::{BlockReason, Event, Principal, TodoId, TodoStatus};
use store::{OwnedSession, SqlConnection, SqlError, SqlLimits, TodoAuthor, TodoError, edit_todos};

use crate::support::*;

struct TodoFixture {
    fixture: StoreFixture,
    opened: OwnedSession,
    space: SqlConnection,
}

/// A session with a root, task 1, and one agent below it, task 2.
fn context() -> TodoFixture {
    let fixture = fixture();
    let opened = create(&fixture.home, session(1));
    commit(&opened.writer, first_entries()).unwrap();
    let below = Event::TaskCreated(Box::new(spec(Some(task(1)), "worker")));
    commit(&opened.writer, vec![protocol::LogEntry { task: task(2), ..entry(20, below) }]).unwrap();
    let space = SqlConnection::open(&fixture.home.session_db(session(1)), SqlLimits::default()).unwrap();
    TodoFixture { fixture, opened, space }
}

fn new(id: &str, on: &[&str]) -> TodoEdit {
    let depends_on = on.iter().map(|id| TodoId::from(*id)).collect();
    TodoEdit::Add(NewTodo { id: Some(id.into()), title: format!("do {id}"), depends_on, ..NewTodo::default() })
}

impl TodoFixture {
    fn edit(&self, edits: &[TodoEdit]) -> Result<Vec<TodoId>, TodoError> {
        edit_todos(&self.fixture.home, session(1), edits)
    }

    #[track_caller]
    fn run_sql_by(&self, author: u128, sql: &str) -> bool {
        !self.space.run_by(task(author), sql, || false).unwrap().todos.is_empty()
    }

    /// The recorded changes: author, changed ids and removed ids.
    fn changes(&self) -> Vec<(TodoAuthor, Vec<String>, Vec<String>)> {
        let ids = |ids: Vec<TodoId>| ids.into_iter().map(|id| id.0).collect();
        let changes = reader(&self.fixture.home, session(1)).todo_changes(&|_n| true).unwrap();
        let changes = changes
            .into_iter()
            .map(|batch| (batch.by, ids(batch.changed.into_iter().map(|todo| todo.id).collect()), ids(batch.gone)));
        changes.collect()
    }

    /// Records the changes in events, each todo with its effective status.
    fn record_changes(&self, effective: impl Fn(&str, TodoStatus) -> TodoStatus) {
        for batch in reader(&self.fixture.home, session(1)).todo_changes(&|_n| true).unwrap() {
            let mut changed = batch.changed;
            changed.iter_mut().for_each(|todo| todo.status = effective(&todo.id.0, todo.status));
            let by = match batch.by {
                TodoAuthor::Person | TodoAuthor::Unverified => Principal::User,
                TodoAuthor::Root(id) | TodoAuthor::Worker(id) => Principal::Task { id },
            };
            let event = Event::TodosChanged { by, changed, gone: batch.gone, upto: batch.upto };
            commit(&self.opened.writer, vec![entry(30, event)]).unwrap();
        }
    }

    fn status(&self, id: &str) -> TodoStatus {
        let rows = reader(&self.fixture.home, session(1)).todos().unwrap();
        rows.into_iter().find(|row| row.todo.id.0 == id).unwrap().todo.status
    }
}

#[test]
fn every_change_is_reported_with_its_author() {
    let context = context();
    assert_eq!(context.changes(), []);
    assert!(!context.run_sql_by(1, "SELECT count(*) FROM todos"));
    assert!(!context.run_sql_by(1, "CREATE TABLE notes (x); INSERT INTO notes VALUES (1)"));
    assert!(context.run_sql_by(1, "INSERT INTO todos (id, title) VALUES ('a', 'one'), ('b', 'two')"));
    assert!(context.run_sql_by(2, "INSERT INTO todos (id, title) VALUES ('c', 'three')"));
    context.edit(&[new("d", &["a"])]).unwrap();
    let ids = |id: &str| vec![id.to_owned()];
    let root = (TodoAuthor::Root(task(1)), vec!["a".to_owned(), "b".into()], vec![]);
    assert_eq!(
        context.changes(),
        [(TodoAuthor::Person, ids("d"), vec![]), root, (TodoAuthor::Worker(task(2)), ids("c"), vec![])]
    );
    context.record_changes(|_, written| written);
    assert_eq!(context.changes(), []);
    // The runtime's own writes are not reported as changes.
    commit(&context.opened.writer, vec![entry(40, Event::TodoDone { todo: "a".into(), fence: None, reused: None })])
        .unwrap();
    assert_eq!((context.changes(), context.status("a")), (vec![], TodoStatus::Done));
    context.run_sql_by(1, "DELETE FROM todos WHERE id = 'a'");
    assert_eq!(context.changes(), [(TodoAuthor::Root(task(1)), ids("d"), ids("a"))]);
}

#[test]
fn a_todo_with_several_authors_counts_as_changed_by_the_least_trusted_one() {
    let context = context();
    context.edit(&[new("a", &[]), new("b", &[])]).unwrap();
    context.run_sql_by(2, "UPDATE todos SET status = 'done' WHERE id = 'a'");
    context.run_sql_by(1, "UPDATE todos SET title = 'x' WHERE id IN ('a', 'b')");
    context.edit(&[TodoEdit::Change(TodoChange::status("a".into(), TodoStatus::Pending, None))]).unwrap();
    let ids = |id: &str| vec![id.to_owned()];
    assert_eq!(
        context.changes(),
        [(TodoAuthor::Root(task(1)), ids("b"), vec![]), (TodoAuthor::Worker(task(2)), ids("a"), vec![])]
    );
}

#[test]
fn only_the_main_agent_may_change_the_plan_of_a_todo() {
    let context = context();
    context.run_sql_by(
        1,
        "INSERT INTO todos (id, title, check_command, files) VALUES ('a', 'one', 'make test', '[\"src\"]')",
    );
    let refused = |sql: &str| match context.space.run_by(task(2), sql, || false) {
        Err(SqlError::Refused(text)) => assert!(text.contains("only the main agent"), "{text}"),
        done => panic!("{sql}: {done:?}"),
    };
    for column in ["agent_type", "model", "files", "check_command", "expects"] {
        refused(&format!("UPDATE todos SET {column} = 'x'"));
    }
    refused("DELETE FROM todos");
    refused("UPDATE todos SET id = 'b'");
    refused("INSERT OR REPLACE INTO todos (id, title) VALUES ('a', 'one')");
    refused("DELETE FROM todos; INSERT INTO todos (id, title) VALUES ('a', 'one')");
    assert!(
        context.run_sql_by(2, "UPDATE todos SET status = 'done', title = 'two', description = 'so', reason = 'why'")
    );
    assert!(context.run_sql_by(2, "INSERT INTO todos (id, title, check_command) VALUES ('b', 'found', 'true')"));
    assert!(context.run_sql_by(1, "UPDATE todos SET check_command = 'make'; DELETE FROM todos WHERE id = 'b'"));
}

#[test]
fn the_event_corrects_a_status_that_is_not_effective() {
    let context = context();
    context.edit(&[new("a", &[]), new("b", &[])]).unwrap();
    context.record_changes(|_, written| written);
    context.run_sql_by(2, "UPDATE todos SET status = 'done'");
    context.record_changes(|id, written| if id == "a" { TodoStatus::InProgress } else { written });
    assert_eq!((context.status("a"), context.status("b")), (TodoStatus::InProgress, TodoStatus::Done));
    assert_eq!(context.changes(), []);
}

#[test]
fn a_row_that_was_changed_again_meanwhile_is_reported_again() {
    let context = context();
    context.edit(&[new("a", &[])]).unwrap();
    let batch = reader(&context.fixture.home, session(1)).todo_changes(&|_n| true).unwrap().remove(0);
    context.run_sql_by(1, "UPDATE todos SET status = 'done'");
    let event = Event::TodosChanged { by: Principal::User, changed: batch.changed, gone: batch.gone, upto: batch.upto };
    commit(&context.opened.writer, vec![entry(30, event)]).unwrap();
    assert_eq!(context.status("a"), TodoStatus::Done, "an older read does not undo a later write");
    assert_eq!(context.changes(), [(TodoAuthor::Root(task(1)), vec!["a".into()], vec![])]);
}

#[test]
fn an_event_with_a_redacted_secret_still_removes_its_row_from_the_change_log() {
    let context = context();
    context.run_sql_by(1, "INSERT INTO todos (id, title) VALUES ('a', 'use sk-123')");
    let mut batch = reader(&context.fixture.home, session(1)).todo_changes(&|_n| true).unwrap().remove(0);
    batch.changed[0].title = "use […]".into();
    let event = Event::TodosChanged { by: Principal::User, changed: batch.changed, gone: vec![], upto: batch.upto };
    commit(&context.opened.writer, vec![entry(30, event)]).unwrap();
    assert_eq!(context.changes(), []);
}

#[test]
fn cycles_are_refused_and_listed_in_edits_and_in_sql() {
    let context = context();
    context.edit(&[new("a", &[]), new("b", &["a"]), new("c", &["b"])]).unwrap();
    let back = TodoChange {
        status: None,
        depends_on: Some(vec!["c".into()]),
        ..TodoChange::status("a".into(), TodoStatus::Pending, None)
    };
    let refused = context.edit(&[TodoEdit::Change(back)]).unwrap_err();
    assert_eq!(refused.to_string(), "todos would wait for each other: a → c → b → a");
    let Err(SqlError::Refused(text)) = context.space.run("INSERT INTO todo_deps VALUES ('a', 'c')", || false) else {
        panic!("it was not refused");
    };
    assert!(text.contains("a → c → b → a") && text.contains("changed nothing"), "{text}");
    let page = reader(&context.fixture.home, session(1)).todos_page(&TodosParams::all_todos()).unwrap();
    assert_eq!(page.todos[0].depends_on, []);
}

#[test]
fn ids_that_are_not_text_or_too_long_are_refused() {
    let context = context();
    for id in ["x'ff'", "CAST(x'ff' AS TEXT)", "NULL", "hex(zeroblob(200))"] {
        let insert = format!("INSERT INTO todos (id, title) VALUES ({id}, 'x')");
        assert!(matches!(context.space.run(&insert, || false), Err(SqlError::Refused(_))), "{id}");
    }
    assert_eq!(context.changes(), []);
    assert!(context.run_sql_by(1, "INSERT INTO todos (id, title) VALUES (7, x'ff')"));
    assert_eq!(context.changes().len(), 1);
}

#[test]
fn edits_are_applied_all_or_none() {
    let context = context();
    assert_eq!(context.edit(&[new("b", &["a"]), new("a", &[])]).unwrap().len(), 2, "in any order");
    let mistakes: [(&[TodoEdit], &str); 6] = [
        (&[new("c", &[]), new("a", &[])], "todo `a` already exists"),
        (&[new("c", &["zzz"])], "`c` cannot depend on `zzz`"),
        (&[new("c", &["c"])], "wait for each other: c → c"),
        (&[new("c d", &[])], "spaces"),
        (&[TodoEdit::Add(NewTodo { title: " ".into(), ..NewTodo::default() })], "the title is empty"),
        (&[TodoEdit::Change(TodoChange::status("zzz".into(), TodoStatus::Done, None))], "no todo `zzz`"),
    ];
    for (edits, text) in mistakes {
        let refused = context.edit(edits).unwrap_err().to_string();
        assert!(refused.contains(text), "{refused}");
    }
    let named = |title: &str| TodoEdit::Add(NewTodo { title: title.into(), ..NewTodo::default() });
    let made = context.edit(&[named("Write it"), named("write it!")]).unwrap();
    assert_eq!(made, [TodoId::from("write-it"), TodoId::from("write-it-2")]);
    assert_eq!(reader(&context.fixture.home, session(1)).todos().unwrap().len(), 4);
}

#[test]
fn a_page_shows_which_todos_are_ready() {
    let context = context();
    context.edit(&[new("a", &[]), new("b", &["a"]), new("c", &["a", "b"])]).unwrap();
    let blocked = TodoChange::status("b".into(), TodoStatus::Blocked, Some("no key".into()));
    context
        .edit(&[TodoEdit::Change(TodoChange::status("a".into(), TodoStatus::Done, None)), TodoEdit::Change(blocked)])
        .unwrap();
    let reader = reader(&context.fixture.home, session(1));
    let page = reader.todos_page(&TodosParams::all_todos()).unwrap();
    let rows: Vec<_> = page.todos.iter().map(|todo| (&*todo.id.0, todo.status.as_str(), todo.ready)).collect();
    assert_eq!(rows, [("a", "done", false), ("b", "blocked", false), ("c", "pending", false)]);
    assert_eq!(page.todos[1].reason.as_deref(), Some("no key"));
    let reopen = TodoChange::status("b".into(), TodoStatus::Pending, None);
    context.edit(&[TodoEdit::Change(reopen)]).unwrap();
    let ready = reader.todos_page(&TodosParams { ready: true, ..TodosParams::default() }).unwrap();
    assert_eq!((ready.total, &*ready.todos[0].id.0, ready.todos[0].reason.as_deref()), (1, "b", None));
    let second = TodosParams { offset: 1, limit: Some(1), ..TodosParams::default() };
    let page = reader.todos_page(&second).unwrap();
    assert_eq!((page.total, page.todos.len(), &*page.todos[0].id.0), (3, 1, "b"));
}

#[test]
fn the_runtime_s_decisions_are_in_the_rows() {
    let context = context();
    context.edit(&[new("a", &[])]).unwrap();
    context.record_changes(|_, written| written);
    let claim = Event::TodoClaimed { todo: "a".into(), fence: 1, redo_reason: None };
    commit(&context.opened.writer, vec![protocol::LogEntry { task: task(2), ..entry(30, claim) }]).unwrap();
    let row = || reader(&context.fixture.home, session(1)).todos().unwrap().remove(0);
    assert_eq!((row().task, row().attempts), (Some(task(2).to_string()), 1));
    assert_eq!(context.status("a"), TodoStatus::InProgress);
    let why = BlockReason::Itself { reason: "no".into() };
    commit(&context.opened.writer, vec![entry(31, Event::TodoBlocked { todo: "a".into(), why })]).unwrap();
    assert_eq!((row().todo.status, row().todo.reason.as_deref()), (TodoStatus::Blocked, Some("no")));
}

#[test]
fn a_change_counts_as_the_user_s_only_if_the_owner_vouches_for_it() {
    let context = context();
    let mut vouched = 0..=0;
    store::edit_own_todos(&context.fixture.home, session(1), &[new("mine", &[])], |numbers| vouched = numbers).unwrap();
    let forge = [
        "INSERT INTO todos (id, title) VALUES ('plain', 'x')",
        "INSERT INTO todos (id, title) VALUES ('signed', 'x'); UPDATE bosun_todo_log SET author = 'user' WHERE todo = 'signed'",
        "INSERT INTO todos (id, title) VALUES ('empty', 'x'); UPDATE bosun_todo_log SET author = '' WHERE todo = 'empty'",
        "INSERT INTO bosun_todo_log (todo, author) VALUES ('ghost', 'task-nonsense')",
    ];
    let conn = crate::support::raw_connection(&context.fixture.home.session_db(session(1)));
    forge.iter().for_each(|sql| conn.execute_batch(sql).unwrap());
    let changes = reader(&context.fixture.home, session(1)).todo_changes(&|n| vouched.contains(&n)).unwrap();
    let by: Vec<TodoAuthor> = changes.iter().map(|changes| changes.by).collect();
    assert_eq!(by, [TodoAuthor::Person, TodoAuthor::Unverified]);
    assert_eq!(changes[0].changed.iter().map(|todo| todo.id.0.as_str()).collect::<Vec<_>>(), ["mine"]);
    assert_eq!((changes[1].changed.len(), changes[1].gone.len()), (3, 1));
}

/// A10: no view shows a todo as being worked on if it has no worker.
#[test]
fn a_todo_in_progress_without_a_living_owner_is_interrupted() {
    let context = context();
    context.edit(&[new("a", &[]), new("b", &[]), new("c", &[])]).unwrap();
    context.record_changes(|_, written| written);
    let by = |task, event| vec![protocol::LogEntry { task, ..entry(40, event) }];
    commit(&context.opened.writer, by(task(2), Event::TodoClaimed { todo: "a".into(), fence: 1, redo_reason: None }))
        .unwrap();
    context.run_sql_by(1, "UPDATE todos SET status = 'in_progress' WHERE id = 'b'");
    let interrupted = || {
        let page = reader(&context.fixture.home, session(1)).todos_page(&TodosParams::all_todos()).unwrap();
        page.todos.into_iter().filter(|todo| todo.interrupted).map(|todo| todo.id.0).collect::<Vec<_>>()
    };
    assert_eq!(interrupted(), ["a", "b"], "its owner is of another boot");
    let opened =
        store::SessionFile::adopt(&context.fixture.home, session(1), &this_process(), protocol::Timestamp(50)).unwrap();
    commit(&opened.writer, by(task(2), Event::TaskInterrupted)).unwrap();
    assert_eq!(interrupted(), ["a"], "its worker is not resumed yet");
    commit(&opened.writer, by(task(2), Event::TaskRequeued)).unwrap();
    assert_eq!(interrupted(), [""; 0], "its worker is resumed");
    context.edit(&[TodoEdit::Change(TodoChange::status("a".into(), TodoStatus::Done, None))]).unwrap_err();
}
