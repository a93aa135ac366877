//! Plan mode, autopilot and sharing, through the binary: output and exit codes.

use std::fs;

use serde_json::json;
use testkit::binary::{BinaryFixture, ProcessSignal};

use crate::fixture;
use crate::scripts::HELLO;

const PLANNER: &str = r#"
version: 1
rules:
  - when: { turn: 1 }
    answer:
      - call: { tool: write_plan, input: { text: "1. Write a.txt\n" } }
  - when: { turn: 2 }
    answer:
      - call: { tool: exit_plan_mode, input: { summary: Write one file, recommended: autopilot } }
  - when: { answered: { tool: exit_plan_mode, matches: "says: (.*)" } }
    answer: [say: "You said ${1}."]
  - when: { answered: { tool: exit_plan_mode } }
    answer:
      - call: { tool: create, input: { path: a.txt, content: done } }
  - when: { tools: task_complete, answered: { tool: create } }
    answer:
      - call: { tool: task_complete, input: { summary: It is written, status: done } }
  - answer: [say: That is it.]
"#;

/// A model that creates a file per turn and never reports completion.
const BUSY: &str = r#"
version: 1
rules:
  - when: { answered: { tool: create } }
    answer: [say: More to come.]
  - answer:
      - call: { tool: create, input: { path: "f${turn}.txt", content: x } }
"#;

fn reports(status: &str, more: &str) -> String {
    format!(
        "version: 1\nagents:\n  main:\n    - - say: Half of it.\n    - - call: {{ tool: task_complete, \
         input: {{ summary: some, status: {status}{more} }} }}\n    - - say: So be it.\n"
    )
}

fn autopilot(fixture: &BinaryFixture, script: &str) -> testkit::binary::BinaryInvocation {
    fixture.script(script).prompt("do it").args(["--autopilot", "--output-format", "json"])
}

#[test]
fn a_headless_plan_is_printed_and_nothing_is_changed() {
    let fixture = fixture();
    let ended = fixture.script(PLANNER).prompt("plan it").args(["--plan"]).run().expect(0);
    assert_eq!(ended.stdout, "1. Write a.txt\n");
    assert!(!fixture.path("a.txt").exists());
    let shown = fixture.bosun(["sessions", "show", &fixture.newest(), "--json"]).run().expect(0).json();
    assert_eq!((&shown["plan"], &shown["session"]["mode"]), (&json!("1. Write a.txt\n"), &json!("interactive")));
}

#[test]
fn carried_out_plan_is_noted_and_the_answer_is_printed() {
    let fixture = fixture();
    let args = ["--plan", "--plan-exit", "interactive"];
    let ended = fixture.script(PLANNER).prompt("plan it").args(args).run().expect(0);
    assert_eq!((ended.stdout.as_str(), fixture.path("a.txt").exists()), ("That is it.\n", true));
    ended.says(&["the plan that was carried out:\n1. Write a.txt"]);
}

#[test]
fn plan_exit_action_carries_out_the_plan() {
    let fixture = fixture();
    let args = ["--plan", "--plan-exit", "autopilot", "--output-format", "json"];
    let result = fixture.script(PLANNER).prompt("plan it").args(args).run().expect(0).json();
    assert_eq!(fs::read_to_string(fixture.path("a.txt")).unwrap(), "done");
    assert_eq!((&result["plan"], &result["autopilot"]["stopped"]), (&json!(null), &json!("complete")));
    fixture.prompt("x").args(["--plan-exit", "fly"]).run().expect(2).says(&["interactive, autopilot"]);
    fixture.prompt("x").args(["--plan", "--autopilot"]).run().expect(2);
}

#[test]
fn a_plan_is_decided_from_another_terminal() {
    let fixture = fixture();
    let running = fixture.script(PLANNER).prompt("plan it").args(["--plan", "--ask-wait", "forever"]).start();
    running.await_stderr("plan ready");
    let asks = fixture.bosun(["approvals", "--json"]).run().expect(0).json();
    let id = asks[0]["id"].as_str().unwrap().to_owned();
    fixture.bosun(["approvals"]).run().expect(0);
    fixture.bosun(["approvals", "answer", &id, "use two files"]).run().expect(0);
    assert_eq!(running.wait().expect(0).stdout, "1. Write a.txt\n");
}

#[test]
fn exit_codes_tell_how_an_autopilot_ended() {
    let fixture = fixture();
    let complete = autopilot(&fixture, &reports("done", "")).run().expect(0).json();
    let expected = json!({ "stopped": "complete", "continues": 1, "summary": "some", "reason": null });
    assert_eq!(complete["autopilot"], expected);
    let blocked = autopilot(&fixture, &reports("blocked", ", reason: no key")).run().expect(1).json();
    let expected = json!({ "stopped": "blocked", "continues": 1, "summary": "some", "reason": "no key" });
    assert_eq!(blocked["autopilot"], expected);
    let same = autopilot(&fixture, HELLO).run().expect(3).json();
    assert_eq!((&same["autopilot"]["stopped"], &same["autopilot"]["continues"]), (&json!("noChange"), &json!(2)));
    let limit = autopilot(&fixture, BUSY).args(["--max-continues", "1"]).run().expect(4).json();
    assert_eq!((&limit["autopilot"]["stopped"], &limit["autopilot"]["continues"]), (&json!("limit"), &json!(1)));
    let limited = fixture.script(BUSY).prompt("do it").args(["--autopilot", "--max-continues", "0"]);
    limited.run().expect(4).says(&["autopilot: stopped at its limit", "--max-continues N"]);
}

#[test]
fn an_interrupt_ends_an_autopilot() {
    let fixture = fixture();
    let script = "version: 1\nrules:\n  - answer:\n      - say: working\n      - hang: true\n";
    let args = ["--autopilot", "--output-format", "jsonl"];
    let mut running = fixture.script(script).prompt("do it").args(args).start();
    running.await_stdout("turnBegun");
    running.signal(ProcessSignal::Interrupt);
    let ended = running.wait().expect(5);
    assert_eq!(ended.json_lines().last().unwrap()["autopilot"]["stopped"], "aborted");
}

#[test]
fn a_budget_ends_an_autopilot_with_its_own_code() {
    let fixture = fixture();
    let script = BUSY.replace("content: x } }", "content: x } }\n    usage: { input: 900, output: 100 }");
    autopilot(&fixture, &script).args(["--max-tokens-total", "5000"]).run().expect(6);
}

#[test]
fn session_is_shared_for_every_outcome() {
    let fixture = fixture();
    let hostile = "version: 1\nrules:\n  - answer: [say: \"</pre><script>alert(1)</script>\"]\n";
    let html = fixture.path("run.html");
    fixture.script(hostile).prompt("say <b>it</b>").args(["--share", html.to_str().unwrap()]).run().expect(0);
    let page = fs::read_to_string(&html).unwrap();
    assert!(
        page.contains("&lt;script&gt;alert(1)&lt;/script&gt;") && page.contains("say &lt;b&gt;it&lt;/b&gt;"),
        "{page}"
    );
    assert!(!page.contains("<script") && !page.contains("<b>") && !page.contains("http://"), "{page}");
    assert!(page.contains("default-src 'none'") && page.ends_with("</html>\n"));
    let exported = fixture.bosun(["sessions", "export", &fixture.newest(), "--format", "html"]).run().expect(0);
    assert!(exported.stdout.starts_with("<!doctype html>"));
    let fails = "version: 1\nrules:\n  - fail: { class: terminal, message: no such model }\n";
    let markdown = fixture.path("run.md");
    fixture.script(fails).prompt("go").args(["--share", markdown.to_str().unwrap()]).run().expect(1);
    assert!(fs::read_to_string(&markdown).unwrap().starts_with("# Session"));
}

#[test]
fn unwritable_share_file_is_refused_before_the_run() {
    let fixture = fixture();
    for (place, expected) in
        [("-", "ends with .md or .html"), ("run.txt", "ends with .md"), ("none/run.md", "cannot write")]
    {
        let ended = fixture.script(HELLO).prompt("go").args(["--share", place]).run().expect(2);
        assert!(ended.stderr.contains(expected) && ended.stdout.is_empty(), "{place}: {}", ended.stderr);
    }
    assert!(fixture.sessions().is_empty());
}

#[test]
fn autopilot_persists_when_resumed() {
    let fixture = fixture();
    autopilot(&fixture, &reports("done", "")).run().expect(0);
    fixture.script(BUSY);
    let again = ["--continue", "-p", "more", "--allow-all", "--max-continues", "1", "--output-format", "json"];
    assert_eq!(fixture.bosun(again).run().expect(4).json()["autopilot"]["stopped"], "limit");
}
