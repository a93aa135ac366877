//! A machine that sleeps: longer than anything may be silent, and everything goes on.

use std::thread;
use std::time::Duration;

use protocol::{Event, TaskOutcome};
use testkit::binary::{PATIENCE, ProcessSignal, within};

use super::{let_go, state, tasks, tasks_json};
use crate::stage;

/// An agent in a command, one that waits for it, one whose model thinks, and one that rests.
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

/// How long anything may be silent, in seconds.
const ABORT: u64 = 8;

/// A night, as these limits see it.
const NIGHT: Duration = Duration::from_secs(ABORT + 3);

#[test]
fn after_a_night_in_which_the_machine_slept_everything_goes_on() {
    let stage = stage();
    std::fs::create_dir_all(stage.home()).unwrap();
    let limits = format!("[limits]\nstall-secs = 5\nabort-secs = {ABORT}\n");
    std::fs::write(stage.home().join("config.toml"), limits).unwrap();
    let mut running = stage.script(SUBAGENTS).prompt("go").args(["--output-format", "jsonl"]).start();
    within(PATIENCE, "the agents are at work", || {
        stage.path("hand-busy").exists() && running.stdout().contains("Done by /root/rest.")
    });
    running.signal(ProcessSignal::Stop);
    thread::sleep(NIGHT);
    assert_eq!(state(&tasks_json(&stage, &["list"]), "/root/lead/hand"), "running");
    stage.bosun(["tasks", "send", "rest", "message good morning"]).run().expect(1).says(&["does not answer"]);
    let_go(&stage, "hand");
    running.signal(ProcessSignal::Continue);
    running.wait().expect(0);
    for (agent, said) in [
        ("think", "I have thought.\n"),
        ("lead", "Done by /root/lead.\n"),
        ("lead/hand", "Done by /root/lead/hand.\n"),
        ("rest", "Done by /root/rest.\n"),
    ] {
        assert_eq!(tasks(&stage, &["output", agent]), said);
    }
    for envelope in stage.log(&stage.newest()) {
        match envelope.entry.event {
            Event::ActivationEnded { outcome, .. } => assert_eq!(outcome, TaskOutcome::Completed),
            Event::TaskStalled { .. } | Event::TaskInterrupted => panic!("{envelope:?}"),
            _other => {}
        }
    }
}
