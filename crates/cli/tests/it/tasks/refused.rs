//! An agent whose start a hook refuses.

use std::fs;

use serde_json::{Value, json};
use testkit::binary::BinaryFixture;

use crate::fixture;

const SCRIPT: &str = r#"
version: 1
rules:
  - when: { path: /root, turn: 1 }
    answer:
      - call: { tool: task, input: { description: first, prompt: p, agent_type: general-purpose, name: one, mode: MODE } }
  - when: { path: /root }
    answer: [say: Then without it.]
  - answer: [say: I should not be here.]
"#;

/// Hooks that refuse every agent, and one that records denials.
fn refusing(fixture: &BinaryFixture) {
    let output = fixture.path("told").display().to_string();
    let noting = format!("read -r told; printf '%s\\n' \"$told\" >> '{output}'");
    let hook = |command: &str| json!([{ "type": "command", "bash": command }]);
    let file = json!({ "version": 1, "hooks": {
        "subagentStart": hook("echo 'no workers today' >&2; exit 2"),
        "permissionDenied": hook(&noting),
    } });
    // The first command creates the home.
    fixture.bosun(["catalog", "list"]).run().expect(0);
    fs::create_dir_all(fixture.home().join("hooks")).unwrap();
    fs::write(fixture.home().join("hooks/refusing.json"), file.to_string()).unwrap();
}

#[test]
fn subagent_start_hook_with_exit_code_2_denies_the_agent() {
    for mode in ["sync", "background"] {
        let fixture = fixture();
        refusing(&fixture);
        let script = SCRIPT.replace("MODE", mode);
        let ended = fixture.script(&script).prompt("go").args(["--output-format", "json"]).run().expect(0).json();
        let denials = ended["denials"].as_array().unwrap();
        assert_eq!(denials.len(), 1, "{mode}: {ended}");
        assert_eq!(denials[0]["tool"], "task", "{mode}: {ended}");
        assert!(denials[0].to_string().contains("no workers today"), "{mode}: {ended}");
        assert_eq!(ended["text"], "Then without it.", "{mode}: {ended}");
        let output = fs::read_to_string(fixture.path("told")).unwrap_or_default();
        let output: Vec<Value> = output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!((output.len(), &output[0]["toolName"]), (1, &json!("task")), "{mode}: {output:?}");
        assert!(output[0]["reason"].as_str().unwrap().contains("no workers today"), "{mode}: {output:?}");
        assert!(
            !fixture
                .log(&fixture.newest())
                .iter()
                .any(|envelope| format!("{envelope:?}").contains("should not be here"))
        );
    }
}
