//! Many processes and threads at once: none gets a "locked" error, and no reader sees an incomplete write.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use host::Home;
use protocol::Timestamp;
use protocol::api::{SessionCommand, TasksParams};
use store::{SessionFile, SessionIndex, SessionRow, StoreError, WriteBatch, post_command};

use crate::support::*;

const PROCESSES: u32 = 30;

/// The first start of a process: it opens the home, creates a session and adds it to the index.
fn first_start(home: &Home, n: u128) {
    let index = SessionIndex::open(home).unwrap();
    let opened = SessionFile::create(home, session(n), &this_process(), Timestamp(1)).unwrap();
    commit(&opened.writer, first_entries()).unwrap();
    let view = reader(home, session(n)).session_view().unwrap();
    index.upsert(&SessionRow::from(&view)).unwrap();
    opened.writer.release().unwrap();
}

#[test]
fn thirty_processes_start_at_once_in_an_empty_home() {
    if let Some(root) = child_argument() {
        return first_start(&Home::open(root).unwrap(), u128::from(std::process::id()));
    }
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("home");
    let case = "concurrency::thirty_processes_start_at_once_in_an_empty_home";
    thread::scope(|scope| {
        for _ in 0..PROCESSES {
            scope.spawn(|| assert_succeeds(child_command(&this_binary(), case, &root)));
        }
    });
    let listed = SessionIndex::open(&Home::open(root).unwrap()).unwrap().list(None).unwrap();
    assert_eq!(listed.len(), usize::try_from(PROCESSES).unwrap());
}

#[test]
fn thirty_threads_start_at_once_in_an_empty_home() {
    let fixture = fixture();
    thread::scope(|scope| {
        for n in 0..30 {
            let home = &fixture.home;
            scope.spawn(move || first_start(home, n));
        }
    });
    assert_eq!(SessionIndex::open(&fixture.home).unwrap().list(None).unwrap().len(), 30);
}

/// Runs a session: every turn is a commit and an update of the index.
fn work(home: &Home, n: u128) {
    let index = SessionIndex::open(home).unwrap();
    let opened = SessionFile::create(home, session(n), &this_process(), Timestamp(1)).unwrap();
    commit(&opened.writer, first_entries()).unwrap();
    let view = reader(home, session(n)).session_view().unwrap();
    for turn in 1..=TURNS {
        commit(&opened.writer, vec![intent(turn)]).unwrap();
        index.upsert(&SessionRow { updated_at: Timestamp(turn), ..SessionRow::from(&view) }).unwrap();
    }
    opened.writer.release().unwrap();
}

const TURNS: u64 = 200;

#[test]
fn eight_processes_write_while_another_reads() {
    if let Some(root) = child_argument() {
        return work(&Home::open(root).unwrap(), u128::from(std::process::id()));
    }
    let fixture = fixture();
    let home = &fixture.home;
    let case = "concurrency::eight_processes_write_while_another_reads";
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let index = SessionIndex::open(home).unwrap();
            while !done.load(Ordering::SeqCst) {
                for row in index.list(None).unwrap() {
                    let seen = reader(home, row.id).session_view().unwrap();
                    assert!(seen.events >= row.updated_at.0.min(TURNS));
                }
            }
        });
        let workers: Vec<_> =
            (0..8).map(|_| scope.spawn(|| assert_succeeds(child_command(&this_binary(), case, home.root())))).collect();
        let ended: Vec<_> = workers.into_iter().map(thread::ScopedJoinHandle::join).collect();
        done.store(true, Ordering::SeqCst);
        ended.into_iter().for_each(Result::unwrap);
    });
    let rows = SessionIndex::open(home).unwrap().list(None).unwrap();
    assert_eq!(rows.len(), 8);
    for row in rows {
        assert_eq!(row.updated_at, Timestamp(TURNS));
        assert_eq!(reader(home, row.id).events_after(0, usize::MAX).unwrap().len() as u64, TURNS + 3);
    }
}

#[test]
fn readers_and_commands_do_not_wait_for_the_writing_owner() {
    const ROUNDS: u64 = 300;
    let fixture = fixture();
    let home = &fixture.home;
    let opened = create(home, session(1));
    commit(&opened.writer, first_entries()).unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let reader = reader(home, session(1));
                let mut seen = 0;
                while !done.load(Ordering::SeqCst) {
                    // Each batch has three events, so an incomplete read has another remainder.
                    let log = reader.events_after(0, usize::MAX).unwrap();
                    assert_eq!(log.len() % 3, 0);
                    let view = reader.session_view().unwrap();
                    assert_eq!(view.events % 3, 0);
                    assert!(view.events >= seen, "{} after {seen}", view.events);
                    seen = view.events;
                    let tasks = reader.tasks(&TasksParams::default()).unwrap();
                    assert_eq!(tasks.total, 1);
                }
            });
        }
        scope.spawn(|| {
            for n in 0..50 {
                post_command(home, session(1), &SessionCommand::Interrupt, Timestamp(n)).unwrap();
            }
        });
        for n in 1..=ROUNDS {
            let batch = WriteBatch { entries: vec![intent(n); 3], ..WriteBatch::default() };
            assert_eq!(block_on(opened.writer.commit(batch)).unwrap().last_seq, 3 * n + 3);
        }
        done.store(true, Ordering::SeqCst);
    });
    let reader = reader(home, session(1));
    assert_eq!(reader.session_view().unwrap().events, 3 * ROUNDS + 3);
    assert_eq!(reader.pending_commands().unwrap().len(), 50);
}

#[test]
fn only_one_of_many_processes_can_adopt_a_session() {
    let fixture = fixture();
    drop(create(&fixture.home, session(1)));
    let adopted = thread::scope(|scope| {
        let tries: Vec<_> = (0..10)
            .map(|_| {
                scope.spawn(|| SessionFile::adopt(&fixture.home, session(1), &this_process(), Timestamp(2)).is_ok())
            })
            .collect();
        tries.into_iter().map(|try_| try_.join().unwrap()).filter(|adopted| *adopted).count()
    });
    assert_eq!(adopted, 1);
}

/// Writes as an owner until the process is killed, and prints the acknowledged events.
fn write_for_ever(home: &Home) {
    let opened = SessionFile::create(home, session(1), &this_process(), Timestamp(1)).unwrap();
    for n in 1.. {
        println!("acknowledged {}", commit(&opened.writer, vec![intent(n); 2]).unwrap().last_seq);
    }
}

#[test]
fn a_killed_owner_loses_no_acknowledged_event() {
    if let Some(root) = child_argument() {
        return write_for_ever(&Home::open(root).unwrap());
    }
    let fixture = fixture();
    let case = "concurrency::a_killed_owner_loses_no_acknowledged_event";
    let mut owner = child_command(&this_binary(), case, fixture.home.root()).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(owner.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut acknowledged = lines.filter_map(|line| line.strip_prefix("acknowledged ")?.parse::<usize>().ok());
    let early = acknowledged.nth(50).unwrap();
    let refused = SessionFile::adopt(&fixture.home, session(1), &this_process(), Timestamp(2)).map(|_| ());
    assert_eq!(refused, Err(StoreError::Owned { pid: owner.id() }));
    owner.kill().unwrap();
    owner.wait().unwrap();
    let last = acknowledged.last().unwrap_or(early);

    let log = adopt(&fixture.home, session(1)).log;
    assert!(log.len() >= last && log.len() <= last + 2, "{} of {last}", log.len());
    assert_eq!(log.len() % 2, 0);
}
