//! The todos of a session, seen and edited from another terminal, while it runs and after.

use std::fs;

use protocol::{Event, Origin};
use serde_json::{Value, json};
use testkit::binary::{PATIENCE, Running, Stage, within};

use crate::stage;

/// A root that plans, waits for a file, and then looks at what became of the plan.
const PLANNER: &str = r#"
version: 1
rules:
  - when: { turn: 1 }
    answer: [call: { tool: sql, input: { query: "INSERT INTO todos (id, title) VALUES ('read', 'Read the docs'), ('write', 'Write it'); INSERT INTO todo_deps VALUES ('write', 'read')" } }]
  - when: { turn: 2 }
    answer: [call: { tool: shell, input: { command: "touch busy; while [ ! -e go ]; do sleep 0.01; done" } }]
  - when: { turn: 3 }
    answer: [call: { tool: sql, input: { query: "SELECT group_concat(id || '=' || status, ' ') AS plan FROM todos" } }]
  - answer: [say: "plan: ${answer}"]
"#;

fn planning(stage: &Stage) -> Running {
    let running = stage.script(PLANNER).prompt("go").start();
    within(PATIENCE, "the plan is made", || stage.path("busy").exists());
    running
}

#[track_caller]
fn todos(stage: &Stage, args: &[&str]) -> String {
    stage.bosun(["todos"].iter().chain(args)).run().expect(0).stdout
}

#[track_caller]
fn todos_json(stage: &Stage, args: &[&str]) -> Value {
    stage.bosun(["todos"].iter().chain(args).chain(&["--json"])).run().expect(0).json()
}

/// Who changed which todos, as the log tells it.
fn changes(stage: &Stage) -> Vec<(&'static str, Vec<String>)> {
    let log = stage.log(&stage.newest());
    let told = log.into_iter().filter_map(|envelope| match envelope.entry.event {
        Event::TodosChanged { by, changed, .. } => {
            let by = match by {
                Origin::User => "user",
                Origin::Task { .. } => "task",
                Origin::Runtime => "runtime",
            };
            Some((by, changed.into_iter().map(|todo| todo.id.0).collect()))
        }
        _other => None,
    });
    told.collect()
}

#[test]
fn f7_a_second_terminal_sees_and_edits_the_plan_of_a_session_that_runs() {
    let stage = stage();
    let running = planning(&stage);
    let list = todos(&stage, &[]);
    assert_eq!(list, "○ ready  read   Read the docs\n· waits  write  Write it       after read\n");
    assert_eq!(todos(&stage, &["add", "Ship it", "--depends-on", "write", "--check", "true"]), "ship-it is added\n");
    assert_eq!(todos(&stage, &["done", "read"]), "read is done\n");
    assert_eq!(todos(&stage, &["block", "write", "--reason", "no key"]), "write is blocked\n");
    assert_eq!(todos(&stage, &["list", "--status", "blocked"]), "✗ blocked  write  Write it  no key\n");
    let added = todos_json(&stage, &["add", "Sign it", "--files", "a/*.rs", "--files", "b.rs"]);
    assert_eq!((&added["heard"], &added["todos"][0]["id"]), (&json!(true), &json!("sign-it")), "{added}");
    assert_eq!(added["todos"][0]["files"], json!(["a/*.rs", "b.rs"]));
    assert_eq!(todos(&stage, &["ready"]), "○ ready  sign-it  Sign it\n");
    // The session heard of each at once, and from whom.
    let root = ("task", vec!["read".to_owned(), "write".into()]);
    let person = |id: &str| ("user", vec![id.to_owned()]);
    assert_eq!(changes(&stage), [root, person("ship-it"), person("read"), person("write"), person("sign-it")]);
    fs::write(stage.path("go"), "").unwrap();
    let said = running.wait().expect(0).stdout;
    for words in ["read=done", "write=blocked", "ship-it=pending", "sign-it=pending"] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn f7_the_plan_of_a_session_that_has_ended_is_drawn_and_edited_and_the_next_owner_knows() {
    let stage = stage();
    fs::write(stage.path("go"), "").unwrap();
    planning(&stage).wait().expect(0);
    assert_eq!(todos(&stage, &["done", "read"]), "read is done\n");
    assert_eq!(
        todos(&stage, &["add", "Ship it", "--id", "ship", "--depends-on", "write", "--depends-on", "read"]),
        "ship is added\n"
    );
    let graph = todos(&stage, &["graph"]);
    assert_eq!(graph, "1 ✓ read   Read the docs\n2 ○ write  Write it  ← read\n3 · ship   Ship it  ← read, write\n");
    let drawn = todos_json(&stage, &["graph"]);
    assert_eq!(drawn["layers"], json!([["read"], ["write"], ["ship"]]));
    assert!(todos(&stage, &["graph", "--mermaid"]).starts_with("flowchart TD\n  t0[\"✓ read: Read the docs\"]"));
    assert!(todos(&stage, &["graph", "--dot"]).contains("t1 -> t2;"));
    assert_eq!(changes(&stage).len(), 1, "nobody was there to hear");
    let id = stage.newest();
    let heard = todos_json(&stage, &["reopen", "read", "--session", &id]);
    assert_eq!((&heard["heard"], &heard["todos"][0]["ready"]), (&json!(false), &json!(true)));
    stage.bosun(["--resume", &id, "-p", "again", "--allow-all"]).run().expect(0);
    assert_eq!(changes(&stage)[1..], [("user", vec!["read".to_owned(), "ship".into()])]);
}

#[test]
fn f7_mistakes_with_todos_are_explained() {
    let stage = stage();
    stage.bosun(["todos"]).run().expect(2).says(&["no session was begun in", "--session"]);
    stage.script("version: 1\nrules:\n  - answer: [say: hi]\n").prompt("hi").run().expect(0);
    // A session that never had todos.
    let none = stage.bosun(["todos"]).run().expect(0);
    assert!(none.stdout.is_empty() && none.stderr.contains("bosun todos add"), "{none:?}");
    assert_eq!(todos_json(&stage, &["ready"])["todos"], json!([]));
    assert_eq!(todos(&stage, &["graph"]), "");
    assert_eq!(todos(&stage, &["add", "First"]), "first is added\n");
    let says = |args: &[&str], words: &[&str]| {
        stage.bosun(["todos"].iter().chain(args)).run().expect(2).says(words);
    };
    says(&["add", "Second", "--depends-on", "zzz"], &["`second` cannot depend on `zzz`", "add that one first"]);
    says(&["add", "Me", "--id", "me", "--depends-on", "me"], &["wait for each other: me → me", "bosun todos graph"]);
    says(&["add", "First again", "--id", "first"], &["there is a todo `first` already"]);
    says(&["add", "x", "--id", "a b"], &["blanks"]);
    says(&["add", " "], &["the title is empty"]);
    says(&["done", "first", "zzz"], &["there is no todo `zzz`", "bosun todos"]);
    says(&["block", "first", "--reason", " "], &["the reason is empty"]);
    says(&["--session", "ffff"], &["no session begins with `ffff`"]);
    assert_eq!(todos(&stage, &[]), "○ ready  first  First\n", "what is refused changes nothing");
}
