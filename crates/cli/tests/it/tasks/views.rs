//! Whoever looks sees the same: the tool, the list, the record, the API, hooks and the report.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use testkit::binary::{BinaryFixture, PATIENCE, RunningBinary, within};

use super::{let_go, tasks_json};
use crate::stage;

/// One agent in the background that waits for a file, one that queues behind it, and a root that looks when asked.
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

fn hooked(stage: &BinaryFixture) {
    let told = stage.path("told").display().to_string();
    let command = format!("read -r told; printf '%s\\n' \"$told\" >> '{told}'");
    let hook = json!([{ "type": "command", "bash": command }]);
    let file = json!({ "version": 1, "hooks": { "subagentStart": hook, "subagentStop": hook } });
    // Whoever runs it first makes the home.
    stage.bosun(["catalog", "list"]).run().expect(0);
    fs::create_dir_all(stage.home().join("hooks")).unwrap();
    fs::write(stage.home().join("hooks/told.json"), file.to_string()).unwrap();
    fs::write(stage.home().join("config.toml"), "[limits]\nlive = 1\n").unwrap();
}

/// What hooks were told of an event.
fn told(file: &Path, event: &str) -> Vec<Value> {
    let lines = fs::read_to_string(file).unwrap_or_default();
    let lines = lines.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.filter(|told: &Value| told["bosun"]["event"] == event).collect()
}

struct Scene {
    stage: BinaryFixture,
    running: RunningBinary,
    looks: u32,
}

impl Scene {
    /// The state of both agents, which every view tells alike.
    #[track_caller]
    fn states(&mut self) -> [String; 2] {
        self.looks += 1;
        let look = format!("look {}", self.looks);
        self.stage.bosun(["sessions", "send", &self.stage.newest(), &look]).run().expect(0);
        let words = format!("Look {}: ", self.looks);
        self.running.await_stdout(&words);
        let lines = self.running.stdout();
        let seen = lines.lines().rev().find(|line| line.contains(&words)).unwrap().to_owned();
        ["/root/one", "/root/two"].map(|path| {
            let listed = tasks_json(&self.stage, &["list"]);
            let row = listed["tasks"].as_array().unwrap().iter().find(|row| row["path"] == path).unwrap().clone();
            let record = tasks_json(&self.stage, &["show", path])["record"]["task"].clone();
            assert_eq!(record, row, "{path}: the record and the list");
            let word = row["state"]["outcome"]["type"].as_str().or(row["state"]["type"].as_str()).unwrap().to_owned();
            let by_state = tasks_json(&self.stage, &["list", "--state", &word]);
            assert!(by_state["tasks"].as_array().unwrap().contains(&row), "{path} is not among the {word}");
            let text = self.stage.bosun(["tasks", "show", path]).run().expect(0).stdout;
            assert!(text.contains(&word), "{path}: {word}: {text}");
            let told = format!("{path} (general-purpose, {}): {word}", row["model"]["effective"].as_str().unwrap());
            assert!(seen.contains(&told), "the tool does not say {told}: {seen}");
            word
        })
    }
}

#[test]
fn every_view_tells_the_same_at_every_step() {
    let stage = stage();
    hooked(&stage);
    let running = stage.script(SUBAGENTS).prompt("go").args(["--output-format", "jsonl"]).start();
    within(PATIENCE, "the first agent is at work", || stage.path("one-busy").exists());
    running.await_stdout("Well.");
    let file = stage.path("told");
    let mut scene = Scene { stage, running, looks: 0 };
    assert_eq!(scene.states(), ["running", "queued"]);
    let_go(&scene.stage, "one");
    within(PATIENCE, "the second agent is at work", || scene.stage.path("two-busy").exists());
    assert_eq!(scene.states(), ["idle", "running"]);
    let stage = &scene.stage;
    assert_eq!(stage.bosun(["tasks", "stop", "two", "--now"]).run().expect(0).stdout, "/root/two is stopped\n");
    // The root hears of its end, and then nothing is at work any more.
    let mut lines = scene.running.wait().expect(0).json_lines();
    let result = lines.pop().unwrap();
    let listed = tasks_json(stage, &["list"]);
    assert_eq!(result["tasks"], listed["tasks"], "the report and the list");
    for (name, reason) in [("one", "completed"), ("two", "cancelled")] {
        let row = tasks_json(stage, &["show", name])["record"]["task"].clone();
        let starts = told(&file, "subagentStart");
        let stops = told(&file, "subagentStop");
        let of = |told: &[Value]| {
            let mine = told.iter().filter(|told| told["bosun"]["agent"] == row["id"]);
            mine.map(|told| told["bosun"].clone()).collect::<Vec<_>>()
        };
        let (starts, ends) = (of(&starts), of(&stops));
        assert_eq!((starts.len(), ends.len()), (1, 1), "{name}");
        for ids in starts.iter().chain(&ends) {
            let same = ["path", "parent", "depth", "activation", "attempt"].iter().all(|key| ids[key] == row[key]);
            assert!(same, "{name}: hooks were told {ids}, and the row says {row}");
        }
        let stop = stops.iter().find(|told| told["bosun"]["agent"] == row["id"]).unwrap();
        assert_eq!((&stop["stopReason"], &row["lastOutcome"]["type"]), (&json!(reason), &json!(reason)), "{stop}");
    }
}
