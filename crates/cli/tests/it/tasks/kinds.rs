//! One registry for all kinds of tasks: the root, agents and commands, with the same states.

use serde_json::{Value, json};

use super::{let_go, tasks, tasks_json};
use crate::fixture;

const SUBAGENTS: &str = r#"
version: 1
rules:
  - when: { path: /root, turn: 1 }
    answer:
      - call: { tool: shell, input: { command: "true", background: true } }
      - call: { tool: shell, input: { command: "false", background: true } }
      - call: { tool: task, input: { description: d, prompt: p, agent_type: general-purpose, name: rests } }
      - call: { tool: task, input: { description: d, prompt: p, agent_type: general-purpose, name: fails } }
      - call: { tool: task, input: { description: d, prompt: p, agent_type: general-purpose, name: works, mode: background } }
      - call: { tool: task, input: { description: d, prompt: p, agent_type: general-purpose, name: doomed, mode: background } }
  - when: { path: /root }
    answer: [say: All is under way.]
  - when: { path: /root/fails }
    fail: { class: terminal, message: no such model }
  - when: { path: "/root/(works|doomed)", turn: 1 }
    answer:
      - call: { tool: shell, input: { command: "while [ ! -e $(basename ${path})-go ]; do sleep 0.01; done" } }
  - answer: [say: "Done by ${path}."]
"#;

/// Path, kind and status of each task.
fn task_rows(listed: &Value) -> Vec<(String, String, String)> {
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    let row = |task: &Value| (word(&task["path"]), word(&task["kind"]), word(&task["status"]));
    listed["tasks"].as_array().unwrap().iter().map(row).collect()
}

#[test]
fn all_kinds_share_states_and_ended_tasks_stay_ended() {
    let fixture = fixture();
    let running = fixture.script(SUBAGENTS).prompt("go").args(["--output-format", "jsonl"]).start();
    running.await_stdout("All is under way.");
    assert_eq!(tasks(&fixture, &["stop", "doomed", "--now"]), "/root/doomed is stopped\n");
    let all = [
        ("/root/true", "shell", "completed"),
        ("/root/false", "shell", "failed"),
        ("/root/rests", "agent", "idle"),
        ("/root/fails", "agent", "failed"),
        ("/root/works", "agent", "running"),
        ("/root/doomed", "agent", "cancelled"),
    ];
    let rows = task_rows(&tasks_json(&fixture, &["list"]));
    assert_eq!((rows[0].0.as_str(), rows[0].1.as_str()), ("/root", "main"));
    let expected = all.map(|(path, kind, status)| (path.to_owned(), kind.to_owned(), status.to_owned()));
    assert_eq!(rows[1..], expected);

    let ended = ["/root/true", "/root/false", "/root/fails", "/root/doomed"];
    let record = |path: &str| tasks_json(&fixture, &["show", path])["record"]["task"].clone();
    for path in ended {
        let before = record(path);
        assert_eq!(tasks(&fixture, &["stop", path, "--now"]), format!("{path} had already ended\n"));
        for args in [&["send", path, "message again"][..], &["background", path]] {
            let refused = fixture.bosun(["tasks"].iter().chain(args)).run().expect(2);
            assert!(refused.stdout.is_empty() && !refused.stderr.is_empty(), "{args:?}: {refused:?}");
        }
        assert_eq!(record(path), before, "{path} is unchanged");
    }
    // No task waits for an idle one.
    fixture.bosun(["tasks", "background", "rests"]).run().expect(2);
    let_go(&fixture, "works");
    let result = running.wait().expect(3).json_lines().pop().unwrap();
    assert_eq!((&result["exitCode"], result["tasks"].as_array().unwrap().len()), (&json!(3), 7));
    assert_eq!(tasks(&fixture, &["output", "works"]), "Done by /root/works.\n");
    for path in ended {
        assert_eq!(tasks(&fixture, &["rm", path]), format!("{path} is removed\n"));
    }
    assert_eq!(task_rows(&tasks_json(&fixture, &["list"])).len(), 3);
}
