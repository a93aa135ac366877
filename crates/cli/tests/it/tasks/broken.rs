//! Broken hooks, and agents that work despite them.

use std::fs;

use protocol::Event;
use serde_json::{Value, json};

use crate::fixture;

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

/// A hook with a timeout of one second whose failure is ignored.
fn hook(command: &str) -> Value {
    json!([{ "type": "command", "bash": command, "timeoutSec": 1, "onFailure": "allow" }])
}

#[test]
fn broken_hooks_delay_a_run_only_by_their_timeouts() {
    let fixture = fixture();
    // The first command creates the home.
    fixture.bosun(["catalog", "list"]).run().expect(0);
    fs::create_dir_all(fixture.home().join("hooks")).unwrap();
    let file = json!({ "version": 1, "hooks": {
        "sessionStart": hook("exec /nowhere/at/all"),
        "subagentStart": hook("exec sleep 1000"),
        "preToolUse": hook("trap '' TERM; while :; do sleep 0.1; done"),
        "postToolUse": hook("yes"),
        "subagentStop": hook("echo again >&2; exit 2"),
        "agentStop": hook("echo again >&2; exit 2"),
        "sessionEnd": hook("sleep 1000 & sleep 1000"),
    } });
    fs::write(fixture.home().join("hooks/broken.json"), file.to_string()).unwrap();
    let ended = fixture.script(SUBAGENTS).prompt("go").run().expect(0);
    assert_eq!(ended.stdout, "All done.\n");
    let mut witness: Vec<String> =
        fs::read_to_string(fixture.path("witness")).unwrap().lines().map(str::to_owned).collect();
    witness.sort_unstable();
    assert_eq!(witness, ["/root/one", "/root/two"]);
    assert!(ended.took.as_secs() < 60, "it took {:?}", ended.took);
    let log = fixture.log(&fixture.newest());
    let count = |wanted: fn(&Event) -> bool| log.iter().filter(|envelope| wanted(&envelope.entry.event)).count();
    let starts = count(|event| matches!(event, Event::StartHooksRan { .. }));
    let stops = count(|event| matches!(event, Event::StopHooksRan { .. }));
    assert_eq!(starts, stops);
    assert!(starts >= 2, "{starts}");
    let blocked = count(|event| matches!(event, Event::StopBlocked { .. }));
    assert!((16..=8 * stops + 8 * 3).contains(&blocked), "{blocked} of {stops}");
}
