//! The writer: acknowledged events are durable, and a failed commit changes nothing.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};

use protocol::api::{CommandOutcome, RefusalKind, SendParams, SessionCommand};
use protocol::{Event, MailDelivery, MailId, Timestamp};
use store::{SessionFile, StoreError, WriteBatch, WriterPoint, WriterProbe, post_command};
use tokio::task::JoinSet;

use crate::support::*;

#[test]
fn events_are_numbered_without_gaps_and_read_back_as_written() {
    let fixture = fixture();
    let opened = create(&fixture.home, session(1));
    assert!(opened.log.is_empty());
    assert_eq!(commit(&opened.writer, first_entries()).unwrap().last_seq, 3);
    assert_eq!(commit(&opened.writer, vec![intent(20), intent(21)]).unwrap().last_seq, 5);
    assert_eq!(commit(&opened.writer, vec![]).unwrap().last_seq, 5);
    drop(opened);

    let log = adopt(&fixture.home, session(1)).log;
    assert_eq!(log.iter().map(|envelope| envelope.seq).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    assert!(log.iter().all(|envelope| envelope.session == session(1) && envelope.v == 1));
    let entries: Vec<_> = log.into_iter().map(|envelope| envelope.entry).collect();
    assert_eq!(entries, [first_entries(), vec![intent(20), intent(21)]].concat());
}

/// Blocks the first commit until it is released, and counts commits.
struct BlockingProbe {
    go: Mutex<mpsc::Receiver<()>>,
    commits: AtomicUsize,
}

impl WriterProbe for BlockingProbe {
    fn at(&self, point: WriterPoint) -> Result<(), io::Error> {
        if let WriterPoint::BeforeCommit { .. } = point
            && self.commits.fetch_add(1, Ordering::SeqCst) == 0
        {
            self.go.lock().unwrap().recv().unwrap();
        }
        Ok(())
    }
}

#[test]
fn batches_that_wait_share_one_transaction_and_each_gets_its_own_receipt() {
    let fixture = fixture();
    let (go, gate) = mpsc::channel();
    let gate = Arc::new(BlockingProbe { go: Mutex::new(gate), commits: AtomicUsize::new(0) });
    let opened =
        SessionFile::create_probed(&fixture.home, session(1), &dead_process(), Timestamp(1), gate.clone()).unwrap();
    let writer = Arc::new(opened.writer);
    let mut seqs = block_on(async {
        let mut commits = JoinSet::new();
        for n in 1..=101 {
            let writer = writer.clone();
            commits.spawn(async move {
                writer.commit(WriteBatch { entries: vec![intent(n)], ..WriteBatch::default() }).await
            });
            // The first commit must be blocked before the others are queued behind it.
            while n == 1 && gate.commits.load(Ordering::SeqCst) == 0 {
                tokio::task::yield_now().await;
            }
        }
        for _ in 0..101 {
            tokio::task::yield_now().await;
        }
        go.send(()).unwrap();
        commits.join_all().await
    })
    .into_iter()
    .map(|receipt| receipt.unwrap().last_seq)
    .collect::<Vec<_>>();
    seqs.sort_unstable();
    assert_eq!(seqs, (1..=101).collect::<Vec<_>>());
    assert_eq!(gate.commits.load(Ordering::SeqCst), 2);
}

#[derive(Default)]
struct FailingWriterProbe {
    fails: AtomicBool,
    last_committed: AtomicUsize,
}

impl WriterProbe for FailingWriterProbe {
    fn at(&self, point: WriterPoint) -> Result<(), io::Error> {
        match point {
            WriterPoint::BeforeCommit { .. } if self.fails.load(Ordering::SeqCst) => {
                Err(io::Error::from(io::ErrorKind::StorageFull))
            }
            WriterPoint::BeforeCommit { .. } => Ok(()),
            WriterPoint::AfterCommit { last_seq } => {
                self.last_committed.store(usize::try_from(last_seq).unwrap(), Ordering::SeqCst);
                Err(io::Error::other("too late to matter"))
            }
        }
    }
}

#[test]
fn a_failed_commit_changes_nothing_and_can_be_retried() {
    let fixture = fixture();
    let probe = Arc::new(FailingWriterProbe::default());
    let opened =
        SessionFile::create_probed(&fixture.home, session(1), &dead_process(), Timestamp(1), probe.clone()).unwrap();
    commit(&opened.writer, first_entries()).unwrap();
    let before = runtime_rows(&fixture.home, session(1));

    probe.fails.store(true, Ordering::SeqCst);
    let path = fixture.home.session_db(session(1));
    assert_eq!(commit(&opened.writer, vec![intent(20)]), Err(StoreError::Full { path }));
    assert_eq!(runtime_rows(&fixture.home, session(1)), before);
    assert_eq!(probe.last_committed.load(Ordering::SeqCst), 3);

    probe.fails.store(false, Ordering::SeqCst);
    assert_eq!(commit(&opened.writer, vec![intent(20)]).unwrap().last_seq, 4);
    assert_eq!(probe.last_committed.load(Ordering::SeqCst), 4);
}

#[test]
fn an_event_that_cannot_be_projected_fails_its_batch_only() {
    let fixture = fixture();
    let opened = create(&fixture.home, session(1));
    commit(&opened.writer, first_entries()).unwrap();
    let orphan = entry(20, Event::TaskCreated(Box::new(spec(Some(task(99)), "orphan"))));
    assert!(commit(&opened.writer, vec![intent(19), orphan]).is_err());
    assert_eq!(commit(&opened.writer, vec![intent(21)]).unwrap().last_seq, 4);
}

#[test]
fn dropping_the_writer_loses_no_queued_batch() {
    let fixture = fixture();
    let opened = create(&fixture.home, session(1));
    block_on(async {
        let writer = Arc::new(opened.writer);
        let mut commits = JoinSet::new();
        for n in 1..=50 {
            let writer = writer.clone();
            commits.spawn(async move {
                writer.commit(WriteBatch { entries: vec![intent(n)], ..WriteBatch::default() }).await
            });
        }
        tokio::task::yield_now().await;
        commits.shutdown().await;
    });
    assert_eq!(adopt(&fixture.home, session(1)).log.len(), 50);
}

#[test]
fn commands_are_pending_until_an_owner_applies_them() {
    let fixture = fixture();
    let home = &fixture.home;
    let opened = create(home, session(1));
    let send = SessionCommand::Send(SendParams {
        task: None,
        text: "and the docs".into(),
        images: Vec::new(),
        delivery: MailDelivery::Steer,
        display: None,
    });
    let first = post_command(home, session(1), &send, Timestamp(5)).unwrap();
    let second = post_command(home, session(1), &SessionCommand::Stop, Timestamp(6)).unwrap();
    let newer = r#"INSERT INTO bosun_commands (at, body) VALUES (7, '{"type":"levitate"}')"#;
    raw_connection(&home.session_db(session(1))).execute(newer, []).unwrap();

    let reader = reader(home, session(1));
    assert_eq!(reader.pending_commands().unwrap(), [(first, send), (second, SessionCommand::Stop)]);
    let outcome = CommandOutcome::Applied { mail: Some(MailId(9)) };
    block_on(
        opened.writer.commit(WriteBatch { entries: first_entries(), applied_commands: vec![(first, outcome.clone())] }),
    )
    .unwrap();
    assert_eq!(reader.pending_commands().unwrap(), [(second, SessionCommand::Stop)]);
    assert_eq!(reader.command_outcome(first), Ok(Some(outcome)));
    assert_eq!(reader.command_outcome(second), Ok(None));
    let refused = CommandOutcome::Refused { kind: RefusalKind::NoTask, message: "there is no such task".into() };
    block_on(
        opened.writer.commit(WriteBatch { entries: Vec::new(), applied_commands: vec![(second, refused.clone())] }),
    )
    .unwrap();
    assert_eq!(reader.command_outcome(second), Ok(Some(refused)));
}

#[test]
fn commands_written_to_the_file_while_it_has_an_owner_are_removed_on_release() {
    let fixture = fixture();
    let home = &fixture.home;
    let opened = SessionFile::create(home, session(1), &crate::support::this_process(), Timestamp(1)).unwrap();
    commit(&opened.writer, first_entries()).unwrap();
    assert!(matches!(
        post_command(home, session(1), &SessionCommand::Stop, Timestamp(5)),
        Err(StoreError::Owned { .. })
    ));
    let forged = r#"INSERT INTO bosun_commands (at, body) VALUES (7, '{"type":"stop"}')"#;
    raw_connection(&home.session_db(session(1))).execute(forged, []).unwrap();
    opened.writer.release().unwrap();
    assert_eq!(reader(home, session(1)).pending_commands().unwrap(), []);
    let posted = post_command(home, session(1), &SessionCommand::Stop, Timestamp(8)).unwrap();
    assert_eq!(reader(home, session(1)).pending_commands().unwrap(), [(posted, SessionCommand::Stop)]);
}

#[test]
fn commands_that_programs_may_have_written_are_refused() {
    let forged = [
        r#"INSERT INTO bosun_commands (at, body) VALUES (7, '{"type":"stop"}')"#,
        r#"INSERT INTO bosun_commands (id, at, body) VALUES (-5, 0, '{"type":"interrupt"}')"#,
        r#"INSERT INTO bosun_commands (id, at, body) VALUES (9000000, 99999999999999, '{"type":"stop"}')"#,
        r#"INSERT INTO bosun_commands (at, body, outcome) VALUES (7, '{"type":"stop"}', '{"type":"applied"}')"#,
        r#"UPDATE bosun_lease SET held = 0; INSERT INTO bosun_commands (at, body) VALUES (7, '{"type":"stop"}')"#,
    ];
    for record in ["", "forged", r#"{"boot":"another","guardian":"1.1"}"#] {
        for sql in forged {
            let fixture = fixture();
            let home = &fixture.home;
            drop(create(home, session(1)));
            raw_connection(&home.session_db(session(1))).execute_batch(sql).unwrap();
            std::fs::write(home.session_dir(session(1)).join("programs"), record).unwrap();
            let posted = post_command(home, session(1), &SessionCommand::Interrupt, Timestamp(8)).unwrap();
            assert_eq!(
                reader(home, session(1)).pending_commands().unwrap(),
                [(posted, SessionCommand::Interrupt)],
                "{sql}"
            );
        }
    }
}
