//! Single provider faults: runs handle them alike on every wire, and no call runs twice.

use std::fs;
use std::thread;
use std::time::Duration;

use testkit::binary::{BinaryExit, BinaryFixture, peak_memory};
use testkit::server::ModelServer;

use super::MODELS;
use crate::fixture;

/// A call that appends a line each time it runs, then the answer.
const MARK: &str = "
version: 1
rules:
  - when: { turn: 1 }
    answer:
      - think: I leave a mark.
      - say: Once.
      - call: { tool: shell, input: { command: echo x >> marks } }
  - answer:
      - say: Done.
";

/// A run against a server with faults, over one wire.
struct Run {
    model: &'static str,
    ended: BinaryExit,
    /// How often the call ran.
    marks: usize,
    /// How often the server was asked.
    requests: u64,
}

/// Runs over every wire at once.
fn run(script: &str, faults: &str) -> Vec<Run> {
    run_on(fixture, script, faults)
}

/// Runs over every wire at once, each with its own fixture.
fn run_on(fixture: fn() -> BinaryFixture, script: &str, faults: &str) -> Vec<Run> {
    let run = |model| {
        let server = ModelServer::script(script).faults(faults.parse().unwrap()).start();
        let fixture = fixture();
        let ended = fixture.prompt_over(&server, model, "go").run();
        let marks = fs::read_to_string(fixture.path("marks")).unwrap_or_default().lines().count();
        Run { model, ended, marks, requests: server.count() }
    };
    thread::scope(|scope| {
        let runs = MODELS.map(|model| scope.spawn(move || run(model)));
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    })
}

/// A fixture whose binary does not wait long on a silent server.
fn impatient() -> BinaryFixture {
    let fixture = fixture();
    fs::create_dir_all(fixture.home()).unwrap();
    let config = "[network]\nfirst-byte-timeout = '2s'\nidle-timeout = '2s'\n";
    fs::write(fixture.home().join("config.toml"), config).unwrap();
    fixture
}

/// Checks that the second request succeeds after each fault of the first.
#[track_caller]
fn assert_recovers(faults: &[&str]) {
    for fault in faults {
        for Run { model, ended, marks, requests } in run(MARK, &format!("1={fault}")) {
            let ended = ended.expect(0);
            assert_eq!((&*ended.stdout, marks, requests), ("Done.\n", 1, 3), "{fault}, {model}: {ended:?}");
            assert!(ended.stderr.contains("! model: "), "{fault}, {model}: {}", ended.stderr);
        }
    }
}

#[test]
fn server_error_is_retried() {
    assert_recovers(&["status:500", "status:503", "status:529", "html", "close"]);
}

#[test]
fn rate_limited_request_is_retried_later() {
    assert_recovers(&["status:429", "status:429:1s"]);
}

#[test]
fn cut_answer_is_requested_again_and_its_calls_do_not_run() {
    assert_recovers(&["cut:bytes:0", "cut:bytes:300", "cut:events:3", "cut:call"]);
}

#[test]
fn truncated_answer_is_requested_again_and_its_calls_do_not_run() {
    assert_recovers(&["empty", "end:bytes:300", "end:events:3", "end:call"]);
}

#[test]
fn malformed_answer_is_requested_again() {
    assert_recovers(&["bad-sse", "bad-json"]);
}

#[test]
fn silent_server_times_out() {
    for Run { model, ended, marks, requests } in run_on(impatient, MARK, "1=hang") {
        let ended = ended.expect(0).says(&["sent nothing within 2 s"]);
        assert_eq!((&*ended.stdout, marks, requests), ("Done.\n", 1, 3), "{model}");
    }
}

#[test]
fn silent_stream_times_out() {
    let script = "
version: 1
rules:
  - when: { attempt: 1 }
    answer:
      - say: I was about to
      - call: { tool: shell, input: { command: echo x >> marks } }
      - hang: true
  - answer:
      - say: Done.
";
    for Run { model, ended, marks, requests } in run_on(impatient, script, "") {
        let ended = ended.expect(0);
        assert_eq!((&*ended.stdout, marks, requests), ("Done.\n", 0, 2), "{model}");
        assert!(ended.took < Duration::from_secs(20), "{model}: {:?}", ended.took);
    }
}

#[test]
fn a_slow_answer_is_waited_for() {
    for Run { model, ended, marks, requests } in run_on(impatient, MARK, "*=drip:event:200ms") {
        let ended = ended.expect(0);
        assert_eq!((&*ended.stdout, marks, requests), ("Done.\n", 1, 2), "{model}");
        assert!(
            ended.took > Duration::from_secs(1),
            "{model} took {:?}: less than the time of one silence",
            ended.took
        );
    }
}

#[test]
fn an_answer_may_come_byte_by_byte() {
    for Run { model, ended, marks, requests } in run(MARK, "*=drip:byte:0ms") {
        assert_eq!((&*ended.expect(0).stdout, marks, requests), ("Done.\n", 1, 2), "{model}");
    }
}

#[test]
fn what_cannot_work_is_not_tried_again() {
    for (fault, why) in [
        ("status:401", "refused the key"),
        ("status:400", "answered 400"),
        ("status:404", "answered 404"),
        ("too-long", "too long"),
    ] {
        for Run { model, ended, marks, requests } in run(MARK, &format!("*={fault}")) {
            let ended = ended.expect(1).says(&[why]);
            assert_eq!((&*ended.stdout, marks, requests), ("", 0, 1), "{fault}, {model}");
        }
    }
}

/// The maximum memory of a run in KiB: a few times the maximum size of an answer.
const MAX_MEMORY_KIB: u64 = 128 << 10;

#[test]
fn endless_answer_is_an_error_and_uses_bounded_memory() {
    for fault in ["1=endless", "1=endless-line"] {
        for model in MODELS {
            let server = ModelServer::script(MARK).faults(fault.parse().unwrap()).start();
            let fixture = fixture();
            let running = fixture.prompt_over(&server, model, "go").start();
            let peak = peak_memory(running.pid());
            let ended = running.wait().expect(1).says(&["larger than"]);
            assert_eq!((&*ended.stdout, server.count()), ("", 1), "{fault}, {model}");
            assert!((1..MAX_MEMORY_KIB).contains(&peak), "{fault}, {model}: {peak} KiB");
        }
    }
}

#[test]
fn different_answering_model_is_reported() {
    for Run { model, ended, marks, requests } in run(MARK, "1=model:other") {
        let ended = ended.expect(0).says(&[&format!("requested {model}, but other answered")]);
        assert_eq!((&*ended.stdout, marks, requests), ("Done.\n", 1, 2));
    }
    for Run { ended, .. } in run(MARK, "*=model:other") {
        let ended = ended.expect(0);
        assert_eq!(ended.stderr.matches("other answered").count(), 2, "once, and in the last line: {ended:?}");
    }
}
