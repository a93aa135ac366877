//! Tasks while a session runs, and after it has ended.

use serde_json::json;

use super::{busy, let_go, state, tasks, tasks_json};
use crate::fixture;

#[test]
fn tasks_are_listed_shown_messaged_and_read_while_they_run_and_after() {
    let fixture = fixture();
    let running = busy(&fixture);
    let list = tasks(&fixture, &[]);
    let docs = list.lines().find(|line| line.starts_with("  docs ")).unwrap_or_else(|| panic!("{list}"));
    for expected in ["running", "general-purpose", "model.yaml", "110", "waiting for a file"] {
        assert!(docs.contains(expected), "{expected}: {list}");
    }
    assert!(list.contains(&format!("process {}", running.pid())), "{list}");
    let listed = tasks_json(&fixture, &["list"]);
    assert_eq!((state(&listed, "/root/docs"), state(&listed, "/root/tests")), ("running".into(), "running".into()));
    let only = tasks_json(&fixture, &["list", "--kind", "agent", "--below", "docs", "--state", "running"]);
    assert_eq!(only["tasks"].as_array().unwrap().len(), 1, "{only}");
    assert_eq!(tasks(&fixture, &["list", "--state", "lost"]), "");

    let show = tasks(&fixture, &["show", "docs"]);
    for expected in
        ["path           /root/docs", "Read the docs.", "delivered", "turn 1", "doing          waiting for a file"]
    {
        assert!(show.contains(expected), "{expected}: {show}");
    }
    fixture.bosun(["tasks", "output", "docs"]).run().expect(0).says(&["/root/docs is running"]);
    let sent = tasks(&fixture, &["send", "docs", "message hello"]);
    assert!(sent.starts_with("/root/docs received the message: mail-"), "{sent}");
    let record = tasks_json(&fixture, &["show", "/root/docs"])["record"].clone();
    assert_eq!((&record["task"]["unread"], &record["mail"][1]["state"]), (&json!(1), &json!("admitted")), "{record}");

    let promoted = tasks(&fixture, &["background", "tests"]);
    assert_eq!(promoted, "/root/tests continues in the background\n");
    let again = fixture.bosun(["tasks", "background", "tests", "--json"]).run().expect(2).json();
    assert_eq!(
        (&again["outcome"]["type"], &again["outcome"]["kind"]),
        (&json!("refused"), &json!("notAwaited")),
        "{again}"
    );
    fixture.bosun(["tasks", "rm", "docs"]).run().expect(2).says(&["has not ended", "bosun tasks stop /root/docs"]);
    let_go(&fixture, "docs");
    let_go(&fixture, "tests");
    let result = running.wait().expect(0).json();
    let rows = result["tasks"].as_array().unwrap();
    let row = |path: &str| rows.iter().find(|row| row["path"] == path).unwrap().clone();
    assert_eq!(rows.len(), 3, "{result}");
    assert_eq!(row("/root/docs")["lastOutcome"]["type"], "completed");
    assert_eq!(row("/root/docs")["usage"]["input"], 300);
    assert_eq!(row("/root/tests")["mode"], "background", "it was promoted");

    assert_eq!(tasks(&fixture, &["output", "docs"]), "I was told hello.\n");
    let record = tasks_json(&fixture, &["show", "docs"])["record"].clone();
    assert_eq!((&record["task"]["unread"], &record["mail"][1]["state"]), (&json!(0), &json!("delivered")), "{record}");
    assert_eq!(record["turns"].as_array().unwrap().len(), 2, "{record}");
    assert!(record["evidence"].as_array().unwrap().iter().any(|piece| piece["type"] == "ran"), "{record}");
}

#[test]
fn task_is_followed_to_its_end_and_can_be_read_again() {
    let fixture = fixture();
    let running = busy(&fixture);
    let tail = fixture.bosun(["tasks", "tail", "docs"]).start();
    tail.await_stdout("- shell");
    let tree = fixture.bosun(["tasks", "tail", "root", "--tree", "--json"]).start();
    let_go(&fixture, "docs");
    let_go(&fixture, "tests");
    running.wait().expect(0);
    let output = tail.wait().expect(0).stdout;
    for expected in ["another agent: Read the docs.", "I begin.", "- shell", "I am done.", "completed"] {
        assert!(output.contains(expected), "{expected}: {output}");
    }
    assert_eq!(output.matches("I am done.").count(), 1, "{output}");
    let events = tree.wait().expect(0).json_lines();
    assert!(
        events.iter().map(|event| event["seq"].as_u64().unwrap()).eq(1..=events.len() as u64),
        "each once, in order"
    );
    assert_eq!(fixture.log(&fixture.newest()).len(), events.len());
    assert!(tasks(&fixture, &["tail", "root"]).contains("the result of /root/docs\n"));
    assert!(tasks(&fixture, &["show", "docs"]).contains(" from /root, delivered "));
    let after = tasks(&fixture, &["tail", "/root/docs"]);
    assert_eq!(after.lines().last(), output.lines().last());
    let some = fixture.bosun(["tasks", "tail", "tests", "--json", "--after", "20"]).run().expect(0).json_lines();
    assert!(some.iter().all(|event| event["seq"].as_u64().unwrap() > 20));
}

#[test]
fn agents_are_stopped_after_a_last_turn_or_at_once() {
    let fixture = fixture();
    let running = busy(&fixture);
    assert_eq!(tasks(&fixture, &["stop", "tests", "--now"]), "/root/tests is stopped\n");
    assert_eq!(state(&tasks_json(&fixture, &["list"]), "/root/tests"), "cancelled");
    fixture
        .bosun(["tasks", "send", "tests", "x"])
        .run()
        .expect(2)
        .says(&["has ended", "bosun tasks output /root/tests"]);
    assert_eq!(tasks(&fixture, &["stop", "docs"]), "/root/docs stops after a last turn\n");
    let record = tasks_json(&fixture, &["show", "docs"])["record"]["task"].clone();
    assert!(record["cancel"]["by"] == "user" || record["state"]["type"] == "finished", "{record}");
    let_go(&fixture, "docs");
    running.wait().expect(0);
    assert_eq!(state(&tasks_json(&fixture, &["list"]), "/root/docs"), "cancelled");
    assert_eq!(tasks(&fixture, &["rm", "tests"]), "/root/tests is removed\n");
    let listed = tasks(&fixture, &[]);
    assert!(!listed.contains("tests"), "{listed}");
    assert!(tasks(&fixture, &["--removed"]).contains("cancelled, removed"));
}

#[test]
fn missing_tasks_and_sessions_are_explained() {
    let fixture = fixture();
    fixture.bosun(["tasks"]).run().expect(2).says(&["there is no session in", "bosun tasks --all"]);
    assert_eq!(fixture.bosun(["tasks", "--all"]).run().expect(0).stderr, "no tasks\n");
    let running = busy(&fixture);
    fixture
        .bosun(["tasks", "show", "levitate"])
        .run()
        .expect(2)
        .says(&["its tasks are: /root, /root/docs, /root/tests"]);
    fixture.bosun(["tasks", "rm", "root"]).run().expect(2).says(&["is the session itself", "bosun sessions rm"]);
    fixture.bosun(["tasks", "send", "docs", " "]).run().expect(2).says(&["the message is empty"]);
    fixture.bosun(["tasks", "--state", "levitating"]).run().expect(2);
    let id = tasks_json(&fixture, &["show", "docs"])["record"]["task"]["id"].as_str().unwrap().to_owned();
    // From another folder, an id finds its session.
    let elsewhere = fixture.bosun(["tasks", "show", &id]).within(&fixture.home()).run().expect(0).stdout;
    assert!(elsewhere.contains("/root/docs"), "{elsewhere}");
    let all = fixture.bosun(["tasks", "--all"]).within(&fixture.home()).run().expect(0).stdout;
    assert!(all.contains("  docs "), "{all}");
    let_go(&fixture, "docs");
    let_go(&fixture, "tests");
    running.wait().expect(0);
}

#[test]
fn every_view_shows_why_an_agent_failed() {
    let fixture = fixture();
    let script = r#"
version: 1
rules:
  - when: { path: /root/ill }
    fail: { class: terminal, message: "the model is ill" }
  - when: { turn: 1 }
    answer: [call: { tool: task, input: { description: tries, prompt: Try., agent_type: explore, name: ill } }]
  - answer: [say: "It failed."]
"#;
    fixture.script(script).prompt("go").run().expect(3).says(&["failed: ill: the model is ill"]);
    assert!(tasks(&fixture, &[]).contains("the model is ill"));
    fixture
        .bosun(["tasks", "output", "ill"])
        .run()
        .expect(0)
        .says(&["/root/ill failed without output: the model is ill"]);
}

#[test]
fn a_refusal_names_the_task_by_its_path() {
    let fixture = fixture();
    let running = busy(&fixture);
    assert_eq!(tasks(&fixture, &["stop", "docs", "--now"]), "/root/docs is stopped\n");
    fixture.bosun(["tasks", "send", "docs", "Again."]).run().expect(2).says(&["error: /root/docs has ended"]);
    let_go(&fixture, "tests");
    running.wait().expect(0);
}
