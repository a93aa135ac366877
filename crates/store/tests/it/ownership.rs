//! A session has one owner at a time, and a former owner cannot write.

use std::os::unix::fs::MetadataExt;

use protocol::api::TasksParams;
use protocol::{Activation, Attempt, Event, Fence, LogEntry, TaskSpec, TaskType, Timestamp};
use store::{SessionFile, StoreError, remove_session};

use crate::support::*;

#[test]
fn only_the_user_can_access_a_session() {
    let fixture = fixture();
    create(&fixture.home, session(1));
    let mode = |path: std::path::PathBuf| std::fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(fixture.home.session_dir(session(1))), 0o700);
    assert_eq!(mode(fixture.home.session_db(session(1))), 0o600);
}

#[test]
fn the_fence_increases_and_a_former_owner_is_refused() {
    let fixture = fixture();
    let first = create(&fixture.home, session(1));
    assert_eq!(first.fence, Fence(1));
    commit(&first.writer, first_entries()).unwrap();
    let second = adopt(&fixture.home, session(1));
    assert_eq!(second.fence, Fence(2));
    assert_eq!(second.log.len(), 3);

    let refused = commit(&first.writer, vec![intent(20)]);
    assert_eq!(refused, Err(StoreError::Fenced { ours: Fence(1), theirs: Fence(2) }));
    assert_eq!(commit(&second.writer, vec![intent(21)]).unwrap().last_seq, 4);

    first.writer.release().unwrap();
    assert_eq!(reader(&fixture.home, session(1)).lease().unwrap(), Some((Fence(2), dead_process())));
}

/// SQLite removes the log of a file that no process has locked, so the lock must not be lost after the file is created.
#[test]
fn the_owner_of_a_new_session_holds_the_lock_on_its_file() {
    let fixture = fixture();
    let opened = create(&fixture.home, session(1));
    assert!(is_locked(&fixture.home.session_db(session(1))));
    drop(opened);
}

/// A process that checks the installation may also run or show sessions.
#[test]
fn looking_at_the_header_of_a_file_keeps_the_lock_on_it() {
    let fixture = fixture();
    let path = fixture.home.session_db(session(1));
    let opened = create(&fixture.home, session(1));
    assert_eq!(store::inspect_header(&path).unwrap(), store::HeaderStatus::Empty);
    assert!(is_locked(&path), "the owner");
    opened.writer.release().unwrap();
    assert!(!is_locked(&path));
    let reading = reader(&fixture.home, session(1));
    assert_eq!(store::inspect_header(&path).unwrap(), store::HeaderStatus::Current);
    assert!(is_locked(&path), "a reader");
    drop(reading);
}

/// Whether a process holds one of SQLite's locks on a file.
fn is_locked(path: &std::path::Path) -> bool {
    let inode = std::fs::metadata(path).unwrap().ino();
    let locks = std::fs::read_to_string("/proc/locks").unwrap();
    // The locks that SQLite takes begin at 1 GiB, behind the end of most files.
    locks.lines().any(|line| line.contains("POSIX") && line.contains(&format!(":{inode} 107374")))
}

#[test]
fn a_session_with_a_live_owner_cannot_be_adopted_or_removed() {
    let fixture = fixture();
    let opened = SessionFile::create(&fixture.home, session(1), &this_process(), Timestamp(1)).unwrap();
    let owned = Err(StoreError::Owned { pid: std::process::id() });
    assert_eq!(SessionFile::adopt(&fixture.home, session(1), &dead_process(), Timestamp(2)).map(|_| ()), owned);
    assert_eq!(remove_session(&fixture.home, session(1)), owned);
    assert_eq!(reader(&fixture.home, session(1)).session_view().unwrap().owner_pid, Some(std::process::id()));
    commit(&opened.writer, first_entries()).unwrap();
}

#[test]
fn a_released_session_has_no_owner_and_no_write_ahead_log() {
    let fixture = fixture();
    let opened = SessionFile::create(&fixture.home, session(1), &this_process(), Timestamp(1)).unwrap();
    commit(&opened.writer, first_entries()).unwrap();
    opened.writer.release().unwrap();

    let entries = std::fs::read_dir(fixture.home.session_dir(session(1))).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name()).filter(|name| name != "output");
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
    let again = SessionFile::create(&fixture.home, session(1), &dead_process(), Timestamp(2)).map(|_| ());
    assert_eq!(again, Err(StoreError::Exists { id: session(1), path: fixture.home.session_dir(session(1)) }));
}

#[test]
fn an_owner_is_alive_only_if_boot_process_and_start_time_match() {
    let fixture = fixture();
    // The lease is old according to the clock, which may have jumped since.
    let opened = SessionFile::create(&fixture.home, session(1), &this_process(), Timestamp(1)).unwrap();
    let started = Event::ActivationStarted { activation: Activation(1), attempt: Attempt(1) };
    let mut entries = first_entries();
    entries.push(entry(20, started.clone()));
    entries.push(LogEntry { task: task(2), ..entry(21, Event::TaskCreated(Box::new(spec(Some(task(1)), "tests")))) });
    let command = TaskSpec { parent: Some(task(1)), ..TaskSpec::new(TaskType::Shell, "shell", "make") };
    entries.push(LogEntry { task: task(3), ..entry(22, Event::TaskCreated(Box::new(command))) });
    entries.push(LogEntry { task: task(3), ..entry(23, started) });
    commit(&opened.writer, entries).unwrap();
    let states = || -> Vec<&'static str> {
        let tasks = reader(&fixture.home, session(1)).tasks(&TasksParams::all_tasks()).unwrap().tasks;
        tasks.iter().map(|task| task.state.as_str()).collect()
    };
    assert_eq!(states(), ["running", "queued", "running"]);
    let conn = raw_connection(&fixture.home.session_db(session(1)));
    for other in ["boot = 'another'", "pid = 4194304", "started = started + 1"] {
        conn.execute(&format!("UPDATE bosun_lease SET {other}"), []).unwrap();
        assert_eq!(states(), ["interrupted", "interrupted", "lost"], "{other}");
        let me = this_process();
        let back =
            format!("UPDATE bosun_lease SET boot = '{}', pid = {}, started = {}", me.boot, me.pid, me.start_ticks);
        conn.execute(&back, []).unwrap();
        assert_eq!(states(), ["running", "queued", "running"]);
    }
    // These states are only shown, not written.
    let state = "SELECT state ->> '$.type' FROM bosun_tasks ORDER BY row";
    assert_eq!(strings(&conn, state), ["running", "queued", "running"]);
}
