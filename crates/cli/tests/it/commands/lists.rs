//! `bosun lists`: lists that agents and users share.

use std::fs;

use serde_json::Value;
use testkit::binary::{BinaryFixture, PATIENCE, ProcessSignal, within};

use crate::fixture;

/// An agent that adds an item to its list, and then waits for a file.
const MAKER: &str = "
version: 1
rules:
  - when: { turn: 1 }
    answer:
      - call: { tool: TaskCreate, input: { subject: write the docs, description: all of them } }
  - when: { turn: 2 }
    answer:
      - call: { tool: TaskUpdate, input: { taskId: '1', status: in_progress } }
  - when: { turn: 3 }
    answer:
      - call: { tool: shell, input: { command: \"touch busy; while [ ! -e go ]; do sleep 0.01; done\" } }
  - answer: [say: 'The list says: ${answer}']
";

fn items(fixture: &BinaryFixture, list: &str) -> Value {
    fixture.bosun(["lists", "--list", list, "--json"]).run().expect(0).json()["items"].clone()
}

#[test]
fn user_works_through_a_list() {
    let fixture = fixture();
    let list = |args: &[&str]| fixture.bosun(["lists"]).args(args).args(["--list", "project"]).run();
    let empty = list(&[]).expect(0);
    assert_eq!((&*empty.stdout, &*empty.stderr), ("", "no item on the project list matches\n"));
    assert_eq!(list(&["add", "build it"]).expect(0).stdout, "1 pending, version 1: build it\n");
    list(&["add", "ship it", "--after", "1", "--metadata", "{\"where\": \"home\"}"]).expect(0);
    list(&["done", "2"]).expect(1).says(&[
        "item 2 is blocked by 1, which must be completed first",
        "hint: complete the items it waits for, or remove the dependency with `bosun lists update 2 --not-after ITEM`",
    ]);
    list(&["update", "1", "--after", "2"]).expect(2).says(&["items would wait for themselves: 1 → 2 → 1"]);
    list(&["update", "1", "--owner", "me", "--status", "in_progress", "--version", "1"]).expect(0);
    list(&["done", "1", "--version", "1"]).expect(1).says(&[
        "item 1 was changed in the meantime: it has version 2, and the change was made for version 1",
        "repeat the change with --version 2",
    ]);
    list(&["done", "1", "--version", "2"]).expect(0);
    let rows = list(&[]).expect(0).stdout;
    assert_eq!(
        rows,
        "   1  completed    me                build it\n   2  pending      -                 ship it  after 1\n"
    );
    let shown = list(&["show", "2"]).expect(0).stdout;
    for part in ["item      2 of the project list", "after     1", "author    user", "metadata  {\"where\":\"home\"}"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    list(&["archive"]).expect(0);
    assert_eq!(items(&fixture, "project").as_array().unwrap().len(), 1);
    list(&["delete", "2"]).expect(0);
    list(&["show", "2"]).expect(2).says(&["the list has no item 2", "hint: `bosun lists` shows the items"]);
    list(&["--archived"]).expect(0).says(&[]);
    fixture.bosun(["lists", "--list", "everything"]).run().expect(2).says(&["`everything` is not a list"]);
    fixture.bosun(["lists"]).run().expect(2).says(&["there is no session in"]);
}

#[test]
fn project_list_outlives_sessions_and_can_be_exported() {
    let fixture = fixture();
    fs::write(fixture.path("go"), "").unwrap();
    fixture.script(MAKER).prompt("go").args(["--list", "project"]).run().expect(0);
    let first = fixture.newest();
    assert_eq!(
        fixture.bosun(["sessions", "show", &first, "--json"]).run().expect(0).json()["session"]["list"],
        "project"
    );
    let task = fixture.bosun(["tasks", "show", "root", "--json"]).run().expect(0).json();
    assert_eq!(task["items"][0]["subject"], "write the docs", "{task}");
    fixture.bosun(["tasks", "show", "root"]).run().expect(0);
    fixture.bosun(["sessions", "rm", &first]).run().expect(0);
    let kept = items(&fixture, "project");
    assert_eq!((&kept[0]["status"], &kept[0]["version"]), (&"in_progress".into(), &2.into()), "{kept}");
    assert_eq!(kept[0]["task"], task["record"]["task"]["id"], "an item still points to the task that did it");
    fixture.bosun(["lists", "export", "--list", "project", "-o", "tasks.jsonl"]).run().expect(0);
    let text = fs::read_to_string(fixture.path("tasks.jsonl")).unwrap();
    let import = |list: &str| fixture.bosun(["lists", "import", "tasks.jsonl", "--list", list]).run();
    assert_eq!(import("team:red").expect(0).stdout, "1 new, 0 changed, 0 unchanged\n");
    assert_eq!(import("team:red").expect(0).stdout, "0 new, 0 changed, 1 unchanged\n");
    assert_eq!(fixture.bosun(["lists", "export", "--list", "team:red"]).run().expect(0).stdout, text);
    fs::write(fixture.path("tasks.jsonl"), text.replace("write the docs", "burn the docs")).unwrap();
    import("team:red").expect(3).says(&["item 1 was changed in the list and in the file; the list's version is kept"]);
    fs::write(fixture.path("tasks.jsonl"), text + "nonsense\n").unwrap();
    import("team:red").expect(2).says(&["line 2: "]);
}

#[test]
fn list_survives_a_kill_of_its_session() {
    let fixture = fixture();
    let mut running = fixture.script(MAKER).prompt("go").start();
    within(PATIENCE, "the command runs", || fixture.path("busy").exists());
    fixture.bosun(["lists", "update", "1", "--description", "only the first"]).run().expect(0);
    running.signal(ProcessSignal::Kill);
    running.wait().expect_killed();
    let kept = items(&fixture, "session");
    assert_eq!((&kept[0]["version"], &kept[0]["description"]), (&3.into(), &"only the first".into()), "{kept}");
    let more = "
version: 1
rules:
  - when: { turn: 4 }
    answer: [call: { tool: TaskUpdate, input: { taskId: '1', status: completed } }]
  - when: { turn: 5 }
    answer: [call: { tool: TaskUpdate, input: { taskId: '1', status: completed } }]
  - answer: [say: done]
";
    fs::write(fixture.path("go"), "").unwrap();
    // The agent has not seen this version of the item: its first update shows the item, and the second one completes it.
    fixture.script(more).bosun(["--continue", "-p", "more", "--allow-all"]).run().expect(0);
    let done = items(&fixture, "session");
    assert_eq!((&done[0]["version"], &done[0]["status"]), (&4.into(), &"completed".into()), "{done}");
}
