//! The output and exit code of a run.

use std::fs;

use insta::assert_snapshot;
use protocol::Envelope;
use serde_json::{Value, json};

use super::normalized;
use crate::fixture;
use crate::scripts::{HELLO, shell, shells, turns};

#[test]
fn stdout_has_the_answer_and_stderr_a_line_per_call() {
    let fixture = fixture();
    fs::write(fixture.path("notes.txt"), "some words\n").unwrap();
    let script = "
version: 1
agents:
  main:
    - - say: I look around.
      - call: { tool: view, input: { path: notes.txt } }
      - call: { tool: grep, input: { pattern: words } }
      - call: { tool: view, input: { path: missing.txt } }
      - call: { tool: fly, input: { to: the moon } }
    - - call: { tool: shell, input: { command: \"echo \\e[31mred; exit 3\" } }
    - - say: \"There are \\e[1mnotes\\e[0m.\"
";
    let ended = fixture.script(script).prompt("what is here?").run().expect(0);
    assert_eq!(ended.stdout, "There are [1mnotes[0m.\n");
    assert_snapshot!(ended.stderr, @r#"
    - view notes.txt
    - grep words
    - view missing.txt
    - fly {"to":"the moon"}
      ! refused: There is no tool `fly`. The tools are: view, create, edit, apply_patch, grep, glob, shell, read_she…
      ! refused: missing.txt does not exist; look for it with `glob`
    - shell echo [31mred; exit 3
    "#);
    let quiet = fixture.prompt("what is here?").args(["--quiet"]).run().expect(0);
    assert_eq!((&*quiet.stdout, &*quiet.stderr), ("There are [1mnotes[0m.\n", ""));
}

#[test]
fn json_result_is_one_object_with_tasks_and_usage() {
    let fixture = fixture();
    let script = shells(&[json!({ "command": "echo hi" }), json!({ "command": "true", "background": true })]);
    let ended = fixture.script(&script).prompt("go").args(["--output-format", "json", "--quiet"]).run().expect(0);
    let result = ended.json();
    assert_eq!(
        (&result["type"], &result["outcome"], &result["exitCode"]),
        (&json!("result"), &json!("completed"), &json!(0))
    );
    assert_eq!(result["session"], fixture.newest());
    assert_eq!(result["tasks"].as_array().unwrap().len(), 2);
    assert_eq!(result["tasks"][1]["state"]["outcome"]["type"], "completed");
    assert_eq!(result["denials"], json!([]));
    assert!(result["usage"]["input"].as_u64().unwrap() > 0 && result["durationMs"].is_u64());
    assert!(ended.stderr.is_empty(), "{}", ended.stderr);
}

#[test]
fn json_lines_are_every_event_and_the_result_last() {
    let fixture = fixture();
    let ended = fixture.script(&turns(3)).prompt("go").args(["--output-format", "jsonl"]).run().expect(0);
    let mut lines = ended.json_lines();
    assert_eq!(lines.pop().unwrap()["type"], "result");
    let events: Vec<Envelope> = lines.into_iter().map(|line| serde_json::from_value(line).unwrap()).collect();
    assert_eq!(events, fixture.log(&fixture.newest()));
    assert!(ended.stderr.is_empty(), "{}", ended.stderr);
}

#[test]
fn denied_call_is_reported_but_is_not_a_failure() {
    let fixture = fixture();
    fixture.script(&shell("touch evil"));
    let ended = fixture.bosun(["-p", "go"]).run().expect(0);
    assert!(ended.stdout.starts_with("It said: `shell` was not permitted: "), "{}", ended.stdout);
    assert!(
        ended
            .stderr
            .starts_with("- shell touch evil\n  ! denied: no permission rule matches `touch evil` (mode: default)\n"),
        "{}",
        ended.stderr
    );
    let hint =
        format!("hint: resume with: bosun --resume {} -p \"continue\" --allow 'shell(touch *)'\n", fixture.newest());
    assert!(ended.stderr.ends_with(&format!("\nnot permitted: shell\n{hint}")), "{}", ended.stderr);
    let by_rule = fixture.bosun(["-p", "go", "--deny", "shell(touch *)"]).run().expect(0);
    assert!(by_rule.stderr.ends_with("\nnot permitted: shell\n"), "no flag lifts a rule: {}", by_rule.stderr);
    let ended = fixture.bosun(["-p", "go", "--output-format", "json", "--quiet"]).run().expect(0).json();
    assert_eq!(ended["denials"][0]["tool"], "shell");
    assert_eq!(ended["denials"][0]["input"], r#"{"command":"touch evil"}"#);
    assert_eq!(ended["denials"][0]["rules"][0], "shell(touch *)");
    assert!(!fixture.path("evil").exists());
}

#[test]
fn call_that_no_rule_can_allow_suggests_a_conversation() {
    let fixture = fixture();
    fixture.script(&shell("rm evil"));
    let ended = fixture.bosun(["-p", "go"]).run().expect(0);
    let hint = format!("hint: to be asked, continue in a conversation: bosun --resume {}\n", fixture.newest());
    assert!(ended.stderr.ends_with(&format!("\nnot permitted: shell\n{hint}")), "{}", ended.stderr);
    let ended = fixture.bosun(["-p", "go", "--deny", "shell(rm)"]).run().expect(0);
    assert!(ended.stderr.ends_with("\nnot permitted: shell\n"), "{}", ended.stderr);
}

#[test]
fn terminal_model_error_is_a_failure() {
    let fixture = fixture();
    let script = "
version: 1
rules:
  - when: { prompt: key }
    fail: { class: auth }
  - when: { turn: 1 }
    answer:
      - say: I begin.
      - call: { tool: report_intent, input: { intent: work } }
  - fail: { class: terminal, message: the model is gone }
";
    let ended = fixture.script(script).prompt("go").run().expect(1);
    assert_eq!(ended.stdout, "I begin.\n", "earlier text is not lost");
    assert_snapshot!(normalized(&fixture, &ended.stderr), @r#"
    - report_intent work
    error: the model is gone
    hint: the work so far is kept; resume with: bosun --resume ses-ID -p "…" (and --model PROVIDER/NAME for another model)
    "#);
    fixture.prompt("wrong key").run().expect(1).says(&["refused the key"]);
    let ended = fixture.prompt("go").args(["--output-format", "json"]).run().expect(1).json();
    assert_eq!((&ended["outcome"], &ended["message"]), (&json!("failed"), &json!("the model is gone")));
}

#[test]
fn a_model_that_recovers_is_asked_again() {
    let fixture = fixture();
    let script = "
version: 1
rules:
  - when: { attempt: 1 }
    fail: { class: retry-after, after: 10ms, message: slow down }
  - answer:
      - say: Here I am.
";
    let ended = fixture.script(script).prompt("go").run().expect(0).says(&["! model: slow down"]);
    assert_eq!(ended.stdout, "Here I am.\n");
}

#[test]
fn script_without_a_matching_rule_shows_the_prompt() {
    let fixture = fixture();
    let script = "version: 1\nrules:\n  - when: { prompt: never }\n    answer: [{ say: x }]\n";
    let ended = fixture.script(script).prompt("something").run().expect(1);
    assert!(ended.stderr.contains("model.yaml") && ended.stderr.contains("something"), "{}", ended.stderr);
}

#[test]
fn a_failed_task_makes_the_answer_partial() {
    let fixture = fixture();
    let script = shells(&[json!({ "command": "exit 3", "background": true })]);
    let ended = fixture.script(&script).prompt("go").run().expect(3);
    assert!(ended.stdout.starts_with("It said:"), "{}", ended.stdout);
    let quiet = fixture.prompt("go").args(["--quiet"]).run().expect(3);
    quiet.says(&["failed: exit: ", "bosun tasks --session ses-"]);
    let ended = fixture.prompt("go").args(["--output-format", "json"]).run().expect(3).json();
    let outcomes: Vec<&Value> =
        ended["tasks"].as_array().unwrap().iter().map(|task| &task["lastOutcome"]["type"]).collect();
    assert_eq!(outcomes, ["completed", "failed"]);
}

#[test]
fn slow_background_work_is_stopped_and_the_answer_kept() {
    let fixture = fixture();
    let script = shells(&[json!({ "command": "sleep 1000", "background": true })]);
    let go = fixture.script(&script).prompt("go").args(["--background-wait", "50ms", "--output-format", "json"]);
    let ended = go.run().expect(4).says(&["that were still running: sleep (", "--background-wait TIME"]).json();
    assert_eq!(ended["turns"], 2, "the model was not asked again");
    assert!(ended["text"].as_str().unwrap().starts_with("It said: started"), "{ended}");
    assert_eq!(ended["tasks"][1]["state"]["outcome"], json!({ "type": "cancelled", "by": "sessionEnd" }));
}

#[test]
fn turn_limit_ends_the_run_which_can_be_resumed() {
    let fixture = fixture();
    let ended = fixture.script(&turns(8)).prompt("go").args(["--max-turns", "2"]).run().expect(4);
    assert_snapshot!(normalized(&fixture, &ended.stderr), @r#"
    - report_intent step 1
    - report_intent step 2
      ! the turn limit is reached: one last turn
    - report_intent step 3
      ! cancelled: This call was cancelled before it ended.
    error: the turn limit was reached before the answer
    hint: resume with: bosun --resume ses-ID -p "continue" --max-turns N
    "#);
    let id = fixture.newest();
    fixture.bosun(["--resume", &id, "-p", "go on"]).run().expect(4);
    let ended = fixture.bosun(["--resume", &id, "-p", "go on", "--max-turns", "10"]).run().expect(0);
    assert_eq!(ended.stdout, "Done.\n");
}

#[test]
fn quota_parks_the_session_until_it_is_resumed() {
    let fixture = fixture();
    let parks = "version: 1\nrules:\n  - fail: { class: quota-until, after: 1h }\n";
    let ended = fixture.script(parks).prompt("go").args(["--park-wait", "50ms"]).run().expect(7);
    assert!(ended.stdout.is_empty(), "{}", ended.stdout);
    ended.says(&[
        "waiting for the provider's quota to reset, until",
        "parked: waiting for",
        "resume with: bosun --resume",
    ]);
    assert_eq!(fixture.sessions()[0]["state"], "parked");
    // A run without time left does not wait for a quota.
    fixture.bosun(["--continue", "--timeout", "50ms"]).run().expect(4);
    let ended = fixture.bosun(["--continue", "--park-wait", "50ms", "--output-format", "json"]).run().expect(7).json();
    assert_eq!((&ended["outcome"], &ended["exitCode"]), (&json!("parked"), &json!(7)));
}

#[test]
fn run_waits_for_a_quota_to_reset() {
    let fixture = fixture();
    let script = "
version: 1
rules:
  - when: { not: { contains: it is back } }
    fail: { class: quota-until, after: 100ms }
  - answer:
      - say: Here I am.
";
    let running = fixture.script(script).prompt("go").start();
    running.await_stderr("waiting for the provider");
    fixture.bosun(["sessions", "send", &fixture.newest(), "it is back"]).run().expect(0);
    assert_eq!(running.wait().expect(0).stdout, "Here I am.\n");
}

#[test]
fn closed_stdout_is_not_a_failure() {
    let fixture = fixture();
    fixture.script(&turns(3));
    for format in ["text", "json", "jsonl"] {
        fixture.prompt("go").args(["--output-format", format]).with_closed_stdout().run().expect(0);
        assert_eq!(fixture.sessions()[0]["state"], "idle", "{format}");
        assert_eq!(fixture.log(&fixture.newest()).last().unwrap().entry.event, ended_well());
    }
    fixture.bosun(["--help"]).with_closed_stdout().run().expect(0);
    fixture.bosun(["sessions"]).with_closed_stdout().run().expect(0);
    fixture.bosun(["sessions", "export", &fixture.newest()]).with_closed_stdout().run().expect(0);
}

#[test]
fn an_answer_that_cannot_be_written_is_a_failure() {
    let fixture = fixture();
    let full = std::path::Path::new("/dev/full");
    let ended = fixture.script(HELLO).prompt("go").with_stdout_to(full).run().expect(1);
    ended.says(&["cannot write to stdout: No space left on device"]);
    let export = fixture.bosun(["sessions", "export", &fixture.newest()]);
    export.with_stdout_to(full).run().expect(1).says(&["cannot write to stdout"]);
    fixture.bosun(["--help"]).with_stdout_to(full).run().expect(1).says(&["cannot write to stdout"]);
}

fn ended_well() -> protocol::Event {
    let outcome = protocol::TaskOutcome::Completed;
    protocol::Event::ActivationEnded { activation: protocol::Activation(1), outcome, text: "Done.".into() }
}

#[test]
fn instructions_of_the_folder_reach_the_model() {
    let fixture = fixture();
    fs::write(fixture.path("AGENTS.md"), "Always greet in Latin.\n").unwrap();
    let script = "version: 1\nrules:\n  - when: { system: Latin }\n    answer: [{ say: Salve. }]\n";
    assert_eq!(fixture.script(script).prompt("hi").run().expect(0).stdout, "Salve.\n");
    fs::remove_file(fixture.path("AGENTS.md")).unwrap();
    fixture.prompt("hi").run().expect(1);
}

/// `--agents` is given once.
#[test]
fn resumed_session_keeps_agents_from_the_flag() {
    let fixture = fixture();
    let script = "version: 1\nrules:\n  - when: { agent: mine }\n    answer: [say: I am mine]\n  \
                  - when: { answered: { tool: task } }\n    answer: [say: 'heard ${answer}']\n  \
                  - when: { prompt: ^second }\n    answer:\n      \
                  - call: { tool: task, input: { description: d, prompt: p, agent_type: mine, name: one } }\n  \
                  - answer: [say: Well.]\n";
    let mine = r#"{"mine": {"description": "mine", "prompt": "You are mine."}}"#;
    fixture.script(script).prompt("first").args(["--agents", mine]).run().expect(0);
    let ended = fixture.prompt("second").args(["--continue"]).run().expect(0);
    assert!(ended.stdout.contains("I am mine"), "{}", ended.stdout);
}
