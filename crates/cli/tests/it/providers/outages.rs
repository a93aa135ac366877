//! Long provider outages: every run ends as documented and in time, without needless requests.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use protocol::{Event, TaskOutcome};
use serde_json::json;
use testkit::binary::{BinaryExit, BinaryFixture, ProcessSignal};
use testkit::server::{FaultPlan, ModelServer, ProviderFault, StreamPoint, Unit};

use super::MODELS;
use crate::fixture;

/// Runs one command that appends a line, and reports it.
const JOB: &str = "
version: 1
about: One call, and a last word
rules:
  - when: { turn: 1 }
    answer:
      - think: This needs a command.
      - say: I run it.
      - call: { tool: shell, input: { command: 'echo ran >> log' } }
  - answer:
      - say: It ran.
";

/// Timeouts short enough for a test.
const NETWORK: &str = "[network]\nconnect-timeout = '2s'\nfirst-byte-timeout = '600ms'\nidle-timeout = '600ms'\n";

/// A finished run against a failing server.
struct Outage {
    fixture: BinaryFixture,
    ended: BinaryExit,
    requests: u64,
    took: Duration,
}

impl Outage {
    fn run(wire: &str, faults: FaultPlan, flags: &[&str]) -> Outage {
        let server = ModelServer::script(JOB).faults(faults).start();
        let fixture = fixture();
        fs::create_dir_all(fixture.home()).unwrap();
        fs::write(fixture.home().join("config.toml"), NETWORK).unwrap();
        let started = Instant::now();
        let ended = fixture.prompt_over(&server, wire, "go").args(flags).run();
        Outage { ended, requests: server.count(), took: started.elapsed(), fixture }
    }

    /// How often the command ran.
    fn ran(&self) -> usize {
        fs::read_to_string(self.fixture.path("log")).unwrap_or_default().lines().count()
    }
}

/// Runs every case at once: most of their time is waiting.
fn each_wire(case: impl Fn(&str) + Sync) {
    thread::scope(|scope| {
        for wire in MODELS {
            let case = &case;
            scope.spawn(move || case(wire));
        }
    });
}

#[test]
fn lasting_fault_fails_the_run_with_an_explanation() {
    let cases = [
        (ProviderFault::Hang, "sent nothing within 0.6 s"),
        (ProviderFault::Close, "connection"),
        (ProviderFault::Cut(StreamPoint::Call), "was lost"),
        (ProviderFault::End(StreamPoint::Bytes(0)), "cut"),
        (ProviderFault::BadSse, ""),
        (ProviderFault::BadJson, ""),
    ];
    each_wire(|wire| {
        thread::scope(|scope| {
            for (fault, expected) in cases.clone() {
                scope.spawn(move || {
                    let outage = Outage::run(wire, FaultPlan::always(fault.clone()), &[]);
                    let ended = &outage.ended;
                    assert_eq!(ended.code(), Some(1), "{wire} {fault:?}: {}", ended.stderr);
                    assert!(ended.stderr.contains(expected), "{wire} {fault:?}: {}", ended.stderr);
                    assert!(ended.stderr.contains("--resume"), "{wire} {fault:?}: {}", ended.stderr);
                    assert_eq!((ended.stdout.as_str(), outage.ran()), ("", 0), "{wire} {fault:?}");
                    assert_eq!(outage.requests, 5, "{wire} {fault:?}: {}", ended.stderr);
                    assert!(outage.took < Duration::from_secs(40), "{wire} {fault:?}: {:?}", outage.took);
                });
            }
        });
    });
}

#[test]
fn overloaded_provider_is_retried_until_the_time_limit() {
    let cases = [
        ProviderFault::Status { code: 500, retry_after: None },
        ProviderFault::Status { code: 529, retry_after: None },
        ProviderFault::Html,
    ];
    each_wire(|wire| {
        thread::scope(|scope| {
            for fault in cases.clone() {
                scope.spawn(move || {
                    let outage = Outage::run(wire, FaultPlan::always(fault.clone()), &["--timeout", "4s"]);
                    let ended = &outage.ended;
                    assert_eq!(ended.code(), Some(4), "{wire} {fault:?}: {}", ended.stderr);
                    assert!(ended.stderr.contains("attempt 2 of 14, next in "), "{wire} {fault:?}: {}", ended.stderr);
                    assert!(outage.requests >= 2, "{wire} {fault:?}: {}", ended.stderr);
                    assert_eq!((ended.stdout.as_str(), outage.ran()), ("", 0), "{wire} {fault:?}");
                });
            }
        });
    });
}

#[test]
fn quota_or_long_wait_parks_the_run_without_more_requests() {
    let hour = Duration::from_secs(3600);
    let cases = [ProviderFault::Quota(hour), ProviderFault::Status { code: 429, retry_after: Some(hour) }];
    each_wire(|wire| {
        for fault in cases.clone() {
            let outage = Outage::run(wire, FaultPlan::always(fault.clone()), &["--park-wait", "0s"]);
            assert_eq!(outage.ended.code(), Some(7), "{wire} {fault:?}: {}", outage.ended.stderr);
            assert_eq!(outage.requests, 1, "{wire} {fault:?}");
            // Another session on this machine sends no request either.
            let server = ModelServer::script(JOB).start();
            let other = outage.fixture.prompt_over(&server, wire, "me too").args(["--park-wait", "0s"]).run();
            assert_eq!((other.code(), server.count()), (Some(7), 0), "{wire} {fault:?}: {}", other.stderr);
            // Unless the user reopens the provider.
            outage.fixture.bosun(["models"]).run().expect(0).says(&["is closed until", "--reopen"]);
            outage.fixture.bosun(["models", "--reopen"]).run().expect(0);
            let again = outage.fixture.prompt_over(&server, wire, "now").args(["--continue", "--fork"]).run();
            assert_eq!((again.code(), again.stdout.as_str()), (Some(0), "It ran.\n"), "{wire}: {}", again.stderr);
        }
    });
}

#[test]
fn throttled_run_ends_at_its_time_limit() {
    each_wire(|wire| {
        let busy = ProviderFault::Status { code: 429, retry_after: None };
        let outage = Outage::run(wire, FaultPlan::always(busy), &["--timeout", "2s"]);
        assert_eq!(outage.ended.code(), Some(4), "{wire}: {}", outage.ended.stderr);
        assert!(outage.requests <= 8, "{wire}: {}", outage.requests);
    });
}

#[test]
fn run_continues_after_suspend_during_an_answer() {
    each_wire(|wire| {
        let drip = ProviderFault::Drip { unit: Unit::Event, every: Duration::from_millis(150) };
        let server = ModelServer::script(JOB).faults(FaultPlan::always(drip)).start();
        let fixture = fixture();
        fs::create_dir_all(fixture.home()).unwrap();
        fs::write(fixture.home().join("config.toml"), NETWORK).unwrap();
        let mut running = fixture.prompt_over(&server, wire, "go").start();
        testkit::binary::within(Duration::from_secs(20), "the first question", || server.count() == 1);
        running.signal(ProcessSignal::Stop);
        // Longer than the idle timeout: data that arrived meanwhile is read after the wake-up.
        thread::sleep(Duration::from_secs(2));
        running.signal(ProcessSignal::Continue);
        let ended = running.wait();
        assert_eq!((ended.code(), ended.stdout.as_str()), (Some(0), "It ran.\n"), "{wire}: {}", ended.stderr);
        let log = fixture.log(&fixture.newest());
        let ends = |event: &Event| matches!(event, Event::ActivationEnded { outcome: TaskOutcome::Completed, .. });
        assert_eq!(log.iter().filter(|envelope| ends(&envelope.entry.event)).count(), 1);
    });
}

#[test]
fn unreachable_provider_is_named_with_its_address() {
    let gone = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    let fixture = fixture();
    let ended = fixture
        .prompt("go")
        .args(["--model", "anthropic/test-model"])
        .env("ANTHROPIC_API_KEY", "sk-test-0123456789")
        .env("ANTHROPIC_BASE_URL", format!("http://{gone}"))
        .run()
        .expect(1);
    assert!(ended.stderr.contains(&gone.to_string()), "{}", ended.stderr);
}

#[test]
fn provider_model_gets_a_last_turn_at_the_time_limit() {
    let script = "
version: 1
rules:
  - when: { prompt: your last answer }
    answer: [{ say: This far I came. }]
  - answer: [{ call: { tool: shell, input: { command: sleep 1000 } } }]
";
    each_wire(|wire| {
        let (fixture, server) = (fixture(), ModelServer::script(script).start());
        let go = fixture.prompt_over(&server, wire, "go").args(["--timeout", "2s"]);
        let ended = go.run().expect(4).says(&["  ! the time limit is reached: one last turn"]);
        assert_eq!((ended.stdout.as_str(), server.count()), ("This far I came.\n", 2), "{wire}");
    });
}

#[test]
fn time_limit_includes_waiting_for_a_quota() {
    each_wire(|wire| {
        let quota = ProviderFault::Quota(Duration::from_secs(3600));
        let outage = Outage::run(wire, FaultPlan::always(quota.clone()), &["--timeout", "1s"]);
        let ended = outage.ended.expect(4);
        let id = outage.fixture.newest();
        let hint = format!("hint: resume later with: bosun --resume {id}");
        ended.says(&["error: the time limit was reached while waiting for a quota", &hint]);
        let server = ModelServer::script(JOB).start();
        let json = ["--timeout", "500ms", "--output-format", "json"];
        let result = outage.fixture.prompt_over(&server, wire, "me too").args(json).run().expect(4).json();
        assert_eq!((&result["outcome"], &result["exitCode"]), (&json!("parked"), &json!(4)), "{result}");
        let wait = ["--park-wait", "100ms", "--timeout", "60s"];
        let parked = outage.fixture.prompt_over(&server, wire, "me too").args(wait).run().expect(7);
        let line = parked.stderr.lines().last().unwrap();
        assert!(line.contains(&format!("; model: {wire}; 0 agents; ")), "{line}");
    });
}

/// A user may interrupt the wait for the next attempt; finished work is kept.
#[test]
fn interrupt_during_a_retry_wait_ends_the_run_without_loss() {
    each_wire(|wire| {
        let wait = Duration::from_secs(50);
        let overloaded = ProviderFault::Status { code: 529, retry_after: Some(wait) };
        let server = ModelServer::script(JOB).faults(FaultPlan::none().on(2, overloaded)).start();
        let fixture = fixture();
        let mut running = fixture.prompt_over(&server, wire, "go").start();
        running.await_stderr("attempt 2 of ");
        let interrupted = Instant::now();
        running.signal(ProcessSignal::Interrupt);
        let ended = running.wait().expect(5);
        assert!(interrupted.elapsed() < wait / 2, "{wire}: {:?}", interrupted.elapsed());
        let id = fixture.newest();
        assert_eq!((server.count(), ended.stdout.as_str()), (2, "I run it.\n"), "{wire}: {}", ended.stderr);
        ended.says(&["cancelled; resume with: bosun --resume", &id]);
        assert_eq!(fixture.sessions()[0]["state"], "idle", "{wire}");
        let again = ModelServer::script(JOB).start();
        // The provider asked to wait, which the test skips.
        fixture.bosun(["models", "--reopen"]).run().expect(0);
        let resumed = fixture.prompt_over(&again, wire, "and now?").args(["--resume", &id]).run().expect(0);
        assert_eq!(resumed.stdout, "It ran.\n", "{wire}");
        assert_eq!(fs::read_to_string(fixture.path("log")).unwrap(), "ran\n", "{wire}: the command ran once");
    });
}
