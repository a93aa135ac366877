//! An agent whose start a hook refuses.

use std::fs;

use serde_json::{Value, json};
use testkit::binary::BinaryFixture;

use crate::stage;

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

/// Hooks that refuse every agent, and one that notes what it is told of denials.
fn refusing(stage: &BinaryFixture) {
    let told = stage.path("told").display().to_string();
    let noting = format!("read -r told; printf '%s\\n' \"$told\" >> '{told}'");
    let hook = |command: &str| json!([{ "type": "command", "bash": command }]);
    let file = json!({ "version": 1, "hooks": {
        "subagentStart": hook("echo 'no workers today' >&2; exit 2"),
        "permissionDenied": hook(&noting),
    } });
    // Whoever runs it first makes the home.
    stage.bosun(["catalog", "list"]).run().expect(0);
    fs::create_dir_all(stage.home().join("hooks")).unwrap();
    fs::write(stage.home().join("hooks/refusing.json"), file.to_string()).unwrap();
}

/// A17.
#[test]
fn a_subagent_start_hook_that_exits_with_2_is_an_ordinary_denial() {
    for mode in ["sync", "background"] {
        let stage = stage();
        refusing(&stage);
        let script = SCRIPT.replace("MODE", mode);
        let ended = stage.script(&script).prompt("go").args(["--output-format", "json"]).run().expect(0).json();
        let denials = ended["denials"].as_array().unwrap();
        assert_eq!(denials.len(), 1, "{mode}: {ended}");
        assert_eq!(denials[0]["tool"], "task", "{mode}: {ended}");
        assert!(denials[0].to_string().contains("no workers today"), "{mode}: {ended}");
        assert_eq!(ended["text"], "Then without it.", "{mode}: {ended}");
        let told = fs::read_to_string(stage.path("told")).unwrap_or_default();
        let told: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!((told.len(), &told[0]["toolName"]), (1, &json!("task")), "{mode}: {told:?}");
        assert!(told[0]["reason"].as_str().unwrap().contains("no workers today"), "{mode}: {told:?}");
        assert!(!stage.log(&stage.newest()).iter().any(|it| format!("{it:?}").contains("should not be here")));
    }
}
