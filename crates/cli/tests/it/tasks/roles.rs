//! Which agents may start which, with built-in agents and one from a file.

use std::fs;

use crate::fixture;

const SUBAGENTS: &str = r#"
version: 1
rules:
  - when: { path: /root, turn: 1, not: { tools: "view|grep|shell|edit" } }
    answer:
      - call: { tool: task, input: { description: d, prompt: find the needle, agent_type: explore, name: eye } }
  - when: { path: /root }
    answer: [say: "Told: ${answer}"]
  - when: { path: /root/eye, turn: 1, not: { tools: "task|shell|edit|create" } }
    answer:
      - call: { tool: grep, input: { pattern: needle } }
      - call: { tool: task, input: { description: d, prompt: write it, agent_type: general-purpose, name: hand } }
      - call: { tool: create, input: { path: made, content: x } }
  - when: { path: /root/eye }
    answer: [say: "It is in what grep said"]
"#;

#[test]
fn agents_have_only_the_tools_of_their_role() {
    let fixture = fixture();
    fs::write(fixture.path("hay.txt"), "hay\nthe needle\n").unwrap();
    fs::create_dir_all(fixture.path(".claude/agents")).unwrap();
    let lead = "---\nname: lead\ndescription: leads\ntools: Task\n---\nYou only delegate.\n";
    fs::write(fixture.path(".claude/agents/lead.md"), lead).unwrap();
    fixture.bosun(["trust", "--yes"]).run().expect(0);

    let ended =
        fixture.script(SUBAGENTS).prompt("go").args(["--agent", "lead", "--output-format", "json"]).run().expect(0);
    assert!(ended.json()["text"].as_str().unwrap().contains("It is in what grep said"), "{}", ended.stdout);
    let ended = ended.json();
    let paths: Vec<&str> =
        ended["tasks"].as_array().unwrap().iter().map(|task| task["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["/root", "/root/eye"]);
    let log = format!("{:?}", fixture.log(&fixture.newest()));
    assert!(log.contains("the needle") && log.contains("There is no tool `task`"), "{log}");
    assert!(!fixture.path("made").exists());
}
