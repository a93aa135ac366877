//! `bosun tasks`: the agents and commands of a session, from another terminal.

mod asleep;
mod broken;
mod dead;
mod disk;
mod headless;
mod kinds;
mod mcp;
mod refused;
mod roles;
mod running;
mod terminals;
mod views;
mod waits;

use std::fs;

use serde_json::Value;
use testkit::binary::{BinaryFixture, PATIENCE, RunningBinary, within};

/// A root that starts one agent in the background and waits for another; each waits for a file.
const SUBAGENTS: &str = r#"
version: 1
rules:
  - when: { path: /root, turn: 1 }
    answer:
      - call: { tool: task, input: { description: reads, prompt: Read the docs., agent_type: general-purpose, name: docs, mode: background } }
      - call: { tool: task, input: { description: tests, prompt: Run the tests., agent_type: general-purpose, name: tests } }
  - when: { path: /root }
    answer: [say: "All is under way."]
  - when: { path: "/root/\\w+", turn: 1 }
    answer:
      - say: "I begin.\n"
      - call: { tool: report_intent, input: { intent: waiting for a file } }
      - call: { tool: shell, input: { command: "n=$(basename ${path}); touch $n-busy; while [ ! -e $n-go ]; do sleep 0.01; done; echo gone" } }
    usage: { input: 100, output: 10 }
  - when: { path: "/root/\\w+", prompt: "message (.*)" }
    answer: [say: "I was told ${1}."]
    usage: { input: 200, output: 20 }
  - when: { path: "/root/\\w+" }
    answer: [say: "I am done."]
    usage: { input: 200, output: 20 }
"#;

/// A session both of whose agents wait for their files.
fn busy(fixture: &BinaryFixture) -> RunningBinary {
    let running = fixture.script(SUBAGENTS).prompt("go").args(["--output-format", "json"]).start();
    for agent in ["docs", "tests"] {
        let busy = fixture.path(&format!("{agent}-busy"));
        within(PATIENCE, "the agent's command runs", || busy.exists());
    }
    running
}

/// Lets an agent continue.
fn let_go(fixture: &BinaryFixture, agent: &str) {
    fs::write(fixture.path(&format!("{agent}-go")), "").unwrap();
}

/// The output of `bosun tasks` with these arguments.
#[track_caller]
fn tasks(fixture: &BinaryFixture, args: &[&str]) -> String {
    fixture.bosun(["tasks"].iter().chain(args)).run().expect(0).stdout
}

#[track_caller]
fn tasks_json(fixture: &BinaryFixture, args: &[&str]) -> Value {
    let all = ["tasks"].iter().chain(args).chain(&["--json"]);
    fixture.bosun(all).run().expect(0).json()
}

/// The state of a task in a list.
#[track_caller]
fn state(listed: &Value, path: &str) -> String {
    let task = listed["tasks"].as_array().unwrap().iter().find(|task| task["path"] == path);
    let state = &task.unwrap_or_else(|| panic!("no {path}: {listed}"))["state"];
    let outcome = &state["outcome"]["type"];
    outcome.as_str().or(state["type"].as_str()).unwrap().to_owned()
}
