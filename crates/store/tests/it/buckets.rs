//! Buckets: what one process changes the others see, and nobody's change is lost.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::thread;

use host::Home;
use protocol::{At, Cost, Event, ModelFault, Turn};
use store::{Buckets, Index, StoreError};

use crate::support::*;

const KEY: &str = "demo/key/model";
const CHANGES: u64 = 200;

/// Counts one up, and tells the count.
fn count(buckets: &Buckets) -> u64 {
    let up = |state: Option<String>| {
        let next = state.map_or(0, |state| state.parse::<u64>().unwrap()) + 1;
        (next.to_string(), next)
    };
    buckets.change(KEY, up).unwrap()
}

#[test]
fn a_change_is_seen_by_everybody_and_kept() {
    let house = house();
    let (ours, theirs) = (Buckets::open(&house.home).unwrap(), Buckets::open(&house.home).unwrap());
    assert_eq!(ours.read(KEY).unwrap(), None);
    assert_eq!((count(&ours), count(&theirs), count(&ours)), (1, 2, 3));
    theirs.change("another", |none| (format!("{none:?}"), ())).unwrap();
    drop((ours, theirs));
    let later = Buckets::open(&house.home).unwrap();
    assert_eq!(later.read(KEY).unwrap().as_deref(), Some("3"));
    assert_eq!(later.read("another").unwrap().as_deref(), Some("None"));
    assert!(Index::open(&house.home).unwrap().list(None).unwrap().is_empty());
}

/// A session that spends so much at each of these moments.
fn spend(home: &Home, n: u128, micros: u64, at: &[u64]) {
    let failed = |turn| Event::TurnFailed {
        turn: Turn(turn),
        fault: ModelFault::Overloaded,
        message: String::new(),
        cost: Cost { tokens: 1, micros },
        retry: None,
    };
    let turns = at.iter().zip(1..).flat_map(|(at, turn)| [entry(*at, begun(turn)), entry(*at, failed(turn))]);
    let opened = create(home, session(n));
    commit(&opened.writer, opening().into_iter().chain(turns).collect()).unwrap();
    opened.writer.release().unwrap();
}

/// D16: what a day cost is in the sessions, whether they began on it, and whether they can be read as a whole.
#[test]
fn what_was_spent_since_a_moment_is_counted_from_the_sessions() {
    let house = house();
    spend(&house.home, 1, 5, &[100, 900, 2000, 3000]);
    spend(&house.home, 2, 70, &[1000]);
    spend(&house.home, 3, 300, &[100]);
    spend(&house.home, 4, 1000, &[1500, 1600]);
    let since = |at| Buckets::open(&house.home).unwrap().spent_since(&house.home, At(at)).unwrap();
    drop(Index::current(&house.home).unwrap());
    assert_eq!((since(1000), since(1001), since(5000)), (2080, 2010, 0));
    // The header of the file is lost, and its rows are not.
    let path = house.home.session_db(session(4));
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[..90].fill(0xff);
    std::fs::write(&path, bytes).unwrap();
    std::fs::remove_file(house.home.index_db()).unwrap();
    assert_eq!(since(1000), 2080);
}

#[test]
fn eight_processes_count_together() {
    if let Some(root) = child_argument() {
        let buckets = Buckets::open(&Home::open(root).unwrap()).unwrap();
        return (0..CHANGES).for_each(|_| assert!(count(&buckets) > 0));
    }
    let house = house();
    let case = "buckets::eight_processes_count_together";
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_succeeds(again(&this_binary(), case, house.home.root())));
        }
    });
    assert_eq!(Buckets::open(&house.home).unwrap().read(KEY).unwrap(), Some((8 * CHANGES).to_string()));
}

#[test]
fn a_process_that_is_killed_in_the_middle_leaves_a_whole_row() {
    if let Some(root) = child_argument() {
        let buckets = Buckets::open(&Home::open(root).unwrap()).unwrap();
        loop {
            println!("counted {}", count(&buckets));
        }
    }
    let house = house();
    let case = "buckets::a_process_that_is_killed_in_the_middle_leaves_a_whole_row";
    let mut other = again(&this_binary(), case, house.home.root()).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(other.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut counted = lines.filter_map(|line| line.strip_prefix("counted ")?.parse::<u64>().ok());
    let early = counted.nth(50).unwrap();
    let ours = Buckets::open(&house.home).unwrap();
    (0..50).for_each(|_| assert!(count(&ours) > early));
    other.kill().unwrap();
    other.wait().unwrap();
    let last = counted.last().unwrap_or(early);
    assert!(count(&ours) > last);
}

#[test]
fn an_index_of_the_first_form_gets_its_buckets_and_keeps_its_sessions() {
    let house = house();
    commit(&create(&house.home, session(1)).writer, opening()).unwrap();
    drop(Index::open(&house.home).unwrap());
    let later = ["buckets", "trust", "bosun_items", "fleet_results", "spendings", "session_tasks"]
        .map(|table| format!("DROP TABLE {table};"))
        .concat();
    raw(&house.home.index_db()).execute_batch(&format!("{later} PRAGMA user_version = 1")).unwrap();
    assert_eq!(count(&Buckets::open(&house.home).unwrap()), 1);
    assert_eq!(Index::open(&house.home).unwrap().list(None).unwrap().len(), 1);
}

#[test]
fn bytes_that_are_no_text_read_as_something_else() {
    let house = house();
    let buckets = Buckets::open(&house.home).unwrap();
    count(&buckets);
    raw(&house.home.index_db()).execute("UPDATE buckets SET state = CAST(x'31ff' AS TEXT)", []).unwrap();
    assert_eq!(buckets.read(KEY).unwrap().as_deref(), Some("1\u{fffd}"));
    buckets.change(KEY, |_| ("7".into(), ())).unwrap();
    assert_eq!(count(&buckets), 8);
}

#[test]
fn a_newer_bosun_s_file_is_left_alone() {
    let house = house();
    drop(Index::open(&house.home).unwrap());
    raw(&house.home.index_db()).pragma_update(None, "user_version", 9).unwrap();
    assert!(matches!(Buckets::open(&house.home), Err(StoreError::Newer { found: 9, .. })));
}
