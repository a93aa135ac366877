//! D8: recovering the readable events of a damaged session file, with a list of the missing ones.

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
    first_entries().into_iter().chain((1..=400).map(some)).collect()
}

/// A released session with these events, and its log.
fn written() -> (StoreFixture, Vec<Envelope>) {
    let fixture = fixture();
    let opened = create(&fixture.home, session(1));
    commit(&opened.writer, entries()).unwrap();
    opened.writer.release().unwrap();
    let log = reader(&fixture.home, session(1)).events_after(0, usize::MAX).unwrap();
    (fixture, log)
}

/// Asserts that the recovered events are as written, and that all others are listed as missing.
#[track_caller]
fn assert_salvaged(salvaged: &SalvagedLog, log: &[Envelope], label: &str) {
    for event in &salvaged.events {
        assert_eq!(*event, log[usize::try_from(event.seq).unwrap() - 1], "{label}");
    }
    let mut seqs: Vec<u64> = salvaged.events.iter().map(|event| event.seq).collect();
    assert!(seqs.is_sorted());
    seqs.extend(salvaged.missing.iter().cloned().flatten());
    seqs.sort_unstable();
    assert!(seqs.iter().copied().eq(1..=log.len() as u64), "{label}: {:?}", salvaged.missing);
}

fn damage_range(path: &Path, whole: &[u8], from: usize, to: usize) {
    let mut bytes = whole.to_vec();
    // Bytes that are neither valid text nor a plausible number.
    bytes[from..to].iter_mut().enumerate().for_each(|(n, byte)| *byte = [0xfe, 0xc1, 0xff, 0x80][n % 4]);
    fs::write(path, bytes).unwrap();
}

#[test]
fn events_outside_a_damaged_page_are_recovered() {
    let (fixture, log) = written();
    let path = fixture.home.session_db(session(1));
    let whole = fs::read(&path).unwrap();
    let (mut refused, mut complete) = (0, 0);
    for page in 0..whole.len() / PAGE {
        damage_range(&path, &whole, page * PAGE, page * PAGE + 1500);
        let read = SessionReader::open(&fixture.home, session(1)).and_then(|reader| reader.events_after(0, usize::MAX));
        let salvaged = salvage(&fixture.home, session(1)).unwrap();
        assert_salvaged(&salvaged, &log, &format!("page {page}"));
        assert!(
            salvaged.events.len() + 60 > log.len(),
            "page {page}: {} events, {:?}",
            salvaged.events.len(),
            salvaged.missing
        );
        refused += usize::from(read.is_err());
        complete += usize::from(salvaged.missing.is_empty());
    }
    assert!(refused > 5 && complete > 5, "{refused} files could not be read, {complete} were recovered completely");
}

#[test]
fn the_beginning_of_a_truncated_file_is_recovered() {
    let (fixture, log) = written();
    let path = fixture.home.session_db(session(1));
    let whole = fs::read(&path).unwrap();
    let mut fewest = usize::MAX;
    for part in 1..=4 {
        fs::write(&path, &whole[..whole.len() * part / 4 - 700]).unwrap();
        let salvaged = salvage(&fixture.home, session(1)).unwrap();
        assert_salvaged(&salvaged, &log, &format!("{part} quarters"));
        fewest = fewest.min(salvaged.events.len());
    }
    assert!(fewest < log.len());
    fs::write(&path, "").unwrap();
    let salvaged = salvage(&fixture.home, session(1)).unwrap();
    assert_eq!((salvaged.events.len(), salvaged.missing), (0, vec![1..=log.len() as u64]));
}

/// A killed owner leaves a nearly empty file and a write-ahead log with all events.
#[test]
fn events_in_the_write_ahead_log_are_recovered() {
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
    let salvaged = salvage(&fixture.home, session(2)).unwrap();
    assert_eq!((salvaged.events.len(), salvaged.missing), (log.len(), Vec::new()));
    drop(opened);
}

/// The views of a session are rebuilt from its events, as far as there are any.
#[test]
fn views_are_rebuilt_from_events() {
    let (fixture, log) = written();
    let (own, rebuilt) = (reader(&fixture.home, session(1)), SessionReader::from_events(session(1), &log).unwrap());
    assert_eq!(rebuilt.session_view().unwrap(), own.session_view().unwrap());
    let tasks = |reader: &SessionReader| reader.tasks(&TasksParams { all: true, ..TasksParams::all_tasks() }).unwrap();
    assert_eq!(tasks(&rebuilt), tasks(&own));
    assert_eq!(rebuilt.events_after(0, usize::MAX).unwrap(), log);
    // Without the first events there is no task, but the other events can be read.
    let rebuilt = SessionReader::from_events(session(1), &log[20..]).unwrap();
    assert_eq!((tasks(&rebuilt).tasks.len(), rebuilt.session_view().unwrap().events), (0, log.len() as u64));
}
