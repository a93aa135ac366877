//! The todos of a session, seen and edited from another terminal, while it runs and after.

use std::fs;

use protocol::{Event, Principal};
use serde_json::{Value, json};
use testkit::binary::{BinaryFixture, PATIENCE, RunningBinary, Tmux, within};

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

fn planning(stage: &BinaryFixture) -> RunningBinary {
    let running = stage.script(PLANNER).prompt("go").start();
    within(PATIENCE, "the plan is made", || stage.path("busy").exists());
    running
}

#[track_caller]
fn todos(stage: &BinaryFixture, args: &[&str]) -> String {
    stage.bosun(["todos"].iter().chain(args)).run().expect(0).stdout
}

#[track_caller]
fn todos_json(stage: &BinaryFixture, args: &[&str]) -> Value {
    stage.bosun(["todos"].iter().chain(args).chain(&["--json"])).run().expect(0).json()
}

/// Who changed which todos, as the log tells it.
fn changes(stage: &BinaryFixture) -> Vec<(&'static str, Vec<String>)> {
    let log = stage.log(&stage.newest());
    let told = log.into_iter().filter_map(|envelope| match envelope.entry.event {
        Event::TodosChanged { by, changed, .. } => {
            let by = match by {
                Principal::User => "user",
                Principal::Task { .. } => "task",
                Principal::Runtime => "runtime",
            };
            Some((by, changed.into_iter().map(|todo| todo.id.0).collect()))
        }
        _other => None,
    });
    told.collect()
}

#[test]
fn a_second_terminal_sees_and_edits_the_plan_of_a_session_that_runs() {
    let stage = stage();
    let running = planning(&stage);
    let list = todos(&stage, &[]);
    assert_eq!(list, "○ ready    read   Read the docs\n· waiting  write  Write it       after read\n");
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
fn the_plan_of_a_session_that_has_ended_is_drawn_and_edited_and_the_next_owner_knows() {
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
fn mistakes_with_todos_are_explained() {
    let stage = stage();
    stage.bosun(["todos"]).run().expect(2).says(&["there is no session in", "--session"]);
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
    says(&["add", "First again", "--id", "first"], &["todo `first` already exists"]);
    says(&["add", "x", "--id", "a b"], &["spaces"]);
    says(&["add", " "], &["the title is empty"]);
    says(&["done", "first", "zzz"], &["there is no todo `zzz`", "bosun todos"]);
    says(&["block", "first", "--reason", " "], &["the reason is empty"]);
    says(&["--session", "ffff"], &["no session begins with `ffff`"]);
    assert_eq!(todos(&stage, &[]), "○ ready  first  First\n", "what is refused changes nothing");
}

/// A root that plans in steps, each after a file.
const STEPS: &str = r#"
version: 1
rules:
  - when: { turn: 1 }
    answer: [call: { tool: sql, input: { query: "INSERT INTO todos (id, title, status) VALUES ('read', 'Read the docs', 'in_progress'), ('write', 'Write it', 'pending')" } }]
  - when: { turn: 2 }
    answer: [call: { tool: report_intent, input: { intent: "looking around" } }]
  - when: { turn: 3 }
    answer: [call: { tool: shell, input: { command: "touch busy; while [ ! -e go ]; do sleep 0.01; done" } }]
  - when: { turn: 4 }
    answer: [call: { tool: sql, input: { query: "UPDATE todos SET status = 'done'" } }]
  - when: { turn: 5 }
    answer: [call: { tool: shell, input: { command: "while [ ! -e end ]; do sleep 0.01; done" } }]
  - answer: [say: "all done"]
"#;

#[test]
fn the_todos_of_a_session_are_watched_on_terminals_of_two_sizes_and_in_a_file() {
    let stage = stage();
    let running = stage.script(STEPS).prompt("go").start();
    within(PATIENCE, "the plan is made", || stage.path("busy").exists());
    let small = Tmux::start(&stage.bosun(["todos", "watch"]), 80, 24);
    let large = Tmux::start(&stage.bosun(["todos", "watch"]), 200, 60);
    let piped = stage.bosun(["todos", "watch", "--json"]).start();
    for terminal in [&small, &large] {
        terminal.shows("0/2 done · 1 at work").shows("● read   Read the docs").shows("○ write  Write it");
        terminal.shows("● main   shell touch busy");
    }
    small.resize(40, 10);
    fs::write(stage.path("go"), "").unwrap();
    for terminal in [&small, &large] {
        terminal.shows("2/2 done");
        assert_eq!(terminal.screen().matches("2/2 done").count(), 1, "one picture: {}", terminal.screen());
    }
    fs::write(stage.path("end"), "").unwrap();
    running.wait().expect(0);
    assert_eq!((small.ends(), large.ends()), (0, 0));
    let left = large.history();
    assert!(left.contains("Todos") && left.contains("2/2 done"), "the last picture stays: {left}");
    let events = piped.wait().expect(0).json_lines();
    assert!(events.iter().any(|event| event["type"] == "todosChanged"), "{events:?}");
    let after = stage.bosun(["todos", "watch"]).run().expect(0);
    assert!(after.stdout.contains("2/2 done") && after.stderr.contains("no process runs"), "{after:?}");
}
