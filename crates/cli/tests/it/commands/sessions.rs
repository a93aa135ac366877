//! `bosun sessions` from another terminal, while sessions run and afterwards.

use std::fs;

use insta::assert_snapshot;
use testkit::binary::{BinaryFixture, PATIENCE, RunningBinary, within};

use super::normalized;
use crate::fixture;
use crate::scripts::{HELLO, shell, turns};

/// Waits for a file and then repeats the message it received.
const PATIENT: &str = "
version: 1
rules:
  - when: { turn: 1 }
    answer:
      - call: { tool: shell, input: { command: \"touch busy; while [ ! -e go ]; do sleep 0.01; done; echo gone\" } }
  - when: { prompt: \"message (.*)\" }
    answer: [{ say: \"I was told ${1}.\" }]
  - answer: [{ say: Nobody wrote. }]
";

fn busy(fixture: &BinaryFixture) -> RunningBinary {
    let running = fixture.script(PATIENT).prompt("wait").start();
    within(PATIENCE, "the command runs", || fixture.path("busy").exists());
    running
}

fn let_go(fixture: &BinaryFixture) {
    fs::write(fixture.path("go"), "").unwrap();
}

#[test]
fn sessions_are_listed_newest_first() {
    let fixture = fixture();
    let none = fixture.bosun(["sessions"]).run().expect(0);
    assert_eq!((&*none.stdout, &*none.stderr), ("", "no sessions; start one with: bosun -p \"…\"\n"));
    fs::create_dir(fixture.path("below")).unwrap();
    fixture.script(HELLO).prompt("the first\nof two").run().expect(0);
    fixture.prompt("the second").within(&fixture.path("below")).run().expect(0);
    let list = fixture.bosun(["sessions"]).run().expect(0).stdout;
    let titles: Vec<&str> = list.lines().map(|line| line.rsplit_once("  ").unwrap().1).collect();
    assert_eq!(titles, ["title", "the second", "the first"]);
    let heads: Vec<&str> = list.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(heads, ["session", "state", "age", "model", "cost", "folder", "title"]);
    for row in list.lines().skip(1) {
        assert!(row.starts_with("ses-") && row.contains(" idle ") && row.contains(".yaml"), "{list}");
    }
    let (first, _) = list.lines().nth(1).unwrap().split_once(' ').unwrap();
    assert!(fixture.bosun(["sessions", "show", first]).run().expect(0).stdout.contains("the second"), "{first}");
    assert_eq!(fixture.bosun(["sessions", "list"]).run().expect(0).stdout.lines().count(), 3);
    let here = fixture.bosun(["sessions", "--here"]).within(&fixture.path("below")).run().expect(0).stdout;
    assert!(here.lines().count() == 2 && here.contains("the second"), "{here}");
    let page = fixture.bosun(["sessions", "--limit", "1"]).run().expect(0);
    assert!(page.stdout.contains("the second") && !page.stdout.contains("the first"), "{}", page.stdout);
    page.says(&["1 older sessions are not listed: --offset 1"]);
    let older = fixture.bosun(["sessions", "--json", "--offset", "1"]).run().expect(0).json();
    assert_eq!((older.as_array().unwrap().len(), older[0]["title"].as_str()), (1, Some("the first")));
    for key in ["id", "state", "cwd", "title", "model", "costUsd", "tokens", "createdAt", "updatedAt"] {
        assert!(older[0].get(key).is_some(), "{key}: {older}");
    }
    assert_eq!(fixture.bosun(["sessions", "--json"]).run().expect(0).json().as_array().unwrap().len(), 2);
}

#[test]
fn a_session_is_shown_and_exported() {
    let fixture = fixture();
    fixture.script(&shell("echo out")).prompt("go").run().expect(0);
    let id = fixture.newest();
    let show = fixture.bosun(["sessions", "show", &id]).run().expect(0).stdout;
    for expected in
        ["state         idle", "last outcome  completed", "run by        no process", "turns         2", "/root"]
    {
        assert!(show.contains(expected), "{expected}: {show}");
    }
    let markdown = fixture.bosun(["sessions", "export", &id]).run().expect(0).stdout;
    let markdown = normalized(&fixture, &markdown);
    let (_when, rest) = markdown.split_once("## User\n\n").unwrap();
    assert_snapshot!(rest, @r#"
    go

    ### turn 1

    **shell** `call-1-1`

    ```
    {"command":"echo out"}
    ```

    `call-1-1` answered:

    ```
    out

    ```

    ### turn 2

    It said: out


    ### ended: completed
    "#);
    let out = fixture.path("log.json");
    let export = ["sessions", "export", &id, "--format", "json", "--output", "log.json"];
    assert!(fixture.bosun(export).run().expect(0).stdout.is_empty());
    let written: Vec<protocol::Envelope> = serde_json::from_str(&fs::read_to_string(out).unwrap()).unwrap();
    assert_eq!(written, fixture.log(&id));
    let nowhere = ["sessions", "export", &id, "-o", "/nowhere/log.md"];
    fixture.bosun(nowhere).run().expect(1).says(&["cannot write /nowhere/log.md"]);
    fixture.bosun(["sessions", "show", "none"]).run().expect(2).says(&["no session begins with `none`"]);
}

#[test]
fn session_is_removed_permanently() {
    let fixture = fixture();
    fixture.script(HELLO).prompt("one").run().expect(0);
    let id = fixture.newest();
    fixture.prompt("two").run().expect(0);
    let removed = fixture.bosun(["sessions", "rm", &id, &id]).run().expect(0);
    assert_eq!(removed.stderr, format!("removed {id}\n"));
    assert!(!fixture.session_dir(&id).exists());
    assert_eq!(fixture.sessions().len(), 1);
    fixture.bosun(["sessions", "rm", &id]).run().expect(2).says(&["no session begins with"]);
    fixture.bosun(["sessions", "rm"]).run().expect(2);
}

#[test]
fn running_session_receives_a_message() {
    for when in ["steer", "follow-up"] {
        let fixture = fixture();
        let running = busy(&fixture);
        let id = fixture.newest();
        let shown = fixture.bosun(["sessions", "show", &id]).run().expect(0).stdout;
        assert!(shown.contains("state         running"), "{shown}");
        assert!(shown.contains(&format!("run by        process {}", running.pid())), "{shown}");
        let sent = fixture.bosun(["sessions", "send", &id, "message one", "--when", when]).run().expect(0);
        assert_eq!(sent.stderr, "delivered\n");
        let_go(&fixture);
        let ended = running.wait().expect(0);
        assert_eq!(ended.stdout, "I was told one.\n", "{when}");
    }
}

#[test]
fn an_urgent_message_drops_the_running_turn() {
    let fixture = fixture();
    let running = busy(&fixture);
    let urgent = ["sessions", "send", &fixture.newest(), "message now", "--when", "interrupt"];
    fixture.bosun(urgent).run().expect(0);
    assert_eq!(running.wait().expect(0).stdout, "I was told now.\n");
}

#[test]
fn idle_session_keeps_a_message_until_it_is_resumed() {
    let fixture = fixture();
    fixture.script(PATIENT);
    let_go(&fixture);
    fixture.prompt("begin").run().expect(0);
    let id = fixture.newest();
    let kept = fixture.bosun(["sessions", "send", &id, "message later"]).run().expect(0);
    assert_snapshot!(normalized(&fixture, &kept.stderr), @"queued, since the session is not running; resume with: bosun --resume ses-ID");
    assert_eq!(fixture.bosun(["--resume", &id]).run().expect(0).stdout, "I was told later.\n");
    fixture.bosun(["--resume", &id]).run().expect(2).says(&["has nothing left to do"]);
    fixture.bosun(["sessions", "send", &id, "  "]).run().expect(2).says(&["the message is empty"]);
}

#[test]
fn a_running_session_is_interrupted_or_stopped_from_outside() {
    for (command, again) in [("interrupt", 2), ("stop", 0)] {
        let fixture = fixture();
        let running = busy(&fixture);
        let id = fixture.newest();
        fixture.bosun(["sessions", command, &id]).run().expect(0);
        running.wait().expect(5);
        assert_eq!(fixture.sessions()[0]["state"], "idle", "{command}");
        fixture.bosun(["sessions", command, &id]).run().expect(again).says(&["is not running"]);
        let ended = fixture.bosun(["--resume", &id, "-p", "message on"]).run().expect(0);
        assert_eq!(ended.stdout, "I was told on.\n", "{command}");
    }
}

#[test]
fn a_watcher_sees_every_event_once() {
    let fixture = fixture();
    let running = busy(&fixture);
    let id = fixture.newest();
    let watcher = fixture.bosun(["sessions", "watch", &id]).start();
    watcher.await_stdout("callStarted");
    let late = fixture.bosun(["sessions", "watch", &id, "--after", "5"]).start();
    late.await_stdout("callStarted");
    let_go(&fixture);
    running.wait().expect(0);
    let log: Vec<serde_json::Value> =
        fixture.log(&id).iter().map(|envelope| serde_json::to_value(envelope).unwrap()).collect();
    assert_eq!(watcher.wait().expect(0).json_lines(), log);
    assert_eq!(late.wait().expect(0).json_lines(), log[5..]);
    let after = fixture.bosun(["sessions", "watch", &id]).run().expect(0);
    assert_eq!(after.json_lines(), log);
}

#[test]
fn watch_ends_when_stdout_is_closed() {
    let fixture = fixture();
    let running = busy(&fixture);
    let id = fixture.newest();
    fixture.bosun(["sessions", "watch", &id]).with_closed_stdout().run().expect(0);
    let full = fixture.bosun(["sessions", "watch", &id]).with_stdout_to(std::path::Path::new("/dev/full"));
    full.run().expect(1).says(&["cannot write to stdout"]);
    assert_eq!(fixture.sessions()[0]["state"], "running");
    let_go(&fixture);
    running.wait().expect(0);
}

#[test]
fn model_text_cannot_control_the_terminal() {
    let fixture = fixture();
    fixture.script("version: 1\nrules: [{ answer: [{ say: \"a\\e[31mb\" }] }]\n").prompt("go").run().expect(0);
    let export = fixture.bosun(["sessions", "export", &fixture.newest()]).run().expect(0).stdout;
    assert!(export.contains("a[31mb") && !export.contains('\u{1b}'), "{export:?}");
}

#[test]
fn a_session_with_a_dead_owner_is_interrupted() {
    let fixture = fixture();
    let script = turns(5);
    fixture.script(&script).prompt("go").env("BOSUN_FAULT", "after-commit:12").discard_output().run().expect_killed();
    let id = fixture.newest();
    assert_eq!(fixture.sessions()[0]["state"], "interrupted");
    let shown = fixture.bosun(["sessions", "show", &id, "--json"]).run().expect(0).json();
    assert_eq!(shown["session"]["state"]["type"], "interrupted");
    assert_eq!(shown["session"]["ownerPid"], serde_json::Value::Null);
    fixture.bosun(["sessions", "interrupt", &id]).run().expect(2).says(&["is not running"]);
    fixture.bosun(["sessions", "watch", &id]).run().expect(0);
    fixture.bosun(["sessions", "rm", &id]).run().expect(0);
}
