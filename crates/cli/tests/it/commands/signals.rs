//! What the terminal and the machine may send.

use std::fs;

use insta::assert_snapshot;
use protocol::{Event, ToolResultStatus};
use serde_json::json;
use testkit::binary::{BinaryFixture, PATIENCE, ProcessSignal, RunningBinary, within};

use super::shown;
use crate::scripts::{shell, shells};
use crate::stage;

/// A run in the middle of a command.
fn busy(stage: &BinaryFixture) -> RunningBinary {
    let command = "touch busy; while [ ! -e go ]; do sleep 0.01; done; echo gone on";
    let running = stage.script(&shell(command)).prompt("work").start();
    within(PATIENCE, "the command runs", || stage.path("busy").exists());
    running
}

fn statuses(stage: &BinaryFixture) -> Vec<ToolResultStatus> {
    let status = |event: Event| match event {
        Event::CallAnswered { answer, .. } => Some(answer.status),
        _other => None,
    };
    stage.log(&stage.newest()).into_iter().filter_map(|envelope| status(envelope.entry.event)).collect()
}

#[test]
fn an_interrupt_stops_the_turn_and_leaves_the_session_idle() {
    let stage = stage();
    let mut running = busy(&stage);
    running.signal(ProcessSignal::Interrupt);
    let ended = running.wait().expect(5);
    assert_snapshot!(shown(&stage, &ended.stderr), @r#"
    - shell touch busy; while [ ! -e go ]; do sleep 0.01; done; echo gone on
      ! cancelled: This call was cancelled before it ended.
    cancelled; resume with: bosun --resume ses-ID -p "…"
    "#);
    assert_eq!(stage.sessions()[0]["state"], "idle");
    assert_eq!(statuses(&stage), [ToolResultStatus::Cancelled]);
    fs::write(stage.path("go"), "").unwrap();
    stage.bosun(["--continue", "-p", "what happened?"]).run().expect(0);
}

#[test]
fn two_interrupts_end_the_run() {
    let stage = stage();
    let mut running = busy(&stage);
    running.signal(ProcessSignal::Interrupt);
    running.signal(ProcessSignal::Interrupt);
    running.wait().expect(5);
    assert_eq!(stage.sessions()[0]["state"], "idle");
}

#[test]
fn a_request_to_end_leaves_the_session_to_go_on() {
    for signal in [ProcessSignal::Terminate, ProcessSignal::HangUp] {
        let stage = stage();
        let mut running = busy(&stage);
        running.signal(signal);
        let ended = running.wait().expect(5);
        ended.says(&["interrupted; resume with: bosun --resume", &stage.newest()]);
        assert_eq!(stage.sessions()[0]["state"], "interrupted");
        fs::write(stage.path("go"), "").unwrap();
        let ended = stage.bosun(["--continue", "--allow-all"]).run().expect(0);
        assert!(ended.stdout.starts_with("It said:"), "{}", ended.stdout);
        assert_eq!(statuses(&stage), [ToolResultStatus::Interrupted], "{signal:?}");
    }
}

#[test]
fn an_interrupt_after_the_answer_stops_what_is_left_and_asks_nobody() {
    let stage = stage();
    let script = shells(&[json!({ "command": "touch busy; sleep 1000", "background": true })]);
    let mut running = stage.script(&script).prompt("work").args(["--output-format", "jsonl"]).start();
    running.await_stdout("activationEnded");
    within(PATIENCE, "the command runs", || stage.path("busy").exists());
    running.signal(ProcessSignal::Interrupt);
    let result = running.wait().expect(5).json_lines().pop().unwrap();
    assert_eq!(result["turns"], 2, "the model was not asked again");
    assert!(result["text"].as_str().unwrap().starts_with("It said: started"), "{result}");
    assert_eq!(result["tasks"][1]["state"]["outcome"], json!({ "type": "cancelled", "by": "user" }));
}

#[test]
fn a_parked_session_stays_parked_when_its_process_ends() {
    let stage = stage();
    let parks = "version: 1\nrules:\n  - fail: { class: quota-until, after: 1h }\n";
    for (signal, state) in [(ProcessSignal::Terminate, "parked"), (ProcessSignal::Interrupt, "idle")] {
        let mut running = stage.script(parks).prompt("go").start();
        running.await_stderr("waiting for the provider");
        running.signal(signal);
        running.wait().expect(5);
        assert_eq!(stage.sessions()[0]["state"], state, "{signal:?}");
    }
}

#[test]
fn a_signal_while_the_model_thinks_is_heard_too() {
    for (signal, state) in [(ProcessSignal::Interrupt, "idle"), (ProcessSignal::Terminate, "interrupted")] {
        let stage = stage();
        let script = "version: 1\nrules:\n  - when: { attempt: 1 }\n    answer: [{ say: Hm. }, { hang: true }]\n";
        let mut running = stage.script(script).prompt("think").args(["--output-format", "jsonl"]).start();
        running.await_stdout("turnBegun");
        running.signal(signal);
        let ended = running.wait().expect(5);
        assert_eq!(ended.json_lines().last().unwrap()["exitCode"], 5);
        assert_eq!(stage.sessions()[0]["state"], state, "{signal:?}");
    }
}
