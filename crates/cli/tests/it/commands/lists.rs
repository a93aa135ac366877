//! Lists that agents and people share, from the command line.

use std::fs;

use serde_json::Value;
use testkit::binary::{BinaryFixture, PATIENCE, ProcessSignal, within};

use crate::stage;

/// An agent that puts an item on its list, and is busy then until it is told to go on.
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

fn items(stage: &BinaryFixture, list: &str) -> Value {
    stage.bosun(["lists", "--list", list, "--json"]).run().expect(0).json()["items"].clone()
}

#[test]
fn a_person_works_through_a_list() {
    let stage = stage();
    let list = |args: &[&str]| stage.bosun(["lists"]).args(args).args(["--list", "project"]).run();
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
    assert_eq!(items(&stage, "project").as_array().unwrap().len(), 1);
    list(&["delete", "2"]).expect(0);
    list(&["show", "2"]).expect(2).says(&["Task not found: 2", "hint: `bosun lists` shows the items"]);
    list(&["--archived"]).expect(0).says(&[]);
    stage.bosun(["lists", "--list", "everything"]).run().expect(2).says(&["`everything` is not a list"]);
    stage.bosun(["lists"]).run().expect(2).says(&["there is no session in"]);
}

#[test]
fn a_project_list_outlives_its_sessions_and_a_repository_keeps_it() {
    let stage = stage();
    fs::write(stage.path("go"), "").unwrap();
    stage.script(MAKER).prompt("go").args(["--list", "project"]).run().expect(0);
    let first = stage.newest();
    assert_eq!(
        stage.bosun(["sessions", "show", &first, "--json"]).run().expect(0).json()["session"]["list"],
        "project"
    );
    let task = stage.bosun(["tasks", "show", "root", "--json"]).run().expect(0).json();
    assert_eq!(task["items"][0]["subject"], "write the docs", "{task}");
    stage.bosun(["tasks", "show", "root"]).run().expect(0);
    stage.bosun(["sessions", "rm", &first]).run().expect(0);
    let kept = items(&stage, "project");
    assert_eq!((&kept[0]["status"], &kept[0]["version"]), (&"in_progress".into(), &2.into()), "{kept}");
    assert_eq!(kept[0]["task"], task["record"]["task"]["id"], "an item still points to the task that did it");
    stage.bosun(["lists", "export", "--list", "project", "-o", "tasks.jsonl"]).run().expect(0);
    let text = fs::read_to_string(stage.path("tasks.jsonl")).unwrap();
    let import = |list: &str| stage.bosun(["lists", "import", "tasks.jsonl", "--list", list]).run();
    assert_eq!(import("team:red").expect(0).stdout, "1 new, 0 changed, 0 kept\n");
    assert_eq!(import("team:red").expect(0).stdout, "0 new, 0 changed, 1 kept\n");
    assert_eq!(stage.bosun(["lists", "export", "--list", "team:red"]).run().expect(0).stdout, text);
    fs::write(stage.path("tasks.jsonl"), text.replace("write the docs", "burn the docs")).unwrap();
    import("team:red").expect(3).says(&["item 1 was changed here and in the file; the version here is kept"]);
    fs::write(stage.path("tasks.jsonl"), text + "nonsense\n").unwrap();
    import("team:red").expect(2).says(&["line 2: "]);
}

#[test]
fn a_list_is_whole_when_its_session_is_killed_and_goes_on_with_it() {
    let stage = stage();
    let mut running = stage.script(MAKER).prompt("go").start();
    within(PATIENCE, "the command runs", || stage.path("busy").exists());
    stage.bosun(["lists", "update", "1", "--description", "only the first"]).run().expect(0);
    running.signal(ProcessSignal::Kill);
    running.wait().expect_killed();
    let kept = items(&stage, "session");
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
    fs::write(stage.path("go"), "").unwrap();
    // The next owner's agent has not seen the item: it is shown what it is, and then completes it.
    stage.script(more).bosun(["--continue", "-p", "more", "--allow-all"]).run().expect(0);
    let done = items(&stage, "session");
    assert_eq!((&done[0]["version"], &done[0]["status"]), (&4.into(), &"completed".into()), "{done}");
}
