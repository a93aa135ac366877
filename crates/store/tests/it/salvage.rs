//! D8: what can be read of a damaged session file is read, and what cannot is named.

use std::fs;
use std::path::Path;

use protocol::api::TasksParams;
use protocol::{Envelope, Event, LogEntry, MailDelivery, MailId, Principal};
use store::{SalvagedLog, SessionReader, salvage};

use crate::support::*;

const PAGE: usize = 4096;

/// A session of many events, some of which take several pages each.
fn entries() -> Vec<LogEntry> {
    let long = |n: u64| {
        let body = protocol::MailBody::text(format!("{n} {}", "some words ".repeat(usize::try_from(n).unwrap() * 3)));
        entry(
            100 + n,
            Event::MailAdmitted { mail: MailId(n + 1), from: Principal::User, delivery: MailDelivery::Steer, body },
        )
    };
    let some = |n: u64| if n.is_multiple_of(40) { long(n) } else { intent(n) };
    opening().into_iter().chain((1..=400).map(some)).collect()
}

/// Such a session at rest, and its log.
fn written() -> (StoreFixture, Vec<Envelope>) {
    let fixture = fixture();
    let opened = create(&fixture.home, session(1));
    commit(&opened.writer, entries()).unwrap();
    opened.writer.release().unwrap();
    let log = reader(&fixture.home, session(1)).events_after(0, usize::MAX).unwrap();
    (fixture, log)
}

/// Whatever was found is as it was written, and everything else is named.
#[track_caller]
fn assert_true(found: &SalvagedLog, log: &[Envelope], what: &str) {
    for event in &found.events {
        assert_eq!(*event, log[usize::try_from(event.seq).unwrap() - 1], "{what}");
    }
    let mut seqs: Vec<u64> = found.events.iter().map(|event| event.seq).collect();
    assert!(seqs.is_sorted());
    seqs.extend(found.missing.iter().cloned().flatten());
    seqs.sort_unstable();
    assert!(seqs.iter().copied().eq(1..=log.len() as u64), "{what}: {:?}", found.missing);
}

fn harm(path: &Path, whole: &[u8], from: usize, to: usize) {
    let mut bytes = whole.to_vec();
    // No text and no number that anything would be taken for.
    bytes[from..to].iter_mut().enumerate().for_each(|(n, byte)| *byte = [0xfe, 0xc1, 0xff, 0x80][n % 4]);
    fs::write(path, bytes).unwrap();
}

#[test]
fn whichever_page_is_damaged_the_other_events_are_found() {
    let (fixture, log) = written();
    let path = fixture.home.session_db(session(1));
    let whole = fs::read(&path).unwrap();
    let (mut refused, mut all) = (0, 0);
    for page in 0..whole.len() / PAGE {
        harm(&path, &whole, page * PAGE, page * PAGE + 1500);
        let read = SessionReader::open(&fixture.home, session(1)).and_then(|reader| reader.events_after(0, usize::MAX));
        let found = salvage(&fixture.home, session(1)).unwrap();
        assert_true(&found, &log, &format!("page {page}"));
        assert!(found.events.len() + 60 > log.len(), "page {page}: {} events, {:?}", found.events.len(), found.missing);
        refused += usize::from(read.is_err());
        all += usize::from(found.missing.is_empty());
    }
    assert!(refused > 5 && all > 5, "{refused} files could not be read, {all} gave everything");
}

#[test]
fn a_file_that_was_cut_off_gives_its_beginning() {
    let (fixture, log) = written();
    let path = fixture.home.session_db(session(1));
    let whole = fs::read(&path).unwrap();
    let mut least = usize::MAX;
    for part in 1..=4 {
        fs::write(&path, &whole[..whole.len() * part / 4 - 700]).unwrap();
        let found = salvage(&fixture.home, session(1)).unwrap();
        assert_true(&found, &log, &format!("{part} quarters"));
        least = least.min(found.events.len());
    }
    assert!(least < log.len());
    fs::write(&path, "").unwrap();
    let found = salvage(&fixture.home, session(1)).unwrap();
    assert_eq!((found.events.len(), found.missing), (0, vec![1..=log.len() as u64]));
}

/// What an owner that was killed leaves: the file is nearly empty, and the log beside it has everything.
#[test]
fn events_in_the_write_ahead_log_are_found() {
    let fixture = fixture();
    let opened = create(&fixture.home, session(1));
    commit(&opened.writer, entries()).unwrap();
    let log = reader(&fixture.home, session(1)).events_after(0, usize::MAX).unwrap();
    let (path, other) = (fixture.home.session_db(session(1)), fixture.home.session_db(session(2)));
    fixture.home.make_session(session(2)).unwrap();
    for ending in ["", "-wal"] {
        let named = |path: &Path| std::path::PathBuf::from(format!("{}{ending}", path.display()));
        fs::copy(named(&path), named(&other)).unwrap();
    }
    fs::copy(path.with_extension("digest"), other.with_extension("digest")).unwrap();
    let found = salvage(&fixture.home, session(2)).unwrap();
    assert_eq!((found.events.len(), found.missing), (log.len(), Vec::new()));
    drop(opened);
}

/// What pages show of a session is made again from its events, as far as there are any.
#[test]
fn views_are_made_of_events_alone() {
    let (fixture, log) = written();
    let (own, made) = (reader(&fixture.home, session(1)), SessionReader::of_events(session(1), &log).unwrap());
    assert_eq!(made.session_view().unwrap(), own.session_view().unwrap());
    let tasks = |reader: &SessionReader| reader.tasks(&TasksParams { all: true, ..TasksParams::all_tasks() }).unwrap();
    assert_eq!(tasks(&made), tasks(&own));
    assert_eq!(made.events_after(0, usize::MAX).unwrap(), log);
    // Without their beginning, the others make no task, and are there to read.
    let made = SessionReader::of_events(session(1), &log[20..]).unwrap();
    assert_eq!((tasks(&made).tasks.len(), made.session_view().unwrap().events), (0, log.len() as u64));
}
