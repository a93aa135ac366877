//! The todos of a session, shown and edited from another terminal, while it runs and afterwards.

use std::fs;

use protocol::{Event, Principal};
use serde_json::{Value, json};
use testkit::binary::{BinaryFixture, PATIENCE, RunningBinary, Tmux, within};

use crate::fixture;

/// A root that adds todos, waits for a file, and then reads the todos again.
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

fn planning(fixture: &BinaryFixture) -> RunningBinary {
    let running = fixture.script(PLANNER).prompt("go").start();
    within(PATIENCE, "the plan is made", || fixture.path("busy").exists());
    running
}

#[track_caller]
fn todos(fixture: &BinaryFixture, args: &[&str]) -> String {
    fixture.bosun(["todos"].iter().chain(args)).run().expect(0).stdout
}

#[track_caller]
fn todos_json(fixture: &BinaryFixture, args: &[&str]) -> Value {
    fixture.bosun(["todos"].iter().chain(args).chain(&["--json"])).run().expect(0).json()
}

/// The authors and ids of todo changes in the log.
fn changes(fixture: &BinaryFixture) -> Vec<(&'static str, Vec<String>)> {
    let log = fixture.log(&fixture.newest());
    let changes = log.into_iter().filter_map(|envelope| match envelope.entry.event {
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
    changes.collect()
}

#[test]
fn second_terminal_shows_and_edits_todos_of_a_running_session() {
    let fixture = fixture();
    let running = planning(&fixture);
    let list = todos(&fixture, &[]);
    assert_eq!(list, "○ ready    read   Read the docs\n· waiting  write  Write it       after read\n");
    assert_eq!(todos(&fixture, &["add", "Ship it", "--depends-on", "write", "--check", "true"]), "ship-it is added\n");
    assert_eq!(todos(&fixture, &["done", "read"]), "read is done\n");
    assert_eq!(todos(&fixture, &["block", "write", "--reason", "no key"]), "write is blocked\n");
    assert_eq!(todos(&fixture, &["list", "--status", "blocked"]), "✗ blocked  write  Write it  no key\n");
    let added = todos_json(&fixture, &["add", "Sign it", "--files", "a/*.rs", "--files", "b.rs"]);
    assert_eq!((&added["applied"], &added["todos"][0]["id"]), (&json!(true), &json!("sign-it")), "{added}");
    assert_eq!(added["todos"][0]["files"], json!(["a/*.rs", "b.rs"]));
    assert_eq!(todos(&fixture, &["ready"]), "○ ready  sign-it  Sign it\n");
    // The session received each edit at once, with its author.
    let root = ("task", vec!["read".to_owned(), "write".into()]);
    let person = |id: &str| ("user", vec![id.to_owned()]);
    assert_eq!(changes(&fixture), [root, person("ship-it"), person("read"), person("write"), person("sign-it")]);
    fs::write(fixture.path("go"), "").unwrap();
    let output = running.wait().expect(0).stdout;
    for expected in ["read=done", "write=blocked", "ship-it=pending", "sign-it=pending"] {
        assert!(output.contains(expected), "{expected}: {output}");
    }
}

#[test]
fn todos_of_an_ended_session_are_edited_and_seen_by_the_next_owner() {
    let fixture = fixture();
    fs::write(fixture.path("go"), "").unwrap();
    planning(&fixture).wait().expect(0);
    assert_eq!(todos(&fixture, &["done", "read"]), "read is done\n");
    assert_eq!(
        todos(&fixture, &["add", "Ship it", "--id", "ship", "--depends-on", "write", "--depends-on", "read"]),
        "ship is added\n"
    );
    let graph = todos(&fixture, &["graph"]);
    assert_eq!(graph, "1 ✓ read   Read the docs\n2 ○ write  Write it  ← read\n3 · ship   Ship it  ← read, write\n");
    let drawn = todos_json(&fixture, &["graph"]);
    assert_eq!(drawn["layers"], json!([["read"], ["write"], ["ship"]]));
    assert!(todos(&fixture, &["graph", "--mermaid"]).starts_with("flowchart TD\n  t0[\"✓ read: Read the docs\"]"));
    assert!(todos(&fixture, &["graph", "--dot"]).contains("t1 -> t2;"));
    assert_eq!(changes(&fixture).len(), 1, "no process was running");
    let id = fixture.newest();
    let received = todos_json(&fixture, &["reopen", "read", "--session", &id]);
    assert_eq!((&received["applied"], &received["todos"][0]["ready"]), (&json!(false), &json!(true)));
    fixture.bosun(["--resume", &id, "-p", "again", "--allow-all"]).run().expect(0);
    assert_eq!(changes(&fixture)[1..], [("user", vec!["read".to_owned(), "ship".into()])]);
}

#[test]
fn invalid_todo_commands_are_explained() {
    let fixture = fixture();
    fixture.bosun(["todos"]).run().expect(2).says(&["there is no session in", "--session"]);
    fixture.script("version: 1\nrules:\n  - answer: [say: hi]\n").prompt("hi").run().expect(0);
    // A session that never had todos.
    let none = fixture.bosun(["todos"]).run().expect(0);
    assert!(none.stdout.is_empty() && none.stderr.contains("bosun todos add"), "{none:?}");
    assert_eq!(todos_json(&fixture, &["ready"])["todos"], json!([]));
    assert_eq!(todos(&fixture, &["graph"]), "");
    assert_eq!(todos(&fixture, &["add", "First"]), "first is added\n");
    let says = |args: &[&str], expected: &[&str]| {
        fixture.bosun(["todos"].iter().chain(args)).run().expect(2).says(expected);
    };
    says(&["add", "Second", "--depends-on", "zzz"], &["`second` cannot depend on `zzz`", "add that one first"]);
    says(&["add", "Me", "--id", "me", "--depends-on", "me"], &["wait for each other: me → me", "bosun todos graph"]);
    says(&["add", "First again", "--id", "first"], &["todo `first` already exists"]);
    says(&["add", "x", "--id", "a b"], &["spaces"]);
    says(&["add", " "], &["the title is empty"]);
    says(&["done", "first", "zzz"], &["there is no todo `zzz`", "bosun todos"]);
    says(&["block", "first", "--reason", " "], &["the reason is empty"]);
    says(&["--session", "ffff"], &["no session begins with `ffff`"]);
    assert_eq!(todos(&fixture, &[]), "○ ready  first  First\n", "a refused command changes nothing");
}

/// A root that changes its todos in steps, each after a file exists.
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
fn watching_a_session_without_todos_says_so() {
    let fixture = fixture();
    fixture.script("version: 1\nrules: [{ answer: [say: hello] }]\n").prompt("hi").run().expect(0);
    let watched = fixture.bosun(["todos", "watch"]).run().expect(0).says(&["has no todos; `bosun todos add"]);
    assert_eq!(watched.stdout, "");
}

#[test]
fn todos_are_watched_on_terminals_and_in_a_file() {
    let fixture = fixture();
    let running = fixture.script(STEPS).prompt("go").start();
    within(PATIENCE, "the plan is made", || fixture.path("busy").exists());
    let small = Tmux::start(&fixture.bosun(["todos", "watch"]), 80, 24);
    let large = Tmux::start(&fixture.bosun(["todos", "watch"]), 200, 60);
    let piped = fixture.bosun(["todos", "watch", "--json"]).start();
    for terminal in [&small, &large] {
        terminal.shows("0/2 done · 1 at work").shows("● read   Read the docs").shows("○ write  Write it");
        terminal.shows("● main   shell touch busy");
    }
    small.resize(40, 10);
    fs::write(fixture.path("go"), "").unwrap();
    for terminal in [&small, &large] {
        terminal.shows("2/2 done");
        assert_eq!(terminal.screen().matches("2/2 done").count(), 1, "one frame: {}", terminal.screen());
    }
    fs::write(fixture.path("end"), "").unwrap();
    running.wait().expect(0);
    assert_eq!((small.ends(), large.ends()), (0, 0));
    let left = large.history();
    assert!(left.contains("Todos") && left.contains("2/2 done"), "the last frame stays: {left}");
    let events = piped.wait().expect(0).json_lines();
    assert!(events.iter().any(|event| event["type"] == "todosChanged"), "{events:?}");
    let after = fixture.bosun(["todos", "watch"]).run().expect(0);
    assert!(after.stdout.contains("2/2 done") && after.stderr.contains("no process runs"), "{after:?}");
}
