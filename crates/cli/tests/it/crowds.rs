//! Many processes on one home.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use protocol::Envelope;
use testkit::binary::{BinaryExit, BinaryFixture};

use crate::fixture;
use crate::scripts::{HELLO, turns};

/// Runs `bosun` this many times at once.
pub(crate) fn run_concurrently(count: usize, bosun: impl Fn(usize) -> BinaryExit + Sync) -> Vec<BinaryExit> {
    let bosun = &bosun;
    thread::scope(|scope| {
        let runs: Vec<_> = (0..count).map(|n| scope.spawn(move || bosun(n))).collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    })
}

#[test]
fn thirty_first_starts_at_once_all_succeed() {
    let fixture = fixture();
    fixture.script(HELLO);
    for ended in run_concurrently(30, |n| fixture.prompt(&format!("first {n}")).run()) {
        let ended = ended.expect(0);
        assert_eq!((&*ended.stdout, &*ended.stderr), ("Hello.\n", ""));
    }
    let mut titles: Vec<String> =
        fixture.sessions().iter().map(|session| session["title"].as_str().unwrap().to_owned()).collect();
    titles.sort();
    let mut expected: Vec<String> = (0..30).map(|n| format!("first {n}")).collect();
    expected.sort();
    assert_eq!(titles, expected);
}

const PROCESSES: usize = 8;
const TURNS: u32 = 200;

#[test]
fn eight_long_runs_and_a_reader_do_not_interfere() {
    let fixture = fixture();
    fixture.script(&turns(TURNS));
    let done = AtomicBool::new(false);
    let runs = thread::scope(|scope| {
        let reader = scope.spawn(|| read_repeatedly(&fixture, &done));
        let run = || fixture.prompt("go").args(["--output-format", "jsonl", "--max-turns", "1000"]).run();
        let runs = run_concurrently(PROCESSES, |_| run());
        done.store(true, Ordering::Relaxed);
        assert!(reader.join().unwrap() > 0, "the reader saw something");
        runs
    });
    for run in runs {
        check_events(&fixture, &run.expect(0));
    }
    let log = fs::read_to_string(fixture.home().join("logs/bosun.log")).unwrap_or_default();
    assert!(!log.contains("locked"), "{log}");
}

/// Checks that the printed events are those in the file.
fn check_events(fixture: &BinaryFixture, run: &BinaryExit) {
    assert!(run.stderr.is_empty(), "{}", run.stderr);
    let mut events = run.json_lines();
    let result = events.pop().unwrap();
    assert_eq!((&result["type"], &result["turns"]), (&"result".into(), &TURNS.into()));
    let id = result["session"].as_str().unwrap();
    let log = fixture.log(id);
    let events: Vec<Envelope> = events.into_iter().map(|event| serde_json::from_value(event).unwrap()).collect();
    assert!(events == log, "{} events printed, {} stored", events.len(), log.len());
    assert_no_gaps(&log);
    let shown = fixture.bosun(["sessions", "show", id, "--json"]).run().expect(0).json();
    assert_eq!(shown["session"]["events"], log.len());
    assert_eq!(shown["session"]["turns"], TURNS);
}

fn assert_no_gaps(log: &[Envelope]) {
    assert!(log.iter().map(|envelope| envelope.seq).eq(1..=log.len() as u64));
}

/// Lists, shows and exports everything again and again; returns how often.
fn read_repeatedly(fixture: &BinaryFixture, done: &AtomicBool) -> usize {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut rounds = 0;
    while !done.load(Ordering::Relaxed) {
        for session in fixture.sessions() {
            let id = session["id"].as_str().unwrap();
            let log = fixture.log(id);
            assert_no_gaps(&log);
            let before = seen.insert(id.to_owned(), log.len()).unwrap_or(0);
            assert!(log.len() >= before, "{id} had {before} events and has {}", log.len());
            let shown = fixture.bosun(["sessions", "show", id, "--json"]).run().expect(0);
            assert!(shown.stderr.is_empty(), "{}", shown.stderr);
            assert!(shown.json()["session"]["events"].as_u64().unwrap() >= log.len() as u64);
            rounds += 1;
        }
    }
    rounds
}
