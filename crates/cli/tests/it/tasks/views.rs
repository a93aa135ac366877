//! All views of a task agree: the tool, the list, the record, the API, hooks and the report.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use testkit::binary::{BinaryFixture, PATIENCE, RunningBinary, within};

use super::{let_go, tasks_json};
use crate::fixture;

/// One background agent that waits for a file, one that is queued behind it, and a root that lists agents on request.
const SUBAGENTS: &str = r#"
version: 1
rules:
  - when: { path: /root, turn: 1 }
    answer:
      - call: { tool: task, input: { description: first, prompt: p, agent_type: general-purpose, name: one, mode: background } }
      - call: { tool: task, input: { description: second, prompt: p, agent_type: general-purpose, name: two, mode: background } }
  - when: { path: /root, prompt: "(?m)^look", not: { answered: { tool: list_agents } } }
    answer: [call: { tool: list_agents }]
  - when: { path: /root, prompt: "(?m)^look (\\d+)" }
    answer: [say: "Look ${1}: ${answer}"]
  - when: { path: /root }
    answer: [say: Well.]
  - when: { turn: 1 }
    answer:
      - call: { tool: shell, input: { command: "n=$(basename ${path}); touch $n-busy; while [ ! -e $n-go ]; do sleep 0.01; done" } }
  - answer: [say: "Done by ${path}."]
"#;

fn write_hooks(fixture: &BinaryFixture) {
    let log = fixture.path("told").display().to_string();
    let command = format!("read -r told; printf '%s\\n' \"$told\" >> '{log}'");
    let hook = json!([{ "type": "command", "bash": command }]);
    let file = json!({ "version": 1, "hooks": { "subagentStart": hook, "subagentStop": hook } });
    // The first command creates the home.
    fixture.bosun(["catalog", "list"]).run().expect(0);
    fs::create_dir_all(fixture.home().join("hooks")).unwrap();
    fs::write(fixture.home().join("hooks/told.json"), file.to_string()).unwrap();
    fs::write(fixture.home().join("config.toml"), "[limits]\nlive = 1\n").unwrap();
}

/// The inputs of hooks for an event.
fn hook_inputs(file: &Path, event: &str) -> Vec<Value> {
    let lines = fs::read_to_string(file).unwrap_or_default();
    let lines = lines.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.filter(|input: &Value| input["bosun"]["event"] == event).collect()
}

struct ViewScenario {
    fixture: BinaryFixture,
    running: RunningBinary,
    looks: u32,
}

impl ViewScenario {
    /// The states of both agents; fails unless all views agree.
    #[track_caller]
    fn states(&mut self) -> [String; 2] {
        self.looks += 1;
        let look = format!("look {}", self.looks);
        self.fixture.bosun(["sessions", "send", &self.fixture.newest(), &look]).run().expect(0);
        let expected = format!("Look {}: ", self.looks);
        self.running.await_stdout(&expected);
        let lines = self.running.stdout();
        let seen = lines.lines().rev().find(|line| line.contains(&expected)).unwrap().to_owned();
        ["/root/one", "/root/two"].map(|path| {
            let listed = tasks_json(&self.fixture, &["list"]);
            let row = listed["tasks"].as_array().unwrap().iter().find(|row| row["path"] == path).unwrap().clone();
            let record = tasks_json(&self.fixture, &["show", path])["record"]["task"].clone();
            assert_eq!(record, row, "{path}: the record and the list");
            let word = row["state"]["outcome"]["type"].as_str().or(row["state"]["type"].as_str()).unwrap().to_owned();
            let by_state = tasks_json(&self.fixture, &["list", "--state", &word]);
            assert!(by_state["tasks"].as_array().unwrap().contains(&row), "{path} is not among the {word}");
            let text = self.fixture.bosun(["tasks", "show", path]).run().expect(0).stdout;
            assert!(text.contains(&word), "{path}: {word}: {text}");
            let line = format!("{path} (general-purpose, {}): {word}", row["model"]["effective"].as_str().unwrap());
            assert!(seen.contains(&line), "the tool does not say {line}: {seen}");
            word
        })
    }
}

#[test]
fn all_views_agree_at_every_step() {
    let fixture = fixture();
    write_hooks(&fixture);
    let running = fixture.script(SUBAGENTS).prompt("go").args(["--output-format", "jsonl"]).start();
    within(PATIENCE, "the first agent is at work", || fixture.path("one-busy").exists());
    running.await_stdout("Well.");
    let file = fixture.path("told");
    let mut scene = ViewScenario { fixture, running, looks: 0 };
    assert_eq!(scene.states(), ["running", "queued"]);
    let_go(&scene.fixture, "one");
    within(PATIENCE, "the second agent is at work", || scene.fixture.path("two-busy").exists());
    assert_eq!(scene.states(), ["idle", "running"]);
    let fixture = &scene.fixture;
    assert_eq!(fixture.bosun(["tasks", "stop", "two", "--now"]).run().expect(0).stdout, "/root/two is stopped\n");
    // The root receives the result, and then nothing is running any more.
    let mut lines = scene.running.wait().expect(0).json_lines();
    let result = lines.pop().unwrap();
    let listed = tasks_json(fixture, &["list"]);
    assert_eq!(result["tasks"], listed["tasks"], "the report and the list");
    for (name, reason) in [("one", "completed"), ("two", "cancelled")] {
        let row = tasks_json(fixture, &["show", name])["record"]["task"].clone();
        let starts = hook_inputs(&file, "subagentStart");
        let stops = hook_inputs(&file, "subagentStop");
        let of = |inputs: &[Value]| {
            let own = inputs.iter().filter(|input| input["bosun"]["agent"] == row["id"]);
            own.map(|input| input["bosun"].clone()).collect::<Vec<_>>()
        };
        let (starts, ends) = (of(&starts), of(&stops));
        assert_eq!((starts.len(), ends.len()), (1, 1), "{name}");
        for ids in starts.iter().chain(&ends) {
            let same = ["path", "parent", "depth", "activation", "attempt"].iter().all(|key| ids[key] == row[key]);
            assert!(same, "{name}: the hooks got {ids}, and the row is {row}");
        }
        let stop = stops.iter().find(|input| input["bosun"]["agent"] == row["id"]).unwrap();
        // Copilot's word for the end of a completed activation.
        let told = if reason == "completed" { "end_turn" } else { reason };
        assert_eq!((&stop["stopReason"], &row["lastOutcome"]["type"]), (&json!(told), &json!(reason)), "{stop}");
    }
}
