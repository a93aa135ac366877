//! A machine that is suspended for longer than any silence limit: everything continues.

use std::thread;
use std::time::Duration;

use protocol::{Event, TaskOutcome};
use testkit::binary::{PATIENCE, ProcessSignal, within};

use super::{let_go, state, tasks, tasks_json};
use crate::fixture;

/// An agent that runs a command, one that waits for it, one whose model answers slowly, and one that is idle.
const SUBAGENTS: &str = r#"
version: 1
rules:
  - when: { path: /root, turn: 1 }
    answer:
      - call: { tool: task, input: { description: d, prompt: p, agent_type: general-purpose, name: rest, mode: background } }
      - call: { tool: task, input: { description: d, prompt: p, agent_type: general-purpose, name: think, mode: background } }
      - call: { tool: task, input: { description: d, prompt: p, agent_type: general-purpose, name: lead, mode: background } }
  - when: { path: /root }
    answer: [say: "All is under way."]
  - when: { path: /root/think }
    answer:
      - wait: 2s
      - say: I have thought.
  - when: { path: /root/lead, turn: 1 }
    answer:
      - call: { tool: task, input: { description: d, prompt: p, agent_type: general-purpose, name: hand } }
  - when: { path: /root/lead/hand, turn: 1 }
    answer:
      - call: { tool: shell, input: { command: "touch hand-busy; while [ ! -e hand-go ]; do sleep 0.01; done; echo gone" } }
  - when: { prompt: "^message (.*)" }
    answer: [say: "I was told ${1}."]
  - answer: [say: "Done by ${path}."]
"#;

/// The silence limit in seconds.
const ABORT: u64 = 8;

/// A suspension longer than the limit.
const NIGHT: Duration = Duration::from_secs(ABORT + 3);

#[test]
fn everything_continues_after_a_long_suspend() {
    let fixture = fixture();
    std::fs::create_dir_all(fixture.home()).unwrap();
    let limits = format!("[limits]\nstall-secs = 5\nabort-secs = {ABORT}\n");
    std::fs::write(fixture.home().join("config.toml"), limits).unwrap();
    let mut running = fixture.script(SUBAGENTS).prompt("go").args(["--output-format", "jsonl"]).start();
    within(PATIENCE, "the agents are at work", || {
        fixture.path("hand-busy").exists() && running.stdout().contains("Done by /root/rest.")
    });
    running.signal(ProcessSignal::Stop);
    thread::sleep(NIGHT);
    assert_eq!(state(&tasks_json(&fixture, &["list"]), "/root/lead/hand"), "running");
    fixture.bosun(["tasks", "send", "rest", "message good morning"]).run().expect(1).says(&["does not answer"]);
    let_go(&fixture, "hand");
    running.signal(ProcessSignal::Continue);
    running.wait().expect(0);
    for (agent, output) in [
        ("think", "I have thought.\n"),
        ("lead", "Done by /root/lead.\n"),
        ("lead/hand", "Done by /root/lead/hand.\n"),
        ("rest", "Done by /root/rest.\n"),
    ] {
        assert_eq!(tasks(&fixture, &["output", agent]), output);
    }
    for envelope in fixture.log(&fixture.newest()) {
        match envelope.entry.event {
            Event::ActivationEnded { outcome, .. } => assert_eq!(outcome, TaskOutcome::Completed),
            Event::TaskStalled { .. } | Event::TaskInterrupted => panic!("{envelope:?}"),
            _other => {}
        }
    }
}
