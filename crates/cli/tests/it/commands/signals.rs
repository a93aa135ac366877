//! Signals from the terminal and the system.

use std::fs;

use insta::assert_snapshot;
use protocol::{Event, ToolResultStatus};
use serde_json::json;
use testkit::binary::{BinaryFixture, PATIENCE, ProcessSignal, RunningBinary, within};

use super::normalized;
use crate::fixture;
use crate::scripts::{shell, shells};

/// A run in the middle of a command.
fn busy(fixture: &BinaryFixture) -> RunningBinary {
    let command = "touch busy; while [ ! -e go ]; do sleep 0.01; done; echo gone on";
    let running = fixture.script(&shell(command)).prompt("work").start();
    within(PATIENCE, "the command runs", || fixture.path("busy").exists());
    running
}

fn statuses(fixture: &BinaryFixture) -> Vec<ToolResultStatus> {
    let status = |event: Event| match event {
        Event::CallAnswered { answer, .. } => Some(answer.status),
        _other => None,
    };
    fixture.log(&fixture.newest()).into_iter().filter_map(|envelope| status(envelope.entry.event)).collect()
}

#[test]
fn an_interrupt_stops_the_turn_and_leaves_the_session_idle() {
    let fixture = fixture();
    let mut running = busy(&fixture);
    running.signal(ProcessSignal::Interrupt);
    let ended = running.wait().expect(5);
    assert_snapshot!(normalized(&fixture, &ended.stderr), @r#"
    - shell touch busy; while [ ! -e go ]; do sleep 0.01; done; echo gone on
      ! cancelled: This call was cancelled before it ended.
    cancelled; resume with: bosun --resume ses-ID -p "…"
    "#);
    assert_eq!(fixture.sessions()[0]["state"], "idle");
    assert_eq!(statuses(&fixture), [ToolResultStatus::Cancelled]);
    fs::write(fixture.path("go"), "").unwrap();
    fixture.bosun(["--continue", "-p", "what happened?"]).run().expect(0);
}

#[test]
fn two_interrupts_end_the_run() {
    let fixture = fixture();
    let mut running = busy(&fixture);
    running.signal(ProcessSignal::Interrupt);
    running.signal(ProcessSignal::Interrupt);
    running.wait().expect(5);
    assert_eq!(fixture.sessions()[0]["state"], "idle");
}

#[test]
fn termination_leaves_the_session_resumable() {
    for signal in [ProcessSignal::Terminate, ProcessSignal::HangUp] {
        let fixture = fixture();
        let mut running = busy(&fixture);
        running.signal(signal);
        let ended = running.wait().expect(5);
        ended.says(&["interrupted; resume with: bosun --resume", &fixture.newest()]);
        assert_eq!(fixture.sessions()[0]["state"], "interrupted");
        fs::write(fixture.path("go"), "").unwrap();
        let ended = fixture.bosun(["--continue", "--allow-all"]).run().expect(0);
        assert!(ended.stdout.starts_with("It said:"), "{}", ended.stdout);
        assert_eq!(statuses(&fixture), [ToolResultStatus::Interrupted], "{signal:?}");
    }
}

#[test]
fn interrupt_after_the_answer_stops_background_work() {
    let fixture = fixture();
    let script = shells(&[json!({ "command": "touch busy; sleep 1000", "background": true })]);
    let mut running = fixture.script(&script).prompt("work").args(["--output-format", "jsonl"]).start();
    running.await_stdout("activationEnded");
    within(PATIENCE, "the command runs", || fixture.path("busy").exists());
    running.signal(ProcessSignal::Interrupt);
    let result = running.wait().expect(5).json_lines().pop().unwrap();
    assert_eq!(result["turns"], 2, "the model was not asked again");
    assert!(result["text"].as_str().unwrap().starts_with("It said: started"), "{result}");
    assert_eq!(result["tasks"][1]["state"]["outcome"], json!({ "type": "cancelled", "by": "user" }));
}

#[test]
fn a_parked_session_stays_parked_when_its_process_ends() {
    let fixture = fixture();
    let parks = "version: 1\nrules:\n  - fail: { class: quota-until, after: 1h }\n";
    for (signal, state) in [(ProcessSignal::Terminate, "parked"), (ProcessSignal::Interrupt, "idle")] {
        let mut running = fixture.script(parks).prompt("go").start();
        running.await_stderr("waiting for the provider");
        running.signal(signal);
        running.wait().expect(5);
        assert_eq!(fixture.sessions()[0]["state"], state, "{signal:?}");
    }
}

#[test]
fn signal_during_a_model_request_is_handled() {
    for (signal, state) in [(ProcessSignal::Interrupt, "idle"), (ProcessSignal::Terminate, "interrupted")] {
        let fixture = fixture();
        let script = "version: 1\nrules:\n  - when: { attempt: 1 }\n    answer: [{ say: Hm. }, { hang: true }]\n";
        let mut running = fixture.script(script).prompt("think").args(["--output-format", "jsonl"]).start();
        running.await_stdout("turnBegun");
        running.signal(signal);
        let ended = running.wait().expect(5);
        assert_eq!(ended.json_lines().last().unwrap()["exitCode"], 5);
        assert_eq!(fixture.sessions()[0]["state"], state, "{signal:?}");
    }
}
