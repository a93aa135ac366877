//! Every later version must read a file as the version that wrote it. `BOSUN_BLESS=1` writes the file of the newest
//! format again; the files of older formats were written by older versions and never change.

mod log;
mod views;

use std::path::PathBuf;

use host::Home;
use protocol::api::{AskState, AsksParams, SessionCommand, TasksParams};
use protocol::{CallId, Event, Fence, Timestamp, ToolResult, ToolResultStatus};
use store::{SessionReader, SqlConnection, SqlLimits, StoreError, post_command};

use self::log::{Stage, entries_until};
use self::views::{
    ask_view, asks, fleet_view, price_spending, price_view, spending, subagent_record, subagent_task, subagent_view,
    tasks, turns, view,
};
use crate::support::*;

/// The newest format.
const NEWEST: u32 = 1;

fn file(format: u32) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/v{format}.db"))
}

/// Writes the golden file with the store's own API only.
fn bless() {
    let fixture = fixture();
    let opened = create(&fixture.home, session(1));
    let path = fixture.home.session_db(session(1));
    let space = SqlConnection::open(&path, SqlLimits::default()).unwrap();
    let todo = "INSERT INTO todos (id, title, status) VALUES ('a', 'read', 'done'), ('b', 'write', 'pending');
                INSERT INTO todo_deps VALUES ('b', 'a')";
    space.run(todo, || false).unwrap();
    drop(space);
    commit(&opened.writer, entries_until(Stage::Fleet)).unwrap();
    opened.writer.release().unwrap();
    post_command(&fixture.home, session(1), &SessionCommand::Interrupt, Timestamp(70)).unwrap();
    std::fs::copy(&path, file(NEWEST)).unwrap();
}

/// A home whose only session is the golden file of this format.
fn unpacked(format: u32) -> StoreFixture {
    let fixture = fixture();
    fixture.home.make_session(session(1)).unwrap();
    std::fs::copy(file(format), fixture.home.session_db(session(1))).unwrap();
    fixture
}

#[test]
fn golden_files_of_every_format_read_as_when_they_were_written() {
    if blessing() {
        bless();
    }
    for format in 1..=NEWEST {
        let fixture = unpacked(format);
        let home = &fixture.home;
        let opened = adopt(home, session(1));
        assert_eq!(opened.fence, Fence(2));
        assert_eq!(
            opened.log.into_iter().map(|envelope| envelope.entry).collect::<Vec<_>>(),
            entries_until(Stage::Fleet)
        );
        assert_projected(home, Stage::Fleet);
        assert_eq!(reader(home, session(1)).pending_commands().unwrap(), [(1, SessionCommand::Interrupt)]);
        let conn = raw_connection(&home.session_db(session(1)));
        assert_eq!(strings(&conn, "SELECT title FROM todos JOIN todo_deps ON id = depends_on"), ["read"]);
        let todos = "SELECT id || ' ' || status || ' ' || attempts || ifnull(' ' || reason, '') FROM todos";
        assert_eq!(strings(&conn, todos), ["a done 0", "b blocked 1 conflicts in docs.md"]);
        // Changes that the runtime has recorded are not reported again.
        assert!(reader(home, session(1)).todo_changes(&|_n| true).unwrap().is_empty());
    }
}

#[test]
fn a_golden_file_can_be_read_and_copied_without_an_owner() {
    for format in 1..=NEWEST {
        let fixture = unpacked(format);
        assert_projected(&fixture.home, Stage::Fleet);
        let fixture = unpacked(format);
        store::copy_session(&fixture.home, session(1), session(2)).unwrap();
        let spent = reader(&fixture.home, session(2)).spendings(Timestamp(0)).unwrap();
        assert_eq!(spent, [spending(), price_spending()]);
    }
}

#[test]
fn a_file_that_an_older_version_still_owns_is_not_migrated() {
    let fixture = unpacked(NEWEST);
    let (me, conn) = (this_process(), raw_connection(&fixture.home.session_db(session(1))));
    let held = format!(
        "UPDATE bosun_lease SET held = 1, boot = '{}', pid = {}, started = {}",
        me.boot, me.pid, me.start_ticks
    );
    conn.execute(&held, []).unwrap();
    conn.pragma_update(None, "user_version", 0).unwrap();
    let refused = SessionReader::open(&fixture.home, session(1)).map(|_| ());
    assert!(matches!(refused, Err(StoreError::Older { .. })), "{refused:?}");
    assert_eq!(strings(&conn, "SELECT 'version ' || user_version FROM pragma_user_version"), ["version 0"]);
}

#[test]
fn the_same_events_project_to_the_same_rows() {
    let fixture = fixture();
    let opened = create(&fixture.home, session(1));
    for stage in Stage::ALL {
        for entry in stage.entries() {
            commit(&opened.writer, vec![entry]).unwrap();
        }
        assert_projected(&fixture.home, stage);
    }
}

#[test]
fn a_copy_keeps_the_asks() {
    let fixture = unpacked(NEWEST);
    let home = &fixture.home;
    store::copy_session(home, session(1), session(2)).unwrap();
    let kept: Vec<_> = asks().into_iter().map(|ask| protocol::api::AskView { session: session(2), ..ask }).collect();
    assert_eq!(reader(home, session(2)).asks(true).unwrap(), kept);
    // The open ask is withdrawn with its call, which the first owner of the copy stops.
    let fork = adopt(home, session(2));
    let stopped = ToolResult { status: ToolResultStatus::Cancelled, text: String::new() };
    let event = Event::CallAnswered { call: CallId("call-5".into()), answer: stopped, evidence: Vec::new() };
    commit(&fork.writer, vec![entry(200, event)]).unwrap();
    assert_eq!(reader(home, session(2)).asks(false).unwrap(), []);
    assert_eq!(reader(home, session(1)).asks(false).unwrap(), asks()[3..]);
}

#[track_caller]
fn assert_projected(home: &Home, stage: Stage) {
    let reader = reader(home, session(1));
    let view = match stage {
        Stage::Tasks => view(),
        Stage::Prices => price_view(),
        Stage::Asks => ask_view(),
        Stage::Subagents => subagent_view(),
        Stage::Fleet => fleet_view(),
    };
    let spendings = if stage < Stage::Prices { vec![spending()] } else { vec![spending(), price_spending()] };
    let known = if stage < Stage::Asks { Vec::new() } else { asks() };
    let open: Vec<_> = known.iter().filter(|ask| ask.state == AskState::Open).cloned().collect();
    assert_eq!((reader.asks(true).unwrap(), reader.asks(false).unwrap()), (known, open));
    if stage >= Stage::Asks {
        let page = reader.asks_page(&AsksParams { all: true, offset: 1, limit: Some(2) }).unwrap();
        assert_eq!((page.total, &*page.asks), (4, &asks()[1..3]));
    }
    assert_eq!(reader.session_view().unwrap(), view);
    assert_eq!(reader.spendings(Timestamp(0)).unwrap(), spendings);
    assert_eq!(reader.spendings(Timestamp(1_000)).unwrap(), []);
    let page = reader.tasks(&TasksParams::default()).unwrap();
    let mut below = tasks().split_off(1);
    below.extend((stage >= Stage::Subagents).then(subagent_task));
    assert_eq!((page.total, &page.tasks[1..]), (below.len() as u64 + 1, &*below));
    let turns = if stage < Stage::Prices { turns()[..1].to_vec() } else { turns() };
    let root = reader.record(task(1)).unwrap().unwrap();
    assert_eq!((root.turns, root.mail_total), (turns, 2));
    if stage == Stage::Tasks {
        assert_eq!(page.tasks, tasks());
    }
    assert_eq!(reader.record(task(3)).unwrap(), (stage >= Stage::Subagents).then(subagent_record));
    let second = TasksParams { offset: 1, limit: Some(1), ..TasksParams::default() };
    assert_eq!(reader.tasks(&second).unwrap().tasks, tasks()[1..]);
    assert_eq!(reader.events_after(2, 3).unwrap().len(), 3);
    let conn = raw_connection(&home.session_db(session(1)));
    let mail = "SELECT state || ifnull(moved_at, '') FROM bosun_mail WHERE mail < 3 ORDER BY mail";
    assert_eq!(strings(&conn, mail), ["delivered25", "expired65"]);
}

#[test]
fn an_event_of_a_newer_version_is_kept_as_unknown() {
    let fixture = fixture();
    drop(create(&fixture.home, session(1)));
    let newer = r#"INSERT INTO bosun_events (seq, v, at, task, body) VALUES
        (1, 2, 5, 'task-00000000000000000000000000000001', '{"type":"taskParked","untilAt":"dawn"}'),
        (2, 2, 5, 'task-00000000000000000000000000000001', '{"type":"levitated"}'),
        (3, 1, 5, 'task-00000000000000000000000000000001', '{"type":"admissionClosed"}')"#;
    raw_connection(&fixture.home.session_db(session(1))).execute(newer, []).unwrap();
    let events: Vec<_> =
        adopt(&fixture.home, session(1)).log.into_iter().map(|envelope| envelope.entry.event).collect();
    assert_eq!(events, [Event::Unknown, Event::Unknown, Event::AdmissionClosed]);
}
