//! While a session runs, and after it has ended.

use serde_json::json;

use super::{busy, let_go, state, tasks, tasks_json};
use crate::stage;

#[test]
fn tasks_are_listed_shown_messaged_and_read_while_they_run_and_after() {
    let stage = stage();
    let running = busy(&stage);
    let list = tasks(&stage, &[]);
    let docs = list.lines().find(|line| line.starts_with("  docs ")).unwrap_or_else(|| panic!("{list}"));
    for words in ["running", "general-purpose", "model.yaml", "110", "waiting for a file"] {
        assert!(docs.contains(words), "{words}: {list}");
    }
    assert!(list.contains(&format!("process {}", running.pid())), "{list}");
    let listed = tasks_json(&stage, &["list"]);
    assert_eq!((state(&listed, "/root/docs"), state(&listed, "/root/tests")), ("running".into(), "running".into()));
    let only = tasks_json(&stage, &["list", "--kind", "agent", "--below", "docs", "--state", "running"]);
    assert_eq!(only["tasks"].as_array().unwrap().len(), 1, "{only}");
    assert_eq!(tasks(&stage, &["list", "--state", "lost"]), "");

    let show = tasks(&stage, &["show", "docs"]);
    for words in
        ["path           /root/docs", "Read the docs.", "delivered", "turn 1", "doing          waiting for a file"]
    {
        assert!(show.contains(words), "{words}: {show}");
    }
    stage.bosun(["tasks", "output", "docs"]).run().expect(0).says(&["/root/docs is running"]);
    let sent = tasks(&stage, &["send", "docs", "message hello"]);
    assert!(sent.starts_with("/root/docs received the message: mail-"), "{sent}");
    let record = tasks_json(&stage, &["show", "/root/docs"])["record"].clone();
    assert_eq!((&record["task"]["unread"], &record["mail"][1]["state"]), (&json!(1), &json!("admitted")), "{record}");

    let promoted = tasks(&stage, &["background", "tests"]);
    assert_eq!(promoted, "/root/tests continues in the background\n");
    let again = stage.bosun(["tasks", "background", "tests", "--json"]).run().expect(2).json();
    assert_eq!((&again["fate"]["type"], &again["fate"]["kind"]), (&json!("refused"), &json!("notAwaited")), "{again}");
    stage.bosun(["tasks", "rm", "docs"]).run().expect(2).says(&["has not ended", "bosun tasks stop /root/docs"]);
    let_go(&stage, "docs");
    let_go(&stage, "tests");
    let result = running.wait().expect(0).json();
    let rows = result["tasks"].as_array().unwrap();
    let row = |path: &str| rows.iter().find(|row| row["path"] == path).unwrap().clone();
    assert_eq!(rows.len(), 3, "{result}");
    assert_eq!(row("/root/docs")["lastOutcome"]["type"], "completed");
    assert_eq!(row("/root/docs")["usage"]["input"], 300);
    assert_eq!(row("/root/tests")["mode"], "background", "it was promoted");

    assert_eq!(tasks(&stage, &["output", "docs"]), "I was told hello.\n");
    let record = tasks_json(&stage, &["show", "docs"])["record"].clone();
    assert_eq!((&record["task"]["unread"], &record["mail"][1]["state"]), (&json!(0), &json!("delivered")), "{record}");
    assert_eq!(record["turns"].as_array().unwrap().len(), 2, "{record}");
    assert!(record["evidence"].as_array().unwrap().iter().any(|piece| piece["type"] == "ran"), "{record}");
}

#[test]
fn a_task_is_followed_to_its_end_and_read_again_afterwards() {
    let stage = stage();
    let running = busy(&stage);
    let tail = stage.bosun(["tasks", "tail", "docs"]).start();
    tail.await_stdout("- shell");
    let tree = stage.bosun(["tasks", "tail", "root", "--tree", "--json"]).start();
    let_go(&stage, "docs");
    let_go(&stage, "tests");
    running.wait().expect(0);
    let said = tail.wait().expect(0).stdout;
    for words in ["another agent: Read the docs.", "I begin.", "- shell", "I am done.", "completed"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert_eq!(said.matches("I am done.").count(), 1, "{said}");
    let events = tree.wait().expect(0).json_lines();
    assert!(
        events.iter().map(|event| event["seq"].as_u64().unwrap()).eq(1..=events.len() as u64),
        "each once, in order"
    );
    assert_eq!(stage.log(&stage.newest()).len(), events.len());
    assert!(tasks(&stage, &["tail", "root"]).contains("the result of /root/docs\n"));
    assert!(tasks(&stage, &["show", "docs"]).contains(" from /root, delivered "));
    let after = tasks(&stage, &["tail", "/root/docs"]);
    assert_eq!(after.lines().last(), said.lines().last());
    let some = stage.bosun(["tasks", "tail", "tests", "--json", "--after", "20"]).run().expect(0).json_lines();
    assert!(some.iter().all(|event| event["seq"].as_u64().unwrap() > 20));
}

#[test]
fn agents_are_stopped_after_a_last_turn_or_at_once() {
    let stage = stage();
    let running = busy(&stage);
    assert_eq!(tasks(&stage, &["stop", "tests", "--now"]), "/root/tests is stopped\n");
    assert_eq!(state(&tasks_json(&stage, &["list"]), "/root/tests"), "cancelled");
    stage.bosun(["tasks", "send", "tests", "x"]).run().expect(2).says(&["has ended", "bosun tasks output /root/tests"]);
    assert_eq!(tasks(&stage, &["stop", "docs"]), "/root/docs stops after a last turn\n");
    let record = tasks_json(&stage, &["show", "docs"])["record"]["task"].clone();
    assert!(record["cancel"]["by"] == "user" || record["state"]["type"] == "finished", "{record}");
    let_go(&stage, "docs");
    running.wait().expect(0);
    assert_eq!(state(&tasks_json(&stage, &["list"]), "/root/docs"), "cancelled");
    assert_eq!(tasks(&stage, &["rm", "tests"]), "/root/tests is removed\n");
    let listed = tasks(&stage, &[]);
    assert!(!listed.contains("tests"), "{listed}");
    assert!(tasks(&stage, &["--removed"]).contains("cancelled, removed"));
}

#[test]
fn what_is_not_there_is_explained() {
    let stage = stage();
    stage.bosun(["tasks"]).run().expect(2).says(&["there is no session in", "bosun tasks --all"]);
    assert_eq!(stage.bosun(["tasks", "--all"]).run().expect(0).stderr, "no tasks\n");
    let running = busy(&stage);
    stage.bosun(["tasks", "show", "levitate"]).run().expect(2).says(&["there are: /root, /root/docs, /root/tests"]);
    stage.bosun(["tasks", "rm", "root"]).run().expect(2).says(&["is the session itself", "bosun sessions rm"]);
    stage.bosun(["tasks", "send", "docs", " "]).run().expect(2).says(&["the message is empty"]);
    stage.bosun(["tasks", "--state", "levitating"]).run().expect(2);
    let id = tasks_json(&stage, &["show", "docs"])["record"]["task"]["id"].as_str().unwrap().to_owned();
    // From another folder, an id finds its session.
    let elsewhere = stage.bosun(["tasks", "show", &id]).within(&stage.home()).run().expect(0).stdout;
    assert!(elsewhere.contains("/root/docs"), "{elsewhere}");
    let all = stage.bosun(["tasks", "--all"]).within(&stage.home()).run().expect(0).stdout;
    assert!(all.contains("  docs "), "{all}");
    let_go(&stage, "docs");
    let_go(&stage, "tests");
    running.wait().expect(0);
}

#[test]
fn an_agent_that_failed_says_why_wherever_it_is_seen() {
    let stage = stage();
    let script = r#"
version: 1
rules:
  - when: { path: /root/ill }
    fail: { class: terminal, message: "the model is ill" }
  - when: { turn: 1 }
    answer: [call: { tool: task, input: { description: tries, prompt: Try., agent_type: explore, name: ill } }]
  - answer: [say: "It failed."]
"#;
    stage.script(script).prompt("go").run().expect(3).says(&["failed: /root/ill: the model is ill"]);
    assert!(tasks(&stage, &[]).contains("the model is ill"));
    stage
        .bosun(["tasks", "output", "ill"])
        .run()
        .expect(0)
        .says(&["/root/ill failed without output: the model is ill"]);
}

#[test]
fn a_refusal_names_the_task_by_its_path() {
    let stage = stage();
    let running = busy(&stage);
    assert_eq!(tasks(&stage, &["stop", "docs", "--now"]), "/root/docs is stopped\n");
    stage.bosun(["tasks", "send", "docs", "Again."]).run().expect(2).says(&["error: /root/docs has ended"]);
    let_go(&stage, "tests");
    running.wait().expect(0);
}
