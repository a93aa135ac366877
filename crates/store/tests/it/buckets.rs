//! Buckets shared by processes: every process sees the changes of the others, and no change is lost.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::thread;

use host::Home;
use protocol::{Cost, Event, ModelFault, Timestamp, Turn};
use store::{BucketStore, SessionIndex, StoreError};

use crate::support::*;

const KEY: &str = "demo/key/model";
const CHANGES: u64 = 200;

/// Increases the count in a bucket and returns it.
fn count(buckets: &BucketStore) -> u64 {
    let up = |state: Option<String>| {
        let next = state.map_or(0, |state| state.parse::<u64>().unwrap()) + 1;
        (next.to_string(), next)
    };
    buckets.change(KEY, up).unwrap()
}

#[test]
fn a_change_is_visible_to_other_connections_and_kept() {
    let fixture = fixture();
    let (ours, theirs) = (BucketStore::open(&fixture.home).unwrap(), BucketStore::open(&fixture.home).unwrap());
    assert_eq!(ours.read(KEY).unwrap(), None);
    assert_eq!((count(&ours), count(&theirs), count(&ours)), (1, 2, 3));
    theirs.change("another", |none| (format!("{none:?}"), ())).unwrap();
    drop((ours, theirs));
    let later = BucketStore::open(&fixture.home).unwrap();
    assert_eq!(later.read(KEY).unwrap().as_deref(), Some("3"));
    assert_eq!(later.read("another").unwrap().as_deref(), Some("None"));
    assert!(SessionIndex::open(&fixture.home).unwrap().list(None).unwrap().is_empty());
}

/// Creates a session that spends so much at each of these times.
fn spend(home: &Home, n: u128, micros: u64, at: &[u64]) {
    let failed = |turn| Event::TurnFailed {
        turn: Turn(turn),
        fault: ModelFault::Overloaded,
        message: String::new(),
        cost: Cost { tokens: 1, micros },
        retry: None,
    };
    let turns = at.iter().zip(1..).flat_map(|(at, turn)| [entry(*at, turn_begun(turn)), entry(*at, failed(turn))]);
    let opened = create(home, session(n));
    commit(&opened.writer, first_entries().into_iter().chain(turns).collect()).unwrap();
    opened.writer.release().unwrap();
}

/// D16: the spending of a day is counted from the sessions, even if they began earlier or are damaged.
#[test]
fn spending_since_a_time_is_counted_from_the_sessions() {
    let fixture = fixture();
    spend(&fixture.home, 1, 5, &[100, 900, 2000, 3000]);
    spend(&fixture.home, 2, 70, &[1000]);
    spend(&fixture.home, 3, 300, &[100]);
    spend(&fixture.home, 4, 1000, &[1500, 1600]);
    let since = |at| BucketStore::open(&fixture.home).unwrap().spent_since(&fixture.home, Timestamp(at)).unwrap();
    drop(SessionIndex::open_reconciled(&fixture.home).unwrap());
    assert_eq!((since(1000), since(1001), since(5000)), (2080, 2010, 0));
    // Damage the header of the file, but not its rows.
    let path = fixture.home.session_db(session(4));
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[..90].fill(0xff);
    std::fs::write(&path, bytes).unwrap();
    std::fs::remove_file(fixture.home.index_db()).unwrap();
    assert_eq!(since(1000), 2080);
}

#[test]
fn eight_processes_lose_no_change() {
    if let Some(root) = child_argument() {
        let buckets = BucketStore::open(&Home::open(root).unwrap()).unwrap();
        return (0..CHANGES).for_each(|_| assert!(count(&buckets) > 0));
    }
    let fixture = fixture();
    let case = "buckets::eight_processes_lose_no_change";
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_succeeds(child_command(&this_binary(), case, fixture.home.root())));
        }
    });
    assert_eq!(BucketStore::open(&fixture.home).unwrap().read(KEY).unwrap(), Some((8 * CHANGES).to_string()));
}

#[test]
fn killing_a_process_during_a_change_leaves_a_complete_row() {
    if let Some(root) = child_argument() {
        let buckets = BucketStore::open(&Home::open(root).unwrap()).unwrap();
        loop {
            println!("counted {}", count(&buckets));
        }
    }
    let fixture = fixture();
    let case = "buckets::killing_a_process_during_a_change_leaves_a_complete_row";
    let mut other = child_command(&this_binary(), case, fixture.home.root()).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(other.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut counted = lines.filter_map(|line| line.strip_prefix("counted ")?.parse::<u64>().ok());
    let early = counted.nth(50).unwrap();
    let ours = BucketStore::open(&fixture.home).unwrap();
    (0..50).for_each(|_| assert!(count(&ours) > early));
    other.kill().unwrap();
    other.wait().unwrap();
    let last = counted.last().unwrap_or(early);
    assert!(count(&ours) > last);
}

#[test]
fn invalid_utf8_is_read_with_replacement_characters() {
    let fixture = fixture();
    let buckets = BucketStore::open(&fixture.home).unwrap();
    count(&buckets);
    raw_connection(&fixture.home.index_db()).execute("UPDATE buckets SET state = CAST(x'31ff' AS TEXT)", []).unwrap();
    assert_eq!(buckets.read(KEY).unwrap().as_deref(), Some("1\u{fffd}"));
    buckets.change(KEY, |_| ("7".into(), ())).unwrap();
    assert_eq!(count(&buckets), 8);
}

#[test]
fn a_file_of_a_newer_version_is_refused() {
    let fixture = fixture();
    drop(SessionIndex::open(&fixture.home).unwrap());
    raw_connection(&fixture.home.index_db()).pragma_update(None, "user_version", 9).unwrap();
    assert!(matches!(BucketStore::open(&fixture.home), Err(StoreError::Newer { found: 9, .. })));
}
