//! A file that a version wrote reads the same in every later one. `BOSUN_BLESS=1` writes the newest form's file anew;
//! those of older forms are what older versions wrote, and never change.

mod log;
mod views;

use std::path::PathBuf;

use host::Home;
use protocol::api::{AskState, AsksParams, Command, TasksParams};
use protocol::{Answer, AnswerStatus, At, CallId, Event, Fence};
use store::{Reader, SqlLimits, SqlSpace, StoreError, post_command};

use self::log::{asking_entries, crew_entries, entries, fleet_entries, more_entries, written};
use self::views::{
    asking_view, asks, crew_record, crew_task, crew_view, fleet_view, newer_spending, newer_view, spending, tasks,
    turns, view,
};
use crate::support::*;

/// The newest form.
const NEWEST: u32 = 6;

fn file(form: u32) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/v{form}.db"))
}

/// Writes the golden file from nothing but the store's own doors.
fn bless() {
    let house = house();
    let opened = create(&house.home, session(1));
    let path = house.home.session_db(session(1));
    let space = SqlSpace::open(&path, SqlLimits::default()).unwrap();
    let todo = "INSERT INTO todos (id, title, status) VALUES ('a', 'read', 'done'), ('b', 'write', 'pending');
                INSERT INTO todo_deps VALUES ('b', 'a')";
    space.run(todo, || false).unwrap();
    drop(space);
    commit(&opened.writer, written(NEWEST)).unwrap();
    opened.writer.release().unwrap();
    post_command(&house.home, session(1), &Command::Interrupt, At(70)).unwrap();
    std::fs::copy(&path, file(NEWEST)).unwrap();
}

/// A home whose only session is the golden one of this form.
fn unpacked(form: u32) -> House {
    let house = house();
    house.home.make_session(session(1)).unwrap();
    std::fs::copy(file(form), house.home.session_db(session(1))).unwrap();
    house
}

#[test]
fn golden_files_of_every_form_open_and_say_what_they_said() {
    if blessing() {
        bless();
    }
    for form in 1..=NEWEST {
        let house = unpacked(form);
        let home = &house.home;
        let opened = adopt(home, session(1));
        assert_eq!(opened.fence, Fence(2));
        assert_eq!(opened.log.into_iter().map(|envelope| envelope.entry).collect::<Vec<_>>(), written(form));
        assert_projected(home, form);
        assert_eq!(reader(home, session(1)).pending_commands().unwrap(), [(1, Command::Interrupt)]);
        let conn = raw(&home.session_db(session(1)));
        assert_eq!(strings(&conn, "SELECT title FROM todos JOIN todo_deps ON id = depends_on"), ["read"]);
        let todos = "SELECT id || ' ' || status || ' ' || attempts || ifnull(' ' || reason, '') FROM todos";
        let known =
            if form < 5 { ["a done 0", "b pending 0"] } else { ["a done 0", "b blocked 1 conflicts in docs.md"] };
        assert_eq!(strings(&conn, todos), known);
        // What was planned before there was a log is told of; what the runtime knows is not.
        let news = reader(home, session(1)).todo_changes(&|_n| true).unwrap();
        let news: Vec<&str> = news.iter().flat_map(|all| &all.changed).map(|todo| todo.id.0.as_str()).collect();
        assert_eq!(news, if form < 5 { vec!["a", "b"] } else { vec![] });
    }
}

#[test]
fn a_file_of_an_older_form_is_read_and_copied_without_being_owned() {
    let house = unpacked(1);
    assert_projected(&house.home, 1);
    let house = unpacked(1);
    store::copy_session(&house.home, session(1), session(2)).unwrap();
    assert_eq!(reader(&house.home, session(2)).spendings(At(0)).unwrap(), [spending()]);
}

#[test]
fn a_file_that_an_older_version_writes_stays_as_it_is() {
    let house = unpacked(1);
    let me = me();
    let held =
        format!("UPDATE bosun_lease SET held = 1, boot = '{}', pid = {}, started = {}", me.boot, me.pid, me.started);
    raw(&house.home.session_db(session(1))).execute(&held, []).unwrap();
    let refused = Reader::open(&house.home, session(1)).map(|_| ());
    assert!(matches!(refused, Err(StoreError::Older { .. })), "{refused:?}");
}

#[test]
fn the_same_events_project_to_the_same_rows() {
    let house = house();
    let opened = create(&house.home, session(1));
    for entry in entries() {
        commit(&opened.writer, vec![entry]).unwrap();
    }
    assert_projected(&house.home, 1);
    for entry in more_entries() {
        commit(&opened.writer, vec![entry]).unwrap();
    }
    assert_projected(&house.home, 2);
    for entry in asking_entries() {
        commit(&opened.writer, vec![entry]).unwrap();
    }
    assert_projected(&house.home, 3);
    for entry in crew_entries() {
        commit(&opened.writer, vec![entry]).unwrap();
    }
    assert_projected(&house.home, 4);
    for entry in fleet_entries() {
        commit(&opened.writer, vec![entry]).unwrap();
    }
    assert_projected(&house.home, NEWEST);
}

#[test]
fn a_file_of_the_form_before_is_brought_to_the_rows_that_its_events_project_to() {
    // As the version before the fourth form would have left it: the same log, and none of what that form added.
    let before = unpacked(4);
    let conn = raw(&before.home.session_db(session(1)));
    let today = unpacked(4);
    drop(reader(&today.home, session(1)));
    let rows = runtime_rows(&today.home, session(1));
    let step = include_str!("../../src/schema/session_4.sql");
    let added = step.lines().filter_map(|line| line.strip_prefix("ALTER TABLE "));
    for line in added {
        let mut words = line.split_whitespace();
        let (table, column) = (words.next().unwrap(), words.nth(2).unwrap().trim_end_matches(';'));
        conn.execute(&format!("ALTER TABLE {table} DROP COLUMN {column}"), []).unwrap();
    }
    conn.execute_batch("DROP INDEX bosun_mail_of_task; PRAGMA user_version = 3").unwrap();
    drop(conn);
    drop(reader(&before.home, session(1)));
    let data =
        |rows: Vec<String>| -> Vec<String> { rows.into_iter().filter(|row| !row.starts_with("CREATE")).collect() };
    assert_eq!(data(runtime_rows(&before.home, session(1))), data(rows));
}

#[test]
fn a_fork_and_a_copy_keep_what_was_asked() {
    let house = unpacked(NEWEST);
    let home = &house.home;
    store::copy_session(home, session(1), session(2)).unwrap();
    let kept: Vec<_> = asks().into_iter().map(|ask| protocol::api::AskView { session: session(2), ..ask }).collect();
    assert_eq!(reader(home, session(2)).asks(true).unwrap(), kept);
    // What it still asks is withdrawn with the call, which its first owner stops.
    let fork = adopt(home, session(2));
    let stopped = Answer { status: AnswerStatus::Cancelled, text: String::new() };
    let event = Event::CallAnswered { call: CallId("call-5".into()), answer: stopped, evidence: Vec::new() };
    commit(&fork.writer, vec![entry(200, event)]).unwrap();
    assert_eq!(reader(home, session(2)).asks(false).unwrap(), []);
    assert_eq!(reader(home, session(1)).asks(false).unwrap(), asks()[3..]);
}

#[track_caller]
fn assert_projected(home: &Home, form: u32) {
    let reader = reader(home, session(1));
    let (view, spendings) = match form {
        1 => (view(), vec![spending()]),
        2 => (newer_view(), vec![spending(), newer_spending()]),
        3 => (asking_view(), vec![spending(), newer_spending()]),
        4 => (crew_view(), vec![spending(), newer_spending()]),
        _newest => (fleet_view(), vec![spending(), newer_spending()]),
    };
    let known = if form < 3 { Vec::new() } else { asks() };
    let open: Vec<_> = known.iter().filter(|ask| ask.state == AskState::Open).cloned().collect();
    assert_eq!((reader.asks(true).unwrap(), reader.asks(false).unwrap()), (known, open));
    if form > 2 {
        let page = reader.asks_page(&AsksParams { all: true, offset: 1, limit: Some(2) }).unwrap();
        assert_eq!((page.total, &*page.asks), (4, &asks()[1..3]));
    }
    assert_eq!(reader.session_view().unwrap(), view);
    assert_eq!(reader.spendings(At(0)).unwrap(), spendings);
    assert_eq!(reader.spendings(At(1_000)).unwrap(), []);
    let page = reader.tasks(&TasksParams::default()).unwrap();
    let mut below = tasks().split_off(1);
    below.extend((form > 3).then(crew_task));
    assert_eq!((page.total, &page.tasks[1..]), (below.len() as u64 + 1, &*below));
    let turns = if form == 1 { turns()[..1].to_vec() } else { turns() };
    let root = reader.record(task(1)).unwrap().unwrap();
    assert_eq!((root.turns, root.mail_total), (turns, 2));
    if form == 1 {
        assert_eq!(page.tasks, tasks());
    }
    assert_eq!(reader.record(task(3)).unwrap(), (form > 3).then(crew_record));
    let second = TasksParams { offset: 1, limit: Some(1), ..TasksParams::default() };
    assert_eq!(reader.tasks(&second).unwrap().tasks, tasks()[1..]);
    assert_eq!(reader.events_after(2, 3).unwrap().len(), 3);
    let conn = raw(&home.session_db(session(1)));
    let mail = "SELECT state || ifnull(moved_at, '') FROM bosun_mail WHERE mail < 3 ORDER BY mail";
    assert_eq!(strings(&conn, mail), ["delivered25", "expired65"]);
}

#[test]
fn an_event_of_a_newer_version_is_kept_as_unknown() {
    let house = house();
    drop(create(&house.home, session(1)));
    let newer = r#"INSERT INTO bosun_events (seq, v, at, task, body) VALUES
        (1, 2, 5, 'task-00000000000000000000000000000001', '{"type":"taskParked","untilAt":"dawn"}'),
        (2, 2, 5, 'task-00000000000000000000000000000001', '{"type":"levitated"}'),
        (3, 1, 5, 'task-00000000000000000000000000000001', '{"type":"admissionClosed"}')"#;
    raw(&house.home.session_db(session(1))).execute(newer, []).unwrap();
    let events: Vec<_> = adopt(&house.home, session(1)).log.into_iter().map(|envelope| envelope.entry.event).collect();
    assert_eq!(events, [Event::Unknown, Event::Unknown, Event::AdmissionClosed]);
}
