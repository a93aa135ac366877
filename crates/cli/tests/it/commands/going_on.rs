//! Resuming and forking sessions, and replaying recordings.

use std::fs;

use insta::assert_snapshot;

use super::normalized;
use testkit::binary::{PATIENCE, ProcessSignal, within};

use crate::fixture;
use crate::scripts::shell;

/// Counts the prompts of a conversation by its earlier answers.
const COUNT: &str = "
version: 1
rules:
  - when: { said: Second }
    answer: [{ say: Third. }]
  - when: { said: First }
    answer: [{ say: Second. }]
  - answer: [{ say: First. }]
";

#[test]
fn continue_resumes_the_last_session_of_the_folder() {
    let fixture = fixture();
    fixture.script(COUNT);
    fs::create_dir(fixture.path("elsewhere")).unwrap();
    assert_eq!(fixture.prompt("one").run().expect(0).stdout, "First.\n");
    assert_eq!(fixture.prompt("other").within(&fixture.path("elsewhere")).run().expect(0).stdout, "First.\n");
    assert_eq!(fixture.bosun(["--continue", "-p", "two"]).run().expect(0).stdout, "Second.\n");
    assert_eq!(fixture.bosun(["-c", "-p", "three"]).run().expect(0).stdout, "Third.\n");
    assert_eq!(fixture.sessions().len(), 2);
    let none = fixture.bosun(["--continue", "-p", "x", "-C", "/"]).run().expect(2);
    assert_snapshot!(none.stderr, @r"
    error: there is no session in /
    hint: `bosun sessions` lists all
    ");
    let idle = fixture.bosun(["--continue"]).run().expect(2);
    assert_snapshot!(normalized(&fixture, &idle.stderr), @r#"
    error: session ses-ID has nothing left to do
    hint: give it a prompt: bosun --resume ses-ID -p "…"
    "#);
}

/// A resumed session keeps its limits until a flag changes them.
#[test]
fn resumed_session_keeps_its_agent_limit() {
    let fixture = fixture();
    fixture.script(
        "
version: 1
rules:
  - when: { agent: task }
    answer: [{ say: Looked. }]
  - when: { answered: { tool: task } }
    answer: [{ say: \"${answer}\" }]
  - answer: [{ call: { tool: task, input: { description: d, prompt: p, agent_type: task, name: looker } } }]
",
    );
    let first = fixture.prompt("one").args(["--max-total-agents", "1"]).run().expect(0).stdout;
    assert!(first.contains("Looked."), "{first}");
    let resumed = fixture.bosun(["--continue", "-p", "two"]).run().expect(0).stdout;
    assert!(
        !resumed.contains("Looked.") && resumed.contains("this session has reached its limit of 1 agents"),
        "{resumed}"
    );
    let widened = fixture.bosun(["--continue", "-p", "three", "--max-total-agents", "2"]).run().expect(0).stdout;
    assert!(widened.contains("Looked."), "{widened}");
}

#[test]
fn the_last_session_is_the_one_with_the_newest_event() {
    let fixture = fixture();
    fixture.script(
        "
version: 1
rules:
  - when: { turn: 1 }
    answer: [{ call: { tool: shell, input: { command: 'touch began; until [ -e go ]; do sleep 0.01; done' } } }]
  - when: { turn: 2 }
    answer: [{ call: { tool: shell, input: { command: 'touch again; sleep 1000' } } }]
  - answer: [{ say: The older one. }]
",
    );
    fs::write(fixture.path("quick.yaml"), crate::scripts::HELLO).unwrap();
    let mut older = fixture.prompt("older").start();
    within(PATIENCE, "the first call", || fixture.path("began").exists());
    fixture.bosun(["-p", "younger", "--model", "script/quick.yaml"]).run().expect(0);
    fs::write(fixture.path("go"), "").unwrap();
    within(PATIENCE, "the second call", || fixture.path("again").exists());
    older.signal(ProcessSignal::Kill);
    older.wait().expect_killed();
    assert_eq!(fixture.bosun(["--continue"]).run().expect(0).stdout, "The older one.\n");
}

#[test]
fn a_session_is_named_by_the_beginning_of_its_id() {
    let fixture = fixture();
    fixture.script(COUNT);
    fixture.prompt("one").run().expect(0);
    let id = fixture.newest();
    let bare = id.strip_prefix("ses-").unwrap();
    assert_eq!(fixture.bosun(["--resume", &id, "-p", "two"]).run().expect(0).stdout, "Second.\n");
    assert_eq!(fixture.bosun(["--resume", &bare[..8], "-p", "three"]).run().expect(0).stdout, "Third.\n");
    let unknown = fixture.bosun(["--resume", "ses-ffff", "-p", "x"]).run().expect(2);
    assert_snapshot!(unknown.stderr, @r"
    error: no session begins with `ses-ffff`
    hint: `bosun sessions` lists them
    ");
    fixture.prompt("another").run().expect(0);
    fixture.bosun(["--resume", "ses-", "-p", "x"]).run().expect(2).says(&["several sessions begin with", &id, "hint:"]);
    fixture.bosun(["--resume", "%", "-p", "x"]).run().expect(2).says(&["no session begins with `%`"]);
}

#[test]
fn fork_continues_in_a_copy() {
    let fixture = fixture();
    fixture.script(COUNT).prompt("one").run().expect(0);
    let id = fixture.newest();
    let before = fixture.log(&id);
    assert_eq!(fixture.bosun(["--resume", &id, "--fork", "-p", "two"]).run().expect(0).stdout, "Second.\n");
    assert_eq!(fixture.log(&id), before, "the session itself is unchanged");
    assert_eq!(fixture.sessions().len(), 2);
    assert_ne!(fixture.newest(), id);
    assert_eq!(fixture.bosun(["--continue", "-p", "three"]).run().expect(0).stdout, "Third.\n");
    assert_eq!(fixture.bosun(["--resume", &id, "-p", "two"]).run().expect(0).stdout, "Second.\n");
    fixture.bosun(["--fork", "-p", "x"]).run().expect(2).says(&["--fork needs a session", "hint:"]);
    fixture.bosun(["--continue", "--fork"]).run().expect(2).says(&["--fork needs a session", "hint:"]);
}

#[test]
fn a_session_keeps_its_model_folder_and_permission() {
    let fixture = fixture();
    fixture.script(&shell("pwd")).prompt("where?").run().expect(0);
    let id = fixture.newest();
    let other = fixture.path("other");
    fs::create_dir(&other).unwrap();
    fixture.script(
        "
version: 1
rules:
  - when: { prompt: again, not: { answered: { tool: shell } } }
    answer: [{ call: { tool: shell, input: { command: pwd } } }]
  - answer: [{ say: \"${answer}\" }]
",
    );
    let again = fixture.bosun(["--resume", &id, "-p", "again"]).within(&other).without_env("BOSUN_MODEL").run();
    assert!(again.expect(0).stdout.ends_with("/work\n"));
}

#[test]
fn running_session_cannot_be_resumed() {
    let fixture = fixture();
    let running = fixture.script(&shell("touch up; while [ ! -e go ]; do sleep 0.01; done")).prompt("wait").start();
    testkit::binary::within(testkit::binary::PATIENCE, "it runs", || fixture.path("up").exists());
    let id = fixture.newest();
    let pid = running.pid().to_string();
    fixture.bosun(["--resume", &id, "-p", "me too"]).run().expect(2).says(&["is run by process", &pid]);
    fixture.bosun(["sessions", "rm", &id]).run().expect(2).says(&["is run by process", &pid]);
    fs::write(fixture.path("go"), "").unwrap();
    running.wait().expect(0);
}

#[test]
fn a_recording_is_replayed_word_for_word() {
    let fixture = fixture();
    fixture.script(&shell("echo recorded >> witness; cat witness"));
    let first = fixture.prompt("go").args(["--record", "run.jsonl"]).run().expect(0);
    fs::remove_file(fixture.path("witness")).unwrap();
    let replay = ["--model", "replay/run.jsonl"];
    let second = fixture.prompt("go").args(replay).run().expect(0);
    assert_eq!((&first.stdout, &first.stderr), (&second.stdout, &second.stderr));
    let different = fixture.prompt("something else").args(replay).run().expect(1);
    different.says(&["recorded user \"go\"", "record the session again"]);
    fixture.prompt("go").args(["--record", "/nowhere/run.jsonl"]).run().expect(2).says(&["/nowhere/run.jsonl"]);
}

#[test]
fn next_process_uses_the_model_chosen_in_the_session() {
    let fixture = fixture();
    fixture.script(COUNT);
    fs::write(fixture.path("other.yaml"), "version: 1\nrules: [{ answer: [{ say: I am another. }] }]").unwrap();
    assert_eq!(fixture.prompt("one").run().expect(0).stdout, "First.\n");
    let output = fixture.bosun(["--continue", "-p", "/model script/other.yaml"]).run().expect(0).stdout;
    assert!(output.ends_with("other.yaml, from the next turn on\n"), "{output}");
    assert_eq!(fixture.bosun(["--continue", "-p", "two"]).run().expect(0).stdout, "I am another.\n");
    let shown = fixture.bosun(["sessions", "show", &fixture.newest()]).run().expect(0).stdout;
    assert!(shown.contains("other.yaml"), "{shown}");
    let unknown = fixture.bosun(["--continue", "-p", "/model nobody/nothing"]).run().expect(2);
    unknown.says(&["the model `nobody/nothing` cannot be used"]);
    assert_eq!(fixture.bosun(["--continue", "-p", "three"]).run().expect(0).stdout, "I am another.\n");
}
