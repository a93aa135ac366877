//! One owner at a time, and never a write by an old one.

use std::os::unix::fs::MetadataExt;

use protocol::api::TasksParams;
use protocol::{Activation, Attempt, Event, Fence, LogEntry, TaskSpec, TaskType, Timestamp};
use store::{SessionFile, StoreError, remove_session};

use crate::support::*;

#[test]
fn a_session_belongs_to_its_user_alone() {
    let fixture = fixture();
    create(&fixture.home, session(1));
    let mode = |path: std::path::PathBuf| std::fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(fixture.home.session_dir(session(1))), 0o700);
    assert_eq!(mode(fixture.home.session_db(session(1))), 0o600);
}

#[test]
fn the_fence_grows_and_an_old_owner_is_refused() {
    let fixture = fixture();
    let first = create(&fixture.home, session(1));
    assert_eq!(first.fence, Fence(1));
    commit(&first.writer, opening()).unwrap();
    let second = adopt(&fixture.home, session(1));
    assert_eq!(second.fence, Fence(2));
    assert_eq!(second.log.len(), 3);

    let refused = commit(&first.writer, vec![intent(20)]);
    assert_eq!(refused, Err(StoreError::Fenced { ours: Fence(1), theirs: Fence(2) }));
    assert_eq!(commit(&second.writer, vec![intent(21)]).unwrap().last_seq, 4);

    first.writer.release().unwrap();
    assert_eq!(reader(&fixture.home, session(1)).lease().unwrap(), Some((Fence(2), dead())));
}

#[test]
fn a_live_owner_keeps_its_session() {
    let fixture = fixture();
    let opened = SessionFile::create(&fixture.home, session(1), &me(), Timestamp(1)).unwrap();
    let owned = Err(StoreError::Owned { pid: std::process::id() });
    assert_eq!(SessionFile::adopt(&fixture.home, session(1), &dead(), Timestamp(2)).map(|_| ()), owned);
    assert_eq!(remove_session(&fixture.home, session(1)), owned);
    assert_eq!(reader(&fixture.home, session(1)).session_view().unwrap().owner_pid, Some(std::process::id()));
    commit(&opened.writer, opening()).unwrap();
}

#[test]
fn release_gives_the_session_back_as_one_file() {
    let fixture = fixture();
    let opened = SessionFile::create(&fixture.home, session(1), &me(), Timestamp(1)).unwrap();
    commit(&opened.writer, opening()).unwrap();
    opened.writer.release().unwrap();

    let beside = std::fs::read_dir(fixture.home.session_dir(session(1))).unwrap();
    let names = beside.map(|entry| entry.unwrap().file_name()).filter(|name| name != "output");
    let mut names: Vec<_> = names.collect();
    names.sort();
    assert_eq!(names, ["session.db", "session.digest"]);
    assert_eq!(reader(&fixture.home, session(1)).lease().unwrap(), None);
    assert_eq!(reader(&fixture.home, session(1)).session_view().unwrap().owner_pid, None);
    assert_eq!(adopt(&fixture.home, session(1)).fence, Fence(2));
}

#[test]
fn an_id_is_used_once() {
    let fixture = fixture();
    create(&fixture.home, session(1));
    let again = SessionFile::create(&fixture.home, session(1), &dead(), Timestamp(2)).map(|_| ());
    assert_eq!(again, Err(StoreError::Exists { id: session(1), path: fixture.home.session_dir(session(1)) }));
}

#[test]
fn only_boot_process_and_start_tell_whether_an_owner_is_alive() {
    let fixture = fixture();
    // A lease of long ago, by a clock that has jumped since.
    let opened = SessionFile::create(&fixture.home, session(1), &me(), Timestamp(1)).unwrap();
    let started = Event::ActivationStarted { activation: Activation(1), attempt: Attempt(1) };
    let mut entries = opening();
    entries.push(entry(20, started.clone()));
    entries.push(LogEntry { task: task(2), ..entry(21, Event::TaskCreated(Box::new(spec(Some(task(1)), "tests")))) });
    let command = TaskSpec { parent: Some(task(1)), ..TaskSpec::new(TaskType::Shell, "shell", "make") };
    entries.push(LogEntry { task: task(3), ..entry(22, Event::TaskCreated(Box::new(command))) });
    entries.push(LogEntry { task: task(3), ..entry(23, started) });
    commit(&opened.writer, entries).unwrap();
    let words = || -> Vec<&'static str> {
        let tasks = reader(&fixture.home, session(1)).tasks(&TasksParams::all_tasks()).unwrap().tasks;
        tasks.iter().map(|task| task.state.as_str()).collect()
    };
    assert_eq!(words(), ["running", "queued", "running"]);
    let conn = raw(&fixture.home.session_db(session(1)));
    for other in ["boot = 'another'", "pid = 4194304", "started = started + 1"] {
        conn.execute(&format!("UPDATE bosun_lease SET {other}"), []).unwrap();
        assert_eq!(words(), ["interrupted", "interrupted", "lost"], "{other}");
        let me = me();
        let back = format!("UPDATE bosun_lease SET boot = '{}', pid = {}, started = {}", me.boot, me.pid, me.started);
        conn.execute(&back, []).unwrap();
        assert_eq!(words(), ["running", "queued", "running"]);
    }
    // What is shown that way is not written.
    let state = "SELECT state ->> '$.type' FROM bosun_tasks ORDER BY row";
    assert_eq!(strings(&conn, state), ["running", "queued", "running"]);
}
