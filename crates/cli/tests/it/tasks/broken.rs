//! Hooks that do not do what hooks should, and agents that work on all the same.

use std::fs;

use protocol::Event;
use serde_json::{Value, json};

use crate::stage;

const SUBAGENTS: &str = r#"
version: 1
rules:
  - when: { path: /root, turn: 1 }
    answer:
      - call: { tool: task, input: { description: d, prompt: p, agent_type: general-purpose, name: one, mode: background } }
      - call: { tool: task, input: { description: d, prompt: p, agent_type: general-purpose, name: two } }
  - when: { path: /root }
    answer: [say: All done.]
  - when: { turn: 1 }
    answer: [call: { tool: shell, input: { command: "echo ${path} >> witness" } }]
  - answer: [say: "Done by ${path}."]
"#;

/// A hook of a second at most, whose failure means nothing.
fn hook(command: &str) -> Value {
    json!([{ "type": "command", "bash": command, "timeoutSec": 1, "onFailure": "allow" }])
}

#[test]
fn hooks_that_hang_flood_and_say_no_for_ever_cost_a_run_no_more_than_their_deadlines() {
    let stage = stage();
    // Whoever runs it first makes the home.
    stage.bosun(["catalog", "list"]).run().expect(0);
    fs::create_dir_all(stage.home().join("hooks")).unwrap();
    let file = json!({ "version": 1, "hooks": {
        "sessionStart": hook("exec /nowhere/at/all"),
        "subagentStart": hook("exec sleep 1000"),
        "preToolUse": hook("trap '' TERM; while :; do sleep 0.1; done"),
        "postToolUse": hook("yes"),
        "subagentStop": hook("echo again >&2; exit 2"),
        "agentStop": hook("echo again >&2; exit 2"),
        "sessionEnd": hook("sleep 1000 & sleep 1000"),
    } });
    fs::write(stage.home().join("hooks/broken.json"), file.to_string()).unwrap();
    let ended = stage.script(SUBAGENTS).prompt("go").run().expect(0);
    assert_eq!(ended.stdout, "All done.\n");
    let mut witness: Vec<String> =
        fs::read_to_string(stage.path("witness")).unwrap().lines().map(str::to_owned).collect();
    witness.sort_unstable();
    assert_eq!(witness, ["/root/one", "/root/two"]);
    assert!(ended.took.as_secs() < 60, "it took {:?}", ended.took);
    let log = stage.log(&stage.newest());
    let count = |wanted: fn(&Event) -> bool| log.iter().filter(|envelope| wanted(&envelope.entry.event)).count();
    let greeted = count(|event| matches!(event, Event::StartHooksRan { .. }));
    let parted = count(|event| matches!(event, Event::StopHooksRan { .. }));
    assert_eq!(greeted, parted);
    assert!(greeted >= 2, "{greeted}");
    let held = count(|event| matches!(event, Event::StopBlocked { .. }));
    assert!((16..=8 * parted + 8 * 3).contains(&held), "{held} of {parted}");
}
