//! Plan mode, autopilot and sharing, through the binary: what is printed, and the code that tells how it ended.

use std::fs;

use serde_json::json;
use testkit::binary::{BinaryFixture, ProcessSignal};

use crate::scripts::HELLO;
use crate::stage;

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

/// A model that makes a file a turn and reports nothing.
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

fn autopilot(stage: &BinaryFixture, script: &str) -> testkit::binary::BinaryInvocation {
    stage.script(script).prompt("do it").args(["--autopilot", "--output-format", "json"])
}

#[test]
fn a_headless_plan_is_printed_and_nothing_is_changed() {
    let stage = stage();
    let ended = stage.script(PLANNER).prompt("plan it").args(["--plan"]).run().expect(0);
    assert_eq!(ended.stdout, "1. Write a.txt\n");
    assert!(!stage.path("a.txt").exists());
    let shown = stage.bosun(["sessions", "show", &stage.newest(), "--json"]).run().expect(0).json();
    assert_eq!((&shown["plan"], &shown["session"]["mode"]), (&json!("1. Write a.txt\n"), &json!("interactive")));
}

/// A4: whoever has the plan carried out wants to read what came of it.
#[test]
fn a_plan_that_is_carried_out_is_told_of_and_the_answer_is_printed() {
    let stage = stage();
    let args = ["--plan", "--plan-exit", "interactive"];
    let ended = stage.script(PLANNER).prompt("plan it").args(args).run().expect(0);
    assert_eq!((ended.stdout.as_str(), stage.path("a.txt").exists()), ("That is it.\n", true));
    ended.says(&["the plan that was carried out:\n1. Write a.txt"]);
}

#[test]
fn an_action_that_goes_on_carries_the_plan_out() {
    let stage = stage();
    let args = ["--plan", "--plan-exit", "autopilot-fleet", "--output-format", "json"];
    let result = stage.script(PLANNER).prompt("plan it").args(args).run().expect(0).json();
    assert_eq!(fs::read_to_string(stage.path("a.txt")).unwrap(), "done");
    assert_eq!((&result["plan"], &result["autopilot"]["stopped"]), (&json!(null), &json!("complete")));
    stage.prompt("x").args(["--plan-exit", "fly"]).run().expect(2).says(&["interactive, autopilot"]);
    stage.prompt("x").args(["--plan", "--autopilot"]).run().expect(2);
}

#[test]
fn a_plan_is_decided_from_another_terminal() {
    let stage = stage();
    let running = stage.script(PLANNER).prompt("plan it").args(["--plan", "--ask-wait", "for-ever"]).start();
    running.await_stderr("plan ready");
    let asks = stage.bosun(["approvals", "--json"]).run().expect(0).json();
    let id = asks[0]["id"].as_str().unwrap().to_owned();
    stage.bosun(["approvals"]).run().expect(0);
    stage.bosun(["approvals", "answer", &id, "use two files"]).run().expect(0);
    assert_eq!(running.wait().expect(0).stdout, "1. Write a.txt\n");
}

#[test]
fn exit_codes_tell_how_an_autopilot_ended() {
    let stage = stage();
    let complete = autopilot(&stage, &reports("done", "")).run().expect(0).json();
    let told = json!({ "stopped": "complete", "continues": 1, "summary": "some", "reason": null });
    assert_eq!(complete["autopilot"], told);
    let blocked = autopilot(&stage, &reports("blocked", ", reason: no key")).run().expect(1).json();
    let told = json!({ "stopped": "blocked", "continues": 1, "summary": "some", "reason": "no key" });
    assert_eq!(blocked["autopilot"], told);
    let same = autopilot(&stage, HELLO).run().expect(3).json();
    assert_eq!((&same["autopilot"]["stopped"], &same["autopilot"]["continues"]), (&json!("noChange"), &json!(2)));
    let limit = autopilot(&stage, BUSY).args(["--max-continues", "1"]).run().expect(4).json();
    assert_eq!((&limit["autopilot"]["stopped"], &limit["autopilot"]["continues"]), (&json!("limit"), &json!(1)));
    let words = stage.script(BUSY).prompt("do it").args(["--autopilot", "--max-continues", "0"]);
    words.run().expect(4).says(&["autopilot: stopped at its limit", "--max-continues N"]);
}

#[test]
fn an_interrupt_ends_an_autopilot() {
    let stage = stage();
    let script = "version: 1\nrules:\n  - answer:\n      - say: working\n      - hang: true\n";
    let args = ["--autopilot", "--output-format", "jsonl"];
    let mut running = stage.script(script).prompt("do it").args(args).start();
    running.await_stdout("turnBegun");
    running.signal(ProcessSignal::Interrupt);
    let ended = running.wait().expect(5);
    assert_eq!(ended.json_lines().last().unwrap()["autopilot"]["stopped"], "aborted");
}

#[test]
fn a_budget_ends_an_autopilot_with_its_own_code() {
    let stage = stage();
    let script = BUSY.replace("content: x } }", "content: x } }\n    usage: { input: 900, output: 100 }");
    autopilot(&stage, &script).args(["--max-tokens-total", "5000"]).run().expect(6);
}

#[test]
fn a_session_is_shared_however_its_run_ended() {
    let stage = stage();
    let hostile = "version: 1\nrules:\n  - answer: [say: \"</pre><script>alert(1)</script>\"]\n";
    let html = stage.path("run.html");
    stage.script(hostile).prompt("say <b>it</b>").args(["--share", html.to_str().unwrap()]).run().expect(0);
    let page = fs::read_to_string(&html).unwrap();
    assert!(
        page.contains("&lt;script&gt;alert(1)&lt;/script&gt;") && page.contains("say &lt;b&gt;it&lt;/b&gt;"),
        "{page}"
    );
    assert!(!page.contains("<script") && !page.contains("<b>") && !page.contains("http://"), "{page}");
    assert!(page.contains("default-src 'none'") && page.ends_with("</html>\n"));
    let exported = stage.bosun(["sessions", "export", &stage.newest(), "--format", "html"]).run().expect(0);
    assert!(exported.stdout.starts_with("<!doctype html>"));
    let fails = "version: 1\nrules:\n  - fail: { class: terminal, message: no such model }\n";
    let markdown = stage.path("run.md");
    stage.script(fails).prompt("go").args(["--share", markdown.to_str().unwrap()]).run().expect(1);
    assert!(fs::read_to_string(&markdown).unwrap().starts_with("# Session"));
}

#[test]
fn a_place_that_cannot_be_written_is_found_before_the_run() {
    let stage = stage();
    for (place, words) in
        [("-", "ends with .md or .html"), ("run.txt", "ends with .md"), ("none/run.md", "cannot write")]
    {
        let ended = stage.script(HELLO).prompt("go").args(["--share", place]).run().expect(2);
        assert!(ended.stderr.contains(words) && ended.stdout.is_empty(), "{place}: {}", ended.stderr);
    }
    assert!(stage.sessions().is_empty());
}

#[test]
fn a_session_on_autopilot_stays_so() {
    let stage = stage();
    autopilot(&stage, &reports("done", "")).run().expect(0);
    stage.script(BUSY);
    let again = ["--continue", "-p", "more", "--allow-all", "--max-continues", "1", "--output-format", "json"];
    assert_eq!(stage.bosun(again).run().expect(4).json()["autopilot"]["stopped"], "limit");
}
